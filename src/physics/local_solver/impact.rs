//! Hard touches: the impulse of a bounce, with the full masses of both bodies.

use smallvec::SmallVec;

use crate::physics::contact::{SplitRow, Velocity, VelocityPair, within_limits};
use crate::physics::local_solver::dense::{Matrix, ROWS_MAX};
use crate::physics::local_solver::manifold_contact::ManifoldContact;
use crate::physics::world::ContactRule;

impl ManifoldContact {
    /// Velocities after the two bodies have bounced off each other.
    pub(super) fn bounce(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> (Velocity, Velocity) {
        let pushes = self.bounce_pushes(a, b, rule);
        let mut couple = self.couple(a, b, (1.0, 1.0));
        for (point, push) in self.points.iter().zip(pushes) {
            point.row.push(push, &mut couple);
        }
        for (at, patch) in self.patches.iter().enumerate() {
            let limits = self.friction_limits_if(at, |point, _| pushes[point]);
            rub(&mut couple, &patch.rows, self.twists.get(at), limits);
        }
        (couple.a, couple.b)
    }

    /// Normal impulses: every near point that approaches is to leave with the restitution's share of its speed.
    fn bounce_pushes(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> [f64; ROWS_MAX] {
        let e = self.restitution();
        let mut pushes = [0.0; ROWS_MAX];
        let near: SmallVec<[usize; 4]> =
            (0..self.points.len()).filter(|at| self.points[*at].gap < rule.margin_m).collect();
        if let [only] = near[..] {
            let row = &self.points[only].row;
            pushes[only] = (1.0 + e) * -row.speed(a, b) / row.gain((1.0, 1.0));
            return pushes;
        }
        let rows: SmallVec<[SplitRow; 4]> = near.iter().map(|at| self.points[*at].row).collect();
        for (at, push) in near.iter().zip(joint_bounce(&rows, a, b, e, self.inv_mass)) {
            pushes[*at] = push;
        }
        pushes
    }
}

/// Several points at once. The complementary solution comes close; scaling it along its own ray then makes the
/// energy exactly what the restitution says it should be, so that an elastic bounce keeps it to rounding
/// whatever the shapes.
fn joint_bounce(
    rows: &[SplitRow],
    a: &Velocity,
    b: &Velocity,
    e: f64,
    inv_mass: (f64, f64),
) -> [f64; ROWS_MAX] {
    let entry = |i: usize, j: usize| rows[i].coupling(&rows[j], inv_mass, (1.0, 1.0));
    let matrix = Matrix::from_fn(rows.len(), entry);
    let (mut before, mut right) = ([0.0; ROWS_MAX], [0.0; ROWS_MAX]);
    for (at, row) in rows.iter().enumerate() {
        before[at] = row.speed(a, b);
        right[at] = if before[at] < 0.0 { -(1.0 + e) * before[at] } else { -before[at] };
    }
    let Some(pushes) = matrix.complementary(rows.len(), &right) else { return single_push(&matrix, &right) };
    let (mut work, mut wanted, mut spent) = (0.0, 0.0, 0.0);
    for i in 0..rows.len() {
        work += before[i] * pushes[i];
        wanted += right[i] * pushes[i];
        spent += pushes[i] * (0..rows.len()).map(|k| matrix.at[i][k] * pushes[k]).sum::<f64>();
    }
    let scale = if spent > 0.0 { (wanted.min(-2.0 * work) / spent).max(0.0) } else { 0.0 };
    pushes.map(|push| push * scale)
}

/// The last resort where rounding defeats the joint solution: only the point that approaches fastest bounces.
fn single_push(matrix: &Matrix, right: &[f64; ROWS_MAX]) -> [f64; ROWS_MAX] {
    let mut fastest = 0;
    for at in 1..matrix.len {
        if right[at] > right[fastest] {
            fastest = at;
        }
    }
    let mut pushes = [0.0; ROWS_MAX];
    pushes[fastest] = (right[fastest] / matrix.at[fastest][fastest]).max(0.0);
    pushes
}

/// Friction of a bounce: stops the sliding and the twisting, or as much of it as Coulomb's law allows.
fn rub(couple: &mut VelocityPair, rows: &[SplitRow; 2], about: Option<&SplitRow>, limits: (f64, f64)) {
    let give = |row: &SplitRow| row.gain((1.0, 1.0));
    // Both directions along the surface resist alike for balls; for others the larger give is the safe choice.
    let along = give(&rows[0]).max(give(&rows[1]));
    let slide = rows.map(|row| row.speed(&couple.a, &couple.b));
    let twist = match about {
        Some(row) if give(row) > 0.0 && limits.1 > 0.0 => -row.speed(&couple.a, &couple.b) / give(row),
        _ => 0.0,
    };
    let tangent_impulse = within_limits([-slide[0] / along, -slide[1] / along, twist], limits);
    for (row, impulse) in rows.iter().chain(about).zip(tangent_impulse) {
        row.push(impulse, couple);
    }
}
