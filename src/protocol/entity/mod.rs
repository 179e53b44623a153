//! The state machine of an entity: step, resolve, roll back.
//!
//! *Step*: nothing is pending_acks, and it flies on. *Resolve*: contacts have been told and not all are answered yet.
//! *Rollback*: something in its past has changed; what came after is taken back, those who were told are told
//! otherwise, and it goes on from there. Phases only decide whether it may step; messages are handled in all.

mod cluster;
mod inputs;
mod membership;
mod migrate;
mod portrait;
mod receive;
mod step;
mod validate;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, CachedContact, Cluster, Dynamics, Response};
use crate::protocol::effects::Effects;
use crate::protocol::fault::Fault;
use crate::protocol::history::{History, UndoneContacts};
use crate::protocol::message::{At, EntityId, Message, Version};
use crate::protocol::stats::Stats;
use crate::protocol::tvht::CellCover;
use crate::protocol::tvht::{Encounter, Track};
use cluster::ClusterStats;

/// How far ahead an entity responds to contacts before it has any experience.
const CONTACT_WINDOW_START_TICKS: u64 = 16;
/// More than this is never worth remembering.
const CONTACT_WINDOW_MAX_TICKS: u64 = 256;

/// How far entities may run ahead. None of this changes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most ticks above the lowest local virtual time. At least 1.
    pub window: u64,
    /// Most ticks above the lowest local virtual time at which a contact may still be responded to: fly far, touch near.
    /// `None`: as far as has proved worthwhile for each entity.
    pub contact_window: Option<u64>,
    /// Fly only if that gives at least so many ticks, unless everybody waits for this entity.
    pub stride_min: u64,
    /// Shorten the strides of those who are often rolled back.
    pub adaptive: bool,
    /// The last tick of the run.
    pub last_tick: Tick,
    /// Crews that go on from one contact to the next by themselves stop here.
    pub alone_until: Tick,
}

/// Flights to be written into the table.
#[derive(Clone)]
pub struct Plan<D: Dynamics> {
    /// Who.
    pub entity: EntityId,
    /// In which version.
    pub version: Version,
    /// First tick.
    pub first: Tick,
    /// Last tick, if nothing else is met.
    pub last: Tick,
    /// Where the cluster touches static geometry or itself, if it does before or at `last`.
    pub own_touch: Option<Tick>,
    /// Bodies and their flights: at all these ticks, or at the first if there are planned_ticks.
    pub cluster: Cluster<D>,
    /// The ticks after the first, if the cluster is held and has gone on from one tick to the next by itself.
    pub(super) planned_ticks: Vec<PlannedTick<D>>,
    /// How it goes on from `last`, if that is known.
    response: Option<Box<Response<D>>>,
    /// The cluster will most likely stay where it is.
    pub(super) is_near: bool,
    /// Where it was in the grid before, if so.
    pub(super) cell_cover: Option<Arc<CellCover>>,
    /// What is new about the cluster's flights; nothing for who is no more.
    departures: Departures<D>,
    /// How much had changed when the plan was made: it is void if more has.
    changes: u64,
}

/// What is new about the flights of a cluster; nothing for who is no more.
type Departures<D> = Vec<(BodyIndex, Option<<D as Dynamics>::Flight>)>;

/// A tick of a plan after its first.
#[derive(Clone)]
pub(super) struct PlannedTick<D: Dynamics> {
    /// How the cluster went on from the tick before.
    pub(super) response: Box<Response<D>>,
    /// Bodies and their flights at this tick.
    pub(super) cluster: Cluster<D>,
}

/// What the table answers to a plan.
#[derive(Clone)]
pub struct WriteResult<D: Dynamics> {
    /// The tick the flights were cut at, because something is touched there; else the plan's last.
    pub last: Tick,
    /// Everything that is touched at `last`.
    pub found: Vec<Encounter<D>>,
    /// The track as it stands in the table.
    pub track: Arc<Track<D>>,
}

/// Something sent and not answered yet: to whom an event went, about which contact.
#[derive(Clone)]
struct PendingAck {
    event: Option<(At, EntityId, BodyIndex, BodyIndex)>,
}

/// Where an entity begins: at the start of the run, when it comes into being, or anew when its cluster changes.
#[derive(Clone)]
struct Origin<D: Dynamics> {
    /// The first tick it writes.
    first: Tick,
    cluster: Cluster<D>,
    /// What pairs remember that touched at `first - 1`.
    memories: Vec<CachedContact<D>>,
    /// Whether somebody was held at `first - 1`.
    expects_contact: bool,
}

/// Actions from outside that wait for their tick, in the order they were given.
type Inputs<A> = BTreeMap<Tick, Vec<(u64, A)>>;

/// A body, or a cluster of bodies with one local virtual time.
#[derive(Clone)]
pub struct Entity<D: Dynamics> {
    id: EntityId,
    /// Its cluster is a group, whose bodies are solved together.
    together: bool,
    /// Its local virtual time before it has written anything.
    base: Tick,
    /// How it begins; kept until that is settled. Nothing if it has no bodies and no future.
    origin: Option<Origin<D>>,
    history: History<D>,
    /// Every body that is or was of the cluster at a tick that is not settled, ascending.
    members: Vec<BodyIndex>,
    inputs: Inputs<D::Input>,
    /// Bodies it has handed over, and to whom: who asks for them is sent on.
    given: BTreeMap<BodyIndex, EntityId>,
    version: Version,
    /// What it has sent and not heard an answer to.
    pending_acks: BTreeMap<u64, PendingAck>,
    serial: u64,
    /// The tick it is counted at: its local virtual time, or nowhere if it has no bodies and no future.
    lvt_known: Option<Tick>,
    /// How often what it knows has changed.
    changes: u64,
    /// A plan is on its way to the table.
    writing: bool,
    /// The version of that plan, and its first tick.
    planned: (Version, Tick),
    /// What has been told about that plan by those who met it before the table's answer came.
    deferred: Vec<(EntityId, Message<D>)>,
    /// Ticks it flies at a time: halved by every rollback, doubled by every flight that met nobody.
    stride: u64,
    /// Ticks it flies, by experience, before it touches something; and those since it last did.
    mean_free_ticks: u64,
    since_touch: u64,
    /// Ticks ahead of global virtual time at which it responds to contacts: halved when a response was in vain,
    /// one more for every response that was not.
    contact_window_ticks: u64,
    /// Ticks a large cluster looks ahead for touches among its own: twice as far as the last one was away.
    own_search_ticks: u64,
    /// What it has seen of its company.
    cluster_stats: ClusterStats,
    stats: Stats,
    fault: Fault,
}

impl<D: Dynamics> Entity<D> {
    /// An entity at the start of the run, to be counted at tick 0. Bodies in ascending order.
    pub fn new(id: EntityId, start: Cluster<D>) -> Self {
        let members = start.iter().map(|(place, _)| *place).collect();
        let origin = Origin { first: 0, cluster: start, memories: Vec::new(), expects_contact: false };
        Entity {
            id,
            together: false,
            base: 0,
            origin: Some(origin),
            history: History::default(),
            members,
            inputs: BTreeMap::new(),
            given: BTreeMap::new(),
            version: 0,
            pending_acks: BTreeMap::new(),
            serial: 0,
            lvt_known: Some(0),
            changes: 0,
            writing: false,
            planned: (0, 0),
            deferred: Vec::new(),
            stride: u64::MAX,
            mean_free_ticks: u64::MAX,
            since_touch: 0,
            contact_window_ticks: CONTACT_WINDOW_START_TICKS,
            own_search_ticks: step::OWN_SEARCH_TICKS_START,
            cluster_stats: ClusterStats::default(),
            stats: Stats::default(),
            fault: Fault::None,
        }
    }

    /// The same for a group, whose bodies are solved together: it is advanced tick by tick.
    pub fn of_group(mut self) -> Self {
        self.together = true;
        self
    }

    /// The same with a deliberate fault, for worlds that may have one.
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self.history.is_blind = fault == Fault::NoVersions;
        self
    }

    /// Whether it has a certain deliberate fault. Never, where nothing may have one.
    #[inline]
    pub(super) fn has(&self, fault: Fault) -> bool {
        D::FAULTY && self.fault == fault
    }

    /// An entity that comes into being during the run, to be counted at `base`. It has no body yet, and gets one
    /// by an action at tick `at`, which is `base` or later.
    pub fn spawning(id: EntityId, base: Tick, (at, number, home_entity): (Tick, u64, D::Input)) -> Self {
        let mut entity = Entity::new(id, Cluster::<D>::new());
        entity.base = base;
        entity.lvt_known = Some(base);
        entity.origin = Some(Origin {
            first: base + 1,
            cluster: Cluster::<D>::new(),
            memories: Vec::new(),
            expects_contact: false,
        });
        entity.members.push(D::target(&home_entity));
        entity.inputs.insert(at, vec![(number, home_entity)]);
        entity
    }

    /// Its name.
    pub fn id(&self) -> EntityId {
        self.id
    }

    /// What it has done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Local virtual time: the last tick it has written.
    pub fn lvt(&self) -> Tick {
        self.history.latest().map_or(self.base, |segment| segment.last)
    }

    /// Whether it has no bodies and no future, and is counted nowhere.
    pub fn is_retired(&self) -> bool {
        self.lvt_known.is_none()
    }

    /// Messages it has not heard an answer to.
    pub fn pending_ack_count(&self) -> usize {
        self.pending_acks.len()
    }

    /// Whether it has nothing more to do, unless somebody tells it something.
    pub fn is_done(&self, limits: &Limits) -> bool {
        self.pending_acks.is_empty()
            && !self.writing
            && (self.is_retired() || self.history.latest().is_some_and(|l| l.last >= limits.last_tick))
    }

    /// Whether a step could lead anywhere: nothing is pending_acks, and nothing is being written.
    pub fn is_free(&self) -> bool {
        !self.writing && (self.pending_acks.is_empty() || self.has(Fault::NoGate))
    }

    /// The phase it is in, in the words of Time Warp.
    pub fn phase(&self) -> &'static str {
        if !self.pending_acks.is_empty() {
            "resolve or rollback"
        } else if self.writing {
            "write"
        } else if self.is_retired() {
            "retired"
        } else {
            "step"
        }
    }

    /// Every body that is or was of its cluster at a tick that is not settled, ascending.
    pub fn members(&self) -> &[BodyIndex] {
        &self.members
    }

    /// The first of its bodies; any if it has none.
    pub fn body(&self) -> BodyIndex {
        self.members.first().copied().unwrap_or(0)
    }

    /// Bytes its history takes. Standings are shared and left out.
    pub fn history_bytes(&self) -> usize {
        self.history.bytes()
    }

    /// Segments it keeps.
    pub fn segments(&self) -> usize {
        self.history.len()
    }

    /// Takes back everything after `tick` though nothing calls for it: to see that it comes out the same again.
    /// The tick must not lie below global virtual time.
    pub(super) fn force_rollback(&mut self, tick: Tick, out: &mut Effects<D>) {
        self.rollback_to(tick, out);
    }

    /// Takes back everything after `tick`, and tells those who had been told about it.
    fn rollback_to(&mut self, tick: Tick, out: &mut Effects<D>) {
        let lvt = self.lvt();
        if lvt <= tick {
            return;
        }
        self.version += 1;
        self.changes += 1;
        self.stats.undo(lvt - tick);
        // What turned out to be too far is known: the next flight is at most half as long as the one cut short.
        self.stride = ((lvt - tick) / 2).clamp(1, self.stride);
        if self.history.hurried_from(tick) {
            self.contact_window_ticks /= 2;
        }
        let lost = self.history.rollback_to(tick, out);
        self.send_antievents(lost, out);
        out.retract_flights(&self.members, tick);
        self.recount(out);
    }

    /// Tells those it touched at moments that are gone.
    fn send_antievents(&mut self, lost: Vec<UndoneContacts<D>>, out: &mut Effects<D>) {
        if self.has(Fault::NoAntievents) {
            return;
        }
        for UndoneContacts { tick, version, remotes } in lost {
            let mut told: Vec<(EntityId, Version)> =
                remotes.iter().map(|known| (known.entity, known.version)).collect();
            told.sort_unstable();
            told.dedup();
            for (to, theirs) in told {
                let serial = self.await_ack(PendingAck { event: None });
                self.stats.antievents += 1;
                let at = At { tick, from: version, to: theirs };
                out.messages.push((to, Message::Antievent { at, serial }));
            }
        }
    }

    /// A serial number for something that is to be answered.
    fn await_ack(&mut self, debt: PendingAck) -> u64 {
        self.serial += 1;
        self.pending_acks.insert(self.serial, debt);
        self.serial
    }

    /// Global virtual time has moved: what lies below it is settled, and let go.
    pub(super) fn fossil_collect(&mut self, gvt: Tick) {
        if gvt > self.base && self.history.len() > 0 {
            self.origin = None;
        }
        let acted_before = gvt + u64::from(self.has(Fault::InputsFossilAtGvt));
        while self.inputs.first_key_value().is_some_and(|(tick, _)| *tick < acted_before) {
            self.inputs.pop_first();
        }
        let gvt = gvt + u64::from(self.has(Fault::FossilAtGvt));
        let (stats, ahead, cluster_stats) =
            (&mut self.stats, &mut self.contact_window_ticks, &mut self.cluster_stats);
        let (free, since) = (&mut self.mean_free_ticks, &mut self.since_touch);
        self.history.drop_before(gvt, |segment| {
            *since += segment.last + 1 - segment.first;
            if segment.touches() {
                let seen = std::mem::take(since);
                *free = if *free == u64::MAX { seen } else { (3 * *free + seen) / 4 };
            } else if *free < *since {
                *free = *since;
            }
            if let Some(response) = &segment.response {
                cluster_stats.record(response);
                stats.commit(&response.seen);
                *ahead = (*ahead + 1).min(CONTACT_WINDOW_MAX_TICKS);
            }
        });
    }

    /// At the end of the run: everything is settled. What touches at the last tick is seen, though it no longer
    /// acts.
    pub(super) fn finish(&mut self, dynamics: &D) -> Stats {
        let (stats, together) = (&mut self.stats, self.together);
        self.history.drop_before(Tick::MAX, |segment| match &segment.response {
            Some(response) => stats.commit(&response.seen),
            None if segment.touches() => stats.commit(&segment.respond(dynamics, together).seen),
            None => {}
        });
        self.stats
    }

    fn recount(&mut self, out: &mut Effects<D>) {
        let lvt = Some(self.lvt());
        out.move_lvt(self.lvt_known, lvt);
        self.lvt_known = lvt;
    }
}
