//! Rows of contacts: one along the normal, two along the surface, and one more that only moves bodies apart.

use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::physics::collision::kernels::ContactPoint;
use crate::physics::contact::{
    Impulses, PointImpulse, SolverMass, SweepRow, Velocity, closing_speed, on_disc,
};
use crate::physics::island_solver::detect::IslandContact;
use crate::physics::island_solver::residual::Residual;
use crate::physics::{ContactRule, Surface, across};

/// One point of contact.
#[derive(Clone, Copy, Debug)]
struct Point {
    normal: SweepRow,
    tangents: [SweepRow; 2],
    /// The relative velocity along the normal may not fall below this.
    target: f64,
    impulse: f64,
    friction: [f64; 2],
    /// Speed at which an overlap is removed, and the impulse of that.
    parting: f64,
    parting_impulse: f64,
    feature: u64,
    place: Vec3,
}

/// A pair in contact: where its points are, and whom it concerns.
#[derive(Clone, Copy, Debug)]
struct Block {
    a: u32,
    b: u32,
    first: u32,
    count: u32,
    inv_mass: (f64, f64),
    friction: f64,
    pair: (u32, u32),
    parts: bool,
}

/// What a contact needs to know besides the bodies.
#[derive(Clone, Copy)]
pub(super) struct IslandContactRule<'a> {
    pub rule: &'a ContactRule,
    pub tick_s: f64,
    /// Share of an overlap removed per tick.
    pub correction: f64,
    /// Overlaps below this are left alone, metres.
    pub slop: f64,
    /// A point may move this far in a tick and still be the same, metres.
    pub near: f64,
}

/// One side of a pair.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub slot: u32,
    pub state: &'a BodyState,
    pub resistance: &'a SolverMass,
}

/// All contacts of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Contacts {
    blocks: Vec<Block>,
    points: Vec<Point>,
    begun: u32,
}

impl Contacts {
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.points.clear();
        self.begun = 0;
    }

    /// Pairs of which nothing was remembered.
    pub fn begun(&self) -> u32 {
        self.begun
    }

    pub fn pairs(&self) -> usize {
        self.blocks.len()
    }

    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// Adds a pair, and begins with what is remembered of it.
    pub fn add(
        &mut self,
        meeting: &IslandContact,
        surface: Surface,
        (a, b): (Side, Side),
        remembered: &[PointImpulse],
        how: &IslandContactRule,
    ) {
        let first = self.points.len() as u32;
        let mut parts = false;
        self.begun += u32::from(remembered.is_empty());
        for contact in meeting.manifold.points() {
            let known = recognised(contact, remembered, meeting.manifold.points(), how.near);
            let point = point(contact, surface, &a, &b, known, how);
            parts |= point.parting > 0.0 || point.parting_impulse > 0.0;
            self.points.push(point);
        }
        self.blocks.push(Block {
            a: a.slot,
            b: b.slot,
            first,
            count: self.points.len() as u32 - first,
            inv_mass: (a.resistance.inv_mass, b.resistance.inv_mass),
            friction: surface.friction,
            pair: (meeting.a, meeting.b),
            parts,
        });
    }

    /// Applies what was remembered.
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

    /// Moves bodies apart as far as was remembered.
    pub fn warm_start_apart(&self, shifts: &mut [Velocity]) {
        for block in self.blocks.iter().filter(|block| block.parts) {
            let (mut a, mut b) = (shifts[block.a as usize], shifts[block.b as usize]);
            for point in &self.points[block.range()] {
                point.normal.push(point.parting_impulse, &mut a, &mut b, block.inv_mass);
            }
            shifts[block.a as usize] = a;
            shifts[block.b as usize] = b;
        }
    }

    /// One sweep that moves overlapping bodies apart: `shifts` never become velocities.
    pub fn solve_positions(&mut self, shifts: &mut [Velocity]) {
        for block in self.blocks.iter().filter(|block| block.parts) {
            let (mut a, mut b) = (shifts[block.a as usize], shifts[block.b as usize]);
            for point in &mut self.points[block.range()] {
                let Point { normal, parting, parting_impulse, .. } = point;
                normal.push_towards(*parting, parting_impulse, &mut a, &mut b, block.inv_mass);
            }
            shifts[block.a as usize] = a;
            shifts[block.b as usize] = b;
        }
    }

    /// Whether any pair overlaps.
    pub fn overlap(&self) -> bool {
        self.blocks.iter().any(|block| block.parts)
    }

    /// Adds what the impulses leave unsolved.
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

    /// Writes down the impulses, in the order in which pairs were added.
    pub fn remember(&self, impulses: &mut Impulses) {
        impulses.points.clear();
        for block in &self.blocks {
            for point in &self.points[block.range()] {
                let [first, second] = point.friction;
                impulses.points.push(PointImpulse {
                    pair: block.pair,
                    feature: point.feature,
                    normal: point.impulse,
                    tangent: point.tangents[0].dir * first + point.tangents[1].dir * second,
                    separation: point.parting_impulse,
                    point: point.place,
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

    /// Friction first: what keeps bodies out of each other has the last word.
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

/// What is remembered of a point: that of the same feature, or of the nearest place that no feature claims. Features
/// change their names when a face tilts ever so little.
fn recognised<'a>(
    contact: &ContactPoint,
    remembered: &'a [PointImpulse],
    all: &[ContactPoint],
    near: f64,
) -> Option<&'a PointImpulse> {
    if let Some(known) = remembered.iter().find(|known| known.feature == contact.feature) {
        return Some(known);
    }
    let distance = |known: &PointImpulse| (known.point - contact.point).norm_squared();
    remembered
        .iter()
        .filter(|known| distance(known) < near * near)
        .filter(|known| all.iter().all(|other| other.feature != known.feature))
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn point(
    contact: &ContactPoint,
    surface: Surface,
    a: &Side,
    b: &Side,
    known: Option<&PointImpulse>,
    how: &IslandContactRule,
) -> Point {
    let (ra, rb) = (contact.point - a.state.x, contact.point - b.state.x);
    let row = |n: Vec3| SweepRow::new(n, ra, rb, a.resistance, b.resistance);
    let (t1, t2) = across(contact.normal);
    let normal = row(contact.normal);
    let approach = a.state.velocity_at(ra) - b.state.velocity_at(rb);
    let speed = approach.dot(&contact.normal);
    let bounces = surface.restitution > 0.0 && -speed * surface.restitution > how.rule.bounce_speed_mps;
    let rebound = if bounces { -surface.restitution * speed } else { 0.0 };
    // Bodies that do not touch yet may come as close as they like within the tick, and bounce in the next.
    let target = if contact.gap > 0.0 { closing_speed(contact.gap, how.tick_s) } else { rebound };
    let deep = (-contact.gap - how.slop).max(0.0);
    let tangent = known.map_or(Vec3::zeros(), |known| known.tangent);
    Point {
        normal,
        tangents: [row(t1), row(t2)],
        target,
        impulse: known.map_or(0.0, |known| known.normal),
        friction: [tangent.dot(&t1), tangent.dot(&t2)],
        parting: how.correction * deep / how.tick_s,
        parting_impulse: known.map_or(0.0, |known| known.separation),
        feature: contact.feature,
        place: contact.point,
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

    /// A point keeps its impulse if its feature is known, or else if it is near one whose feature is gone.
    #[test]
    fn points_are_recognised_by_feature_and_then_by_place() {
        let remembered = [known(1, 0.0), known(2, 1.0), known(3, 1.05)];
        let all = [contact(1, 0.5), contact(2, 1.0), contact(9, 1.01), contact(8, 3.0)];
        let found = |at: usize| recognised(&all[at], &remembered, &all, 0.1).map(|known| known.feature);
        // By feature, however far it went; never what another point claims; not what is too far.
        assert_eq!([0, 1, 2, 3].map(found), [Some(1), Some(2), Some(3), None]);
    }
}
