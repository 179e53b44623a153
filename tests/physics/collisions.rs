//! Single collisions and sliding against the laws of mechanics: Newton's restitution, Coulomb's cone, rolling,
//! and what holds or slides on a slope.

use anachron::internals::base::math::{Vec3, rotation_exp};
use anachron::internals::base::state::BodyState;
use anachron::internals::physics::World;
use anachron::scene::{Body, Material, Scene, Shape, StaticObject};
use proptest::prelude::*;

use crate::laws::{
    G, ball, cube, every_tick, flat_mesh, floor, orientation, run, scene, slab, turned, weightless,
};

/// Two balls of unequal size and density on a line along `along`, a metre apart, flying at each other.
fn head_on(e: f64, density_ratio: f64, along: Vec3) -> Scene {
    let mut scene = weightless(0.5, e);
    scene.seconds = 1.0;
    let heavy = Material { density: 1000.0 * density_ratio, friction: 0.5, restitution: e, color: None };
    scene.materials.insert("heavy".into(), heavy);
    let (left, right) = (along * -0.9, along * 0.9);
    scene.bodies.push(ball(0.5, left.into()).moving((along * 3.0).into()));
    scene.bodies.push(ball(0.3, right.into()).moving((along * -2.0).into()).of("heavy"));
    scene
}

#[test]
fn unequal_balls_collide_head_on_as_newton_says() {
    for along in [Vec3::x(), Vec3::new(1.0, -2.0, 0.5).normalize()] {
        for e in [1.0, 0.5, 0.0] {
            for ratio in [1e-3, 0.1, 1.0, 125.0 / 27.0, 30.0, 1e4] {
                let scene = head_on(e, ratio, along);
                let world = World::new(&scene).unwrap();
                let (ma, mb) = (world.bodies[0].mass, world.bodies[1].mass);
                let (ua, ub) = (3.0, -2.0);
                let common = (ma * ua + mb * ub) / (ma + mb);
                let expected =
                    [common - mb * e * (ua - ub) / (ma + mb), common + ma * e * (ua - ub) / (ma + mb)];
                let (_, last) = run(&scene);
                for ((_, state), expected) in last.bodies.iter().zip(expected) {
                    let off = (state.v - along * expected).norm();
                    assert!(off < 1e-12, "e {e}, mass ratio {}: off by {off:e}", mb / ma);
                    assert!(state.w.norm() < 1e-12, "a central push turned a ball");
                }
            }
        }
    }
}

#[test]
fn clay_balls_move_on_together() {
    for ratio in [0.1, 1.0, 30.0] {
        let ticks = every_tick(&head_on(0.0, ratio, Vec3::x()));
        let (a, b) = (ticks[200][0], ticks[200][1]);
        assert!((a.v - b.v).norm() < 1e-12);
        let (a_end, b_end) = (ticks[240][0], ticks[240][1]);
        let apart = (b_end.x - a_end.x).norm();
        assert!((apart - (b.x - a.x).norm()).abs() < 1e-12, "they part or merge");
        assert!((apart - 0.8).abs() < 1e-3, "they are {apart} m apart instead of in touch");
    }
}

/// What the first ball of a pair did between two ticks, relative to the other.
struct Blow {
    /// Impulse on the first ball along the normal, N s.
    normal_impulse: f64,
    /// Impulse on the first ball along the surface, N s.
    tangent_impulse: Vec3,
    /// Velocity of the touching points along the normal, before and after, m/s.
    speed: [f64; 2],
    /// Velocity of the touching points along the surface, before and after, m/s.
    slip: [Vec3; 2],
}

/// The first tick at which the velocities of two balls of radius `r` change.
fn first_blow(ticks: &[Vec<BodyState>], mass: f64, r: f64) -> Option<Blow> {
    let at = ticks.windows(2).position(|pair| pair[0][0].v != pair[1][0].v)?;
    let (before, after) = (&ticks[at], &ticks[at + 1]);
    let d = before[0].x - before[1].x;
    let normal = d.normalize();
    let impulse = (after[0].v - before[0].v) * mass;
    let reach = d.norm() * 0.5;
    assert!((reach - r).abs() < 0.05);
    let velocity = |s: &[BodyState]| s[0].velocity_at(normal * -reach) - s[1].velocity_at(normal * reach);
    let along = |v: Vec3| v - normal * normal.dot(&v);
    let (u, w) = (velocity(before), velocity(after));
    Some(Blow {
        normal_impulse: impulse.dot(&normal),
        tangent_impulse: along(impulse),
        speed: [u.dot(&normal), w.dot(&normal)],
        slip: [along(u), along(w)],
    })
}

fn vector(size: f64) -> impl Strategy<Value = Vec3> {
    prop::array::uniform3(-size..size).prop_map(Vec3::from)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Two spinning balls collide off centre: restitution along the normal, friction within Coulomb's cone, on its
    /// rim as long as they slide, and always against the sliding.
    #[test]
    fn oblique_collisions_obey_coulombs_cone(
        (mu, e) in (0.0..1.2f64, prop_oneof![Just(0.0), 0.0..1.0f64, Just(1.0)]),
        offset in vector(0.5),
        (spin_a, spin_b) in (vector(10.0), vector(10.0)),
    ) {
        let mut scene = weightless(mu, e);
        scene.seconds = 1.0;
        scene.bodies.push(ball(0.5, [-1.0, 0.0, 0.0]).moving([4.0, 0.3, -0.2]));
        scene.bodies.push(ball(0.5, [1.0, offset.y, offset.z]).moving([-1.0, 0.0, 0.0]));
        scene.bodies[0].angular_velocity = spin_a.into();
        scene.bodies[1].angular_velocity = spin_b.into();
        let mass = World::new(&scene).unwrap().bodies[0].mass;
        let blow = first_blow(&every_tick(&scene), mass, 0.5);
        prop_assume!(blow.is_some());
        let Blow { normal_impulse, tangent_impulse, speed, slip } = blow.unwrap();
        prop_assert!(normal_impulse > 0.0);
        prop_assert!((speed[1] + e * speed[0]).abs() < 1e-11, "it leaves at {} after {}", speed[1], speed[0]);
        let (limit, friction) = (mu * normal_impulse, tangent_impulse.norm());
        prop_assert!(friction <= limit * (1.0 + 1e-12), "friction {friction} exceeds {limit}");
        prop_assert!(tangent_impulse.dot(&slip[0]) <= 0.0, "friction drives the sliding");
        if slip[1].norm() > 1e-9 {
            prop_assert!((friction - limit).abs() <= 1e-9 * limit, "it slides on with too little friction");
            let turned = slip[0].normalize().cross(&slip[1].normalize()).norm();
            prop_assert!(turned < 1e-9, "friction turned the sliding by {turned}");
        }
    }
}

/// A ball of 0.5 m that slides along +X with `v` and spins about Z with `w` at first.
fn sliding_ball(mu: f64, v: f64, w: f64) -> Scene {
    let mut scene = scene(mu, 0.0);
    scene.seconds = 3.0;
    scene.bodies.push(ball(0.5, [-10.0, 0.5, 0.0]).moving([v, 0.0, 0.0]));
    scene.bodies[0].angular_velocity = [0.0, 0.0, w];
    scene
}

#[test]
fn a_sliding_ball_comes_to_roll_at_five_sevenths_of_its_speed() {
    for ground in [floor(), slab(), flat_mesh(50, 1.0)] {
        // Without spin, with back spin (it rolls more slowly, or even back) and with top spin.
        for (mu, v, w) in [
            (0.1, 2.0, 0.0),
            (0.5, 3.0, 0.0),
            (1.0, 5.0, 0.0),
            (0.3, 2.0, 3.0),
            (0.3, 2.0, 15.0),
            (0.3, 2.0, -9.0),
        ] {
            let mut scene = sliding_ball(mu, v, w);
            scene.statics.push(ground.clone());
            let (_, last) = run(&scene);
            let state = last.bodies[0].1;
            // Angular momentum about a point of the floor is kept: v + 2/5 r w is.
            let rolling = 5.0 / 7.0 * (v - 0.4 * 0.5 * w);
            assert!(
                (state.v.x - rolling).abs() < 0.01 * rolling.abs().max(0.1),
                "{} instead of {rolling}",
                state.v.x
            );
            assert!((state.v.x + 0.5 * state.w.z).abs() < 1e-9, "it still slips");
            assert!((state.x.y - 0.5).abs() < 1e-4 && state.v.y.abs() < 1e-6, "it left the floor");
        }
    }
}

#[test]
fn a_sliding_ball_slides_as_long_as_it_should() {
    let (mu, v) = (0.2, 4.0);
    let mut scene = sliding_ball(mu, v, 0.0);
    scene.statics.push(floor());
    let rolls_after = 2.0 * v / (7.0 * mu * G);
    let ticks = every_tick(&scene);
    let slip = |s: &BodyState| s.v.x + 0.5 * s.w.z;
    let first = ticks.iter().position(|s| slip(&s[0]).abs() < 1e-9).expect("it rolls in the end");
    let seconds = first as f64 / 240.0;
    assert!((seconds - rolls_after).abs() < 2.0 / 240.0, "{seconds} s instead of {rolls_after} s");
}

/// A body on an inclined plane: a half-space, or the face of a tilted static box.
fn on_slope(body: Body, height: f64, angle: f64, mu: f64, on_box: bool) -> Scene {
    let (sin, cos) = libm::sincos(angle);
    let mut scene = scene(mu, 0.0);
    scene.seconds = 2.0;
    let normal = [-sin, cos, 0.0];
    let turn = Vec3::z() * angle;
    let ground = if on_box {
        let thickness = 0.5;
        let shape = Shape::Box { half_extents: [60.0, thickness, 3.0] };
        let position = normal.map(|n| -n * thickness);
        StaticObject { orientation: orientation(turn), ..StaticObject::new(shape, position) }
    } else {
        StaticObject::new(Shape::HalfSpace { normal }, [0.0; 3])
    };
    scene.statics.push(ground);
    scene.bodies.push(Body { position: normal.map(|n| n * height), ..turned(body, turn) });
    scene
}

/// How far a body has come down the slope at every tick.
fn descent(scene: &Scene, angle: f64) -> Vec<f64> {
    let (sin, cos) = libm::sincos(angle);
    let down = Vec3::new(-cos, -sin, 0.0);
    every_tick(scene).iter().map(|states| states[0].x.dot(&down)).collect()
}

#[test]
fn a_box_slides_exactly_when_friction_is_below_the_tangent() {
    let brick = Body::new(Shape::Box { half_extents: [0.5, 0.25, 0.4] }, [0.0; 3]);
    for (body, height) in [(cube(0.5, [0.0; 3]), 0.5), (brick, 0.25)] {
        for degrees in [5.0f64, 15.0, 25.0, 35.0, 40.0] {
            for on_box in [false, true] {
                let angle = degrees.to_radians();
                let tangent = libm::tan(angle);
                let holds = descent(&on_slope(body.clone(), height, angle, 1.05 * tangent, on_box), angle);
                let crept = holds[480];
                assert!(crept.abs() < 1e-6, "{degrees} degrees: it crept {crept} m in 2 s");
                let slides = descent(&on_slope(body.clone(), height, angle, 0.95 * tangent, on_box), angle);
                let (sin, cos) = libm::sincos(angle);
                let acceleration = G * (sin - 0.95 * tangent * cos);
                let measured = 2.0 * slides[480] / 4.0;
                let off = measured / acceleration - 1.0;
                assert!(off.abs() < 0.02, "{degrees} degrees: {measured} m/s² instead of {acceleration}");
            }
        }
    }
}

#[test]
fn a_pushed_box_stops_where_friction_says() {
    let (mu, v) = (0.3, 3.0);
    for ground in [floor(), slab()] {
        let mut scene = scene(mu, 0.0);
        scene.seconds = 2.0;
        scene.statics.push(ground);
        scene.bodies.push(cube(0.5, [0.0, 0.5, 0.0]).moving([v, 0.0, 0.0]));
        let (_, last) = run(&scene);
        let state = last.bodies[0].1;
        let way = v * v / (2.0 * mu * G);
        assert!((state.x.x / way - 1.0).abs() < 0.01, "{} m instead of {way} m", state.x.x);
        assert!(state.v.norm() < 1e-8, "it still moves at {:e} m/s", state.v.norm());
        assert!(state.q.angle_to(&rotation_exp(Vec3::zeros())) < 1e-6, "it turned");
    }
}

#[test]
fn a_ball_on_a_slope_rolls_or_slips_by_two_sevenths_of_the_tangent() {
    let angle = 30f64.to_radians();
    let (sin, cos) = libm::sincos(angle);
    let limit = 2.0 / 7.0 * libm::tan(angle);
    for on_box in [false, true] {
        let descent = |mu| descent(&on_slope(ball(0.5, [0.0; 3]), 0.5, angle, mu, on_box), angle)[480] / 2.0;
        let (rolls, slips) = (descent(1.05 * limit), descent(0.5 * limit));
        let expected = (5.0 / 7.0 * G * sin, G * (sin - 0.5 * limit * cos));
        assert!((rolls / expected.0 - 1.0).abs() < 0.01, "{rolls} instead of {}", expected.0);
        assert!((slips / expected.1 - 1.0).abs() < 0.01, "{slips} instead of {}", expected.1);
    }
}
