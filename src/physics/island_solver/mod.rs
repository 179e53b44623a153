//! The island solver: bodies in persistent contact or held by joints, solved together.
//!
//! A conventional engine: constraints become rows, rows are solved by projected Gauss-Seidel sweeps that begin
//! with the impulses of the tick before, and overlaps are removed by moving bodies apart without changing their
//! velocities. Unlike in the local solver ([`crate::physics::local_solver`]), the motion of a body here depends on
//! everything it is connected with. `src/overlap_bridge.rs` spreads such islands over workers.

mod candidates;
mod contacts;
mod detect;
mod filter;
mod integrate;
mod joints;
mod residual;
mod solver;
mod validate;

pub(crate) use crate::physics::contact::cache_order as order;
pub use crate::physics::contact::{Impulses, JointImpulse, PointImpulse};
pub use candidates::CandidateList;
pub use detect::{Bounds, Detector, IslandContact, find_contact, find_manifold};
pub use filter::CollisionFilter;
pub use residual::Residual;
pub use solver::{IslandSolver, ManifoldLists, StepCounts, WarmStart};
