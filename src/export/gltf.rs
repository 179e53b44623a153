//! Frames as one animated glTF 2.0 file (`.glb`), as Blender and web viewers open it.
//!
//! Every body is a node with a mesh; where it moves, translation and rotation are animated from frame to
//! frame. Bodies of like form share a mesh and differ by their node's scale. Numbers are rounded to single
//! precision, so this is for looking, not for measuring. A body that turns more than half a turn between two
//! frames seems to turn the other way.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Map, Value, json};

use crate::base::aabb::Aabb;
use crate::base::color::Rgb;
use crate::base::frame::Frame;
use crate::base::math::{Quat, Vec3};
use crate::export::ExportError;
use crate::export::glb::{Accessor, Buffer, GLB_BYTES_MAX, insert_list};
use crate::export::mesh::Form;
use crate::export::models::{BodyModel, Models, StaticModel};
use crate::export::motion::{Motion, Track};
use crate::physics::Shape;
use crate::record::RecordError;
use crate::scene::Scene;

/// Settings of a glTF export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GltfOptions {
    /// Keep one of this many frames, and the last; 1 keeps all.
    pub every: usize,
}

impl Default for GltfOptions {
    fn default() -> Self {
        GltfOptions { every: 1 }
    }
}

/// Writes the frames of a scene as one animated glTF file.
pub fn write(
    scene: &Scene,
    frames: impl IntoIterator<Item = Result<Frame, RecordError>>,
    options: GltfOptions,
    out: impl Write,
) -> Result<(), ExportError> {
    write_models(&Models::of(scene)?, frames, options, out)
}

/// The same with models that need not come from a scene.
pub(crate) fn write_models(
    models: &Models,
    frames: impl IntoIterator<Item = Result<Frame, RecordError>>,
    options: GltfOptions,
    out: impl Write,
) -> Result<(), ExportError> {
    let motion = Motion::collect(models, frames, options.every, GLB_BYTES_MAX)?;
    let mut document = Document::default();
    let view = view_bounds(models, motion.bounds);
    for object in &models.statics {
        document.add_static(object, &view);
    }
    // All meshes come before all motion, so that the buffer has one part for each.
    let nodes: Vec<Node> = models
        .bodies
        .iter()
        .zip(motion.tracks)
        .filter(|(_, track)| track.exists.contains(&true))
        .map(|(model, track)| document.add_body(model, track))
        .collect();
    document.animate(&motion.times, nodes);
    document.write(&models.title, out)
}

/// Bounds of everything that is shown: the bodies on their paths, and static objects of finite size.
fn view_bounds(models: &Models, bodies: Option<Aabb>) -> Aabb {
    let finite = models.statics.iter().filter(|object| object.shape.bounding_radius().is_finite());
    let statics = finite.map(|object| object.shape.aabb(object.x, &object.q));
    let all = statics.chain(bodies).reduce(|all, one| all.union(&one));
    all.unwrap_or(Aabb::about(Vec3::zeros(), Vec3::repeat(1.0)))
}

/// A body's node and how it moves.
struct Node {
    number: usize,
    scale: [f32; 3],
    track: Track,
}

/// A glTF document under construction.
#[derive(Default)]
struct Document {
    buffer: Buffer,
    nodes: Vec<Value>,
    meshes: Vec<Value>,
    materials: Vec<Value>,
    channels: Vec<Value>,
    samplers: Vec<Value>,
    /// Position, normal and corner accessors of each form; nothing if it has no triangles.
    geometry_of: BTreeMap<Form, Option<[Accessor; 3]>>,
    /// Materials by colour, and whether both sides are seen.
    material_of: BTreeMap<(Rgb, bool), usize>,
    /// Meshes by position accessor and material.
    mesh_of: BTreeMap<(Accessor, usize), usize>,
}

impl Document {
    fn add_static(&mut self, object: &StaticModel, view: &Aabb) {
        let (form, scale) = Form::of(&object.shape);
        let (x, q, scale) = match &object.shape {
            Shape::HalfSpace(plane) => plane_pose(object.x, object.q * plane.normal, view),
            _ => (object.x, object.q, scale),
        };
        let rotation = [q.i, q.j, q.k, q.w].map(|n| n as f32);
        // A surface of triangles need not be closed, so its back can be seen.
        let mesh = self.mesh(form, object.color, matches!(object.shape, Shape::Mesh(_)));
        self.add_node(&object.name, mesh, single(x), rotation, single(scale));
    }

    fn add_body(&mut self, model: &BodyModel, track: Track) -> Node {
        let (form, scale) = Form::of(&model.shape);
        let mesh = self.mesh(form, model.color, false);
        let scale = single(scale);
        let shown = if track.exists[0] { scale } else { [0.0; 3] };
        let number = self.add_node(&model.name, mesh, track.translations[0], track.rotations[0], shown);
        Node { number, scale, track }
    }

    fn add_node(
        &mut self,
        name: &str,
        mesh: Option<usize>,
        x: [f32; 3],
        q: [f32; 4],
        scale: [f32; 3],
    ) -> usize {
        let mut node = json!({ "name": name, "translation": x, "rotation": q, "scale": scale });
        if let Some(mesh) = mesh {
            node["mesh"] = json!(mesh);
        }
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The mesh of a form in a colour, shared by all objects that have both; nothing if the form has no triangles.
    fn mesh(&mut self, form: Form, color: Rgb, both_sides: bool) -> Option<usize> {
        let name = form.name();
        let [positions, normals, corners] = self.geometry(form)?;
        let material = self.material(color, both_sides);
        let meshes = &mut self.meshes;
        Some(*self.mesh_of.entry((positions, material)).or_insert_with(|| {
            let attributes = json!({ "POSITION": positions, "NORMAL": normals });
            let part = json!({ "attributes": attributes, "indices": corners, "material": material });
            meshes.push(json!({ "name": name, "primitives": [part] }));
            meshes.len() - 1
        }))
    }

    fn geometry(&mut self, form: Form) -> Option<[Accessor; 3]> {
        let buffer = &mut self.buffer;
        *self.geometry_of.entry(form).or_insert_with_key(|form| {
            let mesh = form.mesh();
            let [positions, normals] = [&mesh.positions, &mesh.normals];
            (!mesh.triangles.is_empty()).then(|| {
                [buffer.vertices(positions), buffer.vertices(normals), buffer.triangles(&mesh.triangles)]
            })
        })
    }

    fn material(&mut self, color: Rgb, both_sides: bool) -> usize {
        let materials = &mut self.materials;
        *self.material_of.entry((color, both_sides)).or_insert_with(|| {
            let [r, g, b] = color.map(linear);
            let surface =
                json!({ "baseColorFactor": [r, g, b, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.6 });
            let name = format!("#{:02x}{:02x}{:02x}", color[0], color[1], color[2]);
            let mut material = json!({ "name": name, "pbrMetallicRoughness": surface });
            if both_sides {
                material["doubleSided"] = json!(true);
            }
            materials.push(material);
            materials.len() - 1
        })
    }

    /// Adds the motion of all bodies that move, on one time line.
    fn animate(&mut self, times: &[f32], nodes: Vec<Node>) {
        let is_still = |node: &Node| {
            let track = &node.track;
            is_constant(&track.translations) && is_constant(&track.rotations) && is_constant(&track.exists)
        };
        if nodes.iter().all(is_still) {
            return;
        }
        let times = self.buffer.times(times);
        for Node { number, scale, track } in nodes {
            if !is_constant(&track.translations) {
                let output = self.buffer.floats(&track.translations);
                self.add_channel(number, "translation", "LINEAR", times, output);
            }
            if !is_constant(&track.rotations) {
                let output = self.buffer.floats(&track.rotations);
                self.add_channel(number, "rotation", "LINEAR", times, output);
            }
            if !is_constant(&track.exists) {
                let scales: Vec<_> =
                    track.exists.iter().map(|exists| if *exists { scale } else { [0.0; 3] }).collect();
                let output = self.buffer.floats(&scales);
                self.add_channel(number, "scale", "STEP", times, output);
            }
        }
    }

    fn add_channel(
        &mut self,
        node: usize,
        path: &str,
        interpolation: &str,
        input: Accessor,
        output: Accessor,
    ) {
        let target = json!({ "node": node, "path": path });
        self.channels.push(json!({ "sampler": self.samplers.len(), "target": target }));
        self.samplers.push(json!({ "input": input, "output": output, "interpolation": interpolation }));
    }

    fn write(self, title: &str, out: impl Write) -> Result<(), ExportError> {
        let mut scene = Map::new();
        scene.insert("name".to_owned(), json!(title));
        insert_list(&mut scene, "nodes", (0..self.nodes.len()).map(Value::from).collect());
        let mut document = Map::new();
        document.insert("asset".to_owned(), json!({ "version": "2.0", "generator": "anachron" }));
        document.insert("scene".to_owned(), json!(0));
        document.insert("scenes".to_owned(), json!([scene]));
        if !self.channels.is_empty() {
            let animation = json!({ "name": title, "channels": self.channels, "samplers": self.samplers });
            document.insert("animations".to_owned(), json!([animation]));
        }
        insert_list(&mut document, "nodes", self.nodes);
        insert_list(&mut document, "meshes", self.meshes);
        insert_list(&mut document, "materials", self.materials);
        self.buffer.write(document, out)
    }
}

/// Position, rotation from +Y and half size of the part of a plane that is shown.
fn plane_pose(point: Vec3, normal: Vec3, view: &Aabb) -> (Vec3, Quat, Vec3) {
    let centre = (view.min + view.max) * 0.5;
    let reach = ((view.max - view.min).norm() * 0.75).max(1.0);
    let x = centre - normal * normal.dot(&(centre - point));
    let turn = Quat::rotation_between(&Vec3::y(), &normal);
    // Upside down there are many rotations; any will do.
    let half_turn = Quat::from_axis_angle(&Vec3::x_axis(), std::f64::consts::PI);
    (x, turn.unwrap_or(half_turn), Vec3::new(reach, 1.0, reach))
}

fn is_constant<T: PartialEq>(list: &[T]) -> bool {
    list.windows(2).all(|pair| pair[0] == pair[1])
}

fn single(v: Vec3) -> [f32; 3] {
    [v.x as f32, v.y as f32, v.z as f32]
}

/// Converts sRGB colours, which screens use, to linear ones, which glTF uses.
fn linear(channel: u8) -> f64 {
    let share = f64::from(channel) / 255.0;
    if share <= 0.04045 { share / 12.92 } else { libm::pow((share + 0.055) / 1.055, 2.4) }
}
