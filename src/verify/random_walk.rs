//! One long random way after another, through worlds that are too large to be seen in full.

use crate::executor::adversarial_schedule::{Action, Adversary};
use crate::protocol::{EntityId, Fault, Stats};
use crate::tvht::Lane;
use crate::verify::config::{Cue, Grain, Setting};
use crate::verify::property::Broken;
use crate::verify::state::{Move, Play, Seat};
use crate::verify::toy_model::{Act, Deed, Tiny, stir};

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
    /// The promise that was broken, and the way there.
    pub broken: Option<(Broken, Vec<Move>)>,
}

/// What a random world may be like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
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

/// A random setting, always the same for a seed.
pub fn any_setting(seed: u64, wish: &Wish) -> Setting {
    let mut count = 0;
    let mut draw = |choices: &[u64]| {
        count += 1;
        choices[stir(&[seed, count]) as usize % choices.len()]
    };
    let bodies = draw(&[2, 2, 3, 3, 4, 5, 6, 8, 8, 12, 16, 24, 40, 64]);
    let bodies = wish.entities.unwrap_or(bodies as u32);
    let tiny = Tiny {
        bodies,
        seed: stir(&[seed, 0]),
        rounds: draw(&[1, 2, 2, 3, 4]) as u32,
        // Large crowds are not as dense as small ones can be.
        room: (draw(&[1, 2, 4, 8, 30]).max(u64::from(bodies) / 6) * u64::from(bodies)) as i64,
        sparse: draw(&[1, 2, 5, 20]),
        sticky: draw(&[2, 4, 16, 1000]),
        bumpy: draw(&[4, 20, 1000]),
        last_tick: wish.ticks.unwrap_or(draw(&[2, 4, 8, 16, 30, 90])),
        fault: wish.fault,
    };
    let window = wish.window.unwrap_or(draw(&[1, 2, 3, 4, 6, 10, 20, 40]));
    let buckets = wish.buckets.unwrap_or(draw(&[1, 2, 3, 7, 64]) as u32);
    let cells = draw(&[1, 2, 4, 8]) as f64 / 2.0;
    let last_tick = tiny.last_tick;
    let mut setting = Setting::new(tiny, window, buckets).with_cells(cells);
    setting.cluster = draw(&[1, 1, 1, 2, 3, 5]) as usize;
    setting.history = draw(&[0, 0, 0, 1, 3, 9]);
    setting.lane = if draw(&[0, 1]) == 0 { Lane::Shared } else { Lane::Actors };
    setting.grain = if draw(&[0, 0, 1]) == 0 { Grain::Handlers } else { Grain::Effects };
    setting.prompt_answers = false;
    setting.limits.contact_window = match draw(&[0, 1, 2, 3]) {
        0 => None,
        1 => Some(0),
        _ => Some(draw(&[1, 2, 5, 30])),
    };
    setting.limits.stride_min = draw(&[1, 1, 2, 5, 20]);
    setting.limits.adaptive = draw(&[0, 1]) == 1;
    setting.regroups = [None, None, Some(3), Some(16)][draw(&[0, 1, 2, 3]) as usize];
    let cues = draw(&[0, 0, 2, 5, 10]);
    let entities = setting.entities();
    let mut newcomers = 0;
    for _ in 0..cues {
        let tick = draw(&[0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 15, 20]) % last_tick.max(1);
        let body = (draw(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) as u32) % (bodies + newcomers);
        let other = EntityId((draw(&[0, 1, 2, 3, 5, 7, 11]) as u32) % entities);
        let cue = match draw(&[0, 1, 2, 3, 4, 4]) {
            0 => {
                newcomers += 1;
                setting.newcomer(tick, newcomers - 1)
            }
            1 => Cue::Act { tick, act: Act { body, deed: Deed::Vanish } },
            2 | 3 => {
                let number = stir(&[seed, tick, u64::from(body)]);
                Cue::Act { tick, act: Act { body, deed: Deed::Stir(number) } }
            }
            _ => {
                let from = EntityId(body % bodies / setting.cluster as u32);
                if from == other {
                    continue;
                }
                Cue::HandOver { from, bodies: vec![body % bodies], to: other }
            }
        };
        setting.script.push(cue);
    }
    setting
}

/// One random way to the end, always the same for a seed.
pub fn walk(setting: &Setting, seed: u64) -> Walked {
    let mut play = Play::new(setting);
    let mut adversary = Adversary::new(seed);
    let (mut way, mut moves) = (Vec::new(), Vec::new());
    let mut walked = Walked::default();
    // Half of the ways let nothing come from outside before some time.
    let mut patience = stir(&[seed, 3]) % 40;
    loop {
        play.moves(setting, &mut moves);
        if moves.len() > 1 && moves.last() == Some(&Move::Cue) && patience > 0 {
            patience -= 1;
            moves.pop();
        }
        let Some(next) = choose(&mut adversary, &moves) else { break };
        if next == Move::Cue {
            patience = stir(&[seed, 4, walked.moves]) % 40;
        }
        way.push(next);
        walked.moves += 1;
        play.go(setting, next);
        if let Some(broken) = play.broken() {
            walked.broken = Some((broken.clone(), way));
            return walked;
        }
        if walked.moves > MOVES_MAX {
            return walked;
        }
    }
    walked.complete = true;
    walked.broken = play.check_end(setting).err().map(|broken| (broken, way));
    for entity in &play.entities {
        walked.stats.add(entity.stats());
    }
    walked
}

/// Lets the scheduler that means no good choose among moves.
pub fn choose(adversary: &mut Adversary, moves: &[Move]) -> Option<Move> {
    let name = |seat: Seat| match seat {
        Seat::Entity(id) => id,
        Seat::Bucket(number) => EntityId(1_000_000 + number),
        Seat::Outside => EntityId(2_000_000),
        Seat::Clerk => EntityId(2_000_001),
    };
    let action = |next: &Move| match *next {
        Move::Deliver { from, to } => {
            Action::Deliver { from: name(from), to: name(to), is_answer: matches!(from, Seat::Bucket(_)) }
        }
        Move::Step(id) => Action::Step(id),
        Move::Write(id) => Action::Step(EntityId(3_000_000 + id.0)),
        Move::Effect(id) => Action::Step(EntityId(4_000_000 + id.0)),
        Move::Cue => Action::Step(EntityId(5_000_000)),
    };
    let chosen = adversary.choose(moves.iter().map(action))?;
    moves.iter().copied().find(|next| action(next) == chosen)
}
