//! Every state of a model, breadth first: the first violation that is found is one with the fewest actions.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rayon::prelude::*;

use crate::verify::config::ModelConfig;
use crate::verify::model::Model;
use crate::verify::property::{Property, Violation};
use crate::verify::state::Action;

/// Number of states that are expanded in parallel before their successors are looked up. Not tuned.
const BATCH: usize = 2048;

/// What [`explore`] found.
#[derive(Clone, Debug)]
pub struct Explored<A = Action> {
    /// Number of different states.
    pub states: u64,
    /// Number of transitions from one state to another.
    pub transitions: u64,
    /// Largest distance of a state from the initial one, in actions.
    pub depth: u64,
    /// Number of terminal states, in which nothing can happen any more.
    pub ends: u64,
    /// Whether all states were visited.
    pub complete: bool,
    /// The first violation, and the shortest schedule that leads to it.
    pub violation: Option<(Violation, Vec<A>)>,
}

impl<A> Default for Explored<A> {
    fn default() -> Self {
        Explored { states: 0, transitions: 0, depth: 0, ends: 0, complete: false, violation: None }
    }
}

/// Fingerprints are hashes already, so they are their own hashes.
#[derive(Default)]
struct FingerprintHasher(u64);

impl Hasher for FingerprintHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("invariant: only fingerprints are hashed");
    }

    fn write_u128(&mut self, fingerprint: u128) {
        self.0 = fingerprint as u64;
    }
}

/// The states visited so far, numbered in the order in which they were found, and the transitions between them.
struct StateGraph {
    known: HashMap<u128, u32, BuildHasherDefault<FingerprintHasher>>,
    /// For each state: the state it was found from, and which of that state's actions leads to it.
    origin: Vec<(u32, u16)>,
    /// Successors of all states, one state after another.
    successors: Vec<u32>,
    /// Where the successors of each state begin.
    first_successor: Vec<usize>,
}

/// One state expanded.
struct Expanded<S> {
    successors: Vec<(u128, S)>,
    violation: Option<Violation>,
}

/// Visits every state of a model, until there are more than `states_max`. `may_go_on` sees the progress from time to
/// time, and ends the exploration by returning `false`.
pub fn explore(
    config: &ModelConfig,
    states_max: u64,
    may_go_on: &mut (dyn FnMut(&Explored) -> bool + Send),
) -> Explored {
    search(config, states_max, may_go_on)
}

/// [`explore`] for any model.
pub fn search<'m, M: Model>(
    model: &'m M,
    states_max: u64,
    may_go_on: &mut (dyn FnMut(&Explored<M::Action>) -> bool + Send),
) -> Explored<M::Action> {
    let start = model.start();
    let mut graph = StateGraph::new(model.fingerprint(&start));
    let mut explored = Explored { states: 1, ..Explored::default() };
    let mut level = vec![(0u32, start)];
    while !level.is_empty() {
        let mut next_level: Vec<(u32, M::State<'m>)> = Vec::new();
        let mut rest = level.into_iter();
        loop {
            let batch: Vec<(u32, M::State<'m>)> = rest.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                break;
            }
            let expanded: Vec<Expanded<M::State<'m>>> =
                batch.par_iter().map(|(_, state)| expand(model, state)).collect();
            for ((id, _), Expanded { successors, violation }) in batch.iter().zip(expanded) {
                if let Some(violation) = violation {
                    explored.violation = Some((violation, graph.schedule(model, *id)));
                    return explored;
                }
                explored.ends += u64::from(successors.is_empty());
                explored.transitions += successors.len() as u64;
                graph.add(*id, successors, &mut next_level);
            }
            explored.states = graph.known.len() as u64;
            if explored.states > states_max || !may_go_on(&explored) {
                return explored;
            }
        }
        explored.depth += u64::from(!next_level.is_empty());
        level = next_level;
    }
    explored.complete = true;
    if let Some(id) = graph.on_cycle() {
        let how = "the state at the end of this schedule can be reached again and again".to_owned();
        explored.violation =
            Some((Violation { property: Property::EveryWayEnds, how }, graph.schedule(model, id)));
    }
    explored
}

/// The successors of a state; and if there are none, whether the state is a good end.
fn expand<'m, M: Model>(model: &'m M, state: &M::State<'m>) -> Expanded<M::State<'m>> {
    if let Some(violation) = model.violation(state) {
        return Expanded { successors: Vec::new(), violation: Some(violation.clone()) };
    }
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    let violation = if actions.is_empty() { model.check_end(state).err() } else { None };
    let successor = |action: &M::Action| {
        let successor = model.after(state, *action);
        (model.fingerprint(&successor), successor)
    };
    Expanded { successors: actions.iter().map(successor).collect(), violation }
}

impl StateGraph {
    /// A graph of the initial state alone.
    fn new(start: u128) -> Self {
        let mut known: HashMap<u128, u32, _> = HashMap::default();
        known.insert(start, 0);
        StateGraph { known, origin: vec![(0, 0)], successors: Vec::new(), first_successor: Vec::new() }
    }

    /// Adds the successors of state `id`. States that are new go to `next_level` as well.
    fn add<S>(&mut self, id: u32, successors: Vec<(u128, S)>, next_level: &mut Vec<(u32, S)>) {
        self.first_successor.push(self.successors.len());
        for (number, (fingerprint, successor)) in successors.into_iter().enumerate() {
            let new_id = self.known.len() as u32;
            let known_id = *self.known.entry(fingerprint).or_insert(new_id);
            self.successors.push(known_id);
            if known_id == new_id {
                self.origin.push((id, number as u16));
                next_level.push((new_id, successor));
            }
        }
    }

    /// The shortest schedule from the initial state to a state.
    fn schedule<M: Model>(&self, model: &M, id: u32) -> Vec<M::Action> {
        let mut numbers = Vec::new();
        let mut at = id;
        while at != 0 {
            let (before, number) = self.origin[at as usize];
            numbers.push(number);
            at = before;
        }
        let mut state = model.start();
        let (mut schedule, mut actions) = (Vec::new(), Vec::new());
        for number in numbers.into_iter().rev() {
            model.actions(&state, &mut actions);
            let next = actions[number as usize];
            state = model.after(&state, next);
            schedule.push(next);
        }
        schedule
    }

    /// A state on a cycle, or one that only a cycle leads to. States without predecessors are removed until none is
    /// left, or only these (Kahn's algorithm).
    fn on_cycle(&self) -> Option<u32> {
        let count = self.origin.len();
        let mut predecessors = vec![0u32; count];
        self.successors.iter().for_each(|to| predecessors[*to as usize] += 1);
        let mut free: Vec<u32> = (0..count as u32).filter(|id| predecessors[*id as usize] == 0).collect();
        let mut removed = 0;
        while let Some(id) = free.pop() {
            removed += 1;
            let begin = self.first_successor[id as usize];
            let end = self.first_successor.get(id as usize + 1).copied().unwrap_or(self.successors.len());
            for to in &self.successors[begin..end] {
                predecessors[*to as usize] -= 1;
                if predecessors[*to as usize] == 0 {
                    free.push(*to);
                }
            }
        }
        (removed < count).then(|| (0..count as u32).find(|id| predecessors[*id as usize] > 0)).flatten()
    }
}
