//! Frames: the committed states of all bodies at one tick. A run emits each frame once, in order.

use crate::base::ids::BodyId;
use crate::base::state::BodyState;
use crate::base::time::{Tick, TimeBase};

/// The committed states of all bodies at one frame tick, in ascending body id.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Number of the frame, from 0.
    pub index: u64,
    /// The tick it shows.
    pub tick: Tick,
    /// The simulated time it shows, in seconds.
    pub time_s: f64,
    /// Every body that exists at this tick, in ascending id.
    pub bodies: Vec<(BodyId, BodyState)>,
}

impl Frame {
    /// The frame at a frame tick. Bodies in ascending id.
    pub fn new(time: &TimeBase, tick: Tick, bodies: Vec<(BodyId, BodyState)>) -> Self {
        Frame { index: tick / u64::from(time.ticks_per_frame), tick, time_s: time.span_s(0, tick), bodies }
    }

    /// The state of one body, if it exists in this frame.
    pub fn state(&self, id: BodyId) -> Option<&BodyState> {
        self.bodies.binary_search_by_key(&id, |(id, _)| *id).ok().map(|at| &self.bodies[at].1)
    }
}
