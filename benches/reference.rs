//! Timings of whole runs by the sequential reference, in body-ticks per second. Kernels are timed in `kernels.rs`.

use std::ops::ControlFlow;
use std::time::Duration;

use anachron::scenarios::{Request, build};
use anachron::{Simulation, SyncMode};
use criterion::{Criterion, Throughput};

/// What is run: scenario, bodies, ticks.
const RUNS: &[(&str, u32, u32)] = &[
    // A single tick shows what starting costs; a tenth of a second, what evaluating flights and looking for
    // neighbours costs where little meets.
    ("gas", 10_000, 1),
    ("gas", 10_000, 24),
    // The fall, and the pile.
    ("cylinders", 500, 120),
    ("cylinders", 500, 480),
    ("pyramid", 210, 24),
];

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(5))
        .configure_from_args();
    let mut group = criterion.benchmark_group("reference");
    for &(scenario, bodies, ticks) in RUNS {
        let request =
            Request { bodies: Some(bodies), seconds: Some(f64::from(ticks) / 240.0), ..Request::default() };
        let scene = build(scenario, &request).expect("the scenario exists");
        let simulation = Simulation::new(&scene).expect("the scenario is valid").sync(SyncMode::Sequential);
        group.throughput(Throughput::Elements(u64::from(bodies) * u64::from(ticks)));
        group.bench_function(format!("{scenario} {bodies}, ticks {ticks}"), |bench| {
            bench.iter(|| simulation.run(|_| ControlFlow::Continue(())));
        });
    }
    group.finish();
    criterion.final_summary();
}
