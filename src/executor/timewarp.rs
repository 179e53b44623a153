//! Time Warp on actix: one actor per entity, spread over arbiters, one arbiter per core.
//!
//! The calling thread takes the frames; the actors never wait for it, except that global virtual time is held
//! back when it falls far behind, so that memory stays bounded.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use actix::prelude::*;
use crossbeam::channel::{self, Receiver, RecvTimeoutError, Sender};

use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::entity::{Act, Deliver, EntityActor, EntityReport, StepNow, TableAnswer, WakeUp};
use crate::executor::actor_system::{ActorsReport, actor_system};
use crate::executor::report::tally;
use crate::executor::{Job, RunError, Tally};
use crate::gvt::GvtAggregator;
use crate::protocol::TableRequest;
use crate::protocol::{BodyIndex, EntityId, Plan, Stats, TableWrite, VirtualTimes, WriteResult};
use crate::rigid::RigidModel;
use crate::runtime::inputs::{self, Entry, InputError, InputSink};
use crate::runtime::lvt_waiters::LvtWaiters;
use crate::runtime::shared::{Shared, is_spawn};
use crate::runtime::stats::{CoreCounters, GvtStats, MemorySampler, RunStats, thread_cpu};
use crate::runtime::task_graph::GraphRecorder;
use crate::runtime::trace::{Phase, Tracer};
use crate::tvht::{BucketActor, Unlock};

/// Frames that may be settled but not yet taken.
const FRAMES_AHEAD: u64 = 256;
/// If nothing at all happens for this long, something is wrong.
const STALL: Duration = Duration::from_secs(30);

/// Why a run ended before its time.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// A handler panicked.
    Panic { body: BodyId, tick: Tick, text: String },
}

/// What the thread that takes the frames is told.
enum Notice {
    /// Global virtual time has risen.
    Gvt,
    /// Everybody is done, or the run is being ended.
    Over,
}

/// One arbiter and those of its entities that wait for global virtual time.
pub(super) struct ArbiterSlot {
    arbiter: ArbiterHandle,
    waiting: LvtWaiters,
    core_counters: CoreCounters,
    pub(super) report: Mutex<EntityReport>,
}

impl ArbiterSlot {
    pub fn new(arbiter: ArbiterHandle) -> Self {
        ArbiterSlot {
            arbiter,
            waiting: LvtWaiters::default(),
            core_counters: CoreCounters::default(),
            report: Mutex::default(),
        }
    }
}

/// What all actors actors_per_arbiter.
pub(crate) struct Runtime {
    me: Weak<Runtime>,
    pub shared: Shared,
    /// Entities in the order of their ids; more may come.
    pub(super) addresses: Arc<boxcar::Vec<Addr<EntityActor>>>,
    /// All entities there were at the start have an address.
    pub(super) started: AtomicBool,
    /// The buckets, if they are actors.
    pub(super) buckets: OnceLock<Box<[Addr<BucketActor>]>>,
    pub(super) slots: OnceLock<Vec<ArbiterSlot>>,
    news: Sender<Notice>,
    /// Entities that are not done, inputs that have not arrived, and frames that may yet be acted on.
    pub(super) unfinished: AtomicU32,
    ending: AtomicBool,
    pub(super) failure: Mutex<Option<Failure>>,
    rounds: GvtStats,
    tracer: Option<Arc<Tracer>>,
}

impl Runtime {
    /// Whether handlers should do nothing any more.
    pub fn is_ending(&self) -> bool {
        self.ending.load(SeqCst)
    }

    /// Ends the run.
    pub fn end(&self, failure: Option<Failure>) {
        if let Some(failure) = failure {
            lock(&self.failure).get_or_insert(failure);
        }
        self.ending.store(true, SeqCst);
        let _ = self.news.send(Notice::Over);
    }

    pub fn send(&self, to: EntityId, message: Deliver) {
        self.addresses[to.0 as usize].do_send(message);
    }

    pub fn send_on(&self, to: EntityId, message: Act) {
        self.addresses[to.0 as usize].do_send(message);
    }

    pub fn step_later(&self, id: EntityId) {
        self.addresses[id.0 as usize].do_send(StepNow);
    }

    /// Writes a plan into the table. `None` if the answer will come as a message.
    pub fn write(
        &self,
        plan: Plan<RigidModel>,
        gvt: Tick,
    ) -> Option<(Plan<RigidModel>, WriteResult<RigidModel>)> {
        let Shared { model, grid, table, .. } = &self.shared;
        if self.buckets.get().is_none() {
            return Some(table.write(model, plan, gvt));
        }
        let request = TableRequest::new(TableWrite::new(grid, model, plan, gvt));
        // An entity without bodies passes no cell.
        if request.wants().is_none() {
            return Some(request.finish());
        }
        self.pass_on(request);
        None
    }

    /// Sends a request to the bucket it wants next.
    pub fn pass_on(&self, request: TableRequest<RigidModel>) {
        let number = request.wants().expect("invariant: a plan covers at least one cell");
        self.buckets()[number as usize].do_send(request);
    }

    pub fn unlock(&self, number: u32) {
        self.buckets()[number as usize].do_send(Unlock);
    }

    /// Answers a plan that has been through all its buckets.
    pub fn answer(&self, plan: Plan<RigidModel>, written: WriteResult<RigidModel>) {
        self.addresses[plan.entity.0 as usize].do_send(TableAnswer { plan, written });
    }

    /// What an arbiter counts.
    pub fn core_counters(&self, arbiter: usize) -> &CoreCounters {
        &self.slots()[arbiter].core_counters
    }

    /// VirtualTimes, if what happens is traced.
    pub fn trace_now(&self) -> Option<u64> {
        self.tracer.as_ref().map(|tracer| tracer.now())
    }

    /// A phase that began at `since` ends now. Returns now.
    pub fn trace(
        &self,
        arbiter: usize,
        phase: Phase,
        (entity, tick): (Option<EntityId>, Tick),
        since: u64,
    ) -> Option<u64> {
        self.tracer.as_ref().map(|tracer| tracer.end(arbiter, phase, entity, tick, since))
    }

    /// The same for the thread that takes the frames.
    fn trace_frames(&self, phase: Phase, gvt: Tick, since: Option<u64>) -> Option<u64> {
        let tracer = self.tracer.as_ref()?;
        Some(tracer.end(tracer.frames_lane(), phase, None, gvt, since?))
    }

    /// The recorder of the task graph, if it is recorded.
    pub fn graph(&self) -> Option<&GraphRecorder> {
        self.tracer.as_ref().and_then(|tracer| tracer.graph())
    }

    /// Registers an entity that waits for global virtual time to reach `tick`. Says no if that has happened: the
    /// time is read again after registering, so that no wake-up is lost.
    pub fn wait(&self, arbiter: usize, id: EntityId, tick: Tick) -> bool {
        self.slots()[arbiter].waiting.register(id, tick, || self.shared.lvt_histogram.times().lvt_min)
    }

    /// Looks whether global virtual time can rise; wakes those who waited for it.
    pub fn advance(&self) {
        let Some(VirtualTimes { lvt_min, .. }) = self.shared.lvt_histogram.advance() else { return };
        let _ = self.news.send(Notice::Gvt);
        let core_counters = self.slots().iter().map(|seat| &seat.core_counters);
        self.rounds.note(
            &self.shared.lvt_histogram,
            self.shared.limits.window,
            lvt_min,
            core_counters.clone(),
        );
        self.shared.throttle.look(core_counters);
        for seat in self.slots() {
            let woken = seat.waiting.reached(lvt_min);
            if !woken.is_empty() {
                self.rounds.woke(woken.len());
                if let Some(graph) = self.graph() {
                    graph.woke(&woken, lvt_min);
                }
                // One wake-up for the arbiter, which then wakes its own.
                let addresses = self.addresses.clone();
                seat.arbiter.spawn_fn(move || {
                    for id in woken {
                        addresses[id.0 as usize].do_send(WakeUp);
                    }
                });
            }
        }
    }

    /// One more entity is done. When all are, nothing is on its way: every message is pending_acks by somebody.
    pub fn one_done(&self) {
        if self.unfinished.fetch_sub(1, SeqCst) == 1 {
            self.end(None);
        }
    }

    /// An entity that was done has been told something.
    pub fn not_done(&self) {
        self.unfinished.fetch_add(1, SeqCst);
    }

    /// An input has arrived: it no longer holds global virtual time back.
    pub fn release(&self, held: Tick) {
        if self.shared.lvt_histogram.remove(held) {
            self.advance();
        }
        self.one_done();
    }

    /// Sends something to every entity, those of the scene on their own arbiters: nobody of them is woken by another
    /// thread.
    /// Says how many there are.
    pub(super) fn tell_all<M>(&self, message: impl Fn() -> M + Clone + Send + 'static) -> usize
    where
        M: Message<Result = ()> + Send + 'static,
        EntityActor: Handler<M>,
    {
        let count = self.addresses.count();
        let slots = self.slots();
        let per_seat = actors_per_arbiter(count, slots.len());
        for (at, seat) in slots.iter().enumerate() {
            let theirs = (at * per_seat).min(count)..((at + 1) * per_seat).min(count);
            let theirs: Vec<Addr<EntityActor>> = theirs.map(|id| self.addresses[id].clone()).collect();
            let message = message.clone();
            seat.arbiter.spawn_fn(move || {
                for address in theirs {
                    address.do_send(message());
                }
            });
        }
        count
    }

    /// Takes an report of an entity.
    pub fn report(&self, arbiter: usize, stats: &Stats, behind: Option<(Tick, String)>) {
        lock(&self.slots()[arbiter].report).note(stats, behind);
    }

    fn buckets(&self) -> &[Addr<BucketActor>] {
        self.buckets.get().expect("invariant: only the message lane sends requests")
    }

    pub(super) fn slots(&self) -> &[ArbiterSlot] {
        self.slots.get().expect("invariant: arbiters come before actors")
    }

    fn steps(&self) -> u64 {
        self.slots.get().map_or(0, |slots| slots.iter().map(|seat| seat.core_counters.steps()).sum())
    }
}

impl InputSink for Runtime {
    fn hold(&self, tick: Tick) -> Result<Tick, InputError> {
        // Inputs may come before the actors have started.
        while !self.started.load(SeqCst) && !self.is_ending() {
            thread::sleep(Duration::from_micros(100));
        }
        // From zero there is no way back: the run is over.
        let one_more = |count: u32| (count > 0).then(|| count + 1);
        if self.is_ending() || self.unfinished.fetch_update(SeqCst, SeqCst, one_more).is_err() {
            return Err(InputError::Over);
        }
        let held = self.shared.lvt_histogram.pin(tick);
        self.advance();
        held.map_err(|gvt| {
            self.one_done();
            InputError::Settled { tick, gvt }
        })
    }

    fn let_in(&self, held: Tick, entry: Entry) {
        let id = self.shared.home_entity(entry.action.body);
        if !is_spawn(&entry) {
            return self.send_on(id, Act { held, entry });
        }
        // The new entity is counted, and unfinished, in place of the input.
        let spawned = self.shared.spawned(held, &entry);
        let arbiter = id.0 as usize % self.slots().len();
        let runtime = self.me.upgrade().expect("invariant: it is called through its own handle");
        let actor = move |_: &mut Context<EntityActor>| EntityActor::new(spawned, runtime, arbiter);
        self.addresses.push(EntityActor::start_in_arbiter(&self.slots()[arbiter].arbiter, actor));
        self.step_later(id);
    }
}

/// Runs a job to its last tick on `cores` arbiters, or until `sink` breaks.
pub fn run(
    job: Job,
    cores: usize,
    tracer: Option<Arc<Tracer>>,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats, RunStats), RunError> {
    let began = Instant::now();
    let (news, heard) = channel::unbounded();
    let ((runtime, entities), _opened) = inputs::open(job.inputs, |known| {
        let (shared, entities) = Shared::new(job.model, job.tuning, cores, known);
        let runtime = Arc::new_cyclic(|me| Runtime {
            me: me.clone(),
            shared,
            addresses: Arc::default(),
            started: AtomicBool::new(false),
            buckets: OnceLock::new(),
            slots: OnceLock::new(),
            news,
            unfinished: AtomicU32::new(entities.len() as u32 + u32::from(job.inputs.is_some())),
            ending: AtomicBool::new(false),
            failure: Mutex::new(None),
            rounds: GvtStats::default(),
            tracer,
        });
        (runtime.clone(), (runtime, entities))
    })?;
    if let Some(tracer) = &runtime.tracer {
        let first_body = |cluster: &Vec<BodyIndex>| {
            job.model.world.bodies[cluster.first().copied().unwrap_or(0) as usize].id
        };
        tracer.begin(cores.max(1), runtime.shared.clusters.iter().map(first_body));
    }
    let actor_system = {
        let runtime = runtime.clone();
        let name = "anachron-actor_system".to_owned();
        let lane = job.tuning.lane;
        thread::Builder::new().name(name).spawn(move || actor_system(&runtime, entities, cores.max(1), lane))
    };
    let actor_system = actor_system.map_err(|error| RunError::NoThread(error.to_string()))?;
    let mut aggregator = GvtAggregator::new();
    let mut memory_sampler = MemorySampler::new();
    let flow =
        take_frames(&runtime, &heard, job.inputs.is_some(), &mut aggregator, &mut memory_sampler, sink);
    runtime.end(None);
    let ActorsReport { report, busy, acted } =
        actor_system.join().map_err(|_| RunError::Stalled("the thread of the arbiters panicked".into()))?;
    match lock(&runtime.failure).take() {
        Some(Failure::Panic { body, tick, text }) => return Err(RunError::Panicked { body, tick, text }),
        None => aggregator.failure()?,
    }
    let last_tick = job.model.world.time.last_tick;
    let flow = flow.map_err(|()| RunError::Stalled(describe(&report, last_tick)))?;
    let ticks = if flow.is_continue() { last_tick } else { runtime.shared.lvt_histogram.gvt() };
    let core_counters = runtime.slots().iter().map(|seat| &seat.core_counters);
    memory_sampler.look_now(&runtime.shared, core_counters.clone());
    let mut run_stats =
        RunStats::of(core_counters, &runtime.rounds, &memory_sampler, runtime.shared.limits.window, &busy);
    run_stats.start_stop_s = began.elapsed().saturating_sub(acted).as_secs_f64();
    Ok((tally(&runtime.shared, &report.stats, ticks), report.stats, run_stats))
}

/// Hands out frames until the run is over. An error if nothing happens any more.
fn take_frames(
    runtime: &Runtime,
    heard: &Receiver<Notice>,
    takes_inputs: bool,
    aggregator: &mut GvtAggregator,
    memory_sampler: &mut MemorySampler,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, ()> {
    let shared = &runtime.shared;
    let last_tick = shared.limits.last_tick;
    // Who watches the frames may act on what they show: then nothing later is settled before they are taken.
    let ahead = FRAMES_AHEAD * u64::from(shared.model.world.time.ticks_per_frame) + shared.limits.window;
    let ceiling = |aggregator: &GvtAggregator, gvt: Tick| {
        shared.ceiling(if takes_inputs { aggregator.next() } else { gvt + ahead }.min(last_tick))
    };
    let mut steps_before = u64::MAX;
    shared.lvt_histogram.set_ceiling(shared.ceiling(if takes_inputs { 0 } else { ahead.min(last_tick) }));
    if aggregator.emit(shared, 0, sink).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let mut may_act = takes_inputs;
    loop {
        if may_act && aggregator.next() > last_tick {
            may_act = false;
            runtime.one_done();
        }
        shared.lvt_histogram.set_ceiling(ceiling(aggregator, shared.lvt_histogram.gvt()));
        if runtime.slots.get().is_some() {
            runtime.advance();
        }
        let news = heard.recv_timeout(STALL);
        let gvt = shared.lvt_histogram.gvt();
        let since = runtime.trace_now();
        let cpu_before = runtime.graph().and_then(|_| thread_cpu());
        if aggregator.emit(shared, gvt, sink).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        memory_sampler
            .look(shared, runtime.slots.get().into_iter().flatten().map(|seat| &seat.core_counters));
        runtime.trace_frames(Phase::Frames, gvt, since);
        if let (Some(graph), Some((before, after))) = (runtime.graph(), cpu_before.zip(thread_cpu())) {
            graph.took_frames(after.saturating_sub(before).as_nanos() as u64);
        }
        match news {
            Ok(Notice::Gvt) => {}
            Ok(Notice::Over) => {
                // Everybody may have been done before the last frames were taken.
                let mut before = None;
                loop {
                    shared.lvt_histogram.set_ceiling(shared.ceiling(last_tick));
                    shared.lvt_histogram.advance();
                    let gvt = shared.lvt_histogram.gvt();
                    let flow = aggregator.emit(shared, gvt, sink);
                    if flow.is_break() || before.replace(gvt) == Some(gvt) {
                        return Ok(flow);
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) if runtime.steps() != steps_before => {
                steps_before = runtime.steps()
            }
            Err(_) => return Err(()),
        }
    }
}

/// How many of `count` actors each of `cores` arbiters gets; they are neighbours in the list.
pub(crate) fn actors_per_arbiter(count: usize, cores: usize) -> usize {
    count.div_ceil(cores.max(1)).max(1)
}

/// Where those stand that are farthest behind, for the message of an impossible end.
fn describe(report: &EntityReport, last_tick: Tick) -> String {
    let shown: Vec<&str> = report.behind.iter().map(|(_, text)| text.as_str()).collect();
    format!("nothing moves any more before tick {last_tick}: {}", shown.join("; "))
}
