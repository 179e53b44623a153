//! Free rotation of bodies with unequal moments of inertia: one fixed integrator, tick by tick.
//!
//! The motion is split into exact turns about the principal axes (half, half, whole, half, half). Each of them
//! keeps the angular momentum in the world, so the whole does, and the energy error stays bounded however long
//! the flight is: nothing drifts.

use crate::base::math::{Quat, Vec3, quat_raw};

/// Orientation and angular momentum of a tumbling body, in its principal axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tumble {
    /// Turns principal axes into world axes.
    pub orientation: Quat,
    /// Angular momentum in principal axes, kg m²/s.
    pub momentum: Vec3,
}

impl Tumble {
    /// Of a body with orientation `q` and angular velocity `w` (rad/s, in the world).
    pub fn new(q: &Quat, w: Vec3, moments: &Vec3, frame: &Quat) -> Self {
        let orientation = q * frame;
        let momentum = orientation.inverse_transform_vector(&w).component_mul(moments);
        Tumble { orientation, momentum }
    }

    /// Orientation of the body's own axes.
    pub fn q(&self, frame: &Quat) -> Quat {
        self.orientation * frame.conjugate()
    }

    /// Angular velocity in the world, rad/s.
    pub fn w(&self, moments: &Vec3) -> Vec3 {
        self.orientation * self.momentum.component_div(moments)
    }

    /// Advances by one tick.
    pub fn advance(&mut self, moments: &Vec3, tick_s: f64) {
        self.turn(0, moments.x, 0.5 * tick_s);
        self.turn(1, moments.y, 0.5 * tick_s);
        self.turn(2, moments.z, tick_s);
        self.turn(1, moments.y, 0.5 * tick_s);
        self.turn(0, moments.x, 0.5 * tick_s);
    }

    /// Turns about one principal axis as if only that axis carried energy.
    fn turn(&mut self, axis: usize, moment: f64, span_s: f64) {
        let angle = self.momentum[axis] / moment * span_s;
        if angle == 0.0 {
            return;
        }
        let (half_sin, half_cos) = libm::sincos(0.5 * angle);
        let mut part = [0.0; 3];
        part[axis] = half_sin;
        self.orientation *= quat_raw(part[0], part[1], part[2], half_cos);
        let (sin, cos) = (2.0 * half_sin * half_cos, half_cos * half_cos - half_sin * half_sin);
        let (j, k) = ((axis + 1) % 3, (axis + 2) % 3);
        let (mj, mk) = (self.momentum[j], self.momentum[k]);
        self.momentum[j] = cos * mj + sin * mk;
        self.momentum[k] = cos * mk - sin * mj;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spinning racket, 200,000 ticks: angular momentum to rounding, energy within a bounded wobble.
    #[test]
    fn momentum_is_kept_and_energy_does_not_drift() {
        let moments = Vec3::new(1.0, 2.0, 3.0);
        let frame = Quat::identity();
        let mut body = Tumble::new(&Quat::identity(), Vec3::new(0.1, 4.0, 0.2), &moments, &frame);
        let energy = |b: &Tumble| 0.5 * b.momentum.dot(&b.momentum.component_div(&moments));
        let (l0, e0) = (body.orientation * body.momentum, energy(&body));
        let mut worst = 0.0f64;
        for _ in 0..200_000 {
            body.advance(&moments, 1.0 / 240.0);
            worst = worst.max((energy(&body) / e0 - 1.0).abs());
        }
        assert!(worst < 1e-4, "energy wobbles by {worst}");
        assert!((energy(&body) / e0 - 1.0).abs() < 1e-4);
        assert!((body.orientation * body.momentum - l0).norm() < 1e-9 * l0.norm());
    }

    #[test]
    fn a_turn_about_a_principal_axis_is_steady() {
        let moments = Vec3::new(1.0, 2.0, 3.0);
        let frame = Quat::identity();
        let mut body = Tumble::new(&Quat::identity(), Vec3::new(0.0, 0.0, 2.0), &moments, &frame);
        for _ in 0..240 {
            body.advance(&moments, 1.0 / 240.0);
        }
        let expected = crate::base::math::rotation_exp(Vec3::new(0.0, 0.0, 2.0));
        assert!(body.q(&frame).angle_to(&expected) < 1e-12);
        assert!((body.w(&moments) - Vec3::new(0.0, 0.0, 2.0)).norm() < 1e-12);
    }
}
