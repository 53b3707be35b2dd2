//! Write a gristmill plugin in Rust.
//!
//! ```
//! use gristmill_plugin::{Batch, Failure, OutputRecord, fatal};
//!
//! fn process(batch: &Batch) -> Result<(), Failure> {
//!     for record in batch {
//!         if record.is_tombstone() {
//!             continue;
//!         }
//!         let order: Order = record.value_json().map_err(fatal)?; // `?` alone would mean: try the batch again later
//!         if order.amount < 0 {
//!             batch.reject(record, "negative amount"); // this one goes to the dead letters, the others go on
//!             continue;
//!         }
//!         batch.emit("orders", OutputRecord::copy_of(record));
//!     }
//!     Ok(()) // every record is done: write what was emitted, then commit
//! }
//! # #[derive(serde::Deserialize)]
//! # struct Order { amount: i64 }
//! ```
//!
//! In a crate of type `cdylib`, `gristmill_plugin::handler!(process)` makes that function the plugin's `process-batch`. Build
//! with `cargo build --release --target wasm32-wasip2`; the file that comes out is the plugin. Test with [`run_batch`], which
//! needs no WebAssembly at all.
//!
//! This crate must not know how the host stores, retries or commits; it only speaks the contract.

#![deny(unsafe_code)]

#[doc(hidden)]
pub mod bindings;

mod batch;
mod effects;
mod fixture;
mod needs;
mod outcome;
mod packed;

pub use batch::{Batch, JsonError, Record, Records, Timestamp};
pub use effects::{Effects, Emitted, OutputRecord, Progress, Rejection};
pub use fixture::{Fixture, FixtureRecord, run_batch};
pub use needs::{Need, Needed};
pub use outcome::{Failure, IntoOutcome, Outcome, Retry, fatal};

/// A setting of this plugin, as the host's configuration gives it under `[plugin.settings]`.
#[must_use]
pub fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// All settings of this plugin, as names and texts, for those whose names are not known beforehand.
pub fn settings() -> impl Iterator<Item = (String, String)> {
    std::env::vars()
}

/// Makes a function the plugin's `process-batch`.
///
/// `handler!(process)` takes a `fn(&Batch) -> Result<(), Failure>`. `handler!(process, init = start)` also exports
/// `lifecycle`: `start` is a `fn() -> Result<(), String>` that runs once per instance, before its first batch.
/// `handler!(process, needs = needs)`, also behind `init`, exports `manifest`: `needs` is a `fn() -> Vec<Need>`.
#[macro_export]
macro_rules! handler {
    ($process:path) => {
        $crate::handler!(@handler $process);
    };
    ($process:path, init = $init:path) => {
        $crate::handler!(@handler $process);
        $crate::handler!(@lifecycle $init);
    };
    ($process:path, needs = $needs:path) => {
        $crate::handler!(@handler $process);
        $crate::handler!(@manifest $needs);
    };
    ($process:path, init = $init:path, needs = $needs:path) => {
        $crate::handler!(@handler $process);
        $crate::handler!(@lifecycle $init);
        $crate::handler!(@manifest $needs);
    };
    (@handler $process:path) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct Exported;
            impl $crate::bindings::raw::exports::gristmill::plugin::raw_handler::Guest for Exported {
                fn process_batch(
                    info: $crate::bindings::plugin::gristmill::plugin::types::BatchInfo,
                    index: Vec<u8>,
                    data: Vec<u8>,
                ) -> $crate::bindings::raw::exports::gristmill::plugin::raw_handler::RawOutcome {
                    $crate::bindings::answer($process, info, index, data)
                }
            }
            $crate::bindings::raw::export_raw!(Exported with_types_in $crate::bindings::raw);
        };
        #[cfg(not(target_family = "wasm"))]
        const _: () = {
            // A native build exports nothing; the handler is still type-checked, and counts as used.
            #[expect(dead_code, reason = "exists for the type check only")]
            fn check(batch: &$crate::Batch) -> $crate::Outcome {
                $crate::IntoOutcome::into_outcome($process(batch))
            }
        };
    };
    (@manifest $needs:path) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            use $crate::bindings::manifest::exports::gristmill::plugin::manifest;
            struct Exported;
            impl manifest::Guest for Exported {
                fn needs() -> Vec<manifest::Wish> {
                    $needs().into_iter().map(Into::into).collect()
                }
            }
            $crate::bindings::manifest::export_manifest!(Exported with_types_in $crate::bindings::manifest);
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() -> Vec<$crate::Need> = $needs;
    };
    (@lifecycle $init:path) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct Exported;
            impl $crate::bindings::lifecycle::exports::gristmill::plugin::lifecycle::Guest for Exported {
                fn init() -> Result<(), String> {
                    $init()
                }
            }
            $crate::bindings::lifecycle::export_lifecycle!(Exported with_types_in $crate::bindings::lifecycle);
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() -> Result<(), String> = $init;
    };
}
