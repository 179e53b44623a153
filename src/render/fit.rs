//! The closest view from a given side that has everything in the picture; `framing` finds what that is.

use crate::base::math::Vec3;
use crate::render::camera::{Camera, DEFAULT_FOV_DEG, View, axes};
use crate::render::framing::Focus;

/// Share of the picture's half width and height that the subject may fill.
const FILL: f64 = 0.92;

impl Focus {
    /// The view that `camera` asks for.
    pub fn view(&self, camera: &Camera, width: u32, height: u32) -> View {
        let (eye, target, fov_deg) = match *camera {
            Camera::Auto => (None, None, DEFAULT_FOV_DEG),
            Camera::LookAt { eye, target, fov_deg } => (eye, target, fov_deg.unwrap_or(DEFAULT_FOV_DEG)),
        };
        let fitted = || self.fitted_view(fov_deg, width, height);
        match (eye, target) {
            (Some(eye), target) => View::look_at(eye, target.unwrap_or(self.centre), fov_deg, width, height),
            (None, None) => fitted(),
            (None, Some(target)) => {
                let view = fitted();
                let distance = (self.centre - view.eye).dot(&view.forward).max(1e-3 * self.radius);
                View { eye: target - view.forward * distance, ..view }
            }
        }
    }

    /// The closest view from the focus's direction that has all its points in the picture.
    fn fitted_view(&self, fov_deg: f64, width: u32, height: u32) -> View {
        let (right, up, forward) = axes(-self.towards_eye);
        let half_height = libm::tan(fov_deg.to_radians() * 0.5);
        let half_width = half_height * f64::from(width) / f64::from(height);
        let across = self.bounds_along(right, forward, half_width * FILL);
        let upward = self.bounds_along(up, forward, half_height * FILL);
        let back = across.farthest_back().min(upward.farthest_back());
        let eye = self.centre
            + right * self.centred(right, forward, back, across.range(back))
            + up * self.centred(up, forward, back, upward.range(back))
            + forward * back;
        View { eye, right, up, forward, half_height, width, height }
    }

    /// Bounds on the eye that keep all points between two edges of the picture; `half` is half their distance at one metre.
    fn bounds_along(&self, axis: Vec3, forward: Vec3, half: f64) -> EdgeBounds {
        let cos = 1.0 / (1.0 + half * half).sqrt();
        let mut bounds =
            EdgeBounds { plus: f64::NEG_INFINITY, minus: f64::NEG_INFINITY, sin: half * cos, cos };
        for (p, radius) in &self.points {
            let from_centre = p - self.centre;
            let (a, z) = (from_centre.dot(&axis) * cos, from_centre.dot(&forward) * bounds.sin);
            bounds.plus = bounds.plus.max(a - z + radius);
            bounds.minus = bounds.minus.max(-a - z + radius);
        }
        bounds
    }

    /// The position of the eye within a range at which both edges of the picture have the same margin.
    fn centred(&self, axis: Vec3, forward: Vec3, back: f64, (mut low, mut high): (f64, f64)) -> f64 {
        for _ in 0..20 {
            let middle = 0.5 * (low + high);
            let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
            for (p, radius) in &self.points {
                let from_centre = p - self.centre;
                let depth = (from_centre.dot(&forward) - back).max(f64::MIN_POSITIVE);
                let a = from_centre.dot(&axis) - middle;
                first = first.min((a - radius) / depth);
                last = last.max((a + radius) / depth);
            }
            if first + last > 0.0 { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

/// A ball of radius r at (a, z) is between two edges of the picture if ±(a - eye_a) cos + r <= (z - eye_z) sin,
/// with the angle from the middle to the edge. So each edge bounds a sum of the eye's coordinates.
struct EdgeBounds {
    /// The least of eye_a cos - eye_z sin.
    plus: f64,
    /// The least of -eye_a cos - eye_z sin.
    minus: f64,
    sin: f64,
    cos: f64,
}

impl EdgeBounds {
    /// The largest eye_z from which everything is seen.
    fn farthest_back(&self) -> f64 {
        -(self.plus + self.minus) / (2.0 * self.sin)
    }

    /// The eye_a from which everything is seen, at a given eye_z.
    fn range(&self, back: f64) -> (f64, f64) {
        ((self.plus + back * self.sin) / self.cos, -(self.minus + back * self.sin) / self.cos)
    }
}
