//! The colours of a scene: one palette for pictures and exports alike.

use super::{Material, Scene};
use crate::base::color::{Rgb, color_by_number, parse_color};

/// Colour of static geometry without a colour of its own.
pub const STATIC_COLOR: Rgb = [0x8a, 0x93, 0x9c];

/// The colour of each body of the scene's list: its material's, or one by its id.
pub fn body_colors(scene: &Scene) -> Vec<Rgb> {
    (0..scene.bodies.len())
        .map(|index| {
            let material = scene.material(&scene.bodies[index].material);
            material_color(material.as_ref()).unwrap_or_else(|| color_by_number(scene.body_id(index).0))
        })
        .collect()
}

/// The colour of each static object of the scene's list.
pub fn static_colors(scene: &Scene) -> Vec<Rgb> {
    scene
        .statics
        .iter()
        .map(|object| material_color(scene.material(&object.material).as_ref()).unwrap_or(STATIC_COLOR))
        .collect()
}

fn material_color(material: Option<&Material>) -> Option<Rgb> {
    parse_color(material?.color.as_deref()?)
}
