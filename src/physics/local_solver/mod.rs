//! The response: what touching bodies do to each other between one tick and the next.
//!
//! Strictly local: a body needs the states of those it touches and a little of their ghost (how many they
//! touch, whom they name, their velocities after each round), nothing from farther away. `docs/physics.md`
//! tells the rule in words.

mod contact;
mod dense;
mod ghost;
mod impact;
mod manifold_contact;
mod pair;
mod resting;
mod solver;
mod sphere_contact;

pub use crate::physics::contact::{PairCache, PatchCache, PointCache, SolverMass, Velocity};
pub use contact::ContactConstraint;
pub use ghost::{GhostState, Partner};
pub use pair::{ContactPair, ContactPairs, Sides};

pub use solver::{LocalSolver, SolverBody};
