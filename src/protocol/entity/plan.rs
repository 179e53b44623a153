//! Planning a flight, and what comes of the table's reply.

use thin_vec::ThinVec;

use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, Dynamics};
use crate::protocol::effects::Effects;
use crate::protocol::entity::step::Onward;
use crate::protocol::entity::{Entity, Limits, PendingAck, Plan, WriteResult};
use crate::protocol::fault::Fault;
use crate::protocol::history::{ContactRecord, Segment, SharedCaches};
use crate::protocol::message::{At, Message};

impl<D: Dynamics> Entity<D> {
    /// Plans the flight from `first` on, up to the first contact with static geometry, the end of the stride or of the
    /// window, or the next input.
    pub(super) fn plan(
        &mut self,
        dynamics: &D,
        limits: &Limits,
        (first, lvt_min): (Tick, Tick),
        (cluster, departures): Onward<D>,
    ) -> Plan<D> {
        let reach = first.saturating_add(self.stride(limits) - 1);
        let next_input = self.inputs.range(first..).next().map_or(Tick::MAX, |(tick, _)| *tick);
        let until = limits.last_tick.min(lvt_min + self.window(limits)).min(next_input).max(first);
        let bound = until.min(reach).max(first);
        let is_held = limits.adaptive && self.is_held();
        // What is held almost always has a contact at the next tick: the search is skipped, and the response finds it.
        let own_touch = match cluster.as_slice() {
            [(body, flight)] if !is_held && !self.is_island => {
                dynamics.first_own_touch(*body, flight, first, bound)
            }
            [] => None,
            _ => Some(first),
        };
        let latest = self.history.latest().filter(|_| is_held);
        let cell_cover = latest.map(|latest| latest.track.cell_cover.clone());
        self.writing = true;
        self.planned = (self.version, first);
        Plan {
            version: self.version,
            first,
            last: own_touch.unwrap_or(bound),
            own_touch,
            cluster,
            is_near: is_held,
            cell_cover,
            departures,
            changes: self.changes,
        }
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
            let flight = reply.track.flight_of(own).expect("invariant: own is of this entity");
            let serial = self.await_ack(PendingAck { event: Some((at, own, *body)), to: at.to.entity });
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

    /// Adapts the stride to how far the flight went.
    fn learn_from_write(&mut self, plan: &Plan<D>, reply: &WriteResult<D>) {
        if reply.found.is_empty() {
            self.stride = self.stride.saturating_mul(2);
        }
        self.stats.steps += 1;
        self.stats.ticks += reply.last + 1 - plan.first;
    }

    /// State saving: the flight becomes a segment of the history.
    fn append_history(
        &mut self,
        plan: Plan<D>,
        reply: WriteResult<D>,
        remotes: ThinVec<ContactRecord<D>>,
        out: &mut Effects<D>,
    ) {
        let (caches, expects_contact) = self.caches_at_lvt();
        let flight_of = |body: BodyIndex| reply.track.flight_of(body).cloned();
        out.flights_started
            .extend(plan.departures.into_iter().map(|body| (body, plan.first, flight_of(body))));
        self.history.push(Segment {
            version: plan.version,
            first: plan.first,
            last: reply.last,
            track: reply.track,
            caches,
            expects_contact,
            own_touch: plan.own_touch,
            remotes,
            has_told: false,
            sent_ghosts: ThinVec::new(),
            response: None,
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
