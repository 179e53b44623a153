//! Bodies as the solver sees them: how they move, and how they resist being moved.

use crate::base::math::{Mat3, Quat, Vec3, renormalised, rotation_exp};
use crate::base::state::BodyState;
use crate::physics::{BodyDef, Inertia};

/// Velocity and angular velocity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Velocity {
    pub v: Vec3,
    pub w: Vec3,
}

impl Velocity {
    pub const NONE: Velocity = Velocity { v: Vec3::new(0.0, 0.0, 0.0), w: Vec3::new(0.0, 0.0, 0.0) };
}

/// How a body resists.
#[derive(Clone, Copy, Debug)]
pub(super) struct SolverMass {
    pub inv_mass: f64,
    pub inv_inertia: Mat3,
}

impl SolverMass {
    /// What never moves.
    pub fn fixed() -> Self {
        SolverMass { inv_mass: 0.0, inv_inertia: Mat3::zeros() }
    }

    pub fn of(body: &BodyDef, q: &Quat) -> Self {
        SolverMass { inv_mass: body.inv_mass, inv_inertia: body.inertia.world_inverse(q) }
    }
}

/// The state after a tick of length `h` with the velocities `motion`, moved besides by `shift`. Keeps the angular
/// momentum of bodies that tumble.
#[inline]
pub(super) fn moved(
    body: &BodyDef,
    state: &BodyState,
    motion: &Velocity,
    shift: &Velocity,
    h: f64,
) -> BodyState {
    let x = state.x + (motion.v + shift.v) * h;
    let turn = (motion.w + shift.w) * h;
    if turn == Vec3::zeros() {
        return BodyState { x, q: state.q, v: motion.v, w: motion.w };
    }
    let q = renormalised(rotation_exp(turn) * state.q);
    let w = match body.inertia {
        Inertia::Isotropic { .. } => motion.w,
        Inertia::Principal { .. } => {
            body.inertia.world_inverse(&q) * body.inertia.momentum(&state.q, motion.w)
        }
    };
    BodyState { x, q, v: motion.v, w }
}
