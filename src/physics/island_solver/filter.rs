//! Pairs that joints exclude from contacts: computed once, looked up often.

use crate::physics::World;

/// The pairs of body indices that may not be in contact, because a joint holds them together.
#[derive(Clone, Debug, Default)]
pub struct CollisionFilter {
    /// Ascending pairs of body indices.
    excluded: Vec<(u32, u32)>,
}

impl CollisionFilter {
    /// Reads the joints of a world.
    pub fn new(world: &World) -> Self {
        let joined = world.joints.iter().filter(|joint| !joint.collide);
        let mut excluded: Vec<(u32, u32)> = joined.filter_map(|joint| joint.pair()).collect();
        excluded.sort_unstable();
        excluded.dedup();
        CollisionFilter { excluded }
    }

    /// Whether a pair may be in contact; the smaller index first.
    #[inline]
    pub fn may_touch(&self, a: u32, b: u32) -> bool {
        self.excluded.is_empty() || self.excluded.binary_search(&(a, b)).is_err()
    }
}
