//! Capsules: the points within a radius of a segment.

use std::f64::consts::PI;

use parry3d::shape::{Capsule as ParryCapsule, Shape as ParryShape, SharedShape};

use crate::base::aabb::Aabb;
use crate::base::math::{Quat, Vec3, to_parry};
use crate::physics::mass::{Inertia, MassProperties};
use crate::physics::shape::{Geometry, Shape};

/// A cylinder with half-balls on its ends, along local Y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule {
    /// Radius of the straight part and of its ends, metres.
    pub radius: f64,
    /// Half the length of the straight part, metres.
    pub half_height: f64,
}

impl Geometry for Capsule {
    fn to_parry(&self) -> SharedShape {
        SharedShape::capsule_y(self.half_height, self.radius)
    }

    fn with_parry<T>(&self, ask: impl FnOnce(&dyn ParryShape) -> T) -> T {
        let along_y = |half_height: f64| to_parry(Vec3::new(0.0, half_height, 0.0));
        ask(&ParryCapsule::new(along_y(-self.half_height), along_y(self.half_height), self.radius))
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn is_bounded(&self) -> bool {
        true
    }

    fn bounding_radius(&self) -> f64 {
        self.half_height + self.radius
    }

    fn thickness(&self) -> f64 {
        2.0 * self.radius
    }

    fn aabb(&self, x: Vec3, q: &Quat) -> Aabb {
        let axis = (q * Vec3::y()).abs() * self.half_height;
        Aabb::about(x, axis + Vec3::repeat(self.radius))
    }

    #[inline]
    fn signed_distance(&self, point: Vec3) -> (Vec3, f64) {
        distance_from_core(point, self.radius, self.half_height)
    }

    fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        let (r, l) = (self.radius, self.half_height);
        let tube = density * (PI * r * r * 2.0 * l);
        let caps = density * (4.0 / 3.0 * PI * r * r * r);
        let along = 0.5 * tube * r * r + 0.4 * caps * r * r;
        // The centre of each cap, a half-ball, lies 3r/8 beyond the end of the tube.
        let across = tube * (r * r / 4.0 + l * l / 3.0) + caps * (0.4 * r * r + l * l + 0.75 * l * r);
        let inertia = Inertia::about_body_axes(Vec3::new(across, along, across));
        Some(MassProperties::at_origin(Shape::Capsule(*self), tube + caps, inertia))
    }
}

/// Outward direction and signed distance of a point from the points within `radius` of a segment along Y of length
/// twice `half_height`.
#[inline]
pub(super) fn distance_from_core(c: Vec3, radius: f64, half_height: f64) -> (Vec3, f64) {
    let d = c - Vec3::new(0.0, c.y.clamp(-half_height, half_height), 0.0);
    let distance = d.norm();
    let normal = if distance > 0.0 { d / distance } else { Vec3::x() };
    (normal, distance - radius)
}
