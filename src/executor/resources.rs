//! Whether a run can have the threads and the memory that it is going to take. Checked before it starts.
//!
//! The amounts per body were measured with a million bodies of `gas` (peak of the process, less what the scene and its
//! compiled form take) and rounded down: a run is refused only if it cannot fit.

use crate::executor::{Simulation, SyncMode};
use crate::memory;
use crate::runtime::shared_tvht::Lane;
use crate::scene::SceneError;

/// Threads beyond a few per core only wait for each other.
const THREADS_PER_CORE_MAX: usize = 4;
/// As many threads are allowed on any machine, so that a run of a larger one can be repeated. Not tuned.
const THREADS_MIN: usize = 32;
/// Most buckets that may be actors, about 600 bytes each.
const BUCKET_ACTORS_MAX: u32 = 1 << 16;
/// A bucket in shared memory, bytes.
const BUCKET_BYTES: u64 = 40;
/// What is used of the stack of a thread and of its event loop, bytes.
const THREAD_BYTES: u64 = 256 << 10;

impl Simulation {
    /// Checks that the run does not ask for more than this machine has.
    pub(super) fn check_resources(&self) -> Result<(), SceneError> {
        let machine = std::thread::available_parallelism().map_or(1, usize::from);
        let threads_max = (THREADS_PER_CORE_MAX * machine).max(THREADS_MIN);
        if let Some(cores) = self.cores.filter(|cores| *cores > threads_max) {
            let problem = format!("{cores} were asked for, and this machine has {machine}");
            let fix = format!("use `--cores 1` to `--cores {threads_max}`, or leave it out");
            return Err(SceneError::new("cores", problem, fix));
        }
        let buckets = self.tuning.buckets;
        if self.tuning.lane == Lane::Actors && buckets > BUCKET_ACTORS_MAX {
            let problem = format!("{buckets} actors were asked for");
            let fix = format!("use `--buckets` of at most {BUCKET_ACTORS_MAX}, or `--tvht shared`");
            return Err(SceneError::new("buckets", problem, fix));
        }
        match memory::available_bytes() {
            Some(available) => self.check_memory(available),
            None => Ok(()),
        }
    }

    fn check_memory(&self, available: u64) -> Result<(), SceneError> {
        let needed = self.run_bytes();
        if needed <= available {
            return Ok(());
        }
        let (bodies, sync) = (self.world.bodies.len(), self.sync.name());
        let problem = format!(
            "{bodies} bodies take about {} of memory with `--sync {sync}`, and {} are available",
            memory::shown(needed),
            memory::shown(available)
        );
        let sequential = self.clone().sync(SyncMode::Sequential).bridge(None);
        let fix = match sequential.run_bytes() <= available && self.world.joints.is_empty() {
            true => "use fewer bodies, or `--sync sequential`, which takes less",
            false => "use fewer bodies, or a machine with more memory",
        };
        Err(SceneError::new("body", problem, fix))
    }

    /// About how many bytes a run takes when it starts, beyond the scene and its compiled form. Histories come on top:
    /// they have a limit of their own.
    pub(crate) fn run_bytes(&self) -> u64 {
        let bodies = self.world.bodies.len() as u64;
        let per_body = match self.sync {
            SyncMode::Sequential => 400,
            SyncMode::Lockstep => 700,
            SyncMode::Timewarp | SyncMode::Chaos if !self.has_process_per_body() => 700,
            SyncMode::Timewarp => 3_200,
            SyncMode::Loop | SyncMode::Chaos | SyncMode::RollbackCheck => 2_100,
            SyncMode::Overlap => 600 + 140 * u64::from(self.overlap.workers.unwrap_or(2)),
        };
        let islands = if self.bridge.is_some() { 500 } else { 0 };
        let threads = self.cores_used() as u64 * THREAD_BYTES;
        bodies * (per_body + islands) + u64::from(self.tuning.buckets) * BUCKET_BYTES + threads
    }
}
