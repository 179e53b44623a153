//! Blended contact coupling: workers that share bodies. The algorithm, without threads or actors.
//!
//! After Kale and Kry, "Distributed Simulation of Large Multi-body Systems". Every body lives in at least one worker.
//! Bodies at the border between workers live in several, each of which advances its own copy. After every tick the copies
//! are blended, weighted by the distance in the constraint graph to each worker's own bodies. [`tick`] is the algorithm;
//! `src/overlap_bridge.rs` applies it to whole scenes and `src/islands` to single islands. See `docs/overlap.md`.

pub mod balance;
pub mod blend;
pub mod cover;
pub mod detect;
pub mod engine;
pub mod graph;
pub mod partition;
#[cfg(feature = "rapier")]
pub mod rapier;
mod report;
pub mod settings;
pub mod step;
pub mod summary;
pub mod tick;
pub mod weights;
mod worker_set;

pub use balance::Load;
pub use engine::Engine;
pub use graph::ConstraintGraph;
pub use report::TickReport;
pub use settings::{EngineKind, OverlapParameters, OverlapSettings, WeightRule};
pub use summary::{JointGaps, OverlapSummary};
pub use worker_set::{WORKERS_MAX, WorkerSet};
