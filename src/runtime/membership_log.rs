//! The island membership of all epochs decided so far: written by one thread, read by all.

use crate::base::time::Tick;
use crate::protocol::{Membership, MembershipChange};

/// All decisions so far.
pub struct MembershipLog {
    /// Length of an epoch, ticks.
    epoch_ticks: u64,
    /// Most islands there can be at a time.
    islands_max: usize,
    changes: boxcar::Vec<MembershipChange>,
}

impl MembershipLog {
    /// An empty log. Epochs are `epoch_ticks` long, and there are at most `islands_max` islands.
    pub fn new(epoch_ticks: u64, islands_max: usize) -> Self {
        MembershipLog { epoch_ticks: epoch_ticks.max(1), islands_max, changes: boxcar::Vec::new() }
    }

    /// Most islands there can be at a time.
    pub fn islands_max(&self) -> usize {
        self.islands_max
    }

    /// The tick of the next decision: an epoch begins there, and its states decide the next one.
    pub fn next(&self) -> Tick {
        self.changes.count() as u64 * self.epoch_ticks
    }

    /// Adds the decision at the tick [`MembershipLog::next`]. One caller at a time.
    pub fn decide(&self, change: MembershipChange) {
        self.changes.push(change);
    }
}

impl Membership for MembershipLog {
    fn epoch_ticks(&self) -> u64 {
        self.epoch_ticks
    }

    fn decision(&self, number: usize) -> Option<&MembershipChange> {
        self.changes.get(number)
    }
}
