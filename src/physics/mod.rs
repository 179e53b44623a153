//! The physics, as pure functions: no clock, no thread, no file, no hash map, no history.
//!
//! [`World`] is a scene made ready to simulate; it never changes during a run. A body between contacts is a
//! [`Flight`]; [`touching()`] says what meets at a tick; [`response`] says how it goes on.

mod action;
mod bodies;
pub(crate) mod broad;
pub mod contact;
mod first_touch;
mod flight;
mod joint;
mod mass;
pub mod measure;
pub mod response;
pub mod shape;
pub(crate) mod statics;
mod touching;
mod tumble;
mod world;

pub use action::{Action, Deed};
pub use bodies::Bodies;
pub use first_touch::{first_static_touch, first_touch};
pub use flight::{Flight, FlightCursor};
pub(crate) use joint::across;
pub use joint::{JointDef, JointSide};
pub use mass::Inertia;
pub use shape::{Aabb, Shape};
pub use touching::{touching, touching_static};
pub(crate) use world::body_def;
pub use world::{BodyDef, Rule, StaticDef, Surface, World};
