//! Who of a large crew is near whom, with some room to move, so that the answer is good for several ticks.

use std::collections::BTreeMap;

use super::dynamics::Place;
use crate::hands;
use crate::math::Vec3;
use crate::physics::Aabb;
use crate::physics::broad::Grid;
use crate::physics::statics::StaticIndex;

/// Room to move on every side, as a share of half the size of a body's bounds.
const ROOM: f64 = 0.25;
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
        if !known.still_holds(statics, bounds) {
            known.look(&mut self.grid, statics, bounds, drift);
        }
        known
    }
}

impl Neighbourhood {
    /// Whether the crew and what surrounds it are the same, and everybody in its room.
    fn still_holds(&self, statics: &StaticIndex, bounds: &[(Place, Aabb)]) -> bool {
        let stays = |((body, bounds), (who, room)): (&(Place, Aabb), &(Place, Aabb))| {
            body == who && room.contains(bounds)
        };
        self.statics == statics.number()
            && bounds.len() == self.rooms.len()
            && bounds.iter().zip(&self.rooms).all(stays)
    }

    fn look(
        &mut self,
        grid: &mut Grid,
        statics: &StaticIndex,
        bounds: &[(Place, Aabb)],
        drift: impl Fn(usize) -> Vec3,
    ) {
        let room = |(at, (place, bounds)): (usize, &(Place, Aabb))| {
            let (half, drift) = ((bounds.max - bounds.min) * 0.5, drift(at));
            let then = Aabb { min: bounds.min + drift, max: bounds.max + drift };
            (*place, bounds.union(&then).grown(ROOM * half.amin()))
        };
        self.statics = statics.number();
        self.rooms.clear();
        self.rooms.extend(bounds.iter().enumerate().map(room));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physics::World;
    use crate::scene::{Scene, Shape, StaticObject};

    /// What one world has taught is of no use in another.
    #[test]
    fn other_surroundings_are_looked_at_anew() {
        let world = |x: f64| {
            let wall = StaticObject::new(Shape::Box { half_extents: [0.1, 5.0, 5.0] }, [x, 0.0, 0.0]);
            World::new(&Scene { statics: vec![wall], ..Scene::default() }).unwrap()
        };
        let bounds = [(0, Aabb::about(Vec3::zeros(), Vec3::repeat(0.5)))];
        let mut neighbours = Neighbours::default();
        let mut near =
            |x: f64| neighbours.of(&world(x).static_index, &bounds, |_| Vec3::zeros()).with_statics.clone();
        assert_eq!((near(0.55), near(3.0), near(0.55)), (vec![(0, 0)], vec![], vec![(0, 0)]));
    }
}
