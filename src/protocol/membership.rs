//! Who lives where from which tick on, if that is part of the result: decided for good, epoch by epoch, before anybody
//! gets there.
//!
//! A decision is about a tick at which an epoch begins. It is made when global virtual time has come to the beginning
//! of the epoch before, and global virtual time goes no farther until it is made. So the lowest local virtual time
//! says which decisions there are. Only those can be asked to move who touched somebody at the tick that decided, and
//! these do not go past the beginning of an epoch before they know; so nobody has to be taken back over a decision.

use std::collections::BTreeMap;

use super::dynamics::BodyIndex;
use super::message::EntityId;
use crate::base::time::Tick;

/// Who moves at the beginning of an epoch. Groups have entities of their own; whoever comes free goes to the entity
/// of the same number as the body, and from there wherever it likes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MembershipChange {
    /// Bodies that move, and where they live from then on.
    pub moves: BTreeMap<BodyIndex, EntityId>,
    /// Groups that somebody joins or leaves, and all who belong to them from then on, ascending.
    pub clusters: BTreeMap<EntityId, Vec<BodyIndex>>,
}

impl MembershipChange {
    /// The group that a body joins.
    pub fn joined_by(&self, body: BodyIndex) -> Option<EntityId> {
        self.moves.get(&body).copied().filter(|to| self.clusters.contains_key(to))
    }
}

/// All decisions so far, as an entity may look them up.
pub trait Membership: Sync {
    /// Ticks of an epoch.
    fn epoch(&self) -> u64;

    /// The decision with this number, if it has been made; the first is about the beginning of the second epoch.
    fn decision(&self, number: usize) -> Option<&MembershipChange>;

    /// Whether somebody may move at a tick.
    fn is_boundary(&self, tick: Tick) -> bool {
        tick > 0 && tick.is_multiple_of(self.epoch())
    }

    /// The first tick after `tick` at which somebody may move.
    fn boundary_after(&self, tick: Tick) -> Tick {
        (tick / self.epoch() + 1) * self.epoch()
    }

    /// The lowest local virtual time that says that it is decided who moves at `boundary`.
    fn decided_from(&self, boundary: Tick) -> Tick {
        boundary - self.epoch() + 1
    }

    /// Who moves at `boundary`, if that is decided.
    fn change(&self, boundary: Tick, lvt_min: Tick) -> Option<&MembershipChange> {
        let is_decided = lvt_min >= self.decided_from(boundary);
        self.decision((boundary / self.epoch() - 1) as usize).filter(|_| is_decided)
    }
}
