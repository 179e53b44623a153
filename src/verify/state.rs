//! One state of what is played, and what can happen next.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use crate::base::time::Tick;
use crate::protocol::GvtService;
use crate::protocol::{
    BodyIndex, Bucket, Driver, Entity, EntityId, Message, Plan, Track, Version, WriteResult,
};
use crate::protocol::{BucketQueue, TableRequest};
use crate::runtime::directory::EntityDirectory;
use crate::runtime::lvt_histogram::LvtHistogram;
use crate::verify::config::{ModelConfig, ScriptedInput};
use crate::verify::property::Violation;
use crate::verify::toy_model::{ToyInput, ToyModel, ToyPath};
use crate::verify::trace::TraceLog;

/// Who sends or gets something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub enum Endpoint {
    /// An entity.
    Entity(EntityId),
    /// A bucket of the message lane.
    Bucket(u32),
    /// Whoever acts from outside.
    Outside,
    /// Who moves the lvt_histogram, if that is done by messages, which it must not be.
    Counter,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Entity(id) => write!(f, "{id}"),
            Endpoint::Bucket(number) => write!(f, "bucket {number}"),
            Endpoint::Outside => f.write_str("outside"),
            Endpoint::Counter => f.write_str("the clerk"),
        }
    }
}

/// Something that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// The oldest message between two is handed over.
    Deliver {
        /// Who sent it.
        from: Endpoint,
        /// Who gets it.
        to: Endpoint,
    },
    /// An entity does what it may.
    Step(EntityId),
    /// A plan goes into the shared table.
    Write(EntityId),
    /// The next of the things that a handler wants done is done.
    Effect(EntityId),
    /// The next thing comes from outside.
    ScriptedInput,
}

/// Something on its way.
#[derive(Clone)]
pub(super) enum Envelope {
    Message(Message<ToyModel>),
    ToyInput { held: Tick, tick: Tick, number: u64, act: ToyInput },
    Request(TableRequest<ToyModel>),
    Reply(Plan<ToyModel>, WriteResult<ToyModel>),
    Unlock,
    Count(Option<Tick>, Option<Tick>),
}

/// A plan, and global virtual time when it was made.
pub(super) type Planned = (Plan<ToyModel>, Tick);

/// A track in the table.
type Shared = Arc<Track<ToyModel>>;

/// Something that a handler wants done.
#[derive(Clone)]
pub(super) enum Effect {
    Enter(Tick),
    Leave(Tick),
    Send(Endpoint, Box<Envelope>),
    Advance,
}

/// Courses of a body and when each begins; nothing from where it is no more.
pub(super) type Log = Vec<(Tick, Option<ToyPath>)>;

/// One state.
#[derive(Clone)]
pub struct ModelState {
    pub(super) drivers: Vec<Arc<Driver<ToyModel>>>,
    /// The buckets: with requests in the message lane, without in the shared one.
    pub(super) bucket_queues: Vec<Arc<BucketQueue<ToyModel>>>,
    pub(super) lvt_histogram: LvtHistogram,
    pub(super) channels: BTreeMap<(Endpoint, Endpoint), VecDeque<Arc<Envelope>>>,
    /// Who may have something to do.
    pub(super) ready: Vec<bool>,
    /// Who waits for the lowest to reach a tick.
    pub(super) waiting: Vec<Option<Tick>>,
    /// Plans that have been made and not been written yet.
    pub(super) plans: Vec<Option<Arc<Planned>>>,
    /// What handlers want done.
    pub(super) effects: Vec<VecDeque<Arc<Effect>>>,
    pub(super) log: Vec<Arc<Log>>,
    /// The entity each body was born in.
    pub(super) home_entities: Vec<EntityId>,
    /// Things that have come from outside.
    pub(super) inputs_used: usize,
    /// Which of them were let in.
    pub(super) let_in: u64,
    /// What entities know of each other, if they recluster by themselves.
    pub(super) directory: Option<Arc<EntityDirectory>>,
    pub(super) violation: Option<Violation>,
}

impl ModelState {
    /// The beginning.
    pub fn new(config: &ModelConfig) -> Self {
        let start = config.toy.start();
        let clusters: Vec<Vec<(BodyIndex, ToyPath)>> =
            start.chunks(config.cluster).map(<[_]>::to_vec).collect();
        let count = clusters.len();
        let sizes = || clusters.iter().map(|cluster| Some(cluster.len()));
        let directory = config.reclusters.map(|largest| Arc::new(EntityDirectory::new(sizes(), largest)));
        let home_entities =
            clusters.iter().zip(0..).flat_map(|(cluster, id)| cluster.iter().map(move |_| EntityId(id)));
        let home_entities = home_entities.collect();
        let entity = |(id, cluster): (u32, Vec<(BodyIndex, ToyPath)>)| {
            Arc::new(Driver::new(Entity::new(EntityId(id), cluster.into()).with_fault(config.toy.fault)))
        };
        ModelState {
            drivers: (0..).zip(clusters).map(entity).collect(),
            bucket_queues: (0..config.buckets).map(|number| Arc::new(BucketQueue::new(number))).collect(),
            lvt_histogram: LvtHistogram::new(
                count as u32,
                config.limits.window,
                config.history,
                config.limits.last_tick,
            ),
            channels: BTreeMap::new(),
            ready: vec![true; count],
            waiting: vec![None; count],
            plans: vec![None; count],
            effects: vec![VecDeque::new(); count],
            log: start.iter().map(|(_, path)| Arc::new(vec![(0, Some(*path))])).collect(),
            home_entities,
            inputs_used: 0,
            let_in: 0,
            directory,
            violation: None,
        }
    }

    /// The property that was violation on the way here.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// How far it has come.
    pub fn gvt(&self) -> Tick {
        self.lvt_histogram.gvt()
    }

    /// Everything that can happen next.
    pub fn moves(&self, config: &ModelConfig, moves: &mut Vec<Action>) {
        moves.clear();
        if self.violation.is_some() {
            return;
        }
        for (from, to) in self.channels.keys().copied() {
            if !matches!(to, Endpoint::Entity(id) if self.is_busy(id)) {
                moves.push(Action::Deliver { from, to });
            }
        }
        for at in 0..self.drivers.len() {
            let id = EntityId(at as u32);
            if self.plans[at].is_some() {
                moves.push(Action::Write(id));
            } else if !self.effects[at].is_empty() {
                moves.push(Action::Effect(id));
            } else if self.may_step(at) {
                moves.push(Action::Step(id));
            }
        }
        if self.can_give_input(config) {
            moves.push(Action::ScriptedInput);
        }
    }

    /// Whether an entity is in the middle of a handler.
    fn is_busy(&self, id: EntityId) -> bool {
        let at = id.0 as usize;
        self.plans[at].is_some() || !self.effects[at].is_empty()
    }

    /// Whether a step would not end at once because of what is pending_acks. Such a step would change nothing.
    fn may_step(&self, at: usize) -> bool {
        self.ready[at] && self.drivers[at].entity().is_free()
    }

    /// An answer that changes nothing and can arrive.
    pub(super) fn prompt_answer(&self) -> Option<Action> {
        let prompt = self.channels.iter().find(|((_, to), mail)| {
            let is_free = !matches!(to, Endpoint::Entity(id) if self.is_busy(*id));
            is_free && mail.front().is_some_and(changes_nothing)
        });
        prompt.map(|((from, to), _)| Action::Deliver { from: *from, to: *to })
    }

    fn can_give_input(&self, config: &ModelConfig) -> bool {
        match config.script.get(self.inputs_used) {
            None => false,
            Some(ScriptedInput::ToyInput { .. }) => true,
            Some(ScriptedInput::Migrate { from, bodies, .. }) => {
                let Some(giver) = self.drivers.get(from.0 as usize).map(|driver| driver.entity()) else {
                    return false;
                };
                let has = bodies.iter().any(|body| giver.members().contains(body));
                has && !self.is_busy(*from) && giver.can_migrate(self.lvt_histogram.gvt())
            }
        }
    }

    /// The state after a move. What it shares with this one stays as it is.
    pub fn after(&self, config: &ModelConfig, next: Action) -> ModelState {
        let mut state = self.unshared_copy(next);
        state.make(config, next, &mut TraceLog::off());
        state
    }

    /// Makes a move in place, as an executor does.
    pub fn go(&mut self, config: &ModelConfig, next: Action) {
        self.make(config, next, &mut TraceLog::off());
    }

    /// A copy in which a move can be made without changing this one.
    pub(super) fn unshared_copy(&self, next: Action) -> ModelState {
        let mut state = self.clone();
        state.unshare(self.lvt_histogram.gvt(), next);
        state
    }

    /// Gives the one who moves tracks of its own, so that cutting them does not change other states. Puts the
    /// buckets in order on the way, and drops what nobody will look at: what comes is the same for all states that
    /// differ only in that.
    fn unshare(&mut self, gvt: Tick, next: Action) {
        let mut unshared_copy: Vec<(Shared, Shared)> = Vec::new();
        let mut unshare = |track: &mut Shared| {
            // Segments of one step share a track.
            let known =
                unshared_copy.iter().find(|(old, _)| Arc::ptr_eq(old, track)).map(|(_, new)| new.clone());
            let unshared = known.unwrap_or_else(|| {
                let unshared = Arc::new(track.unshared_copy());
                unshared_copy.push((track.clone(), unshared.clone()));
                unshared
            });
            *track = unshared;
        };
        match next {
            Action::Deliver { from, to } => {
                let first = self.channels.get(&(from, to)).and_then(|mail| mail.front());
                let is_harmless = first.is_some_and(changes_nothing);
                if let Some(mail) = self.channels.get_mut(&(from, to)).and_then(|mail| mail.front_mut()) {
                    match &**mail {
                        Envelope::Request(_) | Envelope::Reply(..) => match Arc::make_mut(mail) {
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
                    // The next in the queue may come to its turn.
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
            Action::Effect(_) => return,
        }
        let looks = match next {
            Action::Step(_) | Action::Write(_) => true,
            Action::Deliver { to, .. } => matches!(to, Endpoint::Bucket(_)),
            Action::Effect(_) | Action::ScriptedInput => false,
        };
        for bucket_queue in &mut self.bucket_queues {
            let is_parted = |track: &Shared| unshared_copy.iter().any(|(old, _)| Arc::ptr_eq(old, track));
            if !looks && !bucket_queue.bucket.entries().iter().any(|entry| is_parted(&entry.track)) {
                continue;
            }
            let mut entries: Vec<_> = bucket_queue
                .bucket
                .entries()
                .iter()
                .filter(|entry| entry.track.end() > gvt && entry.track.end() > entry.track.first)
                .map(|entry| {
                    let unshared = unshared_copy.iter().find(|(old, _)| Arc::ptr_eq(old, &entry.track));
                    entry.with(unshared.map_or(&entry.track, |(_, new)| new).clone())
                })
                .collect();
            entries.sort_by_key(|entry| (*entry.cell(), order(&entry.track)));
            let mut bucket = Bucket::default();
            entries.into_iter().for_each(|entry| bucket.add(entry));
            Arc::make_mut(bucket_queue).bucket = bucket;
        }
    }

    pub(super) fn post(&mut self, from: Endpoint, to: Endpoint, mail: Envelope) {
        self.channels.entry((from, to)).or_default().push_back(Arc::new(mail));
    }
}

/// Whether it only says that something was heard.
fn changes_nothing(mail: &Arc<Envelope>) -> bool {
    matches!(**mail, Envelope::Message(Message::Ack { rejected: false, .. }))
}

/// A fixed order of the tracks in a cell.
pub(super) fn order(track: &Track<ToyModel>) -> (Version, Tick) {
    (track.version, track.first)
}
