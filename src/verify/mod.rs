//! Model checking of the protocol: every order of events in small models, random orders in larger ones.
//!
//! The state machines checked here are those of production: entities, tracks, buckets, table requests and the LVT
//! histogram. Only the physics is replaced, by a [toy model](toy_model) of whole numbers in which anything that is lost,
//! doubled, stale or out of order changes everything that follows.
//!
//! - [`ModelConfig`] says what is modelled: bodies, ticks, window, buckets, and the inputs that come from outside.
//! - [`ModelState`] is one state of the model, and an [`Action`] leads to the next one.
//! - [`explore()`] visits every state; [`walk()`] follows one random schedule to its end. Both check every [`Property`]
//!   after every action, and [`replay`] puts a schedule that violates one into words.
//! - [`any_config`] draws a random model, and [`Campaign`] is what `anachron verify` runs.
//!
//! `examples/deadlock_freedom.rs` puts this behind proptest, for models of the caller's own.
//!
//! ```
//! use anachron::verify::toy_model::ToyModel;
//! use anachron::verify::{ModelConfig, explore, replay};
//!
//! let toy = ToyModel { bodies: 2, seed: 7, last_tick: 3, ..ToyModel::default() };
//! let config = ModelConfig::new(toy, 2, 1);
//! let explored = explore(&config, 100_000, &mut |_| true);
//! if let Some((violation, schedule)) = &explored.violation {
//!     panic!("{violation}\n{}", replay(&config, schedule, false).0.join("\n"));
//! }
//! assert!(explored.complete && explored.states > 10);
//! ```

pub(crate) mod campaign;
mod config;
pub(crate) mod configs;
pub(crate) mod explore;
mod fingerprint;
pub(crate) mod model;
pub(crate) mod paper;
mod property;
pub(crate) mod random_walk;
pub(crate) mod reference;
pub(crate) mod regions;
mod state;
pub(crate) mod toy_dynamics;
pub mod toy_model;
mod trace;
mod transition;

pub use crate::protocol::{EntityId, Fault, Limits};
pub use campaign::{Campaign, Counterexample};
pub use config::{Atomicity, ModelConfig, ScriptedInput};
pub use explore::{Explored, explore};
pub use property::{Property, Violation};
pub use random_walk::{ConfigRequest, Walked, any_config, walk};
pub use state::{Action, Endpoint, ModelState};
pub use trace::replay;
