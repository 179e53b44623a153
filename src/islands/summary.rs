//! What a bridge has to say for itself. The same for every executor.

use serde::Serialize;

/// Groups and hand-overs of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct IslandSummary {
    /// How many workers share a group.
    pub workers: u32,
    /// Ticks from one decision to the next.
    pub epoch_ticks: u64,
    /// Groups that came into being.
    pub groups: u64,
    /// Most groups at a time.
    pub groups_max: u32,
    /// Bodies handed to a group.
    pub joined: u64,
    /// Bodies handed back.
    pub freed: u64,
    /// Bodies handed from group to group.
    pub moved: u64,
    /// Different bodies that were ever in a group.
    pub bodies: u32,
    /// Most bodies in groups at a time.
    pub bodies_max: u32,
    /// Ticks that bodies spent in groups, summed over bodies.
    pub body_ticks: u64,
}
