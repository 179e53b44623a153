//! `anachron bench`: measures runs against each other, and writes tables, CSV, plots and a page.
//!
//! Every run is a process of its own, so that none inherits the memory of another. Repetitions are interleaved: a
//! disturbance of the machine meets all that is compared.

mod breakdown;
mod density;
mod lists;
mod overhead;
mod overlap;
mod overlap_sheet;
mod runner;
mod scale;
mod solver;
mod speedup;
mod window;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use comfy_table::{CellAlignment, ContentArrangement, presets};

use self::runner::Runner;
use super::failure::{Exit, Failure};
use super::{console, json};
use crate::bench::sheet::html_page;
use crate::bench::{Machine, Section, Table};

const EXAMPLES: &str = "\
Examples:
  anachron bench speedup                          the paper's scenes on one core to all
  anachron bench speedup gas --bodies 10000       one scene
  anachron bench speedup cylinders --cores 1,2 --project 1..64
  anachron bench density                          how full the box may be
  anachron bench all --repeat 3                   everything, in some tens of minutes

Results are written to bench/results/<machine>/: a CSV file per table, an SVG file per plot, and one HTML page.
What is projected, not measured, is called a projection wherever it is shown.";

/// Measure speed: against cores, density, window and size; and see where the time goes
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

/// What all measurements take.
#[derive(Args, Clone)]
struct Common {
    /// How often each run is repeated; the median counts
    #[arg(long, value_name = "R", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000), global = true)]
    repeat: u32,
    /// How long to simulate; as suits the scenario if not given
    #[arg(long, value_name = "S", value_parser = lists::seconds, global = true)]
    seconds: Option<f64>,
    /// Folder of the results; a folder of bench/results named after the machine if not given
    #[arg(long, value_name = "FOLDER", global = true)]
    out: Option<PathBuf>,
    /// Show no progress bar
    #[arg(long, short, global = true)]
    quiet: bool,
}

impl Common {
    /// How long to simulate a scenario: long enough for something to happen, short enough to be repeated.
    fn seconds_of(&self, scenario: &str) -> f64 {
        self.seconds.unwrap_or(if scenario == "cylinders" { 3.0 } else { 2.0 })
    }
}

#[derive(Subcommand)]
enum What {
    /// Speedup against cores, measured and projected (the paper's figure 7)
    Speedup {
        #[command(flatten)]
        which: speedup::Arguments,
        #[command(flatten)]
        common: Common,
    },
    /// Bouncing balls in boxes of 100 to 400 cubic metres (the paper's figure 9)
    Density {
        #[command(flatten)]
        which: density::Arguments,
        #[command(flatten)]
        common: Common,
    },
    /// Windows of 1 to 1024 simulated milliseconds (the paper's figure 10)
    Window {
        #[command(flatten)]
        which: window::Arguments,
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
    /// Where the time goes (the paper's figure 8)
    Breakdown {
        #[command(flatten)]
        which: breakdown::Arguments,
        #[command(flatten)]
        common: Common,
    },
    /// Overhead of Time Warp and of actors on one core, and the memory of a body
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
        What::Density { common, .. } => ("density", common),
        What::Window { common, .. } => ("window", common),
        What::Scale { common, .. } => ("scale", common),
        What::Breakdown { common, .. } => ("breakdown", common),
        What::Overhead { common, .. } => ("overhead", common),
        What::Overlap { common, .. } => ("overlap", common),
        What::Solver { common, .. } => ("solver", common),
        What::All { common } => ("report", common),
    };
    if let What::Solver { .. } = arguments.what {
        solver::ready()?;
    }
    let machine = Machine::here();
    let folder = common.out.clone().unwrap_or_else(|| Path::new("bench/results").join(machine.slug()));
    let results = ResultsFolder::open(folder, machine)?;
    let mut runner = Runner::new(common)?;
    let sections = match &arguments.what {
        What::Speedup { which, common } => speedup::measure(&mut runner, which, common),
        What::Density { which, common } => density::measure(&mut runner, which, common),
        What::Window { which, common } => window::measure(&mut runner, which, common),
        What::Scale { which, common } => scale::measure(&mut runner, which, common),
        What::Breakdown { which, common } => breakdown::measure(&mut runner, which, common),
        What::Overhead { which, common } => overhead::measure(&mut runner, which, common),
        What::Overlap { which, common } => overlap::measure(&mut runner, which, common),
        What::Solver { which, common } => solver::measure(&mut runner, which, common),
        What::All { common } => measure_all(&mut runner, common),
    }?;
    results.write_all(name, &sections)?;
    let text: String = sections.iter().map(shown).collect();
    console::print(&format!("{}\n{text}", results.machine.text()))?;
    console::tell(format_args!("results are in {}", results.folder.display()));
    Ok(Exit::Done)
}

fn measure_all(runner: &mut Runner, common: &Common) -> Result<Vec<Section>, Failure> {
    let mut sections = speedup::measure(runner, &speedup::Arguments::default(), common)?;
    sections.extend(breakdown::measure(runner, &breakdown::Arguments::default(), common)?);
    sections.extend(density::measure(runner, &density::Arguments::default(), common)?);
    sections.extend(window::measure(runner, &window::Arguments::default(), common)?);
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
    machine: Machine,
}

impl ResultsFolder {
    /// Makes sure that results can be written before anything is measured.
    fn open(folder: PathBuf, machine: Machine) -> Result<Self, Failure> {
        let rejected = |error: std::io::Error| {
            let name = folder.display();
            Failure::bad_input(format_args!("--out: cannot write into {name}: {error}; name another folder"))
        };
        fs::create_dir_all(&folder).map_err(rejected)?;
        fs::write(folder.join("machine.json"), json::pretty(&machine)).map_err(rejected)?;
        Ok(ResultsFolder { folder, machine })
    }

    fn write_all(&self, name: &str, sections: &[Section]) -> Result<(), Failure> {
        for section in sections {
            self.write(&format!("{}.csv", section.name), &section.table.csv())?;
            for (at, plot) in section.plots.iter().enumerate() {
                let more = if at == 0 { String::new() } else { format!("-{}", at + 1) };
                self.write(&format!("{}{more}.svg", section.name), &plot.svg())?;
            }
        }
        self.write(&format!("{name}.html"), &html_page(&self.machine, sections))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(name);
        fs::write(&path, text)
            .map_err(|error| Failure::failed(format_args!("cannot write {}: {error}", path.display())))
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
