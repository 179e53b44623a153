//! Ready-made scenes, written once and used by the command line, tests and benchmarks.
//!
//! A scenario makes a [`Scene`] and knows nothing of how it is simulated. Where other engines have been run on
//! the same scene, radii, pitches, speeds and random numbers are the same, so that results can be compared.

mod billiards;
mod bouncing;
mod bowl;
mod bridge;
mod building;
mod chain_net;
mod cylinders;
mod gas;
mod golden;
mod newton_cradle;
mod parallel;
mod parts;
mod pyramid;
mod settings;
mod stack;
#[cfg(test)]
mod tests;

use crate::scene::suggest::{listed, suggest};
use crate::scene::{OBJECTS_MAX, Scene, SceneError};
pub use golden::{GOLDEN, Golden};
use settings::Settings;

/// The scenario that runs if none is named.
pub const DEFAULT: &str = "cylinders";

/// A ready-made scene.
pub struct Scenario {
    /// Name on the command line.
    pub name: &'static str,
    /// What happens in it, in one line.
    pub summary: &'static str,
    /// Effect of the number of bodies, in one line.
    pub scaling: &'static str,
    /// Number of bodies if none is asked for.
    pub bodies: u32,
    /// Simulated time if none is asked for, seconds.
    pub seconds: f64,
    /// Parameters that can be set besides the fields of the scene.
    pub parameters: &'static [Parameter],
    builder: fn(&Settings) -> Result<Scene, SceneError>,
}

/// A parameter of a scenario.
pub struct Parameter {
    /// Name on the command line, as in `--set NAME=VALUE`.
    pub name: &'static str,
    /// Value if it is not set; empty if the parameter then has no effect.
    pub default: &'static str,
    /// Effect, in one line.
    pub help: &'static str,
}

/// Changes to a scenario. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Number of bodies.
    pub bodies: Option<u32>,
    /// Seed of the random numbers.
    pub seed: Option<u64>,
    /// Simulated time in seconds.
    pub seconds: Option<f64>,
    /// Parameters of the scenario or fields of the scene, and their values; the last of several wins.
    pub sets: Vec<(String, String)>,
}

/// All scenarios.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "parallel",
        summary: "two lines of balls pass each other and never touch: what a body costs that meets nothing",
        scaling: "half of the bodies in each line; an odd one is added to the second",
        bodies: 500,
        seconds: 4.0,
        parameters: &[],
        builder: parallel::build,
    },
    Scenario {
        name: "cylinders",
        summary: "balls fall on a row of cylinders, pile up for a moment and roll off",
        scaling: "one cylinder per 100 bodies, at least five; balls lie in layers above them",
        bodies: 500,
        seconds: 6.0,
        parameters: &[],
        builder: cylinders::build,
    },
    Scenario {
        name: "bouncing",
        summary: "elastic balls fill a tenth to two fifths of a closed box and must not lose energy",
        scaling: "the box grows with the bodies; with `volume_m3` it stays and fills up",
        bodies: 200,
        seconds: 4.0,
        parameters: bouncing::PARAMETERS,
        builder: bouncing::build,
    },
    Scenario {
        name: "gas",
        summary: "a thin gas of elastic balls, 1 % of the volume of a closed box",
        scaling: "the box is a cube that grows with the bodies; 65536 bodies are 64 x 64 x 16",
        bodies: 1000,
        seconds: 4.0,
        parameters: &[],
        builder: gas::build,
    },
    Scenario {
        name: "bowl",
        summary: "a tower of balls collapses into a square bowl and comes to rest",
        scaling: "144 bodies per layer of the tower",
        bodies: 1000,
        seconds: 6.0,
        parameters: &[],
        builder: bowl::build,
    },
    Scenario {
        name: "pyramid",
        summary: "a flat pyramid of boxes, which should simply stand",
        scaling: "the largest whole pyramid with at most as many boxes: 1953 is 62 rows",
        bodies: 1953,
        seconds: 4.0,
        parameters: pyramid::PARAMETERS,
        builder: pyramid::build,
    },
    Scenario {
        name: "stack",
        summary: "a column of boxes or balls, which should simply stand",
        scaling: "the height of the column",
        bodies: 10,
        seconds: 5.0,
        parameters: stack::PARAMETERS,
        builder: stack::build,
    },
    Scenario {
        name: "newton-cradle",
        summary: "a ball slides down an arc into a row of balls, and one leaves at the other end",
        scaling: "balls in all, up to 1000; beyond ten the arc widens by 2 m of radius per ball",
        bodies: 5,
        seconds: 10.0,
        parameters: newton_cradle::PARAMETERS,
        builder: newton_cradle::build,
    },
    Scenario {
        name: "billiards",
        summary: "the cue ball breaks a rack of fifteen: pretty and unforgiving",
        scaling: "the cue ball and a rack of the rest; beyond ten rows the table grows",
        bodies: 16,
        seconds: 6.0,
        parameters: billiards::PARAMETERS,
        builder: billiards::build,
    },
    Scenario {
        name: "building",
        summary: "storeys of columns, tiles and brick walls; two cannon balls bring them down",
        scaling: "the building is cut off above this number of bodies; 2408 is six storeys of four by four bays",
        bodies: 2408,
        seconds: 4.0,
        parameters: &[],
        builder: building::build,
    },
    Scenario {
        name: "bridge",
        summary: "a bridge of beams, planks, braces and rails hangs between two piers by its joints",
        scaling: "9 bodies and 16 joints per section, and 16 bodies at the ends; at least one section",
        bodies: 1798,
        seconds: 4.0,
        parameters: &[],
        builder: bridge::build,
    },
    Scenario {
        name: "four-way-bridge",
        summary: "two bridges cross in a hub, and two balls fall on them",
        scaling: "36 bodies and 80 joints per section of all four arms, and 35 bodies besides",
        bodies: 1691,
        seconds: 4.0,
        parameters: &[],
        builder: bridge::build_four_way,
    },
    Scenario {
        name: "chain-net",
        summary: "a net of interlocked rings falls into its links and swings between two rows that hold it",
        scaling: "the largest whole net with at most as many rings: 3724 is 49 rows of 76",
        bodies: 3724,
        seconds: 4.0,
        parameters: &[],
        builder: chain_net::build,
    },
];

/// The scenario with this name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

/// Makes the scene of a scenario and validates it. What `request.sets` names is looked up among the parameters
/// of the scenario first, and then among the fields of the scene.
pub fn build(name: &str, request: &Request) -> Result<Scene, SceneError> {
    let scenario = find(name).ok_or_else(|| {
        let known = SCENARIOS.iter().map(|scenario| scenario.name);
        SceneError::new("scenario", format!("there is no scenario `{name}`"), suggest(name, known))
    })?;
    let (settings, scene_fields) = sort_request(scenario, request)?;
    let mut scene = (scenario.builder)(&settings)?;
    scene.name = scenario.name.to_owned();
    scene.seed = settings.seed;
    scene.seconds = request.seconds.unwrap_or(scenario.seconds);
    for (path, value) in scene_fields {
        scene.set(path, value).map_err(|mut error| {
            if !path.contains(['.', '[']) && !scenario.parameters.is_empty() {
                let parameters = listed(scenario.parameters.iter().map(|parameter| parameter.name));
                error.fix = format!("{}; or set a parameter of `{name}`: {parameters}", error.fix);
            }
            error
        })?;
    }
    scene.validate()?;
    Ok(scene)
}

type SceneFields<'a> = Vec<(&'a str, &'a str)>;

/// Separates settings of the scenario from fields that can be set in the finished scene.
fn sort_request<'a>(
    scenario: &'static Scenario,
    request: &'a Request,
) -> Result<(Settings<'a>, SceneFields<'a>), SceneError> {
    let mut settings = Settings::defaults(scenario);
    settings.bodies = request.bodies.unwrap_or(scenario.bodies);
    settings.seed = request.seed.unwrap_or(settings.seed);
    let mut scene_fields = Vec::new();
    for (name, value) in &request.sets {
        match name.as_str() {
            // These decide where bodies are, so they cannot be set in a finished scene.
            "bodies" => settings.bodies = settings::whole_number(name, value)?,
            "seed" => settings.seed = settings::whole_number(name, value)?,
            _ => match scenario.parameters.iter().find(|parameter| parameter.name == name) {
                Some(parameter) => settings.give(parameter.name, value),
                None => scene_fields.push((name.as_str(), value.as_str())),
            },
        }
    }
    if settings.bodies == 0 || settings.bodies as usize > OBJECTS_MAX {
        let problem = format!("{} bodies were asked for", settings.bodies);
        return Err(SceneError::new("bodies", problem, format!("use 1 to {OBJECTS_MAX}")));
    }
    Ok((settings, scene_fields))
}
