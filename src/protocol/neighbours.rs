//! Who of a large crew is near whom, with some room to move, so that the answer is good for several ticks.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::dynamics::Place;
use crate::hands;
use crate::math::Vec3;
use crate::physics::Aabb;
use crate::physics::broad::Grid;
use crate::physics::statics::StaticIndex;

/// Room to move on every side, as a share of half the size of a body's bounds.
const ROOM: f64 = 0.25;
/// If no more than so many have left their rooms, only they get new ones.
const ESCAPED_MAX: usize = 8;
/// So many crews are remembered; then all are forgotten.
const KNOWN_MAX: usize = 256;

/// The neighbourhoods of some crews. Only for speed: it never forgets a pair that may touch.
#[derive(Default)]
pub(super) struct Neighbours {
    grid: Grid,
    /// By the first body of the crew.
    known: BTreeMap<Place, Neighbourhood>,
}

/// The room everybody had when neighbours were looked for, and who was found.
#[derive(Default)]
pub(super) struct Neighbourhood {
    rooms: Vec<(Place, Aabb)>,
    /// The number of the static geometry that they were among.
    statics: u64,
    /// Pairs of bodies whose bounds may overlap, as numbers in the list, in order.
    pub pairs: Vec<(u32, u32)>,
    /// Bodies and static geometry near them, in order.
    pub with_statics: Vec<(u32, u32)>,
}

impl Neighbours {
    /// Who is near whom. `drift` is how far a body will most likely go while the answer is in use.
    pub fn of(
        &mut self,
        statics: &StaticIndex,
        bounds: &[(Place, Aabb)],
        drift: impl Fn(usize) -> Vec3,
    ) -> &Neighbourhood {
        let first = bounds.first().map_or(Place::MAX, |(first, _)| *first);
        if self.known.len() >= KNOWN_MAX && !self.known.contains_key(&first) {
            self.known.clear();
        }
        let known = self.known.entry(first).or_default();
        if !known.keep_up(statics, bounds, &drift) {
            known.look(&mut self.grid, statics, bounds, drift);
        }
        known
    }
}

impl Neighbourhood {
    /// Finds new rooms for those who have left theirs. Says no if they are too many, or if the crew or what surrounds it
    /// is another.
    fn keep_up(
        &mut self,
        statics: &StaticIndex,
        bounds: &[(Place, Aabb)],
        drift: impl Fn(usize) -> Vec3,
    ) -> bool {
        if self.statics != statics.number() || bounds.len() != self.rooms.len() {
            return false;
        }
        let mut escaped: SmallVec<[u32; ESCAPED_MAX]> = SmallVec::new();
        for (number, ((body, bounds), (who, room))) in bounds.iter().zip(&self.rooms).enumerate() {
            if body != who || !room.contains(bounds) && escaped.len() == ESCAPED_MAX {
                return false;
            }
            if !room.contains(bounds) {
                escaped.push(number as u32);
            }
        }
        if escaped.is_empty() {
            return true;
        }
        for number in escaped.iter().map(|number| *number as usize) {
            self.rooms[number] = room(&bounds[number], drift(number));
        }
        self.pairs.retain(|(a, b)| !escaped.contains(a) && !escaped.contains(b));
        self.with_statics.retain(|(body, _)| !escaped.contains(body));
        let mut near = Vec::new();
        for &own in &escaped {
            let room = self.rooms[own as usize].1;
            let is_new = |(other, (_, theirs)): &(usize, &(Place, Aabb))| {
                let other = *other as u32;
                // Two that have both left are a pair once.
                other != own && room.overlaps(theirs) && (other > own || !escaped.contains(&other))
            };
            let others = self.rooms.iter().enumerate().filter(is_new);
            self.pairs.extend(others.map(|(other, _)| (own.min(other as u32), own.max(other as u32))));
            statics.near(&room, &mut near);
            self.with_statics.extend(near.iter().map(|object| (own, *object)));
        }
        self.pairs.sort();
        self.with_statics.sort();
        true
    }

    fn look(
        &mut self,
        grid: &mut Grid,
        statics: &StaticIndex,
        bounds: &[(Place, Aabb)],
        drift: impl Fn(usize) -> Vec3,
    ) {
        self.statics = statics.number();
        self.rooms.clear();
        self.rooms.extend(bounds.iter().enumerate().map(|(number, bounds)| room(bounds, drift(number))));
        let middles: Vec<Vec3> = self.rooms.iter().map(|(_, room)| (room.min + room.max) * 0.5).collect();
        let reaches: Vec<f64> =
            self.rooms.iter().map(|(_, room)| (room.max - room.min).amax() * (0.5 + 1e-9)).collect();
        self.pairs.clear();
        let near = grid.pairs(&middles, &reaches, 0.0).iter();
        let overlap = |(a, b): &&(u32, u32)| self.rooms[*a as usize].1.overlaps(&self.rooms[*b as usize].1);
        self.pairs.extend(near.filter(overlap));
        let rooms = &self.rooms;
        hands::find(&mut self.with_statics, rooms.len(), |range, found| {
            let mut near = Vec::new();
            for number in range {
                statics.near(&rooms[number].1, &mut near);
                found.extend(near.iter().map(|object| (number as u32, *object)));
            }
        });
    }
}

/// Room for a body that is about to go as far as `drift`.
fn room((place, bounds): &(Place, Aabb), drift: Vec3) -> (Place, Aabb) {
    let half = (bounds.max - bounds.min) * 0.5;
    let then = Aabb { min: bounds.min + drift, max: bounds.max + drift };
    (*place, bounds.union(&then).grown(ROOM * half.amin()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::physics::World;
    use crate::scene::{Body, Scene, Shape, StaticObject};

    /// A world with a wall at `x`.
    fn walled(x: f64) -> World {
        let wall = StaticObject::new(Shape::Box { half_extents: [0.1, 9.0, 9.0] }, [x, 0.0, 0.0]);
        let ball = Body::new(Shape::Sphere { radius: 0.4 }, [5.0, 0.0, 0.0]);
        let scene = Scene { statics: vec![wall], bodies: vec![ball], ..Scene::default() };
        World::new(&scene).expect("the scene is right")
    }

    proptest! {
        /// Wherever bodies go, a few at a time or all at once, no pair whose bounds overlap is ever missing, and all
        /// are in order.
        #[test]
        fn nobody_who_comes_near_is_missed(
            start in proptest::collection::vec([-3.0..3.0f64, -3.0..3.0, -3.0..3.0], 12..40),
            jumps in proptest::collection::vec((0..40usize, [-1.0..1.0f64, -1.0..1.0, -1.0..1.0]), 0..80),
            at_once in 1..12usize,
        ) {
            let world = walled(1.0);
            let statics = &world.static_index;
            let mut positions: Vec<Vec3> = start.into_iter().map(Vec3::from).collect();
            let mut neighbours = Neighbours::default();
            for jumps in jumps.chunks(at_once) {
                for (body, jump) in jumps {
                    let body = *body % positions.len();
                    positions[body] += Vec3::from(*jump);
                }
                let bounds = |(body, x): (usize, &Vec3)| (body as Place, Aabb::about(*x, Vec3::repeat(0.4)));
                let bounds: Vec<_> = positions.iter().enumerate().map(bounds).collect();
                let found = neighbours.of(statics, &bounds, |_| Vec3::new(0.0, -0.1, 0.0));
                prop_assert!(found.pairs.is_sorted_by(|a, b| a < b) && found.with_statics.is_sorted_by(|a, b| a < b));
                for (a, (_, own)) in bounds.iter().enumerate() {
                    let near_wall = found.with_statics.contains(&(a as u32, 0));
                    prop_assert!(near_wall || !statics.is_near(0, own), "{a} and the wall");
                    for (b, (_, other)) in bounds.iter().enumerate().skip(a + 1) {
                        let is_known = found.pairs.contains(&(a as u32, b as u32));
                        prop_assert!(is_known || !own.overlaps(other), "{a} and {b}");
                    }
                }
            }
        }
    }

    /// What one world has taught is of no use in another.
    #[test]
    fn other_surroundings_are_looked_at_anew() {
        let bounds = [(0, Aabb::about(Vec3::zeros(), Vec3::repeat(0.5)))];
        let mut neighbours = Neighbours::default();
        let mut near =
            |x: f64| neighbours.of(&walled(x).static_index, &bounds, |_| Vec3::zeros()).with_statics.clone();
        assert_eq!((near(0.55), near(3.0), near(0.55)), (vec![(0, 0)], vec![], vec![(0, 0)]));
    }
}
