//! `anachron scene`: prints a scenario as a scene file that runs to the same digest.

use std::path::PathBuf;

use clap::Args;

use crate::cli::console;
use crate::cli::failure::{Exit, Failure};
use crate::cli::source::{Changes, Source};
use crate::scene::{Scene, SceneFormat};

const EXAMPLES: &str = "\
Examples:
  anachron scene stack --bodies 20 > tower.toml
  anachron scene tower.toml --json > tower.json";

/// Print a scenario as a scene file, which runs to the same digest
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A scenario (see `anachron list`), or a scene file to write anew
    #[arg(value_name = "SCENARIO|FILE")]
    source: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// Print JSON instead of TOML
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let scene = Source::of(&arguments.source).scene(&arguments.changes)?;
    let format = if arguments.json { SceneFormat::Json } else { SceneFormat::Toml };
    console::print(&text_of(&scene, format)?)?;
    Ok(Exit::Done)
}

/// The text of a scene, if it is one that can be read again.
fn text_of(scene: &Scene, format: SceneFormat) -> Result<String, Failure> {
    let text = match format {
        SceneFormat::Toml => scene.to_toml(),
        SceneFormat::Json => scene.to_json() + "\n",
    };
    if text.len() as u64 <= format.bytes_max() {
        return Ok(text);
    }
    let mib = format.bytes_max() >> 20;
    let fix = match format {
        SceneFormat::Toml => "use --json, which may be larger, or fewer bodies",
        SceneFormat::Json => "use fewer bodies",
    };
    Err(Failure::bad_input(format_args!("scene: the file would be larger than {mib} MiB; {fix}")))
}
