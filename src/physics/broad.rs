//! The plainest broad phase that is not silly: a uniform grid, filled anew at every tick.
//!
//! It proposes pairs of bodies whose bounding balls come near each other. It may propose too many, never too
//! few, and in ascending order of places.

use crate::math::Vec3;

/// Bodies more than this many times larger than the typical one are compared with everything.
const LARGE: f64 = 4.0;

/// Cells beyond this share the outermost one.
const FARTHEST: f64 = 1e15;

/// One half of the 26 cells around a cell: of two neighbouring cells each is ahead of the other in one direction only.
const AHEAD: [[i64; 3]; 13] = [
    [1, -1, -1],
    [1, -1, 0],
    [1, -1, 1],
    [1, 0, -1],
    [1, 0, 0],
    [1, 0, 1],
    [1, 1, -1],
    [1, 1, 0],
    [1, 1, 1],
    [0, 1, -1],
    [0, 1, 0],
    [0, 1, 1],
    [0, 0, 1],
];

/// A grid of cells in a hash table of fixed size; cells that collide are told apart by their coordinates.
#[derive(Default)]
pub(crate) struct Grid {
    heads: Vec<u32>,
    next: Vec<u32>,
    cells: Vec<[i64; 3]>,
    large: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

impl Grid {
    /// All pairs of places whose balls (`positions`, `radii`) are less than `margin` apart in every axis.
    pub fn pairs(&mut self, positions: &[Vec3], radii: &[f64], margin: f64) -> &[(u32, u32)] {
        self.pairs.clear();
        self.large.clear();
        let size = self.cell_size(radii, margin);
        let is_large = |at: usize| 2.0 * radii[at] + margin > size;
        let slots = (2 * positions.len()).next_power_of_two().max(16);
        self.heads.clear();
        self.heads.resize(slots, u32::MAX);
        self.next.clear();
        self.cells.clear();
        for (at, x) in positions.iter().enumerate() {
            let cell = [x.x, x.y, x.z].map(|c| (c / size).floor().clamp(-FARTHEST, FARTHEST) as i64);
            self.cells.push(cell);
            self.next.push(u32::MAX);
            if is_large(at) {
                self.large.push(at as u32);
                continue;
            }
            // Those already in the same cell are met here, neighbouring cells when all are in place.
            self.meet(at as u32, cell, positions, radii, margin);
            let slot = hash(cell) as usize & (slots - 1);
            self.next[at] = self.heads[slot];
            self.heads[slot] = at as u32;
        }
        for at in 0..positions.len() {
            if is_large(at) {
                continue;
            }
            let cell = self.cells[at];
            for step in AHEAD {
                let near = [cell[0] + step[0], cell[1] + step[1], cell[2] + step[2]];
                self.meet(at as u32, near, positions, radii, margin);
            }
        }
        for &big in &self.large {
            for other in 0..positions.len() as u32 {
                // Two large ones meet once, from the larger place.
                let seen_from_other = is_large(other as usize) && other >= big;
                if !seen_from_other && near(big as usize, other as usize, positions, radii, margin) {
                    self.pairs.push((big.min(other), big.max(other)));
                }
            }
        }
        self.pairs.sort_unstable();
        &self.pairs
    }

    /// Pairs of the body at `at` with those in the cell.
    fn meet(&mut self, at: u32, cell: [i64; 3], positions: &[Vec3], radii: &[f64], margin: f64) {
        let mut other = self.heads[hash(cell) as usize & (self.heads.len() - 1)];
        while other != u32::MAX {
            let place = other as usize;
            if self.cells[place] == cell && near(at as usize, place, positions, radii, margin) {
                self.pairs.push((other.min(at), other.max(at)));
            }
            other = self.next[place];
        }
    }

    /// Cells as wide as the bodies that are not unusually large.
    fn cell_size(&self, radii: &[f64], margin: f64) -> f64 {
        let mut sorted = radii.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let typical = sorted.get(sorted.len() / 2).copied().unwrap_or(1.0);
        let largest = sorted.iter().rev().find(|r| **r <= LARGE * typical).copied().unwrap_or(typical);
        2.0 * largest + margin
    }
}

fn near(a: usize, b: usize, positions: &[Vec3], radii: &[f64], margin: f64) -> bool {
    let d = (positions[a] - positions[b]).abs();
    let reach = radii[a] + radii[b] + margin;
    d.x <= reach && d.y <= reach && d.z <= reach
}

fn hash(cell: [i64; 3]) -> u64 {
    let mut h = 0u64;
    for c in cell {
        h = (h ^ c as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^= h >> 29;
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The grid proposes exactly the pairs that comparing everything with everything finds.
        #[test]
        fn the_grid_finds_what_comparing_all_finds(
            bodies in prop::collection::vec((prop::array::uniform3(-6.0..6.0f64), 0.05..1.0f64), 0..60),
            huge in prop::collection::vec((prop::array::uniform3(-6.0..6.0f64), 3.0..20.0f64), 0..3),
        ) {
            let all: Vec<_> = bodies.into_iter().chain(huge).collect();
            let positions: Vec<Vec3> = all.iter().map(|(x, _)| Vec3::from(*x)).collect();
            let radii: Vec<f64> = all.iter().map(|(_, r)| *r).collect();
            let mut expected = Vec::new();
            for a in 0..all.len() {
                for b in a + 1..all.len() {
                    if near(a, b, &positions, &radii, 0.01) {
                        expected.push((a as u32, b as u32));
                    }
                }
            }
            let mut grid = Grid::default();
            prop_assert_eq!(grid.pairs(&positions, &radii, 0.01), &expected[..]);
        }
    }
}
