//! `gas`: elastic balls that fly about in a closed box, and the box of `bouncing`, which is the same but fuller.

use super::parts::{BALL_RADIUS_M, SplitMix64, WEIGHTLESS, closed_box, material};
use super::settings::Settings;
use crate::scene::{Body, Scene, SceneError, Shape};

/// Share of the volume that the balls of `gas` fill.
const GAS_SHARE: f64 = 0.01;
/// The number of bodies that is arranged as [`FLAT_CELLS`] instead of a cube.
const FLAT_BODIES: usize = 65_536;
const FLAT_CELLS: [usize; 3] = [64, 64, 16];
/// Largest velocity component, m/s.
const SPEED_MAX: f64 = 5.0;
/// How far a ball may be off the centre of its cell, as a share of the free margin.
const JITTER_SHARE: f64 = 0.9;

/// A thin gas.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    let bodies = settings.bodies as usize;
    Ok(ElasticBox::filled(bodies, GAS_SHARE).scene(bodies, settings.seed))
}

/// A closed box of cells, at most one ball in each.
pub(super) struct ElasticBox {
    cells: [usize; 3],
    extents_m: [f64; 3],
    radius_m: f64,
}

impl ElasticBox {
    /// A box in which the balls fill `share` of the volume.
    pub(super) fn filled(bodies: usize, share: f64) -> Self {
        let radius_m = BALL_RADIUS_M;
        let ball_m3 = std::f64::consts::PI / 6.0;
        if bodies == FLAT_BODIES {
            let pitch = libm::cbrt(ball_m3 / share);
            return ElasticBox {
                cells: FLAT_CELLS,
                extents_m: FLAT_CELLS.map(|n| n as f64 * pitch),
                radius_m,
            };
        }
        let edge = libm::cbrt(bodies as f64 * ball_m3 / share);
        ElasticBox { cells: [cube_root_up(bodies); 3], extents_m: [edge; 3], radius_m }
    }

    /// A cube of a volume.
    pub(super) fn cube(bodies: usize, volume_m3: f64, radius_m: f64) -> Self {
        ElasticBox { cells: [cube_root_up(bodies); 3], extents_m: [libm::cbrt(volume_m3); 3], radius_m }
    }

    /// Whether a cell is large enough for a ball.
    pub(super) fn has_room(&self) -> bool {
        (0..3).all(|axis| self.pitch_m(axis) >= 2.0 * self.radius_m)
    }

    fn pitch_m(&self, axis: usize) -> f64 {
        self.extents_m[axis] / self.cells[axis] as f64
    }

    /// The box with `bodies` balls in randomly chosen cells, flying in random directions.
    pub(super) fn scene(&self, bodies: usize, seed: u64) -> Scene {
        let mut scene = Scene { gravity: WEIGHTLESS, ..Scene::default() };
        scene.materials.insert("ball".to_owned(), material(0.0, 1.0));
        scene.materials.insert("wall".to_owned(), material(0.0, 1.0));
        let half = self.extents_m.map(|extent| extent * 0.5);
        scene.statics = closed_box(half);
        let mut random = SplitMix64::new(seed);
        let [nx, ny, _] = self.cells;
        scene.bodies.reserve_exact(bodies);
        for cell in self.choose_cells(bodies, &mut random) {
            let cell = [cell % nx, (cell / nx) % ny, cell / (nx * ny)];
            let mut position = [0.0; 3];
            for axis in 0..3 {
                let pitch = self.pitch_m(axis);
                let margin = ((pitch - 2.0 * self.radius_m) * 0.5 * JITTER_SHARE).max(0.0);
                position[axis] =
                    -half[axis] + (cell[axis] as f64 + 0.5) * pitch + random.symmetric() * margin;
            }
            let velocity = random.vector(SPEED_MAX);
            let shape = Shape::Sphere { radius: self.radius_m };
            scene.bodies.push(Body::new(shape, position).moving(velocity).of("ball"));
        }
        scene
    }

    /// The numbers of the cells with a ball, ascending: a shuffle decides which.
    fn choose_cells(&self, bodies: usize, random: &mut SplitMix64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cells.iter().product()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last + 1));
        }
        order.truncate(bodies);
        order.sort_unstable();
        order
    }
}

/// The smallest `m` with `m³ >= n`.
pub(super) fn cube_root_up(n: usize) -> usize {
    let mut root = (libm::cbrt(n as f64) as usize).saturating_sub(1);
    while root.pow(3) < n {
        root += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_rounded_up() {
        for m in 2..300_usize {
            assert_eq!([m.pow(3) - 1, m.pow(3), m.pow(3) + 1].map(cube_root_up), [m, m, m + 1]);
        }
        assert_eq!(cube_root_up(1), 1);
    }
}
