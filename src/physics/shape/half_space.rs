//! Half-spaces: floors and walls without an end. They never move.

use parry3d::shape::{HalfSpace as ParryHalfSpace, Shape as ParryShape, SharedShape};

use crate::base::aabb::Aabb;
use crate::base::math::{Quat, Vec3, to_parry};
use crate::physics::mass::MassProperties;
use crate::physics::shape::Geometry;

/// Everything below a plane through the local origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfSpace {
    /// Unit normal out of the solid, in local coordinates.
    pub normal: Vec3,
}

impl HalfSpace {
    /// The half-space with this normal, of any length but zero.
    pub(super) fn new(normal: [f64; 3]) -> Self {
        HalfSpace { normal: Vec3::from(normal).normalize() }
    }
}

impl Geometry for HalfSpace {
    fn to_parry(&self) -> SharedShape {
        SharedShape::halfspace(to_parry(self.normal))
    }

    fn with_parry<T>(&self, ask: impl FnOnce(&dyn ParryShape) -> T) -> T {
        ask(&ParryHalfSpace::new(to_parry(self.normal)))
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn is_bounded(&self) -> bool {
        false
    }

    fn bounding_radius(&self) -> f64 {
        f64::INFINITY
    }

    fn thickness(&self) -> f64 {
        f64::INFINITY
    }

    fn aabb(&self, _: Vec3, _: &Quat) -> Aabb {
        Aabb { min: Vec3::repeat(f64::NEG_INFINITY), max: Vec3::repeat(f64::INFINITY) }
    }

    #[inline]
    fn signed_distance(&self, point: Vec3) -> (Vec3, f64) {
        (self.normal, self.normal.dot(&point))
    }

    fn mass_properties(&self, _: f64) -> Option<MassProperties> {
        None
    }
}
