//! The scene that rays are cast at: static geometry, the bodies of one frame, and the sun and sky above them.
//!
//! Computes where a camera ray ends and how much of the sun and of the sky a point sees; `shade` gives colours.

use crate::base::math::{Vec3, any_perpendicular};
use crate::render::cutaway::Cutaway;
use crate::render::framing::Focus;
use crate::render::solid::{Ray, Span};
use crate::render::solids::{Hit, Solids};

/// Unit vector towards the sun: from the left and a little from behind, seen from the default camera.
pub(super) const SUN: Vec3 = Vec3::new(-0.36, 0.8, 0.48);
/// Radius of the sun's disc as seen from the ground, radians: soft shadows.
const SUN_RADIUS: f64 = 0.055;
/// Rays to the sun and rays to the sky for each pixel. Neighbours take different ones and are averaged.
const SAMPLES: usize = 4;
/// Pixels that share their rays: a square of four by four.
const PATTERNS: usize = 16;
/// Objects farther away than this many body radii do not darken a corner.
const OCCLUSION_REACH: f64 = 4.0;

/// The object that a camera ray ends at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    /// Index into the bodies.
    Body(u32),
    /// Index into the static objects.
    Static(u32),
    /// The cut through a static object.
    Rim(u32),
}

/// The end of a camera ray.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub t: f64,
    pub normal: Vec3,
    pub thing: Thing,
}

/// How much of the light reaches a point, 0 to 1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Light {
    pub sun: f64,
    pub sky: f64,
}

/// Directions towards light, computed once.
pub(super) struct Samples {
    /// Points on the sun's disc, as offsets at right angles to its direction.
    sun: [[Vec3; SAMPLES]; PATTERNS],
    /// Directions about +Z, denser towards it as light counts more there.
    sky: [[Vec3; SAMPLES]; PATTERNS],
}

impl Samples {
    pub fn new() -> Self {
        let side = any_perpendicular(SUN);
        let other = SUN.cross(&side);
        let sample_at = |pattern: usize, sample: usize, turn: f64| {
            // Rings of equal area, the golden angle within a pixel, an even turn between pixels.
            let ring = (sample as f64 + (pattern as f64 * 0.618_033_988_749_895).fract()) / SAMPLES as f64;
            let angle = 2.399_963_229_728_653 * sample as f64 + turn * pattern as f64;
            let (sin, cos) = libm::sincos(angle);
            (ring.sqrt() * cos, ring.sqrt() * sin, ring)
        };
        let turn = std::f64::consts::TAU / PATTERNS as f64;
        Samples {
            sun: std::array::from_fn(|pattern| {
                std::array::from_fn(|sample| {
                    let (a, b, _) = sample_at(pattern, sample, 5.0 * turn);
                    (side * a + other * b) * SUN_RADIUS
                })
            }),
            sky: std::array::from_fn(|pattern| {
                std::array::from_fn(|sample| {
                    let (a, b, ring) = sample_at(pattern, sample, 7.0 * turn);
                    Vec3::new(a, b, (1.0 - ring).max(0.0).sqrt())
                })
            }),
        }
    }
}

/// Everything that the rays of one picture are cast at.
pub(super) struct RayScene<'a> {
    pub statics: &'a Solids,
    pub bodies: &'a Solids,
    pub cutaway: &'a Cutaway,
    pub focus: &'a Focus,
    pub samples: &'a Samples,
}

impl RayScene<'_> {
    /// The object that a camera ray ends at.
    #[inline]
    pub fn look(&self, ray: &Ray) -> Option<Sight> {
        let roles = &self.cutaway.roles;
        let front_only = |index: u32| roles[index as usize].front_only;
        let body = self.bodies.nearest(ray, Span::ALL, |_| false, |_| true).map(sight(Thing::Body));
        let reach = body.map_or(f64::INFINITY, |body| body.t);
        let within = |span: Span| Span { from: span.from, to: span.to.min(reach) };
        if !self.cutaway.is_open() {
            return self
                .statics
                .nearest(ray, within(Span::ALL), front_only, |_| true)
                .map(sight(Thing::Static))
                .or(body);
        }
        let window = self.cutaway.window(ray);
        let is_drawn = |index: u32| roles[index as usize].drawn;
        let is_cut = |index: u32| roles[index as usize].cut;
        let cut = self.statics.nearest(ray, within(window.0), front_only, |i| is_drawn(i) && is_cut(i));
        let uncut = self.statics.nearest(ray, within(Span::ALL), front_only, |i| is_drawn(i) && !is_cut(i));
        let rim =
            self.cutaway.rim(self.statics, ray, window).filter(|rim| rim.t < reach).map(sight(Thing::Rim));
        let all = [body, cut.map(sight(Thing::Static)), uncut.map(sight(Thing::Static)), rim];
        all.into_iter().flatten().min_by(|a, b| a.t.total_cmp(&b.t))
    }

    /// How much light reaches the point `p` with the normal `normal`; `column` and `row` choose the rays.
    pub fn light(&self, p: Vec3, normal: Vec3, column: u32, row: u32) -> Light {
        // A four by four square in which near neighbours differ much.
        const ORDER: [usize; PATTERNS] = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
        let pattern = ORDER[(column % 4 + 4 * (row % 4)) as usize];
        let start = p + normal * (1e-6 * self.focus.radius);
        Light { sun: self.sun(start, normal, pattern), sky: self.sky(start, normal, pattern) }
    }

    fn sun(&self, start: Vec3, normal: Vec3, pattern: usize) -> f64 {
        if normal.dot(&SUN) <= 0.0 {
            return 0.0;
        }
        let roles = &self.cutaway.roles;
        let blocked = |offset: &&Vec3| {
            let dir = SUN + **offset;
            let ray = Ray::new(start, dir / dir.norm());
            self.bodies.blocks(&ray, Span::ALL, |_| true)
                || self.statics.blocks(&ray, Span::ALL, |index| roles[index as usize].shadows)
        };
        let blocked = self.samples.sun[pattern].iter().filter(blocked).count();
        1.0 - blocked as f64 / SAMPLES as f64
    }

    fn sky(&self, start: Vec3, normal: Vec3, pattern: usize) -> f64 {
        let side = any_perpendicular(normal);
        let other = normal.cross(&side);
        let reach = OCCLUSION_REACH * self.focus.body_radius;
        let span = Span { from: 0.0, to: reach };
        let roles = &self.cutaway.roles;
        let open: f64 = self.samples.sky[pattern]
            .iter()
            .map(|s| {
                let ray = Ray::new(start, side * s.x + other * s.y + normal * s.z);
                let body = self.bodies.nearest(&ray, span, |_| false, |_| true).map_or(reach, |met| met.t);
                let span = Span { from: 0.0, to: body };
                let occludes = |index: u32| roles[index as usize].occludes;
                let near = self.statics.nearest(&ray, span, |_| false, occludes).map_or(body, |met| met.t);
                near / reach
            })
            .sum();
        open / SAMPLES as f64
    }
}

fn sight(thing: impl Fn(u32) -> Thing) -> impl Fn(Hit) -> Sight {
    move |met| Sight { t: met.t, normal: met.normal, thing: thing(met.index) }
}
