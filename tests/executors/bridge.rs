//! Bodies that stay in contact form islands and come free again, with the same result by every executor.

use std::ops::ControlFlow;

use anachron::internals::executor::Tuning;
use anachron::internals::islands::{IslandSettings, IslandSummary};
use anachron::internals::overlap::OverlapSettings;
use anachron::internals::tvht::Lane;
use anachron::scenarios::{Request, build};
use anachron::scene::{Scene, Shape, StaticObject};
use anachron::{Report, Simulation, SyncMode};

use crate::scenes::ball;

fn scenario(name: &str, bodies: u32, seconds: f64) -> Scene {
    let request = Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() };
    build(name, &request).expect("the scenario is valid")
}

/// Balls that fall into a pit and come to rest there, and a small one that bounces above them and dives into the pile.
fn pit(layers: u32, seconds: f64) -> Scene {
    let mut scene = crate::scenes::scene(0.4, 0.3);
    scene.name = "pit".into();
    scene.seconds = seconds;
    scene.statics = crate::scenes::walls(2.0);
    for k in 0..9 * layers {
        let (layer, row, column) = (k / 9, k % 9 / 3, k % 3);
        let jitter = 0.03 * f64::from((k * 7919) % 13) - 0.18;
        let along = |number: u32| 1.1 * (f64::from(number) - 1.0) + jitter;
        scene.bodies.push(ball(0.5, [along(row), -1.4 + 1.05 * f64::from(layer), along(column)]));
    }
    let mut bullet = ball(0.25, [1.5, 1.7, -1.2]);
    bullet.velocity = [-1.0, 3.0, 0.4];
    scene.bodies.push(bullet);
    scene
}

fn by_workers(workers: u32) -> IslandSettings {
    let overlap = OverlapSettings { workers: Some(workers), ..OverlapSettings::default() };
    IslandSettings { epoch_ticks: 16, overlap, ..IslandSettings::default() }
}

fn run(simulation: &Simulation) -> Report {
    simulation.run(|_| ControlFlow::Continue(())).expect("the run finishes")
}

fn summary(report: &Report) -> IslandSummary {
    report.tally.bridge.expect("there are islands")
}

/// Every executor, lane and number of cores commits the result of the sequential executor.
#[test]
fn the_digest_depends_on_workers_and_never_on_the_executor() {
    for scene in [pit(3, 2.0), scenario("pyramid", 30, 0.8)] {
        // One world for all numbers of workers: workspaces kept from an earlier run must not be used.
        let without = Simulation::new(&scene).unwrap();
        for workers in [1, 2] {
            let simulation = without.clone().bridge(Some(by_workers(workers)));
            let reference = run(&simulation.clone().sync(SyncMode::Sequential));
            let case = format!("{} by {workers}", scene.name);
            println!("{case}: {:?}", reference.tally);
            assert!(summary(&reference).bodies_joined > 10, "{case}: {:?}", summary(&reference));
            for sync in [SyncMode::Loop, SyncMode::RollbackCheck, SyncMode::Chaos] {
                let report = run(&simulation.clone().sync(sync).chaos_seed(7));
                assert_eq!(report.digest, reference.digest, "{case}, {}", sync.name());
                assert_eq!(report.tally, reference.tally, "{case}, {}", sync.name());
            }
            for (cores, lane) in [1, 2, 4].into_iter().flat_map(|c| [(c, Lane::Shared), (c, Lane::Actors)]) {
                let tuning = Tuning { lane, ..Tuning::default() };
                let report = run(&simulation.clone().sync(SyncMode::Timewarp).cores(cores).tuning(tuning));
                assert_eq!(report.digest, reference.digest, "{case}, {cores} cores, {lane:?}");
                assert_eq!(report.tally, reference.tally, "{case}, {cores} cores, {lane:?}");
            }
        }
    }
}

/// Columns of four balls that fall together and begin to touch after `ticks` ticks.
fn columns(ticks: u32) -> Scene {
    let mut scene = crate::scenes::scene(0.5, 0.0);
    scene.seconds = 0.5;
    scene.statics = vec![StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3])];
    let fall = 0.5 * 9.81 * (f64::from(ticks) / scene.ticks_per_second).powi(2);
    for k in 0..24 {
        let (column, storey) = (k / 4, k % 4);
        let at = |number: u32| 1.2 * f64::from(number);
        scene
            .bodies
            .push(ball(0.5, [at(column / 2), 0.5 + fall + 1.005 * f64::from(storey), at(column % 2)]));
    }
    scene
}

/// Bodies that could go on for several epochs stop at the tick at which one may change islands.
#[test]
fn resting_bodies_wait_for_membership_at_epochs() {
    for ticks in 24..32 {
        let settings = IslandSettings { epoch_ticks: 8, ..by_workers(1) };
        let simulation = Simulation::new(&columns(ticks)).unwrap().bridge(Some(settings));
        let reference = run(&simulation.clone().sync(SyncMode::Sequential));
        assert!(summary(&reference).bodies_joined >= 24, "{:?}", summary(&reference));
        let tuning = Tuning { contact_window_ticks: Some(30), ..Tuning::default() };
        for (sync, cores) in [(SyncMode::Loop, 1), (SyncMode::Timewarp, 1), (SyncMode::Timewarp, 2)] {
            let report = run(&simulation.clone().sync(sync).cores(cores).tuning(tuning));
            assert_eq!(
                report.digest,
                reference.digest,
                "touching from {ticks}, {}, {cores} cores",
                sync.name()
            );
            assert_eq!(
                report.tally,
                reference.tally,
                "touching from {ticks}, {}, {cores} cores",
                sync.name()
            );
        }
    }
}
