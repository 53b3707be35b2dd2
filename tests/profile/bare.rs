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
    let plugin = runtime.block_on(generated::Plugin::instantiate_async(&mut store, &component, &linker)).unwrap();
    move || run(&runtime, &plugin, &mut store)
}

fn run(runtime: &Runtime, plugin: &generated::Plugin, store: &mut Store<State>) -> Duration {
    let info = types::BatchInfo {
        pipeline: "orders".to_owned(),
        attempt: 1,
        time_limit_ms: 5_000,
        part: false,
        plugin_digest: String::new(),
    };
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
    runtime.block_on(handler.call_process_batch(store, &info, &records)).unwrap();
    began.elapsed()
}
