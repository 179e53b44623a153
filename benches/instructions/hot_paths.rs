//! Instructions of the hot paths, counted under valgrind: a regression shows on a noisy machine too.

// The macros of gungraun write public items.
#![allow(missing_docs)]

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;

use anachron::internals::physics::{Flight, World, first_static_touch, first_touch};
use anachron::internals::protocol::{Bucket, Entry};
use anachron::internals::base::state::BodyState;
use anachron::internals::base::time::Tick;
use anachron::internals::rigid::RigidModel;
use anachron::{Report, Simulation, SyncMode};
use gungraun::{library_benchmark, library_benchmark_group, main};
use instructions::{Filled, filled, flying, gas, piled, two_flying};

#[library_benchmark(setup = flying)]
#[bench::a_quarter_of_a_second()]
fn flight_evaluation((world, flight): (Arc<World>, Flight)) -> BodyState {
    black_box(&flight).state_at(&world, &world.bodies[0], black_box(61))
}

#[library_benchmark(setup = two_flying)]
#[bench::of_two_balls()]
fn touch_of_balls((world, flights): (Arc<World>, [Flight; 2])) -> Option<Tick> {
    first_touch(&world, (&world.bodies[0], &flights[0]), (&world.bodies[1], &flights[1]), black_box(0), 61)
}

#[library_benchmark(setup = flying)]
#[bench::of_a_ball_and_walls()]
fn touch_of_walls((world, flight): (Arc<World>, Flight)) -> Option<Tick> {
    first_static_touch(&world, (&world.bodies[0], &flight), black_box(0), 61)
}

#[library_benchmark(setup = filled)]
#[bench::among_sixteen()]
fn bucket_write((mut bucket, span, track): Filled) -> (usize, Bucket<RigidModel>) {
    let mut seen = 0;
    bucket.visit(black_box(&span), track.version.entity, (0, 60, 0), |_| seen += 1);
    bucket.add(Entry::new(span, track));
    (seen, bucket)
}

#[library_benchmark]
#[bench::gas_by_the_plain_loop(gas(SyncMode::Sequential))]
#[bench::gas_by_the_protocol(gas(SyncMode::Loop))]
#[bench::bouncing_by_the_plain_loop(piled(SyncMode::Sequential))]
#[bench::bouncing_by_the_protocol(piled(SyncMode::Loop))]
fn whole_run(simulation: Simulation) -> Report {
    simulation.run(|_| ControlFlow::Continue(())).expect("the run finishes")
}

library_benchmark_group!(
    name = hot_paths,
    benchmarks = [flight_evaluation, touch_of_balls, touch_of_walls, bucket_write, whole_run]
);

main!(library_benchmark_groups = hot_paths);
