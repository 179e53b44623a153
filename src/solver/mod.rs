//! The group solver: bodies in persistent contact and held by joints, solved together.
//!
//! A conventional engine: constraints become rows, rows are solved by projected Gauss-Seidel sweeps that begin
//! with the impulses of the tick before, and overlaps are removed by moving bodies apart without changing their
//! velocities. Unlike the local response of [`crate::physics::response`], what happens to a body here depends on
//! everything it is connected with. `src/overlap_bridge.rs` spreads such groups over workers.

mod bodies;
mod contacts;
mod detect;
mod fabric;
mod group;
mod joints;
mod memory;
mod neighbours;
mod residual;

pub use detect::{Bounds, Detector, Meeting, meeting, meets, met};
pub use fabric::Fabric;
pub use group::{GroupSolver, Shares, StepCounts, Told};
pub(crate) use memory::order;
pub use memory::{Impulses, JointImpulse, PointImpulse};
pub use neighbours::Neighbours;
pub use residual::Residual;
