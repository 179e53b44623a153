//! Moving house at the beginning of an epoch, where who lives where is part of the result.
//!
//! Bodies move at global virtual time, like all that are handed over. Whoever is to lose one waits for that; a group
//! that is to get one waits for the body, and never goes on with a crew that is not the one that was decided. Those in
//! no group may share clocks as they like.

use std::collections::BTreeMap;

use crate::base::time::Tick;
use crate::protocol::dynamics::{Dynamics, Place};
use crate::protocol::entity::{Entity, Limits, Step};
use crate::protocol::gvt::Now;
use crate::protocol::membership::{Homes, Removal};
use crate::protocol::message::{EntityId, Outbox};

impl<D: Dynamics> Entity<D> {
    /// To be called before every step: hands over who lives elsewhere from now on. What to do instead of a step if it
    /// may not go on; if it may, only as far as `limits` say then.
    pub fn move_house(
        &mut self,
        homes: &dyn Homes,
        limits: &mut Limits,
        now: Now,
        out: &mut Outbox<D>,
    ) -> Option<Step<D>> {
        let lvt = self.lvt();
        if !self.is_free() || lvt >= limits.last_tick || self.crew_at_lvt().next().is_none() {
            return None;
        }
        if homes.is_boundary(lvt) {
            let waits = match homes.removal(lvt, now.floor) {
                Some(removal) => self.hand_out_movers(removal, lvt, now, out),
                None if self.may_move(lvt - homes.epoch()) => Some(Step::WaitFor(homes.decided_from(lvt))),
                None => None,
            };
            if waits.is_some() {
                return waits;
            }
        }
        let boundary = homes.boundary_after(lvt);
        let stops = match homes.removal(boundary, now.floor) {
            Some(removal) => self.is_concerned(removal),
            None => self.may_move(boundary - homes.epoch()),
        };
        // Beyond the next one only groups may move: whoever flies past a tick touches nothing there. Who goes on from
        // contact to contact looks again when it gets there.
        limits.alone_until = boundary;
        let barrier = if stops { Some(boundary) } else { self.together.then(|| boundary + homes.epoch()) };
        limits.last_tick = barrier.map_or(limits.last_tick, |barrier| limits.last_tick.min(barrier));
        None
    }

    /// Hands over who moves out at `tick`, where it stands, and waits for who moves in.
    fn hand_out_movers(
        &mut self,
        removal: &Removal,
        tick: Tick,
        now: Now,
        out: &mut Outbox<D>,
    ) -> Option<Step<D>> {
        let mut parties: BTreeMap<EntityId, Vec<Place>> = BTreeMap::new();
        for place in self.crew_at_lvt() {
            let to =
                if self.together { removal.moves.get(&place).copied() } else { removal.joined_by(place) };
            if let Some(to) = to.filter(|to| *to != self.id) {
                parties.entry(to).or_default().push(place);
            }
        }
        if !parties.is_empty() {
            if now.gvt < tick {
                return Some(Step::WaitFor(tick));
            }
            let parties: Vec<_> = parties.into_iter().map(|(to, bodies)| (bodies, to)).collect();
            self.hand_out(&parties, now.gvt, out);
            return Some(Step::Owes);
        }
        let expected = removal.crews.get(&self.id)?;
        let is_complete = self.crew_at_lvt().eq(expected.iter().copied());
        (!is_complete).then_some(Step::Owes)
    }

    /// Whether somebody may have to move an epoch after `tick`: who is not in a group and touches nobody at a tick
    /// that decides will not be asked to join one.
    fn may_move(&self, tick: Tick) -> bool {
        let touched = || self.history.iter().any(|segment| segment.last == tick && segment.touches());
        self.together || touched()
    }

    /// Whether somebody leaves it or joins it then.
    fn is_concerned(&self, removal: &Removal) -> bool {
        match self.together {
            true => removal.crews.contains_key(&self.id),
            false => self.crew_at_lvt().any(|place| removal.joined_by(place).is_some()),
        }
    }

    /// The bodies it has at its local virtual time, ascending.
    fn crew_at_lvt(&self) -> impl Iterator<Item = Place> {
        let crew = match (self.history.latest(), &self.origin) {
            (Some(latest), _) => latest.crew().as_slice(),
            (None, Some(origin)) => origin.crew.as_slice(),
            (None, None) => &[],
        };
        crew.iter().map(|(place, _)| *place)
    }
}
