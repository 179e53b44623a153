//! Property-tests the Time Warp protocol with proptest: no model deadlocks, and none commits a wrong state.
//!
//! ```sh
//! cargo run --release --example deadlock_freedom                    # seed 1
//! cargo run --release --example deadlock_freedom -- 7               # another seed
//! cargo run --release --example deadlock_freedom -- 7 no-versions   # with a deliberate fault: what a failure looks like
//! ```
//!
//! Small models are explored in full: every order of events. Larger ones follow one random schedule each. A failure is
//! shrunk to few bodies, ticks and inputs, and printed message by message.

use std::cell::RefCell;
use std::process::ExitCode;

use anachron::Lane;
use anachron::verify::toy_model::{ToyInput, ToyInputKind, ToyModel};
use anachron::verify::{Atomicity, Fault, ModelConfig, Property, ScriptedInput, explore, replay, walk};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// Models that are explored in full.
const SMALL_CASES: u32 = 60;
/// Models of which one schedule is followed.
const LARGE_CASES: u32 = 120;
/// At most this many states of one model are explored: about 15 MB.
const STATES_MAX: u64 = 20_000;

/// A model, as proptest draws and shrinks it.
#[derive(Clone, Debug)]
struct Case {
    bodies: u32,
    ticks: u64,
    /// How far an entity may run ahead of the lowest LVT, ticks.
    window_ticks: u64,
    buckets: u32,
    /// Seed of positions, sizes and contacts, and of the schedule.
    seed: u64,
    /// Buckets are actors, instead of a table in shared memory.
    bucket_actors: bool,
    /// Effects of a handler interleave with other entities, as on many cores.
    many_cores: bool,
    inputs: Vec<InputCase>,
}

/// An input. Ticks and bodies are taken modulo those of the model.
#[derive(Clone, Debug)]
enum InputCase {
    Push { tick: u64, body: u32 },
    Spawn { tick: u64 },
    Despawn { tick: u64, body: u32 },
}

fn any_input() -> impl Strategy<Value = InputCase> {
    let (tick, body) = (|| 0..8u64, || 0..8u32);
    prop_oneof![
        (tick(), body()).prop_map(|(tick, body)| InputCase::Push { tick, body }),
        tick().prop_map(|tick| InputCase::Spawn { tick }),
        (tick(), body()).prop_map(|(tick, body)| InputCase::Despawn { tick, body }),
    ]
}

fn any_case(
    bodies: impl Strategy<Value = u32>,
    ticks_max: u64,
    inputs_max: usize,
) -> impl Strategy<Value = Case> {
    let numbers = (bodies, 1..=ticks_max, 1..=6u64, 1..=8u32, any::<u64>().no_shrink());
    let inputs = prop::collection::vec(any_input(), 0..=inputs_max);
    (numbers, any::<bool>(), any::<bool>(), inputs).prop_map(
        |(numbers, bucket_actors, many_cores, inputs)| {
            let (bodies, ticks, window_ticks, buckets, seed) = numbers;
            Case { bodies, ticks, window_ticks, buckets, seed, bucket_actors, many_cores, inputs }
        },
    )
}

impl Case {
    fn config(&self, fault: Fault) -> ModelConfig {
        let toy = ToyModel {
            bodies: self.bodies,
            seed: self.seed,
            // Near enough for contacts, not so near that all bodies touch at every tick.
            extent: 4 * i64::from(self.bodies),
            contact_odds: 2,
            last_tick: self.ticks,
            ..ToyModel::default()
        };
        let mut config = ModelConfig::new(toy, self.window_ticks, self.buckets);
        config.lane = if self.bucket_actors { Lane::Actors } else { Lane::Shared };
        config.atomicity = if self.many_cores { Atomicity::Effects } else { Atomicity::Handlers };
        let mut spawned = 0;
        for input in &self.inputs {
            let script = match *input {
                InputCase::Push { tick, body } => self.input(tick, body, ToyInputKind::Mix(7)),
                InputCase::Despawn { tick, body } => self.input(tick, body, ToyInputKind::Despawn),
                InputCase::Spawn { tick } => {
                    spawned += 1;
                    config.spawn(tick % self.ticks, spawned - 1)
                }
            };
            config.script.push(script);
        }
        config.with_fault(fault)
    }

    fn input(&self, tick: u64, body: u32, kind: ToyInputKind) -> ScriptedInput {
        let input = ToyInput { body: body % self.bodies, kind };
        ScriptedInput { tick: tick % self.ticks, input }
    }
}

/// What was checked.
#[derive(Default)]
struct Checked {
    complete: u64,
    states: u64,
    transitions: u64,
    schedules: u64,
    given_up: u64,
    actions: u64,
    contacts: u64,
    rollbacks: u64,
}

/// Every order of events. Fails with the shortest schedule that violates a property.
fn explore_case(case: &Case, fault: Fault, checked: &mut Checked) -> Result<(), TestCaseError> {
    let config = case.config(fault);
    let explored = explore(&config, STATES_MAX, &mut |_| true);
    checked.complete += u64::from(explored.complete);
    checked.states += explored.states;
    checked.transitions += explored.transitions;
    match explored.violation {
        None => Ok(()),
        Some((violation, schedule)) => {
            let lines = replay(&config, &schedule, false).0;
            Err(TestCaseError::fail(format!("{}\n  => {violation}", lines.join("\n"))))
        }
    }
}

/// One random schedule. Fails with that schedule.
fn walk_case(case: &Case, fault: Fault, checked: &mut Checked) -> Result<(), TestCaseError> {
    let config = case.config(fault);
    let walked = walk(&config, case.seed);
    checked.schedules += 1;
    checked.given_up += u64::from(!walked.complete && walked.violation.is_none());
    checked.actions += walked.actions;
    checked.contacts += walked.stats.contacts;
    checked.rollbacks += walked.stats.primary_rollbacks + walked.stats.secondary_rollbacks;
    match walked.violation {
        None => Ok(()),
        Some((violation, schedule)) => {
            let lines = replay(&config, &schedule, true).0;
            Err(TestCaseError::fail(format!("{}\n  => {violation}", lines.join("\n"))))
        }
    }
}

/// Draws cases until one fails, and shrinks that one.
fn check(
    seed: u64,
    cases: u32,
    strategy: impl Strategy<Value = Case>,
    check_case: impl Fn(&Case) -> Result<(), TestCaseError>,
) -> Result<(), String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    runner.run(&strategy, |case| check_case(&case)).map_err(|error| match error {
        TestError::Fail(schedule, case) => format!("{schedule}\n\n{case:#?}"),
        TestError::Abort(reason) => reason.to_string(),
    })
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let seed = arguments.next().map_or(1, |text| text.parse().expect("the seed is a whole number"));
    let fault = arguments.next().map_or(Fault::None, |name| {
        let found = Fault::ALL.iter().find(|fault| fault.name() == name);
        *found.unwrap_or_else(|| panic!("no such fault: {name}"))
    });
    let checked = RefCell::new(Checked::default());
    let outcome = check(seed, SMALL_CASES, any_case(2..=3u32, 2, 2), |case| {
        explore_case(case, fault, &mut checked.borrow_mut())
    })
    .and_then(|()| {
        check(seed, LARGE_CASES, any_case(4..=24u32, 20, 6), |case| {
            walk_case(case, fault, &mut checked.borrow_mut())
        })
    });
    let Checked { complete, states, transitions, schedules, given_up, actions, contacts, rollbacks } =
        checked.into_inner();
    println!("every order: {complete} models in full, {states} states, {transitions} transitions");
    println!("random orders: {schedules} schedules, {actions} actions, {given_up} given up as too long");
    println!("    {contacts} contacts, {rollbacks} rollbacks");
    match outcome {
        Ok(()) => {
            println!(
                "no violation of: {}; {}",
                Property::NoDeadlock.name(),
                Property::CommittedIsReference.name()
            );
            println!("nor of any other property of anachron::verify");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("\n{failure}\n\nrepeat it with seed {seed}");
            ExitCode::FAILURE
        }
    }
}
