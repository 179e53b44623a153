//! Every scenario commits its golden digest. `./test` runs this optimised and not optimised.

use std::ops::ControlFlow;

use anachron::scenarios::{GOLDEN, Golden, Request, SCENARIOS, build};
use anachron::{Frame, Simulation, SyncMode};
use xxhash_rust::xxh3::Xxh3;

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
