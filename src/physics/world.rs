//! A scene made ready to simulate.

use crate::ids::{BodyId, StaticId};
use crate::math::{Quat, Vec3};
use crate::physics::shape::Shape;
use crate::scene::{Scene, SceneError};
use crate::state::BodyState;
use crate::time::TimeBase;

/// A dynamic body as the physics sees it: what never rolls back.
#[derive(Clone)]
pub struct BodyDef {
    /// Its id.
    pub id: BodyId,
    /// Its form, about its centre of mass.
    pub shape: Shape,
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
}

/// A scene made ready to simulate. It never changes during a run.
pub struct World {
    /// Ticks, seconds and frames.
    pub time: TimeBase,
    /// Dynamic bodies in ascending id.
    pub bodies: Vec<BodyDef>,
    /// Static geometry in ascending id.
    pub statics: Vec<StaticDef>,
}

impl World {
    /// Compiles a scene; the scene is validated first.
    pub fn new(scene: &Scene) -> Result<World, SceneError> {
        scene.validate()?;
        Ok(World { time: scene.time_base(), bodies: Vec::new(), statics: Vec::new() })
    }
}
