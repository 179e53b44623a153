//! Who of a large crew is near whom, with some room to move, so that the answer is good for several ticks.

use std::collections::BTreeMap;

use super::dynamics::Place;
use crate::math::Vec3;
use crate::physics::Aabb;
use crate::physics::broad::Grid;

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

/// The room everybody had when pairs were looked for, and what was found.
#[derive(Default)]
struct Neighbourhood {
    rooms: Vec<(Place, Aabb)>,
    pairs: Vec<(u32, u32)>,
}

impl Neighbours {
    /// Pairs of bodies whose bounds may overlap, as numbers in the list, in order. `drift` is how far a body will
    /// most likely go while the answer is in use.
    pub fn pairs(&mut self, bounds: &[(Place, Aabb)], drift: impl Fn(usize) -> Vec3) -> &[(u32, u32)] {
        let Some((first, _)) = bounds.first() else { return &[] };
        if self.known.len() >= KNOWN_MAX && !self.known.contains_key(first) {
            self.known.clear();
        }
        let known = self.known.entry(*first).or_default();
        if !known.still_holds(bounds) {
            known.look(&mut self.grid, bounds, drift);
        }
        &known.pairs
    }
}

impl Neighbourhood {
    /// Whether the crew is the same, and everybody in its room.
    fn still_holds(&self, bounds: &[(Place, Aabb)]) -> bool {
        let stays = |((body, bounds), (who, room)): (&(Place, Aabb), &(Place, Aabb))| {
            body == who && room.contains(bounds)
        };
        bounds.len() == self.rooms.len() && bounds.iter().zip(&self.rooms).all(stays)
    }

    fn look(&mut self, grid: &mut Grid, bounds: &[(Place, Aabb)], drift: impl Fn(usize) -> Vec3) {
        let room = |(at, (place, bounds)): (usize, &(Place, Aabb))| {
            let (half, drift) = ((bounds.max - bounds.min) * 0.5, drift(at));
            let then = Aabb { min: bounds.min + drift, max: bounds.max + drift };
            (*place, bounds.union(&then).grown(ROOM * half.amin()))
        };
        self.rooms.clear();
        self.rooms.extend(bounds.iter().enumerate().map(room));
        let middles: Vec<Vec3> = self.rooms.iter().map(|(_, room)| (room.min + room.max) * 0.5).collect();
        let reaches: Vec<f64> =
            self.rooms.iter().map(|(_, room)| (room.max - room.min).amax() * (0.5 + 1e-9)).collect();
        self.pairs.clear();
        let near = grid.pairs(&middles, &reaches, 0.0).iter();
        let overlap = |(a, b): &&(u32, u32)| self.rooms[*a as usize].1.overlaps(&self.rooms[*b as usize].1);
        self.pairs.extend(near.filter(overlap));
    }
}
