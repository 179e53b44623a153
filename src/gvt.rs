//! The GVT aggregator: commits the frames that global virtual time has passed, in order, each once, and lets go of what
//! no frame will need.

use std::ops::ControlFlow;

use crate::base::frame::Frame;
use crate::base::time::Tick;
use crate::runtime::error::RunError;
use crate::runtime::shared::Shared;

/// Hands out frames as global virtual time passes them.
pub struct GvtAggregator {
    next: Tick,
    /// The log was last cleared of what no frame needs at this tick.
    cleared: Tick,
    /// The table was last swept at this tick.
    swept: Tick,
    /// A body that is no longer finite ends the run.
    failure: Option<RunError>,
}

/// The table is swept as often as this.
const SWEEP_EVERY: Tick = 64;
/// If frames are rarer than this many ticks, the log is cleared between them.
const CLEAR_EVERY: Tick = 16;

impl GvtAggregator {
    /// The tick of the next frame.
    pub fn next(&self) -> Tick {
        self.next
    }

    /// The first frame is that of tick 0.
    pub fn new() -> Self {
        GvtAggregator { next: 0, cleared: 0, swept: 0, failure: None }
    }

    /// Hands out every frame up to `gvt` that has not been handed out.
    pub fn emit(
        &mut self,
        shared: &Shared,
        gvt: Tick,
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while self.next <= gvt.min(shared.limits.last_tick) {
            let frame = shared.log.frame(&shared.model.world, self.next);
            if let Some((body, _)) = frame.bodies.iter().find(|(_, state)| !state.is_finite()) {
                self.failure = Some(RunError::not_finite(*body, frame.tick));
                return ControlFlow::Break(());
            }
            sink(frame)?;
            self.cleared = self.next;
            self.next += u64::from(shared.model.world.time.ticks_per_frame);
        }
        if let Some(epochs) = &shared.epochs {
            epochs.look(&shared.model.world, &shared.log, gvt.min(shared.limits.last_tick));
        }
        if gvt >= self.swept + SWEEP_EVERY {
            shared.table.sweep(gvt);
            self.swept = gvt;
        }
        if gvt >= self.cleared + CLEAR_EVERY {
            shared.log.clear_before(gvt);
            self.cleared = gvt;
        }
        ControlFlow::Continue(())
    }

    /// Why it broke off by itself, if it did.
    pub fn failure(self) -> Result<(), RunError> {
        self.failure.map_or(Ok(()), Err)
    }
}

impl Default for GvtAggregator {
    fn default() -> Self {
        Self::new()
    }
}
