//! Reads scenes from TOML and JSON text and files. Reports where a text is wrong; [`Scene::validate`] checks its
//! numbers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use crate::scene::counted::limited;
use crate::scene::explain::{explain, hint};
use crate::scene::obj::{ObjMesh, read_obj};
use crate::scene::overlong::overlong_in;
use crate::scene::suggest::excerpt;
use crate::scene::toml_size::check_keys;
use crate::scene::{MESH_TRIANGLES_MAX, MESH_VERTICES_MAX, Scene, SceneError, Shape};

/// Longer TOML texts are rejected: reading them takes some forty times their size in memory, and up to 130 times.
const TOML_BYTES_MAX: u64 = 16 << 20;
/// Longer JSON texts are rejected.
const JSON_BYTES_MAX: u64 = 256 << 20;
/// Larger mesh files are rejected.
const OBJ_BYTES_MAX: u64 = 256 << 20;

/// The two written forms of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceneFormat {
    /// TOML, made to be written by hand. At most 16 MiB.
    Toml,
    /// JSON, made to be written by programs. At most 256 MiB.
    Json,
}

impl SceneFormat {
    /// The largest text that is accepted, bytes.
    pub fn bytes_max(self) -> u64 {
        match self {
            SceneFormat::Toml => TOML_BYTES_MAX,
            SceneFormat::Json => JSON_BYTES_MAX,
        }
    }
}

/// Where the mesh files that a scene names may be. Links are followed before this is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeshRoot<'a> {
    /// In the folder of the scene file, or below it.
    #[default]
    SceneFolder,
    /// In this folder, or below it.
    Folder(&'a Path),
    /// Anywhere. Only for scenes that are trusted.
    Anywhere,
}

/// Reads a scene from text. Meshes in files are not resolved, and nothing is validated.
pub fn parse(text: &str, format: SceneFormat) -> Result<Scene, SceneError> {
    if text.len() as u64 > format.bytes_max() {
        return Err(too_large("scene".to_owned(), format.bytes_max()));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    limited(|| match format {
        SceneFormat::Toml => parse_toml(text),
        SceneFormat::Json => parse_json(text),
    })
}

/// Reads a scene file (`.toml` or `.json`) and the mesh files it names, which must be in its folder or below; validates
/// the result.
pub fn load(path: &Path) -> Result<Scene, SceneError> {
    load_within(path, MeshRoot::SceneFolder)
}

/// Like [`load`], with mesh files from elsewhere. Their names are relative to the scene's folder all the same.
pub fn load_within(path: &Path, root: MeshRoot) -> Result<Scene, SceneError> {
    let shown = excerpt(&path.display().to_string());
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let format = match extension.as_deref() {
        Some("toml") => SceneFormat::Toml,
        Some("json") => SceneFormat::Json,
        _ => return Err(SceneError::new(shown, "is not a scene file", "name it `.toml` or `.json`")),
    };
    let bytes = read_limited(path, format.bytes_max())
        .map_err(|reason| reason.about(shown.clone(), "check the name of the scene file"))?;
    scene_of(bytes, format, &shown, path.parent().unwrap_or(Path::new("")), root)
}

/// Reads a scene from a stream, and the mesh files it names, as if it were a file in `folder`; validates the result. A text
/// that begins with a brace is JSON, any other TOML.
pub fn read(input: impl Read, folder: &Path, root: MeshRoot) -> Result<Scene, SceneError> {
    const SHOWN: &str = "scene";
    let bytes = read_at_most(input, JSON_BYTES_MAX)
        .map_err(|reason| reason.about(SHOWN.to_owned(), "write a scene into the pipe"))?;
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let format = if first == Some(&b'{') { SceneFormat::Json } else { SceneFormat::Toml };
    scene_of(bytes, format, SHOWN, folder, root)
}

fn scene_of(
    bytes: Vec<u8>,
    format: SceneFormat,
    shown: &str,
    folder: &Path,
    root: MeshRoot,
) -> Result<Scene, SceneError> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        SceneError::new(shown, format!("is not UTF-8 text (byte {offset})"), "save it as UTF-8")
    })?;
    let mut scene = parse(&text, format)?;
    read_meshes(&mut scene, folder, root)?;
    scene.validate()?;
    Ok(scene)
}

fn parse_toml(text: &str) -> Result<Scene, SceneError> {
    check_keys(text)?;
    let line_at = |offset: usize| 1 + text.bytes().take(offset).filter(|b| *b == b'\n').count();
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or("scene".to_owned(), |span| format!("line {}", line_at(span.start)));
        SceneError::new(line, format!("is not TOML: {}", excerpt(error.message())), "correct the line")
    })?;
    if let Some(found) = overlong_in(table.get_ref()) {
        let line = line_at(found.offset);
        let problem = format!("has {} elements where {} belong (line {line})", found.len, found.len_max);
        return Err(SceneError::new(found.path(), problem, hint(&found.field)));
    }
    serde_path_to_error::deserialize(toml::Deserializer::from(table)).map_err(|error| {
        let line = error.inner().span().map(|span| line_at(span.start));
        explain(error.path(), error.inner().message(), line)
    })
}

fn parse_json(text: &str) -> Result<Scene, SceneError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let scene = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        // The reader calls some wrong values syntax errors; the text decides.
        match serde_json::from_str::<serde::de::IgnoredAny>(text) {
            Err(syntax) => not_json(&syntax),
            Ok(_) => explain(error.path(), &json_message(error.inner()), Some(error.inner().line())),
        }
    })?;
    reader.end().map_err(|error| not_json(&error))?;
    Ok(scene)
}

fn not_json(error: &serde_json::Error) -> SceneError {
    let problem = format!("is not JSON: {}", excerpt(&json_message(error)));
    SceneError::new(
        format!("line {}", error.line()),
        problem,
        format!("correct it at column {}", error.column()),
    )
}

/// The message without line and column, which are reported separately.
fn json_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&position).unwrap_or(&message) {
        "trailing characters" => "has too many elements".to_owned(),
        "expected value" => "is something else than expected".to_owned(),
        other => other.to_owned(),
    }
}

/// Reads every mesh that a static object names as a file, and replaces the name by its triangles.
fn read_meshes(scene: &mut Scene, folder: &Path, root: MeshRoot) -> Result<(), SceneError> {
    // One file may be used by many objects: it is read once, and the sum of what it becomes is limited.
    let mut read: BTreeMap<PathBuf, ObjMesh> = BTreeMap::new();
    let (mut vertices_left, mut triangles_left) = (MESH_VERTICES_MAX, MESH_TRIANGLES_MAX);
    for (index, object) in scene.statics.iter_mut().enumerate() {
        let Shape::Mesh { file, vertices, triangles } = &mut object.shape else { continue };
        if !vertices.is_empty() || !triangles.is_empty() {
            continue;
        }
        let Some(name) = file.as_deref() else { continue };
        let field = format!("static[{index}].shape.mesh.file");
        let path = folder.join(name);
        if !read.contains_key(&path) {
            read.insert(path.clone(), read_mesh(&path, &field, root.folder(folder))?);
        }
        let mesh = &read[&path];
        let fits = mesh.vertices.len() <= vertices_left && mesh.triangles.len() <= triangles_left;
        if !fits {
            let problem = format!(
                "the meshes of the scene have more than {MESH_VERTICES_MAX} vertices or {MESH_TRIANGLES_MAX} triangles"
            );
            return Err(SceneError::new(field, problem, "use smaller or fewer meshes"));
        }
        vertices_left -= mesh.vertices.len();
        triangles_left -= mesh.triangles.len();
        vertices.clone_from(&mesh.vertices);
        triangles.clone_from(&mesh.triangles);
        *file = None;
    }
    Ok(())
}

impl<'a> MeshRoot<'a> {
    /// The folder that mesh files must be in, if any.
    fn folder(self, scene_folder: &'a Path) -> Option<&'a Path> {
        let folder = match self {
            MeshRoot::SceneFolder => scene_folder,
            MeshRoot::Folder(folder) => folder,
            MeshRoot::Anywhere => return None,
        };
        Some(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
    }
}

/// Whether a file is in a folder or below it, links followed.
fn is_within(path: &Path, folder: &Path) -> Result<bool, Unreadable> {
    let [file, folder] = [path, folder].map(|path| path.canonicalize().map_err(Unreadable::Io));
    Ok(file?.starts_with(folder?))
}

fn read_mesh(path: &Path, field: &str, root: Option<&Path>) -> Result<ObjMesh, SceneError> {
    let shown = excerpt(&path.display().to_string());
    let unreadable = |reason: Unreadable| {
        let mut error = reason.about(field.to_owned(), "name an OBJ file relative to the scene file");
        error.problem = format!("{shown} {}", error.problem);
        error
    };
    if let Some(folder) = root
        && !is_within(path, folder).map_err(unreadable)?
    {
        let problem = format!("{shown} is outside the folder of the scene");
        let fix =
            "move it there, or give `--allow-paths` (library: `MeshRoot::Anywhere`) if the scene is trusted";
        return Err(SceneError::new(field, problem, fix));
    }
    let bytes = read_limited(path, OBJ_BYTES_MAX).map_err(unreadable)?;
    // Only numbers matter; comments in an old encoding do no harm.
    let text = String::from_utf8_lossy(&bytes);
    read_obj(&text).map_err(|error| {
        SceneError::new(field, format!("{shown} line {}: {}", error.line, error.problem), error.fix)
    })
}

/// Why a file could not be read.
enum Unreadable {
    Io(std::io::Error),
    NotAFile,
    TooLarge(u64),
}

impl Unreadable {
    fn about(self, field: String, fix: &str) -> SceneError {
        match self {
            Unreadable::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {
                SceneError::new(field, "does not exist", fix)
            }
            Unreadable::Io(error) => SceneError::new(field, format!("cannot be read: {error}"), fix),
            Unreadable::NotAFile => SceneError::new(field, "is not a file", fix),
            Unreadable::TooLarge(bytes_max) => too_large(field, bytes_max),
        }
    }
}

fn too_large(field: String, bytes_max: u64) -> SceneError {
    let fix = match bytes_max {
        TOML_BYTES_MAX => format!("write it as JSON, which may have {} MiB", JSON_BYTES_MAX >> 20),
        _ => "make it smaller".to_owned(),
    };
    SceneError::new(field, format!("is larger than {} MiB", bytes_max >> 20), fix)
}

/// The bytes of a regular file of at most `bytes_max`.
fn read_limited(path: &Path, bytes_max: u64) -> Result<Vec<u8>, Unreadable> {
    // Checked before opening: opening a pipe would wait for its other end.
    if !std::fs::metadata(path).map_err(Unreadable::Io)?.is_file() {
        return Err(Unreadable::NotAFile);
    }
    read_at_most(File::open(path).map_err(Unreadable::Io)?, bytes_max)
}

fn read_at_most(input: impl Read, bytes_max: u64) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = Vec::new();
    input.take(bytes_max + 1).read_to_end(&mut bytes).map_err(Unreadable::Io)?;
    if bytes.len() as u64 > bytes_max { Err(Unreadable::TooLarge(bytes_max)) } else { Ok(bytes) }
}
