//! What the local solver needs to know of a neighbour beyond its state: the number of its contacts, which contact it
//! chooses in each round, and its velocities after each round and before each iteration.

use serde::{Deserialize, Serialize};

use crate::physics::contact::{Partner, Velocity};

/// The ghost of a body at a tick. A body with a single contact publishes none: the other side can compute it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GhostState {
    /// Number of contacts that the body is split among.
    pub contact_count: u32,
    /// The contact that the body chooses in each round of impacts, and its velocities after that round. Trailing
    /// rounds in which it chooses nothing and does not change are left out.
    pub rounds: Vec<(Option<Partner>, Velocity)>,
    /// Velocities before each iteration over resting contacts, as far as they are final.
    pub resting: Vec<Velocity>,
}

/// What a body publishes of its ghost in one exchange: before a round of impacts the contact that it chooses there, and
/// its velocities, later those before an iteration over resting contacts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GhostPart {
    /// Number of contacts that the body is split among.
    pub contact_count: u32,
    /// The contact that the body chooses in the next round of impacts.
    pub chosen: Option<Partner>,
    /// Its velocities as they are now.
    pub velocity: Velocity,
}

impl GhostPart {
    /// Equal to the bit. Numbers that merely compare equal, such as zero and minus zero, are not.
    pub fn same_bits(&self, other: &GhostPart) -> bool {
        (self.contact_count, self.chosen) == (other.contact_count, other.chosen)
            && self.velocity.to_bits() == other.velocity.to_bits()
    }
}

impl GhostState {
    /// Equal to the bit. Numbers that merely compare equal, such as zero and minus zero, are not.
    pub fn same_bits(&self, other: &GhostState) -> bool {
        let same = |a: &Velocity, b: &Velocity| a.to_bits() == b.to_bits();
        self.contact_count == other.contact_count
            && self.rounds.len() == other.rounds.len()
            && self.resting.len() == other.resting.len()
            && self.rounds.iter().zip(&other.rounds).all(|(a, b)| a.0 == b.0 && same(&a.1, &b.1))
            && self.resting.iter().zip(&other.resting).all(|(a, b)| same(a, b))
    }

    /// Velocities after `round`, which counts from 1; `start` are those before the first.
    pub(super) fn after_round(&self, round: u32, start: Velocity) -> Velocity {
        let known = self.rounds.len().min(round as usize);
        known.checked_sub(1).map_or(start, |last| self.rounds[last].1)
    }

    /// The contact that the body chooses in `round`, which counts from 1.
    pub(super) fn chosen_in(&self, round: u32) -> Option<Partner> {
        self.rounds.get(round as usize - 1).and_then(|(chosen, _)| *chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{BodyId, StaticId};
    use crate::base::math::Vec3;

    fn ghost() -> GhostState {
        let velocity = |x: f64| Velocity { v: Vec3::new(x, -0.0, 1e-300), w: Vec3::new(0.1, f64::MIN, x) };
        GhostState {
            contact_count: 3,
            rounds: vec![
                (Some(Partner::Body(BodyId(7))), velocity(1.0)),
                (Some(Partner::Static(StaticId(2))), velocity(2.0)),
                (None, velocity(3.0)),
            ],
            resting: vec![velocity(0.3)],
        }
    }

    #[test]
    fn a_ghost_survives_encoding_to_the_bit() {
        let bytes = postcard::to_stdvec(&ghost()).expect("a ghost can be encoded");
        let decoded: GhostState = postcard::from_bytes(&bytes).expect("an encoded ghost can be decoded");
        assert!(decoded.same_bits(&ghost()));
    }

    #[test]
    fn rounds_that_are_left_out_change_nothing() {
        let start = Velocity::ZERO;
        assert_eq!(GhostState::default().after_round(4, start), start);
        assert_eq!(GhostState::default().chosen_in(1), None);
        assert_eq!(ghost().after_round(9, start), ghost().rounds[2].1);
        assert_eq!(ghost().chosen_in(2), Some(Partner::Static(StaticId(2))));
    }

    #[test]
    fn minus_zero_is_another_ghost() {
        let mut other = ghost();
        other.resting[0].v.y = 0.0;
        assert!(!ghost().same_bits(&other));
    }
}
