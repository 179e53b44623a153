//! The physics, as pure functions: no clock, no thread, no file, no hash map, no history.
//!
//! [`World`] is a scene made ready to simulate; it never changes during a run.

pub mod shape;
mod world;

pub use shape::Shape;
pub use world::{BodyDef, StaticDef, World};
