//! Other rigid-body engines on the scenes of anachron.
//!
//! `peers one` runs one engine on one exported scene and prints one JSON object; `peers compare` runs everything against
//! each other and prints the tables of the documents. `./run` builds what can be built here and starts the comparison.

mod compare;
mod engines;
mod options;
mod physics;
mod scene;

use std::path::Path;
use std::time::Instant;

use engines::{KINDS, Kind};
use options::Options;
use physics::State;
use scene::Scene;

const USAGE: &str = "\
usage: peers list
       peers one --engine NAME --scene FILE --seconds S [--threads T] [--dt 1/60] [--watch yes]
       peers compare --anachron PROGRAM [--threaded PROGRAM] [--threads T] [--repeat R] [--only TEXT]
                     [--engines LIST] [--ours FLAGS] [--frames 1,60] [--out FOLDER]";

fn main() {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let done = Options::read(arguments).and_then(|options| match what.as_str() {
        "list" => {
            let names: Vec<String> =
                KINDS.iter().map(|kind| format!("{} {}", kind.name, kind.version)).collect();
            println!("{}", names.join("\n"));
            Ok(())
        }
        "one" => one(&options),
        "compare" => compare::run(&options),
        _ => Err(format!("`{what}` is no command")),
    });
    if let Err(problem) = done {
        eprintln!("error: {problem}\n{USAGE}");
        std::process::exit(2);
    }
}

/// Runs one engine.
fn one(options: &Options) -> Result<(), String> {
    let name = options.text("engine").ok_or("--engine is missing")?;
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| format!("{name} is not in this build"))?;
    let scene = Scene::read(Path::new(options.text("scene").ok_or("--scene is missing")?))?;
    let dt_s = options.number("dt", 1.0 / 60.0)?;
    let seconds = options.number("seconds", 1.0)?;
    let threads = options.number("threads", 1.0)? as usize;
    if threads > 1 && !kind.threads {
        return Err(format!("{name} has one thread here"));
    }
    let steps = (seconds / dt_s).round() as usize;
    let mut engine = (kind.make)(&scene, dt_s as f32, threads);
    let first = engine.states();
    same_bodies(kind, &scene, &first, engine.fixed())?;
    let (kinetic_start, potential_start) = physics::energies(&scene, &first);
    let (mut wall_s, mut overlap_m) = (0.0, physics::overlap_m(&scene, &first).unwrap_or(f64::NAN));
    if options.text("watch").is_some() {
        // Untimed: looking at the states between two steps would empty the caches of the next one.
        for _ in 0..steps {
            engine.step();
            overlap_m = overlap_m.max(physics::overlap_m(&scene, &engine.states()).unwrap_or(f64::NAN));
        }
    } else {
        let began = Instant::now();
        (0..steps).for_each(|_| engine.step());
        wall_s = began.elapsed().as_secs_f64();
    }
    let (kinetic, potential) = physics::energies(&scene, &engine.states());
    let energy_start = kinetic_start + potential_start;
    let scale = kinetic_start.max(energy_start.abs());
    let told = serde_json::json!({
        "engine": name,
        "threads": threads,
        "bodies": first.len(),
        "steps": steps,
        "wall_s": wall_s,
        "energy_drift": (kinetic + potential - energy_start) / scale,
        "max_overlap_m": overlap_m,
    });
    println!("{told}");
    Ok(())
}

/// Whether an engine got the bodies of the scene: their number, and every position and velocity, to the bit.
fn same_bodies(kind: &Kind, scene: &Scene, states: &[State], fixed: usize) -> Result<(), String> {
    let moving: Vec<_> = scene.moving().collect();
    if states.len() != moving.len() || fixed != scene.bodies.len() - moving.len() {
        return Err(format!("{} has {} moving and {fixed} static bodies", kind.name, states.len()));
    }
    for (at, (body, state)) in moving.iter().zip(states).enumerate() {
        let is_same = state[..3] == body.x && state[3..7] == body.q && state[7..10] == body.v;
        if !is_same {
            return Err(format!("{} got another body {at}: {state:?} instead of {body:?}", kind.name));
        }
    }
    Ok(())
}
