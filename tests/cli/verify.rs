//! `verify`: output, limits and exit codes.

use serde_json::Value;

use crate::program::Sandbox;
use crate::running::Running;

#[test]
fn a_check_without_violations_ends_with_0() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.json(&["verify", "--random", "5", "--seconds", "1"]);
    assert!(outcome["schedules"].as_u64().unwrap() > 0 && outcome["violation"].is_null(), "{outcome}");
    assert_eq!(outcome["schedules_stopped_by"], "seconds");
    assert_eq!(outcome["fault_noticed"], Value::Null);
    let outcome =
        sandbox.json(&["verify", "--entities", "2", "--ticks", "2", "--window", "1", "--seconds", "1"]);
    assert!(outcome["states"].as_u64().unwrap() > 100, "{outcome}");
    assert!(outcome["configurations"].as_u64().unwrap() > 0, "{outcome}");
}

#[test]
fn a_fault_that_is_noticed_ends_with_0() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["verify", "--fault", "detector-does-not-apply", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(outcome["fault_noticed"], true);
    assert_eq!(outcome["violation"]["property"], "committed == reference");
    assert_eq!(outcome["states_stopped_by"], "violation");
    assert!(!outcome["violation"]["trace"].as_array().unwrap().is_empty());
    for part in ["noticed: committed == reference", "event: body", "the shortest trace has"] {
        assert!(ended.stderr.contains(part), "{part} is missing in {ended:?}");
    }
    let random = sandbox.run(&["verify", "--random", "1", "--fault", "no-antievents"]);
    assert_eq!(random.code, Some(0), "{random:?}");
    assert!(random.stdout.contains("noticed: "), "{random:?}");
}

#[test]
fn regions_are_checked_alone_if_asked_for() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.json(&["verify", "--protocol", "regions", "--states", "500", "--schedules", "3"]);
    assert_eq!((&outcome["protocol"], &outcome["schedules"]), (&"regions".into(), &3.into()), "{outcome}");
    assert!(outcome["states"].as_u64().unwrap() >= 500 && outcome["violation"].is_null(), "{outcome}");
    let ended = sandbox.run(&["verify", "--fault", "late-ignored", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&outcome["protocol"], &outcome["fault_noticed"]), (&"regions".into(), &true.into()));
    assert!(ended.stderr.contains("learns from region"), "{ended:?}");
}

#[test]
fn a_fault_that_is_not_noticed_ends_with_1() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["verify", "--fault", "no-versions", "--states", "1", "--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("the fault was not noticed"), "{ended:?}");
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&outcome["fault_noticed"], &outcome["violation"]), (&false.into(), &Value::Null));
}

#[test]
fn limits_of_work_give_the_same_outcome_on_any_number_of_cores() {
    let sandbox = Sandbox::new();
    let arguments = ["verify", "--states", "20000", "--schedules", "21", "--json", "--quiet"];
    let outcome = |threads: &str| {
        let ended = Running::start(sandbox.command(&arguments).env("RAYON_NUM_THREADS", threads)).wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let mut outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert!(outcome.as_object_mut().unwrap().remove("seconds").is_some());
        outcome
    };
    let one = outcome("1");
    assert_eq!(one, outcome("3"));
    assert!((20_000..40_000).contains(&one["states"].as_u64().unwrap()), "{one}");
    assert_eq!(one["states_stopped_by"], "states");
    assert_eq!((&one["schedules"], &one["schedules_announced"]), (&21.into(), &21.into()));
    assert_eq!(one["schedules_stopped_by"], "schedules");
}

#[test]
fn a_limit_of_one_kind_of_work_leaves_the_other_out() {
    let sandbox = Sandbox::new();
    let states = sandbox.json(&["verify", "--states", "1000"]);
    assert!(states["states"].as_u64().unwrap() >= 1000 && states["schedules"] == 0, "{states}");
    let schedules = sandbox.json(&["verify", "--schedules", "5", "--entities", "3"]);
    assert_eq!((&schedules["states"], &schedules["schedules"]), (&0.into(), &5.into()));
}

#[test]
fn what_was_announced_and_not_reached_is_said() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["verify", "--states", "3000", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    let number = |key: &str| outcome[key].as_u64().unwrap();
    let (announced, finished) = (number("configurations_announced"), number("configurations"));
    assert!(announced > 200 && finished > 0 && finished < announced, "{outcome}");
    let said = format!(
        "{} of {announced} configurations not finished: limit of 3,000 states reached",
        announced - finished
    );
    assert!(ended.stderr.contains(&said), "{said} is missing in {ended:?}");
    // A second is too short for a million schedules.
    let ended = sandbox.run(&["verify", "--random", "3", "--schedules", "1000000", "--seconds", "1"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains(" of 1,000,000 schedules not run: limit of 1 s reached"), "{ended:?}");
}

#[test]
fn the_published_algorithm_ends_with_1() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["verify", "--protocol", "paper", "--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("DEADLOCK in 3 transitions") && ended.stderr.contains("WRONG COMMIT"),
        "{ended:?}"
    );
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(outcome["format"], 2);
    assert_eq!(outcome["violations"].as_array().unwrap().len(), 4);
}

#[test]
fn arguments_that_do_not_go_together_are_named() {
    let sandbox = Sandbox::new();
    for (arguments, named) in [
        (&["verify", "--window", "0"][..], "--window"),
        (&["verify", "--states", "0"], "--states"),
        (&["verify", "--fault", "gremlins"], "no-versions"),
        (&["verify", "--random", "1", "--states", "9"], "--states does not go with --random"),
        (&["verify", "--protocol", "paper", "--window", "2"], "--window does not go with --protocol paper"),
        (&["verify", "--protocol", "paper", "--states", "2"], "--states does not go with --protocol paper"),
        (&["verify", "--protocol", "regions", "--entities", "2"], "--entities describes entities"),
        (&["verify", "--protocol", "regions", "--fault", "no-versions"], "a fault of the other protocol"),
    ] {
        let ended = sandbox.run(arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(named), "{ended:?}");
    }
}
