//! Planning a flight, and what comes of the table's reply.

use thin_vec::ThinVec;

use crate::base::time::Tick;
use crate::protocol::dynamics::{Cluster, Dynamics, Response, ResponseInput};
use crate::protocol::effects::Effects;
use crate::protocol::entity::step::{LARGE_CLUSTER, Onward, after, departures, is_holding};
use crate::protocol::entity::{Entity, Limits, PendingAck, Plan, PlannedTick, WriteResult};
use crate::protocol::fault::Fault;
use crate::protocol::history::{ContactRecord, Segment, SharedCaches};
use crate::protocol::message::{At, Message};

/// The ticks after the first of a plan, and how the cluster goes on from the last of them, if that is known.
type PlannedTicks<D> = (Vec<PlannedTick<D>>, Option<Box<Response<D>>>);

/// A flight of at most this many ticks stays near where it began: cells it covered before may serve again. Not tuned.
const NEAR_TICKS: u64 = 8;
/// How many ticks ahead a large cluster searches for its own contacts at first. Not tuned.
pub(super) const OWN_SEARCH_TICKS_START: u64 = 16;
/// Bodies times ticks that a cluster plans one by one before it looks at the table again. Bounds the work that one
/// rollback can undo. Not tuned.
pub(super) const BODY_TICKS_PER_WRITE_MAX: u64 = 16_384;

impl<D: Dynamics> Entity<D> {
    /// Plans the flight from `first` on, up to the first own contact, the end of the stride or of the window, or the
    /// next input. A cluster that is held plans several ticks one by one, up to `may_respond_until`.
    pub(super) fn plan(
        &mut self,
        dynamics: &D,
        limits: &Limits,
        (first, lvt_min): (Tick, Tick),
        (cluster, departures): Onward<D>,
        may_respond_until: Option<Tick>,
    ) -> Plan<D> {
        // Among many bodies a contact is never far away, and searching far ahead for it is expensive.
        let own_search_ticks = if cluster.len() > LARGE_CLUSTER { self.own_search_ticks } else { u64::MAX };
        let reach = first.saturating_add(self.stride(limits).min(own_search_ticks) - 1);
        let next_input = self.inputs.range(first..).next().map_or(Tick::MAX, |(tick, _)| *tick);
        let until = limits.last_tick.min(lvt_min + self.window(limits)).min(next_input).max(first);
        let bound = until.min(reach).max(first);
        let is_held = limits.adaptive && self.is_held();
        // A cluster that is held almost always has a contact at the next tick: the search is skipped, and the response
        // finds it.
        let own_touch = if is_held || self.is_island {
            Some(first)
        } else {
            dynamics.first_own_touch(&cluster, first, bound)
        };
        let is_near = is_held || own_search_ticks <= NEAR_TICKS;
        let latest = self.history.latest().filter(|_| is_near);
        let cell_cover = latest.map(|latest| latest.track.cell_cover.clone());
        let (planned_ticks, response) = match may_respond_until.filter(|_| is_held) {
            Some(respond_until) => {
                let until = until.min(limits.alone_until).max(first);
                self.plan_ticks(dynamics, &cluster, (first, until), respond_until)
            }
            None => (Vec::new(), None),
        };
        let more = planned_ticks.len() as u64;
        self.writing = true;
        self.planned = (self.version, first);
        Plan {
            version: self.version,
            first,
            last: own_touch.unwrap_or(bound) + more,
            own_touch: own_touch.map(|tick| tick + more),
            cluster,
            planned_ticks,
            response,
            is_near,
            cell_cover,
            departures,
            changes: self.changes,
        }
    }

    /// Goes on from tick to tick as long as contacts hold the cluster and none with a remote body is known: the table is
    /// searched once for all these ticks. `cluster` is as it flies at `first`.
    fn plan_ticks(
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
        let mut planned: Vec<PlannedTick<D>> = Vec::new();
        for tick in first..=respond_until.min(until).min(first + most) {
            let cluster = planned.last().map_or(cluster, |planned| &planned.cluster);
            let input = ResponseInput { cluster, caches: &caches, remotes: &[], is_island: self.is_island };
            let response = Box::new(dynamics.respond(tick, &input));
            self.stats.responses += 1;
            if tick == until || tick == first + most || !is_holding(&response, cluster.len()) {
                return (planned, Some(response));
            }
            caches = response.caches.clone();
            let cluster = after(&response, cluster);
            planned.push(PlannedTick { response, cluster });
        }
        (planned, None)
    }

    /// The table has taken a plan. Its contacts are announced by events; but if anything has changed since the plan was
    /// made, the plan is void, and its track is retracted before any contact is announced.
    pub(in crate::protocol) fn written(
        &mut self,
        plan: Plan<D>,
        reply: WriteResult<D>,
        out: &mut Effects<D>,
    ) {
        self.writing = false;
        if plan.changes != self.changes && !self.has(Fault::VoidPlanKept) {
            out.tracks_retracted.push((reply.track, plan.first));
            // Another entity may have found the void track already: its version must never come back.
            self.version.number += u32::from(!self.has(Fault::VersionReused));
        } else {
            let remotes = self.announce_contacts(&plan, &reply, out);
            self.learn_from_write(&plan, &reply);
            self.append_history(plan, reply, remotes, out);
        }
        for (from, message) in std::mem::take(&mut self.deferred) {
            self.handle(from, message, out);
        }
    }

    /// Sends an event for every contact that the write has found. Returns the contacts.
    fn announce_contacts(
        &mut self,
        plan: &Plan<D>,
        reply: &WriteResult<D>,
        out: &mut Effects<D>,
    ) -> ThinVec<ContactRecord<D>> {
        let mut remotes: ThinVec<ContactRecord<D>> = ThinVec::new();
        for found in &reply.found {
            let (own, other, (body, their_flight)) = (found.own, &found.other, found.remote());
            let at = At { tick: reply.last, from: plan.version, to: other.version };
            let flight = reply.track.flight_of(own, reply.last).expect("invariant: own is of the cluster");
            let serial = self.await_ack(PendingAck { event: Some((at, own, *body)) });
            self.stats.events += 1;
            let event = Message::Event { at, serial, mine: own, flight: flight.clone(), yours: *body };
            out.messages.push((other.version.entity, event));
            if self.has(Fault::DetectorDoesNotApply) {
                continue;
            }
            let is_news = super::receive::note(&mut remotes, other.version, *body, own, their_flight);
            self.stats.repeated_events += u64::from(!is_news);
        }
        remotes
    }

    /// Adapts stride and search to how far the flight went.
    fn learn_from_write(&mut self, plan: &Plan<D>, reply: &WriteResult<D>) {
        let flown = reply.last + 1 - plan.first;
        self.own_search_ticks = match plan.own_touch {
            // Planned ticks are one tick apart.
            Some(_) if !plan.planned_ticks.is_empty() => 1,
            Some(tick) if tick == reply.last => flown,
            _ => self.own_search_ticks.max(flown),
        };
        self.own_search_ticks = self.own_search_ticks.saturating_mul(2);
        if reply.found.is_empty() {
            self.stride = self.stride.saturating_mul(2);
        }
        self.stats.steps += 1;
        self.stats.ticks += flown;
    }

    /// State saving: the flight becomes segments of the history, one for every planned tick and one for the rest.
    fn append_history(
        &mut self,
        plan: Plan<D>,
        reply: WriteResult<D>,
        remotes: ThinVec<ContactRecord<D>>,
        out: &mut Effects<D>,
    ) {
        let (mut caches, mut expects_contact) = self.caches_at_lvt();
        out.flights_started
            .extend(plan.departures.into_iter().map(|(body, flight)| (body, plan.first, flight)));
        // Every planned tick is taken to have a contact, also where the write has cut the plan short.
        let own_touch = if plan.planned_ticks.is_empty() { plan.own_touch } else { Some(reply.last) };
        let mut first = plan.first;
        for planned in plan.planned_ticks {
            if first == reply.last {
                // The write has found a contact here: what was planned from here on is void, or can wait.
                break;
            }
            let (then, is_resting) = (planned.response.caches.clone(), planned.response.is_resting);
            let started = departures(&planned.response).map(|(body, flight)| (body, first + 1, flight));
            out.flights_started.extend(started);
            self.history.push(Segment {
                version: plan.version,
                first,
                last: first,
                track: reply.track.clone(),
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
        let is_complete = is_alone && reply.last == plan.last;
        self.history.push(Segment {
            version: plan.version,
            first,
            last: reply.last,
            track: reply.track,
            caches,
            expects_contact,
            own_touch,
            remotes,
            sent_ghosts: ThinVec::new(),
            response: plan.response.filter(|_| is_complete),
        });
        self.publish_lvt(out);
    }

    /// Contact caches of the response at the LVT, and whether it lets expect a contact at the next tick.
    fn caches_at_lvt(&self) -> (SharedCaches<D>, bool) {
        match (self.history.latest(), &self.origin) {
            (Some(latest), _) => latest
                .response
                .as_ref()
                .map_or((None, false), |response| (Some(response.caches.clone()), response.is_resting)),
            (None, Some(origin)) => (Some(origin.caches.clone().into()), origin.expects_contact),
            (None, None) => (None, false),
        }
    }
}
