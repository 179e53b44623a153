//! Flags of Time Warp. None of them changes a result.

use clap::{Args, ValueEnum};

use crate::executor::Tuning;
use crate::runtime::shared_tvht::Lane;
use crate::scene::Scene;

/// The lanes of the hash table, as the command line names them.
#[derive(Clone, Copy, ValueEnum)]
enum LaneName {
    Shared,
    Actors,
}

/// How Time Warp speculates; the result is the same
#[derive(Args)]
#[command(next_help_heading = "Time Warp (changes speed, never the result)")]
pub(super) struct TuningArguments {
    /// How far an entity may run ahead of GVT, in simulated milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1024.0, value_parser = positive)]
    window: f64,
    /// Use the whole window always, instead of shorter strides for entities that are often rolled back
    #[arg(long)]
    fixed_window: bool,
    /// Bodies per cluster, which share one local virtual time; or `auto`: bodies that stay in contact are clustered until
    /// they separate
    #[arg(long, value_name = "N|auto", default_value = "auto", value_parser = cluster)]
    cluster: u32,
    /// Simulated milliseconds before GVT that stay open for late inputs; frames come later by as much, and clusters do
    /// not change
    #[arg(long, value_name = "MS", default_value_t = 0.0, value_parser = not_negative)]
    history: f64,
    /// Memory for saved states, in MiB; beyond it the window shrinks
    #[arg(long, value_name = "MIB", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..))]
    memory: u32,
    /// Number of buckets of the hash table; suits the scene if not given
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    buckets: Option<u32>,
    /// Where the buckets of the hash table are: in shared memory, or each an actor of its own
    #[arg(long, value_enum, default_value_t = LaneName::Shared)]
    tvht: LaneName,
    /// Seed of the schedule of `--sync chaos`
    #[arg(long, value_name = "N", default_value_t = 0)]
    chaos_seed: u64,
}

impl TuningArguments {
    pub(super) fn chaos_seed(&self) -> u64 {
        self.chaos_seed
    }

    /// The same in ticks of a scene.
    pub(super) fn for_scene(&self, scene: &Scene) -> Tuning {
        let ticks = |ms: f64| (ms * 1e-3 * scene.ticks_per_second).round();
        Tuning {
            window_ticks: ticks(self.window).clamp(1.0, 1e6) as u64,
            adaptive: !self.fixed_window,
            history_ticks: ticks(self.history).clamp(0.0, 1e6) as u64,
            cluster: self.cluster,
            history_bytes: u64::from(self.memory) << 20,
            buckets: self.buckets.unwrap_or(0),
            lane: match self.tvht {
                LaneName::Shared => Lane::Shared,
                LaneName::Actors => Lane::Actors,
            },
            ..Tuning::default()
        }
    }
}

/// Bodies per entity; 0 for `auto`.
fn cluster(text: &str) -> Result<u32, String> {
    match text.parse() {
        _ if text == "auto" => Ok(0),
        Ok(number @ 1..=1_000_000) => Ok(number),
        _ => Err("use `auto`, or a whole number from 1 to 1000000".into()),
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
