//! Islands over a whole run. The same for every executor.

use serde::Serialize;

/// Islands and changes of membership over a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct IslandSummary {
    /// The number of workers that share an island.
    pub workers: u32,
    /// The ticks of an epoch.
    pub epoch_ticks: u64,
    /// Islands that were formed.
    pub islands: u64,
    /// The largest number of islands at a time.
    pub islands_max: u32,
    /// How often a free body joined an island.
    pub bodies_joined: u64,
    /// How often a body left its island and came free.
    pub bodies_freed: u64,
    /// How often a body moved from one island to another.
    pub bodies_moved: u64,
    /// Bodies that were in an island at least once.
    pub bodies: u32,
    /// The largest number of bodies in islands at a time.
    pub bodies_max: u32,
    /// Ticks that bodies spent in islands, summed over bodies.
    pub body_ticks: u64,
}
