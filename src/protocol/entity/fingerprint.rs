//! What decides an entity's future, and nothing else: two entities that serialise alike here do the same from now on.

use std::sync::Arc;

use serde::Serialize;

use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, Dynamics};
use crate::protocol::entity::step::MEAN_FREE_MIN_TICKS;
use crate::protocol::entity::{Entity, Inputs, Limits, Origin, PendingAck, Plan};
use crate::protocol::history::History;
use crate::protocol::message::{EntityId, Message, Serial, Version};
use crate::protocol::tvht::Track;

/// The parts of an entity that decide what it does next under some limits, and what it has committed.
#[derive(Serialize)]
#[serde(bound = "")]
pub struct EntityFuture<'a, D: Dynamics> {
    base: Tick,
    origin: &'a Option<Origin<D>>,
    history: &'a History<D>,
    members: &'a [BodyIndex],
    inputs: &'a Inputs<D::Input>,
    version: Version,
    /// By what they are about: serial numbers only say what an acknowledgement acknowledges.
    pending_acks: Vec<&'a PendingAck>,
    lvt_known: Option<Tick>,
    plan_under_way: Option<(Version, Tick)>,
    deferred: &'a [(EntityId, Message<D>)],
    /// Learnt values, as far as they can matter.
    stride: Option<u64>,
    free_flight: Option<(u64, u64)>,
    contact_window_ticks: Option<u64>,
    /// What is committed is the same on every schedule that leads to the same tick, or something is wrong.
    committed: (u64, u64),
}

impl<D: Dynamics> Entity<D> {
    /// The parts that decide what it does next under these limits.
    pub fn future<'a>(&'a self, limits: &Limits) -> EntityFuture<'a, D> {
        let mut pending_acks: Vec<&PendingAck> =
            self.pending_acks.iter().map(|(_, pending)| pending).collect();
        pending_acks.sort();
        // Longer than the run is long enough.
        let capped = |ticks: u64| ticks.min(limits.last_tick + 1);
        let has_free_flight = limits.adaptive && limits.last_tick > MEAN_FREE_MIN_TICKS;
        EntityFuture {
            base: self.base,
            origin: &self.origin,
            history: &self.history,
            members: &self.members,
            inputs: &self.inputs,
            version: self.version,
            pending_acks,
            lvt_known: self.lvt_known,
            plan_under_way: self.writing.then_some(self.planned),
            deferred: &self.deferred,
            stride: limits.adaptive.then(|| capped(self.stride)),
            free_flight: has_free_flight.then(|| (capped(self.mean_free_ticks), self.since_touch)),
            contact_window_ticks: limits.contact_window.is_none().then_some(self.contact_window_ticks),
            committed: (self.stats.contact_ticks, self.stats.contacts),
        }
    }

    /// What an acknowledgement with this serial number acknowledges.
    pub fn pending_ack(&self, serial: Serial) -> Option<&PendingAck> {
        self.pending_acks.iter().find(|(pending, _)| *pending == serial).map(|(_, pending)| pending)
    }

    /// Whether nothing has changed since a plan of its own was made: if it has, the plan is void.
    pub fn is_current(&self, plan: &Plan<D>) -> bool {
        plan.changes == self.changes
    }

    /// Every track it has in the table, so that a model can give it copies.
    pub(in crate::protocol) fn tracks_mut(&mut self) -> impl Iterator<Item = &mut Arc<Track<D>>> {
        self.history.iter_mut().map(|segment| &mut segment.track)
    }
}
