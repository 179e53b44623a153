//! What a group remembers from tick to tick. Part of the state of its bodies: saved, rolled back and handed over with
//! them.

use std::sync::Arc;

use crate::overlap::WorkerSet;
use crate::physics::World;
use crate::physics::island_solver::{Impulses, IslandContact, PointImpulse, order};
use crate::physics::local_solver::PairCache;

/// What is remembered: of a pair that touches, or by a body of the group it is in.
#[derive(Clone, Debug)]
pub enum ContactCache {
    /// Of a pair under the local response.
    Pair(PairCache),
    /// By a body, of its whole group. All bodies of a group remember the same.
    Group(Arc<IslandCache>),
}

impl ContactCache {
    /// What a pair remembers.
    pub fn pair(&self) -> Option<&PairCache> {
        match self {
            ContactCache::Pair(memory) => Some(memory),
            ContactCache::Group(_) => None,
        }
    }

    /// What a body remembers of its group.
    pub fn group(&self) -> Option<&Arc<IslandCache>> {
        match self {
            ContactCache::Pair(_) => None,
            ContactCache::Group(memory) => Some(memory),
        }
    }
}

/// What a group ended a tick with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IslandCache {
    /// Places of its bodies, ascending.
    pub(super) members: Vec<u32>,
    /// The workers of each; nothing if they have yet to be divided.
    pub(super) sets: Vec<WorkerSet>,
    /// The impulses of every worker; of all of them together if bodies have yet to be divided.
    pub(super) impulses: Vec<Arc<Impulses>>,
}

/// The pairs a group begins with: place, partner as in [`IslandContact`], and what the two remember.
pub(crate) type KnownPair<'a> = ((u32, u32), &'a PairCache);

/// The partner of a pair as the group solver numbers it, for static geometry with this id.
pub(crate) fn static_partner(world: &World, id: u32) -> Option<u32> {
    let at = world.statics.binary_search_by_key(&id, |object| object.id.0).ok()?;
    Some(IslandContact::STATIC | at as u32)
}

impl IslandCache {
    /// What a group begins a tick with. `of` is what each of its bodies remembers of the group it was in at the tick
    /// before, `pairs` what those of its pairs remember that were under the local response then. As long as nobody
    /// joins or leaves it simply goes on; else everybody brings what he knows of his contacts with the others.
    pub(crate) fn gather_warm_start<'a, 'b>(
        members: &[u32],
        of: impl Fn(u32) -> Option<&'a Arc<IslandCache>>,
        pairs: impl FnOnce() -> Vec<KnownPair<'b>>,
    ) -> Arc<IslandCache> {
        if let Some(memory) = of(members[0]).filter(|memory| memory.members == members) {
            return memory.clone();
        }
        let is_member = |place: u32| members.binary_search(&place).is_ok();
        let stays = |pair: (u32, u32)| pair.1 >= IslandContact::STATIC || is_member(pair.1);
        let mut points = Vec::new();
        for &place in members {
            let Some(memory) = of(place) else { continue };
            let known = memory.impulses_of(place).into_iter().flat_map(|list| beginning_with(list, place));
            points.extend(known.filter(|point| stays(point.pair)).copied());
        }
        let mut pairs = pairs();
        pairs.retain(|(pair, _)| is_member(pair.0) && stays(*pair));
        pairs.sort_by_key(|(pair, _)| *pair);
        pairs.dedup_by_key(|(pair, _)| *pair);
        for (pair, memory) in pairs {
            points.extend(memory.to_point_impulses(pair));
        }
        // Stable: the points of a pair keep their order.
        points.sort_by_key(|point: &PointImpulse| order(point.pair));
        let impulses = Arc::new(Impulses { points, joints: Vec::new() });
        Arc::new(IslandCache { members: members.to_vec(), sets: Vec::new(), impulses: vec![impulses] })
    }

    /// The impulses of the worker that knows best about a body.
    fn impulses_of(&self, place: u32) -> Option<&Arc<Impulses>> {
        let at = self.members.binary_search(&place).ok()?;
        let worker = self.sets.get(at).and_then(|set| set.first()).unwrap_or(0);
        self.impulses.get(worker as usize)
    }
}

/// The points of all pairs whose first side is a body.
fn beginning_with(impulses: &Impulses, place: u32) -> impl Iterator<Item = &PointImpulse> {
    let points = &impulses.points;
    [false, true].into_iter().flat_map(move |is_static| {
        let key = |point: &PointImpulse| (point.pair.1 >= IslandContact::STATIC, point.pair.0);
        let from = points.partition_point(|point| key(point) < (is_static, place));
        points[from..].iter().take_while(move |point| key(point) == (is_static, place))
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

    fn group(members: &[u32], pairs: &[(u32, u32)]) -> Arc<IslandCache> {
        let points = pairs.iter().map(|pair| point(*pair, f64::from(pair.0))).collect();
        let impulses = vec![Arc::new(Impulses { points, joints: Vec::new() })];
        Arc::new(IslandCache { members: members.to_vec(), sets: Vec::new(), impulses })
    }

    fn pairs_of(memory: &IslandCache) -> Vec<(u32, u32)> {
        memory.impulses[0].points.iter().map(|point| point.pair).collect()
    }

    #[test]
    fn a_group_that_stays_as_it_is_goes_on() {
        let known = group(&[1, 2, 3], &[(1, 2), (2, 3)]);
        let memory = IslandCache::gather_warm_start(&[1, 2, 3], |_| Some(&known), Vec::new);
        assert!(Arc::ptr_eq(&memory, &known));
    }

    #[test]
    fn those_who_come_together_bring_what_they_know() {
        let floor = IslandContact::STATIC;
        let (left, right) =
            (group(&[1, 4], &[(1, 4), (4, floor)]), group(&[2, 3, 9], &[(2, 3), (3, 9), (2, floor)]));
        let of = |place: u32| match place {
            1 | 4 => Some(&left),
            2 | 3 => Some(&right),
            _ => None,
        };
        let normal_impulse = PairCache {
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
        // The pair is known from both sides, and one of its bodies touches somebody who is no member.
        let pairs = vec![((3, 5), &normal_impulse), ((3, 5), &normal_impulse), ((5, 6), &normal_impulse)];
        let memory = IslandCache::gather_warm_start(&[1, 2, 3, 4, 5], of, || pairs);
        assert_eq!(pairs_of(&memory), [(1, 4), (2, 3), (3, 5), (3, 5), (2, floor), (4, floor)]);
        let new = &memory.impulses[0].points[2];
        assert_eq!((new.feature, new.normal, new.tangent), (7, 3.0, Vec3::x() * 6.0));
    }
}
