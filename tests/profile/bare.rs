//! A component as wasmtime runs it with nothing around: one instance, no limits, with or without code that asks for the epoch.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use wasmtime::component::{Component, HasSelf, Linker, ResourceTable};
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::batch;

#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    elided_lifetimes_in_paths,
    clippy::all,
    reason = "generated code"
)]
mod generated {
    wasmtime::component::bindgen!({ path: "../wit", world: "plugin", exports: { default: async } });
}

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
        path: "../wit",
        world: "plugin-raw",
        exports: { default: async },
        with: {
            "gristmill:plugin/types": super::generated::gristmill::plugin::types,
            "gristmill:plugin/control": super::generated::gristmill::plugin::control,
        },
    });
}

use generated::gristmill::plugin::{control, types};

/// Whether loops and functions ask for the epoch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Epochs {
    Off,
    On,
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl control::Host for State {
    fn time_left_ms(&mut self) -> u32 {
        1_000
    }

    fn cancelled(&mut self) -> bool {
        false
    }
}

/// Calls `process-batch` with each call, and gives the time that took.
pub(crate) fn contestant(bytes: &[u8], epochs: Epochs) -> impl FnMut() -> Duration + use<> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut config = Config::new();
    // As the product has it: no collector is built in.
    config.epoch_interruption(epochs == Epochs::On).concurrency_support(false).gc_support(false);
    let engine = Engine::new(&config).unwrap();
    let component = Component::from_binary(&engine, bytes).unwrap();
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
    control::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state).unwrap();
    let state = State { wasi: WasiCtxBuilder::new().build(), table: ResourceTable::new() };
    let mut store = Store::new(&engine, state);
    if epochs == Epochs::On {
        store.set_epoch_deadline(u64::MAX / 2);
    }
    let packed = component.get_export_index(None, "gristmill:plugin/raw-handler@0.1.0").is_some();
    let plugin = if packed {
        let bound = generated_raw::PluginRaw::instantiate_async(&mut store, &component, &linker);
        Bound::Packed(runtime.block_on(bound).unwrap())
    } else {
        let bound = generated::Plugin::instantiate_async(&mut store, &component, &linker);
        Bound::Records(runtime.block_on(bound).unwrap())
    };
    move || match &plugin {
        Bound::Records(plugin) => as_records(&runtime, plugin, &mut store),
        Bound::Packed(plugin) => as_packed(&runtime, plugin, &mut store),
    }
}

/// An instance, by the form in which it takes batches.
enum Bound {
    Records(generated::Plugin),
    Packed(generated_raw::PluginRaw),
}

fn info() -> types::BatchInfo {
    types::BatchInfo {
        pipeline: "orders".to_owned(),
        attempt: 1,
        time_limit_ms: 5_000,
        part: false,
        plugin_digest: String::new(),
    }
}

/// Packing counts, as making the contract's records does not: it is what the host does in place of it.
fn as_packed(runtime: &Runtime, plugin: &generated_raw::PluginRaw, store: &mut Store<State>) -> Duration {
    let began = Instant::now();
    let (index, data) = batch::packed();
    let handler = plugin.gristmill_plugin_raw_handler();
    runtime.block_on(handler.call_process_batch(store, &info(), &index, &data)).unwrap();
    began.elapsed()
}

fn as_records(runtime: &Runtime, plugin: &generated::Plugin, store: &mut Store<State>) -> Duration {
    let record = |offset| types::KafkaRecord {
        topic: "orders".to_owned(),
        partition: 0,
        offset,
        timestamp: types::Timestamp::CreateTime(1_700_000_000_000),
        key: None,
        value: Some(batch::value()),
        headers: Vec::new(),
    };
    let records: Vec<_> = (0_i64..).take(batch::RECORDS).map(record).collect();
    let began = Instant::now();
    let handler = plugin.gristmill_plugin_handler();
    runtime.block_on(handler.call_process_batch(store, &info(), &records)).unwrap();
    began.elapsed()
}
