//! Energy and momentum of a set of bodies: the measures of how well a run keeps the laws of physics.

use crate::base::frame::Frame;
use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::physics::world::{BodyDef, World};

/// Energy and momentum of all bodies together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Kinetic energy, of rotation too, J.
    pub kinetic: f64,
    /// Potential energy in the field of gravity, J; zero at the origin.
    pub potential: f64,
    /// Linear momentum, N s.
    pub momentum: Vec3,
    /// Angular momentum about the origin, N m s.
    pub angular_momentum: Vec3,
    /// Sum of the absolute values of the bodies' momenta, N s: the scale for the drift of the momentum.
    pub momentum_scale: f64,
}

impl Totals {
    /// Measures a set of bodies.
    pub fn of<'a>(world: &World, bodies: impl Iterator<Item = (&'a BodyDef, &'a BodyState)>) -> Self {
        let mut totals = Totals::default();
        for (body, state) in bodies {
            let spin = body.inertia.momentum(&state.q, state.w);
            let momentum = state.v * body.mass;
            totals.kinetic += 0.5 * body.mass * state.v.norm_squared() + 0.5 * state.w.dot(&spin);
            totals.potential -= body.mass * world.gravity.dot(&state.x);
            totals.momentum += momentum;
            totals.angular_momentum += state.x.cross(&momentum) + spin;
            totals.momentum_scale += momentum.norm();
        }
        totals
    }

    /// Measures a frame. Bodies the world does not know are left out.
    pub fn of_frame(world: &World, frame: &Frame) -> Self {
        let known = frame.bodies.iter().filter_map(|(id, state)| Some((world.body(*id)?, state)));
        Self::of(world, known)
    }

    /// Kinetic and potential energy together, J.
    pub fn energy(&self) -> f64 {
        self.kinetic + self.potential
    }
}
