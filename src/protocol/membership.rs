//! Island membership per epoch, if it is part of the result. Decided from committed states before any entity reaches the
//! epoch; never revised.
//!
//! A decision is about the tick at which an epoch begins. It is made when GVT has come to the beginning of the epoch
//! before, and GVT rises no farther until it is made; so the lowest LVT says which decisions there are. Only a body that
//! touches another at the tick that decides can be asked to move, and such a body does not pass the beginning of an
//! epoch before the decision is known; so no decision ever causes a rollback.

use std::collections::BTreeMap;

use super::message::EntityId;
use crate::base::time::Tick;
use crate::protocol::dynamics::BodyIndex;

/// Which bodies move at the beginning of an epoch. Islands have entities of their own; a body that comes free goes to an
/// the entity of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MembershipChange {
    /// Bodies that move, and the entity each is in from then on.
    pub moves: BTreeMap<BodyIndex, EntityId>,
    /// Islands that gain or lose a body, and all their bodies from then on, ascending.
    pub islands: BTreeMap<EntityId, Vec<BodyIndex>>,
}

impl MembershipChange {
    /// The island that a body joins.
    pub fn joined_by(&self, body: BodyIndex) -> Option<EntityId> {
        self.moves.get(&body).copied().filter(|to| self.islands.contains_key(to))
    }
}

/// All decisions so far, as an entity looks them up.
pub trait Membership: Sync {
    /// Length of an epoch, ticks.
    fn epoch_ticks(&self) -> u64;

    /// The decision with this number, if it has been made; the first is about the beginning of the second epoch.
    fn decision(&self, number: usize) -> Option<&MembershipChange>;

    /// Whether an epoch begins at a tick, other than the first.
    fn is_boundary(&self, tick: Tick) -> bool {
        tick > 0 && tick.is_multiple_of(self.epoch_ticks())
    }

    /// The first tick after `tick` at which an epoch begins.
    fn boundary_after(&self, tick: Tick) -> Tick {
        (tick / self.epoch_ticks() + 1) * self.epoch_ticks()
    }

    /// The lowest LVT from which on the change at `boundary` is decided.
    fn decided_from(&self, boundary: Tick) -> Tick {
        boundary - self.epoch_ticks() + 1
    }

    /// The change at `boundary`, if it is decided.
    fn change(&self, boundary: Tick, lvt_min: Tick) -> Option<&MembershipChange> {
        let is_decided = lvt_min >= self.decided_from(boundary);
        self.decision((boundary / self.epoch_ticks() - 1) as usize).filter(|_| is_decided)
    }
}
