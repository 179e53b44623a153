//! `anachron list`: the scenarios and their parameters.

use clap::Args;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::cli::failure::{Exit, Failure};
use crate::cli::{console, json};
use crate::scenarios::{SCENARIOS, Scenario};

/// Narrow enough for most terminals.
const COLUMNS: u16 = 100;

/// List the scenarios and what can be set in each
#[derive(Args)]
pub(super) struct Arguments {
    /// Write the list as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let text = if arguments.json { json_text() } else { tables() };
    console::print(&text)?;
    Ok(Exit::Done)
}

/// The JSON object: every scenario, in the order of the table.
#[derive(Serialize)]
struct ScenarioList {
    scenarios: Vec<ScenarioEntry>,
}

#[derive(Serialize)]
struct ScenarioEntry {
    name: &'static str,
    summary: &'static str,
    bodies: u32,
    bodies_help: &'static str,
    seconds: f64,
    parameters: Vec<ParameterEntry>,
}

#[derive(Serialize)]
struct ParameterEntry {
    name: &'static str,
    default: &'static str,
    help: &'static str,
}

fn json_text() -> String {
    json::pretty(&ScenarioList { scenarios: SCENARIOS.iter().map(entry).collect() })
}

fn entry(scenario: &Scenario) -> ScenarioEntry {
    let parameters = scenario.parameters.iter().map(|parameter| ParameterEntry {
        name: parameter.name,
        default: parameter.default,
        help: parameter.help,
    });
    ScenarioEntry {
        name: scenario.name,
        summary: scenario.summary,
        bodies: scenario.bodies,
        bodies_help: scenario.scaling,
        seconds: scenario.seconds,
        parameters: parameters.collect(),
    }
}

fn tables() -> String {
    let mut scenarios = table(&["SCENARIO", "BODIES", "SECONDS", "WHAT HAPPENS"]);
    for Scenario { name, bodies, seconds, summary, scaling, .. } in SCENARIOS {
        let row = [
            name.to_string(),
            bodies.to_string(),
            seconds.to_string(),
            format!("{summary}\n--bodies: {scaling}"),
        ];
        scenarios.add_row(row);
    }
    for column in [1, 2] {
        if let Some(column) = scenarios.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut parameters = table(&["SCENARIO", "--set NAME=", "DEFAULT", "WHAT IT DOES"]);
    for scenario in SCENARIOS {
        for parameter in scenario.parameters {
            parameters.add_row([scenario.name, parameter.name, parameter.default, parameter.help]);
        }
    }
    format!("{}\n\n{}\n", scenarios.trim_fmt(), parameters.trim_fmt())
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(COLUMNS);
    table.set_header(header.iter().copied());
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}
