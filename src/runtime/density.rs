//! How densely the bodies of a scene lie at its start. It decides the width of the table's cells: speed only, never the
//! result. `docs/heuristics.md` says what was measured.

use crate::base::math::Vec3;
use crate::physics::BodyDef;

/// Widths that are tried, in diameters of the typical body, widest first.
const SCALES: [f64; 8] = [8.0, 6.0, 5.0, 4.0, 3.2, 2.5, 2.0, 1.6];
/// The width where all of those are too crowded, in diameters of the typical body.
const NARROWEST: f64 = 1.25;
/// Cells are too wide if a body shares its cell with more bodies than this on average. Measured: skipping an entry of a
/// cell takes 1 to 2 ns, another cell 100 ns.
const CROWDED: f64 = 32.0;
/// The density is estimated from this many bodies. Not tuned.
const SAMPLE: usize = 1 << 14;

/// The density of a scene.
pub(super) struct Density<'a> {
    bodies: &'a [BodyDef],
    /// Median radius, metres.
    typical_radius: f64,
}

impl<'a> Density<'a> {
    /// The density of these bodies at the start of a run.
    pub fn of(bodies: &'a [BodyDef]) -> Self {
        let bodies = &bodies[..bodies.len().min(SAMPLE)];
        let mut radii: Vec<f64> = bodies.iter().map(|body| body.radius).collect();
        radii.sort_unstable_by(f64::total_cmp);
        Density { bodies, typical_radius: radii.get(radii.len() / 2).copied().unwrap_or(0.5) }
    }

    /// The width of cells that suits the scene, in diameters of the typical body. The wider they are, the fewer cells a
    /// flight passes, and the more other bodies are in each.
    pub fn cell_scale(&self) -> f64 {
        SCALES.into_iter().find(|scale| self.occupancy(*scale) <= CROWDED).unwrap_or(NARROWEST)
    }

    /// Mean number of bodies in the cell of a body, itself included, if cells are `scale` diameters wide.
    fn occupancy(&self, scale: f64) -> f64 {
        let width = 2.0 * self.typical_radius * scale;
        let cell = |x: Vec3| [x.x, x.y, x.z].map(|c| (c / width).floor() as i64);
        let mut cells: Vec<[i64; 3]> = self.bodies.iter().map(|body| cell(body.start.x)).collect();
        cells.sort_unstable();
        let sum: usize = cells.chunk_by(|a, b| a == b).map(|cell| cell.len() * cell.len()).sum();
        sum as f64 / self.bodies.len().max(1) as f64
    }
}
