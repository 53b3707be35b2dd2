//! One wasmtime engine for the process: which WebAssembly is understood, how deep stacks go, and what a guest may import.
//!
//! Knows no plugin and no batch.

use std::sync::Arc;

use wasmparser::WasmFeatures;
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Config, Strategy};
use wasmtime_wasi_config::WasiConfig;

use crate::bindings;
use crate::compile::Compile;
use crate::error::EngineError;
use crate::guest::State;
use crate::opening;
use crate::sockets;
use crate::ticker::{Ticker, Ticking};

/// What differs between engines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSettings {
    /// Bytes of stack for a guest's own calls.
    pub wasm_stack_bytes: usize,
    /// Bytes of stack for a guest's calls and the host calls above them.
    pub async_stack_bytes: usize,
    /// True: the same batch always gets the same answer. Clocks stand at the newest record's time, chance comes from a seed, and
    /// processor time is counted in instructions.
    pub deterministic: bool,
    /// How plugins become code.
    pub compile: Compile,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            wasm_stack_bytes: 512 << 10,
            async_stack_bytes: 2 << 20,
            deterministic: false,
            compile: Compile::InProcess,
        }
    }
}

/// What a host call needs above a guest's deepest stack. With less, deep recursion would end the process and not the guest.
const HOST_STACK_BYTES: usize = 1 << 20;

/// Compiles and runs plugins. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    wasmtime: wasmtime::Engine,
    linker: Linker<State>,
    ticker: Arc<Ticker>,
    deterministic: bool,
    compile: Compile,
}

impl Engine {
    /// Makes an engine and starts its ticker.
    ///
    /// # Errors
    ///
    /// The stacks are too close to each other, or this machine cannot run wasmtime.
    pub fn new(settings: &EngineSettings) -> Result<Self, EngineError> {
        let EngineSettings { wasm_stack_bytes, async_stack_bytes, deterministic, ref compile } = *settings;
        if async_stack_bytes < wasm_stack_bytes.saturating_add(HOST_STACK_BYTES) {
            return Err(EngineError::StacksTooClose { wasm_stack_bytes, async_stack_bytes, needed: HOST_STACK_BYTES });
        }
        let mut config = strict_config(deterministic);
        config.max_wasm_stack(wasm_stack_bytes).async_stack_size(async_stack_bytes);
        let wasmtime = wasmtime::Engine::new(&config).map_err(EngineError::Wasmtime)?;
        let linker = linker(&wasmtime).map_err(EngineError::Wasmtime)?;
        let ticked = wasmtime.weak();
        let tick = move || ticked.upgrade().map(|engine| engine.increment_epoch()).is_some();
        let ticker = Ticker::start(tick).map_err(EngineError::Ticker)?;
        Ok(Self { inner: Arc::new(Inner { wasmtime, linker, ticker, deterministic, compile: compile.clone() }) })
    }

    pub(crate) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.inner.wasmtime
    }

    pub(crate) fn linker(&self) -> &Linker<State> {
        &self.inner.linker
    }

    /// True where the same batch always gets the same answer.
    pub(crate) fn is_deterministic(&self) -> bool {
        self.inner.deterministic
    }

    /// How plugins become code.
    pub(crate) fn compile(&self) -> &Compile {
        &self.inner.compile
    }

    /// The ticker, which also knows when the process stood still.
    pub(crate) fn ticker(&self) -> Arc<Ticker> {
        Arc::clone(&self.inner.ticker)
    }

    /// Keeps the ticker running for as long as the value lives.
    pub(crate) fn ticking(&self) -> Ticking {
        self.inner.ticker.ticking()
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.ticker.end();
    }
}

/// Which WebAssembly is understood: what supported toolchains need (SIMD, bulk memory, reference types, multi-value, sign
/// extension, saturating floats), and nothing that is only nearly finished upstream. Without `GC_TYPES` there is no collector.
pub(crate) const FEATURES: WasmFeatures = WasmFeatures::WASM2
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::COMPONENT_MODEL)
    .difference(WasmFeatures::GC_TYPES);

/// What the compiler itself needs beyond that: where components within a component talk to each other it writes modules with the
/// memories of both, and panics where those are off. No file may use it: [`FEATURES`] is what files are validated by.
const COMPILER_FEATURES: WasmFeatures = FEATURES.union(WasmFeatures::MULTI_MEMORY);

/// The cargo features `gc` and `threads` of wasmtime stay compiled in although the proposals are off: two aborts of wasmtime 48
/// exist only in builds without them.
pub(crate) fn strict_config(deterministic: bool) -> Config {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .epoch_interruption(true)
        .concurrency_support(false)
        .shared_memory(false)
        .consume_fuel(deterministic)
        .cranelift_nan_canonicalization(deterministic)
        .wasm_features(COMPILER_FEATURES.complement(), false)
        .wasm_features(COMPILER_FEATURES, true);
    config
}

fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    sockets::add_to_linker(&mut linker)?;
    opening::add_to_linker(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    wasmtime_wasi_config::add_to_linker(&mut linker, |state: &mut State| WasiConfig::from(state.store()))?;
    bindings::control::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    Ok(linker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_too_close_to_each_other_are_refused() {
        let settings =
            EngineSettings { wasm_stack_bytes: 2 << 20, async_stack_bytes: 2 << 20, ..EngineSettings::default() };
        let error = Engine::new(&settings).unwrap_err();
        assert!(matches!(error, EngineError::StacksTooClose { .. }), "{error}");
    }
}
