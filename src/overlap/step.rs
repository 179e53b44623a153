//! What a worker gets before it steps, and what it returns.

use std::sync::Arc;

use crate::base::state::BodyState;
use crate::overlap::engine::Engine;
use crate::physics::island_solver::{Impulses, ManifoldLists, StepCounts, WarmStart};

/// Bytes of a body's index and state where they are sent to a worker.
pub const STATE_BYTES: u64 = 4 + 13 * 8;

/// Everything a worker needs for one tick.
#[derive(Clone, Default)]
pub struct StepTask {
    /// Bodies that the worker advances from this tick on, and their states.
    pub activate: Vec<(u32, BodyState)>,
    /// Bodies that the worker no longer advances.
    pub deactivate: Vec<u32>,
    /// Shared bodies that the worker keeps, and their blended states.
    pub reset: Vec<(u32, BodyState)>,
    /// Impulses of the previous workers of activated bodies.
    pub warm_starts: Vec<WarmStart>,
    /// The contacts between all bodies of the scene, of which the worker takes its own; `None` if it has to find them.
    pub contacts: Option<ManifoldLists>,
    /// The bodies of the worker, ascending.
    pub bodies: Arc<Vec<u32>>,
    /// Memory for [`StepResult::states`]; its content is discarded.
    pub buffer: Vec<BodyState>,
}

/// What a worker returns after a tick.
#[derive(Clone, Default)]
pub struct StepResult {
    /// The states of its bodies, in the order of [`StepTask::bodies`].
    pub states: Vec<BodyState>,
    /// Counts of the tick.
    pub counts: StepCounts,
    /// The impulses the tick ended with, if the engine has any to export.
    pub impulses: Option<Arc<Impulses>>,
    /// Warm-start impulses imported from other workers, in bytes.
    pub imported_bytes: u64,
    /// Processor time of the tick, seconds; zero if the operating system does not report it.
    pub cpu_s: f64,
}

impl StepTask {
    /// Advances the worker's bodies by one tick. Without bodies the engine does not step.
    pub fn run(self, engine: &mut dyn Engine) -> StepResult {
        for body in &self.deactivate {
            engine.deactivate(*body);
        }
        for (body, state) in &self.activate {
            engine.activate(*body, state);
        }
        for (body, state) in &self.reset {
            engine.set_state(*body, state);
        }
        if let Some(contacts) = &self.contacts {
            engine.set_contacts(contacts);
        }
        let (point_bytes, joint_bytes) = Impulses::BYTES;
        let mut imported_bytes = 0;
        for warm_start in &self.warm_starts {
            let (points, joints) = engine.import_warm_start(warm_start);
            imported_bytes += points as u64 * point_bytes + joints as u64 * joint_bytes;
        }
        let counts = if self.bodies.is_empty() { StepCounts::default() } else { engine.step() };
        let mut states = self.buffer;
        states.clear();
        states.extend(self.bodies.iter().map(|body| engine.state(*body)));
        StepResult { states, counts, impulses: engine.impulses(), imported_bytes, cpu_s: 0.0 }
    }

    /// Bytes that the states in this task take where they are sent.
    pub fn bytes(&self) -> u64 {
        (self.activate.len() + self.reset.len()) as u64 * STATE_BYTES + self.deactivate.len() as u64 * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::math::Vec3;

    /// Logs its calls.
    #[derive(Default)]
    struct LoggingEngine(Vec<String>);

    impl Engine for LoggingEngine {
        fn activate(&mut self, body: u32, state: &BodyState) {
            self.0.push(format!("activate {body} at {}", state.x.x));
        }
        fn deactivate(&mut self, body: u32) {
            self.0.push(format!("deactivate {body}"));
        }
        fn set_state(&mut self, body: u32, state: &BodyState) {
            self.0.push(format!("set {body} to {}", state.x.x));
        }
        fn state(&self, body: u32) -> BodyState {
            BodyState::at_rest(Vec3::x() * f64::from(body))
        }
        fn step(&mut self) -> StepCounts {
            self.0.push("step".to_owned());
            StepCounts::default()
        }
        fn import_warm_start(&mut self, warm_start: &WarmStart) -> (usize, usize) {
            self.0.push(format!("import_warm_start {:?}", warm_start.places));
            (2, 1)
        }
        fn set_contacts(&mut self, contacts: &ManifoldLists) {
            self.0.push(format!("set_contacts {}", contacts.len()));
        }
    }

    #[test]
    fn a_task_is_applied_before_the_engine_steps() {
        let at = |x: f64| BodyState::at_rest(Vec3::x() * x);
        let task = StepTask {
            activate: vec![(4, at(4.5))],
            deactivate: vec![7],
            reset: vec![(2, at(2.5))],
            warm_starts: vec![WarmStart { places: vec![4], impulses: Arc::default() }],
            contacts: Some(Arc::default()),
            bodies: Arc::new(vec![2, 4]),
            buffer: vec![at(9.0)],
        };
        let mut engine = LoggingEngine::default();
        let result = task.clone().run(&mut engine);
        let expected = [
            "deactivate 7",
            "activate 4 at 4.5",
            "set 2 to 2.5",
            "set_contacts 0",
            "import_warm_start [4]",
            "step",
        ];
        assert_eq!(engine.0, expected);
        assert_eq!(result.states, [at(2.0), at(4.0)]);
        let (point, joint) = Impulses::BYTES;
        assert_eq!(result.imported_bytes, 2 * point + joint);
        let empty = StepTask { bodies: Arc::default(), ..task };
        let mut idle = LoggingEngine::default();
        assert!(empty.run(&mut idle).states.is_empty() && !idle.0.contains(&"step".to_owned()));
    }
}
