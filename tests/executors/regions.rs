//! Regions of space commit exactly the frames of the plain loop: any partition, any schedule, both rules.

use std::ops::ControlFlow;

use anachron::internals::executor::{Regions, Tuning};
use anachron::scenarios::{GOLDEN, Request, build};
use anachron::scene::{Body, Material, ResponseSettings, Scene, Shape, StaticObject};
use anachron::{Report, Simulation, SyncMode};
use proptest::prelude::*;

use crate::patience::patience;
use crate::random_scenes::{self, KINDS, Random};

/// A run with as many regions; 0: as many as suit.
fn run(scene: &Scene, sync: SyncMode, cores: usize, regions: u32, seed: u64) -> Report {
    let regions = if regions == 0 { Regions::Auto } else { Regions::Count(regions) };
    let tuning = Tuning { regions, region_bodies: 1, ..Tuning::default() };
    let simulation =
        Simulation::new(scene).expect("the scene is valid").sync(sync).cores(cores).tuning(tuning);
    simulation.chaos_seed(seed).run(|_| ControlFlow::Continue(())).expect("the run finishes")
}

fn assert_same(report: &Report, reference: &Report, case: &str) {
    assert_eq!(report.digest, reference.digest, "{case}");
    assert_eq!(report.tally, reference.tally, "{case}");
    assert_eq!((report.frames, report.interrupted), (reference.frames, false), "{case}");
}

/// Bodies of any shape that fly in a box, with some room between them: contacts of two, and now and then of more.
fn thin(seed: u64, bodies: u32, ticks: u32) -> Scene {
    let random = &mut Random::new(seed, u64::MAX);
    let pitch = if random.chance(0.4) { random.range(1.02, 1.3) } else { random.range(1.3, 3.0) };
    let speed = random.pick(&[2.0, 8.0, 20.0]);
    let is_ball = random.chance(0.6);
    let side = 5.0 * pitch;
    let mut scene = Scene {
        name: format!("thin {seed}"),
        seconds: f64::from(ticks) / 240.0,
        ticks_per_frame: random.pick(&[1, 5]),
        gravity: random.pick(&[[0.0; 3], [0.0; 3], [0.0, -9.81, 0.0]]),
        response: ResponseSettings { iterations: 1 + random.below(2) as u32, ..ResponseSettings::default() },
        ..Scene::default()
    };
    for (name, restitution) in [("a", 1.0), ("b", 0.5)] {
        let friction = random.pick(&[0.0, 0.4]);
        let material = Material { density: 1000.0, friction, restitution, color: None };
        scene.materials.insert(name.to_owned(), material);
    }
    if random.chance(0.5) {
        for (axis, sign) in [(0, -1.0), (0, 1.0), (1, -1.0), (1, 1.0), (2, -1.0), (2, 1.0)] {
            let (mut normal, mut position) = ([0.0; 3], [0.0; 3]);
            normal[axis] = -sign;
            position[axis] = sign * (0.5 * side + 1.0);
            let mut wall = StaticObject::new(Shape::HalfSpace { normal }, position);
            wall.material = "a".to_owned();
            scene.statics.push(wall);
        }
    }
    for index in 0..bodies {
        let random = &mut Random::new(seed, u64::from(index));
        let site = [index % 5, index / 5 % 5, index / 25].map(|at| (f64::from(at) - 2.0) * pitch);
        let size = random.range(0.3, 0.5);
        let shape = match random.below(4) {
            _ if is_ball => Shape::Sphere { radius: size },
            0 => Shape::Box { half_extents: [0.5 * size, 0.6 * size, 0.4 * size] },
            1 => Shape::Capsule { radius: 0.3 * size, half_height: 0.5 * size },
            _ => Shape::Sphere { radius: size },
        };
        let mut body = Body::new(shape, site);
        body.velocity = random.vector(speed);
        body.angular_velocity = random.vector(3.0);
        body.material = random.pick(&["a", "b"]).to_owned();
        scene.bodies.push(body);
    }
    scene
}

fn cases(few: u32) -> ProptestConfig {
    ProptestConfig { max_shrink_iters: 64, ..ProptestConfig::with_cases(few * patience()) }
}

proptest! {
    #![proptest_config(cases(40))]

    /// Any partition and schedule, rollbacks and messages as bytes included.
    #[test]
    fn thin_scenes_in_any_order(seed in any::<u64>(), bodies in 2..60u32, ticks in 20..150u32, regions in 2..9u32, order in any::<u64>()) {
        let scene = thin(seed, bodies, ticks);
        let reference = run(&scene, SyncMode::Sequential, 1, 0, 0);
        let report = run(&scene, SyncMode::Chaos, 1, regions, order);
        assert_same(&report, &reference, "chaos");
        let processes = report.processes.expect("it has processes");
        prop_assert!(processes.is_optimistic || processes.rollbacks == 0);
    }

    /// The same on threads, by both rules.
    #[test]
    fn thin_scenes_on_threads(seed in any::<u64>(), bodies in 2..60u32, ticks in 20..150u32, regions in 2..9u32, cores in 1..4usize) {
        let scene = thin(seed, bodies, ticks);
        let reference = run(&scene, SyncMode::Sequential, 1, 0, 0);
        assert_same(&run(&scene, SyncMode::Timewarp, cores, regions, 0), &reference, "timewarp");
        let lockstep = run(&scene, SyncMode::Lockstep, cores, regions, 0);
        assert_same(&lockstep, &reference, "lockstep");
        prop_assert_eq!(lockstep.processes.expect("it has processes").rollbacks, 0);
    }
}

proptest! {
    #![proptest_config(cases(120))]

    /// Piles of all shapes and dense scenes, cut anywhere: sets that reach across borders are solved together. Those that move
    /// too fast for their cells end in one store.
    #[test]
    fn dense_scenes_in_any_order(kind in 0..KINDS.len(), seed in any::<u64>(), bodies in 2..40u32, ticks in 5..25u32, regions in 2..5u32, order in any::<u64>()) {
        let scene = random_scenes::scene(KINDS[kind], seed, bodies, ticks);
        let reference = run(&scene, SyncMode::Sequential, 1, 0, 0);
        assert_same(&run(&scene, SyncMode::Chaos, 1, regions, order), &reference, &scene.name);
    }
}

proptest! {
    #![proptest_config(cases(24))]

    /// The same on threads, by both rules.
    #[test]
    fn dense_scenes_on_threads(kind in 0..KINDS.len(), seed in any::<u64>(), bodies in 8..60u32, ticks in 5..40u32, regions in 2..9u32, cores in 1..4usize) {
        let scene = random_scenes::scene(KINDS[kind], seed, bodies, ticks);
        let reference = run(&scene, SyncMode::Sequential, 1, 0, 0);
        assert_same(&run(&scene, SyncMode::Timewarp, cores, regions, 0), &reference, "timewarp");
        let lockstep = run(&scene, SyncMode::Lockstep, cores, regions, 0);
        assert_same(&lockstep, &reference, "lockstep");
        prop_assert_eq!(lockstep.processes.expect("it has processes").rollbacks, 0);
    }
}

/// Bodies that start deep inside each other, or under a floor: contacts move them by more than a cell in one tick.
fn deep(seed: u64, bodies: u32, ticks: u32) -> Scene {
    let mut scene = thin(seed, bodies, ticks);
    let random = &mut Random::new(seed, 1 << 40);
    scene.statics.clear();
    if random.chance(0.6) {
        let level = random.range(-4.0, 2.0);
        let floor = Shape::HalfSpace { normal: [0.0, 1.0, 0.0] };
        scene
            .statics
            .push(StaticObject { material: "a".to_owned(), ..StaticObject::new(floor, [0.0, level, 0.0]) });
    }
    if random.chance(0.3) {
        scene.response.correction = 1.0;
    }
    for at in 1..scene.bodies.len() {
        if random.chance(0.4) {
            let offset = random.vector(0.1);
            let near = scene.bodies[at - 1].position;
            scene.bodies[at].position = [0, 1, 2].map(|axis| near[axis] + offset[axis]);
        }
    }
    scene
}

proptest! {
    #![proptest_config(cases(60))]

    /// What contacts move too far for the cells ends regions, and is not lost.
    #[test]
    fn deep_overlaps_in_any_order(seed in any::<u64>(), bodies in 2..60u32, ticks in 3..30u32, regions in 2..13u32, order in any::<u64>()) {
        let scene = deep(seed, bodies, ticks);
        let reference = run(&scene, SyncMode::Sequential, 1, 0, 0);
        assert_same(&run(&scene, SyncMode::Chaos, 1, regions, order), &reference, "chaos");
        assert_same(&run(&scene, SyncMode::Lockstep, 2, regions, 0), &reference, "lockstep");
        assert_same(&run(&scene, SyncMode::Timewarp, 2, regions, 0), &reference, "timewarp");
    }
}

/// Bodies that all fly to one side leave regions without any: the partition follows them.
#[test]
fn partitions_follow_the_bodies() {
    let mut scene = thin(5, 1, 800);
    (scene.statics, scene.gravity) = (Vec::new(), [0.0; 3]);
    let ball = scene.bodies[0].clone();
    scene.bodies.clear();
    for index in 0..400 {
        let mut body = Body { shape: Shape::Sphere { radius: 0.1 }, ..ball.clone() };
        let [x, y, z] = [index % 20, index / 20 % 5, index / 100].map(f64::from);
        body.position = [2.0 * x, 2.0 * y, 2.0 * z];
        // All come together at the left end, each at its own pace, and fly apart again.
        body.velocity = [-0.6 * x, 0.01 * y, 0.0];
        scene.bodies.push(body);
    }
    let reference = run(&scene, SyncMode::Sequential, 1, 0, 0);
    for (sync, cores) in [(SyncMode::Lockstep, 2), (SyncMode::Timewarp, 2), (SyncMode::Timewarp, 3)] {
        let report = run(&scene, sync, cores, 4, 0);
        assert_same(&report, &reference, &format!("{sync:?}"));
        let processes = report.processes.expect("it has processes");
        assert!(processes.epochs > 1, "{sync:?}: {processes:?}");
        assert_eq!(processes.region_ticks, reference.tally.ticks + 1, "{sync:?}");
    }
}

/// Balls that rain into a heap are done by regions first, and by one store once most of them touch.
#[test]
fn one_store_takes_over_a_heap() {
    let mut scene = thin(7, 1, 480);
    scene.gravity = [0.0, -9.81, 0.0];
    scene.statics = vec![StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3])];
    let ball = scene.bodies[0].clone();
    scene.bodies.clear();
    for index in 0..343 {
        let mut body = Body { shape: Shape::Sphere { radius: 0.2 }, ..ball.clone() };
        let [x, y, z] = [index % 7, index / 7 % 7, index / 49].map(f64::from);
        (body.position, body.velocity) = ([1.5 * x, 1.0 + 0.8 * y, 1.5 * z], [0.02 * y, -2.0, 0.0]);
        body.material = "b".to_owned();
        scene.bodies.push(body);
    }
    let reference = run(&scene, SyncMode::Sequential, 1, 0, 0);
    for sync in [SyncMode::Lockstep, SyncMode::Timewarp] {
        let report = run(&scene, sync, 2, 0, 0);
        assert_same(&report, &reference, &format!("{sync:?}"));
        let processes = report.processes.expect("it has processes");
        assert_eq!(processes.regions, 2, "{sync:?}");
        assert!((1..480).contains(&processes.region_ticks), "{sync:?}: {processes:?}");
    }
}

/// Heaps and stacks stay in their regions to the end: what rests on a border is solved by both sides together.
#[test]
fn heaps_stay_in_their_regions() {
    for (scenario, bodies, seconds) in
        [("cylinders", 200, 1.0), ("bowl", 300, 1.2), ("pyramid", 91, 0.3), ("stack", 24, 0.4)]
    {
        let request = Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() };
        let scene = build(scenario, &request).expect("the scenario is valid");
        let reference = run(&scene, SyncMode::Sequential, 1, 0, 0);
        let ticks = reference.tally.ticks + 1;
        for (sync, cores, regions) in [
            (SyncMode::Lockstep, 2, 2),
            (SyncMode::Lockstep, 1, 5),
            (SyncMode::Timewarp, 2, 2),
            (SyncMode::Timewarp, 2, 7),
        ] {
            let case = format!("{scenario} {sync:?} {regions}");
            let report = run(&scene, sync, cores, regions, 0);
            assert_same(&report, &reference, &case);
            let processes = report.processes.expect("it has processes");
            assert_eq!(processes.region_ticks, ticks, "{case}");
            assert!(processes.exchanges > 0, "{case}");
        }
    }
}

/// The same in any order, and with partitions that no one would choose.
#[test]
fn heaps_in_any_order() {
    let mut exchanges = 0;
    for (scenario, bodies) in [("cylinders", 60), ("bowl", 40), ("pyramid", 15), ("stack", 6)] {
        let request = Request { bodies: Some(bodies), seconds: Some(0.3), ..Request::default() };
        let scene = build(scenario, &request).expect("the scenario is valid");
        let reference = run(&scene, SyncMode::Sequential, 1, 0, 0);
        for seed in 0..24 {
            let report = run(&scene, SyncMode::Chaos, 1, 2 + seed as u32 % 5, seed);
            assert_same(&report, &reference, &format!("{scenario} {seed}"));
            exchanges += report.processes.expect("it has processes").exchanges;
        }
    }
    assert!(exchanges > 1000, "{exchanges}");
}

#[test]
fn every_scenario_by_regions() {
    for golden in GOLDEN {
        let set = golden.set.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let seconds = Some(f64::from(golden.milliseconds.min(300)) / 1000.0);
        let request =
            Request { bodies: Some(golden.bodies), seed: None, seconds, sets: set.into_iter().collect() };
        let scene = build(golden.scenario, &request).expect("golden runs are valid");
        if !scene.joints.is_empty() {
            continue;
        }
        let reference = run(&scene, SyncMode::Sequential, 1, 0, 0);
        for (sync, cores, regions) in [
            (SyncMode::Lockstep, 2, 0),
            (SyncMode::Lockstep, 1, 7),
            (SyncMode::Timewarp, 2, 0),
            (SyncMode::Timewarp, 3, 64),
        ] {
            let report = run(&scene, sync, cores, regions, 0);
            assert_same(&report, &reference, &format!("{} {sync:?} {cores} {regions}", golden.scenario));
        }
    }
}

/// A thin gas is done by regions from start to end, and they do exchange messages and roll back.
#[test]
fn a_gas_stays_in_its_regions() {
    let request = Request { bodies: Some(500), seconds: Some(1.0), ..Request::default() };
    let scene = build("gas", &request).expect("the scenario is valid");
    let reference = run(&scene, SyncMode::Sequential, 1, 0, 0);
    let mut rollbacks = 0;
    for seed in 0..6 {
        let report = run(&scene, SyncMode::Chaos, 1, 4, seed);
        assert_same(&report, &reference, &format!("seed {seed}"));
        let processes = report.processes.expect("it has processes");
        assert_eq!(processes.region_ticks, 241, "seed {seed}");
        assert!(processes.messages > 0, "seed {seed}");
        rollbacks += processes.rollbacks;
    }
    assert!(rollbacks > 0);
}
