//! The invariant of sharing: every body lives in a worker, and both bodies of every constraint live in a common worker.

use crate::overlap::worker_set::WorkerSet;

/// A part of the scene that no worker covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncovered {
    /// A body that lives in no worker.
    Body(u32),
    /// A joint or contact between two bodies without a common worker.
    Constraint(u32, u32),
}

/// Finds the first body, or else the first constraint, that no worker covers.
pub fn uncovered(sets: &[WorkerSet], mut edges: impl Iterator<Item = (u32, u32)>) -> Option<Uncovered> {
    if let Some(body) = sets.iter().position(|set| set.is_empty()) {
        return Some(Uncovered::Body(body as u32));
    }
    let is_open = |&(a, b): &(u32, u32)| sets[a as usize].common(sets[b as usize]).is_empty();
    edges.find(is_open).map(|(a, b)| Uncovered::Constraint(a, b))
}
