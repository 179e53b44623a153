//! The first difference between two recordings: frame, body and field, compared by bits.
//!
//! Two runs of one scene must be equal to the bit. The size of a difference is shown only because it helps to find its
//! cause.

use std::fmt;

use serde_json::Value;

use super::{Ending, RecordError, Recording};
use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::base::state::STATE_FIELDS;
use crate::base::time::Tick;
use crate::scene::Scene;
use crate::scene::suggest::{excerpt, shown};

/// How two recordings differ.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffReport {
    /// Names of the two recordings.
    pub names: [String; 2],
    /// The first field of the scene that differs.
    pub scene: Option<SceneDifference>,
    /// Number of frames of each.
    pub frame_counts: [u64; 2],
    /// How each of them ends.
    pub endings: [Ending; 2],
    /// The first difference in the frames that both have.
    pub first: Option<FrameDifference>,
}

/// A field of the scene that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneDifference {
    /// The field as it is written in a scene file, such as `body[3].position[0]`.
    pub field: String,
    /// Both values as JSON; nothing where the field is absent.
    pub values: [Option<String>; 2],
}

/// The first difference between two frames.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameDifference {
    /// Position of the frame in the recordings, from 0.
    pub frame: u64,
    /// The tick it shows in the first recording.
    pub tick: Tick,
    /// What differs first.
    pub what: Difference,
    /// Number of bodies of this frame that differ in any field.
    pub bodies_that_differ: usize,
}

/// What differs between two frames.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// The frames have different numbers.
    Index([u64; 2]),
    /// The frames show different ticks.
    Tick([Tick; 2]),
    /// The frames show different times, in seconds.
    Time([f64; 2]),
    /// Only one of the frames has this body.
    Missing {
        /// Id of the body.
        body: BodyId,
        /// Name of the body, if it has one.
        name: Option<String>,
        /// 0 if the first recording lacks it, 1 if the second.
        from: usize,
    },
    /// A number of a body's state.
    State {
        /// Id of the body.
        body: BodyId,
        /// Name of the body, if it has one.
        name: Option<String>,
        /// The number: one of [`STATE_FIELDS`].
        field: &'static str,
        /// Values in the first and in the second recording.
        values: [f64; 2],
    },
}

impl DiffReport {
    /// Whether both have the same frames, all of them.
    pub fn same_frames(&self) -> bool {
        self.first.is_none() && self.frame_counts[0] == self.frame_counts[1]
    }

    /// Whether both have the same scene and the same frames.
    pub fn is_empty(&self) -> bool {
        self.scene.is_none() && self.same_frames()
    }
}

/// Compares two recordings up to their first difference. Damage before that is an error.
pub fn diff(a: &mut Recording, b: &mut Recording) -> Result<DiffReport, RecordError> {
    let names = body_names(a.scene());
    let mut report = DiffReport {
        names: [shown(a.path()), shown(b.path())],
        scene: scene_difference(a.scene(), b.scene()),
        frame_counts: [a.len(), b.len()],
        endings: [a.ending().clone(), b.ending().clone()],
        first: None,
    };
    let (mut frames_a, mut frames_b) = (a.frames(), b.frames());
    for frame in 0.. {
        // Both are read on, so that damage right behind the last common frame is found in either.
        let (next_a, next_b) = (frames_a.next().transpose()?, frames_b.next().transpose()?);
        let (Some(a), Some(b)) = (next_a, next_b) else { break };
        if let Some((what, bodies_that_differ)) = frame_difference(&a, &b, &names) {
            report.first = Some(FrameDifference { frame, tick: a.tick, what, bodies_that_differ });
            break;
        }
    }
    Ok(report)
}

/// Names by body id, in ascending id.
fn body_names(scene: &Scene) -> Vec<(BodyId, Option<String>)> {
    let mut names: Vec<_> =
        (0..scene.bodies.len()).map(|at| (scene.body_id(at), scene.bodies[at].name.clone())).collect();
    names.sort_by_key(|(id, _)| *id);
    names
}

fn frame_difference(a: &Frame, b: &Frame, names: &[(BodyId, Option<String>)]) -> Option<(Difference, usize)> {
    let (first_body, bodies) = body_differences(a, b, names);
    let what = if a.index != b.index {
        Difference::Index([a.index, b.index])
    } else if a.tick != b.tick {
        Difference::Tick([a.tick, b.tick])
    } else if a.time_s.to_bits() != b.time_s.to_bits() {
        Difference::Time([a.time_s, b.time_s])
    } else {
        first_body?
    };
    Some((what, bodies))
}

/// The first difference in ascending body id, and how many bodies differ.
fn body_differences(a: &Frame, b: &Frame, names: &[(BodyId, Option<String>)]) -> (Option<Difference>, usize) {
    let name_of = |id: BodyId| {
        names.binary_search_by_key(&id, |(id, _)| *id).ok().and_then(|found| names[found].1.clone())
    };
    let (mut first, mut count) = (None, 0);
    let mut note = |difference: &dyn Fn() -> Difference| {
        count += 1;
        first.get_or_insert_with(difference);
    };
    let (mut rest_a, mut rest_b) = (a.bodies.as_slice(), b.bodies.as_slice());
    loop {
        let lowest = match (rest_a.first(), rest_b.first()) {
            (None, None) => break,
            (Some((id, _)), None) | (None, Some((id, _))) => *id,
            (Some((a, _)), Some((b, _))) => *a.min(b),
        };
        let state_a = take(&mut rest_a, lowest);
        let state_b = take(&mut rest_b, lowest);
        let (Some(state_a), Some(state_b)) = (state_a, state_b) else {
            let from = usize::from(state_a.is_some());
            note(&|| Difference::Missing { body: lowest, name: name_of(lowest), from });
            continue;
        };
        let pairs = STATE_FIELDS.into_iter().zip(state_a.into_iter().zip(state_b));
        if let Some((field, (a, b))) = pairs.into_iter().find(|(_, (a, b))| a.to_bits() != b.to_bits()) {
            note(&|| Difference::State { body: lowest, name: name_of(lowest), field, values: [a, b] });
        }
    }
    (first, count)
}

/// Takes the first body off `rest` if it is `id`.
fn take(rest: &mut &[(BodyId, crate::base::state::BodyState)], id: BodyId) -> Option<[f64; 13]> {
    let ((first, state), after) = rest.split_first()?;
    (*first == id).then(|| {
        *rest = after;
        state.to_array()
    })
}

/// Distance of two numbers in units in the last place; nothing where one is not a number.
fn ulps(a: f64, b: f64) -> Option<u64> {
    let rank = |n: f64| {
        let bits = n.to_bits() as i64;
        // Both zeros have the same rank.
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    };
    (!a.is_nan() && !b.is_nan()).then(|| rank(a).abs_diff(rank(b)))
}

/// The first field in which two scenes differ, as it is written in scene files.
fn scene_difference(a: &Scene, b: &Scene) -> Option<SceneDifference> {
    let json = |scene| serde_json::to_value(scene).unwrap_or(Value::Null);
    value_difference(String::new(), Some(&json(a)), Some(&json(b)))
}

fn value_difference(field: String, a: Option<&Value>, b: Option<&Value>) -> Option<SceneDifference> {
    match (a, b) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let only_b = b.keys().filter(|key| !a.contains_key(*key));
            let mut keys: Vec<_> = a.keys().chain(only_b).collect();
            keys.sort();
            keys.into_iter().find_map(|key| {
                let dot = if field.is_empty() { "" } else { "." };
                value_difference(format!("{field}{dot}{key}"), a.get(key), b.get(key))
            })
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => (0..a.len().max(b.len()))
            .find_map(|at| value_difference(format!("{field}[{at}]"), a.get(at), b.get(at))),
        // By text: as numbers, zero and minus zero would be equal.
        _ => {
            let values = [a, b].map(|value| value.map(Value::to_string));
            (values[0] != values[1]).then_some(SceneDifference { field, values })
        }
    }
}

impl fmt::Display for DiffReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.names;
        let [frames_a, frames_b] = self.frame_counts;
        if self.is_empty() {
            return write!(f, "{a} and {b} are equal to the bit: {frames_a} frames");
        }
        let [ending_a, ending_b] = &self.endings;
        writeln!(f, "a: {a}, {frames_a} frames, {ending_a}")?;
        write!(f, "b: {b}, {frames_b} frames, {ending_b}")?;
        if let Some(scene) = &self.scene {
            // A value may be a whole mesh.
            let [in_a, in_b] = scene.values.each_ref().map(|v| excerpt(v.as_deref().unwrap_or("absent")));
            write!(f, "\nthe scenes differ, first in {}\n  a: {in_a}\n  b: {in_b}", excerpt(&scene.field))?;
        }
        let common = frames_a.min(frames_b);
        match &self.first {
            Some(first) => write!(f, "\n{first}"),
            None if frames_a == frames_b => write!(f, "\nall {common} frames are equal to the bit"),
            None => write!(f, "\nthe first {common} frames are equal to the bit; only one has more"),
        }
    }
}

impl fmt::Display for FrameDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the frames differ, first in frame {} (tick {})", self.frame, self.tick)?;
        match &self.what {
            Difference::Index([a, b]) => write!(f, ": it is numbered {a} in a and {b} in b"),
            Difference::Tick([a, b]) => write!(f, ": it shows tick {a} in a and tick {b} in b"),
            Difference::Time([a, b]) => write!(f, ": it shows {a:?} s in a and {b:?} s in b"),
            Difference::Missing { body, name, from } => {
                write!(f, ", {}: missing in {}", Named(*body, name), ["a", "b"][*from])?;
                self.write_others(f)
            }
            Difference::State { body, name, field, values: [a, b] } => {
                writeln!(f, ", {}, {field}", Named(*body, name))?;
                writeln!(f, "  a: {a:?} (bits {:016x})", a.to_bits())?;
                write!(f, "  b: {b:?} (bits {:016x})", b.to_bits())?;
                if let Some(ulps) = ulps(*a, *b) {
                    let distance = (a - b).abs();
                    write!(f, "\n  apart: {distance:e}, {ulps} ulp{}", if ulps == 1 { "" } else { "s" })?;
                }
                self.write_others(f)
            }
        }
    }
}

impl FrameDifference {
    fn write_others(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bodies_that_differ.saturating_sub(1) {
            0 => Ok(()),
            1 => write!(f, "\n1 other body differs in this frame"),
            others => write!(f, "\n{others} other bodies differ in this frame"),
        }
    }
}

struct Named<'a>(BodyId, &'a Option<String>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.1 {
            Some(name) => write!(f, "{} \"{}\"", self.0, excerpt(name)),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ulps_are_counted_across_zero() {
        assert_eq!(ulps(1.0, 1.0f64.next_up()), Some(1));
        assert_eq!(ulps(0.0, -0.0), Some(0));
        assert_eq!(ulps(0.0f64.next_up(), 0.0f64.next_down()), Some(2));
        assert_eq!(ulps(f64::NEG_INFINITY, f64::INFINITY), Some(2 * f64::INFINITY.to_bits()));
        assert_eq!(ulps(f64::NAN, 1.0), None);
    }
}
