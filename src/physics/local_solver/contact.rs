//! One pair in touch at one tick, and the pure steps of the rule that concern this pair alone.
//!
//! Both sides of a pair run the same steps on the same numbers, so nobody has to be told the result.

use crate::base::math::Vec3;
use crate::physics::collision::kernels::Manifold;
use crate::physics::contact::PairCache;
use crate::physics::contact::{SolverMass, Velocity};
use crate::physics::local_solver::manifold_contact::ManifoldContact;
use crate::physics::local_solver::sphere_contact::SphereContact;
use crate::physics::world::{ContactRule, Surface};

/// A pair in touch at one tick. There are many balls in many scenes, and a scene of thousands of them has more touches
/// than a cache holds: what balls do not need is not there.
#[derive(Clone, Debug)]
pub struct ContactConstraint(Kind);

#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "most touches are the large variant, and they lie next to each other"
)]
enum Kind {
    Balls(SphereContact),
    Shapes(Box<ManifoldContact>),
}

/// The same for both kinds.
macro_rules! either {
    ($touch:expr, $name:ident => $what:expr) => {
        match $touch {
            Kind::Balls($name) => $what,
            Kind::Shapes($name) => $what,
        }
    };
}

impl ContactConstraint {
    /// A pair whose points are known. The first side is the body with the smaller id, or the body that touches
    /// static geometry.
    #[inline]
    pub fn new(
        manifold: &Manifold,
        surface: Surface,
        a: &SolverMass,
        b: &SolverMass,
        memory: &PairCache,
        rule: &ContactRule,
    ) -> Self {
        ContactConstraint(match manifold.points() {
            [only] if a.is_ball && b.is_ball => {
                Kind::Balls(SphereContact::new(only, surface, a, b, memory, rule))
            }
            _ => Kind::Shapes(Box::new(ManifoldContact::new(manifold, surface, a, b, memory, rule))),
        })
    }

    /// Smallest gap of its points: how deep the touch is.
    pub fn gap(&self) -> f64 {
        either!(&self.0, touch => touch.gap)
    }

    /// Whether the touch would leave fast enough to matter: then it bounces instead of resting.
    #[inline]
    pub(super) fn is_impact(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> bool {
        either!(&self.0, touch => touch.is_impact(a, b, rule))
    }

    /// Velocities after the two bodies have bounced off each other, which ends a rest.
    pub(super) fn bounce(&mut self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> (Velocity, Velocity) {
        either!(&mut self.0, touch => {
            let after = touch.bounce(a, b, rule);
            touch.bounces += 1;
            touch.fired = true;
            touch.release();
            after
        })
    }

    /// Forgets the impulses that held it.
    pub(super) fn release(&mut self) {
        either!(&mut self.0, touch => touch.release());
    }

    /// One iteration: the two bodies, split by `weights`, exchange impulses until they no longer approach faster than
    /// their gaps allow.
    #[inline]
    pub(super) fn relax(&mut self, a: &Velocity, b: &Velocity, weights: (f64, f64), tick_s: f64) {
        either!(&mut self.0, touch => touch.relax(a, b, weights, tick_s));
    }

    /// How far the bodies move in this tick to undo a share of their overlap, and of the gaps at points that carry
    /// load: displacement and turn of the first and of the second. Moves bodies, never changes velocities. `a` and
    /// `b` are the velocities after the bounces: what flies apart by itself needs no help.
    #[inline]
    pub(super) fn correction(
        &self,
        a: &Velocity,
        b: &Velocity,
        weights: (f64, f64),
        rule: &ContactRule,
    ) -> (Velocity, Velocity) {
        either!(&self.0, touch => touch.correction(a, b, weights, rule))
    }

    /// Whether the two fly apart, though they may still overlap.
    #[inline]
    pub(super) fn parts(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> bool {
        either!(&self.0, touch => touch.parts(a, b, rule))
    }

    /// Whether any impulse holds it.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        either!(&self.0, touch => touch.is_held())
    }

    /// The impulse on the first body and its turning moments about both centres of mass. The second body gets the
    /// opposite of both.
    #[inline]
    pub(super) fn impulse(&self) -> (Vec3, Vec3, Vec3) {
        either!(&self.0, touch => touch.impulse())
    }

    /// What the pair remembers for the next tick.
    #[inline]
    pub fn memory(&self) -> PairCache {
        either!(&self.0, touch => touch.memory())
    }
}
