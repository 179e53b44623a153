//! Cylinders.

use std::f64::consts::PI;

use parry3d::shape::{Cylinder as ParryCylinder, Shape as ParryShape, SharedShape};

use crate::base::aabb::Aabb;
use crate::base::math::{Quat, Vec3};
use crate::physics::mass::{Inertia, MassProperties};
use crate::physics::shape::{Geometry, Shape};

/// A cylinder along local Y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cylinder {
    /// Radius, metres.
    pub radius: f64,
    /// Half the length, metres.
    pub half_height: f64,
}

impl Geometry for Cylinder {
    fn to_parry(&self) -> SharedShape {
        SharedShape::cylinder(self.half_height, self.radius)
    }

    fn with_parry<T>(&self, ask: impl FnOnce(&dyn ParryShape) -> T) -> T {
        ask(&ParryCylinder::new(self.half_height, self.radius))
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn is_bounded(&self) -> bool {
        true
    }

    fn bounding_radius(&self) -> f64 {
        (self.radius * self.radius + self.half_height * self.half_height).sqrt()
    }

    fn thickness(&self) -> f64 {
        2.0 * self.radius.min(self.half_height)
    }

    fn aabb(&self, x: Vec3, q: &Quat) -> Aabb {
        let axis = q * Vec3::y();
        let disc = axis.map(|c| (1.0 - c * c).max(0.0).sqrt()) * self.radius;
        Aabb::about(x, axis.abs() * self.half_height + disc)
    }

    #[inline]
    fn signed_distance(&self, point: Vec3) -> (Vec3, f64) {
        let c = point;
        let across = (c.x * c.x + c.z * c.z).sqrt();
        let outward = if across > 0.0 { Vec3::new(c.x / across, 0.0, c.z / across) } else { Vec3::x() };
        let up = Vec3::new(0.0, if c.y < 0.0 { -1.0 } else { 1.0 }, 0.0);
        let (side, end) = (across - self.radius, c.y.abs() - self.half_height);
        if side > 0.0 && end > 0.0 {
            // Nearest to the rim.
            let d = outward * side + up * end;
            let distance = d.norm();
            (d / distance, distance)
        } else if side >= end {
            (outward, side)
        } else {
            (up, end)
        }
    }

    fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        let (r, l) = (self.radius, self.half_height);
        let mass = density * (PI * r * r * 2.0 * l);
        let across = mass * (r * r / 4.0 + l * l / 3.0);
        let inertia = Inertia::about_body_axes(Vec3::new(across, 0.5 * mass * r * r, across));
        Some(MassProperties::at_origin(Shape::Cylinder(*self), mass, inertia))
    }
}
