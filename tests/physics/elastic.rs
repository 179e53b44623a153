//! Elastic bodies keep their energy, and closed systems their momentum, for the whole run.

use anachron::internals::physics::World;
use anachron::internals::physics::energy::Totals;
use anachron::scene::{Body, Scene, Shape};
use proptest::prelude::*;

use crate::laws::{Random, ball, floor, orientation, run, scenario, scene, totals, walls, weightless};

/// The largest departure from the first of these energies, as a share of it.
fn energy_drift(totals: &[Totals]) -> f64 {
    let start = totals[0].energy();
    totals.iter().map(|now| (now.energy() / start - 1.0).abs()).fold(0.0, f64::max)
}

fn momentum_drift(totals: &[Totals]) -> f64 {
    let start = &totals[0];
    totals.iter().map(|now| (now.momentum - start.momentum).norm() / start.momentum_scale).fold(0.0, f64::max)
}

/// As a share of the angular momenta of all bodies without their directions.
fn angular_drift(scene: &Scene, totals: &[Totals]) -> f64 {
    let world = World::new(scene).expect("the scene is valid");
    let of_body = |body: &anachron::internals::physics::BodyDef| {
        let s = &body.start;
        (s.x.cross(&s.v) * body.mass).norm() + body.inertia.momentum(&s.q, s.w).norm()
    };
    let scale: f64 = world.bodies.iter().map(of_body).sum();
    let start = totals[0].angular_momentum;
    totals.iter().map(|now| (now.angular_momentum - start).norm() / scale).fold(0.0, f64::max)
}

#[test]
fn elastic_boxes_of_balls_keep_their_energy() {
    let boxes = [("gas", ""), ("bouncing", "lo"), ("bouncing", "mid"), ("bouncing", "hi")];
    for (name, density) in boxes {
        let sets: &[(&str, &str)] = if density.is_empty() { &[] } else { &[("density", density)] };
        let scene = scenario(name, 0, 4.0, sets);
        let drift = energy_drift(&totals(&scene));
        let (report, _) = run(&scene);
        let overlap = report.tally.max_overlap_m;
        println!(
            "{name} {density}: energy drift {drift:e}, worst overlap {overlap:.3} m, {} contacts",
            report.tally.contacts
        );
        assert!(report.tally.contacts > 500, "hardly anything happened");
        assert!(drift < 1e-9, "{name} {density}: energy drifts by {drift:e}");
        assert!(overlap < 0.1, "{name} {density}: overlap of {overlap} m");
    }
}

#[test]
fn one_ball_bounces_for_ten_seconds_without_loss() {
    let mut scene = scene(0.0, 1.0);
    scene.seconds = 10.0;
    scene.statics.push(floor());
    scene.bodies.push(ball(0.5, [0.0, 2.5, 0.0]));
    let world = World::new(&scene).unwrap();
    let potential_at_floor = world.bodies[0].mass * crate::laws::G * 0.5;
    let all = totals(&scene);
    let usable = all[0].energy() - potential_at_floor;
    let drift = all.iter().map(|now| (now.energy() - all[0].energy()).abs()).fold(0.0, f64::max) / usable;
    println!("one ball: energy drift {drift:e}");
    let (report, _) = run(&scene);
    assert!(report.tally.contacts >= 7, "it should bounce every 1.28 s");
    assert!(drift < 1e-9, "energy drifts by {drift:e}");
}

#[test]
fn elastic_balls_under_gravity_nearly_keep_their_energy() {
    let scene = scenario("bouncing", 0, 4.0, &[("density", "mid"), ("gravity", "[0.0, -9.81, 0.0]")]);
    let (report, _) = run(&scene);
    // Potential energy counts from the middle of the box, where the origin is.
    let drift = report.energy_drift();
    println!("mid with gravity: energy drift {drift:e}, worst overlap {:.3}", report.tally.max_overlap_m);
    assert!(drift.abs() < 1e-3, "energy drifts by {drift:e}");
    assert!(report.tally.max_overlap_m < 0.1);
}

/// Bodies of a shape on a lattice in a closed cube, turned at random, flying and spinning.
fn lattice(shape: impl Fn(&mut Random) -> Shape, side: u32, pitch: f64, seed: u64) -> Vec<Body> {
    let mut random = Random::new(seed);
    let along = |k: u32| (f64::from(k) - f64::from(side - 1) * 0.5) * pitch;
    let mut bodies = Vec::new();
    for k in 0..side * side * side {
        let position = [along(k % side), along(k / side % side), along(k / side / side)];
        let mut body = Body::new(shape(&mut random), position).moving(random.vector(4.0).into());
        body.orientation = orientation(random.vector(3.0));
        body.angular_velocity = random.vector(4.0).into();
        bodies.push(body);
    }
    bodies
}

fn cube_of(_: &mut Random) -> Shape {
    Shape::Box { half_extents: [0.3; 3] }
}

fn brick_of(_: &mut Random) -> Shape {
    Shape::Box { half_extents: [0.2, 0.3, 0.4] }
}

fn capsule_of(_: &mut Random) -> Shape {
    Shape::Capsule { radius: 0.2, half_height: 0.25 }
}

fn cylinder_of(_: &mut Random) -> Shape {
    Shape::Cylinder { radius: 0.25, half_height: 0.3 }
}

fn ball_of(_: &mut Random) -> Shape {
    Shape::Sphere { radius: 0.4 }
}

type Maker = fn(&mut Random) -> Shape;

/// Kinds of bodies, and how well each keeps its energy. Those with unequal moments of inertia tumble, and the energy
/// of a tumbling body wobbles about its mean.
const KINDS: [(&str, Maker, f64); 5] = [
    ("balls", ball_of, 1e-12),
    ("cubes", cube_of, 1e-12),
    ("bricks", brick_of, 1e-3),
    ("capsules", capsule_of, 1e-3),
    ("cylinders", cylinder_of, 1e-3),
];

#[test]
fn elastic_solids_in_a_closed_box_keep_their_energy() {
    for (name, shape, energy_drift_max) in KINDS {
        let mut scene = weightless(0.0, 1.0);
        scene.seconds = 4.0;
        scene.statics = walls(3.3);
        scene.bodies = lattice(shape, 4, 1.4, 7);
        let drift = energy_drift(&totals(&scene));
        let (report, _) = run(&scene);
        println!(
            "{name}: energy drift {drift:e}, worst overlap {:.3}, {} contacts",
            report.tally.max_overlap_m, report.tally.contacts
        );
        assert!(report.tally.contacts > 100, "{name} hardly collide");
        assert!(drift < energy_drift_max, "{name}");
        assert!(report.tally.max_overlap_m < 0.1, "{name}");
    }
}

#[test]
fn closed_systems_keep_momentum_and_angular_momentum() {
    for (name, shape, _) in KINDS {
        for (mu, e) in [(0.0, 1.0), (0.5, 1.0), (0.5, 0.5), (0.3, 0.0)] {
            let mut scene = weightless(mu, e);
            scene.seconds = 2.0;
            scene.bodies = lattice(shape, 4, 1.2, 11);
            for body in &mut scene.bodies {
                // Towards the middle, so that they collide.
                for axis in 0..3 {
                    body.velocity[axis] -= 2.0 * body.position[axis];
                }
            }
            let all = totals(&scene);
            let (report, _) = run(&scene);
            let (momentum, angular) = (momentum_drift(&all), angular_drift(&scene, &all));
            let kept = all.last().expect("a run has frames").energy() / all[0].energy();
            println!("{name} mu {mu} e {e}: momentum {momentum:e}, angular {angular:e}, energy kept {kept}");
            assert!(report.tally.contacts > 100, "{name} hardly collide");
            assert!(momentum < 1e-12, "{name}");
            // Without restitution contacts are resting, and overlaps are removed.
            assert!(angular < if e > 0.0 { 1e-12 } else { 1e-3 }, "{name}");
            assert!(kept < 1.0 + 1e-3, "{name}");
        }
    }
}

/// A heap of overlapping balls and cubes that move at random.
fn heap() -> impl Strategy<Value = Vec<Body>> {
    let vector = |size: f64| prop::array::uniform3(-size..size);
    let shape = prop_oneof![
        (0.2..0.6f64).prop_map(|radius| Shape::Sphere { radius }),
        (0.2..0.5f64).prop_map(|half| Shape::Box { half_extents: [half; 3] }),
    ];
    let body = (shape, vector(0.9), vector(3.0), vector(3.0), vector(3.0));
    let body = body.prop_map(|(shape, position, turn, velocity, spin)| {
        let mut body = Body::new(shape, position).moving(velocity);
        body.orientation = orientation(turn.into());
        body.angular_velocity = spin;
        body
    });
    prop::collection::vec(body, 2..9)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Without friction and without a warm start no contact, however tangled, makes energy.
    #[test]
    fn energy_never_grows(
        bodies in heap(),
        e in prop_oneof![Just(0.0), 0.0..=1.0f64, Just(1.0)],
        iterations in 1u32..=4,
    ) {
        let mut scene = weightless(0.0, e);
        scene.seconds = 0.25;
        scene.ticks_per_frame = 1;
        scene.response.warm_start = false;
        scene.response.iterations = iterations;
        scene.bodies = bodies;
        let all = totals(&scene);
        for (tick, pair) in all.windows(2).enumerate() {
            let growth = pair[1].kinetic / pair[0].kinetic - 1.0;
            prop_assert!(growth < 1e-12, "energy grows by {growth:e} after tick {tick}");
        }
        prop_assert!(momentum_drift(&all) < 1e-12);
        if e == 1.0 {
            prop_assert!(energy_drift(&all) < 1e-12);
            prop_assert!(angular_drift(&scene, &all) < 1e-12);
        }
    }
}
