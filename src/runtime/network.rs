//! What the actors of a Time Warp run share: how they reach each other, how they wait for virtual time, when the run is
//! over, and what is counted.
//!
//! Actors are started and addressed above this layer; here they are behind [`Transport`].

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use crossbeam::channel::Sender;

use crate::base::ids::BodyId;
use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::physics::collision::crowd::Crowd;
use crate::protocol::{
    Context, Entity, EntityId, Message, Plan, Stats, TableRequest, TableWrite, VirtualTimes, WriteResult,
};
use crate::rigid::RigidModel;
use crate::runtime::inputs::{InputError, InputSink, QueuedInput};
use crate::runtime::lvt_waiters::LvtWaiters;
use crate::runtime::shared::{Shared, is_spawn};
use crate::runtime::stats::{CoreCounters, GvtStats};
use crate::runtime::trace::{Phase, Tracer};

/// How actors reach each other. Messages from one actor to another arrive in the order they were sent. Every message is
/// counted before it is sent: [`Network::sending`], [`Network::sending_from_outside`].
pub(crate) trait Transport: Send + Sync {
    /// A message from one entity to another.
    fn deliver(&self, from: EntityId, to: EntityId, message: Message<RigidModel>);
    /// An input for a body of an entity, which pins GVT until it is performed.
    fn deliver_input(&self, to: EntityId, pinned: Tick, entry: QueuedInput);
    /// Asks an entity to poll, after what has already arrived for it.
    fn poll(&self, entity: EntityId);
    /// Wakes entities of one arbiter that waited for virtual time.
    fn wake(&self, arbiter: usize, entities: Vec<EntityId>);
    /// Starts an entity that comes into being during the run.
    fn start(&self, entity: Entity<RigidModel>, network: Arc<Network>);
    /// Sends a table request to a bucket. Only where buckets are actors.
    fn request(&self, bucket: u32, request: TableRequest<RigidModel>);
    /// Unlocks a bucket for its next request.
    fn unlock(&self, bucket: u32);
    /// The table's reply to a plan.
    fn reply(&self, plan: Plan<RigidModel>, reply: WriteResult<RigidModel>);
    /// Whether buckets are actors.
    fn has_bucket_actors(&self) -> bool;
}

/// Why a run ended early.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// A handler panicked.
    Panic { body: BodyId, tick: Tick, text: String },
    /// Too many bodies are in one place.
    Crowded { tick: Tick, crowd: Crowd },
}

/// Notices to the thread that commits frames.
pub(crate) enum Notice {
    /// GVT has risen.
    Gvt,
    /// Every entity is done, or the run is being ended.
    Over,
}

/// At most this many of the entities that are farthest behind are described when a run stalls.
pub(crate) const BEHIND_MAX: usize = 12;

/// Statistics of several entities, and a description of those that are farthest behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntityReport {
    pub stats: Stats,
    pub behind: Vec<(Tick, String)>,
}

impl EntityReport {
    /// Adds one entity; `behind` is its LVT and a description, if it is not done.
    pub fn note(&mut self, stats: &Stats, behind: Option<(Tick, String)>) {
        self.stats.add(stats);
        self.behind.extend(behind);
        if self.behind.len() > 2 * BEHIND_MAX {
            self.keep_farthest();
        }
    }

    /// Adds the entities of another report.
    pub fn add(&mut self, other: &EntityReport) {
        self.stats.add(&other.stats);
        self.behind.extend(other.behind.iter().cloned());
        self.keep_farthest();
    }

    fn keep_farthest(&mut self) {
        self.behind.sort();
        self.behind.truncate(BEHIND_MAX);
    }
}

/// One arbiter: its entities that wait for virtual time, what it counts, and the reports of its entities.
#[derive(Default)]
pub(crate) struct ArbiterSlot {
    waiters: LvtWaiters,
    pub counters: CoreCounters,
    pub report: Mutex<EntityReport>,
}

/// What all actors share.
pub(crate) struct Network {
    pub shared: Shared,
    pub slots: Vec<ArbiterSlot>,
    pub gvt_stats: GvtStats,
    pub tracer: Option<Arc<Tracer>>,
    transport: OnceLock<Box<dyn Transport>>,
    notices: Sender<Notice>,
    /// Entities that are not done, plus inputs that have not arrived, plus one while a receiver of frames may still give
    /// inputs.
    unfinished: AtomicU32,
    /// Messages sent by threads that are no arbiters, and inputs that are about to be.
    sent_from_outside: AtomicU64,
    /// Those among them that were not sent after all.
    withdrawn: AtomicU64,
    /// Whether all entities of the start can be reached, and have been polled.
    started: AtomicBool,
    /// Whether handlers should do nothing any more.
    ending: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

impl Network {
    /// `unfinished` entities on `arbiters` arbiters. They can be reached once [`Network::connect`] has been called.
    pub fn new(
        shared: Shared,
        arbiters: usize,
        unfinished: u32,
        notices: Sender<Notice>,
        tracer: Option<Arc<Tracer>>,
    ) -> Self {
        Network {
            shared,
            slots: (0..arbiters).map(|_| ArbiterSlot::default()).collect(),
            gvt_stats: GvtStats::default(),
            tracer,
            transport: OnceLock::new(),
            notices,
            unfinished: AtomicU32::new(unfinished),
            sent_from_outside: AtomicU64::new(0),
            withdrawn: AtomicU64::new(0),
            started: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// Connects the actors, which can be reached from now on.
    pub fn connect(&self, transport: Box<dyn Transport>) {
        assert!(self.transport.set(transport).is_ok(), "invariant: a network is connected once");
    }

    /// All entities have been polled: admits inputs from now on.
    pub fn start(&self) {
        self.started.store(true, SeqCst);
    }

    /// Counts a message that an actor of this arbiter sends, and returns what sends it.
    pub fn sending(&self, arbiter: usize) -> &dyn Transport {
        self.counters(arbiter).sends();
        self.transport()
    }

    /// Counts messages that any other thread sends, and returns what sends them.
    pub fn sending_from_outside(&self, messages: usize) -> &dyn Transport {
        self.sent_from_outside.fetch_add(messages as u64, SeqCst);
        self.transport()
    }

    /// A message that was counted is not sent after all.
    pub fn withdraw(&self) {
        self.withdrawn.fetch_add(1, SeqCst);
    }

    /// How actors reach each other.
    fn transport(&self) -> &dyn Transport {
        &**self.transport.get().expect("invariant: actors are connected before anything is sent")
    }

    /// What an entity may know when it is polled.
    pub fn context(&self) -> Context<'_> {
        self.shared.context()
    }

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
        let _ = self.notices.send(Notice::Over);
    }

    /// Why the run ended early, if it did.
    pub fn failure(&self) -> Option<Failure> {
        lock(&self.failure).clone()
    }

    /// Whether every entity has reached the end.
    pub fn is_finished(&self) -> bool {
        lock(&self.failure).is_none() && self.unfinished.load(SeqCst) == 0
    }

    /// Writes a plan of an entity on this arbiter into the table. `None` if the reply will come as a message.
    pub fn write(
        &self,
        arbiter: usize,
        plan: Plan<RigidModel>,
        gvt: Tick,
    ) -> Option<(Plan<RigidModel>, WriteResult<RigidModel>)> {
        let Shared { model, grid, table, .. } = &self.shared;
        if !self.transport().has_bucket_actors() {
            return Some(table.write(model, plan, gvt));
        }
        let request = TableRequest::new(TableWrite::new(grid, model, plan, gvt));
        match request.wants() {
            Some(bucket) => self.sending(arbiter).request(bucket, request),
            // An entity without bodies passes no cell.
            None => return Some(request.finish()),
        }
        None
    }

    /// What an arbiter counts.
    pub fn counters(&self, arbiter: usize) -> &CoreCounters {
        &self.slots[arbiter].counters
    }

    /// The time now, if the run is traced.
    pub fn trace_now(&self) -> Option<u64> {
        self.tracer.as_ref().map(|tracer| tracer.now())
    }

    /// A phase that began at `since` ends now. Returns the time now.
    pub fn trace(
        &self,
        arbiter: usize,
        phase: Phase,
        (entity, tick): (Option<EntityId>, Tick),
        since: u64,
    ) -> Option<u64> {
        self.tracer.as_ref().map(|tracer| tracer.end(arbiter, phase, entity, tick, since))
    }

    /// The same for the thread that commits frames.
    pub fn trace_frames(&self, phase: Phase, gvt: Tick, since: Option<u64>) -> Option<u64> {
        let tracer = self.tracer.as_ref()?;
        Some(tracer.end(tracer.frames_row(), phase, None, gvt, since?))
    }

    /// Registers an entity that waits for the lowest LVT to reach `tick`. `false` if it has: the time is read again
    /// after registering, so that no wake-up is lost.
    pub fn wait(&self, arbiter: usize, id: EntityId, tick: Tick) -> bool {
        self.slots[arbiter].waiters.register(id, tick, || self.shared.gvt.times().lvt_min)
    }

    /// Raises GVT if it can rise, and wakes the entities that wait for it.
    pub fn advance(&self) {
        let Some(VirtualTimes { lvt_min, .. }) = self.shared.gvt.advance() else { return };
        let _ = self.notices.send(Notice::Gvt);
        let counters = self.slots.iter().map(|slot| &slot.counters);
        self.gvt_stats.note(&*self.shared.gvt, self.shared.limits.window, lvt_min, counters.clone());
        self.shared.throttle.adjust(counters);
        for (arbiter, slot) in self.slots.iter().enumerate() {
            let woken = slot.waiters.reached(lvt_min);
            if !woken.is_empty() {
                self.gvt_stats.woke(woken.len());
                self.sending_from_outside(woken.len()).wake(arbiter, woken);
            }
        }
    }

    /// One more entity is done. When all are, no message is on its way: every message has a sender that awaits its
    /// acknowledgement.
    pub fn one_done(&self) {
        if self.unfinished.fetch_sub(1, SeqCst) == 1 {
            self.end(None);
        }
    }

    /// An entity that was done has received something, and is not done any more.
    pub fn not_done(&self) {
        self.unfinished.fetch_add(1, SeqCst);
    }

    /// Takes the report of an entity.
    pub fn report(&self, arbiter: usize, stats: &Stats, behind: Option<(Tick, String)>) {
        lock(&self.slots[arbiter].report).note(stats, behind);
    }

    /// The number of messages sent so far, if every one of them has been handled: then no handler runs, no message is on
    /// its way, and nothing will happen unless something comes from outside. `None` if that is not so, or not certain.
    ///
    /// A message is counted as sent before it leaves, and as handled after its handler has returned and so after
    /// everything that the handler sent was counted. What was handled is read first. So every message that is seen as
    /// handled is seen as sent, and so is everything that its handler sent. If both numbers are the same, then all that
    /// were seen as sent were seen as handled; what they sent is among them, and there are no others.
    pub fn quiet(&self) -> Option<u64> {
        if !self.started.load(SeqCst) {
            return None;
        }
        let sum = |count: fn(&CoreCounters) -> u64| -> u64 {
            self.slots.iter().map(|slot| count(&slot.counters)).sum()
        };
        let handled = self.withdrawn.load(SeqCst) + sum(CoreCounters::handled);
        let sent = self.sent_from_outside.load(SeqCst) + sum(CoreCounters::sent);
        (sent == handled).then_some(sent)
    }
}

/// The network takes inputs through a handle of its own, because starting an entity needs one to give away.
pub(crate) struct NetworkInputs(pub Arc<Network>);

impl InputSink for NetworkInputs {
    fn pin(&self, tick: Tick) -> Result<Tick, InputError> {
        let Network { shared, unfinished, started, sent_from_outside, .. } = &*self.0;
        // Inputs may come before the actors have started.
        while !started.load(SeqCst) && !self.0.is_ending() {
            thread::sleep(Duration::from_micros(100));
        }
        // Once the count is zero the run is over.
        let one_more = |count: u32| (count > 0).then(|| count + 1);
        if self.0.is_ending() || unfinished.fetch_update(SeqCst, SeqCst, one_more).is_err() {
            return Err(InputError::Over);
        }
        // From before it pins GVT until it has been handled: a run is not stalled that waits for it.
        sent_from_outside.fetch_add(1, SeqCst);
        let pinned = shared.gvt.pin(tick);
        self.0.advance();
        pinned.map_err(|gvt| {
            self.0.withdraw();
            self.0.one_done();
            InputError::Committed { tick, gvt }
        })
    }

    fn take(&self, pinned: Tick, entry: QueuedInput) {
        let shared = &self.0.shared;
        let transport = self.0.transport();
        if is_spawn(&entry) {
            // The new entity counts as unfinished in place of the input, and its LVT is where the input pinned GVT.
            return transport.start(shared.spawned(pinned, &entry), self.0.clone());
        }
        transport.deliver_input(shared.home_entity(entry.input.body), pinned, entry);
    }
}
