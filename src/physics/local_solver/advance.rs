//! How a body goes on once its contacts are solved.

use crate::base::math::{Vec3, renormalised, rotation_exp};
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::contact::Velocity;
use crate::physics::flight::Flight;
use crate::physics::local_solver::solver::{Body, LocalSolver};
use crate::physics::mass::Inertia;
use crate::physics::tumble::Tumble;
use crate::physics::world::World;

impl LocalSolver {
    /// The flight that a body is in after `tick`.
    pub(super) fn next_flight(&self, world: &World, tick: Tick, index: usize, body: &Body) -> Flight {
        let (sums, state) = (&self.sums[index], &body.state);
        let (mut has_collided, mut is_separating, mut is_loaded) = (false, true, false);
        for record in self.pairs_of(index).iter().map(|at| &self.pairs.records()[*at as usize]) {
            has_collided |= record.bounced_in > 0 || record.is_deferred;
            is_separating &= record.is_separating;
            is_loaded |= record.is_loaded;
        }
        if (has_collided || is_separating) && !is_loaded {
            // A bounce is an instant change of velocity; what follows is free flight from this very tick. So is
            // what comes after it, even if the bodies need more than a tick to separate.
            let q = renormalised(rotation_exp(sums.moved.w) * state.q);
            let origin = BodyState { x: state.x + sums.moved.v, q, v: sums.now.v, w: sums.now.w };
            return Flight { since: tick, origin };
        }
        let tick_s = world.time.tick_s;
        let Velocity { v, w } = sums.resting;
        let (q, w) = match &body.body.inertia {
            Inertia::Isotropic { .. } => (rotation_exp(w * tick_s) * state.q, w),
            Inertia::Principal { .. } if w == Vec3::zeros() => (state.q, w),
            Inertia::Principal { moments, frame } => {
                let mut tumble = Tumble::new(&state.q, w, moments, frame);
                tumble.advance(moments, tick_s);
                (tumble.q(frame), tumble.w(moments))
            }
        };
        let x = state.x + v * tick_s + sums.moved.v;
        let q = renormalised(rotation_exp(sums.moved.w) * q);
        Flight { since: tick + 1, origin: BodyState { x, q, v, w } }
    }

    /// The state of a body at this tick once its contacts have pushed it and moved it apart, and before gravity has.
    pub(super) fn state_before_gravity(&self, world: &World, index: usize, body: &Body) -> BodyState {
        let (sums, state) = (&self.sums[index], &body.state);
        BodyState {
            x: state.x + sums.moved.v,
            q: renormalised(rotation_exp(sums.moved.w) * state.q),
            v: sums.resting.v - world.gravity * world.time.tick_s,
            w: sums.resting.w,
        }
    }
}
