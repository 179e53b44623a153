//! Joints, parts, and the settings of the island solver: the fields of a scene for `--sync overlap`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::scene::counted;
use crate::scene::suggest::excerpt;

/// How a scene names a body or a static object: by name, or a body by its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BodyRef {
    /// The name of a body or of a static object.
    Name(String),
    /// The id of a body.
    Id(u32),
}

impl fmt::Display for BodyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BodyRef::Name(name) => write!(f, "`{}`", excerpt(name)),
            BodyRef::Id(id) => write!(f, "{id}"),
        }
    }
}

impl Serialize for BodyRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            BodyRef::Name(name) => serializer.serialize_str(name),
            BodyRef::Id(id) => serializer.serialize_u32(*id),
        }
    }
}

impl<'de> Deserialize<'de> for BodyRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BodyRefVisitor)
    }
}

struct BodyRefVisitor;

impl de::Visitor<'_> for BodyRefVisitor {
    type Value = BodyRef;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a body or its id")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<BodyRef, E> {
        Ok(BodyRef::Name(name.to_owned()))
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> Result<BodyRef, E> {
        let wrong = || E::invalid_value(de::Unexpected::Unsigned(id), &self);
        u32::try_from(id).map(BodyRef::Id).map_err(|_| wrong())
    }

    fn visit_i64<E: de::Error>(self, id: i64) -> Result<BodyRef, E> {
        let wrong = || E::invalid_value(de::Unexpected::Signed(id), &self);
        u32::try_from(id).map(BodyRef::Id).map_err(|_| wrong())
    }
}

/// The degrees of freedom that a joint leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JointKind {
    /// Both turn freely about a common point.
    Ball,
    /// Both turn about a common axis only.
    Hinge,
    /// Both move as one.
    Fixed,
}

impl JointKind {
    /// The name in scene files.
    pub fn name(self) -> &'static str {
        match self {
            JointKind::Ball => "ball",
            JointKind::Hinge => "hinge",
            JointKind::Fixed => "fixed",
        }
    }
}

/// A joint between two bodies, or between a body and static geometry or the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joint {
    /// The degrees of freedom that it leaves.
    pub kind: JointKind,
    /// The body on the first side.
    pub a: BodyRef,
    /// The body or static object on the second side; the unmoving world if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<BodyRef>,
    /// The common point at the start, in world coordinates, metres.
    pub point: [f64; 3],
    /// The direction about which a hinge turns at the start, in world coordinates: a unit vector. Hinges only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f64; 3]>,
    /// Whether the two still collide with each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub collide: bool,
}

impl Joint {
    /// A joint that leaves all turning free.
    pub fn ball(a: u32, b: Option<u32>, point: [f64; 3]) -> Self {
        let b = b.map(BodyRef::Id);
        Joint { kind: JointKind::Ball, a: BodyRef::Id(a), b, point, axis: None, collide: false }
    }

    /// A joint that leaves nothing free.
    pub fn fixed(a: u32, b: Option<u32>, point: [f64; 3]) -> Self {
        Joint { kind: JointKind::Fixed, ..Joint::ball(a, b, point) }
    }

    /// A joint that leaves turning about an axis free.
    pub fn hinge(a: u32, b: Option<u32>, point: [f64; 3], axis: [f64; 3]) -> Self {
        Joint { kind: JointKind::Hinge, axis: Some(axis), ..Joint::ball(a, b, point) }
    }
}

/// The bodies that one worker begins with. Either no body is in a part or every body is in exactly one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Names or ids of the bodies.
    #[serde(deserialize_with = "counted::list")]
    pub bodies: Vec<BodyRef>,
}

/// Settings of the island solver, which `--sync overlap` and `--bridge auto` use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GroupSettings {
    /// Gauss-Seidel sweeps over all constraints in one tick.
    pub iterations: u32,
    /// Start the solver from the last tick's impulses.
    pub warm_start: bool,
    /// Share of an overlap that is removed per tick by moving bodies apart (0 to 1).
    pub correction: f64,
    /// Share of a gap in a joint that is closed per tick by moving bodies (0 to 1).
    pub closing: f64,
    /// How many joints or contacts deep workers share bodies beyond those where they meet.
    pub gamma: u32,
}

impl Default for GroupSettings {
    fn default() -> Self {
        GroupSettings { iterations: 20, warm_start: true, correction: 0.2, closing: 0.8, gamma: 0 }
    }
}

impl GroupSettings {
    pub(super) fn is_default(&self) -> bool {
        *self == GroupSettings::default()
    }
}
