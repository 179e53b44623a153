//! The step from one tick to the next, once velocities are solved.

use crate::base::math::{Vec3, renormalised, rotation_exp};
use crate::base::state::BodyState;
use crate::physics::contact::Velocity;
use crate::physics::{BodyDef, Inertia};

/// The state after a tick of length `h` seconds with the velocities `motion`, and moved by the velocities `shift`, which
/// it does not keep. Conserves the angular momentum of bodies with unequal moments of inertia.
#[inline]
pub(super) fn integrated(
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
