//! Timings of the protocol: a bucket of the hash table, the protocol without actors, and the whole executor. Kernels
//! are timed in `kernels.rs`, the plain loop in `reference.rs`; `anachron bench` compares whole runs.

// Shared with the instruction counts, which need more of it.
#[path = "instructions/scenes.rs"]
#[allow(dead_code)]
mod scenes;

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Duration;

use anachron::internals::protocol::Entry;
use anachron::scenarios::{Request, build};
use anachron::scene::Scene;
use anachron::{Regions, Simulation, SyncMode, Tuning};
use criterion::{BatchSize, Criterion, Throughput};
use scenes::filled_with;

/// Whole runs: scenario, bodies, ticks.
const RUNS: &[(&str, u32, u32)] =
    &[("gas", 2_000, 120), ("parallel", 2_000, 120), ("bouncing", 200, 120), ("cylinders", 200, 360)];

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    buckets(&mut criterion);
    runs(&mut criterion);
    criterion.final_summary();
}

fn scene(scenario: &str, bodies: u32, ticks: u32) -> Scene {
    let seconds = Some(f64::from(ticks) / 240.0);
    let request = Request { bodies: Some(bodies), seconds, ..Request::default() };
    build(scenario, &request).expect("the scenario exists")
}

/// A bucket that many tracks pass, in one cell: what a write sees and adds.
fn buckets(criterion: &mut Criterion) {
    for count in [4, 32] {
        criterion.bench_function(&format!("bucket/write among {count}"), |bench| {
            bench.iter_batched_ref(
                || filled_with(count),
                |(bucket, span, newcomer)| {
                    let mut seen = 0;
                    bucket.visit(black_box(span), newcomer.version.entity, (0, 60, 0), |_| seen += 1);
                    bucket.add(Entry::new(*span, newcomer.clone()));
                    seen
                },
                BatchSize::SmallInput,
            );
        });
        // What lies below global virtual time is dropped in passing.
        criterion.bench_function(&format!("bucket/delete {count}"), |bench| {
            bench.iter_batched_ref(
                || filled_with(count),
                |(bucket, span, newcomer)| {
                    bucket.visit(black_box(span), newcomer.version.entity, (61, 120, 61), |_| ());
                    bucket.len()
                },
                BatchSize::SmallInput,
            );
        });
    }
}

/// The same runs by the plain loop, by the protocol without actors, and on actors.
fn runs(criterion: &mut Criterion) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for &(scenario, bodies, ticks) in RUNS {
        let mut group = criterion.benchmark_group(format!("{scenario} {bodies}, ticks {ticks}"));
        group.throughput(Throughput::Elements(u64::from(bodies) * u64::from(ticks)));
        let ways = [
            ("plain loop", SyncMode::Sequential, 1),
            ("protocol without actors", SyncMode::Loop, 1),
            ("actors, 1 core", SyncMode::Timewarp, 1),
            ("actors, all cores", SyncMode::Timewarp, cores),
        ];
        for (name, sync, cores) in ways {
            let simulation = Simulation::new(&scene(scenario, bodies, ticks)).expect("the scene is valid");
            let tuning = Tuning { regions: Regions::Bodies, ..Tuning::default() };
            let simulation = simulation.sync(sync).cores(cores).tuning(tuning);
            group.bench_function(name, |bench| {
                bench.iter(|| simulation.run(|_| ControlFlow::Continue(())));
            });
        }
        group.finish();
    }
}
