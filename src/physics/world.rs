//! A scene made ready to simulate.

use crate::base::ids::{BodyId, StaticId};
use crate::base::math::{Quat, Vec3, quat_raw, renormalised};
use crate::base::state::BodyState;
use crate::base::time::TimeBase;
use crate::physics::bodies::Bodies;
use crate::physics::collision::static_bvh::StaticBvh;
use crate::physics::joint::{JointDef, joint_defs};
use crate::physics::mass::Inertia;
use crate::physics::shape::Shape;
use crate::scene::{self, GroupSettings, NameTable, Resolved, Scene, SceneError};

/// Friction and restitution of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
}

impl Surface {
    /// What holds where two surfaces meet: the geometric mean, and exactly their own value if they are alike.
    pub fn combined(&self, other: &Surface) -> Surface {
        let mean = |a: f64, b: f64| if a == b { a } else { (a * b).sqrt() };
        Surface {
            friction: mean(self.friction, other.friction),
            restitution: mean(self.restitution, other.restitution),
        }
    }
}

/// A dynamic body as the physics sees it: what never rolls back.
#[derive(Clone)]
pub struct BodyDef {
    /// Its id.
    pub id: BodyId,
    /// Its form, about its centre of mass.
    pub shape: Shape,
    /// Radius of a ball about the centre of mass that holds it.
    pub radius: f64,
    /// kg.
    pub mass: f64,
    /// 1/kg.
    pub inv_mass: f64,
    /// Moments of inertia.
    pub inertia: Inertia,
    /// Friction and restitution.
    pub surface: Surface,
    /// State at tick 0.
    pub start: BodyState,
}

/// Static geometry as the physics sees it.
#[derive(Clone)]
pub struct StaticDef {
    /// Its id.
    pub id: StaticId,
    /// Its form.
    pub shape: Shape,
    /// Where it is.
    pub x: Vec3,
    /// How it is turned.
    pub q: Quat,
    /// Friction and restitution.
    pub surface: Surface,
}

/// The numbers that steer contacts, derived from tick length, gravity and the scene's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactRule {
    /// Two bodies may touch when their gap is below this, metres.
    pub margin_m: f64,
    /// ... and they separate more slowly than this, m/s,
    pub separation_speed_mps: f64,
    /// ... or than this many times their overlap, 1/s: what still overlaps at the next tick has not parted, and
    /// must not forget the load it carries. Zero without gravity, where nothing is loaded.
    pub overlap_rate_hz: f64,
    /// A touch bounces only if it would leave faster than this, m/s.
    pub bounce_speed_mps: f64,
    /// What a search for candidates must at least look at: the margin, and room for rounding.
    pub broad_margin_m: f64,
    /// Points of a touching pair count up to this gap, metres.
    pub speculative_m: f64,
    /// Jacobi iterations over resting touches.
    pub iterations: u32,
    /// Rounds of matching over hard touches.
    pub rounds: u32,
    /// Start from the last tick's impulses.
    pub warm_start: bool,
    /// Share of an overlap removed per tick.
    pub correction: f64,
}

/// A scene made ready to simulate. During a run nothing about it changes, but that bodies may be added to the list.
#[derive(Clone)]
pub struct World {
    /// Ticks, seconds and frames.
    pub time: TimeBase,
    /// m/s².
    pub gravity: Vec3,
    /// The numbers that steer contacts.
    pub rule: ContactRule,
    /// Dynamic bodies in ascending id.
    pub bodies: Bodies,
    /// Static geometry in ascending id.
    pub statics: Vec<StaticDef>,
    /// What holds bodies together.
    pub joints: Vec<JointDef>,
    /// How groups of bodies are solved together.
    pub group: GroupSettings,
    /// The part of the scene that each body begins in, by place; empty if the scene has no parts.
    pub parts: Vec<u32>,
    /// Which static geometry is near.
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
        Ok(World {
            rule: rule(scene, gravity.norm(), time.tick_s),
            time,
            gravity,
            bodies,
            statics,
            joints,
            group: scene.group,
            parts,
            static_bvh,
        })
    }

    /// The body with this id.
    pub fn body(&self, id: BodyId) -> Option<&BodyDef> {
        self.bodies.place(id).map(|place| &self.bodies[place])
    }
}

/// The part of every body, by place.
fn parts(scene: &Scene, bodies: &Bodies) -> Result<Vec<u32>, SceneError> {
    if scene.parts.is_empty() {
        return Ok(Vec::new());
    }
    let directory = NameTable::new(scene);
    let mut part_of = vec![0; bodies.len()];
    for (number, part) in scene.parts.iter().enumerate() {
        for body in &part.bodies {
            let meant = directory.find(body, || format!("part[{number}].bodies"))?;
            if let Resolved::Body(at) = meant
                && let Some(place) = bodies.place(scene.body_id(at))
            {
                part_of[place] = number as u32;
            }
        }
    }
    Ok(part_of)
}

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
