//! `anachron run`: simulates a scene and prints a summary.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::failure::{Exit, Failure};
use crate::cli::interrupt::Interrupt;
use crate::cli::output::Output;
use crate::cli::overlap::OverlapArguments;
use crate::cli::progress::Progress;
use crate::cli::recorder::Recorder;
use crate::cli::source::{Changes, Source};
use crate::cli::summary::{Cost, RunSummary};
use crate::cli::tuning::TuningArguments;
use crate::cli::{console, resources};
use crate::executor::{Report, RunError, Simulation, SyncMode, Tracer};
use crate::record::RecordError;
use crate::scene::Scene;

const EXAMPLES: &str = "\
Examples:
  anachron run
  anachron run bouncing --set density=hi --seconds 10
  anachron run pyramid --set response.iterations=32 --record pyramid.anr
  anachron run my-scene.toml --set gravity=[0,-1.6,0] --json > result.json

Ctrl-C ends a run at its next frame: its recording is complete up to there, the exit code is 130.
A second Ctrl-C ends the program at once.";

/// Simulate a scenario or a scene file
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A scenario (see `anachron list`) or a scene file
    #[arg(value_name = "SCENARIO|FILE.toml|FILE.json", default_value = crate::scenarios::DEFAULT)]
    source: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// The executor. The result is the same for each, except that `overlap` has its own. If not given: `timewarp`, or
    /// `overlap` for scenes with joints, which no other executor can run
    #[arg(long, value_name = "NAME", value_parser = sync_parser())]
    sync: Option<SyncMode>,
    /// How many cores to use; if not given, all of the machine's, or one for `timewarp` with fewer than 256 bodies
    #[arg(long, value_name = "C", value_parser = clap::value_parser!(u32).range(1..=4096))]
    cores: Option<u32>,
    /// Record the frames in a file, for `render`, `export` and `diff`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write what every core did when to a file, for Perfetto or Chrome (`--sync timewarp` only)
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    /// Write the outcome as one JSON object to standard output
    #[arg(long)]
    json: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    tuning: TuningArguments,
    #[command(flatten)]
    overlap: OverlapArguments,
}

fn sync_parser() -> impl TypedValueParser<Value = SyncMode> {
    let names = PossibleValuesParser::new(SyncMode::ALL.iter().map(|(name, _)| *name));
    names.map(|chosen| {
        SyncMode::ALL.iter().find(|(name, _)| *name == chosen).map_or_else(SyncMode::default, |(_, s)| *s)
    })
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let scene = Source::of(&arguments.source).scene(&arguments.changes)?;
    let sync = arguments.sync_for(&scene);
    let tracer = arguments.tracer(sync)?;
    let mut simulation = Simulation::new(&scene)?
        .sync(sync)
        .overlap(arguments.overlap.settings(sync)?)
        .bridge(arguments.overlap.bridge(sync)?)
        .tuning(arguments.tuning.for_scene(&scene))
        .chaos_seed(arguments.tuning.chaos_seed());
    if let Some(cores) = arguments.cores {
        simulation = simulation.cores(cores as usize);
    }
    if let Some(tracer) = &tracer {
        simulation = simulation.traced(tracer.clone());
    }
    let cores = simulation.cores_used();
    simulation.check()?;
    if !arguments.quiet {
        console::warn(&scene.validate()?);
        if arguments.cores.is_some_and(|asked| cores < asked as usize) {
            tell_cores(sync, cores);
        }
    }
    // The scene is good and Ctrl-C is watched for: only now may an older recording be replaced.
    let interrupt = Interrupt::watch()?;
    let trace = arguments.begin_trace()?;
    let recorder = arguments.record.as_deref().map(|path| Recorder::create(path, &scene)).transpose()?;
    let done = carry_out(&scene, &simulation, recorder, &interrupt, arguments.quiet);
    // The trace of a run that failed is of use too.
    if let (Some(file), Some(tracer)) = (trace, &tracer) {
        write_trace(file, tracer)?;
    }
    let (report, cost) = done?;
    let outcome = RunSummary::new(&scene, &report, sync, cores, &cost);
    if !arguments.quiet {
        console::tell(outcome.text(arguments.record.as_deref(), scene.seconds));
    }
    if arguments.json {
        console::print(&outcome.json())?;
    }
    Ok(if report.interrupted { Exit::Interrupted } else { Exit::Done })
}

/// Slices of a trace that are kept at most: about 25 MiB in memory, four times that in the file.
const SLICES_MAX: usize = 1 << 19;

impl Arguments {
    /// The executor that was asked for, or that of the library.
    fn sync_for(&self, scene: &Scene) -> SyncMode {
        self.sync.unwrap_or_else(|| SyncMode::for_scene(scene))
    }

    fn tracer(&self, sync: SyncMode) -> Result<Option<Arc<Tracer>>, Failure> {
        if self.trace.is_some() && sync != SyncMode::Timewarp {
            return Err(Failure::bad_input(format_args!(
                "--trace: `--sync {}` runs on no arbiters, so there is nothing to trace; use `--sync timewarp`",
                sync.name()
            )));
        }
        Ok(self.trace.as_ref().map(|_| Arc::new(Tracer::new(SLICES_MAX))))
    }

    /// Makes sure that the trace can be written before the run begins.
    fn begin_trace(&self) -> Result<Option<Output>, Failure> {
        let Some(path) = &self.trace else { return Ok(None) };
        let taken: Vec<&Path> = self.record.as_deref().into_iter().chain([self.source.as_path()]).collect();
        Output::begin_for("--trace", path, &taken).map(Some)
    }
}

fn write_trace(file: Output, tracer: &Tracer) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let mut out = BufWriter::new(File::create(file.writable())?);
        tracer.write(&mut out)?;
        out.flush()
    };
    write().map_err(|error| Failure::failed(format_args!("--trace: cannot write the trace: {error}")))?;
    file.keep()
}

fn tell_cores(sync: SyncMode, cores: usize) {
    console::tell(format_args!("note: `--sync {}` uses {cores} core", sync.name()));
}

/// Runs to the end or to the next frame after Ctrl-C, and completes the recording.
fn carry_out(
    scene: &Scene,
    simulation: &Simulation,
    mut recorder: Option<Recorder>,
    interrupt: &Interrupt,
    quiet: bool,
) -> Result<(Report, Cost), Failure> {
    let frames = simulation.world().time.frame_count();
    let mut unwritten: Option<RecordError> = None;
    let mut progress = Progress::start(quiet);
    let (started, cpu_before) = (Instant::now(), resources::cpu_s());
    let done = simulation.run(|frame| {
        if let Some(Err(error)) = recorder.as_mut().map(|recorder| recorder.write(frame)) {
            unwritten = Some(error);
            return ControlFlow::Break(());
        }
        let total_s = scene.seconds;
        progress.show(frame.time_s / total_s, |elapsed_s| {
            format!("{:.3} of {total_s:.3} s, {:.2} x real time", frame.time_s, frame.time_s / elapsed_s)
        });
        // After the last frame there is nothing left to interrupt.
        let is_last = frame.index + 1 == frames;
        if interrupt.is_requested() && !is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let wall_s = started.elapsed().as_secs_f64();
    progress.finish();
    if let Some(error) = unwritten {
        return Err(error.into());
    }
    let report = done.map_err(|error| failed(error, recorder.as_ref()))?;
    if let Some(recorder) = recorder {
        recorder.finish(&report)?;
    }
    let cpu_s = resources::cpu_s().zip(cpu_before).map(|(after, before)| after - before);
    Ok((report, Cost { wall_s, cpu_s, peak_rss_bytes: resources::peak_rss_bytes() }))
}

fn failed(error: RunError, recorder: Option<&Recorder>) -> Failure {
    let failure = Failure::from(error);
    match recorder {
        Some(recorder) => failure.adding(format_args!("{} has the frames before", recorder.path().display())),
        None => failure,
    }
}
