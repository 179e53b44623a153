//! Scenes shared by workers: time, balance, errors and traffic by number of workers.

use std::ops::ControlFlow;
use std::time::Instant;

use clap::Args;

use super::super::failure::Failure;
use super::super::format::{counted, short};
use super::super::progress::Progress;
use super::Common;
use super::lists::{Numbers, numbers};
use super::overlap_sheet::{balance_section, main_section, published_section, time_section};
use super::runner::Runner;
use crate::base::math::Vec3;
use crate::bench::paper::{SHARED_SCENES, SharedScene};
use crate::bench::{Section, Spread};
use crate::cli::count::count;
use crate::cli::interrupt::Interrupt;
use crate::executor::{Simulation, SyncMode};
use crate::overlap::{JointGaps, OverlapSettings, OverlapSummary, TickReport};
use crate::overlap_bridge::OverlapCoordinator;
use crate::scenarios::{self, Request};
use crate::scene::Scene;

/// Without `--full`, scenes have the paper's number of bodies divided by this.
const SMALL_DIVISOR: u32 = 8;
/// The number of samples over time: each is the mean of successive ticks.
const SAMPLES: u64 = 60;

#[derive(Args)]
pub(super) struct Arguments {
    /// The scene; all of the paper's that are known if not given
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,
    /// Numbers of workers
    #[arg(long, value_name = "LIST", default_value = "1,2,4", value_parser = numbers)]
    workers: Numbers,
    /// Number of bodies of each scene; an eighth of the paper's if not given
    #[arg(long, value_name = "N", value_parser = count::<u32>(1..=1_000_000))]
    bodies: Option<u32>,
    /// Use as many bodies as the paper
    #[arg(long, conflicts_with = "bodies")]
    full: bool,
    /// Sweeps of the solver per tick
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = count::<u32>(1..=10_000))]
    iterations: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        let workers = numbers("1,2,4").unwrap_or(Numbers(vec![1]));
        Arguments { scenario: None, workers, bodies: None, full: false, iterations: 50 }
    }
}

/// One sample of a run over time: means over successive ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// Simulated time at the end of the sample, seconds.
    pub time_s: f64,
    /// The processor time of the slowest worker, milliseconds per tick.
    pub tick_ms: f64,
    /// The residual of the solvers, m/s.
    pub residual: f64,
    /// The sum of the gaps of joints, metres.
    pub gap_sum_m: f64,
    /// Contact points of each worker.
    pub points: Vec<f64>,
    /// Bodies of each worker.
    pub bodies: Vec<f64>,
    /// Root mean square distance of the bodies from their positions in the run with one worker, metres.
    pub apart_m: f64,
}

/// The runs of one scene with one number of workers.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub workers: u32,
    /// Wall-clock time per tick, milliseconds.
    pub wall_ms: Spread,
    /// Processor time per tick of the slowest worker and of the coordinator, milliseconds: how long a tick takes if each
    /// worker has its own core.
    pub own_core_ms: Spread,
    pub summary: OverlapSummary,
    pub samples: Vec<Sample>,
    pub ticks: u64,
}

/// One scene with all numbers of workers.
#[derive(Clone, Debug)]
pub(super) struct OfScene {
    pub published: SharedScene,
    pub bodies: usize,
    pub joints: usize,
    pub seconds: f64,
    pub diagonal_m: f64,
    pub runs: Vec<Shared>,
}

pub(super) fn measure(
    runner: &mut Runner,
    arguments: &Arguments,
    common: &Common,
) -> Result<Vec<Section>, Failure> {
    let wanted =
        |scene: &&SharedScene| arguments.scenario.as_deref().is_none_or(|name| name == scene.scenario);
    let scenes: Vec<&SharedScene> = SHARED_SCENES.iter().filter(wanted).collect();
    if scenes.is_empty() {
        let known = SHARED_SCENES.iter().map(|scene| scene.scenario);
        let name = arguments.scenario.clone().unwrap_or_default();
        let fix = crate::scene::suggest::suggest(&name, known);
        return Err(Failure::bad_input(format_args!("`{name}` is not one of the shared scenes; {fix}")));
    }
    let mut measured = Vec::new();
    for scene in scenes {
        measured.push(measure_scene(runner, arguments, common, scene)?);
    }
    let cores = super::super::resources::cores();
    let mut sections = vec![published_section(&measured, cores)];
    for scene in &measured {
        sections.push(main_section(scene, cores, common.repeat, arguments.iterations));
        sections.push(time_section(scene));
        sections.push(balance_section(scene));
    }
    Ok(sections)
}

fn measure_scene(
    runner: &Runner,
    arguments: &Arguments,
    common: &Common,
    published: &SharedScene,
) -> Result<OfScene, Failure> {
    let scenario = published.scenario;
    let bodies = if arguments.full { published.bodies } else { published.bodies / SMALL_DIVISOR };
    let bodies = arguments.bodies.unwrap_or(bodies);
    let seconds = common.seconds.unwrap_or(if scenario == "bowl" { 4.0 } else { 2.0 });
    let request = Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() };
    let mut scene = scenarios::build(scenario, &request)?;
    scene.group.iterations = arguments.iterations;
    // One worker comes first: the other runs are compared with it.
    let mut counts = arguments.workers.0.clone();
    counts.retain(|count| *count != 1);
    counts.insert(0, 1);
    let mut runs: Vec<Shared> = Vec::new();
    let mut reference: Vec<Vec<Vec3>> = Vec::new();
    let mut progress = Progress::start(common.quiet);
    let total = counts.len() * common.repeat as usize;
    for done in 0..total {
        let index = done % counts.len();
        let workers = counted(u64::from(counts[index]), "worker", "workers");
        progress.show(done as f64 / total as f64, |_| format!("overlap {scenario}: {workers}"));
        let run = run_once(runner, &scene, counts[index], &mut reference)?;
        match runs.get_mut(index) {
            None => runs.push(run),
            Some(known) => {
                known.wall_ms.add(run.wall_ms.median());
                known.own_core_ms.add(run.own_core_ms.median());
            }
        }
    }
    progress.finish();
    Ok(OfScene {
        published: *published,
        bodies: scene.bodies.len(),
        joints: scene.joints.len(),
        seconds,
        diagonal_m: diagonal(&scene),
        runs,
    })
}

/// The diagonal of the box around all bodies at the start, metres.
fn diagonal(scene: &Scene) -> f64 {
    let at = || scene.bodies.iter().map(|body| Vec3::from(body.position));
    let low = at().fold(Vec3::repeat(f64::INFINITY), |low, x| low.inf(&x));
    let high = at().fold(Vec3::repeat(f64::NEG_INFINITY), |high, x| high.sup(&x));
    (high - low).norm()
}

/// Runs the scene once. `reference` are the positions of the bodies with one worker, sample by sample; the first run with
/// one worker fills it in.
fn run_once(
    runner: &Runner,
    scene: &Scene,
    workers: u32,
    reference: &mut Vec<Vec<Vec3>>,
) -> Result<Shared, Failure> {
    let settings = OverlapSettings { workers: Some(workers), measures: true, ..OverlapSettings::default() };
    let simulation = Simulation::new(scene)?.sync(SyncMode::Overlap).overlap(settings);
    simulation.check()?;
    let world = simulation.world().clone();
    let ticks = world.time.last_tick.max(1);
    let every = ticks.div_ceil(SAMPLES);
    let mut samples: Vec<Sample> = Vec::new();
    let mut sum = OverlapSummary::default();
    let mut since = None;
    let is_reference = workers == 1 && reference.is_empty();
    let begun = Instant::now();
    let mut on_tick = |tick: u64, coordinator: &OverlapCoordinator, report: &TickReport| {
        if since.is_none() {
            let parameters = coordinator.parameters();
            sum = OverlapSummary::new(parameters.workers, parameters.gamma);
            since = Some(tick);
        }
        sum.add(report);
        if (tick + 1).is_multiple_of(every) || tick + 1 == ticks {
            let number = (tick + 1 - since.take().unwrap_or(tick)) as f64;
            let positions = coordinator.states().iter().map(|state| state.x);
            let apart = reference.get(samples.len()).map_or(0.0, |others: &Vec<Vec3>| {
                let squares: f64 = positions.clone().zip(others).map(|(a, b)| (a - b).norm_squared()).sum();
                (squares / others.len() as f64).sqrt()
            });
            if is_reference {
                reference.push(positions.collect());
            }
            samples.push(Sample {
                time_s: world.time.span_s(0, tick + 1),
                tick_ms: sum.slowest_worker_cpu_s / number * 1e3,
                residual: sum.residual_mean_mps.unwrap_or(0.0),
                gap_sum_m: JointGaps::of(&world, coordinator.states()).sum_m,
                points: sum.contact_points_mean.clone(),
                bodies: sum.bodies_mean.clone(),
                apart_m: if is_reference { 0.0 } else { apart },
            });
        }
    };
    let report = simulation.run_watched(&mut on_tick, |_| match runner.is_interrupted() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })?;
    if runner.is_interrupted() {
        return Err(Interrupt::failure());
    }
    let wall_s = begun.elapsed().as_secs_f64();
    let summary = report.overlap.unwrap_or_default();
    let per_tick = |seconds: f64| Spread::of([seconds / ticks as f64 * 1e3]);
    Ok(Shared {
        workers,
        wall_ms: per_tick(wall_s),
        own_core_ms: per_tick(summary.slowest_worker_cpu_s + summary.coordinator_cpu_s),
        summary,
        samples,
        ticks,
    })
}

/// Four digits; empty if the number is not finite.
pub(super) fn cell(number: f64) -> String {
    if number.is_finite() { short(number) } else { String::new() }
}
