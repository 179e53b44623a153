//! `first_touch` and `first_static_touch` against the plain scan of every tick, grazing passes included.

use anachron::internals::base::math::{Vec3, rotation_exp};
use anachron::internals::base::state::BodyState;
use anachron::internals::base::time::Tick;
use anachron::internals::physics::{
    BodyDef, Flight, FlightCursor, World, first_static_touch, first_touch, touching, touching_static,
};
use anachron::scene::{Body, Scene, Shape, StaticObject};
use proptest::prelude::*;

use crate::laws::scene;

/// The first contact of two bodies by definition: test every tick.
fn scan(world: &World, a: (&BodyDef, &Flight), b: (&BodyDef, &Flight), from: Tick, to: Tick) -> Option<Tick> {
    let (mut at_a, mut at_b) = (FlightCursor::new(*a.1), FlightCursor::new(*b.1));
    (from..=to).find(|&tick| {
        let (sa, sb) = (at_a.state_at(world, a.0, tick), at_b.state_at(world, b.0, tick));
        touching(&world.rule, a.0, &sa, b.0, &sb).is_some()
    })
}

fn scan_static(world: &World, body: &BodyDef, flight: &Flight, from: Tick, to: Tick) -> Option<Tick> {
    let mut cursor = FlightCursor::new(*flight);
    (from..=to).find(|&tick| {
        let state = cursor.state_at(world, body, tick);
        world.statics.iter().any(|object| touching_static(&world.rule, body, &state, object).is_some())
    })
}

fn vector(size: f64) -> impl Strategy<Value = Vec3> {
    prop::array::uniform3(-size..size).prop_map(Vec3::from)
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let size = 0.05..0.8f64;
    let tetrahedron =
        vec![[0.5, 0.0, 0.0], [-0.4, 0.5, 0.1], [-0.3, -0.4, 0.3], [0.0, 0.0, -0.6], [0.1, 0.3, 0.4]];
    prop_oneof![
        4 => size.clone().prop_map(|radius| Shape::Sphere { radius }),
        2 => prop::array::uniform3(size.clone()).prop_map(|half_extents| Shape::Box { half_extents }),
        1 => (size.clone(), size.clone()).prop_map(|(radius, half_height)| Shape::Capsule { radius, half_height }),
        1 => (size.clone(), size).prop_map(|(radius, half_height)| Shape::Cylinder { radius, half_height }),
        1 => (0.2..0.8f64, 0.05..0.19f64).prop_map(|(radius, tube)| Shape::Ring { radius, tube }),
        1 => Just(Shape::Hull { points: tetrahedron }),
    ]
}

fn with_gravity(on: bool) -> Scene {
    let mut scene = scene(0.0, 0.5);
    if !on {
        scene.gravity = [0.0; 3];
    }
    scene
}

/// A flight through `at` at tick `when` with velocity `v`, that began at tick `since`.
fn through(world: &World, at: Vec3, v: Vec3, w: Vec3, when: Tick, since: Tick) -> Flight {
    let tau = (when as f64 - since as f64) * world.time.tick_s;
    let v0 = v - world.gravity * tau;
    let x0 = at - v0 * tau - world.gravity * (0.5 * tau * tau);
    Flight { since, origin: BodyState { x: x0, q: rotation_exp(w * 0.3), v: v0, w } }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Two balls that pass at a chosen distance, often within a hair of touching.
    #[test]
    fn balls_that_pass_or_graze(
        gravity: bool,
        (ra, rb) in (0.05..1.0f64, 0.05..1.0f64),
        (middle, va, u) in (vector(50.0), vector(8.0), vector(8.0)),
        side in vector(1.0),
        miss in prop_oneof![0.0..2.0f64, 1.0 - 1e-3..1.0 + 1e-3, 1.0 - 1e-9..1.0 + 1e-9, Just(1.0)],
        (since_a, since_b) in (0u64..40, 0u64..40),
        (when, from, length) in (41u64..700, 41u64..400, 0u64..700),
    ) {
        let mut scene = with_gravity(gravity);
        scene.bodies = vec![
            Body::new(Shape::Sphere { radius: ra }, [0.0; 3]),
            Body::new(Shape::Sphere { radius: rb }, [100.0, 0.0, 0.0]),
        ];
        let world = World::new(&scene).unwrap();
        let across = side.cross(&u);
        prop_assume!(across.norm() > 1e-3);
        let offset = across.normalize() * (miss * (ra + rb + world.rule.margin_m));
        let a = through(&world, middle, va, Vec3::zeros(), when, since_a);
        let b = through(&world, middle + offset, va + u, Vec3::zeros(), when, since_b);
        let (a, b) = ((&world.bodies[0], &a), (&world.bodies[1], &b));
        prop_assert_eq!(first_touch(&world, a, b, from, from + length), scan(&world, a, b, from, from + length));
    }

    /// Balls that move together, or nearly so, at the very edge of touching.
    #[test]
    fn balls_that_move_together(
        gravity: bool,
        v in vector(5.0),
        drift in prop_oneof![Just(0.0), -1e-9..1e-9f64, -1e-3..1e-3f64],
        gap in prop_oneof![Just(0.0), -1e-9..1e-9f64, -1e-4..1e-3f64],
        length in 0u64..300,
    ) {
        let mut scene = with_gravity(gravity);
        scene.bodies = vec![crate::laws::ball(0.5, [0.0; 3]), crate::laws::ball(0.5, [9.0, 0.0, 0.0])];
        let world = World::new(&scene).unwrap();
        let a = through(&world, Vec3::new(3.0, 4.0, 5.0), v, Vec3::zeros(), 10, 0);
        let x = Vec3::new(4.0 + gap + world.rule.margin_m, 4.0, 5.0);
        let b = through(&world, x, v + Vec3::new(drift, 0.0, 0.0), Vec3::zeros(), 10, 7);
        let (a, b) = ((&world.bodies[0], &a), (&world.bodies[1], &b));
        prop_assert_eq!(first_touch(&world, a, b, 10, 10 + length), scan(&world, a, b, 10, 10 + length));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Any two shapes, tumbling past each other.
    #[test]
    fn any_two_shapes(
        gravity: bool,
        (shape_a, shape_b) in (any_shape(), any_shape()),
        (va, u, wa, wb) in (vector(4.0), vector(6.0), vector(6.0), vector(6.0)),
        offset in vector(1.2),
        when in 20u64..200,
        length in 0u64..250,
    ) {
        let mut scene = with_gravity(gravity);
        scene.bodies = vec![Body::new(shape_a, [0.0; 3]), Body::new(shape_b, [100.0, 0.0, 0.0])];
        let world = World::new(&scene).unwrap();
        let a = through(&world, Vec3::zeros(), va, wa, when, 3);
        let b = through(&world, offset, va + u, wb, when, 5);
        let (a, b) = ((&world.bodies[0], &a), (&world.bodies[1], &b));
        prop_assert_eq!(first_touch(&world, a, b, 6, 6 + length), scan(&world, a, b, 6, 6 + length));
    }

    /// A body that flies past, grazes or hits static geometry of every kind.
    #[test]
    fn static_geometry(
        gravity: bool,
        (shape, fixed) in (any_shape(), any_shape()),
        (at, v, w) in (vector(2.5), vector(6.0), vector(6.0)),
        turn in vector(3.0),
        kind in 0..3,
        when in 1u64..300,
        length in 0u64..500,
    ) {
        let mut scene = with_gravity(gravity);
        scene.bodies = vec![Body::new(shape, [0.0; 3])];
        let q = rotation_exp(turn);
        let mut object = StaticObject::new(fixed, [0.3, -0.2, 0.1]);
        object.orientation = [q.i, q.j, q.k, q.w];
        if kind == 1 {
            object.shape = Shape::HalfSpace { normal: [0.0, 1.0, 0.0] };
        }
        if kind == 2 {
            object.shape = Shape::Mesh {
                file: None,
                vertices: vec![[-2.0, 0.0, -2.0], [2.0, 0.0, -2.0], [2.0, 0.5, 2.0], [-2.0, 0.0, 2.0]],
                triangles: vec![[0, 2, 1], [0, 3, 2]],
            };
        }
        scene.statics = vec![object];
        let world = World::new(&scene).unwrap();
        let body = &world.bodies[0];
        let flight = through(&world, at, v, w, when, 0);
        prop_assert_eq!(
            first_static_touch(&world, (body, &flight), 1, 1 + length),
            scan_static(&world, body, &flight, 1, 1 + length)
        );
    }
}
