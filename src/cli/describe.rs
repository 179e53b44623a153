//! What is in a scene or a recording, in a few lines: `anachron check` and `anachron info`.

use std::collections::BTreeMap;

use crate::cli::format::{counted, grouped, short};
use crate::physics::World;
use crate::record::Recording;
use crate::scene::suggest::excerpt;
use crate::scene::{JointKind, Scene, Shape};

/// A label and a text each.
pub(super) type Lines = Vec<(&'static str, String)>;

/// A scene: bodies, static geometry, joints, time.
pub(super) fn scene_lines(scene: &Scene, world: &World) -> Lines {
    let mut lines = vec![("bodies", kinds(scene.bodies.iter().map(|body| &body.shape)))];
    if let Some(masses) = masses(world) {
        lines.push(("masses", masses));
    }
    lines.push(("static", kinds(scene.statics.iter().map(|object| &object.shape))));
    if !scene.joints.is_empty() {
        lines.push(("joints", joints(scene)));
    }
    if !scene.parts.is_empty() {
        lines.push(("parts", counted(scene.parts.len() as u64, "worker", "workers")));
    }
    let [x, y, z] = scene.gravity.map(short);
    lines.push(("gravity", format!("[{x}, {y}, {z}] m/s²")));
    lines.push(("time", time(scene)));
    lines
}

/// A recording: its origin, its frames, its end.
pub(super) fn recording_lines(recording: &Recording) -> Lines {
    let frames = match (recording.len(), recording.planned_frames()) {
        (len, planned) if len == planned => counted(len, "frame", "frames"),
        (len, planned) => format!("{} of {}", grouped(len), counted(planned, "frame", "frames")),
    };
    let mut lines = vec![
        ("made by", excerpt(recording.program())),
        ("frames", frames),
        ("ending", recording.ending().to_string()),
    ];
    if let Some(summary) = recording.summary() {
        lines.push(("digest", summary.digest.to_string()));
    }
    lines
}

/// The lines, one below the other.
pub(super) fn text_of(lines: &Lines) -> String {
    lines.iter().map(|(label, value)| format!("  {label:<8} {value}\n")).collect()
}

/// How many shapes there are, and of which kinds: `3 (1 box, 2 spheres)`.
fn kinds<'a>(shapes: impl ExactSizeIterator<Item = &'a Shape>) -> String {
    let total = shapes.len();
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for shape in shapes {
        *counts.entry(kind(shape)).or_default() += 1;
    }
    let parts: Vec<String> = counts.iter().map(|((one, many), count)| counted(*count, one, many)).collect();
    if total == 0 { "none".to_owned() } else { format!("{total} ({})", parts.join(", ")) }
}

fn kind(shape: &Shape) -> (&'static str, &'static str) {
    match shape {
        Shape::Sphere { .. } => ("sphere", "spheres"),
        Shape::Box { .. } => ("box", "boxes"),
        Shape::Capsule { .. } => ("capsule", "capsules"),
        Shape::Cylinder { .. } => ("cylinder", "cylinders"),
        Shape::Ring { .. } => ("ring", "rings"),
        Shape::Hull { .. } => ("hull", "hulls"),
        Shape::HalfSpace { .. } => ("half-space", "half-spaces"),
        Shape::Mesh { .. } => ("mesh", "meshes"),
    }
}

/// How many joints there are, and of which kinds: `3 (1 ball, 2 hinge)`.
fn joints(scene: &Scene) -> String {
    let mut counts: BTreeMap<JointKind, u64> = BTreeMap::new();
    for joint in &scene.joints {
        *counts.entry(joint.kind).or_default() += 1;
    }
    let parts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
    format!("{} ({}): for `--sync overlap`", scene.joints.len(), parts.join(", "))
}

/// The lightest, the heaviest and all bodies together; nothing without bodies.
fn masses(world: &World) -> Option<String> {
    let masses = || world.bodies.iter().map(|body| body.mass);
    let (least, most) = (masses().reduce(f64::min)?, masses().reduce(f64::max)?);
    let each = if least == most {
        format!("{} kg each", short(least))
    } else {
        format!("{} kg to {} kg", short(least), short(most))
    };
    Some(format!("{each}, {} kg in all", short(masses().sum())))
}

fn time(scene: &Scene) -> String {
    let time = scene.time_base();
    let ticks = counted(time.last_tick, "tick", "ticks");
    let frames = counted(time.frame_count(), "frame", "frames");
    let (seconds, rate) = (short(scene.seconds), short(scene.ticks_per_second));
    format!("{seconds} s: {ticks} of 1/{rate} s, {frames}")
}
