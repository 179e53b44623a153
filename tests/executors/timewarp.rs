//! Time Warp on actors commits exactly the frames of the sequential reference.

use std::ops::ControlFlow;

use anachron::internals::executor::{Regions, Tuning};
use anachron::internals::tvht::Lane;
use anachron::scenarios::{GOLDEN, Golden, Request, build};
use anachron::scene::{Body, Scene, Shape};
use anachron::{Report, Simulation, SyncMode};

use crate::patience::patience;

fn scene_of(golden: &Golden, milliseconds: u32) -> Scene {
    let set = golden.set.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let seconds = f64::from(golden.milliseconds.min(milliseconds)) / 1000.0;
    let sets = set.into_iter().collect();
    let request = Request { bodies: Some(golden.bodies), seed: None, seconds: Some(seconds), sets };
    build(golden.scenario, &request).expect("golden runs are valid")
}

fn run(scene: &Scene, sync: SyncMode, cores: usize, tuning: Tuning) -> Report {
    let simulation =
        Simulation::new(scene).expect("the scene is valid").sync(sync).cores(cores).tuning(tuning);
    simulation.run(|_| ControlFlow::Continue(())).expect("the run finishes")
}

/// Time Warp by bodies must commit the digest and the tally of the reference.
fn assert_same(scene: &Scene, reference: &Report, cores: usize, tuning: Tuning) {
    let tuning = Tuning { regions: Regions::Bodies, ..tuning };
    let report = run(scene, SyncMode::Timewarp, cores, tuning);
    let case = format!("{} on {cores} cores with {tuning:?}", scene.name);
    assert_eq!(report.digest, reference.digest, "{case}");
    assert_eq!(report.tally, reference.tally, "{case}");
    assert_eq!((report.frames, report.interrupted), (reference.frames, false), "{case}");
}

/// Every scenario, on one to eight cores, with windows from 1 tick to the whole run.
#[test]
fn every_scenario_on_any_number_of_cores() {
    // Ghost updates for each of sixteen iterations are slow: most of the run is left to `./test long`.
    let is_slow = |golden: &Golden| ["chain-net", "pyramid"].contains(&golden.scenario) && patience() == 1;
    let milliseconds = |golden: &Golden| if is_slow(golden) { 100 } else { 400 };
    let scenes = GOLDEN.iter().map(|golden| (golden, scene_of(golden, milliseconds(golden))));
    for (case, (_, scene)) in scenes.filter(|(_, scene)| scene.joints.is_empty()).enumerate() {
        let reference = run(&scene, SyncMode::Sequential, 1, Tuning::default());
        let usual = Tuning { regions: Regions::Bodies, ..Tuning::default() };
        for cores in [1, 2] {
            assert_same(&scene, &reference, cores, usual);
        }
        // A diagonal through the other combinations: every value occurs with some scenario.
        let cores = [3, 4, 8][case % 3];
        let window_ticks = [1, 16, 64, 1024][case % 4];
        let buckets = [1, 7, 64, 4096][(case / 2) % 4];
        let adaptive = case % 2 == 0;
        assert_same(&scene, &reference, cores, Tuning { window_ticks, buckets, adaptive, ..usual });
        // Buckets as actors: a table request carries the track from one to the next.
        let actors = Tuning { lane: Lane::Actors, buckets: [64, 7, 1][case % 3], ..usual };
        assert_same(&scene, &reference, 2, actors);
    }
}

/// While a table request is under way, a message may make its plan void. An entity that has found the void track in the
/// meantime must not take it for the track that replaces it.
#[test]
fn a_void_plan_is_not_mistaken_for_its_successor() {
    let cases = [("cylinders", 100, 2.0, 37, 1), ("billiards", 16, 1.0, 3, 2), ("stack", 10, 1.0, 3, 2)];
    for (name, bodies, seconds, buckets, cores) in cases {
        let request = Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() };
        let scene = build(name, &request).expect("the scenario is valid");
        let reference = run(&scene, SyncMode::Sequential, 1, Tuning::default());
        let tuning = Tuning { lane: Lane::Actors, buckets, regions: Regions::Bodies, ..Tuning::default() };
        assert_same(&scene, &reference, cores, tuning);
    }
}

/// Bodies much smaller than the distance they fall in a tick, and ticks much longer than usual.
#[test]
fn tiny_bodies_and_long_ticks_do_not_fill_the_table() {
    for (radius, ticks_per_second) in [(1e-3, 30.0), (1e-2, 2.0), (1e-6, 240.0)] {
        let ball = |x: f64| Body::new(Shape::Sphere { radius }, [x, 0.0, 0.0]);
        let mut scene = Scene { seconds: 4.0, ticks_per_second, ..Scene::default() };
        scene.bodies =
            vec![ball(0.0), ball(1.0), ball(2.0), Body::new(Shape::Sphere { radius: 1e3 }, [0.0, 2e3, 0.0])];
        let reference = run(&scene, SyncMode::Sequential, 1, Tuning::default());
        assert_same(&scene, &reference, 2, Tuning::default());
    }
}

/// Rolling back and repeating every step changes no bit of the result.
#[test]
fn every_step_can_be_rolled_back_and_repeated() {
    let scenes = GOLDEN.iter().map(|golden| (golden, scene_of(golden, 400)));
    for (golden, scene) in scenes.filter(|(_, scene)| scene.joints.is_empty() && scene.name != "pyramid") {
        let reference = run(&scene, SyncMode::Sequential, 1, Tuning::default());
        let report = run(&scene, SyncMode::RollbackCheck, 1, Tuning::default());
        assert_eq!((report.digest, report.tally), (reference.digest, reference.tally), "{}", golden.scenario);
        let stats = report.speculation.expect("it speculates");
        assert!(stats.ticks_undone >= stats.ticks / 4, "{}: {stats:?}", golden.scenario);
    }
}

/// A run that its caller ends early reports what was committed so far, and stops its actors.
#[test]
fn a_run_can_be_ended_at_any_frame() {
    let scene = scene_of(&GOLDEN[1], 1000);
    let frames = |sync: SyncMode, last: u64, regions: Regions| {
        let mut frames = Vec::new();
        let simulation = Simulation::new(&scene).expect("the scene is valid").sync(sync).cores(2);
        let report = simulation.tuning(Tuning { regions, ..Tuning::default() }).run(|frame| {
            frames.push(frame.clone());
            if frame.index == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (frames, report.expect("the run ends cleanly"))
    };
    for last in [0, 1, 17] {
        let (expected, reference) = frames(SyncMode::Sequential, last, Regions::Auto);
        for regions in [Regions::Auto, Regions::Count(3), Regions::Bodies] {
            let (committed, report) = frames(SyncMode::Timewarp, last, regions);
            assert_eq!(committed, expected, "{regions:?}");
            assert_eq!((report.frames, report.digest), (reference.frames, reference.digest));
            assert!(report.interrupted);
        }
    }
}

/// Starting and stopping many times in one process leaves no threads behind.
#[test]
fn many_runs_in_one_process() {
    // Threads are counted and no other test may start any, so this test runs in a process of its own.
    let this = "timewarp::many_runs_in_one_process";
    if std::env::var("ANACHRON_ALONE").is_err() {
        let program = std::env::current_exe().expect("this program is a file");
        let arguments = ["--exact", this, "--nocapture"];
        let alone = std::process::Command::new(program).args(arguments).env("ANACHRON_ALONE", this).output();
        let alone = alone.expect("this program starts");
        let output = [&alone.stdout[..], &alone.stderr[..]].map(String::from_utf8_lossy).concat();
        assert!(alone.status.success() && output.contains("1 passed"), "{output}");
        return;
    }
    let scene = scene_of(&GOLDEN[3], 100);
    let reference = run(&scene, SyncMode::Sequential, 1, Tuning::default());
    let threads = || std::fs::read_dir("/proc/self/task").map_or(0, |tasks| tasks.count());
    assert_same(&scene, &reference, 2, Tuning::default());
    let before = threads();
    for _ in 0..30 {
        assert_same(&scene, &reference, 2, Tuning::default());
    }
    assert!(threads() <= before + 24, "{} threads, {before} before", threads());
}
