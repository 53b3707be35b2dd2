//! The contract's types as wasmtime's macro writes them, and the host's side of `control`.
//!
//! Optional exports (`lifecycle`) must not stand in the world used here: every plugin without them would stop loading.

use crate::guest::State;

#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    elided_lifetimes_in_paths,
    clippy::all,
    reason = "generated code"
)]
mod generated {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "plugin",
        ownership: Borrowing { duplicate_if_necessary: true },
        exports: { default: async },
    });
}

pub(crate) use generated::gristmill::plugin::{control, types};
pub(crate) use generated::{Plugin, PluginIndices};

/// The export that handles batches as lists.
pub(crate) const HANDLER: &str = "gristmill:plugin/handler@0.1.0";
/// The export that handles batches as packed bytes.
pub(crate) const RAW_HANDLER: &str = "gristmill:plugin/raw-handler@0.1.0";
/// The optional export that is told when an instance begins.
pub(crate) const LIFECYCLE: &str = "gristmill:plugin/lifecycle@0.1.0";

impl control::Host for State {
    fn time_left_ms(&mut self) -> u32 {
        u32::try_from(self.clock().time_left_told().as_millis()).unwrap_or(u32::MAX)
    }

    fn cancelled(&mut self) -> bool {
        self.clock().is_cancelled()
    }
}
