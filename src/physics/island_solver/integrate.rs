//! The step from one tick to the next, once velocities are solved.

use crate::base::math::{Vec3, renormalised, rotation_exp};
use crate::base::state::BodyState;
use crate::physics::contact::Velocity;
use crate::physics::{BodyDef, Inertia};

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
