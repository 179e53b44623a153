//! What one tick of the workers of a scene consisted of.

use crate::overlap::tick::AssignmentCounts;
use crate::physics::island_solver::{Residual, StepCounts};

/// What one tick consisted of.
#[derive(Clone, Debug, Default)]
pub struct TickReport {
    /// Counts of each worker.
    pub workers: Vec<StepCounts>,
    /// Processor time of each worker for the whole tick, seconds.
    pub cpu_s: Vec<f64>,
    /// The part of `cpu_s` that went into finding contacts, seconds: all workers wait for the slowest before any of them
    /// steps. Empty with one worker.
    pub detect_cpu_s: Vec<f64>,
    /// Bodies that live in more than one worker.
    pub shared: u32,
    /// Copies of those bodies, in all workers together.
    pub copies: u32,
    /// Bodies that entered or left a worker.
    pub moved: u32,
    /// How contacts changed the assignment.
    pub assignment: AssignmentCounts,
    /// Bytes sent to workers and back.
    pub bytes: u64,
    /// What all workers together left unsolved, if that is measured.
    pub residual: Option<Residual>,
}
