//! Reduces the points of a manifold to four that support a body as well as all of them would.

use crate::base::math::Vec3;
use crate::physics::collision::kernels::{ContactPoint, Manifold, POINTS_MAX};

/// Differences in position below this share of the patch's size (squared) do not decide between points: a patch at rest
/// keeps its points. Not tuned.
const NEAR_TIE: f64 = 1e-3;
/// The deepest point replaces its nearest neighbour among the chosen ones if it is deeper by this slope, radians. Not
/// tuned.
const TILT: f64 = 1e-2;

/// A list of candidate points. It is on the stack as long as it is short.
pub(super) struct PointList {
    inline: [ContactPoint; 16],
    len: usize,
    spilled: Vec<ContactPoint>,
}

impl PointList {
    pub fn new() -> Self {
        PointList { inline: [ContactPoint::NONE; 16], len: 0, spilled: Vec::new() }
    }

    pub fn push(&mut self, point: ContactPoint) {
        if self.spilled.is_empty() && self.len < self.inline.len() {
            self.inline[self.len] = point;
            self.len += 1;
            return;
        }
        if self.spilled.is_empty() {
            self.spilled.extend_from_slice(&self.inline);
        }
        self.spilled.push(point);
    }

    pub fn as_slice(&self) -> &[ContactPoint] {
        if self.spilled.is_empty() { &self.inline[..self.len] } else { &self.spilled }
    }

    fn as_mut_slice(&mut self) -> &mut [ContactPoint] {
        if self.spilled.is_empty() { &mut self.inline[..self.len] } else { &mut self.spilled }
    }

    /// Gives every point a feature number of its own where a kernel gave several the same: a warm start must not mix
    /// them up.
    pub fn tell_features_apart(&mut self) {
        let all = self.as_mut_slice();
        for at in 1..all.len() {
            let (before, rest) = all.split_at_mut(at);
            while before.iter().any(|other| other.feature == rest[0].feature) {
                rest[0].feature = rest[0].feature.wrapping_add(1);
            }
        }
    }

    /// At most four of the points: the outermost, the farthest from it, and the two that span the largest area on
    /// either side; and the deepest, unless a neighbour is about as deep. The choice depends on positions rather than
    /// depths, and near ties go to the earlier point: a patch at rest must not change its points when it jitters,
    /// because the cached impulse of a point that is dropped is lost.
    pub fn reduce(&self) -> Manifold {
        let all = self.as_slice();
        if all.len() <= POINTS_MAX {
            return Manifold::from_points(all);
        }
        let middle = all.iter().map(|p| p.point).sum::<Vec3>() / all.len() as f64;
        let from_middle = |p: &ContactPoint| (p.point - middle).norm_squared();
        let near_tie = NEAR_TIE * all.iter().map(from_middle).fold(0.0, f64::max);
        let outermost = best(all, near_tie, from_middle);
        let origin = all[outermost].point;
        let far = best(all, near_tie, |p| (p.point - origin).norm_squared());
        let along = all[far].point - origin;
        let normal = all[outermost].normal;
        let side = |p: &ContactPoint| along.cross(&(p.point - origin)).dot(&normal);
        let mut chosen = vec![outermost];
        for at in [far, best(all, near_tie, side), best(all, near_tie, |p| -side(p))] {
            if !chosen.contains(&at) {
                chosen.push(at);
            }
        }
        let deepest = best(all, 0.0, |p| -p.gap);
        let distance = |at: usize| (all[at].point - all[deepest].point).norm();
        if let Some(neighbour) = chosen.iter_mut().min_by(|a, b| distance(**a).total_cmp(&distance(**b)))
            && all[*neighbour].gap - all[deepest].gap > TILT * distance(*neighbour)
        {
            *neighbour = deepest;
        }
        let points: Vec<ContactPoint> = chosen.into_iter().map(|at| all[at]).collect();
        Manifold::from_points(&points)
    }
}

/// The first point that no other beats by more than `near_tie`.
fn best(points: &[ContactPoint], near_tie: f64, score: impl Fn(&ContactPoint) -> f64) -> usize {
    let mut best = 0;
    for at in 1..points.len() {
        if score(&points[at]) > score(&points[best]) + near_tie {
            best = at;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::math::Vec3;

    #[test]
    fn four_of_eight_corners_of_an_octagon_span_it() {
        let mut list = PointList::new();
        for k in 0..8 {
            let (sin, cos) = libm::sincos(f64::from(k) * std::f64::consts::FRAC_PI_4);
            list.push(ContactPoint {
                feature: u64::from(k as u32),
                point: Vec3::new(cos, 0.0, sin),
                normal: Vec3::y(),
                gap: if k == 0 { -0.1 } else { 0.0 },
            });
        }
        let features: Vec<u64> = list.reduce().points().iter().map(|p| p.feature).collect();
        assert_eq!(features, [0, 2, 4, 6]);
    }
}
