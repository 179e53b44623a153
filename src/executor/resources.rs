//! Whether a run can have the threads and the memory that it is going to take. Checked before it starts.
//!
//! The amounts per body were measured with a million bodies of `gas` (peak of the process, less what the scene and its
//! compiled form take) and rounded down: a run is refused only if it cannot fit. That of a region was measured with
//! 300,000 bodies in 2, 4 and 16 regions: 160 to 190 bytes per body and region.

use crate::executor::{Simulation, SyncMode, lockstep};
use crate::memory;
use crate::runtime::shared::Regions;
use crate::runtime::shared_tvht::Lane;
use crate::scene::SceneError;
use crate::store::REGIONS_MAX;

/// Threads beyond a few per core only wait for each other.
const THREADS_PER_CORE_MAX: usize = 4;
/// As many threads are allowed on any machine, so that a run of a larger one can be repeated. Not tuned.
const THREADS_MIN: usize = 32;
/// Most buckets that may be actors, about 600 bytes each.
const BUCKET_ACTORS_MAX: u32 = 1 << 16;
/// A bucket in shared memory, bytes.
const BUCKET_BYTES: u64 = 40;
/// A body in one store, or in two regions, bytes.
const STORE_BODY_BYTES: u64 = 700;
/// A body in every region beyond two, bytes: arrays of a region have room for all bodies of the scene.
const REGION_BODY_BYTES: u64 = 160;
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
        let asked = self.regions_asked_for();
        if self.run_bytes(asked) <= available {
            return Ok(());
        }
        // Only now is it worth its time to find out whether the scene is cut into regions at all.
        let regions = match self.sync {
            SyncMode::Chaos => asked,
            _ => lockstep::region_count(&self.world, &self.tuning, self.inputs.is_some(), asked),
        };
        let needed = self.run_bytes(regions);
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
        let fix = match () {
            () if regions > 1 && self.run_bytes(1) <= available => {
                "use fewer regions (`--regions N`), or fewer bodies"
            }
            () if sequential.run_bytes(1) <= available && self.world.joints.is_empty() => {
                "use fewer bodies, or `--sync sequential`, which takes less"
            }
            () => "use fewer bodies, or a machine with more memory",
        };
        Err(SceneError::new("body", problem, fix))
    }

    /// How many regions a run has at most.
    fn regions_asked_for(&self) -> usize {
        let has_regions = match self.sync {
            SyncMode::Lockstep => true,
            SyncMode::Timewarp | SyncMode::Chaos => !self.has_process_per_body(),
            SyncMode::Sequential | SyncMode::Loop | SyncMode::RollbackCheck | SyncMode::Overlap => false,
        };
        match self.tuning.regions {
            _ if !has_regions => 1,
            Regions::Count(regions) => (regions as usize).min(REGIONS_MAX),
            Regions::Auto | Regions::Bodies => self.cores_used(),
        }
    }

    /// About how many bytes a run takes when it starts, beyond the scene and its compiled form. Histories come on top:
    /// they have a limit of their own.
    fn run_bytes(&self, regions: usize) -> u64 {
        let bodies = self.world.bodies.len() as u64;
        let in_regions = STORE_BODY_BYTES + REGION_BODY_BYTES * (regions as u64).saturating_sub(2);
        let per_body = match self.sync {
            SyncMode::Sequential => 400,
            SyncMode::Lockstep => in_regions,
            SyncMode::Timewarp | SyncMode::Chaos if !self.has_process_per_body() => in_regions,
            SyncMode::Timewarp => 3_200,
            SyncMode::Loop | SyncMode::Chaos | SyncMode::RollbackCheck => 2_100,
            SyncMode::Overlap => 600 + 140 * u64::from(self.overlap.workers.unwrap_or(2)),
        };
        let islands = if self.bridge.is_some() { 500 } else { 0 };
        let threads = self.cores_used() as u64 * THREAD_BYTES;
        bodies * (per_body + islands) + u64::from(self.tuning.buckets) * BUCKET_BYTES + threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::shared::Tuning;
    use crate::scenarios::{Request, build};

    #[test]
    fn regions_are_counted() {
        let scene = build("gas", &Request { bodies: Some(300), ..Request::default() }).unwrap();
        let simulation = Simulation::new(&scene).unwrap().cores(2);
        let tuned = |regions| simulation.clone().tuning(Tuning { regions, ..Tuning::default() });
        let asked = |simulation: &Simulation| simulation.regions_asked_for();
        assert_eq!(asked(&simulation), 2);
        assert_eq!(asked(&tuned(Regions::Count(64))), 64);
        assert_eq!(asked(&tuned(Regions::Bodies)), 1);
        assert_eq!(asked(&simulation.clone().sync(SyncMode::Sequential)), 1);
        let (few, many) = (simulation.run_bytes(2), simulation.run_bytes(64));
        assert_eq!(many - few, 62 * 300 * REGION_BODY_BYTES);
        // What fits with one store is not refused where regions are not used, and refused where they are.
        let tight = few + 1;
        assert!(simulation.check_memory(tight).is_ok());
        let refused = tuned(Regions::Count(64)).check_memory(tight).unwrap_err().to_string();
        assert!(refused.contains("fewer regions"), "{refused}");
        let with_inputs = &mut tuned(Regions::Count(64));
        with_inputs.inputs();
        assert!(with_inputs.check_memory(tight).is_ok());
    }
}
