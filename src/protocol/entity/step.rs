//! Stepping: what an entity does next, what it tells, and what comes of the table's answer.

use std::sync::Arc;

use thin_vec::ThinVec;

use crate::base::time::Tick;
use crate::protocol::driver::Next;
use crate::protocol::dynamics::{BodyIndex, Cluster, Dynamics, PartnerKey, Response, ResponseInput};
use crate::protocol::effects::Effects;
use crate::protocol::entity::{Departures, Entity, Limits, PendingAck, Plan, PlannedTick, WriteResult};
use crate::protocol::fault::Fault;
use crate::protocol::gvt::VirtualTimes;
use crate::protocol::history::{ContactRecord, Segment, SentGhost};
use crate::protocol::message::{At, EntityId, Message, Version};

/// A cluster with its flights, and what is new about them.
type Onward<D> = (Cluster<D>, Departures<D>);

/// The ticks after the first of a step, and how the cluster goes on from the last of them, if that is known.
type PlannedTicks<D> = (Vec<PlannedTick<D>>, Option<Box<Response<D>>>);

/// Who flies for no more than so many ticks stays where it is, more or less.
const NEAR: u64 = 8;
/// Crews with more bodies look ahead with care.
pub(super) const LARGE_CLUSTER: usize = 4;
/// At first they look so far.
pub(super) const OWN_SEARCH_TICKS_START: u64 = 16;
/// They respond to contacts so many times less far ahead than others: taking that back would be dear.
const CAUTION: u64 = 8;
/// Nobody looks less far ahead than this because it has touched something often.
pub(super) const MEAN_FREE_MIN_TICKS: u64 = 8;
/// Bodies times ticks that a cluster goes on by itself before it looks at the table again.
const BODY_TICKS_PER_WRITE_MAX: u64 = 16_384;

impl<D: Dynamics> Entity<D> {
    /// What to do next. Responds to what it touches, and tells its ghost where that is needed.
    pub(in crate::protocol) fn step(
        &mut self,
        dynamics: &D,
        limits: &Limits,
        now: VirtualTimes,
        out: &mut Effects<D>,
    ) -> Next<D> {
        self.roll_back_late(out);
        let is_gated = !self.has(Fault::NoGate);
        if is_gated && !self.pending_acks.is_empty() || self.writing {
            return Next::AwaitAcks;
        }
        if self.has_no_future(now.gvt) {
            self.retire(out);
            return Next::Done;
        }
        let Some(latest) = self.history.latest() else {
            let origin = self.origin.as_ref().expect("invariant: who has no past has a beginning");
            let (first, cluster) = (origin.first, origin.cluster.clone());
            // Who comes into being may do so on the way to its first tick.
            let (cluster, departures) =
                if first > self.base { self.acted_on(dynamics, cluster) } else { (cluster, Vec::new()) };
            let plan = self.plan(dynamics, limits, (first, now.lvt_min), (cluster, departures), None);
            return Next::Write(plan);
        };
        let (lvt, lvt_min) = (latest.last, now.lvt_min);
        if lvt >= limits.last_tick {
            return Next::Done;
        }
        if latest.touches() {
            let complete = self.respond(dynamics);
            self.tell(out);
            if is_gated && !self.pending_acks.is_empty() || !complete {
                return Next::AwaitAcks;
            }
        }
        let latest = self.history.latest().expect("invariant: it has written before");
        let ahead = self.contact_window_ticks(limits, latest.cluster().len());
        if latest.touches() || latest.expects_contact {
            // Everybody may go on from the minimum: somebody must.
            let ahead_of = lvt_min + ahead;
            if lvt > ahead_of || self.has(Fault::GateHoldsTheLowest) && lvt == ahead_of {
                return Next::AwaitLvtMin((lvt - ahead).max(lvt_min + 1));
            }
        }
        if let Some(tick) = self.beyond_window(limits, lvt_min) {
            return Next::AwaitLvtMin(tick);
        }
        let onward = self.onward(dynamics);
        Next::Write(self.plan(dynamics, limits, (lvt + 1, lvt_min), onward, Some(lvt_min + ahead)))
    }

    /// The tick it has to wait for, if it is so far ahead that it need not think about it: it touches nothing and
    /// expects nothing.
    pub(in crate::protocol) fn waits_for(&self, limits: &Limits, now: VirtualTimes) -> Option<Tick> {
        let latest = self.history.latest()?;
        let is_idle =
            self.pending_acks.is_empty() && !self.writing && !latest.touches() && !latest.expects_contact;
        if is_idle && latest.last < limits.last_tick { self.beyond_window(limits, now.lvt_min) } else { None }
    }

    /// The tick it has to wait for if its next flight would leave the window.
    fn beyond_window(&self, limits: &Limits, lvt_min: Tick) -> Option<Tick> {
        let lvt = self.lvt();
        let window = self.window(limits);
        let bound = limits.last_tick.min(lvt_min + window);
        // No more than the window, or it would wait for others to pass it.
        let longest = limits.stride_min.min(window).min(limits.last_tick - lvt);
        let worthwhile = self.stride(limits).min(longest).max(1);
        let may_wait = lvt > lvt_min || self.has(Fault::WindowHoldsTheLowest);
        let is_beyond = lvt + worthwhile > bound && may_wait;
        is_beyond.then(|| (lvt + worthwhile - window).max(lvt_min + 1))
    }

    /// How many ticks above the lowest local virtual time it responds to contacts.
    fn contact_window_ticks(&self, limits: &Limits, bodies: usize) -> u64 {
        let is_large = bodies > LARGE_CLUSTER;
        let worthwhile = match is_large {
            true => 1 + (self.contact_window_ticks / CAUTION).min(BODY_TICKS_PER_WRITE_MAX / bodies as u64),
            false => self.contact_window_ticks,
        };
        limits.contact_window.unwrap_or(worthwhile).min(limits.window)
    }

    /// How the cluster flies on from its local virtual time, and what is new about that.
    fn onward(&self, dynamics: &D) -> Onward<D> {
        let latest = self.history.latest().expect("invariant: it has written before");
        let (cluster, mut departures): Onward<D> = match &latest.response {
            Some(response) => (after(response, latest.cluster()), departures(response).collect()),
            None => (latest.cluster().clone(), Vec::new()),
        };
        let (cluster, changed_by_inputs) = self.acted_on(dynamics, cluster);
        departures.retain(|(place, _)| !changed_by_inputs.iter().any(|(other, _)| other == place));
        departures.extend(changed_by_inputs);
        (cluster, departures)
    }

    /// The cluster after what is done to it from outside at its local virtual time, and what is new about it.
    fn acted_on(&self, dynamics: &D, mut cluster: Cluster<D>) -> Onward<D> {
        let lvt = self.lvt();
        let actions = self.inputs.get(&lvt).map_or(&[][..], Vec::as_slice);
        let changed_by_inputs =
            if actions.is_empty() { Vec::new() } else { dynamics.apply_inputs(lvt, &mut cluster, actions) };
        (cluster, changed_by_inputs)
    }

    fn plan(
        &mut self,
        dynamics: &D,
        limits: &Limits,
        (first, lvt_min): (Tick, Tick),
        (cluster, departures): Onward<D>,
        may_respond_until: Option<Tick>,
    ) -> Plan<D> {
        // Among many something touches soon, and looking far ahead for it is dear.
        let own_search_ticks = if cluster.len() > LARGE_CLUSTER { self.own_search_ticks } else { u64::MAX };
        let reach = first.saturating_add(self.stride(limits).min(own_search_ticks) - 1);
        let acted_on = self.inputs.range(first..).next().map_or(Tick::MAX, |(tick, _)| *tick);
        let until = limits.last_tick.min(lvt_min + self.window(limits)).min(acted_on).max(first);
        let bound = until.min(reach).max(first);
        let is_held = limits.adaptive && self.is_held();
        // Who is held most likely touches at the next tick as well. Looking there twice would be once too often.
        let own_touch = if is_held || self.is_island {
            Some(first)
        } else {
            dynamics.first_own_touch(&cluster, first, bound)
        };
        // Nor will it have moved far if something touches again soon.
        let is_near = is_held || own_search_ticks <= NEAR;
        let latest = self.history.latest().filter(|_| is_near);
        let cell_cover = latest.map(|latest| latest.track.cell_cover.clone());
        let last = own_touch.unwrap_or(bound);
        let (planned_ticks, response) = match may_respond_until.filter(|_| is_held) {
            Some(respond_until) => self.planned_ticks(
                dynamics,
                &cluster,
                (first, until.min(limits.alone_until).max(first)),
                respond_until,
            ),
            None => (Vec::new(), None),
        };
        let last = last + planned_ticks.len() as u64;
        let own_touch = own_touch.map(|tick| tick + planned_ticks.len() as u64);
        self.writing = true;
        self.planned = (self.version, first);
        Plan {
            version: self.version,
            first,
            last,
            own_touch,
            cluster,
            planned_ticks,
            response,
            is_near,
            cell_cover,
            departures,
            changes: self.changes,
        }
    }

    /// Goes on from tick to tick as long as something holds the cluster and no remote is known to touch it: what
    /// the table knows of others is looked at once for all these ticks. `cluster` is where it is at `first`.
    fn planned_ticks(
        &mut self,
        dynamics: &D,
        cluster: &Cluster<D>,
        (first, until): (Tick, Tick),
        respond_until: Tick,
    ) -> PlannedTicks<D> {
        let latest = self.history.latest().filter(|latest| latest.remotes.is_empty());
        let Some(known) = latest.and_then(|latest| latest.response.as_ref()) else {
            return (Vec::new(), None);
        };
        let most = (BODY_TICKS_PER_WRITE_MAX / cluster.len().max(1) as u64).max(1);
        let mut caches = known.caches.clone();
        let mut planned_ticks: Vec<PlannedTick<D>> = Vec::new();
        for tick in first..=respond_until.min(until).min(first + most) {
            let cluster = planned_ticks.last().map_or(cluster, |planned| &planned.cluster);
            let input = ResponseInput { cluster, caches: &caches, remotes: &[], is_island: self.is_island };
            let response = Box::new(dynamics.respond(tick, &input));
            self.stats.responses += 1;
            if tick == until || tick == first + most || !is_holding(&response, cluster.len()) {
                return (planned_ticks, Some(response));
            }
            caches = response.caches.clone();
            let cluster = after(&response, cluster);
            planned_ticks.push(PlannedTick { response, cluster });
        }
        (planned_ticks, None)
    }

    /// How far it runs ahead of the lowest local virtual time: those who touch something often would only have to come
    /// back.
    fn window(&self, limits: &Limits) -> u64 {
        match limits.adaptive {
            true => limits.window.min(self.mean_free_ticks.max(MEAN_FREE_MIN_TICKS).saturating_mul(2)),
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
            latest.response.as_ref().is_some_and(|response| is_holding(response, latest.cluster().len()))
        })
    }

    /// Works out how it goes on from where it is, unless that is known already. Says whether it knows enough.
    fn respond(&mut self, dynamics: &D) -> bool {
        let latest = self.history.latest_mut().expect("invariant: it has written before");
        if latest.response.is_none() {
            latest.response = Some(Box::new(latest.respond(dynamics, self.is_island)));
            self.stats.responses += 1;
        }
        latest.response.as_ref().is_some_and(|response| response.has_all_ghosts)
    }

    /// Tells those it touches what they cannot work out by themselves, if it has not told them already.
    fn tell(&mut self, out: &mut Effects<D>) {
        let is_final = self.has(Fault::GhostLost);
        let latest = self.history.latest_mut().expect("invariant: it has written before");
        let Some(response) = &latest.response else { return };
        let mut due: Vec<(EntityId, Version, BodyIndex, Arc<D::Ghost>)> = Vec::new();
        for told in &response.ghosts {
            for known in latest.remotes.iter().filter(|known| known.remote.touches.contains(&told.own)) {
                let theirs = |key: &PartnerKey| match key {
                    PartnerKey::Body(place) => latest
                        .remotes
                        .iter()
                        .any(|k| k.version.entity == known.version.entity && k.remote.body == *place),
                    PartnerKey::Static(_) | PartnerKey::Island => false,
                };
                let sent = latest
                    .sent_ghosts
                    .iter()
                    .find(|sent| sent.own == told.own && sent.to == known.version.entity);
                // Who touches only them needs no telling: they can work it out. Once told, always told.
                let needed = sent.is_some() || !told.partners.iter().all(theirs);
                let is_news = sent.is_none_or(|sent| !is_final && !D::same_ghost(&sent.ghost, &told.ghost));
                let twice = due.iter().any(|(to, _, own, _)| *to == known.version.entity && *own == told.own);
                if needed && is_news && !twice {
                    due.push((known.version.entity, known.version, told.own, told.ghost.clone()));
                }
            }
        }
        let (tick, from) = (latest.last, latest.version);
        for (to, _, own, ghost) in &due {
            latest.sent_ghosts.retain(|sent| sent.own != *own || sent.to != *to);
            latest.sent_ghosts.push(SentGhost { own: *own, to: *to, ghost: ghost.clone() });
        }
        for (to, version, own, ghost) in due {
            let serial = self.await_ack(PendingAck { event: None });
            self.stats.ghost_updates += 1;
            let at = At { tick, from, to: version };
            out.messages.push((to, Message::GhostUpdate { at, serial, mine: own, ghost }));
        }
    }

    /// The table has taken the plan. Those it touches are told; but if anything has changed since the plan was
    /// made, the plan is void, and its track is taken back before anybody has been told.
    pub(in crate::protocol) fn written(
        &mut self,
        plan: Plan<D>,
        written: WriteResult<D>,
        out: &mut Effects<D>,
    ) {
        self.writing = false;
        self.apply_write(plan, written, out);
        for (from, message) in std::mem::take(&mut self.deferred) {
            self.handle(from, message, out);
        }
    }

    fn apply_write(&mut self, plan: Plan<D>, written: WriteResult<D>, out: &mut Effects<D>) {
        if plan.changes != self.changes && !self.has(Fault::VoidPlanKept) {
            out.tracks_retracted.push((written.track, plan.first));
            // Somebody may have met the void track already: their version must never come back.
            self.version.number += u32::from(!self.has(Fault::VersionReused));
            return;
        }
        let (mut caches, mut expects_contact) = match (self.history.latest(), &self.origin) {
            (Some(latest), _) => latest
                .response
                .as_ref()
                .map_or((None, false), |response| (Some(response.caches.clone()), response.is_resting)),
            (None, Some(origin)) => (Some(origin.caches.clone().into()), origin.expects_contact),
            (None, None) => (None, false),
        };
        let flights_started = plan.departures.into_iter();
        out.flights_started.extend(flights_started.map(|(place, flight)| (place, plan.first, flight)));
        let mut remotes: ThinVec<ContactRecord<D>> = ThinVec::new();
        for found in &written.found {
            let (own, other, (body, their_flight)) = (found.own, &found.other, found.remote());
            let at = At { tick: written.last, from: plan.version, to: other.version };
            let flight =
                written.track.flight_of(own, written.last).expect("invariant: own is of the cluster");
            let serial = self.await_ack(PendingAck { event: Some((at, own, *body)) });
            self.stats.events += 1;
            let event = Message::Event { at, serial, mine: own, flight: flight.clone(), yours: *body };
            out.messages.push((other.version.entity, event));
            if self.has(Fault::DetectorDoesNotApply) {
                continue;
            }
            let is_news =
                crate::protocol::entity::receive::note(&mut remotes, other.version, *body, own, their_flight);
            self.stats.repeated_events += u64::from(!is_news);
        }
        let flown = written.last + 1 - plan.first;
        self.own_search_ticks = match plan.own_touch {
            // From one planned to the next is one tick.
            Some(_) if !plan.planned_ticks.is_empty() => 1,
            Some(tick) if tick == written.last => flown,
            _ => self.own_search_ticks.max(flown),
        };
        self.own_search_ticks = self.own_search_ticks.saturating_mul(2);
        if written.found.is_empty() {
            self.stride = self.stride.saturating_mul(2);
        }
        self.stats.steps += 1;
        self.stats.ticks += flown;
        // With planned_ticks every tick is believed to touch something, also where they were cut off.
        let own_touch = if plan.planned_ticks.is_empty() { plan.own_touch } else { Some(written.last) };
        let mut first = plan.first;
        for planned in plan.planned_ticks {
            if first == written.last {
                // Somebody is met on the way: what was worked out from here on was in vain, or can wait.
                break;
            }
            let (then, is_resting) = (planned.response.caches.clone(), planned.response.is_resting);
            let flights_started =
                departures(&planned.response).map(|(place, flight)| (place, first + 1, flight));
            out.flights_started.extend(flights_started);
            self.history.push(Segment {
                version: plan.version,
                first,
                last: first,
                track: written.track.clone(),
                caches: caches.replace(then),
                expects_contact: std::mem::replace(&mut expects_contact, is_resting),
                own_touch: Some(first),
                remotes: ThinVec::new(),
                sent_ghosts: ThinVec::new(),
                response: Some(planned.response),
            });
            first += 1;
        }
        let is_alone = remotes.is_empty() || self.has(Fault::EncounterOverlooked);
        let is_last = is_alone && written.last == plan.last;
        self.history.push(Segment {
            version: plan.version,
            first,
            last: written.last,
            track: written.track,
            caches,
            expects_contact,
            own_touch,
            remotes,
            sent_ghosts: ThinVec::new(),
            response: plan.response.filter(|_| is_last),
        });
        self.publish_lvt(out);
    }
}

/// Whether a response lets expect a touch at the next tick: somebody is held, or among many somebody touched.
fn is_holding<D: Dynamics>(response: &Response<D>, bodies: usize) -> bool {
    response.is_resting || bodies > LARGE_CLUSTER && response.counts.contacts > 0
}

/// The cluster as it flies after a response.
fn after<D: Dynamics>(response: &Response<D>, cluster: &Cluster<D>) -> Cluster<D> {
    // A list of plain numbers is copied at one stroke, unlike a list that may be short.
    let mut then: Cluster<D> =
        if cluster.len() > 1 { Cluster::<D>::from_vec(cluster.to_vec()) } else { cluster.clone() };
    for (number, flight) in response.numbered(cluster) {
        then[number].1 = flight.clone();
    }
    then
}

/// What is new about a cluster after a response.
fn departures<D: Dynamics>(
    response: &Response<D>,
) -> impl Iterator<Item = (BodyIndex, Option<D::Flight>)> + '_ {
    response.flights.iter().map(|(place, flight)| (*place, Some(flight.clone())))
}
