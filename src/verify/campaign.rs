//! As much as can be checked in a given time: small worlds in full, larger ones as far as possible, then random ones.

use rayon::prelude::*;

use crate::protocol::Fault;
use crate::tvht::Lane;
use crate::verify::config::{Atomicity, ModelConfig};
use crate::verify::configs::{Family, LARGER, PLAIN, SMALL};
use crate::verify::explore::explore;
use crate::verify::property::Violation;
use crate::verify::random_walk::{ConfigRequest, Walked, any_config, walk};
use crate::verify::state::Action;
use crate::verify::toy_model::mix;
use crate::verify::trace::{replay, script_text};

/// No more than so many states of one world: about two gigabytes.
pub const STATES_MAX: u64 = 3_000_000;
/// A world in which a random way broke a property is looked at this far for a shorter way.
const SHORTER_MAX: u64 = 150_000;

/// Random ways that are gone side by side.
const WALKS: usize = 16;

/// What has been checked so far.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Configurations that are to be explored; 0 if that is not known beforehand.
    pub announced: u64,
    /// Random schedules that are to be run; without end if nothing is given.
    pub schedules_max: Option<u64>,
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
    /// The property that was violation.
    pub violation: Option<Counterexample>,
}

/// How a property was violation.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// Which, and how.
    pub violation: Violation,
    /// The world, in words.
    pub world: String,
    /// How many moves it takes.
    pub moves: usize,
    /// Whether no shorter way exists in that world.
    pub is_shortest: bool,
    /// The way, a line for each thing that happens.
    pub trace: Vec<String>,
}

/// Says how far it has come, and asks whether to go on.
pub type GoOn<'a> = dyn FnMut(&Campaign) -> bool + Send + 'a;

impl Campaign {
    /// Number of small, or of larger, configurations that [`Campaign::families`] explores.
    pub fn configs(larger: bool) -> u64 {
        let list = if larger { LARGER } else { SMALL };
        list.iter().map(|family| family.seeds.len() as u64).sum()
    }

    /// Looks at all small worlds, or at all larger ones. Says whether it came to their end.
    pub fn families(&mut self, fault: Fault, larger: bool, go_on: &mut GoOn) -> bool {
        let list = if larger { LARGER } else { SMALL };
        for family in list {
            for seed in family.seeds {
                if !self.in_full(family.name, &family.config(*seed, fault), go_on) {
                    return false;
                }
            }
        }
        true
    }

    /// Looks at worlds as they are wished for, one seed after another, in both lanes, on one core and on many.
    pub fn wished(&mut self, request: &ConfigRequest, go_on: &mut GoOn) -> bool {
        let entities = request.entities.unwrap_or(2);
        let family = Family {
            name: "as wished",
            bodies: entities,
            ticks: request.ticks.unwrap_or(3),
            window: request.window.unwrap_or(2),
            buckets: request.buckets.unwrap_or(1),
            cell_scale: 0.5,
            // Near enough to meet, not so near that all meet at once.
            room: if entities == 2 { 2 } else { i64::from(entities) * 3 },
            ..PLAIN
        };
        for seed in 0.. {
            for lane in [Lane::Shared, Lane::Actors] {
                for atomicity in [Atomicity::Handlers, Atomicity::Effects] {
                    let family = Family { lane, atomicity, ..family.clone() };
                    if !self.in_full("as wished", &family.config(seed, request.fault), go_on) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Looks at every state of a world. Says whether to go on.
    fn in_full(&mut self, name: &str, config: &ModelConfig, go_on: &mut GoOn) -> bool {
        let before = self.clone();
        let mut goes_on = true;
        let explored = explore(config, STATES_MAX, &mut |explored| {
            self.states = before.states + explored.states;
            self.moves = before.moves + explored.moves;
            self.depth = before.depth.max(explored.depth);
            self.ends = before.ends + explored.ends;
            goes_on = go_on(self);
            goes_on
        });
        self.worlds += u64::from(explored.complete);
        self.unfinished += u64::from(!explored.complete);
        if let Some((violation, way)) = explored.violation {
            self.violation = Some(counterexample(name, config, violation, &way, true));
            return false;
        }
        goes_on
    }

    /// Goes random ways through random worlds, from a seed on.
    pub fn at_random(&mut self, seed: u64, request: &ConfigRequest, go_on: &mut GoOn) {
        let end = self.schedules_max.unwrap_or(u64::MAX);
        for first in (0..end).step_by(WALKS) {
            if !go_on(self) {
                return;
            }
            let walks: Vec<(u64, ModelConfig, Walked)> = (first..end.min(first + WALKS as u64))
                .into_par_iter()
                .map(|number| {
                    let world = mix(&[seed, number]);
                    let config = any_config(world, request);
                    let walked = walk(&config, world);
                    (number, config, walked)
                })
                .collect();
            if walks.into_iter().any(|(number, config, walked)| self.note(seed, number, &config, walked)) {
                return;
            }
        }
    }

    /// Takes down what came of a random way. Says whether a property was violation.
    fn note(&mut self, seed: u64, number: u64, config: &ModelConfig, walked: Walked) -> bool {
        self.schedules += 1;
        self.schedule_moves += walked.moves;
        self.given_up += u64::from(!walked.complete && walked.violation.is_none());
        let Some((violation, way)) = walked.violation else { return false };
        let name = format!("random world {number} from seed {seed}");
        // Perhaps the same world shows it in fewer moves.
        let mut alike = config.clone();
        alike.reclusters = None;
        let shorter = explore(&alike, SHORTER_MAX, &mut |_| true).violation;
        self.violation = Some(match shorter {
            Some((violation, way)) => counterexample(&name, &alike, violation, &way, true),
            None => counterexample(&name, config, violation, &way, false),
        });
        true
    }
}

fn counterexample(
    name: &str,
    config: &ModelConfig,
    violation: Violation,
    way: &[Action],
    is_shortest: bool,
) -> Counterexample {
    // Random ways are told as they were gone, the others as they were found.
    let (trace, again) = replay(config, way, !is_shortest);
    let violation = again.unwrap_or(violation);
    Counterexample { violation, world: describe(name, config), moves: way.len(), is_shortest, trace }
}

fn describe(name: &str, config: &ModelConfig) -> String {
    let lane = match config.lane {
        Lane::Shared => "shared table",
        Lane::Actors => "requests",
    };
    let atomicity = match config.atomicity {
        Atomicity::Handlers => "one core",
        Atomicity::Effects => "many cores",
    };
    let mut text = format!(
        "{name}: {} bodies in {} entities, {} buckets ({lane}), {} ticks, window {}, {atomicity}, seed {}",
        config.toy.bodies,
        config.entities(),
        config.buckets,
        config.toy.last_tick,
        config.limits.window,
        config.toy.seed
    );
    if !config.script.is_empty() {
        text += &format!("; from outside: {}", script_text(&config.script));
    }
    text
}
