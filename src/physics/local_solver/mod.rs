//! The local solver: what bodies in contact do to each other between one tick and the next.
//!
//! Strictly local: a body needs the states of the bodies it is in contact with and their ghosts, nothing from farther
//! away. It defines the results of all exact executors, behind the contract of
//! [`ContactModel`](crate::physics::contact::ContactModel). `docs/physics.md` describes the rule in words.
//!
//! A tick of [`LocalSolver`] is: impacts (`rounds.rs`), resting contacts (`iterations.rs`), the next flight
//! (`advance.rs`); step by step with neighbours that are solved elsewhere (`exchanges.rs`). What concerns one pair alone
//! is a [`ContactConstraint`]: two balls (`sphere_contact.rs`) or any other shapes (`manifold_contact.rs`, with
//! `impact.rs` and `resting.rs`).

mod advance;
mod contact;
mod dense;
mod exchanges;
mod ghost;
mod impact;
mod iterations;
mod manifold_contact;
mod pair;
mod resting;
mod rounds;
mod solver;
mod sphere_contact;
mod validate;

pub use crate::physics::contact::{
    ContactModel, ContactPair, PairCache, PairInput, Partner, PatchCache, PointCache, SolverBody, SolverMass,
    Velocity,
};
pub use contact::ContactConstraint;
pub use ghost::{GhostPart, GhostState};
pub(crate) use manifold_contact::decayed_restitution;
pub use solver::LocalSolver;
