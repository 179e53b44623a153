//! `verify`: what it says, and what it ends with.

use crate::program::Sandbox;

#[test]
fn kept_promises_end_with_zero() {
    let sandbox = Sandbox::new();
    let told = sandbox.json(&["verify", "--random", "5", "--seconds", "1"]);
    assert!(told["schedules"].as_u64().unwrap() > 0 && told["broken"].is_null(), "{told}");
    let told =
        sandbox.json(&["verify", "--entities", "2", "--ticks", "2", "--window", "1", "--seconds", "1"]);
    assert!(told["states"].as_u64().unwrap() > 100 && told["worlds"].as_u64().unwrap() > 0, "{told}");
}

#[test]
fn a_broken_promise_is_told_and_ends_with_one() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["verify", "--fault", "detector-does-not-apply", "--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(told["broken"]["promise"], "committed == reference");
    assert!(!told["broken"]["trace"].as_array().unwrap().is_empty());
    assert!(ended.stderr.contains("event: my body") && ended.stderr.contains("shortest"), "{ended:?}");
    let random = sandbox.run(&["verify", "--random", "1", "--fault", "no-antievents"]);
    assert_eq!(random.code, Some(1), "{random:?}");
}

#[test]
fn the_published_algorithm_ends_with_one() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["verify", "--protocol", "paper", "--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("DEADLOCK in 3 moves") && ended.stderr.contains("WRONG COMMIT"),
        "{ended:?}"
    );
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(told["broken"].as_array().unwrap().len(), 4);
}

#[test]
fn what_makes_no_sense_is_named() {
    let sandbox = Sandbox::new();
    for (arguments, named) in [
        (&["verify", "--window", "0"][..], "--window"),
        (&["verify", "--fault", "gremlins"], "no-versions"),
        (&["verify", "--protocol", "paper", "--window", "2"], "--window does not go with --protocol paper"),
    ] {
        let ended = sandbox.run(arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(named), "{ended:?}");
    }
}
