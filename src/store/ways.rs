//! The ways on which bodies are expected, and which of them come near each other.

use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::World;
use crate::store::flights::Flights;

/// Slack against rounding: metres, and as a share of coordinates.
pub(super) const SLACK_M: f64 = 1e-6;
pub(super) const SLACK_SHARE: f64 = 1e-11;

/// When a list is made, from when on it is looked at, and until when it holds.
pub(super) type Holds = (Tick, Tick, Tick);

/// The way on which a body is expected, as seen by what falls freely since the list was made: a straight line. `x` is
/// where it passes, or would have passed, when the list was made.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub x: Vec3,
    pub v: Vec3,
    pub radius: f64,
    pub body: u32,
}

impl Way {
    pub const NOWHERE: Way =
        Way { x: Vec3::new(0.0, 0.0, 0.0), v: Vec3::new(0.0, 0.0, 0.0), radius: 0.0, body: 0 };

    /// The way of the same body with a certain state at `tick`, on a list that is made at `made` and holds until `last`.
    pub fn from(
        &self,
        world: &World,
        flights: &Flights,
        state: &BodyState,
        (made, tick, last): Holds,
    ) -> Way {
        let tau = world.time.span_s(made, tick);
        // What rests does not fall: the best parabola is where it is now at both ends.
        let rests = flights.hot(self.body).since == tick && tick > 0;
        let lift_s = if rests { world.time.span_s(tick, last) * 0.5 } else { 0.0 };
        let v = state.v - world.gravity * (tau + lift_s);
        Way { x: state.x - world.gravity * (tau * tau * 0.5) - v * tau, v, ..*self }
    }
}

/// What there is to know of a way in order to compare it with others.
pub(super) struct Nearness<'w> {
    way: &'w Way,
    reach_m: f64,
    /// The time of the look after the list was made, and how long it holds from then on, seconds.
    from_s: f64,
    span_s: f64,
}

impl<'w> Nearness<'w> {
    /// For bodies that may come nearer than their radii by a margin, metres.
    #[inline]
    pub fn new(world: &World, way: &'w Way, margin_m: f64, (made, from, to): Holds) -> Self {
        let (from_s, span_s) = (world.time.span_s(made, from), world.time.span_s(from, to));
        Nearness { way, reach_m: way.radius + margin_m, from_s, span_s }
    }

    /// Whether the other body comes near this one.
    #[inline]
    pub fn is_near(&self, other: &Way) -> bool {
        let u = self.way.v - other.v;
        let d = self.way.x - other.x + u * self.from_s;
        let reach = self.reach_m + other.radius;
        // Mostly they neither are near nor approach fast enough.
        let (d2, reach2, approach) = (d.norm_squared(), reach * reach, -d.dot(&u) * self.span_s);
        d2 < reach2
            || (d2 - 2.0 * approach < reach2 && approach > 0.0 && closest2(d, u, self.span_s) < reach2)
    }
}

/// What bodies in cells have in common.
pub(super) struct Extent {
    pub low: Vec3,
    pub high: Vec3,
    pub far_m: f64,
    pub drift_m: f64,
    pub radius_m: f64,
}

impl Default for Extent {
    fn default() -> Self {
        let most = Vec3::repeat(f64::INFINITY);
        Extent { low: most, high: -most, far_m: 0.0, drift_m: 0.0, radius_m: 0.0 }
    }
}

impl Extent {
    pub fn add(&mut self, way: &Way, drift_m: f64) {
        (self.low, self.high) = (self.low.inf(&way.x), self.high.sup(&way.x));
        self.far_m = self.far_m.max(way.x.amax() + way.v.amax());
        self.drift_m = self.drift_m.max(drift_m);
        self.radius_m = self.radius_m.max(way.radius);
    }
}

/// Square of the least distance within `span_s` of two points at a distance `d` that move at a relative velocity `u`.
#[inline]
fn closest2(d: Vec3, u: Vec3, span_s: f64) -> f64 {
    let (approach, speed2) = (d.dot(&u), u.norm_squared());
    let at = if approach >= 0.0 { 0.0 } else { (-approach / speed2).min(span_s) };
    (d + u * at).norm_squared()
}

/// Adds sorted pairs to sorted pairs, each once.
pub(super) fn merge(pairs: &mut Vec<(u32, u32)>, new: &[(u32, u32)]) {
    let (mut before, mut left) = (pairs.len(), new.len());
    if left == 0 {
        return;
    }
    pairs.extend_from_slice(new);
    // From the back: what is written has been read.
    while left > 0 {
        if before > 0 && pairs[before - 1] > new[left - 1] {
            before -= 1;
            pairs[before + left] = pairs[before];
        } else {
            left -= 1;
            pairs[before + left] = new[left];
        }
    }
    pairs.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_pairs_are_sorted_and_each_is_there_once() {
        let every =
            |step: u32, count: u32| (0..count).map(|at| (at * step / 7, at * step % 7)).collect::<Vec<_>>();
        for (step, count) in [(1, 0), (2, 9), (3, 5), (5, 1)] {
            for new in [every(1, 12), every(4, 6), Vec::new()] {
                let mut pairs = every(step, count);
                let mut expected = [&pairs[..], &new].concat();
                expected.sort_unstable();
                expected.dedup();
                merge(&mut pairs, &new);
                assert_eq!(pairs, expected, "every {step}th, {count} of them, and {new:?}");
            }
        }
    }

    /// The least distance is found as if ticks were tried one by one.
    #[test]
    fn nearness_is_the_least_distance() {
        for case in 0..4000u32 {
            let number = |at: u32| f64::from((case * 37 + at * 101) * 7919 % 1000) / 500.0 - 1.0;
            let vector = |at: u32| Vec3::new(number(at), number(at + 1), number(at + 2));
            let way = |at: u32| Way { x: vector(at) * 3.0, v: vector(at + 3), radius: 0.3, body: at };
            let (a, b) = (way(0), way(9));
            let span_s = 2.0;
            let nearness = Nearness { way: &a, reach_m: 0.5, from_s: 0.25, span_s };
            let distance = |step: u32| {
                let at_s = 0.25 + span_s * f64::from(step) / 1000.0;
                (a.x + a.v * at_s - b.x - b.v * at_s).norm()
            };
            let least = (0..=1000).map(distance).fold(f64::INFINITY, f64::min);
            // Between two steps the distance may be a little less.
            if (least - 0.8).abs() > 0.01 {
                assert_eq!(nearness.is_near(&b), least < 0.8, "case {case}: {least} m");
            }
        }
    }
}
