//! Virtual time as the protocol sees it, and the service that keeps it.
//!
//! Every entity that is not retired has a local virtual time (LVT), and so has every input on its way. Global virtual time
//! (GVT) is a lower bound of all of them that never falls: what lies at or below it is committed. In one process the
//! service is a histogram in shared memory (`src/runtime/lvt_histogram.rs`); between processes it can be a reduction
//! over messages.

use crate::base::time::Tick;

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtualTimes {
    /// Global virtual time: everything up to this tick is committed for ever.
    pub gvt: Tick,
    /// The lowest LVT, as far as is known. Equal to GVT, unless more ticks are kept open for late inputs.
    pub lvt_min: Tick,
}

/// Keeps the LVT of all entities, and GVT.
pub trait GvtService: Send + Sync {
    /// GVT and the lowest LVT.
    fn times(&self) -> VirtualTimes;

    /// Adds an LVT. Only for an entity or an input that is brought in by another with an LVT, or a pin, that is no higher.
    fn add(&self, at: Tick);

    /// Removes an LVT. Whether that may have been the last one at the minimum: then call [`GvtService::advance`].
    fn remove(&self, from: Tick) -> bool;

    /// Pins GVT for an input that acts at `tick`: GVT does not pass that tick before the returned tick is removed. The
    /// error is GVT, if that has passed already. Call [`GvtService::advance`] afterwards: a search for a higher
    /// minimum may have been put off.
    fn pin(&self, tick: Tick) -> Result<Tick, Tick>;

    /// Looks for a higher minimum; the new times if there is one.
    fn advance(&self) -> Option<VirtualTimes>;

    /// Lets GVT rise up to `tick`. Call [`GvtService::advance`] afterwards.
    fn set_ceiling(&self, tick: Tick);

    /// The highest LVT, looked for up to `window` ticks above the lowest.
    fn farthest(&self, window: u64) -> Tick;

    /// Everything up to this tick is committed for ever.
    fn gvt(&self) -> Tick {
        self.times().gvt
    }

    /// Moves an LVT, or adds or removes one. The new one is visible before the old one goes. Whether the minimum may
    /// have risen.
    fn shift(&self, from: Option<Tick>, to: Option<Tick>) -> bool {
        if let Some(to) = to {
            self.add(to);
        }
        from.is_some_and(|from| self.remove(from))
    }
}
