//! Shapes of any kind that touch in one point or in several: up to two patches of friction, points that are solved
//! together.

use smallvec::SmallVec;
use thin_vec::ThinVec;

use crate::base::math::Vec3;
use crate::physics::across;
use crate::physics::collision::kernels::{ContactPoint, Manifold};
use crate::physics::contact::{PairCache, PatchCache, PointCache};
use crate::physics::contact::{SolverMass, SplitRow, Velocity, VelocityPair, within_limits};
use crate::physics::local_solver::resting::System;
use crate::physics::world::{ContactRule, Surface};

/// Points whose normals differ by less than this (cosine) lie on one patch.
const SAME_PATCH: f64 = 1.0 - 1e-6;

/// A contact point as the solver sees it. The direction of its row is its normal.
#[derive(Clone, Copy, Debug)]
pub(super) struct SolvedPoint {
    pub row: SplitRow,
    pub gap: f64,
    feature: u64,
    /// Impulse that presses the point in this tick.
    pub normal_impulse: f64,
    /// Distance from the middle of its patch, and which patch that is.
    arm: f64,
    patch: u32,
    /// Whether it was normal_impulse at the tick before.
    pub was_loaded: bool,
}

/// Points with a common normal rub as one: along the surface at their middle, and about the normal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    /// Along the surface.
    pub rows: [SplitRow; 2],
    /// Impulses along these, and about the normal.
    pub tangent_impulse: [f64; 3],
}

impl Patch {
    fn at(middle: Vec3, normal: Vec3, a: &SolverMass, b: &SolverMass) -> Self {
        let (first, second) = across(normal);
        let rows = [SplitRow::tangent(first, middle, a, b), SplitRow::tangent(second, middle, a, b)];
        Patch { rows, tangent_impulse: [0.0; 3] }
    }
}

/// A pair of any shapes in touch at one tick.
#[derive(Clone, Debug)]
pub(super) struct ManifoldContact {
    pub(super) points: SmallVec<[SolvedPoint; 1]>,
    /// Empty where there is no friction.
    pub(super) patches: SmallVec<[Patch; 1]>,
    /// About the normal of each patch. None for a single point, which cannot resist twisting.
    pub(super) twists: ThinVec<SplitRow>,
    /// Inverse masses of the two sides.
    pub(super) inv_mass: (f64, f64),
    surface: Surface,
    /// Smallest gap of its points: how deep the touch is.
    pub gap: f64,
    /// Bounces since the pair began to touch.
    pub(super) bounces: u32,
    /// Whether it bounced in this tick.
    pub(super) fired: bool,
    /// How its points and its friction work on each other; found when it first rests.
    pub(super) system: Option<Box<System>>,
}

impl ManifoldContact {
    /// A pair whose points are known. The first side is the body with the smaller id, or the body that touches
    /// static geometry.
    pub fn new(
        manifold: &Manifold,
        surface: Surface,
        a: &SolverMass,
        b: &SolverMass,
        memory: &PairCache,
        rule: &ContactRule,
    ) -> Self {
        let mut touch = ManifoldContact {
            points: SmallVec::new(),
            patches: SmallVec::new(),
            twists: ThinVec::new(),
            inv_mass: (a.inv_mass, b.inv_mass),
            surface,
            gap: manifold.gap(),
            bounces: memory.bounces,
            fired: false,
            system: None,
        };
        for contact in manifold.points() {
            let row = SplitRow::normal(contact.normal, contact.point, a, b);
            let ContactPoint { gap, feature, .. } = *contact;
            touch.points.push(SolvedPoint {
                row,
                gap,
                feature,
                normal_impulse: 0.0,
                arm: 0.0,
                patch: 0,
                was_loaded: false,
            });
        }
        if rule.warm_start {
            touch.recall_pressure(memory);
        }
        if surface.friction > 0.0 {
            touch.find_patches(manifold, a, b);
            if rule.warm_start {
                touch.recall_friction(memory);
            }
        }
        touch
    }

    /// Groups points by their normals.
    fn find_patches(&mut self, manifold: &Manifold, a: &SolverMass, b: &SolverMass) {
        if let [only] = manifold.points() {
            return self.patches.push(Patch::at(only.point, only.normal, a, b));
        }
        let mut middles: SmallVec<[(Vec3, Vec3, f64); 4]> = SmallVec::new();
        for (point, ContactPoint { normal, point: place, .. }) in
            self.points.iter_mut().zip(manifold.points())
        {
            let known = middles.iter().position(|(n, _, _)| n.dot(normal) > SAME_PATCH);
            point.patch = known.unwrap_or(middles.len()) as u32;
            match known {
                Some(at) => {
                    middles[at].1 += place;
                    middles[at].2 += 1.0;
                }
                None => middles.push((*normal, *place, 1.0)),
            }
        }
        for (normal, sum, count) in &mut middles {
            *sum = if *count == 1.0 { *sum } else { *sum / *count };
            self.patches.push(Patch::at(*sum, *normal, a, b));
            self.twists.push(SplitRow::about(*normal, a, b));
        }
        for (point, contact) in self.points.iter_mut().zip(manifold.points()) {
            let (normal, middle, _) = middles[point.patch as usize];
            let d = contact.point - middle;
            point.arm = (d - normal * normal.dot(&d)).norm();
        }
    }

    /// Starts from the impulses that normal_impulse the points last tick.
    fn recall_pressure(&mut self, memory: &PairCache) {
        if let ([point], [known]) = (&mut self.points[..], &memory.points[..])
            && point.feature == known.feature
        {
            (point.normal_impulse, point.was_loaded) = (known.normal_impulse, known.normal_impulse > 0.0);
            return;
        }
        let features: SmallVec<[u64; 4]> = self.points.iter().map(|point| point.feature).collect();
        for (point, normal_impulse) in self.points.iter_mut().zip(memory.normal_impulses(&features)) {
            point.normal_impulse = normal_impulse;
            point.was_loaded = normal_impulse > 0.0;
        }
    }

    /// Starts from last tick's friction, turned into this tick's directions and within this tick's limits.
    fn recall_friction(&mut self, memory: &PairCache) {
        for (at, known) in memory.patches.iter().enumerate().take(self.patches.len()) {
            let limits = self.friction_limits(at);
            let [along, across] = &self.patches[at].rows;
            let wanted = [
                known.tangent_impulse.dot(&along.dir),
                known.tangent_impulse.dot(&across.dir),
                known.spin_impulse,
            ];
            self.patches[at].tangent_impulse = within_limits(wanted, limits);
        }
    }

    /// Most that a patch can rub and twist, given how hard its points are normal_impulse.
    pub(super) fn friction_limits(&self, patch: usize) -> (f64, f64) {
        self.friction_limits_if(patch, |_, point| point.normal_impulse)
    }

    /// The same if its points were normal_impulse as `normal_impulse` says.
    pub(super) fn friction_limits_if(
        &self,
        patch: usize,
        normal_impulse: impl Fn(usize, &SolvedPoint) -> f64,
    ) -> (f64, f64) {
        let mut limits = (0.0, 0.0);
        for (at, point) in self.points.iter().enumerate().filter(|(_, point)| point.patch == patch as u32) {
            let normal_impulse = normal_impulse(at, point);
            limits.0 += self.surface.friction * normal_impulse;
            limits.1 += self.surface.friction * normal_impulse * point.arm;
        }
        limits
    }

    /// Restitution of the next bounce.
    pub(super) fn restitution(&self) -> f64 {
        decayed_restitution(self.surface.restitution, self.bounces)
    }

    /// Whether the touch would leave fast enough to matter: then it bounces instead of resting.
    pub(super) fn is_impact(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> bool {
        let near = self.points.iter().filter(|p| p.gap < rule.margin_m);
        let approach = near.map(|p| p.row.speed(a, b)).fold(0.0, f64::min);
        approach < 0.0 && self.restitution() * -approach > rule.bounce_speed_mps
    }

    /// Whether the two fly apart, though they may still overlap.
    pub(super) fn parts(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> bool {
        self.points.iter().all(|p| p.row.speed(a, b) >= rule.separation_speed_mps)
    }

    /// Forgets the impulses that held it: a bounce ends a rest.
    pub(super) fn release(&mut self) {
        for point in &mut self.points {
            point.normal_impulse = 0.0;
        }
        for patch in &mut self.patches {
            patch.tangent_impulse = [0.0; 3];
        }
    }

    /// Whether any impulse holds it.
    pub(super) fn is_held(&self) -> bool {
        self.points.iter().any(|p| p.normal_impulse > 0.0)
    }

    /// The impulse on the first body and its turning moments about both centres of mass. The second body gets
    /// the opposite of both.
    pub(super) fn impulse(&self) -> (Vec3, Vec3, Vec3) {
        let mut total = (Vec3::zeros(), Vec3::zeros(), Vec3::zeros());
        let mut add = |row: &SplitRow, impulse: f64| {
            let (arm_a, arm_b) = row.arms();
            total.0 += row.dir * impulse;
            total.1 += arm_a * impulse;
            total.2 += arm_b * impulse;
        };
        for point in &self.points {
            add(&point.row, point.normal_impulse);
        }
        for (at, patch) in self.patches.iter().enumerate() {
            for (row, impulse) in patch.rows.iter().chain(self.twists.get(at)).zip(patch.tangent_impulse) {
                add(row, impulse);
            }
        }
        total
    }

    /// The two bodies as this touch sees them.
    pub(super) fn couple(&self, a: &Velocity, b: &Velocity, weights: (f64, f64)) -> VelocityPair {
        VelocityPair { a: *a, b: *b, inv_mass: self.inv_mass, weights }
    }

    /// What the pair remembers for the next tick.
    pub fn memory(&self) -> PairCache {
        let point = |p: &SolvedPoint| PointCache { feature: p.feature, normal_impulse: p.normal_impulse };
        let patch = |p: &Patch| PatchCache {
            tangent_impulse: p.rows[0].dir * p.tangent_impulse[0] + p.rows[1].dir * p.tangent_impulse[1],
            spin_impulse: p.tangent_impulse[2],
        };
        PairCache {
            bounces: self.bounces,
            points: self.points.iter().map(point).collect(),
            patches: self.patches.iter().map(patch).collect(),
        }
    }
}

/// Restitution after some bounces: it fades with every bounce of the same touch, so that rattling dies out.
#[inline]
pub(super) fn decayed_restitution(restitution: f64, bounces: u32) -> f64 {
    let mut decayed_restitution = restitution;
    for _ in 0..bounces {
        decayed_restitution *= restitution;
        if decayed_restitution == 0.0 || restitution == 1.0 {
            break;
        }
    }
    decayed_restitution
}
