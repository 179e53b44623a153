//! `anachron verify`: model checking of the protocol, in full in small configurations and at random in large ones.

mod limits;
mod paper;
mod report;

use clap::{Args, ValueEnum};

use self::limits::{Limits, Phase};
use crate::cli::count;
use crate::cli::failure::{Exit, Failure};
use crate::cli::interrupt::Interrupt;
use crate::cli::progress::Progress;
use crate::cli::resources::start_helpers;
use crate::cli::{console, json};
use crate::protocol::Fault;
use crate::store::RegionFault;
use crate::verify::{Campaign, ConfigRequest};

const EXAMPLES: &str = "\
Examples:
  anachron verify                                      small configurations in full, then random ones, for a minute
  anachron verify --seconds 600                        the same for ten minutes
  anachron verify --states 100000 --schedules 200      the same work on every machine, however long it takes
  anachron verify --entities 3 --ticks 2 --window 2    every order of events in such configurations
  anachron verify --random 7 --entities 40             random configurations and orders, from a seed
  anachron verify --fault no-versions                  with a deliberate fault: is it noticed?
  anachron verify --protocol regions                   regions of space only, in small worlds of real bodies
  anachron verify --protocol paper                     the published algorithm, and where it goes wrong

Ends with 0 if no property was violated, and with 1 if one was; then the shortest trace that was found is printed,
message by message. With --fault it is the other way round: 0 if the fault was noticed, 1 if it was not. Ends with 130
if Ctrl-C came first. Whatever was announced and not reached because of a limit is said.";

/// Check the protocol: every order of events in small configurations, random orders in large ones
///
/// The state machines that are checked are those that run. Entities are checked with a toy model of whole numbers in place
/// of the physics, regions of space with real bodies.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Number of entities, each with one body; many kinds of configurations if nothing is given
    #[arg(long, value_name = "N", value_parser = count::count::<u32>(2..=64))]
    entities: Option<u32>,
    /// Number of buckets of the hash table
    #[arg(long, value_name = "B", value_parser = count::count::<u32>(1..=1024))]
    buckets: Option<u32>,
    /// Last tick
    #[arg(long, value_name = "T", value_parser = count::count::<u64>(1..=1000))]
    ticks: Option<u64>,
    /// How many ticks an entity may run ahead of GVT
    #[arg(long, value_name = "W", value_parser = count::count::<u64>(1..=1000))]
    window: Option<u64>,
    /// Random configurations and orders from this seed, instead of every order in small configurations
    #[arg(long, value_name = "SEED", value_parser = count::any::<u64>)]
    random: Option<u64>,
    /// Limit of time; 60 if no other limit is given
    #[arg(long, value_name = "S", value_parser = count::count::<u64>(1..=1_000_000))]
    seconds: Option<u64>,
    /// Limit of work: explore at most about N states, and no random schedules unless --schedules is given too. Always
    /// stops at the same state
    #[arg(long, value_name = "N", value_parser = count::count::<u64>(1..=u64::MAX))]
    states: Option<u64>,
    /// Limit of work: run N random schedules, and explore no states unless --states is given too
    #[arg(long, value_name = "N", value_parser = count::count::<u64>(1..=u64::MAX))]
    schedules: Option<u64>,
    /// Which protocol to check; options that describe entities choose entities
    #[arg(long, value_enum, default_value_t = Protocol::Anachron)]
    protocol: Protocol,
    /// Build a deliberate fault in; ends with 0 if it is noticed and with 1 if it is not
    #[arg(long, value_name = "NAME", value_parser = fault)]
    fault: Option<AnyFault>,
    /// Print the outcome as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Show no progress bar
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Protocol {
    /// Those that run here: entities and regions
    Anachron,
    /// Entities: bodies that exchange messages through a hash table
    Entities,
    /// Regions of space
    Regions,
    /// The published algorithm, word by word
    Paper,
}

/// A deliberate fault of one of the protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnyFault {
    Entities(Fault),
    Regions(RegionFault),
}

impl AnyFault {
    fn all() -> impl Iterator<Item = AnyFault> {
        let of_regions = RegionFault::ALL.iter().copied().map(AnyFault::Regions);
        Fault::ALL.iter().copied().map(AnyFault::Entities).chain(of_regions)
    }

    fn name(self) -> &'static str {
        match self {
            AnyFault::Entities(fault) => fault.name(),
            AnyFault::Regions(fault) => fault.name(),
        }
    }

    fn about(self) -> &'static str {
        match self {
            AnyFault::Entities(fault) => fault.about(),
            AnyFault::Regions(fault) => fault.about(),
        }
    }
}

fn fault(name: &str) -> Result<AnyFault, String> {
    AnyFault::all().find(|fault| fault.name() == name).ok_or_else(|| {
        let names: Vec<&str> = AnyFault::all().map(AnyFault::name).collect();
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
    let checked = arguments.checked()?;
    let interrupt = Interrupt::watch();
    start_helpers()?;
    let progress = Progress::start(arguments.quiet);
    let mut limits = Limits::new(arguments, progress, interrupt);
    let campaign = arguments.check(&checked, &mut limits);
    let outcome = report::Outcome::new(&campaign, &checked, arguments.fault, limits.finish());
    let trace = campaign.violation.as_ref().map(report::trace_text);
    for text in [Some(outcome.text()), trace].into_iter().flatten() {
        if arguments.json { console::tell(text) } else { console::print_lines([text])? }
    }
    if arguments.json {
        console::print(&json::line(&outcome))?;
    }
    Ok(match (arguments.fault.is_some(), campaign.violation.is_some()) {
        (false, true) => Exit::Failed,
        (true, true) => Exit::Done,
        _ if outcome.is_interrupted() => Interrupt::exit(),
        (true, false) => Exit::Failed,
        (false, false) => Exit::Done,
    })
}

/// Which protocols are checked, each with a deliberate fault or none.
struct Checked {
    entities: Option<Fault>,
    regions: Option<RegionFault>,
}

impl Arguments {
    /// The first option that describes entities.
    fn of_entities(&self) -> Option<&'static str> {
        let given = [
            ("--entities", self.entities.is_some()),
            ("--buckets", self.buckets.is_some()),
            ("--ticks", self.ticks.is_some()),
            ("--window", self.window.is_some()),
        ];
        given.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name)
    }

    /// Which protocols to check.
    fn checked(&self) -> Result<Checked, Failure> {
        let of_entities = self.of_entities();
        let is_fault_of = |entities: bool| match self.fault {
            Some(AnyFault::Entities(_)) => entities,
            Some(AnyFault::Regions(_)) => !entities,
            None => true,
        };
        let is_all = self.protocol == Protocol::Anachron;
        let entities = (is_all || self.protocol == Protocol::Entities) && is_fault_of(true);
        let regions =
            (is_all && of_entities.is_none() || self.protocol == Protocol::Regions) && is_fault_of(false);
        if let Some(name) = of_entities.filter(|_| !entities) {
            let why = "describes entities, and regions are to be checked; leave it out";
            return Err(Failure::bad_input(format_args!("{name} {why}")));
        }
        if let Some(fault) = self.fault.filter(|_| !entities && !regions) {
            let why = "is a fault of the other protocol; leave --protocol out";
            return Err(Failure::bad_input(format_args!("--fault {} {why}", fault.name())));
        }
        let of_entities = match self.fault {
            Some(AnyFault::Entities(fault)) => fault,
            _ => Fault::None,
        };
        let of_regions = match self.fault {
            Some(AnyFault::Regions(fault)) => fault,
            _ => RegionFault::None,
        };
        Ok(Checked { entities: entities.then_some(of_entities), regions: regions.then_some(of_regions) })
    }

    /// Explores small models of the list, then larger ones. Says whether all were begun.
    fn explore(&self, checked: &Checked, campaign: &mut Campaign, limits: &mut Limits) -> bool {
        let Checked { entities, regions } = *checked;
        if entities.is_some() {
            campaign.announced += Campaign::configs(false) + Campaign::configs(true);
        }
        if regions.is_some() {
            campaign.announced += Campaign::region_configs();
        }
        entities.is_none_or(|fault| {
            campaign.families(fault, false, &mut |campaign| limits.go_on(Phase::Small, campaign))
        }) && regions.is_none_or(|fault| {
            campaign.region_families(fault, &mut |campaign| limits.go_on(Phase::Small, campaign))
        }) && entities.is_none_or(|fault| {
            campaign.families(fault, true, &mut |campaign| limits.go_on(Phase::Larger, campaign))
        })
    }

    /// Explores states, runs random schedules, or both, within the limits.
    fn check(&self, checked: &Checked, limits: &mut Limits) -> Campaign {
        let Arguments { entities, buckets, ticks, window, schedules, .. } = *self;
        let request = checked.entities.map(|fault| ConfigRequest {
            entities,
            buckets,
            ticks,
            window_ticks: window,
            fault,
        });
        let mut campaign = Campaign { schedules_max: schedules, ..Campaign::default() };
        let requested = request.as_ref().filter(|_| self.of_entities().is_some());
        if self.random.is_none() && (self.states.is_some() || schedules.is_none()) {
            let is_complete = match requested {
                Some(request) => {
                    campaign.requested(request, &mut |campaign| limits.go_on(Phase::Requested, campaign))
                }
                None => self.explore(checked, &mut campaign, limits),
            };
            limits.end_of_states(is_complete, &campaign);
        }
        // Without a limit of work, random schedules use the time that is left.
        let is_limited = self.states.is_some() || schedules.is_some();
        let is_random = if is_limited { schedules.is_some() } else { requested.is_none() };
        if campaign.violation.is_none() && (self.random.is_some() || is_random) {
            let seed = self.random.unwrap_or(0);
            let go_on = &mut |campaign: &Campaign| limits.go_on(Phase::Random, campaign);
            campaign.all_at_random(seed, request.as_ref(), checked.regions, go_on);
            limits.end_of_schedules(&campaign);
        }
        campaign
    }
}
