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
//! | module | what |
//! |---|---|
//! | [`scene`] | what a scene is; TOML and JSON files, checks that name the field and the fix |
//! | [`scenarios`] | ready-made scenes and their golden digests |
//! | [`physics`] | flights, shapes, contact points, the response: pure functions |
//! | [`executor`] | [`Simulation`] and the ways of running it; [`executor::sequential`] defines the result |
//! | [`inputs`] | acting on a simulation while it runs: pushes, bodies that come and go |
//! | [`protocol`] | how bodies run in their own time and still agree: state machines without threads or clocks |
//! | [`bridge`] | bodies that stay in contact, handed to groups that are solved together, and back |
//! | [`verify`] | the protocol under every order of events in small worlds, and under very many in large ones |
//! | [`frame`], [`digest`] | what is committed, and its hash |
//! | [`record`], [`export`], [`render`] | recordings, CSV and glTF, pictures |
//! | [`mod@bench`] | tables, plots and projections of measurements |
//! | [`cli`] | the command line |
//!
//! `docs/physics.md` says in words what is computed, `ARCHITECTURE.md` how the parts hang together.

pub mod base;
pub mod bench;
pub mod cli;
mod entity;
pub mod executor;
pub mod export;
pub mod gvt;
pub mod islands;
pub mod overlap;
pub mod overlap_bridge;
pub mod physics;
pub mod protocol;
pub mod record;
pub mod render;
pub mod rigid;
pub mod runtime;
pub mod scenarios;
pub mod scene;
pub mod tvht;
pub mod verify;

pub use std::ops::ControlFlow;

pub use executor::{Report, RunError, Simulation, SyncMode};

/// The examples of the README must work.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
