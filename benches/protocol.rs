//! Timings of the protocol: a bucket of the hash table, the protocol without actors, and the whole executor. Kernels
//! are timed in `kernels.rs`, the plain loop in `reference.rs`; `anachron bench` compares whole runs.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use anachron::math::Vec3;
use anachron::physics::{Aabb, Flight, World};
use anachron::protocol::{
    Bucket, Cell, Dynamics, EntityId, Entry, Grid, Layout, Passage, Place, RoughBounds, Track,
};
use anachron::scenarios::{Request, build};
use anachron::scene::Scene;
use anachron::{Simulation, Sync};
use criterion::{BatchSize, Criterion, Throughput};
use smallvec::smallvec;
use thin_vec::ThinVec;

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

/// The flight of a body of the scene, as a track with its cells.
fn track(world: &World, grid: &Grid, body: Place) -> (Arc<Track<World>>, Vec<Cell>) {
    let flight = Flight { since: 0, origin: world.bodies[body as usize].start };
    let bounds: Aabb = world.bounds(body, &flight, 0, 60);
    let mut cells = Vec::new();
    grid.cells(&bounds, 0, |cell| cells.push(cell));
    let layout = Layout::new(grid, world, &[(body, flight)], &[bounds], false);
    let flights = (smallvec![(body, flight)], ThinVec::new());
    let track = Track::new((EntityId(body), 0), (0, 60), flights, Arc::new(layout));
    (Arc::new(track), cells)
}

/// A bucket that many tracks pass, in one cell: what a write sees, adds, and what a rollback leaves behind.
fn buckets(criterion: &mut Criterion) {
    let world = World::new(&scene("gas", 64, 1)).expect("the scene is valid");
    let radii: Vec<f64> = (0..64).map(|body| world.radius(body)).collect();
    let grid = Grid::new(&radii, 2.0, 1);
    let (_, cells) = track(&world, &grid, 0);
    let everywhere = Aabb { min: Vec3::repeat(-1e3), max: Vec3::repeat(1e3) };
    let passage = Passage { cell: cells[0], passers: (0, 1), bounds: RoughBounds::of(&everywhere) };
    for count in [4, 32] {
        let filled = || {
            let mut bucket: Bucket<World> = Bucket::default();
            let tracks: Vec<_> = (0..count).map(|body| track(&world, &grid, body).0).collect();
            for track in &tracks {
                bucket.add(Entry::new(passage, track.clone()));
            }
            (bucket, tracks)
        };
        let (newcomer, _) = track(&world, &grid, count);
        criterion.bench_function(&format!("bucket/write among {count}"), |bench| {
            bench.iter_batched_ref(
                filled,
                |(bucket, _)| {
                    let mut seen = 0;
                    bucket.visit(black_box(&passage), EntityId(count), (0, 60, 0), |_| seen += 1);
                    bucket.add(Entry::new(passage, newcomer.clone()));
                    seen
                },
                BatchSize::SmallInput,
            );
        });
        criterion.bench_function(&format!("bucket/delete {count}"), |bench| {
            bench.iter_batched_ref(
                filled,
                |(bucket, tracks)| {
                    for track in tracks.iter() {
                        track.cut(track.first);
                    }
                    bucket.visit(black_box(&passage), EntityId(count), (0, 60, 0), |_| ());
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
            ("plain loop", Sync::Sequential, 1),
            ("protocol without actors", Sync::Loop, 1),
            ("actors, 1 core", Sync::Timewarp, 1),
            ("actors, all cores", Sync::Timewarp, cores),
        ];
        for (name, sync, cores) in ways {
            let simulation = Simulation::new(&scene(scenario, bodies, ticks)).expect("the scene is valid");
            let simulation = simulation.sync(sync).cores(cores);
            group.bench_function(name, |bench| {
                bench.iter(|| simulation.run(|_| ControlFlow::Continue(())));
            });
        }
        group.finish();
    }
}
