//! What an entity waits for, in words: for the message about a run that has stalled.

use crate::base::ids::BodyId;
use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, Dynamics, Response};
use crate::protocol::entity::{Entity, PendingAck};

/// At most this many of the things that an entity waits for are named.
const NAMED_MAX: usize = 3;

impl<D: Dynamics> Entity<D> {
    /// Its first body, its tick, and what it waits for. `woken_at` is the tick it is registered to be woken at, if it is.
    pub fn describe(&self, dynamics: &D, woken_at: Option<Tick>) -> String {
        let id_of = |body: BodyIndex| dynamics.body_id(body);
        let bodies = match self.members.as_slice() {
            [] => self.id.to_string(),
            [body] => format!("{} ({})", id_of(*body), self.id),
            [first, rest @ ..] => format!("{} and {} more ({})", id_of(*first), rest.len(), self.id),
        };
        format!("{bodies} at tick {} waits for {}", self.lvt(), self.waits_for_what(&id_of, woken_at))
    }

    fn waits_for_what(&self, id_of: &impl Fn(BodyIndex) -> BodyId, woken_at: Option<Tick>) -> String {
        if !self.pending_acks.is_empty() {
            let acknowledgement = |pending: &PendingAck| match pending.event {
                Some((at, _, body)) => {
                    format!("{} ({}) to acknowledge a contact at tick {}", id_of(body), pending.to, at.tick)
                }
                None => format!("{} to acknowledge a message", pending.to),
            };
            return named(self.pending_acks.iter().map(|(_, pending)| acknowledgement(pending)));
        }
        if self.writing {
            return format!("the table to reply to its plan from tick {}", self.planned.1);
        }
        let latest = self.history.latest();
        let is_incomplete = |response: &Response<D>| !response.has_all_ghosts;
        if let Some(latest) = latest.filter(|latest| latest.response.as_deref().is_some_and(is_incomplete)) {
            let remotes = latest.remotes.iter().map(|known| id_of(known.remote.body).to_string());
            return format!("the rest of the ghost states of {}", named(remotes));
        }
        match woken_at {
            Some(tick) => format!("the lowest LVT to reach tick {tick}"),
            None if self.is_island => "bodies that are to join its island".to_owned(),
            None => "a poll".to_owned(),
        }
    }
}

/// The first few of several things, and how many more there are.
fn named(mut things: impl Iterator<Item = String>) -> String {
    let mut text = things.by_ref().take(NAMED_MAX).collect::<Vec<_>>().join(", ");
    let more = things.count();
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}
