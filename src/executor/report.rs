//! The report of a run.

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
            frames: 0,
            seconds: 0.0,
            start: Totals::default(),
            end: Totals::default(),
            digest: Digest(0),
            interrupted: false,
        }
    }

    /// Takes note of a committed frame; `is_last` if the caller ends the run with it.
    pub(super) fn see(&mut self, world: &World, frame: &Frame, is_last: bool) {
        self.frames = frame.index + 1;
        self.seconds = frame.time_s;
        if is_last || frame.index == 0 || self.frames == world.time.frame_count() {
            self.end = Totals::of_frame(world, frame);
        }
        if frame.index == 0 {
            self.start = self.end;
        }
    }

    pub(super) fn finish(
        mut self,
        world: &World,
        tally: Tally,
        speculation: Option<(Stats, RunStats)>,
        digest: Digest,
    ) -> Self {
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
