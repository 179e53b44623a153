//! Proof, not hope: the protocol under every order of events, or under very many.
//!
//! The state machines checked here are those of [`crate::protocol`] that run in production, entities, buckets,
//! requests and lvt_histogram alike; only the physics is a [toy world](toy) of whole numbers, in which anything that is
//! lost, doubled, stale or out of order changes everything that follows. A [`ModelConfig`] says what is played, a
//! [`ModelState`] is one state of it, and a [`Action`] leads to the next. [`explore()`] looks at every state there is,
//! [`walk()`] at one long random way after another. Both check all [`Property`]s after every move.
//!
//! [`paper`] runs the published algorithm instead, word by word, and shows where it goes wrong.

pub mod campaign;
mod config;
pub mod configs;
pub mod explore;
mod fingerprint;
pub mod paper;
mod property;
pub mod random_walk;
mod state;
pub mod toy_model;
mod trace;
mod transition;

pub use config::{Atomicity, ModelConfig, ScriptedInput};
pub use explore::{Explored, explore};
pub use property::{Property, Violation};
pub use random_walk::{Walked, walk};
pub use state::{Action, Endpoint, ModelState};
pub use trace::replay;
