//! Decisions of a bridge while bodies run in their own time: made whenever global virtual time comes to the beginning
//! of an epoch, which it does not pass before.

use crate::bridge::{BridgeSummary, Decider};
use crate::gvt::FlightLog;
use crate::physics::World;
use crate::protocol::Homes;
use crate::state::BodyState;
use crate::sync::{Mutex, lock};
use crate::time::Tick;

/// Who decides, and what has been decided.
pub struct Epochs {
    /// Who lives where from when on.
    pub homes: Homes,
    decider: Mutex<Decider>,
}

impl Epochs {
    /// Nothing is decided yet. Nothing at all if every body is treated by itself.
    pub fn new(world: &World) -> Option<Self> {
        let bridging = world.bridging.as_ref()?;
        let decider = Mutex::new(Decider::new(world, bridging));
        Some(Epochs { homes: Homes::new(bridging.settings().epoch, bridging.groups_max()), decider })
    }

    /// Decides what can be decided. All frames up to `gvt` have been taken.
    pub(super) fn look(&self, world: &World, log: &FlightLog, gvt: Tick) {
        let mut decider = lock(&self.decider);
        while self.homes.next() <= gvt {
            let tick = self.homes.next();
            let states: Vec<BodyState> =
                log.frame(world, tick).bodies.iter().map(|(_, state)| *state).collect();
            self.homes.decide(decider.decide(world, tick, &states));
        }
    }

    /// What has come of it so far.
    pub fn summary(&self) -> BridgeSummary {
        *lock(&self.decider).summary()
    }
}
