//! The GVT aggregator: commits the frames that global virtual time has passed, in order, each once, and lets go of what
//! no frame will need.

use std::ops::ControlFlow;

use crate::base::frame::Frame;
use crate::base::time::Tick;
use crate::runtime::error::RunError;
use crate::runtime::shared::Commons;

/// Hands out frames as global virtual time passes them.
pub struct FrameFeed {
    next: Tick,
    /// The log was last cleared of what no frame needs at this tick.
    cleared: Tick,
    /// The table was last swept at this tick.
    swept: Tick,
    /// A body that is no longer finite ends the run.
    trouble: Option<RunError>,
}

/// The table is swept as often as this.
const SWEEP_EVERY: Tick = 64;
/// If frames are rarer than this many ticks, the log is cleared between them.
const CLEAR_EVERY: Tick = 16;

impl FrameFeed {
    /// The tick of the next frame.
    pub fn next(&self) -> Tick {
        self.next
    }

    /// The first frame is that of tick 0.
    pub fn new() -> Self {
        FrameFeed { next: 0, cleared: 0, swept: 0, trouble: None }
    }

    /// Hands out every frame up to `gvt` that has not been handed out.
    pub fn emit(
        &mut self,
        commons: &Commons,
        gvt: Tick,
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while self.next <= gvt.min(commons.limits.last_tick) {
            let frame = commons.log.frame(&commons.model.world, self.next);
            if let Some((body, _)) = frame.bodies.iter().find(|(_, state)| !state.is_finite()) {
                self.trouble = Some(RunError::not_finite(*body, frame.tick));
                return ControlFlow::Break(());
            }
            sink(frame)?;
            self.cleared = self.next;
            self.next += u64::from(commons.model.world.time.ticks_per_frame);
        }
        if let Some(epochs) = &commons.epochs {
            epochs.look(&commons.model.world, &commons.log, gvt.min(commons.limits.last_tick));
        }
        if gvt >= self.swept + SWEEP_EVERY {
            commons.table.sweep(gvt);
            self.swept = gvt;
        }
        if gvt >= self.cleared + CLEAR_EVERY {
            commons.log.clear_before(gvt);
            self.cleared = gvt;
        }
        ControlFlow::Continue(())
    }

    /// Why it broke off by itself, if it did.
    pub fn trouble(self) -> Result<(), RunError> {
        self.trouble.map_or(Ok(()), Err)
    }
}

impl Default for FrameFeed {
    fn default() -> Self {
        Self::new()
    }
}
