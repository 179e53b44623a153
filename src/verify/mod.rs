//! Proof, not hope: the protocol under every order of events, or under very many.
//!
//! The state machines checked here are those of [`crate::protocol`] that run in production, entities, buckets,
//! tickets and counters alike; only the physics is a [tiny world](tiny) of whole numbers, in which anything that is
//! lost, doubled, stale or out of order changes everything that follows. A [`Setting`] says what is played, a
//! [`Play`] is one state of it, and a [`Move`] leads to the next. [`explore()`] looks at every state there is,
//! [`walk()`] at one long random way after another. Both check all [`Promise`]s after every move.
//!
//! [`paper`] runs the published algorithm instead, word by word, and shows where it goes wrong.

pub mod explore;
pub mod paper;
mod perform;
mod play;
mod promise;
mod setting;
mod sketch;
mod story;
pub mod tiny;
pub mod tour;
pub mod walk;
pub mod worlds;

pub use explore::{Explored, explore};
pub use play::{Move, Play, Seat};
pub use promise::{Broken, Promise};
pub use setting::{Cue, Grain, Setting};
pub use story::retell;
pub use walk::{Walked, walk};
