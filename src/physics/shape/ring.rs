//! Rings: the points within a radius of a circle.

use std::f64::consts::{PI, TAU};

use parry3d::shape::{Shape as ParryShape, SharedShape};

use crate::base::aabb::Aabb;
use crate::base::math::{Quat, Vec3, to_parry, to_parry_pose};
use crate::physics::mass::{Inertia, MassProperties};
use crate::physics::shape::{Geometry, Shape};

/// Capsules that stand for a ring in parry. Only the Rapier engine's results depend on their number. Not tuned.
const PARRY_CORNERS: u32 = 32;

/// A ring about local Y: the points within `tube` of a circle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ring {
    /// From the centre to the middle of the tube, metres.
    pub radius: f64,
    /// Radius of the tube, metres.
    pub tube: f64,
}

impl Geometry for Ring {
    /// Parry has no rings: a closed chain of capsules, with corners on the circle.
    fn to_parry(&self) -> SharedShape {
        let Ring { radius, tube } = *self;
        let corner = |number: u32| {
            let (sin, cos) = libm::sincos(TAU * f64::from(number) / f64::from(PARRY_CORNERS));
            to_parry(Vec3::new(radius * cos, 0.0, radius * sin))
        };
        let identity = to_parry_pose(Vec3::zeros(), &Quat::identity());
        let capsules = (0..PARRY_CORNERS)
            .map(|number| (identity, SharedShape::capsule(corner(number), corner(number + 1), tube)));
        SharedShape::compound(capsules.collect())
    }

    /// Allocates, unlike the others; but rings have a contact kernel of their own.
    fn with_parry<T>(&self, ask: impl FnOnce(&dyn ParryShape) -> T) -> T {
        ask(&*self.to_parry().0)
    }

    fn is_convex(&self) -> bool {
        false
    }

    fn is_bounded(&self) -> bool {
        true
    }

    fn bounding_radius(&self) -> f64 {
        self.radius + self.tube
    }

    fn thickness(&self) -> f64 {
        2.0 * self.tube
    }

    fn aabb(&self, x: Vec3, q: &Quat) -> Aabb {
        let disc = (q * Vec3::y()).map(|c| (1.0 - c * c).max(0.0).sqrt()) * self.radius;
        Aabb::about(x, disc + Vec3::repeat(self.tube))
    }

    #[inline]
    fn signed_distance(&self, point: Vec3) -> (Vec3, f64) {
        let c = point;
        let across = (c.x * c.x + c.z * c.z).sqrt();
        let outward = if across > 0.0 { Vec3::new(c.x / across, 0.0, c.z / across) } else { Vec3::x() };
        // From the nearest point of the circle.
        let d = outward * (across - self.radius) + Vec3::y() * c.y;
        let distance = d.norm();
        (if distance > 0.0 { d / distance } else { Vec3::y() }, distance - self.tube)
    }

    fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        let Ring { radius, tube } = *self;
        let (r2, t2) = (radius * radius, tube * tube);
        let mass = density * (2.0 * PI * PI * radius * t2);
        let (along, across) = (mass * (r2 + 0.75 * t2), mass * (0.5 * r2 + 0.625 * t2));
        let inertia = Inertia::about_body_axes(Vec3::new(across, along, across));
        Some(MassProperties::at_origin(Shape::Ring(*self), mass, inertia))
    }
}
