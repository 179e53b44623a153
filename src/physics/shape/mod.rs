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
