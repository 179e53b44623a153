//! Rapier as the engine of workers that share a scene: sharing and blending work with any solver.
#![cfg(feature = "rapier")]

use std::ops::ControlFlow;

use anachron::internals::base::frame::Frame;
use anachron::internals::overlap::{EngineKind, OverlapSettings};
use anachron::scenarios::{Request, build};
use anachron::scene::Scene;
use anachron::{Report, Simulation, SyncMode};

fn scene(name: &str, bodies: u32, seconds: f64) -> Scene {
    build(name, &Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() })
        .expect("the scenario is valid")
}

fn run(scene: &Scene, engine: EngineKind, workers: u32, cores: usize) -> (Report, Frame) {
    let settings = OverlapSettings { workers: Some(workers), engine, ..OverlapSettings::default() };
    let simulation = Simulation::new(scene).expect("the scene is valid");
    let mut last = None;
    let report = simulation.sync(SyncMode::Overlap).overlap(settings).cores(cores).run(|frame| {
        last = Some(frame.clone());
        ControlFlow::Continue(())
    });
    (report.expect("the run finishes"), last.expect("there is a frame"))
}

fn mean_height(frame: &Frame) -> f64 {
    frame.bodies.iter().map(|(_, state)| state.x.y).sum::<f64>() / frame.bodies.len() as f64
}

#[test]
fn balls_come_to_rest_in_a_bowl_shared_by_two_workers() {
    let bowl = scene("bowl", 200, 4.0);
    let (ours, by_island_solver) = run(&bowl, EngineKind::Island, 2, 2);
    let (theirs, by_rapier) = run(&bowl, EngineKind::Rapier, 2, 2);
    let summary = theirs.overlap.as_ref().expect("workers have a summary");
    assert_eq!(summary.workers, 2);
    assert!(summary.bodies_mean.iter().all(|bodies| *bodies > 50.0), "{:?}", summary.bodies_mean);
    assert!(summary.shared_mean > 1.0 && summary.moved > 0, "workers share bodies in the bowl");
    assert!(theirs.tally.contact_ticks > 0 && ours.tally.contact_ticks > 0);
    let (ours, theirs) = (mean_height(&by_island_solver), mean_height(&by_rapier));
    assert!((ours - theirs).abs() < 0.1, "{ours} and {theirs}");
    let speeds = by_rapier.bodies.iter().map(|(_, state)| state.v.norm());
    let mean = speeds.sum::<f64>() / by_rapier.bodies.len() as f64;
    assert!(mean < 0.5, "{mean} m/s");
}

#[test]
fn a_bridge_shared_by_two_workers_holds() {
    let (report, _) = run(&scene("bridge", 61, 0.5), EngineKind::Rapier, 2, 2);
    let summary = report.overlap.expect("workers have a summary");
    assert!(summary.violation.max_m < 0.05, "{:?}", summary.violation);
}

#[test]
fn the_digest_with_rapier_does_not_depend_on_cores() {
    let bowl = scene("bowl", 120, 1.2);
    let (first, _) = run(&bowl, EngineKind::Rapier, 2, 1);
    let (second, _) = run(&bowl, EngineKind::Rapier, 2, 2);
    assert_eq!(first.digest, second.digest);
    assert_ne!(run(&bowl, EngineKind::Island, 2, 2).0.digest, first.digest);
}

#[test]
fn a_chain_net_holds_with_rapier() {
    let (_, last) = run(&scene("chain-net", 24, 0.5), EngineKind::Rapier, 2, 2);
    let lowest = last.bodies.iter().map(|(_, state)| state.x.y).fold(f64::INFINITY, f64::min);
    assert!(lowest > 0.5, "the net holds: {lowest}");
}
