//! Time Warp on actors commits exactly the frames of the sequential reference.

use std::ops::ControlFlow;

use anachron::executor::Tuning;
use anachron::scenarios::{GOLDEN, Golden, Request, build};
use anachron::scene::Scene;
use anachron::tvht::Lane;
use anachron::{Report, Simulation, Sync};

fn scene_of(golden: &Golden, milliseconds: u32) -> Scene {
    let set = golden.set.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let seconds = f64::from(golden.milliseconds.min(milliseconds)) / 1000.0;
    let sets = set.into_iter().collect();
    let request = Request { bodies: Some(golden.bodies), seed: None, seconds: Some(seconds), sets };
    build(golden.scenario, &request).expect("golden runs are valid")
}

fn run(scene: &Scene, sync: Sync, cores: usize, tuning: Tuning) -> Report {
    let simulation =
        Simulation::new(scene).expect("the scene is valid").sync(sync).cores(cores).tuning(tuning);
    simulation.run(|_| ControlFlow::Continue(())).expect("the run finishes")
}

fn assert_same(scene: &Scene, reference: &Report, cores: usize, tuning: Tuning) {
    let report = run(scene, Sync::Timewarp, cores, tuning);
    let how = format!("{} on {cores} cores with {tuning:?}", scene.name);
    assert_eq!(report.digest, reference.digest, "{how}");
    assert_eq!(report.tally, reference.tally, "{how}");
    assert_eq!((report.frames, report.interrupted), (reference.frames, false), "{how}");
}

/// Every scenario, on one core to eight, with strides from one tick to all there are.
#[test]
fn every_scenario_on_any_number_of_cores() {
    for (at, golden) in GOLDEN.iter().enumerate() {
        // A pyramid tells a standing per iteration, and has sixteen: dear without clusters.
        let cluster = if golden.scenario == "pyramid" { 16 } else { 1 };
        let scene = scene_of(golden, 400);
        let reference = run(&scene, Sync::Sequential, 1, Tuning::default());
        let usual = Tuning { cluster, ..Tuning::default() };
        for cores in [1, 2] {
            assert_same(&scene, &reference, cores, usual);
        }
        // The rest of the matrix is walked along a diagonal: every value with some scenario.
        let cores = [3, 4, 8][at % 3];
        let window = [1, 16, 64, 1024][at % 4];
        let buckets = [1, 7, 64, 4096][(at / 2) % 4];
        let cluster = if golden.scenario == "pyramid" { 32 } else { [1, 4, 32][(at / 3) % 3] };
        let adaptive = at % 2 == 0;
        assert_same(&scene, &reference, cores, Tuning { window, buckets, cluster, adaptive, ..usual });
        // Buckets as actors: a ticket carries the tracks from one to the next.
        let actors = Tuning { lane: Lane::Actors, buckets: [64, 7, 1][at % 3], ..usual };
        assert_same(&scene, &reference, 2, actors);
    }
}

/// Every step taken back and done again comes out the same, and so does the whole.
#[test]
fn every_step_can_be_taken_back_and_repeated() {
    for golden in GOLDEN.iter().filter(|golden| golden.scenario != "pyramid") {
        let scene = scene_of(golden, 400);
        let reference = run(&scene, Sync::Sequential, 1, Tuning::default());
        let report = run(&scene, Sync::RollbackCheck, 1, Tuning::default());
        assert_eq!((report.digest, report.tally), (reference.digest, reference.tally), "{}", golden.scenario);
        let stats = report.speculation.expect("it speculates");
        assert!(stats.ticks_undone >= stats.ticks / 4, "{}: {stats:?}", golden.scenario);
    }
}

/// A user who has seen enough gets what was committed so far, and the actors go home.
#[test]
fn a_run_can_be_ended_at_any_frame() {
    let scene = scene_of(&GOLDEN[1], 1000);
    let frames = |sync: Sync, enough: u64| {
        let mut seen = Vec::new();
        let simulation = Simulation::new(&scene).expect("the scene is valid").sync(sync).cores(2);
        let report = simulation.run(|frame| {
            seen.push(frame.clone());
            if frame.index == enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (seen, report.expect("the run ends cleanly"))
    };
    for enough in [0, 1, 17] {
        let (expected, reference) = frames(Sync::Sequential, enough);
        let (seen, report) = frames(Sync::Timewarp, enough);
        assert_eq!(seen, expected);
        assert_eq!((report.frames, report.digest), (reference.frames, reference.digest));
        assert!(report.interrupted);
    }
}

/// Starting and stopping many times in one process leaves nothing behind that would get in the way.
#[test]
fn many_runs_in_one_process() {
    let scene = scene_of(&GOLDEN[3], 100);
    let reference = run(&scene, Sync::Sequential, 1, Tuning::default());
    let threads = || std::fs::read_dir("/proc/self/task").map_or(0, |tasks| tasks.count());
    assert_same(&scene, &reference, 2, Tuning::default());
    let before = threads();
    for _ in 0..30 {
        assert_same(&scene, &reference, 2, Tuning::default());
    }
    // Other tests of this file may be running; their threads are few.
    assert!(threads() <= before + 24, "{} threads, {before} before", threads());
}
