//! What constraints remember from tick to tick: the impulses they ended with, from which the next tick begins.

use crate::base::math::Vec3;

/// Impulses at one point of contact.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PointImpulse {
    /// Place of the body, and the partner as in [`crate::physics::island_solver::IslandContact`].
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
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct JointImpulse {
    /// Its place in the world's list.
    pub joint: u32,
    /// N s or N m s.
    pub rows: [f64; 6],
}

/// The impulses that a group ended a tick with.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Impulses {
    /// Ascending pairs, those with static objects after those of bodies.
    pub points: Vec<PointImpulse>,
    /// Ascending joints.
    pub joints: Vec<JointImpulse>,
}

/// Pairs of bodies first, then those with static objects; each ascending.
pub(crate) fn order(pair: (u32, u32)) -> (bool, u32, u32) {
    (pair.1 >= crate::physics::island_solver::IslandContact::STATIC, pair.0, pair.1)
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
    pub(super) fn import_warm_start(
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

#[cfg(test)]
mod tests {
    use super::*;

    fn point(pair: (u32, u32), normal: f64) -> PointImpulse {
        PointImpulse { pair, feature: 0, normal, tangent: Vec3::zeros(), parting: 0.0, point: Vec3::zeros() }
    }

    fn joint(joint: u32) -> JointImpulse {
        JointImpulse { joint, rows: [f64::from(joint); 6] }
    }

    /// Whoever moves brings along what was known of it, and nothing that is known already or concerns others.
    #[test]
    fn newcomers_bring_their_impulses() {
        let wall = super::super::IslandContact::STATIC;
        let mut here = Impulses { points: vec![point((1, 2), 5.0)], joints: vec![joint(3)] };
        let there = Impulses {
            points: vec![point((0, 1), 1.0), point((1, 2), 2.0), point((4, 5), 3.0), point((1, wall), 4.0)],
            joints: vec![joint(0), joint(3), joint(7)],
        };
        // Joint 0 holds body 1 to what does not move, joint 3 holds 1 and 2, joint 7 holds 4 and 5.
        let ends = |joint| match joint {
            0 => [Some(1), None],
            3 => [Some(1), Some(2)],
            _ => [Some(4), Some(5)],
        };
        assert_eq!(here.import_warm_start(&there, &[1], ends), (2, 1));
        let mut hint = 0;
        let mut known = |pair| here.of_pair(pair, &mut hint).iter().map(|p| p.normal).collect::<Vec<_>>();
        assert_eq!((known((0, 1)), known((1, 2)), known((4, 5))), (vec![1.0], vec![5.0], vec![]));
        assert_eq!(known((1, wall)), [4.0]);
        assert_eq!((here.of_joint(0), here.of_joint(3)), (Some(&[0.0; 6]), Some(&[3.0; 6])));
        assert_eq!(here.of_joint(7), None);
        assert_eq!(here.import_warm_start(&there, &[1], ends), (0, 0));
    }
}
