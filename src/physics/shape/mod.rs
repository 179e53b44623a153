//! Shapes made ready for contact kernels, with their mass and bounds.

use std::f64::consts::TAU;
use std::sync::Arc;

use parry3d::shape::{ConvexPolyhedron, SharedShape, TriMesh};

use crate::base::aabb::Aabb;
use crate::base::math::{Quat, Vec3, from_parry, rotation_matrix, to_parry, to_parry_pose};

/// Capsules that stand for a ring where others are asked about it.
const RING_CORNERS: u32 = 32;

/// A shape about its centre of mass.
#[derive(Clone)]
pub enum Shape {
    /// A ball.
    Sphere {
        /// Metres.
        radius: f64,
    },
    /// A cuboid.
    Box {
        /// Half the edge lengths.
        half: Vec3,
    },
    /// A cylinder with half-balls on its ends, along local Y.
    Capsule {
        /// Metres.
        radius: f64,
        /// Half the length of the straight part.
        half_height: f64,
    },
    /// A cylinder along local Y.
    Cylinder {
        /// Metres.
        radius: f64,
        /// Half its length.
        half_height: f64,
    },
    /// A ring about local Y: the points within `tube` of a circle.
    Ring {
        /// From the centre to the middle of the tube.
        radius: f64,
        /// Radius of the tube.
        tube: f64,
    },
    /// A convex polyhedron about its centre of mass.
    Hull(Arc<ConvexPolyhedron>),
    /// Everything below a plane through the local origin.
    HalfSpace {
        /// Unit normal out of the solid, in local coordinates.
        normal: Vec3,
    },
    /// A surface of triangles.
    Mesh(Arc<TriMesh>),
}

impl Shape {
    /// The same shape as parry sees it, for queries that are not ours and for pictures.
    pub fn to_parry(&self) -> SharedShape {
        match self {
            Shape::Sphere { radius } => SharedShape::ball(*radius),
            Shape::Box { half } => SharedShape::cuboid(half.x, half.y, half.z),
            Shape::Capsule { radius, half_height } => SharedShape::capsule_y(*half_height, *radius),
            Shape::Cylinder { radius, half_height } => SharedShape::cylinder(*half_height, *radius),
            Shape::Ring { radius, tube } => ring_of_capsules(*radius, *tube),
            Shape::Hull(hull) => SharedShape(hull.clone()),
            Shape::HalfSpace { normal } => SharedShape::halfspace(to_parry(*normal)),
            Shape::Mesh(mesh) => SharedShape(mesh.clone()),
        }
    }

    /// Radius of the smallest ball about the centre of mass that holds the shape; infinite for half-spaces.
    pub fn bounding_radius(&self) -> f64 {
        match self {
            Shape::Sphere { radius } => *radius,
            Shape::Box { half } => half.norm(),
            Shape::Capsule { radius, half_height } => half_height + radius,
            Shape::Cylinder { radius, half_height } => (radius * radius + half_height * half_height).sqrt(),
            Shape::Ring { radius, tube } => radius + tube,
            Shape::Hull(hull) => hull.points().iter().map(|p| from_parry(*p).norm()).fold(0.0, f64::max),
            Shape::HalfSpace { .. } => f64::INFINITY,
            Shape::Mesh(mesh) => mesh.vertices().iter().map(|p| from_parry(*p).norm()).fold(0.0, f64::max),
        }
    }

    /// The smallest length across the shape: what a body may travel per tick before it can tunnel.
    pub fn thickness(&self) -> f64 {
        match self {
            Shape::Sphere { radius } => 2.0 * radius,
            Shape::Box { half } => 2.0 * half.min(),
            Shape::Capsule { radius, .. } => 2.0 * radius,
            Shape::Cylinder { radius, half_height } => 2.0 * radius.min(*half_height),
            Shape::Ring { tube, .. } => 2.0 * tube,
            Shape::Hull(hull) => {
                let aabb = hull.local_aabb();
                from_parry(aabb.maxs - aabb.mins).min()
            }
            Shape::HalfSpace { .. } => f64::INFINITY,
            Shape::Mesh(_) => 0.0,
        }
    }

    /// Bounds of the shape at a pose. Half-spaces have none: they are everywhere.
    pub fn aabb(&self, x: Vec3, q: &Quat) -> Aabb {
        match self {
            Shape::Sphere { radius } => Aabb::about(x, Vec3::repeat(*radius)),
            Shape::Box { half } => Aabb::about(x, rotation_matrix(q).abs() * half),
            Shape::Capsule { radius, half_height } => {
                let axis = (q * Vec3::y()).abs() * *half_height;
                Aabb::about(x, axis + Vec3::repeat(*radius))
            }
            Shape::Cylinder { radius, half_height } => {
                let axis = q * Vec3::y();
                let disc = axis.map(|c| (1.0 - c * c).max(0.0).sqrt()) * *radius;
                Aabb::about(x, axis.abs() * *half_height + disc)
            }
            Shape::Ring { radius, tube } => {
                let disc = (q * Vec3::y()).map(|c| (1.0 - c * c).max(0.0).sqrt()) * *radius;
                Aabb::about(x, disc + Vec3::repeat(*tube))
            }
            Shape::Hull(hull) => {
                let mut bounds =
                    Aabb { min: Vec3::repeat(f64::INFINITY), max: Vec3::repeat(f64::NEG_INFINITY) };
                for p in hull.points() {
                    let p = x + q * from_parry(*p);
                    bounds = Aabb { min: bounds.min.inf(&p), max: bounds.max.sup(&p) };
                }
                bounds
            }
            Shape::HalfSpace { .. } => {
                Aabb { min: Vec3::repeat(f64::NEG_INFINITY), max: Vec3::repeat(f64::INFINITY) }
            }
            Shape::Mesh(mesh) => {
                let aabb = mesh.aabb(&to_parry_pose(x, q));
                Aabb { min: from_parry(aabb.mins), max: from_parry(aabb.maxs) }
            }
        }
    }
}

/// A ring as parry can see it: a closed chain of capsules, with corners on the circle.
fn ring_of_capsules(radius: f64, tube: f64) -> SharedShape {
    let corner = |at: u32| {
        let (sin, cos) = libm::sincos(TAU * f64::from(at) / f64::from(RING_CORNERS));
        to_parry(Vec3::new(radius * cos, 0.0, radius * sin))
    };
    let still = to_parry_pose(Vec3::zeros(), &Quat::identity());
    let capsules =
        (0..RING_CORNERS).map(|at| (still, SharedShape::capsule(corner(at), corner(at + 1), tube)));
    SharedShape::compound(capsules.collect())
}
