//! What contacts and joints keep from tick to tick: the impulses they ended with, from which the next tick starts.
//!
//! Two forms, one for each solver. The local solver keeps a [`PairCache`] per pair, with the friction of a whole patch.
//! The island solver keeps [`Impulses`], one list for a whole island, with friction at every point. A pair that enters
//! an island is converted by [`PairCache::to_point_impulses`]; nothing is converted the other way.
//!
//! Caches are part of the state: they are saved, rolled back and migrated with their bodies.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::base::math::Vec3;

/// The normal impulse of one contact point at the tick before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointCache {
    /// Feature number of the point: the same number at the next tick means the same point.
    pub feature: u64,
    /// Impulse along the normal, N s; never negative.
    pub normal_impulse: f64,
}

/// The friction of one patch at the tick before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatchCache {
    /// Impulse along the surface in world coordinates, N s.
    pub tangent_impulse: Vec3,
    /// Moment about the normal, N m s.
    pub spin_impulse: f64,
}

/// Cached impulses and bounces of a pair that was in contact at the tick before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PairCache {
    /// Number of bounces since the contact began; each lowers the restitution of the next.
    pub bounces: u32,
    /// Contact points in ascending feature number.
    pub points: SmallVec<[PointCache; 1]>,
    /// Patches of friction, in the order of their first points.
    pub patches: SmallVec<[PatchCache; 1]>,
}

impl PairCache {
    /// Equal to the bit. Numbers that merely compare equal, such as zero and minus zero, are not.
    pub fn same_bits(&self, other: &PairCache) -> bool {
        let point = |point: &PointCache| (point.feature, point.normal_impulse.to_bits());
        let patch = |patch: &PatchCache| {
            let impulse = patch.tangent_impulse;
            [impulse.x, impulse.y, impulse.z, patch.spin_impulse].map(f64::to_bits)
        };
        self.bounces == other.bounces
            && self.points.iter().map(point).eq(other.points.iter().map(point))
            && self.patches.iter().map(patch).eq(other.patches.iter().map(patch))
    }

    /// The cached normal impulse of each point of `features`. Points come and go while a face rocks or its corners
    /// pass an edge, but the load does not: what vanished points carried is spread over the new points, or over all
    /// points if none is new.
    pub(in crate::physics) fn normal_impulses(&self, features: &[u64]) -> SmallVec<[f64; 4]> {
        let known = |feature: &u64| self.points.iter().find(|point| point.feature == *feature);
        let mut impulses: SmallVec<[f64; 4]> =
            features.iter().map(|feature| known(feature).map_or(0.0, |point| point.normal_impulse)).collect();
        let vanished = self.points.iter().filter(|point| !features.contains(&point.feature));
        let left: f64 = vanished.map(|point| point.normal_impulse).sum();
        if left > 0.0 {
            let new = features.iter().filter(|feature| known(feature).is_none()).count();
            let heirs = if new > 0 { new } else { features.len() };
            for (impulse, feature) in impulses.iter_mut().zip(features) {
                if new == 0 || known(feature).is_none() {
                    *impulse += left / heirs as f64;
                }
            }
        }
        impulses
    }

    /// The cache of a pair under the local solver as the island solver stores it, so that a pile that becomes an
    /// island keeps its load. `pair` is numbered as in [`PointImpulse::pair`].
    ///
    /// Lossy: bounces and moments about normals are dropped, and so is the friction of a pair with several patches,
    /// because the cache does not say which point lies on which patch.
    pub fn to_point_impulses(&self, pair: (u32, u32)) -> impl Iterator<Item = PointImpulse> {
        let load: f64 = self.points.iter().map(|point| point.normal_impulse).sum();
        let tangent_per_load = match self.patches.as_slice() {
            [only] if load > 0.0 => only.tangent_impulse / load,
            _ => Vec3::zeros(),
        };
        self.points.iter().map(move |point| PointImpulse {
            pair,
            feature: point.feature,
            normal: point.normal_impulse,
            tangent: tangent_per_load * point.normal_impulse,
            separation: 0.0,
            // The position is not cached: the point is recognised by its feature alone, as nothing is near infinity.
            point: Vec3::repeat(f64::INFINITY),
        })
    }
}

/// Added to the indices of static objects, to distinguish them from those of bodies.
pub const STATIC_PARTNER: u32 = 1 << 31;

/// The impulses at one contact point of an island.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointImpulse {
    /// Index of a body, and of a larger body or, with [`STATIC_PARTNER`] added, of a static object.
    pub pair: (u32, u32),
    /// Feature number of the point.
    pub feature: u64,
    /// Impulse along the normal, N s; never negative.
    pub normal: f64,
    /// Impulse along the surface in world coordinates, N s.
    pub tangent: Vec3,
    /// Impulse that moved overlapping bodies apart, N s; never negative. It enters no velocity.
    pub separation: f64,
    /// Position of the point in world coordinates, metres.
    pub point: Vec3,
}

/// The impulses of one joint.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointImpulse {
    /// Index of the joint in the world's list.
    pub joint: u32,
    /// Impulse of each row, N s or N m s; rows that the joint does not have are zero.
    pub rows: [f64; 6],
}

/// The impulses that an island ended a tick with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Impulses {
    /// Contact points in the order of their pairs.
    pub points: Vec<PointImpulse>,
    /// Joints in ascending order.
    pub joints: Vec<JointImpulse>,
}

/// The order of pairs in [`Impulses`]: pairs of bodies before pairs with static objects, each ascending.
pub(crate) fn cache_order(pair: (u32, u32)) -> (bool, u32, u32) {
    (pair.1 >= STATIC_PARTNER, pair.0, pair.1)
}

impl Impulses {
    /// Bytes of one cached point, and of one joint, where they are sent from worker to worker.
    pub const BYTES: (u64, u64) = (8 + 8 + 8 + 24 + 8 + 24, 4 + 48);

    /// The cached points of a pair. `cursor` is where the search starts, and moves on: pairs must be asked for in
    /// ascending order.
    pub(in crate::physics) fn of_pair(&self, pair: (u32, u32), cursor: &mut usize) -> &[PointImpulse] {
        let wanted = cache_order(pair);
        while *cursor < self.points.len() && cache_order(self.points[*cursor].pair) < wanted {
            *cursor += 1;
        }
        let count = self.points[*cursor..].iter().take_while(|point| point.pair == pair).count();
        &self.points[*cursor..*cursor + count]
    }

    /// The cached impulses of a joint.
    pub(in crate::physics) fn of_joint(&self, joint: u32) -> Option<&[f64; 6]> {
        let at = self.joints.binary_search_by_key(&joint, |known| known.joint).ok()?;
        Some(&self.joints[at].rows)
    }

    /// Adds the impulses of `other` that concern one of `bodies` (ascending indices) and belong to a pair or joint
    /// that is not cached here. `ends` gives the bodies of a joint. Returns the numbers of points and joints added.
    pub(in crate::physics) fn import_warm_start(
        &mut self,
        other: &Impulses,
        bodies: &[u32],
        ends: impl Fn(u32) -> [Option<u32>; 2],
    ) -> (usize, usize) {
        debug_assert!(bodies.is_sorted(), "bodies are looked up by binary search");
        let concerns = |body: u32| bodies.binary_search(&body).is_ok();
        let known_pair =
            |pair| self.points.binary_search_by_key(&cache_order(pair), |p| cache_order(p.pair)).is_ok();
        let new_points: Vec<PointImpulse> = other
            .points
            .iter()
            .filter(|p| (concerns(p.pair.0) || concerns(p.pair.1)) && !known_pair(p.pair))
            .copied()
            .collect();
        let known_joint = |joint| self.joints.binary_search_by_key(&joint, |j| j.joint).is_ok();
        let new_joints: Vec<JointImpulse> = other
            .joints
            .iter()
            .filter(|j| ends(j.joint).into_iter().flatten().any(concerns) && !known_joint(j.joint))
            .copied()
            .collect();
        let added = (new_points.len(), new_joints.len());
        if added != (0, 0) {
            self.points.extend(new_points);
            // Stable: the points of a pair keep their order.
            self.points.sort_by_key(|p| cache_order(p.pair));
            self.joints.extend(new_joints);
            self.joints.sort_by_key(|j| j.joint);
        }
        added
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(pair: (u32, u32), normal: f64) -> PointImpulse {
        let (tangent, point) = (Vec3::zeros(), Vec3::zeros());
        PointImpulse { pair, feature: 0, normal, tangent, separation: 0.0, point }
    }

    fn joint(joint: u32) -> JointImpulse {
        JointImpulse { joint, rows: [f64::from(joint); 6] }
    }

    fn cache(points: &[(u64, f64)], patches: &[Vec3]) -> PairCache {
        let point = |(feature, normal_impulse): &(u64, f64)| PointCache {
            feature: *feature,
            normal_impulse: *normal_impulse,
        };
        let patch = |tangent: &Vec3| PatchCache { tangent_impulse: *tangent, spin_impulse: 1.0 };
        PairCache {
            bounces: 1,
            points: points.iter().map(point).collect(),
            patches: patches.iter().map(patch).collect(),
        }
    }

    #[test]
    fn the_load_of_vanished_points_goes_to_new_points() {
        let cache = cache(&[(1, 3.0), (2, 5.0)], &[]);
        assert_eq!(cache.normal_impulses(&[1, 2])[..], [3.0, 5.0]);
        assert_eq!(cache.normal_impulses(&[1, 7, 8])[..], [3.0, 2.5, 2.5]);
        assert_eq!(cache.normal_impulses(&[1])[..], [8.0]);
    }

    #[test]
    fn an_island_takes_over_the_load_of_a_pair() {
        let one_patch = cache(&[(7, 3.0), (8, 1.0)], &[Vec3::x() * 8.0]);
        let points: Vec<PointImpulse> = one_patch.to_point_impulses((3, 5)).collect();
        let found: Vec<_> = points.iter().map(|p| (p.pair, p.feature, p.normal, p.tangent)).collect();
        assert_eq!(found, [((3, 5), 7, 3.0, Vec3::x() * 6.0), ((3, 5), 8, 1.0, Vec3::x() * 2.0)]);
        // Which point lies on which of two patches is unknown, so their friction is dropped.
        let two_patches = cache(&[(7, 3.0), (8, 1.0)], &[Vec3::x(), Vec3::y()]);
        assert!(two_patches.to_point_impulses((3, 5)).all(|p| p.tangent == Vec3::zeros()));
    }

    #[test]
    fn an_imported_body_brings_impulses_that_are_not_cached_yet() {
        let wall = STATIC_PARTNER;
        let mut here = Impulses { points: vec![point((1, 2), 5.0)], joints: vec![joint(3)] };
        let there = Impulses {
            points: vec![point((0, 1), 1.0), point((1, 2), 2.0), point((4, 5), 3.0), point((1, wall), 4.0)],
            joints: vec![joint(0), joint(3), joint(7)],
        };
        // Joint 0 holds body 1 to static geometry, joint 3 holds 1 and 2, joint 7 holds 4 and 5.
        let ends = |joint| match joint {
            0 => [Some(1), None],
            3 => [Some(1), Some(2)],
            _ => [Some(4), Some(5)],
        };
        assert_eq!(here.import_warm_start(&there, &[1], ends), (2, 1));
        let mut cursor = 0;
        let mut known = |pair| here.of_pair(pair, &mut cursor).iter().map(|p| p.normal).collect::<Vec<_>>();
        assert_eq!((known((0, 1)), known((1, 2)), known((4, 5))), (vec![1.0], vec![5.0], vec![]));
        assert_eq!(known((1, wall)), [4.0]);
        assert_eq!((here.of_joint(0), here.of_joint(3)), (Some(&[0.0; 6]), Some(&[3.0; 6])));
        assert_eq!(here.of_joint(7), None);
        assert_eq!(here.import_warm_start(&there, &[1], ends), (0, 0));
    }
}
