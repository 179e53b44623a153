//! `anachron verify --protocol paper`: the published algorithm, and where it goes wrong.

use serde::Serialize;

use super::Arguments;
use crate::cli::failure::{Exit, Failure};
use crate::cli::{console, json};
use crate::verify::paper::{Finding, Sought, demonstrations, find};

/// Seeds that are tried for the shortest demonstration.
const SEEDS: u64 = 200;
/// States that are explored at most for each seed.
const STATES_MAX: usize = 60_000;

/// The JSON object.
#[derive(Serialize)]
struct Outcome {
    protocol: &'static str,
    violations: Vec<ViolationJson>,
}

/// One demonstration.
#[derive(Serialize)]
struct ViolationJson {
    about: &'static str,
    kind: &'static str,
    transitions: usize,
    states: u64,
    trace: Vec<String>,
    end: Vec<String>,
}

/// Demonstrates what the published algorithm gets wrong.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let given = [
        ("--entities", arguments.entities.is_some()),
        ("--buckets", arguments.buckets.is_some()),
        ("--ticks", arguments.ticks.is_some()),
        ("--window", arguments.window.is_some()),
        ("--random", arguments.random.is_some()),
        ("--states", arguments.states.is_some()),
        ("--schedules", arguments.schedules.is_some()),
        ("--fault", arguments.fault.is_some()),
    ];
    if let Some((name, _)) = given.iter().find(|(_, is_given)| *is_given) {
        let why = "does not go with --protocol paper, which has configurations of its own; leave it out";
        return Err(Failure::bad_input(format_args!("{name} {why}")));
    }
    let mut violations = Vec::new();
    for demonstration in demonstrations() {
        let found = find(&demonstration.reading, demonstration.sought, SEEDS, STATES_MAX);
        let found = found
            .ok_or_else(|| Failure::failed(format_args!("nothing was found for: {}", demonstration.about)))?;
        let text = text(demonstration.about, demonstration.sought, &found);
        if arguments.json {
            console::tell(text)
        } else {
            console::print_lines([text])?
        }
        violations.push(ViolationJson {
            about: demonstration.about,
            kind: kind(demonstration.sought),
            transitions: found.transitions,
            states: found.states,
            trace: found.trace,
            end: found.end,
        });
    }
    let is_clean = violations.is_empty();
    if arguments.json {
        console::print(&json::line(&Outcome { protocol: "paper", violations }))?;
    }
    Ok(if is_clean { Exit::Done } else { Exit::Failed })
}

fn kind(sought: Sought) -> &'static str {
    match sought {
        Sought::Deadlock => "deadlock",
        Sought::WrongCommit => "wrong commit",
    }
}

fn text(about: &str, sought: Sought, found: &Finding) -> String {
    let Finding { reading, transitions, states, trace, end } = found;
    format!(
        "{} in {transitions} transitions ({states} states explored, seed {})\n{about}\n{}\n  => {}\n",
        kind(sought).to_uppercase(),
        reading.seed,
        trace.join("\n"),
        end.join("\n     ")
    )
}
