//! The contract's types as `wit-bindgen` writes them, and the way from them to a plugin's own function.
//!
//! Hidden from the documentation: plugins meet these only through the crate's macro. Nothing here decides an answer.

use crate::batch::Batch;
use crate::effects::{Effects, Emitted, Rejection};
use crate::outcome::{IntoOutcome, Outcome};

/// The world `plugin`: what every plugin exports and imports.
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

/// Runs a plugin's function over a batch as the contract hands it over.
pub fn answer<T: IntoOutcome>(
    process: impl FnOnce(&Batch) -> T,
    info: types::BatchInfo,
    records: Vec<types::KafkaRecord>,
) -> types::Outcome {
    let batch = Batch::new(info, records);
    let outcome = process(&batch).into_outcome();
    lower(batch.into_answer(outcome))
}

fn lower(outcome: Outcome) -> types::Outcome {
    match outcome {
        Outcome::Ok(wanted) => types::Outcome::Ok(effects(wanted)),
        Outcome::Retryable { reason, after, completed, suspect } => types::Outcome::Retryable(types::Retry {
            reason,
            after_ms: after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            completed: completed
                .map(|done| types::Progress { records: index(done.records), effects: effects(done.effects) }),
            suspect: suspect.map(index),
        }),
        Outcome::Fatal { reason } => types::Outcome::Fatal(types::Stop { reason }),
    }
}

fn effects(Effects { rejected, emitted }: Effects) -> types::Effects {
    let rejected =
        rejected.into_iter().map(|Rejection { index: at, reason }| types::Rejection { index: index(at), reason });
    let emitted = emitted.into_iter().map(|record| {
        let Emitted { sink, key, value, headers, partition, source } = record;
        let headers = headers.into_iter().map(|(key, value)| types::Header { key, value }).collect();
        types::OutputRecord { sink, key, value, headers, partition, source: source.map(index) }
    });
    types::Effects { rejected: rejected.collect(), emitted: emitted.collect() }
}

/// An index as the contract has it. One that does not fit is out of every batch, and the host says so.
fn index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
