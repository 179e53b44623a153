//! Where a ray enters a shape: closed forms for shapes that are common, parry for the rest.
//!
//! Only entries count: a ray that starts inside a solid looks out through its surface, so a camera in a wall
//! sees what is beyond it.

use std::sync::Arc;

use parry3d::query::{Ray as ParryRay, RayCast, RayCullingMode};
use parry3d::shape::{ConvexPolyhedron, SharedShape, TriMesh};

use crate::base::math::{Mat3, Vec3, from_parry, to_parry};
use crate::physics::Shape;
use crate::render::ring::Ring;

/// A half-line with a direction of unit length.
#[derive(Clone, Copy)]
pub(super) struct Ray {
    pub origin: Vec3,
    pub dir: Vec3,
    /// One over each component of `dir`; infinite where that is zero.
    pub inverse: Vec3,
}

impl Ray {
    #[inline]
    pub fn new(origin: Vec3, dir: Vec3) -> Self {
        Ray { origin, dir, inverse: dir.map(|c| 1.0 / c) }
    }

    #[inline]
    pub fn at(&self, t: f64) -> Vec3 {
        self.origin + self.dir * t
    }

    /// The same ray in the coordinates of something at `x` with the axes `axes`.
    #[inline]
    fn local(&self, x: &Vec3, axes: &Mat3) -> Ray {
        Ray::new(axes.tr_mul(&(self.origin - x)), axes.tr_mul(&self.dir))
    }
}

/// An interval of a ray, in metres from its origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub from: f64,
    pub to: f64,
}

impl Span {
    /// All of the ray.
    pub const ALL: Span = Span { from: 0.0, to: f64::INFINITY };

    #[inline]
    pub fn holds(&self, t: f64) -> bool {
        t > self.from && t < self.to
    }
}

/// A shape made ready for rays, about its own origin.
pub(super) enum Solid {
    Sphere {
        radius: f64,
    },
    Box {
        half: Vec3,
    },
    Cylinder {
        radius: f64,
        half_height: f64,
    },
    Ring(Ring),
    /// The points with `normal * p <= offset` for every pair.
    Polytope(Vec<(Vec3, f64)>),
    HalfSpace {
        normal: Vec3,
    },
    Mesh(Arc<TriMesh>),
    Other(SharedShape),
}

/// The entry of a ray: distance and unit normal that points out of the solid.
pub(super) type Entry = (f64, Vec3);

impl Solid {
    pub fn new(shape: &Shape) -> Self {
        match shape {
            Shape::Sphere(sphere) => Solid::Sphere { radius: sphere.radius },
            Shape::Box(cuboid) => Solid::Box { half: cuboid.half },
            Shape::Cylinder(cylinder) => {
                Solid::Cylinder { radius: cylinder.radius, half_height: cylinder.half_height }
            }
            Shape::Ring(ring) => Solid::Ring(Ring { radius: ring.radius, tube: ring.tube }),
            Shape::Hull(hull) => Solid::Polytope(face_planes(&hull.0)),
            Shape::HalfSpace(plane) => Solid::HalfSpace { normal: plane.normal },
            Shape::Mesh(mesh) => Solid::Mesh(mesh.0.clone()),
            Shape::Capsule(_) => Solid::Other(shape.to_parry()),
        }
    }

    /// The first entry of a world-space ray into the solid at `x` with the axes `axes`.
    /// With `front_only`, a mesh is open to rays that come from behind it.
    #[inline]
    pub fn enter(&self, x: &Vec3, axes: &Mat3, ray: &Ray, span: Span, front_only: bool) -> Option<Entry> {
        if let Solid::Sphere { radius } = self {
            return enter_sphere(x, *radius, ray, span);
        }
        let local = ray.local(x, axes);
        let (t, normal) = match self {
            Solid::Sphere { .. } => return None,
            Solid::Box { half } => enter_box(half, &local, span),
            Solid::Cylinder { radius, half_height } => enter_cylinder(*radius, *half_height, &local, span),
            Solid::Ring(ring) => ring.enter(&local, span),
            Solid::Polytope(planes) => enter_polytope(planes, &local, span),
            Solid::HalfSpace { normal } => enter_half_space(normal, &local, span),
            Solid::Mesh(mesh) => enter_mesh(mesh, &local, span, front_only),
            Solid::Other(shape) => enter_other(shape, &local, span),
        }?;
        Some((t, axes * normal))
    }

    /// Whether a point in local coordinates is inside. Surfaces have no inside.
    pub fn contains(&self, p: &Vec3) -> bool {
        match self {
            Solid::Sphere { radius } => p.norm_squared() <= radius * radius,
            Solid::Box { half } => (0..3).all(|k| p[k].abs() <= half[k]),
            Solid::Cylinder { radius, half_height } => {
                p.y.abs() <= *half_height && p.x * p.x + p.z * p.z <= radius * radius
            }
            Solid::Ring(ring) => ring.contains(p),
            Solid::Polytope(planes) => planes.iter().all(|(normal, offset)| normal.dot(p) <= *offset),
            Solid::HalfSpace { normal } => normal.dot(p) <= 0.0,
            Solid::Mesh(_) => false,
            Solid::Other(shape) => shape.contains_local_point(to_parry(*p)),
        }
    }

    /// The flat faces of walls and floors: a point on each and its outward normal, local coordinates.
    pub fn wall_faces(&self) -> Vec<(Vec3, Vec3)> {
        match self {
            Solid::Box { half } => (0..6)
                .map(|side| {
                    let mut normal = Vec3::zeros();
                    normal[side / 2] = if side % 2 == 0 { 1.0 } else { -1.0 };
                    (normal.component_mul(half), normal)
                })
                .collect(),
            Solid::HalfSpace { normal } => vec![(Vec3::zeros(), *normal)],
            _ => Vec::new(),
        }
    }
}

fn face_planes(hull: &ConvexPolyhedron) -> Vec<(Vec3, f64)> {
    hull.faces()
        .iter()
        .map(|face| {
            let normal = from_parry(face.normal);
            let offset = hull.points().iter().map(|p| from_parry(*p).dot(&normal));
            (normal, offset.fold(f64::NEG_INFINITY, f64::max))
        })
        .collect()
}

#[inline]
fn enter_sphere(centre: &Vec3, radius: f64, ray: &Ray, span: Span) -> Option<Entry> {
    let to_origin = ray.origin - centre;
    let along = to_origin.dot(&ray.dir);
    // Measured at the closest approach, so that distant origins do not cancel the radius.
    let miss = to_origin - ray.dir * along;
    let inside2 = radius * radius - miss.norm_squared();
    if inside2 <= 0.0 {
        return None;
    }
    let t = -along - inside2.sqrt();
    span.holds(t).then(|| (t, (to_origin + ray.dir * t) / radius))
}

#[inline]
fn enter_box(half: &Vec3, ray: &Ray, span: Span) -> Option<Entry> {
    let (mut enter, mut leave, mut axis) = (f64::NEG_INFINITY, f64::INFINITY, 0);
    for k in 0..3 {
        let near = (-half[k].copysign(ray.dir[k]) - ray.origin[k]) * ray.inverse[k];
        let far = (half[k].copysign(ray.dir[k]) - ray.origin[k]) * ray.inverse[k];
        if near > enter {
            (enter, axis) = (near, k);
        }
        leave = leave.min(far);
    }
    if enter >= leave || !span.holds(enter) {
        return None;
    }
    let mut normal = Vec3::zeros();
    normal[axis] = -1.0_f64.copysign(ray.dir[axis]);
    Some((enter, normal))
}

fn enter_cylinder(radius: f64, half_height: f64, ray: &Ray, span: Span) -> Option<Entry> {
    let cap = half_height.copysign(ray.dir.y);
    let (cap_in, cap_out) = if ray.dir.y == 0.0 {
        if ray.origin.y.abs() > half_height {
            return None;
        }
        (f64::NEG_INFINITY, f64::INFINITY)
    } else {
        ((-cap - ray.origin.y) * ray.inverse.y, (cap - ray.origin.y) * ray.inverse.y)
    };
    let across2 = ray.dir.x * ray.dir.x + ray.dir.z * ray.dir.z;
    let (side_in, side_out) = if across2 == 0.0 {
        if ray.origin.x * ray.origin.x + ray.origin.z * ray.origin.z > radius * radius {
            return None;
        }
        (f64::NEG_INFINITY, f64::INFINITY)
    } else {
        let closest = -(ray.origin.x * ray.dir.x + ray.origin.z * ray.dir.z) / across2;
        let (x, z) = (ray.origin.x + closest * ray.dir.x, ray.origin.z + closest * ray.dir.z);
        let inside2 = radius * radius - (x * x + z * z);
        if inside2 <= 0.0 {
            return None;
        }
        let reach = (inside2 / across2).sqrt();
        (closest - reach, closest + reach)
    };
    let enter = cap_in.max(side_in);
    if enter >= cap_out.min(side_out) || !span.holds(enter) {
        return None;
    }
    let normal = if cap_in > side_in {
        Vec3::new(0.0, -1.0_f64.copysign(ray.dir.y), 0.0)
    } else {
        let p = ray.at(enter);
        Vec3::new(p.x, 0.0, p.z) / radius
    };
    Some((enter, normal))
}

fn enter_polytope(planes: &[(Vec3, f64)], ray: &Ray, span: Span) -> Option<Entry> {
    let (mut enter, mut leave, mut face) = (f64::NEG_INFINITY, f64::INFINITY, None);
    for (normal, offset) in planes {
        let depth = offset - normal.dot(&ray.origin);
        let approach = normal.dot(&ray.dir);
        if approach == 0.0 {
            if depth < 0.0 {
                return None;
            }
            continue;
        }
        let t = depth / approach;
        if approach > 0.0 {
            leave = leave.min(t);
        } else if t > enter {
            (enter, face) = (t, Some(*normal));
        }
    }
    (enter < leave && span.holds(enter)).then_some((enter, face?))
}

fn enter_half_space(normal: &Vec3, ray: &Ray, span: Span) -> Option<Entry> {
    let approach = normal.dot(&ray.dir);
    let t = -normal.dot(&ray.origin) / approach;
    (approach < 0.0 && span.holds(t)).then_some((t, *normal))
}

fn enter_mesh(mesh: &TriMesh, ray: &Ray, span: Span, front_only: bool) -> Option<Entry> {
    let start = ParryRay::new(to_parry(ray.at(span.from)), to_parry(ray.dir));
    let reach = (span.to - span.from).min(f64::MAX);
    let hit = if front_only {
        mesh.cast_local_ray_with_culling(&start, reach, RayCullingMode::IgnoreBackfaces)
    } else {
        mesh.cast_local_ray_and_get_normal(&start, reach, false)
    }?;
    let t = span.from + hit.time_of_impact;
    let normal = from_parry(hit.normal);
    // Degenerate triangles have no normal to shade with.
    (span.holds(t) && normal.norm_squared() > 0.5).then(|| (t, towards_viewer(normal, &ray.dir)))
}

fn enter_other(shape: &SharedShape, ray: &Ray, span: Span) -> Option<Entry> {
    let start = ParryRay::new(to_parry(ray.at(span.from)), to_parry(ray.dir));
    let hit = shape.cast_local_ray_and_get_normal(&start, (span.to - span.from).min(f64::MAX), true)?;
    let t = span.from + hit.time_of_impact;
    let normal = from_parry(hit.normal);
    (span.holds(t) && normal.norm_squared() > 0.5).then_some((t, normal))
}

fn towards_viewer(normal: Vec3, dir: &Vec3) -> Vec3 {
    if normal.dot(dir) > 0.0 { -normal } else { normal }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::math::{rotation_exp, rotation_matrix};
    use crate::physics::shape::{Capsule, Cuboid, Cylinder, HalfSpace, Hull, Sphere};

    fn shapes() -> Vec<Shape> {
        let corner = |x, y, z| to_parry(Vec3::new(x, y, z));
        let hull = ConvexPolyhedron::from_convex_hull(&[
            corner(-1.0, -0.6, -0.5),
            corner(1.2, -0.6, -0.4),
            corner(0.1, -0.6, 1.0),
            corner(0.0, 0.9, 0.1),
        ])
        .unwrap();
        vec![
            Shape::Sphere(Sphere { radius: 0.8 }),
            Shape::Box(Cuboid { half: Vec3::new(0.5, 0.9, 0.3) }),
            Shape::Cylinder(Cylinder { radius: 0.6, half_height: 0.9 }),
            Shape::Capsule(Capsule { radius: 0.5, half_height: 0.4 }),
            Shape::Hull(Hull(Arc::new(hull))),
            Shape::HalfSpace(HalfSpace { normal: Vec3::new(0.6, 0.8, 0.0) }),
        ]
    }

    fn vector(reach: f64) -> impl Strategy<Value = Vec3> {
        [-reach..reach, -reach..reach, -reach..reach].prop_map(Vec3::from)
    }

    proptest! {
        #[test]
        fn entries_are_those_of_parry(
            origin in vector(4.0), aim in vector(1.0), x in vector(0.5), turn in vector(2.0),
        ) {
            prop_assume!((aim - origin).norm() > 0.1);
            let ray = Ray::new(origin, (aim - origin).normalize());
            let axes = rotation_matrix(&rotation_exp(turn));
            for shape in shapes() {
                let solid = Solid::new(&shape);
                let local = ray.local(&x, &axes);
                let start = ParryRay::new(to_parry(local.origin), to_parry(local.dir));
                let inside = solid.contains(&local.origin);
                let expected = shape
                    .to_parry()
                    .cast_local_ray_and_get_normal(&start, 1e6, true)
                    .filter(|_| !inside);
                let found = solid.enter(&x, &axes, &ray, Span::ALL, false);
                match (found, expected) {
                    (Some((t, normal)), Some(hit)) => {
                        prop_assert!((t - hit.time_of_impact).abs() < 1e-6, "{t} {}", hit.time_of_impact);
                        prop_assert!(normal.dot(&ray.dir) < 1e-9, "enters against the normal");
                        prop_assert!((normal.norm() - 1.0).abs() < 1e-9);
                    }
                    (None, None) => {}
                    // Grazing rays may fall either way.
                    (Some((t, normal)), None) => prop_assert!(normal.dot(&ray.dir).abs() < 1e-3, "{t}"),
                    (None, Some(hit)) => {
                        let p = local.at(hit.time_of_impact + 1e-6);
                        prop_assert!(!solid.contains(&p), "missed a hit at {}", hit.time_of_impact);
                    }
                }
            }
        }

        #[test]
        fn nothing_is_entered_outside_the_span(origin in vector(4.0), from in 0.0..6.0, length in 0.0..3.0) {
            let ray = Ray::new(origin, (Vec3::new(0.05, 0.02, 0.01) - origin).normalize());
            let span = Span { from, to: from + length };
            for shape in shapes() {
                let entry = Solid::new(&shape).enter(&Vec3::zeros(), &Mat3::identity(), &ray, span, false);
                prop_assert!(entry.is_none_or(|(t, _)| t > span.from && t < span.to));
            }
        }
    }

    #[test]
    fn a_mesh_is_seen_from_both_sides_unless_asked_otherwise() {
        let corners = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)];
        let corners = corners.map(|(x, y, z)| to_parry(Vec3::new(x, y, z))).to_vec();
        let mesh = Solid::Mesh(Arc::new(TriMesh::new(corners, vec![[0, 1, 2]]).unwrap()));
        let see = |z: f64, front_only| {
            let ray = Ray::new(Vec3::new(0.2, 0.2, z), Vec3::z() * -z.signum());
            mesh.enter(&Vec3::zeros(), &Mat3::identity(), &ray, Span::ALL, front_only)
        };
        assert_eq!(see(2.0, false), Some((2.0, Vec3::z())));
        assert_eq!(see(-2.0, false), Some((2.0, -Vec3::z())));
        assert_eq!(see(2.0, true), Some((2.0, Vec3::z())));
        assert_eq!(see(-2.0, true), None);
    }
}
