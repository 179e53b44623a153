//! Inputs of executors with one thread, which empty the queue between any two handlers.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::runtime::inputs::{InputError, InputSink, QueuedInput};
use crate::runtime::shared::Shared;

/// Inputs that have been admitted and not been handled yet.
pub(crate) struct InputQueue {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    /// Inputs that pin GVT, or are about to, and have not come yet.
    expected: u32,
    /// Inputs, each with the tick at which it pins GVT.
    inputs: Vec<(Tick, QueuedInput)>,
}

impl InputQueue {
    /// An empty queue.
    pub fn new(shared: Arc<Shared>) -> Self {
        InputQueue { shared, state: Mutex::default() }
    }

    /// Ends the run: inputs are rejected from now on.
    pub fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Removes and returns all inputs, each with the tick at which it pins GVT.
    pub fn take_all(&self) -> Vec<(Tick, QueuedInput)> {
        std::mem::take(&mut self.lock().inputs)
    }

    /// Whether there are inputs to be handled, or some are about to come.
    pub fn is_expecting(&self) -> bool {
        let state = self.lock();
        state.expected > 0 || !state.inputs.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl InputSink for InputQueue {
    fn pin(&self, tick: Tick) -> Result<Tick, InputError> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(InputError::Over);
        }
        state.expected += 1;
        drop(state);
        self.shared.gvt.pin(tick).map_err(|gvt| {
            self.lock().expected -= 1;
            InputError::Committed { tick, gvt }
        })
    }

    fn take(&self, pinned: Tick, entry: QueuedInput) {
        let mut state = self.lock();
        state.expected -= 1;
        state.inputs.push((pinned, entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physics::{BodyInput, InputKind, World};
    use crate::rigid::RigidModel;
    use crate::runtime::shared::Tuning;
    use crate::scene::{Body, Scene, Shape};

    /// An input is expected from before it pins GVT until it is handled; one that comes too late never comes.
    #[test]
    fn an_input_is_expected_until_it_is_handled() {
        let mut scene = Scene { seconds: 1.0, ..Scene::default() };
        scene.bodies.push(Body::new(Shape::Sphere { radius: 0.5 }, [0.0; 3]));
        let model = RigidModel::new(Arc::new(World::new(&scene).expect("the scene is valid")));
        let (shared, _) = Shared::new(&model, &Tuning::default(), &[]);
        let queue = InputQueue::new(Arc::new(shared));
        assert!(!queue.is_expecting());
        let pinned = queue.pin(5).expect("tick 5 is in the future");
        assert!(queue.is_expecting() && queue.take_all().is_empty());
        let input = BodyInput { body: 0, kind: InputKind::Despawn };
        queue.take(pinned, QueuedInput { tick: 5, number: 0, input });
        assert!(queue.is_expecting());
        assert_eq!(queue.take_all().len(), 1);
        assert!(!queue.is_expecting());
        let shared = &queue.shared;
        shared.gvt.shift(Some(0), Some(20));
        shared.gvt.remove(pinned);
        shared.gvt.advance();
        assert_eq!(queue.pin(5), Err(InputError::Committed { tick: 5, gvt: 20 }));
        assert!(!queue.is_expecting());
    }
}
