//! Our contact kernels against parry's queries, and against what any contact must satisfy.

use anachron::internals::base::math::{Quat, Vec3, from_parry, rotation_exp, to_parry, to_parry_pose};
use anachron::internals::physics::World;
use anachron::internals::physics::collision::kernels::{Manifold, Placed, contact};
use anachron::internals::physics::shape::{HalfSpace, Shape};
use anachron::scene::{self, Body, Scene};
use parry3d::query;
use proptest::prelude::*;

/// A shape at a pose, for our kernels and for parry.
#[derive(Clone)]
struct Thing {
    given: scene::Shape,
    shape: Shape,
    x: Vec3,
    q: Quat,
}

impl Thing {
    fn new(given: scene::Shape, x: Vec3, turn: Vec3) -> Self {
        Thing { shape: compiled(given.clone()), given, x, q: rotation_exp(turn) }
    }

    fn placed(&self) -> Placed<'_> {
        Placed { shape: &self.shape, x: self.x, q: self.q }
    }

    fn moved(&self, by: Vec3) -> Thing {
        Thing { x: self.x + by, ..self.clone() }
    }

    /// Distance from a point to the surface, from inside or outside.
    fn to_surface(&self, p: Vec3) -> f64 {
        let pose = to_parry_pose(self.x, &self.q);
        let projected = self.shape.to_parry().project_point(&pose, to_parry(p), false);
        (from_parry(projected.point) - p).norm()
    }

    /// The same with a sign: negative inside.
    fn signed_distance(&self, p: Vec3) -> f64 {
        let pose = to_parry_pose(self.x, &self.q);
        let inside = self.shape.to_parry().contains_point(&pose, to_parry(p));
        self.to_surface(p) * if inside { -1.0 } else { 1.0 }
    }
}

impl std::fmt::Debug for Thing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at {:?} turned {:?}", self.given, self.x, self.q.coords)
    }
}

/// How far apart two things are, by parry; negative if they overlap.
fn apart(a: &Thing, b: &Thing) -> f64 {
    let (pose_a, pose_b) = (to_parry_pose(a.x, &a.q), to_parry_pose(b.x, &b.q));
    let (shape_a, shape_b) = (a.shape.to_parry(), b.shape.to_parry());
    let found = query::distance(&pose_a, &*shape_a, &pose_b, &*shape_b).expect("parry knows the pair");
    let distance = found.distance;
    if distance > 0.0 {
        return distance;
    }
    let found = query::contact(&pose_a, &*shape_a, &pose_b, &*shape_b, 0.0).expect("parry knows the pair");
    found.map_or(0.0, |found| found.dist)
}

/// Whether two things share a point, by parry.
fn overlap(a: &Thing, b: &Thing) -> bool {
    let (pose_a, pose_b) = (to_parry_pose(a.x, &a.q), to_parry_pose(b.x, &b.q));
    let found = query::intersection_test(&pose_a, &*a.shape.to_parry(), &pose_b, &*b.shape.to_parry());
    found.expect("parry knows the pair").intersecting
}

fn touch(a: &Thing, b: &Thing) -> Manifold {
    contact(&a.placed(), &b.placed(), 10.0)
}

/// Compiles a shape the way scenes do.
fn compiled(shape: scene::Shape) -> Shape {
    let scene = Scene { bodies: vec![Body::new(shape, [0.0; 3])], ..Scene::default() };
    World::new(&scene).expect("the scene is valid").bodies[0].shape.clone()
}

fn size() -> impl Strategy<Value = f64> {
    0.1..1.0f64
}

fn sphere() -> impl Strategy<Value = scene::Shape> {
    size().prop_map(|radius| scene::Shape::Sphere { radius })
}

fn cuboid() -> impl Strategy<Value = scene::Shape> {
    prop::array::uniform3(size()).prop_map(|half_extents| scene::Shape::Box { half_extents })
}

fn other() -> impl Strategy<Value = scene::Shape> {
    let points = prop::collection::vec(prop::array::uniform3(-1.0..1.0f64), 4..12);
    prop_oneof![
        (size(), size()).prop_map(|(radius, half_height)| scene::Shape::Capsule { radius, half_height }),
        (size(), size()).prop_map(|(radius, half_height)| scene::Shape::Cylinder { radius, half_height }),
        points
            .prop_filter("flat", |points| {
                let scene = Scene {
                    bodies: vec![Body::new(scene::Shape::Hull { points: points.clone() }, [0.0; 3])],
                    ..Scene::default()
                };
                World::new(&scene).is_ok_and(|world| world.bodies[0].shape.thickness() > 0.2)
            })
            .prop_map(|points| scene::Shape::Hull { points }),
    ]
}

fn vector(size: f64) -> impl Strategy<Value = Vec3> {
    prop::array::uniform3(-size..size).prop_map(Vec3::from)
}

/// Two things in random orientation, moved together along a random line until they just touch, and then `gap`
/// farther apart along that line.
fn pair(
    a: impl Strategy<Value = scene::Shape>,
    b: impl Strategy<Value = scene::Shape>,
    gap: std::ops::Range<f64>,
) -> impl Strategy<Value = (Thing, Thing)> {
    let poses = (vector(1.0), vector(3.0), vector(3.0), vector(5.0), gap);
    (a, b, poses).prop_filter_map("no direction", |(a, b, (way, turn_a, turn_b, x, gap))| {
        if way.norm() < 0.1 {
            return None;
        }
        let way = way.normalize();
        let (a, b) = (Thing::new(a, x, turn_a), Thing::new(b, x, turn_b));
        let (mut near, mut far) = (0.0, 8.0);
        for _ in 0..45 {
            let middle = 0.5 * (near + far);
            if overlap(&a.moved(way * middle), &b) { near = middle } else { far = middle }
        }
        Some((a.moved(way * (far + gap)), b))
    })
}

/// What holds for every manifold: unit normals, points half way between the surfaces, numbered in order.
fn check_points(a: &Thing, b: &Thing, manifold: &Manifold, tolerance: f64) -> Result<(), TestCaseError> {
    prop_assert!(!manifold.points().is_empty());
    prop_assert!(manifold.points().windows(2).all(|pair| pair[0].feature < pair[1].feature));
    for p in manifold.points() {
        prop_assert!((p.normal.norm() - 1.0).abs() < 1e-12);
        let half = p.normal * (0.5 * p.gap);
        let (off_a, off_b) = (a.to_surface(p.point + half), b.to_surface(p.point - half));
        prop_assert!(off_a < tolerance && off_b < tolerance, "{off_a:e} and {off_b:e} off the surfaces");
    }
    Ok(())
}

/// Seen from the other side, the same gap and the opposite normal.
fn check_symmetry(a: &Thing, b: &Thing, tolerance: f64) -> Result<(), TestCaseError> {
    let (there, back) = (touch(a, b), touch(b, a));
    prop_assert!((there.gap() - back.gap()).abs() < tolerance, "{} and {}", there.gap(), back.gap());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Balls against everything, apart and overlapping: the gap is the distance of the centre less the radius.
    #[test]
    fn balls_against_everything((a, b) in pair(sphere(), prop_oneof![sphere(), cuboid(), other()], -0.08..0.5)) {
        let manifold = touch(&a, &b);
        prop_assert_eq!(manifold.points().len(), 1);
        let radius = a.shape.bounding_radius();
        let expected = b.signed_distance(a.x) - radius;
        prop_assert!((manifold.gap() - expected).abs() < 1e-9, "{} instead of {expected}", manifold.gap());
        if expected > 1e-6 {
            prop_assert!((expected - apart(&a, &b)).abs() < 1e-9);
        }
        check_points(&a, &b, &manifold, 1e-9)?;
        check_symmetry(&a, &b, 1e-12)?;
        // The normal points from the second into the first.
        let out = manifold.points()[0].normal * 1e-3;
        prop_assert!((touch(&a.moved(out), &b).gap() - manifold.gap() - 1e-3).abs() < 1e-9);
    }

    /// Boxes that overlap a little: moving by the depth along the normal separates them, and no other way out is
    /// shorter.
    #[test]
    fn boxes_that_overlap((a, b) in pair(cuboid(), cuboid(), -0.05..-1e-3), ways in prop::collection::vec(vector(1.0), 20)) {
        let manifold = touch(&a, &b);
        let depth = -manifold.gap();
        prop_assert!(depth > 0.0);
        check_points(&a, &b, &manifold, 1e-9)?;
        // Faces are preferred to edges, by up to a thousandth of the smaller box; parry is not exact either.
        let slack = 2e-3 * a.shape.thickness().min(b.shape.thickness());
        let normal = manifold.points()[0].normal;
        prop_assert!(!overlap(&a.moved(normal * (depth + slack)), &b), "{depth} along {normal} is not enough");
        let axes = [a.q, b.q].map(|q| [Vec3::x(), Vec3::y(), Vec3::z()].map(|axis| q * axis)).concat();
        let back_and_forth = axes.iter().flat_map(|axis| [*axis, -axis]);
        let ways = ways.iter().filter(|way| way.norm() > 0.1).map(|way| way.normalize());
        // Not below zero: a negative way would be one in the opposite direction, perhaps longer than the depth.
        let shorter = (depth - slack).max(0.0);
        for way in back_and_forth.chain(ways) {
            prop_assert!(overlap(&a.moved(way * shorter), &b), "{way} is shorter than {depth}");
        }
        check_symmetry(&a, &b, slack)?;
    }

    /// Boxes that are apart are not found to overlap.
    #[test]
    fn boxes_that_are_apart((a, b) in pair(cuboid(), cuboid(), 1e-6..0.3)) {
        prop_assert!(touch(&a, &b).gap() > 0.0);
    }

    /// The rest, which we ask of parry: its manifolds agree with its distances, roughly.
    #[test]
    fn other_shapes((a, b) in pair(prop_oneof![cuboid(), other()], other(), -0.02..0.02)) {
        let distance = apart(&a, &b);
        let manifold = contact(&a.placed(), &b.placed(), 0.05);
        prop_assert!((manifold.gap() - distance).abs() < 0.01, "{} instead of {distance}", manifold.gap());
    }

    /// Boxes on a plane: every corner within reach, or four that span them.
    #[test]
    fn boxes_on_a_plane(shape in cuboid(), turn in vector(3.0), height in -0.02..0.01f64) {
        let plane = Shape::HalfSpace(HalfSpace { normal: Vec3::y() });
        let plane = Placed { shape: &plane, x: Vec3::zeros(), q: Quat::identity() };
        let flying = Thing::new(shape, Vec3::zeros(), turn);
        let lowest = flying.shape.aabb(flying.x, &flying.q).min.y;
        let a = flying.moved(Vec3::y() * (height - lowest));
        let manifold = contact(&a.placed(), &plane, 0.012);
        prop_assert!((manifold.gap() - height).abs() < 1e-12);
        for p in manifold.points() {
            prop_assert_eq!(p.normal, Vec3::y());
            prop_assert!(a.to_surface(p.point + p.normal * (0.5 * p.gap)) < 1e-9);
            prop_assert!((p.point.y - 0.5 * p.gap).abs() < 1e-12);
        }
    }
}

/// Nothing is lost in the translation of parry's points: they lie half way between the surfaces, below the first
/// shape and above the second.
#[test]
fn points_of_other_shapes_lie_half_way() {
    let lying = Vec3::z() * std::f64::consts::FRAC_PI_2;
    let table = Thing::new(
        scene::Shape::Box { half_extents: [2.0, 0.5, 2.0] },
        Vec3::new(0.0, -0.5, 0.0),
        Vec3::zeros(),
    );
    let capsule = scene::Shape::Capsule { radius: 0.2, half_height: 0.5 };
    let cylinder = scene::Shape::Cylinder { radius: 0.3, half_height: 0.4 };
    let hull =
        vec![[0.5, -0.3, 0.4], [0.5, -0.3, -0.4], [-0.5, -0.3, 0.4], [-0.5, -0.3, -0.4], [0.0, 0.6, 0.0]];
    let hull = scene::Shape::Hull { points: hull };
    for gap in [0.02, -0.02] {
        for (shape, turn, height) in [
            (&capsule, lying, 0.2),
            (&cylinder, Vec3::zeros(), 0.4),
            (&cylinder, lying, 0.3),
            (&hull, Vec3::zeros(), 0.225),
        ] {
            let body = Thing::new(shape.clone(), Vec3::new(0.1, height + gap, -0.2), turn);
            for (a, b, up) in [(&body, &table, 1.0), (&table, &body, -1.0)] {
                let manifold = contact(&a.placed(), &b.placed(), 0.05);
                assert!(manifold.points().len() >= 2, "{shape:?} has too few points to stand on");
                for p in manifold.points() {
                    assert!((p.normal.y - up).abs() < 1e-6, "{shape:?}: normal {}", p.normal);
                    assert!((p.gap - gap).abs() < 1e-6, "{shape:?}: gap {} instead of {gap}", p.gap);
                    assert!((p.point.y - 0.5 * gap).abs() < 1e-6, "{shape:?}: point at {}", p.point.y);
                }
            }
        }
    }
}
