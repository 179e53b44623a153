//! How much each worker has to say about a body that it shares.

use crate::overlap::graph::{ConstraintGraph, Walk};
use crate::overlap::settings::WeightRule;
use crate::overlap::worker_set::WorkerSet;

/// Writes the weights of the workers of a shared body, in ascending order of workers: they are not negative, and
/// their sum is one up to rounding.
///
/// A worker counts as the inverse of the number of constraints between the body and the nearest that lives in that
/// worker alone. What is not found within `beta` constraints counts as if it were just beyond.
pub fn weigh(
    rule: WeightRule,
    graph: &ConstraintGraph,
    sets: &[WorkerSet],
    body: u32,
    beta: u32,
    walk: &mut Walk,
    weights: &mut Vec<f64>,
) {
    let workers = sets[body as usize];
    weights.clear();
    if rule == WeightRule::Equal || workers.len() == 1 {
        weights.resize(workers.len() as usize, 1.0 / f64::from(workers.len()));
        return;
    }
    weights.extend(workers.iter().map(|_| 1.0 / f64::from(beta + 1)));
    let mut missing = workers;
    walk.from(graph, body, beta, |other, distance| {
        let alone = sets[other as usize];
        if alone.len() == 1 && alone.is_within(missing) {
            missing = missing.without(alone);
            let index = workers.iter().position(|worker| alone.contains(worker));
            if let Some(index) = index {
                weights[index] = 1.0 / f64::from(distance);
            }
        }
        !missing.is_empty()
    });
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(links: u32) -> ConstraintGraph {
        ConstraintGraph::new(links as usize, (1..links).map(|k| (k - 1, k)))
    }

    fn weights_of(sets: &[WorkerSet], body: u32, beta: u32) -> Vec<f64> {
        let mut weights = Vec::new();
        let graph = chain(sets.len() as u32);
        weigh(WeightRule::Geodesic, &graph, sets, body, beta, &mut Walk::default(), &mut weights);
        weights
    }

    #[test]
    fn the_middle_of_a_symmetric_chain_belongs_to_both_alike() {
        let (left, right) = (WorkerSet::one(0), WorkerSet::one(1));
        let sets = [left, left, left.union(right), right, right];
        assert_eq!(weights_of(&sets, 2, 4), [0.5, 0.5]);
    }

    #[test]
    fn the_nearer_worker_counts_more() {
        let (left, right) = (WorkerSet::one(0), WorkerSet::one(1));
        let both = left.union(right);
        let sets = [left, both, both, both, right];
        assert_eq!(weights_of(&sets, 1, 4), [0.75, 0.25]);
        assert_eq!(weights_of(&sets, 2, 4), [0.5, 0.5]);
        assert_eq!(weights_of(&sets, 3, 4), [0.25, 0.75]);
    }

    #[test]
    fn what_is_not_found_counts_as_just_beyond_sight() {
        let (left, right) = (WorkerSet::one(0), WorkerSet::one(1));
        let both = left.union(right);
        let sets = [left, both, both, both, both, both, right];
        let weights = weights_of(&sets, 1, 2);
        assert!((weights[0] - 0.75).abs() < 1e-15, "{weights:?}");
        // Nothing found at all: all alike.
        assert_eq!(weights_of(&[both, both], 0, 3), [0.5, 0.5]);
    }
}
