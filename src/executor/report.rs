//! The report of a run.

use serde::Serialize;

use crate::base::digest::Digest;
use crate::base::frame::Frame;
use crate::base::time::Tick;
use crate::islands::IslandSummary;
use crate::overlap::OverlapSummary;
use crate::physics::World;
use crate::physics::energy::Totals;
use crate::protocol::Stats;
use crate::runtime::island_epochs::IslandEpochs;
use crate::runtime::shared::Shared;
use crate::runtime::stats::RunStats;

/// What an executor counts while it runs. Equal for all exact executors (see [`SyncMode`](super::SyncMode)).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Contacts that began: pairs in contact that were not in contact at the tick before.
    pub contacts: u64,
    /// Pairs in contact, summed over all ticks.
    pub contact_ticks: u64,
    /// Largest overlap of any pair in contact, metres.
    pub max_overlap_m: f64,
    /// Number of ticks that were computed.
    pub ticks: Tick,
    /// Islands and migrations, with [`Simulation::bridge`](super::Simulation::bridge).
    pub bridge: Option<IslandSummary>,
}

/// Why one store has all bodies from the start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OneStore {
    /// One region was asked for, or the run has one core and nothing was asked for.
    NotAsked,
    /// The scene has no bodies.
    NoBodies,
    /// Inputs may come while the run goes on.
    Inputs,
    /// A gear was chosen.
    Gear,
    /// There are too few bodies for two regions, and no number of regions was asked for.
    FewBodies,
    /// The scene is dense, and no number of regions was asked for.
    Dense,
    /// A body is larger than the cells of regions are made for.
    LargeBody,
}

impl OneStore {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            OneStore::NotAsked => "no more than one was asked for",
            OneStore::NoBodies => "there are no bodies",
            OneStore::Inputs => "there are inputs, which regions do not take",
            OneStore::Gear => "a gear was chosen, and gears are those of one store",
            OneStore::FewBodies => "there are few bodies",
            OneStore::Dense => "the scene is dense",
            OneStore::LargeBody => "a body is more than four times as large as the median",
        }
    }
}

/// The processes of [`SyncMode::Lockstep`](super::SyncMode::Lockstep), and of Time Warp and chaos with regions. All but
/// `regions`, `threads` and `is_optimistic` depend on the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ProcessSummary {
    /// Number of regions; 1: all bodies in one store.
    pub regions: usize,
    /// Why one store has all bodies from the start; nothing if there were regions.
    pub one_store: Option<OneStore>,
    /// Number of bodies at the start, of all of them.
    pub bodies: usize,
    /// Number of threads.
    pub threads: usize,
    /// Whether regions ran ahead and rolled back; else each waited for its neighbours.
    pub is_optimistic: bool,
    /// Epochs of regions: one, and one more for every time that the partition was changed.
    pub epochs: usize,
    /// Ticks that regions committed; all bodies were in one store for the rest of the run.
    pub region_ticks: u64,
    /// Ticks that regions computed, summed over all of them.
    pub ticks: u64,
    /// Ticks of these that were rolled back.
    pub ticks_undone: u64,
    /// Number of rollbacks.
    pub rollbacks: u64,
    /// Messages between regions, antimessages included.
    pub messages: u64,
    /// Messages of these that took back another.
    pub antimessages: u64,
    /// Messages about ticks that the receiver had done already.
    pub late_messages: u64,
    /// Messages of these that said what the receiver had computed itself.
    pub known_messages: u64,
    /// Late messages that said something new and were taken without a rollback.
    pub amended_messages: u64,
    /// Exchanges of the response that regions did together with others, summed over all of them.
    pub exchanges: u64,
    /// Wall time of the run that no tick took, seconds: dividing the scene, building regions and stores, starting and ending
    /// threads. Nothing under chaos and on virtual cores.
    pub start_stop_s: Option<f64>,
}

/// The report of a run.
///
/// Frames, digest, tally and energies are the same for all exact executors and on every machine; `overlap` and `bridge` have
/// results of their own (see [`SyncMode`](super::SyncMode)). Statistics of speculation depend on the schedule, and times on
/// the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Number of bodies of the scene, with those spawned before the run.
    pub bodies: usize,
    /// Contacts and ticks.
    pub tally: Tally,
    /// Statistics of all entities, if the executor speculates. They depend on the schedule.
    pub speculation: Option<Stats>,
    /// Messages, GVT, window, cores and memory, if the executor speculates. They depend on the schedule.
    pub run_stats: Option<RunStats>,
    /// Statistics of the workers of [`SyncMode::Overlap`](super::SyncMode::Overlap). Times depend on the machine.
    pub overlap: Option<OverlapSummary>,
    /// The processes of [`SyncMode::Lockstep`](super::SyncMode::Lockstep), and of other executors with regions.
    pub processes: Option<ProcessSummary>,
    /// Number of committed frames.
    pub frames: u64,
    /// Simulated seconds up to the last committed frame.
    pub seconds: f64,
    /// Energy and momentum of the first frame.
    pub start: Totals,
    /// Energy and momentum of the last frame.
    pub end: Totals,
    /// Hash of all committed frames.
    pub digest: Digest,
    /// Whether the run was ended before its last frame.
    pub interrupted: bool,
}

impl Report {
    pub(super) fn new(world: &World) -> Self {
        Report {
            bodies: world.bodies.len(),
            tally: Tally::default(),
            speculation: None,
            run_stats: None,
            overlap: None,
            processes: None,
            frames: 0,
            seconds: 0.0,
            start: Totals::default(),
            end: Totals::default(),
            digest: Digest(0),
            interrupted: false,
        }
    }

    /// Takes note of a committed frame.
    pub(super) fn see(&mut self, world: &World, frame: &Frame) {
        self.frames = frame.index + 1;
        self.seconds = frame.time_s;
        if frame.index == 0 {
            self.start = Totals::of_frame(world, frame);
        }
    }

    pub(super) fn finish(
        mut self,
        world: &World,
        last_frame: Option<Frame>,
        tally: Tally,
        speculation: Option<(Stats, RunStats)>,
        digest: Digest,
    ) -> Self {
        self.end = last_frame.map_or(self.start, |frame| Totals::of_frame(world, &frame));
        self.tally = tally;
        (self.speculation, self.run_stats) = speculation.unzip();
        self.digest = digest;
        self.interrupted = self.frames < world.time.frame_count();
        self
    }

    /// Change of linear momentum over the run, as a share of the sum of the momenta of all bodies. Only a closed system (no
    /// gravity, no static geometry) keeps momentum up to rounding.
    pub fn momentum_drift(&self) -> f64 {
        let scale = self.start.momentum_scale.max(self.end.momentum_scale);
        if scale > 0.0 { (self.end.momentum - self.start.momentum).norm() / scale } else { 0.0 }
    }

    /// Change of energy over the run, as a share of the energy at the start (or of the kinetic energy, if that is larger).
    pub fn energy_drift(&self) -> f64 {
        let scale = self.start.kinetic.max(self.start.energy().abs());
        if scale > 0.0 { (self.end.energy() - self.start.energy()) / scale } else { 0.0 }
    }
}

/// The tally of a finished run, from the statistics of all entities.
pub(super) fn tally(shared: &Shared, stats: &Stats, ticks: Tick) -> Tally {
    Tally {
        contacts: stats.contacts,
        contact_ticks: stats.contact_ticks,
        max_overlap_m: stats.max_overlap_m,
        ticks,
        bridge: shared.epochs.as_ref().map(IslandEpochs::summary),
    }
}
