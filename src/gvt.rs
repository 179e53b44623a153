//! The GVT aggregator: follows global virtual time, commits the frames it has passed, in order, each once, and collects
//! what no frame will need (fossil collection of the table and of the flight log).
//!
//! GVT itself is kept by a service behind [`GvtService`](crate::protocol::GvtService); entities collect their own
//! histories when they are polled.

use std::ops::ControlFlow;
use std::time::Duration;

use crossbeam::channel::Receiver;

use crate::base::frame::Frame;
use crate::base::stop::Stop;
use crate::base::time::Tick;
use crate::runtime::error::RunError;
use crate::runtime::network::{Network, Notice};
use crate::runtime::shared::Shared;
use crate::runtime::stats::MemorySampler;
use crate::runtime::trace::Phase;

/// The table is swept once in this many ticks. Not tuned.
const SWEEP_TICKS: Tick = 64;
/// If frames are rarer than this many ticks, the log is cleared between them. Not tuned.
const CLEAR_TICKS: Tick = 16;
/// Frames that may be committed but not yet taken, so that memory stays bounded if the caller is slow. Not tuned.
const FRAMES_AHEAD: u64 = 256;
/// How often to look whether anything is under way, while GVT does not rise. Not tuned.
const LOOK: Duration = Duration::from_millis(100);

/// Takes committed frames.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(Frame) -> ControlFlow<()>;

/// Commits frames as GVT passes them.
pub struct GvtAggregator {
    /// The tick of the next frame.
    next: Tick,
    /// The log was last cleared of what no frame needs at this tick.
    cleared: Tick,
    /// The table was last swept at this tick.
    swept: Tick,
    /// A body that is no longer finite ends the run.
    failure: Option<RunError>,
}

impl Default for GvtAggregator {
    fn default() -> Self {
        Self::new()
    }
}

impl GvtAggregator {
    /// The first frame is that of tick 0.
    pub fn new() -> Self {
        GvtAggregator { next: 0, cleared: 0, swept: 0, failure: None }
    }

    /// The tick of the next frame.
    pub fn next(&self) -> Tick {
        self.next
    }

    /// Commits every frame up to `gvt` that has not been committed, decides island membership where an epoch begins,
    /// and collects fossils.
    pub fn emit(
        &mut self,
        shared: &Shared,
        gvt: Tick,
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while self.next <= gvt.min(shared.limits.last_tick) {
            let frame = shared.log.frame(&shared.model.world, self.next);
            if let Some((body, _)) = frame.bodies.iter().find(|(_, state)| !state.is_finite()) {
                return self.fail(RunError::not_finite(*body, frame.tick));
            }
            sink(frame)?;
            self.cleared = self.next;
            self.next += u64::from(shared.model.world.time.ticks_per_frame);
        }
        if let Some(epochs) = &shared.epochs {
            epochs.decide(&shared.model.world, &shared.log, gvt.min(shared.limits.last_tick));
        }
        if gvt >= self.swept + SWEEP_TICKS {
            shared.table.sweep(gvt);
            self.swept = gvt;
        }
        if gvt >= self.cleared + CLEAR_TICKS {
            shared.log.clear_before(gvt);
            self.cleared = gvt;
        }
        ControlFlow::Continue(())
    }

    /// Ends the run with an error.
    pub(crate) fn fail(&mut self, error: RunError) -> ControlFlow<()> {
        self.failure = Some(error);
        ControlFlow::Break(())
    }

    /// Why it stopped by itself, if it did.
    pub fn failure(self) -> Result<(), RunError> {
        self.failure.map_or(Ok(()), Err)
    }

    /// Commits frames until the run is over, `sink` breaks or a stop is requested. An error if the run has stalled.
    pub(crate) fn follow(
        &mut self,
        network: &Network,
        notices: &Receiver<Notice>,
        takes_inputs: bool,
        stop: &Stop,
        sampler: &mut MemorySampler,
        sink: Sink,
    ) -> Result<ControlFlow<()>, Stalled> {
        let shared = &network.shared;
        let last_tick = shared.limits.last_tick;
        let ahead = FRAMES_AHEAD * u64::from(shared.model.world.time.ticks_per_frame) + shared.limits.window;
        // A caller that watches the frames may act on what they show: then nothing later is committed before they are
        // taken.
        let ceiling = |next: Tick, gvt: Tick| {
            shared.ceiling(if takes_inputs { next } else { gvt + ahead }.min(last_tick))
        };
        shared.gvt.set_ceiling(shared.ceiling(if takes_inputs { 0 } else { ahead.min(last_tick) }));
        if self.emit(shared, 0, sink).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let mut may_act = takes_inputs;
        // What was sent when nothing was under way at the last look.
        let mut quiet_before = None;
        loop {
            if may_act && self.next > last_tick {
                may_act = false;
                // The last frame has been shown: no input can follow from it.
                network.one_done();
            }
            if stop.is_requested() {
                return Ok(ControlFlow::Break(()));
            }
            let gvt = shared.gvt.gvt();
            shared.gvt.set_ceiling(ceiling(self.next, gvt));
            network.advance();
            let notice = notices.recv_timeout(LOOK);
            let gvt = shared.gvt.gvt();
            let since = network.trace_now();
            if self.emit(shared, gvt, sink).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            sampler.sample(shared, network.slots.iter().map(|slot| &slot.counters));
            network.trace_frames(Phase::Frames, gvt, since);
            match notice {
                Ok(Notice::Gvt) => quiet_before = None,
                Ok(Notice::Over) => return Ok(self.drain(shared, sink)),
                // No clock decides: a handler may take as long as it likes. Between two looks this thread has done
                // everything that it can do.
                Err(_) => match network.quiet() {
                    quiet if quiet.is_some() && quiet == quiet_before => return Err(Stalled),
                    quiet => quiet_before = quiet,
                },
            }
        }
    }

    /// Commits what GVT has passed by now, and lets it rise on. For runs without inputs, by a thread that need not wait.
    pub(crate) fn look(&mut self, network: &Network, sink: Sink) -> ControlFlow<()> {
        let shared = &network.shared;
        let ahead = FRAMES_AHEAD * u64::from(shared.model.world.time.ticks_per_frame) + shared.limits.window;
        let ceiling = (shared.gvt.gvt() + ahead).min(shared.limits.last_tick);
        shared.gvt.set_ceiling(shared.ceiling(ceiling));
        network.advance();
        self.emit(shared, shared.gvt.gvt(), sink)
    }

    /// Commits what is left once the run is over: entities may all be done before the last frames are taken.
    pub(crate) fn drain(&mut self, shared: &Shared, sink: Sink) -> ControlFlow<()> {
        let mut before = None;
        loop {
            shared.gvt.set_ceiling(shared.ceiling(shared.limits.last_tick));
            shared.gvt.advance();
            let gvt = shared.gvt.gvt();
            let flow = self.emit(shared, gvt, sink);
            if flow.is_break() || before.replace(gvt) == Some(gvt) {
                return flow;
            }
        }
    }
}

/// No handler runs, no message is on its way, and the run is not over.
#[derive(Debug)]
pub(crate) struct Stalled;
