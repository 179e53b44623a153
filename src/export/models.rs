//! Who takes part in an export: every body and static object with its name, its colour and its shape.

use std::collections::BTreeMap;

use crate::base::color::Rgb;
use crate::base::ids::BodyId;
use crate::base::math::{Quat, Vec3};
use crate::physics::{Shape, World};
use crate::scene::colors;
use crate::scene::{Scene, SceneError};

/// A body as a picture shows it; where it is, frames say.
#[derive(Clone)]
pub struct BodyModel {
    /// Its id in frames.
    pub id: BodyId,
    /// What it is called.
    pub name: String,
    /// Its colour.
    pub color: Rgb,
    /// Its form, about its centre of mass.
    pub shape: Shape,
}

/// A static object as a picture shows it.
#[derive(Clone)]
pub struct StaticModel {
    /// What it is called.
    pub name: String,
    /// Its colour.
    pub color: Rgb,
    /// Its form.
    pub shape: Shape,
    /// Where it is.
    pub x: Vec3,
    /// How it is turned.
    pub q: Quat,
}

/// Everything that can be seen.
#[derive(Clone, Default)]
pub struct Models {
    /// What the scene is called.
    pub title: String,
    /// The bodies, in ascending id.
    pub bodies: Vec<BodyModel>,
    /// The static objects.
    pub statics: Vec<StaticModel>,
}

impl Models {
    /// Everything in a scene.
    pub fn of(scene: &Scene) -> Result<Models, SceneError> {
        let world = World::new(scene)?;
        let body_colors = colors::body_colors(scene);
        let static_colors = colors::static_colors(scene);
        let body_at: BTreeMap<_, _> = (0..scene.bodies.len()).map(|at| (scene.body_id(at), at)).collect();
        let static_at: BTreeMap<_, _> =
            (0..scene.statics.len()).map(|at| (scene.static_id(at), at)).collect();
        let bodies = world.bodies.iter().filter_map(|body| {
            let at = *body_at.get(&body.id)?;
            let name = scene.bodies[at].name.clone().unwrap_or_else(|| body.id.to_string());
            Some(BodyModel { id: body.id, name, color: body_colors[at], shape: body.shape.clone() })
        });
        let statics = world.statics.iter().filter_map(|object| {
            let at = *static_at.get(&object.id)?;
            let name = scene.statics[at].name.clone().unwrap_or_else(|| object.id.to_string());
            let (color, shape) = (static_colors[at], object.shape.clone());
            Some(StaticModel { name, color, shape, x: object.x, q: object.q })
        });
        Ok(Models { title: scene.name.clone(), bodies: bodies.collect(), statics: statics.collect() })
    }
}
