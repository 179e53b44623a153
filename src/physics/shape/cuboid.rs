//! Boxes. The type is not called `Box`, because the standard library has one.

use parry3d::shape::{Cuboid as ParryCuboid, Shape as ParryShape, SharedShape};

use crate::base::aabb::Aabb;
use crate::base::math::{Quat, Vec3, rotation_matrix, to_parry};
use crate::physics::mass::{Inertia, MassProperties};
use crate::physics::shape::{Geometry, Shape};

/// A cuboid with edges parallel to the local axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuboid {
    /// Half the edge lengths, metres.
    pub half: Vec3,
}

impl Geometry for Cuboid {
    fn to_parry(&self) -> SharedShape {
        SharedShape::cuboid(self.half.x, self.half.y, self.half.z)
    }

    fn with_parry<T>(&self, ask: impl FnOnce(&dyn ParryShape) -> T) -> T {
        ask(&ParryCuboid::new(to_parry(self.half)))
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn is_bounded(&self) -> bool {
        true
    }

    fn bounding_radius(&self) -> f64 {
        self.half.norm()
    }

    fn thickness(&self) -> f64 {
        2.0 * self.half.min()
    }

    fn aabb(&self, x: Vec3, q: &Quat) -> Aabb {
        Aabb::about(x, rotation_matrix(q).abs() * self.half)
    }

    #[inline]
    fn signed_distance(&self, point: Vec3) -> (Vec3, f64) {
        let (c, half) = (point, &self.half);
        let closest = c.zip_map(half, |c, h| c.clamp(-h, h));
        let d = c - closest;
        let d2 = d.norm_squared();
        if d2 > 0.0 {
            let distance = d2.sqrt();
            return (d / distance, distance);
        }
        // Inside: out through the nearest face.
        let depth = half - c.abs();
        let axis = if depth.x <= depth.y && depth.x <= depth.z {
            0
        } else if depth.y <= depth.z {
            1
        } else {
            2
        };
        let mut normal = Vec3::zeros();
        normal[axis] = if c[axis] < 0.0 { -1.0 } else { 1.0 };
        (normal, -depth[axis])
    }

    fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        let half = self.half;
        let mass = density * (8.0 * half.x * half.y * half.z);
        let s = half.component_mul(&half);
        let moments = Vec3::new(s.y + s.z, s.z + s.x, s.x + s.y) * (mass / 3.0);
        Some(MassProperties::at_origin(Shape::Box(*self), mass, Inertia::about_body_axes(moments)))
    }
}
