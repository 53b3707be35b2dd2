//! The contract's types as wasmtime's macro writes them, and the host's side of `control`.
//!
//! Optional exports (`lifecycle`) must not stand in the world used here: every plugin without them would stop loading.

use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

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

/// The same world with packed bytes.
#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    elided_lifetimes_in_paths,
    clippy::all,
    reason = "generated code"
)]
mod generated_raw {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "plugin-raw",
        ownership: Borrowing { duplicate_if_necessary: true },
        exports: { default: async },
        with: {
            "gristmill:plugin/types": super::generated::gristmill::plugin::types,
            "gristmill:plugin/control": super::generated::gristmill::plugin::control,
        },
    });
}

pub(crate) use generated::gristmill::plugin::{control, types};
pub(crate) use generated_raw::exports::gristmill::plugin::raw_handler as raw;

/// The form in which a component takes its batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As lists of records.
    Records,
    /// As packed bytes.
    Packed,
}

/// Where a compiled component has its handler, in the form that it exports.
pub(crate) enum HandlerIndices {
    /// Batches as lists of records.
    Records(generated::PluginIndices),
    /// Batches as packed bytes.
    Packed(generated_raw::PluginRawIndices),
}

/// The handler of an instance.
pub(crate) enum Handler {
    Records(generated::Plugin),
    Packed(generated_raw::PluginRaw),
}

impl HandlerIndices {
    /// Finds the handler of a component that exports it in this form.
    pub(crate) fn of(pre: &InstancePre<State>, form: Form) -> wasmtime::Result<Self> {
        Ok(match form {
            Form::Records => Self::Records(generated::PluginIndices::new(pre)?),
            Form::Packed => Self::Packed(generated_raw::PluginRawIndices::new(pre)?),
        })
    }

    /// Binds it to an instance, whose types have to fit.
    pub(crate) fn load(&self, store: &mut Store<State>, instance: &Instance) -> wasmtime::Result<Handler> {
        Ok(match self {
            Self::Records(indices) => Handler::Records(indices.load(store, instance)?),
            Self::Packed(indices) => Handler::Packed(indices.load(store, instance)?),
        })
    }
}

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
