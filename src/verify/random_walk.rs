//! Random schedules of random models, which are too large to be explored in full.

use crate::executor::adversarial_schedule::{AdversarialSchedule, Choice};
use crate::protocol::{EntityId, Fault, Stats};
use crate::tvht::Lane;
use crate::verify::config::{Atomicity, ModelConfig, ScriptedInput};
use crate::verify::model::Model;
use crate::verify::property::Violation;
use crate::verify::state::{Action, Endpoint};
use crate::verify::toy_dynamics::mix;
use crate::verify::toy_model::{ToyInput, ToyInputKind, ToyModel};

/// Schedules that are longer than this are given up: where everything is in contact with everything, and all entities
/// speculate on it, there is an end, but it is far away. Not tuned.
const ACTIONS_MAX: u64 = 200_000;

/// What came of a random schedule.
#[derive(Clone, Debug)]
pub struct Walked<A = Action> {
    /// Number of actions performed.
    pub actions: u64,
    /// Whether it reached a terminal state; if not, it was given up or has a violation.
    pub complete: bool,
    /// Statistics of all entities together; empty unless complete.
    pub stats: Stats,
    /// The violation, and the schedule that leads to it.
    pub violation: Option<(Violation, Vec<A>)>,
}

impl<A> Default for Walked<A> {
    fn default() -> Self {
        Walked { actions: 0, complete: false, stats: Stats::default(), violation: None }
    }
}

/// What is requested of a random model.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConfigRequest {
    /// Number of bodies; from 2 to 64 if not given.
    pub entities: Option<u32>,
    /// Number of buckets of the hash table; from 1 to 64 if not given.
    pub buckets: Option<u32>,
    /// The last tick; from 2 to 90 if not given.
    pub ticks: Option<u64>,
    /// How far an entity may run ahead of the lowest LVT, ticks; from 1 to 40 if not given.
    pub window_ticks: Option<u64>,
    /// A deliberate fault, or [`Fault::None`].
    pub fault: Fault,
}

/// A random model, always the same for a seed and a request.
// Long: the order of the draws decides what a seed means, so they stay together in one list.
pub fn any_config(seed: u64, request: &ConfigRequest) -> ModelConfig {
    let mut count = 0;
    let mut draw = |choices: &[u64]| {
        count += 1;
        choices[mix(&[seed, count]) as usize % choices.len()]
    };
    let bodies = draw(&[2, 2, 3, 3, 4, 5, 6, 8, 8, 12, 16, 24, 40, 64]);
    let bodies = request.entities.unwrap_or(bodies as u32);
    let toy = ToyModel {
        bodies,
        seed: mix(&[seed, 0]),
        rounds: draw(&[1, 2, 2, 3, 4]) as u32,
        // Many bodies are spread more widely than a few: otherwise all of them would be in contact.
        extent: (draw(&[1, 2, 4, 8, 30]).max(u64::from(bodies) / 6) * u64::from(bodies)) as i64,
        contact_odds: draw(&[1, 2, 5, 20]),
        sticky_odds: draw(&[2, 4, 16, 1000]),
        static_odds: draw(&[4, 20, 1000]),
        last_tick: request.ticks.unwrap_or(draw(&[2, 4, 8, 16, 30, 90])),
        fault: request.fault,
    };
    let window_ticks = request.window_ticks.unwrap_or(draw(&[1, 2, 3, 4, 6, 10, 20, 40]));
    let buckets = request.buckets.unwrap_or(draw(&[1, 2, 3, 7, 64]) as u32);
    let cells = draw(&[1, 2, 4, 8]) as f64 / 2.0;
    let last_tick = toy.last_tick;
    let mut config = ModelConfig::new(toy, window_ticks, buckets).with_cells(cells);
    config.history_ticks = draw(&[0, 0, 0, 1, 3, 9]);
    config.lane = if draw(&[0, 1]) == 0 { Lane::Shared } else { Lane::Actors };
    config.atomicity = if draw(&[0, 0, 1]) == 0 { Atomicity::Handlers } else { Atomicity::Effects };
    config.prompt_acks = false;
    config.limits.contact_window = match draw(&[0, 1, 2, 3]) {
        0 => None,
        1 => Some(0),
        _ => Some(draw(&[1, 2, 5, 30])),
    };
    config.limits.stride_min = draw(&[1, 1, 2, 5, 20]);
    config.limits.adaptive = draw(&[0, 1]) == 1;
    config.epoch_ticks = [None, None, Some(draw(&[1, 2, 3, 5, 12]))][draw(&[0, 1, 2]) as usize];
    if config.epoch_ticks.is_some() {
        // Time is not kept open in which islands have to be decided, and bodies neither come nor go.
        config.history_ticks = 0;
        return config;
    }
    let inputs = draw(&[0, 0, 2, 5, 10]);
    let mut spawned = 0;
    for _ in 0..inputs {
        let tick = draw(&[0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 15, 20]) % last_tick.max(1);
        let body = (draw(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) as u32) % (bodies + spawned);
        let scripted = match draw(&[0, 1, 2, 3]) {
            0 => {
                spawned += 1;
                config.spawn(tick, spawned - 1)
            }
            1 => ScriptedInput { tick, input: ToyInput { body, kind: ToyInputKind::Despawn } },
            _ => {
                let number = mix(&[seed, tick, u64::from(body)]);
                ScriptedInput { tick, input: ToyInput { body, kind: ToyInputKind::Mix(number) } }
            }
        };
        config.script.push(scripted);
    }
    config
}

/// Follows one random schedule to its end, always the same for a model and a seed, and checks every property after
/// every action.
pub fn walk(config: &ModelConfig, seed: u64) -> Walked {
    let (mut walked, state) = follow(config, seed);
    if walked.complete {
        for driver in &state.drivers {
            walked.stats.add(driver.entity().stats());
        }
    }
    walked
}

/// [`walk`] for any model, without statistics; and the state at the end.
pub fn follow<M: Model>(model: &M, seed: u64) -> (Walked<M::Action>, M::State<'_>) {
    let mut state = model.start();
    let mut scheduler = AdversarialSchedule::new(seed);
    let (mut schedule, mut actions) = (Vec::new(), Vec::new());
    let mut walked = Walked::default();
    // Rare actions, such as inputs, come at least this many actions after each other, so that some of them are late.
    let mut patience = mix(&[seed, 3]) % 40;
    loop {
        model.actions(&state, &mut actions);
        if actions.len() > 1 && actions.last().is_some_and(|last| model.is_rare(last)) && patience > 0 {
            patience -= 1;
            actions.pop();
        }
        let chosen = scheduler.choose(actions.iter().map(|action| model.choice(action)));
        let next = actions.iter().find(|action| Some(model.choice(action)) == chosen);
        let Some(next) = next.copied() else { break };
        if model.is_rare(&next) {
            patience = mix(&[seed, 4, walked.actions]) % 40;
        }
        schedule.push(next);
        walked.actions += 1;
        model.apply(&mut state, next);
        if let Some(violation) = model.violation(&state) {
            walked.violation = Some((violation.clone(), schedule));
            return (walked, state);
        }
        if walked.actions > ACTIONS_MAX {
            return (walked, state);
        }
    }
    walked.complete = true;
    walked.violation = model.check_end(&state).err().map(|violation| (violation, schedule));
    (walked, state)
}

/// Lets an adversarial scheduler choose one of the actions.
pub fn choose(scheduler: &mut AdversarialSchedule, actions: &[Action]) -> Option<Action> {
    let chosen = scheduler.choose(actions.iter().map(choice))?;
    actions.iter().copied().find(|action| choice(action) == chosen)
}

/// How an adversarial scheduler sees an action.
pub(super) fn choice(action: &Action) -> Choice {
    let number = |endpoint: Endpoint| match endpoint {
        Endpoint::Entity(id) => id,
        Endpoint::Bucket(number) => EntityId(1_000_000 + number),
        Endpoint::Outside => EntityId(2_000_000),
        Endpoint::Counter => EntityId(2_000_001),
    };
    match *action {
        Action::Deliver { from, to } => Choice::Deliver {
            from: number(from),
            to: number(to),
            is_ack: matches!(from, Endpoint::Bucket(_)),
        },
        Action::Step(id) => Choice::Step(id),
        Action::Write(id) => Choice::Step(EntityId(3_000_000 + id.0)),
        Action::Effect(id) => Choice::Step(EntityId(4_000_000 + id.0)),
        Action::ScriptedInput => Choice::Step(EntityId(5_000_000)),
        Action::Decide => Choice::Step(EntityId(5_000_001)),
    }
}
