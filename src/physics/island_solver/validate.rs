//! Invariants of the island solver, checked in debug builds before and after every solve.

use crate::physics::contact::{Impulses, cache_order};
use crate::physics::island_solver::solver::IslandSolver;

impl IslandSolver {
    /// Checks that active bodies and contacts are in order, that indices are in range, and that impulses are finite and
    /// none pulls. Takes time linear in bodies, contacts and joints.
    pub(super) fn validate(&self) -> Result<(), String> {
        let bodies = self.world.bodies.len();
        if !self.active.is_sorted_by(|a, b| a < b) {
            return Err("active bodies are not in ascending order".into());
        }
        if self.active.last().is_some_and(|last| *last as usize >= bodies) {
            return Err(format!("active body {:?} of {bodies} bodies", self.active.last()));
        }
        let slots = self.active.len() + 1;
        if self.masses.len() != slots || self.motions.len() != slots {
            return Err(format!(
                "{slots} slots, {} masses, {} velocities",
                self.masses.len(),
                self.motions.len()
            ));
        }
        let key = |at: usize| cache_order((self.found[at].a, self.found[at].b));
        if let Some(at) = (1..self.found.len()).find(|at| key(at - 1) >= key(*at)) {
            return Err(format!("contacts {} and {at} are not in ascending order", at - 1));
        }
        let all_finite = self.active.iter().all(|body| self.states[*body as usize].is_finite());
        if !all_finite {
            // Reported by the executor, with the body and the tick.
            return Ok(());
        }
        validate_impulses(&self.impulses)?;
        self.contacts.validate(slots)
    }
}

fn validate_impulses(impulses: &Impulses) -> Result<(), String> {
    let Impulses { points, joints } = impulses;
    if !points.is_sorted_by_key(|point| cache_order(point.pair)) {
        return Err("cached points are not in ascending order".into());
    }
    if !joints.is_sorted_by(|a, b| a.joint < b.joint) {
        return Err("cached joints are not in ascending order".into());
    }
    let is_valid = |impulse: f64| impulse.is_finite() && impulse >= 0.0;
    if let Some(point) = points.iter().find(|point| !is_valid(point.normal) || !is_valid(point.separation)) {
        return Err(format!("a cached impulse pulls or is not finite: {point:?}"));
    }
    if let Some(joint) = joints.iter().find(|joint| !joint.rows.iter().all(|row| row.is_finite())) {
        return Err(format!("a cached impulse is not finite: {joint:?}"));
    }
    Ok(())
}
