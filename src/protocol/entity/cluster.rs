//! Regrouping: who keeps touching others joins them, and who is no longer near its crew leaves it.
//!
//! What is observed is committed, and a handover happens at global virtual time. Who shares a clock with whom
//! never changes a result, so hints may be out of date and nothing here need be exact.

use crate::base::time::Tick;
use crate::protocol::cluster::Circle;
use crate::protocol::dynamics::{Dynamics, Place, Response};
use crate::protocol::entity::{Entity, Limits};
use crate::protocol::gvt::Now;
use crate::protocol::message::{EntityId, Outbox};

/// Company is observed for so many ticks before anybody joins others.
const OBSERVED: Tick = 8;
/// And for so many before those part who do not touch.
const OBSERVED_LONG: Tick = 64;
/// Who touches strangers at one of so many ticks joins them.
const SELDOM: u64 = 32;
/// What an entity has seen of its company since it last thought about it.
#[derive(Clone, Debug, Default)]
pub(super) struct Company {
    /// When it last thought about it.
    since: Tick,
    /// Ticks at which it touched strangers and was held.
    encounters: u64,
    /// The size it has made known.
    size: Option<u32>,
}

impl Company {
    /// A response is settled. Who bounces off is gone again; who is held makes company.
    pub fn observe<D: Dynamics>(&mut self, response: &Response<D>) {
        self.encounters += u64::from(!response.told.is_empty() && response.lingers);
    }

    fn think_again(&mut self, now: Tick) {
        *self = Company { since: now, size: self.size, ..Company::default() };
    }
}

impl<D: Dynamics> Entity<D> {
    /// Makes known how large its crew is, and joins others or parts if the time has come. To be called before
    /// every step. At the last tick nobody moves any more: whoever has come there may have been told that all are
    /// done.
    pub fn regroup(&mut self, circle: &dyn Circle, limits: &Limits, now: Now, out: &mut Outbox<D>) {
        self.make_size_known(circle);
        if now.gvt >= limits.last_tick {
            return;
        }
        let is_time = now.gvt >= self.company.since + OBSERVED && self.can_hand_over(now.gvt);
        if !is_time || self.is_vacant() || !self.actions.is_empty() || circle.size(self.id).is_none() {
            return;
        }
        let observed = now.gvt - self.company.since;
        let is_often = self.company.encounters * SELDOM >= observed;
        // A large crew can keep who is apart for long: it would have to respond again and again if they came back.
        let patience = OBSERVED_LONG.max(self.members.len() as u64);
        let host = if is_often { self.host(circle) } else { None };
        let host = host.filter(|host| circle.announce(*host, self.members.len() as u32));
        let parties = match host {
            Some(host) => vec![(self.members.clone(), host)],
            None if self.members.len() > 1 && observed >= patience => self.those_apart(circle),
            // Somebody may yet turn up; meanwhile the crew gets to know itself.
            None if self.members.len() > 1 || is_often => return,
            None => Vec::new(),
        };
        if !parties.is_empty() {
            self.hand_out(&parties, now.gvt, out);
        }
        self.company.think_again(now.gvt);
    }

    /// Makes known how large its crew is, if that has changed.
    pub fn make_size_known(&mut self, circle: &dyn Circle) {
        let size = if self.is_vacant() { 0 } else { self.members.len() as u32 };
        if self.company.size != Some(size) {
            circle.resize(self.id, size);
            if size == 0 && circle.size(self.id).is_some() {
                circle.offer(self.id);
            }
            self.company.size = Some(size);
        }
    }

    /// The largest crew it touches, if that is larger than its own: the smaller moves to the larger.
    fn host(&self, circle: &dyn Circle) -> Option<EntityId> {
        let latest = self.history.latest()?;
        let rank = |id: EntityId| circle.size(id).map(|size| (size, std::cmp::Reverse(id)));
        let mine = rank(self.id)?;
        let others = latest.strangers.iter().map(|known| known.entity);
        others.filter(|other| rank(*other) > Some(mine)).max_by_key(|other| rank(*other))
    }

    /// Bodies that are no longer near the rest of the crew, and vacant entities that take them in.
    fn those_apart(&self, circle: &dyn Circle) -> Vec<(Vec<Place>, EntityId)> {
        let Some(latest) = self.history.latest() else { return Vec::new() };
        let crew: Vec<Place> = latest.track.bodies().collect();
        let mut groups = groups(&crew, latest.track.layout.companions());
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        let leaving = groups.into_iter().skip(1);
        leaving.map_while(|group| Some((group, circle.any_vacant()?))).collect()
    }
}

/// The connected groups of a list of places, by pairs of numbers in the list.
fn groups(places: &[Place], bonds: impl Iterator<Item = (u32, u32)>) -> Vec<Vec<Place>> {
    let mut leaders: Vec<usize> = (0..places.len()).collect();
    fn leader(leaders: &mut [usize], mut at: usize) -> usize {
        while leaders[at] != at {
            leaders[at] = leaders[leaders[at]];
            at = leaders[at];
        }
        at
    }
    for (a, b) in bonds {
        let (a, b) = (leader(&mut leaders, a as usize), leader(&mut leaders, b as usize));
        leaders[a.max(b)] = a.min(b);
    }
    let mut groups: Vec<Vec<Place>> = vec![Vec::new(); places.len()];
    for (at, place) in places.iter().enumerate() {
        groups[leader(&mut leaders, at)].push(*place);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bonds_hold_groups_together() {
        let found = groups(&[2, 3, 5, 7, 11, 13], [(1, 3), (5, 3), (0, 2)].into_iter());
        assert_eq!(found, [vec![2, 5], vec![3, 7, 13], vec![11]]);
    }
}
