//! What the rule needs to know of a touching body beyond its state: how many it touches, whom it names, and its
//! velocities after each round and iteration.

use crate::base::ids::{BodyId, StaticId};
use crate::physics::contact::Velocity;

/// The other side of a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Partner {
    /// Ordered first: sums run over bodies before static geometry.
    Body(BodyId),
    /// Static geometry.
    Static(StaticId),
}

/// The ghost of a body at a tick. A body that touches only one other has none to tell: the other side can
/// work it out by itself.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct GhostState {
    /// Among how many touches it is split.
    pub touches: u32,
    /// Whom it names in each round, and its velocities after it. Rounds after the last in which it named
    /// somebody or changed are left out.
    pub rounds: Vec<(Option<Partner>, Velocity)>,
    /// Its velocities before each iteration over resting touches.
    pub rested: Vec<Velocity>,
}

impl GhostState {
    /// Equal to the bit. Numbers that merely compare equal, such as zero and minus zero, are not.
    pub fn same_bits(&self, other: &GhostState) -> bool {
        let same = |a: &Velocity, b: &Velocity| a.to_bits() == b.to_bits();
        self.touches == other.touches
            && self.rounds.len() == other.rounds.len()
            && self.rested.len() == other.rested.len()
            && self.rounds.iter().zip(&other.rounds).all(|(a, b)| a.0 == b.0 && same(&a.1, &b.1))
            && self.rested.iter().zip(&other.rested).all(|(a, b)| same(a, b))
    }

    /// Velocities after `round`, which counts from 1; `start` are those before the first.
    pub(super) fn after_round(&self, round: u32, start: Velocity) -> Velocity {
        let known = self.rounds.len().min(round as usize);
        known.checked_sub(1).map_or(start, |last| self.rounds[last].1)
    }

    /// Whom it names in `round`, which counts from 1.
    pub(super) fn named_in(&self, round: u32) -> Option<Partner> {
        self.rounds.get(round as usize - 1).and_then(|(named, _)| *named)
    }
}
