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
use crate::entity::{Account, Act, Deliver, EntityActor, StepNow, TableAnswer, WakeUp};
use crate::executor::actor_system::{Accounts, stage};
use crate::executor::report::tally;
use crate::executor::{Job, RunError, Tally};
use crate::gvt::FrameFeed;
use crate::protocol::Ticket;
use crate::protocol::{EntityId, Now, Place, Plan, Search, Stats, Written};
use crate::rigid::RigidModel;
use crate::runtime::inputs::{self, Door, Entry, InputError};
use crate::runtime::lvt_waiters::WaitingRoom;
use crate::runtime::shared::{Commons, is_birth};
use crate::runtime::stats::{Census, Meter, Rounds, Stocktaking, thread_cpu};
use crate::runtime::task_graph::GraphRecorder;
use crate::runtime::trace::{Phase, Tracer};
use crate::tvht::{BucketActor, LetGo};

/// Frames that may be settled but not yet taken.
const FRAMES_AHEAD: u64 = 256;
/// If nothing at all happens for this long, something is wrong.
const STALL: Duration = Duration::from_secs(30);

/// Why a run ended before its time.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// A handler panicked.
    Panic { body: BodyId, tick: Tick, text: String },
}

/// What the thread that takes the frames is told.
enum News {
    /// Global virtual time has risen.
    Gvt,
    /// Everybody is done, or the run is being ended.
    Over,
}

/// One arbiter and those of its entities that wait for global virtual time.
pub(super) struct Seat {
    arbiter: ArbiterHandle,
    waiting: WaitingRoom,
    meter: Meter,
    pub(super) account: Mutex<Account>,
}

impl Seat {
    pub fn new(arbiter: ArbiterHandle) -> Self {
        Seat { arbiter, waiting: WaitingRoom::default(), meter: Meter::default(), account: Mutex::default() }
    }
}

/// What all actors share.
pub(crate) struct Runtime {
    me: Weak<Runtime>,
    pub commons: Commons,
    /// Entities in the order of their ids; more may come.
    pub(super) addresses: Arc<boxcar::Vec<Addr<EntityActor>>>,
    /// All entities there were at the start have an address.
    pub(super) started: AtomicBool,
    /// The buckets, if they are actors.
    pub(super) buckets: OnceLock<Box<[Addr<BucketActor>]>>,
    pub(super) seats: OnceLock<Vec<Seat>>,
    news: Sender<News>,
    /// Entities that are not done, inputs that have not arrived, and frames that may yet be acted on.
    pub(super) unfinished: AtomicU32,
    ending: AtomicBool,
    pub(super) trouble: Mutex<Option<Trouble>>,
    rounds: Rounds,
    tracer: Option<Arc<Tracer>>,
}

impl Runtime {
    /// Whether handlers should do nothing any more.
    pub fn is_ending(&self) -> bool {
        self.ending.load(SeqCst)
    }

    /// Ends the run.
    pub fn end(&self, trouble: Option<Trouble>) {
        if let Some(trouble) = trouble {
            lock(&self.trouble).get_or_insert(trouble);
        }
        self.ending.store(true, SeqCst);
        let _ = self.news.send(News::Over);
    }

    pub fn send(&self, to: EntityId, message: Deliver) {
        self.addresses[to.0 as usize].do_send(message);
    }

    pub fn send_on(&self, to: EntityId, message: Act) {
        self.addresses[to.0 as usize].do_send(message);
    }

    pub fn nudge(&self, id: EntityId) {
        self.addresses[id.0 as usize].do_send(StepNow);
    }

    /// Writes a plan into the table. `None` if the answer will come as a message.
    pub fn write(
        &self,
        plan: Plan<RigidModel>,
        gvt: Tick,
    ) -> Option<(Plan<RigidModel>, Written<RigidModel>)> {
        let Commons { model, grid, table, .. } = &self.commons;
        if self.buckets.get().is_none() {
            return Some(table.write(model, plan, gvt));
        }
        let ticket = Ticket::new(Search::new(grid, model, plan, gvt));
        // An entity without bodies passes no cell.
        if ticket.wants().is_none() {
            return Some(ticket.finish());
        }
        self.pass_on(ticket);
        None
    }

    /// Sends a ticket to the bucket it wants next.
    pub fn pass_on(&self, ticket: Ticket<RigidModel>) {
        let number = ticket.wants().expect("invariant: a plan covers at least one cell");
        self.buckets()[number as usize].do_send(ticket);
    }

    pub fn let_go(&self, number: u32) {
        self.buckets()[number as usize].do_send(LetGo);
    }

    /// Answers a plan that has been through all its buckets.
    pub fn answer(&self, plan: Plan<RigidModel>, written: Written<RigidModel>) {
        self.addresses[plan.entity.0 as usize].do_send(TableAnswer { plan, written });
    }

    /// What an arbiter counts.
    pub fn meter(&self, arbiter: usize) -> &Meter {
        &self.seats()[arbiter].meter
    }

    /// Now, if what happens is traced.
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
        self.seats()[arbiter].waiting.register(id, tick, || self.commons.counters.now().floor)
    }

    /// Looks whether global virtual time can rise; wakes those who waited for it.
    pub fn advance(&self) {
        let Some(Now { floor, .. }) = self.commons.counters.advance() else { return };
        let _ = self.news.send(News::Gvt);
        let meters = self.seats().iter().map(|seat| &seat.meter);
        self.rounds.note(&self.commons.counters, self.commons.limits.window, floor, meters.clone());
        self.commons.throttle.look(meters);
        for seat in self.seats() {
            let woken = seat.waiting.reached(floor);
            if !woken.is_empty() {
                self.rounds.woke(woken.len());
                if let Some(graph) = self.graph() {
                    graph.woke(&woken, floor);
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

    /// One more entity is done. When all are, nothing is on its way: every message is owed by somebody.
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
        if self.commons.counters.leave(held) {
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
        let seats = self.seats();
        let per_seat = share(count, seats.len());
        for (at, seat) in seats.iter().enumerate() {
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

    /// Takes an account of an entity.
    pub fn account(&self, arbiter: usize, stats: &Stats, behind: Option<(Tick, String)>) {
        lock(&self.seats()[arbiter].account).note(stats, behind);
    }

    fn buckets(&self) -> &[Addr<BucketActor>] {
        self.buckets.get().expect("invariant: only the message lane sends tickets")
    }

    pub(super) fn seats(&self) -> &[Seat] {
        self.seats.get().expect("invariant: arbiters come before actors")
    }

    fn steps(&self) -> u64 {
        self.seats.get().map_or(0, |seats| seats.iter().map(|seat| seat.meter.steps()).sum())
    }
}

impl Door for Runtime {
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
        let held = self.commons.counters.hold(tick);
        self.advance();
        held.map_err(|gvt| {
            self.one_done();
            InputError::Settled { tick, gvt }
        })
    }

    fn let_in(&self, held: Tick, entry: Entry) {
        let id = self.commons.birth(entry.action.body);
        if !is_birth(&entry) {
            return self.send_on(id, Act { held, entry });
        }
        // The new entity is counted, and unfinished, in place of the input.
        let newborn = self.commons.newborn(held, &entry);
        let arbiter = id.0 as usize % self.seats().len();
        let runtime = self.me.upgrade().expect("invariant: it is called through its own handle");
        let actor = move |_: &mut Context<EntityActor>| EntityActor::new(newborn, runtime, arbiter);
        self.addresses.push(EntityActor::start_in_arbiter(&self.seats()[arbiter].arbiter, actor));
        self.nudge(id);
    }
}

/// Runs a job to its last tick on `cores` arbiters, or until `sink` breaks.
pub fn run(
    job: Job,
    cores: usize,
    tracer: Option<Arc<Tracer>>,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats, Census), RunError> {
    let began = Instant::now();
    let (news, heard) = channel::unbounded();
    let ((runtime, entities), _opened) = inputs::open(job.inputs, |known| {
        let (commons, entities) = Commons::new(job.model, job.tuning, cores, known);
        let runtime = Arc::new_cyclic(|me| Runtime {
            me: me.clone(),
            commons,
            addresses: Arc::default(),
            started: AtomicBool::new(false),
            buckets: OnceLock::new(),
            seats: OnceLock::new(),
            news,
            unfinished: AtomicU32::new(entities.len() as u32 + u32::from(job.inputs.is_some())),
            ending: AtomicBool::new(false),
            trouble: Mutex::new(None),
            rounds: Rounds::default(),
            tracer,
        });
        (runtime.clone(), (runtime, entities))
    })?;
    if let Some(tracer) = &runtime.tracer {
        let first_body =
            |crew: &Vec<Place>| job.model.world.bodies[crew.first().copied().unwrap_or(0) as usize].id;
        tracer.begin(cores.max(1), runtime.commons.crews.iter().map(first_body));
    }
    let stage = {
        let runtime = runtime.clone();
        let name = "anachron-stage".to_owned();
        let lane = job.tuning.lane;
        thread::Builder::new().name(name).spawn(move || stage(&runtime, entities, cores.max(1), lane))
    };
    let stage = stage.map_err(|error| RunError::NoThread(error.to_string()))?;
    let mut feed = FrameFeed::new();
    let mut stock = Stocktaking::new();
    let flow = take_frames(&runtime, &heard, job.inputs.is_some(), &mut feed, &mut stock, sink);
    runtime.end(None);
    let Accounts { account, busy, acted } =
        stage.join().map_err(|_| RunError::Stalled("the thread of the arbiters panicked".into()))?;
    match lock(&runtime.trouble).take() {
        Some(Trouble::Panic { body, tick, text }) => return Err(RunError::Panicked { body, tick, text }),
        None => feed.trouble()?,
    }
    let last_tick = job.model.world.time.last_tick;
    let flow = flow.map_err(|()| RunError::Stalled(describe(&account, last_tick)))?;
    let ticks = if flow.is_continue() { last_tick } else { runtime.commons.counters.gvt() };
    let meters = runtime.seats().iter().map(|seat| &seat.meter);
    stock.look_now(&runtime.commons, meters.clone());
    let mut census = Census::of(meters, &runtime.rounds, &stock, runtime.commons.limits.window, &busy);
    census.start_stop_s = began.elapsed().saturating_sub(acted).as_secs_f64();
    Ok((tally(&runtime.commons, &account.stats, ticks), account.stats, census))
}

/// Hands out frames until the run is over. An error if nothing happens any more.
fn take_frames(
    runtime: &Runtime,
    heard: &Receiver<News>,
    takes_inputs: bool,
    feed: &mut FrameFeed,
    stock: &mut Stocktaking,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, ()> {
    let commons = &runtime.commons;
    let last_tick = commons.limits.last_tick;
    // Who watches the frames may act on what they show: then nothing later is settled before they are taken.
    let ahead = FRAMES_AHEAD * u64::from(commons.model.world.time.ticks_per_frame) + commons.limits.window;
    let ceiling = |feed: &FrameFeed, gvt: Tick| {
        commons.ceiling(if takes_inputs { feed.next() } else { gvt + ahead }.min(last_tick))
    };
    let mut steps_before = u64::MAX;
    commons.counters.set_ceiling(commons.ceiling(if takes_inputs { 0 } else { ahead.min(last_tick) }));
    if feed.emit(commons, 0, sink).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let mut may_act = takes_inputs;
    loop {
        if may_act && feed.next() > last_tick {
            may_act = false;
            runtime.one_done();
        }
        commons.counters.set_ceiling(ceiling(feed, commons.counters.gvt()));
        if runtime.seats.get().is_some() {
            runtime.advance();
        }
        let news = heard.recv_timeout(STALL);
        let gvt = commons.counters.gvt();
        let since = runtime.trace_now();
        let cpu_before = runtime.graph().and_then(|_| thread_cpu());
        if feed.emit(commons, gvt, sink).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        stock.look(commons, runtime.seats.get().into_iter().flatten().map(|seat| &seat.meter));
        runtime.trace_frames(Phase::Frames, gvt, since);
        if let (Some(graph), Some((before, after))) = (runtime.graph(), cpu_before.zip(thread_cpu())) {
            graph.took_frames(after.saturating_sub(before).as_nanos() as u64);
        }
        match news {
            Ok(News::Gvt) => {}
            Ok(News::Over) => {
                // Everybody may have been done before the last frames were taken.
                let mut before = None;
                loop {
                    commons.counters.set_ceiling(commons.ceiling(last_tick));
                    commons.counters.advance();
                    let gvt = commons.counters.gvt();
                    let flow = feed.emit(commons, gvt, sink);
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
pub(crate) fn share(count: usize, cores: usize) -> usize {
    count.div_ceil(cores.max(1)).max(1)
}

/// Where those stand that are farthest behind, for the message of an impossible end.
fn describe(account: &Account, last_tick: Tick) -> String {
    let shown: Vec<&str> = account.behind.iter().map(|(_, text)| text.as_str()).collect();
    format!("nothing moves any more before tick {last_tick}: {}", shown.join("; "))
}
