//! Impacts between shapes of any kind: the impulse of a bounce, with the full masses of both bodies.

use smallvec::SmallVec;

use crate::physics::contact::{SplitRow, Velocity, VelocityPair, within_limits};
use crate::physics::local_solver::dense::{Matrix, ROWS_MAX};
use crate::physics::local_solver::manifold_contact::ManifoldContact;
use crate::physics::world::ContactRule;

impl ManifoldContact {
    /// Velocities after the two bodies have bounced off each other.
    pub(super) fn bounce(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> (Velocity, Velocity) {
        let pushes = self.bounce_pushes(a, b, rule);
        let mut pair = self.velocity_pair(a, b, (1.0, 1.0));
        for (point, push) in self.points.iter().zip(pushes) {
            point.row.push(push, &mut pair);
        }
        for (at, patch) in self.patches.iter().enumerate() {
            let limits = self.friction_limits_if(at, |point, _| pushes[point]);
            apply_friction(&mut pair, &patch.rows, self.spin_rows.get(at), limits);
        }
        (pair.a, pair.b)
    }

    /// Normal impulses: every near point that approaches rebounds with the restitution's share of its speed.
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
        for (at, push) in near.iter().zip(common_bounce(&rows, a, b, e, self.inv_mass)) {
            pushes[*at] = push;
        }
        pushes
    }
}

/// Several points at once. The complementary solution comes close; scaling it along its own ray then makes the
/// energy exactly what the restitution says it should be, so that an elastic bounce keeps it to rounding
/// whatever the shapes.
fn common_bounce(
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

/// The last resort where rounding spoils the solution of all points together: only the fastest point bounces.
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

/// Friction of a bounce: stops sliding and spinning, or as much of it as Coulomb's law allows.
fn apply_friction(
    pair: &mut VelocityPair,
    rows: &[SplitRow; 2],
    about: Option<&SplitRow>,
    limits: (f64, f64),
) {
    let gain = |row: &SplitRow| row.gain((1.0, 1.0));
    // Balls have one gain for both directions along the surface; for other shapes the larger is the safe choice.
    let along = gain(&rows[0]).max(gain(&rows[1]));
    let slide = rows.map(|row| row.speed(&pair.a, &pair.b));
    let spin = match about {
        Some(row) if gain(row) > 0.0 && limits.1 > 0.0 => -row.speed(&pair.a, &pair.b) / gain(row),
        Some(_) | None => 0.0,
    };
    let tangent_impulse = within_limits([-slide[0] / along, -slide[1] / along, spin], limits);
    for (row, impulse) in rows.iter().chain(about).zip(tangent_impulse) {
        row.push(impulse, pair);
    }
}
