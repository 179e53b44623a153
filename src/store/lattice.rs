//! Cells of space. The lattice repeats itself in all directions, so that every position has a cell and their number is
//! limited; bodies that are far apart may share one.

use crate::base::math::Vec3;
use crate::base::time::Tick;
use crate::physics::World;
use crate::store::flights::Hot;

/// Cell coordinates beyond this share the outermost one: they must fit into an `i64`.
const FARTHEST: f64 = 1e15;
/// Share of a width within which rounding may decide in which cell a body is.
const SLACK: f64 = 1e-9;
/// The same as a share of the coordinates.
const SLACK_SHARE: f64 = 1e-12;
/// Ticks that are tried one by one before a look is put off to the calendar. Not tuned.
const WALK_TICKS: Tick = 4;

/// Space cut into cubes of one width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lattice {
    width_m: f64,
    cells_per_m: f64,
    /// Bits of the number of cells along each axis; at least two, so that the neighbours on both sides differ.
    bits: [u32; 3],
}

impl Lattice {
    /// Cells of a width, spread like `extent_m`, not more than about `cells_max`.
    pub fn new(width_m: f64, extent_m: Vec3, cells_max: usize) -> Self {
        let mut bits = [0, 1, 2].map(|axis| {
            let cells = (extent_m[axis] / width_m).clamp(1.0, 1e6) as u32 + 1;
            cells.next_power_of_two().trailing_zeros().max(2)
        });
        let most = cells_max.next_power_of_two().trailing_zeros().max(6);
        while bits.iter().sum::<u32>() > most {
            let widest = (0..3).max_by_key(|axis| bits[*axis]).unwrap_or(0);
            bits[widest] -= 1;
        }
        Lattice { width_m, cells_per_m: 1.0 / width_m, bits }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        1 << self.bits.iter().sum::<u32>()
    }

    /// The coordinate of a position along one axis, in cells, before the lattice repeats itself.
    #[inline]
    fn along(&self, x: f64) -> i64 {
        let at = (x * self.cells_per_m).clamp(-FARTHEST, FARTHEST);
        // Rounds down; the cast rounds towards zero.
        at as i64 - i64::from((at as i64) as f64 > at)
    }

    #[inline]
    fn coordinates(&self, x: Vec3) -> [i64; 3] {
        [self.along(x.x), self.along(x.y), self.along(x.z)]
    }

    #[inline]
    fn number(&self, at: [i64; 3]) -> u32 {
        let wrapped = |axis: usize| at[axis] as u32 & ((1 << self.bits[axis]) - 1);
        (wrapped(0) << self.bits[1] | wrapped(1)) << self.bits[2] | wrapped(2)
    }

    /// The cell of a position.
    #[inline]
    pub fn cell(&self, x: Vec3) -> u32 {
        self.number(self.coordinates(x))
    }

    fn unpacked(&self, cell: u32) -> [i64; 3] {
        let low = |bits: u32| (1u32 << bits) - 1;
        let z = cell & low(self.bits[2]);
        let y = (cell >> self.bits[2]) & low(self.bits[1]);
        let x = cell >> (self.bits[2] + self.bits[1]);
        [x, y, z].map(i64::from)
    }

    /// A cell and the 26 around it.
    pub fn around(&self, cell: u32) -> [u32; 27] {
        let at = self.unpacked(cell);
        std::array::from_fn(|k| {
            let k = k as i64;
            self.number([at[0] + k / 9 - 1, at[1] + k / 3 % 3 - 1, at[2] + k % 3 - 1])
        })
    }

    /// Whether two cells are the same or next to each other.
    pub fn are_near(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.unpacked(a), self.unpacked(b));
        (0..3).all(|axis| {
            let cells = 1i64 << self.bits[axis];
            let apart = (a[axis] - b[axis]).rem_euclid(cells);
            apart <= 1 || apart == cells - 1
        })
    }

    /// The 26 cells around the cell of a position, each with its distance from the position along the farthest axis, metres.
    pub fn distances_around(&self, x: Vec3) -> impl Iterator<Item = (u32, f64)> {
        let at = self.coordinates(x);
        let inside = [0, 1, 2].map(|axis| x[axis] - at[axis] as f64 * self.width_m);
        let lattice = *self;
        (0..27i64).filter(|k| *k != 13).map(move |k| {
            let steps = [k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1];
            let apart = |axis: usize| match steps[axis] {
                -1 => inside[axis],
                1 => lattice.width_m - inside[axis],
                _ => 0.0,
            };
            let cell = lattice.number([0, 1, 2].map(|axis| at[axis] + steps[axis]));
            (cell, apart(0).max(apart(1)).max(apart(2)))
        })
    }

    /// Width of a cell, metres.
    pub fn width_m(&self) -> f64 {
        self.width_m
    }

    /// The number of cells along each axis, and the coordinates of a cell among them.
    pub fn sides(&self) -> [usize; 3] {
        self.bits.map(|bits| 1 << bits)
    }

    /// The coordinates of a cell, each below its [side](Self::sides).
    pub fn position(&self, cell: u32) -> [usize; 3] {
        self.unpacked(cell).map(|at| at as usize)
    }

    /// Calls `act` for the first and the last of runs of cells: of every cell, each once, that lies within a distance
    /// (metres, along every axis) of a position.
    #[inline]
    pub fn for_each_run_within(&self, x: Vec3, distance_m: f64, mut act: impl FnMut(u32, u32)) {
        let ranges = [0, 1, 2].map(|axis| {
            let (low, high) = (self.along(x[axis] - distance_m), self.along(x[axis] + distance_m));
            (low, high.min(low + (1 << self.bits[axis]) - 1))
        });
        let last = (1 << self.bits[2]) - 1;
        let [low, high] = [ranges[2].0, ranges[2].1].map(|z| z as u32 & last);
        for i in ranges[0].0..=ranges[0].1 {
            for j in ranges[1].0..=ranges[1].1 {
                let row = self.number([i, j, 0]);
                if low <= high {
                    act(row + low, row + high);
                } else {
                    act(row, row + high);
                    act(row + low, row + last);
                }
            }
        }
    }

    /// A tick after `from` at which to look again whether a body has left the cell that it is in at `from`: not later
    /// than the first at which it has. Beyond `last` if that is never.
    pub fn next_look(&self, world: &World, body: &Hot, from: Tick, last: Tick) -> Tick {
        let (x, v) = (body.position_at(world, from), body.velocity_at(world, from));
        let at = self.coordinates(x);
        let tau = world.time.span_s(body.since, from);
        let mut soonest_s = f64::INFINITY;
        for axis in 0..3 {
            let (speed, pull) = (v[axis], world.gravity[axis]);
            if speed == 0.0 && pull == 0.0 {
                continue;
            }
            let travelled = body.x[axis].abs() + (body.v[axis].abs() + pull.abs() * tau) * tau;
            let slack = SLACK * self.width_m + SLACK_SHARE * travelled;
            let low = x[axis] - at[axis] as f64 * self.width_m - slack;
            let high = self.width_m - 2.0 * slack - low;
            soonest_s =
                soonest_s.min(until_crossed(low, speed, pull)).min(until_crossed(high, -speed, -pull));
        }
        let ticks = soonest_s / world.time.tick_s;
        if ticks > (last - from) as f64 + 2.0 {
            return last + 1;
        }
        let first = from + (ticks as Tick).saturating_sub(1).max(1);
        let is_outside = |tick: &Tick| self.coordinates(body.position_at(world, *tick)) != at;
        (first..first + WALK_TICKS).find(is_outside).unwrap_or(first + WALK_TICKS)
    }
}

/// How long, in seconds, a point stays above a plane that lies `distance` (metres) below it, moving away at `speed`
/// under an acceleration `pull` away from it. Zero if it is not above it.
fn until_crossed(distance: f64, speed: f64, pull: f64) -> f64 {
    if distance <= 0.0 {
        return 0.0;
    }
    let discriminant = speed * speed - 2.0 * pull * distance;
    if discriminant < 0.0 {
        return f64::INFINITY;
    }
    let denominator = discriminant.sqrt() - speed;
    if denominator <= 0.0 { f64::INFINITY } else { 2.0 * distance / denominator }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every cell within a distance is in one run, once, also where the lattice repeats itself.
    #[test]
    fn runs_have_every_cell_within_a_distance_once() {
        let lattice = Lattice::new(1.0, Vec3::new(3.0, 7.0, 6.0), 1 << 8);
        for case in 0..200 {
            let x = Vec3::new(0.37, -0.21, 0.53) * f64::from(case - 100);
            let distance_m = f64::from(case % 23) * 0.25;
            let mut visits = vec![0; lattice.len()];
            lattice.for_each_run_within(x, distance_m, |first, last| {
                visits[first as usize..=last as usize].iter_mut().for_each(|visits| *visits += 1);
            });
            assert!(visits.iter().all(|visits| *visits <= 1), "case {case}");
            for step in 0..1000 {
                let part = |k: i32| f64::from(k % 10) / 4.5 - 1.0;
                let other = x + Vec3::new(part(step), part(step / 10), part(step / 100)) * distance_m;
                assert_eq!(visits[lattice.cell(other) as usize], 1, "case {case}, {other:?}");
            }
        }
    }
}
