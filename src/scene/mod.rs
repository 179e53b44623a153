//! The scene description: everything that decides the result of a run, and nothing else.
//!
//! These are plain serde types with a TOML and a JSON form. [`Scene::validate`] checks them and
//! names the exact field and what would be right; [`crate::Simulation::new`] compiles them; [`load`] reads files.

mod check_joint;
mod check_shape;
pub mod colors;
pub(crate) mod counted;
mod defaults;
mod explain;
mod joint;
mod load;
mod obj;
mod overlong;
mod set;
pub(crate) mod suggest;
mod toml_size;
mod validate;
mod write;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::time::{Tick, TimeBase};
pub(crate) use check_joint::{NameTable, Resolved};
pub use joint::{BodyRef, GroupSettings, Joint, JointKind, Part};
pub use load::{MeshRoot, SceneFormat, load, load_within, parse, read};
pub(crate) use validate::OBJECTS_MAX;
pub use validate::{SceneError, Warning};

/// The largest mesh that is accepted, and the sum over all meshes read from files.
const MESH_TRIANGLES_MAX: usize = 10_000_000;
const MESH_VERTICES_MAX: usize = 10_000_000;

/// A whole scene: bodies, static geometry, materials, and how time and contacts are treated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// What the scene is called in summaries and recordings.
    #[serde(default = "defaults::name")]
    pub name: String,
    /// How long to simulate, in seconds.
    #[serde(default = "defaults::seconds")]
    pub seconds: f64,
    /// Ticks per simulated second; the tick length is its reciprocal.
    #[serde(default = "defaults::ticks_per_second")]
    pub ticks_per_second: f64,
    /// Ticks from one frame to the next.
    #[serde(default = "defaults::ticks_per_frame")]
    pub ticks_per_frame: u32,
    /// Gravitational acceleration, m/s². +Y is up.
    #[serde(default = "defaults::gravity")]
    pub gravity: [f64; 3],
    /// The seed a generated scene was made with; kept so that a scene can be made again.
    #[serde(default = "defaults::seed")]
    pub seed: u64,
    /// Settings of the local solver.
    #[serde(default)]
    pub response: ResponseSettings,
    /// Materials by name. `default` always exists and may be redefined here.
    #[serde(default, deserialize_with = "counted::map")]
    pub materials: BTreeMap<String, Material>,
    /// Geometry that never moves. `[[static]]` in TOML.
    #[serde(default, rename = "static", deserialize_with = "counted::list")]
    pub statics: Vec<StaticObject>,
    /// The bodies that move. `[[body]]` in TOML.
    #[serde(default, rename = "body", deserialize_with = "counted::list")]
    pub bodies: Vec<Body>,
    /// Joints between bodies. `[[joint]]` in TOML. Only `--sync overlap` can simulate joints.
    #[serde(
        default,
        rename = "joint",
        deserialize_with = "counted::list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub joints: Vec<Joint>,
    /// Bodies that each worker of `--sync overlap` starts with. `[[part]]` in TOML; if empty, bodies are partitioned.
    #[serde(
        default,
        rename = "part",
        deserialize_with = "counted::list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub parts: Vec<Part>,
    /// Settings of the island solver of `--sync overlap` and `--bridge auto`.
    #[serde(default, skip_serializing_if = "GroupSettings::is_default")]
    pub group: GroupSettings,
}

/// Settings of the local solver; `docs/physics.md` has the rules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResponseSettings {
    /// Jacobi iterations over resting contacts in one tick. Piles of more than ten layers need more.
    pub iterations: u32,
    /// Rounds of mutual-best matching over impacts in one tick.
    pub rounds: u32,
    /// Start the solver from the last tick's impulses.
    pub warm_start: bool,
    /// Share of an overlap that is removed per tick by moving bodies apart (0 to 1).
    pub correction: f64,
}

/// What a body is made of. At a contact, two materials combine by the geometric mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Material {
    /// Density, kg/m³.
    pub density: f64,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Coefficient of restitution, 0 (clay) to 1 (ideally elastic).
    pub restitution: f64,
    /// Colour in pictures and exports, as `#rrggbb`. Without one, bodies are coloured by id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
}

/// A shape in its own coordinates. Written as `shape = { sphere = { radius = 0.5 } }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// A ball.
    Sphere {
        /// Radius, metres.
        radius: f64,
    },
    /// A cuboid.
    Box {
        /// Half the edge lengths, metres.
        half_extents: [f64; 3],
    },
    /// A cylinder with half-balls on its ends, along local Y.
    Capsule {
        /// Radius, metres.
        radius: f64,
        /// Half the length of the straight part, metres.
        half_height: f64,
    },
    /// A cylinder along local Y.
    Cylinder {
        /// Radius, metres.
        radius: f64,
        /// Half its length, metres.
        half_height: f64,
    },
    /// A ring about local Y: a bent tube with a hole in the middle.
    Ring {
        /// From the centre to the middle of the tube, metres.
        radius: f64,
        /// Radius of the tube, metres; smaller than `radius`.
        tube: f64,
    },
    /// The convex hull of some points. The body's position is where the points' origin is at the start;
    /// frames report the centre of mass.
    Hull {
        /// At least four points that do not lie in one plane, metres.
        #[serde(deserialize_with = "counted::list")]
        points: Vec<[f64; 3]>,
    },
    /// Everything on the far side of a plane through the position. Static only.
    HalfSpace {
        /// Unit vector that points out of the solid.
        normal: [f64; 3],
    },
    /// A triangle mesh, from an OBJ file beside the scene or written in place. Static only.
    Mesh {
        /// OBJ file, relative to the scene file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Vertices, metres, if there is no file.
        #[serde(default, deserialize_with = "counted::list", skip_serializing_if = "Vec::is_empty")]
        vertices: Vec<[f64; 3]>,
        /// Triangles as indices into the vertices, counter-clockwise seen from outside.
        #[serde(default, deserialize_with = "counted::list", skip_serializing_if = "Vec::is_empty")]
        triangles: Vec<[u32; 3]>,
    },
}

/// Geometry that never moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticObject {
    /// Id, which decides the order of sums; the index in the list if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// A name, unique among bodies and static objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Shape in local coordinates.
    pub shape: Shape,
    /// Position in world coordinates, metres.
    #[serde(default)]
    pub position: [f64; 3],
    /// Orientation: a unit quaternion (x, y, z, w).
    #[serde(default = "defaults::orientation", skip_serializing_if = "defaults::is_identity")]
    pub orientation: [f64; 4],
    /// Name of its material.
    #[serde(default = "defaults::material", skip_serializing_if = "defaults::is_default_material")]
    pub material: String,
}

/// A body that moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// Id, which decides the order of sums; the index in the list if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// A name, unique among bodies and static objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Shape in local coordinates.
    pub shape: Shape,
    /// Position in world coordinates, metres.
    #[serde(default)]
    pub position: [f64; 3],
    /// Orientation: a unit quaternion (x, y, z, w).
    #[serde(default = "defaults::orientation", skip_serializing_if = "defaults::is_identity")]
    pub orientation: [f64; 4],
    /// Velocity of the centre of mass, m/s.
    #[serde(default, skip_serializing_if = "defaults::is_zero")]
    pub velocity: [f64; 3],
    /// Angular velocity in world coordinates, rad/s.
    #[serde(default, skip_serializing_if = "defaults::is_zero")]
    pub angular_velocity: [f64; 3],
    /// Name of its material.
    #[serde(default = "defaults::material", skip_serializing_if = "defaults::is_default_material")]
    pub material: String,
}

impl Scene {
    /// How the scene's ticks relate to seconds and frames.
    pub fn time_base(&self) -> TimeBase {
        TimeBase {
            tick_s: 1.0 / self.ticks_per_second,
            ticks_per_frame: self.ticks_per_frame,
            last_tick: (self.seconds * self.ticks_per_second).round() as Tick,
        }
    }

    /// The same settings and materials, with nothing in it; nothing else is copied.
    pub(crate) fn without_objects(&self) -> Scene {
        Scene {
            name: self.name.clone(),
            seconds: self.seconds,
            ticks_per_second: self.ticks_per_second,
            ticks_per_frame: self.ticks_per_frame,
            gravity: self.gravity,
            seed: self.seed,
            response: self.response,
            materials: self.materials.clone(),
            statics: Vec::new(),
            bodies: Vec::new(),
            joints: Vec::new(),
            parts: Vec::new(),
            group: self.group,
        }
    }

    /// The id of the body at `index` of the list.
    pub fn body_id(&self, index: usize) -> crate::base::ids::BodyId {
        crate::base::ids::BodyId(self.bodies[index].id.unwrap_or(index as u32))
    }

    /// The id of the static object at `index` of the list.
    pub fn static_id(&self, index: usize) -> crate::base::ids::StaticId {
        crate::base::ids::StaticId(self.statics[index].id.unwrap_or(index as u32))
    }

    /// A material by name; the built-in default if the scene does not redefine it.
    pub fn material(&self, name: &str) -> Option<Material> {
        self.materials.get(name).cloned().or_else(|| (name == "default").then(Material::default))
    }
}

impl Body {
    /// A body of a shape at a position, at rest, of the default material.
    pub fn new(shape: Shape, position: [f64; 3]) -> Self {
        Body {
            id: None,
            name: None,
            shape,
            position,
            orientation: defaults::orientation(),
            velocity: [0.0; 3],
            angular_velocity: [0.0; 3],
            material: defaults::material(),
        }
    }

    /// The same body with a velocity.
    pub fn moving(mut self, velocity: [f64; 3]) -> Self {
        self.velocity = velocity;
        self
    }

    /// The same body of another material.
    pub fn of(mut self, material: &str) -> Self {
        self.material = material.to_owned();
        self
    }
}

impl StaticObject {
    /// Static geometry of a shape at a position, of the default material.
    pub fn new(shape: Shape, position: [f64; 3]) -> Self {
        StaticObject {
            id: None,
            name: None,
            shape,
            position,
            orientation: defaults::orientation(),
            material: defaults::material(),
        }
    }

    /// The same object of another material.
    pub fn of(mut self, material: &str) -> Self {
        self.material = material.to_owned();
        self
    }
}
