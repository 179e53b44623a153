//! Rows of contacts: one along the normal, two along the surface, and the normal once more to move bodies apart.

use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::physics::collision::kernels::ContactPoint;
use crate::physics::contact::{
    Impulses, PointImpulse, SolverMass, SweepRow, Velocity, closing_speed, on_disc,
};
use crate::physics::island_solver::detect::IslandContact;
use crate::physics::island_solver::residual::Residual;
use crate::physics::{ContactRule, Surface, across};

/// One contact point.
#[derive(Clone, Copy, Debug)]
struct Point {
    normal: SweepRow,
    tangents: [SweepRow; 2],
    /// The relative velocity along the normal may not fall below this, m/s.
    target: f64,
    /// Impulse along the normal, N s.
    impulse: f64,
    /// Impulses along the tangents, N s.
    friction: [f64; 2],
    /// Speed at which an overlap is removed, m/s, and the impulse of that, N s.
    separation: f64,
    separation_impulse: f64,
    feature: u64,
    /// Position in world coordinates, metres.
    position: Vec3,
}

/// A pair in contact: slots of its bodies, and the range of its points.
#[derive(Clone, Copy, Debug)]
struct Block {
    a: u32,
    b: u32,
    first: u32,
    count: u32,
    inv_mass: (f64, f64),
    friction: f64,
    pair: (u32, u32),
    /// Whether any of its points overlaps, or did at the tick before.
    separates: bool,
}

/// The numbers that contacts are prepared with.
#[derive(Clone, Copy)]
pub(super) struct IslandContactRule<'a> {
    pub rule: &'a ContactRule,
    pub tick_s: f64,
    /// Share of an overlap that is removed per tick.
    pub correction: f64,
    /// Overlaps below this are not removed, metres.
    pub slop: f64,
    /// A point that moves less than this in a tick is the same point, metres.
    pub near: f64,
}

/// One side of a pair.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    /// Index into the lists of the solver; the last is static geometry.
    pub slot: u32,
    pub state: &'a BodyState,
    pub mass: &'a SolverMass,
}

/// All contacts of an island.
#[derive(Clone, Debug, Default)]
pub(super) struct Contacts {
    blocks: Vec<Block>,
    points: Vec<Point>,
    /// Number of pairs without a cache.
    begun: u32,
}

impl Contacts {
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.points.clear();
        self.begun = 0;
    }

    /// Number of pairs without a cache.
    pub fn begun(&self) -> u32 {
        self.begun
    }

    pub fn pairs(&self) -> usize {
        self.blocks.len()
    }

    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// Adds a pair, which starts from its cached impulses.
    pub fn add(
        &mut self,
        contact: &IslandContact,
        surface: Surface,
        (a, b): (Side, Side),
        cached: &[PointImpulse],
        how: &IslandContactRule,
    ) {
        let first = self.points.len() as u32;
        let mut separates = false;
        self.begun += u32::from(cached.is_empty());
        for geometry in contact.manifold.points() {
            let known = recognised(geometry, cached, contact.manifold.points(), how.near);
            let point = point(geometry, surface, &a, &b, known, how);
            separates |= point.separation > 0.0 || point.separation_impulse > 0.0;
            self.points.push(point);
        }
        self.blocks.push(Block {
            a: a.slot,
            b: b.slot,
            first,
            count: self.points.len() as u32 - first,
            inv_mass: (a.mass.inv_mass, b.mass.inv_mass),
            friction: surface.friction,
            pair: (contact.a, contact.b),
            separates,
        });
    }

    /// Applies the cached impulses.
    pub fn warm_start(&self, motions: &mut [Velocity]) {
        for block in &self.blocks {
            let (mut a, mut b) = (motions[block.a as usize], motions[block.b as usize]);
            for point in &self.points[block.range()] {
                point.normal.push(point.impulse, &mut a, &mut b, block.inv_mass);
                for (row, impulse) in point.tangents.iter().zip(point.friction) {
                    row.push(impulse, &mut a, &mut b, block.inv_mass);
                }
            }
            motions[block.a as usize] = a;
            motions[block.b as usize] = b;
        }
    }

    /// One sweep over all rows.
    pub fn sweep(&mut self, motions: &mut [Velocity]) {
        for block in &self.blocks {
            block.solve(&mut self.points[block.range()], motions);
        }
    }

    /// Applies the cached impulses that move bodies apart.
    pub fn warm_start_positions(&self, shifts: &mut [Velocity]) {
        for block in self.blocks.iter().filter(|block| block.separates) {
            let (mut a, mut b) = (shifts[block.a as usize], shifts[block.b as usize]);
            for point in &self.points[block.range()] {
                point.normal.push(point.separation_impulse, &mut a, &mut b, block.inv_mass);
            }
            shifts[block.a as usize] = a;
            shifts[block.b as usize] = b;
        }
    }

    /// One sweep that moves overlapping bodies apart: `shifts` never become velocities.
    pub fn solve_positions(&mut self, shifts: &mut [Velocity]) {
        for block in self.blocks.iter().filter(|block| block.separates) {
            let (mut a, mut b) = (shifts[block.a as usize], shifts[block.b as usize]);
            for point in &mut self.points[block.range()] {
                let Point { normal, separation, separation_impulse, .. } = point;
                normal.push_towards(*separation, separation_impulse, &mut a, &mut b, block.inv_mass);
            }
            shifts[block.a as usize] = a;
            shifts[block.b as usize] = b;
        }
    }

    /// Whether any pair overlaps.
    pub fn overlap(&self) -> bool {
        self.blocks.iter().any(|block| block.separates)
    }

    /// Adds the residual of every row.
    pub fn measure(&self, motions: &[Velocity], residual: &mut Residual) {
        for block in &self.blocks {
            let (a, b) = (&motions[block.a as usize], &motions[block.b as usize]);
            for point in &self.points[block.range()] {
                let lacking = point.target - point.normal.speed(a, b);
                let natural = (point.impulse + lacking * point.normal.inv_gain).max(0.0);
                residual.add((natural - point.impulse).abs() * point.normal.gain);
                let limit = block.friction * point.impulse;
                let wanted = [0, 1]
                    .map(|k| point.friction[k] - point.tangents[k].speed(a, b) * point.tangents[k].inv_gain);
                let natural = on_disc(wanted, limit);
                for ((natural, found), row) in natural.iter().zip(point.friction).zip(&point.tangents) {
                    residual.add((natural - found).abs() * row.gain);
                }
            }
        }
    }

    /// Checks that every pair joins two of `slots` slots, and that impulses are finite and none pulls.
    pub fn validate(&self, slots: usize) -> Result<(), String> {
        let in_range = |block: &Block| (block.a as usize) < slots && (block.b as usize) < slots;
        if let Some(block) = self.blocks.iter().find(|block| !in_range(block) || block.a == block.b) {
            return Err(format!("a pair joins slots that are not two of {slots}: {block:?}"));
        }
        let is_valid = |impulse: f64| impulse.is_finite() && impulse >= 0.0;
        let is_broken = |point: &&Point| !is_valid(point.impulse) || !is_valid(point.separation_impulse);
        match self.points.iter().find(is_broken) {
            Some(point) => Err(format!("an impulse pulls or is not finite: {point:?}")),
            None => Ok(()),
        }
    }

    /// Stores the impulses, in the order in which pairs were added.
    pub fn store(&self, impulses: &mut Impulses) {
        impulses.points.clear();
        for block in &self.blocks {
            for point in &self.points[block.range()] {
                let [first, second] = point.friction;
                impulses.points.push(PointImpulse {
                    pair: block.pair,
                    feature: point.feature,
                    normal: point.impulse,
                    tangent: point.tangents[0].dir * first + point.tangents[1].dir * second,
                    separation: point.separation_impulse,
                    point: point.position,
                });
            }
        }
    }
}

impl Block {
    #[inline]
    fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// One visit of a pair. Friction comes first, so that the normals, which prevent overlap, are solved last.
    #[inline]
    fn solve(&self, points: &mut [Point], motions: &mut [Velocity]) {
        let (mut a, mut b) = (motions[self.a as usize], motions[self.b as usize]);
        for point in points {
            let limit = self.friction * point.impulse;
            if limit > 0.0 || point.friction != [0.0; 2] {
                let [first, second] = &point.tangents;
                let wanted = [
                    point.friction[0] - first.speed(&a, &b) * first.inv_gain,
                    point.friction[1] - second.speed(&a, &b) * second.inv_gain,
                ];
                let allowed = on_disc(wanted, limit);
                first.push(allowed[0] - point.friction[0], &mut a, &mut b, self.inv_mass);
                second.push(allowed[1] - point.friction[1], &mut a, &mut b, self.inv_mass);
                point.friction = allowed;
            }
            let Point { normal, target, impulse, .. } = point;
            normal.push_towards(*target, impulse, &mut a, &mut b, self.inv_mass);
        }
        motions[self.a as usize] = a;
        motions[self.b as usize] = b;
    }
}

/// The cached impulse of a point: that of the same feature, or else the nearest one of a feature that is not among
/// `all`. Feature numbers change when a face tilts ever so little.
fn recognised<'a>(
    contact: &ContactPoint,
    cached: &'a [PointImpulse],
    all: &[ContactPoint],
    near: f64,
) -> Option<&'a PointImpulse> {
    if let Some(known) = cached.iter().find(|known| known.feature == contact.feature) {
        return Some(known);
    }
    let distance = |known: &PointImpulse| (known.point - contact.point).norm_squared();
    cached
        .iter()
        .filter(|known| distance(known) < near * near)
        .filter(|known| all.iter().all(|other| other.feature != known.feature))
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// Prepares the rows of a point.
fn point(
    contact: &ContactPoint,
    surface: Surface,
    a: &Side,
    b: &Side,
    known: Option<&PointImpulse>,
    how: &IslandContactRule,
) -> Point {
    let (ra, rb) = (contact.point - a.state.x, contact.point - b.state.x);
    let row = |n: Vec3| SweepRow::new(n, ra, rb, a.mass, b.mass);
    let (t1, t2) = across(contact.normal);
    let normal = row(contact.normal);
    let approach = a.state.velocity_at(ra) - b.state.velocity_at(rb);
    let speed = approach.dot(&contact.normal);
    let bounces = surface.restitution > 0.0 && -speed * surface.restitution > how.rule.bounce_speed_mps;
    let rebound = if bounces { -surface.restitution * speed } else { 0.0 };
    // Bodies that do not touch yet may close their gap within the tick, and bounce in the next.
    let target = if contact.gap > 0.0 { closing_speed(contact.gap, how.tick_s) } else { rebound };
    let deep = (-contact.gap - how.slop).max(0.0);
    let tangent = known.map_or(Vec3::zeros(), |known| known.tangent);
    Point {
        normal,
        tangents: [row(t1), row(t2)],
        target,
        impulse: known.map_or(0.0, |known| known.normal),
        friction: [tangent.dot(&t1), tangent.dot(&t2)],
        separation: how.correction * deep / how.tick_s,
        separation_impulse: known.map_or(0.0, |known| known.separation),
        feature: contact.feature,
        position: contact.point,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contact(feature: u64, x: f64) -> ContactPoint {
        ContactPoint { feature, point: Vec3::x() * x, normal: Vec3::y(), gap: 0.0 }
    }

    fn known(feature: u64, x: f64) -> PointImpulse {
        let zero = Vec3::zeros();
        PointImpulse {
            pair: (0, 1),
            feature,
            normal: 1.0,
            tangent: zero,
            separation: 0.0,
            point: Vec3::x() * x,
        }
    }

    /// A point keeps its impulse if its feature is cached, or else if it is near one of a feature that is gone.
    #[test]
    fn points_are_recognised_by_feature_and_then_by_position() {
        let cached = [known(1, 0.0), known(2, 1.0), known(3, 1.05)];
        let all = [contact(1, 0.5), contact(2, 1.0), contact(9, 1.01), contact(8, 3.0)];
        let found = |at: usize| recognised(&all[at], &cached, &all, 0.1).map(|known| known.feature);
        // By feature, however far it went; never what another point claims; not what is too far.
        assert_eq!([0, 1, 2, 3].map(found), [Some(1), Some(2), Some(3), None]);
    }
}
