//! Groups of bodies spread over workers that share some of them: the algorithms, without threads or actors.
//!
//! After Kale and Kry, "Distributed Simulation of Large Multi-body Systems". Every body lives in at least one worker;
//! those where workers meet live in several, are advanced by each of them, and are blended after every tick by how
//! far in the graph of constraints they are from what is each worker's own. [`crate::overlap_bridge`] puts the parts
//! together; `docs/overlap.md` tells the whole story.

pub mod balance;
pub mod blend;
pub mod cover;
pub mod detect;
pub mod engine;
pub mod graph;
pub mod partition;
#[cfg(feature = "rapier")]
pub mod rapier;
pub mod settings;
pub mod step;
pub mod summary;
pub mod weights;
mod worker_set;

pub use balance::Load;
pub use engine::Engine;
pub use graph::ConstraintGraph;
pub use settings::{EngineKind, OverlapSettings, WeightRule};
pub use summary::{OverlapSummary, Violation};
pub use worker_set::{WORKERS_MAX, WorkerSet};
