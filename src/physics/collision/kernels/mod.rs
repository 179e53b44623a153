//! Contact kernels: where two shapes touch, as pure functions of their poses.
//!
//! A kernel sees the pair and nothing else, never what was computed before, so that every executor finds the
//! same points. Pairs that occur most have a kernel here (balls and rings against everything, boxes against boxes and
//! planes); the rest is asked of parry, without its caches.

mod box_box;
mod box_plane;
mod general;
mod reduce;
mod ring;
mod sphere;

use smallvec::SmallVec;

use crate::base::math::{Quat, Vec3};
use crate::physics::shape::{Cuboid, HalfSpace, Ring, Shape, Sphere};

/// The largest number of points of a pair.
pub const POINTS_MAX: usize = 4;

/// One point where two shapes touch, or come near each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// Identifies the parts of the shapes that touch: the same parts have the same number at the next tick.
    pub feature: u64,
    /// Position half way between the two surfaces, in world coordinates, metres.
    pub point: Vec3,
    /// Unit vector out of the second shape into the first.
    pub normal: Vec3,
    /// Distance between the surfaces, metres; negative when they overlap.
    pub gap: f64,
}

impl ContactPoint {
    const NONE: ContactPoint = ContactPoint {
        feature: 0,
        point: Vec3::new(0.0, 0.0, 0.0),
        normal: Vec3::new(0.0, 1.0, 0.0),
        gap: 0.0,
    };
}

/// Up to [`POINTS_MAX`] points, in ascending feature number. Mostly there is one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifold {
    points: SmallVec<[ContactPoint; 1]>,
}

impl Manifold {
    /// No points.
    #[inline]
    pub fn empty() -> Self {
        Self::default()
    }

    /// One point.
    #[inline]
    pub fn single(point: ContactPoint) -> Self {
        Manifold { points: SmallVec::from_buf([point]) }
    }

    /// The points, in ascending feature number.
    #[inline]
    pub fn points(&self) -> &[ContactPoint] {
        &self.points
    }

    /// The smallest gap of any point, metres; infinite without points.
    pub fn gap(&self) -> f64 {
        self.points.iter().fold(f64::INFINITY, |gap, point| gap.min(point.gap))
    }

    /// The same points seen from the other shape.
    fn flipped(mut self) -> Self {
        for point in &mut self.points {
            point.normal = -point.normal;
        }
        self
    }

    /// The first [`POINTS_MAX`] points, sorted by feature.
    fn from_points(points: &[ContactPoint]) -> Self {
        let mut points: SmallVec<[ContactPoint; 1]> = points.iter().take(POINTS_MAX).copied().collect();
        points.sort_by_key(|point| point.feature);
        Manifold { points }
    }
}

/// A shape at a pose.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// The shape in its own coordinates.
    pub shape: &'a Shape,
    /// Position of the shape's origin, metres.
    pub x: Vec3,
    /// Orientation.
    pub q: Quat,
}

impl Placed<'_> {
    /// A point in the coordinates of the shape.
    fn local_point(&self, point: Vec3) -> Vec3 {
        self.q.inverse_transform_vector(&(point - self.x))
    }

    /// Direction and distance (metres) from the surface to a point; the distance is negative inside. Meshes have no
    /// inside.
    pub(crate) fn signed_distance(&self, point: Vec3) -> (Vec3, f64) {
        let (normal, distance) = self.shape.signed_distance(self.local_point(point));
        (self.q * normal, distance)
    }
}

/// Where `a` and `b` come closer than `reach` (metres). Always called with the body of the smaller id as `a`, or with a
/// body as `a` and static geometry as `b`.
pub fn contact(a: &Placed, b: &Placed, reach: f64) -> Manifold {
    match (a.shape, b.shape) {
        (Shape::Sphere(Sphere { radius: ra }), Shape::Sphere(Sphere { radius: rb })) => {
            sphere::against_sphere(a.x, *ra, b.x, *rb, reach)
        }
        (Shape::Ring(Ring { radius, tube }), _) => ring::against(a, *radius, *tube, b, reach),
        (_, Shape::Ring(Ring { radius, tube })) => ring::against(b, *radius, *tube, a, reach).flipped(),
        (Shape::Sphere(Sphere { radius }), _) => sphere::against(a.x, *radius, b, reach),
        (_, Shape::Sphere(Sphere { radius })) => sphere::against(b.x, *radius, a, reach).flipped(),
        (Shape::Box(Cuboid { half: ha }), Shape::Box(Cuboid { half: hb })) => {
            box_box::contact(a, ha, b, hb, reach)
        }
        (Shape::Box(Cuboid { half }), Shape::HalfSpace(HalfSpace { normal })) => {
            box_plane::contact(a, half, b.x, b.q * normal, reach)
        }
        (Shape::HalfSpace(HalfSpace { normal }), Shape::Box(Cuboid { half })) => {
            box_plane::contact(b, half, a.x, a.q * normal, reach).flipped()
        }
        (
            Shape::Box(_)
            | Shape::Capsule(_)
            | Shape::Cylinder(_)
            | Shape::Hull(_)
            | Shape::HalfSpace(_)
            | Shape::Mesh(_),
            Shape::Box(_)
            | Shape::Capsule(_)
            | Shape::Cylinder(_)
            | Shape::Hull(_)
            | Shape::HalfSpace(_)
            | Shape::Mesh(_),
        ) => general::contact(a, b, reach),
    }
}
