//! One pair in touch at one tick, and the pure steps of the rule that concern this pair alone.
//!
//! Both sides of a pair run the same steps on the same numbers, so nobody has to be told the result.

use super::memory::{PairMemory, PointMemory};
use super::row::{Inertial, Row, Twist};
use crate::math::{Vec3, any_perpendicular};
use crate::physics::contact::{ContactPoint, Manifold, POINTS_MAX};
use crate::physics::world::{Rule, Surface};

/// Sweeps over the points of one pair. A single point needs but one.
const INNER_SWEEPS: usize = 8;

/// A contact point with everything the solver needs of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SolvedPoint {
    pub contact: ContactPoint,
    pub normal: Row,
    /// Two directions along the surface; only where there is friction.
    pub tangents: Option<[Row; 2]>,
    /// Impulses that hold the point in this tick: along the normal, along the two tangents.
    pub held: f64,
    pub rubbed: [f64; 2],
}

/// A pair in touch at one tick.
#[derive(Clone, Debug)]
pub struct Touch {
    points: [Option<SolvedPoint>; POINTS_MAX],
    /// Inverse masses of the two sides.
    inv_mass: (f64, f64),
    surface: Surface,
    /// Smallest gap of its points: how deep the touch is.
    pub gap: f64,
    /// Bounces since the pair began to touch.
    pub(super) bounces: u32,
    /// Whether it bounced in this tick.
    pub(super) fired: bool,
}

impl Touch {
    /// A pair whose points are known. The first side is the body with the smaller id, or the body that touches
    /// static geometry.
    pub fn new(
        manifold: &Manifold,
        surface: Surface,
        a: &Inertial,
        b: &Inertial,
        memory: &PairMemory,
        rule: &Rule,
    ) -> Self {
        let mut points = [None; POINTS_MAX];
        for (slot, contact) in points.iter_mut().zip(manifold.points()) {
            let (ra, rb) = (contact.point - a.x, contact.point - b.x);
            let normal = Row::normal(contact.normal, ra, rb, a, b);
            let tangents = (surface.friction > 0.0).then(|| {
                let t1 = any_perpendicular(contact.normal);
                let t2 = contact.normal.cross(&t1);
                [Row::tangent(t1, ra, rb, a, b), Row::tangent(t2, ra, rb, a, b)]
            });
            let mut point = SolvedPoint { contact: *contact, normal, tangents, held: 0.0, rubbed: [0.0; 2] };
            if rule.warm_start
                && let Some(known) = memory.find(contact.feature)
            {
                point.recall(known, surface.friction);
            }
            *slot = Some(point);
        }
        Touch {
            points,
            inv_mass: (a.inv_mass, b.inv_mass),
            surface,
            gap: manifold.gap(),
            bounces: memory.bounces,
            fired: false,
        }
    }

    pub(super) fn points(&self) -> impl Iterator<Item = &SolvedPoint> {
        self.points.iter().flatten()
    }

    pub(super) fn inv_mass(&self) -> (f64, f64) {
        self.inv_mass
    }

    pub(super) fn friction(&self) -> f64 {
        self.surface.friction
    }

    /// Restitution of the next bounce: it fades with every bounce of the same touch, so that rattling dies out.
    pub(super) fn restitution(&self) -> f64 {
        let e = self.surface.restitution;
        let mut faded = e;
        for _ in 0..self.bounces {
            faded *= e;
            if faded == 0.0 || e == 1.0 {
                break;
            }
        }
        faded
    }

    /// Whether the touch would leave fast enough to matter: then it bounces instead of resting.
    pub(super) fn is_hard(&self, a: &Twist, b: &Twist, rule: &Rule) -> bool {
        let e = self.restitution();
        let near = self.points().filter(|p| p.contact.gap < rule.margin);
        let approach = near.map(|p| p.normal.speed(a, b)).fold(0.0, f64::min);
        approach < 0.0 && e * -approach > rule.bounce
    }

    /// Forgets the impulses that held it: a bounce ends a rest.
    pub(super) fn release(&mut self) {
        for point in self.points.iter_mut().flatten() {
            point.held = 0.0;
            point.rubbed = [0.0; 2];
        }
    }

    /// Whether any impulse holds it.
    pub(super) fn is_held(&self) -> bool {
        self.points().any(|p| p.held > 0.0)
    }

    /// The impulse on the first body and its turning moments about both centres of mass. The second body gets
    /// the opposite of both.
    pub(super) fn impulse(&self) -> (Vec3, Vec3, Vec3) {
        let mut total = (Vec3::zeros(), Vec3::zeros(), Vec3::zeros());
        let mut add = |row: &Row, impulse: f64| {
            let (arm_a, arm_b) = row.arms();
            total.0 += row.dir * impulse;
            total.1 += arm_a * impulse;
            total.2 += arm_b * impulse;
        };
        for point in self.points.iter().flatten() {
            add(&point.normal, point.held);
            for (row, impulse) in point.tangents.iter().flatten().zip(point.rubbed) {
                add(row, impulse);
            }
        }
        total
    }

    /// One iteration over a resting touch: the two bodies, split among `shares.0` and `shares.1` touches,
    /// exchange impulses until they no longer approach faster than their gaps allow.
    pub(super) fn relax(&mut self, a: &Twist, b: &Twist, shares: (f64, f64), tick_s: f64) {
        let (mut a, mut b) = (*a, *b);
        let (ma, mb) = self.inv_mass;
        let sweeps = if self.points().count() == 1 { 1 } else { INNER_SWEEPS };
        for _ in 0..sweeps {
            for point in self.points.iter_mut().flatten() {
                let allowed = if point.contact.gap > 0.0 { -point.contact.gap / tick_s } else { 0.0 };
                let row = &point.normal;
                let k = row.k_a * shares.0 + row.k_b * shares.1;
                let held = (point.held + (allowed - row.speed(&a, &b)) / k).max(0.0);
                let change = held - point.held;
                point.held = held;
                row.push(change, (&mut a, ma, shares.0), (&mut b, mb, shares.1));
                let Some(tangents) = &point.tangents else { continue };
                let mut wanted = point.rubbed;
                for (wanted, row) in wanted.iter_mut().zip(tangents) {
                    *wanted -= row.speed(&a, &b) / (row.k_a * shares.0 + row.k_b * shares.1);
                }
                let rubbed = within_cone(wanted, self.surface.friction * held);
                for ((row, new), old) in tangents.iter().zip(rubbed).zip(point.rubbed) {
                    row.push(new - old, (&mut a, ma, shares.0), (&mut b, mb, shares.1));
                }
                point.rubbed = rubbed;
            }
        }
    }

    /// How far the bodies move apart in this tick to undo a share of their overlap: displacement and turn of
    /// the first and of the second. Moves bodies, never changes velocities.
    pub(super) fn correction(&self, a: &Twist, b: &Twist, shares: (f64, f64), rule: &Rule) -> (Twist, Twist) {
        let none = (Twist::ZERO, Twist::ZERO);
        let wants = |p: &SolvedPoint| p.contact.gap < 0.0 && p.normal.speed(a, b) <= rule.bounce;
        if self.fired || rule.correction == 0.0 || !self.points().any(wants) {
            return none;
        }
        let (ma, mb) = self.inv_mass;
        let (mut split_a, mut split_b) = none;
        let mut pushes = [0.0f64; POINTS_MAX];
        let sweeps = if self.points().count() == 1 { 1 } else { INNER_SWEEPS };
        for _ in 0..sweeps {
            for (push, point) in pushes.iter_mut().zip(self.points()) {
                if !wants(point) {
                    continue;
                }
                let row = &point.normal;
                let missing = rule.correction * -point.contact.gap - row.speed(&split_a, &split_b);
                let new = (*push + missing / (row.k_a * shares.0 + row.k_b * shares.1)).max(0.0);
                row.push(new - *push, (&mut split_a, ma, shares.0), (&mut split_b, mb, shares.1));
                *push = new;
            }
        }
        let (mut whole_a, mut whole_b) = none;
        for (push, point) in pushes.iter().zip(self.points()) {
            point.normal.push(*push, (&mut whole_a, ma, 1.0), (&mut whole_b, mb, 1.0));
        }
        (whole_a, whole_b)
    }

    /// What the pair remembers for the next tick.
    pub fn memory(&self) -> PairMemory {
        let mut memory = PairMemory::with_bounces(self.bounces);
        for point in self.points() {
            let mut tangent = Vec3::zeros();
            for (row, impulse) in point.tangents.iter().flatten().zip(point.rubbed) {
                tangent += row.dir * impulse;
            }
            memory.push(PointMemory { feature: point.contact.feature, normal: point.held, tangent });
        }
        memory
    }
}

impl SolvedPoint {
    /// Starts from the impulses that held the same point last tick, turned into this tick's directions.
    fn recall(&mut self, known: &PointMemory, friction: f64) {
        self.held = known.normal;
        if let Some(tangents) = &self.tangents {
            let along = [known.tangent.dot(&tangents[0].dir), known.tangent.dot(&tangents[1].dir)];
            self.rubbed = within_cone(along, friction * self.held);
        }
    }
}

/// The nearest friction impulse that Coulomb's law allows.
#[inline]
pub(super) fn within_cone(wanted: [f64; 2], limit: f64) -> [f64; 2] {
    let length2 = wanted[0] * wanted[0] + wanted[1] * wanted[1];
    if length2 <= limit * limit {
        return wanted;
    }
    let scale = limit / length2.sqrt();
    [wanted[0] * scale, wanted[1] * scale]
}
