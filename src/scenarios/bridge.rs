//! `bridge` and `four-way-bridge`: hanging decks of beams, planks, braces and rails, held together by joints.
//!
//! A section has 9 bodies. The counts are those of the published bridges: 9 n + 16 bodies and 16 n + 12 joints for the
//! straight one (n = 198), and 36 n + 35 bodies and 80 n + 32 joints for the crossing of two (n = 46).

use super::parts::{EARTH, fixed_box, material};
use super::settings::Settings;
use crate::base::math::{Vec3, rotation_exp};
use crate::scene::{Body, Joint, Material, Scene, SceneError, Shape};

/// Length of a section, metres.
const SECTION_M: f64 = 1.0;
/// Half the distance between the two beams.
const HALF_WIDTH_M: f64 = 1.0;
const BEAM_HALF_M: [f64; 3] = [0.48, 0.06, 0.06];
const PLANK_HALF_M: [f64; 3] = [0.14, 0.03, 1.1];
const RAIL_HALF_M: [f64; 3] = [0.42, 0.04, 0.04];
const RAIL_HEIGHT_M: f64 = 0.6;
/// Half the angle of the arc in which the deck hangs: a sag of a tenth of its length.
const HALF_ARC: f64 = 0.394_791_119_699_761_5;
/// Half the size of the hub in which decks cross: wide enough that their planks stay clear of each other.
const HUB_HALF_M: f64 = 1.2;
const PIER_HALF_M: [f64; 3] = [2.0, 5.0, 3.0];
const BALL_RADIUS_M: f64 = 0.9;
/// Sharing that keeps the gaps of long bridges small.
const GAMMA: u32 = 6;

const SECTION_BODIES: usize = 9;
const END_BODIES: usize = 8;

fn empty() -> Scene {
    let mut scene = Scene { gravity: EARTH, ticks_per_second: 480.0, ticks_per_frame: 8, ..Scene::default() };
    scene.materials.insert("wood".to_owned(), Material { density: 600.0, ..material(0.5, 0.0) });
    scene.materials.insert("stone".to_owned(), Material { density: 2000.0, ..material(0.6, 0.0) });
    scene.group.gamma = GAMMA;
    scene.group.iterations = 50;
    scene
}

/// A straight bridge between two piers.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    let mut scene = empty();
    let sections = (settings.bodies as usize).saturating_sub(2 * END_BODIES) / SECTION_BODIES;
    let sections = sections.max(1);
    let mut builder = Builder { scene: &mut scene, braced: false };
    let arc = Arc::hanging(sections as f64);
    // From one end to the other, so that the list can be cut as the bridge can.
    let first = END_BODIES;
    builder.end(&arc.frame(0.0), first, -1.0, "left");
    builder.sections(sections, &|along| arc.frame(along));
    let last = first + (sections - 1) * SECTION_BODIES;
    builder.end(&arc.frame(sections as f64), last, 1.0, "right");
    Ok(scene)
}

/// Two bridges that cross in a hub, and two balls that fall on them.
pub(super) fn build_four_way(settings: &Settings) -> Result<Scene, SceneError> {
    let mut scene = empty();
    let around = 4 * END_BODIES + 1 + 2;
    let sections = ((settings.bodies as usize).saturating_sub(around) / (4 * SECTION_BODIES)).max(1);
    // Each arm is half a bridge: from the lowest point of the arc up to its pier.
    let arc = Arc::hanging(2.0 * (sections as f64 + HUB_HALF_M));
    let middle = sections as f64 + HUB_HALF_M;
    let hub_frame = arc.frame(middle);
    let mut builder = Builder { scene: &mut scene, braced: true };
    let half = HUB_HALF_M - 0.05;
    let hub = builder.add(&hub_frame, [half, 0.08, half], Vec3::zeros(), "wood");
    for (arm, name) in ["east", "south", "west", "north"].into_iter().enumerate() {
        let turn = rotation_exp(Vec3::y() * (-std::f64::consts::FRAC_PI_2 * arm as f64));
        let outwards = |along: f64| {
            let frame = arc.frame(middle + HUB_HALF_M + along);
            let from_hub = frame.at - hub_frame.at;
            Frame { at: hub_frame.at + turn * from_hub, turn: turn * frame.turn }
        };
        let first = builder.sections(sections, &outwards);
        builder.join_hub(hub, first, &outwards(0.0));
        let last = first + (sections - 1) * SECTION_BODIES;
        builder.end(&outwards(sections as f64), last, 1.0, name);
    }
    for (ball, aside) in [-2.5, 2.5].into_iter().enumerate() {
        let position = hub_frame.at + Vec3::new(aside, 3.0 + ball as f64, 0.0);
        let body = Body::new(Shape::Sphere { radius: BALL_RADIUS_M }, position.into()).of("stone");
        scene.bodies.push(body);
    }
    Ok(scene)
}

/// A frame of reference along the deck: position and orientation. Its x points along the deck, its y up.
#[derive(Clone, Copy)]
struct Frame {
    at: Vec3,
    turn: crate::base::math::Quat,
}

impl Frame {
    fn point(&self, local: Vec3) -> Vec3 {
        self.at + self.turn * local
    }
}

/// The arc in which a deck hangs; its ends are at the height of 0.
struct Arc {
    radius: f64,
    length: f64,
}

impl Arc {
    fn hanging(sections: f64) -> Self {
        let length = sections * SECTION_M;
        Arc { radius: length / (2.0 * HALF_ARC), length }
    }

    fn frame(&self, sections_along: f64) -> Frame {
        let angle = (2.0 * sections_along * SECTION_M / self.length - 1.0) * HALF_ARC;
        let (sin, cos) = libm::sincos(angle);
        let up = self.radius * (libm::cos(HALF_ARC) - cos);
        Frame { at: Vec3::new(self.radius * sin, up, 0.0), turn: rotation_exp(Vec3::z() * angle) }
    }
}

struct Builder<'a> {
    scene: &'a mut Scene,
    /// Whether braces hold the planks, too.
    braced: bool,
}

impl Builder<'_> {
    fn add(&mut self, frame: &Frame, half_extents: [f64; 3], local: Vec3, material: &str) -> usize {
        let mut body = Body::new(Shape::Box { half_extents }, frame.point(local).into()).of(material);
        body.orientation = [frame.turn.i, frame.turn.j, frame.turn.k, frame.turn.w];
        self.scene.bodies.push(body);
        self.scene.bodies.len() - 1
    }

    fn ball(&mut self, a: usize, b: usize, at: Vec3) {
        self.scene.joints.push(Joint::ball(a as u32, Some(b as u32), at.into()));
    }

    fn fixed(&mut self, a: usize, b: Option<usize>, at: Vec3) {
        self.scene.joints.push(Joint::fixed(a as u32, b.map(|b| b as u32), at.into()));
    }

    /// Sections one after the other. Returns the first body of the first.
    fn sections(&mut self, count: usize, frame_at: &impl Fn(f64) -> Frame) -> usize {
        let first = self.scene.bodies.len();
        for section in 0..count {
            let begin = self.section(&frame_at(section as f64 + 0.5));
            if section > 0 {
                self.link(begin - SECTION_BODIES, begin, &frame_at(section as f64));
            }
        }
        first
    }

    /// Two beams, three planks, two braces and two rails.
    fn section(&mut self, frame: &Frame) -> usize {
        let side = |z: f64, x: f64, y: f64| frame.point(Vec3::new(x, y, z * HALF_WIDTH_M));
        let beams =
            [-1.0, 1.0].map(|z| self.add(frame, BEAM_HALF_M, Vec3::new(0.0, 0.0, z * HALF_WIDTH_M), "wood"));
        let planks = [-0.33, 0.0, 0.33].map(|x| {
            let plank = self.add(frame, PLANK_HALF_M, Vec3::new(x, 0.1, 0.0), "wood");
            self.fixed(beams[0], Some(plank), side(-1.0, x, 0.05));
            self.ball(beams[1], plank, side(1.0, x, 0.05));
            plank
        });
        for x in [-0.25, 0.25] {
            let brace = self.add(frame, [0.04, 0.04, 0.9], Vec3::new(x, -0.12, 0.0), "wood");
            self.ball(beams[0], brace, side(-1.0, x, -0.06));
            self.ball(beams[1], brace, side(1.0, x, -0.06));
            if self.braced {
                for (plank, px) in [(planks[0], -0.33), (planks[2], 0.33)] {
                    self.ball(plank, brace, frame.point(Vec3::new(0.5 * (x + px), 0.0, 0.0)));
                }
            }
        }
        for (beam, z) in beams.into_iter().zip([-1.0, 1.0]) {
            let rail = self.add(frame, RAIL_HALF_M, Vec3::new(0.0, RAIL_HEIGHT_M, z * HALF_WIDTH_M), "wood");
            self.fixed(beam, Some(rail), side(z, -0.4, 0.5 * RAIL_HEIGHT_M));
            self.ball(beam, rail, side(z, 0.4, 0.5 * RAIL_HEIGHT_M));
        }
        beams[0]
    }

    /// Joins the beams of two sections; `between` is their common end.
    fn link(&mut self, before: usize, after: usize, between: &Frame) {
        for (beam, z) in [-1.0, 1.0].into_iter().enumerate() {
            let at = between.point(Vec3::new(0.0, 0.0, z * HALF_WIDTH_M));
            self.ball(before + beam, after + beam, at);
        }
    }

    /// The first section of an arm hangs on the hub by its beams and its first plank.
    fn join_hub(&mut self, hub: usize, first: usize, between: &Frame) {
        for (body, z) in [(first, -HALF_WIDTH_M), (first + 1, HALF_WIDTH_M), (first + 2, 0.0)] {
            self.ball(hub, body, between.point(Vec3::new(0.0, 0.0, z)));
        }
    }

    /// A pier with a gate: two beams held fast, two posts and a lintel, and three loose stones.
    fn end(&mut self, frame: &Frame, section: usize, outwards: f64, name: &str) {
        // Upright, and along the deck.
        let ahead = frame.turn * Vec3::x();
        let heading = -libm::atan2(ahead.z, ahead.x);
        let level = Frame { at: frame.at, turn: rotation_exp(Vec3::y() * heading) };
        let along = |x: f64, y: f64, z: f64| Vec3::new(outwards * x, y, z);
        let top = -0.3;
        let mut pier = fixed_box(
            &format!("pier {name}"),
            PIER_HALF_M,
            level.point(along(PIER_HALF_M[0] + 0.1, top - PIER_HALF_M[1], 0.0)).into(),
        );
        pier.orientation = [level.turn.i, level.turn.j, level.turn.k, level.turn.w];
        self.scene.statics.push(pier.of("stone"));
        for (beam, z) in [-1.0, 1.0].into_iter().enumerate() {
            let local = along(0.5, 0.0, z * HALF_WIDTH_M);
            let held = self.add(&level, BEAM_HALF_M, local, "wood");
            self.ball(section + beam, held, frame.point(Vec3::new(0.0, 0.0, z * HALF_WIDTH_M)));
            self.fixed(held, None, level.point(local));
        }
        let posts = [-1.0, 1.0].map(|z| {
            let local = along(1.6, top + 1.0, z * (HALF_WIDTH_M + 0.4));
            self.add(&level, [0.1, 1.0, 0.1], local, "wood")
        });
        let lintel = self.add(&level, [0.1, 0.1, HALF_WIDTH_M + 0.5], along(1.6, top + 2.1, 0.0), "wood");
        for (post, z) in posts.into_iter().zip([-1.0, 1.0]) {
            self.fixed(post, Some(lintel), level.point(along(1.6, top + 2.0, z * (HALF_WIDTH_M + 0.4))));
        }
        self.fixed(posts[0], None, level.point(along(1.6, top, -HALF_WIDTH_M - 0.4)));
        for stone in 0..3 {
            let local = along(2.6, top + 0.3 + 0.6 * f64::from(stone), 0.0);
            self.add(&level, [0.4, 0.3, 0.4], local, "stone");
        }
    }
}
