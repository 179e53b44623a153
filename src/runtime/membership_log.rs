//! The island membership of all epochs decided so far: written by one thread, read by all.

use crate::base::time::Tick;
use crate::protocol::{Membership, MembershipChange};

/// All decisions so far.
pub struct MembershipLog {
    epoch: u64,
    groups: usize,
    changes: boxcar::Vec<MembershipChange>,
}

impl MembershipLog {
    /// Nothing is decided yet. IslandEpochs are `epoch` ticks long, and there are at most `groups` islands.
    pub fn new(epoch: u64, groups: usize) -> Self {
        MembershipLog { epoch: epoch.max(1), groups, changes: boxcar::Vec::new() }
    }

    /// Most islands there can be.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The tick whose states decide about the epoch after it, next.
    pub fn next(&self) -> Tick {
        self.changes.count() as u64 * self.epoch
    }

    /// Decides which bodies move at the beginning of the epoch after [`MembershipLog::next`]. One caller at a time.
    pub fn decide(&self, change: MembershipChange) {
        self.changes.push(change);
    }
}

impl Membership for MembershipLog {
    fn epoch_ticks(&self) -> u64 {
        self.epoch
    }

    fn decision(&self, number: usize) -> Option<&MembershipChange> {
        self.changes.get(number)
    }
}
