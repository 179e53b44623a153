//! The model of regions: the regions of production in small worlds of real bodies, in every order or at random.
//!
//! A state is all regions, the messages between each two of them in order, and what each thread takes global virtual time
//! to be. An action is a step of a region, the delivery of a message (as bytes), or that a thread measures global virtual
//! time and commits. Nothing is replaced: regions, response, calendar, messages, and both rules are those that run.

mod check;
mod random_worlds;
mod state;
mod words;
mod worlds;

pub use random_worlds::any_region_model;
pub use state::{RegionAction, RegionModel, RegionState};
pub use worlds::{REGION_FAMILIES, RegionFamily};
