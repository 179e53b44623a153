//! What `anachron verify` runs: small models in full, larger ones as far as possible, then random ones.

use rayon::prelude::*;

use crate::protocol::Fault;
use crate::tvht::Lane;
use crate::verify::config::{Atomicity, ModelConfig};
use crate::verify::configs::{Family, LARGER, PLAIN, SMALL};
use crate::verify::explore::explore;
use crate::verify::property::Violation;
use crate::verify::random_walk::{ConfigRequest, Walked, any_config, walk};
use crate::verify::state::Action;
use crate::verify::toy_dynamics::mix;
use crate::verify::trace::{replay, script_text};

/// At most this many states of one model are explored: about two gigabytes.
pub(crate) const STATES_MAX: u64 = 3_000_000;
/// At most this many states of a model are explored for a schedule that is shorter than a random one. Not tuned.
const SHORTER_MAX: u64 = 150_000;

/// Number of random schedules that are run in parallel. Not tuned.
const WALKS: usize = 16;

/// What has been checked so far. One campaign may run several of the checks below; the counts add up.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Configurations that are to be explored; 0 if that is not known beforehand.
    pub announced: u64,
    /// Random schedules that are to be run; without end if nothing is given.
    pub schedules_max: Option<u64>,
    /// Configurations that were explored in full.
    pub complete: u64,
    /// Configurations that were begun and not finished.
    pub unfinished: u64,
    /// Number of states explored.
    pub states: u64,
    /// Number of transitions between them.
    pub transitions: u64,
    /// Largest distance of a state from the initial one of its configuration, in actions.
    pub depth: u64,
    /// Number of terminal states, in which nothing can happen any more; none of them has a violation.
    pub ends: u64,
    /// Number of random schedules that were run, each in a configuration of its own.
    pub schedules: u64,
    /// Number of actions in them.
    pub schedule_actions: u64,
    /// Number of schedules that were given up because they were too long.
    pub given_up: u64,
    /// The first violation, which ends the campaign.
    pub violation: Option<Counterexample>,
}

/// A violation, and how to get there.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The property that does not hold, and what is wrong.
    pub violation: Violation,
    /// The configuration, in words.
    pub config: String,
    /// Number of actions of the schedule.
    pub actions: usize,
    /// Whether no shorter schedule of that configuration has a violation.
    pub is_shortest: bool,
    /// The schedule in words, a line for each thing that happens.
    pub trace: Vec<String>,
}

/// Sees the progress, and ends a check by returning `false`.
pub(crate) type GoOn<'a> = dyn FnMut(&Campaign) -> bool + Send + 'a;

impl Campaign {
    /// Number of small, or of larger, configurations that [`Campaign::families`] explores.
    pub(crate) fn configs(larger: bool) -> u64 {
        let list = if larger { LARGER } else { SMALL };
        list.iter().map(|family| family.seeds.len() as u64).sum()
    }

    /// Explores all small configurations, or all larger ones. Returns whether all of them were begun.
    pub fn families(&mut self, fault: Fault, larger: bool, go_on: &mut GoOn) -> bool {
        let list = if larger { LARGER } else { SMALL };
        for family in list {
            for seed in family.seeds {
                if !self.explore(family.name, &family.config(*seed, fault), go_on) {
                    return false;
                }
            }
        }
        true
    }

    /// Explores configurations as requested, one seed after another, in both lanes, on one core and on many, until
    /// `go_on` ends it or a property is violated.
    pub fn requested(&mut self, request: &ConfigRequest, go_on: &mut GoOn) -> bool {
        let entities = request.entities.unwrap_or(2);
        let family = Family {
            name: "as requested",
            bodies: entities,
            ticks: request.ticks.unwrap_or(3),
            window_ticks: request.window_ticks.unwrap_or(2),
            buckets: request.buckets.unwrap_or(1),
            cell_scale: 0.5,
            // Near enough for contacts, not so near that all bodies touch at once.
            extent: if entities == 2 { 2 } else { i64::from(entities) * 3 },
            ..PLAIN
        };
        for seed in 0.. {
            for lane in [Lane::Shared, Lane::Actors] {
                for atomicity in [Atomicity::Handlers, Atomicity::Effects] {
                    let family = Family { lane, atomicity, ..family.clone() };
                    if !self.explore("as requested", &family.config(seed, request.fault), go_on) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Explores one configuration. Returns whether to go on.
    fn explore(&mut self, name: &str, config: &ModelConfig, go_on: &mut GoOn) -> bool {
        let before = self.clone();
        let mut goes_on = true;
        let explored = explore(config, STATES_MAX, &mut |explored| {
            self.states = before.states + explored.states;
            self.transitions = before.transitions + explored.transitions;
            self.depth = before.depth.max(explored.depth);
            self.ends = before.ends + explored.ends;
            goes_on = go_on(self);
            goes_on
        });
        self.complete += u64::from(explored.complete);
        self.unfinished += u64::from(!explored.complete);
        if let Some((violation, schedule)) = explored.violation {
            self.violation = Some(counterexample(name, config, violation, &schedule, true));
            return false;
        }
        goes_on
    }

    /// Runs random schedules of random configurations, all of them chosen by a seed.
    pub fn at_random(&mut self, seed: u64, request: &ConfigRequest, go_on: &mut GoOn) {
        let end = self.schedules_max.unwrap_or(u64::MAX);
        for first in (0..end).step_by(WALKS) {
            if !go_on(self) {
                return;
            }
            let walks: Vec<(u64, ModelConfig, Walked)> = (first..end.min(first + WALKS as u64))
                .into_par_iter()
                .map(|number| {
                    let walk_seed = mix(&[seed, number]);
                    let config = any_config(walk_seed, request);
                    let walked = walk(&config, walk_seed);
                    (number, config, walked)
                })
                .collect();
            if walks.into_iter().any(|(number, config, walked)| self.note(seed, number, &config, walked)) {
                return;
            }
        }
    }

    /// Counts a random schedule. Returns whether it violates a property.
    fn note(&mut self, seed: u64, number: u64, config: &ModelConfig, walked: Walked) -> bool {
        self.schedules += 1;
        self.schedule_actions += walked.actions;
        self.given_up += u64::from(!walked.complete && walked.violation.is_none());
        let Some((violation, schedule)) = walked.violation else { return false };
        let name = format!("random configuration {number} from seed {seed}");
        // Perhaps a shorter schedule of the same configuration has a violation.
        let mut explorable = config.clone();
        explorable.reclusters = None;
        let shorter = explore(&explorable, SHORTER_MAX, &mut |_| true).violation;
        self.violation = Some(match shorter {
            Some((violation, schedule)) => counterexample(&name, &explorable, violation, &schedule, true),
            None => counterexample(&name, config, violation, &schedule, false),
        });
        true
    }
}

fn counterexample(
    name: &str,
    config: &ModelConfig,
    violation: Violation,
    schedule: &[Action],
    is_shortest: bool,
) -> Counterexample {
    // Only random schedules were performed in place.
    let (trace, again) = replay(config, schedule, !is_shortest);
    let violation = again.unwrap_or(violation);
    Counterexample { violation, config: describe(name, config), actions: schedule.len(), is_shortest, trace }
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
        text += &format!("; inputs: {}", script_text(&config.script));
    }
    text
}
