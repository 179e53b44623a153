//! Mutated scenes, and OBJ files that a scene names.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::dice::Dice;
use crate::mutate;
use crate::program::{Finding, Program};

/// A good scene to start from.
pub struct Seed {
    text: String,
    is_json: bool,
}

/// Scenarios that stay small, with their number of bodies.
const SCENARIOS: &[(&str, &str)] = &[
    ("gas", "12"),
    ("stack", "4"),
    ("building", "40"),
    ("four-way-bridge", "71"),
    ("parallel", "12"),
    ("cylinders", "12"),
    ("bouncing", "14"),
    ("bowl", "10"),
    ("pyramid", "6"),
    ("newton-cradle", "5"),
    ("billiards", "16"),
    ("bridge", "61"),
    ("chain-net", "20"),
];

/// An OBJ file with something of what the format has.
const CUBE: &str = "\
mtllib none.mtl
o cube
v -1 -1 -1
v 1 -1 -1 1.0
v 1 1 -1
v -1 1 -1
v -1 -1 1
v 1 -1 1
v 1 1 1
v -1 1 1
vt 0 0
vn 0 0 1
usemtl none
s off
f 5/1/1 6/1/1 7/1/1 8/1/1
f 1//1 4//1 3//1 2//1
f 1/1 2/1 6/1 5/1
g top # a comment
f -5 -6 -2 -1
f 1 5 8
f 1 8 4
f 2 3 7 6
l 1 2
";

/// Scene files of the repository and printed scenarios, as TOML and as JSON.
pub fn seeds(program: &mut Program, repo: &Path) -> Result<Vec<Seed>, Finding> {
    let mut seeds = Vec::new();
    let mut files = Vec::new();
    for path in
        ["scenes/dominoes.toml", "scenes/marbles.toml", "scenes/toys.toml", "tests/data/everything.toml"]
    {
        let text = fs::read_to_string(repo.join(path)).map_err(|error| format!("{path}: {error}"))?;
        seeds.push(Seed { text, is_json: false });
        files.push(repo.join(path).display().to_string());
    }
    let listed = files.iter().map(|file| vec![file.as_str()]);
    for source in listed.chain(SCENARIOS.iter().map(|(name, bodies)| vec![*name, "--bodies", bodies])) {
        for is_json in [false, true] {
            let format: &[&str] = if is_json { &["--json"] } else { &[] };
            let arguments = [&["scene"], &source[..], format].concat();
            let text = program.run(&arguments, &[0])?.stdout;
            seeds.push(Seed { text, is_json });
        }
    }
    Ok(seeds)
}

/// The text of a scene after one to four changes, and whether it is JSON.
fn mutated(dice: &mut Dice, seeds: &[Seed]) -> (Vec<u8>, bool) {
    let seed = dice.pick(seeds);
    let parsed: Option<Value> =
        if seed.is_json { serde_json::from_str(&seed.text).ok() } else { toml::from_str(&seed.text).ok() };
    let changes = 1 + dice.below(4);
    let mut text = seed.text.clone().into_bytes();
    let way = dice.below(5);
    if let (1.., Some(mut root)) = (way, parsed) {
        let change = if way == 1 { mutate::tree } else { mutate::number };
        (0..changes).for_each(|_| change(dice, &mut root));
        // TOML has no null; then the scene is JSON.
        return match (seed.is_json, toml::to_string(&root)) {
            (false, Ok(text)) => (text.into_bytes(), false),
            _ => (root.to_string().into_bytes(), true),
        };
    }
    (0..changes).for_each(|_| mutate::text(dice, &mut text));
    (text, seed.is_json)
}

/// A mutated scene is checked; if it is good, it is printed, read again and run in two ways.
pub fn scene(
    dice: &mut Dice,
    program: &mut Program,
    seeds: &[Seed],
    repo: &Path,
) -> Result<&'static str, Finding> {
    let (text, is_json) = mutated(dice, seeds);
    let name = if is_json { "scene.json" } else { "scene.toml" };
    write(&program.folder.join(name), &text)?;
    copy(&repo.join("scenes/valley.obj"), &program.folder.join("valley.obj"))?;
    if program.run(&["check", name], &[0, 2])?.code() != Some(0) {
        return Ok("rejected");
    }
    let printed = program.run(&["scene", name], &[0])?.stdout;
    write(&program.folder.join("printed.toml"), printed.as_bytes())?;
    let again = program.run(&["scene", "printed.toml"], &[0])?.stdout;
    if printed != again {
        return Err(format!("{name} and what `anachron scene` prints of it are different scenes"));
    }
    run_both(dice, program, name, "printed.toml")
}

/// Runs a scene for a moment by Time Warp, and the same scene under another name by the sequential executor.
fn run_both(
    dice: &mut Dice,
    program: &mut Program,
    name: &str,
    other: &str,
) -> Result<&'static str, Finding> {
    let seconds = *dice.pick(&["0.02", "0.05", "0.1"]);
    let flags = ["--seconds", seconds, "--json", "--quiet"];
    let first = program.run(&[&["run", name], &flags[..]].concat(), &[0, 1, 2])?;
    if first.code() != Some(0) {
        return Ok("not run");
    }
    let outcome = first.json()?;
    if outcome["sync"] == "overlap" {
        return Ok("run");
    }
    let second = program.run(&[&["run", other], &flags[..], &["--sync", "sequential"]].concat(), &[0])?;
    if outcome["digest"] != second.json()?["digest"] {
        return Err(format!("`{}` and `{}` have different digests", first.asked, second.asked));
    }
    Ok("run")
}

/// A mutated OBJ file as static geometry under a few balls.
pub fn obj(dice: &mut Dice, program: &mut Program, repo: &Path) -> Result<&'static str, Finding> {
    let mut text = if dice.once_in(2) {
        CUBE.into()
    } else {
        fs::read(repo.join("scenes/valley.obj")).map_err(|error| error.to_string())?
    };
    for _ in 0..1 + dice.below(4) {
        mutate::text(dice, &mut text);
    }
    write(&program.folder.join("valley.obj"), &text)?;
    copy(&repo.join("scenes/marbles.toml"), &program.folder.join("marbles.toml"))?;
    if program.run(&["check", "marbles.toml"], &[0, 2])?.code() != Some(0) {
        return Ok("rejected");
    }
    run_both(dice, program, "marbles.toml", "marbles.toml")
}

pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Finding> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), Finding> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}
