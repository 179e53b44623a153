//! Convex polyhedra.

use std::sync::Arc;

use parry3d::shape::{ConvexPolyhedron, Shape as ParryShape, SharedShape};

use crate::base::aabb::Aabb;
use crate::base::math::{Quat, Vec3, from_parry, quat_raw};
use crate::physics::mass::{Inertia, MassProperties};
use crate::physics::shape::{Geometry, Shape, closest_on_triangle, to_parry_points};
use crate::scene::SceneError;

/// A convex polyhedron; copies share its corners and faces.
#[derive(Clone)]
pub struct Hull(pub Arc<ConvexPolyhedron>);

impl Hull {
    /// The convex hull of some points. `field` names the object in errors.
    pub(super) fn new(points: &[[f64; 3]], field: impl Fn() -> String) -> Result<Self, SceneError> {
        let hull = ConvexPolyhedron::from_convex_hull(&to_parry_points(points));
        let hull = hull.ok_or_else(|| SceneError {
            field: format!("{}.shape.hull.points", field()),
            problem: "the points do not span a convex solid".into(),
            fix: "give at least four points that do not lie in one plane".into(),
        })?;
        Ok(Hull(Arc::new(hull)))
    }
}

impl Geometry for Hull {
    fn to_parry(&self) -> SharedShape {
        SharedShape(self.0.clone())
    }

    fn with_parry<T>(&self, ask: impl FnOnce(&dyn ParryShape) -> T) -> T {
        ask(&*self.0)
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn is_bounded(&self) -> bool {
        true
    }

    fn bounding_radius(&self) -> f64 {
        self.0.points().iter().map(|p| from_parry(*p).norm()).fold(0.0, f64::max)
    }

    fn thickness(&self) -> f64 {
        let aabb = self.0.local_aabb();
        from_parry(aabb.maxs - aabb.mins).min()
    }

    fn aabb(&self, x: Vec3, q: &Quat) -> Aabb {
        let mut bounds = Aabb { min: Vec3::repeat(f64::INFINITY), max: Vec3::repeat(f64::NEG_INFINITY) };
        for p in self.0.points() {
            let p = x + q * from_parry(*p);
            bounds = Aabb { min: bounds.min.inf(&p), max: bounds.max.sup(&p) };
        }
        bounds
    }

    fn signed_distance(&self, point: Vec3) -> (Vec3, f64) {
        let (c, hull) = (point, &self.0);
        let points = hull.points();
        let corner = |index: u32| from_parry(points[index as usize]);
        let adjacent = hull.vertices_adj_to_face();
        let mut deepest = (Vec3::y(), f64::NEG_INFINITY);
        for face in hull.faces() {
            let normal = from_parry(face.normal);
            let height = normal.dot(&(c - corner(adjacent[face.first_vertex_or_edge as usize])));
            if height > deepest.1 {
                deepest = (normal, height);
            }
        }
        if deepest.1 <= 0.0 {
            return deepest;
        }
        let mut nearest = (f64::INFINITY, Vec3::y());
        for face in hull.faces() {
            let first = face.first_vertex_or_edge as usize;
            let outline = &adjacent[first..first + face.num_vertices_or_edges as usize];
            for pair in outline[1..].windows(2) {
                let d = c - closest_on_triangle(c, corner(outline[0]), corner(pair[0]), corner(pair[1]));
                if d.norm_squared() < nearest.0 {
                    nearest = (d.norm_squared(), d);
                }
            }
        }
        let distance = nearest.0.sqrt();
        if distance > 0.0 { (nearest.1 / distance, distance) } else { deepest }
    }

    /// Moves the corners so that the centre of mass is the origin.
    fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        let given = self.0.mass_properties(density);
        let centre = given.local_com;
        let points: Vec<_> = self.0.points().iter().map(|p| *p - centre).collect();
        let shape = Shape::Hull(Hull(Arc::new(ConvexPolyhedron::from_convex_hull(&points)?)));
        let moments = from_parry(given.principal_inertia());
        let f = given.principal_inertia_local_frame;
        let inertia = Inertia::principal(moments, quat_raw(f.x, f.y, f.z, f.w));
        let mass = given.mass();
        let sound = mass > 0.0 && mass.is_finite() && moments.iter().all(|m| *m > 0.0 && m.is_finite());
        sound.then(|| MassProperties { shape, mass, inertia, centre: from_parry(centre) })
    }
}
