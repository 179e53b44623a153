//! What a run has to say for itself when it is over.

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

/// What an executor counts while it runs. The same for every executor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Touches that began: pairs that touch and did not touch at the tick before.
    pub contacts: u64,
    /// Pairs in touch, summed over all ticks.
    pub contact_ticks: u64,
    /// Largest overlap of any pair in touch, metres.
    pub max_overlap_m: f64,
    /// Ticks that were computed.
    pub ticks: Tick,
    /// Groups and hand-overs, if there was a bridge.
    pub bridge: Option<IslandSummary>,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Number of bodies.
    pub bodies: usize,
    /// What the executor counted.
    pub tally: Tally,
    /// What speculation did, if the executor speculates.
    pub speculation: Option<Stats>,
    /// What else was counted meanwhile, if the executor speculates. Depends on the schedule.
    pub run_stats: Option<RunStats>,
    /// What workers did, if there were workers. Times depend on the machine.
    pub overlap: Option<OverlapSummary>,
    /// Frames committed.
    pub frames: u64,
    /// Simulated seconds up to the last committed frame.
    pub seconds: f64,
    /// Energy and momentum of the first frame.
    pub start: Totals,
    /// Energy and momentum of the last frame.
    pub end: Totals,
    /// Hash of all committed frames.
    pub digest: Digest,
    /// Whether the run was ended before its time.
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

    /// Takes note of a committed frame; `is_last` if the user wants no more.
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

    /// Change of linear momentum over the run, as a share of all momentum there was. Only a closed system (no
    /// gravity, nothing static) is bound to keep it at rounding.
    pub fn momentum_drift(&self) -> f64 {
        let scale = self.start.momentum_scale.max(self.end.momentum_scale);
        if scale > 0.0 { (self.end.momentum - self.start.momentum).norm() / scale } else { 0.0 }
    }

    /// Change of energy over the run, as a share of the energy at the start.
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
