//! The state machine of an entity (a logical process): step, resolve, roll back.
//!
//! *Step*: no acknowledgement is pending, and the entity plans its next flight. *Resolve*: contacts have been announced
//! and not all are acknowledged yet. *Rollback*: something in its past has changed (a straggler has arrived); what came
//! after is undone, antievents cancel what was announced, and the entity goes on from there. Phases only decide whether
//! it may step; messages are handled in all of them.
//!
//! Only the [driver](super::Driver) calls its handlers.

mod fingerprint;
mod inputs;
mod membership;
mod migrate;
mod plan;
mod receive;
mod step;
mod validate;
mod waits;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use smallvec::SmallVec;

use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, CachedContact, Cluster, Dynamics};
use crate::protocol::effects::Effects;
use crate::protocol::fault::Fault;
use crate::protocol::history::{History, UndoneContacts};
use crate::protocol::message::{At, EntityId, Message, Serial, Version};
use crate::protocol::stats::Stats;
use crate::protocol::tvht::{CellCover, Encounter, Track};

/// How many ticks ahead an entity responds to contacts before it has any experience. Not tuned.
const CONTACT_WINDOW_START_TICKS: u64 = 16;
/// The learnt contact window never grows beyond this many ticks. Not tuned.
const CONTACT_WINDOW_MAX_TICKS: u64 = 256;

/// How far entities may run ahead. None of this changes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most ticks above the lowest LVT. At least 1.
    pub window: u64,
    /// Most ticks above the lowest LVT at which a contact may still be responded to: flights may run far ahead, contacts
    /// should not. `None`: each entity learns how far is worthwhile.
    pub contact_window: Option<u64>,
    /// Fly only if that gives at least this many ticks, unless this entity has the lowest LVT.
    pub stride_min: u64,
    /// Shorten the strides of entities that are often rolled back.
    pub adaptive: bool,
    /// The last tick of the run.
    pub last_tick: Tick,
}

/// Flights to be written into the table.
#[derive(Clone, Serialize)]
#[serde(bound = "")]
pub struct Plan<D: Dynamics> {
    /// The version of its entity that made it.
    pub version: Version,
    /// First tick.
    pub first: Tick,
    /// Last tick, if no contact is found earlier.
    pub last: Tick,
    /// The tick at which it touches static geometry, if that is not after `last`; for an island, the next tick.
    pub own_touch: Option<Tick>,
    /// Bodies and their flights.
    pub cluster: Cluster<D>,
    /// It will most likely stay where it is.
    #[serde(skip)]
    pub(super) is_near: bool,
    /// The cells it covered before, if they may serve again.
    #[serde(skip)]
    pub(super) cell_cover: Option<Arc<CellCover>>,
    /// Bodies that begin a flight with it, and bodies that do not exist any more.
    departures: Departures,
    /// How much had changed when the plan was made: it is void if more has.
    #[serde(skip)]
    changes: u64,
}

/// Bodies that begin a flight, or end it for good.
type Departures = SmallVec<[BodyIndex; 2]>;

/// The table's reply to a plan.
#[derive(Clone, Serialize)]
#[serde(bound = "")]
pub struct WriteResult<D: Dynamics> {
    /// The tick of the first contact the write has found; else the plan's last.
    pub last: Tick,
    /// Every contact at `last`.
    pub found: Vec<Encounter<D>>,
    /// The track as it stands in the table.
    pub track: Arc<Track<D>>,
}

/// A message with a pending acknowledgement: for an event, its tick and versions, and both bodies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PendingAck {
    event: Option<(At, BodyIndex, BodyIndex)>,
    /// The receiver. Decides nothing: it is only named if it never answers.
    #[serde(skip)]
    to: EntityId,
}

/// Where an entity begins: at the start of the run, when it is spawned, or anew when its island changes.
#[derive(Clone, Serialize)]
#[serde(bound = "")]
struct Origin<D: Dynamics> {
    /// The first tick it writes.
    first: Tick,
    cluster: Cluster<D>,
    /// Caches of pairs that touched at `first - 1`.
    caches: Vec<CachedContact<D>>,
    /// Whether a body was held by a contact at `first - 1`.
    expects_contact: bool,
}

/// Inputs that wait for their tick, in the order they were given.
type Inputs<I> = BTreeMap<Tick, Vec<(u64, I)>>;

/// A body, or an island of bodies, with one local virtual time.
#[derive(Clone)]
pub struct Entity<D: Dynamics> {
    id: EntityId,
    /// It is an island: its bodies are solved together.
    is_island: bool,
    /// Its LVT before it has written anything.
    base: Tick,
    /// How it begins; kept until that is committed. `None` if it is retired.
    origin: Option<Origin<D>>,
    /// Saved states, as segments of flight.
    history: History<D>,
    /// Every body that it has or had at a tick that is not committed, ascending.
    members: Vec<BodyIndex>,
    inputs: Inputs<D::Input>,
    version: Version,
    /// Messages that have not been acknowledged, in the order they were sent.
    pending_acks: Vec<(Serial, PendingAck)>,
    /// The serial number used last.
    serial: Serial,
    /// Its LVT as it is known outside; `None` if it is retired.
    lvt_known: Option<Tick>,
    /// How often what it knows has changed.
    changes: u64,
    /// A plan is on its way to the table.
    writing: bool,
    /// The version of that plan, and its first tick.
    planned: (Version, Tick),
    /// Messages about that plan, from entities that found its track before the table's reply came.
    deferred: Vec<(EntityId, Message<D>)>,
    /// Most ticks of one flight: halved by every rollback, doubled by every flight without a contact.
    stride: u64,
    /// Ticks it flies, by experience, before it touches something; and those since it last did.
    mean_free_ticks: u64,
    since_touch: u64,
    /// Ticks ahead of the lowest LVT at which it responds to contacts: halved when a response was rolled back, one more
    /// for every response that was committed.
    contact_window_ticks: u64,
    stats: Stats,
    fault: Fault,
}

impl<D: Dynamics> Entity<D> {
    /// An entity at the start of the run, at LVT 0. Bodies in ascending order.
    pub fn new(id: EntityId, start: Cluster<D>) -> Self {
        let members = start.iter().map(|(body, _)| *body).collect();
        let version = Version { entity: id, number: 0 };
        let origin = Origin { first: 0, cluster: start, caches: Vec::new(), expects_contact: false };
        Entity {
            id,
            is_island: false,
            base: 0,
            origin: Some(origin),
            history: History::default(),
            members,
            inputs: BTreeMap::new(),
            version,
            pending_acks: Vec::new(),
            serial: Serial(0),
            lvt_known: Some(0),
            changes: 0,
            writing: false,
            planned: (version, 0),
            deferred: Vec::new(),
            stride: u64::MAX,
            mean_free_ticks: u64::MAX,
            since_touch: 0,
            contact_window_ticks: CONTACT_WINDOW_START_TICKS,
            stats: Stats::default(),
            fault: Fault::None,
        }
    }

    /// The same for an island: its bodies are solved together, tick by tick.
    pub fn of_island(mut self) -> Self {
        self.is_island = true;
        self
    }

    /// The same with a deliberate fault, for worlds that may have one.
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self.history.is_blind = fault == Fault::NoVersions;
        self
    }

    /// Whether it has this deliberate fault. Never, where nothing may have one.
    #[inline]
    pub(super) fn has(&self, fault: Fault) -> bool {
        D::FAULTY && self.fault == fault
    }

    /// Whether it has any deliberate fault.
    pub(super) fn is_faulty(&self) -> bool {
        D::FAULTY && self.fault != Fault::None
    }

    /// An entity that is spawned during the run, at LVT `base`. It has no body yet, and gets one by an input at tick
    /// `at`, which is `base` or later.
    pub fn spawning(id: EntityId, base: Tick, (at, number, input): (Tick, u64, D::Input)) -> Self {
        let mut entity = Entity::new(id, Cluster::<D>::new());
        entity.base = base;
        entity.lvt_known = Some(base);
        let (cluster, caches) = (Cluster::<D>::new(), Vec::new());
        entity.origin = Some(Origin { first: base + 1, cluster, caches, expects_contact: false });
        entity.members.push(D::target(&input));
        entity.inputs.insert(at, vec![(number, input)]);
        entity
    }

    /// Its id.
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

    /// Whether it has no bodies and will get none unless bodies migrate to it. It has no LVT then.
    pub fn is_retired(&self) -> bool {
        self.lvt_known.is_none()
    }

    /// Number of messages that have not been acknowledged.
    pub fn pending_ack_count(&self) -> usize {
        self.pending_acks.len()
    }

    /// Whether it has nothing more to do, unless a message arrives.
    pub fn is_done(&self, limits: &Limits) -> bool {
        self.pending_acks.is_empty()
            && !self.writing
            && (self.is_retired() || self.history.latest().is_some_and(|l| l.last >= limits.last_tick))
    }

    /// Whether a poll could lead anywhere: no acknowledgement is pending, and no plan is under way.
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

    /// Every body that it has or had at a tick that is not committed, ascending.
    pub fn members(&self) -> &[BodyIndex] {
        &self.members
    }

    /// The first of its bodies; 0 if it has none.
    pub fn body(&self) -> BodyIndex {
        self.members.first().copied().unwrap_or(0)
    }

    /// Bytes its history takes. Ghost states are shared and left out.
    pub fn history_bytes(&self) -> usize {
        self.history.bytes()
    }

    /// Number of segments it keeps.
    pub fn segments(&self) -> usize {
        self.history.len()
    }

    /// Rolls back everything after `tick` although nothing calls for it. `tick` must not lie below GVT.
    pub(super) fn force_rollback(&mut self, tick: Tick, out: &mut Effects<D>) {
        self.rollback_to(tick, out);
    }

    /// Rolls back everything after `tick`, and cancels by antievents what was announced about it.
    fn rollback_to(&mut self, tick: Tick, out: &mut Effects<D>) {
        let lvt = self.lvt();
        if lvt <= tick {
            return;
        }
        self.version.number += 1;
        self.changes += 1;
        self.stats.undo(lvt - tick);
        // What turned out to be too far is known: the next flight is at most half as long as the one rolled back.
        self.stride = ((lvt - tick) / 2).clamp(1, self.stride);
        if self.history.hurried_from(tick) {
            self.contact_window_ticks /= 2;
        }
        let undone = self.history.rollback_to(tick, out);
        self.send_antievents(undone, out);
        out.retract_flights(&self.members, tick);
        self.publish_lvt(out);
    }

    /// Sends an antievent to every entity that was touched at a tick that is undone.
    fn send_antievents(&mut self, undone: Vec<UndoneContacts<D>>, out: &mut Effects<D>) {
        if self.has(Fault::NoAntievents) {
            return;
        }
        for UndoneContacts { tick, version, remotes } in undone {
            let mut receivers: Vec<Version> = remotes.iter().map(|known| known.version).collect();
            receivers.sort_unstable();
            receivers.dedup();
            for to in receivers {
                let serial = self.await_ack(PendingAck { event: None, to: to.entity });
                self.stats.antievents += 1;
                let at = At { tick, from: version, to };
                out.messages.push((to.entity, Message::Antievent { at, serial }));
            }
        }
    }

    /// The serial number of a message that is to be acknowledged.
    fn await_ack(&mut self, pending: PendingAck) -> Serial {
        self.serial.0 += 1;
        self.pending_acks.push((self.serial, pending));
        self.serial
    }

    /// Fossil collection: GVT has risen, and what lies below it is committed and dropped.
    pub(super) fn fossil_collect(&mut self, gvt: Tick) {
        if gvt > self.base && self.history.len() > 0 {
            self.origin = None;
        }
        let collected_before = gvt + u64::from(self.has(Fault::InputsFossilAtGvt));
        while self.inputs.first_key_value().is_some_and(|(tick, _)| *tick < collected_before) {
            self.inputs.pop_first();
        }
        let gvt = gvt + u64::from(self.has(Fault::FossilAtGvt));
        let (stats, window) = (&mut self.stats, &mut self.contact_window_ticks);
        let (mean_free, since_touch) = (&mut self.mean_free_ticks, &mut self.since_touch);
        self.history.drop_before(gvt, |segment| {
            *since_touch += segment.last + 1 - segment.first;
            if segment.touches() {
                let free = std::mem::take(since_touch);
                *mean_free = if *mean_free == u64::MAX { free } else { (3 * *mean_free + free) / 4 };
            } else if *mean_free < *since_touch {
                *mean_free = *since_touch;
            }
            if let Some(response) = &segment.response {
                stats.commit(&response.counts);
                *window = (*window + 1).min(CONTACT_WINDOW_MAX_TICKS);
            }
        });
    }

    /// At the end of the run: everything is committed. Contacts at the last tick are counted, although they no longer
    /// act.
    pub(super) fn finish(&mut self, dynamics: &D) -> Stats {
        let (stats, is_island) = (&mut self.stats, self.is_island);
        self.history.drop_before(Tick::MAX, |segment| match &segment.response {
            Some(response) => stats.commit(&response.counts),
            None if segment.touches() => stats.commit(&segment.respond(dynamics, is_island).counts),
            None => {}
        });
        self.stats
    }

    fn publish_lvt(&mut self, out: &mut Effects<D>) {
        let lvt = Some(self.lvt());
        out.move_lvt(self.lvt_known, lvt);
        self.lvt_known = lvt;
    }
}

/// Serialises what a shared pointer points to, or nothing.
pub(super) fn pointed<T: Serialize, S: Serializer>(
    pointer: &Option<Arc<[T]>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    pointer.as_deref().unwrap_or_default().serialize(serializer)
}
