//! What to run: a scenario, a scene file, the scene of a recording or of standard input, and what the command line
//! changes about it.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::count;
use crate::cli::failure::Failure;
use crate::cli::output::is_dash;
use crate::record::{RecordError, Recording};
use crate::scenarios::{self, Request, SCENARIOS};
use crate::scene::suggest::{shown, suggest};
use crate::scene::{self, MeshRoot, Scene};

/// What a scene may read besides itself.
#[derive(Args, Debug, Default)]
pub(super) struct MeshPaths {
    /// Read mesh files outside the folder of the scene file too; only for scenes that are trusted
    #[arg(long)]
    allow_paths: bool,
}

impl MeshPaths {
    fn root(&self) -> MeshRoot<'static> {
        if self.allow_paths { MeshRoot::Anywhere } else { MeshRoot::SceneFolder }
    }
}

/// What the command line changes about a scene.
#[derive(Args, Debug, Default)]
pub(super) struct Changes {
    /// Number of bodies; scenarios only
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::any::<u32>)]
    bodies: Option<u32>,
    /// How long to simulate
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seconds: Option<f64>,
    /// Seed of everything random in the scene; scenarios only
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::any::<u64>)]
    seed: Option<u64>,
    /// Set a parameter of the scenario (see `anachron list`) or a field of the scene, such as
    /// `response.iterations=16` or `gravity=[0,-1.6,0]`; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_set)]
    sets: Vec<(String, String)>,
    #[command(flatten)]
    meshes: MeshPaths,
}

fn parse_set(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write a name and a value, as in `gravity=[0,-1.6,0]`".to_owned()),
    }
}

/// Where a scene comes from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    Scenario(&'static str),
    SceneFile(PathBuf),
    /// A recording, or a file of another kind, if it exists.
    OtherFile(PathBuf),
    StandardInput,
}

impl Source {
    /// A scenario's name means the scenario even if there is a file of that name.
    pub(super) fn of(text: &Path) -> Self {
        if let Some(scenario) = text.to_str().and_then(scenarios::find) {
            return Source::Scenario(scenario.name);
        }
        if is_dash(text) {
            return Source::StandardInput;
        }
        let extension = text.extension().and_then(|extension| extension.to_str());
        let is_scene = extension.is_some_and(|e| ["toml", "json"].iter().any(|s| e.eq_ignore_ascii_case(s)));
        if is_scene { Source::SceneFile(text.to_owned()) } else { Source::OtherFile(text.to_owned()) }
    }

    /// The scene, changed and checked.
    pub(super) fn scene(&self, changes: &Changes) -> Result<Scene, Failure> {
        match self {
            Source::Scenario(name) => Ok(scenarios::build(name, &changes.request())?),
            other => changes.applied_to(other.written_scene(&changes.meshes)?),
        }
    }

    /// The source as messages call it.
    pub(super) fn name(&self) -> String {
        match self {
            Source::Scenario(name) => (*name).to_owned(),
            Source::SceneFile(path) | Source::OtherFile(path) => shown(path),
            Source::StandardInput => "standard input".to_owned(),
        }
    }

    /// The scene as it is written down.
    pub(super) fn written_scene(&self, meshes: &MeshPaths) -> Result<Scene, Failure> {
        match self {
            Source::Scenario(name) => Ok(scenarios::build(name, &Request::default())?),
            Source::SceneFile(path) => {
                scene::load_within(path, meshes.root()).map_err(|error| Failure::from(error).about(path))
            }
            Source::OtherFile(path) if path.exists() => Ok(open_recording(path)?.into_scene()),
            Source::OtherFile(path) => Err(unknown(path)),
            Source::StandardInput => {
                let here = Path::new("");
                scene::read(std::io::stdin().lock(), here, meshes.root())
                    .map_err(|error| Failure::from(error).about(Path::new(&self.name())))
            }
        }
    }
}

/// Opens a file that was named where a scene may be named too.
pub(super) fn open_recording(path: &Path) -> Result<Recording, Failure> {
    Recording::open(path).map_err(|error| match error {
        RecordError::NotARecording { path } => Failure::bad_input(format_args!(
            "{}: is neither a recording nor a scene file; let the name of a scene file end in `.toml` or `.json`",
            shown(&path)
        )),
        other => other.into(),
    })
}

/// Neither a scenario nor a file.
pub(super) fn unknown(name: &Path) -> Failure {
    let name = shown(name);
    let known = SCENARIOS.iter().map(|scenario| scenario.name);
    Failure::bad_input(format_args!("there is no scenario and no file `{name}`; {}", suggest(&name, known)))
}

impl Changes {
    fn request(&self) -> Request {
        Request { bodies: self.bodies, seed: self.seed, seconds: self.seconds, sets: self.sets.clone() }
    }

    fn applied_to(&self, mut scene: Scene) -> Result<Scene, Failure> {
        for (name, is_given) in [("--bodies", self.bodies.is_some()), ("--seed", self.seed.is_some())] {
            if is_given {
                return Err(Failure::bad_input(format_args!(
                    "{name}: the bodies of a scene file are those that it lists; leave {name} out, or name a scenario"
                )));
            }
        }
        if let Some(seconds) = self.seconds {
            scene.seconds = seconds;
        }
        for (name, value) in &self.sets {
            scene.set(name, value)?;
        }
        scene.validate()?;
        Ok(scene)
    }

    /// The first of these options that was given, for commands that reject them.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--bodies", self.bodies.is_some()),
            ("--seconds", self.seconds.is_some()),
            ("--seed", self.seed.is_some()),
            ("--set", !self.sets.is_empty()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_split_at_the_first_equals_sign() {
        let set = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(parse_set("a=1"), set("a", "1"));
        assert_eq!(parse_set(" body[0].shape = {sphere={radius=1}} "), {
            set("body[0].shape", "{sphere={radius=1}}")
        });
        assert_eq!(parse_set("a="), set("a", ""));
        for wrong in ["", "a", "=1", " = 1"] {
            assert!(parse_set(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn scenarios_go_before_files() {
        assert_eq!(Source::of(Path::new("gas")), Source::Scenario("gas"));
        assert_eq!(Source::of(Path::new("./gas")), Source::OtherFile("./gas".into()));
        assert_eq!(Source::of(Path::new("gas.toml")), Source::SceneFile("gas.toml".into()));
        assert_eq!(Source::of(Path::new("GAS.JSON")), Source::SceneFile("GAS.JSON".into()));
        assert_eq!(Source::of(Path::new("gas.anr")), Source::OtherFile("gas.anr".into()));
    }
}
