//! Rows and racks of balls: what goes in at one end comes out at the other, and a break keeps what it must.

use anachron::internals::base::frame::Frame;
use anachron::internals::physics::World;
use anachron::internals::physics::energy::Totals;
use anachron::scene::Scene;

use crate::laws::{ball, floor, run, run_with, scenario, scene, totals, weightless};

const SPEED: f64 = 2.0;
const RESTING: usize = 5;

/// `incoming` balls fly at a row of five. The balls of either group are `gap` apart.
fn cradle(mut scene: Scene, incoming: usize, gap: f64) -> Scene {
    scene.seconds = 2.0;
    let pitch = 1.0 + gap;
    for index in 0..incoming {
        let x = -1.5 - (incoming - 1 - index) as f64 * pitch;
        scene.bodies.push(ball(0.5, [x, 0.5, 0.0]).moving([SPEED, 0.0, 0.0]));
    }
    for index in 0..RESTING {
        scene.bodies.push(ball(0.5, [index as f64 * pitch, 0.5, 0.0]));
    }
    scene
}

/// As many leave as came in, just as fast, and all others rest.
fn assert_passed_on(last: &Frame, incoming: usize, tolerance: f64, what: &str) {
    for (index, (_, state)) in last.bodies.iter().enumerate() {
        let leaves = index >= last.bodies.len() - incoming;
        let expected = if leaves { SPEED } else { 0.0 };
        let off = (state.v.x - expected).abs();
        assert!(off < tolerance, "{what}: ball {index} flies at {} instead of {expected}", state.v.x);
    }
}

#[test]
fn a_weightless_cradle_passes_on_what_comes_in() {
    for incoming in 1..=3 {
        for gap in [1e-6, 0.0, -1e-6] {
            let (_, last) = run(&cradle(weightless(0.0, 1.0), incoming, gap));
            assert_passed_on(&last, incoming, 1e-12, &format!("{incoming} in, gaps of {gap:e}"));
        }
    }
}

#[test]
fn a_cradle_that_rests_on_a_floor_passes_on_what_comes_in() {
    for incoming in 1..=3 {
        for gap in [1e-6, 0.0, -1e-6] {
            let mut scene = cradle(scene(0.0, 1.0), incoming, gap);
            scene.statics.push(floor());
            let (_, last) = run(&scene);
            assert_passed_on(&last, incoming, 1e-3, &format!("{incoming} in, gaps of {gap:e}"));
            for (_, state) in &last.bodies {
                assert!((state.x.y - 0.5).abs() < 1e-4, "a ball left the floor");
            }
        }
    }
}

#[test]
fn each_ball_of_a_lossy_cradle_passes_on_its_share() {
    let mut scene = cradle(weightless(0.0, 0.9), 1, 1e-6);
    scene.bodies.pop();
    let (_, last) = run(&scene);
    // Each of four collisions passes on (1 + e) / 2 of the speed.
    let expected = SPEED * 0.95 * 0.95 * 0.95 * 0.95;
    let speed = last.bodies[4].1.v.x;
    assert!((speed - expected).abs() < 1e-12, "{speed} instead of {expected}");
}

#[test]
fn the_cradle_on_an_arc_swings() {
    let scene = scenario("newton-cradle", 5, 12.0, &[]);
    let mut heights: Vec<[f64; 5]> = Vec::new();
    run_with(&scene, |frame| heights.push(std::array::from_fn(|ball| frame.bodies[ball].1.x.y)));
    let (rest, release) = (0.5, scene.bodies[0].position[1] - 0.5);
    // The outer balls take turns to rise almost as high as the first was released; those between stay.
    let mut turns = Vec::new();
    for frame in &heights {
        for ball in [0, 4] {
            if frame[ball] - rest > 0.99 * release && turns.last() != Some(&ball) {
                turns.push(ball);
            }
        }
        assert!(frame[1..4].iter().all(|height| height - rest < 1e-6), "{frame:?}");
    }
    println!("turns {turns:?}");
    assert!(turns.starts_with(&[0, 4, 0, 4]), "{turns:?}");
}

/// A cue ball flies at a rack of fifteen, a little off centre.
fn rack(mut scene: Scene) -> Scene {
    scene.seconds = 2.0;
    scene.bodies.push(ball(0.5, [-3.0, 0.5, 0.07]).moving([8.0, 0.0, 0.0]));
    for row in 0..5 {
        for column in 0..=row {
            let (x, z) = (f64::from(row) * 0.75f64.sqrt(), f64::from(column) - f64::from(row) * 0.5);
            scene.bodies.push(ball(0.5, [x, 0.5, z]));
        }
    }
    scene
}

#[test]
fn a_break_keeps_energy_momentum_and_angular_momentum() {
    let scene = rack(weightless(0.0, 1.0));
    let all = totals(&scene);
    let (first, last) = (all[0], all[all.len() - 1]);
    let scale = first.momentum_scale;
    let energy = last.kinetic / first.kinetic - 1.0;
    let momentum = (last.momentum - first.momentum).norm() / scale;
    let angular = (last.angular_momentum - first.angular_momentum).norm() / (scale * 0.5);
    println!("break: dE {energy:e}, dP {momentum:e}, dL {angular:e}");
    assert!(energy.abs() < 1e-12 && momentum < 1e-12 && angular < 1e-12);
    let (report, end) = run(&scene);
    assert!(report.tally.contacts >= 15);
    let moved = end.bodies.iter().filter(|(_, state)| state.v.norm() > 0.1).count();
    assert!(moved >= 10, "only {moved} balls move after the break");
}

#[test]
fn a_break_on_a_floor_hardly_loses_energy() {
    let mut scene = rack(scene(0.0, 1.0));
    scene.statics.push(floor());
    let world = World::new(&scene).expect("the scene is valid");
    let mut energies = Vec::new();
    run_with(&scene, |frame| energies.push(Totals::of_frame(&world, frame)));
    let (first, last) = (energies[0], energies[energies.len() - 1]);
    let drift = (last.energy() - first.energy()) / first.kinetic;
    println!("break on a floor: dE {drift:e}");
    assert!(drift.abs() < 1e-3 && drift < 1e-6);
}

#[test]
fn billiards_lose_energy_and_stay_on_the_table() {
    let scene = scenario("billiards", 0, 6.0, &[]);
    let all = totals(&scene);
    let mut lowest = f64::INFINITY;
    let mut highest = 0.0f64;
    let mut far = 0.0f64;
    let report = run_with(&scene, |frame| {
        for (_, state) in &frame.bodies {
            lowest = lowest.min(state.x.y);
            highest = highest.max(state.x.y);
            far = far.max(state.x.x.abs() / 1.27).max(state.x.z.abs() / 0.635);
        }
    });
    let grown = all.windows(2).map(|p| (p[1].energy() - p[0].energy()) / all[0].kinetic).fold(0.0, f64::max);
    let left = all.last().expect("a run has frames").kinetic / all[0].kinetic;
    let overlap = report.tally.max_overlap_m;
    println!(
        "billiards: heights {lowest} to {highest}, {far} out, overlap {overlap}, grown {grown:e}, left {left}"
    );
    let radius = 0.028575;
    assert!(lowest > radius - 2e-4 && highest < 3.0 * radius, "balls sink or fly");
    assert!(far < 1.0, "a ball left the table");
    // The cue ball crosses a fifth of a diameter in a tick.
    assert!(overlap < 0.2 * 2.0 * radius);
    assert!(grown < 1e-6 && left < 0.2);
}
