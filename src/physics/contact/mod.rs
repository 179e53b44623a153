//! What the local solver and the island solver share: velocities and masses, rows, friction, and what contacts keep
//! from tick to tick. Also the contract that the local solver fulfils: [`ContactModel`].
//!
//! The two solvers differ in how they iterate. Where they compute the same thing in the same order of operations, it
//! is here once; where the order differs, both versions stand side by side, because rounding is part of the result.

mod cache;
mod friction;
mod model;
mod row;
mod velocity;

pub(crate) use cache::cache_order;
pub use cache::{Impulses, JointImpulse, PairCache, PatchCache, PointCache, PointImpulse, STATIC_PARTNER};
pub(crate) use friction::on_disc;
pub(in crate::physics) use friction::within_limits;
pub use model::{Certainty, ContactModel, ContactPair, PairInput, Partner, SolverBody};
pub(in crate::physics) use row::{SplitRow, SweepRow, VelocityPair};
pub(in crate::physics) use velocity::closing_speed;
pub use velocity::{SolverMass, Velocity};
