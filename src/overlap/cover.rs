//! The invariant of sharing: every body lives in a worker, and every constraint has one in which both its ends live.

use crate::overlap::worker_set::WorkerSet;

/// What is covered by no worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncovered {
    /// A body.
    Body(u32),
    /// A joint or contact between two bodies.
    Constraint(u32, u32),
}

/// Looks for something that no worker covers.
pub fn uncovered(sets: &[WorkerSet], mut edges: impl Iterator<Item = (u32, u32)>) -> Option<Uncovered> {
    if let Some(body) = sets.iter().position(|set| set.is_empty()) {
        return Some(Uncovered::Body(body as u32));
    }
    let is_open = |&(a, b): &(u32, u32)| sets[a as usize].common(sets[b as usize]).is_empty();
    edges.find(is_open).map(|(a, b)| Uncovered::Constraint(a, b))
}
