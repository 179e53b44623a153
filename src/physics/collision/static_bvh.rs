//! Which static geometry is near a box: known to everybody, built once.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parry3d::bounding_volume::Aabb as ParryAabb;
use parry3d::partitioning::{Bvh, BvhBuildStrategy};

use crate::base::aabb::Aabb;
use crate::base::math::to_parry;
use crate::physics::world::StaticDef;

/// Up to this many, looking at each is quicker than descending a tree.
const LINEAR_MAX: usize = 12;

/// Finds static geometry near a box.
#[derive(Clone)]
pub(crate) struct StaticBvh {
    /// Copies have the same number, others have another.
    number: u64,
    /// Bounds by position in the world's list.
    bounds: Vec<Aabb>,
    /// Half-spaces have no bounds: always candidates.
    everywhere: Vec<u32>,
    tree: Option<Bvh>,
}

impl StaticBvh {
    pub fn new(statics: &[StaticDef]) -> Self {
        let bounds: Vec<Aabb> = statics.iter().map(|s| s.shape.aabb(s.x, &s.q)).collect();
        let is_everywhere = |at: &usize| !statics[*at].shape.is_bounded();
        let everywhere: Vec<u32> = (0..statics.len()).filter(is_everywhere).map(|at| at as u32).collect();
        let tree = (statics.len() > LINEAR_MAX).then(|| {
            let leaves = (0..statics.len()).filter(|at| !is_everywhere(at));
            let leaf =
                |at: usize| ParryAabb { mins: to_parry(bounds[at].min), maxs: to_parry(bounds[at].max) };
            Bvh::from_iter(BvhBuildStrategy::Binned, leaves.map(|at| (at, leaf(at))))
        });
        static BUILT: AtomicU64 = AtomicU64::new(0);
        StaticBvh { number: BUILT.fetch_add(1, Relaxed), bounds, everywhere, tree }
    }

    /// What was found by one with another number may be something else.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the bounds of one static object overlap `near`.
    #[inline]
    pub fn is_near(&self, at: u32, near: &Aabb) -> bool {
        self.bounds[at as usize].overlaps(near)
    }

    /// Puts the positions of all static objects whose bounds overlap `near` into `out`, in ascending order.
    pub fn near(&self, near: &Aabb, out: &mut Vec<u32>) {
        out.clear();
        match &self.tree {
            None => {
                let hits = self.bounds.iter().enumerate().filter(|(_, bounds)| bounds.overlaps(near));
                out.extend(hits.map(|(at, _)| at as u32));
            }
            Some(tree) => {
                let near = ParryAabb { mins: to_parry(near.min), maxs: to_parry(near.max) };
                out.extend(&self.everywhere);
                out.extend(tree.intersect_aabb(&near));
                out.sort_unstable();
            }
        }
    }
}
