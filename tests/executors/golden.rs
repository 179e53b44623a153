//! Every scenario and every moving shape commits its golden digest. `./test` runs this optimised and not optimised.

use std::ops::ControlFlow;

use anachron::internals::tvht::Lane;
use anachron::scenarios::{GOLDEN, Golden, Request, SCENARIOS, build};
use anachron::scene::{Body, Scene, Shape};
use anachron::{Frame, GearChoice, Regions, Simulation, SyncMode, Tuning};
use xxhash_rust::xxh3::Xxh3;

use crate::scenes;

/// One hash over the bits of all frames in order, which no change of the digest function touches: with it, a change of
/// that function shows that the frames themselves have not changed. In the order of the table of golden runs.
const FRAME_HASHES: [&str; 17] = [
    "ef65c631a6174cf0fa66d07d56c633c9",
    "97399832ce9e465c5af9b90d4e87d501",
    "c4c3197dd4abb365b6a97cb60bc3e0c9",
    "0543098100cecd7547b00de3006a0bf1",
    "af5d22b5b999e183f1f441f07d8fd986",
    "96194b77f3b55eef93192ad672361e4b",
    "75176c471b3195d874519e04401a1ad7",
    "cff769b43e0686e943b5b38fb286f87c",
    "3c5769705ba82b3f261d644b49d71e23",
    "ae1bae0b016729c93b7996b818fb7ec3",
    "9ac5466f125e508dcb40017286b5a51d",
    "d23009205dd92bfda9e2f64a411a0254",
    "0ff2ad142b53c9fe54dddd50011ad8f0",
    "0da64f1d94dd6a106d8e6b7db054cba6",
    "a4e76262f20851f3e36aea21ead2c707",
    "9f5b3f468bf482fbc3ef9e830a00f749",
    "17af1e4271166e42b59e3bcceb809693",
];

/// Adds the bits of a frame to a hash.
fn add(hash: &mut Xxh3, frame: &Frame) {
    hash.update(&frame.index.to_le_bytes());
    hash.update(&frame.tick.to_le_bytes());
    for (id, state) in &frame.bodies {
        hash.update(&id.0.to_le_bytes());
        state.to_array().iter().for_each(|number| hash.update(&number.to_bits().to_le_bytes()));
    }
}

/// The digest of a golden run, and the hash of its frames.
fn run(golden: &Golden) -> (String, String) {
    let set = golden.set.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request = Request {
        bodies: Some(golden.bodies),
        seed: None,
        seconds: Some(f64::from(golden.milliseconds) / 1000.0),
        sets: set.into_iter().collect(),
    };
    let scene = build(golden.scenario, &request).expect("golden runs are valid");
    // The sequential loop defines the digests; only `overlap` runs scenes with joints.
    let sync = if scene.joints.is_empty() { SyncMode::Sequential } else { SyncMode::Overlap };
    let simulation = Simulation::new(&scene).expect("golden runs are valid").sync(sync);
    let mut hash = Xxh3::new();
    let report = simulation.run(|frame| {
        add(&mut hash, frame);
        ControlFlow::Continue(())
    });
    let report = report.expect("golden runs finish");
    let is_free_of_contacts = golden.scenario == "parallel";
    assert!(
        is_free_of_contacts || report.tally.contacts > 0,
        "{}: a golden run without contacts proves little",
        golden.scenario
    );
    (report.digest.to_string(), format!("{:032x}", hash.digest128()))
}

#[test]
fn every_scenario_commits_its_golden_digest() {
    assert_eq!(GOLDEN.len(), FRAME_HASHES.len());
    let mut wrong = Vec::new();
    for (golden, expected) in GOLDEN.iter().zip(FRAME_HASHES) {
        let (digest, frames) = run(golden);
        println!("{} {} {:?}: {digest}", golden.scenario, golden.bodies, golden.set);
        if frames != expected {
            wrong.push(format!("{}: other frames, their hash is {frames}", golden.scenario));
        }
        if digest != golden.digest {
            wrong.push(format!("{}: digest {digest} instead of {}", golden.scenario, golden.digest));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_scenario_has_a_golden_digest() {
    for scenario in SCENARIOS {
        assert!(GOLDEN.iter().any(|golden| golden.scenario == scenario.name), "{}", scenario.name);
    }
}

/// One of every shape that can move, and the digest of [`tumbling`] bodies of it.
fn moving_shapes() -> [(Shape, &'static str); 6] {
    let points =
        vec![[0.3, 0.0, 0.0], [-0.2, 0.25, 0.1], [-0.2, -0.25, 0.1], [0.0, 0.05, -0.3], [0.0, 0.0, 0.35]];
    [
        (Shape::Sphere { radius: 0.3 }, "98693c899fbba95dae6c770a0680e128"),
        (Shape::Box { half_extents: [0.3, 0.2, 0.25] }, "3c20fd986d9d7e06d31e7f33a2d603cc"),
        (Shape::Capsule { radius: 0.15, half_height: 0.2 }, "cba589543b2e7177e040f31021246f45"),
        (Shape::Cylinder { radius: 0.25, half_height: 0.2 }, "148215032995fa6f86c3668b9d22dedf"),
        (Shape::Ring { radius: 0.25, tube: 0.08 }, "1c61728cea3031ed6787e47c1ec74f0c"),
        (Shape::Hull { points }, "71e386a35cb49cf77353f09f6dd70f9c"),
    ]
}

/// Where in [`moving_shapes`] a shape is. A new shape does not compile here before it is there.
fn place(shape: &Shape) -> Option<usize> {
    match shape {
        Shape::Sphere { .. } => Some(0),
        Shape::Box { .. } => Some(1),
        Shape::Capsule { .. } => Some(2),
        Shape::Cylinder { .. } => Some(3),
        Shape::Ring { .. } => Some(4),
        Shape::Hull { .. } => Some(5),
        Shape::HalfSpace { .. } | Shape::Mesh { .. } => None,
    }
}

/// Bodies of these shapes that spin, meet in the air, and fall to the floor and on each other.
fn tumbling(shapes: &[Shape]) -> Scene {
    let mut scene = Scene { seconds: 0.5, statics: vec![scenes::floor()], ..scenes::scene(0.4, 0.3) };
    for number in 0..8_u32 {
        let [x, y, z] = [number % 2, number / 4, number / 2 % 2].map(f64::from);
        let shape = shapes[number as usize % shapes.len()].clone();
        let mut body = Body::new(shape, [0.8 * x, 0.6 + 0.8 * y, 0.8 * z]);
        body.orientation = [[0.6, 0.0, 0.0, 0.8], [0.0, 0.0, 0.28, 0.96]][number as usize % 2];
        body.velocity = [2.0 - 4.0 * x, -y, 0.3 - 0.5 * z];
        body.angular_velocity = [1.0 + f64::from(number), 0.5, -2.0];
        scene.bodies.push(body);
    }
    scene
}

/// The digest of a scene, the same by every exact executor.
fn exact_digest(what: &str, scene: &Scene) -> String {
    let simulation = Simulation::new(scene).expect("the scene is valid");
    let run = |sync: SyncMode, tuning: Tuning| {
        let simulation = simulation.clone().sync(sync).cores(2).tuning(tuning);
        simulation.run(|_| ControlFlow::Continue(())).expect("the run finishes")
    };
    let usual = Tuning::default();
    let bodies = Tuning { regions: Regions::Bodies, ..usual };
    let actors = Tuning { lane: Lane::Actors, buckets: 7, ..bodies };
    let reference = run(SyncMode::Sequential, usual);
    assert!(reference.tally.contacts > 8, "{what}: {} contacts", reference.tally.contacts);
    let cases = [
        (SyncMode::Lockstep, usual),
        (SyncMode::Lockstep, Tuning { gear: GearChoice::Calendar, ..usual }),
        (SyncMode::Lockstep, Tuning { gear: GearChoice::Near, ..usual }),
        (SyncMode::Loop, usual),
        (SyncMode::Chaos, usual),
        (SyncMode::RollbackCheck, usual),
        (SyncMode::Timewarp, usual),
        (SyncMode::Timewarp, bodies),
        (SyncMode::Timewarp, actors),
    ];
    for (sync, tuning) in cases {
        let report = run(sync, tuning);
        let same = (report.digest, report.tally) == (reference.digest, reference.tally);
        assert!(same, "{what}, {sync:?}, {tuning:?}: {} instead of {}", report.digest, reference.digest);
    }
    reference.digest.to_string()
}

#[test]
fn every_moving_shape_commits_its_golden_digest() {
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    for (number, (shape, expected)) in moving_shapes().into_iter().enumerate() {
        assert_eq!(place(&shape), Some(number));
        let digest = exact_digest(&format!("{shape:?}"), &tumbling(std::slice::from_ref(&shape)));
        if digest != expected {
            wrong.push(format!("{shape:?}: digest {digest} instead of {expected:?}"));
        }
        all.push(shape);
    }
    let (digest, expected) =
        (exact_digest("all shapes", &tumbling(&all)), "ec692a32788bbe95d41b90174b9d48c2");
    if digest != expected {
        wrong.push(format!("all shapes: digest {digest} instead of {expected:?}"));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
