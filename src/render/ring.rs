//! Where a ray enters a ring: by steps that are never longer than the distance to it, until one of them ends inside.

use crate::base::math::Vec3;
use crate::render::solid::{Entry, Ray, Span};

/// Most steps along a ray; rays that graze a ring need the most.
const STEPS_MAX: u32 = 2000;
/// The shortest step, as a share of the tube: no ray dips deeper than its square between two of them.
const SHORTEST: f64 = 1e-4;
/// Most steps from "one end outside, one inside" to the surface.
const CLOSING_STEPS: u32 = 60;
/// Near enough to the surface, as a share of the tube.
const ON_THE_SURFACE: f64 = 1e-12;

/// A ring about local Y.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    pub radius: f64,
    pub tube: f64,
}

impl Ring {
    /// Signed distance of a point from the surface, and the way out.
    fn clearance(&self, p: &Vec3) -> (f64, Vec3) {
        let across = (p.x * p.x + p.z * p.z).sqrt();
        let outward = if across > 0.0 { Vec3::new(p.x / across, 0.0, p.z / across) } else { Vec3::x() };
        let d = outward * (across - self.radius) + Vec3::y() * p.y;
        let distance = d.norm();
        (distance - self.tube, if distance > 0.0 { d / distance } else { Vec3::y() })
    }

    pub fn contains(&self, p: &Vec3) -> bool {
        self.clearance(p).0 <= 0.0
    }

    /// The stretch of a ray that lies between the planes above and below the ring and within its outer circle.
    fn reach(&self, ray: &Ray, span: Span) -> Option<(f64, f64)> {
        // A little outside, so that a ray never begins on the surface.
        let tube = self.tube * (1.0 + 1e-3);
        let (a, b) = ((-tube - ray.origin.y) * ray.inverse.y, (tube - ray.origin.y) * ray.inverse.y);
        // A level ray has infinities of either sign here, or nothing that is a number on the very planes.
        let (mut enter, mut leave) = (a.min(b).max(span.from), a.max(b).min(span.to));
        let outer = self.radius + tube;
        let middle = -ray.origin.dot(&ray.dir);
        let half2 = outer * outer - (ray.origin + ray.dir * middle).norm_squared();
        if half2 <= 0.0 {
            return None;
        }
        (enter, leave) = (enter.max(middle - half2.sqrt()), leave.min(middle + half2.sqrt()));
        (enter < leave).then_some((enter, leave))
    }

    /// The first entry of a ray in local coordinates.
    pub fn enter(&self, ray: &Ray, span: Span) -> Option<Entry> {
        let (mut t, leave) = self.reach(ray, span)?;
        let mut outside = None;
        for _ in 0..STEPS_MAX {
            let distance = self.clearance(&ray.at(t)).0;
            // A ray that begins inside looks out through the surface first.
            if distance > 0.0 {
                outside = Some((t, distance));
            } else if let Some(before) = outside {
                let t = self.surface_between(ray, before, (t, distance));
                return span.holds(t).then(|| (t, self.clearance(&ray.at(t)).1));
            }
            if t >= leave {
                return None;
            }
            t += distance.abs().max(SHORTEST * self.tube);
        }
        None
    }

    /// The point on the surface between one outside and one inside, each with its distance: by chords, halving the weight
    /// of an end that stays (Illinois method).
    fn surface_between(&self, ray: &Ray, mut outside: (f64, f64), mut inside: (f64, f64)) -> f64 {
        let mut t = inside.0;
        for _ in 0..CLOSING_STEPS {
            t = outside.0 + (inside.0 - outside.0) * (outside.1 / (outside.1 - inside.1));
            let distance = self.clearance(&ray.at(t)).0;
            if distance.abs() <= ON_THE_SURFACE * self.tube {
                break;
            }
            if distance > 0.0 {
                (outside, inside.1) = ((t, distance), inside.1 / 2.0);
            } else {
                (inside, outside.1) = ((t, distance), outside.1 / 2.0);
            }
        }
        t
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vector(reach: f64) -> impl Strategy<Value = Vec3> {
        [-reach..reach, -reach..reach, -reach..reach].prop_map(Vec3::from)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        /// The entry is the first point where small steps along the ray come from outside to inside.
        #[test]
        fn the_first_entry_is_found(
            origin in vector(3.0), aim in vector(1.0), tube in 0.05..0.5f64, from in 0.0..1.0f64,
        ) {
            prop_assume!((aim - origin).norm() > 0.1);
            let ring = Ring { radius: 1.0, tube };
            let ray = Ray::new(origin, (aim - origin).normalize());
            let span = Span { from, to: 8.0 };
            let step = 1e-3;
            let inside = |t: f64| ring.contains(&ray.at(t));
            let expected = (0..8000).map(|k| from + f64::from(k) * step).find(|t| !inside(*t) && inside(t + step));
            let found = ring.enter(&ray, span);
            match (found, expected) {
                (Some((t, normal)), Some(near)) => {
                    prop_assert!(t >= from && t <= near + step + 1e-9, "{t} instead of {near}");
                    prop_assert!(ring.clearance(&ray.at(t)).0.abs() < 1e-6);
                    prop_assert!((normal.norm() - 1.0).abs() < 1e-9 && normal.dot(&ray.dir) < 0.0);
                    // Between the two, only a graze that the small steps missed.
                    prop_assert!(t > near - 1e-9 || normal.dot(&ray.dir) > -0.1, "{t} instead of {near}");
                }
                (Some((_, normal)), None) => prop_assert!(normal.dot(&ray.dir) > -0.1, "an entry that small steps do not find"),
                (None, Some(near)) => {
                    prop_assert!(ring.clearance(&ray.at(near + step)).0 > -1e-4, "missed at {near}");
                }
                (None, None) => {}
            }
        }
    }

    #[test]
    fn one_can_look_through_the_hole() {
        let ring = Ring { radius: 1.0, tube: 0.2 };
        let down = |x: f64| ring.enter(&Ray::new(Vec3::new(x, 3.0, 0.0), -Vec3::y()), Span::ALL);
        assert_eq!(down(0.0), None);
        assert_eq!(down(0.7), None);
        let (t, normal) = down(1.0).unwrap();
        assert!((t - 2.8).abs() < 1e-9 && (normal - Vec3::y()).norm() < 1e-9);
    }

    #[test]
    fn a_ray_in_the_plane_of_the_ring_meets_it() {
        let ring = Ring { radius: 1.0, tube: 0.2 };
        let (t, normal) = ring.enter(&Ray::new(Vec3::new(-3.0, 0.0, 0.0), Vec3::x()), Span::ALL).unwrap();
        assert!((t - 1.8).abs() < 1e-9 && (normal + Vec3::x()).norm() < 1e-9);
        // From inside the tube, through the hole, to the other side.
        let (t, _) = ring.enter(&Ray::new(Vec3::new(-1.0, 0.0, 0.0), Vec3::x()), Span::ALL).unwrap();
        assert!((t - 1.8).abs() < 1e-9, "{t}");
    }
}
