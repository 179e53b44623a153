//! Bodies of every shape land on a plane, a box and a mesh, and come to rest without sinking in or gaining energy;
//! and nothing trips over the seams of a mesh.

use anachron::internals::base::math::{Vec3, rotation_matrix};
use anachron::internals::base::state::BodyState;
use anachron::internals::physics::energy::Totals;
use anachron::internals::physics::{World, touching_static};
use anachron::scene::{Body, Scene, Shape, StaticObject};

use crate::laws::{Random, ball, flat_mesh, floor, orientation, run_with, scene, slab, turned};

/// What there is to land on, with its top at height 0.
fn grounds() -> [(&'static str, StaticObject); 3] {
    [("plane", floor()), ("box", slab()), ("mesh", flat_mesh(20, 1.3))]
}

fn shapes() -> Vec<(&'static str, Shape)> {
    let hull = [[0.5, -0.3, 0.4], [0.5, -0.3, -0.4], [-0.5, -0.3, 0.4], [-0.5, -0.3, -0.4], [0.1, 0.6, 0.0]];
    vec![
        ("ball", Shape::Sphere { radius: 0.4 }),
        ("cube", Shape::Box { half_extents: [0.4; 3] }),
        ("brick", Shape::Box { half_extents: [0.5, 0.2, 0.3] }),
        ("capsule", Shape::Capsule { radius: 0.3, half_height: 0.4 }),
        ("cylinder", Shape::Cylinder { radius: 0.4, half_height: 0.3 }),
        ("ring", Shape::Ring { radius: 0.3, tube: 0.2 }),
        ("hull", Shape::Hull { points: hull.to_vec() }),
    ]
}

/// How a body landed.
struct Landing {
    /// Largest overlap at any time, and at the end.
    overlap_m: f64,
    end_overlap_m: f64,
    /// The largest rise of the energy from one frame to the next, and over the first, as shares of the first.
    step: f64,
    growth: f64,
    end: BodyState,
}

fn land(scene: &Scene) -> Landing {
    let world = World::new(scene).expect("the scene is valid");
    let (body, ground) = (&world.bodies[0], &world.statics[0]);
    let mut energies = Vec::new();
    let mut end = body.start;
    let report = run_with(scene, |frame| {
        energies.push(Totals::of_frame(&world, frame).energy());
        end = frame.bodies[0].1;
    });
    let end_overlap_m = touching_static(&world.rule, body, &end, ground).map_or(0.0, |m| -m.gap());
    let rise = |a: f64, b: f64| (b - a) / energies[0];
    Landing {
        overlap_m: report.tally.max_overlap_m,
        end_overlap_m,
        step: energies.windows(2).map(|pair| rise(pair[0], pair[1])).fold(0.0, f64::max),
        growth: energies.iter().map(|now| rise(energies[0], *now)).fold(0.0, f64::max),
        end,
    }
}

#[test]
fn every_shape_comes_to_rest_on_every_ground() {
    for (name, shape) in shapes() {
        for (on, ground) in grounds() {
            let mut random = Random::new(5);
            for drop in 0..6 {
                let mut scene = scene(0.5, 0.3);
                scene.seconds = 6.0;
                scene.statics.push(ground.clone());
                let body = Body::new(shape.clone(), [0.31, 2.0, 0.17]).moving(random.vector(1.0).into());
                let mut body = turned(body, random.vector(3.0));
                body.angular_velocity = random.vector(2.0).into();
                scene.bodies.push(body);
                let Landing { overlap_m, end_overlap_m, step, growth, end } = land(&scene);
                let what = format!("{name} on {on}, drop {drop}");
                // It falls at 6 m/s, 2.5 cm per tick.
                assert!(overlap_m < 0.03, "{what}: overlap of {overlap_m} m");
                assert!(end_overlap_m < 1e-4, "{what}: {end_overlap_m} m deep at the end");
                // Undoing an overlap lifts the body by as much; tumbling lets the energy wobble.
                assert!(step < 5e-3, "{what}: energy steps up by {step:e}");
                assert!(growth < 1e-6, "{what}: energy grows by {growth:e}");
                let rests = matches!(shape, Shape::Box { .. } | Shape::Hull { .. });
                if rests {
                    assert!(end.v.norm() < 1e-6 && end.w.norm() < 1e-6, "{what}: still moves, {end:?}");
                }
                assert!(end.x.y > 0.19 && end.x.y < 0.51, "{what}: ends at height {}", end.x.y);
            }
        }
    }
}

/// A brick dropped flat, on an edge and on a corner ends on a face.
#[test]
fn a_box_ends_on_a_face() {
    let tilts =
        [Vec3::zeros(), Vec3::new(0.7, 0.0, 0.0), Vec3::new(0.6, 0.3, 0.7), Vec3::new(0.0, 0.2, 0.785)];
    for (on, ground) in grounds() {
        for half in [[0.4; 3], [0.5, 0.25, 0.35]] {
            for tilt in tilts {
                let mut scene = scene(0.5, 0.2);
                scene.seconds = 5.0;
                scene.statics.push(ground.clone());
                let body = Body::new(Shape::Box { half_extents: half }, [0.31, 1.5, 0.17]);
                scene.bodies.push(turned(body, tilt));
                let end = land(&scene).end;
                let axes = rotation_matrix(&end.q);
                let up = (0..3).find(|k| axes[(1, *k)].abs() > 1.0 - 1e-9);
                let up = up.unwrap_or_else(|| panic!("on {on}, tilt {tilt:?}: not on a face, {end:?}"));
                assert!(
                    (end.x.y - half[up]).abs() < 1e-6,
                    "on {on}: at {} on a face of {}",
                    end.x.y,
                    half[up]
                );
            }
        }
    }
}

/// A scene with a body that moves along +X with 2 m/s on a ground of many triangles or on a plane.
fn moving_on(ground: StaticObject, body: Body, mu: f64, seconds: f64) -> Vec<BodyState> {
    let mut scene = scene(mu, 0.0);
    scene.seconds = seconds;
    scene.statics.push(ground);
    scene.bodies.push(body.moving([2.0, 0.0, 0.3]));
    crate::laws::every_tick(&scene).iter().map(|states| states[0]).collect()
}

/// Seams every 0.3 m or so, straight and slanted.
fn fine_mesh() -> StaticObject {
    flat_mesh(100, 0.31)
}

#[test]
fn a_ball_rolls_over_seams_without_noticing() {
    let mut rolling = ball(0.4, [-8.0, 0.4, 0.05]);
    rolling.angular_velocity = [0.3 / 0.4, 0.0, -2.0 / 0.4];
    for state in moving_on(fine_mesh(), rolling, 0.5, 8.0) {
        assert!(state.v.y.abs() < 1e-9, "it bumps: {} m/s", state.v.y);
        assert!(
            (state.v.x - 2.0).abs() < 1e-9 && (state.v.z - 0.3).abs() < 1e-9,
            "it is slowed: {}",
            state.v
        );
    }
}

#[test]
fn boxes_and_capsules_slide_over_seams_as_over_a_plane() {
    let brick = Body::new(Shape::Box { half_extents: [0.4, 0.25, 0.3] }, [-8.0, 0.25, 0.05]);
    let capsule = Body::new(Shape::Capsule { radius: 0.25, half_height: 0.5 }, [-8.0, 0.25, 0.05]);
    let lying = Body { orientation: orientation(Vec3::z() * std::f64::consts::FRAC_PI_2), ..capsule };
    for (name, body) in [("brick", brick), ("capsule", lying)] {
        let plane = moving_on(floor(), body.clone(), 0.05, 5.0);
        let mesh = moving_on(fine_mesh(), body, 0.05, 5.0);
        let (way, expected) = (mesh[1200].x.x - mesh[0].x.x, plane[1200].x.x - plane[0].x.x);
        let bump = mesh.iter().map(|state| state.v.y.abs()).fold(0.0, f64::max);
        println!("{name}: {way} m on a mesh, {expected} m on a plane, bumps {bump:.1e}");
        assert!((way / expected - 1.0).abs() < 0.02, "{name}: {way} m on a mesh, {expected} m on a plane");
        assert!(bump < 1e-3, "{name} bumps with {bump} m/s");
    }
}

/// A frictionless ball swings in a hollow of facets, like a pendulum, without stumbling over their seams.
#[test]
fn a_ball_swings_in_a_hollow_of_facets() {
    let (radius, facet) = (10.0, 0.002);
    let at = |k: i32, z: f64| {
        let (sin, cos) = libm::sincos(f64::from(k) * facet);
        [radius * sin, radius * (1.0 - cos), z]
    };
    let vertices = (-400..=400).flat_map(|k| [at(k, -2.0), at(k, 2.0)]).collect();
    let triangles = (0..800).flat_map(|k| [[2 * k, 2 * k + 1, 2 * k + 2], [2 * k + 2, 2 * k + 1, 2 * k + 3]]);
    let shape = Shape::Mesh { file: None, vertices, triangles: triangles.collect() };
    let mut scene = scene(0.0, 0.0);
    scene.seconds = 12.0;
    scene.statics.push(StaticObject::new(shape, [0.0; 3]));
    let (sin, cos) = libm::sincos(0.5);
    scene.bodies.push(ball(0.5, [-9.5 * sin, 10.0 - 9.5 * cos, 0.0]));
    let start = scene.bodies[0].position[1] - 0.5;
    // The second and third time it is highest, after a half and a whole swing.
    let heights: Vec<f64> = crate::laws::every_tick(&scene).iter().map(|s| s[0].x.y - 0.5).collect();
    let swings = heights.windows(3).filter(|h| h[1] >= h[0] && h[1] > h[2]).map(|h| h[1] / start);
    let swings: Vec<f64> = swings.filter(|share| *share > 0.5).collect();
    println!("heights of the swings: {swings:?}");
    assert!(swings.len() == 3 || swings.len() == 4, "it swings {} times", swings.len());
    assert!(swings.iter().all(|share| (share - 1.0).abs() < 0.02), "it is braked: {swings:?}");
}

#[test]
fn a_ball_in_a_groove_rests_on_both_sides() {
    let vertices = vec![
        [-2.0, 2.0, -9.0],
        [-2.0, 2.0, 9.0],
        [0.0, 0.0, -9.0],
        [0.0, 0.0, 9.0],
        [2.0, 2.0, -9.0],
        [2.0, 2.0, 9.0],
    ];
    let triangles = vec![[0, 1, 2], [2, 1, 3], [2, 3, 4], [4, 3, 5]];
    let mut scene = scene(0.3, 0.0);
    scene.seconds = 4.0;
    scene.statics.push(StaticObject::new(Shape::Mesh { file: None, vertices, triangles }, [0.0; 3]));
    scene.bodies.push(ball(0.4, [0.1, 0.8, 0.3]));
    let world = World::new(&scene).unwrap();
    let end = land(&scene).end;
    let manifold = touching_static(&world.rule, &world.bodies[0], &end, &world.statics[0]).expect("it rests");
    assert_eq!(manifold.points().len(), 2);
    let expected = Vec3::new(0.0, 0.4 * 2f64.sqrt(), 0.3);
    assert!((end.x - expected).norm() < 1e-3, "it rests at {} instead of {expected}", end.x);
    assert!(end.v.norm() < 1e-6);
}
