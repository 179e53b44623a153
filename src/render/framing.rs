//! Finds what belongs into a picture of a scene, and from which side it is seen well; `fit` finds the distance of the
//! camera.
//!
//! Bodies that have flown far away do not count, half-spaces and huge boxes neither: they would shrink
//! everything else to dots.

use parry3d::math::Vector;

use crate::base::aabb::Aabb;
use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::base::math::{Quat, Vec3, from_parry};
use crate::physics::shape::{Cylinder, Shape};
use crate::render::Drawable;

/// A static object counts as scenery, not as landscape, up to this multiple of the bodies' extent. Not tuned.
const SCENERY: f64 = 2.3;
/// Scenery counts as far as it is this near to the bodies, relative to their extent. Not tuned.
const NEARBY: f64 = 0.45;
/// Bodies that have fallen this far below the scene have left it, relative to its size. Not tuned.
const BOTTOMLESS: f64 = 0.3;
/// Points that stand for one static object at most, and for all of them.
const OUTLINE_POINTS: usize = 500;
const OUTLINE_POINTS_ALL: usize = 100_000;
/// Outliers are left out if keeping them would make the picture's subject this many times larger. Not tuned.
const OUTLIER: f64 = 8.0;

/// The box of all centres of a body, and its radius around them.
#[derive(Clone, Copy)]
struct Seen {
    centres: Aabb,
    radius: f64,
}

impl Seen {
    fn bounds(&self) -> Aabb {
        self.centres.grown(self.radius)
    }
}

/// The subject of a picture.
#[derive(Clone, Debug)]
pub(super) struct Focus {
    /// Everything that has to be in the picture: points with a radius around them.
    pub points: Vec<(Vec3, f64)>,
    /// Positions of the bodies that count.
    pub bodies: Vec<Vec3>,
    /// Bounds of those bodies.
    pub bounds: Aabb,
    /// Most bodies have left the scene.
    deserted: bool,
    pub centre: Vec3,
    /// Half the diagonal of all that has to be in the picture.
    pub radius: f64,
    /// Radius of a typical body.
    pub body_radius: f64,
    /// From the target to the eye, unit.
    pub towards_eye: Vec3,
}

/// Watches frames and remembers what has to be in a picture of them.
#[derive(Clone)]
pub(super) struct Framing {
    /// Id, start and radius of each body in ascending id.
    bodies: Vec<(BodyId, Vec3, f64)>,
    /// Points on each static object that is no landscape.
    scenery: Vec<(usize, Vec<Vec3>)>,
    /// Bounds of the bodies at the start.
    core: Aabb,
    /// The same with the scenery.
    extent: Aabb,
    /// Bodies outside of this have left the scene.
    reach: Aabb,
    near: Vec<Option<Aabb>>,
    anywhere: Vec<Option<Aabb>>,
    sightings: u64,
    sightings_near: u64,
}

impl Framing {
    /// `bodies` in ascending id.
    pub fn new(bodies: &[(BodyId, Drawable)], statics: &[Drawable]) -> Self {
        let bodies: Vec<_> = bodies
            .iter()
            .map(|(id, body)| (*id, body.x, finite_or_zero(body.shape.bounding_radius())))
            .collect();
        let start: Vec<Seen> = bodies
            .iter()
            .filter_map(|(_, x, radius)| Some(Seen { centres: at(*x)?, radius: *radius }))
            .collect();
        let finite = || statics.iter().map(bounds_of).enumerate().filter(|(_, s)| diagonal(s) < 1e12);
        let core = bounds_without_outliers(&start).or_else(|| union(finite().map(|s| s.1))).unwrap_or(UNIT);
        let scenery = finite().filter(|(_, s)| diagonal(s) <= SCENERY * diagonal(&core));
        let share = OUTLINE_POINTS.min(OUTLINE_POINTS_ALL / statics.len().max(1));
        let extent = union(scenery.clone().map(|s| s.1).chain([core])).unwrap_or(UNIT);
        let size = (extent.max - extent.min).max();
        let mut reach = extent.grown(size);
        reach.min.y = extent.min.y - BOTTOMLESS * size;
        let scenery = scenery.map(|(index, _)| (index, outline(&statics[index], share))).collect();
        let unseen = vec![None; bodies.len()];
        Framing {
            core,
            extent,
            reach,
            near: unseen.clone(),
            anywhere: unseen,
            bodies,
            scenery,
            sightings: 0,
            sightings_near: 0,
        }
    }

    /// Takes one more frame into account.
    pub fn see(&mut self, frame: &Frame) {
        for (id, state) in &frame.bodies {
            let Ok(index) = self.bodies.binary_search_by_key(id, |body| body.0) else { continue };
            let Some(spot) = at(state.x) else { continue };
            self.sightings += 1;
            merge(&mut self.anywhere[index], spot);
            if self.reach.overlaps(&spot) {
                self.sightings_near += 1;
                merge(&mut self.near[index], spot);
            }
        }
    }

    /// The subject of a picture of the frames seen so far, bodies only.
    pub fn focus(&self) -> Focus {
        let deserted = self.sightings_near * 2 < self.sightings;
        let follow = deserted && self.scenery.is_empty();
        let mut seen = self.collect(if follow { &self.anywhere } else { &self.near });
        if follow {
            let kept = bounds_without_outliers(&seen).unwrap_or(self.core);
            seen.retain(|seen| kept.overlaps(&seen.centres));
        }
        let bounds = union(seen.iter().map(Seen::bounds)).unwrap_or(self.core);
        let mut radii: Vec<f64> = seen.iter().map(|seen| seen.radius).collect();
        radii.sort_by(f64::total_cmp);
        let body_radius = radii.get(radii.len() / 2).copied().unwrap_or(0.1 * diagonal(&bounds));
        // A single body needs some margin around it.
        let middle = (bounds.min + bounds.max) * 0.5;
        let margin = Aabb::about(middle, Vec3::repeat(2.2 * body_radius));
        let mut points: Vec<_> = corners(&margin).map(|p| (p, 0.0)).into();
        for seen in &seen {
            let moved = seen.centres.min != seen.centres.max;
            let centres = if moved { &corners(&seen.centres)[..] } else { &[seen.centres.min] };
            points.extend(centres.iter().map(|p| (*p, seen.radius)));
        }
        let bodies = seen.iter().flat_map(|seen| [seen.centres.min, seen.centres.max]).collect();
        let whole = bounds.union(&margin);
        let focus = Focus {
            points,
            bodies,
            bounds,
            deserted,
            centre: middle,
            radius: 0.5 * diagonal(&whole),
            body_radius,
            towards_eye: Vec3::z(),
        };
        Focus { towards_eye: self.direction(&whole), ..focus }
    }

    /// The same with the scenery around, as far as it is drawn: `kept` decides for a point of a static object.
    pub fn with_scenery(&self, focus: &Focus, kept: impl Fn(usize, Vec3) -> Option<Vec3>) -> Focus {
        let nearby = focus.bounds.grown(NEARBY * diagonal(&focus.bounds));
        let outlines = self.scenery.iter().flat_map(|(index, outline)| outline.iter().map(|p| (*index, *p)));
        let shown = outlines
            .filter_map(|(index, p)| kept(index, p))
            .filter(|p| focus.deserted || nearby.overlaps(&Aabb { min: *p, max: *p }));
        let mut focus = focus.clone();
        focus.points.extend(shown.map(|p| (p, 0.0)));
        let whole = union(focus.points.iter().map(|(p, radius)| Aabb::about(*p, Vec3::repeat(*radius))));
        let whole = whole.unwrap_or(UNIT);
        focus.centre = (whole.min + whole.max) * 0.5;
        focus.radius = 0.5 * diagonal(&whole);
        focus.towards_eye = self.direction(&whole);
        focus
    }

    fn collect(&self, boxes: &[Option<Aabb>]) -> Vec<Seen> {
        let seen = boxes.iter().zip(&self.bodies);
        seen.filter_map(|(extent, body)| Some(Seen { centres: (*extent)?, radius: body.2 })).collect()
    }

    /// Three quarters from above: flat scenes are seen from higher up, long ones across, and very long ones
    /// along and from low, so that at least their near end is seen well.
    fn direction(&self, whole: &Aabb) -> Vec3 {
        let size = self.extent.max - self.extent.min;
        let (long, short) = (size.x.max(size.z), size.x.min(size.z).max(size.y).max(f64::MIN_POSITIVE));
        let along = smooth_step(3.0, 20.0, long / short);
        let turn = 30.0 + 37.0 * along;
        let azimuth: f64 = if size.z > 1.25 * size.x { 90.0 - turn } else { turn };
        let extent = whole.max - whole.min;
        let height = extent.y / extent.x.max(extent.z).max(f64::MIN_POSITIVE);
        let elevation = (36.0 - 18.0 * smooth_step(0.15, 1.2, height)) * (1.0 - 0.55 * along);
        let (sin_azimuth, cos_azimuth) = libm::sincos(azimuth.to_radians());
        let (sin_elevation, cos_elevation) = libm::sincos(elevation.to_radians());
        Vec3::new(sin_azimuth * cos_elevation, sin_elevation, cos_azimuth * cos_elevation)
    }
}

const UNIT: Aabb = Aabb { min: Vec3::new(-1.0, -1.0, -1.0), max: Vec3::new(1.0, 1.0, 1.0) };

/// Zero below `low`, one above `high`, without a kink between.
pub(super) fn smooth_step(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// The box of a single point, if it is one that can be drawn.
fn at(x: Vec3) -> Option<Aabb> {
    x.iter().all(|c| c.abs() < 1e12).then_some(Aabb { min: x, max: x })
}

fn finite_or_zero(radius: f64) -> f64 {
    if radius < 1e12 { radius } else { 0.0 }
}

fn merge(extent: &mut Option<Aabb>, spot: Aabb) {
    *extent = Some(extent.map_or(spot, |extent| extent.union(&spot)));
}

fn union(boxes: impl Iterator<Item = Aabb>) -> Option<Aabb> {
    boxes.reduce(|a, b| a.union(&b))
}

fn bounds_of(thing: &Drawable) -> Aabb {
    thing.shape.aabb(thing.x, &thing.q)
}

/// Points that stand for the surface of a static object.
fn outline(thing: &Drawable, share: usize) -> Vec<Vec3> {
    let thin = |points: &[Vector]| -> Vec<Vec3> {
        points.iter().step_by(points.len().div_ceil(share).max(1)).map(|p| from_parry(*p)).collect()
    };
    let local = match &thing.shape {
        Shape::Box(cuboid) if share >= OUTLINE_POINTS => box_surface(&cuboid.half),
        Shape::Cylinder(Cylinder { radius, half_height }) => {
            let turns = (0..16).map(|k| libm::sincos(f64::from(k) * std::f64::consts::FRAC_PI_8));
            turns
                .flat_map(|(sin, cos)| {
                    [1.0, -1.0].map(|y| Vec3::new(radius * cos, y * half_height, radius * sin))
                })
                .collect()
        }
        Shape::Hull(hull) => thin(hull.0.points()),
        Shape::Mesh(mesh) => thin(mesh.0.vertices()),
        Shape::Sphere(_) | Shape::Box(_) | Shape::Capsule(_) | Shape::Ring(_) | Shape::HalfSpace(_) => {
            let bounds = thing.shape.aabb(Vec3::zeros(), &Quat::identity());
            corners(&bounds).to_vec()
        }
    };
    local.into_iter().map(|p| thing.x + thing.q * p).collect()
}

/// Eight steps along each edge, on all six faces.
fn box_surface(half: &Vec3) -> Vec<Vec3> {
    let step = |k: usize| k as f64 * 0.25 - 1.0;
    let all = (0..9 * 9 * 9).map(|k| [k % 9, k / 9 % 9, k / 81]);
    let surface = all.filter(|at| at.iter().any(|k| k % 8 == 0));
    surface.map(|at| Vec3::from(at.map(step)).component_mul(half)).collect()
}

fn diagonal(aabb: &Aabb) -> f64 {
    (aabb.max - aabb.min).norm()
}

fn corners(aabb: &Aabb) -> [Vec3; 8] {
    std::array::from_fn(|k| {
        let pick = |axis: usize| if k >> axis & 1 == 0 { aabb.min[axis] } else { aabb.max[axis] };
        Vec3::new(pick(0), pick(1), pick(2))
    })
}

/// The bounds of all, or of the central ones if a few are far out.
fn bounds_without_outliers(seen: &[Seen]) -> Option<Aabb> {
    let all = union(seen.iter().map(Seen::bounds))?;
    let mut central = all;
    for axis in 0..3 {
        let mut low: Vec<f64> = seen.iter().map(|seen| seen.bounds().min[axis]).collect();
        let mut high: Vec<f64> = seen.iter().map(|seen| seen.bounds().max[axis]).collect();
        low.sort_by(f64::total_cmp);
        high.sort_by(f64::total_cmp);
        let skipped = (seen.len() - 1) / 10;
        central.min[axis] = low[skipped];
        central.max[axis] = high[seen.len() - 1 - skipped];
    }
    let far_out = diagonal(&all) > OUTLIER * diagonal(&central);
    Some(if far_out { central.grown(0.5 * (central.max - central.min).max()) } else { all })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::camera::{Camera, View};
    use super::*;
    use crate::base::state::BodyState;
    use crate::physics::shape::{Cuboid, Sphere};

    fn scene(balls: &[(Vec3, f64)], statics: &[Drawable]) -> (Framing, Frame) {
        let bodies: Vec<_> = balls
            .iter()
            .enumerate()
            .map(|(i, (x, radius))| {
                let shape = Shape::Sphere(Sphere { radius: *radius });
                (BodyId(i as u32), Drawable { shape, x: *x, q: Quat::identity(), color: [0; 3] })
            })
            .collect();
        let states = bodies.iter().map(|(id, body)| (*id, BodyState::at_rest(body.x))).collect();
        (Framing::new(&bodies, statics), Frame { index: 0, tick: 0, time_s: 0.0, bodies: states })
    }

    /// Whether all of a ball is within the picture.
    fn is_inside(view: &View, (x, radius): (Vec3, f64)) -> bool {
        let from_eye = x - view.eye;
        let depth = from_eye.dot(&view.forward);
        // The planes through the eye and the edges of the picture are at least a radius away.
        let fits = |a: f64, half: f64| (depth * half - a.abs()) / (1.0 + half * half).sqrt() >= radius;
        let half_width = view.half_height * f64::from(view.width) / f64::from(view.height);
        fits(from_eye.dot(&view.right), half_width) && fits(from_eye.dot(&view.up), view.half_height)
    }

    proptest! {
        #[test]
        fn every_body_is_in_the_picture(
            balls in prop::collection::vec(([-1.0..1.0, -1.0..1.0, -1.0..1.0], 0.01..0.2), 1..40),
            stretch in [0.01..30.0, 0.01..30.0, 0.01..30.0],
            centre in [-100.0..100.0, -100.0..100.0, -100.0..100.0],
            width in 1u32..400, height in 1u32..400, fov in 5.0..100.0,
        ) {
            let balls: Vec<(Vec3, f64)> = balls
                .into_iter()
                .map(|(x, radius)| (Vec3::from(x).component_mul(&Vec3::from(stretch)) + Vec3::from(centre), radius))
                .collect();
            let (mut framing, frame) = scene(&balls, &[]);
            framing.see(&frame);
            let camera = Camera::LookAt { eye: None, target: None, fov_deg: Some(fov) };
            let view = framing.focus().view(&camera, width, height);
            for ball in balls {
                prop_assert!(is_inside(&view, ball), "{ball:?} is outside of {view:?}");
            }
        }
    }

    fn grid() -> Vec<(Vec3, f64)> {
        (0..64).map(|i| (Vec3::new(f64::from(i % 4), f64::from(i / 4 % 4), f64::from(i / 16)), 0.4)).collect()
    }

    #[test]
    fn the_picture_is_filled_and_no_more() {
        let balls = grid();
        let (mut framing, frame) = scene(&balls, &[]);
        framing.see(&frame);
        let view = framing.focus().view(&Camera::Auto, 960, 540);
        let rows = balls.iter().filter_map(|ball| view.project(ball.0)).map(|p| p.1);
        let (top, bottom) = rows.fold((540.0, 0.0), |(a, b): (f64, f64), row| (a.min(row), b.max(row)));
        assert!(top < 100.0 && bottom > 440.0, "{top} {bottom}");
    }

    #[test]
    fn a_few_that_flew_away_do_not_shrink_the_rest() {
        let balls = grid();
        let (mut framing, mut frame) = scene(&balls, &[]);
        framing.see(&frame);
        let before = framing.focus().radius;
        frame.bodies[3].1.x = Vec3::new(0.0, -4000.0, 0.0);
        frame.bodies[9].1.x = Vec3::repeat(f64::NAN);
        let (mut framing, _) = scene(&balls, &[]);
        framing.see(&frame);
        assert!(framing.focus().radius <= before);
        // Far out from the very start is far out as well.
        let mut balls = balls;
        balls[5].0 = Vec3::new(1e6, 0.0, 0.0);
        let (mut framing, frame) = scene(&balls, &[]);
        framing.see(&frame);
        assert!(framing.focus().radius < 2.0 * before, "{}", framing.focus().radius);
    }

    #[test]
    fn bodies_that_leave_together_are_followed() {
        let (mut framing, mut frame) = scene(&grid(), &[]);
        for (_, state) in &mut frame.bodies {
            state.x += Vec3::x() * 1000.0;
        }
        framing.see(&frame);
        assert!((framing.focus().centre.x - 1001.5).abs() < 1.0);
    }

    #[test]
    fn landscapes_do_not_count_and_scenery_does() {
        let floor = |half: f64| Drawable {
            shape: Shape::Box(Cuboid { half: Vec3::new(half, 0.5, half) }),
            x: Vec3::new(1.5, -1.0, 1.5),
            q: Quat::identity(),
            color: [0; 3],
        };
        let radius_with = |statics: &[Drawable]| {
            let (mut framing, frame) = scene(&grid(), statics);
            framing.see(&frame);
            framing.with_scenery(&framing.focus(), |_, p| Some(p)).radius
        };
        let alone = radius_with(&[]);
        assert_eq!(radius_with(&[floor(500.0)]), alone);
        assert!(radius_with(&[floor(3.0)]) > alone);
    }

    #[test]
    fn an_empty_scene_has_a_view() {
        let (framing, _) = scene(&[], &[]);
        let view = framing.focus().view(&Camera::Auto, 16, 9);
        assert!(view.eye.iter().all(|c| c.is_finite()));
    }
}
