//! `anachron verify`: model checking of the protocol, in full in small configurations and at random in large ones.

mod limits;
mod paper;
mod report;

use clap::{Args, ValueEnum};

use self::limits::{Limits, Phase};
use crate::cli::failure::{Exit, Failure};
use crate::cli::interrupt::Interrupt;
use crate::cli::progress::Progress;
use crate::cli::{console, json};
use crate::protocol::Fault;
use crate::verify::{Campaign, ConfigRequest};

const EXAMPLES: &str = "\
Examples:
  anachron verify                                      small configurations in full, then random ones, for a minute
  anachron verify --seconds 600                        the same for ten minutes
  anachron verify --states 100000 --schedules 200      the same work on every machine, however long it takes
  anachron verify --entities 3 --ticks 2 --window 2    every order of events in such configurations
  anachron verify --random 7 --entities 40             random configurations and orders, from a seed
  anachron verify --fault no-versions                  with a deliberate fault: is it noticed?
  anachron verify --protocol paper                     the published algorithm, and where it goes wrong

Ends with 0 if no property was violated, and with 1 if one was; then the shortest trace that was found is printed,
message by message. With --fault it is the other way round: 0 if the fault was noticed, 1 if it was not. Ends with 130
if Ctrl-C came first. Whatever was announced and not reached because of a limit is said.";

/// Check the protocol: every order of events in small configurations, random orders in large ones
///
/// The state machines that are checked are those that run; a toy model of whole numbers replaces the physics.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Number of entities, each with one body; many kinds of configurations if nothing is given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64))]
    entities: Option<u32>,
    /// Number of buckets of the hash table
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u32).range(1..=1024))]
    buckets: Option<u32>,
    /// Last tick
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..=1000))]
    ticks: Option<u64>,
    /// How many ticks an entity may run ahead of GVT
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u64).range(1..=1000))]
    window: Option<u64>,
    /// Random configurations and orders from this seed, instead of every order in small configurations
    #[arg(long, value_name = "SEED")]
    random: Option<u64>,
    /// Limit of time; 60 if no other limit is given
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seconds: Option<u64>,
    /// Limit of work: explore at most about N states, and no random schedules unless --schedules is given too. Always
    /// stops at the same state
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    states: Option<u64>,
    /// Limit of work: run N random schedules, and explore no states unless --states is given too
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    schedules: Option<u64>,
    /// Which protocol to check
    #[arg(long, value_enum, default_value_t = Protocol::Anachron)]
    protocol: Protocol,
    /// Build a deliberate fault in; ends with 0 if it is noticed and with 1 if it is not
    #[arg(long, value_name = "NAME", value_parser = fault)]
    fault: Option<Fault>,
    /// Print the outcome as one JSON object on standard output
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
        return paper::run(arguments);
    }
    if arguments.random.is_some() && arguments.states.is_some() {
        let why = "--states does not go with --random, which explores no states; use --schedules";
        return Err(Failure::bad_input(why));
    }
    let interrupt = Interrupt::watch()?;
    let progress = Progress::start(arguments.quiet);
    let mut limits = Limits::new(arguments, progress, interrupt);
    let campaign = arguments.check(&mut limits);
    let outcome = report::Outcome::new(&campaign, arguments.fault, limits.finish());
    if arguments.json {
        console::print(&json::line(&outcome))?;
    }
    console::tell(outcome.text());
    if let Some(found) = &campaign.violation {
        console::tell(report::trace_text(found));
    }
    Ok(match (arguments.fault.is_some(), campaign.violation.is_some()) {
        (false, true) => Exit::Failed,
        (true, true) => Exit::Done,
        _ if outcome.is_interrupted() => Exit::Interrupted,
        (true, false) => Exit::Failed,
        (false, false) => Exit::Done,
    })
}

impl Arguments {
    /// Explores states, runs random schedules, or both, within the limits.
    fn check(&self, limits: &mut Limits) -> Campaign {
        let Arguments { entities, buckets, ticks, window, schedules, .. } = *self;
        let request = ConfigRequest {
            entities,
            buckets,
            ticks,
            window_ticks: window,
            fault: self.fault.unwrap_or_default(),
        };
        let mut campaign = Campaign { schedules_max: schedules, ..Campaign::default() };
        let is_requested = entities.is_some() || buckets.is_some() || ticks.is_some() || window.is_some();
        if self.random.is_none() && (self.states.is_some() || schedules.is_none()) {
            let is_complete = if is_requested {
                campaign.requested(&request, &mut |campaign| limits.go_on(Phase::Requested, campaign))
            } else {
                campaign.announced = Campaign::configs(false) + Campaign::configs(true);
                let fault = request.fault;
                campaign.families(fault, false, &mut |campaign| limits.go_on(Phase::Small, campaign))
                    && campaign.families(fault, true, &mut |campaign| limits.go_on(Phase::Larger, campaign))
            };
            limits.end_of_states(is_complete, &campaign);
        }
        // Without a limit of work, random schedules use the time that is left.
        let is_limited = self.states.is_some() || schedules.is_some();
        let is_random = if is_limited { schedules.is_some() } else { !is_requested };
        if campaign.violation.is_none() && (self.random.is_some() || is_random) {
            let seed = self.random.unwrap_or(0);
            campaign.at_random(seed, &request, &mut |campaign| limits.go_on(Phase::Random, campaign));
            limits.end_of_schedules(&campaign);
        }
        campaign
    }
}
