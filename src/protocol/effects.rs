//! Effects: what a handler of an entity wants done outside of it. [`Driver::perform`](super::Driver::perform) does them in
//! the only legal order.

use std::sync::Arc;
use std::vec::Drain;

use super::dynamics::{BodyIndex, Dynamics};
use super::message::{EntityId, Message};
use super::tvht::Track;
use crate::base::time::Tick;

/// A flight of a body that begins at a tick; `None` from where the body does not exist.
pub type StartedFlight<D> = (BodyIndex, Tick, Option<<D as Dynamics>::Flight>);

/// What a handler wants done.
pub struct Effects<D: Dynamics> {
    /// Flights of these bodies that begin after a tick are taken out of the log.
    pub(super) flights_retracted: Vec<(BodyIndex, Tick)>,
    /// Flights are added to the log.
    pub(super) flights_started: Vec<StartedFlight<D>>,
    /// These tracks end before a tick from now on.
    pub(super) tracks_retracted: Vec<(Arc<Track<D>>, Tick)>,
    /// The entity's LVT moves from one tick to another: from nowhere if it was retired, to nowhere if it is now.
    pub(super) lvt_change: Option<(Option<Tick>, Option<Tick>)>,
    /// Messages, in the order they are to be sent.
    pub(super) messages: Vec<(EntityId, Message<D>)>,
}

impl<D: Dynamics> Default for Effects<D> {
    fn default() -> Self {
        Effects {
            flights_retracted: Vec::new(),
            flights_started: Vec::new(),
            tracks_retracted: Vec::new(),
            lvt_change: None,
            messages: Vec::new(),
        }
    }
}

impl<D: Dynamics> Clone for Effects<D> {
    fn clone(&self) -> Self {
        Effects {
            flights_retracted: self.flights_retracted.clone(),
            flights_started: self.flights_started.clone(),
            tracks_retracted: self.tracks_retracted.clone(),
            lvt_change: self.lvt_change,
            messages: self.messages.clone(),
        }
    }
}

impl<D: Dynamics> Effects<D> {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.is_messages() && self.messages.is_empty()
    }

    /// Whether nothing is to be done but to send messages.
    pub(super) fn is_messages(&self) -> bool {
        self.flights_retracted.is_empty()
            && self.flights_started.is_empty()
            && self.tracks_retracted.is_empty()
            && self.lvt_change.is_none()
    }

    /// Whether flights are taken out of the log.
    pub fn has_rollback(&self) -> bool {
        !self.flights_retracted.is_empty()
    }

    /// How the LVT moves, if it does.
    pub fn lvt_change(&self) -> Option<(Option<Tick>, Option<Tick>)> {
        self.lvt_change
    }

    /// Messages that are to be sent.
    pub fn messages(&self) -> &[(EntityId, Message<D>)] {
        &self.messages
    }

    pub(super) fn retract_flights(&mut self, bodies: &[BodyIndex], after: Tick) {
        self.flights_started.retain(|(_, from, _)| *from <= after);
        self.flights_retracted.extend(bodies.iter().map(|body| (*body, after)));
    }

    pub(super) fn move_lvt(&mut self, from: Option<Tick>, to: Option<Tick>) {
        let from = self.lvt_change.map_or(from, |(first, _)| first);
        self.lvt_change = (from != to).then_some((from, to));
    }
}

/// Performs the effects of an entity. An executor implements this around its log, its virtual time and its links; it
/// decides nothing.
pub trait Shell<D: Dynamics> {
    /// Takes flights that begin after a tick out of the log.
    fn retract_flights(&mut self, flights: Drain<'_, (BodyIndex, Tick)>);

    /// Adds flights to the log. Bodies that are neighbours in the list come one after the other.
    fn start_flights(&mut self, flights: Drain<'_, StartedFlight<D>>);

    /// Makes a track end before `end`, for every reader. A reader that still sees the old end reports a contact with a
    /// version that is gone, and its event is rejected.
    fn retract_track(&mut self, track: &Track<D>, end: Tick) {
        track.retract(end);
    }

    /// Moves the entity's LVT. The new one must be visible before the old one is removed.
    fn move_lvt(&mut self, from: Option<Tick>, to: Option<Tick>);

    /// Sends a message. Messages between two entities arrive in the order they were sent.
    fn send(&mut self, to: EntityId, message: Message<D>);

    /// Releases the tick at which an input pinned GVT.
    fn unpin(&mut self, pinned: Tick);
}
