//! Islands under Time Warp: membership is decided when GVT reaches the beginning of an epoch, and GVT does not rise above
//! that tick before.

use crate::base::state::BodyState;
use crate::base::sync::{Mutex, lock};
use crate::base::time::Tick;
use crate::islands::{IslandChange, IslandDetector, IslandModel, IslandSummary};
use crate::physics::World;
use crate::protocol::{EntityId, MembershipChange};
use crate::runtime::flight_log::FlightLog;
use crate::runtime::membership_log::MembershipLog;

/// Decides island membership, and keeps the decisions.
pub struct IslandEpochs {
    /// The decisions so far: which entity each body is in from which tick on.
    pub membership: MembershipLog,
    /// Number of bodies, and of entities of single bodies; entities of islands follow them.
    bodies: u32,
    detector: Mutex<IslandDetector>,
}

impl IslandEpochs {
    /// The state before the first decision.
    pub fn new(world: &World, islands: &IslandModel) -> Self {
        let log = MembershipLog::new(islands.settings().epoch_ticks, islands.islands_max());
        let detector = Mutex::new(IslandDetector::new(world, islands));
        IslandEpochs { membership: log, bodies: world.bodies.len() as u32, detector }
    }

    /// Decides all epochs that begin at or below `gvt`. Frames up to there must have been taken.
    pub(crate) fn decide(&self, world: &World, log: &FlightLog, gvt: Tick) {
        let mut detector = lock(&self.detector);
        while self.membership.next() <= gvt {
            let tick = self.membership.next();
            let states: Vec<BodyState> =
                log.frame(world, tick).bodies.iter().map(|(_, state)| *state).collect();
            self.membership.decide(self.change(detector.detect(world, tick, &states)));
        }
    }

    /// The same change in terms of entities: a body that leaves its island goes to the entity of its own index.
    fn change(&self, change: IslandChange) -> MembershipChange {
        let moves = change.moves.into_iter().map(|(body, island)| {
            let to = island.map_or(EntityId(body), |island| self.entity_of(island));
            (body, to)
        });
        let islands = change.members.into_iter().map(|(island, bodies)| (self.entity_of(island), bodies));
        MembershipChange { moves: moves.collect(), islands: islands.collect() }
    }

    /// The entity of an island. Low numbers are used first and entities are assigned to arbiters in blocks, so the bits of
    /// the number are reversed to spread islands over the arbiters.
    fn entity_of(&self, island: u32) -> EntityId {
        let bits = self.membership.islands_max().trailing_zeros();
        let spread = if bits == 0 { 0 } else { island.reverse_bits() >> (u32::BITS - bits) };
        EntityId(self.bodies + spread)
    }

    /// What has been counted so far.
    pub fn summary(&self) -> IslandSummary {
        *lock(&self.detector).summary()
    }
}
