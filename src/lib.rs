//! # anachron
//!
//! A rigid-body simulator in which every object lives in its own time.

pub mod appearance;
pub mod cli;
pub mod digest;
mod entity;
pub mod executor;
pub mod export;
pub mod frame;
pub mod gvt;
pub mod ids;
pub mod math;
pub mod physics;
pub mod protocol;
pub mod record;
pub mod render;
pub mod scenarios;
pub mod scene;
pub mod state;
pub mod time;
pub mod tvht;

pub use std::ops::ControlFlow;

pub use executor::{Report, RunError, Simulation, Sync};
