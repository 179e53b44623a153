//! Flags of Time Warp and of lockstep. None of them changes a result.

use clap::{Args, ValueEnum};

use crate::base::number::whole;
use crate::cli::failure::Failure;
use crate::cli::{console, count};
use crate::executor::{OneStore, ProcessSummary, Regions, SyncMode, Tuning};
use crate::runtime::shared_tvht::Lane;
use crate::scene::Scene;
use crate::store::GearChoice;

/// The lanes of the hash table, as the command line names them.
#[derive(Clone, Copy, ValueEnum)]
enum LaneName {
    Shared,
    Actors,
}

/// The gears of lockstep, as the command line names them.
#[derive(Clone, Copy, ValueEnum)]
enum GearName {
    /// Whichever suits the contacts counted lately
    Auto,
    /// A calendar says when to look: for bodies that fly
    Calendar,
    /// A list of near pairs, and all bodies at every tick: for bodies that touch
    Near,
    /// As `near`, made for balls
    Heap,
}

/// The value of `--memory` if it is not given.
const MEMORY_MIB: u32 = 2048;

/// How Time Warp speculates; the result is the same
#[derive(Args)]
#[command(next_help_heading = "Time Warp (changes speed, never the result)")]
pub(super) struct TuningArguments {
    /// What shares one local virtual time. `auto`: regions of space, as many as cores, of 4,096 bodies at least, where the
    /// scene is thin; all bodies elsewhere. A number: as many regions, 64 at most. `bodies`: each body by itself
    #[arg(long, value_name = "auto|N|bodies", default_value = "auto", value_parser = regions)]
    regions: Regions,
    /// How far a process may run ahead of GVT, in simulated milliseconds; 16 ticks if not given, with `--regions bodies`
    /// 1024 ms
    #[arg(long, value_name = "MS", value_parser = positive)]
    window: Option<f64>,
    /// Use the whole window always, instead of shorter strides for entities that are often rolled back (`--regions
    /// bodies`)
    #[arg(long)]
    fixed_window: bool,
    /// Simulated milliseconds before GVT that stay open for late inputs; frames come later by as much. Implies
    /// `--regions bodies`
    #[arg(long, value_name = "MS", default_value_t = 0.0, value_parser = not_negative)]
    history: f64,
    /// Memory for saved states, in MiB; beyond it the window shrinks. 2048 if not given (`--regions bodies`)
    #[arg(long, value_name = "MIB", value_parser = count::count::<u32>(1..=u64::MAX))]
    memory: Option<u32>,
    /// Number of buckets of the hash table; suits the scene if not given (`--regions bodies`)
    #[arg(long, value_name = "B", value_parser = count::count::<u32>(1..=16_777_216))]
    buckets: Option<u32>,
    /// Where the buckets of the hash table are: in shared memory (if not given), or each an actor of its own (`--regions
    /// bodies`)
    #[arg(long, value_enum)]
    tvht: Option<LaneName>,
    /// Seed of the schedule of `--sync chaos`
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count::any::<u64>)]
    chaos_seed: u64,
    /// How one process with all bodies looks for contacts; `auto` if not given
    #[arg(long, value_enum)]
    gear: Option<GearName>,
}

impl TuningArguments {
    pub(super) fn chaos_seed(&self) -> u64 {
        self.chaos_seed
    }

    /// Refuses what would have no effect; `is_traced` and `is_bridged` say whether `--trace` and `--bridge auto` are given.
    pub(super) fn check(&self, sync: SyncMode, is_traced: bool, is_bridged: bool) -> Result<(), Failure> {
        let refused = |flag: &str, problem: &str, fix: &str| {
            let sync = sync.name();
            Err(Failure::bad_input(format_args!(
                "{flag}: `--sync {sync}` {problem}; {fix}, or leave {flag} out"
            )))
        };
        let is_whole = matches!(sync, SyncMode::Sequential | SyncMode::Overlap);
        let no_regions = is_whole || matches!(sync, SyncMode::Loop | SyncMode::RollbackCheck);
        if no_regions && matches!(self.regions, Regions::Count(_))
            || is_whole && self.regions == Regions::Bodies
        {
            return refused("--regions", "has no regions", "use `--sync timewarp` or `--sync lockstep`");
        }
        if sync == SyncMode::Lockstep && self.regions == Regions::Bodies {
            return refused("--regions", "has no process per body", "use `--sync timewarp`");
        }
        let has_bodies = self.regions == Regions::Bodies || is_bridged || self.history > 0.0;
        if self.gear.is_some() && (sync != SyncMode::Lockstep && sync != SyncMode::Timewarp || has_bodies) {
            return refused("--gear", "has no gears here", "use `--sync lockstep`");
        }
        if sync != SyncMode::Timewarp || has_bodies {
            return Ok(());
        }
        let of_bodies = [
            ("--trace", is_traced),
            ("--fixed-window", self.fixed_window),
            ("--memory", self.memory.is_some()),
            ("--buckets", self.buckets.is_some()),
            ("--tvht", self.tvht.is_some()),
        ];
        match of_bodies.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => {
                let problem = "has regions or one process here, and no use for it";
                refused(flag, problem, "add `--regions bodies`")
            }
            None => Ok(()),
        }
    }

    /// Says so if regions were asked for, and one store has had all bodies from the start.
    pub(super) fn tell_regions(&self, processes: Option<&ProcessSummary>) {
        let why = processes.and_then(|processes| processes.one_store);
        if let (Regions::Count(asked), Some(why)) = (self.regions, why.filter(|it| *it != OneStore::NotAsked))
        {
            console::tell(format_args!("note: --regions {asked}: one store has all bodies: {}", why.text()));
        }
    }

    /// The same in ticks of a scene.
    pub(super) fn for_scene(&self, scene: &Scene) -> Tuning {
        let ticks = |ms: f64| (ms * 1e-3 * scene.ticks_per_second).round();
        Tuning {
            window_ticks: self.window.map_or(0, |window_ms| ticks(window_ms).clamp(1.0, 1e6) as u64),
            adaptive: !self.fixed_window,
            history_ticks: ticks(self.history).clamp(0.0, 1e6) as u64,
            regions: self.regions,
            history_bytes: u64::from(self.memory.unwrap_or(MEMORY_MIB)) << 20,
            buckets: self.buckets.unwrap_or(0),
            lane: match self.tvht {
                None | Some(LaneName::Shared) => Lane::Shared,
                Some(LaneName::Actors) => Lane::Actors,
            },
            gear: match self.gear {
                None | Some(GearName::Auto) => GearChoice::Auto,
                Some(GearName::Calendar) => GearChoice::Calendar,
                Some(GearName::Near) => GearChoice::Near,
                Some(GearName::Heap) => GearChoice::Heap,
            },
            ..Tuning::default()
        }
    }
}

/// What shares one local virtual time.
fn regions(text: &str) -> Result<Regions, String> {
    match text {
        "auto" => Ok(Regions::Auto),
        "bodies" => Ok(Regions::Bodies),
        _ => match whole(text) {
            Some(regions @ 1..=64) => Ok(Regions::Count(regions as u32)),
            Some(_) | None => Err("use `auto`, `bodies`, or a number from 1 to 64".into()),
        },
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if (0.0..=1e6).contains(&number) { Ok(number) } else { Err("use a number from 0 to 1000000".into()) }
}

fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if number > 0.0 && number <= 1e6 {
        Ok(number)
    } else {
        Err("use a number above 0 and up to 1000000".into())
    }
}
