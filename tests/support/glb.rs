//! Reads GLB files back and checks that they keep the rules of glTF 2.0 that viewers rely on.

use serde_json::Value;

/// Times in seconds, values and interpolation of an animation channel.
pub type Channel<'a> = (Vec<f64>, Vec<Vec<f64>>, &'a str);

/// A GLB file, parsed.
pub struct Glb {
    /// The JSON chunk.
    pub json: Value,
    /// The binary chunk.
    bytes: Vec<u8>,
}

impl Glb {
    /// Parses a file and checks every rule below.
    pub fn checked(file: &[u8]) -> Glb {
        let glb = Glb::parse(file);
        glb.check_views_and_accessors();
        glb.check_meshes();
        glb.check_nodes();
        glb.check_animations();
        glb
    }

    fn parse(file: &[u8]) -> Glb {
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!((&file[..4], word(4), word(8)), (b"glTF".as_slice(), 2, file.len()));
        let json_length = word(12);
        assert_eq!((&file[16..20], json_length % 4), (b"JSON".as_slice(), 0));
        let json: Value = serde_json::from_slice(&file[20..20 + json_length]).unwrap();
        let at = 20 + json_length;
        let bytes = if at < file.len() {
            assert_eq!((&file[at + 4..at + 8], word(at) % 4), (b"BIN\0".as_slice(), 0));
            assert_eq!(at + 8 + word(at), file.len());
            file[at + 8..].to_vec()
        } else {
            Vec::new()
        };
        assert_eq!(json["asset"]["version"], "2.0");
        assert_eq!(json["asset"]["generator"], "anachron");
        Glb { json, bytes }
    }

    /// A top-level list; empty if it is missing.
    pub fn list(&self, key: &str) -> &[Value] {
        let list = self.json.get(key).map(|list| list.as_array().expect(key).as_slice());
        assert_ne!(list.map(<[_]>::len), Some(0), "{key}: glTF has no empty lists");
        list.unwrap_or_default()
    }

    /// The node with this name, and its index.
    pub fn node(&self, name: &str) -> (usize, &Value) {
        let named = self.list("nodes").iter().enumerate().find(|(_, node)| node["name"] == name);
        named.unwrap_or_else(|| panic!("no node {name}"))
    }

    /// The numbers behind an accessor, one list per element.
    pub fn read(&self, accessor: &Value) -> Vec<Vec<f64>> {
        let accessor = &self.list("accessors")[number(accessor)];
        let view = &self.list("bufferViews")[number(&accessor["bufferView"])];
        let (width, size) = (width(accessor), component_size(accessor));
        let start = number(&view["byteOffset"]) + accessor.get("byteOffset").map_or(0, number);
        let bytes = &self.bytes[start..start + number(&accessor["count"]) * width * size];
        let component = |bytes: &[u8]| match size {
            2 => f64::from(u16::from_le_bytes(bytes.try_into().unwrap())),
            _ if accessor["componentType"] == 5126 => {
                f64::from(f32::from_le_bytes(bytes.try_into().unwrap()))
            }
            _ => f64::from(u32::from_le_bytes(bytes.try_into().unwrap())),
        };
        bytes.chunks(width * size).map(|element| element.chunks(size).map(component).collect()).collect()
    }

    fn check_views_and_accessors(&self) {
        if let [buffer] = self.list("buffers") {
            assert_eq!(number(&buffer["byteLength"]), self.bytes.len());
        }
        let mut end = 0;
        for view in self.list("bufferViews") {
            let offset = number(&view["byteOffset"]);
            assert!(offset >= end && offset.is_multiple_of(4), "views overlap or are not aligned");
            end = offset + number(&view["byteLength"]);
        }
        assert!(end <= self.bytes.len());
        for (at, accessor) in self.list("accessors").iter().enumerate() {
            let view = &self.list("bufferViews")[number(&accessor["bufferView"])];
            let offset = accessor.get("byteOffset").map_or(0, number);
            let count = number(&accessor["count"]);
            let size = component_size(accessor);
            assert!(count > 0 && offset % size == 0);
            assert!(offset + count * width(accessor) * size <= number(&view["byteLength"]));
            let numbers = self.read(&Value::from(at));
            assert!(numbers.iter().flatten().all(|n| n.is_finite()));
            for (key, pick) in [("min", f64::min as fn(f64, f64) -> f64), ("max", f64::max)] {
                let Some(bounds) = accessor.get(key) else { continue };
                let bounds = floats(bounds);
                for (n, bound) in bounds.iter().enumerate() {
                    let true_bound = numbers.iter().map(|element| element[n]).reduce(pick).unwrap();
                    assert_eq!(*bound, true_bound, "{key} of accessor {at}");
                }
            }
        }
    }

    fn check_meshes(&self) {
        for mesh in self.list("meshes") {
            for part in mesh["primitives"].as_array().unwrap() {
                let positions = self.read(&part["attributes"]["POSITION"]);
                let normals = self.read(&part["attributes"]["NORMAL"]);
                assert!(self.list("accessors")[number(&part["attributes"]["POSITION"])].get("min").is_some());
                assert_eq!(positions.len(), normals.len());
                assert!(normals.iter().all(|normal| (length(normal) - 1.0).abs() < 1e-5));
                let corners = self.read(&part["indices"]);
                assert!(corners.len().is_multiple_of(3));
                assert!(corners.iter().all(|corner| corner[0] < positions.len() as f64));
                assert!(number(&part["material"]) < self.list("materials").len());
            }
        }
        for material in self.list("materials") {
            let color = floats(&material["pbrMetallicRoughness"]["baseColorFactor"]);
            assert!(color.len() == 4 && color.iter().all(|n| (0.0..=1.0).contains(n)));
        }
    }

    fn check_nodes(&self) {
        for node in self.list("nodes") {
            assert!((length(&floats(&node["rotation"])) - 1.0).abs() < 1e-5);
            assert!(node.get("mesh").is_none_or(|mesh| number(mesh) < self.list("meshes").len()));
        }
        let shown = self.json["scenes"][0].get("nodes").map_or(0, |nodes| nodes.as_array().unwrap().len());
        assert_eq!(shown, self.list("nodes").len());
    }

    fn check_animations(&self) {
        for animation in self.list("animations") {
            let mut targets = std::collections::BTreeSet::new();
            for channel in animation["channels"].as_array().unwrap() {
                let target = &channel["target"];
                let path = target["path"].as_str().unwrap();
                assert!(number(&target["node"]) < self.list("nodes").len());
                assert!(targets.insert((number(&target["node"]), path)), "two channels for one target");
                let sampler = &animation["samplers"][number(&channel["sampler"])];
                let (times, values) = (self.read(&sampler["input"]), self.read(&sampler["output"]));
                assert_eq!((times.len(), times[0][0]), (values.len(), 0.0));
                assert!(times.is_sorted_by(|a, b| a[0] < b[0]), "times must increase");
                assert!(self.list("accessors")[number(&sampler["input"])].get("max").is_some());
                if path == "rotation" {
                    assert!(values.iter().all(|q| (length(q) - 1.0).abs() < 1e-6));
                    let dot =
                        |pair: &[Vec<f64>]| pair[0].iter().zip(&pair[1]).map(|(a, b)| a * b).sum::<f64>();
                    assert!(
                        values.windows(2).all(|pair| dot(pair) >= 0.0),
                        "successive rotations take the long arc"
                    );
                }
            }
        }
    }

    /// The channel that animates a property of a node; `None` if it does not move.
    pub fn channel(&self, node: &str, path: &str) -> Option<Channel<'_>> {
        let (node, _) = self.node(node);
        let animation = self.list("animations").first()?;
        let matches = |target: &Value| target["node"] == node && target["path"] == path;
        let channel = animation["channels"].as_array().unwrap().iter().find(|c| matches(&c["target"]))?;
        let sampler = &animation["samplers"][number(&channel["sampler"])];
        let times = self.read(&sampler["input"]).concat();
        Some((times, self.read(&sampler["output"]), sampler["interpolation"].as_str().unwrap()))
    }

    /// Signed volume of a node's mesh at its scale; positive if its triangles face outwards.
    pub fn volume(&self, node: &str) -> f64 {
        let node = self.node(node).1;
        let scale = floats(&node["scale"]);
        let part = &self.list("meshes")[number(&node["mesh"])]["primitives"][0];
        let positions = self.read(&part["attributes"]["POSITION"]);
        let corners = self.read(&part["indices"]).concat();
        let at = |corner: f64| [0, 1, 2].map(|n| positions[corner as usize][n] * scale[n]);
        let triple = |triangle: &[f64]| {
            let [a, b, c] = [at(triangle[0]), at(triangle[1]), at(triangle[2])];
            let cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]];
            a.iter().zip(cross).map(|(a, c)| a * c).sum::<f64>()
        };
        corners.chunks(3).map(triple).sum::<f64>() / 6.0
    }
}

pub fn number(value: &Value) -> usize {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no index")) as usize
}

pub fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|n| n * n).sum::<f64>().sqrt()
}

fn width(accessor: &Value) -> usize {
    ["SCALAR", "VEC2", "VEC3", "VEC4"].iter().position(|kind| accessor["type"] == *kind).unwrap() + 1
}

fn component_size(accessor: &Value) -> usize {
    if accessor["componentType"] == 5123 { 2 } else { 4 }
}
