//! Shapes, one file each. A file holds everything its shape can say of itself; [`Shape`] only passes questions on.
//!
//! Not here: pairs of shapes, see [`collision::kernels`](crate::physics::collision::kernels).

mod capsule;
mod cuboid;
mod cylinder;
mod half_space;
mod hull;
mod mesh;
mod ring;
mod sphere;
mod triangle;

pub use capsule::Capsule;
pub use cuboid::Cuboid;
pub use cylinder::Cylinder;
pub use half_space::HalfSpace;
pub use hull::Hull;
pub use mesh::Mesh;
pub use ring::Ring;
pub use sphere::Sphere;
pub(in crate::physics) use triangle::closest_on_triangle;

use parry3d::shape::{Shape as ParryShape, SharedShape};

use crate::base::aabb::Aabb;
use crate::base::math::{Quat, Vec3, to_parry};
use crate::physics::mass::MassProperties;
use crate::scene::{self, SceneError};

/// What every shape must be able to say of itself, in its own coordinates. A new shape that leaves out one of these
/// does not compile.
trait Geometry {
    fn to_parry(&self) -> SharedShape;
    fn with_parry<T>(&self, ask: impl FnOnce(&dyn ParryShape) -> T) -> T;
    fn is_convex(&self) -> bool;
    fn is_bounded(&self) -> bool;
    fn bounding_radius(&self) -> f64;
    fn thickness(&self) -> f64;
    fn aabb(&self, x: Vec3, q: &Quat) -> Aabb;
    fn signed_distance(&self, point: Vec3) -> (Vec3, f64);
    fn mass_properties(&self, density: f64) -> Option<MassProperties>;
}

/// A shape about its centre of mass.
#[derive(Clone)]
pub enum Shape {
    /// A ball.
    Sphere(Sphere),
    /// A cuboid.
    Box(Cuboid),
    /// A cylinder with half-balls on its ends, along local Y.
    Capsule(Capsule),
    /// A cylinder along local Y.
    Cylinder(Cylinder),
    /// A ring about local Y.
    Ring(Ring),
    /// A convex polyhedron.
    Hull(Hull),
    /// Everything below a plane through the local origin.
    HalfSpace(HalfSpace),
    /// A surface of triangles.
    Mesh(Mesh),
}

/// Evaluates an expression for the shape in the enum, whichever it is.
macro_rules! dispatch {
    ($shape:expr, $each:ident => $answer:expr) => {
        match $shape {
            Shape::Sphere($each) => $answer,
            Shape::Box($each) => $answer,
            Shape::Capsule($each) => $answer,
            Shape::Cylinder($each) => $answer,
            Shape::Ring($each) => $answer,
            Shape::Hull($each) => $answer,
            Shape::HalfSpace($each) => $answer,
            Shape::Mesh($each) => $answer,
        }
    };
}

impl Shape {
    /// Makes the shape of a scene ready. `field` names the object in errors.
    pub(crate) fn new(given: &scene::Shape, field: impl Fn() -> String) -> Result<Shape, SceneError> {
        Ok(match given {
            scene::Shape::Sphere { radius } => Shape::Sphere(Sphere { radius: *radius }),
            scene::Shape::Box { half_extents } => Shape::Box(Cuboid { half: Vec3::from(*half_extents) }),
            scene::Shape::Capsule { radius, half_height } => {
                Shape::Capsule(Capsule { radius: *radius, half_height: *half_height })
            }
            scene::Shape::Cylinder { radius, half_height } => {
                Shape::Cylinder(Cylinder { radius: *radius, half_height: *half_height })
            }
            scene::Shape::Ring { radius, tube } => Shape::Ring(Ring { radius: *radius, tube: *tube }),
            scene::Shape::Hull { points } => Shape::Hull(Hull::new(points, field)?),
            scene::Shape::HalfSpace { normal } => Shape::HalfSpace(HalfSpace::new(*normal)),
            scene::Shape::Mesh { vertices, triangles, .. } => {
                Shape::Mesh(Mesh::new(vertices, triangles, field)?)
            }
        })
    }

    /// The same shape as parry sees it, for queries that are not ours and for pictures.
    pub fn to_parry(&self) -> SharedShape {
        dispatch!(self, shape => shape.to_parry())
    }

    /// Shows the shape to parry without a heap allocation.
    pub(crate) fn with_parry<T>(&self, ask: impl FnOnce(&dyn ParryShape) -> T) -> T {
        dispatch!(self, shape => shape.with_parry(ask))
    }

    /// Whether the segment between any two points of the shape lies in the shape.
    pub fn is_convex(&self) -> bool {
        dispatch!(self, shape => shape.is_convex())
    }

    /// Whether [`Shape::aabb`] is finite.
    pub(crate) fn is_bounded(&self) -> bool {
        dispatch!(self, shape => shape.is_bounded())
    }

    /// Radius of the smallest ball about the centre of mass that holds the shape, metres; infinite for half-spaces.
    pub fn bounding_radius(&self) -> f64 {
        dispatch!(self, shape => shape.bounding_radius())
    }

    /// The smallest length across the shape, metres: a body that travels further per tick can tunnel.
    pub fn thickness(&self) -> f64 {
        dispatch!(self, shape => shape.thickness())
    }

    /// Bounds of the shape at a pose. Those of a half-space are infinite.
    pub fn aabb(&self, x: Vec3, q: &Quat) -> Aabb {
        dispatch!(self, shape => shape.aabb(x, q))
    }

    /// Direction and distance (metres) from the surface to a point in local coordinates; the distance is negative
    /// inside. Meshes have no inside.
    #[inline]
    pub(crate) fn signed_distance(&self, point: Vec3) -> (Vec3, f64) {
        dispatch!(self, shape => shape.signed_distance(point))
    }

    /// Mass properties of a solid of uniform density (kg/m³). `None` for shapes without volume.
    pub(crate) fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        dispatch!(self, shape => shape.mass_properties(density))
    }
}

/// Points of a scene as parry has them.
fn to_parry_points(points: &[[f64; 3]]) -> Vec<parry3d::math::Vector> {
    points.iter().map(|p| to_parry(Vec3::from(*p))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::base::math::from_parry;

    /// One shape of every kind. `kind` does not compile if one is missing there, and the test fails if it is missing
    /// here.
    fn one_of_each() -> Vec<Shape> {
        let corners =
            [[0.5, 0.0, 0.0], [-0.4, 0.5, 0.1], [-0.3, -0.4, 0.3], [0.0, 0.0, -0.6], [0.1, 0.3, 0.4]];
        let folded = [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]];
        let given = [
            scene::Shape::Sphere { radius: 0.7 },
            scene::Shape::Box { half_extents: [0.2, 0.5, 0.9] },
            scene::Shape::Capsule { radius: 0.3, half_height: 0.6 },
            scene::Shape::Cylinder { radius: 0.5, half_height: 0.4 },
            scene::Shape::Ring { radius: 0.8, tube: 0.2 },
            scene::Shape::Hull { points: corners.to_vec() },
            scene::Shape::HalfSpace { normal: [0.6, 0.8, 0.0] },
            scene::Shape::Mesh {
                file: None,
                vertices: folded.to_vec(),
                triangles: vec![[0, 1, 2], [1, 0, 3]],
            },
        ];
        given.iter().map(|given| Shape::new(given, || "test".into()).unwrap()).collect()
    }

    const KINDS: usize = 8;

    fn kind(shape: &Shape) -> (usize, &'static str) {
        match shape {
            Shape::Sphere(_) => (0, "sphere"),
            Shape::Box(_) => (1, "box"),
            Shape::Capsule(_) => (2, "capsule"),
            Shape::Cylinder(_) => (3, "cylinder"),
            Shape::Ring(_) => (4, "ring"),
            Shape::Hull(_) => (5, "hull"),
            Shape::HalfSpace(_) => (6, "half-space"),
            Shape::Mesh(_) => (7, "mesh"),
        }
    }

    /// Points in a cube about the origin, moved into the shape by parry.
    fn points_in(shape: &SharedShape, count: u32) -> Vec<Vec3> {
        // Steps of the R3 sequence: they fill a cube evenly.
        let steps = Vec3::new(0.819_172_513_396_164_5, 0.671_043_606_703_789_2, 0.549_700_477_901_970_2);
        let random = |number: u32| (steps * f64::from(number)).map(|c| 2.0 * c.fract() - 1.0);
        let projected = |point| shape.project_local_point(to_parry(point), true).point;
        (0..count).map(|number| from_parry(projected(random(number)))).collect()
    }

    /// By definition: a shape is convex if it holds the point half way between any two of its points.
    fn is_convex_by_samples(shape: &SharedShape) -> bool {
        let points = points_in(shape, 100);
        let is_inside = |point| shape.distance_to_local_point(to_parry(point), true) < 1e-4;
        points.iter().all(|a| points.iter().all(|b| is_inside((a + b) * 0.5)))
    }

    /// The time of impact relies on this: a shape that called itself convex and is not would lose contacts.
    #[test]
    fn shapes_are_convex_exactly_if_they_say_so() {
        let shapes = one_of_each();
        let kinds: BTreeSet<usize> = shapes.iter().map(|shape| kind(shape).0).collect();
        assert!(kinds.into_iter().eq(0..KINDS), "a kind is missing, or there twice");
        for shape in shapes {
            let (_, name) = kind(&shape);
            assert_eq!(shape.is_convex(), is_convex_by_samples(&shape.to_parry()), "{name}");
        }
    }

    #[test]
    fn bounded_shapes_are_those_with_finite_bounds() {
        for shape in one_of_each() {
            let bounds = shape.aabb(Vec3::zeros(), &Quat::identity());
            let is_finite = bounds.min.iter().chain(bounds.max.iter()).all(|c| c.is_finite());
            assert_eq!(shape.is_bounded(), is_finite, "{}", kind(&shape).1);
        }
    }

    /// Distances against parry's, except for rings, which parry does not have.
    #[test]
    fn signed_distances_agree_with_parry() {
        for shape in one_of_each().iter().filter(|shape| !matches!(shape, Shape::Ring(_))) {
            let theirs = shape.to_parry();
            let cube = Cuboid { half: Vec3::repeat(1.0) }.to_parry();
            for point in points_in(&cube, 300).into_iter().map(|point| point * 1.5) {
                let expected = theirs.distance_to_local_point(to_parry(point), false);
                let (normal, distance) = shape.signed_distance(point);
                let name = kind(shape).1;
                assert!((distance - expected).abs() < 1e-6, "{name} at {point}: {distance} {expected}");
                assert!((normal.norm() - 1.0).abs() < 1e-9, "{name} at {point}: normal {normal}");
            }
        }
    }
}
