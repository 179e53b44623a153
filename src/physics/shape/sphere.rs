//! Balls.

use std::f64::consts::PI;

use parry3d::shape::{Ball, Shape as ParryShape, SharedShape};

use crate::base::aabb::Aabb;
use crate::base::math::{Quat, Vec3};
use crate::physics::mass::{Inertia, MassProperties};
use crate::physics::shape::capsule::distance_from_core;
use crate::physics::shape::{Geometry, Shape};

/// A ball.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Radius, metres.
    pub radius: f64,
}

impl Geometry for Sphere {
    fn to_parry(&self) -> SharedShape {
        SharedShape::ball(self.radius)
    }

    fn with_parry<T>(&self, ask: impl FnOnce(&dyn ParryShape) -> T) -> T {
        ask(&Ball::new(self.radius))
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn is_bounded(&self) -> bool {
        true
    }

    fn bounding_radius(&self) -> f64 {
        self.radius
    }

    fn thickness(&self) -> f64 {
        2.0 * self.radius
    }

    fn aabb(&self, x: Vec3, _: &Quat) -> Aabb {
        Aabb::about(x, Vec3::repeat(self.radius))
    }

    #[inline]
    fn signed_distance(&self, point: Vec3) -> (Vec3, f64) {
        distance_from_core(point, self.radius, 0.0)
    }

    fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        let r = self.radius;
        let mass = density * (4.0 / 3.0 * PI * r * r * r);
        let inertia = Inertia::Isotropic { moment: 0.4 * mass * r * r };
        Some(MassProperties::at_origin(Shape::Sphere(*self), mass, inertia))
    }
}
