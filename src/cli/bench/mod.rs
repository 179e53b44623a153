//! `anachron bench`: measures runs against each other, and writes tables, CSV, plots and a page.
//!
//! Every run is a process of its own, so that none inherits the memory of another. Repetitions are interleaved: a
//! disturbance of the machine meets all that is compared.

mod ladder;
mod lists;
mod overhead;
mod overlap;
mod overlap_sheet;
mod paper;
mod runner;
mod scale;
mod solver;
mod speedup;

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use comfy_table::{CellAlignment, ContentArrangement, presets};

use self::runner::{Case, Runner};
use super::failure::{Exit, Failure};
use super::{console, json};
use crate::bench::sheet::html_page;
use crate::bench::{Machine, Section, Table};
use crate::cli::count::count;
use crate::scene::suggest::shown as path_shown;

const EXAMPLES: &str = "\
Examples:
  anachron bench speedup                          the paper's scenes on one core to all, and on 16 virtual ones
  anachron bench speedup gas --bodies 10000       one scene
  anachron bench speedup cylinders --sync lockstep --cores 1,2 --virtual 1..16
  anachron bench paper --out results              the paper's figures 7 to 10, one process per body
  anachron bench all --repeat 3 --out results     everything, in some tens of minutes

With --out FOLDER results are written there: a CSV file with a row per repetition for each measurement, an SVG file per
plot, and one HTML page. Without it they are only printed. What is projected, not measured, is called a projection
wherever it is shown.";

/// Measure speed: against cores, real and virtual, in the setting of the paper, and against size
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

/// What a body of the gas may add to the memory of a run, bytes: a target.
const BYTES_PER_BODY_TARGET: f64 = 1.5 * 1024.0;

/// What all measurements take.
#[derive(Args, Clone)]
struct Common {
    /// How often each run is repeated; the median counts
    #[arg(long, value_name = "R", default_value_t = 5, value_parser = count::<u32>(1..=1000), global = true)]
    repeat: u32,
    /// How long to simulate; as suits the scenario if not given
    #[arg(long, value_name = "S", value_parser = lists::seconds, global = true)]
    seconds: Option<f64>,
    /// Write the results into this folder; files of the same names are replaced
    #[arg(long, value_name = "FOLDER", global = true)]
    out: Option<PathBuf>,
    /// The executor, as for `run`
    #[arg(long, value_name = "NAME", global = true)]
    sync: Option<String>,
    /// What shares one local virtual time, as for `run`
    #[arg(long, value_name = "auto|N|bodies", global = true)]
    regions: Option<String>,
    /// How far ahead of GVT, simulated milliseconds, as for `run`
    #[arg(long, value_name = "MS", global = true)]
    window: Option<String>,
    /// Where the buckets of the hash table are, as for `run`
    #[arg(long, value_name = "shared|actors", global = true)]
    tvht: Option<String>,
    /// A parameter of the scenario or a field of the scene, as for `run`; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", global = true)]
    sets: Vec<String>,
    /// Show no progress bar
    #[arg(long, short, global = true)]
    quiet: bool,
}

impl Common {
    /// How long to simulate a scenario: long enough for something to happen, short enough to be repeated.
    fn seconds_of(&self, scenario: &str) -> f64 {
        self.seconds.unwrap_or(if scenario == "cylinders" { 3.0 } else { 2.0 })
    }

    /// Flags for `run` that were given, with their values.
    fn flags(&self) -> Vec<(String, String)> {
        let given = [
            ("--sync", &self.sync),
            ("--regions", &self.regions),
            ("--window", &self.window),
            ("--tvht", &self.tvht),
        ];
        given.iter().filter_map(|(flag, value)| Some(((*flag).to_owned(), (*value).clone()?))).collect()
    }

    /// Refuses the executor that has a result of its own: others are compared with the plain loop here.
    fn refuse_overlap(&self) -> Result<(), Failure> {
        match self.sync.as_deref() {
            Some("overlap") => Err(Failure::bad_input(
                "--sync overlap: it has a result of its own, and nothing to be compared with here; use `anachron bench overlap`",
            )),
            _ => Ok(()),
        }
    }

    /// A name for the executor that was chosen, if one was.
    fn chosen_executor(&self) -> Option<String> {
        let chosen = [&self.sync, &self.regions].into_iter().flatten();
        let names: Vec<&str> = chosen.map(String::as_str).collect();
        (!names.is_empty()).then(|| names.join("-"))
    }

    /// A case with one frame per simulated second, unless `--set` says how many: frames are not what is compared.
    fn sparse_frames(&self, case: Case) -> Case {
        let is_set = self.sets.iter().any(|set| set.starts_with("ticks_per_frame"));
        if is_set { case } else { case.set("ticks_per_frame", 240) }
    }
}

#[derive(Subcommand)]
enum What {
    /// Speedup against cores, measured and in virtual time
    Speedup {
        #[command(flatten)]
        which: speedup::Arguments,
        #[command(flatten)]
        common: Common,
    },
    /// Figures 7 to 10 of the paper in its setting, one process per body: speedup, where the time goes, density, window
    Paper {
        #[command(flatten)]
        which: paper::Arguments,
        #[command(flatten)]
        common: Common,
    },
    /// A thin gas of 100 to 1,000,000 bodies: time and memory per body
    Scale {
        #[command(flatten)]
        which: scale::Arguments,
        #[command(flatten)]
        common: Common,
    },
    /// Overhead of regions, of one process per body and of actors on one core, and the memory of a body
    Overhead {
        #[command(flatten)]
        which: overhead::Arguments,
        #[command(flatten)]
        common: Common,
    },
    /// Scenes shared by workers: time, balance, errors and traffic (another paper's figures 10 to 14 and table 2)
    Overlap {
        #[command(flatten)]
        which: overlap::Arguments,
        #[command(flatten)]
        common: Common,
    },
    /// The island solver of `--sync overlap` against Rapier, per tick (needs the feature `rapier`)
    Solver {
        #[command(flatten)]
        which: solver::Arguments,
        #[command(flatten)]
        common: Common,
    },
    /// All of these
    All {
        #[command(flatten)]
        common: Common,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let (name, common) = match &arguments.what {
        What::Speedup { common, .. } => ("speedup", common),
        What::Paper { common, .. } => ("paper", common),
        What::Scale { common, .. } => ("scale", common),
        What::Overhead { common, .. } => ("overhead", common),
        What::Overlap { common, .. } => ("overlap", common),
        What::Solver { common, .. } => ("solver", common),
        What::All { common } => ("report", common),
    };
    if let What::Solver { .. } = arguments.what {
        solver::ready()?;
    }
    let machine = Machine::here();
    let results = common.out.clone().map(|folder| ResultsFolder::open(folder, &machine)).transpose()?;
    let mut runner = Runner::new(common, &machine)?;
    let sections = match &arguments.what {
        What::Speedup { which, common } => speedup::measure(&mut runner, which, common),
        What::Paper { which, common } => paper::measure(&mut runner, which, common),
        What::Scale { which, common } => scale::measure(&mut runner, which, common),
        What::Overhead { which, common } => overhead::measure(&mut runner, which, common),
        What::Overlap { which, common } => overlap::measure(&mut runner, which, common),
        What::Solver { which, common } => solver::measure(&mut runner, which, common),
        What::All { common } => measure_all(&mut runner, common),
    }?;
    if let Some(results) = &results {
        results.write_all(name, &machine, &sections)?;
    }
    let text: String = sections.iter().map(shown).collect();
    console::print(&format!("{}\n{text}", machine.text()))?;
    console::tell(match &results {
        Some(results) => format!("results are in {}", path_shown(&results.folder)),
        None => "nothing was written; `--out FOLDER` does".to_owned(),
    });
    Ok(Exit::Done)
}

fn measure_all(runner: &mut Runner, common: &Common) -> Result<Vec<Section>, Failure> {
    let mut sections = speedup::measure(runner, &speedup::Arguments::default(), common)?;
    sections.extend(paper::measure(runner, &paper::Arguments::default(), common)?);
    sections.extend(scale::measure(runner, &scale::Arguments::default(), common)?);
    sections.extend(overhead::measure(runner, &overhead::Arguments::default(), common)?);
    sections.extend(overlap::measure(runner, &overlap::Arguments::default(), common)?);
    if solver::ready().is_ok() {
        sections.extend(solver::measure(runner, &solver::Arguments::default(), common)?);
    }
    Ok(sections)
}

/// The folder of the results.
struct ResultsFolder {
    folder: PathBuf,
}

impl ResultsFolder {
    /// Makes sure that results can be written before anything is measured.
    fn open(folder: PathBuf, machine: &Machine) -> Result<Self, Failure> {
        let rejected = |error: std::io::Error| {
            let name = path_shown(&folder);
            Failure::bad_input(format_args!("--out: cannot write into {name}: {error}; name another folder"))
        };
        fs::create_dir_all(&folder).map_err(rejected)?;
        fs::write(folder.join("machine.json"), json::pretty(machine)).map_err(rejected)?;
        Ok(ResultsFolder { folder })
    }

    fn write_all(&self, name: &str, machine: &Machine, sections: &[Section]) -> Result<(), Failure> {
        for section in sections {
            self.write(&format!("{}.csv", section.name), &section.csv())?;
            for (at, plot) in section.plots.iter().enumerate() {
                let more = if at == 0 { String::new() } else { format!("-{}", at + 1) };
                self.write(&format!("{}{more}.svg", section.name), &plot.svg())?;
            }
        }
        self.write(&format!("{name}.html"), &html_page(machine, sections))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(name);
        fs::write(&path, text)
            .map_err(|error| Failure::failed(format_args!("cannot write {}: {error}", path_shown(&path))))
    }
}

/// A section for the terminal.
fn shown(section: &Section) -> String {
    let mut text = format!("\n{}\n", section.title);
    for words in &section.words {
        text.push_str(&format!("{words}\n"));
    }
    text.push_str(&format!("{}\n", terminal_table(&section.table)));
    text
}

fn terminal_table(table: &Table) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(presets::NOTHING);
    drawn.set_content_arrangement(ContentArrangement::Disabled);
    drawn.set_header(table.header.iter());
    for row in &table.rows {
        drawn.add_row(row);
    }
    for (at, column) in drawn.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if at > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    drawn.trim_fmt()
}
