//! The physics, as pure functions: no clock, no thread, no file, no hash map, no history.
//!
//! [`World`] is a scene made ready to simulate; during a run bodies may be added to it, nothing else changes. A body
//! between contacts is a [`Flight`]. [`collision`] says what touches at a tick; [`local_solver`] and [`island_solver`]
//! say how touching bodies go on.

// A new variant, of a shape above all, must be dealt with wherever variants are told apart.
#![deny(clippy::wildcard_enum_match_arm)]

mod bodies;
pub mod collision;
pub mod contact;
pub mod energy;
mod flight;
mod input;
pub mod island_solver;
mod joint;
pub mod local_solver;
mod mass;
pub mod shape;
mod tumble;
mod world;

pub use bodies::Bodies;
pub use collision::{first_static_touch, first_touch, touching, touching_static};
pub use flight::{Flight, FlightCursor};
pub use input::{BodyInput, InputKind};
pub(crate) use joint::across;
pub use joint::{JointDef, JointSide};
pub use mass::Inertia;
pub use shape::Shape;
pub(crate) use world::body_def;
pub use world::{BodyDef, ContactRule, StaticDef, Surface, World};
