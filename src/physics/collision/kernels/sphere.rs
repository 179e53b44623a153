//! Balls against everything. One point, except on meshes, where a ball may lie in a groove.

use parry3d::bounding_volume::Aabb as ParryAabb;
use parry3d::shape::TriMesh;

use crate::base::math::{Vec3, from_parry, to_parry};
use crate::physics::collision::kernels::reduce::PointList;
use crate::physics::collision::kernels::{ContactPoint, Manifold, Placed};
use crate::physics::shape::{Mesh, Shape, Sphere, closest_on_triangle};

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
        Shape::Sphere(Sphere { radius: rb }) => return against_sphere(x, radius, other.x, *rb, reach),
        Shape::Mesh(Mesh(mesh)) => return against_mesh(other.local_point(x), radius, mesh, other, reach),
        // A convex shape has one nearest point.
        Shape::Box(_) | Shape::Capsule(_) | Shape::Cylinder(_) | Shape::Hull(_) | Shape::HalfSpace(_) => {}
        // Only the nearest point; `contact` gives these pairs to the kernel of rings, which finds the others too.
        Shape::Ring(_) => {}
    }
    let (normal, distance) = other.signed_distance(x);
    let gap = distance - radius;
    if gap >= reach {
        return Manifold::empty();
    }
    Manifold::single(ContactPoint { feature: 0, point: x - normal * (radius + 0.5 * gap), normal, gap })
}

/// A triangle near a ball.
struct NearTriangle {
    /// From the ball's centre to the triangle, metres.
    distance: f64,
    /// Number of the triangle in the mesh.
    triangle: u32,
    /// Its corners in the coordinates of the mesh.
    corners: [Vec3; 3],
    /// Its point nearest to the ball's centre.
    closest: Vec3,
}

/// A ball against a mesh: the points where its surface is nearest to the ball's centre.
fn against_mesh(c: Vec3, radius: f64, mesh: &TriMesh, placed: &Placed, reach: f64) -> Manifold {
    let reached = radius + reach.max(0.0);
    let around = Vec3::repeat(reached);
    let bounds = ParryAabb { mins: to_parry(c - around), maxs: to_parry(c + around) };
    let mut near: Vec<NearTriangle> = Vec::new();
    for triangle in mesh.bvh().intersect_aabb(&bounds) {
        let t = mesh.triangle(triangle);
        let corners = [from_parry(t.a), from_parry(t.b), from_parry(t.c)];
        let closest = closest_on_triangle(c, corners[0], corners[1], corners[2]);
        let distance = (c - closest).norm();
        if distance < reached {
            near.push(NearTriangle { distance, triangle, corners, closest });
        }
    }
    near.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.triangle.cmp(&b.triangle)));
    // A point on the edge of a triangle is no contact if the surface comes nearer on the other side of that
    // edge: a ball must not trip over the seams of a smooth surface.
    let same = 1e-9 * (radius + c.amax());
    let is_on = |p: Vec3, t: &NearTriangle| {
        (closest_on_triangle(p, t.corners[0], t.corners[1], t.corners[2]) - p).norm() <= same
    };
    let mut kept: Vec<usize> = (0..near.len())
        .filter(|&index| !near[..index].iter().any(|nearer| is_on(near[index].closest, nearer)))
        .collect();
    // Numbered by rank, not by triangle: a ball that rolls over a seam keeps its cached impulse.
    kept.sort_by_key(|index| near[*index].triangle);
    let mut points = PointList::new();
    for (rank, index) in kept.into_iter().enumerate() {
        let NearTriangle { distance, closest, corners, .. } = &near[index];
        // If the ball's centre lies on the triangle, it is pushed out of the front.
        let normal = if *distance > 0.0 { (c - closest) / *distance } else { front(corners) };
        let normal = placed.q * normal;
        let gap = distance - radius;
        let point = placed.x + placed.q * closest + normal * (0.5 * gap);
        points.push(ContactPoint { feature: rank as u64, point, normal, gap });
    }
    points.reduce()
}

/// Unit normal of a triangle's front; up, if it has no area.
fn front(corners: &[Vec3; 3]) -> Vec3 {
    let n = (corners[1] - corners[0]).cross(&(corners[2] - corners[0]));
    let length = n.norm();
    if length > 0.0 { n / length } else { Vec3::y() }
}
