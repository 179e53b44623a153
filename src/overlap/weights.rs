//! The weights of the copies of a shared body.

use crate::overlap::graph::{ConstraintGraph, Walk};
use crate::overlap::settings::WeightRule;
use crate::overlap::worker_set::WorkerSet;

/// Writes the weights of the workers of a shared body, in ascending order of workers. No weight is negative, and their sum
/// is one up to rounding.
///
/// The weight of a worker is proportional to the inverse of the number of constraints between the body and the nearest body
/// that lives in that worker alone. If none is found within `beta` constraints, it counts as `beta + 1` away.
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
    fn the_middle_of_a_symmetric_chain_has_equal_weights() {
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
    fn a_worker_that_is_not_found_counts_as_one_beyond_beta() {
        let (left, right) = (WorkerSet::one(0), WorkerSet::one(1));
        let both = left.union(right);
        let sets = [left, both, both, both, both, both, right];
        let weights = weights_of(&sets, 1, 2);
        assert!((weights[0] - 0.75).abs() < 1e-15, "{weights:?}");
        // No worker is found at all: equal weights.
        assert_eq!(weights_of(&[both, both], 0, 3), [0.5, 0.5]);
    }
}
