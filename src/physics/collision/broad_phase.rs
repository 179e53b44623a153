//! The plainest broad phase that is not silly: a uniform grid, filled anew whenever it is asked.
//!
//! It proposes pairs of bodies whose bounding balls, or whose boxes, come near each other. It may propose too many,
//! never too few, and in ascending order of places.

use smallvec::SmallVec;

use crate::base::aabb::Aabb;
use crate::base::math::Vec3;

/// Bodies more than this many times larger than the typical one are compared with everything.
const LARGE: f64 = 4.0;
/// Cells beyond this share the outermost one.
const FARTHEST: f64 = 1e15;
/// Cells are a little wider than what must fit, so that rounding never puts neighbours two cells apart.
const SLACK: f64 = 1e-6;
/// So many bodies tell how far a crowd extends.
const SAMPLE: usize = 32;

/// A body in the grid: where it is, how far it reaches, and its place in the caller's list.
#[derive(Clone, Copy)]
struct Ball {
    x: Vec3,
    reach: f64,
    place: u32,
}

impl Ball {
    #[inline]
    fn is_near(&self, other: &Ball) -> bool {
        let d = (self.x - other.x).abs();
        let reach = self.reach + other.reach;
        d.x <= reach && d.y <= reach && d.z <= reach
    }

    fn pair(&self, other: &Ball) -> (u32, u32) {
        (self.place.min(other.place), self.place.max(other.place))
    }
}

/// Space cut into cells, of which there is a limited number: it repeats itself in all directions, and who is far
/// away may share a cell with who is here.
#[derive(Clone, Copy)]
struct Lattice {
    cells_per_m: f64,
    /// Bits of the number of cells along each axis; at least two, so that neighbours on both sides differ.
    bits: [u32; 3],
}

impl Lattice {
    /// Cells of a width, about as many as there are bodies, over the shape of the crowd.
    fn new(balls: &[Ball], width: f64) -> Self {
        let cells_per_m = 1.0 / width;
        let mut bits = [0, 1, 2].map(|axis| {
            let step = (balls.len() / SAMPLE).max(1);
            let mut along: SmallVec<[f64; 2 * SAMPLE]> =
                balls.iter().step_by(step).map(|b| b.x[axis]).collect();
            along.sort_unstable_by(f64::total_cmp);
            // A few may be far away: those between a tenth and nine tenths tell.
            let (low, high) = (along.len() / 10, along.len() - 1 - along.len() / 10);
            let cells = (1.5 * (along[high] - along[low]) * cells_per_m).clamp(1.0, 1e6) as u32;
            cells.next_power_of_two().trailing_zeros().max(2)
        });
        let most = (2 * balls.len()).next_power_of_two().trailing_zeros().max(6);
        while bits.iter().sum::<u32>() > most {
            let widest = (0..3).max_by_key(|axis| bits[*axis]).unwrap_or(0);
            bits[widest] -= 1;
        }
        Lattice { cells_per_m, bits }
    }

    fn cells(&self) -> usize {
        1 << self.bits.iter().sum::<u32>()
    }

    /// The cell of a place along each axis.
    #[inline]
    fn coordinates(&self, x: Vec3) -> [usize; 3] {
        [self.along(0, x.x), self.along(1, x.y), self.along(2, x.z)]
    }

    #[inline]
    fn along(&self, axis: usize, x: f64) -> usize {
        let at = (x * self.cells_per_m).clamp(-FARTHEST, FARTHEST);
        // Rounds down; the cast rounds towards zero.
        let cell = at as i64 - i64::from((at as i64) as f64 > at);
        cell as usize & ((1 << self.bits[axis]) - 1)
    }

    #[inline]
    fn number(&self, at: [usize; 3]) -> usize {
        (at[0] << self.bits[1] | at[1]) << self.bits[2] | at[2]
    }

    /// One half of the cells around a cell, as ranges of cells that follow each other: of two neighbouring cells each
    /// is ahead of the other in one direction only.
    fn ahead(&self, at: [usize; 3]) -> SmallVec<[(usize, usize); 13]> {
        let stepped = |axis: usize, step: usize| at[axis].wrapping_add(step) & ((1 << self.bits[axis]) - 1);
        let back = usize::MAX;
        let mut ranges = SmallVec::new();
        let next = self.number([at[0], at[1], stepped(2, 1)]);
        ranges.push((next, next + 1));
        for (x, y) in [(0, 1), (1, back), (1, 0), (1, 1)] {
            let row = self.number([stepped(0, x), stepped(1, y), 0]);
            if at[2] > 0 && at[2] + 1 < 1 << self.bits[2] {
                ranges.push((row + at[2] - 1, row + at[2] + 2));
            } else {
                let around = [stepped(2, back), at[2], stepped(2, 1)];
                ranges.extend(around.map(|z| (row + z, row + z + 1)));
            }
        }
        ranges
    }
}

/// A grid, with room that is used again and again.
#[derive(Default)]
pub(crate) struct Grid {
    /// The bodies, in the order of their cells.
    balls: Vec<Ball>,
    unsorted: Vec<Ball>,
    /// Bodies that are compared with everything.
    large: Vec<Ball>,
    /// The cell of every body, as they come.
    cells: Vec<u32>,
    /// Where the bodies of every cell begin, and where those of the last end.
    starts: Vec<u32>,
    found: Vec<(u32, u32)>,
    pairs: Vec<(u32, u32)>,
}

impl Grid {
    /// All pairs of places whose balls (`positions`, `radii`) are less than `margin` apart in every axis.
    pub fn pairs(&mut self, positions: &[Vec3], radii: &[f64], margin: f64) -> &[(u32, u32)] {
        self.found.clear();
        self.large.clear();
        self.unsorted.clear();
        let width = cell_width(radii, margin);
        for (place, (x, radius)) in positions.iter().zip(radii).enumerate() {
            let ball = Ball { x: *x, reach: radius + 0.5 * margin, place: place as u32 };
            let is_large = 2.0 * radius + margin > width;
            if is_large { self.large.push(ball) } else { self.unsorted.push(ball) }
        }
        if !self.unsorted.is_empty() {
            let lattice = Lattice::new(&self.unsorted, width * (1.0 + SLACK));
            self.fill(lattice);
            self.meet(lattice);
        }
        for (at, big) in self.large.iter().enumerate() {
            let others = self.unsorted.iter().chain(&self.large[..at]);
            self.found.extend(others.filter(|other| big.is_near(other)).map(|other| big.pair(other)));
        }
        self.put_in_order(positions.len());
        &self.pairs
    }

    /// All pairs of boxes that overlap, as numbers in the list, in ascending order.
    pub fn overlapping(&mut self, boxes: &[Aabb]) -> &[(u32, u32)] {
        let middles: Vec<Vec3> = boxes.iter().map(|each| (each.min + each.max) * 0.5).collect();
        // A little more than half their size, for the middles are rounded.
        let reach = |each: &Aabb| {
            (each.max - each.min).amax() * (0.5 + 1e-9) + 1e-12 * each.min.amax().max(each.max.amax())
        };
        let reaches: Vec<f64> = boxes.iter().map(reach).collect();
        self.pairs(&middles, &reaches, 0.0);
        self.pairs.retain(|(a, b)| boxes[*a as usize].overlaps(&boxes[*b as usize]));
        &self.pairs
    }

    /// Puts the bodies in the order of their cells.
    fn fill(&mut self, lattice: Lattice) {
        self.starts.clear();
        self.starts.resize(lattice.cells() + 1, 0);
        self.cells.clear();
        for ball in &self.unsorted {
            let cell = lattice.number(lattice.coordinates(ball.x));
            self.cells.push(cell as u32);
            self.starts[cell] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.balls.clear();
        self.balls.extend_from_slice(&self.unsorted);
        // From the back, so that every cell ends up at its start, and those who came first come first.
        for (ball, cell) in self.unsorted.iter().zip(&self.cells).rev() {
            let start = &mut self.starts[*cell as usize];
            *start -= 1;
            self.balls[*start as usize] = *ball;
        }
    }

    /// Everybody meets those behind it in its cell, and those in the cells ahead.
    fn meet(&mut self, lattice: Lattice) {
        let (balls, starts, found) = (&self.balls, &self.starts, &mut self.found);
        let mut at = 0;
        while at < balls.len() {
            let coordinates = lattice.coordinates(balls[at].x);
            let cell = lattice.number(coordinates);
            let end = starts[cell + 1] as usize;
            let ahead = lattice.ahead(coordinates);
            for (own, ball) in balls.iter().enumerate().take(end).skip(at) {
                let mut meet = |others: &[Ball]| {
                    found.extend(
                        others.iter().filter(|other| ball.is_near(other)).map(|other| ball.pair(other)),
                    );
                };
                meet(&balls[own + 1..end]);
                for (first, last) in &ahead {
                    meet(&balls[starts[*first] as usize..starts[*last] as usize]);
                }
            }
            at = end;
        }
    }

    /// Puts what was found in ascending order: by the first places, then among equals by the second.
    fn put_in_order(&mut self, places: usize) {
        let starts = &mut self.starts;
        starts.clear();
        starts.resize(places + 1, 0);
        for (first, _) in &self.found {
            starts[*first as usize] += 1;
        }
        let mut end = 0;
        for start in starts.iter_mut() {
            end += *start;
            *start = end;
        }
        self.pairs.clear();
        self.pairs.resize(self.found.len(), (0, 0));
        for pair in &self.found {
            let start = &mut starts[pair.0 as usize];
            *start -= 1;
            self.pairs[*start as usize] = *pair;
        }
        for range in starts.windows(2) {
            self.pairs[range[0] as usize..range[1] as usize].sort_unstable();
        }
    }
}

/// Cells as wide as the bodies that are not unusually large.
fn cell_width(radii: &[f64], margin: f64) -> f64 {
    let mut sorted = radii.to_vec();
    let middle = sorted.len() / 2;
    let typical = match sorted.is_empty() {
        true => 1.0,
        false => *sorted.select_nth_unstable_by(middle, f64::total_cmp).1,
    };
    let ordinary = radii.iter().copied().filter(|radius| *radius <= LARGE * typical);
    2.0 * ordinary.fold(typical, f64::max) + margin
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expected(positions: &[Vec3], radii: &[f64]) -> Vec<(u32, u32)> {
        let mut expected = Vec::new();
        for a in 0..positions.len() {
            for b in a + 1..positions.len() {
                if (positions[a] - positions[b]).amax() <= radii[a] + radii[b] + 0.01 {
                    expected.push((a as u32, b as u32));
                }
            }
        }
        expected
    }

    /// Crowds of any shape, one after the other in the same grid.
    #[test]
    fn a_grid_can_be_used_again() {
        let mut grid = Grid::default();
        let mut seed = 1u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        for (count, size) in
            [(2000, [30.0, 2.0, 30.0]), (5, [1.0; 3]), (1500, [200.0, 1.0, 1.0]), (900, [9.0; 3])]
        {
            let positions: Vec<Vec3> =
                (0..count).map(|_| Vec3::from(size).map(|side: f64| side * (random() - 0.5))).collect();
            let radii: Vec<f64> = (0..count).map(|_| 0.2 + 0.3 * random()).collect();
            let found = grid.pairs(&positions, &radii, 0.01);
            assert_eq!(found, &expected(&positions, &radii)[..], "{count} in {size:?}");
        }
    }

    proptest! {
        /// The grid proposes exactly the pairs that comparing everything with everything finds.
        #[test]
        fn the_grid_finds_what_comparing_all_finds(
            bodies in prop::collection::vec((prop::array::uniform3(-6.0..6.0f64), 0.05..1.0f64), 0..60),
            stretch in prop::array::uniform3(prop::sample::select(vec![0.0, 1.0, 30.0, -1e4])),
            huge in prop::collection::vec((prop::array::uniform3(-6.0..6.0f64), 3.0..20.0f64), 0..3),
        ) {
            let all: Vec<_> = bodies.into_iter().chain(huge).collect();
            let stretch = Vec3::from(stretch);
            let positions: Vec<Vec3> =
                all.iter().map(|(x, _)| Vec3::from(*x).component_mul(&stretch)).collect();
            let radii: Vec<f64> = all.iter().map(|(_, r)| *r).collect();
            let mut grid = Grid::default();
            prop_assert_eq!(grid.pairs(&positions, &radii, 0.01), &expected(&positions, &radii)[..]);
        }
    }
}
