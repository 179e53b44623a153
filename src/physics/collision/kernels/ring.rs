//! Rings against everything. A ring is a circle grown by the radius of its tube, so it touches another shape where its
//! circle comes nearest to that shape: at the minima of the distance along the circle.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use crate::base::math::{Quat, Vec3};
use crate::physics::collision::kernels::reduce::PointList;
use crate::physics::collision::kernels::{ContactPoint, Manifold, Placed};
use crate::physics::shape::Shape;

/// Number of points on the circle at which the distance is taken first. Not tuned.
const SAMPLES: usize = 16;
/// How often the arc between two samples is halved if there may be a minimum that they do not show. Two minima nearer to
/// each other than the last halved arc count as one. Introduced in 4635b1a; no figures were kept.
const HALVINGS: u32 = 4;
/// Shares of the arc after each halving.
const HALVED: [f64; HALVINGS as usize + 1] = [1.0, 0.5, 0.25, 0.125, 0.0625];
/// A dip between two samples that is shallower than this share of the tube does not count: a ring that lies flat keeps
/// its points while it jitters. Not tuned.
const SHALLOW: f64 = 1e-3;
/// Largest number of steps towards a minimum; smooth shapes need about six.
const STEPS_MAX: usize = 30;
/// A slope along the circle below this counts as level.
const LEVEL: f64 = 1e-10;

/// Cosine and sine of the first quarter of the samples, ends included.
const QUARTER: [(f64, f64); 5] = [
    (1.0, 0.0),
    (0.923_879_532_511_286_7, 0.382_683_432_365_089_8),
    (FRAC_1_SQRT_2, FRAC_1_SQRT_2),
    (0.382_683_432_365_089_8, 0.923_879_532_511_286_7),
    (0.0, 1.0),
];

/// Direction of a sample from the centre, as cosine and sine.
fn direction(sample: usize) -> (f64, f64) {
    let (c, s) = QUARTER[sample % 4];
    match sample / 4 % 4 {
        0 => (c, s),
        1 => (-s, c),
        2 => (-c, -s),
        _ => (s, -c),
    }
}

/// A point on the circle, and how near the other shape is to it.
#[derive(Clone, Copy)]
struct Spot {
    /// The point in the coordinates of the other shape, metres.
    at: Vec3,
    /// Unit vector out of the other shape.
    normal: Vec3,
    /// From the other shape to the point, metres; negative inside.
    distance: f64,
    /// Derivative of the distance along the circle, metres per metre.
    slope: f64,
}

/// A point on the circle with its direction from the centre.
type End = ((f64, f64), Spot);

/// What counts as a minimum.
struct Limits {
    /// Only distances below this count, metres.
    reached: f64,
    /// Length of the arc between two samples, metres.
    arc: f64,
    /// Only dips deeper than this count, metres.
    shallow: f64,
}

/// The direction between two others, at `share` of the way.
fn between(from: (f64, f64), to: (f64, f64), share: f64) -> (f64, f64) {
    let (c, s) = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
    let length = (c * c + s * s).sqrt();
    (c / length, s / length)
}

/// The circle of a ring in the coordinates of another shape.
struct Circle<'a> {
    centre: Vec3,
    /// From the centre to the first sample.
    x: Vec3,
    /// From the centre to the sample a quarter further on.
    z: Vec3,
    radius: f64,
    shape: &'a Shape,
}

impl Circle<'_> {
    #[inline]
    fn spot(&self, (c, s): (f64, f64)) -> Spot {
        let at = self.centre + self.x * c + self.z * s;
        let (normal, distance) = self.shape.signed_distance(at);
        let slope = normal.dot(&(self.z * c - self.x * s)) / self.radius;
        Spot { at, normal, distance, slope }
    }

    /// All samples except those where the distance cannot be below `reached`: along the circle it falls by at most the
    /// length of the arc, and the arc between two samples is `arc`.
    fn samples(&self, reached: f64, arc: f64) -> [Option<Spot>; SAMPLES] {
        let mut samples = [None; SAMPLES];
        let mut at = 0;
        while at < SAMPLES {
            let spot = self.spot(direction(at));
            samples[at] = Some(spot);
            // Rounds towards zero; at least the next, and no further than the last.
            at += (((spot.distance - reached) / arc) as usize).max(1);
        }
        samples
    }

    /// Calls `found` for the minima between two points where the distance may be below `reached`. That is possible only
    /// if the arc between them is long enough; then it is halved until its ends show a minimum, or it is short.
    fn minima(&self, from: &End, to: &End, limits: &Limits, halvings: u32, found: &mut impl FnMut(&Spot)) {
        let arc = limits.arc * HALVED[(HALVINGS - halvings) as usize];
        if 0.5 * (from.1.distance + to.1.distance - arc) >= limits.reached {
            return;
        }
        let (down, up) = (-from.1.slope, to.1.slope);
        if down > 0.0 && up > 0.0 && arc * down.min(up) > limits.shallow {
            found(&self.lowest(from, to));
        } else if halvings > 0 && limits.arc * down.abs().max(up.abs()) > limits.shallow {
            let direction = between(from.0, to.0, 0.5);
            let middle = (direction, self.spot(direction));
            self.minima(from, &middle, limits, halvings - 1, found);
            self.minima(&middle, to, limits, halvings - 1, found);
        }
    }

    /// The minimum between two points, of which the first slopes down and the second up.
    fn lowest(&self, from: &End, to: &End) -> Spot {
        let (before, after) = (&from.1, &to.1);
        // False position (the Illinois variant): an end that stays twice counts half.
        let (mut low, mut high) = ((0.0, before.slope), (1.0, after.slope));
        let mut stays = 0;
        let mut found = if before.distance <= after.distance { *before } else { *after };
        for _ in 0..STEPS_MAX {
            let share = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
            if !(share > low.0 && share < high.0) {
                break;
            }
            let spot = self.spot(between(from.0, to.0, share));
            if spot.distance < found.distance {
                found = spot;
            }
            if spot.slope.abs() < LEVEL {
                break;
            }
            if spot.slope < 0.0 {
                low = (share, spot.slope);
                if stays == -1 {
                    high.1 *= 0.5;
                }
                stays = -1;
            } else {
                high = (share, spot.slope);
                if stays == 1 {
                    low.1 *= 0.5;
                }
                stays = 1;
            }
        }
        found
    }
}

/// A ring with a circle of `radius` and a tube of radius `tube` against another shape. Normals point into the ring.
pub(super) fn against(ring: &Placed, radius: f64, tube: f64, other: &Placed, reach: f64) -> Manifold {
    // The orientation of a ball must not change a bit of its contacts.
    let is_ball = matches!(other.shape, Shape::Sphere { .. });
    let other = &Placed { q: if is_ball { Quat::identity() } else { other.q }, ..*other };
    let turn = other.q.inverse() * ring.q;
    let circle = Circle {
        centre: other.q.inverse_transform_vector(&(ring.x - other.x)),
        x: turn * Vec3::x() * radius,
        z: turn * Vec3::z() * radius,
        radius,
        shape: other.shape,
    };
    let reached = tube + reach;
    if other.shape.signed_distance(circle.centre).1 >= radius + reached {
        return Manifold::empty();
    }
    let arc = TAU * radius / SAMPLES as f64;
    let samples = circle.samples(reached, arc);
    let mut points = PointList::new();
    let mut push = |feature: usize, spot: &Spot| {
        if spot.distance < reached {
            let (gap, normal) = (spot.distance - tube, other.q * spot.normal);
            let point = other.x + other.q * spot.at - normal * (tube + 0.5 * gap);
            points.push(ContactPoint { feature: feature as u64, point, normal, gap });
        }
    };
    let limits = Limits { reached, arc, shallow: SHALLOW * tube };
    let dips = |at: usize| {
        let ends = samples[at % SAMPLES].zip(samples[(at + 1) % SAMPLES]);
        ends.is_some_and(|(here, next)| {
            here.slope < 0.0 && next.slope > 0.0 && arc * next.slope.min(-here.slope) > limits.shallow
        })
    };
    for (at, sample) in samples.iter().enumerate() {
        let Some(here) = sample else { continue };
        // A minimum stands for the samples on either side of it.
        if !dips(at) && !dips(at + SAMPLES - 1) {
            push(at, here);
        }
        if let Some(next) = samples[(at + 1) % SAMPLES] {
            let ends = ((direction(at), *here), (direction(at + 1), next));
            circle.minima(&ends.0, &ends.1, &limits, HALVINGS, &mut |spot| push(SAMPLES + at, spot));
        }
    }
    points.tell_features_apart();
    points.reduce()
}
