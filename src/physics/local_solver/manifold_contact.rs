//! Contacts between shapes of any kind, in one point or in several: points are solved together, and points with a
//! common normal share their friction.

use smallvec::SmallVec;
use thin_vec::ThinVec;

use crate::base::math::Vec3;
use crate::physics::across;
use crate::physics::collision::kernels::{ContactPoint, Manifold};
use crate::physics::contact::{
    PairCache, PatchCache, PointCache, SolverMass, SplitRow, Velocity, VelocityPair, within_limits,
};
use crate::physics::local_solver::resting::System;
use crate::physics::world::{ContactRule, Surface};

/// Points lie on one patch if the cosine of the angle between their normals is larger than this. Not tuned.
const SAME_PATCH: f64 = 1.0 - 1e-6;

/// A contact point as the solver sees it. The direction of its row is its normal.
#[derive(Clone, Copy, Debug)]
pub(super) struct SolvedPoint {
    pub row: SplitRow,
    /// Distance of the surfaces, metres; negative where they overlap.
    pub gap: f64,
    feature: u64,
    /// Impulse along the normal in this tick, N s.
    pub normal_impulse: f64,
    /// Distance from the middle of its patch in metres, and the index of that patch.
    arm: f64,
    patch: u32,
    /// Whether it carried load at the tick before.
    pub was_loaded: bool,
}

/// The friction of points with a common normal: along the surface at their middle, and about the normal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    /// Two directions along the surface, at right angles.
    pub rows: [SplitRow; 2],
    /// Impulses along these in N s, and about the normal in N m s.
    pub tangent_impulse: [f64; 3],
}

impl Patch {
    fn at(middle: Vec3, normal: Vec3, a: &SolverMass, b: &SolverMass) -> Self {
        let (first, second) = across(normal);
        let rows = [SplitRow::tangent(first, middle, a, b), SplitRow::tangent(second, middle, a, b)];
        Patch { rows, tangent_impulse: [0.0; 3] }
    }
}

/// A pair of any shapes in contact at one tick.
#[derive(Clone, Debug)]
pub(super) struct ManifoldContact {
    pub(super) points: SmallVec<[SolvedPoint; 1]>,
    /// Empty where there is no friction.
    pub(super) patches: SmallVec<[Patch; 1]>,
    /// About the normal of each patch. Empty for a single point, which cannot resist spinning.
    pub(super) spin_rows: ThinVec<SplitRow>,
    /// Inverse masses of the two sides, 1/kg.
    pub(super) inv_mass: (f64, f64),
    surface: Surface,
    /// Smallest gap of its points, metres.
    pub gap: f64,
    /// Number of bounces since the contact began.
    pub(super) bounces: u32,
    /// Whether it bounced in this tick.
    pub(super) has_bounced: bool,
    /// The coupling of its points and its friction; computed in the first iteration over resting contacts.
    pub(super) system: Option<Box<System>>,
}

impl ManifoldContact {
    /// The contact of a manifold. The first side is the body with the smaller id, or the body that touches
    /// static geometry.
    pub fn new(
        manifold: &Manifold,
        surface: Surface,
        a: &SolverMass,
        b: &SolverMass,
        cache: &PairCache,
        rule: &ContactRule,
    ) -> Self {
        let mut contact = ManifoldContact {
            points: SmallVec::new(),
            patches: SmallVec::new(),
            spin_rows: ThinVec::new(),
            inv_mass: (a.inv_mass, b.inv_mass),
            surface,
            gap: manifold.gap(),
            bounces: cache.bounces,
            has_bounced: false,
            system: None,
        };
        for &ContactPoint { normal, point, gap, feature } in manifold.points() {
            let row = SplitRow::normal(normal, point, a, b);
            contact.points.push(SolvedPoint {
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
            contact.warm_start_normals(cache);
        }
        if surface.friction > 0.0 {
            contact.find_patches(manifold, a, b);
            if rule.warm_start {
                contact.warm_start_friction(cache);
            }
        }
        contact
    }

    /// Groups points into patches by their normals.
    fn find_patches(&mut self, manifold: &Manifold, a: &SolverMass, b: &SolverMass) {
        if let [only] = manifold.points() {
            return self.patches.push(Patch::at(only.point, only.normal, a, b));
        }
        let mut middles: SmallVec<[(Vec3, Vec3, f64); 4]> = SmallVec::new();
        for (point, ContactPoint { normal, point: position, .. }) in
            self.points.iter_mut().zip(manifold.points())
        {
            let known = middles.iter().position(|(n, _, _)| n.dot(normal) > SAME_PATCH);
            point.patch = known.unwrap_or(middles.len()) as u32;
            match known {
                Some(at) => {
                    middles[at].1 += position;
                    middles[at].2 += 1.0;
                }
                None => middles.push((*normal, *position, 1.0)),
            }
        }
        for (normal, sum, count) in &mut middles {
            *sum = if *count == 1.0 { *sum } else { *sum / *count };
            self.patches.push(Patch::at(*sum, *normal, a, b));
            self.spin_rows.push(SplitRow::about(*normal, a, b));
        }
        for (point, contact) in self.points.iter_mut().zip(manifold.points()) {
            let (normal, middle, _) = middles[point.patch as usize];
            let d = contact.point - middle;
            point.arm = (d - normal * normal.dot(&d)).norm();
        }
    }

    /// Starts from the normal impulses of the tick before.
    fn warm_start_normals(&mut self, cache: &PairCache) {
        if let ([point], [known]) = (&mut self.points[..], &cache.points[..])
            && point.feature == known.feature
        {
            (point.normal_impulse, point.was_loaded) = (known.normal_impulse, known.normal_impulse > 0.0);
            return;
        }
        let features: SmallVec<[u64; 4]> = self.points.iter().map(|point| point.feature).collect();
        for (point, normal_impulse) in self.points.iter_mut().zip(cache.normal_impulses(&features)) {
            point.normal_impulse = normal_impulse;
            point.was_loaded = normal_impulse > 0.0;
        }
    }

    /// Starts from the friction of the tick before, turned into this tick's directions and within this tick's limits.
    fn warm_start_friction(&mut self, cache: &PairCache) {
        for (at, known) in cache.patches.iter().enumerate().take(self.patches.len()) {
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

    /// Largest friction of a patch along the surface (N s) and about the normal (N m s), given its normal impulses.
    pub(super) fn friction_limits(&self, patch: usize) -> (f64, f64) {
        self.friction_limits_if(patch, |_, point| point.normal_impulse)
    }

    /// The same with the normal impulses that `normal_impulse` gives for each index and point.
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

    /// Whether the pair would rebound fast enough to matter: then it bounces instead of resting.
    pub(super) fn is_impact(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> bool {
        let near = self.points.iter().filter(|p| p.gap < rule.margin_m);
        let approach = near.map(|p| p.row.speed(a, b)).fold(0.0, f64::min);
        approach < 0.0 && self.restitution() * -approach > rule.bounce_speed_mps
    }

    /// Whether the two bodies separate, though they may still overlap.
    pub(super) fn is_separating(&self, a: &Velocity, b: &Velocity, rule: &ContactRule) -> bool {
        self.points.iter().all(|p| p.row.speed(a, b) >= rule.separation_speed_mps)
    }

    /// Sets the impulses that hold it to zero.
    pub(super) fn clear_impulses(&mut self) {
        for point in &mut self.points {
            point.normal_impulse = 0.0;
        }
        for patch in &mut self.patches {
            patch.tangent_impulse = [0.0; 3];
        }
    }

    /// Whether any normal impulse holds it.
    pub(super) fn is_loaded(&self) -> bool {
        self.points.iter().any(|p| p.normal_impulse > 0.0)
    }

    /// The impulse on the first body and its moments about both centres of mass. The second body gets
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
            for (row, impulse) in patch.rows.iter().chain(self.spin_rows.get(at)).zip(patch.tangent_impulse) {
                add(row, impulse);
            }
        }
        total
    }

    /// The two bodies with their velocities, masses and weights.
    pub(super) fn velocity_pair(&self, a: &Velocity, b: &Velocity, weights: (f64, f64)) -> VelocityPair {
        VelocityPair { a: *a, b: *b, inv_mass: self.inv_mass, weights }
    }

    /// Whether every normal impulse is finite and none pulls.
    pub(super) fn has_valid_impulses(&self) -> bool {
        self.points.iter().all(|p| p.normal_impulse.is_finite() && p.normal_impulse >= 0.0)
    }

    /// What the pair keeps for the next tick.
    pub fn cache(&self) -> PairCache {
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

/// Restitution after some bounces: it fades with every bounce of the same contact, so that rattling dies out.
#[inline]
pub(crate) fn decayed_restitution(restitution: f64, bounces: u32) -> f64 {
    let mut decayed = restitution;
    for _ in 0..bounces {
        decayed *= restitution;
        if decayed == 0.0 || restitution == 1.0 {
            break;
        }
    }
    decayed
}
