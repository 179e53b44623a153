//! Hard touches: the impulse of a bounce, with the full masses of both bodies.

use super::row::{Row, Twist};
use super::touch::{SolvedPoint, Touch};
use crate::physics::contact::POINTS_MAX;
use crate::physics::world::Rule;

/// Sweeps over the points of a bounce; a bounce is rare and worth being exact.
const SWEEPS_MAX: usize = 64;

impl Touch {
    /// Velocities after the two bodies have bounced off each other.
    pub(super) fn bounce(&self, a: &Twist, b: &Twist, rule: &Rule) -> (Twist, Twist) {
        let e = self.restitution();
        let (ma, mb) = self.inv_mass();
        let (mut after_a, mut after_b) = (*a, *b);
        let mut near = self.points().filter(|p| p.contact.gap < rule.margin);
        let impulses = match (near.next(), near.next()) {
            (Some(only), None) => {
                let row = &only.normal;
                let mut impulses = [0.0; POINTS_MAX];
                let at = self.points().position(|p| std::ptr::eq(p, only)).unwrap_or(0);
                impulses[at] = (1.0 + e) * -row.speed(a, b) / (row.k_a + row.k_b);
                impulses
            }
            _ => self.joint_bounce(a, b, e, rule),
        };
        for (point, impulse) in self.points().zip(impulses) {
            point.normal.push(impulse, (&mut after_a, ma, 1.0), (&mut after_b, mb, 1.0));
        }
        if self.friction() > 0.0 {
            for (point, impulse) in self.points().zip(impulses) {
                self.rub(point, impulse, &mut after_a, &mut after_b);
            }
        }
        (after_a, after_b)
    }

    /// Normal impulses of several points at once: every approaching point is to leave with `e` times its speed.
    ///
    /// Gauss-Seidel comes close; scaling the result along its own ray then makes the energy exactly what the
    /// restitution says it should be, so that an elastic bounce keeps it to rounding whatever the shapes.
    fn joint_bounce(&self, a: &Twist, b: &Twist, e: f64, rule: &Rule) -> [f64; POINTS_MAX] {
        let (ma, mb) = self.inv_mass();
        let mut impulses = [0.0f64; POINTS_MAX];
        let (mut now_a, mut now_b) = (*a, *b);
        let target = |before: f64| if before < 0.0 { -e * before } else { 0.0 };
        for _ in 0..SWEEPS_MAX {
            let mut largest = 0.0f64;
            for (impulse, point) in impulses.iter_mut().zip(self.points()) {
                if point.contact.gap >= rule.margin {
                    continue;
                }
                let row = &point.normal;
                let k = row.k_a + row.k_b;
                let goal = target(row.speed(a, b));
                let new = (*impulse + (goal - row.speed(&now_a, &now_b)) / k).max(0.0);
                row.push(new - *impulse, (&mut now_a, ma, 1.0), (&mut now_b, mb, 1.0));
                largest = largest.max((new - *impulse).abs() * k);
                *impulse = new;
            }
            if largest <= 1e-14 * rule.bounce.max(1e-3) {
                break;
            }
        }
        let (mut work, mut wanted, mut stiffness) = (0.0, 0.0, 0.0);
        for (impulse, point) in impulses.iter().zip(self.points()) {
            let before = point.normal.speed(a, b);
            work += before * impulse;
            wanted += (target(before) - before) * impulse;
            stiffness += (point.normal.speed(&now_a, &now_b) - before) * impulse;
        }
        if stiffness > 0.0 {
            let scale = (wanted.min(-2.0 * work) / stiffness).max(0.0);
            impulses = impulses.map(|impulse| impulse * scale);
        }
        impulses
    }

    /// Friction of a bounce: stops the sliding, or as much of it as the cone allows.
    fn rub(&self, point: &SolvedPoint, pushed: f64, a: &mut Twist, b: &mut Twist) {
        let Some(tangents) = &point.tangents else { return };
        let slide = tangents.map(|row| row.speed(a, b));
        let speed = (slide[0] * slide[0] + slide[1] * slide[1]).sqrt();
        if speed == 0.0 || pushed == 0.0 {
            return;
        }
        let stiffness = |row: &Row| row.k_a + row.k_b;
        // Exact for balls, where both directions resist alike; for others the stiffer one is the safe choice.
        let k = stiffness(&tangents[0]).max(stiffness(&tangents[1]));
        let impulse = (speed / k).min(self.friction() * pushed);
        let (ma, mb) = self.inv_mass();
        for (row, slide) in tangents.iter().zip(slide) {
            row.push(-impulse * slide / speed, (a, ma, 1.0), (b, mb, 1.0));
        }
    }
}
