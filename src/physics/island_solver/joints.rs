//! Rows of joints: three for a ball, five for a hinge, six for a fixed joint.

use crate::base::math::Vec3;
use crate::physics::contact::{Impulses, JointImpulse, SweepRow, Velocity};
use crate::physics::island_solver::contacts::Side;
use crate::physics::island_solver::residual::Residual;
use crate::physics::{JointDef, across};
use crate::scene::JointKind;

/// A row of a joint.
#[derive(Clone, Copy, Debug)]
struct JointRow {
    row: SweepRow,
    /// Speed that closes a part of the gap, m/s or rad/s; it moves bodies and never becomes a velocity.
    closing: f64,
    /// Impulse along the row, N s or N m s.
    impulse: f64,
}

/// The rows of one joint: slots of its bodies, and the range of its rows.
#[derive(Clone, Copy, Debug)]
struct Block {
    a: u32,
    b: u32,
    first: u32,
    count: u32,
    inv_mass: (f64, f64),
    joint: u32,
}

/// All joints of an island.
#[derive(Clone, Debug, Default)]
pub(super) struct Joints {
    blocks: Vec<Block>,
    rows: Vec<JointRow>,
}

impl Joints {
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.rows.clear();
    }

    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Adds a joint; a gap is closed at `rate_hz` times its size. `cached` are the impulses of the tick before.
    pub fn add(
        &mut self,
        joint: (u32, &JointDef),
        (a, b): (Side, Side),
        cached: Option<&[f64; 6]>,
        rate_hz: f64,
    ) {
        let (index, def) = joint;
        let first = self.rows.len() as u32;
        let mut push = |row: SweepRow, off: f64| {
            let k = self.rows.len() - first as usize;
            let impulse = cached.map_or(0.0, |rows| rows[k]);
            self.rows.push(JointRow { row, closing: -off * rate_hz, impulse });
        };
        let (ra, rb) = (a.state.q * def.a.anchor, b.state.q * def.b.anchor);
        let gap = a.state.x + ra - b.state.x - rb;
        for axis in [Vec3::x(), Vec3::y(), Vec3::z()] {
            push(SweepRow::new(axis, ra, rb, a.mass, b.mass), gap.dot(&axis));
        }
        let turning = |axis: Vec3| SweepRow::with_arms(Vec3::zeros(), axis, -axis, a.mass, b.mass);
        match def.kind {
            JointKind::Ball => {}
            JointKind::Hinge => {
                let (axis_a, axis_b) = (a.state.q * def.a.axis, b.state.q * def.b.axis);
                // Turning `a` by the negative of this brings its axis in line.
                let off = axis_b.cross(&axis_a);
                let (t1, t2) = across(axis_a);
                push(turning(t1), off.dot(&t1));
                push(turning(t2), off.dot(&t2));
            }
            JointKind::Fixed => {
                let off = def.misalignment(&a.state.q, &b.state.q);
                for axis in [Vec3::x(), Vec3::y(), Vec3::z()] {
                    push(turning(axis), off.dot(&axis));
                }
            }
        }
        self.blocks.push(Block {
            a: a.slot,
            b: b.slot,
            first,
            count: self.rows.len() as u32 - first,
            inv_mass: (a.mass.inv_mass, b.mass.inv_mass),
            joint: index,
        });
    }

    /// Applies the cached impulses.
    pub fn warm_start(&self, motions: &mut [Velocity]) {
        for block in &self.blocks {
            let (mut a, mut b) = (motions[block.a as usize], motions[block.b as usize]);
            for row in &self.rows[block.range()] {
                row.row.push(row.impulse, &mut a, &mut b, block.inv_mass);
            }
            motions[block.a as usize] = a;
            motions[block.b as usize] = b;
        }
    }

    /// One sweep over all rows, in one direction or the other.
    pub fn sweep(&mut self, motions: &mut [Velocity], backwards: bool) {
        let rows = &mut self.rows;
        let mut solve = |block: &Block| block.solve(&mut rows[block.range()], motions);
        if backwards {
            self.blocks.iter().rev().for_each(&mut solve);
        } else {
            self.blocks.iter().for_each(&mut solve);
        }
    }

    /// One sweep that closes gaps: `shifts` never become velocities.
    pub fn solve_positions(&self, shifts: &mut [Velocity], backwards: bool) {
        let solve = |block: &Block| {
            let (mut a, mut b) = (shifts[block.a as usize], shifts[block.b as usize]);
            for row in &self.rows[block.range()] {
                let impulse = (row.closing - row.row.speed(&a, &b)) * row.row.inv_gain;
                row.row.push(impulse, &mut a, &mut b, block.inv_mass);
            }
            shifts[block.a as usize] = a;
            shifts[block.b as usize] = b;
        };
        if backwards {
            self.blocks.iter().rev().for_each(solve);
        } else {
            self.blocks.iter().for_each(solve);
        }
    }

    /// Adds the residual of every row.
    pub fn measure(&self, motions: &[Velocity], residual: &mut Residual) {
        for block in &self.blocks {
            let (a, b) = (&motions[block.a as usize], &motions[block.b as usize]);
            for row in &self.rows[block.range()] {
                residual.add(row.row.speed(a, b).abs());
            }
        }
    }

    /// Stores the impulses, in the order in which joints were added.
    pub fn store(&self, impulses: &mut Impulses) {
        impulses.joints.clear();
        for block in &self.blocks {
            let mut rows = [0.0; 6];
            for (slot, row) in rows.iter_mut().zip(&self.rows[block.range()]) {
                *slot = row.impulse;
            }
            impulses.joints.push(JointImpulse { joint: block.joint, rows });
        }
    }
}

impl Block {
    #[inline]
    fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    #[inline]
    fn solve(&self, rows: &mut [JointRow], motions: &mut [Velocity]) {
        let (mut a, mut b) = (motions[self.a as usize], motions[self.b as usize]);
        for row in rows {
            let change = -row.row.speed(&a, &b) * row.row.inv_gain;
            row.impulse += change;
            row.row.push(change, &mut a, &mut b, self.inv_mass);
        }
        motions[self.a as usize] = a;
        motions[self.b as usize] = b;
    }
}
