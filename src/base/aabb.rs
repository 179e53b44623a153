//! Axis-aligned boxes: bounds of shapes, flights and cells.

use crate::base::math::Vec3;

/// An axis-aligned box, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Lower corner.
    pub min: Vec3,
    /// Upper corner.
    pub max: Vec3,
}

impl Aabb {
    /// The box of half size `half` about `centre`.
    #[inline]
    pub fn about(centre: Vec3, half: Vec3) -> Self {
        Aabb { min: centre - half, max: centre + half }
    }

    /// Whether the two boxes share a point.
    #[inline]
    pub fn overlaps(&self, other: &Aabb) -> bool {
        // Without branches: the axis that separates two boxes cannot be predicted.
        (self.min.x <= other.max.x)
            & (other.min.x <= self.max.x)
            & (self.min.y <= other.max.y)
            & (other.min.y <= self.max.y)
            & (self.min.z <= other.max.z)
            & (other.min.z <= self.max.z)
    }

    /// Whether this box contains all of the other.
    #[inline]
    pub fn contains(&self, other: &Aabb) -> bool {
        (0..3).all(|k| self.min[k] <= other.min[k] && other.max[k] <= self.max[k])
    }

    /// Whether the box contains a point.
    #[inline]
    pub fn holds(&self, point: Vec3) -> bool {
        (self.min.x <= point.x)
            & (point.x <= self.max.x)
            & (self.min.y <= point.y)
            & (point.y <= self.max.y)
            & (self.min.z <= point.z)
            & (point.z <= self.max.z)
    }

    /// The smallest box that contains both.
    #[inline]
    pub fn union(&self, other: &Aabb) -> Aabb {
        Aabb { min: self.min.inf(&other.min), max: self.max.sup(&other.max) }
    }

    /// The box grown by `margin` on every side.
    #[inline]
    pub fn grown(&self, margin: f64) -> Aabb {
        let m = Vec3::repeat(margin);
        Aabb { min: self.min - m, max: self.max + m }
    }
}
