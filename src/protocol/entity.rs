//! The state machine of an entity: step, resolve, roll back.
//!
//! *Step*: nothing is owed, and it flies on. *Resolve*: contacts have been told and not all are answered yet.
//! *Rollback*: something in its past has changed; what came after is taken back, those who were told are told
//! otherwise, and it goes on from there. Phases only decide whether it may step; messages are handled in all.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bucket::{Found, Track};
use super::dynamics::{Dynamics, PartnerKey, Place, Response, Stranger};
use super::history::{History, Known, Segment, Tale};
use super::message::{At, EntityId, Message, Outbox, Version};
use super::stats::Stats;
use crate::time::Tick;

/// How far ahead an entity responds to contacts before it has any experience.
const CONTACT_AHEAD_AT_FIRST: u64 = 16;
/// More than this is never worth remembering.
const CONTACT_AHEAD_MAX: u64 = 256;

/// How far entities may run ahead. None of this changes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most ticks above global virtual time. At least 1.
    pub window: u64,
    /// Most ticks above global virtual time at which a contact may still be responded to: fly far, touch near.
    /// `None`: as far as has proved worthwhile for each entity.
    pub contact_window: Option<u64>,
    /// Fly only if that gives at least so many ticks, unless everybody waits for this entity.
    pub stride_min: u64,
    /// Shorten the strides of those who are often rolled back.
    pub adaptive: bool,
    /// The last tick of the run.
    pub last_tick: Tick,
}

/// What an entity is about to do next.
pub enum Step<D: Dynamics> {
    /// Fly on: to be written into the table, whose answer goes to [`Entity::written`].
    Write(Plan<D>),
    /// It has told something and must hear the answers first, or it knows that it has yet to be told something.
    Owes,
    /// It is as far ahead as it may be; to be tried again when global virtual time reaches this tick.
    WaitFor(Tick),
    /// It has reached the last tick.
    Done,
}

/// Flights to be written into the table.
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
    /// Bodies and their flights.
    pub crew: Vec<(Place, D::Flight)>,
    /// How much had changed when the plan was made: it is void if more has.
    changes: u64,
}

/// What the table answers to a plan.
pub struct Written<D: Dynamics> {
    /// The tick the flights were cut at, because something is touched there; else the plan's last.
    pub last: Tick,
    /// Everything that is touched at `last`.
    pub found: Vec<Found<D>>,
    /// The tracks as they stand in the table.
    pub tracks: Vec<Arc<Track<D>>>,
}

/// Something sent and not answered yet: to whom an event went, about which contact.
struct Debt {
    event: Option<(At, EntityId, Place, Place)>,
}

/// A body, or a crew of bodies with one local virtual time.
pub struct Entity<D: Dynamics> {
    id: EntityId,
    start: Vec<(Place, D::Flight)>,
    history: History<D>,
    version: Version,
    /// What it has sent and not heard an answer to.
    owed: BTreeMap<u64, Debt>,
    serial: u64,
    /// The tick it is counted at. Equals its local virtual time.
    counted: Tick,
    /// How often what it knows has changed.
    changes: u64,
    /// A plan is on its way to the table.
    writing: bool,
    /// Ticks it flies at a time: halved by every rollback, doubled by every flight that met nobody.
    stride: u64,
    /// Ticks ahead of global virtual time at which it responds to contacts: halved when a response was in vain,
    /// one more for every response that was not.
    contact_ahead: u64,
    stats: Stats,
}

impl<D: Dynamics> Entity<D> {
    /// An entity at the start of the run. Bodies in ascending order.
    pub fn new(id: EntityId, start: Vec<(Place, D::Flight)>) -> Self {
        Entity {
            id,
            start,
            history: History::default(),
            version: 0,
            owed: BTreeMap::new(),
            serial: 0,
            counted: 0,
            changes: 0,
            writing: false,
            stride: u64::MAX,
            contact_ahead: CONTACT_AHEAD_AT_FIRST,
            stats: Stats::default(),
        }
    }

    /// Its name.
    pub fn id(&self) -> EntityId {
        self.id
    }

    /// What it has done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Local virtual time: the last tick it has written. Zero before it has written any.
    pub fn lvt(&self) -> Tick {
        self.history.latest().map_or(0, |segment| segment.last)
    }

    /// Messages it has not heard an answer to.
    pub fn owes(&self) -> usize {
        self.owed.len()
    }

    /// Whether it has nothing more to do, unless somebody tells it something.
    pub fn is_done(&self, limits: &Limits) -> bool {
        self.owed.is_empty()
            && !self.writing
            && self.history.latest().is_some_and(|l| l.last >= limits.last_tick)
    }

    /// The phase it is in, in the words of Time Warp.
    pub fn phase(&self) -> &'static str {
        if !self.owed.is_empty() {
            "resolve or rollback"
        } else if self.writing {
            "write"
        } else {
            "step"
        }
    }

    /// The first of its bodies.
    pub fn body(&self) -> Place {
        self.start.first().map_or(0, |(place, _)| *place)
    }

    /// Segments it keeps.
    pub fn segments(&self) -> usize {
        self.history.len()
    }

    /// What to do next. Responds to what it touches, and tells its standing where that is needed.
    pub fn step(&mut self, dynamics: &D, limits: &Limits, gvt: Tick, out: &mut Outbox<D>) -> Step<D> {
        if !self.owed.is_empty() || self.writing {
            return Step::Owes;
        }
        let Some(latest) = self.history.latest() else {
            let start = self.start.clone();
            return Step::Write(self.plan(dynamics, limits, 0, gvt, start));
        };
        let lvt = latest.last;
        if lvt >= limits.last_tick {
            return Step::Done;
        }
        if latest.touches() {
            let complete = self.respond(dynamics);
            self.tell(out);
            if !self.owed.is_empty() || !complete {
                return Step::Owes;
            }
        }
        let latest = self.history.latest().expect("invariant: it has written before");
        if latest.touches() || latest.expectant {
            // Everybody may go on from the minimum: somebody must.
            let ahead = limits.contact_window.unwrap_or(self.contact_ahead).min(limits.window);
            if lvt > gvt + ahead {
                return Step::WaitFor(lvt - ahead);
            }
        }
        let bound = limits.last_tick.min(gvt + limits.window);
        let stride = self.stride(limits);
        // No more than the window, or it would wait for others to pass it.
        let worthwhile = limits.stride_min.min(limits.window).min(stride).min(limits.last_tick - lvt).max(1);
        if lvt + worthwhile > bound && lvt > gvt {
            return Step::WaitFor((lvt + worthwhile - limits.window).max(gvt + 1));
        }
        let latest = self.history.latest().expect("invariant: it has written before");
        let mut crew = latest.crew.clone();
        for (place, flight) in latest.response.iter().flat_map(|response| &response.flights) {
            let at =
                crew.iter().position(|(own, _)| own == place).expect("invariant: responses are of the crew");
            crew[at].1 = flight.clone();
        }
        Step::Write(self.plan(dynamics, limits, lvt + 1, gvt, crew))
    }

    fn plan(
        &mut self,
        dynamics: &D,
        limits: &Limits,
        first: Tick,
        gvt: Tick,
        crew: Vec<(Place, D::Flight)>,
    ) -> Plan<D> {
        let reach = first.saturating_add(self.stride(limits) - 1);
        let bound = limits.last_tick.min(gvt + limits.window).min(reach).max(first);
        let own_touch = dynamics.first_own_touch(&crew, first, bound);
        let last = own_touch.unwrap_or(bound);
        self.writing = true;
        Plan { entity: self.id, version: self.version, first, last, own_touch, crew, changes: self.changes }
    }

    /// How many ticks it flies at a time: one if it is held, and will most likely be held at the next tick.
    fn stride(&self, limits: &Limits) -> u64 {
        let lingers = |response: &Response<D>| response.lingers;
        let held = self.history.latest().and_then(|latest| latest.response.as_ref()).is_some_and(lingers);
        match limits.adaptive {
            true if held => 1,
            true => self.stride,
            false => u64::MAX,
        }
    }

    /// Works out how it goes on from where it is, unless that is known already. Says whether it knows enough.
    fn respond(&mut self, dynamics: &D) -> bool {
        let latest = self.history.latest_mut().expect("invariant: it has written before");
        if latest.response.is_none() {
            latest.response = Some(latest.respond(dynamics));
            self.stats.responses += 1;
        }
        latest.response.as_ref().is_some_and(|response| response.complete)
    }

    /// Tells those it touches what they cannot work out by themselves, if it has not told them already.
    fn tell(&mut self, out: &mut Outbox<D>) {
        let latest = self.history.latest_mut().expect("invariant: it has written before");
        let Some(response) = &latest.response else { return };
        let mut due: Vec<(EntityId, Version, Place, Arc<D::Standing>)> = Vec::new();
        for told in &response.told {
            for known in latest.strangers.iter().filter(|known| known.stranger.touches.contains(&told.own)) {
                let theirs = |key: &PartnerKey| match key {
                    PartnerKey::Body(place) => {
                        latest.strangers.iter().any(|k| k.entity == known.entity && k.stranger.body == *place)
                    }
                    PartnerKey::Static(_) => false,
                };
                let tale = latest.tales.iter().find(|tale| tale.own == told.own && tale.to == known.entity);
                // Who touches only them needs no telling: they can work it out. Once told, always told.
                let needed = tale.is_some() || !told.partners.iter().all(theirs);
                let is_news = tale.is_none_or(|tale| !D::same_standing(&tale.standing, &told.standing));
                let twice = due.iter().any(|(to, _, own, _)| *to == known.entity && *own == told.own);
                if needed && is_news && !twice {
                    due.push((known.entity, known.version, told.own, told.standing.clone()));
                }
            }
        }
        let (tick, from) = (latest.last, latest.version);
        for (to, version, own, standing) in due {
            latest.tales.retain(|tale| tale.own != own || tale.to != to);
            latest.tales.push(Tale { own, to, standing: standing.clone() });
            self.serial += 1;
            self.owed.insert(self.serial, Debt { event: None });
            self.stats.standings += 1;
            let at = At { tick, from, to: version };
            out.messages.push((to, Message::Standing { at, serial: self.serial, mine: own, standing }));
        }
    }

    /// The table has taken the plan. Those it touches are told; but if anything has changed since the plan was
    /// made, the plan is void, and its tracks are taken back before anybody has been told.
    pub fn written(&mut self, plan: Plan<D>, written: Written<D>, out: &mut Outbox<D>) {
        self.writing = false;
        if plan.changes != self.changes {
            for track in &written.tracks {
                track.cut(track.first);
            }
            // Somebody may have met the void tracks already: their version must never come back.
            self.version += 1;
            return;
        }
        let response = self.history.latest().and_then(|segment| segment.response.as_ref());
        let memories = response.map(|response| response.memories.clone());
        let lingers = response.is_some_and(|response| response.lingers);
        for (place, flight) in response.iter().flat_map(|response| &response.flights) {
            out.took_off.push((*place, plan.first, flight.clone()));
        }
        let mut strangers: Vec<Known<D>> = Vec::new();
        for Found { own, other } in &written.found {
            let at = At { tick: written.last, from: plan.version, to: other.version };
            let flight =
                &plan.crew.iter().find(|(place, _)| place == own).expect("invariant: own is of the crew").1;
            self.serial += 1;
            self.owed.insert(self.serial, Debt { event: Some((at, other.entity, *own, other.body)) });
            self.stats.events += 1;
            let event = Message::Event {
                at,
                serial: self.serial,
                mine: *own,
                flight: flight.clone(),
                yours: other.body,
            };
            out.messages.push((other.entity, event));
            note(&mut strangers, (other.entity, other.version), other.body, *own, &other.flight);
        }
        if written.found.is_empty() {
            self.stride = self.stride.saturating_mul(2);
        }
        self.stats.steps += 1;
        self.stats.ticks += written.last + 1 - plan.first;
        self.history.push(Segment {
            version: plan.version,
            first: plan.first,
            last: written.last,
            crew: plan.crew,
            tracks: written.tracks,
            memories: memories.unwrap_or_default(),
            expectant: lingers,
            own_touch: plan.own_touch,
            strangers,
            tales: Vec::new(),
            response: None,
        });
        self.recount(out);
    }

    /// Handles a message in full. The answer, if one is due, is the last thing in the outbox.
    pub fn handle(&mut self, from: EntityId, message: Message<D>, out: &mut Outbox<D>) {
        match message {
            Message::Event { at, serial, mine, flight, yours } => {
                let refused = !self.on_event(from, at, mine, &flight, yours, out);
                out.messages.push((from, Message::Answer { serial, refused }));
            }
            Message::Antievent { at, serial } => {
                let about = |known: &Known<D>| known.entity == from && known.version == at.from;
                self.forget(at.tick, at.to, about, out);
                out.messages.push((from, Message::Answer { serial, refused: false }));
            }
            Message::Standing { at, serial, mine, standing } => {
                self.on_standing(from, at, mine, standing, out);
                out.messages.push((from, Message::Answer { serial, refused: false }));
            }
            Message::Answer { serial, refused } => {
                let debt = self.owed.remove(&serial).expect("invariant: only what is owed is answered");
                if let Some((at, to, own, body)) = debt.event.filter(|_| refused) {
                    // The other side has taken that back: there is no such contact.
                    let about = |known: &Known<D>| {
                        known.entity == to && known.version == at.to && known.stranger.body == body
                    };
                    self.forget_touch(at.tick, at.from, about, own, out);
                }
            }
        }
    }

    fn on_event(
        &mut self,
        from: EntityId,
        at: At,
        body: Place,
        flight: &D::Flight,
        own: Place,
        out: &mut Outbox<D>,
    ) -> bool {
        if self.history.at(at.tick, at.to).is_none() {
            return false;
        }
        self.stats.primary_rollbacks += u64::from(self.lvt() > at.tick);
        self.cut(at.tick, out);
        let segment = self.history.at(at.tick, at.to).expect("invariant: a cut keeps the tick it is for");
        if note(&mut segment.strangers, (from, at.from), body, own, flight) {
            segment.response = None;
            self.changes += 1;
        }
        true
    }

    fn on_standing(
        &mut self,
        from: EntityId,
        at: At,
        body: Place,
        standing: Arc<D::Standing>,
        out: &mut Outbox<D>,
    ) {
        let Some(segment) = self.history.at(at.tick, at.to).filter(|segment| segment.last == at.tick) else {
            return;
        };
        let about = |known: &&mut Known<D>| {
            known.entity == from && known.version == at.from && known.stranger.body == body
        };
        let Some(known) = segment.strangers.iter_mut().find(about) else { return };
        let same = known.stranger.standing.as_ref().is_some_and(|old| D::same_standing(old, &standing));
        known.stranger.standing = Some(standing);
        if !same {
            segment.response = None;
            self.changes += 1;
            self.stats.primary_rollbacks += u64::from(self.lvt() > at.tick);
            self.cut(at.tick, out);
        }
    }

    /// Forgets strangers at a moment, if that moment still exists.
    fn forget(
        &mut self,
        tick: Tick,
        version: Version,
        about: impl Fn(&Known<D>) -> bool,
        out: &mut Outbox<D>,
    ) {
        let Some(segment) = self.history.at(tick, version).filter(|segment| segment.last == tick) else {
            return;
        };
        let before = segment.strangers.len();
        segment.strangers.retain(|known| !about(known));
        if segment.strangers.len() != before {
            self.forgot(tick, version, out);
        }
    }

    /// Forgets that one of its own bodies touches a stranger.
    fn forget_touch(
        &mut self,
        tick: Tick,
        version: Version,
        about: impl Fn(&Known<D>) -> bool,
        own: Place,
        out: &mut Outbox<D>,
    ) {
        let Some(segment) = self.history.at(tick, version).filter(|segment| segment.last == tick) else {
            return;
        };
        let mut changed = false;
        for known in segment.strangers.iter_mut().filter(|known| about(known)) {
            let before = known.stranger.touches.len();
            known.stranger.touches.retain(|touched| *touched != own);
            changed |= known.stranger.touches.len() != before;
        }
        segment.strangers.retain(|known| !known.stranger.touches.is_empty());
        if changed {
            self.forgot(tick, version, out);
        }
    }

    fn forgot(&mut self, tick: Tick, version: Version, out: &mut Outbox<D>) {
        let segment = self.history.at(tick, version).expect("invariant: it was there a moment ago");
        segment.response = None;
        let strangers = &segment.strangers;
        let mut tales = std::mem::take(&mut segment.tales);
        tales.retain(|tale| strangers.iter().any(|known| known.entity == tale.to));
        segment.tales = tales;
        self.changes += 1;
        self.stats.secondary_rollbacks += u64::from(self.lvt() > tick);
        self.cut(tick, out);
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
        let (serial, owed, stats) = (&mut self.serial, &mut self.owed, &mut self.stats);
        self.history.cut(tick, |end, version, strangers| {
            let mut told: Vec<(EntityId, Version)> =
                strangers.iter().map(|known| (known.entity, known.version)).collect();
            told.sort_unstable();
            told.dedup();
            for (to, theirs) in told {
                *serial += 1;
                owed.insert(*serial, Debt { event: None });
                stats.antievents += 1;
                let at = At { tick: end, from: version, to: theirs };
                out.messages.push((to, Message::Antievent { at, serial: *serial }));
            }
        });
        out.land(tick);
        self.recount(out);
    }

    /// Global virtual time has moved: what lies below it is settled, and let go.
    pub fn settle(&mut self, gvt: Tick) {
        let (stats, ahead) = (&mut self.stats, &mut self.contact_ahead);
        self.history.drop_before(gvt, |segment| {
            if let Some(response) = &segment.response {
                stats.commit(&response.seen);
                *ahead = (*ahead + 1).min(CONTACT_AHEAD_MAX);
            }
        });
    }

    /// At the end of the run: everything is settled. What touches at the last tick is seen, though it no longer
    /// acts.
    pub fn finish(&mut self, dynamics: &D) -> Stats {
        let stats = &mut self.stats;
        self.history.drop_before(Tick::MAX, |segment| match &segment.response {
            Some(response) => stats.commit(&response.seen),
            None if segment.touches() => stats.commit(&segment.respond(dynamics).seen),
            None => {}
        });
        self.stats
    }

    fn recount(&mut self, out: &mut Outbox<D>) {
        let lvt = self.lvt();
        out.count(self.counted, lvt);
        self.counted = lvt;
    }
}

/// Adds a touch with a stranger to a list. Says whether that is news.
fn note<D: Dynamics>(
    strangers: &mut Vec<Known<D>>,
    (entity, version): (EntityId, Version),
    body: Place,
    own: Place,
    flight: &D::Flight,
) -> bool {
    let same = |known: &&mut Known<D>| {
        known.entity == entity && known.version == version && known.stranger.body == body
    };
    if let Some(known) = strangers.iter_mut().find(same) {
        let news = known.stranger.touches.binary_search(&own);
        if let Err(at) = news {
            known.stranger.touches.insert(at, own);
        }
        return news.is_err();
    }
    let stranger = Stranger { body, flight: flight.clone(), touches: vec![own], standing: None };
    strangers.push(Known { entity, version, stranger });
    true
}
