//! What joints connect: looked up often, computed once.

use crate::physics::World;

/// Which bodies are held together, by place.
#[derive(Clone, Debug, Default)]
pub struct CollisionFilter {
    /// Pairs that are joined and do not collide, ascending.
    apart: Vec<(u32, u32)>,
}

impl CollisionFilter {
    /// Reads the joints of a world.
    pub fn new(world: &World) -> Self {
        let joined = world.joints.iter().filter(|joint| !joint.collide);
        let mut apart: Vec<(u32, u32)> = joined.filter_map(|joint| joint.pair()).collect();
        apart.sort_unstable();
        apart.dedup();
        CollisionFilter { apart }
    }

    /// Whether the two may touch; the smaller place first.
    #[inline]
    pub fn may_touch(&self, a: u32, b: u32) -> bool {
        self.apart.is_empty() || self.apart.binary_search(&(a, b)).is_err()
    }
}
