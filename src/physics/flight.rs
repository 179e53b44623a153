//! Free flight: the motion of a body between contacts, as a function of the tick and state at which it began.
//!
//! Nothing is accumulated, so skipping a thousand ticks gives the same bits as visiting each of them. Only the
//! orientation of tumbling bodies is integrated tick by tick; a [`FlightCursor`] remembers how far it got.

use serde::{Deserialize, Serialize};

use crate::base::aabb::Aabb;
use crate::base::math::{Vec3, rotation_exp};
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::mass::Inertia;
use crate::physics::shape::Shape;
use crate::physics::tumble::Tumble;
use crate::physics::world::{BodyDef, World};

/// Free flight from an origin. It describes ticks after the origin; what happened at the origin's own tick
/// belongs to the flight before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flight {
    /// The tick at which it began.
    pub since: Tick,
    /// The state with which it began.
    pub origin: BodyState,
}

impl Flight {
    /// Equal to the bit. Numbers that merely compare equal, such as zero and minus zero, are not.
    pub fn same_bits(&self, other: &Flight) -> bool {
        let bits = |flight: &Flight| flight.origin.to_array().map(f64::to_bits);
        self.since == other.since && bits(self) == bits(other)
    }

    /// The state at `tick`, which must not lie before the origin. Allocates nothing.
    pub fn state_at(&self, world: &World, body: &BodyDef, tick: Tick) -> BodyState {
        if let Inertia::Isotropic { .. } = body.inertia {
            return self.spinning_state_at(world, tick);
        }
        FlightCursor::new(*self).state_at(world, body, tick)
    }

    /// The state at `tick`. Balls keep the orientation of the origin: their contacts do not depend on it.
    #[inline]
    pub fn touching_state_at(&self, world: &World, body: &BodyDef, tick: Tick) -> BodyState {
        if !matches!(body.shape, Shape::Sphere { .. }) {
            return self.state_at(world, body, tick);
        }
        BodyState { x: self.position_at(world, tick), v: self.velocity_at(world, tick), ..self.origin }
    }

    /// The state of a body that does not tumble: a closed form.
    #[inline]
    fn spinning_state_at(&self, world: &World, tick: Tick) -> BodyState {
        let Flight { since, origin } = self;
        if tick == *since {
            return *origin;
        }
        let x = self.position_at(world, tick);
        let v = self.velocity_at(world, tick);
        let q = rotation_exp(origin.w * world.time.span_s(*since, tick)) * origin.q;
        BodyState { x, q, v, w: origin.w }
    }

    /// Position at `tick`, metres: a closed form for every body.
    #[inline]
    pub fn position_at(&self, world: &World, tick: Tick) -> Vec3 {
        if tick == self.since {
            return self.origin.x;
        }
        let tau = world.time.span_s(self.since, tick);
        self.origin.x + self.origin.v * tau + world.gravity * (tau * tau * 0.5)
    }

    /// Velocity at `tick`, m/s: a closed form for every body.
    #[inline]
    pub fn velocity_at(&self, world: &World, tick: Tick) -> Vec3 {
        if tick == self.since {
            return self.origin.v;
        }
        self.origin.v + world.gravity * world.time.span_s(self.since, tick)
    }

    /// Bounds of everything the body covers at the ticks `from..=to`. May be too large, never too small.
    pub fn swept_aabb(&self, world: &World, body: &BodyDef, from: Tick, to: Tick) -> Aabb {
        let (a, b) = (self.position_at(world, from), self.position_at(world, to));
        if from == to {
            return Aabb::about(a, Vec3::repeat(body.radius + 1e-12 * (a.amax() + body.radius)));
        }
        let mut path = Aabb { min: a.inf(&b), max: a.sup(&b) };
        // A parabola leaves the box of its ends only where its velocity changes sign.
        for axis in 0..3 {
            let (v, g) = (self.origin.v[axis], world.gravity[axis]);
            if g == 0.0 {
                continue;
            }
            let apex = -v / g;
            if apex > world.time.span_s(self.since, from) && apex < world.time.span_s(self.since, to) {
                let at = self.origin.x[axis] + v * apex + g * (apex * apex * 0.5);
                path.min[axis] = path.min[axis].min(at);
                path.max[axis] = path.max[axis].max(at);
            }
        }
        let scale = path.min.amax().max(path.max.amax());
        path.grown(body.radius + 1e-12 * (scale + body.radius))
    }
}

/// A flight, and the tick up to which the orientation of a tumbling body has been integrated. Gives the same bits as
/// [`Flight::state_at`] for any sequence of ticks; it is only quicker when they ascend.
#[derive(Clone, Copy, Debug)]
pub struct FlightCursor {
    flight: Flight,
    /// Rotation of a tumbling body at a tick.
    tumble: Option<(Tick, Tumble)>,
}

impl FlightCursor {
    /// A cursor at the flight's origin.
    pub fn new(flight: Flight) -> Self {
        FlightCursor { flight, tumble: None }
    }

    /// The flight that the cursor evaluates.
    pub fn flight(&self) -> &Flight {
        &self.flight
    }

    /// The state at `tick`, which must not lie before the origin.
    pub fn state_at(&mut self, world: &World, body: &BodyDef, tick: Tick) -> BodyState {
        let Flight { since, origin } = self.flight;
        if tick == since {
            return origin;
        }
        let x = self.flight.position_at(world, tick);
        let v = self.flight.velocity_at(world, tick);
        match &body.inertia {
            Inertia::Isotropic { .. } => self.flight.spinning_state_at(world, tick),
            // A body that does not turn does not tumble: exact, and as cheap as a ball.
            Inertia::Principal { .. } if origin.w == Vec3::zeros() => {
                BodyState { x, q: origin.q, v, w: origin.w }
            }
            Inertia::Principal { moments, frame } => {
                let (mut at, mut tumble) = match self.tumble {
                    Some((at, tumble)) if at <= tick => (at, tumble),
                    _ => (since, Tumble::new(&origin.q, origin.w, moments, frame)),
                };
                while at < tick {
                    tumble.advance(moments, world.time.tick_s);
                    at += 1;
                }
                self.tumble = Some((at, tumble));
                BodyState { x, q: tumble.q(frame), v, w: tumble.w(moments) }
            }
        }
    }
}
