//! Moving house at the beginning of an epoch, where who lives where is part of the result.
//!
//! Bodies move at global virtual time, like all that are handed over. Whoever is to lose one waits for that; a group
//! that is to get one waits for the body, and never goes on with a cluster that is not the one that was decided. Those in
//! no group may share clocks as they like.

use std::collections::BTreeMap;

use crate::base::time::Tick;
use crate::protocol::driver::Next;
use crate::protocol::dynamics::{BodyIndex, Dynamics};
use crate::protocol::effects::Effects;
use crate::protocol::entity::{Entity, Limits};
use crate::protocol::gvt::VirtualTimes;
use crate::protocol::membership::{Membership, MembershipChange};
use crate::protocol::message::EntityId;

impl<D: Dynamics> Entity<D> {
    /// To be called before every step: hands over who lives elsewhere from now on. What to do instead of a step if it
    /// may not go on; if it may, only as far as `limits` say then.
    pub(in crate::protocol) fn apply_membership(
        &mut self,
        membership: &dyn Membership,
        limits: &mut Limits,
        now: VirtualTimes,
        out: &mut Effects<D>,
    ) -> Option<Next<D>> {
        let lvt = self.lvt();
        if !self.is_free() || lvt >= limits.last_tick || self.crew_at_lvt().next().is_none() {
            return None;
        }
        if membership.is_boundary(lvt) {
            let waits = match membership.change(lvt, now.lvt_min) {
                Some(change) => self.migrate_leavers(change, lvt, now, out),
                None if self.may_move(lvt - membership.epoch()) => {
                    Some(Next::AwaitLvtMin(membership.decided_from(lvt)))
                }
                None => None,
            };
            if waits.is_some() {
                return waits;
            }
        }
        let boundary = membership.boundary_after(lvt);
        let stops = match membership.change(boundary, now.lvt_min) {
            Some(change) => self.is_concerned(change),
            None => self.may_move(boundary - membership.epoch()),
        };
        // Beyond the next one only groups may move: whoever flies past a tick touches nothing there. Who goes on from
        // contact to contact looks again when it gets there.
        limits.alone_until = boundary;
        let barrier =
            if stops { Some(boundary) } else { self.is_island.then(|| boundary + membership.epoch()) };
        limits.last_tick = barrier.map_or(limits.last_tick, |barrier| limits.last_tick.min(barrier));
        None
    }

    /// Hands over who moves out at `tick`, where it stands, and waits for who moves in.
    fn migrate_leavers(
        &mut self,
        change: &MembershipChange,
        tick: Tick,
        now: VirtualTimes,
        out: &mut Effects<D>,
    ) -> Option<Next<D>> {
        let mut migrations_out: BTreeMap<EntityId, Vec<BodyIndex>> = BTreeMap::new();
        for place in self.crew_at_lvt() {
            let to = if self.is_island { change.moves.get(&place).copied() } else { change.joined_by(place) };
            if let Some(to) = to.filter(|to| *to != self.id) {
                migrations_out.entry(to).or_default().push(place);
            }
        }
        if !migrations_out.is_empty() {
            if now.gvt < tick {
                return Some(Next::AwaitLvtMin(tick));
            }
            let migrations_out: Vec<_> =
                migrations_out.into_iter().map(|(to, bodies)| (bodies, to)).collect();
            self.migrate_to(&migrations_out, now.gvt, out);
            return Some(Next::AwaitAcks);
        }
        let expected = change.clusters.get(&self.id)?;
        let is_complete = self.crew_at_lvt().eq(expected.iter().copied());
        (!is_complete).then_some(Next::AwaitAcks)
    }

    /// Whether somebody may have to move an epoch after `tick`: who is not in a group and touches nobody at a tick
    /// that decides will not be asked to join one.
    fn may_move(&self, tick: Tick) -> bool {
        let touched = || self.history.iter().any(|segment| segment.last == tick && segment.touches());
        self.is_island || touched()
    }

    /// Whether somebody leaves it or joins it then.
    fn is_concerned(&self, change: &MembershipChange) -> bool {
        match self.is_island {
            true => change.clusters.contains_key(&self.id),
            false => self.crew_at_lvt().any(|place| change.joined_by(place).is_some()),
        }
    }

    /// The bodies it has at its local virtual time, ascending.
    fn crew_at_lvt(&self) -> impl Iterator<Item = BodyIndex> {
        let cluster = match (self.history.latest(), &self.origin) {
            (Some(latest), _) => latest.cluster().as_slice(),
            (None, Some(origin)) => origin.cluster.as_slice(),
            (None, None) => &[],
        };
        cluster.iter().map(|(place, _)| *place)
    }
}
