//! The state machine of an entity: step, resolve, roll back.
//!
//! *Step*: nothing is owed, and it flies on. *Resolve*: contacts have been told and not all are answered yet.
//! *Rollback*: something in its past has changed; what came after is taken back, those who were told are told
//! otherwise, and it goes on from there. Phases only decide whether it may step; messages are handled in all.

mod cluster;
mod membership;
mod migrate;
mod portrait;
mod receive;
mod step;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::time::Tick;
use crate::protocol::dynamics::{Crew, Dynamics, Place, Remembered, Response};
use crate::protocol::fault::Fault;
use crate::protocol::history::{History, Lost};
use crate::protocol::message::{At, EntityId, Message, Outbox, Version};
use crate::protocol::stats::Stats;
use crate::protocol::tvht::Layout;
use crate::protocol::tvht::{Found, Track};
use cluster::Company;
pub use migrate::Forward;

/// How far ahead an entity responds to contacts before it has any experience.
const CONTACT_AHEAD_AT_FIRST: u64 = 16;
/// More than this is never worth remembering.
const CONTACT_AHEAD_MAX: u64 = 256;

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

/// What an entity is about to do next.
pub enum Step<D: Dynamics> {
    /// Fly on: to be written into the table, whose answer goes to [`Entity::written`].
    Write(Plan<D>),
    /// It has told something and must hear the answers first, or it knows that it has yet to be told something.
    Owes,
    /// It is as far ahead as it may be; to be tried again when the lowest local virtual time reaches this
    /// tick.
    WaitFor(Tick),
    /// It has reached the last tick.
    Done,
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
    /// Where the crew touches static geometry or itself, if it does before or at `last`.
    pub own_touch: Option<Tick>,
    /// Bodies and their flights: at all these ticks, or at the first if there are legs.
    pub crew: Crew<D>,
    /// The ticks after the first, if the crew is held and has gone on from one tick to the next by itself.
    pub(super) legs: Vec<Leg<D>>,
    /// How it goes on from `last`, if that is known.
    response: Option<Box<Response<D>>>,
    /// The crew will most likely stay where it is.
    pub(super) is_near: bool,
    /// Where it was in the grid before, if so.
    pub(super) layout: Option<Arc<Layout>>,
    /// What is new about the crew's flights; nothing for who is no more.
    departures: Departures<D>,
    /// How much had changed when the plan was made: it is void if more has.
    changes: u64,
}

/// What is new about the flights of a crew; nothing for who is no more.
type Departures<D> = Vec<(Place, Option<<D as Dynamics>::Flight>)>;

/// A tick of a plan after its first.
#[derive(Clone)]
pub(super) struct Leg<D: Dynamics> {
    /// How the crew went on from the tick before.
    pub(super) response: Box<Response<D>>,
    /// Bodies and their flights at this tick.
    pub(super) crew: Crew<D>,
}

/// What the table answers to a plan.
#[derive(Clone)]
pub struct Written<D: Dynamics> {
    /// The tick the flights were cut at, because something is touched there; else the plan's last.
    pub last: Tick,
    /// Everything that is touched at `last`.
    pub found: Vec<Found<D>>,
    /// The track as it stands in the table.
    pub track: Arc<Track<D>>,
}

/// Something sent and not answered yet: to whom an event went, about which contact.
#[derive(Clone)]
struct Debt {
    event: Option<(At, EntityId, Place, Place)>,
}

/// Where an entity begins: at the start of the run, when it comes into being, or anew when its crew changes.
#[derive(Clone)]
struct Origin<D: Dynamics> {
    /// The first tick it writes.
    first: Tick,
    crew: Crew<D>,
    /// What pairs remember that touched at `first - 1`.
    memories: Vec<Remembered<D>>,
    /// Whether somebody was held at `first - 1`.
    expectant: bool,
}

/// Actions from outside that wait for their tick, in the order they were given.
type Actions<A> = BTreeMap<Tick, Vec<(u64, A)>>;

/// A body, or a crew of bodies with one local virtual time.
#[derive(Clone)]
pub struct Entity<D: Dynamics> {
    id: EntityId,
    /// Its crew is a group, whose bodies are solved together.
    together: bool,
    /// Its local virtual time before it has written anything.
    base: Tick,
    /// How it begins; kept until that is settled. Nothing if it has no bodies and no future.
    origin: Option<Origin<D>>,
    history: History<D>,
    /// Every body that is or was of the crew at a tick that is not settled, ascending.
    members: Vec<Place>,
    actions: Actions<D::Action>,
    /// Bodies it has handed over, and to whom: who asks for them is sent on.
    given: BTreeMap<Place, EntityId>,
    version: Version,
    /// What it has sent and not heard an answer to.
    owed: BTreeMap<u64, Debt>,
    serial: u64,
    /// The tick it is counted at: its local virtual time, or nowhere if it has no bodies and no future.
    counted: Option<Tick>,
    /// How often what it knows has changed.
    changes: u64,
    /// A plan is on its way to the table.
    writing: bool,
    /// The version of that plan, and its first tick.
    planned: (Version, Tick),
    /// What has been told about that plan by those who met it before the table's answer came.
    put_off: Vec<(EntityId, Message<D>)>,
    /// Ticks it flies at a time: halved by every rollback, doubled by every flight that met nobody.
    stride: u64,
    /// Ticks it flies, by experience, before it touches something; and those since it last did.
    free_ticks: u64,
    since_touch: u64,
    /// Ticks ahead of global virtual time at which it responds to contacts: halved when a response was in vain,
    /// one more for every response that was not.
    contact_ahead: u64,
    /// Ticks a large crew looks ahead for touches among its own: twice as far as the last one was away.
    foresight: u64,
    /// What it has seen of its company.
    company: Company,
    stats: Stats,
    fault: Fault,
}

impl<D: Dynamics> Entity<D> {
    /// An entity at the start of the run, to be counted at tick 0. Bodies in ascending order.
    pub fn new(id: EntityId, start: Crew<D>) -> Self {
        let members = start.iter().map(|(place, _)| *place).collect();
        let origin = Origin { first: 0, crew: start, memories: Vec::new(), expectant: false };
        Entity {
            id,
            together: false,
            base: 0,
            origin: Some(origin),
            history: History::default(),
            members,
            actions: BTreeMap::new(),
            given: BTreeMap::new(),
            version: 0,
            owed: BTreeMap::new(),
            serial: 0,
            counted: Some(0),
            changes: 0,
            writing: false,
            planned: (0, 0),
            put_off: Vec::new(),
            stride: u64::MAX,
            free_ticks: u64::MAX,
            since_touch: 0,
            contact_ahead: CONTACT_AHEAD_AT_FIRST,
            foresight: step::FORESIGHT_AT_FIRST,
            company: Company::default(),
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
    fn has(&self, fault: Fault) -> bool {
        D::FAULTY && self.fault == fault
    }

    /// An entity that comes into being during the run, to be counted at `base`. It has no body yet, and gets one
    /// by an action at tick `at`, which is `base` or later.
    pub fn unborn(id: EntityId, base: Tick, (at, number, birth): (Tick, u64, D::Action)) -> Self {
        let mut entity = Entity::new(id, Crew::<D>::new());
        entity.base = base;
        entity.counted = Some(base);
        entity.origin =
            Some(Origin { first: base + 1, crew: Crew::<D>::new(), memories: Vec::new(), expectant: false });
        entity.members.push(D::subject(&birth));
        entity.actions.insert(at, vec![(number, birth)]);
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
    pub fn is_vacant(&self) -> bool {
        self.counted.is_none()
    }

    /// Messages it has not heard an answer to.
    pub fn owes(&self) -> usize {
        self.owed.len()
    }

    /// Whether it has nothing more to do, unless somebody tells it something.
    pub fn is_done(&self, limits: &Limits) -> bool {
        self.owed.is_empty()
            && !self.writing
            && (self.is_vacant() || self.history.latest().is_some_and(|l| l.last >= limits.last_tick))
    }

    /// Whether a step could lead anywhere: nothing is owed, and nothing is being written.
    pub fn is_free(&self) -> bool {
        !self.writing && (self.owed.is_empty() || self.has(Fault::NoGate))
    }

    /// The phase it is in, in the words of Time Warp.
    pub fn phase(&self) -> &'static str {
        if !self.owed.is_empty() {
            "resolve or rollback"
        } else if self.writing {
            "write"
        } else if self.is_vacant() {
            "vacant"
        } else {
            "step"
        }
    }

    /// Every body that is or was of its crew at a tick that is not settled, ascending.
    pub fn members(&self) -> &[Place] {
        &self.members
    }

    /// The first of its bodies; any if it has none.
    pub fn body(&self) -> Place {
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
    pub fn take_back(&mut self, tick: Tick, out: &mut Outbox<D>) {
        self.cut(tick, out);
    }

    /// Takes back everything after `tick`, and tells those who had been told about it.
    fn cut(&mut self, tick: Tick, out: &mut Outbox<D>) {
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
            self.contact_ahead /= 2;
        }
        let lost = self.history.cut(tick);
        self.withdraw(lost, out);
        out.land(&self.members, tick);
        self.recount(out);
    }

    /// Tells those it touched at moments that are gone.
    fn withdraw(&mut self, lost: Vec<Lost<D>>, out: &mut Outbox<D>) {
        if self.has(Fault::NoAntievents) {
            return;
        }
        for Lost { tick, version, strangers } in lost {
            let mut told: Vec<(EntityId, Version)> =
                strangers.iter().map(|known| (known.entity, known.version)).collect();
            told.sort_unstable();
            told.dedup();
            for (to, theirs) in told {
                let serial = self.owe(Debt { event: None });
                self.stats.antievents += 1;
                let at = At { tick, from: version, to: theirs };
                out.messages.push((to, Message::Antievent { at, serial }));
            }
        }
    }

    /// A serial number for something that is to be answered.
    fn owe(&mut self, debt: Debt) -> u64 {
        self.serial += 1;
        self.owed.insert(self.serial, debt);
        self.serial
    }

    /// Global virtual time has moved: what lies below it is settled, and let go.
    pub fn settle(&mut self, gvt: Tick) {
        if gvt > self.base && self.history.len() > 0 {
            self.origin = None;
        }
        let acted_before = gvt + u64::from(self.has(Fault::ActionsFossilAtGvt));
        while self.actions.first_key_value().is_some_and(|(tick, _)| *tick < acted_before) {
            self.actions.pop_first();
        }
        let gvt = gvt + u64::from(self.has(Fault::FossilAtGvt));
        let (stats, ahead, company) = (&mut self.stats, &mut self.contact_ahead, &mut self.company);
        let (free, since) = (&mut self.free_ticks, &mut self.since_touch);
        self.history.drop_before(gvt, |segment| {
            *since += segment.last + 1 - segment.first;
            if segment.touches() {
                let seen = std::mem::take(since);
                *free = if *free == u64::MAX { seen } else { (3 * *free + seen) / 4 };
            } else if *free < *since {
                *free = *since;
            }
            if let Some(response) = &segment.response {
                company.observe(response);
                stats.commit(&response.seen);
                *ahead = (*ahead + 1).min(CONTACT_AHEAD_MAX);
            }
        });
    }

    /// At the end of the run: everything is settled. What touches at the last tick is seen, though it no longer
    /// acts.
    pub fn finish(&mut self, dynamics: &D) -> Stats {
        let (stats, together) = (&mut self.stats, self.together);
        self.history.drop_before(Tick::MAX, |segment| match &segment.response {
            Some(response) => stats.commit(&response.seen),
            None if segment.touches() => stats.commit(&segment.respond(dynamics, together).seen),
            None => {}
        });
        self.stats
    }

    fn recount(&mut self, out: &mut Outbox<D>) {
        let lvt = Some(self.lvt());
        out.count(self.counted, lvt);
        self.counted = lvt;
    }
}
