//! `anachron check`: whether a scene file is right, and what is in it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::console;
use crate::cli::failure::{Exit, Failure};
use crate::cli::format::{counted, short};
use crate::physics::World;
use crate::scene::{self, JointKind, Scene, Shape, Warning};

/// Check a scene file and describe it
#[derive(Args)]
pub(super) struct Arguments {
    /// A scene file, `.toml` or `.json`
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = arguments.file.as_path();
    let about = |error| Failure::from(error).about(path);
    let scene = scene::load(path).map_err(about)?;
    let warnings = scene.validate().map_err(about)?;
    // Some shapes show only here that they cannot be built.
    let world = World::new(&scene).map_err(about)?;
    console::print(&describe(path, &scene, &world, &warnings))?;
    Ok(Exit::Done)
}

fn describe(path: &Path, scene: &Scene, world: &World, warnings: &[Warning]) -> String {
    let mut text = format!("{}: a good scene, `{}`\n", path.display(), scene.name);
    let mut line = |label: &str, value: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {label:<8} {value}");
    };
    line("bodies", kinds(scene.bodies.iter().map(|body| &body.shape)));
    if let Some(masses) = masses(world) {
        line("masses", masses);
    }
    line("static", kinds(scene.statics.iter().map(|object| &object.shape)));
    if !scene.joints.is_empty() {
        line("joints", joints(scene));
    }
    if !scene.parts.is_empty() {
        line("parts", counted(scene.parts.len() as u64, "worker", "workers"));
    }
    let [x, y, z] = scene.gravity.map(short);
    line("gravity", format!("[{x}, {y}, {z}] m/s²"));
    line("time", time(scene));
    for Warning { field, message } in warnings {
        line("warning", format!("{field}: {message}"));
    }
    text
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
