//! What a worker is told before a tick, and what it tells after.

use std::sync::Arc;

use super::engine::Engine;
use crate::solver::{Impulses, Shares, StepCounts, Told};
use crate::state::BodyState;

/// Bytes of a body's place and state where they are sent.
pub const STATE_BYTES: u64 = 4 + 13 * 8;

/// What a worker is told before a tick.
#[derive(Clone, Default)]
pub struct Orders {
    /// Bodies that take part from now on.
    pub activate: Vec<(u32, BodyState)>,
    /// Bodies that no longer do.
    pub deactivate: Vec<u32>,
    /// Shared bodies, put into their blended state.
    pub reset: Vec<(u32, BodyState)>,
    /// What others remember of those that are new.
    pub shares: Vec<Shares>,
    /// Who meets, if that is known; the worker's own are told apart by the worker.
    pub told: Option<Told>,
    /// The bodies of the worker, ascending.
    pub bodies: Arc<Vec<u32>>,
    /// Room for the answer.
    pub room: Vec<BodyState>,
}

/// What a worker tells after a tick.
#[derive(Clone, Default)]
pub struct Answer {
    /// The states of its bodies, in the order of [`Orders::bodies`].
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

impl Orders {
    /// Does what was ordered. A worker without bodies has nothing to do.
    pub fn carry_out(self, engine: &mut dyn Engine) -> Answer {
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
            let (points, joints) = engine.adopt(shares);
            adopted_bytes += points as u64 * point_bytes + joints as u64 * joint_bytes;
        }
        let counts = if self.bodies.is_empty() { StepCounts::default() } else { engine.step() };
        let mut states = self.room;
        states.clear();
        states.extend(self.bodies.iter().map(|place| engine.state(*place)));
        Answer { states, counts, impulses: engine.impulses(), adopted_bytes, cpu_s: 0.0 }
    }

    /// Bytes that these orders take where they are sent.
    pub fn bytes(&self) -> u64 {
        (self.activate.len() + self.reset.len()) as u64 * STATE_BYTES + self.deactivate.len() as u64 * 4
    }
}
