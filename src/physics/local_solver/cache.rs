//! What a pair remembers while it touches tick after tick. Kept by both bodies, saved and rolled back with them.

use smallvec::SmallVec;

use crate::base::math::Vec3;

/// The impulse that pressed one point last tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointMemory {
    /// Which point.
    pub feature: u64,
    /// Along the normal, N s.
    pub pressed: f64,
}

/// The friction of one patch last tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatchMemory {
    /// Along the surface, N s, in the world.
    pub rubbed: Vec3,
    /// About the normal, N m s.
    pub twisted: f64,
}

/// Cached impulses and bounces of a pair that touched at the tick before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairMemory {
    /// Bounces since the pair began to touch; each makes the next one duller.
    pub bounces: u32,
    /// Points, in ascending feature number.
    pub points: SmallVec<[PointMemory; 1]>,
    /// Patches of friction, in order.
    pub patches: SmallVec<[PatchMemory; 1]>,
}

impl PairMemory {
    /// How hard each point of `features` was pressed. Points come and go while a face rocks or its corners pass
    /// an edge, but the load does not: what vanished points carried is spread over the new ones, or over all.
    pub(super) fn pressed(&self, features: &[u64]) -> SmallVec<[f64; 4]> {
        let known = |feature: &u64| self.points.iter().find(|point| point.feature == *feature);
        let mut pressed: SmallVec<[f64; 4]> =
            features.iter().map(|feature| known(feature).map_or(0.0, |point| point.pressed)).collect();
        let vanished = self.points.iter().filter(|point| !features.contains(&point.feature));
        let left: f64 = vanished.map(|point| point.pressed).sum();
        if left > 0.0 {
            let new = features.iter().filter(|feature| known(feature).is_none()).count();
            let heirs = if new > 0 { new } else { features.len() };
            for (pressed, feature) in pressed.iter_mut().zip(features) {
                if new == 0 || known(feature).is_none() {
                    *pressed += left / heirs as f64;
                }
            }
        }
        pressed
    }
}
