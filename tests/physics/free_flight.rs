//! Flights: the same bits whichever ticks are looked at, the parabola, bounds, and what tumbling keeps.

use anachron::internals::base::math::{Vec3, rotation_exp};
use anachron::internals::base::state::BodyState;
use anachron::internals::physics::{Flight, FlightCursor, World};
use anachron::scene::{Body, Scene, Shape};
use proptest::prelude::*;

fn world_of(shape: Shape) -> World {
    let scene = Scene { bodies: vec![Body::new(shape, [0.0; 3])], ..crate::laws::scene(0.0, 0.0) };
    World::new(&scene).expect("the scene is valid")
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Sphere { radius: 0.4 }),
        Just(Shape::Box { half_extents: [0.3; 3] }),
        Just(Shape::Box { half_extents: [0.1, 0.3, 0.7] }),
        Just(Shape::Capsule { radius: 0.2, half_height: 0.6 }),
        Just(Shape::Cylinder { radius: 0.5, half_height: 0.1 }),
        Just(Shape::Ring { radius: 0.5, tube: 0.1 }),
        Just(Shape::Hull {
            points: vec![
                [0.5, 0.0, 0.0],
                [-0.4, 0.5, 0.1],
                [-0.3, -0.4, 0.3],
                [0.0, 0.0, -0.6],
                [0.1, 0.3, 0.4]
            ]
        }),
    ]
}

fn vector(size: f64) -> impl Strategy<Value = Vec3> {
    prop::array::uniform3(-size..size).prop_map(Vec3::from)
}

fn flight() -> impl Strategy<Value = Flight> {
    (0u64..50, vector(100.0), vector(3.0), vector(20.0), vector(15.0)).prop_map(|(since, x, turn, v, w)| {
        Flight { since, origin: BodyState { x, q: rotation_exp(turn), v, w } }
    })
}

fn bits(state: &BodyState) -> [u64; 13] {
    state.to_array().map(f64::to_bits)
}

proptest! {
    /// Looking at ticks in any order, or at one directly, gives the same bits.
    #[test]
    fn any_sequence_of_looks_gives_the_same_bits(
        shape in shape(),
        flight in flight(),
        looks in prop::collection::vec(0u64..400, 1..20),
    ) {
        let world = world_of(shape);
        let body = &world.bodies[0];
        let mut cursor = FlightCursor::new(flight);
        for look in looks {
            let tick = flight.since + look;
            let direct = flight.state_at(&world, body, tick);
            prop_assert_eq!(bits(&cursor.state_at(&world, body, tick)), bits(&direct));
        }
    }

    /// Nothing of the body is ever outside the swept bounds.
    #[test]
    fn swept_bounds_hold_the_body_at_every_tick(
        shape in shape(),
        flight in flight(),
        (from, length) in (0u64..200, 0u64..200),
    ) {
        let world = world_of(shape);
        let body = &world.bodies[0];
        let (from, to) = (flight.since + from, flight.since + from + length);
        let swept = flight.swept_aabb(&world, body, from, to);
        for tick in from..=to {
            let state = flight.state_at(&world, body, tick);
            let here = body.shape.aabb(state.x, &state.q);
            prop_assert!((0..3).all(|k| swept.min[k] <= here.min[k] && here.max[k] <= swept.max[k]));
        }
    }

    /// Energy of motion and height, and angular momentum, are those of the origin; tumbling lets the energy of
    /// rotation wobble a little.
    #[test]
    fn energy_and_angular_momentum_are_kept(shape in shape(), flight in flight(), ticks in 0u64..2000) {
        let world = world_of(shape);
        let body = &world.bodies[0];
        let state = flight.state_at(&world, body, flight.since + ticks);
        let height = |s: &BodyState| 0.5 * s.v.norm_squared() - world.gravity.dot(&s.x);
        let (before, after) = (height(&flight.origin), height(&state));
        prop_assert!((after - before).abs() <= 1e-9 * (before.abs() + state.v.norm_squared() + 1.0));
        let spin = |s: &BodyState| body.inertia.momentum(&s.q, s.w);
        let (before, after) = (spin(&flight.origin), spin(&state));
        prop_assert!((after - before).norm() <= 1e-9 * before.norm().max(1e-12));
    }
}

#[test]
fn a_throw_is_the_parabola_of_the_textbook() {
    let world = world_of(Shape::Sphere { radius: 0.5 });
    let origin = BodyState { v: Vec3::new(3.0, 10.0, 0.0), ..BodyState::at_rest(Vec3::new(1.0, 2.0, 3.0)) };
    let flight = Flight { since: 7, origin };
    let state = flight.state_at(&world, &world.bodies[0], 7 + 240);
    assert!((state.x - Vec3::new(4.0, 2.0 + 10.0 - 9.81 / 2.0, 3.0)).norm() < 1e-12);
    assert!((state.v - Vec3::new(3.0, 10.0 - 9.81, 0.0)).norm() < 1e-12);
    assert_eq!(state.q, origin.q);
}
