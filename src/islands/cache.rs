//! The contact cache of an island. Part of the state of its bodies: saved, rolled back and migrated with them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::overlap::WorkerSet;
use crate::physics::World;
use crate::physics::island_solver::{Impulses, IslandContact, PointImpulse, order};
use crate::physics::local_solver::PairCache;

/// What a body keeps of its contacts from one tick to the next.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ContactCache {
    /// Of one contact pair under the local solver.
    Pair(PairCache),
    /// Of the body's whole island. All members of an island share one cache.
    Island(Arc<IslandCache>),
}

impl ContactCache {
    /// Gives every body that it names another number.
    pub(crate) fn rename_bodies(&mut self, rename: &mut dyn FnMut(u32) -> u32) {
        match self {
            // A pair is named by the key of its cache.
            ContactCache::Pair(_) => {}
            ContactCache::Island(cache) => Arc::make_mut(cache).rename_bodies(rename),
        }
    }

    /// The cache of a pair, if this is one.
    pub fn pair(&self) -> Option<&PairCache> {
        match self {
            ContactCache::Pair(cache) => Some(cache),
            ContactCache::Island(_) => None,
        }
    }

    /// The cache of an island, if this is one.
    pub fn island(&self) -> Option<&Arc<IslandCache>> {
        match self {
            ContactCache::Pair(_) => None,
            ContactCache::Island(cache) => Some(cache),
        }
    }
}

/// The impulses an island ended a tick with, and the workers of its bodies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IslandCache {
    /// The island's bodies, ascending.
    pub(super) members: Vec<u32>,
    /// The workers of each member; empty if the island has not been divided among workers.
    pub(super) sets: Vec<WorkerSet>,
    /// The impulses of every worker; one list for the whole island if it has not been divided.
    pub(super) impulses: Vec<Arc<Impulses>>,
}

/// A contact pair under the local solver, numbered as in [`IslandContact`], and its cache.
pub(crate) type KnownPair<'a> = ((u32, u32), &'a PairCache);

/// The number by which the island solver knows the static object with this id, as a partner in a pair.
pub(crate) fn static_partner(world: &World, id: u32) -> Option<u32> {
    let at = world.statics.binary_search_by_key(&id, |object| object.id.0).ok()?;
    Some(IslandContact::STATIC | at as u32)
}

impl IslandCache {
    fn rename_bodies(&mut self, rename: &mut dyn FnMut(u32) -> u32) {
        self.members.iter_mut().for_each(|body| *body = rename(*body));
        for impulses in &mut self.impulses {
            for point in &mut Arc::make_mut(impulses).points {
                point.pair.0 = rename(point.pair.0);
                // Ids and indices lie below the bit that marks static geometry.
                if point.pair.1 < IslandContact::STATIC {
                    point.pair.1 = rename(point.pair.1);
                }
            }
        }
    }

    /// The cache that an island starts a tick with. `of` returns the cache of the island that a body was in at the tick
    /// before; `pairs` are the pairs that were under the local solver then. If membership has not changed, the cache is
    /// used as it is. Otherwise the impulses of all pairs within the new island are gathered.
    pub(crate) fn gather_warm_start<'a, 'b>(
        members: &[u32],
        of: impl Fn(u32) -> Option<&'a Arc<IslandCache>>,
        pairs: impl FnOnce() -> Vec<KnownPair<'b>>,
    ) -> Arc<IslandCache> {
        if let Some(cache) = of(members[0]).filter(|cache| cache.members == members) {
            return cache.clone();
        }
        let is_member = |body: u32| members.binary_search(&body).is_ok();
        let stays = |pair: (u32, u32)| pair.1 >= IslandContact::STATIC || is_member(pair.1);
        let mut points = Vec::new();
        for &body in members {
            let Some(cache) = of(body) else { continue };
            let known = cache.impulses_of(body).into_iter().flat_map(|list| beginning_with(list, body));
            points.extend(known.filter(|point| stays(point.pair)).copied());
        }
        let mut pairs = pairs();
        pairs.retain(|(pair, _)| is_member(pair.0) && stays(*pair));
        pairs.sort_by_key(|(pair, _)| *pair);
        pairs.dedup_by_key(|(pair, _)| *pair);
        for (pair, cache) in pairs {
            points.extend(cache.to_point_impulses(pair));
        }
        // Stable: the points of a pair keep their order.
        points.sort_by_key(|point: &PointImpulse| order(point.pair));
        let impulses = Arc::new(Impulses { points, joints: Vec::new() });
        Arc::new(IslandCache { members: members.to_vec(), sets: Vec::new(), impulses: vec![impulses] })
    }

    /// The impulses of a body's first worker.
    fn impulses_of(&self, body: u32) -> Option<&Arc<Impulses>> {
        let index = self.members.binary_search(&body).ok()?;
        let worker = self.sets.get(index).and_then(|set| set.first()).unwrap_or(0);
        self.impulses.get(worker as usize)
    }
}

/// The points of all pairs that have this body first.
fn beginning_with(impulses: &Impulses, body: u32) -> impl Iterator<Item = &PointImpulse> {
    let points = &impulses.points;
    [false, true].into_iter().flat_map(move |is_static| {
        let key = |point: &PointImpulse| (point.pair.1 >= IslandContact::STATIC, point.pair.0);
        let from = points.partition_point(|point| key(point) < (is_static, body));
        points[from..].iter().take_while(move |point| key(point) == (is_static, body))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::math::Vec3;
    use crate::physics::local_solver::{PatchCache, PointCache};

    fn point(pair: (u32, u32), normal: f64) -> PointImpulse {
        let (tangent, point) = (Vec3::zeros(), Vec3::zeros());
        PointImpulse { pair, feature: 0, normal, tangent, separation: 0.0, point }
    }

    fn island(members: &[u32], pairs: &[(u32, u32)]) -> Arc<IslandCache> {
        let points = pairs.iter().map(|pair| point(*pair, f64::from(pair.0))).collect();
        let impulses = vec![Arc::new(Impulses { points, joints: Vec::new() })];
        Arc::new(IslandCache { members: members.to_vec(), sets: Vec::new(), impulses })
    }

    fn pairs_of(cache: &IslandCache) -> Vec<(u32, u32)> {
        cache.impulses[0].points.iter().map(|point| point.pair).collect()
    }

    #[test]
    fn unchanged_membership_keeps_the_cache() {
        let known = island(&[1, 2, 3], &[(1, 2), (2, 3)]);
        let cache = IslandCache::gather_warm_start(&[1, 2, 3], |_| Some(&known), Vec::new);
        assert!(Arc::ptr_eq(&cache, &known));
    }

    #[test]
    fn a_new_island_gathers_the_impulses_of_its_members() {
        let floor = IslandContact::STATIC;
        let (left, right) =
            (island(&[1, 4], &[(1, 4), (4, floor)]), island(&[2, 3, 9], &[(2, 3), (3, 9), (2, floor)]));
        let of = |body: u32| match body {
            1 | 4 => Some(&left),
            2 | 3 => Some(&right),
            _ => None,
        };
        let pair_cache = PairCache {
            bounces: 1,
            points: [
                PointCache { feature: 7, normal_impulse: 3.0 },
                PointCache { feature: 8, normal_impulse: 1.0 },
            ]
            .into_iter()
            .collect(),
            patches: [PatchCache { tangent_impulse: Vec3::x() * 8.0, spin_impulse: 0.0 }]
                .into_iter()
                .collect(),
        };
        // Both bodies of a pair have its cache, and body 6 is no member.
        let pairs = vec![((3, 5), &pair_cache), ((3, 5), &pair_cache), ((5, 6), &pair_cache)];
        let cache = IslandCache::gather_warm_start(&[1, 2, 3, 4, 5], of, || pairs);
        assert_eq!(pairs_of(&cache), [(1, 4), (2, 3), (3, 5), (3, 5), (2, floor), (4, floor)]);
        let new = &cache.impulses[0].points[2];
        assert_eq!((new.feature, new.normal, new.tangent), (7, 3.0, Vec3::x() * 6.0));
    }
}
