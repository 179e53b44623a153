//! The GLB container: one JSON document and one buffer, with views and accessors into it. The caller
//! provides the rest of the document.

use std::io::Write;

use serde_json::{Map, Value, json};

use crate::export::ExportError;

/// Lengths in a GLB file are 32 bits wide.
pub(super) const GLB_BYTES_MAX: u64 = u32::MAX as u64;

const FLOAT: u32 = 5126;
const UNSIGNED_SHORT: u32 = 5123;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// The number of an accessor.
pub(super) type Accessor = usize;

/// A buffer under construction.
#[derive(Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    views: Vec<View>,
    accessors: Vec<Value>,
}

struct View {
    offset: usize,
    length: usize,
    target: Option<u32>,
}

impl Buffer {
    /// Adds vertex positions or normals.
    pub fn vertices(&mut self, vertices: &[[f32; 3]]) -> Accessor {
        self.start_view(Some(ARRAY_BUFFER));
        let accessor = self.floats(vertices);
        self.add_bounds(accessor, vertices);
        accessor
    }

    /// Adds the vertex indices of triangles.
    pub fn triangles(&mut self, triangles: &[[u32; 3]]) -> Accessor {
        self.start_view(Some(ELEMENT_ARRAY_BUFFER));
        let corners = triangles.as_flattened();
        // The largest short has a meaning of its own.
        let is_short = corners.iter().all(|corner| *corner < u32::from(u16::MAX));
        if is_short {
            self.bytes.extend(corners.iter().flat_map(|corner| (*corner as u16).to_le_bytes()));
        } else {
            self.bytes.extend(corners.iter().flat_map(|corner| corner.to_le_bytes()));
        }
        let component = if is_short { UNSIGNED_SHORT } else { UNSIGNED_INT };
        self.accessor(0, component, corners.len(), "SCALAR")
    }

    /// Starts the view of the animations with their times; [`Buffer::floats`] adds to it.
    pub fn times(&mut self, times: &[f32]) -> Accessor {
        self.start_view(None);
        let times = times.as_chunks::<1>().0;
        let accessor = self.floats(times);
        self.add_bounds(accessor, times);
        accessor
    }

    /// Adds vectors of `N` numbers to the view that was started last.
    pub fn floats<const N: usize>(&mut self, vectors: &[[f32; N]]) -> Accessor {
        let start = self.bytes.len() - self.views.last().map_or(0, |view| view.offset);
        self.bytes.extend(vectors.as_flattened().iter().flat_map(|number| number.to_le_bytes()));
        self.accessor(start, FLOAT, vectors.len(), ["", "SCALAR", "VEC2", "VEC3", "VEC4"][N])
    }

    /// Adds the bounds that glTF requires of positions and times.
    fn add_bounds<const N: usize>(&mut self, accessor: Accessor, vectors: &[[f32; N]]) {
        let bound = |pick: fn(f32, f32) -> f32| {
            let at = |n: usize| vectors.iter().map(|vector| vector[n]).reduce(pick).unwrap_or_default();
            std::array::from_fn::<f32, N, _>(at).to_vec()
        };
        self.accessors[accessor]["min"] = json!(bound(f32::min));
        self.accessors[accessor]["max"] = json!(bound(f32::max));
    }

    fn start_view(&mut self, target: Option<u32>) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.views.push(View { offset: self.bytes.len(), length: 0, target });
    }

    /// Describes what was added to the last view, from `start` to its end.
    fn accessor(&mut self, start: usize, component: u32, count: usize, kind: &str) -> Accessor {
        let number = self.views.len() - 1;
        let view = &mut self.views[number];
        view.length = self.bytes.len() - view.offset;
        let mut accessor =
            json!({ "bufferView": number, "componentType": component, "count": count, "type": kind });
        if start > 0 {
            accessor["byteOffset"] = json!(start);
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    /// Writes the file: `document` with this buffer.
    pub fn write(self, mut document: Map<String, Value>, mut out: impl Write) -> Result<(), ExportError> {
        let Buffer { mut bytes, views, accessors } = self;
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let views = views.into_iter().map(|view| {
            let mut json = json!({ "buffer": 0, "byteOffset": view.offset, "byteLength": view.length });
            if let Some(target) = view.target {
                json["target"] = json!(target);
            }
            json
        });
        if !bytes.is_empty() {
            document.insert("buffers".to_owned(), json!([{ "byteLength": bytes.len() }]));
        }
        insert_list(&mut document, "bufferViews", views.collect());
        insert_list(&mut document, "accessors", accessors);
        let mut text = serde_json::to_vec(&document).map_err(std::io::Error::from)?;
        text.resize(text.len().next_multiple_of(4), b' ');

        let total = 12 + 8 + text.len() as u64 + if bytes.is_empty() { 0 } else { 8 + bytes.len() as u64 };
        let total = u32::try_from(total).map_err(|_| ExportError::TooLarge { max: GLB_BYTES_MAX })?;
        out.write_all(b"glTF")?;
        out.write_all(&2u32.to_le_bytes())?;
        out.write_all(&total.to_le_bytes())?;
        write_chunk(&mut out, b"JSON", &text)?;
        if !bytes.is_empty() {
            write_chunk(&mut out, b"BIN\0", &bytes)?;
        }
        out.flush()?;
        Ok(())
    }
}

fn write_chunk(out: &mut impl Write, kind: &[u8; 4], bytes: &[u8]) -> std::io::Result<()> {
    out.write_all(&(bytes.len() as u32).to_le_bytes())?;
    out.write_all(kind)?;
    out.write_all(bytes)
}

/// Adds a list to a document, unless it is empty: glTF has no empty lists.
pub(super) fn insert_list(document: &mut Map<String, Value>, key: &str, list: Vec<Value>) {
    if !list.is_empty() {
        document.insert(key.to_owned(), Value::Array(list));
    }
}
