//! `--bridge auto`: one digest for every executor, the summary of islands, and arguments that are rejected.

use crate::program::Sandbox;

const PYRAMID: [&str; 8] = ["run", "pyramid", "--bodies", "30", "--seconds", "1", "--bridge", "auto"];

#[test]
fn digests_depend_on_workers_not_on_the_executor() {
    let sandbox = Sandbox::new();
    let digest = |more: &[&str]| sandbox.digest(&[&PYRAMID, more].concat());
    let one = digest(&["--sync", "sequential"]);
    assert_eq!(digest(&["--sync", "timewarp", "--cores", "2"]), one);
    assert_eq!(digest(&["--sync", "loop", "--workers", "1"]), one);
    let two = digest(&["--sync", "sequential", "--workers", "2"]);
    assert_eq!(digest(&["--cores", "2", "--tvht", "actors", "--workers", "2"]), two);
    assert_ne!(one, two);
    let off = sandbox.digest(&["run", "pyramid", "--bodies", "30", "--seconds", "1", "--bridge", "off"]);
    assert_eq!(sandbox.digest(&["run", "pyramid", "--bodies", "30", "--seconds", "1"]), off);
    assert_ne!(one, off);
}

#[test]
fn the_summary_counts_islands() {
    let sandbox = Sandbox::new();
    let told = sandbox.json(&PYRAMID);
    let bridge = &told["bridge"];
    assert_eq!((&bridge["islands"], &bridge["workers"]), (&1.into(), &1.into()), "{bridge}");
    assert_eq!((&bridge["bodies_joined"], &bridge["bodies_freed"]), (&told["bodies"], &0.into()), "{bridge}");
    assert!(bridge["body_ticks"].as_u64().unwrap() > 1000, "{bridge}");
    assert!(sandbox.json(&["run", "stack", "--seconds", "0.1"])["bridge"].is_null());
    let ended = sandbox.run(&PYRAMID);
    for part in ["1 island of 28 bodies", "28 bodies joined, 0 left"] {
        assert!(ended.stdout.contains(part), "{part} is missing in {ended:?}");
    }
}

#[test]
fn arguments_that_do_not_go_with_a_bridge_are_named() {
    let sandbox = Sandbox::new();
    let table: &[(&str, &[&str])] = &[
        ("run pyramid --bridge on", &["--bridge", "auto", "off"]),
        ("run pyramid --bridge auto --sync overlap", &["`--sync overlap`", "leave `--bridge` out"]),
        ("run pyramid --bridge auto --sync lockstep", &["forms no islands", "use `--sync timewarp`"]),
        ("run bridge --bridge auto", &["joints", "without `--bridge`"]),
        ("run pyramid --bridge auto --history 5", &["`--history`", "leave `--history` or `--bridge` out"]),
        ("run pyramid --bridge auto --engine group", &["--engine", "leave --engine out"]),
        ("run pyramid --bridge auto --partition list", &["--partition", "leave --partition out"]),
        ("run pyramid --bridge auto --residual", &["--residual", "leave --residual out"]),
        ("run pyramid --bridge auto --workers 0", &["workers", "0 workers", "use 1 to"]),
        ("run pyramid --bridge off --workers 2", &["--workers", "`--bridge auto`"]),
    ];
    for (arguments, parts) in table {
        let ended = sandbox.run(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(ended.code, Some(2), "{arguments}: {ended:?}");
        for part in *parts {
            assert!(ended.stderr.contains(part), "{part} is missing in {ended:?}");
        }
    }
}
