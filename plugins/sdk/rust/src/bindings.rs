//! The contract's types as `wit-bindgen` writes them, and the way from them to a plugin's own function.
//!
//! Hidden from the documentation: plugins meet these only through the crate's macro. Nothing here decides an answer.

use crate::batch::Batch;
use crate::effects::Effects;
use crate::outcome::{IntoOutcome, Outcome};
use crate::packed::{self, Packed, narrow};

/// The world `plugin`: batches as lists of records, for whoever wants the contract's bare types.
#[allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    elided_lifetimes_in_paths,
    clippy::all,
    reason = "generated code"
)]
pub mod plugin {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "plugin",
        export_macro_name: "export_plugin",
        pub_export_macro: true,
    });
}

/// The world `plugin-raw`: batches as packed bytes, which is what [`handler!`](crate::handler) exports.
#[allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    elided_lifetimes_in_paths,
    clippy::all,
    reason = "generated code"
)]
pub mod raw {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "plugin-raw",
        export_macro_name: "export_raw",
        pub_export_macro: true,
        with: {
            "gristmill:plugin/types@0.1.0": crate::bindings::plugin::gristmill::plugin::types,
            "gristmill:plugin/control@0.1.0": crate::bindings::plugin::gristmill::plugin::control,
        },
    });
}

/// The optional `lifecycle` interface, in a world of its own: a plugin without `init` must not export it.
#[allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    elided_lifetimes_in_paths,
    clippy::all,
    reason = "generated code"
)]
pub mod lifecycle {
    wit_bindgen::generate!({
        path: "../../../wit",
        inline: "
            package gristmill:rust-sdk;
            world with-lifecycle { export gristmill:plugin/lifecycle@0.1.0; }
        ",
        world: "gristmill:rust-sdk/with-lifecycle",
        export_macro_name: "export_lifecycle",
        pub_export_macro: true,
    });
}

/// The optional `manifest` interface, in a world of its own for the same reason.
#[allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    elided_lifetimes_in_paths,
    clippy::all,
    reason = "generated code"
)]
pub mod manifest {
    wit_bindgen::generate!({
        path: "../../../wit",
        inline: "
            package gristmill:rust-sdk;
            world with-manifest { export gristmill:plugin/manifest@0.1.0; }
        ",
        world: "gristmill:rust-sdk/with-manifest",
        export_macro_name: "export_manifest",
        pub_export_macro: true,
    });
}

#[cfg(target_family = "wasm")]
impl From<crate::Need> for manifest::exports::gristmill::plugin::manifest::Wish {
    fn from(needed: crate::Need) -> Self {
        use manifest::exports::gristmill::plugin::manifest::Need;
        let crate::Need { what, why } = needed;
        let need = match what {
            crate::Needed::Setting(name) => Need::Setting(name),
            crate::Needed::Http => Need::Http,
            crate::Needed::Tcp => Need::Tcp,
            crate::Needed::Files(mount) => Need::Files(mount),
        };
        Self { need, why }
    }
}

pub(crate) use plugin::gristmill::plugin::{control, types};

use raw::exports::gristmill::plugin::raw_handler::{RawEffects, RawOutcome, RawProgress, RawRetry};

/// Runs a plugin's function over a batch as the contract hands it over.
pub fn answer<T: IntoOutcome>(
    process: impl FnOnce(&Batch) -> T,
    info: types::BatchInfo,
    index: Vec<u8>,
    data: Vec<u8>,
) -> RawOutcome {
    let batch = Batch::new(info, Packed::new(index, data));
    let outcome = process(&batch).into_outcome();
    lower(batch.into_answer(outcome))
}

fn lower(outcome: Outcome) -> RawOutcome {
    match outcome {
        Outcome::Ok(wanted) => RawOutcome::Ok(effects(&wanted)),
        Outcome::Retryable { reason, after, completed, suspect } => RawOutcome::Retryable(RawRetry {
            reason,
            after_ms: after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            completed: completed
                .map(|done| RawProgress { records: narrow(done.records), effects: effects(&done.effects) }),
            suspect: suspect.map(narrow),
        }),
        Outcome::Fatal { reason } => RawOutcome::Fatal(types::Stop { reason }),
    }
}

fn effects(effects: &Effects) -> RawEffects {
    let (index, data) = packed::effects(effects);
    RawEffects { index, data }
}
