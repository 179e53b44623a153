//! The grid: cells of unbounded space, and the buckets they belong to.
//!
//! Bodies of very different sizes live on levels of ever coarser cells, each twice as wide as the one below, so
//! that a body never covers many cells of its own level. A track is written on its own level and on all coarser
//! levels in use; two bodies are compared on the coarser of their two levels.

use crate::base::aabb::Aabb;
use crate::base::math::Vec3;

/// A cell: its level and coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    level: u8,
    at: [i32; 3],
}

impl Cell {
    /// How coarse it is.
    pub(crate) fn level(&self) -> u8 {
        self.level
    }

    /// Its coordinates, in cells of its level.
    pub(crate) fn coordinates(&self) -> [i32; 3] {
        self.at
    }
}

/// The level of a body in the grid, and the lowest of its cells there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellRange {
    level: u8,
    low: [i32; 3],
}

impl CellRange {
    /// Whether `cell` is the one in which two bodies are compared: the lowest that both cover, on the coarser of
    /// their levels.
    #[inline]
    pub fn owns_pair(&self, other: &CellRange, cell: &Cell) -> bool {
        if cell.level != self.level.max(other.level) {
            return false;
        }
        let mine = coarsened(self.low, cell.level - self.level);
        let theirs = coarsened(other.low, cell.level - other.level);
        (0..3).all(|k| cell.at[k] == mine[k].max(theirs[k]))
    }
}

/// A box in half the memory, never smaller than what it bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb32 {
    low: [f32; 3],
    high: [f32; 3],
}

impl Aabb32 {
    /// Bounds of a box.
    pub fn of(bounds: &Aabb) -> Self {
        Aabb32 {
            low: [0, 1, 2].map(|k| (bounds.min[k] as f32).next_down()),
            high: [0, 1, 2].map(|k| (bounds.max[k] as f32).next_up()),
        }
    }

    /// Grows to bound another one as well.
    pub fn include(&mut self, other: &Aabb32) {
        for k in 0..3 {
            self.low[k] = self.low[k].min(other.low[k]);
            self.high[k] = self.high[k].max(other.high[k]);
        }
    }

    /// Whether two may share a point. So may what is no longer a number.
    #[inline]
    pub fn overlaps(&self, other: &Aabb32) -> bool {
        !(0..3).any(|k| self.low[k] > other.high[k] || other.low[k] > self.high[k])
    }
}

/// The cell that holds a cell, `levels` levels coarser.
#[inline]
fn coarsened(at: [i32; 3], levels: u8) -> [i32; 3] {
    at.map(|c| c >> levels.min(31))
}

/// A division of space into cells and buckets.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Width of the finest cells.
    cell_m: f64,
    /// Levels in use, ascending.
    levels: Vec<u8>,
    buckets: u32,
}

/// Coordinates beyond this many of the finest cells share the outermost cell: far away is rare and may be slow.
const FARTHEST: i32 = 1 << 30;
/// A finite body covers fewer cells than this along one axis.
const SPAN_MAX: i64 = 4096;

impl Grid {
    /// A grid for bodies with these radii. `scale` is the width of a cell in diameters of the typical body.
    pub fn new(radii: &[f64], scale: f64, buckets: u32) -> Self {
        let mut sorted = radii.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let typical = sorted.get(sorted.len() / 2).copied().unwrap_or(0.5);
        let mut grid = Grid { cell_m: 2.0 * typical * scale, levels: Vec::new(), buckets: buckets.max(1) };
        for radius in radii {
            let level = grid.natural_level(*radius);
            if let Err(at) = grid.levels.binary_search(&level) {
                grid.levels.insert(at, level);
            }
        }
        if grid.levels.is_empty() {
            grid.levels.push(0);
        }
        grid
    }

    /// Number of buckets.
    pub fn buckets(&self) -> u32 {
        self.buckets
    }

    /// Width of the cells of a level, metres.
    pub fn width_m(&self, level: u8) -> f64 {
        self.cell_m * (1u64 << level.min(62)) as f64
    }

    /// The level of a body: the finest in use on which it is no wider than a cell. A spawned body that is
    /// larger than all others covers several cells of the coarsest.
    pub fn level_of(&self, radius: f64) -> u8 {
        let natural = self.natural_level(radius);
        let at = self.levels.partition_point(|level| *level < natural);
        self.levels.get(at).or(self.levels.last()).copied().unwrap_or(0)
    }

    fn natural_level(&self, radius: f64) -> u8 {
        let mut level = 0;
        while level < 60 && 2.0 * radius > self.width_m(level) {
            level += 1;
        }
        level
    }

    /// Gives `see` the cells that `bounds` covers on `level` and every coarser level in use.
    pub fn cells(&self, bounds: &Aabb, level: u8, mut see: impl FnMut(Cell)) -> CellRange {
        let width = self.width_m(level);
        // The same distance on every level, so that a cell of a finer level lies in one of a coarser.
        let farthest = f64::from(FARTHEST >> level.min(31));
        let corner = |v: Vec3| [v.x, v.y, v.z].map(|c| (c / width).floor().clamp(-farthest, farthest) as i32);
        let (low, mut high) = (corner(bounds.min), corner(bounds.max));
        // Only what is no longer finite is so large; it ends the run as soon as it is seen.
        if (0..3).any(|k| i64::from(high[k]) - i64::from(low[k]) > SPAN_MAX) {
            high = low;
        }
        let range = CellRange { level, low };
        for coarser in self.levels.iter().copied().filter(|used| *used >= level) {
            let (low, high) = (coarsened(low, coarser - level), coarsened(high, coarser - level));
            for x in low[0]..=high[0] {
                for y in low[1]..=high[1] {
                    for z in low[2]..=high[2] {
                        see(Cell { level: coarser, at: [x, y, z] });
                    }
                }
            }
        }
        range
    }

    /// How many cells of one level `bounds` covers.
    pub fn coverage(&self, bounds: &Aabb, level: u8) -> f64 {
        let size = (bounds.max - bounds.min) / self.width_m(level);
        size.iter().map(|s| s.floor() + 2.0).product()
    }

    /// The bucket of a cell.
    pub fn bucket(&self, cell: &Cell) -> u32 {
        self.bucket_and_rest(cell).0
    }

    /// The bucket of a cell, and what tells it from most other cells there.
    pub(in crate::protocol) fn bucket_and_rest(&self, cell: &Cell) -> (u32, u32) {
        let mut hash = u64::from(cell.level).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for c in cell.at {
            hash = (hash ^ c as u32 as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
            hash ^= hash >> 32;
        }
        let bucket = (hash % u64::from(self.buckets)) as u32;
        let rest = cell.at.iter().fold(hash as u32, |rest, c| rest.wrapping_mul(31).wrapping_add(*c as u32));
        (bucket, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small and a large body at the same position are compared in exactly one cell, wherever that is.
    #[test]
    fn small_and_large_bodies_are_compared_once_anywhere() {
        let grid = Grid::new(&[0.05, 0.05, 0.05, 1.0], 4.0, 64);
        for x in [0.0, -0.3, 17.25, -4e5, 3e8, 9e8, -9e8, 1e12] {
            let covered_by = |radius: f64| {
                let bounds = Aabb::about(Vec3::new(x, 0.1, -x), Vec3::repeat(radius));
                let mut cells = Vec::new();
                let range = grid.cells(&bounds, grid.level_of(radius), |cell| cells.push(cell));
                (range, cells)
            };
            let ((small, passed), (large, covered)) = (covered_by(0.05), covered_by(1.0));
            let shared = passed.iter().filter(|cell| covered.contains(cell));
            assert_eq!(shared.filter(|cell| small.owns_pair(&large, cell)).count(), 1, "at {x}");
        }
    }
}
