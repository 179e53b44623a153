//! The contact constraint of one pair at one tick, and the pure steps of the rule that concern this pair alone.
//!
//! Both sides of a pair run the same steps on the same numbers, so no result has to be sent.

use crate::base::math::Vec3;
use crate::physics::collision::kernels::Manifold;
use crate::physics::contact::{PairCache, SolverMass, Velocity};
use crate::physics::local_solver::manifold_contact::ManifoldContact;
use crate::physics::local_solver::sphere_contact::SphereContact;
use crate::physics::world::{ContactRule, Surface};

/// The constraint of a pair in contact. Many scenes consist of balls, and thousands of them have more contacts than
/// a processor's cache holds: the variant for balls leaves out what balls do not need.
#[derive(Clone, Debug)]
pub struct ContactConstraint(Kind);

#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "most contacts are the large variant, and they lie next to each other"
)]
enum Kind {
    Balls(SphereContact),
    Shapes(Box<ManifoldContact>),
}

/// The same expression for both kinds.
macro_rules! either {
    ($kind:expr, $name:ident => $what:expr) => {
        match $kind {
            Kind::Balls($name) => $what,
            Kind::Shapes($name) => $what,
        }
    };
}

impl ContactConstraint {
    /// The constraint of a manifold. The first side is the body with the smaller id, or the body that touches static
    /// geometry.
    #[inline]
    pub fn new(
        manifold: &Manifold,
        surface: Surface,
        a: &SolverMass,
        b: &SolverMass,
        cache: &PairCache,
        rule: &ContactRule,
    ) -> Self {
        ContactConstraint(match manifold.points() {
            [only] if a.is_ball && b.is_ball => {
                Kind::Balls(SphereContact::new(only, surface, a, b, cache, rule))
            }
            _ => Kind::Shapes(Box::new(ManifoldContact::new(manifold, surface, a, b, cache, rule))),
        })
    }

    /// Smallest gap of its points, metres; negative where they overlap.
    pub fn gap(&self) -> f64 {
        either!(&self.0, contact => contact.gap)
    }

    /// Whether the pair is an impact at these velocities: it would rebound fast enough to matter, so it bounces instead
    /// of resting.
    #[inline]
    pub(super) fn is_impact(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> bool {
        either!(&self.0, contact => contact.is_impact(a, b, rule))
    }

    /// Velocities after the two bodies have bounced off each other. A bounce ends a rest: cached impulses are cleared.
    pub(super) fn bounce(&mut self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> (Velocity, Velocity) {
        either!(&mut self.0, contact => {
            let after = contact.bounce(a, b, rule);
            contact.bounces += 1;
            contact.has_bounced = true;
            contact.clear_impulses();
            after
        })
    }

    /// Sets the impulses that hold the pair to zero.
    pub(super) fn clear_impulses(&mut self) {
        either!(&mut self.0, contact => contact.clear_impulses());
    }

    /// One iteration: the two bodies, split by `weights`, exchange impulses until they no longer approach faster than
    /// their gaps allow.
    #[inline]
    pub(super) fn relax(&mut self, a: &Velocity, b: &Velocity, weights: (f64, f64), tick_s: f64) {
        either!(&mut self.0, contact => contact.relax(a, b, weights, tick_s));
    }

    /// How far the bodies move in this tick to undo a share of their overlap, and of the gaps at points that carry
    /// load: displacement and turn of the first and of the second. Moves bodies, never changes velocities. `a` and
    /// `b` are the velocities after the impacts: what separates by itself needs no correction.
    #[inline]
    pub(super) fn correction(
        &self,
        a: &Velocity,
        b: &Velocity,
        weights: (f64, f64),
        rule: &ContactRule,
    ) -> (Velocity, Velocity) {
        either!(&self.0, contact => contact.correction(a, b, weights, rule))
    }

    /// Whether the two bodies separate, though they may still overlap.
    #[inline]
    pub(super) fn is_separating(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> bool {
        either!(&self.0, contact => contact.is_separating(a, b, rule))
    }

    /// Whether any normal impulse holds it.
    #[inline]
    pub(super) fn is_loaded(&self) -> bool {
        either!(&self.0, contact => contact.is_loaded())
    }

    /// The impulse on the first body and its moments about both centres of mass. The second body gets the opposite of
    /// both.
    #[inline]
    pub(super) fn impulse(&self) -> (Vec3, Vec3, Vec3) {
        either!(&self.0, contact => contact.impulse())
    }

    /// What the pair keeps for the next tick.
    #[inline]
    pub fn cache(&self) -> PairCache {
        either!(&self.0, contact => contact.cache())
    }

    /// Whether every normal impulse is finite and none pulls.
    pub(super) fn has_valid_impulses(&self) -> bool {
        either!(&self.0, contact => contact.has_valid_impulses())
    }
}
