//! The portrait of an entity: everything that decides what it does next, and nothing else. And its copy, for those
//! who look at several futures of one past.

use std::sync::Arc;

use crate::protocol::dynamics::{Dynamics, Response};
use crate::protocol::entity::step::{LARGE_CLUSTER, MEAN_FREE_MIN_TICKS};
use crate::protocol::entity::{Departures, Entity, Limits, PendingAck, Plan, WriteResult};
use crate::protocol::history::{ContactRecord, Segment};
use crate::protocol::message::EntityId;
use crate::protocol::portrait::{
    Named, Painter, portray_cluster, portray_found, portray_memories, portray_partner,
};
use crate::protocol::tvht::Track;

impl<D: Dynamics> Entity<D> {
    /// Takes down everything that decides what it does next under these limits, and what it has committed.
    pub fn portray(&self, limits: &Limits, painter: &mut impl Painter<D>) {
        painter.number(self.base);
        painter.number(u64::from(self.origin.is_some()));
        if let Some(origin) = &self.origin {
            painter.number(origin.first);
            portray_cluster(&origin.cluster, painter);
            portray_memories(&origin.memories, painter);
            painter.number(u64::from(origin.expects_contact));
        }
        painter.many(self.history.len());
        for segment in self.history.iter() {
            portray_segment(self.id, segment, painter);
        }
        painter.many(self.members.len());
        self.members.iter().for_each(|place| painter.number(u64::from(*place)));
        painter.many(self.inputs.len());
        for (tick, actions) in &self.inputs {
            painter.number(*tick);
            painter.many(actions.len());
            for (number, action) in actions {
                painter.number(*number);
                painter.action(action);
            }
        }
        painter.many(self.given.len());
        for (place, to) in &self.given {
            painter.number(u64::from(*place));
            painter.number(u64::from(to.0));
        }
        painter.named(Named::Version(self.id, self.version));
        self.portray_debts(painter);
        painter.maybe(self.lvt_known);
        painter.number(u64::from(self.writing));
        if self.writing {
            painter.named(Named::Version(self.id, self.planned.0));
            painter.number(self.planned.1);
        }
        painter.many(self.deferred.len());
        for (from, message) in &self.deferred {
            painter.number(u64::from(from.0));
            message.portray(*from, self.id, painter);
        }
        if limits.adaptive {
            // Longer than the run is long enough.
            painter.number(self.stride.min(limits.last_tick + 1));
            if limits.last_tick > MEAN_FREE_MIN_TICKS {
                painter.number(self.mean_free_ticks.min(limits.last_tick + 1));
                painter.number(self.since_touch);
            }
        }
        if self.members.len() > LARGE_CLUSTER {
            painter.number(self.own_search_ticks.min(limits.last_tick + 1));
        }
        if limits.contact_window.is_none() {
            painter.number(self.contact_window_ticks);
        }
        // What is committed is the same on every way to the same tick, or something is wrong.
        painter.number(self.stats.touches);
        painter.number(self.stats.new_touches);
    }

    fn portray_debts(&self, painter: &mut impl Painter<D>) {
        painter.many(self.pending_acks.len());
        let mut pending_acks: Vec<&PendingAck> = self.pending_acks.values().collect();
        let key = |debt: &&PendingAck| {
            debt.event.map(|(at, to, own, theirs)| (at.tick, at.from, to, at.to, own, theirs))
        };
        pending_acks.sort_by_key(key);
        pending_acks.into_iter().for_each(|debt| portray_debt(self.id, debt, painter));
    }

    /// Takes down what it pending_ack_count under a serial number: what an answer is the answer to.
    pub(crate) fn portray_pending(&self, serial: u64, painter: &mut impl Painter<D>) {
        if let Some(debt) = self.pending_acks.get(&serial) {
            portray_debt(self.id, debt, painter);
        }
    }

    /// Every track it has in the table, to be replaced by a copy.
    pub(crate) fn tracks_mut(&mut self) -> impl Iterator<Item = &mut Arc<Track<D>>> {
        self.history.iter_mut().map(|segment| &mut segment.track)
    }

    /// Takes down a plan of its own that is on its way to the table.
    pub(crate) fn portray_plan(&self, plan: &Plan<D>, painter: &mut impl Painter<D>) {
        painter.named(Named::Version(plan.entity, plan.version));
        painter.number(plan.first);
        painter.number(plan.last);
        painter.maybe(plan.own_touch);
        portray_cluster(&plan.cluster, painter);
        portray_departures(&plan.departures, painter);
        painter.many(plan.planned_ticks.len());
        for planned in &plan.planned_ticks {
            portray_response(&planned.response, painter);
            portray_cluster(&planned.cluster, painter);
        }
        painter.number(u64::from(plan.response.is_some()));
        if let Some(response) = &plan.response {
            portray_response(response, painter);
        }
        painter.number(u64::from(plan.changes == self.changes));
    }
}

fn portray_debt<D: Dynamics>(id: EntityId, debt: &PendingAck, painter: &mut impl Painter<D>) {
    painter.number(u64::from(debt.event.is_some()));
    if let Some((at, to, own, theirs)) = &debt.event {
        painter.number(at.tick);
        painter.named(Named::Version(id, at.from));
        painter.named(Named::Version(*to, at.to));
        painter.number(u64::from(to.0));
        painter.number(u64::from(*own));
        painter.number(u64::from(*theirs));
    }
}

impl<D: Dynamics> WriteResult<D> {
    /// Takes down the table's answer.
    pub(crate) fn portray(&self, painter: &mut impl Painter<D>) {
        painter.number(self.last);
        portray_found(&self.found, painter);
        self.track.portray(painter);
    }
}

fn portray_segment<D: Dynamics>(id: EntityId, segment: &Segment<D>, painter: &mut impl Painter<D>) {
    painter.named(Named::Version(id, segment.version));
    painter.number(segment.first);
    painter.number(segment.last);
    portray_cluster(segment.cluster(), painter);
    painter.number(segment.track.end());
    segment.track.cell_cover.portray(painter);
    portray_memories(segment.memories.as_deref().unwrap_or_default(), painter);
    painter.number(u64::from(segment.expects_contact));
    painter.maybe(segment.own_touch);
    painter.many(segment.remotes.len());
    for ContactRecord { entity, version, remote } in &segment.remotes {
        painter.number(u64::from(entity.0));
        painter.named(Named::Version(*entity, *version));
        painter.number(u64::from(remote.body));
        painter.flight(&remote.flight);
        painter.many(remote.touches.len());
        remote.touches.iter().for_each(|place| painter.number(u64::from(*place)));
        painter.number(u64::from(remote.ghost.is_some()));
        if let Some(ghost) = &remote.ghost {
            painter.ghost(ghost);
        }
    }
    painter.many(segment.sent_ghosts.len());
    let mut sent_ghosts: Vec<_> = segment.sent_ghosts.iter().collect();
    sent_ghosts.sort_by_key(|sent| (sent.own, sent.to));
    for sent in sent_ghosts {
        painter.number(u64::from(sent.own));
        painter.number(u64::from(sent.to.0));
        painter.ghost(&sent.ghost);
    }
    painter.number(u64::from(segment.response.is_some()));
    if let Some(response) = &segment.response {
        portray_response(response, painter);
    }
}

fn portray_response<D: Dynamics>(response: &Response<D>, painter: &mut impl Painter<D>) {
    portray_cluster(&response.flights, painter);
    portray_memories(&response.memories, painter);
    painter.many(response.told.len());
    for told in &response.told {
        painter.number(u64::from(told.own));
        painter.many(told.partners.len());
        told.partners.iter().for_each(|partner| portray_partner(*partner, painter));
        painter.ghost(&told.ghost);
    }
    painter.number(u64::from(response.complete) | u64::from(response.is_resting) << 1);
    painter.number(u64::from(response.seen.touches) << 32 | u64::from(response.seen.new_touches));
}

fn portray_departures<D: Dynamics>(departures: &Departures<D>, painter: &mut impl Painter<D>) {
    painter.many(departures.len());
    for (place, flight) in departures {
        painter.number(u64::from(*place));
        painter.number(u64::from(flight.is_some()));
        if let Some(flight) = flight {
            painter.flight(flight);
        }
    }
}
