//! A scene made ready to simulate: the world of bodies, static geometry and joints.

use crate::base::ids::{BodyId, StaticId};
use crate::base::math::{Quat, Vec3, quat_raw, renormalised};
use crate::base::state::BodyState;
use crate::base::time::TimeBase;
use crate::physics::bodies::Bodies;
use crate::physics::collision::broad_phase::Grid;
use crate::physics::collision::crowd::Crowd;
use crate::physics::collision::static_bvh::StaticBvh;
use crate::physics::joint::{JointDef, joint_defs};
use crate::physics::mass::Inertia;
use crate::physics::shape::Shape;
use crate::scene::{self, GroupSettings, NameTable, Resolved, Scene, SceneError};

/// Friction and restitution of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// Coulomb's coefficient of friction.
    pub friction: f64,
    /// Newton's coefficient of restitution.
    pub restitution: f64,
}

impl Surface {
    /// The values for a contact of two surfaces: geometric means, and exactly their own values if they are alike.
    pub fn combined(&self, other: &Surface) -> Surface {
        let mean = |a: f64, b: f64| if a == b { a } else { (a * b).sqrt() };
        Surface {
            friction: mean(self.friction, other.friction),
            restitution: mean(self.restitution, other.restitution),
        }
    }
}

/// What is constant about a dynamic body: a rollback does not change it.
#[derive(Clone)]
pub struct BodyDef {
    /// The id by which frames and recordings name it.
    pub id: BodyId,
    /// The shape about its centre of mass.
    pub shape: Shape,
    /// Radius of a ball about the centre of mass that holds the shape, metres.
    pub radius: f64,
    /// Mass, kg.
    pub mass: f64,
    /// One over the mass, 1/kg.
    pub inv_mass: f64,
    /// Moments of inertia about the centre of mass.
    pub inertia: Inertia,
    /// Friction and restitution of its surface.
    pub surface: Surface,
    /// State at tick 0, or at the tick at which it is spawned.
    pub start: BodyState,
}

impl BodyDef {
    /// Whether the body is a ball: its contacts do not depend on its orientation.
    #[inline]
    pub fn is_ball(&self) -> bool {
        matches!(self.shape, Shape::Sphere { .. })
    }
}

/// A static object: it never moves.
#[derive(Clone)]
pub struct StaticDef {
    /// The id by which scenes name it.
    pub id: StaticId,
    /// The shape about its own origin.
    pub shape: Shape,
    /// Position of the shape's origin, metres.
    pub x: Vec3,
    /// Orientation.
    pub q: Quat,
    /// Friction and restitution of its surface.
    pub surface: Surface,
}

/// The numbers that steer contacts, derived from tick length, gravity and the scene's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactRule {
    /// Two bodies may touch when their gap is below this, metres.
    pub margin_m: f64,
    /// ... and they separate more slowly than this, m/s,
    pub separation_speed_mps: f64,
    /// ... plus this many times their overlap, 1/s: a pair that still overlaps at the next tick has not parted, and must
    /// keep its cached impulses. Zero without gravity, where nothing rests.
    pub overlap_rate_hz: f64,
    /// A contact bounces only if it would separate faster than this, m/s.
    pub bounce_speed_mps: f64,
    /// Distance up to which a broad phase must propose pairs, metres: `margin_m` and a margin for rounding.
    pub broad_margin_m: f64,
    /// Points of a touching pair count up to this gap, metres.
    pub speculative_m: f64,
    /// Jacobi iterations over resting contacts, per tick.
    pub iterations: u32,
    /// Rounds of matching over impacts, per tick.
    pub rounds: u32,
    /// Whether solvers start from the last tick's impulses.
    pub warm_start: bool,
    /// Share of an overlap that is removed per tick.
    pub correction: f64,
}

/// A scene made ready to simulate. During a run bodies may be added to the list; nothing else changes.
#[derive(Clone)]
pub struct World {
    /// Ticks, seconds and frames.
    pub time: TimeBase,
    /// Acceleration of free fall, m/s².
    pub gravity: Vec3,
    /// The numbers that steer contacts.
    pub rule: ContactRule,
    /// Dynamic bodies in ascending id.
    pub bodies: Bodies,
    /// Static geometry in ascending id.
    pub statics: Vec<StaticDef>,
    /// Joints between bodies, or between a body and something static.
    pub joints: Vec<JointDef>,
    /// Settings of the island solver.
    pub group: GroupSettings,
    /// The part of the scene in which each body begins, by index of the body; empty if the scene has no parts.
    pub parts: Vec<u32>,
    /// Finds static geometry near a box.
    pub(crate) static_bvh: StaticBvh,
}

impl World {
    /// Compiles a scene; the scene is validated first.
    pub fn new(scene: &Scene) -> Result<World, SceneError> {
        scene.validate()?;
        let mut bodies = Vec::with_capacity(scene.bodies.len());
        for index in 0..scene.bodies.len() {
            bodies.push(body_def(scene, index)?);
        }
        let mut statics = Vec::with_capacity(scene.statics.len());
        for index in 0..scene.statics.len() {
            statics.push(static_def(scene, index)?);
        }
        statics.sort_by_key(|object| object.id);
        let bodies = Bodies::new(bodies);
        let joints = joint_defs(scene, &bodies, &statics)?;
        let parts = parts(scene, &bodies)?;
        let gravity = Vec3::from(scene.gravity);
        let time = scene.time_base();
        let static_bvh = StaticBvh::new(&statics);
        let world = World {
            rule: rule(scene, gravity.norm(), time.tick_s),
            time,
            gravity,
            bodies,
            statics,
            joints,
            group: scene.group,
            parts,
            static_bvh,
        };
        world.check_start()?;
        Ok(world)
    }

    /// Refuses bodies that are all in one place.
    fn check_start(&self) -> Result<(), SceneError> {
        let bodies: Vec<u32> = (0..self.bodies.len() as u32).collect();
        let states: Vec<BodyState> = self.bodies.iter().map(|body| body.start).collect();
        match Crowd::of_bodies(self, &mut Grid::default(), &bodies, &states) {
            Some(crowd) => {
                let fix = "move them apart, make them smaller, or use fewer";
                Err(SceneError::new("body", format!("at the start {crowd}"), fix))
            }
            None => Ok(()),
        }
    }

    /// The body with this id.
    pub fn body(&self, id: BodyId) -> Option<&BodyDef> {
        self.bodies.index_of(id).map(|index| &self.bodies[index])
    }
}

/// The part of every body, by index of the body.
fn parts(scene: &Scene, bodies: &Bodies) -> Result<Vec<u32>, SceneError> {
    if scene.parts.is_empty() {
        return Ok(Vec::new());
    }
    let directory = NameTable::new(scene);
    let mut part_of = vec![0; bodies.len()];
    for (number, part) in scene.parts.iter().enumerate() {
        for body in &part.bodies {
            let target = directory.find(body, || format!("part[{number}].bodies"))?;
            if let Resolved::Body(at) = target
                && let Some(index) = bodies.index_of(scene.body_id(at))
            {
                part_of[index] = number as u32;
            }
        }
    }
    Ok(part_of)
}

/// The contact rule for gravity `g` (m/s²) and a tick of `h` seconds. The factors are multiples of what free fall adds
/// per tick: `g h` in speed, `g h²` in distance. Not tuned.
fn rule(scene: &Scene, g: f64, h: f64) -> ContactRule {
    let margin = 2.0 * g * h * h;
    ContactRule {
        margin_m: margin,
        separation_speed_mps: 2.0 * g * h,
        overlap_rate_hz: if g > 0.0 { 1.0 / h } else { 0.0 },
        bounce_speed_mps: 4.0 * g * h,
        broad_margin_m: margin + 1e-6,
        speculative_m: 4.0 * margin,
        iterations: scene.response.iterations,
        rounds: scene.response.rounds,
        warm_start: scene.response.warm_start,
        correction: scene.response.correction,
    }
}

/// Compiles a body of a scene.
pub(crate) fn body_def(scene: &Scene, index: usize) -> Result<BodyDef, SceneError> {
    let body = &scene.bodies[index];
    let field = || format!("body[{index}]");
    let material = material(scene, &body.material, field)?;
    let solid = Shape::new(&body.shape, field)?.mass_properties(material.density);
    let solid = solid.ok_or_else(|| SceneError {
        field: format!("body[{index}].shape"),
        problem: "it has no volume, so it has no mass".into(),
        fix: "give a body a sphere, box, capsule, cylinder or a hull with volume".into(),
    })?;
    let [qx, qy, qz, qw] = body.orientation;
    let q = renormalised(quat_raw(qx, qy, qz, qw));
    Ok(BodyDef {
        id: scene.body_id(index),
        radius: solid.shape.bounding_radius(),
        mass: solid.mass,
        inv_mass: 1.0 / solid.mass,
        inertia: solid.inertia,
        surface: Surface { friction: material.friction, restitution: material.restitution },
        start: BodyState {
            x: Vec3::from(body.position) + q * solid.centre,
            q,
            v: Vec3::from(body.velocity),
            w: Vec3::from(body.angular_velocity),
        },
        shape: solid.shape,
    })
}

fn static_def(scene: &Scene, index: usize) -> Result<StaticDef, SceneError> {
    let object = &scene.statics[index];
    let field = || format!("static[{index}]");
    let material = material(scene, &object.material, field)?;
    let [qx, qy, qz, qw] = object.orientation;
    Ok(StaticDef {
        id: scene.static_id(index),
        shape: Shape::new(&object.shape, field)?,
        x: Vec3::from(object.position),
        q: renormalised(quat_raw(qx, qy, qz, qw)),
        surface: Surface { friction: material.friction, restitution: material.restitution },
    })
}

fn material(scene: &Scene, name: &str, field: impl Fn() -> String) -> Result<scene::Material, SceneError> {
    scene.material(name).ok_or_else(|| SceneError {
        field: format!("{}.material", field()),
        problem: format!("there is no material `{name}`"),
        fix: format!("define [materials.{name}] or use `default`"),
    })
}
