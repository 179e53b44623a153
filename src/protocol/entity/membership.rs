//! Island membership at the beginning of an epoch, where the island of a body is part of the result.
//!
//! Bodies migrate at GVT, as always. An entity that is to lose a body waits for that; an island that is to get one waits
//! for the body, and never goes on with other members than those that were decided. A body in no island is an entity by
//! itself.

use std::collections::BTreeMap;

use crate::base::time::Tick;
use crate::protocol::driver::Next;
use crate::protocol::dynamics::BodyIndex;
use crate::protocol::dynamics::Dynamics;
use crate::protocol::effects::Effects;
use crate::protocol::entity::{Entity, Limits};
use crate::protocol::fault::Fault;
use crate::protocol::gvt::VirtualTimes;
use crate::protocol::membership::{Membership, MembershipChange};
use crate::protocol::message::EntityId;

impl<D: Dynamics> Entity<D> {
    /// Sends bodies to the islands they belong to from now on. Returns what comes next instead of a step, if the entity
    /// may not go on; if it may, lowers `limits` to how far.
    pub(in crate::protocol) fn apply_membership(
        &mut self,
        membership: &dyn Membership,
        limits: &mut Limits,
        times: VirtualTimes,
        out: &mut Effects<D>,
    ) -> Option<Next<D>> {
        let lvt = self.lvt();
        if !self.is_free() || lvt >= limits.last_tick || self.bodies_at_lvt().next().is_none() {
            return None;
        }
        if membership.is_boundary(lvt) {
            let waits = match membership.change(lvt, times.lvt_min) {
                Some(change) => self.migrate_leavers(change, lvt, times, out),
                None if self.may_change(lvt - membership.epoch_ticks())
                    && !self.has(Fault::EpochNotAwaited) =>
                {
                    Some(Next::AwaitLvtMin(membership.decided_from(lvt)))
                }
                None => None,
            };
            if waits.is_some() {
                return waits;
            }
        }
        let boundary = membership.boundary_after(lvt);
        let stops = match membership.change(boundary, times.lvt_min) {
            Some(change) => self.is_concerned(change),
            None => self.may_change(boundary - membership.epoch_ticks()) && !self.has(Fault::EpochNotAwaited),
        };
        // Beyond the next boundary only islands may change: a body that flies past a tick touches nothing there.
        let barrier =
            if stops { Some(boundary) } else { self.is_island.then(|| boundary + membership.epoch_ticks()) };
        limits.last_tick = barrier.map_or(limits.last_tick, |barrier| limits.last_tick.min(barrier));
        None
    }

    /// Sends away the bodies that leave at `tick`, which is its LVT, and waits for those that join.
    fn migrate_leavers(
        &mut self,
        change: &MembershipChange,
        tick: Tick,
        times: VirtualTimes,
        out: &mut Effects<D>,
    ) -> Option<Next<D>> {
        let mut leaving: BTreeMap<EntityId, Vec<BodyIndex>> = BTreeMap::new();
        for body in self.bodies_at_lvt() {
            let to = if self.is_island { change.moves.get(&body).copied() } else { change.joined_by(body) };
            if let Some(to) = to.filter(|to| *to != self.id) {
                leaving.entry(to).or_default().push(body);
            }
        }
        if !leaving.is_empty() {
            if times.gvt < tick {
                return Some(Next::AwaitLvtMin(tick));
            }
            let leaving: Vec<_> = leaving.into_iter().map(|(to, bodies)| (bodies, to)).collect();
            self.migrate_to(&leaving, times.gvt, out);
            return Some(Next::AwaitAcks);
        }
        let expected = change.islands.get(&self.id)?;
        let is_complete = self.bodies_at_lvt().eq(expected.iter().copied());
        (!is_complete && !self.has(Fault::IslandIncomplete)).then_some(Next::AwaitAcks)
    }

    /// Whether a body may have to move one epoch after `tick`: a body outside islands that touches nothing at the tick
    /// that decides joins none.
    fn may_change(&self, tick: Tick) -> bool {
        let touched = || self.history.iter().any(|segment| segment.last == tick && segment.touches());
        self.is_island || touched()
    }

    /// Whether a body leaves it or joins it.
    fn is_concerned(&self, change: &MembershipChange) -> bool {
        match self.is_island {
            true => change.islands.contains_key(&self.id),
            false => self.bodies_at_lvt().any(|body| change.joined_by(body).is_some()),
        }
    }

    /// The bodies it has at its LVT, ascending.
    fn bodies_at_lvt(&self) -> impl Iterator<Item = BodyIndex> {
        let cluster = match (self.history.latest(), &self.origin) {
            (Some(latest), _) => latest.cluster().as_slice(),
            (None, Some(origin)) => origin.cluster.as_slice(),
            (None, None) => &[],
        };
        cluster.iter().map(|(body, _)| *body)
    }
}
