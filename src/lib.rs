//! # anachron
//!
//! A rigid-body simulator in which every object lives in its own time, and a scene has exactly one right answer:
//! the same bits on every machine, in every build, for every way of running it.
//!
//! A scene is described by plain data, made ready by [`Simulation::new`], and answered by frames and a digest:
//!
//! ```
//! use anachron::scene::{Body, Scene, Shape, StaticObject};
//! use anachron::{ControlFlow, Simulation};
//!
//! let mut scene = Scene { seconds: 2.0, ..Scene::default() };
//! scene.statics.push(StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3]));
//! for floor in 0..5 {
//!     let position = [0.0, 0.5 + 1.1 * f64::from(floor), 0.0];
//!     scene.bodies.push(Body::new(Shape::Box { half_extents: [0.5; 3] }, position));
//! }
//! let report = Simulation::new(&scene)?.run(|frame| {
//!     let (id, top) = &frame.bodies[4];
//!     println!("{:.2} s: {id} is {:.3} m up", frame.time_s, top.x.y);
//!     ControlFlow::Continue(())
//! })?;
//! println!("{} contacts, digest {}", report.tally.contacts, report.digest);
//! # assert_eq!(report.frames, 121);
//! # Ok::<(), anachron::RunError>(())
//! ```
//!
//! # Where to find what
//!
//! | item | what |
//! |---|---|
//! | [`scene`] | what a scene is; TOML and JSON files, checks that name the field and the fix |
//! | [`scenarios`] | ready-made scenes and their golden digests |
//! | [`Simulation`], [`SyncMode`], [`Report`] | a scene made ready, how it is run, and what came of it |
//! | [`Tuning`], [`OverlapSettings`], [`IslandSettings`] | how speculation, gears and workers are set up |
//! | [`Inputs`], [`Input`] | acting on a simulation while it runs: pushes, bodies that come and go |
//! | [`Stop`] | ending a run early, from any thread |
//! | [`Frame`], [`Digest`] | what is committed, and its hash |
//! | [`record`], [`export`], [`render`] | recordings, CSV and glTF, pictures |
//! | [`verify`] | the protocol under every order of events in small worlds, and under very many in large ones |
//!
//! `docs/physics.md` says in words what is computed, `ARCHITECTURE.md` how the parts hang together.

mod base;
mod bench;
#[doc(hidden)]
pub mod cli;
mod entity;
mod executor;
pub mod export;
mod gvt;
mod islands;
mod memory;
mod overlap;
mod overlap_bridge;
mod physics;
mod protocol;
pub mod record;
pub mod render;
mod rigid;
mod runtime;
pub mod scenarios;
pub mod scene;
mod store;
mod tvht;
pub mod verify;

pub use std::ops::ControlFlow;

pub use base::digest::Digest;
pub use base::frame::Frame;
pub use base::ids::{BodyId, StaticId};
pub use base::state::BodyState;
pub use base::stop::Stop;
pub use base::time::{Tick, TimeBase};
pub use executor::{OneStore, ProcessSummary, Report, Simulation, SyncMode, Tally};
pub use islands::{IslandSettings, IslandSummary};
pub use overlap::balance::Load;
pub use overlap::partition::Partition;
pub use overlap::{EngineKind, OverlapSettings, OverlapSummary, WeightRule};
pub use physics::collision::crowd::Crowd;
pub use protocol::Stats;
pub use runtime::error::RunError;
pub use runtime::inputs::{Input, InputError, Inputs};
pub use runtime::shared::{Regions, Tuning};
pub use runtime::shared_tvht::Lane;
pub use runtime::stats::RunStats;
pub use runtime::trace::Tracer;
pub use store::GearChoice;

/// Everything else, for the project's own tests and benchmarks. Nothing in here is stable.
#[doc(hidden)]
pub mod internals {
    macro_rules! open {
        ($($module:ident)+) => {
            $(#[allow(missing_docs)] pub mod $module { pub use crate::$module::*; })+
        };
    }
    #[allow(missing_docs)]
    pub mod export {
        pub use crate::export::internals::*;
    }
    #[allow(missing_docs)]
    pub mod render {
        pub use crate::render::internals::*;
    }
    open! { base bench executor gvt islands overlap overlap_bridge physics protocol rigid runtime tvht }

    #[allow(missing_docs)]
    pub mod verify {
        pub use crate::store::RegionFault;
        pub use crate::verify::configs::{Family, SMALL};
        pub use crate::verify::explore::search;
        pub use crate::verify::model::Model;
        pub use crate::verify::paper::{Sought, demonstrations, find};
        pub use crate::verify::random_walk::{choose, follow};
        pub use crate::verify::reference::Reference;
        pub use crate::verify::regions::{
            REGION_FAMILIES, RegionAction, RegionFamily, RegionModel, RegionState, any_region_model,
        };
        pub use crate::verify::toy_dynamics::{mix, start};
    }
}

/// The examples of the README must work.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
