//! `anachron scene`: writes a scenario as a scene file that runs to the same digest.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::cli::console;
use crate::cli::failure::{Exit, Failure};
use crate::cli::output::{Output, format_of, is_dash};
use crate::cli::source::{Changes, Source};
use crate::scene::{Scene, SceneFormat};

const EXAMPLES: &str = "\
Examples:
  anachron scene stack --bodies 20 > tower.toml
  anachron scene tower.toml --json > tower.json
  anachron scene bowl.anr --out again.toml             the scene of a recording
  anachron scene stack | anachron run -                a scene through a pipe";

/// Write a scenario, or the scene of a recording, as a scene file, which runs to the same digest
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A scenario (see `anachron list`), a recording, or a scene file to write anew; `-` is standard input
    #[arg(value_name = "SCENARIO|FILE|-")]
    source: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// The file to write; `-` is standard output
    #[arg(long, value_name = "FILE|-", default_value = "-")]
    out: PathBuf,
    /// Write JSON instead of TOML, whatever the file is called
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let scene = Source::of(&arguments.source).scene(&arguments.changes)?;
    let format = match (arguments.json, is_dash(&arguments.out)) {
        (true, _) => SceneFormat::Json,
        (false, true) => SceneFormat::Toml,
        (false, false) => {
            format_of(&arguments.out, &[("toml", SceneFormat::Toml), ("json", SceneFormat::Json)])?
        }
    };
    let text = text_of(&scene, format)?;
    if is_dash(&arguments.out) {
        console::print(&text)?;
        return Ok(Exit::Done);
    }
    let output = Output::begin("--out", &arguments.out, &[("to read", &arguments.source)])?;
    output.writer()?.write_all(text.as_bytes()).map_err(|error| output.failed(&error))?;
    output.keep()?;
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
