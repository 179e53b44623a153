//! Every state there is, nearest first: the first violation property that is found is violation in as few moves as
//! possible.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rayon::prelude::*;

use crate::verify::config::ModelConfig;
use crate::verify::property::{Property, Violation};
use crate::verify::state::{Action, ModelState};

/// So many states are looked at before their followers are put together.
const BATCH: usize = 2048;

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// States.
    pub states: u64,
    /// Moves from one to another.
    pub moves: u64,
    /// Most moves from the beginning to any state, each by its shortest way.
    pub depth: u64,
    /// States in which nothing can happen any more.
    pub ends: u64,
    /// Whether that was all.
    pub complete: bool,
    /// The first property that was violation, and the shortest way there.
    pub violation: Option<(Violation, Vec<Action>)>,
}

/// Prints are random enough to be their own hashes.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("invariant: only prints are hashed");
    }

    fn write_u128(&mut self, print: u128) {
        self.0 = print as u64;
    }
}

/// The states that have been seen: where each was reached from, and where each leads.
struct StateGraph {
    known: HashMap<u128, u32, BuildHasherDefault<AsIs>>,
    /// The state before, and which of its moves leads here.
    origin: Vec<(u32, u16)>,
    /// Followers of all states, one after another, and where those of each state begin.
    followers: Vec<u32>,
    begins: Vec<usize>,
}

/// What one state leads to.
struct Looked {
    followers: Vec<(u128, ModelState)>,
    violation: Option<Violation>,
}

/// Looks at every state of a config, up to so many. `go_on` is shown how far it has come, and may say no.
pub fn explore(
    config: &ModelConfig,
    states_max: u64,
    go_on: &mut (dyn FnMut(&Explored) -> bool + Send),
) -> Explored {
    let start = ModelState::new(config);
    let mut atlas = StateGraph {
        known: HashMap::default(),
        origin: vec![(0, 0)],
        followers: Vec::new(),
        begins: Vec::new(),
    };
    atlas.known.insert(start.fingerprint(config), 0);
    let mut explored = Explored { states: 1, ..Explored::default() };
    let mut level = vec![(0u32, start)];
    while !level.is_empty() {
        let mut next: Vec<(u32, ModelState)> = Vec::new();
        let mut rest = level.into_iter();
        loop {
            let batch: Vec<(u32, ModelState)> = rest.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                break;
            }
            let looked: Vec<Looked> = batch.par_iter().map(|(_, state)| look(config, state)).collect();
            for ((id, _), Looked { followers, violation }) in batch.iter().zip(looked) {
                if let Some(violation) = violation {
                    explored.violation = Some((violation, atlas.way(config, *id)));
                    return explored;
                }
                atlas.begins.push(atlas.followers.len());
                explored.ends += u64::from(followers.is_empty());
                explored.moves += followers.len() as u64;
                for (number, (print, follower)) in followers.into_iter().enumerate() {
                    let fresh = atlas.known.len() as u32;
                    let at = *atlas.known.entry(print).or_insert(fresh);
                    atlas.followers.push(at);
                    if at == fresh {
                        atlas.origin.push((*id, number as u16));
                        next.push((fresh, follower));
                    }
                }
            }
            explored.states = atlas.known.len() as u64;
            if explored.states > states_max || !go_on(&explored) {
                return explored;
            }
        }
        explored.depth += u64::from(!next.is_empty());
        level = next;
    }
    explored.complete = true;
    if let Some(id) = atlas.on_a_circle() {
        let how = "the state at the end of this way comes again and again".to_owned();
        explored.violation =
            Some((Violation { property: Property::EveryWayEnds, how }, atlas.way(config, id)));
    }
    explored
}

/// What a state leads to; and if it is an end, whether it is a good one.
fn look(config: &ModelConfig, state: &ModelState) -> Looked {
    if let Some(violation) = state.violation() {
        return Looked { followers: Vec::new(), violation: Some(violation.clone()) };
    }
    let mut moves = Vec::new();
    state.moves(config, &mut moves);
    let violation = if moves.is_empty() { state.check_end(config).err() } else { None };
    let follow = |next: &Action| {
        let follower = state.after(config, *next);
        (follower.fingerprint(config), follower)
    };
    Looked { followers: moves.iter().map(follow).collect(), violation }
}

impl StateGraph {
    /// The shortest way from the beginning to a state.
    fn way(&self, config: &ModelConfig, id: u32) -> Vec<Action> {
        let mut numbers = Vec::new();
        let mut at = id;
        while at != 0 {
            let (before, number) = self.origin[at as usize];
            numbers.push(number);
            at = before;
        }
        let mut state = ModelState::new(config);
        let (mut way, mut moves) = (Vec::new(), Vec::new());
        for number in numbers.into_iter().rev() {
            state.moves(config, &mut moves);
            let next = moves[number as usize];
            state = state.after(config, next);
            way.push(next);
        }
        way
    }

    /// A state that leads to itself, if there is one: states are taken away that nothing leads to, until none is
    /// left or only those on circles and behind them.
    fn on_a_circle(&self) -> Option<u32> {
        let count = self.origin.len();
        let mut leading = vec![0u32; count];
        self.followers.iter().for_each(|to| leading[*to as usize] += 1);
        let mut free: Vec<u32> = (0..count as u32).filter(|id| leading[*id as usize] == 0).collect();
        let mut taken = 0;
        while let Some(id) = free.pop() {
            taken += 1;
            let begin = self.begins[id as usize];
            let end = self.begins.get(id as usize + 1).copied().unwrap_or(self.followers.len());
            for to in &self.followers[begin..end] {
                leading[*to as usize] -= 1;
                if leading[*to as usize] == 0 {
                    free.push(*to);
                }
            }
        }
        (taken < count).then(|| (0..count as u32).find(|id| leading[*id as usize] > 0)).flatten()
    }
}
