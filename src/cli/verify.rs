//! `anachron verify`: the protocol under every order of events, or under very many.

use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::cli::console;
use crate::cli::failure::{Exit, Failure};
use crate::cli::format::{counted, grouped};
use crate::cli::interrupt::Interrupt;
use crate::cli::progress::Progress;
use crate::protocol::Fault;
use crate::verify::Property;
use crate::verify::campaign::{Campaign, Counterexample};
use crate::verify::paper::{Finding, Sought, demonstrations, find};
use crate::verify::random_walk::ConfigRequest;

const EXAMPLES: &str = "\
Examples:
  anachron verify                                      small worlds in full, then random ones, for a minute
  anachron verify --seconds 600                        the same for ten minutes
  anachron verify --entities 3 --ticks 2 --window 2    every order of events in such worlds
  anachron verify --random 7 --entities 40             random worlds and orders, from a seed
  anachron verify --fault no-versions                  with a deliberate fault: is it noticed?
  anachron verify --protocol paper                     the published algorithm, and where it goes wrong

Ends with 0 if every property was kept, and with 1 if one was violation; then the way there is told, message by message.";

/// How many seeds are tried for the shortest demonstration, and how many states of each world are looked at.
const PAPER_SEARCH: (u64, usize) = (200, 60_000);

/// Check the protocol itself: every order of events in small worlds, very many in large ones
///
/// The state machines that are checked are those that run; a toy world of whole numbers stands in for the physics.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Number of entities, each with one body; many kinds of worlds if nothing is given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64))]
    entities: Option<u32>,
    /// Number of buckets of the hash table
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u32).range(1..=1024))]
    buckets: Option<u32>,
    /// Last tick
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..=1000))]
    ticks: Option<u64>,
    /// How many ticks they may run ahead
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u64).range(1..=1000))]
    window: Option<u64>,
    /// Random worlds and orders from this seed, instead of every order in small worlds
    #[arg(long, value_name = "SEED")]
    random: Option<u64>,
    /// How long to look
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seconds: u64,
    /// Whose protocol
    #[arg(long, value_enum, default_value_t = Protocol::Anachron)]
    protocol: Protocol,
    /// A deliberate fault, to see whether it is noticed
    #[arg(long, value_name = "NAME", value_parser = fault)]
    fault: Option<Fault>,
    /// Print what was found as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Show no progress bar
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Protocol {
    /// The one that runs here
    Anachron,
    /// The published algorithm, word by word
    Paper,
}

fn fault(name: &str) -> Result<Fault, String> {
    let found = Fault::ALL.iter().copied().find(|fault| fault.name() == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        format!("there is no such fault; there are {}", names.join(", "))
    })
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.protocol == Protocol::Paper {
        return paper(arguments);
    }
    let interrupt = Interrupt::watch()?;
    let mut clock = Clock {
        progress: Progress::start(arguments.quiet),
        interrupt: interrupt.clone(),
        began: Instant::now(),
        limit: Duration::from_secs(arguments.seconds),
    };
    let mut tour = Campaign::default();
    let fault = arguments.fault.unwrap_or_default();
    let Arguments { entities, buckets, ticks, window, .. } = *arguments;
    let request = ConfigRequest { entities, buckets, ticks, window, fault };
    let is_wished = entities.is_some() || buckets.is_some() || ticks.is_some() || window.is_some();
    match arguments.random {
        Some(seed) => tour.at_random(seed, &request, &mut |tour| clock.look(1.0, tour)),
        None if is_wished => {
            tour.wished(&request, &mut |tour| clock.look(1.0, tour));
        }
        None => {
            // Larger worlds get a share of what the small ones leave; the rest is for random ones.
            let is_done = tour.families(fault, false, &mut |tour| clock.look(1.0, tour));
            if is_done {
                tour.families(fault, true, &mut |tour| clock.look(0.6, tour));
            }
            if tour.violation.is_none() {
                tour.at_random(0, &request, &mut |tour| clock.look(1.0, tour));
            }
        }
    }
    clock.progress.finish();
    let seconds = clock.began.elapsed().as_secs_f64();
    if arguments.json {
        console::print(&format!("{}\n", in_json(&tour, fault, seconds)))?;
    }
    console::tell(summary(&tour, fault, seconds));
    if let Some(violation) = &tour.violation {
        console::tell(counterexample(violation));
        return Ok(Exit::Failed);
    }
    Ok(if interrupt.is_requested() { Exit::Interrupted } else { Exit::Done })
}

/// How long it may still take.
struct Clock {
    progress: Progress,
    interrupt: Interrupt,
    began: Instant,
    limit: Duration,
}

impl Clock {
    /// Shows how far it has come. Says whether there is time left, of a share of all there is.
    fn look(&mut self, share: f64, tour: &Campaign) -> bool {
        let elapsed = self.began.elapsed();
        self.progress.show(elapsed.as_secs_f64() / self.limit.as_secs_f64(), |_| so_far(tour));
        elapsed < self.limit.mul_f64(share) && !self.interrupt.is_requested()
    }
}

fn so_far(tour: &Campaign) -> String {
    format!("{} states, {} schedules", grouped(tour.states), grouped(tour.schedules))
}

fn summary(tour: &Campaign, fault: Fault, seconds: f64) -> String {
    let mut lines = Vec::new();
    if fault != Fault::None {
        lines.push(format!("with a fault: {}", fault.about()));
    }
    if tour.worlds + tour.unfinished > 0 {
        lines.push(format!(
            "every order: {} in full ({} begun and not finished), {}, {}, {}, up to {} deep",
            counted(tour.worlds, "world", "worlds"),
            grouped(tour.unfinished),
            counted(tour.states, "state", "states"),
            counted(tour.moves, "move", "moves"),
            counted(tour.ends, "end", "ends"),
            counted(tour.depth, "move", "moves"),
        ));
    }
    if tour.schedules > 0 {
        lines.push(format!(
            "random orders: {}, {}; {} given up as too long",
            counted(tour.schedules, "schedule", "schedules"),
            counted(tour.schedule_moves, "move", "moves"),
            grouped(tour.given_up),
        ));
    }
    // That every schedule ends is seen only where all of them are.
    let is_seen = |property: &&Property| **property != Property::EveryWayEnds || tour.worlds > 0;
    let promises: Vec<&str> = Property::ALL.iter().filter(is_seen).map(|property| property.name()).collect();
    lines.push(match &tour.violation {
        None => format!("no property was violation in {seconds:.0} s: {}", promises.join("; ")),
        Some(violation) => format!("a property was violation: {}", violation.violation.property.name()),
    });
    lines.join("\n")
}

fn counterexample(found: &Counterexample) -> String {
    let Counterexample { violation, world, moves, is_shortest, trace } = found;
    let short = if *is_shortest { "the shortest way there" } else { "the way there" };
    format!("\n{world}\n{short} has {moves} moves:\n{}\n  => {violation}", trace.join("\n"))
}

fn in_json(tour: &Campaign, fault: Fault, seconds: f64) -> Value {
    let violation = tour.violation.as_ref().map(|found| {
        json!({
            "property": found.violation.property.name(),
            "how": found.violation.how,
            "world": found.world,
            "moves": found.moves,
            "shortest": found.is_shortest,
            "trace": found.trace,
        })
    });
    json!({
        "protocol": "anachron",
        "fault": fault.name(),
        "worlds": tour.worlds,
        "unfinished": tour.unfinished,
        "states": tour.states,
        "moves": tour.moves,
        "depth": tour.depth,
        "ends": tour.ends,
        "schedules": tour.schedules,
        "schedule_moves": tour.schedule_moves,
        "given_up": tour.given_up,
        "seconds": seconds,
        "violation": violation,
    })
}

/// Shows what the published algorithm gets wrong.
fn paper(arguments: &Arguments) -> Result<Exit, Failure> {
    let given = [
        ("--entities", arguments.entities.is_some()),
        ("--buckets", arguments.buckets.is_some()),
        ("--ticks", arguments.ticks.is_some()),
        ("--window", arguments.window.is_some()),
        ("--random", arguments.random.is_some()),
        ("--fault", arguments.fault.is_some()),
    ];
    if let Some((name, _)) = given.iter().find(|(_, is_given)| *is_given) {
        let why = "does not go with --protocol paper, which shows worlds of its own; leave it out";
        return Err(Failure::bad_input(format_args!("{name} {why}")));
    }
    let mut shown = Vec::new();
    for demonstration in demonstrations() {
        let found = find(&demonstration.reading, demonstration.sought, PAPER_SEARCH.0, PAPER_SEARCH.1);
        let found = found
            .ok_or_else(|| Failure::failed(format_args!("nothing was found for: {}", demonstration.about)))?;
        console::tell(demonstrated(demonstration.about, demonstration.sought, &found));
        shown.push(json!({
            "about": demonstration.about,
            "violation": kind(demonstration.sought),
            "moves": found.moves,
            "states": found.states,
            "story": found.story,
            "end": found.end,
        }));
    }
    if arguments.json {
        console::print(&format!("{}\n", json!({ "protocol": "paper", "violation": shown })))?;
    }
    Ok(if shown.is_empty() { Exit::Done } else { Exit::Failed })
}

fn kind(sought: Sought) -> &'static str {
    match sought {
        Sought::Deadlock => "deadlock",
        Sought::WrongCommit => "wrong commit",
    }
}

fn demonstrated(about: &str, sought: Sought, found: &Finding) -> String {
    let Finding { reading, moves, states, story, end } = found;
    format!(
        "{} in {moves} moves ({states} states seen, seed {})\n{about}\n{}\n  => {}\n",
        kind(sought).to_uppercase(),
        reading.seed,
        story.join("\n"),
        end.join("\n     ")
    )
}
