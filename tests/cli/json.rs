//! The keys of all JSON objects that commands print. Within a format keys are added, never renamed or removed.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::program::Sandbox;

/// Every object opens with this.
const FIRST: &str = "{\"format\":2,";

const RUN: &[&str] = &[
    "format",
    "scenario",
    "seed",
    "bodies",
    "seconds",
    "ticks_per_second",
    "ticks",
    "frames",
    "digest",
    "interrupted",
    "sync",
    "cores",
    "wall_s",
    "cpu_s",
    "start_rss_bytes",
    "peak_rss_bytes",
    "rss_bytes_per_body",
    "body_ticks_per_second",
    "contacts",
    "contact_ticks",
    "max_overlap_m",
    "energy_start",
    "energy_end",
    "energy_drift",
    "momentum_drift",
    "momentum_changed_by",
    "speculation",
    "overlap",
    "bridge",
    "processes",
    "version",
];

const PROCESSES: &[&str] = &[
    "regions",
    "one_store",
    "bodies",
    "threads",
    "is_optimistic",
    "epochs",
    "region_ticks",
    "ticks",
    "ticks_undone",
    "rollbacks",
    "messages",
    "antimessages",
    "late_messages",
    "known_messages",
    "amended_messages",
    "exchanges",
    "start_stop_s",
];

const SPECULATION: &[&str] = &[
    "steps",
    "ticks",
    "ticks_undone",
    "rollback_depths",
    "primary_rollbacks",
    "secondary_rollbacks",
    "responses",
    "events",
    "repeated_events",
    "antievents",
    "ghost_updates",
    "ghosts_awaited",
    "inputs",
    "migrations",
    "contact_ticks",
    "contacts",
    "max_overlap_m",
    "efficiency",
    "messages",
    "messages.events",
    "messages.antievents",
    "messages.ghost_updates",
    "messages.migrations",
    "messages.acks",
    "messages.self_steps",
    "messages.wake_ups",
    "messages.table_requests",
    "messages.unlocks",
    "messages.table_replies",
    "gvt",
    "gvt.rounds",
    "gvt.lag_mean_ticks",
    "gvt.lag_max_ticks",
    "window",
    "window.ticks",
    "window.ahead_mean_ticks",
    "window.share",
    "cores",
    "cores.handled",
    "cores.busy_s",
    "cores.busy_share",
    "memory",
    "memory.segments_peak",
    "memory.history_bytes",
    "memory.table_entries_peak",
    "memory.table_bytes",
    "memory.log_entries_peak",
    "memory.log_bytes",
    "start_stop_s",
];

const OVERLAP: &[&str] = &[
    "workers",
    "gamma",
    "shared_mean",
    "copies_mean",
    "bodies_moved",
    "contact_cases",
    "constraints_opened",
    "bytes_sent",
    "bodies_mean",
    "contact_points_mean",
    "worker_cpu_s",
    "slowest_worker_cpu_s",
    "coordinator_cpu_s",
    "residual_mean_mps",
    "joint_gaps",
    "joint_gaps.sum_m",
    "joint_gaps.max_m",
];

const BRIDGE: &[&str] = &[
    "workers",
    "epoch_ticks",
    "islands",
    "islands_max",
    "bodies_joined",
    "bodies_freed",
    "bodies_moved",
    "bodies",
    "bodies_max",
    "body_ticks",
];

const LIST: &[&str] = &[
    "format",
    "scenarios",
    "scenarios.name",
    "scenarios.summary",
    "scenarios.bodies",
    "scenarios.bodies_help",
    "scenarios.seconds",
    "scenarios.parameters",
    "scenarios.parameters.name",
    "scenarios.parameters.default",
    "scenarios.parameters.help",
];

const VERIFY: &[&str] = &[
    "format",
    "protocol",
    "fault",
    "fault_noticed",
    "configurations_announced",
    "configurations",
    "configurations_unfinished",
    "states_stopped_by",
    "states",
    "transitions",
    "depth",
    "terminal_states",
    "schedules_announced",
    "schedules",
    "schedules_stopped_by",
    "schedule_transitions",
    "schedules_given_up",
    "seconds",
    "violation",
    "violation.property",
    "violation.description",
    "violation.configuration",
    "violation.transitions",
    "violation.shortest",
    "violation.trace",
];

/// All keys of an object and of those in it, as paths.
fn keys(value: &Value, prefix: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                keys(value, &path, found);
                found.insert(path);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, prefix, found)),
        _ => {}
    }
}

fn assert_keys(value: &Value, expected: &[&str]) {
    let mut found = BTreeSet::new();
    keys(value, "", &mut found);
    let missing: Vec<_> = expected.iter().filter(|key| !found.contains(**key)).collect();
    assert!(missing.is_empty(), "keys have disappeared: {missing:?}\n{value:#}");
}

/// Keys of the object itself, without those of objects in it.
fn assert_all_are_listed(value: &Value, listed: &[&str]) {
    let unlisted: Vec<_> =
        value.as_object().unwrap().keys().filter(|key| !listed.contains(&key.as_str())).collect();
    assert!(unlisted.is_empty(), "keys that this test does not list: {unlisted:?}");
}

fn object(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let text = sandbox.good(&[arguments, &["--json", "--quiet"]].concat());
    assert!(text.starts_with(FIRST), "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn no_key_of_run_disappears() {
    let sandbox = Sandbox::new();
    let run = object(&sandbox, &["run", "stack", "--seconds", "0.2", "--regions", "bodies"]);
    assert_keys(&run, RUN);
    assert_all_are_listed(&run, RUN);
    assert_keys(&run["speculation"], SPECULATION);
    assert_all_are_listed(&run["speculation"], SPECULATION);
    let run = object(&sandbox, &["run", "stack", "--seconds", "0.1", "--sync", "lockstep"]);
    assert_keys(&run["processes"], PROCESSES);
    assert_all_are_listed(&run["processes"], PROCESSES);
    let run = object(&sandbox, &["run", "stack", "--seconds", "0.1", "--sync", "overlap", "--residual"]);
    assert_keys(&run, RUN);
    assert_keys(&run["overlap"], OVERLAP);
    assert_all_are_listed(&run["overlap"], OVERLAP);
    let run = object(&sandbox, &["run", "stack", "--seconds", "0.5", "--bridge", "auto"]);
    assert_keys(&run, RUN);
    assert_keys(&run["bridge"], BRIDGE);
    assert_all_are_listed(&run["bridge"], BRIDGE);
}

#[test]
fn no_key_of_verify_disappears() {
    let sandbox = Sandbox::new();
    let outcome = object(&sandbox, &["verify", "--fault", "detector-does-not-apply"]);
    assert_keys(&outcome, VERIFY);
    assert_all_are_listed(&outcome, VERIFY);
}

#[test]
fn no_key_of_list_disappears() {
    let text = Sandbox::new().good(&["list", "--json"]);
    assert!(text.starts_with("{\n  \"format\": 2,\n"), "{text}");
    let list: Value = serde_json::from_str(&text).unwrap();
    assert_keys(&list, LIST);
    assert_all_are_listed(&list, LIST);
}
