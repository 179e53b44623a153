//! Islands while bodies run in their own time: membership is decided whenever global virtual time comes to the beginning
//! of an epoch, which it does not pass before.

use crate::base::state::BodyState;
use crate::base::sync::{Mutex, lock};
use crate::base::time::Tick;
use crate::islands::{IslandChange, IslandDetector, IslandModel, IslandSummary};
use crate::physics::World;
use crate::protocol::{EntityId, MembershipChange};
use crate::runtime::flight_log::FlightLog;
use crate::runtime::membership_log::MembershipLog;

/// Decides island membership, and keeps what has been decided.
pub struct IslandEpochs {
    /// Which entity each body is in from which tick on.
    pub membership: MembershipLog,
    /// Entities below this have bodies that are treated one by one; those of islands follow.
    bodies: u32,
    decider: Mutex<IslandDetector>,
}

impl IslandEpochs {
    /// Nothing is decided yet.
    pub fn new(world: &World, islands: &IslandModel) -> Self {
        let log = MembershipLog::new(islands.settings().epoch_ticks, islands.islands_max());
        let decider = Mutex::new(IslandDetector::new(world, islands));
        IslandEpochs { membership: log, bodies: world.bodies.len() as u32, decider }
    }

    /// Decides what can be decided. All frames up to `gvt` have been taken.
    pub(crate) fn decide(&self, world: &World, log: &FlightLog, gvt: Tick) {
        let mut decider = lock(&self.decider);
        while self.membership.next() <= gvt {
            let tick = self.membership.next();
            let states: Vec<BodyState> =
                log.frame(world, tick).bodies.iter().map(|(_, state)| *state).collect();
            self.membership.decide(self.change(decider.detect(world, tick, &states)));
        }
    }

    /// The same change in terms of entities: a body that comes free goes to the entity of its own number.
    fn change(&self, change: IslandChange) -> MembershipChange {
        let moves = change.moves.into_iter().map(|(body, island)| {
            let to = island.map_or(EntityId(body), |island| self.entity_of(island));
            (body, to)
        });
        let islands = change.members.into_iter().map(|(island, cluster)| (self.entity_of(island), cluster));
        MembershipChange { moves: moves.collect(), islands: islands.collect() }
    }

    /// The entity of an island. Islands with neighbouring numbers are the ones in use, so they are spread over the
    /// arbiters.
    fn entity_of(&self, island: u32) -> EntityId {
        let bits = self.membership.groups().trailing_zeros();
        let spread = if bits == 0 { 0 } else { island.reverse_bits() >> (u32::BITS - bits) };
        EntityId(self.bodies + spread)
    }

    /// What has come of it so far.
    pub fn summary(&self) -> IslandSummary {
        *lock(&self.decider).summary()
    }
}
