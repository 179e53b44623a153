//! Triangle meshes: surfaces without an inside. They never move.

use std::sync::Arc;

use parry3d::query::PointQuery;
use parry3d::shape::{Shape as ParryShape, SharedShape, TriMesh, TriMeshFlags};

use crate::base::aabb::Aabb;
use crate::base::math::{Quat, Vec3, from_parry, to_parry, to_parry_pose};
use crate::physics::mass::MassProperties;
use crate::physics::shape::{Geometry, to_parry_points};
use crate::scene::SceneError;

/// A surface of triangles; copies share them.
#[derive(Clone)]
pub struct Mesh(pub Arc<TriMesh>);

impl Mesh {
    /// A mesh from vertices and triangles of indices into them. `field` names the object in errors.
    pub(super) fn new(
        vertices: &[[f64; 3]],
        triangles: &[[u32; 3]],
        field: impl Fn() -> String,
    ) -> Result<Self, SceneError> {
        // Bodies must not trip over the seams of a smooth surface, whichever way its triangles face.
        let flags = TriMeshFlags::FIX_INTERNAL_EDGES_TWO_SIDED;
        let mesh = TriMesh::with_flags(to_parry_points(vertices), triangles.to_vec(), flags);
        let mesh = mesh.map_err(|error| SceneError {
            field: format!("{}.shape.mesh", field()),
            problem: format!("the mesh cannot be used: {error}"),
            fix: "give at least one triangle".into(),
        })?;
        Ok(Mesh(Arc::new(mesh)))
    }
}

impl Geometry for Mesh {
    fn to_parry(&self) -> SharedShape {
        SharedShape(self.0.clone())
    }

    fn with_parry<T>(&self, ask: impl FnOnce(&dyn ParryShape) -> T) -> T {
        ask(&*self.0)
    }

    /// No mesh counts as convex, not even a single triangle.
    fn is_convex(&self) -> bool {
        false
    }

    fn is_bounded(&self) -> bool {
        true
    }

    fn bounding_radius(&self) -> f64 {
        self.0.vertices().iter().map(|p| from_parry(*p).norm()).fold(0.0, f64::max)
    }

    fn thickness(&self) -> f64 {
        0.0
    }

    fn aabb(&self, x: Vec3, q: &Quat) -> Aabb {
        let aabb = self.0.aabb(&to_parry_pose(x, q));
        Aabb { min: from_parry(aabb.mins), max: from_parry(aabb.maxs) }
    }

    fn signed_distance(&self, point: Vec3) -> (Vec3, f64) {
        let d = point - from_parry(self.0.project_local_point(to_parry(point), false).point);
        let distance = d.norm();
        (if distance > 0.0 { d / distance } else { Vec3::y() }, distance)
    }

    fn mass_properties(&self, _: f64) -> Option<MassProperties> {
        None
    }
}
