//! A guest: one instance of a plugin in a store of its own, with limits armed before its first instruction.
//!
//! A guest that broke is never used again: wasmtime refuses to enter it, and what it left behind is unknown. Nothing here
//! decides what an answer means.

use std::sync::Arc;

use wasmtime::component::{Instance, ResourceTable};
use wasmtime::{Store, Trap, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_config::WasiConfigVariables;
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::bindings::{Handler, raw, types};
use crate::clock::{CallClock, Ended};
use crate::denials::Denials;
use crate::deterministic::{Fixed, instructions};
use crate::fault::{Broken, Cause, Phase};
use crate::files::Folder;
use crate::grants::{Reach, Surroundings};
use crate::limits::Meter;
use crate::needs::{Needs, Wish};
use crate::opening::OpenFiles;
use crate::packed::PackedBatch;
use crate::plugin::{Instances, Plugin};
use crate::requests::Requests;
use crate::sockets::Sockets;
use crate::stdio::Output;
use crate::words::last_words;

/// Bytes of one set of HTTP headers, as the host keeps them.
const HTTP_FIELDS_BYTES_MAX: usize = 32 << 10;

/// What the host keeps for one guest.
pub(crate) struct State {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    requests: Requests,
    sockets: Sockets,
    open_files: OpenFiles,
    reach: Arc<Reach>,
    table: ResourceTable,
    meter: Meter,
}

impl State {
    pub(crate) fn clock(&self) -> &CallClock {
        self.requests.clock()
    }

    /// The plugin's settings as key and value.
    pub(crate) fn store(&self) -> &WasiConfigVariables {
        self.reach.store()
    }

    pub(crate) fn sockets(&self) -> &Sockets {
        &self.sockets
    }

    /// The folders that it may read.
    pub(crate) fn folders(&self) -> &[Folder] {
        self.reach.folders()
    }

    /// What it has open of them.
    pub(crate) fn open_files(&mut self) -> &mut OpenFiles {
        &mut self.open_files
    }

    /// Where denials are told.
    pub(crate) fn denials(&self) -> &Denials {
        self.reach.denials()
    }

    /// Everything that the guest holds of the host.
    pub(crate) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.requests, table: &mut self.table, ctx: &mut self.http }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// A running instance.
pub(crate) struct Guest {
    plugin: Plugin,
    store: Store<State>,
    handler: Option<Handler>,
    stdout: Output,
    stderr: Output,
    batches: u32,
}

impl Guest {
    /// Starts an instance: instantiates it and runs `init`, within the time of `clock`.
    ///
    /// # Errors
    ///
    /// It broke, does not fit the contract, or refused.
    pub(crate) async fn start(plugin: &Plugin, clock: &Arc<CallClock>, fixed: Option<Fixed>) -> Result<Self, Broken> {
        let failed = |error| Broken::new(Phase::Start, Cause::Failed(error));
        let mut guest = Self::new(plugin, plugin.reach(), clock, fixed.as_ref()).map_err(failed)?;
        let instance = guest.instantiate(clock).await?;
        guest.bind(&instance)?;
        guest.run_init(&instance, clock).await?;
        Ok(guest)
    }

    /// An instance that is not there yet, with its limits armed.
    fn new(
        plugin: &Plugin,
        reach: &Arc<Reach>,
        clock: &Arc<CallClock>,
        fixed: Option<&Fixed>,
    ) -> wasmtime::Result<Self> {
        let limits = plugin.limits();
        let (stdout, stderr) = (Output::new(plugin.stdout()), Output::new(plugin.stderr()));
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.resources);
        let sockets = Sockets::new(reach.connections(), Arc::clone(reach.denials()));
        let (out, err) = (stdout.clone(), stderr.clone());
        let wasi = reach.wasi(Surroundings { limits, fixed, sockets: &sockets, stdout: out, stderr: err });
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(HTTP_FIELDS_BYTES_MAX);
        let state = State {
            wasi,
            http,
            requests: Requests::new(reach.requests(), Arc::clone(reach.denials()), clock),
            sockets,
            open_files: OpenFiles::default(),
            reach: Arc::clone(reach),
            table,
            meter: Meter::new(limits),
        };
        let mut store = Store::new(plugin.engine().wasmtime(), state);
        store.limiter(|state| &mut state.meter);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|cx| match cx.data().clock().ended() {
            Some(ended) => Err(ended.into()),
            None => Ok(UpdateDeadline::Yield(1)),
        });
        store.set_hostcall_fuel(host_width(limits.copy_bytes));
        if plugin.engine().is_deterministic() {
            store.set_fuel(instructions(limits.cpu))?;
        }
        Ok(Self { plugin: plugin.clone(), store, handler: None, stdout, stderr, batches: 0 })
    }

    /// Starts an instance that reaches nothing, and asks it what the plugin needs. `None`: it does not say.
    ///
    /// # Errors
    ///
    /// It broke.
    pub(crate) async fn ask_needs(plugin: &Plugin, clock: &Arc<CallClock>) -> Result<Option<Needs>, Broken> {
        let Some(index) = plugin.manifest().copied() else { return Ok(None) };
        let failed = |error| Broken::new(Phase::Start, Cause::Failed(error));
        let fixed = Fixed::of_trial(plugin.digest());
        let fixed = plugin.engine().is_deterministic().then_some(&fixed);
        let mut guest = Self::new(plugin, plugin.reach(), clock, fixed).map_err(failed)?;
        let instance = guest.instantiate(clock).await?;
        let bound = instance.get_typed_func::<(), (Vec<Wish>,)>(&mut guest.store, index);
        let needs = guest.settle(Phase::Bind, Ok(bound))?;
        let ran = clock.run(needs.call_async(&mut guest.store, ())).await;
        let (wishes,) = guest.settle(Phase::Manifest, ran)?;
        Ok(Some(Needs::said(wishes)))
    }

    async fn instantiate(&mut self, clock: &CallClock) -> Result<Instance, Broken> {
        let ran = clock.run(self.plugin.pre().instantiate_async(&mut self.store)).await;
        self.settle(Phase::Start, ran)
    }

    fn bind(&mut self, instance: &Instance) -> Result<(), Broken> {
        let bound = self.plugin.handler().load(&mut self.store, instance);
        self.handler = Some(self.settle(Phase::Bind, Ok(bound))?);
        Ok(())
    }

    async fn run_init(&mut self, instance: &Instance, clock: &CallClock) -> Result<(), Broken> {
        let Some(index) = self.plugin.init().copied() else { return Ok(()) };
        let bound = instance.get_typed_func::<(), (Result<(), String>,)>(&mut self.store, index);
        let init = self.settle(Phase::Bind, Ok(bound))?;
        let ran = clock.run(init.call_async(&mut self.store, ())).await;
        let (started,) = self.settle(Phase::Init, ran)?;
        started.map_err(|reason| Broken::new(Phase::Init, Cause::InitRefused(crate::stdio::escape(reason.as_bytes()))))
    }

    /// Hands a batch over as records and waits for the answer, within the time of `clock`. Neither the answer nor a host call on the
    /// way may copy more than `answer_bytes`.
    ///
    /// # Errors
    ///
    /// The guest broke, and must not be used again.
    pub(crate) async fn process_records(
        &mut self,
        clock: &Arc<CallClock>,
        info: types::BatchInfo<'_>,
        records: &[types::KafkaRecord<'_>],
        answer_bytes: u64,
    ) -> Result<types::Outcome, Broken> {
        self.begin(clock, answer_bytes);
        let Some(Handler::Records(handler)) = &self.handler else { return Err(unbound()) };
        let handler = handler.gristmill_plugin_handler();
        let ran = clock.run(handler.call_process_batch(&mut self.store, info, records)).await;
        self.settle(Phase::Call, ran).map_err(|broken| broken.of_answer_within(answer_bytes))
    }

    /// The same as packed bytes.
    ///
    /// # Errors
    ///
    /// The guest broke, and must not be used again.
    pub(crate) async fn process_packed(
        &mut self,
        clock: &Arc<CallClock>,
        info: types::BatchInfo<'_>,
        packed: &PackedBatch,
        answer_bytes: u64,
    ) -> Result<raw::RawOutcome, Broken> {
        self.begin(clock, answer_bytes);
        let Some(Handler::Packed(handler)) = &self.handler else { return Err(unbound()) };
        let handler = handler.gristmill_plugin_raw_handler();
        let ran = clock.run(handler.call_process_batch(&mut self.store, info, &packed.index, &packed.data)).await;
        self.settle(Phase::Call, ran).map_err(|broken| broken.of_answer_within(answer_bytes))
    }

    /// Arms the limits of a batch.
    fn begin(&mut self, clock: &Arc<CallClock>, answer_bytes: u64) {
        self.batches = self.batches.saturating_add(1);
        self.store.data_mut().requests.begin(clock);
        self.store.set_epoch_deadline(1);
        self.store.set_hostcall_fuel(host_width(answer_bytes));
    }

    /// True when this guest may take another batch of `plugin`.
    pub(crate) fn serves(&self, plugin: &Plugin) -> bool {
        let Instances::Reuse { batches_max, memory_bytes_max } = plugin.instances() else { return false };
        let answers_alike = plugin.engine().is_deterministic();
        !answers_alike
            && self.plugin.is(plugin)
            && self.batches < batches_max
            && self.memory_bytes() <= memory_bytes_max
    }

    /// Bytes in all of its memories and tables.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.store.data().meter.held_bytes()
    }

    /// Bytes of its output that were dropped so far.
    pub(crate) fn output_dropped_bytes(&self) -> u64 {
        self.stdout.dropped_bytes() + self.stderr.dropped_bytes()
    }

    /// Turns what ran into its result, or collects the evidence of why it broke.
    fn settle<T>(&mut self, phase: Phase, ran: Result<wasmtime::Result<T>, Ended>) -> Result<T, Broken> {
        let overgrowth = self.store.data_mut().meter.take_overgrowth();
        self.stdout.finish();
        self.stderr.finish();
        let tail = self.stderr.take_tail();
        let error = match ran {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) if error.downcast_ref::<Trap>() == Some(&Trap::OutOfFuel) => {
                Cause::Failed(error.context(Ended::Instructions(instructions(self.plugin.limits().cpu))))
            }
            Ok(Err(error)) => Cause::Failed(error),
            Err(ended) => Cause::Ended(ended),
        };
        Err(Broken { phase, error, overgrowth, stderr: last_words(&tail) })
    }
}

fn unbound() -> Broken {
    let words = "the guest was never bound to this form of the contract, which is a bug of gristmill";
    Broken::new(Phase::Bind, Cause::Answer(words.to_owned()))
}

fn host_width(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
