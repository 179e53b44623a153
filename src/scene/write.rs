//! Writes scenes as TOML and JSON, so that reading them again gives the same bits. Opens no files.

use std::fmt::Write;

use crate::base::text::escaped;
use crate::scene::explain::{key_text, quoted};
use crate::scene::{
    Body, BodyRef, GroupSettings, Joint, Material, Part, Scene, Shape, StaticObject, defaults,
};

/// Lists with more elements than this are written one element per line.
const ONE_LINE_ELEMENTS_MAX: usize = 8;

impl Scene {
    /// The scene as a TOML file, with one `[[body]]` table per body.
    pub fn to_toml(&self) -> String {
        let mut out = String::with_capacity(1024 + 200 * (self.bodies.len() + self.statics.len()));
        line(&mut out, "name", quoted(&self.name));
        line(&mut out, "seconds", number(self.seconds));
        line(&mut out, "ticks_per_second", number(self.ticks_per_second));
        line(&mut out, "ticks_per_frame", self.ticks_per_frame);
        line(&mut out, "gravity", numbers(&self.gravity));
        line(&mut out, "seed", self.seed);
        out.push_str("\n[response]\n");
        line(&mut out, "iterations", self.response.iterations);
        line(&mut out, "rounds", self.response.rounds);
        line(&mut out, "warm_start", self.response.warm_start);
        line(&mut out, "correction", number(self.response.correction));
        if self.group != GroupSettings::default() {
            write_group(&mut out, &self.group);
        }
        for (name, material) in &self.materials {
            write_material(&mut out, name, material);
        }
        for object in &self.statics {
            write_static(&mut out, object);
        }
        for body in &self.bodies {
            write_body(&mut out, body);
        }
        for joint in &self.joints {
            write_joint(&mut out, joint);
        }
        for Part { bodies } in &self.parts {
            out.push_str("\n[[part]]\n");
            line(&mut out, "bodies", list(bodies, reference));
        }
        out
    }

    /// The scene as JSON on one line. Numbers that JSON cannot write (infinite, NaN) become `null`, which
    /// [`crate::scene::parse`] rejects.
    pub fn to_json(&self) -> String {
        escaped(
            serde_json::to_string(self).expect("invariant: scenes have only string keys and write to memory"),
        )
    }
}

fn write_material(out: &mut String, name: &str, material: &Material) {
    out.push_str("\n[materials.");
    out.push_str(&key_text(name));
    out.push_str("]\n");
    line(out, "density", number(material.density));
    line(out, "friction", number(material.friction));
    line(out, "restitution", number(material.restitution));
    if let Some(color) = &material.color {
        line(out, "color", quoted(color));
    }
}

fn write_static(out: &mut String, object: &StaticObject) {
    out.push_str("\n[[static]]\n");
    write_label(out, object.id, object.name.as_deref());
    write_form(out, &object.shape, &object.position, &object.orientation);
    write_material_name(out, &object.material);
}

fn write_body(out: &mut String, body: &Body) {
    out.push_str("\n[[body]]\n");
    write_label(out, body.id, body.name.as_deref());
    write_form(out, &body.shape, &body.position, &body.orientation);
    if !defaults::is_zero(&body.velocity) {
        line(out, "velocity", numbers(&body.velocity));
    }
    if !defaults::is_zero(&body.angular_velocity) {
        line(out, "angular_velocity", numbers(&body.angular_velocity));
    }
    write_material_name(out, &body.material);
}

fn write_group(out: &mut String, group: &GroupSettings) {
    out.push_str("\n[group]\n");
    line(out, "iterations", group.iterations);
    line(out, "warm_start", group.warm_start);
    line(out, "correction", number(group.correction));
    line(out, "closing", number(group.closing));
    line(out, "gamma", group.gamma);
}

fn write_joint(out: &mut String, joint: &Joint) {
    out.push_str("\n[[joint]]\n");
    line(out, "kind", quoted(joint.kind.name()));
    line(out, "a", reference(&joint.a));
    if let Some(b) = &joint.b {
        line(out, "b", reference(b));
    }
    line(out, "point", numbers(&joint.point));
    if let Some(axis) = &joint.axis {
        line(out, "axis", numbers(axis));
    }
    if joint.collide {
        line(out, "collide", true);
    }
}

fn reference(body: &BodyRef) -> String {
    match body {
        BodyRef::Name(name) => quoted(name),
        BodyRef::Id(id) => id.to_string(),
    }
}

fn write_label(out: &mut String, id: Option<u32>, name: Option<&str>) {
    if let Some(id) = id {
        line(out, "id", id);
    }
    if let Some(name) = name {
        line(out, "name", quoted(name));
    }
}

fn write_form(out: &mut String, shape: &Shape, position: &[f64; 3], orientation: &[f64; 4]) {
    line(out, "shape", shape_text(shape));
    line(out, "position", numbers(position));
    if !defaults::is_identity(orientation) {
        line(out, "orientation", numbers(orientation));
    }
}

fn write_material_name(out: &mut String, name: &str) {
    if !defaults::is_default_material(name) {
        line(out, "material", quoted(name));
    }
}

fn shape_text(shape: &Shape) -> String {
    match shape {
        Shape::Sphere { radius } => format!("{{ sphere = {{ radius = {} }} }}", number(*radius)),
        Shape::Box { half_extents } => {
            format!("{{ box = {{ half_extents = {} }} }}", numbers(half_extents))
        }
        Shape::Capsule { radius, half_height } => round_shape_text("capsule", *radius, *half_height),
        Shape::Cylinder { radius, half_height } => round_shape_text("cylinder", *radius, *half_height),
        Shape::Ring { radius, tube } => {
            format!("{{ ring = {{ radius = {}, tube = {} }} }}", number(*radius), number(*tube))
        }
        Shape::Hull { points } => format!("{{ hull = {{ points = {} }} }}", list(points, |p| numbers(p))),
        Shape::HalfSpace { normal } => format!("{{ half_space = {{ normal = {} }} }}", numbers(normal)),
        Shape::Mesh { file, vertices, triangles } => {
            let mut parts = Vec::new();
            if let Some(file) = file {
                parts.push(format!("file = {}", quoted(file)));
            }
            if !vertices.is_empty() {
                parts.push(format!("vertices = {}", list(vertices, |v| numbers(v))));
            }
            if !triangles.is_empty() {
                parts.push(format!("triangles = {}", list(triangles, |t| format!("{t:?}"))));
            }
            format!("{{ mesh = {{ {} }} }}", parts.join(", "))
        }
    }
}

fn round_shape_text(kind: &str, radius: f64, half_height: f64) -> String {
    format!("{{ {kind} = {{ radius = {}, half_height = {} }} }}", number(radius), number(half_height))
}

fn line(out: &mut String, key: &str, value: impl std::fmt::Display) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{key} = {value}");
}

/// The shortest text that reads back as the same bits (NaN payloads aside).
fn number(value: f64) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{value:?}") }
}

fn numbers(values: &[f64]) -> String {
    format!("[{}]", values.iter().map(|v| number(*v)).collect::<Vec<_>>().join(", "))
}

fn list<T>(elements: &[T], text: impl Fn(&T) -> String) -> String {
    let texts: Vec<String> = elements.iter().map(text).collect();
    if texts.len() <= ONE_LINE_ELEMENTS_MAX {
        format!("[{}]", texts.join(", "))
    } else {
        format!("[\n  {},\n]", texts.join(",\n  "))
    }
}
