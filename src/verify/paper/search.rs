//! Search for the shortest schedule in which the published algorithm fails.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::Xxh3;

use super::machine::{Flaw, Machine, Reading, Transition, reference};

/// The kind of flaw that is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// Nothing can happen any more, and GVT is below the last tick.
    Deadlock,
    /// A committed state that is not the reference's.
    WrongCommit,
}

/// A schedule that shows a flaw.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The reading and the model in which it was found.
    pub reading: Reading,
    /// Number of transitions of the schedule.
    pub transitions: usize,
    /// Number of states explored before it was found.
    pub states: u64,
    /// The schedule in words, a line for each thing that happens.
    pub trace: Vec<String>,
    /// What is wrong at the end of the schedule.
    pub end: Vec<String>,
}

/// A state that was explored, and how it was reached.
struct Reached {
    machine: Machine,
    /// The state before it and the transition; `None` for the initial state.
    origin: Option<(usize, Transition)>,
}

/// Finds the shortest schedule to a flaw among models that differ in their seeds, `0..seeds`. At most `states_max`
/// states are explored for each seed. States that show another flaw are not expanded.
pub fn find(reading: &Reading, sought: Sought, seeds: u64, states_max: usize) -> Option<Finding> {
    let mut best: Option<Finding> = None;
    for seed in 0..seeds {
        let reading = Reading { seed, ..*reading };
        let depth_max = best.as_ref().map_or(usize::MAX, |best| best.transitions);
        if let Some(found) = find_in(&reading, sought, states_max, depth_max) {
            best = Some(found);
        }
    }
    best
}

fn find_in(reading: &Reading, sought: Sought, states_max: usize, depth_max: usize) -> Option<Finding> {
    let expected = reference(reading);
    let mut reached = vec![Reached { machine: Machine::new(reading), origin: None }];
    let mut known = HashSet::from([fingerprint(&reached[0].machine)]);
    let (mut at, mut level_end, mut depth) = (0, 1, 0);
    while at < reached.len() && reached.len() < states_max {
        if at == level_end {
            (level_end, depth) = (reached.len(), depth + 1);
        }
        let machine = reached[at].machine.clone();
        let transitions = machine.transitions(reading);
        let is_found = match sought {
            Sought::Deadlock => transitions.is_empty() && !machine.is_over(reading) && machine.flaw.is_none(),
            Sought::WrongCommit => matches!(machine.flaw, Some(Flaw::WrongCommit { .. })),
        };
        if is_found {
            return Some(finding(reading, &expected, &reached, at));
        }
        // A wrong commit does not end a run: a search for a deadlock goes on.
        let goes_on = machine.flaw.is_none() && depth + 1 < depth_max;
        for next in transitions.into_iter().filter(|_| goes_on) {
            let mut successor = machine.clone();
            successor.perform(reading, &expected, next, &mut Vec::new());
            if sought == Sought::Deadlock && matches!(successor.flaw, Some(Flaw::WrongCommit { .. })) {
                successor.flaw = None;
            }
            if known.insert(fingerprint(&successor)) {
                reached.push(Reached { machine: successor, origin: Some((at, next)) });
            }
        }
        at += 1;
    }
    None
}

fn fingerprint(machine: &Machine) -> u128 {
    /// A hasher of 128 bits.
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

/// Puts the schedule to the state `end` into words.
fn finding(reading: &Reading, expected: &[Vec<(i64, u64)>], reached: &[Reached], end: usize) -> Finding {
    let mut schedule = Vec::new();
    let mut at = end;
    while let Some((before, next)) = reached[at].origin {
        schedule.push(next);
        at = before;
    }
    schedule.reverse();
    let mut machine = Machine::new(reading);
    let mut trace = Vec::new();
    for (number, next) in schedule.iter().enumerate() {
        let mut notes = Vec::new();
        machine.perform(reading, expected, *next, &mut notes);
        for (line, note) in notes.into_iter().enumerate() {
            trace.push(if line == 0 {
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
    Finding { reading: *reading, transitions: schedule.len(), states: reached.len() as u64, trace, end }
}
