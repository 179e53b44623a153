//! Time Warp on actors commits exactly the frames of the sequential reference.

use std::ops::ControlFlow;

use anachron::internals::executor::Tuning;
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

fn assert_same(scene: &Scene, reference: &Report, cores: usize, tuning: Tuning) {
    let report = run(scene, SyncMode::Timewarp, cores, tuning);
    let how = format!("{} on {cores} cores with {tuning:?}", scene.name);
    assert_eq!(report.digest, reference.digest, "{how}");
    assert_eq!(report.tally, reference.tally, "{how}");
    assert_eq!((report.frames, report.interrupted), (reference.frames, false), "{how}");
}

/// Every scenario, on one core to eight, with strides from one tick to all there are.
#[test]
fn every_scenario_on_any_number_of_cores() {
    // Links that hold each other are slow without clusters: most of it is left to `./test long`.
    let is_short = |golden: &Golden| golden.scenario == "chain-net" && patience() == 1;
    let milliseconds = |golden: &Golden| if is_short(golden) { 100 } else { 400 };
    let scenes = GOLDEN.iter().map(|golden| (golden, scene_of(golden, milliseconds(golden))));
    for (at, (golden, scene)) in scenes.filter(|(_, scene)| scene.joints.is_empty()).enumerate() {
        // A pyramid tells a ghost per iteration, and has sixteen: dear without clusters.
        let cluster = if golden.scenario == "pyramid" { 16 } else { 1 };
        let reference = run(&scene, SyncMode::Sequential, 1, Tuning::default());
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
        assert_same(
            &scene,
            &reference,
            cores,
            Tuning { window_ticks: window, buckets, cluster, adaptive, ..usual },
        );
        // Bodies that keep touching come together, whatever else they do.
        for cores in [1, 2] {
            assert_same(&scene, &reference, cores, Tuning { cluster: 0, adaptive, ..usual });
        }
        // Buckets as actors: a request carries the tracks from one to the next.
        let actors = Tuning { lane: Lane::Actors, buckets: [64, 7, 1][at % 3], ..usual };
        assert_same(&scene, &reference, 2, actors);
    }
}

/// While a request travels, its sender may be told something that makes the plan void. An entity that has found the void tracks
/// in the meantime must not take them for the ones that replace them.
#[test]
fn a_void_plan_is_not_mistaken_for_its_successor() {
    let cases = [("cylinders", 100, 2.0, 37, 1), ("billiards", 16, 1.0, 3, 2), ("stack", 10, 1.0, 3, 2)];
    for (name, bodies, seconds, buckets, cores) in cases {
        let request = Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() };
        let scene = build(name, &request).expect("the scenario is valid");
        let reference = run(&scene, SyncMode::Sequential, 1, Tuning::default());
        let tuning = Tuning { lane: Lane::Actors, buckets, cluster: 1, ..Tuning::default() };
        assert_same(&scene, &reference, cores, tuning);
    }
}

/// Bodies much smaller than what they fall in a tick, and ticks much longer than usual.
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

/// Every step taken back and done again comes out the same, and so does the whole.
#[test]
fn every_step_can_be_taken_back_and_repeated() {
    let scenes = GOLDEN.iter().map(|golden| (golden, scene_of(golden, 400)));
    for (golden, scene) in scenes.filter(|(_, scene)| scene.joints.is_empty() && scene.name != "pyramid") {
        let reference = run(&scene, SyncMode::Sequential, 1, Tuning::default());
        let report = run(&scene, SyncMode::RollbackCheck, 1, Tuning { cluster: 1, ..Tuning::default() });
        let regrouped = run(&scene, SyncMode::RollbackCheck, 1, Tuning::default());
        assert_eq!(regrouped.digest, reference.digest, "{}", golden.scenario);
        assert_eq!((report.digest, report.tally), (reference.digest, reference.tally), "{}", golden.scenario);
        let stats = report.speculation.expect("it speculates");
        assert!(stats.ticks_undone >= stats.ticks / 4, "{}: {stats:?}", golden.scenario);
    }
}

/// A caller that has seen enough gets what was committed so far, and the actors stop.
#[test]
fn a_run_can_be_ended_at_any_frame() {
    let scene = scene_of(&GOLDEN[1], 1000);
    let frames = |sync: SyncMode, enough: u64| {
        let mut seen = Vec::new();
        let simulation = Simulation::new(&scene).expect("the scene is valid").sync(sync).cores(2);
        let report = simulation.run(|frame| {
            seen.push(frame.clone());
            if frame.index == enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (seen, report.expect("the run ends cleanly"))
    };
    for enough in [0, 1, 17] {
        let (expected, reference) = frames(SyncMode::Sequential, enough);
        let (seen, report) = frames(SyncMode::Timewarp, enough);
        assert_eq!(seen, expected);
        assert_eq!((report.frames, report.digest), (reference.frames, reference.digest));
        assert!(report.interrupted);
    }
}

/// Starting and stopping many times in one process leaves nothing behind that would get in the way.
#[test]
fn many_runs_in_one_process() {
    // Threads are counted, so no other test may start any: a process with this test alone.
    let this = "timewarp::many_runs_in_one_process";
    if std::env::var("ANACHRON_ALONE").is_err() {
        let program = std::env::current_exe().expect("this program is a file");
        let arguments = ["--exact", this, "--nocapture"];
        let alone = std::process::Command::new(program).args(arguments).env("ANACHRON_ALONE", this).output();
        let alone = alone.expect("this program starts");
        let said = [&alone.stdout[..], &alone.stderr[..]].map(String::from_utf8_lossy).concat();
        assert!(alone.status.success() && said.contains("1 passed"), "{said}");
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
