//! What constraints remember from tick to tick: the impulses they ended with, from which the next tick begins.

use crate::math::Vec3;

/// Impulses at one point of contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointImpulse {
    /// Place of the body, and the partner as in [`super::Meeting`].
    pub pair: (u32, u32),
    /// Which point.
    pub feature: u64,
    /// N s along the normal.
    pub normal: f64,
    /// N s along the surface, in world coordinates.
    pub tangent: Vec3,
    /// N s that moved the bodies apart.
    pub parting: f64,
    /// Where it was, in world coordinates.
    pub point: Vec3,
}

/// Impulses of one joint, row by row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointImpulse {
    /// Its place in the world's list.
    pub joint: u32,
    /// N s or N m s.
    pub rows: [f64; 6],
}

/// The impulses that a group ended a tick with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impulses {
    /// Ascending pairs, those with static objects after those of bodies.
    pub points: Vec<PointImpulse>,
    /// Ascending joints.
    pub joints: Vec<JointImpulse>,
}

/// Pairs of bodies first, then those with static objects; each ascending.
pub(super) fn order(pair: (u32, u32)) -> (bool, u32, u32) {
    (pair.1 >= super::Meeting::STATIC, pair.0, pair.1)
}

impl Impulses {
    /// Bytes of one remembered point, and of one joint, where they are sent from worker to worker.
    pub const BYTES: (u64, u64) = (8 + 8 + 8 + 24 + 8 + 24, 4 + 48);

    /// What is remembered of a pair. `hint` says where to begin to look, and moves on: ask in ascending order.
    pub(super) fn of_pair(&self, pair: (u32, u32), hint: &mut usize) -> &[PointImpulse] {
        let wanted = order(pair);
        while *hint < self.points.len() && order(self.points[*hint].pair) < wanted {
            *hint += 1;
        }
        let count = self.points[*hint..].iter().take_while(|point| point.pair == pair).count();
        &self.points[*hint..*hint + count]
    }

    /// What is remembered of a joint.
    pub(super) fn of_joint(&self, joint: u32) -> Option<&[f64; 6]> {
        let at = self.joints.binary_search_by_key(&joint, |known| known.joint).ok()?;
        Some(&self.joints[at].rows)
    }

    /// Adds what `other` knows about constraints of the bodies `places` (ascending) and is not known here.
    /// `ends` tells the bodies of a joint. Returns how many points and joints were taken over.
    pub(super) fn adopt(
        &mut self,
        other: &Impulses,
        places: &[u32],
        ends: impl Fn(u32) -> [Option<u32>; 2],
    ) -> (usize, usize) {
        let concerns = |place: u32| places.binary_search(&place).is_ok();
        let known_pair = |pair| self.points.binary_search_by_key(&order(pair), |p| order(p.pair)).is_ok();
        let new_points: Vec<PointImpulse> = other
            .points
            .iter()
            .filter(|p| (concerns(p.pair.0) || concerns(p.pair.1)) && !known_pair(p.pair))
            .copied()
            .collect();
        let known_joint = |joint| self.joints.binary_search_by_key(&joint, |j| j.joint).is_ok();
        let new_joints: Vec<JointImpulse> = other
            .joints
            .iter()
            .filter(|j| ends(j.joint).into_iter().flatten().any(concerns) && !known_joint(j.joint))
            .copied()
            .collect();
        let taken = (new_points.len(), new_joints.len());
        if taken != (0, 0) {
            self.points.extend(new_points);
            // Stable: the points of a pair keep their order.
            self.points.sort_by_key(|p| order(p.pair));
            self.joints.extend(new_joints);
            self.joints.sort_by_key(|j| j.joint);
        }
        taken
    }
}
