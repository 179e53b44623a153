//! Virtual time as the protocol sees it: how far the slowest entity has come, and what is settled for ever.

use crate::base::time::Tick;

/// How far the run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtualTimes {
    /// Global virtual time: everything up to this tick is settled for ever.
    pub gvt: Tick,
    /// The lowest local virtual time, as far as is known. The same, unless more ticks are to be kept unsettled
    /// for those who act late.
    pub lvt_min: Tick,
}
