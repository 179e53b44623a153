//! Statistics of a speculative run: counts agree with each other, and its trace can be read.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use anachron::internals::executor::{Regions, RunStats, Tracer, Tuning};
use anachron::internals::protocol::Stats;
use anachron::internals::tvht::Lane;
use anachron::scenarios::{Request, build};
use anachron::scene::Scene;
use anachron::{Report, Simulation, SyncMode};
use serde_json::Value;

fn scene(name: &str, bodies: u32, seconds: f64) -> Scene {
    let request = Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() };
    build(name, &request).expect("the scenario is valid")
}

fn simulation(scene: &Scene, sync: SyncMode, tuning: Tuning) -> Simulation {
    Simulation::new(scene).expect("the scene is valid").sync(sync).cores(2).tuning(tuning)
}

fn run(simulation: &Simulation) -> Report {
    simulation.run(|_| ControlFlow::Continue(())).expect("the run finishes")
}

fn counts(report: &Report) -> (Stats, RunStats) {
    (report.speculation.expect("it speculates"), report.run_stats.clone().expect("it counts"))
}

/// Every message that was sent was handled, and all were acknowledged but ghost states that were awaited.
fn assert_consistent(case: &str, report: &Report, tuning: &Tuning) {
    let (stats, run_stats) = counts(report);
    let messages = run_stats.messages;
    let sent = [stats.events, stats.antievents, stats.ghost_updates];
    assert_eq!([messages.events, messages.antievents, messages.ghost_updates], sent, "{case}");
    assert_eq!(messages.acks + stats.ghosts_awaited, sent.iter().sum::<u64>(), "{case}");
    assert!(messages.events > 0 && stats.steps > 0, "{case}: there are no events");
    assert_eq!(run_stats.window.ticks, tuning.window_of_bodies(), "{case}");
    assert!(run_stats.window.share > 0.0 && run_stats.window.share <= 1.0, "{case}: {:?}", run_stats.window);
    assert!(run_stats.gvt.rounds > 0, "{case}");
    let gvt = run_stats.gvt;
    assert!(
        gvt.lag_mean_ticks <= gvt.lag_max_ticks as f64 && gvt.lag_max_ticks <= tuning.window_of_bodies(),
        "{case}: {gvt:?}"
    );
    let memory = run_stats.memory;
    assert!(memory.segments_peak >= report.bodies as u64 / 2, "{case}: {memory:?}");
    let per_segment = memory.history_bytes / memory.segments_peak;
    assert!((100..100_000).contains(&per_segment), "{case}: {per_segment} bytes per segment");
    assert!(memory.table_entries_peak >= report.bodies as u64, "{case}: {memory:?}");
    assert!(memory.log_entries_peak >= report.bodies as u64, "{case}: {memory:?}");
}

#[test]
fn counts_agree_on_actors() {
    for lane in [Lane::Shared, Lane::Actors] {
        let tuning = Tuning { lane, regions: Regions::Bodies, ..Tuning::default() };
        let report = run(&simulation(&scene("bouncing", 60, 1.0), SyncMode::Timewarp, tuning));
        assert_consistent(&format!("{lane:?}"), &report, &tuning);
        let (stats, run_stats) = counts(&report);
        let messages = run_stats.messages;
        match lane {
            Lane::Shared => assert_eq!(messages.of_table(), 0),
            Lane::Actors => {
                // The last may still be on their way when all entities are done.
                assert!(messages.unlocks > 0 && messages.unlocks <= messages.table_requests, "{messages:?}");
                assert!(messages.table_replies >= stats.steps, "void plans get replies too");
                assert!(messages.table_requests >= messages.table_replies);
            }
        }
        assert!(messages.self_steps > 0 && messages.wake_ups > 0, "{messages:?}");
        assert_eq!(run_stats.cores.len(), 2);
        let handled: u64 = run_stats.cores.iter().map(|core| core.handled).sum();
        assert!(handled >= messages.between_entities() + messages.of_table() + messages.self_steps);
        for core in &run_stats.cores {
            assert!(core.busy_share.is_none_or(|share| share > 0.0 && share <= 1.0), "{core:?}");
            assert!(core.busy_share.is_some() || !cfg!(unix));
        }
    }
}

#[test]
fn counts_agree_without_actors() {
    let tuning = Tuning { window_ticks: 17, ..Tuning::default() };
    for sync in [SyncMode::Loop, SyncMode::Chaos, SyncMode::RollbackCheck] {
        let report = run(&simulation(&scene("bouncing", 27, 0.5), sync, tuning));
        assert_consistent(sync.name(), &report, &tuning);
        assert!(report.run_stats.expect("it counts").cores.is_empty());
    }
    let plain = run(&simulation(&scene("bouncing", 27, 0.5), SyncMode::Sequential, tuning));
    assert_eq!((plain.speculation, plain.run_stats), (None, None));
}

fn traced(slices_max: usize, lane: Lane) -> (Report, Arc<Tracer>, Value) {
    let tracer = Arc::new(Tracer::new(slices_max));
    let tuning = Tuning { lane, regions: Regions::Bodies, ..Tuning::default() };
    let simulation = simulation(&scene("bouncing", 60, 0.5), SyncMode::Timewarp, tuning);
    let report = run(&simulation.traced(tracer.clone()));
    let mut text = Vec::new();
    tracer.write(&mut text).expect("writing to memory does not fail");
    let trace = serde_json::from_slice(&text).expect("the trace is JSON");
    (report, tracer, trace)
}

/// Begin and end in nanoseconds, and the name, of every slice of each row. Checks that bodies are named.
fn rows(trace: &Value) -> BTreeMap<u64, Vec<(i64, i64, String)>> {
    let mut rows: BTreeMap<u64, Vec<(i64, i64, String)>> = BTreeMap::new();
    for event in trace["traceEvents"].as_array().expect("a list of events") {
        if event["ph"] == "X" {
            let nanos = |key: &str| (event[key].as_f64().expect("a number") * 1e3).round() as i64;
            let name = event["name"].as_str().expect("a name").to_owned();
            if let Some(entity) = event["args"]["entity"].as_u64() {
                assert_eq!(
                    event["args"]["body"].as_u64(),
                    Some(entity),
                    "entities have one body each, in order: {event}"
                );
            }
            let slice = (nanos("ts"), nanos("ts") + nanos("dur"), name);
            rows.entry(event["tid"].as_u64().expect("a row")).or_default().push(slice);
        }
    }
    rows
}

#[test]
fn a_trace_can_be_read_and_changes_nothing() {
    let plain = run(&simulation(&scene("bouncing", 60, 0.5), SyncMode::Sequential, Tuning::default()));
    for (lane, expected) in [
        (Lane::Shared, ["step", "respond", "write", "handle event", "handle ack", "GVT round"]),
        (Lane::Actors, ["step", "respond", "bucket", "table reply", "handle ack", "GVT round"]),
    ] {
        let (report, tracer, trace) = traced(1 << 20, lane);
        assert_eq!((report.digest, report.tally), (plain.digest, plain.tally));
        assert_eq!((tracer.dropped(), trace["otherData"]["slices_dropped"].as_u64()), (0, Some(0)));
        let rows = rows(&trace);
        assert!(rows.contains_key(&2), "the frames have a row of their own");
        for (row, slices) in &rows {
            for pair in slices.windows(2) {
                assert!(pair[0].0 <= pair[0].1 && pair[0].1 <= pair[1].0, "row {row}: {pair:?} overlap");
            }
        }
        for name in expected {
            assert!(rows.values().flatten().any(|(_, _, known)| known == name), "{lane:?}: no {name}");
        }
    }
}

#[test]
fn a_trace_keeps_at_most_its_number_of_slices() {
    let (_, tracer, trace) = traced(90, Lane::Shared);
    assert!(tracer.dropped() > 1000);
    assert_eq!(trace["otherData"]["slices_dropped"].as_u64(), Some(tracer.dropped()));
    let kept: usize = tracer.slices().iter().map(Vec::len).sum();
    assert!(kept > 0 && kept <= 90, "{kept} slices");
}
