//! Virtual time against sums that can be known, and results against the plain loop.

use std::ops::ControlFlow;

use super::{Costs, Machine, Prices, SharedMachine, lead};
use crate::base::parallel;
use crate::executor::{Regions, Simulation, SyncMode, Tuning};
use crate::scenarios::{Request, build};

const FREE: Prices = Prices { message: 0, wake: 0, dispatch: 0, loops: 0 };

/// The executors that know virtual cores: a name, the executor, the number of bodies, regions.
const DRIVERS: [(&str, SyncMode, &str, u32, Regions); 5] = [
    ("regions, conservative", SyncMode::Lockstep, "gas", 600, Regions::Count(16)),
    ("regions, optimistic", SyncMode::Timewarp, "gas", 600, Regions::Count(16)),
    ("team", SyncMode::Lockstep, "cylinders", 700, Regions::Auto),
    ("bodies", SyncMode::Timewarp, "gas", 60, Regions::Bodies),
    ("bodies that touch", SyncMode::Timewarp, "cylinders", 40, Regions::Bodies),
];

fn simulation(sync: SyncMode, scenario: &str, bodies: u32, regions: Regions) -> Simulation {
    let seconds = Some(if bodies > 100 { 0.1 } else { 0.9 });
    let request = Request { bodies: Some(bodies), seconds, ..Request::default() };
    let scene = build(scenario, &request).expect("the scene is valid");
    let tuning = Tuning { regions, ..Tuning::default() };
    Simulation::new(&scene).expect("the scene is valid").sync(sync).tuning(tuning)
}

/// The machine after a run, and its digest.
fn ran(simulation: &Simulation, cores: usize, prices: Prices, costs: Costs) -> (SharedMachine, String) {
    let machine = Machine::new(cores, prices, costs);
    let report = simulation.run_virtually(&machine, |_| ControlFlow::Continue(()));
    (machine, report.expect("the run ends").digest.to_string())
}

#[test]
fn the_result_is_that_of_the_plain_loop_on_any_number_of_cores() {
    for (name, sync, scenario, bodies, regions) in DRIVERS {
        let simulation = simulation(sync, scenario, bodies, regions);
        let plain = simulation.clone().sync(SyncMode::Sequential).tuning(Tuning::default());
        let plain = plain.run(|_| ControlFlow::Continue(())).expect("the run ends").digest.to_string();
        for cores in [1, 2, 5, 16] {
            for message in [0, 20_000, 3_000_000] {
                let prices = Prices { message, ..Prices::default() };
                let (_, digest) = ran(&simulation, cores, prices, Costs::Fixed(1_000));
                assert_eq!(digest, plain, "{name}, {cores} cores, messages of {message} ns");
            }
            let (_, digest) = ran(&simulation, cores, Prices::default(), Costs::Measured);
            assert_eq!(digest, plain, "{name}, {cores} cores, measured costs");
        }
    }
}

/// One core does one thing after another: nothing is free, and nothing counts twice. Frames have a thread of their own.
#[test]
fn one_core_takes_as_long_as_all_that_it_does() {
    for (name, sync, scenario, bodies, regions) in DRIVERS {
        let simulation = simulation(sync, scenario, bodies, regions);
        let (machine, _) = ran(&simulation, 1, FREE, Costs::Fixed(1_000));
        let machine = machine.borrow();
        assert_eq!(machine.clock.sum_nanos, machine.busy + machine.frames, "{name}");
        // Its last frames may come after its last handler.
        let late = machine.now - machine.busy.min(machine.now);
        assert!(machine.now >= machine.busy && late <= machine.frames, "{name}: {machine:?}");
    }
}

#[test]
fn equal_costs_give_equal_schedules() {
    for (name, sync, scenario, bodies, regions) in DRIVERS {
        let simulation = simulation(sync, scenario, bodies, regions);
        let times = |costs| {
            let (machine, _) = ran(&simulation, 4, Prices::default(), costs);
            let machine = machine.borrow();
            (machine.now, machine.busy, machine.frames, machine.clock.laps.clone())
        };
        assert_eq!(times(Costs::Fixed(700)), times(Costs::Fixed(700)), "{name}");
        // Costs that differ from handler to handler, as a measured run would record them.
        let count = times(Costs::Fixed(700)).3.len() as u32;
        let recorded: Vec<u32> =
            (0..8 * count).map(|at| 300 + at.wrapping_mul(2_654_435_761) % 5_000).collect();
        let (first, again) = (times(Costs::Replayed(recorded.clone())), times(Costs::Replayed(recorded)));
        assert!(first == again, "{name}: {} and {} ns", first.0, again.0);
    }
}

#[test]
fn more_cores_help_where_there_is_something_to_share_and_dear_messages_hurt() {
    for (name, sync, scenario, bodies, regions) in DRIVERS.into_iter().filter(|driver| driver.2 == "gas") {
        let simulation = simulation(sync, scenario, bodies, regions);
        let seconds = |cores, message| {
            let prices = Prices { message, ..FREE };
            ran(&simulation, cores, prices, Costs::Fixed(10_000)).0.borrow().seconds()
        };
        let (alone, four, far) = (seconds(1, 0), seconds(4, 0), seconds(4, 5_000_000));
        assert!(four < 0.75 * alone, "{name}: {alone} s on one core, {four} s on four");
        assert!(far > four, "{name}: {four} s, and {far} s with dear messages");
    }
}

/// Sixteen parts of a loop on four cores are four rounds, between what comes before and what comes after.
#[test]
fn a_loop_of_a_team_takes_as_long_as_its_rounds() {
    let machine = Machine::new(4, FREE, Costs::Fixed(1_000));
    let mut items = vec![0; 6_400];
    lead(&machine, || parallel::par_for(&mut items, |at, item| *item = at));
    assert!(items.iter().enumerate().all(|(at, item)| at == *item));
    assert_eq!((machine.borrow().now, machine.borrow().busy), (2_000 + 4 * 1_000, 2_000 + 16 * 1_000));
    let machine = Machine::new(4, Prices { loops: 300, ..FREE }, Costs::Fixed(1_000));
    lead(&machine, || parallel::par_for(&mut items, |at, item| *item = at));
    assert_eq!(machine.borrow().now, 2_000 + 4 * 1_000 + 2 * 300);
}
