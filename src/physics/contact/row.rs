//! One row of a contact or joint: a direction in which two bodies push, rub or turn each other, and what an impulse
//! along it does.
//!
//! There are two rows, one for each solver. They compute the same quantities, but round differently, so neither can
//! stand in for the other without changing results:
//! - [`SplitRow`] (local solver) keeps the response of the two sides apart, because mass splitting scales each side by
//!   a weight of its own, and divides by their weighted sum. A unit direction counts as exactly one.
//! - [`SweepRow`] (island solver) adds the two sides once and multiplies by the inverse in every sweep. It squares the
//!   direction as it is, and stores the arm of the second side negated, which differs in the sign of zero.

use crate::base::math::Vec3;
use crate::physics::contact::velocity::{SolverMass, Velocity};

/// Two bodies while their velocities are being changed. A weight multiplies a body's inverse mass: one for a
/// whole body, the number of its contacts for a body that is split evenly among them.
#[derive(Clone, Copy, Debug)]
pub(in crate::physics) struct VelocityPair {
    pub a: Velocity,
    pub b: Velocity,
    pub inv_mass: (f64, f64),
    pub weights: (f64, f64),
}

/// A row between bodies that are split among their contacts. `dir` is a unit vector, or zero for a pure turn.
#[derive(Clone, Copy, Debug)]
pub(in crate::physics) struct SplitRow {
    pub dir: Vec3,
    arm_a: Vec3,
    arm_b: Vec3,
    /// Change of angular velocity per unit impulse: the arms through the inverse inertia.
    spin_a: Vec3,
    spin_b: Vec3,
    /// Inverse of the effective mass of each side along this row.
    k_a: f64,
    k_b: f64,
}

impl SplitRow {
    /// Along the contact normal `dir` at `point`.
    pub fn normal(dir: Vec3, point: Vec3, a: &SolverMass, b: &SolverMass) -> Self {
        if a.is_ball && b.is_ball {
            let none = Vec3::zeros();
            let (k_a, k_b) = (a.inv_mass, b.inv_mass);
            return SplitRow { dir, arm_a: none, arm_b: none, spin_a: none, spin_b: none, k_a, k_b };
        }
        let arm = |side: &SolverMass| if side.is_ball { Vec3::zeros() } else { (point - side.x).cross(&dir) };
        Self::with_arms(dir, arm(a), arm(b), a, b)
    }

    /// Along the surface direction `dir` at `point`.
    pub fn tangent(dir: Vec3, point: Vec3, a: &SolverMass, b: &SolverMass) -> Self {
        Self::with_arms(dir, (point - a.x).cross(&dir), (point - b.x).cross(&dir), a, b)
    }

    /// About the normal.
    pub fn about(normal: Vec3, a: &SolverMass, b: &SolverMass) -> Self {
        Self::with_arms(Vec3::zeros(), normal, normal, a, b)
    }

    fn with_arms(dir: Vec3, arm_a: Vec3, arm_b: Vec3, a: &SolverMass, b: &SolverMass) -> Self {
        let (spin_a, spin_b) = (a.inv_inertia * arm_a, b.inv_inertia * arm_b);
        let d2 = dir.norm_squared();
        // A unit vector counts as exactly one, so that balls see their exact masses.
        let linear = if d2 == 0.0 { 0.0 } else { 1.0 };
        let k_a = linear * a.inv_mass + arm_a.dot(&spin_a);
        let k_b = linear * b.inv_mass + arm_b.dot(&spin_b);
        SplitRow { dir, arm_a, arm_b, spin_a, spin_b, k_a, k_b }
    }

    /// Speed at which the first body leaves the second along this row, m/s.
    #[inline]
    pub fn speed(&self, a: &Velocity, b: &Velocity) -> f64 {
        self.dir.dot(&(a.v - b.v)) + self.arm_a.dot(&a.w) - self.arm_b.dot(&b.w)
    }

    /// Change of the speed along this row per unit impulse along it.
    #[inline]
    pub fn gain(&self, weights: (f64, f64)) -> f64 {
        self.k_a * weights.0 + self.k_b * weights.1
    }

    /// Change of the speed along this row per unit impulse along `other`.
    pub fn coupling(&self, other: &SplitRow, inv_mass: (f64, f64), weights: (f64, f64)) -> f64 {
        let linear = self.dir.dot(&other.dir) * (inv_mass.0 * weights.0 + inv_mass.1 * weights.1);
        let angular = self.arm_a.dot(&other.spin_a) * weights.0 + self.arm_b.dot(&other.spin_b) * weights.1;
        linear + angular
    }

    /// Pushes the first body along this row and the second against it.
    #[inline]
    pub fn push(&self, impulse: f64, pair: &mut VelocityPair) {
        let (weight_a, weight_b) = pair.weights;
        pair.a.v += self.dir * (impulse * pair.inv_mass.0 * weight_a);
        pair.a.w += self.spin_a * (impulse * weight_a);
        pair.b.v -= self.dir * (impulse * pair.inv_mass.1 * weight_b);
        pair.b.w -= self.spin_b * (impulse * weight_b);
    }

    /// Moment of a unit impulse about each centre of mass.
    #[inline]
    pub fn arms(&self) -> (Vec3, Vec3) {
        (self.arm_a, self.arm_b)
    }
}

/// A row between whole bodies, visited in every sweep. `dir` may be zero, for rows that only turn.
#[derive(Clone, Copy, Debug)]
pub(in crate::physics) struct SweepRow {
    /// Direction of the push on the first body.
    pub dir: Vec3,
    /// Moments of a unit impulse about the centres of mass; that of the second side is negated.
    arm_a: Vec3,
    arm_b: Vec3,
    /// The same through the inverse inertia: change of angular velocity per N s.
    spin_a: Vec3,
    spin_b: Vec3,
    /// Relative velocity gained per N s, and its inverse.
    pub gain: f64,
    pub inv_gain: f64,
}

impl SweepRow {
    /// A push along `dir` at the points `ra` and `rb` from the centres of mass.
    #[inline]
    pub fn new(dir: Vec3, ra: Vec3, rb: Vec3, a: &SolverMass, b: &SolverMass) -> Self {
        SweepRow::with_arms(dir, ra.cross(&dir), -rb.cross(&dir), a, b)
    }

    /// A row given by its arms.
    #[inline]
    pub fn with_arms(dir: Vec3, arm_a: Vec3, arm_b: Vec3, a: &SolverMass, b: &SolverMass) -> Self {
        let (spin_a, spin_b) = (a.inv_inertia * arm_a, b.inv_inertia * arm_b);
        let linear = dir.norm_squared() * (a.inv_mass + b.inv_mass);
        let gain = linear + arm_a.dot(&spin_a) + arm_b.dot(&spin_b);
        let inv_gain = if gain > 0.0 { 1.0 / gain } else { 0.0 };
        SweepRow { dir, arm_a, arm_b, spin_a, spin_b, gain, inv_gain }
    }

    /// Relative velocity along the row, m/s or rad/s.
    #[inline(always)]
    pub fn speed(&self, a: &Velocity, b: &Velocity) -> f64 {
        self.dir.dot(&(a.v - b.v)) + self.arm_a.dot(&a.w) + self.arm_b.dot(&b.w)
    }

    /// Applies an impulse to both bodies.
    #[inline(always)]
    pub fn push(&self, impulse: f64, a: &mut Velocity, b: &mut Velocity, inv_mass: (f64, f64)) {
        a.v += self.dir * (impulse * inv_mass.0);
        a.w += self.spin_a * impulse;
        b.v -= self.dir * (impulse * inv_mass.1);
        b.w += self.spin_b * impulse;
    }

    /// Changes `impulse`, which never pulls, so that the relative velocity along the row becomes `target`.
    #[inline(always)]
    pub fn push_towards(
        &self,
        target: f64,
        impulse: &mut f64,
        a: &mut Velocity,
        b: &mut Velocity,
        inv_mass: (f64, f64),
    ) {
        let lacking = target - self.speed(a, b);
        let wanted = (*impulse + lacking * self.inv_gain).max(0.0);
        let change = wanted - *impulse;
        *impulse = wanted;
        self.push(change, a, b, inv_mass);
    }
}
