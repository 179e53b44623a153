//! Turns errors of the TOML and JSON readers into a field, a problem and a fix. Reads no files itself.

use serde_path_to_error::{Path, Segment};

use crate::scene::SceneError;
use crate::scene::counted;
use crate::scene::suggest::{excerpt, suggest};

/// Explains why the value at `path` was rejected with `message`; `line` is its line, if known.
pub(super) fn explain(path: &Path, message: &str, line: Option<usize>) -> SceneError {
    let field = FieldPath::of(path);
    let mut error = unknown_key(&field, message)
        .or_else(|| misplaced_key(&field, message))
        .unwrap_or_else(|| wrong_value(&field, message));
    if let Some(line) = line {
        error.problem.push_str(&format!(" (line {line})"));
    }
    error
}

/// The path of a value as written, and the last name in it.
struct FieldPath {
    text: String,
    last_name: String,
}

impl FieldPath {
    fn of(path: &Path) -> Self {
        let mut field = FieldPath { text: String::new(), last_name: String::new() };
        for segment in path.iter() {
            match segment {
                Segment::Seq { index } => field.text.push_str(&format!("[{index}]")),
                Segment::Map { key: name } | Segment::Enum { variant: name } => field.push(name),
                Segment::Unknown => {}
            }
        }
        field
    }

    fn push(&mut self, name: &str) {
        if !self.text.is_empty() {
            self.text.push('.');
        }
        self.text.push_str(&key_text(&excerpt(name)));
        self.last_name = name.to_owned();
    }

    /// The path of the key `name` inside this table, if the path does not end with it already.
    fn with(&self, name: &str) -> String {
        let mut inner = FieldPath { text: self.text.clone(), last_name: self.last_name.clone() };
        if inner.last_name != name {
            inner.push(name);
        }
        inner.text
    }

    fn or_scene(&self) -> String {
        if self.text.is_empty() { "scene".to_owned() } else { self.text.clone() }
    }
}

/// A key as TOML writes it: bare if it can be, quoted otherwise.
pub(super) fn key_text(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A string as TOML and JSON both read it, on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A key or a shape that does not exist.
fn unknown_key(field: &FieldPath, message: &str) -> Option<SceneError> {
    if let Some(rest) = message.strip_prefix("unknown field `") {
        let (typed, expected) = rest.split_once("`, expected").or(rest.split_once("`, there are"))?;
        let fix = suggest(typed, in_backticks(expected));
        return Some(SceneError::new(field.with(typed), "unknown key", fix));
    }
    if let Some(rest) = message.strip_prefix("unexpected keys in table: ") {
        // The TOML reader's own words for unknown keys inside a shape.
        let (typed, known) = rest.split_once(", available keys: ")?;
        let typed = typed.split(", ").next().unwrap_or(typed);
        let fix = suggest(typed, known.split(", ").collect::<Vec<_>>());
        return Some(SceneError::new(field.with(typed), "unknown key", fix));
    }
    let rest = message.strip_prefix("unknown variant `")?;
    let (typed, expected) = rest.split_once("`, expected")?;
    let what = if field.last_name == "kind" { "kind of joint" } else { "shape" };
    let problem = format!("unknown {what} `{}`", excerpt(typed));
    Some(SceneError::new(field.or_scene(), problem, suggest(typed, in_backticks(expected))))
}

/// A key that is missing or given twice.
fn misplaced_key(field: &FieldPath, message: &str) -> Option<SceneError> {
    if let Some(name) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return Some(SceneError::new(field.with(name), "is missing", hint(name)));
    }
    let name = message.strip_prefix("duplicate field `")?.strip_suffix('`')?;
    Some(SceneError::new(field.with(name), "is given twice", "keep one of the two"))
}

/// A value of the wrong type, length or range.
fn wrong_value(field: &FieldPath, message: &str) -> SceneError {
    if message == counted::problem() {
        return SceneError::new(field.or_scene(), message, "make the scene smaller");
    }
    SceneError::new(field.or_scene(), plain_words(message), hint(&field.last_name))
}

/// The text between backticks in a message.
fn in_backticks(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

/// A reader's message without the names of Rust types.
fn plain_words(message: &str) -> String {
    let (found, expected) = message.rsplit_once(", expected ").unwrap_or((message, ""));
    let found = found.trim_start_matches("invalid type: ").trim_start_matches("invalid value: ");
    let expected = match expected {
        "" => return excerpt(found),
        "f64" => "a number",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number from 0 to 18446744073709551615",
        "a sequence" => "a list",
        "an array of length 3" => "a list of three",
        "an array of length 4" => "a list of four",
        "struct variant" => "its sizes",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    format!("found {}, expected {}", excerpt(found), excerpt(expected))
}

/// How a field is written, as a fix for one that is written differently.
pub(super) fn hint(field: &str) -> &'static str {
    match field {
        "name" | "material" => "write a text in quotes",
        "seconds" => "write a number of seconds, such as `seconds = 4.0`",
        "ticks_per_second" => "write a number, such as `ticks_per_second = 240`",
        "ticks_per_frame" => "write a whole number, such as `ticks_per_frame = 4`",
        "gravity" => "write three numbers in m/s², such as `gravity = [0, -9.81, 0]`",
        "seed" | "id" => "write a whole number of 0 or more",
        "response" => {
            "write a table with `iterations`, `rounds`, `warm_start` and `correction`, each optional"
        }
        "iterations" | "rounds" => "write a whole number of 1 or more",
        "warm_start" => "write `true` or `false`",
        "correction" | "closing" => "write a number from 0 to 1",
        "materials" => "write one table per material, such as `[materials.rubber]`",
        "density" => "write a number in kg/m³, such as `density = 1000`",
        "friction" => "write a number, such as `friction = 0.5`",
        "restitution" => "write a number from 0 to 1",
        "color" => "write a colour such as `color = \"#ff8000\"`",
        "static" => "write one `[[static]]` table (JSON: one list element) per object",
        "body" => "write one `[[body]]` table (JSON: one list element) per body",
        "shape" => "write one shape and its sizes, such as `shape = { sphere = { radius = 0.5 } }`",
        "joint" => "write one `[[joint]]` table (JSON: one list element) per joint",
        "kind" => "write `kind = \"ball\"`, `\"hinge\"` or `\"fixed\"`",
        "a" | "b" => "write the name of a body or static object in quotes, or the id of a body",
        "point" => "write three numbers in metres, such as `point = [0, 1, 0]`",
        "axis" => "write a unit vector, such as `axis = [0, 0, 1]`",
        "collide" => "write `true` or `false`",
        "part" => "write one `[[part]]` table with a list of `bodies` per worker",
        "bodies" => "write a list of names or ids of bodies, such as `bodies = [0, 1, \"arm\"]`",
        "group" => {
            "write a table with `iterations`, `warm_start`, `correction`, `closing` and `gamma`, each optional"
        }
        "gamma" => "write a whole number of 0 or more",
        "position" => "write three numbers in metres, such as `position = [0, 1, 0]`",
        "orientation" => {
            "write the four numbers x, y, z, w of a unit quaternion: `[0, 0, 0, 1]` is not turned"
        }
        "velocity" => "write three numbers in m/s, such as `velocity = [1, 0, 0]`",
        "angular_velocity" => "write three numbers in rad/s, such as `angular_velocity = [0, 1, 0]`",
        "sphere" => "write `{ sphere = { radius = 0.5 } }`",
        "box" => "write `{ box = { half_extents = [0.5, 0.5, 0.5] } }`",
        "capsule" => "write `{ capsule = { radius = 0.5, half_height = 1.0 } }`",
        "cylinder" => "write `{ cylinder = { radius = 0.5, half_height = 1.0 } }`",
        "ring" => "write `{ ring = { radius = 0.5, tube = 0.1 } }`",
        "hull" => "write `{ hull = { points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]] } }`",
        "half_space" => "write `{ half_space = { normal = [0, 1, 0] } }`",
        "mesh" => "write `{ mesh = { file = \"ground.obj\" } }`, or `vertices` and `triangles` in place",
        "radius" | "half_height" | "tube" => "write a length in metres, such as 0.5",
        "half_extents" => "write half the edge lengths in metres, such as `half_extents = [0.5, 0.5, 0.5]`",
        "normal" => "write a unit vector, such as `normal = [0, 1, 0]`",
        "points" | "vertices" => {
            "write a list of points, three numbers in metres each: `[[0, 0, 0], [1, 0, 0]]`"
        }
        "triangles" => {
            "write a list of triangles, three vertex numbers from 0 each: `[[0, 1, 2], [2, 1, 3]]`"
        }
        "file" => "write the name of an OBJ file, relative to the scene file",
        _ => "`anachron scene cylinders` prints a scene that is right",
    }
}
