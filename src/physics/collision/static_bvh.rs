//! Which static geometry is near a box: a tree, built once for a world and never changed.

use parry3d::bounding_volume::Aabb as ParryAabb;
use parry3d::partitioning::{Bvh, BvhBuildStrategy};

use crate::base::aabb::Aabb;
use crate::base::math::to_parry;
use crate::physics::world::StaticDef;

/// Up to this many static objects there is no tree: looking at each is quicker. Not tuned.
const LINEAR_MAX: usize = 12;

/// Finds static geometry near a box.
#[derive(Clone)]
pub(crate) struct StaticBvh {
    /// Bounds of the static objects, by index in the world's list.
    bounds: Vec<Aabb>,
    /// Indices of half-spaces: without bounds, they are always candidates.
    everywhere: Vec<u32>,
    tree: Option<Bvh>,
}

impl StaticBvh {
    pub fn new(statics: &[StaticDef]) -> Self {
        let bounds: Vec<Aabb> = statics.iter().map(|s| s.shape.aabb(s.x, &s.q)).collect();
        let is_everywhere = |index: &usize| !statics[*index].shape.is_bounded();
        let everywhere: Vec<u32> =
            (0..statics.len()).filter(is_everywhere).map(|index| index as u32).collect();
        let tree = (statics.len() > LINEAR_MAX).then(|| {
            let leaves = (0..statics.len()).filter(|index| !is_everywhere(index));
            let leaf = |index: usize| ParryAabb {
                mins: to_parry(bounds[index].min),
                maxs: to_parry(bounds[index].max),
            };
            Bvh::from_iter(BvhBuildStrategy::Binned, leaves.map(|index| (index, leaf(index))))
        });
        StaticBvh { bounds, everywhere, tree }
    }

    /// Puts the indices of all static objects with bounds that overlap `near` into `out`, in ascending order.
    pub fn near(&self, near: &Aabb, out: &mut Vec<u32>) {
        out.clear();
        match &self.tree {
            None => {
                let hits = self.bounds.iter().enumerate().filter(|(_, bounds)| bounds.overlaps(near));
                out.extend(hits.map(|(index, _)| index as u32));
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
