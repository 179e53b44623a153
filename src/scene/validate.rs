//! Checks a scene and reports exactly which field is wrong and what would be right.
//!
//! Shapes are checked in `check_shape`. The checks ensure that every number is finite and of a size
//! that the arithmetic of the simulator can carry; not that the scene is sensible.

use std::ops::RangeInclusive;

use thiserror::Error;

use crate::base::color::parse_color;
use crate::scene::check_shape::{Role, check_shape, thickness_m};
use crate::scene::suggest::{excerpt, suggest};
use crate::scene::{Body, Scene};

/// Longest run, seconds.
const SECONDS_MAX: f64 = 1e6;
/// Coarsest and finest ticks. With [`SECONDS_MAX`] this keeps every tick number below 10¹², exact in `f64`.
const TICKS_PER_SECOND: RangeInclusive<f64> = 1.0..=1e6;
const TICKS_PER_FRAME: RangeInclusive<f64> = 1.0..=1e6;
const GRAVITY_MAX: f64 = 1e4;
const ITERATIONS: RangeInclusive<f64> = 1.0..=1000.0;
const ROUNDS: RangeInclusive<f64> = 1.0..=64.0;
const DENSITY: RangeInclusive<f64> = 1e-6..=1e9;
const FRICTION: RangeInclusive<f64> = 0.0..=1e3;
const SHARE: RangeInclusive<f64> = 0.0..=1.0;
const POSITION_MAX_M: f64 = 1e9;
const SPEED_MAX: f64 = 1e5;
/// Unit vectors and quaternions may be off by rounding, not by more.
const UNIT_TOLERANCE: f64 = 1e-6;
/// More bodies, or more static objects, are rejected.
pub(crate) const OBJECTS_MAX: usize = 10_000_000;
/// Ids are stored with a bit to spare.
const ID_MAX: u32 = (1 << 31) - 1;

/// An error in a scene: the field, the problem, and the fix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {problem}; {fix}")]
pub struct SceneError {
    /// Path of the field as written in the file, such as `body[3].shape.sphere.radius`.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub fix: String,
}

impl SceneError {
    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        SceneError { field: field.into(), problem: problem.into(), fix: fix.into() }
    }
}

/// A scene that will run, but perhaps not as intended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Path of the field it is about.
    pub field: String,
    /// What to expect, and what to do about it.
    pub message: String,
}

impl Scene {
    /// Checks every field; the first that is wrong is reported.
    pub fn validate(&self) -> Result<Vec<Warning>, SceneError> {
        self.check_time()?;
        self.check_response()?;
        self.check_materials()?;
        self.check_statics()?;
        self.check_bodies()?;
        self.check_ids()?;
        self.check_names()?;
        self.check_joints()?;
        self.check_parts()?;
        self.check_group()?;
        Ok(self.warnings())
    }

    fn check_time(&self) -> Result<(), SceneError> {
        let top = At::scene();
        check_positive(top.field("seconds"), self.seconds, SECONDS_MAX)?;
        check_range(top.field("ticks_per_second"), self.ticks_per_second, TICKS_PER_SECOND)?;
        check_range(top.field("ticks_per_frame"), f64::from(self.ticks_per_frame), TICKS_PER_FRAME)?;
        check_vector(top.field("gravity"), &self.gravity, GRAVITY_MAX, "m/s²")
    }

    fn check_response(&self) -> Result<(), SceneError> {
        let at = At::table("response");
        check_range(at.field("iterations"), f64::from(self.response.iterations), ITERATIONS)?;
        check_range(at.field("rounds"), f64::from(self.response.rounds), ROUNDS)?;
        check_range(at.field("correction"), self.response.correction, SHARE)
    }

    fn check_materials(&self) -> Result<(), SceneError> {
        for (name, material) in &self.materials {
            let name = format!("materials.{}", crate::scene::explain::key_text(&excerpt(name)));
            let at = At::table(&name);
            check_range(at.field("density"), material.density, DENSITY)?;
            check_range(at.field("friction"), material.friction, FRICTION)?;
            check_range(at.field("restitution"), material.restitution, SHARE)?;
            if let Some(color) = material.color.as_deref().filter(|color| parse_color(color).is_none()) {
                let problem = format!("`{}` is not a colour", excerpt(color));
                return Err(SceneError::new(at.field("color").text(), problem, "write it as `#rrggbb`"));
            }
        }
        Ok(())
    }

    fn check_statics(&self) -> Result<(), SceneError> {
        check_count("static", self.statics.len())?;
        for (index, object) in self.statics.iter().enumerate() {
            let at = At::element("static", index);
            check_shape(&at, &object.shape, Role::Static)?;
            self.check_pose(&at, &object.position, &object.orientation, &object.material)?;
        }
        Ok(())
    }

    fn check_bodies(&self) -> Result<(), SceneError> {
        check_count("body", self.bodies.len())?;
        if self.bodies.is_empty() {
            return Err(SceneError::new(
                "body",
                "there is nothing that moves",
                "add a `[[body]]` with a shape",
            ));
        }
        for (index, body) in self.bodies.iter().enumerate() {
            let at = At::element("body", index);
            check_shape(&at, &body.shape, Role::Body)?;
            self.check_pose(&at, &body.position, &body.orientation, &body.material)?;
            check_vector(at.field("velocity"), &body.velocity, SPEED_MAX, "m/s")?;
            check_vector(at.field("angular_velocity"), &body.angular_velocity, SPEED_MAX, "rad/s")?;
        }
        Ok(())
    }

    fn check_pose(&self, at: &At, x: &[f64; 3], q: &[f64; 4], material: &str) -> Result<(), SceneError> {
        check_vector(at.field("position"), x, POSITION_MAX_M, "m")?;
        check_unit(at.field("orientation"), q, "[0.0, 0.0, 0.0, 1.0]")?;
        if material == "default" || self.materials.contains_key(material) {
            return Ok(());
        }
        let known = ["default"].into_iter().chain(self.materials.keys().map(String::as_str));
        let problem = format!("there is no material `{}`", excerpt(material));
        let fix = format!("{}; or add it as `[materials.NAME]`", suggest(material, known));
        Err(SceneError::new(at.field("material").text(), problem, fix))
    }

    fn check_ids(&self) -> Result<(), SceneError> {
        let bodies: Vec<Option<u32>> = self.bodies.iter().map(|body| body.id).collect();
        let statics: Vec<Option<u32>> = self.statics.iter().map(|object| object.id).collect();
        check_list_ids("body", &bodies)?;
        check_list_ids("static", &statics)
    }

    fn check_names(&self) -> Result<(), SceneError> {
        let statics = self.statics.iter().enumerate().map(|(index, s)| (s.name.as_deref(), "static", index));
        let bodies = self.bodies.iter().enumerate().map(|(index, b)| (b.name.as_deref(), "body", index));
        let mut named: Vec<_> =
            statics.chain(bodies).filter_map(|(name, list, index)| Some((name?, list, index))).collect();
        named.sort_unstable();
        for pair in named.windows(2) {
            let ((name, list, index), (other, other_list, other_index)) = (pair[0], pair[1]);
            if name == other {
                let problem = format!("`{}` is also the name of {list}[{index}]", excerpt(name));
                let field = format!("{other_list}[{other_index}].name");
                return Err(SceneError::new(field, problem, "give each a name of its own"));
            }
        }
        Ok(())
    }

    fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let time = self.time_base();
        if time.last_tick < u64::from(time.ticks_per_frame) {
            let message = format!(
                "the run of {} ticks is shorter than one frame of {} ticks: only the start will be shown",
                time.last_tick, time.ticks_per_frame
            );
            warnings.push(Warning { field: "seconds".to_owned(), message });
        }
        warnings.extend(self.tunnelling_warning(time.tick_s));
        warnings
    }

    /// One warning for all bodies that are fast enough to tunnel through others.
    fn tunnelling_warning(&self, tick_s: f64) -> Option<Warning> {
        // How often a body passes its own thickness in a tick.
        let passes = |body: &Body| norm(&body.velocity) * tick_s / thickness_m(&body.shape);
        let fast =
            self.bodies.iter().enumerate().map(|(index, body)| (index, passes(body))).filter(|f| f.1 > 1.0);
        let (count, (index, worst)) =
            fast.fold((0, (0, 0.0)), |(n, max), this| (n + 1, if this.1 > max.1 { this } else { max }));
        if count == 0 {
            return None;
        }
        let ticks = (worst * self.ticks_per_second).ceil();
        let message = format!(
            "moves {worst:.1} times its own thickness per tick and may pass through others unseen \
             ({count} of {} bodies are too fast): use `ticks_per_second` of {ticks} or more",
            self.bodies.len()
        );
        Some(Warning { field: format!("body[{index}].velocity"), message })
    }
}

/// The path of a table in the scene. Its text is made only if it is needed, for there may be millions.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    table: &'a str,
    index: Option<usize>,
}

impl<'a> At<'a> {
    fn scene() -> Self {
        At { table: "", index: None }
    }

    pub(super) fn table(table: &'a str) -> Self {
        At { table, index: None }
    }

    pub(super) fn element(table: &'a str, index: usize) -> Self {
        At { table, index: Some(index) }
    }

    pub(super) fn field(&self, name: &'a str) -> Field<'a> {
        Field { at: *self, name, elements: [None; 2] }
    }
}

/// The path of a field in the scene.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    at: At<'a>,
    name: &'a str,
    /// Indices in a list, or in a list of lists.
    elements: [Option<usize>; 2],
}

impl Field<'_> {
    pub(super) fn element(mut self, index: usize) -> Self {
        let depth = usize::from(self.elements[0].is_some());
        self.elements[depth] = Some(index);
        self
    }

    pub(super) fn text(&self) -> String {
        let index = |index: Option<usize>| index.map(|i| format!("[{i}]")).unwrap_or_default();
        let dot = if self.at.table.is_empty() { "" } else { "." };
        let [outer, inner] = self.elements.map(index);
        format!("{}{}{dot}{}{outer}{inner}", self.at.table, index(self.at.index), self.name)
    }
}

fn check_finite(field: Field, value: f64) -> Result<(), SceneError> {
    if value.is_finite() {
        return Ok(());
    }
    Err(SceneError::new(field.text(), format!("is {value}"), "write a finite number"))
}

pub(super) fn check_range(field: Field, value: f64, range: RangeInclusive<f64>) -> Result<(), SceneError> {
    check_finite(field, value)?;
    if range.contains(&value) {
        return Ok(());
    }
    let fix = format!("write a number from {:?} to {:?}", range.start(), range.end());
    Err(SceneError::new(field.text(), format!("is {value:?}"), fix))
}

fn check_positive(field: Field, value: f64, max: f64) -> Result<(), SceneError> {
    check_finite(field, value)?;
    if value > 0.0 && value <= max {
        return Ok(());
    }
    let fix = format!("write a number above 0 and up to {max:?}");
    Err(SceneError::new(field.text(), format!("is {value:?}"), fix))
}

/// Checks that every component is finite and the length at most `max`.
pub(super) fn check_vector(field: Field, vector: &[f64; 3], max: f64, unit: &str) -> Result<(), SceneError> {
    for (index, value) in vector.iter().enumerate() {
        check_finite(field.element(index), *value)?;
    }
    let length = norm(vector);
    if length <= max {
        return Ok(());
    }
    let problem = format!("is {length:e} {unit} long");
    Err(SceneError::new(field.text(), problem, format!("stay below {max:e} {unit}")))
}

/// Checks that a vector or quaternion has unit length; `example` is one that has.
pub(super) fn check_unit(field: Field, numbers: &[f64], example: &str) -> Result<(), SceneError> {
    for (index, value) in numbers.iter().enumerate() {
        check_finite(field.element(index), *value)?;
    }
    let length = norm(numbers);
    if (length - 1.0).abs() <= UNIT_TOLERANCE {
        return Ok(());
    }
    let largest = numbers.iter().fold(0.0, |max: f64, n| max.max(n.abs()));
    if largest == 0.0 {
        return Err(SceneError::new(field.text(), "is zero", format!("write a unit one, such as {example}")));
    }
    // Scaled first, so that neither tiny nor huge numbers lose their direction.
    let scaled: Vec<f64> = numbers.iter().map(|n| n / largest).collect();
    let unit: Vec<f64> = scaled.iter().map(|n| n / norm(&scaled)).collect();
    let problem = format!("has length {length:?}, not 1");
    Err(SceneError::new(field.text(), problem, format!("write {unit:?}")))
}

pub(super) fn check_count(list: &str, count: usize) -> Result<(), SceneError> {
    if count <= OBJECTS_MAX {
        return Ok(());
    }
    Err(SceneError::new(list, format!("has {count} elements"), format!("use at most {OBJECTS_MAX}")))
}

/// Checks that ids, given or implied by the index in the list, are small enough and unique.
fn check_list_ids(list: &str, ids: &[Option<u32>]) -> Result<(), SceneError> {
    if ids.iter().all(Option::is_none) {
        return Ok(());
    }
    let mut used: Vec<(u32, usize)> =
        ids.iter().enumerate().map(|(index, id)| (id.unwrap_or(index as u32), index)).collect();
    used.sort_unstable();
    if let Some((id, index)) = used.last().filter(|(id, _)| *id > ID_MAX) {
        let fix = format!("use a number from 0 to {ID_MAX}");
        return Err(SceneError::new(format!("{list}[{index}].id"), format!("is {id}"), fix));
    }
    for pair in used.windows(2) {
        let ((id, index), (other_id, other_index)) = (pair[0], pair[1]);
        if id == other_id {
            let how = |index: usize| if ids[index].is_none() { ", its index in the list" } else { "" };
            let problem = format!(
                "{list}[{other_index}] has the id {id}{}, and so has {list}[{index}]{}",
                how(other_index),
                how(index)
            );
            let fix = "give every element an id of its own, or none at all";
            return Err(SceneError::new(format!("{list}[{other_index}].id"), problem, fix));
        }
    }
    Ok(())
}

pub(super) fn norm(numbers: &[f64]) -> f64 {
    numbers.iter().map(|n| n * n).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_at_most_ten_million_elements() {
        assert_eq!(check_count("body", 10_000_000), Ok(()));
        let error = check_count("body", 10_000_001).unwrap_err();
        assert_eq!(error.to_string(), "body: has 10000001 elements; use at most 10000000");
    }

    #[test]
    fn paths_are_those_of_the_file() {
        assert_eq!(At::scene().field("gravity").element(1).text(), "gravity[1]");
        assert_eq!(At::table("response").field("rounds").text(), "response.rounds");
        let points = At::element("body", 3).field("shape.hull.points");
        assert_eq!(points.element(7).element(2).text(), "body[3].shape.hull.points[7][2]");
    }
}
