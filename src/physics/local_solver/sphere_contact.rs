//! Two balls, or a ball and static geometry, that touch in one point: the most frequent kind of contact.
//!
//! Impulses along the normal cannot turn a ball, and its inertia is the same about every axis. That makes the contact
//! half as large as one of other shapes, and every step a few lines without loops. Its results are those of
//! [`ManifoldContact`], but for the sign of zero.
//!
//! [`ManifoldContact`]: crate::physics::local_solver::manifold_contact::ManifoldContact

use smallvec::SmallVec;

use crate::base::math::Vec3;
use crate::physics::across;
use crate::physics::collision::kernels::ContactPoint;
use crate::physics::contact::{PairCache, PatchCache, PointCache, SolverMass, Velocity, on_disc};
use crate::physics::local_solver::manifold_contact::decayed_restitution;
use crate::physics::local_solver::resting::allowed_speed;
use crate::physics::world::{ContactRule, Surface};

/// A ball that touches another, or static geometry, at one tick.
#[derive(Clone, Debug)]
pub(super) struct SphereContact {
    normal: Vec3,
    feature: u64,
    /// Distance of the surfaces, metres; negative where they overlap.
    pub gap: f64,
    /// Impulse along the normal in this tick, N s.
    normal_impulse: f64,
    /// Inverse masses of the two sides, 1/kg, and inverse moments of inertia, 1/(kg m²).
    inv_mass: (f64, f64),
    inv_inertia: (f64, f64),
    surface: Surface,
    /// Number of bounces since the contact began.
    pub bounces: u32,
    /// Whether it bounced in this tick.
    pub has_bounced: bool,
    /// Whether it carried load at the tick before.
    was_loaded: bool,
    has_friction: bool,
    /// Two directions along the surface, at right angles; unused without friction.
    tangents: [Tangent; 2],
}

/// A row along the surface, and the impulse along it. A [`SplitRow`] for balls: their inertia is a number.
///
/// [`SplitRow`]: crate::physics::contact::SplitRow
#[derive(Clone, Copy, Debug)]
struct Tangent {
    dir: Vec3,
    arm_a: Vec3,
    arm_b: Vec3,
    /// Inverse of the effective mass of each side along this row.
    k_a: f64,
    k_b: f64,
    impulse: f64,
}

impl Tangent {
    const NONE: Tangent = {
        let none = Vec3::new(0.0, 0.0, 0.0);
        Tangent { dir: none, arm_a: none, arm_b: none, k_a: 0.0, k_b: 0.0, impulse: 0.0 }
    };

    #[inline]
    fn new(dir: Vec3, (to_a, to_b): (Vec3, Vec3), inv_mass: (f64, f64), inv_inertia: (f64, f64)) -> Self {
        let (arm_a, arm_b) = (to_a.cross(&dir), to_b.cross(&dir));
        let k_a = inv_mass.0 + arm_a.dot(&(arm_a * inv_inertia.0));
        let k_b = inv_mass.1 + arm_b.dot(&(arm_b * inv_inertia.1));
        Tangent { dir, arm_a, arm_b, k_a, k_b, impulse: 0.0 }
    }

    /// Speed at which the first body slides past the second along this row, m/s.
    #[inline]
    fn speed(&self, a: &Velocity, b: &Velocity) -> f64 {
        self.dir.dot(&(a.v - b.v)) + self.arm_a.dot(&a.w) - self.arm_b.dot(&b.w)
    }

    /// Change of that speed per unit impulse.
    #[inline]
    fn gain(&self, weights: (f64, f64)) -> f64 {
        self.k_a * weights.0 + self.k_b * weights.1
    }
}

impl SphereContact {
    /// The contact at a point.
    #[inline]
    pub fn new(
        contact: &ContactPoint,
        surface: Surface,
        a: &SolverMass,
        b: &SolverMass,
        cache: &PairCache,
        rule: &ContactRule,
    ) -> Self {
        let ContactPoint { normal, point, gap, feature } = *contact;
        let (inv_mass, inv_inertia) =
            ((a.inv_mass, b.inv_mass), (a.inv_inertia[(0, 0)], b.inv_inertia[(0, 0)]));
        let normal_impulse = match (rule.warm_start, &cache.points[..]) {
            (false, _) => 0.0,
            (true, [known]) if known.feature == feature => known.normal_impulse,
            (true, _) => cache.normal_impulses(&[feature])[0],
        };
        let mut contact = SphereContact {
            normal,
            feature,
            gap,
            normal_impulse,
            inv_mass,
            inv_inertia,
            surface,
            bounces: cache.bounces,
            has_bounced: false,
            was_loaded: normal_impulse > 0.0,
            has_friction: surface.friction > 0.0,
            tangents: [Tangent::NONE; 2],
        };
        if contact.has_friction {
            let (along, across) = across(normal);
            let to = (point - a.x, point - b.x);
            contact.tangents = [along, across].map(|dir| Tangent::new(dir, to, inv_mass, inv_inertia));
            if let Some(known) = cache.patches.first().filter(|_| rule.warm_start) {
                let wanted = [along, across].map(|dir| known.tangent_impulse.dot(&dir));
                contact.set_friction(wanted);
            }
        }
        contact
    }

    /// Sets the friction as near to `wanted` as Coulomb's law allows.
    #[inline]
    fn set_friction(&mut self, wanted: [f64; 2]) {
        let most = self.surface.friction * self.normal_impulse;
        [self.tangents[0].impulse, self.tangents[1].impulse] = on_disc(wanted, most);
    }

    /// Speed at which the first body leaves the second, m/s.
    #[inline]
    fn normal_speed(&self, a: &Velocity, b: &Velocity) -> f64 {
        self.normal.dot(&(a.v - b.v))
    }

    /// Change of that speed per unit impulse along the normal.
    #[inline]
    fn gain(&self, weights: (f64, f64)) -> f64 {
        self.inv_mass.0 * weights.0 + self.inv_mass.1 * weights.1
    }

    /// Velocities after an impulse along the normal.
    #[inline]
    fn after_push(
        &self,
        impulse: f64,
        a: &Velocity,
        b: &Velocity,
        weights: (f64, f64),
    ) -> (Velocity, Velocity) {
        let a = Velocity { v: a.v + self.normal * (impulse * self.inv_mass.0 * weights.0), w: a.w };
        let b = Velocity { v: b.v - self.normal * (impulse * self.inv_mass.1 * weights.1), w: b.w };
        (a, b)
    }

    #[inline]
    pub fn is_impact(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> bool {
        let speed = self.normal_speed(a, b);
        self.gap < rule.margin_m
            && speed < 0.0
            && decayed_restitution(self.surface.restitution, self.bounces) * -speed > rule.bounce_speed_mps
    }

    #[inline]
    pub fn is_separating(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> bool {
        self.normal_speed(a, b) >= rule.separation_speed_mps
    }

    pub fn clear_impulses(&mut self) {
        self.normal_impulse = 0.0;
        self.tangents[0].impulse = 0.0;
        self.tangents[1].impulse = 0.0;
    }

    #[inline]
    pub fn is_loaded(&self) -> bool {
        self.normal_impulse > 0.0
    }

    #[inline]
    pub fn impulse(&self) -> (Vec3, Vec3, Vec3) {
        let push = self.normal * self.normal_impulse;
        if !self.has_friction {
            return (push, Vec3::zeros(), Vec3::zeros());
        }
        let [along, across] = &self.tangents;
        (
            push + along.dir * along.impulse + across.dir * across.impulse,
            along.arm_a * along.impulse + across.arm_a * across.impulse,
            along.arm_b * along.impulse + across.arm_b * across.impulse,
        )
    }

    #[inline]
    pub fn cache(&self) -> PairCache {
        let [along, across] = &self.tangents;
        let tangent_impulse = || along.dir * along.impulse + across.dir * across.impulse;
        let patches = match self.has_friction {
            true => {
                SmallVec::from_buf([PatchCache { tangent_impulse: tangent_impulse(), spin_impulse: 0.0 }])
            }
            false => SmallVec::new(),
        };
        PairCache {
            bounces: self.bounces,
            points: SmallVec::from_buf([PointCache {
                feature: self.feature,
                normal_impulse: self.normal_impulse,
            }]),
            patches,
        }
    }

    /// Whether the normal impulse is finite and does not pull.
    pub fn has_valid_impulses(&self) -> bool {
        self.normal_impulse.is_finite() && self.normal_impulse >= 0.0
    }

    pub fn bounce(&self, a: &Velocity, b: &Velocity, _: &ContactRule) -> (Velocity, Velocity) {
        let whole = (1.0, 1.0);
        let e = decayed_restitution(self.surface.restitution, self.bounces);
        let push = (1.0 + e) * -self.normal_speed(a, b) / self.gain(whole);
        let (mut a, mut b) = self.after_push(push, a, b, whole);
        if self.has_friction {
            let [along, across] = &self.tangents;
            let gain = along.gain(whole).max(across.gain(whole));
            let wanted = [-along.speed(&a, &b) / gain, -across.speed(&a, &b) / gain];
            let impulses = on_disc(wanted, self.surface.friction * push);
            for (row, impulse) in self.tangents.iter().zip(impulses) {
                a.v += row.dir * (impulse * self.inv_mass.0);
                a.w += row.arm_a * self.inv_inertia.0 * impulse;
                b.v -= row.dir * (impulse * self.inv_mass.1);
                b.w -= row.arm_b * self.inv_inertia.1 * impulse;
            }
        }
        (a, b)
    }

    #[inline]
    pub fn relax(&mut self, a: &Velocity, b: &Velocity, weights: (f64, f64), tick_s: f64) {
        let missing = allowed_speed(self.gap, self.was_loaded, tick_s) - self.normal_speed(a, b);
        let before = self.normal_impulse;
        self.normal_impulse = (before + missing / self.gain(weights)).max(0.0);
        if self.has_friction {
            let (a, b) = self.after_push(self.normal_impulse - before, a, b, weights);
            let wanted =
                self.tangents.each_ref().map(|row| row.impulse - row.speed(&a, &b) / row.gain(weights));
            self.set_friction(wanted);
        }
    }

    #[inline]
    pub fn correction(
        &self,
        a: &Velocity,
        b: &Velocity,
        weights: (f64, f64),
        rule: &ContactRule,
    ) -> (Velocity, Velocity) {
        let is_loaded = self.normal_impulse > 0.0;
        let overlaps = self.gap < 0.0 && (is_loaded || self.normal_speed(a, b) <= rule.bounce_speed_mps);
        let has_gap = self.gap > 0.0 && is_loaded;
        if self.has_bounced || !(overlaps || has_gap) {
            return (Velocity::ZERO, Velocity::ZERO);
        }
        let shift = rule.correction * -self.gap / self.gain(weights);
        self.after_push(shift, &Velocity::ZERO, &Velocity::ZERO, (1.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::manifold_contact::ManifoldContact;
    use super::*;
    use crate::base::math::Mat3;
    use crate::physics::World;
    use crate::physics::collision::kernels::Manifold;
    use crate::scene::{Body, Scene, Shape};

    fn vectors() -> impl Strategy<Value = Vec3> {
        prop::array::uniform3(-2.0..2.0f64).prop_map(Vec3::from)
    }

    fn velocities() -> impl Strategy<Value = Velocity> {
        (vectors(), vectors()).prop_map(|(v, w)| Velocity { v, w })
    }

    fn ball(x: Vec3, inv_mass: f64) -> SolverMass {
        SolverMass { x, inv_mass, inv_inertia: Mat3::from_diagonal_element(2.5 * inv_mass), is_ball: true }
    }

    proptest! {
        /// Balls behave as any other shape with one point and their masses, to the bit but for the sign of zero.
        #[test]
        fn balls_are_shapes(
            normal in vectors().prop_filter("a direction", |n| n.norm() > 0.1),
            (to_b, other_mass) in (vectors(), prop::option::of(0.1..5.0f64)),
            (gap, friction, restitution) in (-0.02..0.004f64, prop::sample::select(vec![0.0, 0.3, 2.0]), 0.0..1.0f64),
            (a, b) in (velocities(), velocities()),
            weights in (1..5u32, 1..5u32),
            known in prop::collection::vec((6..9u64, 0.0..3.0f64), 0..3),
            (tangent_impulse, bounces) in (vectors(), 0..3u32),
            warm_start in any::<bool>(),
        ) {
            let scene = Scene { bodies: vec![Body::new(Shape::Sphere { radius: 0.5 }, [0.0; 3])], ..Scene::default() };
            let rule = ContactRule { warm_start, ..World::new(&scene).expect("the scene is right").rule };
            let contact = ContactPoint { feature: 7, point: Vec3::zeros(), normal: normal.normalize(), gap };
            let surface = Surface { friction, restitution };
            let first = ball(normal * 0.3, 0.8);
            let second = other_mass.map_or(SolverMass::fixed(to_b), |inv_mass| ball(to_b, inv_mass));
            let b = if other_mass.is_some() { b } else { Velocity::ZERO };
            let cache = PairCache {
                bounces,
                points: known.iter().map(|(feature, normal_impulse)| PointCache { feature: *feature, normal_impulse: *normal_impulse }).collect(),
                patches: SmallVec::from_buf([PatchCache { tangent_impulse, spin_impulse: 0.0 }]),
            };
            let mut balls = SphereContact::new(&contact, surface, &first, &second, &cache, &rule);
            let mut shapes =
                ManifoldContact::new(&Manifold::single(contact), surface, &first, &second, &cache, &rule);
            prop_assert_eq!(balls.impulse(), shapes.impulse());
            prop_assert_eq!(balls.is_impact(&a, &b, &rule), shapes.is_impact(&a, &b, &rule));
            if balls.is_impact(&a, &b, &rule) {
                prop_assert_eq!(balls.bounce(&a, &b, &rule), shapes.bounce(&a, &b, &rule));
            }
            let weights = (f64::from(weights.0), f64::from(weights.1));
            for _ in 0..2 {
                balls.relax(&a, &b, weights, 0.01);
                shapes.relax(&a, &b, weights, 0.01);
                prop_assert_eq!(balls.impulse(), shapes.impulse());
            }
            prop_assert_eq!(balls.correction(&a, &b, weights, &rule), shapes.correction(&a, &b, weights, &rule));
            prop_assert_eq!(balls.is_separating(&a, &b, &rule), shapes.is_separating(&a, &b, &rule));
            prop_assert_eq!(balls.is_loaded(), shapes.is_loaded());
            prop_assert_eq!(balls.cache(), shapes.cache());
            balls.clear_impulses();
            shapes.clear_impulses();
            prop_assert_eq!(balls.cache(), shapes.cache());
        }
    }
}
