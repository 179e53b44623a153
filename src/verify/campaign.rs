//! As much as can be checked in a given time: small worlds in full, larger ones as far as possible, then random ones.

use rayon::prelude::*;

use crate::protocol::Fault;
use crate::tvht::Lane;
use crate::verify::config::{Grain, Setting};
use crate::verify::configs::{Family, LARGER, PLAIN, SMALL};
use crate::verify::explore::explore;
use crate::verify::property::Broken;
use crate::verify::random_walk::{Walked, Wish, any_setting, walk};
use crate::verify::state::Move;
use crate::verify::toy_model::stir;
use crate::verify::trace::{retell, script_in_words};

/// No more than so many states of one world: about two gigabytes.
const STATES_MAX: u64 = 3_000_000;
/// A world in which a random way broke a promise is looked at this far for a shorter way.
const SHORTER_MAX: u64 = 150_000;

/// Random ways that are gone side by side.
const WALKS: usize = 16;

/// What has been checked so far.
#[derive(Clone, Debug, Default)]
pub struct Tour {
    /// Worlds that were seen in full.
    pub worlds: u64,
    /// Worlds that were begun and not finished.
    pub unfinished: u64,
    /// States.
    pub states: u64,
    /// Moves from one to another.
    pub moves: u64,
    /// Most moves from a beginning to any state.
    pub depth: u64,
    /// States in which nothing can happen any more, all of them good ends.
    pub ends: u64,
    /// Random schedules, each in a world of its own.
    pub schedules: u64,
    /// Their moves.
    pub schedule_moves: u64,
    /// Schedules that were given up because they were too long.
    pub given_up: u64,
    /// The promise that was broken.
    pub broken: Option<Counterexample>,
}

/// How a promise was broken.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// Which, and how.
    pub broken: Broken,
    /// The world, in words.
    pub world: String,
    /// How many moves it takes.
    pub moves: usize,
    /// Whether no shorter way exists in that world.
    pub is_shortest: bool,
    /// The way, a line for each thing that happens.
    pub story: Vec<String>,
}

/// Says how far it has come, and asks whether to go on.
pub type GoOn<'a> = dyn FnMut(&Tour) -> bool + Send + 'a;

impl Tour {
    /// Looks at all small worlds, or at all larger ones. Says whether it came to their end.
    pub fn families(&mut self, fault: Fault, larger: bool, go_on: &mut GoOn) -> bool {
        let list = if larger { LARGER } else { SMALL };
        for family in list {
            for seed in family.seeds {
                if !self.in_full(family.name, &family.setting(*seed, fault), go_on) {
                    return false;
                }
            }
        }
        true
    }

    /// Looks at worlds as they are wished for, one seed after another, in both lanes, on one core and on many.
    pub fn wished(&mut self, wish: &Wish, go_on: &mut GoOn) -> bool {
        let entities = wish.entities.unwrap_or(2);
        let family = Family {
            name: "as wished",
            bodies: entities,
            ticks: wish.ticks.unwrap_or(3),
            window: wish.window.unwrap_or(2),
            buckets: wish.buckets.unwrap_or(1),
            cell_scale: 0.5,
            // Near enough to meet, not so near that all meet at once.
            room: if entities == 2 { 2 } else { i64::from(entities) * 3 },
            ..PLAIN
        };
        for seed in 0.. {
            for lane in [Lane::Shared, Lane::Actors] {
                for grain in [Grain::Handlers, Grain::Effects] {
                    let family = Family { lane, grain, ..family.clone() };
                    if !self.in_full("as wished", &family.setting(seed, wish.fault), go_on) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Looks at every state of a world. Says whether to go on.
    fn in_full(&mut self, name: &str, setting: &Setting, go_on: &mut GoOn) -> bool {
        let before = self.clone();
        let mut goes_on = true;
        let explored = explore(setting, STATES_MAX, &mut |explored| {
            self.states = before.states + explored.states;
            self.moves = before.moves + explored.moves;
            self.depth = before.depth.max(explored.depth);
            self.ends = before.ends + explored.ends;
            goes_on = go_on(self);
            goes_on
        });
        self.worlds += u64::from(explored.complete);
        self.unfinished += u64::from(!explored.complete);
        if let Some((broken, way)) = explored.broken {
            self.broken = Some(counterexample(name, setting, broken, &way, true));
            return false;
        }
        goes_on
    }

    /// Goes random ways through random worlds, from a seed on.
    pub fn at_random(&mut self, seed: u64, wish: &Wish, go_on: &mut GoOn) {
        for first in (0u64..).step_by(WALKS) {
            if !go_on(self) {
                return;
            }
            let walks: Vec<(u64, Setting, Walked)> = (first..first + WALKS as u64)
                .into_par_iter()
                .map(|number| {
                    let world = stir(&[seed, number]);
                    let setting = any_setting(world, wish);
                    let walked = walk(&setting, world);
                    (number, setting, walked)
                })
                .collect();
            if walks.into_iter().any(|(number, setting, walked)| self.note(seed, number, &setting, walked)) {
                return;
            }
        }
    }

    /// Takes down what came of a random way. Says whether a promise was broken.
    fn note(&mut self, seed: u64, number: u64, setting: &Setting, walked: Walked) -> bool {
        self.schedules += 1;
        self.schedule_moves += walked.moves;
        self.given_up += u64::from(!walked.complete && walked.broken.is_none());
        let Some((broken, way)) = walked.broken else { return false };
        let name = format!("random world {number} from seed {seed}");
        // Perhaps the same world shows it in fewer moves.
        let mut alike = setting.clone();
        alike.regroups = None;
        let shorter = explore(&alike, SHORTER_MAX, &mut |_| true).broken;
        self.broken = Some(match shorter {
            Some((broken, way)) => counterexample(&name, &alike, broken, &way, true),
            None => counterexample(&name, setting, broken, &way, false),
        });
        true
    }
}

fn counterexample(
    name: &str,
    setting: &Setting,
    broken: Broken,
    way: &[Move],
    is_shortest: bool,
) -> Counterexample {
    // Random ways are told as they were gone, the others as they were found.
    let (story, again) = retell(setting, way, !is_shortest);
    let broken = again.unwrap_or(broken);
    Counterexample { broken, world: describe(name, setting), moves: way.len(), is_shortest, story }
}

fn describe(name: &str, setting: &Setting) -> String {
    let lane = match setting.lane {
        Lane::Shared => "shared table",
        Lane::Actors => "tickets",
    };
    let grain = match setting.grain {
        Grain::Handlers => "one core",
        Grain::Effects => "many cores",
    };
    let mut text = format!(
        "{name}: {} bodies in {} entities, {} buckets ({lane}), {} ticks, window {}, {grain}, seed {}",
        setting.tiny.bodies,
        setting.entities(),
        setting.buckets,
        setting.tiny.last_tick,
        setting.limits.window,
        setting.tiny.seed
    );
    if !setting.script.is_empty() {
        text += &format!("; from outside: {}", script_in_words(&setting.script));
    }
    text
}
