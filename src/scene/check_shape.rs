//! Checks the shapes of a scene: sizes, hulls, meshes, and which of them may move. Poses are checked elsewhere.

use std::ops::RangeInclusive;

use crate::scene::suggest::excerpt;
use crate::scene::validate::{At, check_range, check_unit, check_vector, norm};
use crate::scene::{MESH_TRIANGLES_MAX, MESH_VERTICES_MAX, SceneError, Shape};

/// Lengths that a shape may have, metres.
const SIZE_M: RangeInclusive<f64> = 1e-6..=1e6;
/// A hull or mesh may not reach further than this from its origin, metres.
const REACH_MAX_M: f64 = 1e6;
const HULL_POINTS: RangeInclusive<usize> = 4..=4096;
/// A hull is flat if it is thinner than this share of its length. Not tuned.
const FLAT_SHARE: f64 = 1e-6;

/// What a shape is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Static,
    Body,
}

/// Checks the shape of the object at `at`.
pub(super) fn check_shape(at: &At, shape: &Shape, role: Role) -> Result<(), SceneError> {
    match shape {
        Shape::Sphere { radius } => check_range(at.field("shape.sphere.radius"), *radius, SIZE_M),
        Shape::Box { half_extents } => {
            let field = at.field("shape.box.half_extents");
            half_extents
                .iter()
                .enumerate()
                .try_for_each(|(i, half)| check_range(field.element(i), *half, SIZE_M))
        }
        Shape::Capsule { radius, half_height } => {
            check_range(at.field("shape.capsule.radius"), *radius, SIZE_M)?;
            check_range(at.field("shape.capsule.half_height"), *half_height, SIZE_M)
        }
        Shape::Cylinder { radius, half_height } => {
            check_range(at.field("shape.cylinder.radius"), *radius, SIZE_M)?;
            check_range(at.field("shape.cylinder.half_height"), *half_height, SIZE_M)
        }
        Shape::Ring { radius, tube } => {
            check_range(at.field("shape.ring.radius"), *radius, SIZE_M)?;
            check_range(at.field("shape.ring.tube"), *tube, SIZE_M)?;
            check_hole(at, *radius, *tube)
        }
        Shape::Hull { points } => check_hull(at, points),
        Shape::HalfSpace { .. } if role == Role::Body => {
            Err(static_only(at, "a half-space", "a big box, or move it to `[[static]]`"))
        }
        Shape::HalfSpace { normal } => {
            check_unit(at.field("shape.half_space.normal"), normal, "[0.0, 1.0, 0.0]")
        }
        Shape::Mesh { .. } if role == Role::Body => {
            Err(static_only(at, "a mesh", "a hull, or move it to `[[static]]`"))
        }
        Shape::Mesh { file, vertices, triangles } => check_mesh(at, file.as_deref(), vertices, triangles),
    }
}

fn static_only(at: &At, what: &str, instead: &str) -> SceneError {
    SceneError::new(at.field("shape").text(), format!("{what} cannot move"), format!("use {instead}"))
}

fn check_hole(at: &At, radius: f64, tube: f64) -> Result<(), SceneError> {
    if tube < radius {
        return Ok(());
    }
    Err(SceneError::new(
        at.field("shape.ring.tube").text(),
        format!("is {tube:?}: the ring has no hole"),
        format!("use less than `radius`, which is {radius:?}; `radius` reaches to the middle of the tube"),
    ))
}

fn check_hull(at: &At, points: &[[f64; 3]]) -> Result<(), SceneError> {
    let field = at.field("shape.hull.points");
    let wrong = |problem: String, fix: &str| Err(SceneError::new(field.text(), problem, fix));
    if !HULL_POINTS.contains(&points.len()) {
        return wrong(format!("there are {} points", points.len()), "use 4 to 4096 points");
    }
    for (index, point) in points.iter().enumerate() {
        check_vector(field.element(index), point, REACH_MAX_M, "m")?;
    }
    let [length, width, height] = extents_of_simplex(points);
    if length < *SIZE_M.start() {
        return wrong(format!("they span only {length:e} m"), "spread them over at least 1e-6 m");
    }
    if width < FLAT_SHARE * length {
        return wrong("all points lie on one line".to_owned(), "add points off the line");
    }
    if height < (FLAT_SHARE * length).max(*SIZE_M.start()) {
        return wrong(
            "all points lie in one plane".to_owned(),
            "add points off the plane, or use a thin box",
        );
    }
    Ok(())
}

/// Edge, width and height of a large tetrahedron among the points: zeros mean that the points lie in a plane, on a line or in a point.
fn extents_of_simplex(points: &[[f64; 3]]) -> [f64; 3] {
    let a = points[0];
    let furthest = |distance: &dyn Fn(&[f64; 3]) -> f64| {
        points
            .iter()
            .map(|p| (distance(p), *p))
            .fold((0.0, a), |max, this| if this.0 > max.0 { this } else { max })
    };
    let (length, b) = furthest(&|p| norm(&minus(*p, a)));
    let along = minus(b, a).map(|n| n / length);
    let (width, c) = furthest(&|p| norm(&cross(along, minus(*p, a))));
    let across = cross(along, minus(c, a)).map(|n| n / width);
    let (height, _) = furthest(&|p| dot(across, minus(*p, a)).abs());
    [length, width, height]
}

fn check_mesh(
    at: &At,
    file: Option<&str>,
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
) -> Result<(), SceneError> {
    if let Some(name) = file {
        let field = at.field("shape.mesh.file").text();
        if !vertices.is_empty() || !triangles.is_empty() {
            return Err(SceneError::new(
                field,
                "a file and triangles in place are both given",
                "keep one of them",
            ));
        }
        let problem = format!("the file `{}` has not been read", excerpt(name));
        let fix = "read the scene with `scene::load`, or write `vertices` and `triangles` in place";
        return Err(SceneError::new(field, problem, fix));
    }
    check_mesh_counts(at, vertices.len(), triangles.len())?;
    let vertices_field = at.field("shape.mesh.vertices");
    for (index, vertex) in vertices.iter().enumerate() {
        check_vector(vertices_field.element(index), vertex, REACH_MAX_M, "m")?;
    }
    let field = at.field("shape.mesh.triangles");
    let mut doubled_area_max = 0.0;
    for (index, triangle) in triangles.iter().enumerate() {
        if let Some(corner) = triangle.iter().find(|corner| **corner as usize >= vertices.len()) {
            let problem = format!("names vertex {corner} of {}", vertices.len());
            return Err(SceneError::new(field.element(index).text(), problem, "count vertices from 0"));
        }
        let [a, b, c] = triangle.map(|corner| vertices[corner as usize]);
        doubled_area_max = norm(&cross(minus(b, a), minus(c, a))).max(doubled_area_max);
    }
    if doubled_area_max < SIZE_M.start() * SIZE_M.start() {
        return Err(SceneError::new(field.text(), "no triangle has an area", "use a mesh with a surface"));
    }
    Ok(())
}

fn check_mesh_counts(at: &At, vertices: usize, triangles: usize) -> Result<(), SceneError> {
    let field = at.field("shape.mesh.triangles").text();
    if triangles == 0 {
        return Err(SceneError::new(
            field,
            "the mesh has no triangles",
            "name a `file`, or write some in place",
        ));
    }
    if triangles > MESH_TRIANGLES_MAX {
        let fix = format!("use at most {MESH_TRIANGLES_MAX}");
        return Err(SceneError::new(field, format!("there are {triangles}"), fix));
    }
    if vertices > MESH_VERTICES_MAX {
        let field = at.field("shape.mesh.vertices").text();
        let fix = format!("use at most {MESH_VERTICES_MAX}");
        return Err(SceneError::new(field, format!("there are {vertices}"), fix));
    }
    Ok(())
}

/// The smallest length across a shape: what a body may travel per tick before it can tunnel.
pub(super) fn thickness_m(shape: &Shape) -> f64 {
    match shape {
        Shape::Sphere { radius } | Shape::Capsule { radius, .. } => 2.0 * radius,
        Shape::Box { half_extents: [x, y, z] } => 2.0 * x.min(*y).min(*z),
        Shape::Cylinder { radius, half_height } => 2.0 * radius.min(*half_height),
        Shape::Ring { tube, .. } => 2.0 * tube,
        Shape::Hull { points } => (0..3)
            .map(|axis| {
                let along = points.iter().map(|point| point[axis]);
                along.clone().fold(f64::NEG_INFINITY, f64::max) - along.fold(f64::INFINITY, f64::min)
            })
            .fold(f64::INFINITY, f64::min),
        Shape::HalfSpace { .. } | Shape::Mesh { .. } => f64::INFINITY,
    }
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
