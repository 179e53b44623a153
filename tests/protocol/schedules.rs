//! Random worlds of 2 to 64 bodies under random schedules, as a state machine: stretches of adversarial order, one
//! after another. A failure is shrunk to few bodies and few stretches, kept in `tests/protocol/schedules.regressions`,
//! and tried first from then on.
//!
//! `ANACHRON_CASES=100 cargo test --test protocol schedules` looks a hundred times as long as usual.

use anachron::internals::executor::adversarial_schedule::AdversarialSchedule;
use anachron::verify::random_walk::{ConfigRequest, any_config, choose};
use anachron::verify::{Action, ModelConfig, ModelState, replay};
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use crate::patience::patience;

/// No stretch of the way is longer, and no run to the end.
const STRETCH_MAX: u32 = 120;
const END_MAX: usize = 60_000;

/// Which world, and how much of it has been played.
#[derive(Clone, Debug)]
struct World {
    seed: u64,
    entities: u32,
    ticks: u64,
    window: u64,
    buckets: u32,
}

impl World {
    fn config(&self) -> ModelConfig {
        let request = ConfigRequest {
            entities: Some(self.entities),
            buckets: Some(self.buckets),
            ticks: Some(self.ticks),
            window: Some(self.window),
            ..ConfigRequest::default()
        };
        any_config(self.seed, &request)
    }
}

/// A stretch of the way: so many moves, in an order of this kind.
#[derive(Clone, Debug)]
struct Stretch {
    order: u64,
    moves: u32,
}

struct Worlds;

impl ReferenceStateMachine for Worlds {
    type State = World;
    type Transition = Stretch;

    fn init_state() -> BoxedStrategy<World> {
        let entities = prop_oneof![4 => 2..=4u32, 3 => 5..=12u32, 1 => 13..=64u32];
        (any::<u64>().no_shrink(), entities, 1..=20u64, 1..=12u64, 1..=8u32)
            .prop_map(|(seed, entities, ticks, window, buckets)| World {
                seed,
                entities,
                ticks,
                window,
                buckets,
            })
            .boxed()
    }

    fn transitions(_: &World) -> BoxedStrategy<Stretch> {
        (any::<u64>().no_shrink(), 1..=STRETCH_MAX)
            .prop_map(|(order, moves)| Stretch { order, moves })
            .boxed()
    }

    fn apply(world: World, _: &Stretch) -> World {
        world
    }
}

/// A world that is being played, and the way so far.
struct Playing {
    config: ModelConfig,
    state: ModelState,
    way: Vec<Action>,
}

impl Playing {
    /// Goes on for so many moves; says whether that was the end.
    fn go_on(&mut self, schedule: &mut AdversarialSchedule, count: usize) -> bool {
        let mut moves = Vec::new();
        for _ in 0..count {
            self.state.moves(&self.config, &mut moves);
            let Some(next) = choose(schedule, &moves) else { return true };
            self.way.push(next);
            self.state.go(&self.config, next);
            self.check();
        }
        false
    }

    fn check(&self) {
        if let Some(violation) = self.state.violation() {
            let told = replay(&self.config, &self.way, true).0;
            let from = told.len().saturating_sub(80);
            panic!("{violation}\n{:?}\n...\n{}", self.config, told[from..].join("\n"));
        }
    }
}

struct Promises;

impl StateMachineTest for Promises {
    type SystemUnderTest = Playing;
    type Reference = Worlds;

    fn init_test(world: &World) -> Playing {
        let config = world.config();
        Playing { state: ModelState::new(&config), config, way: Vec::new() }
    }

    fn apply(mut playing: Playing, _: &World, stretch: Stretch) -> Playing {
        playing.go_on(&mut AdversarialSchedule::new(stretch.order), stretch.moves as usize);
        playing
    }

    fn teardown(mut playing: Playing, world: World) {
        // Every schedule ends, and ends well; where all speculate on everything that may be far away.
        if playing.go_on(&mut AdversarialSchedule::new(world.seed), END_MAX) {
            assert!(playing.state.ended_well(&playing.config), "a bad end of {:?}", playing.config);
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
    fn every_schedule_keeps_every_promise(sequential 1..20 => Promises);
}
