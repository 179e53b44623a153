//! One state of the model, and the actions that can come next.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use crate::base::time::Tick;
use crate::protocol::GvtService;
use crate::protocol::{Bucket, Driver, Entity, EntityId, Message, Plan, Track, Version, WriteResult};
use crate::protocol::{BucketQueue, TableRequest};
use crate::runtime::lvt_histogram::LvtHistogram;
use crate::verify::config::ModelConfig;
use crate::verify::property::Violation;
use crate::verify::toy_model::{ToyInput, ToyModel, ToyPath};
use crate::verify::trace::TraceLog;

/// A sender or receiver of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub enum Endpoint {
    /// An entity, by its id.
    Entity(EntityId),
    /// A bucket that is an actor, by its number.
    Bucket(u32),
    /// The source of inputs.
    Outside,
    /// The LVT histogram, where a deliberate fault moves LVTs by messages.
    Counter,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Entity(id) => write!(f, "{id}"),
            Endpoint::Bucket(number) => write!(f, "bucket {number}"),
            Endpoint::Outside => f.write_str("outside"),
            Endpoint::Counter => f.write_str("the LVT histogram"),
        }
    }
}

/// One step of the model: what can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// The oldest message from one endpoint to another is delivered.
    Deliver {
        /// The sender.
        from: Endpoint,
        /// The receiver.
        to: Endpoint,
    },
    /// An entity is polled: it plans its next step, or finds out what it has to wait for.
    Step(EntityId),
    /// The plan of an entity is written into the table in shared memory.
    Write(EntityId),
    /// The next effect of an entity's last handler is performed.
    Effect(EntityId),
    /// The next input of the script arrives.
    ScriptedInput,
    /// GVT has come to the beginning of an epoch, and the islands of the next one are decided.
    Decide,
}

/// Something that is being delivered.
#[derive(Clone)]
pub(super) enum Envelope {
    Message(Message<ToyModel>),
    /// An input, which pins GVT at `pinned` until it is performed.
    Input {
        pinned: Tick,
        tick: Tick,
        number: u64,
        input: ToyInput,
    },
    Request(TableRequest<ToyModel>),
    Reply(Plan<ToyModel>, WriteResult<ToyModel>),
    Unlock,
    /// An LVT moves, from and to these ticks; only with a deliberate fault.
    Count(Option<Tick>, Option<Tick>),
}

/// A plan, and GVT when it was made.
pub(super) type Planned = (Plan<ToyModel>, Tick);

/// A track in the table.
type Shared = Arc<Track<ToyModel>>;

/// An effect of a handler that others can see.
#[derive(Clone)]
pub(super) enum Effect {
    /// The LVT is added at a tick.
    Enter(Tick),
    /// The LVT is removed at a tick.
    Leave(Tick),
    Send(Endpoint, Box<Envelope>),
    /// GVT rises if it can.
    Advance,
}

/// The paths of a body, with the tick each begins at; `None` from the tick on at which the body is despawned.
pub(super) type Log = Vec<(Tick, Option<ToyPath>)>;

/// One state of the model.
#[derive(Clone)]
pub struct ModelState {
    pub(super) drivers: Vec<Arc<Driver<ToyModel>>>,
    /// The buckets; their queues of requests stay empty where the table is in shared memory.
    pub(super) bucket_queues: Vec<Arc<BucketQueue<ToyModel>>>,
    pub(super) lvt_histogram: LvtHistogram,
    pub(super) channels: BTreeMap<(Endpoint, Endpoint), VecDeque<Arc<Envelope>>>,
    /// Whether each entity is to be polled.
    pub(super) ready: Vec<bool>,
    /// The tick that each entity waits for the lowest LVT to reach.
    pub(super) waiting: Vec<Option<Tick>>,
    /// The plan of each entity that has not been written yet.
    pub(super) plans: Vec<Option<Arc<Planned>>>,
    /// Effects of each entity's last handler that have not been performed yet.
    pub(super) effects: Vec<VecDeque<Arc<Effect>>>,
    /// The paths of each body that ticks from GVT on need.
    pub(super) log: Vec<Arc<Log>>,
    /// The entity of each body outside islands.
    pub(super) home_entities: Vec<EntityId>,
    /// Number of inputs of the script that have arrived.
    pub(super) inputs_used: usize,
    /// Which of them were admitted, one bit each.
    pub(super) admitted: u64,
    /// Number of epochs at which islands have been decided.
    pub(super) decided: usize,
    pub(super) violation: Option<Violation>,
}

impl ModelState {
    /// The initial state.
    pub fn new(config: &ModelConfig) -> Self {
        let start = config.toy.start();
        let count = config.entities() as usize;
        let entity = |id: u32| {
            let entity = match start.get(id as usize) {
                Some(body) => Entity::new(EntityId(id), vec![*body].into()),
                None => Entity::new(EntityId(id), Vec::new().into()).of_island(),
            };
            Arc::new(Driver::new(entity.with_fault(config.toy.fault)))
        };
        let lvt_histogram = LvtHistogram::new(
            count as u32,
            config.limits.window,
            config.history_ticks,
            config.limits.last_tick,
        );
        if config.epoch_ticks.is_some() {
            lvt_histogram.set_ceiling(0);
        }
        ModelState {
            drivers: (0..count as u32).map(entity).collect(),
            bucket_queues: (0..config.buckets).map(|number| Arc::new(BucketQueue::new(number))).collect(),
            lvt_histogram,
            channels: BTreeMap::new(),
            ready: vec![true; count],
            waiting: vec![None; count],
            plans: vec![None; count],
            effects: vec![VecDeque::new(); count],
            log: start.iter().map(|(_, path)| Arc::new(vec![(0, Some(*path))])).collect(),
            home_entities: (0..config.toy.bodies).map(EntityId).collect(),
            inputs_used: 0,
            admitted: 0,
            decided: 0,
            violation: None,
        }
    }

    /// The property that the last action violated, if it did.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Global virtual time.
    pub fn gvt(&self) -> Tick {
        self.lvt_histogram.gvt()
    }

    /// Replaces the content of `actions` by everything that can happen next; nothing after a violation.
    pub fn actions(&self, config: &ModelConfig, actions: &mut Vec<Action>) {
        actions.clear();
        if self.violation.is_some() {
            return;
        }
        for (from, to) in self.channels.keys().copied() {
            if !matches!(to, Endpoint::Entity(id) if self.is_busy(id)) {
                actions.push(Action::Deliver { from, to });
            }
        }
        for index in 0..self.drivers.len() {
            let id = EntityId(index as u32);
            if !self.effects[index].is_empty() {
                actions.push(Action::Effect(id));
            } else if self.plans[index].is_some() {
                actions.push(Action::Write(id));
            } else if self.may_step(index) {
                actions.push(Action::Step(id));
            }
        }
        if self.next_epoch(config).is_some_and(|epoch| epoch <= self.gvt()) {
            actions.push(Action::Decide);
        }
        // Last, so that a schedule can leave it for later.
        if self.inputs_used < config.script.len() {
            actions.push(Action::ScriptedInput);
        }
    }

    /// Whether effects of an entity's last handler are still to be performed.
    fn is_busy(&self, id: EntityId) -> bool {
        let index = id.0 as usize;
        self.plans[index].is_some() || !self.effects[index].is_empty()
    }

    /// Whether an entity may be polled. With pending acknowledgements a poll would change nothing.
    fn may_step(&self, index: usize) -> bool {
        self.ready[index] && self.drivers[index].entity().is_free()
    }

    /// The delivery of an acknowledgement that rejects nothing, if one can be delivered.
    pub(super) fn prompt_ack(&self) -> Option<Action> {
        let prompt = self.channels.iter().find(|((_, to), envelopes)| {
            let is_free = !matches!(to, Endpoint::Entity(id) if self.is_busy(*id));
            is_free && envelopes.front().is_some_and(is_plain_ack)
        });
        prompt.map(|((from, to), _)| Action::Deliver { from: *from, to: *to })
    }

    /// The tick of the next decision on islands, if there is one.
    pub(super) fn next_epoch(&self, config: &ModelConfig) -> Option<Tick> {
        let next = self.decided as u64 * config.epoch_ticks?;
        (next <= config.limits.last_tick).then_some(next)
    }

    /// The state after an action. This state, and what the two share, stays as it is.
    pub fn after(&self, config: &ModelConfig, next: Action) -> ModelState {
        let mut state = self.unshared_copy(next);
        state.perform(config, next, &mut TraceLog::off());
        state
    }

    /// Performs an action in place, as an executor does. Buckets keep the order of their entries, which
    /// [`ModelState::after`] sorts; so the two may differ in what follows, and both are right.
    pub fn apply(&mut self, config: &ModelConfig, next: Action) {
        self.perform(config, next, &mut TraceLog::off());
    }

    /// A copy in which an action can be performed without changing this state.
    pub(super) fn unshared_copy(&self, next: Action) -> ModelState {
        let mut state = self.clone();
        state.unshare(self.lvt_histogram.gvt(), next);
        state
    }

    /// Gives the entities that the action changes tracks of their own, so that cutting them does not change other
    /// states. Sorts the buckets, and drops entries that no later search finds: states that differ only in that have
    /// the same future.
    fn unshare(&mut self, gvt: Tick, next: Action) {
        let mut copies: Vec<(Shared, Shared)> = Vec::new();
        let mut unshare = |track: &mut Shared| {
            // Segments of one step share a track.
            let known = copies.iter().find(|(old, _)| Arc::ptr_eq(old, track)).map(|(_, new)| new.clone());
            let unshared = known.unwrap_or_else(|| {
                let unshared = Arc::new(track.unshared_copy());
                copies.push((track.clone(), unshared.clone()));
                unshared
            });
            *track = unshared;
        };
        match next {
            Action::Deliver { from, to } => {
                let first = self.channels.get(&(from, to)).and_then(|envelopes| envelopes.front());
                let is_harmless = first.is_some_and(is_plain_ack);
                let first = self.channels.get_mut(&(from, to)).and_then(|envelopes| envelopes.front_mut());
                if let Some(envelope) = first {
                    match &**envelope {
                        Envelope::Request(_) | Envelope::Reply(..) => match Arc::make_mut(envelope) {
                            Envelope::Request(request) => unshare(request.search.track_mut()),
                            Envelope::Reply(_, written) => unshare(&mut written.track),
                            _ => {}
                        },
                        _ => {}
                    }
                }
                match to {
                    Endpoint::Entity(_) if is_harmless => {}
                    Endpoint::Entity(id) => {
                        Arc::make_mut(&mut self.drivers[id.0 as usize]).tracks_mut().for_each(&mut unshare);
                    }
                    // The next request of the queue may pass.
                    Endpoint::Bucket(number) => {
                        let bucket_queue = Arc::make_mut(&mut self.bucket_queues[number as usize]);
                        bucket_queue.queue_mut().for_each(|request| unshare(request.search.track_mut()));
                    }
                    Endpoint::Outside | Endpoint::Counter => {}
                }
            }
            Action::Step(id) | Action::Write(id) => {
                Arc::make_mut(&mut self.drivers[id.0 as usize]).tracks_mut().for_each(&mut unshare);
            }
            Action::ScriptedInput => {
                for driver in &mut self.drivers {
                    Arc::make_mut(driver).tracks_mut().for_each(&mut unshare);
                }
            }
            Action::Effect(_) | Action::Decide => return,
        }
        let reads_table = match next {
            Action::Step(_) | Action::Write(_) => true,
            Action::Deliver { to, .. } => matches!(to, Endpoint::Bucket(_)),
            Action::Effect(_) | Action::ScriptedInput | Action::Decide => false,
        };
        self.replace_tracks(gvt, &copies, reads_table);
    }

    /// Puts copies of tracks into the buckets that hold them; buckets that are about to be read are sorted as well.
    fn replace_tracks(&mut self, gvt: Tick, copies: &[(Shared, Shared)], reads_table: bool) {
        for bucket_queue in &mut self.bucket_queues {
            let is_copied = |track: &Shared| copies.iter().any(|(old, _)| Arc::ptr_eq(old, track));
            if !reads_table && !bucket_queue.bucket.entries().iter().any(|entry| is_copied(&entry.track)) {
                continue;
            }
            let mut entries: Vec<_> = bucket_queue
                .bucket
                .entries()
                .iter()
                .filter(|entry| entry.track.end() > gvt && entry.track.end() > entry.track.first)
                .map(|entry| {
                    let unshared = copies.iter().find(|(old, _)| Arc::ptr_eq(old, &entry.track));
                    entry.with(unshared.map_or(&entry.track, |(_, new)| new).clone())
                })
                .collect();
            entries.sort_by_key(|entry| (*entry.cell(), order(&entry.track)));
            let mut bucket = Bucket::default();
            entries.into_iter().for_each(|entry| bucket.add(entry));
            Arc::make_mut(bucket_queue).bucket = bucket;
        }
    }

    pub(super) fn post(&mut self, from: Endpoint, to: Endpoint, envelope: Envelope) {
        self.channels.entry((from, to)).or_default().push_back(Arc::new(envelope));
    }
}

/// Whether it is an acknowledgement that rejects nothing: it changes nothing but the count of pending ones.
fn is_plain_ack(envelope: &Arc<Envelope>) -> bool {
    matches!(**envelope, Envelope::Message(Message::Ack { rejected: false, .. }))
}

/// The order of tracks in a cell of a sorted bucket.
pub(super) fn order(track: &Track<ToyModel>) -> (Version, Tick) {
    (track.version, track.first)
}
