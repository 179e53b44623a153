//! What entities have done, in the words of parallel simulation.

use serde::Serialize;

use crate::protocol::dynamics::ContactCounts;

/// Rollbacks are counted by the power of two of their depth, up to this many.
const DEPTHS: usize = 12;

/// What an entity has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Steps written.
    pub steps: u64,
    /// Ticks written.
    pub ticks: u64,
    /// Ticks taken back.
    pub ticks_undone: u64,
    /// How many rollbacks took back 1, 2 to 3, 4 to 7, ... ticks.
    pub rollback_depths: [u64; DEPTHS],
    /// Rollbacks because of an event or a ghost update.
    pub primary_rollbacks: u64,
    /// Rollbacks because of an antievent or a rejecting ack.
    pub secondary_rollbacks: u64,
    /// Responses worked out.
    pub responses: u64,
    /// Events sent.
    pub events: u64,
    /// Events about a contact that the receiver knew already.
    pub repeated_events: u64,
    /// Antievents sent.
    pub antievents: u64,
    /// Ghost updates sent.
    pub ghost_updates: u64,
    /// Those among them that are awaited, and not acknowledged.
    pub ghosts_awaited: u64,
    /// Inputs from outside that arrived: spawn, despawn, push.
    pub inputs: u64,
    /// Migrations: bodies moved to another entity.
    pub migrations: u64,
    /// Contact pairs, summed over committed ticks.
    pub contact_ticks: u64,
    /// Contact pairs that began at committed ticks.
    pub contacts: u64,
    /// Deepest overlap at committed ticks, metres.
    pub max_overlap_m: f64,
}

impl Stats {
    /// Adds up the statistics of two entities.
    pub fn add(&mut self, other: &Stats) {
        self.steps += other.steps;
        self.ticks += other.ticks;
        self.ticks_undone += other.ticks_undone;
        for (mine, others) in self.rollback_depths.iter_mut().zip(other.rollback_depths) {
            *mine += others;
        }
        self.primary_rollbacks += other.primary_rollbacks;
        self.secondary_rollbacks += other.secondary_rollbacks;
        self.responses += other.responses;
        self.events += other.events;
        self.repeated_events += other.repeated_events;
        self.antievents += other.antievents;
        self.ghost_updates += other.ghost_updates;
        self.ghosts_awaited += other.ghosts_awaited;
        self.inputs += other.inputs;
        self.migrations += other.migrations;
        self.contact_ticks += other.contact_ticks;
        self.contacts += other.contacts;
        self.max_overlap_m = self.max_overlap_m.max(other.max_overlap_m);
    }

    /// Ticks that were kept, as a share of those that were computed.
    pub fn efficiency(&self) -> f64 {
        if self.ticks == 0 { 1.0 } else { (self.ticks - self.ticks_undone) as f64 / self.ticks as f64 }
    }

    pub(super) fn undo(&mut self, ticks: u64) {
        self.ticks_undone += ticks;
        let depth = (u64::BITS - 1 - ticks.max(1).leading_zeros()) as usize;
        self.rollback_depths[depth.min(DEPTHS - 1)] += 1;
    }

    pub(super) fn commit(&mut self, counts: &ContactCounts) {
        self.contact_ticks += u64::from(counts.contacts);
        self.contacts += u64::from(counts.new_contacts);
        self.max_overlap_m = self.max_overlap_m.max(counts.overlap_m);
    }
}
