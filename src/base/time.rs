//! Simulated time: integer ticks, and how they map to seconds and frames. No wall clock here.

/// A point in simulated time, counted in ticks from the start of the scene.
pub type Tick = u64;

/// How ticks relate to seconds and to frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeBase {
    /// Length of one tick in seconds.
    pub tick_s: f64,
    /// A frame is emitted at every multiple of this many ticks, tick 0 included.
    pub ticks_per_frame: u32,
    /// The last tick of the run. Contacts there are detected, not applied.
    pub last_tick: Tick,
}

impl TimeBase {
    /// Time between ticks `from` and `to` in seconds. Never accumulated, so the same for every path between them.
    #[inline]
    pub fn span_s(&self, from: Tick, to: Tick) -> f64 {
        (to - from) as f64 * self.tick_s
    }

    /// Whether a frame is emitted at `tick`.
    #[inline]
    pub fn is_frame(&self, tick: Tick) -> bool {
        tick.is_multiple_of(u64::from(self.ticks_per_frame))
    }

    /// Number of frames of the whole run.
    pub fn frame_count(&self) -> u64 {
        self.last_tick / u64::from(self.ticks_per_frame) + 1
    }
}
