//! Balls against everything. One point, except on meshes, where a ball may lie in a groove.

use parry3d::bounding_volume::Aabb as ParryAabb;
use parry3d::query::PointQuery;
use parry3d::shape::{ConvexPolyhedron, TriMesh};

use crate::base::math::{Vec3, from_parry, to_parry};
use crate::physics::collision::kernels::reduce::PointList;
use crate::physics::collision::kernels::triangle::closest_on_triangle;
use crate::physics::collision::kernels::{ContactPoint, Manifold, Placed};
use crate::physics::shape::Shape;

/// Two balls.
#[inline]
pub(super) fn against_sphere(xa: Vec3, ra: f64, xb: Vec3, rb: f64, reach: f64) -> Manifold {
    let d = xa - xb;
    let reached = ra + rb + reach;
    let d2 = d.norm_squared();
    if d2 >= reached * reached {
        return Manifold::empty();
    }
    let distance = d2.sqrt();
    let normal = if distance > 0.0 { d / distance } else { Vec3::y() };
    let gap = distance - (ra + rb);
    Manifold::single(ContactPoint { feature: 0, point: xb + normal * (rb + 0.5 * gap), normal, gap })
}

/// A ball at `x` against another shape.
pub(super) fn against(x: Vec3, radius: f64, other: &Placed, reach: f64) -> Manifold {
    match other.shape {
        Shape::Sphere { radius: rb } => return against_sphere(x, radius, other.x, *rb, reach),
        Shape::Mesh(mesh) => return against_mesh(local_point(x, other), radius, mesh, other, reach),
        _ => {}
    }
    let (normal, distance) = signed_distance(x, other);
    let gap = distance - radius;
    if gap >= reach {
        return Manifold::empty();
    }
    Manifold::single(ContactPoint { feature: 0, point: x - normal * (radius + 0.5 * gap), normal, gap })
}

fn local_point(x: Vec3, other: &Placed) -> Vec3 {
    other.q.inverse_transform_vector(&(x - other.x))
}

/// Outward direction and signed distance of a point from a shape.
pub(super) fn signed_distance(x: Vec3, other: &Placed) -> (Vec3, f64) {
    let (normal, distance) = local_signed_distance(local_point(x, other), other.shape);
    (other.q * normal, distance)
}

/// The same in the coordinates of the shape.
#[inline]
pub(super) fn local_signed_distance(local: Vec3, shape: &Shape) -> (Vec3, f64) {
    match shape {
        Shape::Sphere { radius } => from_capsule(local, *radius, 0.0),
        Shape::HalfSpace { normal } => (*normal, normal.dot(&local)),
        Shape::Box { half } => from_box(local, half),
        Shape::Capsule { radius, half_height } => from_capsule(local, *radius, *half_height),
        Shape::Cylinder { radius, half_height } => from_cylinder(local, *radius, *half_height),
        Shape::Ring { radius, tube } => from_ring(local, *radius, *tube),
        Shape::Hull(hull) => from_hull(local, hull),
        Shape::Mesh(mesh) => {
            let d = local - from_parry(mesh.project_local_point(to_parry(local), false).point);
            let distance = d.norm();
            (if distance > 0.0 { d / distance } else { Vec3::y() }, distance)
        }
    }
}

/// Outward direction and signed distance of a point from a box.
fn from_box(c: Vec3, half: &Vec3) -> (Vec3, f64) {
    let closest = c.zip_map(half, |c, h| c.clamp(-h, h));
    let d = c - closest;
    let d2 = d.norm_squared();
    if d2 > 0.0 {
        let distance = d2.sqrt();
        return (d / distance, distance);
    }
    // Inside: out through the nearest face.
    let depth = half - c.abs();
    let axis = if depth.x <= depth.y && depth.x <= depth.z {
        0
    } else if depth.y <= depth.z {
        1
    } else {
        2
    };
    let mut normal = Vec3::zeros();
    normal[axis] = if c[axis] < 0.0 { -1.0 } else { 1.0 };
    (normal, -depth[axis])
}

fn from_capsule(c: Vec3, radius: f64, half_height: f64) -> (Vec3, f64) {
    let d = c - Vec3::new(0.0, c.y.clamp(-half_height, half_height), 0.0);
    let distance = d.norm();
    let normal = if distance > 0.0 { d / distance } else { Vec3::x() };
    (normal, distance - radius)
}

fn from_cylinder(c: Vec3, radius: f64, half_height: f64) -> (Vec3, f64) {
    let across = (c.x * c.x + c.z * c.z).sqrt();
    let outward = if across > 0.0 { Vec3::new(c.x / across, 0.0, c.z / across) } else { Vec3::x() };
    let up = Vec3::new(0.0, if c.y < 0.0 { -1.0 } else { 1.0 }, 0.0);
    let (side, end) = (across - radius, c.y.abs() - half_height);
    if side > 0.0 && end > 0.0 {
        // Nearest to the rim.
        let d = outward * side + up * end;
        let distance = d.norm();
        (d / distance, distance)
    } else if side >= end {
        (outward, side)
    } else {
        (up, end)
    }
}

fn from_ring(c: Vec3, radius: f64, tube: f64) -> (Vec3, f64) {
    let across = (c.x * c.x + c.z * c.z).sqrt();
    let outward = if across > 0.0 { Vec3::new(c.x / across, 0.0, c.z / across) } else { Vec3::x() };
    // From the nearest point of the circle.
    let d = outward * (across - radius) + Vec3::y() * c.y;
    let distance = d.norm();
    (if distance > 0.0 { d / distance } else { Vec3::y() }, distance - tube)
}

fn from_hull(c: Vec3, hull: &ConvexPolyhedron) -> (Vec3, f64) {
    let points = hull.points();
    let corner = |at: u32| from_parry(points[at as usize]);
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
        let ring = &adjacent[first..first + face.num_vertices_or_edges as usize];
        for pair in ring[1..].windows(2) {
            let d = c - closest_on_triangle(c, corner(ring[0]), corner(pair[0]), corner(pair[1]));
            if d.norm_squared() < nearest.0 {
                nearest = (d.norm_squared(), d);
            }
        }
    }
    let distance = nearest.0.sqrt();
    if distance > 0.0 { (nearest.1 / distance, distance) } else { deepest }
}

/// A triangle near a ball: how far, which one, and where it is nearest.
struct Near {
    distance: f64,
    triangle: u32,
    corners: [Vec3; 3],
    closest: Vec3,
}

/// A ball against a mesh: the places where its surface is nearest to the ball's centre.
fn against_mesh(c: Vec3, radius: f64, mesh: &TriMesh, placed: &Placed, reach: f64) -> Manifold {
    let reached = radius + reach.max(0.0);
    let around = Vec3::repeat(reached);
    let bounds = ParryAabb { mins: to_parry(c - around), maxs: to_parry(c + around) };
    let mut near: Vec<Near> = Vec::new();
    for triangle in mesh.bvh().intersect_aabb(&bounds) {
        let t = mesh.triangle(triangle);
        let corners = [from_parry(t.a), from_parry(t.b), from_parry(t.c)];
        let closest = closest_on_triangle(c, corners[0], corners[1], corners[2]);
        let distance = (c - closest).norm();
        if distance < reached {
            near.push(Near { distance, triangle, corners, closest });
        }
    }
    near.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.triangle.cmp(&b.triangle)));
    // A point on the edge of a triangle is no contact if the surface comes nearer on the other side of that
    // edge: a ball must not trip over the seams of a smooth surface.
    let same = 1e-9 * (radius + c.amax());
    let is_on = |p: Vec3, t: &Near| {
        (closest_on_triangle(p, t.corners[0], t.corners[1], t.corners[2]) - p).norm() <= same
    };
    let mut holding: Vec<usize> = (0..near.len())
        .filter(|&at| !near[..at].iter().any(|nearer| is_on(near[at].closest, nearer)))
        .collect();
    // Numbered by rank, not by triangle: a ball that rolls over a seam keeps its cached impulse.
    holding.sort_by_key(|at| near[*at].triangle);
    let mut points = PointList::new();
    for (rank, at) in holding.into_iter().enumerate() {
        let Near { distance, closest, corners, .. } = &near[at];
        // A ball whose centre lies on the triangle is pushed out of its front.
        let normal = if *distance > 0.0 { (c - closest) / *distance } else { front(corners) };
        let normal = placed.q * normal;
        let gap = distance - radius;
        let point = placed.x + placed.q * closest + normal * (0.5 * gap);
        points.push(ContactPoint { feature: rank as u64, point, normal, gap });
    }
    points.reduce()
}

fn front(corners: &[Vec3; 3]) -> Vec3 {
    let n = (corners[1] - corners[0]).cross(&(corners[2] - corners[0]));
    let length = n.norm();
    if length > 0.0 { n / length } else { Vec3::y() }
}
