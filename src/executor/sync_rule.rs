//! When a region may go on, and what all regions have passed: the same for threads, adversarial orders and the model.

use crate::base::time::Tick;
use crate::store::RegionFault;

/// When a region may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncRule {
    /// Within a window ahead of global virtual time.
    Optimistic,
    /// When its neighbours have finished the tick before.
    Conservative,
}

/// Whether all neighbours have published that they are done with what is before the tick `lvt`, each after all its
/// messages about earlier ticks were delivered.
#[inline]
pub fn are_past(lvt: Tick, mut of_neighbours: impl Iterator<Item = Tick>, fault: RegionFault) -> bool {
    let early = Tick::from(fault == RegionFault::ConservativeTooEarly);
    of_neighbours.all(|tick| tick + early >= lvt)
}

impl SyncRule {
    /// Whether a region may begin the tick `lvt`. `are_past`: whether its neighbours are.
    #[inline]
    pub fn may_go_on(
        self,
        lvt: Tick,
        (gvt, window): (Tick, Tick),
        are_past: impl FnOnce() -> bool,
        fault: RegionFault,
    ) -> bool {
        match self {
            SyncRule::Optimistic => lvt < gvt + window && !(lvt == gvt && fault == RegionFault::LowestHeld),
            SyncRule::Conservative => are_past(),
        }
    }
}

/// Global virtual time: no region is at a lower tick, and no message under way is about one. What is given must hold for
/// one moment.
#[inline]
pub fn global_virtual_time(
    lvts: impl Iterator<Item = Tick>,
    messages: impl Iterator<Item = Tick>,
    fault: RegionFault,
) -> Tick {
    let counted = messages.filter(|_| fault != RegionFault::GvtIgnoresMessages);
    lvts.chain(counted).min().unwrap_or(0)
}
