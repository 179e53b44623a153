//! The response: what touching bodies do to each other between one tick and the next.
//!
//! Strictly local: a body needs the states of those it touches and a little of their standing (how many they
//! touch, whom they name, their velocities after each round), nothing from farther away. `docs/physics.md`
//! tells the rule in words.

mod ball_touch;
mod dense;
mod hard;
mod meeting;
mod memory;
mod rest;
mod row;
mod shape_touch;
mod standing;
mod tick;
mod touch;

pub use meeting::{Meeting, Meetings, Sides};
pub use memory::{PairMemory, PatchMemory, PointMemory};
pub use row::{Inertial, Twist};
pub use standing::{Partner, Standing};
pub use tick::{Participant, Responder};
pub use touch::Touch;
