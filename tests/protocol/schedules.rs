//! Random models of 2 to 64 bodies under random schedules, as a state machine of proptest: stretches of adversarial order,
//! one after another. A failure is shrunk to few bodies and few stretches, kept in
//! `tests/protocol/schedules.regressions`, and tried first from then on.
//!
//! `ANACHRON_CASES=100 cargo test --test protocol schedules` runs a hundred times as many.

use anachron::internals::executor::adversarial_schedule::AdversarialSchedule;
use anachron::internals::verify::choose;
use anachron::verify::{Action, ConfigRequest, ModelConfig, ModelState, any_config, replay};
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use crate::patience::patience;

/// Most actions of one stretch.
const STRETCH_MAX: u32 = 120;
/// Most actions from the last stretch to the end.
const END_MAX: usize = 60_000;

/// A random model.
#[derive(Clone, Debug)]
struct RandomModel {
    seed: u64,
    entities: u32,
    ticks: u64,
    window_ticks: u64,
    buckets: u32,
}

impl RandomModel {
    fn config(&self) -> ModelConfig {
        let request = ConfigRequest {
            entities: Some(self.entities),
            buckets: Some(self.buckets),
            ticks: Some(self.ticks),
            window_ticks: Some(self.window_ticks),
            ..ConfigRequest::default()
        };
        any_config(self.seed, &request)
    }
}

/// A stretch of a schedule.
#[derive(Clone, Debug)]
struct Stretch {
    /// Seed of the adversarial order.
    seed: u64,
    /// Number of actions.
    actions: u32,
}

struct RandomModels;

impl ReferenceStateMachine for RandomModels {
    type State = RandomModel;
    type Transition = Stretch;

    fn init_state() -> BoxedStrategy<RandomModel> {
        let entities = prop_oneof![4 => 2..=4u32, 3 => 5..=12u32, 1 => 13..=64u32];
        (any::<u64>().no_shrink(), entities, 1..=20u64, 1..=12u64, 1..=8u32)
            .prop_map(|(seed, entities, ticks, window_ticks, buckets)| RandomModel {
                seed,
                entities,
                ticks,
                window_ticks,
                buckets,
            })
            .boxed()
    }

    fn transitions(_: &RandomModel) -> BoxedStrategy<Stretch> {
        (any::<u64>().no_shrink(), 1..=STRETCH_MAX)
            .prop_map(|(seed, actions)| Stretch { seed, actions })
            .boxed()
    }

    fn apply(model: RandomModel, _: &Stretch) -> RandomModel {
        model
    }
}

/// A model, its present state, and the schedule that led to it.
struct Progress {
    config: ModelConfig,
    state: ModelState,
    schedule: Vec<Action>,
}

impl Progress {
    /// Performs at most `count` actions. Returns whether a terminal state was reached.
    fn advance(&mut self, scheduler: &mut AdversarialSchedule, count: usize) -> bool {
        let mut actions = Vec::new();
        for _ in 0..count {
            self.state.actions(&self.config, &mut actions);
            let Some(next) = choose(scheduler, &actions) else { return true };
            self.schedule.push(next);
            self.state.apply(&self.config, next);
            self.check();
        }
        false
    }

    fn check(&self) {
        if let Some(violation) = self.state.violation() {
            self.fail(&violation.to_string());
        }
    }

    fn check_end(&self) {
        if !self.state.ended_well(&self.config) {
            self.fail("nothing can happen any more, and the end is wrong");
        }
    }

    fn fail(&self, how: &str) -> ! {
        let lines = replay(&self.config, &self.schedule, true).0;
        let from = lines.len().saturating_sub(80);
        panic!("{how}\n{:?}\n...\n{}", self.config, lines[from..].join("\n"));
    }
}

struct Properties;

impl StateMachineTest for Properties {
    type SystemUnderTest = Progress;
    type Reference = RandomModels;

    fn init_test(model: &RandomModel) -> Progress {
        let config = model.config();
        Progress { state: ModelState::new(&config), config, schedule: Vec::new() }
    }

    fn apply(mut progress: Progress, _: &RandomModel, stretch: Stretch) -> Progress {
        progress.advance(&mut AdversarialSchedule::new(stretch.seed), stretch.actions as usize);
        progress
    }

    fn teardown(mut progress: Progress, model: RandomModel) {
        // Every schedule ends, without a violation; where all entities speculate on everything the end may be too far away.
        if progress.advance(&mut AdversarialSchedule::new(model.seed), END_MAX) {
            progress.check_end();
        }
    }
}

proptest_state_machine::prop_state_machine! {
    #![proptest_config(Config {
        cases: 800 * patience(),
        max_shrink_iters: 2_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/protocol/schedules.regressions"))),
        ..Config::default()
    })]

    #[test]
    fn every_schedule_has_every_property(sequential 1..20 => Properties);
}
