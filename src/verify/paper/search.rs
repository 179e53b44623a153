//! The shortest way to what the published algorithm gets wrong.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::Xxh3;

use super::machine::{Flaw, Machine, Move, Reading, reference};

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// Nothing can happen any more, and not everybody is at the end.
    Deadlock,
    /// A committed state that is not the reference's.
    WrongCommit,
}

/// A way to something wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The world in which it was found.
    pub reading: Reading,
    /// How many moves it takes.
    pub moves: usize,
    /// How many states were seen until it was found.
    pub states: u64,
    /// The way, a line for each thing that happens.
    pub story: Vec<String>,
    /// What is wrong at its end.
    pub end: Vec<String>,
}

/// A state on the way, and how it was reached.
struct Reached {
    machine: Machine,
    origin: Option<(usize, Move)>,
}

/// Looks for the shortest way to something wrong, in worlds that differ in their seeds, and keeps the shortest of
/// all. States in which something else is wrong already are not gone on from.
pub fn find(reading: &Reading, sought: Sought, seeds: u64, states_max: usize) -> Option<Finding> {
    let mut best: Option<Finding> = None;
    for seed in 0..seeds {
        let reading = Reading { seed, ..*reading };
        let depth_max = best.as_ref().map_or(usize::MAX, |best| best.moves);
        if let Some(found) = find_in(&reading, sought, states_max, depth_max) {
            best = Some(found);
        }
    }
    best
}

fn find_in(reading: &Reading, sought: Sought, states_max: usize, depth_max: usize) -> Option<Finding> {
    let truth = reference(reading);
    let mut reached = vec![Reached { machine: Machine::new(reading), origin: None }];
    let mut known = HashSet::from([print(&reached[0].machine)]);
    let (mut at, mut level_end, mut depth) = (0, 1, 0);
    while at < reached.len() && reached.len() < states_max {
        if at == level_end {
            (level_end, depth) = (reached.len(), depth + 1);
        }
        let machine = reached[at].machine.clone();
        let moves = machine.moves(reading);
        let is_found = match sought {
            Sought::Deadlock => moves.is_empty() && !machine.is_over(reading) && machine.flaw.is_none(),
            Sought::WrongCommit => matches!(machine.flaw, Some(Flaw::WrongCommit { .. })),
        };
        if is_found {
            return Some(tell(reading, &truth, &reached, at));
        }
        // A wrong commit does not stop the run: whoever looks for a deadlock goes on.
        let goes_on = machine.flaw.is_none() && depth + 1 < depth_max;
        for next in moves.into_iter().filter(|_| goes_on) {
            let mut follower = machine.clone();
            follower.make(reading, &truth, next, &mut Vec::new());
            if sought == Sought::Deadlock && matches!(follower.flaw, Some(Flaw::WrongCommit { .. })) {
                follower.flaw = None;
            }
            if known.insert(print(&follower)) {
                reached.push(Reached { machine: follower, origin: Some((at, next)) });
            }
        }
        at += 1;
    }
    None
}

fn print(machine: &Machine) -> u128 {
    /// Takes in everything that is hashed.
    struct Wide(Xxh3);
    impl Hasher for Wide {
        fn finish(&self) -> u64 {
            self.0.digest()
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
    }
    let mut wide = Wide(Xxh3::new());
    machine.hash(&mut wide);
    wide.0.digest128()
}

fn tell(reading: &Reading, truth: &[Vec<(i64, u64)>], reached: &[Reached], end: usize) -> Finding {
    let mut way = Vec::new();
    let mut at = end;
    while let Some((before, next)) = reached[at].origin {
        way.push(next);
        at = before;
    }
    way.reverse();
    let mut machine = Machine::new(reading);
    let mut story = Vec::new();
    for (number, next) in way.iter().enumerate() {
        let mut notes = Vec::new();
        machine.make(reading, truth, *next, &mut notes);
        for (line, note) in notes.into_iter().enumerate() {
            story.push(if line == 0 {
                format!("{:>4}. {note}", number + 1)
            } else {
                format!("      {note}")
            });
        }
    }
    let end = match machine.flaw {
        Some(Flaw::WrongCommit { tick, body }) => {
            vec![format!("tick {tick} is committed, and body {body} is not where the reference has it")]
        }
        _ => machine.waiting(),
    };
    Finding { reading: *reading, moves: way.len(), states: reached.len() as u64, story, end }
}
