//! One long random way after another, through worlds that are too large to be seen in full.

use crate::executor::adversarial_schedule::{AdversarialSchedule, Choice};
use crate::protocol::{EntityId, Fault, Stats};
use crate::tvht::Lane;
use crate::verify::config::{Atomicity, ModelConfig, ScriptedInput};
use crate::verify::property::Violation;
use crate::verify::state::{Action, Endpoint, ModelState};
use crate::verify::toy_model::{ToyInput, ToyInputKind, ToyModel, mix};

/// Ways that are longer than this are given up: where everything touches everything, and all speculate on it, there
/// is an end, but it is far away.
const MOVES_MAX: u64 = 200_000;

/// What came of a way.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    /// Moves made.
    pub moves: u64,
    /// Whether it came to its end.
    pub complete: bool,
    /// What the entities did.
    pub stats: Stats,
    /// The property that was violation, and the way there.
    pub violation: Option<(Violation, Vec<Action>)>,
}

/// What a random world may be like.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConfigRequest {
    /// Number of bodies, or any from 2 to 64.
    pub entities: Option<u32>,
    /// Number of buckets, or any.
    pub buckets: Option<u32>,
    /// Last tick, or any.
    pub ticks: Option<u64>,
    /// Window, or any.
    pub window: Option<u64>,
    /// A deliberate fault.
    pub fault: Fault,
}

/// A random config, always the same for a seed.
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
        // Large crowds are not as dense as small ones can be.
        room: (draw(&[1, 2, 4, 8, 30]).max(u64::from(bodies) / 6) * u64::from(bodies)) as i64,
        sparse: draw(&[1, 2, 5, 20]),
        sticky: draw(&[2, 4, 16, 1000]),
        bumpy: draw(&[4, 20, 1000]),
        last_tick: request.ticks.unwrap_or(draw(&[2, 4, 8, 16, 30, 90])),
        fault: request.fault,
    };
    let window = request.window.unwrap_or(draw(&[1, 2, 3, 4, 6, 10, 20, 40]));
    let buckets = request.buckets.unwrap_or(draw(&[1, 2, 3, 7, 64]) as u32);
    let cells = draw(&[1, 2, 4, 8]) as f64 / 2.0;
    let last_tick = toy.last_tick;
    let mut config = ModelConfig::new(toy, window, buckets).with_cells(cells);
    config.cluster = draw(&[1, 1, 1, 2, 3, 5]) as usize;
    config.history = draw(&[0, 0, 0, 1, 3, 9]);
    config.lane = if draw(&[0, 1]) == 0 { Lane::Shared } else { Lane::Actors };
    config.atomicity = if draw(&[0, 0, 1]) == 0 { Atomicity::Handlers } else { Atomicity::Effects };
    config.prompt_answers = false;
    config.limits.contact_window = match draw(&[0, 1, 2, 3]) {
        0 => None,
        1 => Some(0),
        _ => Some(draw(&[1, 2, 5, 30])),
    };
    config.limits.stride_min = draw(&[1, 1, 2, 5, 20]);
    config.limits.adaptive = draw(&[0, 1]) == 1;
    config.reclusters = [None, None, Some(3), Some(16)][draw(&[0, 1, 2, 3]) as usize];
    let cues = draw(&[0, 0, 2, 5, 10]);
    let entities = config.entities();
    let mut newcomers = 0;
    for _ in 0..cues {
        let tick = draw(&[0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 15, 20]) % last_tick.max(1);
        let body = (draw(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) as u32) % (bodies + newcomers);
        let other = EntityId((draw(&[0, 1, 2, 3, 5, 7, 11]) as u32) % entities);
        let input_next = match draw(&[0, 1, 2, 3, 4, 4]) {
            0 => {
                newcomers += 1;
                config.newcomer(tick, newcomers - 1)
            }
            1 => ScriptedInput::ToyInput { tick, act: ToyInput { body, deed: ToyInputKind::Despawn } },
            2 | 3 => {
                let number = mix(&[seed, tick, u64::from(body)]);
                ScriptedInput::ToyInput { tick, act: ToyInput { body, deed: ToyInputKind::Mix(number) } }
            }
            _ => {
                let from = EntityId(body % bodies / config.cluster as u32);
                if from == other {
                    continue;
                }
                ScriptedInput::Migrate { from, bodies: vec![body % bodies], to: other }
            }
        };
        config.script.push(input_next);
    }
    config
}

/// One random way to the end, always the same for a seed.
pub fn walk(config: &ModelConfig, seed: u64) -> Walked {
    let mut state = ModelState::new(config);
    let mut schedule = AdversarialSchedule::new(seed);
    let (mut way, mut moves) = (Vec::new(), Vec::new());
    let mut walked = Walked::default();
    // Half of the ways let nothing come from outside before some time.
    let mut patience = mix(&[seed, 3]) % 40;
    loop {
        state.moves(config, &mut moves);
        if moves.len() > 1 && moves.last() == Some(&Action::ScriptedInput) && patience > 0 {
            patience -= 1;
            moves.pop();
        }
        let Some(next) = choose(&mut schedule, &moves) else { break };
        if next == Action::ScriptedInput {
            patience = mix(&[seed, 4, walked.moves]) % 40;
        }
        way.push(next);
        walked.moves += 1;
        state.go(config, next);
        if let Some(violation) = state.violation() {
            walked.violation = Some((violation.clone(), way));
            return walked;
        }
        if walked.moves > MOVES_MAX {
            return walked;
        }
    }
    walked.complete = true;
    walked.violation = state.check_end(config).err().map(|violation| (violation, way));
    for driver in &state.drivers {
        walked.stats.add(driver.entity().stats());
    }
    walked
}

/// Lets the scheduler that means no good choose among moves.
pub fn choose(schedule: &mut AdversarialSchedule, moves: &[Action]) -> Option<Action> {
    let name = |endpoint: Endpoint| match endpoint {
        Endpoint::Entity(id) => id,
        Endpoint::Bucket(number) => EntityId(1_000_000 + number),
        Endpoint::Outside => EntityId(2_000_000),
        Endpoint::Counter => EntityId(2_000_001),
    };
    let action = |next: &Action| match *next {
        Action::Deliver { from, to } => {
            Choice::Deliver { from: name(from), to: name(to), is_ack: matches!(from, Endpoint::Bucket(_)) }
        }
        Action::Step(id) => Choice::Step(id),
        Action::Write(id) => Choice::Step(EntityId(3_000_000 + id.0)),
        Action::Effect(id) => Choice::Step(EntityId(4_000_000 + id.0)),
        Action::ScriptedInput => Choice::Step(EntityId(5_000_000)),
    };
    let chosen = schedule.choose(moves.iter().map(action))?;
    moves.iter().copied().find(|next| action(next) == chosen)
}
