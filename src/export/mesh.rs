//! Triangle meshes of shapes, with normals, wound counter-clockwise seen from outside. For pictures only:
//! round shapes become polyhedra.

use std::f64::consts::{FRAC_PI_2, PI};

use parry3d::shape::Cuboid as ParryCuboid;

use crate::base::math::{Vec3, from_parry};
use crate::physics::shape::{Capsule, Cuboid, Cylinder, Hull, Mesh, Ring, Shape, Sphere};

/// Number of corners of a circle. Not tuned.
const SEGMENTS: u32 = 32;
/// Number of corners of a quarter circle from equator to pole. Not tuned.
const STACKS: u32 = 8;

/// A surface of triangles with a normal at every vertex.
pub(super) struct TriangleMesh {
    pub positions: Vec<[f32; 3]>,
    pub normals: Vec<[f32; 3]>,
    pub triangles: Vec<[u32; 3]>,
}

/// A form in its simplest size. Shapes of one form differ by a scale only and can share a mesh.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// A ball of radius one.
    Sphere,
    /// A cube of half size one.
    Box,
    /// A capsule of radius one, with half the length of its straight part as the bits of a number.
    Capsule(u64),
    /// A cylinder of radius and half height one.
    Cylinder,
    /// A ring of radius one, with the radius of its tube as the bits of a number.
    Ring(u64),
    /// Two by two, facing +Y: as much of a half-space as can be shown.
    Plane,
    /// Flat triangles: bits of the vertices, and indices.
    Faceted(Vec<[u64; 3]>, Vec<[u32; 3]>),
}

impl Form {
    /// The form of a shape and its scale. Half-spaces must be turned and sized by the caller.
    pub fn of(shape: &Shape) -> (Form, Vec3) {
        match shape {
            Shape::Sphere(Sphere { radius }) => (Form::Sphere, Vec3::repeat(*radius)),
            Shape::Box(Cuboid { half }) => (Form::Box, *half),
            Shape::Capsule(Capsule { radius, half_height }) => {
                (Form::Capsule((half_height / radius).to_bits()), Vec3::repeat(*radius))
            }
            Shape::Cylinder(Cylinder { radius, half_height }) => {
                (Form::Cylinder, Vec3::new(*radius, *half_height, *radius))
            }
            Shape::Ring(Ring { radius, tube }) => {
                (Form::Ring((tube / radius).to_bits()), Vec3::repeat(*radius))
            }
            Shape::HalfSpace(_) => (Form::Plane, Vec3::repeat(1.0)),
            Shape::Hull(Hull(hull)) => {
                let (points, triangles) = hull.to_trimesh();
                (
                    Form::Faceted(points.iter().map(|p| bits(from_parry(*p))).collect(), triangles),
                    Vec3::repeat(1.0),
                )
            }
            Shape::Mesh(Mesh(mesh)) => {
                let points = mesh.vertices().iter().map(|p| bits(from_parry(*p))).collect();
                (Form::Faceted(points, mesh.indices().to_vec()), Vec3::repeat(1.0))
            }
        }
    }

    /// Name of the mesh in an export.
    pub fn name(&self) -> &'static str {
        match self {
            Form::Sphere => "sphere",
            Form::Box => "box",
            Form::Capsule(_) => "capsule",
            Form::Cylinder => "cylinder",
            Form::Ring(_) => "ring",
            Form::Plane => "plane",
            Form::Faceted(..) => "mesh",
        }
    }

    /// Triangles of the surface.
    pub fn mesh(&self) -> TriangleMesh {
        match self {
            Form::Sphere => revolved(&round_profile(0.0)),
            Form::Capsule(half_height) => revolved(&round_profile(f64::from_bits(*half_height))),
            Form::Cylinder => revolved(&[
                Hoop { radius: 0.0, height: -1.0, normal: [0.0, -1.0] },
                Hoop { radius: 1.0, height: -1.0, normal: [0.0, -1.0] },
                Hoop { radius: 1.0, height: -1.0, normal: [1.0, 0.0] },
                Hoop { radius: 1.0, height: 1.0, normal: [1.0, 0.0] },
                Hoop { radius: 1.0, height: 1.0, normal: [0.0, 1.0] },
                Hoop { radius: 0.0, height: 1.0, normal: [0.0, 1.0] },
            ]),
            Form::Ring(tube) => revolved(&tube_profile(f64::from_bits(*tube))),
            Form::Box => {
                let (points, triangles) =
                    ParryCuboid::new(crate::base::math::to_parry(Vec3::repeat(1.0))).to_trimesh();
                faceted(&points.into_iter().map(from_parry).collect::<Vec<_>>(), &triangles)
            }
            Form::Plane => {
                let corner = |x, z| Vec3::new(x, 0.0, z);
                let corners = [corner(-1.0, -1.0), corner(-1.0, 1.0), corner(1.0, 1.0), corner(1.0, -1.0)];
                faceted(&corners, &[[0, 1, 2], [0, 2, 3]])
            }
            Form::Faceted(points, triangles) => {
                let points: Vec<Vec3> = points.iter().map(|p| Vec3::from(p.map(f64::from_bits))).collect();
                faceted(&points, triangles)
            }
        }
    }
}

fn bits(point: Vec3) -> [u64; 3] {
    [point.x, point.y, point.z].map(f64::to_bits)
}

/// A circle about the Y axis on a surface of revolution, with the outward and upward parts of its normal.
#[derive(Clone, Copy)]
struct Hoop {
    radius: f64,
    height: f64,
    normal: [f64; 2],
}

/// Rings of a ball of radius one, with its halves pulled apart, from the lower pole to the upper.
fn round_profile(half_height: f64) -> Vec<Hoop> {
    let hoop = |step: u32, side: f64| {
        let (sin, cos) = libm::sincos(FRAC_PI_2 * f64::from(step) / f64::from(STACKS));
        // At the pole the cosine is a little off zero, and the mesh would have a hole.
        let radius = if step == STACKS { 0.0 } else { cos };
        Hoop { radius, height: side * (half_height + sin), normal: [radius, side * sin] }
    };
    let lower = (0..=STACKS).rev().map(|step| hoop(step, -1.0));
    let upper = (0..=STACKS).map(|step| hoop(step, 1.0));
    lower.chain(upper).collect()
}

/// Circles of a ring of radius one, once around its tube: from the outside over the top to the inside and back below.
/// The last equals the first.
fn tube_profile(tube: f64) -> Vec<Hoop> {
    let around = 4 * STACKS;
    let hoop = |step: u32| {
        let (sin, cos) = libm::sincos(2.0 * PI * f64::from(step % around) / f64::from(around));
        Hoop { radius: 1.0 + tube * cos, height: tube * sin, normal: [cos, sin] }
    };
    (0..=around).map(hoop).collect()
}

/// Turns a profile, given from bottom to top, about the Y axis.
fn revolved(profile: &[Hoop]) -> TriangleMesh {
    let mut mesh = TriangleMesh { positions: Vec::new(), normals: Vec::new(), triangles: Vec::new() };
    for ring in profile {
        for segment in 0..SEGMENTS {
            let (sin, cos) = libm::sincos(2.0 * PI * f64::from(segment) / f64::from(SEGMENTS));
            let [outward, upward] = ring.normal;
            mesh.positions.push([ring.radius * cos, ring.height, ring.radius * sin].map(|n| n as f32));
            mesh.normals.push([outward * cos, upward, outward * sin].map(|n| n as f32));
        }
    }
    for (band, rings) in (0..).zip(profile.windows(2)) {
        let (lower, upper) = (rings[0], rings[1]);
        if lower.radius == upper.radius && lower.height == upper.height {
            continue; // an edge: two normals at one position
        }
        for segment in 0..SEGMENTS {
            let next = (segment + 1) % SEGMENTS;
            let at = |ring: u32, segment: u32| (band + ring) * SEGMENTS + segment;
            // Towards a pole, one of the two triangles has no area.
            if lower.radius > 0.0 {
                mesh.triangles.push([at(0, segment), at(1, segment), at(0, next)]);
            }
            if upper.radius > 0.0 {
                mesh.triangles.push([at(0, next), at(1, segment), at(1, next)]);
            }
        }
    }
    mesh
}

/// Flat triangles, each with its own three vertices. Those without an area have no normal and are left out.
fn faceted(points: &[Vec3], triangles: &[[u32; 3]]) -> TriangleMesh {
    let mut mesh = TriangleMesh { positions: Vec::new(), normals: Vec::new(), triangles: Vec::new() };
    for triangle in triangles {
        let [a, b, c] = triangle.map(|index| points[index as usize]);
        let normal = (b - a).cross(&(c - a));
        let length = normal.norm();
        if !length.is_normal() {
            continue;
        }
        let normal = normal / length;
        let first = mesh.positions.len() as u32;
        for point in [a, b, c] {
            mesh.positions.push([point.x as f32, point.y as f32, point.z as f32]);
            mesh.normals.push([normal.x as f32, normal.y as f32, normal.z as f32]);
        }
        mesh.triangles.push([first, first + 1, first + 2]);
    }
    mesh
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use parry3d::shape::{ConvexPolyhedron, TriMesh};
    use proptest::prelude::*;

    use super::*;
    use crate::base::math::to_parry;

    /// Six times the volume is the sum of the triple products: positive where triangles face outwards.
    fn volume(mesh: &TriangleMesh, scale: Vec3) -> f64 {
        let at = |index: u32| Vec3::from(mesh.positions[index as usize].map(f64::from)).component_mul(&scale);
        mesh.triangles.iter().map(|t| at(t[0]).dot(&at(t[1]).cross(&at(t[2]))) / 6.0).sum()
    }

    /// Every edge must be used once in each direction, vertices at one position being one.
    fn assert_closed(mesh: &TriangleMesh) {
        let key = |index: u32| mesh.positions[index as usize].map(|n| (n + 0.0).to_bits());
        let mut edges = BTreeMap::new();
        for triangle in &mesh.triangles {
            for side in 0..3 {
                let edge = (key(triangle[side]), key(triangle[(side + 1) % 3]));
                assert_ne!(edge.0, edge.1, "an edge without length");
                *edges.entry(edge).or_insert(0) += 1;
            }
        }
        for ((from, to), count) in &edges {
            assert_eq!((*count, edges.get(&(*to, *from))), (1, Some(&1)), "an open or doubled edge");
        }
    }

    fn assert_normals_fit(mesh: &TriangleMesh) {
        for triangle in &mesh.triangles {
            let corner = |at: usize| Vec3::from(mesh.positions[triangle[at] as usize].map(f64::from));
            let flat = (corner(1) - corner(0)).cross(&(corner(2) - corner(0))).normalize();
            for vertex in triangle {
                let normal = Vec3::from(mesh.normals[*vertex as usize].map(f64::from));
                assert!((normal.norm() - 1.0).abs() < 1e-6);
                assert!(normal.dot(&flat) > 0.9, "{normal} against {flat}");
            }
        }
    }

    fn checked(shape: &Shape) -> f64 {
        let (form, scale) = Form::of(shape);
        let mesh = form.mesh();
        assert_closed(&mesh);
        assert_normals_fit(&mesh);
        volume(&mesh, scale)
    }

    fn hull(points: &[[f64; 3]]) -> Option<Shape> {
        let points: Vec<_> = points.iter().map(|p| to_parry(Vec3::from(*p))).collect();
        Some(Shape::Hull(Hull(Arc::new(ConvexPolyhedron::from_convex_hull(&points)?))))
    }

    #[test]
    fn volumes_are_nearly_those_of_the_shapes() {
        let (r, h) = (0.3, 0.7);
        let ball = 4.0 / 3.0 * PI * r * r * r;
        let tube = PI * r * r * 2.0 * h;
        let tetrahedron =
            hull(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).unwrap();
        let table = [
            (Shape::Sphere(Sphere { radius: r }), ball),
            (Shape::Box(Cuboid { half: Vec3::new(0.1, 0.2, 0.3) }), 0.048),
            (Shape::Cylinder(Cylinder { radius: r, half_height: h }), tube),
            (Shape::Capsule(Capsule { radius: r, half_height: h }), tube + ball),
            (Shape::Ring(Ring { radius: h, tube: r }), 2.0 * PI * PI * h * r * r),
            (tetrahedron, 1.0 / 6.0),
        ];
        for (shape, expected) in table {
            let share = checked(&shape) / expected;
            assert!((0.97..1.000_001).contains(&share), "{share} of {expected}");
        }
    }

    #[test]
    fn planes_face_up_and_meshes_stay_as_they_are() {
        let plane = Form::Plane.mesh();
        assert_normals_fit(&plane);
        assert!(plane.normals.iter().all(|normal| *normal == [0.0, 1.0, 0.0]));
        let points = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [4.0, 0.0, 0.0]];
        let points = points.map(|p| to_parry(Vec3::from(p))).to_vec();
        // The second triangle has no area.
        let mesh = TriMesh::new(points, vec![[0, 1, 2], [0, 1, 3]]).unwrap();
        let mesh = Form::of(&Shape::Mesh(Mesh(Arc::new(mesh)))).0.mesh();
        assert_eq!(mesh.positions, [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]);
        assert_eq!((mesh.normals[0], mesh.triangles.len()), ([0.0, 0.0, 1.0], 1));
    }

    proptest! {
        #[test]
        fn hulls_are_closed_and_face_outwards(
            points in prop::collection::vec(prop::array::uniform3(-1.0..1.0f64), 5..30),
        ) {
            if let Some(shape) = hull(&points) {
                let (form, scale) = Form::of(&shape);
                let mesh = form.mesh();
                assert_closed(&mesh);
                prop_assert!(volume(&mesh, scale) > 0.0);
            }
        }
    }
}
