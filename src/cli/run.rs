//! `anachron run`: simulates a scene and prints a summary.

use std::io::{BufWriter, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::base::frame::Frame;
use crate::cli::count::count;
use crate::cli::failure::{Exit, Failure};
use crate::cli::interrupt::Interrupt;
use crate::cli::output::{Output, check_free, is_dash};
use crate::cli::overlap::OverlapArguments;
use crate::cli::progress::Progress;
use crate::cli::recorder::Recorder;
use crate::cli::source::{Changes, Source};
use crate::cli::summary::{Cost, Memory, RunSummary};
use crate::cli::tuning::TuningArguments;
use crate::cli::virtual_cores::{VirtualArguments, VirtualSummary};
use crate::cli::{console, resources};
use crate::executor::virtual_cores::SharedMachine;
use crate::executor::{Report, Simulation, SyncMode, Tracer};
use crate::scene::Scene;

const EXAMPLES: &str = "\
Examples:
  anachron run
  anachron run bouncing --set density=hi --seconds 10
  anachron run pyramid --set response.iterations=32 --record pyramid.anr
  anachron run my-scene.toml --set gravity=[0,-1.6,0] --json > result.json

  anachron scene stack --bodies 20 | anachron run -

Ctrl-C, SIGTERM and SIGHUP end a run at its next tick: the summary, the JSON object and the recording are complete up to
there, and the exit code is 128 and the number of the signal (Ctrl-C: 130). A second signal ends the program at once;
frames up to then can be read.";

/// Simulate a scenario or a scene file
///
/// The summary goes to standard output; progress, notes and warnings to standard error.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A scenario (see `anachron list`), a scene file, or a recording, to run its scene again; `-` is a scene on standard
    /// input
    #[arg(value_name = "SCENARIO|FILE|-", default_value = crate::scenarios::DEFAULT)]
    source: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// The executor. The result is the same for each, except that `overlap` has its own. If not given: `timewarp`, or
    /// `overlap` for scenes with joints, which no other executor can run
    #[arg(long, value_name = "NAME", value_parser = sync_parser())]
    sync: Option<SyncMode>,
    /// How many cores to use; if not given, all of the machine's, or one for `timewarp` and `lockstep` with fewer than 256 bodies
    #[arg(long, value_name = "C", value_parser = count::<u32>(1..=u64::MAX))]
    cores: Option<u32>,
    /// Record the frames in a file, for `render`, `export` and `diff`. A complete recording of that name is replaced, any
    /// other file is not
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Let --record replace any regular file
    #[arg(long, requires = "record")]
    force: bool,
    /// Write what every core did when to a file, for Perfetto or Chrome (`--regions bodies` only); `-` is standard output
    #[arg(long, value_name = "FILE.json|-")]
    trace: Option<PathBuf>,
    /// Write the outcome as one JSON object to standard output; the summary then goes to standard error
    #[arg(long)]
    json: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    tuning: TuningArguments,
    #[command(flatten)]
    overlap: OverlapArguments,
    #[command(flatten)]
    virtual_cores: VirtualArguments,
}

fn sync_parser() -> impl TypedValueParser<Value = SyncMode> {
    let names = PossibleValuesParser::new(SyncMode::ALL.iter().map(|(name, _)| *name));
    names.map(|chosen| {
        SyncMode::ALL.iter().find(|(name, _)| *name == chosen).map_or_else(SyncMode::default, |(_, s)| *s)
    })
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    arguments.check_files()?;
    let start_bytes = resources::rss_bytes();
    let scene = Source::of(&arguments.source).scene(&arguments.changes)?;
    let sync = arguments.sync_for(&scene);
    let bridge = arguments.overlap.bridge(sync)?;
    arguments.tuning.check(sync, arguments.trace.is_some(), bridge.is_some())?;
    let tracer = arguments.tracer(sync)?;
    let machine = arguments.virtual_cores.machine(sync)?;
    let interrupt = Interrupt::watch();
    let mut simulation = Simulation::new(&scene)?
        .sync(sync)
        .overlap(arguments.overlap.settings(sync)?)
        .bridge(bridge)
        .tuning(arguments.tuning.for_scene(&scene))
        .chaos_seed(arguments.tuning.chaos_seed())
        .stop_on(interrupt.stop());
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
    // The scene is good: only now may an older recording be replaced.
    let trace = arguments.begin_trace()?;
    let record = |path| Recorder::create(path, &scene, arguments.force);
    let recorder = arguments.record.as_deref().map(record).transpose()?;
    let done = carry_out(&scene, &simulation, machine.as_ref(), recorder, arguments.quiet);
    // The trace of a run that failed is of use too.
    let traced = match (trace, &tracer) {
        (Some(file), Some(tracer)) => write_trace(file, tracer),
        _ => Ok(()),
    };
    let (report, spent, recorded) = match (done, traced.as_ref().err()) {
        (Ok(done), _) => done,
        (Err(failure), Some(untraced)) => return Err(failure.adding(untraced)),
        (Err(failure), None) => return Err(failure),
    };
    if !arguments.quiet {
        arguments.tuning.tell_regions(report.processes.as_ref());
    }
    let memory = Memory { start_bytes, peak_bytes: resources::peak_rss_bytes() };
    let cost = Cost { wall_s: spent.wall_s, cpu_s: spent.cpu_s, memory };
    let outcome = RunSummary::new(&scene, &report, sync, cores, &cost);
    let outcome = outcome.projected(machine.as_ref().map(VirtualSummary::of));
    let printed = arguments.print(&outcome, scene.seconds);
    // What could not be written takes nothing else with it.
    let unwritten: Vec<Failure> = [recorded, traced, printed].into_iter().filter_map(Result::err).collect();
    if let Some(failure) = Failure::joined(unwritten) {
        return Err(failure);
    }
    Ok(if report.interrupted { Interrupt::exit() } else { Exit::Done })
}

/// Slices of a trace that are kept at most: about 25 MiB in memory, four times that in the file.
const SLICES_MAX: usize = 1 << 19;

impl Arguments {
    /// The executor that was asked for, or that of the library.
    fn sync_for(&self, scene: &Scene) -> SyncMode {
        self.sync.unwrap_or_else(|| SyncMode::for_scene(scene))
    }

    /// Refuses one file for two things.
    fn check_files(&self) -> Result<(), Failure> {
        let source = ("to read", self.source.as_path());
        if let Some(record) = &self.record {
            if is_dash(record) {
                return Err(Failure::bad_input("--record: a recording is no stream; name a file"));
            }
            check_free("--record", record, &[source])?;
        }
        let Some(trace) = &self.trace else { return Ok(()) };
        if is_dash(trace) && self.json {
            return Err(Failure::bad_input(
                "--trace: standard output has the JSON object of --json already; name a file, or leave --json out",
            ));
        }
        let recorded = self.record.as_deref().map(|record| ("that --record writes", record));
        check_free("--trace", trace, &[source].into_iter().chain(recorded).collect::<Vec<_>>())
    }

    fn tracer(&self, sync: SyncMode) -> Result<Option<Arc<Tracer>>, Failure> {
        if self.trace.is_some() && sync != SyncMode::Timewarp {
            return Err(Failure::bad_input(format_args!(
                "--trace: `--sync {}` runs on no arbiters, so there is nothing to trace; use `--sync timewarp --regions bodies`",
                sync.name()
            )));
        }
        Ok(self.trace.as_ref().map(|_| Arc::new(Tracer::new(SLICES_MAX))))
    }

    /// Makes sure that the trace can be written before the run begins.
    fn begin_trace(&self) -> Result<Option<Output>, Failure> {
        self.trace.as_ref().map(|path| Output::begin("--trace", path, &[])).transpose()
    }

    /// Prints the result. A summary makes room on standard output for what programs read.
    fn print(&self, outcome: &RunSummary, seconds: f64) -> Result<(), Failure> {
        let is_taken = self.json || self.trace.as_deref().is_some_and(is_dash);
        if !self.quiet {
            let summary = outcome.text(self.record.as_deref(), seconds);
            if is_taken { console::tell(summary) } else { console::print_lines([summary])? }
        }
        if self.json { console::print(&outcome.json()) } else { Ok(()) }
    }
}

fn write_trace(file: Output, tracer: &Tracer) -> Result<(), Failure> {
    let write = |sink: Box<dyn Write + Send>| -> std::io::Result<()> {
        let mut out = BufWriter::new(sink);
        tracer.write(&mut out)?;
        out.flush()
    };
    match write(file.writer()?) {
        Ok(()) => file.keep(),
        // A reader that has seen enough is no failure.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(file.failed(&error)),
    }
}

fn tell_cores(sync: SyncMode, cores: usize) {
    console::tell(format_args!("note: `--sync {}` uses {cores} core", sync.name()));
}

/// Time that a run took.
struct Spent {
    wall_s: f64,
    cpu_s: Option<f64>,
}

/// The report, what the run took, and whether its recording could be written.
type Done = (Report, Spent, Result<(), Failure>);

/// Runs to the end or to the next tick after a signal, and completes the recording.
fn carry_out(
    scene: &Scene,
    simulation: &Simulation,
    machine: Option<&SharedMachine>,
    recorder: Option<Recorder>,
    quiet: bool,
) -> Result<Done, Failure> {
    let mut progress = Progress::start(quiet);
    let (started, cpu_before) = (Instant::now(), resources::cpu_s());
    let on_frame = |frame: &Frame| {
        if let Some(recorder) = &recorder {
            recorder.write(frame);
        }
        let total_s = scene.seconds;
        progress.show(frame.time_s / total_s, |elapsed_s| {
            format!("{:.3} of {total_s:.3} s, {:.2} x real time", frame.time_s, frame.time_s / elapsed_s)
        });
        ControlFlow::Continue(())
    };
    let done = match machine {
        Some(machine) => simulation.run_virtually(machine, on_frame),
        None => simulation.run(on_frame),
    };
    let wall_s = started.elapsed().as_secs_f64();
    progress.finish();
    let report = match done {
        Ok(report) => report,
        Err(error) => {
            let failure = Failure::from(error);
            return Err(match recorder {
                Some(recorder) => recorder.give_up(failure),
                None => failure,
            });
        }
    };
    let recorded = recorder.map_or(Ok(()), |recorder| recorder.finish(&report));
    let cpu_s = resources::cpu_s().zip(cpu_before).map(|(after, before)| after - before);
    Ok((report, Spent { wall_s, cpu_s }, recorded))
}
