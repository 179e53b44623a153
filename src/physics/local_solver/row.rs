//! One direction in which two bodies can push, rub or twist each other, and what an impulse along it does.

use crate::base::math::{Mat3, Vec3};
use crate::base::state::BodyState;
use crate::physics::shape::Shape;
use crate::physics::world::BodyDef;

/// Velocity and angular velocity.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Twist {
    /// m/s.
    pub v: Vec3,
    /// rad/s, in the world.
    pub w: Vec3,
}

impl Twist {
    /// At rest.
    pub const ZERO: Twist = Twist { v: Vec3::new(0.0, 0.0, 0.0), w: Vec3::new(0.0, 0.0, 0.0) };

    /// The velocities of a state.
    pub fn of(state: &BodyState) -> Self {
        Twist { v: state.v, w: state.w }
    }

    /// The raw bits of all numbers.
    pub fn to_bits(&self) -> [u64; 6] {
        let (v, w) = (self.v, self.w);
        [v.x, v.y, v.z, w.x, w.y, w.z].map(f64::to_bits)
    }
}

/// How one side of a touch resists impulses at this tick.
#[derive(Clone, Copy, Debug)]
pub struct SolverMass {
    /// Centre of mass.
    pub x: Vec3,
    /// 1/kg; zero for static geometry.
    pub inv_mass: f64,
    /// Inverse inertia tensor in the world; zero for static geometry.
    pub inv_inertia: Mat3,
    /// A ball: impulses along contact normals cannot turn it, not even by rounding.
    pub is_ball: bool,
}

impl SolverMass {
    /// A body at a state.
    pub fn of(body: &BodyDef, state: &BodyState) -> Self {
        SolverMass {
            x: state.x,
            inv_mass: body.inv_mass,
            inv_inertia: body.inertia.world_inverse(&state.q),
            is_ball: matches!(body.shape, Shape::Sphere { .. }),
        }
    }

    /// Something that never moves, at `x`.
    pub fn fixed(x: Vec3) -> Self {
        SolverMass { x, inv_mass: 0.0, inv_inertia: Mat3::zeros(), is_ball: true }
    }
}

/// Two bodies while their velocities are being changed. A weight multiplies a body's inverse mass: one for a
/// whole body, the number of its touches for a body that is split evenly among them.
#[derive(Clone, Copy, Debug)]
pub(super) struct VelocityPair {
    pub a: Twist,
    pub b: Twist,
    pub inv_mass: (f64, f64),
    pub weights: (f64, f64),
}

/// A direction with the arms it works on. `dir` is a unit vector, or zero for a pure twist.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub dir: Vec3,
    arm_a: Vec3,
    arm_b: Vec3,
    spin_a: Vec3,
    spin_b: Vec3,
    /// Inverse of the mass each side shows along this direction.
    k_a: f64,
    k_b: f64,
}

impl Row {
    /// Along the contact normal `dir` at `point`.
    pub fn normal(dir: Vec3, point: Vec3, a: &SolverMass, b: &SolverMass) -> Self {
        if a.is_ball && b.is_ball {
            let none = Vec3::zeros();
            let (k_a, k_b) = (a.inv_mass, b.inv_mass);
            return Row { dir, arm_a: none, arm_b: none, spin_a: none, spin_b: none, k_a, k_b };
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
        Row { dir, arm_a, arm_b, spin_a, spin_b, k_a, k_b }
    }

    /// Speed at which the first body leaves the second along this direction.
    #[inline]
    pub fn speed(&self, a: &Twist, b: &Twist) -> f64 {
        self.dir.dot(&(a.v - b.v)) + self.arm_a.dot(&a.w) - self.arm_b.dot(&b.w)
    }

    /// How much a unit impulse along this direction changes the speed along it.
    #[inline]
    pub fn give(&self, weights: (f64, f64)) -> f64 {
        self.k_a * weights.0 + self.k_b * weights.1
    }

    /// How much a unit impulse along `other` changes the speed along this direction.
    pub fn coupling(&self, other: &Row, inv_mass: (f64, f64), weights: (f64, f64)) -> f64 {
        let linear = self.dir.dot(&other.dir) * (inv_mass.0 * weights.0 + inv_mass.1 * weights.1);
        let angular = self.arm_a.dot(&other.spin_a) * weights.0 + self.arm_b.dot(&other.spin_b) * weights.1;
        linear + angular
    }

    /// Pushes the first body along this direction and the second against it.
    #[inline]
    pub fn push(&self, impulse: f64, couple: &mut VelocityPair) {
        let (weight_a, weight_b) = couple.weights;
        couple.a.v += self.dir * (impulse * couple.inv_mass.0 * weight_a);
        couple.a.w += self.spin_a * (impulse * weight_a);
        couple.b.v -= self.dir * (impulse * couple.inv_mass.1 * weight_b);
        couple.b.w -= self.spin_b * (impulse * weight_b);
    }

    /// Turning moment of a unit impulse about each centre of mass.
    #[inline]
    pub fn arms(&self) -> (Vec3, Vec3) {
        (self.arm_a, self.arm_b)
    }
}
