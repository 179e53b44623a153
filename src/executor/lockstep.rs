//! Regions of space, each with its bodies in flat arrays: the plain loop's result, several times as fast.
//!
//! Thin scenes are cut into regions ([`regions`](super::regions)). Where contacts reach across borders farther than a
//! region knows, and in dense scenes from the start, one store has all bodies, and threads share its loops.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use crate::base::frame::Frame;
use crate::base::lanes::LaneChoice;
use crate::base::team::Team;
use crate::base::time::Tick;
use crate::executor::epoch::{Ending, RegionsRun};
use crate::executor::region_chaos::{self, Random};
use crate::executor::regions::{self, SyncRule};
use crate::executor::virtual_cores::{self, SharedMachine};
use crate::executor::{Job, OneStore, ProcessSummary, Regions, RunError, Tally, Tuning};
use crate::physics::World;
use crate::runtime::affinity::pin_briefly;
use crate::runtime::inputs;
use crate::runtime::inputs::tick_queue::TickQueue;
use crate::store::{Counts, Cut, GearChoice, Partition, REGIONS_MAX, RegionStats, Setup, Store, StoreError};

/// Cells of regions are at least so many times as wide as two bodies in contact; else the scene is dense. Not tuned.
const WIDE: f64 = 1.5;

/// Cells are at most so many times as wide if regions are asked for: bodies that are too fast for them end regions. Not tuned.
const WIDEST: f64 = 2.5;

/// How regions are driven.
#[derive(Clone, Copy)]
pub(crate) enum Drive<'m> {
    /// On threads.
    Threads(SyncRule),
    /// On one thread in an adversarial order.
    Chaos {
        /// Decides the order.
        seed: u64,
    },
    /// On virtual cores.
    Virtual(SyncRule, &'m SharedMachine),
}

/// Runs the world to its last tick, until `sink` breaks, or until a stop is requested.
pub(crate) fn run(
    job: Job,
    drive: Drive,
    cores: usize,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, ProcessSummary), RunError> {
    let begun = Instant::now();
    let mut ticks_s = Some(0.0);
    let (tally, summary) = run_timed(job, drive, cores, &mut ticks_s, sink)?;
    let start_stop_s = ticks_s.map(|ticks_s| begun.elapsed().as_secs_f64() - ticks_s);
    Ok((tally, ProcessSummary { start_stop_s, ..summary }))
}

/// The same; adds the wall time of all ticks to `ticks_s`, and takes it away where it is not measured.
// Long: one way of driving regions after the other.
fn run_timed(
    job: Job,
    drive: Drive,
    cores: usize,
    ticks_s: &mut Option<f64>,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, ProcessSummary), RunError> {
    let world = &*job.model.world;
    let (tick_queue, _opened) = inputs::open(job.inputs, |known| {
        let tick_queue = Arc::new(TickQueue::new(known));
        (tick_queue.clone(), tick_queue)
    })?;
    let mut cut = Cut::start(world);
    let mut tally = Tally::default();
    let bodies = cut.flights.len();
    let mut summary = ProcessSummary { regions: 1, bodies, threads: cores, ..ProcessSummary::default() };
    let wanted = match job.tuning.regions {
        Regions::Count(regions) => regions as usize,
        Regions::Auto | Regions::Bodies => cores,
    };
    let mut random = Random::new(if let Drive::Chaos { seed } = drive { seed } else { 0 });
    let mut stats = RegionStats::default();
    let mut without = without_regions(world, job.tuning, job.inputs.is_some(), wanted);
    while without.is_none() {
        let cuts = match drive {
            Drive::Chaos { .. } => {
                let any = region_chaos::partition(world, &cut, wanted.min(REGIONS_MAX), &mut random);
                if has_large(world, &any) { Err(OneStore::LargeBody) } else { Ok(any) }
            }
            Drive::Threads(_) | Drive::Virtual(..) => partition(world, &cut, wanted, job.tuning),
        };
        let cuts = match cuts {
            Ok(cuts) => cuts,
            Err(why) => {
                without = Some(why);
                break;
            }
        };
        let run = match drive {
            Drive::Threads(rule) => regions::run(job, cut, &cuts, rule, cores, sink)?,
            Drive::Virtual(rule, machine) => {
                virtual_cores::run_regions(job, &cut, &cuts, rule, machine, sink)
            }
            Drive::Chaos { .. } => region_chaos::run(world, &cut, &cuts, &mut random, job.stop, sink),
        };
        stats.add(&run.stats);
        summary = summary_of(cuts.regions, &run, &stats, summary);
        tally.add(&run.counts);
        tally.ticks = run.tick.saturating_sub(1);
        *ticks_s = ticks_s.zip(run.ticks_s).map(|(all, more)| all + more);
        match run.cut {
            Some(rest) => cut = rest,
            None => return Ok((tally, summary)),
        }
        if run.ending != Ending::Unbalanced {
            break;
        }
    }
    if summary.epochs == 0 {
        summary.one_store = without;
    }
    let store = |is_built: &dyn Fn()| run_store(job, cut, &tick_queue, &mut tally, is_built, sink);
    let store_s = match drive {
        Drive::Virtual(_, machine) => {
            let is_built = || {
                let machine = &mut *machine.borrow_mut();
                machine.serial();
                machine.begin_ticks(machine.now);
            };
            virtual_cores::lead(machine, || store(&is_built)).map(|_| None)?
        }
        Drive::Threads(_) | Drive::Chaos { .. } => {
            let team = Team::start(cores, pin_briefly).map_err(RunError::no_thread)?;
            team.lead(|| store(&|| ())).map(Some)?
        }
    };
    *ticks_s = ticks_s.zip(store_s).map(|(all, more)| all + more);
    Ok((tally, summary))
}

/// Runs all bodies in one store, from a cut on; says when the store is built. Returns the wall time of its ticks, seconds.
fn run_store(
    job: Job,
    cut: Cut,
    tick_queue: &TickQueue,
    tally: &mut Tally,
    is_built: &dyn Fn(),
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<f64, RunError> {
    let world = &*job.model.world;
    let first = cut.tick;
    let lanes = if job.tuning.plain_lanes { LaneChoice::plain() } else { LaneChoice::best() };
    let setup = Setup { choice: job.tuning.gear, lanes, parts: job.tuning.heap_parts.min(64) as usize };
    let mut store = Store::new(world, cut, setup);
    is_built();
    let built = Instant::now();
    for tick in first..=world.time.last_tick {
        if job.stop.is_requested() && tick > 0 {
            break;
        }
        store.begin(tick).map_err(|error| failed(error, tick))?;
        if world.time.is_frame(tick) {
            let frame = store.frame(tick).map_err(|error| failed(error, tick))?;
            if sink(frame).is_break() {
                break;
            }
        }
        store.find(tick).map_err(|error| failed(error, tick))?;
        if tick < world.time.last_tick {
            store.respond(tick);
            let due = tick_queue.pass(tick);
            store.act(tick, due.iter().map(|entry| &entry.input));
            store.advance(tick).map_err(|error| failed(error, tick + 1))?;
        }
        tally.ticks = tick;
    }
    tally.add(store.counts());
    Ok(built.elapsed().as_secs_f64())
}

/// How many regions a run begins with if `wanted` are.
pub(super) fn region_count(world: &World, tuning: &Tuning, has_inputs: bool, wanted: usize) -> usize {
    if without_regions(world, tuning, has_inputs, wanted).is_some() {
        return 1;
    }
    partition(world, &Cut::start(world), wanted, tuning).map_or(1, |it| it.regions)
}

/// Why a run has no regions, whatever its scene looks like.
fn without_regions(world: &World, tuning: &Tuning, has_inputs: bool, wanted: usize) -> Option<OneStore> {
    match () {
        () if has_inputs => Some(OneStore::Inputs),
        () if wanted < 2 => Some(OneStore::NotAsked),
        () if world.bodies.is_empty() => Some(OneStore::NoBodies),
        () if tuning.gear != GearChoice::Auto => Some(OneStore::Gear),
        () => None,
    }
}

/// Regions for a scene, if it is thin, or if they were asked for; else why there are none.
fn partition(world: &World, cut: &Cut, wanted: usize, tuning: &Tuning) -> Result<Partition, OneStore> {
    let is_asked_for = regions::are_asked_for(tuning);
    let sensible =
        if is_asked_for { REGIONS_MAX } else { world.bodies.len() / tuning.region_bodies.max(1) as usize };
    let wanted = wanted.min(REGIONS_MAX).min(sensible);
    if wanted < 2 {
        return Err(OneStore::FewBodies);
    }
    let cells = |widths| Partition::bisected(world, &cut.flights, cut.tick, wanted, widths);
    let mut partition = cells(1.0);
    let widths = |reaches: f64| reaches * partition.reach_m / partition.scale.lattice.width_m();
    if is_asked_for {
        // Wide enough for what falls from the first tick to the last, if that is not too wide for the calendar.
        let needed = partition.widths_for(fall_m(world));
        let widths = needed.clamp(widths(WIDE), widths(WIDEST)).max(1.0);
        partition = cells(widths);
    } else if widths(WIDE) >= 1.0 {
        return Err(OneStore::Dense);
    }
    if has_large(world, &partition) { Err(OneStore::LargeBody) } else { Ok(partition) }
}

/// How far a body moves in a tick, metres, if it is the fastest of all and falls through the whole run.
fn fall_m(world: &World) -> f64 {
    let time = &world.time;
    let start = world.bodies.at_start().iter().map(|body| body.start.v.norm()).fold(0.0, f64::max);
    (start + world.gravity.norm() * time.span_s(0, time.last_tick)) * time.tick_s
}

/// Whether a body is larger than the cells are made for.
fn has_large(world: &World, partition: &Partition) -> bool {
    world.bodies.iter().any(|body| body.radius > partition.scale.ordinary_m)
}

/// The summary after another epoch of regions; `stats` are those of all epochs.
fn summary_of(
    regions: usize,
    run: &RegionsRun,
    stats: &RegionStats,
    summary: ProcessSummary,
) -> ProcessSummary {
    let RegionStats { ticks, ticks_undone, rollbacks, sent, cancelled, late, known, amended, exchanges } =
        *stats;
    ProcessSummary {
        regions,
        is_optimistic: summary.is_optimistic || run.is_optimistic,
        epochs: summary.epochs + 1,
        region_ticks: run.tick,
        ticks,
        ticks_undone,
        rollbacks,
        messages: sent,
        antimessages: cancelled,
        late_messages: late,
        known_messages: known,
        amended_messages: amended,
        exchanges,
        ..summary
    }
}

impl Tally {
    fn add(&mut self, counts: &Counts) {
        self.contacts += counts.contacts;
        self.contact_ticks += counts.contact_ticks;
        self.max_overlap_m = self.max_overlap_m.max(counts.max_overlap_m);
    }
}

fn failed(error: StoreError, tick: Tick) -> RunError {
    match error {
        StoreError::NotFinite(body) => RunError::not_finite(body, tick),
        StoreError::Crowded(crowd) => RunError::Crowded { tick, crowd },
    }
}
