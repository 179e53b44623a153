//! The objects of an export: every body and static object with its name, its colour and its shape.

use std::collections::BTreeMap;

use crate::base::color::Rgb;
use crate::base::ids::BodyId;
use crate::base::math::{Quat, Vec3};
use crate::physics::{Shape, World};
use crate::scene::colors;
use crate::scene::{Scene, SceneError};

/// A body of an export; its poses come from frames.
#[derive(Clone)]
pub struct BodyModel {
    /// Its id in frames.
    pub id: BodyId,
    /// Name in the export.
    pub name: String,
    /// Colour in the export.
    pub color: Rgb,
    /// Shape, about the centre of mass.
    pub shape: Shape,
}

/// A static object of an export.
#[derive(Clone)]
pub struct StaticModel {
    /// Name in the export.
    pub name: String,
    /// Colour in the export.
    pub color: Rgb,
    /// Shape in local coordinates.
    pub shape: Shape,
    /// Position in world coordinates, metres.
    pub x: Vec3,
    /// Orientation in world coordinates.
    pub q: Quat,
}

/// All objects of an export.
#[derive(Clone, Default)]
pub struct Models {
    /// Name of the scene.
    pub title: String,
    /// The bodies, in ascending id.
    pub bodies: Vec<BodyModel>,
    /// The static objects.
    pub statics: Vec<StaticModel>,
}

impl Models {
    /// The objects of a scene.
    pub(super) fn of(scene: &Scene) -> Result<Models, SceneError> {
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
