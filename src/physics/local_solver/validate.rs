//! Invariants of the local solver, checked in debug builds before and after every solve.

use crate::physics::contact::{ContactPair, Partner};
use crate::physics::local_solver::pair::ContactPairs;
use crate::physics::local_solver::solver::{Body, LocalSolver};

impl LocalSolver {
    /// Checks that indices are in range, that pairs and sums are in order, and that impulses are finite and do not pull.
    /// Takes time linear in bodies and pairs.
    pub(super) fn validate(&self, bodies: &[Body], pairs: &ContactPairs) -> Result<(), String> {
        let (records, constraints) = (pairs.records(), pairs.constraints());
        if records.len() != constraints.len() {
            return Err(format!("{} pairs have {} constraints", records.len(), constraints.len()));
        }
        if self.sums.len() != bodies.len() {
            return Err(format!("{} bodies have {} sums", bodies.len(), self.sums.len()));
        }
        for (at, record) in records.iter().enumerate() {
            check_sides(&record.pair, bodies).map_err(|error| format!("pair {at}: {error}"))?;
        }
        let key = |pair: &ContactPair| (pair.b.is_none(), bodies[pair.a as usize].body.id, pair.partner);
        if let Some(at) = records.windows(2).position(|two| key(&two[0].pair) >= key(&two[1].pair)) {
            return Err(format!("pairs {at} and {} are not in ascending order", at + 1));
        }
        for (index, sums) in self.sums.iter().enumerate() {
            let own = sums.pairs(&self.order);
            let is_side = |at: &u32| records[*at as usize].pair.sides().any(|side| side as usize == index);
            if !own.is_sorted_by(|a, b| a < b) || !own.iter().all(is_side) {
                return Err(format!("the sums of body {index} are not in ascending order"));
            }
        }
        let all_finite = bodies.iter().all(|body| body.state.is_finite());
        let broken = constraints.iter().position(|constraint| !constraint.has_valid_impulses());
        match broken {
            Some(at) if all_finite => Err(format!("pair {at}: an impulse pulls or is not finite")),
            // What follows from a state that is not finite is reported by the executor, with the body and the tick.
            Some(_) | None => Ok(()),
        }
    }
}

fn check_sides(pair: &ContactPair, bodies: &[Body]) -> Result<(), String> {
    if let Some(side) = pair.sides().find(|side| *side as usize >= bodies.len()) {
        return Err(format!("body {side} of {} bodies", bodies.len()));
    }
    match (pair.b, pair.partner) {
        (Some(b), Partner::Body(id)) if bodies[b as usize].body.id != id => {
            Err(format!("the second side is {}, not {id}", bodies[b as usize].body.id))
        }
        (Some(_), Partner::Body(id)) if bodies[pair.a as usize].body.id >= id => {
            Err(format!("{} comes before {id}", bodies[pair.a as usize].body.id))
        }
        (Some(_), Partner::Body(_)) | (None, Partner::Static(_)) => Ok(()),
        (Some(_), Partner::Static(_)) | (None, Partner::Body(_)) => {
            Err("the second side is either a body or static geometry".into())
        }
    }
}
