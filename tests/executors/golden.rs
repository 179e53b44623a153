//! Every scenario commits its golden digest. `./test` runs this optimised and not optimised.

use std::ops::ControlFlow;

use anachron::scenarios::{GOLDEN, Golden, Request, SCENARIOS, build};
use anachron::{Simulation, SyncMode};

fn digest_of(golden: &Golden) -> String {
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
    let report = simulation.run(|_| ControlFlow::Continue(())).expect("golden runs finish");
    let is_free_of_contacts = golden.scenario == "parallel";
    assert!(
        is_free_of_contacts || report.tally.contacts > 0,
        "{}: a golden run without contacts proves little",
        golden.scenario
    );
    report.digest.to_string()
}

#[test]
fn every_scenario_commits_its_golden_digest() {
    let mut wrong = Vec::new();
    for golden in GOLDEN {
        let digest = digest_of(golden);
        println!("{} {} {:?}: {digest}", golden.scenario, golden.bodies, golden.set);
        if digest != golden.digest {
            wrong.push(golden.scenario);
        }
    }
    assert!(wrong.is_empty(), "other digests than in the table: {wrong:?}");
}

#[test]
fn every_scenario_has_a_golden_digest() {
    for scenario in SCENARIOS {
        assert!(GOLDEN.iter().any(|golden| golden.scenario == scenario.name), "{}", scenario.name);
    }
}
