//! The island membership of all epochs decided so far: written by one thread, read by all.

use crate::base::time::Tick;
use crate::protocol::{Homes, Removal};

/// All decisions so far.
pub struct MembershipLog {
    epoch: u64,
    groups: usize,
    removals: boxcar::Vec<Removal>,
}

impl MembershipLog {
    /// Nothing is decided yet. Epochs are `epoch` ticks long, and there are at most `groups` islands.
    pub fn new(epoch: u64, groups: usize) -> Self {
        MembershipLog { epoch: epoch.max(1), groups, removals: boxcar::Vec::new() }
    }

    /// Most islands there can be.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The tick whose states decide about the epoch after it, next.
    pub fn next(&self) -> Tick {
        self.removals.count() as u64 * self.epoch
    }

    /// Decides which bodies move at the beginning of the epoch after [`MembershipLog::next`]. One caller at a time.
    pub fn decide(&self, removal: Removal) {
        self.removals.push(removal);
    }
}

impl Homes for MembershipLog {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn decision(&self, number: usize) -> Option<&Removal> {
        self.removals.get(number)
    }
}
