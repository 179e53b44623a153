//! How crowded a scene is at its start: decides how wide the cells of the table are, and whether bodies begin in
//! clusters. A matter of speed only.

use crate::base::math::Vec3;
use crate::physics::BodyDef;

/// The widest cells, in diameters of the typical body.
pub(super) const WIDEST: f64 = 8.0;
/// Widths that are tried.
const SCALES: [f64; 8] = [WIDEST, 6.0, 5.0, 4.0, 3.2, 2.5, 2.0, 1.6];
const NARROWEST: f64 = 1.25;
/// With more bodies in the cell of a body than this, a cell is too wide. Passing over somebody who is elsewhere in a
/// cell is quick; another cell to enter and to leave is not.
const CROWDED: f64 = 32.0;
/// A scene with so many bodies in cells of two diameters is dense: everybody will touch somebody soon.
const DENSE: f64 = 3.0;
/// With so few cores and so many bodies in cells of four diameters, one cluster is cheaper than many who bounce off each
/// other.
const FEW_CORES: usize = 2;
const DENSE_FOR_FEW: f64 = 5.0;
/// So many bodies tell how crowded a scene is.
const SAMPLE: usize = 1 << 14;

/// How crowded a scene is.
pub(super) struct Density<'a> {
    bodies: &'a [BodyDef],
    typical_radius: f64,
}

impl<'a> Density<'a> {
    /// Of bodies at the start of a run.
    pub fn of(bodies: &'a [BodyDef]) -> Self {
        let bodies = &bodies[..bodies.len().min(SAMPLE)];
        let mut radii: Vec<f64> = bodies.iter().map(|body| body.radius).collect();
        radii.sort_unstable_by(f64::total_cmp);
        Density { bodies, typical_radius: radii.get(radii.len() / 2).copied().unwrap_or(0.5) }
    }

    /// Whether bodies had better begin in clusters.
    pub fn is_dense(&self, cores: usize) -> bool {
        self.company(2.0) >= DENSE || cores <= FEW_CORES && self.company(4.0) >= DENSE_FOR_FEW
    }

    /// The width of cells that suits the scene, in diameters of the typical body: the wider, the fewer cells a
    /// flight passes, but the more remotes are in them.
    pub fn cell_scale(&self) -> f64 {
        SCALES.into_iter().find(|scale| self.company(*scale) <= CROWDED).unwrap_or(NARROWEST)
    }

    /// How many bodies there are in the cell of a body, if cells are so many diameters wide.
    fn company(&self, scale: f64) -> f64 {
        let width = 2.0 * self.typical_radius * scale;
        let cell = |x: Vec3| [x.x, x.y, x.z].map(|c| (c / width).floor() as i64);
        let mut cells: Vec<[i64; 3]> = self.bodies.iter().map(|body| cell(body.start.x)).collect();
        cells.sort_unstable();
        let company: usize = cells.chunk_by(|a, b| a == b).map(|cell| cell.len() * cell.len()).sum();
        company as f64 / self.bodies.len().max(1) as f64
    }
}
