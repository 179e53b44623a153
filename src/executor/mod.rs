//! Executors: how a scene is run. All but [`overlap`] commit the same frames, to the bit; [`sequential`] defines them.

mod actor_system;
pub mod adversarial_schedule;
pub(crate) mod arbiters;
pub(crate) mod epoch;
pub(crate) mod lockstep;
pub mod overlap;
pub(crate) mod region_chaos;
pub(crate) mod regions;
mod report;
mod resources;
pub mod sequential;
mod sequential_islands;
pub mod single_thread;
pub(crate) mod sync_rule;
#[cfg(test)]
mod tests;
pub mod timewarp;
pub(crate) mod virtual_cores;

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::base::digest::Digester;
use crate::base::frame::Frame;
use crate::base::stop::Stop;
use crate::executor::lockstep::Drive;
use crate::executor::regions::SyncRule;
use crate::executor::virtual_cores::SharedMachine;
use crate::islands::{IslandModel, IslandSettings};
use crate::overlap::OverlapSettings;
use crate::physics::World;
use crate::protocol::Stats;
use crate::rigid::RigidModel;
pub use crate::runtime::error::RunError;
use crate::runtime::inputs::Inputs;
pub use crate::runtime::shared::{Regions, Tuning};
pub use crate::runtime::stats::RunStats;
pub use crate::runtime::trace::Tracer;
use crate::scene::{Scene, SceneError};
pub use report::{OneStore, ProcessSummary, Report, Tally};

/// The executor of a run.
///
/// Exact executors commit the same frames as the sequential loop, to the bit, and so the same digest: `Sequential`,
/// `Lockstep`, `Timewarp`, `Loop`, `Chaos` and `RollbackCheck`, on any number of cores and with any [`Tuning`]. `Overlap` has a result of
/// its own, which depends on the number of workers. [`Simulation::bridge`] has a result of its own as well, and with equal
/// settings it is the same for all exact executors.
///
/// The default is [`SyncMode::Timewarp`], for the library and for the command line alike; scenes with joints need
/// [`SyncMode::Overlap`] (see [`SyncMode::for_scene`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// The plain loop over ticks, which defines the result.
    Sequential,
    /// The plain loop on flat arrays, on all cores where bodies touch. Exact.
    Lockstep,
    /// Time Warp: processes run ahead of each other and roll back. They are regions of space where a scene is thin and has
    /// many bodies; any other is one process, and all cores share its loops. [`Regions::Bodies`]: a process per body, on actors. Exact. The
    /// default.
    #[default]
    Timewarp,
    /// The protocol of one process per body on one thread without actors, in a sensible order. Exact.
    Loop,
    /// The same in an adversarial order, to find faults; [`Simulation::chaos_seed`] chooses which. With
    /// [`Regions::Count`]: regions in an adversarial order. Exact.
    Chaos,
    /// The same as `Loop`, with every step rolled back and done again. Exact.
    RollbackCheck,
    /// All bodies in contact solved together, by workers with overlapping sets of bodies. Its result is its own, and depends
    /// on the number of workers and the other [settings](Simulation::overlap), not on the number of cores. The only one
    /// that knows joints.
    Overlap,
}

impl SyncMode {
    /// All executors, with their names on the command line.
    pub const ALL: &[(&str, SyncMode)] = &[
        ("sequential", SyncMode::Sequential),
        ("lockstep", SyncMode::Lockstep),
        ("timewarp", SyncMode::Timewarp),
        ("loop", SyncMode::Loop),
        ("chaos", SyncMode::Chaos),
        ("rollback-check", SyncMode::RollbackCheck),
        ("overlap", SyncMode::Overlap),
    ];

    /// The exact executors: all of them have the same result, to the bit.
    pub fn same_result() -> impl Iterator<Item = (&'static str, SyncMode)> {
        Self::ALL.iter().copied().filter(|(_, sync)| *sync != SyncMode::Overlap)
    }

    /// The executor of a scene if none is chosen: [`SyncMode::Overlap`] if it has joints, else the default.
    pub fn for_scene(scene: &Scene) -> Self {
        if scene.joints.is_empty() { SyncMode::default() } else { SyncMode::Overlap }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, sync)| *sync == self).map_or("unknown", |(name, _)| name)
    }
}

/// Time Warp uses one core for fewer bodies than this by default: messages between cores cost more than they
/// save. Measured: four scenes of 200 bodies on two cores ran at 0.82 to 1.01 times the speed of one core
/// (`docs/performance.md`). The limit itself is not tuned.
const BODIES_FOR_CORES: usize = 256;

/// A run of an executor that speculates.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The compiled scene.
    pub model: &'a RigidModel,
    /// How far entities run ahead, and the like.
    pub tuning: &'a Tuning,
    /// The inputs, if there may be some.
    pub inputs: Option<&'a Inputs>,
    /// Ends the run early.
    pub stop: &'a Stop,
}

/// A scene made ready to run.
///
/// The executor is chosen by [`Simulation::sync`]; cores and tuning never change the result. What does change it: the scene,
/// inputs, [`SyncMode::Overlap`] with its settings, and [`Simulation::bridge`].
///
/// ```
/// use anachron::scene::{Body, Scene, Shape, StaticObject};
/// use anachron::{ControlFlow, Simulation};
///
/// let mut scene = Scene { seconds: 1.0, ..Scene::default() };
/// scene.statics.push(StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3]));
/// scene.bodies.push(Body::new(Shape::Sphere { radius: 0.5 }, [0.0, 2.0, 0.0]));
/// let report = Simulation::new(&scene)?.run(|frame| {
///     println!("{:.3} s: height {:.3} m", frame.time_s, frame.bodies[0].1.x.y);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(report.frames, 61);
/// # Ok::<(), anachron::RunError>(())
/// ```
#[derive(Clone)]
pub struct Simulation {
    world: Arc<World>,
    sync: SyncMode,
    /// As many as suit the run if nothing is given: see [`Simulation::cores_used`].
    cores: Option<usize>,
    tuning: Tuning,
    chaos_seed: u64,
    /// The scene without its bodies, to check spawned bodies with.
    template: Scene,
    inputs: Option<Inputs>,
    tracer: Option<Arc<Tracer>>,
    overlap: OverlapSettings,
    bridge: Option<IslandSettings>,
    stop: Stop,
}

impl Simulation {
    /// Checks and compiles a scene. Scenes with joints are run by [`SyncMode::Overlap`], others by
    /// [`SyncMode::Timewarp`], unless [`Simulation::sync`] chooses another executor. Time Warp uses all cores of the
    /// machine, or one for a scene of fewer than 256 bodies, unless [`Simulation::cores`] says how many.
    pub fn new(scene: &Scene) -> Result<Self, SceneError> {
        Ok(Simulation {
            world: Arc::new(World::new(scene)?),
            sync: SyncMode::for_scene(scene),
            cores: None,
            tuning: Tuning::default(),
            chaos_seed: 0,
            template: scene.without_objects(),
            inputs: None,
            tracer: None,
            overlap: OverlapSettings::default(),
            bridge: None,
            stop: Stop::default(),
        })
    }

    /// Uses this many cores where the executor can. The result stays the same.
    pub fn cores(mut self, cores: usize) -> Self {
        self.cores = Some(cores.max(1));
        self
    }

    /// How many cores a run uses: those that were asked for, or all of the machine's; one for a small scene under
    /// [`SyncMode::Timewarp`] if nothing was asked for, and one for executors that have a single thread.
    pub fn cores_used(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        match self.sync {
            SyncMode::Timewarp | SyncMode::Lockstep if self.world.bodies.len() < BODIES_FOR_CORES => {
                self.cores.unwrap_or(1)
            }
            SyncMode::Timewarp | SyncMode::Lockstep | SyncMode::Overlap => self.cores.unwrap_or_else(all),
            SyncMode::Sequential | SyncMode::Loop | SyncMode::Chaos | SyncMode::RollbackCheck => 1,
        }
    }

    /// Sets how bodies are divided among processes, and how far those run ahead. The result stays the same.
    pub fn tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// Chooses the order of [`SyncMode::Chaos`]. The result stays the same.
    pub fn chaos_seed(mut self, seed: u64) -> Self {
        self.chaos_seed = seed;
        self
    }

    /// Traces the work of every core of [`SyncMode::Timewarp`] with [`Regions::Bodies`]. The result stays the same.
    pub fn traced(mut self, tracer: Arc<Tracer>) -> Self {
        self.tracer = Some(tracer);
        self
    }

    /// Ends a run at its next tick once `stop` is requested, as a frame's receiver can at every frame.
    pub fn stop_on(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Sets how [`SyncMode::Overlap`] divides the work. Changes its result.
    pub fn overlap(mut self, settings: OverlapSettings) -> Self {
        self.overlap = settings;
        self
    }

    /// Lets bodies that stay in contact form islands, which are solved together; `None` does not, and is the default.
    /// Changes the result, which then depends on the settings, but not on which of the exact executors runs it.
    pub fn bridge(mut self, settings: Option<IslandSettings>) -> Self {
        self.bridge = settings;
        self
    }

    /// Checks whether this executor can run this scene with these settings, on this machine.
    pub fn check(&self) -> Result<(), SceneError> {
        self.check_settings()?;
        self.check_resources()
    }

    /// Whether every body is a process of its own.
    pub(crate) fn has_process_per_body(&self) -> bool {
        let is_asked_for = match self.tuning.regions {
            Regions::Auto => self.bridge.is_some() || self.tuning.history_ticks > 0,
            Regions::Count(_) => false,
            Regions::Bodies => true,
        };
        match self.sync {
            SyncMode::Timewarp => is_asked_for,
            SyncMode::Chaos => is_asked_for || self.tuning.regions == Regions::Auto,
            SyncMode::Loop | SyncMode::RollbackCheck => true,
            SyncMode::Sequential | SyncMode::Lockstep | SyncMode::Overlap => false,
        }
    }

    fn check_settings(&self) -> Result<(), SceneError> {
        let has_count = matches!(self.tuning.regions, Regions::Count(_));
        if has_count && self.tuning.history_ticks > 0 {
            let problem = "`--history` keeps time open for late inputs, which regions do not take";
            return Err(SceneError::new("regions", problem, "leave `--regions` or `--history` out"));
        }
        if let Some(settings) = &self.bridge {
            self.check_bridge(settings)?;
        }
        if self.sync == SyncMode::Overlap {
            if self.inputs.is_some() {
                let fix = "act on the scene before it runs, or use another executor";
                return Err(SceneError::new("inputs", "`--sync overlap` takes no inputs while it runs", fix));
            }
            return self.overlap.resolve(&self.world).map(|_| ());
        }
        if self.world.joints.is_empty() {
            return Ok(());
        }
        let problem =
            format!("`--sync {}` treats every body by itself and knows no joints", self.sync.name());
        Err(SceneError::new("joint", problem, "use `--sync overlap`, or take the joints out of the scene"))
    }

    fn check_bridge(&self, settings: &IslandSettings) -> Result<(), SceneError> {
        let rejected = |problem: &str, fix| Err(SceneError::new("bridge", problem, fix));
        if !self.world.joints.is_empty() {
            let problem = "`--bridge auto` knows no joints, and this scene has some";
            return rejected(
                problem,
                "use `--sync overlap` without `--bridge`, or take the joints out of the scene",
            );
        }
        if self.sync == SyncMode::Overlap {
            let problem = "`--sync overlap` solves all bodies together, so there are no islands to form";
            return rejected(problem, "leave `--bridge` out, or use `--sync timewarp`");
        }
        if self.sync == SyncMode::Lockstep {
            let problem = "`--sync lockstep` forms no islands";
            return rejected(problem, "leave `--bridge` out, or use `--sync timewarp`");
        }
        if self.inputs.is_some() {
            let problem = "a run with `--bridge auto` takes no inputs while it goes on";
            return rejected(problem, "act on the scene before it runs, or leave `--bridge` out");
        }
        if self.tuning.history_ticks > 0 {
            let problem = "`--history` keeps time open in which `--bridge auto` has to decide";
            return rejected(problem, "leave `--history` or `--bridge` out");
        }
        if matches!(self.tuning.regions, Regions::Count(_)) {
            let problem = "regions of space form no islands";
            return rejected(problem, "leave `--regions` or `--bridge` out");
        }
        IslandModel::new(&self.world, *settings).map(|_| ())
    }

    /// Chooses the executor. The result stays the same between exact ones; see [`SyncMode`].
    pub fn sync(mut self, sync: SyncMode) -> Self {
        self.sync = sync;
        self
    }

    /// A handle that gives inputs to this simulation, and to clones made of it from now on, before and while it runs.
    pub fn inputs(&mut self) -> Inputs {
        if self.inputs.is_none() {
            // Spawned bodies belong to this simulation only, and others may share the world.
            self.world = Arc::new(World::clone(&self.world));
        }
        self.inputs.get_or_insert_with(|| Inputs::new(self.template.clone(), self.world.clone())).clone()
    }

    /// The compiled scene.
    #[doc(hidden)]
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Runs to the end of the scene, until `on_frame` breaks, or until a [stop](Simulation::stop_on) is requested. Frames
    /// arrive in order, each exactly once.
    pub fn run(&self, on_frame: impl FnMut(&Frame) -> ControlFlow<()>) -> Result<Report, RunError> {
        self.run_watched(&mut |_, _, _| {}, on_frame)
    }

    /// The same, with a call for every tick of [`SyncMode::Overlap`].
    #[doc(hidden)]
    pub fn run_watched(
        &self,
        on_tick: overlap::OnTick,
        on_frame: impl FnMut(&Frame) -> ControlFlow<()>,
    ) -> Result<Report, RunError> {
        self.run_on(None, on_tick, on_frame)
    }

    /// Runs on a machine in virtual time: [`SyncMode::Lockstep`] and [`SyncMode::Timewarp`], without inputs.
    pub(crate) fn run_virtually(
        &self,
        machine: &SharedMachine,
        on_frame: impl FnMut(&Frame) -> ControlFlow<()>,
    ) -> Result<Report, RunError> {
        machine.borrow_mut().clock.restart();
        self.run_on(Some(machine), &mut |_, _, _| {}, on_frame)
    }

    // Long: one executor after the other.
    fn run_on(
        &self,
        machine: Option<&SharedMachine>,
        on_tick: overlap::OnTick,
        mut on_frame: impl FnMut(&Frame) -> ControlFlow<()>,
    ) -> Result<Report, RunError> {
        self.check()?;
        let mut digester = Digester::new();
        let mut report = Report::new(&self.world);
        let mut last_frame = None;
        let mut sink = |frame: Frame| {
            digester.add(&frame);
            let flow = on_frame(&frame);
            report.see(&self.world, &frame);
            // Any frame may be the last.
            last_frame = Some(frame);
            flow
        };
        let islands = self.bridge.map(|settings| IslandModel::new(&self.world, settings)).transpose()?;
        let model = RigidModel::new(self.world.clone()).with_islands(islands.map(Arc::new));
        let job = Job { model: &model, tuning: &self.tuning, inputs: self.inputs.as_ref(), stop: &self.stop };
        let (mut workers, mut processes) = (None, None);
        let on_cores = |rule| machine.map_or(Drive::Threads(rule), |machine| Drive::Virtual(rule, machine));
        let cores = machine.map_or_else(|| self.cores_used(), |machine| machine.borrow().cores);
        let mut in_regions = |drive: Drive, sink: &mut dyn FnMut(Frame) -> ControlFlow<()>| {
            let (tally, summary) = lockstep::run(job, drive, cores, sink)?;
            processes = Some(summary);
            Ok::<_, RunError>((tally, None))
        };
        let (tally, speculation) = match self.sync {
            SyncMode::Sequential => (sequential::run(&model, job.inputs, job.stop, &mut sink)?, None),
            SyncMode::Lockstep => in_regions(on_cores(SyncRule::Conservative), &mut sink)?,
            SyncMode::Timewarp
                if self.has_process_per_body()
                    && let Some(machine) = machine =>
            {
                with_stats(virtual_cores::run_actors(job, machine, &mut sink)?)
            }
            SyncMode::Timewarp if self.has_process_per_body() => {
                with_stats(timewarp::run(job, self.cores_used(), self.tracer.clone(), &mut sink)?)
            }
            SyncMode::Timewarp => in_regions(on_cores(SyncRule::Optimistic), &mut sink)?,
            SyncMode::Chaos if !self.has_process_per_body() => {
                in_regions(Drive::Chaos { seed: self.chaos_seed }, &mut sink)?
            }
            SyncMode::Loop => with_stats(single_thread::run(job, single_thread::Order::Sensible, &mut sink)?),
            SyncMode::RollbackCheck => {
                with_stats(single_thread::run(job, single_thread::Order::Twice, &mut sink)?)
            }
            SyncMode::Chaos => with_stats(single_thread::run(
                job,
                single_thread::Order::Adversarial(self.chaos_seed),
                &mut sink,
            )?),
            SyncMode::Overlap => {
                let (tally, summary) =
                    overlap::run(&self.world, self.overlap, self.cores_used(), job.stop, on_tick, &mut sink)?;
                workers = Some(summary);
                (tally, None)
            }
        };
        let report = report.finish(&self.world, last_frame, tally, speculation, digester.digest());
        let is_stopped = self.stop.is_requested() && tally.ticks < self.world.time.last_tick;
        Ok(Report { overlap: workers, processes, interrupted: report.interrupted || is_stopped, ..report })
    }
}

fn with_stats((tally, stats, run_stats): (Tally, Stats, RunStats)) -> (Tally, Option<(Stats, RunStats)>) {
    (tally, Some((stats, run_stats)))
}
