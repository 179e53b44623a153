//! What every other module uses: ids, time, vectors, states, frames, digests, colours; and the tools for threads.
//!
//! Nothing here knows a scene, a body's physics or the protocol.

pub mod aabb;
pub mod color;
pub(crate) mod components;
pub mod digest;
pub(crate) mod faults;
pub mod frame;
pub mod ids;
pub(crate) mod lanes;
pub mod math;
pub(crate) mod number;
pub(crate) mod panics;
pub(crate) mod parallel;
pub(crate) mod rotation;
pub mod state;
pub mod stop;
pub(crate) mod sync;
pub(crate) mod team;
pub(crate) mod text;
pub mod time;
