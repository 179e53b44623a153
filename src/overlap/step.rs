//! What a worker is told before a tick, and what it tells after.

use std::sync::Arc;

use crate::base::state::BodyState;
use crate::overlap::engine::Engine;
use crate::physics::island_solver::{Impulses, ManifoldLists, StepCounts, WarmStart};

/// Bytes of a body's place and state where they are sent.
pub const STATE_BYTES: u64 = 4 + 13 * 8;

/// What a worker is told before a tick.
#[derive(Clone, Default)]
pub struct StepTask {
    /// Bodies that take part from now on.
    pub activate: Vec<(u32, BodyState)>,
    /// Bodies that no longer do.
    pub deactivate: Vec<u32>,
    /// Shared bodies, put into their blended state.
    pub reset: Vec<(u32, BodyState)>,
    /// What others remember of those that are new.
    pub shares: Vec<WarmStart>,
    /// Who are_near, if that is known; the worker's own are told apart by the worker.
    pub told: Option<ManifoldLists>,
    /// The bodies of the worker, ascending.
    pub bodies: Arc<Vec<u32>>,
    /// Room for the answer.
    pub room: Vec<BodyState>,
}

/// What a worker tells after a tick.
#[derive(Clone, Default)]
pub struct StepResult {
    /// The states of its bodies, in the order of [`StepTask::bodies`].
    pub states: Vec<BodyState>,
    /// What the tick consisted of.
    pub counts: StepCounts,
    /// What it remembers.
    pub impulses: Option<Arc<Impulses>>,
    /// Remembered impulses it took over, in bytes.
    pub adopted_bytes: u64,
    /// Processor time of the tick, seconds; zero where the operating system does not say.
    pub cpu_s: f64,
}

impl StepTask {
    /// Does what was ordered. A worker without bodies has nothing to do.
    pub fn carry_out(self, engine: &mut dyn Engine) -> StepResult {
        for place in &self.deactivate {
            engine.deactivate(*place);
        }
        for (place, state) in &self.activate {
            engine.activate(*place, state);
        }
        for (place, state) in &self.reset {
            engine.set_state(*place, state);
        }
        if let Some(told) = &self.told {
            engine.tell(told);
        }
        let (point_bytes, joint_bytes) = Impulses::BYTES;
        let mut adopted_bytes = 0;
        for shares in &self.shares {
            let (points, joints) = engine.import_warm_start(shares);
            adopted_bytes += points as u64 * point_bytes + joints as u64 * joint_bytes;
        }
        let counts = if self.bodies.is_empty() { StepCounts::default() } else { engine.step() };
        let mut states = self.room;
        states.clear();
        states.extend(self.bodies.iter().map(|place| engine.state(*place)));
        StepResult { states, counts, impulses: engine.impulses(), adopted_bytes, cpu_s: 0.0 }
    }

    /// Bytes that these orders take where they are sent.
    pub fn bytes(&self) -> u64 {
        (self.activate.len() + self.reset.len()) as u64 * STATE_BYTES + self.deactivate.len() as u64 * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::math::Vec3;

    /// Writes down what it is asked to do.
    #[derive(Default)]
    struct Clerk(Vec<String>);

    impl Engine for Clerk {
        fn activate(&mut self, place: u32, state: &BodyState) {
            self.0.push(format!("activate {place} at {}", state.x.x));
        }
        fn deactivate(&mut self, place: u32) {
            self.0.push(format!("deactivate {place}"));
        }
        fn set_state(&mut self, place: u32, state: &BodyState) {
            self.0.push(format!("set {place} to {}", state.x.x));
        }
        fn state(&self, place: u32) -> BodyState {
            BodyState::at_rest(Vec3::x() * f64::from(place))
        }
        fn step(&mut self) -> StepCounts {
            self.0.push("step".to_owned());
            StepCounts::default()
        }
        fn import_warm_start(&mut self, shares: &WarmStart) -> (usize, usize) {
            self.0.push(format!("import_warm_start {:?}", shares.places));
            (2, 1)
        }
        fn tell(&mut self, told: &ManifoldLists) {
            self.0.push(format!("told {}", told.len()));
        }
    }

    #[test]
    fn everything_that_is_ordered_is_done_before_the_tick() {
        let at = |x: f64| BodyState::at_rest(Vec3::x() * x);
        let orders = StepTask {
            activate: vec![(4, at(4.5))],
            deactivate: vec![7],
            reset: vec![(2, at(2.5))],
            shares: vec![WarmStart { places: vec![4], impulses: Arc::default() }],
            told: Some(Arc::default()),
            bodies: Arc::new(vec![2, 4]),
            room: vec![at(9.0)],
        };
        let mut clerk = Clerk::default();
        let answer = orders.clone().carry_out(&mut clerk);
        let expected =
            ["deactivate 7", "activate 4 at 4.5", "set 2 to 2.5", "told 0", "import_warm_start [4]", "step"];
        assert_eq!(clerk.0, expected);
        assert_eq!(answer.states, [at(2.0), at(4.0)]);
        let (point, joint) = Impulses::BYTES;
        assert_eq!(answer.adopted_bytes, 2 * point + joint);
        let nobody = StepTask { bodies: Arc::default(), ..orders };
        let mut idle = Clerk::default();
        assert!(nobody.carry_out(&mut idle).states.is_empty() && !idle.0.contains(&"step".to_owned()));
    }
}
