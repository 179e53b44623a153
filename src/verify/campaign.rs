//! What `anachron verify` runs: small models in full, larger ones as far as possible, then random ones.

use std::ops::Range;

use rayon::prelude::*;

use crate::protocol::Fault;
use crate::store::RegionFault;
use crate::tvht::Lane;
use crate::verify::config::Atomicity;
use crate::verify::configs::{Family, LARGER, PLAIN, SMALL};
use crate::verify::explore::search;
use crate::verify::model::Model;
use crate::verify::property::Violation;
use crate::verify::random_walk::{ConfigRequest, Walked, any_config, follow};
use crate::verify::regions::{REGION_FAMILIES, any_region_model};
use crate::verify::toy_dynamics::mix;

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
    pub(super) fn explore(&mut self, name: &str, model: &impl Model, go_on: &mut GoOn) -> bool {
        let before = self.clone();
        let mut goes_on = true;
        let explored = search(model, STATES_MAX, &mut |explored| {
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
            self.violation = Some(counterexample(name, model, violation, &schedule, true));
            return false;
        }
        goes_on
    }

    /// Number of models of regions that [`Campaign::region_families`] explores.
    pub(crate) fn region_configs() -> u64 {
        REGION_FAMILIES.iter().map(|family| family.seeds.len() as u64).sum()
    }

    /// Explores all small models of regions. Returns whether all of them were begun.
    pub(crate) fn region_families(&mut self, fault: RegionFault, go_on: &mut GoOn) -> bool {
        REGION_FAMILIES.iter().all(|family| {
            family.seeds.iter().all(|seed| self.explore(family.name, &family.model(*seed, fault), go_on))
        })
    }

    /// Runs random schedules of random configurations, all of them chosen by a seed.
    pub fn at_random(&mut self, seed: u64, request: &ConfigRequest, go_on: &mut GoOn) {
        self.all_at_random(seed, Some(request), None, go_on);
    }

    /// The same for entities, for regions with a deliberate fault or none, or for both in turns.
    pub(crate) fn all_at_random(
        &mut self,
        seed: u64,
        entities: Option<&ConfigRequest>,
        regions: Option<RegionFault>,
        go_on: &mut GoOn,
    ) {
        let end = self.schedules_max.unwrap_or(u64::MAX);
        for (turn, first) in (0..end).step_by(WALKS).enumerate() {
            if !go_on(self) {
                return;
            }
            let numbers = first..end.min(first + WALKS as u64);
            let is_violated = match (entities, regions) {
                (Some(request), None) => self.walks(seed, numbers, &|seed| any_config(seed, request)),
                (Some(request), Some(_)) if turn % 2 == 0 => {
                    self.walks(seed, numbers, &|seed| any_config(seed, request))
                }
                (_, Some(fault)) => self.walks(seed, numbers, &|seed| any_region_model(seed, fault)),
                (None, None) => true,
            };
            if is_violated {
                return;
            }
        }
    }

    /// Runs some random schedules, each in a model of its own. Returns whether one violates a property.
    pub(super) fn walks<M: Model + Send>(
        &mut self,
        seed: u64,
        numbers: Range<u64>,
        any_model: &(dyn Fn(u64) -> M + Sync),
    ) -> bool {
        let walks: Vec<(u64, M, Walked<M::Action>)> = numbers
            .into_par_iter()
            .map(|number| {
                let walk_seed = mix(&[seed, number]);
                let model = any_model(walk_seed);
                let walked = follow(&model, walk_seed).0;
                (number, model, walked)
            })
            .collect();
        walks.into_iter().any(|(number, model, walked)| self.note(seed, number, &model, walked))
    }

    /// Counts a random schedule. Returns whether it violates a property.
    fn note<M: Model>(&mut self, seed: u64, number: u64, model: &M, walked: Walked<M::Action>) -> bool {
        self.schedules += 1;
        self.schedule_actions += walked.actions;
        self.given_up += u64::from(!walked.complete && walked.violation.is_none());
        let Some((violation, schedule)) = walked.violation else { return false };
        let name = format!("random configuration {number} from seed {seed}");
        // Perhaps a shorter schedule of the same configuration has a violation.
        let shorter = search(model, SHORTER_MAX, &mut |_| true).violation;
        self.violation = Some(match shorter {
            Some((violation, schedule)) => counterexample(&name, model, violation, &schedule, true),
            None => counterexample(&name, model, violation, &schedule, false),
        });
        true
    }
}

fn counterexample<M: Model>(
    name: &str,
    model: &M,
    violation: Violation,
    schedule: &[M::Action],
    is_shortest: bool,
) -> Counterexample {
    // Only random schedules were performed in place.
    let (trace, again) = model.replay(schedule, !is_shortest);
    let violation = again.unwrap_or(violation);
    Counterexample { violation, config: model.describe(name), actions: schedule.len(), is_shortest, trace }
}
