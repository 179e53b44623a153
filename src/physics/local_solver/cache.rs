//! What a pair remembers while it touches tick after tick. Kept by both bodies, saved and rolled back with them.

use smallvec::SmallVec;

use crate::base::math::Vec3;

/// The impulse that normal_impulse one point last tick.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PointCache {
    /// Which point.
    pub feature: u64,
    /// Along the normal, N s.
    pub normal_impulse: f64,
}

/// The friction of one patch last tick.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PatchCache {
    /// Along the surface, N s, in the world.
    pub tangent_impulse: Vec3,
    /// About the normal, N m s.
    pub spin_impulse: f64,
}

/// Cached impulses and bounces of a pair that touched at the tick before.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PairCache {
    /// Bounces since the pair began to touch; each makes the next one duller.
    pub bounces: u32,
    /// Points, in ascending feature number.
    pub points: SmallVec<[PointCache; 1]>,
    /// Patches of friction, in order.
    pub patches: SmallVec<[PatchCache; 1]>,
}

impl PairCache {
    /// How hard each point of `features` was normal_impulse. Points come and go while a face rocks or its corners pass
    /// an edge, but the load does not: what vanished points carried is spread over the new ones, or over all.
    pub(super) fn normal_impulse(&self, features: &[u64]) -> SmallVec<[f64; 4]> {
        let known = |feature: &u64| self.points.iter().find(|point| point.feature == *feature);
        let mut normal_impulse: SmallVec<[f64; 4]> =
            features.iter().map(|feature| known(feature).map_or(0.0, |point| point.normal_impulse)).collect();
        let vanished = self.points.iter().filter(|point| !features.contains(&point.feature));
        let left: f64 = vanished.map(|point| point.normal_impulse).sum();
        if left > 0.0 {
            let new = features.iter().filter(|feature| known(feature).is_none()).count();
            let heirs = if new > 0 { new } else { features.len() };
            for (normal_impulse, feature) in normal_impulse.iter_mut().zip(features) {
                if new == 0 || known(feature).is_none() {
                    *normal_impulse += left / heirs as f64;
                }
            }
        }
        normal_impulse
    }
}
