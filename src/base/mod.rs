//! What every other module uses: ids, time, vectors, states, frames, digests, colours; and the tools for threads.
//!
//! Nothing here knows a scene, a body's physics or the protocol.

pub mod aabb;
pub mod color;
pub(crate) mod components;
pub mod digest;
pub mod frame;
pub mod ids;
pub mod math;
pub(crate) mod panics;
pub(crate) mod parallel;
pub mod state;
pub(crate) mod sync;
pub mod time;
