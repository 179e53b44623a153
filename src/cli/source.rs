//! What to run: a scenario or a scene file, and what the command line changes about it.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::failure::Failure;
use crate::scenarios::{self, Request, SCENARIOS};
use crate::scene::suggest::suggest;
use crate::scene::{self, Scene};

/// What the command line changes about a scene.
#[derive(Args, Debug, Default)]
pub(super) struct Changes {
    /// Number of bodies; scenarios only
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    bodies: Option<u32>,
    /// How long to simulate
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seconds: Option<f64>,
    /// Seed of everything random in the scene; scenarios only
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Set a parameter of the scenario (see `anachron list`) or a field of the scene, such as
    /// `response.iterations=16` or `gravity=[0,-1.6,0]`; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_set)]
    sets: Vec<(String, String)>,
}

fn parse_set(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write a name and a value, as in `gravity=[0,-1.6,0]`".to_owned()),
    }
}

/// A scenario or a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    Scenario(&'static str),
    SceneFile(PathBuf),
    /// A file of another kind, if it exists.
    OtherFile(PathBuf),
}

impl Source {
    /// A scenario's name means the scenario even if there is a file of that name.
    pub(super) fn of(text: &Path) -> Self {
        if let Some(scenario) = text.to_str().and_then(scenarios::find) {
            return Source::Scenario(scenario.name);
        }
        let extension = text.extension().and_then(|extension| extension.to_str());
        let is_scene = extension.is_some_and(|e| ["toml", "json"].iter().any(|s| e.eq_ignore_ascii_case(s)));
        if is_scene { Source::SceneFile(text.to_owned()) } else { Source::OtherFile(text.to_owned()) }
    }

    /// The scene, changed and checked.
    pub(super) fn scene(&self, changes: &Changes) -> Result<Scene, Failure> {
        match self {
            Source::Scenario(name) => Ok(scenarios::build(name, &changes.request())?),
            Source::SceneFile(path) => changes.applied_to_file(path),
            Source::OtherFile(path) if path.exists() => changes.applied_to_file(path),
            Source::OtherFile(path) => Err(unknown(path)),
        }
    }
}

/// Neither a scenario nor a file.
pub(super) fn unknown(name: &Path) -> Failure {
    let name = name.display().to_string();
    let known = SCENARIOS.iter().map(|scenario| scenario.name);
    Failure::bad_input(format_args!("there is no scenario and no file `{name}`; {}", suggest(&name, known)))
}

impl Changes {
    fn request(&self) -> Request {
        Request { bodies: self.bodies, seed: self.seed, seconds: self.seconds, sets: self.sets.clone() }
    }

    fn applied_to_file(&self, path: &Path) -> Result<Scene, Failure> {
        for (name, is_given) in [("--bodies", self.bodies.is_some()), ("--seed", self.seed.is_some())] {
            if is_given {
                return Err(Failure::bad_input(format_args!(
                    "{name}: the bodies of a scene file are those that it lists; leave {name} out, or name a scenario"
                )));
            }
        }
        let mut scene = scene::load(path).map_err(|error| Failure::from(error).about(path))?;
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
