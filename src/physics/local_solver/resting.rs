//! Resting contacts between shapes of any kind: the impulses that hold two bodies, and the shifts that undo their
//! overlap.
//!
//! Each body is split evenly among its contacts, so that every pair can be solved on its own and the results
//! added up (mass splitting). Several points of one pair are solved together.

use smallvec::SmallVec;

use crate::physics::contact::{SplitRow, Velocity, VelocityPair, closing_speed, within_limits};
use crate::physics::local_solver::dense::{Matrix, ROWS_MAX};
use crate::physics::local_solver::manifold_contact::{ManifoldContact, SolvedPoint};
use crate::physics::world::ContactRule;

/// Sweeps where the points of a pair cannot be solved directly: some slip, or normals differ. Not tuned.
const SWEEPS: usize = 8;

impl ManifoldContact {
    /// One iteration: the two bodies, split by `weights`, exchange impulses until they no longer approach
    /// faster than their gaps allow.
    pub(super) fn relax(&mut self, a: &Velocity, b: &Velocity, weights: (f64, f64), tick_s: f64) {
        let mut pair = self.velocity_pair(a, b, weights);
        let one_patch = self.patches.len() <= 1;
        if self.points.len() == 1 {
            self.sweep(&mut pair, tick_s);
        } else if !(one_patch && self.solve_directly(&pair, tick_s)) {
            for _ in 0..SWEEPS {
                self.sweep(&mut pair, tick_s);
            }
        }
    }

    /// Solves all points and the friction of a single patch directly. Does nothing and says no if that would pull, or
    /// exceed Coulomb's limit.
    fn solve_directly(&mut self, pair: &VelocityPair, tick_s: f64) -> bool {
        let system = self.system.take().unwrap_or_else(|| Box::new(System::new(self, pair)));
        let unilateral = self.points.len();
        let found = system.solve(self, pair, tick_s);
        self.system = Some(system);
        let Some(found) = found else { return false };
        let before: SmallVec<[f64; 4]> = self.points.iter().map(|p| p.normal_impulse).collect();
        for (point, normal_impulse) in self.points.iter_mut().zip(found) {
            point.normal_impulse = normal_impulse;
        }
        if !self.patches.is_empty() {
            let wanted = [found[unilateral], found[unilateral + 1], found[unilateral + 2]];
            if within_limits(wanted, self.friction_limits(0)) != wanted {
                for (point, before) in self.points.iter_mut().zip(before) {
                    point.normal_impulse = before;
                }
                return false;
            }
            self.patches[0].tangent_impulse = wanted;
        }
        true
    }

    /// One pass over points and patches; each sees the velocities that the ones before it have changed.
    fn sweep(&mut self, pair: &mut VelocityPair, tick_s: f64) {
        for point in &mut self.points {
            let missing =
                allowed_speed(point.gap, point.was_loaded, tick_s) - point.row.speed(&pair.a, &pair.b);
            let normal_impulse = (point.normal_impulse + missing / point.row.gain(pair.weights)).max(0.0);
            point.row.push(normal_impulse - point.normal_impulse, pair);
            point.normal_impulse = normal_impulse;
        }
        for at in 0..self.patches.len() {
            let limits = self.friction_limits(at);
            let patch = &mut self.patches[at];
            let rows = || patch.rows.iter().chain(self.spin_rows.get(at));
            let mut wanted = patch.tangent_impulse;
            for (wanted, row) in wanted.iter_mut().zip(rows()) {
                *wanted -= row.speed(&pair.a, &pair.b) / row.gain(pair.weights);
            }
            let tangent_impulse = within_limits(wanted, limits);
            for ((row, new), old) in rows().zip(tangent_impulse).zip(patch.tangent_impulse) {
                row.push(new - old, pair);
            }
            patch.tangent_impulse = tangent_impulse;
        }
    }

    /// How far the bodies move in this tick to undo a share of their overlap, and of the gaps at points that carry
    /// load: displacement and turn of the first and of the second. Moves bodies, never changes velocities. `a` and
    /// `b` are the velocities after the impacts: what separates by itself needs no correction.
    pub(super) fn correction(
        &self,
        a: &Velocity,
        b: &Velocity,
        weights: (f64, f64),
        rule: &ContactRule,
    ) -> (Velocity, Velocity) {
        let mut shift = self.velocity_pair(&Velocity::ZERO, &Velocity::ZERO, (1.0, 1.0));
        if !self.has_bounced {
            let is_loaded = |p: &&SolvedPoint| p.normal_impulse > 0.0;
            let rests = |p: &&SolvedPoint| is_loaded(p) || p.row.speed(a, b) <= rule.bounce_speed_mps;
            let overlapping = self.points.iter().filter(|p| p.gap < 0.0).filter(rests);
            self.shift_points(overlapping, weights, rule.correction, &mut shift);
            let with_gap = self.points.iter().filter(|p| p.gap > 0.0).filter(is_loaded);
            self.shift_points(with_gap, weights, rule.correction, &mut shift);
        }
        (shift.a, shift.b)
    }

    /// Undoes a share of the gaps, or of the overlaps, of some points.
    fn shift_points<'a>(
        &self,
        points: impl Iterator<Item = &'a SolvedPoint>,
        weights: (f64, f64),
        share: f64,
        shift: &mut VelocityPair,
    ) {
        let points: SmallVec<[&SolvedPoint; 4]> = points.collect();
        if let [only] = points[..] {
            return only.row.push(share * -only.gap / only.row.gain(weights), shift);
        }
        let Some(first) = points.first() else { return };
        let entry = |i: usize, j: usize| points[i].row.coupling(&points[j].row, self.inv_mass, weights);
        let mut right = [0.0; ROWS_MAX];
        for (right, point) in right.iter_mut().zip(&points) {
            *right = share * point.gap.abs();
        }
        if let Some(pushes) = Matrix::from_fn(points.len(), entry).complementary(points.len(), &right) {
            for (point, push) in points.iter().zip(pushes) {
                point.row.push(push.copysign(-first.gap), shift);
            }
        }
    }
}

/// The rows of a contact with a single patch, and the coupling of each with the others.
#[derive(Clone, Debug)]
pub(super) struct System {
    rows: SmallVec<[SplitRow; ROWS_MAX]>,
    matrix: Matrix,
}

impl System {
    fn new(contact: &ManifoldContact, pair: &VelocityPair) -> Self {
        let mut rows: SmallVec<[SplitRow; ROWS_MAX]> = contact.points.iter().map(|p| p.row).collect();
        rows.extend(contact.patches.iter().flat_map(|patch| patch.rows));
        rows.extend(contact.spin_rows.iter().copied());
        let entry = |i: usize, j: usize| rows[i].coupling(&rows[j], pair.inv_mass, pair.weights);
        System { matrix: Matrix::from_fn(rows.len(), entry), rows }
    }

    /// Impulses that leave no point approaching faster than allowed, and nothing sliding.
    fn solve(&self, contact: &ManifoldContact, pair: &VelocityPair, tick_s: f64) -> Option<[f64; ROWS_MAX]> {
        let unilateral = contact.points.len();
        let (mut now, mut right) = ([0.0; ROWS_MAX], [0.0; ROWS_MAX]);
        for ((now, right), point) in now.iter_mut().zip(&mut right).zip(&contact.points) {
            *now = point.normal_impulse;
            *right = allowed_speed(point.gap, point.was_loaded, tick_s);
        }
        for patch in &contact.patches {
            now[unilateral..unilateral + 3].copy_from_slice(&patch.tangent_impulse);
        }
        for (i, row) in self.rows.iter().enumerate() {
            let present: f64 = (0..self.rows.len()).map(|k| self.matrix.at[i][k] * now[k]).sum();
            right[i] += present - row.speed(&pair.a, &pair.b);
        }
        self.matrix.complementary(unilateral, &right)
    }
}

/// The least normal speed of a point, m/s. A gap may close within the tick; bodies without a gap may not approach. Nor
/// may points that carried load at the tick before, however wide their gap: closing it here would enter the cached
/// impulses, which add up over ticks, and piles would shake themselves down. Such gaps are closed by moving the bodies.
#[inline]
pub(super) fn allowed_speed(gap: f64, was_loaded: bool, tick_s: f64) -> f64 {
    if gap > 0.0 && !was_loaded { closing_speed(gap, tick_s) } else { 0.0 }
}
