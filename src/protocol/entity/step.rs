//! Stepping: what an entity does next, what it tells, and what comes of the table's answer.

use std::sync::Arc;

use thin_vec::ThinVec;

use crate::base::time::Tick;
use crate::protocol::dynamics::{Crew, Dynamics, Moment, PartnerKey, Place, Response};
use crate::protocol::entity::{Debt, Departures, Entity, Leg, Limits, Plan, Step, Written};
use crate::protocol::fault::Fault;
use crate::protocol::gvt::Now;
use crate::protocol::history::{Known, Segment, Tale};
use crate::protocol::message::{At, EntityId, Message, Outbox, Version};

/// A crew with its flights, and what is new about them.
type Onward<D> = (Crew<D>, Departures<D>);

/// The ticks after the first of a step, and how the crew goes on from the last of them, if that is known.
type Legs<D> = (Vec<Leg<D>>, Option<Box<Response<D>>>);

/// Who flies for no more than so many ticks stays where it is, more or less.
const NEAR: u64 = 8;
/// Crews with more bodies look ahead with care.
pub(super) const LARGE_CREW: usize = 4;
/// At first they look so far.
pub(super) const FORESIGHT_AT_FIRST: u64 = 16;
/// They respond to contacts so many times less far ahead than others: taking that back would be dear.
const CAUTION: u64 = 8;
/// Nobody looks less far ahead than this because it has touched something often.
pub(super) const FREE_AT_LEAST: u64 = 8;
/// Bodies times ticks that a crew goes on by itself before it looks at the table again.
const ALONE_MAX: u64 = 16_384;

impl<D: Dynamics> Entity<D> {
    /// What to do next. Responds to what it touches, and tells its standing where that is needed.
    pub fn step(&mut self, dynamics: &D, limits: &Limits, now: Now, out: &mut Outbox<D>) -> Step<D> {
        self.roll_back_late(out);
        let is_gated = !self.has(Fault::NoGate);
        if is_gated && !self.owed.is_empty() || self.writing {
            return Step::Owes;
        }
        if self.has_no_future(now.gvt) {
            self.vacate(out);
            return Step::Done;
        }
        let Some(latest) = self.history.latest() else {
            let origin = self.origin.as_ref().expect("invariant: who has no past has a beginning");
            let (first, crew) = (origin.first, origin.crew.clone());
            // Who comes into being may do so on the way to its first tick.
            let (crew, departures) =
                if first > self.base { self.acted_on(dynamics, crew) } else { (crew, Vec::new()) };
            let plan = self.plan(dynamics, limits, (first, now.floor), (crew, departures), None);
            return Step::Write(plan);
        };
        let (lvt, floor) = (latest.last, now.floor);
        if lvt >= limits.last_tick {
            return Step::Done;
        }
        if latest.touches() {
            let complete = self.respond(dynamics);
            self.tell(out);
            if is_gated && !self.owed.is_empty() || !complete {
                return Step::Owes;
            }
        }
        let latest = self.history.latest().expect("invariant: it has written before");
        let ahead = self.contact_ahead(limits, latest.crew().len());
        if latest.touches() || latest.expectant {
            // Everybody may go on from the minimum: somebody must.
            let ahead_of = floor + ahead;
            if lvt > ahead_of || self.has(Fault::GateHoldsTheLowest) && lvt == ahead_of {
                return Step::WaitFor((lvt - ahead).max(floor + 1));
            }
        }
        if let Some(tick) = self.beyond_window(limits, floor) {
            return Step::WaitFor(tick);
        }
        let onward = self.onward(dynamics);
        Step::Write(self.plan(dynamics, limits, (lvt + 1, floor), onward, Some(floor + ahead)))
    }

    /// The tick it has to wait for, if it is so far ahead that it need not think about it: it touches nothing and
    /// expects nothing.
    pub fn waits_for(&self, limits: &Limits, now: Now) -> Option<Tick> {
        let latest = self.history.latest()?;
        let is_idle = self.owed.is_empty() && !self.writing && !latest.touches() && !latest.expectant;
        if is_idle && latest.last < limits.last_tick { self.beyond_window(limits, now.floor) } else { None }
    }

    /// The tick it has to wait for if its next flight would leave the window.
    fn beyond_window(&self, limits: &Limits, floor: Tick) -> Option<Tick> {
        let lvt = self.lvt();
        let window = self.window(limits);
        let bound = limits.last_tick.min(floor + window);
        // No more than the window, or it would wait for others to pass it.
        let longest = limits.stride_min.min(window).min(limits.last_tick - lvt);
        let worthwhile = self.stride(limits).min(longest).max(1);
        let may_wait = lvt > floor || self.has(Fault::WindowHoldsTheLowest);
        let is_beyond = lvt + worthwhile > bound && may_wait;
        is_beyond.then(|| (lvt + worthwhile - window).max(floor + 1))
    }

    /// How many ticks above the lowest local virtual time it responds to contacts.
    fn contact_ahead(&self, limits: &Limits, bodies: usize) -> u64 {
        let is_large = bodies > LARGE_CREW;
        let worthwhile = match is_large {
            true => 1 + (self.contact_ahead / CAUTION).min(ALONE_MAX / bodies as u64),
            false => self.contact_ahead,
        };
        limits.contact_window.unwrap_or(worthwhile).min(limits.window)
    }

    /// How the crew flies on from its local virtual time, and what is new about that.
    fn onward(&self, dynamics: &D) -> Onward<D> {
        let latest = self.history.latest().expect("invariant: it has written before");
        let (crew, mut departures): Onward<D> = match &latest.response {
            Some(response) => (after(response, latest.crew()), departures(response).collect()),
            None => (latest.crew().clone(), Vec::new()),
        };
        let (crew, steered) = self.acted_on(dynamics, crew);
        departures.retain(|(place, _)| !steered.iter().any(|(other, _)| other == place));
        departures.extend(steered);
        (crew, departures)
    }

    /// The crew after what is done to it from outside at its local virtual time, and what is new about it.
    fn acted_on(&self, dynamics: &D, mut crew: Crew<D>) -> Onward<D> {
        let lvt = self.lvt();
        let actions = self.actions.get(&lvt).map_or(&[][..], Vec::as_slice);
        let steered = if actions.is_empty() { Vec::new() } else { dynamics.steer(lvt, &mut crew, actions) };
        (crew, steered)
    }

    fn plan(
        &mut self,
        dynamics: &D,
        limits: &Limits,
        (first, floor): (Tick, Tick),
        (crew, departures): Onward<D>,
        may_respond_until: Option<Tick>,
    ) -> Plan<D> {
        // Among many something touches soon, and looking far ahead for it is dear.
        let foresight = if crew.len() > LARGE_CREW { self.foresight } else { u64::MAX };
        let reach = first.saturating_add(self.stride(limits).min(foresight) - 1);
        let acted_on = self.actions.range(first..).next().map_or(Tick::MAX, |(tick, _)| *tick);
        let until = limits.last_tick.min(floor + self.window(limits)).min(acted_on).max(first);
        let bound = until.min(reach).max(first);
        let is_held = limits.adaptive && self.is_held();
        // Who is held most likely touches at the next tick as well. Looking there twice would be once too often.
        let own_touch = if is_held || self.together {
            Some(first)
        } else {
            dynamics.first_own_touch(&crew, first, bound)
        };
        // Nor will it have moved far if something touches again soon.
        let is_near = is_held || foresight <= NEAR;
        let latest = self.history.latest().filter(|_| is_near);
        let layout = latest.map(|latest| latest.track.layout.clone());
        let last = own_touch.unwrap_or(bound);
        let (legs, response) = match may_respond_until.filter(|_| is_held) {
            Some(respond_until) => {
                self.legs(dynamics, &crew, (first, until.min(limits.alone_until).max(first)), respond_until)
            }
            None => (Vec::new(), None),
        };
        let last = last + legs.len() as u64;
        let own_touch = own_touch.map(|tick| tick + legs.len() as u64);
        self.writing = true;
        self.planned = (self.version, first);
        Plan {
            entity: self.id,
            version: self.version,
            first,
            last,
            own_touch,
            crew,
            legs,
            response,
            is_near,
            layout,
            departures,
            changes: self.changes,
        }
    }

    /// Goes on from tick to tick as long as something holds the crew and no stranger is known to touch it: what
    /// the table knows of others is looked at once for all these ticks. `crew` is where it is at `first`.
    fn legs(
        &mut self,
        dynamics: &D,
        crew: &Crew<D>,
        (first, until): (Tick, Tick),
        respond_until: Tick,
    ) -> Legs<D> {
        let latest = self.history.latest().filter(|latest| latest.strangers.is_empty());
        let Some(known) = latest.and_then(|latest| latest.response.as_ref()) else {
            return (Vec::new(), None);
        };
        let most = (ALONE_MAX / crew.len().max(1) as u64).max(1);
        let mut memories = known.memories.clone();
        let mut legs: Vec<Leg<D>> = Vec::new();
        for tick in first..=respond_until.min(until).min(first + most) {
            let crew = legs.last().map_or(crew, |leg| &leg.crew);
            let moment = Moment { crew, memories: &memories, strangers: &[], together: self.together };
            let response = Box::new(dynamics.respond(tick, &moment));
            self.stats.responses += 1;
            if tick == until || tick == first + most || !is_holding(&response, crew.len()) {
                return (legs, Some(response));
            }
            memories = response.memories.clone();
            let crew = after(&response, crew);
            legs.push(Leg { response, crew });
        }
        (legs, None)
    }

    /// How far it runs ahead of the lowest local virtual time: those who touch something often would only have to come
    /// back.
    fn window(&self, limits: &Limits) -> u64 {
        match limits.adaptive {
            true => limits.window.min(self.free_ticks.max(FREE_AT_LEAST).saturating_mul(2)),
            false => limits.window,
        }
    }

    /// How many ticks it flies at a time: one if it is held, and will most likely be held at the next tick.
    fn stride(&self, limits: &Limits) -> u64 {
        match limits.adaptive {
            true if self.is_held() => 1,
            true => self.stride,
            false => u64::MAX,
        }
    }

    /// Whether what it touches at its local virtual time holds it.
    fn is_held(&self) -> bool {
        let latest = self.history.latest();
        latest.is_some_and(|latest| {
            latest.response.as_ref().is_some_and(|response| is_holding(response, latest.crew().len()))
        })
    }

    /// Works out how it goes on from where it is, unless that is known already. Says whether it knows enough.
    fn respond(&mut self, dynamics: &D) -> bool {
        let latest = self.history.latest_mut().expect("invariant: it has written before");
        if latest.response.is_none() {
            latest.response = Some(Box::new(latest.respond(dynamics, self.together)));
            self.stats.responses += 1;
        }
        latest.response.as_ref().is_some_and(|response| response.complete)
    }

    /// Tells those it touches what they cannot work out by themselves, if it has not told them already.
    fn tell(&mut self, out: &mut Outbox<D>) {
        let is_final = self.has(Fault::StandingLost);
        let latest = self.history.latest_mut().expect("invariant: it has written before");
        let Some(response) = &latest.response else { return };
        let mut due: Vec<(EntityId, Version, Place, Arc<D::Standing>)> = Vec::new();
        for told in &response.told {
            for known in latest.strangers.iter().filter(|known| known.stranger.touches.contains(&told.own)) {
                let theirs = |key: &PartnerKey| match key {
                    PartnerKey::Body(place) => {
                        latest.strangers.iter().any(|k| k.entity == known.entity && k.stranger.body == *place)
                    }
                    PartnerKey::Static(_) | PartnerKey::Company => false,
                };
                let tale = latest.tales.iter().find(|tale| tale.own == told.own && tale.to == known.entity);
                // Who touches only them needs no telling: they can work it out. Once told, always told.
                let needed = tale.is_some() || !told.partners.iter().all(theirs);
                let is_news =
                    tale.is_none_or(|tale| !is_final && !D::same_standing(&tale.standing, &told.standing));
                let twice = due.iter().any(|(to, _, own, _)| *to == known.entity && *own == told.own);
                if needed && is_news && !twice {
                    due.push((known.entity, known.version, told.own, told.standing.clone()));
                }
            }
        }
        let (tick, from) = (latest.last, latest.version);
        for (to, _, own, standing) in &due {
            latest.tales.retain(|tale| tale.own != *own || tale.to != *to);
            latest.tales.push(Tale { own: *own, to: *to, standing: standing.clone() });
        }
        for (to, version, own, standing) in due {
            let serial = self.owe(Debt { event: None });
            self.stats.standings += 1;
            let at = At { tick, from, to: version };
            out.messages.push((to, Message::Standing { at, serial, mine: own, standing }));
        }
    }

    /// The table has taken the plan. Those it touches are told; but if anything has changed since the plan was
    /// made, the plan is void, and its track is taken back before anybody has been told.
    pub fn written(&mut self, plan: Plan<D>, written: Written<D>, out: &mut Outbox<D>) {
        self.writing = false;
        self.take_in(plan, written, out);
        for (from, message) in std::mem::take(&mut self.put_off) {
            self.handle(from, message, out);
        }
    }

    fn take_in(&mut self, plan: Plan<D>, written: Written<D>, out: &mut Outbox<D>) {
        if plan.changes != self.changes && !self.has(Fault::VoidPlanKept) {
            written.track.cut(plan.first);
            // Somebody may have met the void track already: their version must never come back.
            self.version += u32::from(!self.has(Fault::VersionReused));
            return;
        }
        let (mut memories, mut expectant) = match (self.history.latest(), &self.origin) {
            (Some(latest), _) => latest
                .response
                .as_ref()
                .map_or((None, false), |response| (Some(response.memories.clone()), response.lingers)),
            (None, Some(origin)) => (Some(origin.memories.clone().into()), origin.expectant),
            (None, None) => (None, false),
        };
        let took_off = plan.departures.into_iter();
        out.took_off.extend(took_off.map(|(place, flight)| (place, plan.first, flight)));
        let mut strangers: ThinVec<Known<D>> = ThinVec::new();
        for found in &written.found {
            let (own, other, (body, their_flight)) = (found.own, &found.other, found.stranger());
            let at = At { tick: written.last, from: plan.version, to: other.version };
            let flight = written.track.flight_of(own, written.last).expect("invariant: own is of the crew");
            let serial = self.owe(Debt { event: Some((at, other.entity, own, *body)) });
            self.stats.events += 1;
            let event = Message::Event { at, serial, mine: own, flight: flight.clone(), yours: *body };
            out.messages.push((other.entity, event));
            if self.has(Fault::DetectorDoesNotApply) {
                continue;
            }
            let theirs = (other.entity, other.version);
            let is_news =
                crate::protocol::entity::receive::note(&mut strangers, theirs, *body, own, their_flight);
            self.stats.repeated += u64::from(!is_news);
        }
        let flown = written.last + 1 - plan.first;
        self.foresight = match plan.own_touch {
            // From one leg to the next is one tick.
            Some(_) if !plan.legs.is_empty() => 1,
            Some(tick) if tick == written.last => flown,
            _ => self.foresight.max(flown),
        };
        self.foresight = self.foresight.saturating_mul(2);
        if written.found.is_empty() {
            self.stride = self.stride.saturating_mul(2);
        }
        self.stats.steps += 1;
        self.stats.ticks += flown;
        // With legs every tick is believed to touch something, also where they were cut off.
        let own_touch = if plan.legs.is_empty() { plan.own_touch } else { Some(written.last) };
        let mut first = plan.first;
        for leg in plan.legs {
            if first == written.last {
                // Somebody is met on the way: what was worked out from here on was in vain, or can wait.
                break;
            }
            let (then, lingers) = (leg.response.memories.clone(), leg.response.lingers);
            let took_off = departures(&leg.response).map(|(place, flight)| (place, first + 1, flight));
            out.took_off.extend(took_off);
            self.history.push(Segment {
                version: plan.version,
                first,
                last: first,
                track: written.track.clone(),
                memories: memories.replace(then),
                expectant: std::mem::replace(&mut expectant, lingers),
                own_touch: Some(first),
                strangers: ThinVec::new(),
                tales: ThinVec::new(),
                response: Some(leg.response),
            });
            first += 1;
        }
        let is_alone = strangers.is_empty() || self.has(Fault::MeetingOverlooked);
        let is_last = is_alone && written.last == plan.last;
        self.history.push(Segment {
            version: plan.version,
            first,
            last: written.last,
            track: written.track,
            memories,
            expectant,
            own_touch,
            strangers,
            tales: ThinVec::new(),
            response: plan.response.filter(|_| is_last),
        });
        self.recount(out);
    }
}

/// Whether a response lets expect a touch at the next tick: somebody is held, or among many somebody touched.
fn is_holding<D: Dynamics>(response: &Response<D>, bodies: usize) -> bool {
    response.lingers || bodies > LARGE_CREW && response.seen.touches > 0
}

/// The crew as it flies after a response.
fn after<D: Dynamics>(response: &Response<D>, crew: &Crew<D>) -> Crew<D> {
    // A list of plain numbers is copied at one stroke, unlike a list that may be short.
    let mut then: Crew<D> = if crew.len() > 1 { Crew::<D>::from_vec(crew.to_vec()) } else { crew.clone() };
    for (number, flight) in response.numbered(crew) {
        then[number].1 = flight.clone();
    }
    then
}

/// What is new about a crew after a response.
fn departures<D: Dynamics>(response: &Response<D>) -> impl Iterator<Item = (Place, Option<D::Flight>)> + '_ {
    response.flights.iter().map(|(place, flight)| (*place, Some(flight.clone())))
}
