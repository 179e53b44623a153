//! The broad phase: a uniform grid, filled anew at every call.
//!
//! It proposes pairs of bodies with bounding balls, or boxes, that come near each other. It may propose too many, never
//! too few, and in ascending order of their indices.

use smallvec::SmallVec;

use crate::base::math::Vec3;
use crate::physics::collision::crowd::near_max;

/// Bodies more than this many times larger than the median are compared with all others. Not tuned.
const LARGE: f64 = 4.0;
/// Cells with coordinates beyond this share the outermost one: the coordinates must fit into an `i64`.
const FARTHEST: f64 = 1e15;
/// Cells are a little wider than what must fit, so that rounding never puts neighbours two cells apart.
const SLACK: f64 = 1e-6;
/// The extent of all bodies is estimated from at least this many of them, if there are as many. No
/// figures were kept when it was introduced (1e80d3e).
const SAMPLE: usize = 32;

/// A body in the grid.
#[derive(Clone, Copy)]
struct Ball {
    /// Position of the centre, metres.
    x: Vec3,
    /// Radius and half the margin, metres.
    reach: f64,
    /// Index in the caller's list.
    index: u32,
}

impl Ball {
    #[inline]
    fn is_near(&self, other: &Ball) -> bool {
        let d = (self.x - other.x).abs();
        let reach = self.reach + other.reach;
        d.x <= reach && d.y <= reach && d.z <= reach
    }

    fn pair(&self, other: &Ball) -> (u32, u32) {
        (self.index.min(other.index), self.index.max(other.index))
    }
}

/// Space cut into cells. Their number is limited: the lattice repeats itself in all directions, so that bodies far apart
/// may share a cell.
#[derive(Clone, Copy)]
struct Lattice {
    /// One over the width of a cell.
    cells_per_m: f64,
    /// Bits of the number of cells along each axis; at least two, so that neighbours on both sides differ.
    bits: [u32; 3],
}

impl Lattice {
    /// Cells of a width in metres, about as many as there are bodies, spread like the extent of the bodies.
    fn new(balls: &[Ball], width: f64) -> Self {
        let cells_per_m = 1.0 / width;
        let mut bits = [0, 1, 2].map(|axis| {
            let step = (balls.len() / SAMPLE).max(1);
            let mut along: SmallVec<[f64; 2 * SAMPLE]> =
                balls.iter().step_by(step).map(|b| b.x[axis]).collect();
            along.sort_unstable_by(f64::total_cmp);
            // A few may be far away: only those between the first and the last tenth count.
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

    /// The coordinates of the cell of a position.
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

/// A grid. It keeps its memory from call to call.
#[derive(Default)]
pub(crate) struct Grid {
    /// The bodies that are not large, in the order of their cells.
    balls: Vec<Ball>,
    /// The same bodies in the order of the caller's list.
    unsorted: Vec<Ball>,
    /// Bodies that are compared with all others.
    large: Vec<Ball>,
    /// The cell of every body in `unsorted`.
    cells: Vec<u32>,
    /// The index in `balls` at which each cell begins, and at which the last one ends.
    starts: Vec<u32>,
    /// Pairs in the order in which they are found.
    found: Vec<(u32, u32)>,
    /// The same pairs in ascending order.
    pairs: Vec<(u32, u32)>,
}

impl Grid {
    /// The same as [`Grid::pairs`], and not many more than [`near_max`].
    pub fn limited_pairs(&mut self, positions: &[Vec3], radii: &[f64], margin: f64) -> &[(u32, u32)] {
        self.search(positions, radii, margin, near_max(positions.len()));
        self.put_in_order(positions.len());
        &self.pairs
    }

    /// All pairs of balls (`positions`, `radii`) that are at most `margin` apart along every axis, as indices in
    /// ascending order. All lengths in metres.
    pub fn pairs(&mut self, positions: &[Vec3], radii: &[f64], margin: f64) -> &[(u32, u32)] {
        self.search(positions, radii, margin, usize::MAX);
        self.put_in_order(positions.len());
        &self.pairs
    }

    /// Finds pairs in no order. Ends with the body at which there are `found_max` or more.
    fn search(&mut self, positions: &[Vec3], radii: &[f64], margin: f64, found_max: usize) {
        self.found.clear();
        self.large.clear();
        self.unsorted.clear();
        let width = cell_width(radii, margin);
        for (index, (x, radius)) in positions.iter().zip(radii).enumerate() {
            let ball = Ball { x: *x, reach: radius + 0.5 * margin, index: index as u32 };
            let is_large = 2.0 * radius + margin > width;
            if is_large { self.large.push(ball) } else { self.unsorted.push(ball) }
        }
        if !self.unsorted.is_empty() {
            let lattice = Lattice::new(&self.unsorted, width * (1.0 + SLACK));
            self.fill(lattice);
            self.compare_cells(lattice, found_max);
        }
        for (at, big) in self.large.iter().enumerate() {
            if self.found.len() >= found_max {
                break;
            }
            let others = self.unsorted.iter().chain(&self.large[..at]);
            self.found.extend(others.filter(|other| big.is_near(other)).map(|other| big.pair(other)));
        }
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
        // From the back, so that the start of every cell ends up right, and bodies of a cell keep their order.
        for (ball, cell) in self.unsorted.iter().zip(&self.cells).rev() {
            let start = &mut self.starts[*cell as usize];
            *start -= 1;
            self.balls[*start as usize] = *ball;
        }
    }

    /// Compares every body with those behind it in its cell, and with those in the cells ahead.
    fn compare_cells(&mut self, lattice: Lattice, found_max: usize) {
        let (balls, starts, found) = (&self.balls, &self.starts, &mut self.found);
        let mut at = 0;
        while at < balls.len() {
            let coordinates = lattice.coordinates(balls[at].x);
            let cell = lattice.number(coordinates);
            let end = starts[cell + 1] as usize;
            let ahead = lattice.ahead(coordinates);
            for (own, ball) in balls.iter().enumerate().take(end).skip(at) {
                if found.len() >= found_max {
                    return;
                }
                let mut compare = |others: &[Ball]| {
                    found.extend(
                        others.iter().filter(|other| ball.is_near(other)).map(|other| ball.pair(other)),
                    );
                };
                compare(&balls[own + 1..end]);
                for (first, last) in &ahead {
                    compare(&balls[starts[*first] as usize..starts[*last] as usize]);
                }
            }
            at = end;
        }
    }

    /// Sorts what was found: by the first index, then by the second. `count` is the number of bodies.
    fn put_in_order(&mut self, count: usize) {
        let starts = &mut self.starts;
        starts.clear();
        starts.resize(count + 1, 0);
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

/// The width of cells, metres: that of the largest body that is not unusually large.
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

    /// Sets of bodies of any extent, one after the other in the same grid.
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
        /// The grid proposes exactly the pairs that comparing each body with each other finds.
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
