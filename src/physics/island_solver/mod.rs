//! The group solver: bodies in persistent contact and held by joints, solved together.
//!
//! A conventional engine: constraints become rows, rows are solved by projected Gauss-Seidel sweeps that begin
//! with the impulses of the tick before, and overlaps are removed by moving bodies apart without changing their
//! velocities. Unlike the local response of [`crate::physics::local_solver`], what happens to a body here depends on
//! everything it is connected with. `src/overlap_bridge.rs` spreads such groups over workers.

mod candidates;
mod contacts;
mod detect;
mod filter;
mod integrate;
mod joints;
mod residual;
mod solver;

pub(crate) use crate::physics::contact::cache_order as order;
pub use crate::physics::contact::{Impulses, JointImpulse, PointImpulse};
pub use candidates::CandidateList;
pub use detect::{Bounds, Detector, IslandContact, are_near, find_contact, meeting};
pub use filter::CollisionFilter;
pub use residual::Residual;
pub use solver::{IslandSolver, ManifoldLists, StepCounts, WarmStart};
