//! What should stand stands, and what should settle settles: columns, stacks, pyramids, bowls, and balls that pile up for
//! a moment and roll off.

use anachron::internals::base::frame::Frame;
use anachron::internals::base::math::Vec3;
use anachron::scene::{Body, Material, Scene};

use crate::laws::{
    Random, ball, ball_overlap, cube, run, run_with, scenario, scene, slab, top_speed, turned,
};

/// How a pile behaved.
struct Pile {
    /// Worst overlap at any time, metres.
    overlap_m: f64,
    /// The fastest body during the last two seconds, m/s.
    speed: f64,
    /// Largest horizontal distance of any body from where it began, metres.
    sideways_m: f64,
    /// Largest distance of any body from where it began, metres.
    moved_m: f64,
    last: Frame,
}

fn watch(scene: &Scene) -> Pile {
    let mut speed = 0.0f64;
    let mut last = None;
    let report = run_with(scene, |frame| {
        if frame.time_s > scene.seconds - 2.0 {
            speed = speed.max(top_speed(frame));
        }
        last = Some(frame.clone());
    });
    let last = last.expect("a run has frames");
    let ways = || scene.bodies.iter().zip(&last.bodies).map(|(b, (_, s))| s.x - Vec3::from(b.position));
    let sideways_m = ways().map(|way| (way.x * way.x + way.z * way.z).sqrt()).fold(0.0, f64::max);
    let moved_m = ways().map(|way| way.norm()).fold(0.0, f64::max);
    Pile { overlap_m: report.tally.max_overlap_m, speed, sideways_m, moved_m, last }
}

fn top(pile: &Pile) -> f64 {
    pile.last.bodies.iter().map(|(_, state)| state.x.y).fold(0.0, f64::max)
}

#[test]
fn a_column_of_ten_balls_stands() {
    // Without and with a little bounce: what rests does not rattle.
    for e in ["0.0", "0.3"] {
        let materials = [("materials.block.restitution", e), ("materials.ground.restitution", e)];
        let column = scenario("stack", 10, 12.0, &[&[("shape", "sphere")], &materials[..]].concat());
        let pile = watch(&column);
        println!(
            "column e {e}: overlap {:.4}, top {:.6}, speed {:.1e}",
            pile.overlap_m,
            top(&pile),
            pile.speed
        );
        assert!(pile.overlap_m < 0.012, "overlap {}", pile.overlap_m);
        assert!((top(&pile) - 9.5).abs() < 1e-4, "the top is at {}", top(&pile));
        // It begins without any load and bounces on its own compression for a while: 7e-3 m/s after 6 s.
        assert!(pile.speed < 1e-3, "it still moves at {} m/s after 10 s", pile.speed);
        assert!(pile.sideways_m < 1e-6);
    }
}

#[test]
fn exact_stacks_of_boxes_stand() {
    let stacks = [(10, "240", 0.012, 1e-2), (10, "600", 0.002, 1e-5), (20, "600", 0.005, 0.05)];
    for (boxes, ticks, overlap, speed) in stacks {
        let pile = watch(&scenario("stack", boxes, 8.0, &[("ticks_per_second", ticks)]));
        let height = f64::from(boxes) - 0.5;
        println!(
            "{boxes} boxes at 1/{ticks}: overlap {:.4}, top {:.6}, sideways {:.1e}, speed {:.1e}",
            pile.overlap_m,
            top(&pile),
            pile.sideways_m,
            pile.speed
        );
        assert!(pile.overlap_m < overlap, "{boxes} boxes at 1/{ticks}: overlap {}", pile.overlap_m);
        assert!((top(&pile) - height).abs() < 1e-4, "{boxes} boxes at 1/{ticks}: top {}", top(&pile));
        assert!(pile.sideways_m < 1e-6, "{boxes} boxes at 1/{ticks}: sideways {}", pile.sideways_m);
        assert!(pile.speed < speed, "{boxes} boxes at 1/{ticks}: {} m/s", pile.speed);
    }
}

/// Boxes on each other as a hand would stack them: up to 5 cm and 0.1 rad off.
fn by_hand(boxes: u32, seed: u64) -> Scene {
    let mut random = Random::new(seed);
    let mut scene = scene(0.5, 0.0);
    scene.seconds = 6.0;
    scene.statics.push(slab());
    for k in 0..boxes {
        let position = [random.about_zero(0.05), 0.5 + f64::from(k), random.about_zero(0.05)];
        scene.bodies.push(turned(cube(0.5, position), Vec3::y() * random.about_zero(0.1)));
    }
    scene
}

#[test]
fn stacks_made_by_hand_stand() {
    // Ticks per second, iterations, boxes; how far a box may sway and how fast it may still do so.
    let cases = [
        (240.0, 1, 6, 0.03, 0.08),
        (240.0, 1, 10, 0.25, 0.15),
        (240.0, 4, 10, 0.01, 0.06),
        (600.0, 1, 10, 0.01, 0.06),
    ];
    for (ticks, iterations, boxes, sideways, speed) in cases {
        for seed in 1..=6 {
            let mut scene = by_hand(boxes, seed);
            scene.ticks_per_second = ticks;
            scene.response.iterations = iterations;
            let pile = watch(&scene);
            let what = format!("{boxes} boxes at 1/{ticks}, {iterations} iterations, seed {seed}");
            println!("{what}: sideways {:.4}, speed {:.4}", pile.sideways_m, pile.speed);
            assert!(pile.sideways_m < sideways, "{what}: sways by {} m", pile.sideways_m);
            assert!(pile.speed < speed, "{what}: moves at {} m/s", pile.speed);
            assert!((top(&pile) - (f64::from(boxes) - 0.5)).abs() < 2e-3, "{what}: top at {}", top(&pile));
        }
    }
}

#[test]
fn a_heavy_body_rests_on_light_ones() {
    // Ratio, ticks per second, iterations; worst overlap and speed. A hundredfold load needs many of both.
    let cases = [(10.0, 240.0, 1, 0.02, 1e-3), (10.0, 600.0, 4, 1e-3, 1e-6), (100.0, 600.0, 4, 0.007, 1e-3)];
    for (ratio, ticks, iterations, overlap, speed) in cases {
        for boxes in [false, true] {
            let mut scene = scene(0.5, 0.0);
            scene.seconds = 8.0;
            scene.ticks_per_second = ticks;
            scene.response.iterations = iterations;
            let heavy = Material { density: 1000.0 * ratio, friction: 0.5, restitution: 0.0, color: None };
            scene.materials.insert("heavy".into(), heavy);
            scene.statics.push(slab());
            for k in 0..3 {
                let position = [0.0, 0.5 + f64::from(k), 0.0];
                let body: Body = if boxes { cube(0.5, position) } else { ball(0.5, position) };
                scene.bodies.push(if k == 2 { body.of("heavy") } else { body });
            }
            let pile = watch(&scene);
            let what = format!("{ratio}:1 at 1/{ticks}, {iterations} iterations, boxes {boxes}");
            println!(
                "{what}: overlap {:.4}, speed {:.1e}, top {:.5}",
                pile.overlap_m,
                pile.speed,
                top(&pile)
            );
            assert!(pile.overlap_m < overlap, "{what}: overlap {}", pile.overlap_m);
            assert!(pile.speed < speed, "{what}: {} m/s", pile.speed);
            assert!((top(&pile) - 2.5).abs() < 1e-3, "{what}: top at {}", top(&pile));
        }
    }
}

/// The pyramid of 1953 boxes takes minutes; `docs/physics.md` says how it fares.
#[test]
fn a_pyramid_stands() {
    let pile = watch(&scenario("pyramid", 120, 4.0, &[]));
    println!(
        "pyramid of 120: moved {:.4}, speed {:.1e}, overlap {:.4}",
        pile.moved_m, pile.speed, pile.overlap_m
    );
    assert!(pile.moved_m < 0.01, "a box moved by {} m", pile.moved_m);
    assert!(pile.speed < 0.01, "a box moves at {} m/s", pile.speed);
    assert!(pile.overlap_m < 0.003);
}

#[test]
fn balls_on_cylinders_hardly_overlap_and_roll_off() {
    for (balls, overlap, share) in [(200, 0.05, 0.95), (500, 0.12, 0.9)] {
        let (report, last) = run(&scenario("cylinders", balls, 6.0, &[]));
        let below = last.bodies.iter().filter(|(_, state)| state.x.y < -1.5).count();
        println!("{balls} balls: overlap {:.4}, {below} below", report.tally.max_overlap_m);
        assert!(report.tally.max_overlap_m < overlap, "{balls}: {}", report.tally.max_overlap_m);
        assert!(below as f64 >= share * f64::from(balls), "{balls}: only {below} rolled off");
        assert!(report.energy_drift() < 0.0);
    }
}

#[test]
fn balls_settle_in_a_bowl() {
    for (e, seconds) in [("0.0", 8.0), ("0.5", 5.0)] {
        let sets = [("materials.ball.restitution", e), ("materials.bowl.restitution", e)];
        let mut last = None;
        let report = run_with(&scenario("bowl", 400, seconds, &sets), |frame| last = Some(frame.clone()));
        let last = last.expect("a run has frames");
        let overlap = ball_overlap(&last, 0.5);
        let worst = report.tally.max_overlap_m;
        println!("bowl e {e}: worst {worst:.4}, at the end {overlap:.5}");
        assert!(overlap < 0.02, "e {e}: overlap of {overlap} m at the end");
        assert!(worst < 0.1, "e {e}: worst overlap {worst} m");
        for (id, state) in &last.bodies {
            // The walls rise at 45 degrees from 8 m on.
            let out = state.x.x.abs().max(state.x.z.abs());
            assert!(state.x.y > 0.4 && state.x.y > out - 8.0, "{id} is outside, at {}", state.x);
        }
    }
}
