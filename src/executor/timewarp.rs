//! Time Warp on actix: one actor per entity, spread over arbiters, one arbiter per core.
//!
//! The calling thread commits the frames; the actors never wait for it, except that GVT is held back when it falls far
//! behind, so that memory stays bounded.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use crossbeam::channel;

use crate::base::frame::Frame;
use crate::executor::actor_system::{ActorsReport, Between, run_actors};
use crate::executor::report::tally;
use crate::executor::{Job, Tally};
use crate::gvt::GvtAggregator;
use crate::protocol::Stats;
use crate::runtime::error::RunError;
use crate::runtime::inputs;
use crate::runtime::network::{Failure, Network, NetworkInputs};
use crate::runtime::shared::Shared;
use crate::runtime::stats::{MemorySampler, RunStats};
use crate::runtime::trace::Tracer;

/// Runs a job to its last tick on `cores` arbiters, until `sink` breaks, or until a stop is requested.
pub fn run(
    job: Job,
    cores: usize,
    tracer: Option<Arc<Tracer>>,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats, RunStats), RunError> {
    run_with(job, cores, tracer, Box::new(|_, transport| transport), sink)
}

/// The same, with something between the actors and what carries their messages.
pub(super) fn run_with(
    job: Job,
    cores: usize,
    tracer: Option<Arc<Tracer>>,
    between: Between,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats, RunStats), RunError> {
    let (began, cores) = (Instant::now(), cores.max(1));
    let (notices, noticed) = channel::unbounded();
    let ((network, entities), _opened) = inputs::open(job.inputs, |known| {
        let (shared, entities) = Shared::new(job.model, job.tuning, known);
        // While frames are shown to a caller that may act on them, the run is not over.
        let unfinished = entities.len() as u32 + u32::from(job.inputs.is_some());
        let network = Arc::new(Network::new(shared, cores, unfinished, notices, tracer));
        (Arc::new(NetworkInputs(network.clone())), (network, entities))
    })?;
    let entity_count = entities.len();
    if let Some(tracer) = &network.tracer {
        let bodies = &job.model.world.bodies;
        // Islands have no body yet.
        let first_body = |entity: usize| bodies[if entity < bodies.at_start().len() { entity } else { 0 }].id;
        tracer.begin(cores, (0..entity_count).map(first_body));
    }
    let actors = {
        let (network, lane) = (network.clone(), job.tuning.lane);
        let thread = thread::Builder::new().name("anachron-actors".to_owned());
        thread.spawn(move || run_actors(&network, entities, cores, lane, between))
    };
    let actors = actors.map_err(RunError::no_thread)?;
    let mut aggregator = GvtAggregator::new();
    let mut sampler = MemorySampler::new();
    let flow = aggregator.follow(&network, &noticed, job.inputs.is_some(), job.stop, &mut sampler, sink);
    network.end(None);
    let ActorsReport { report, busy, acted } =
        actors.join().map_err(|_| RunError::Stalled("the thread of the arbiters panicked".into()))??;
    match network.failure() {
        Some(Failure::Panic { body, tick, text }) => return Err(RunError::Panicked { body, tick, text }),
        Some(Failure::Crowded { tick, crowd }) => return Err(RunError::Crowded { tick, crowd }),
        None => aggregator.failure()?,
    }
    let last_tick = job.model.world.time.last_tick;
    let flow =
        flow.map_err(|_| RunError::stalled(last_tick, report.behind.iter().map(|(_, text)| text.as_str())))?;
    let shared = &network.shared;
    let ticks = if flow.is_continue() { last_tick } else { shared.gvt.gvt() };
    let counters = network.slots.iter().map(|slot| &slot.counters);
    sampler.sample_now(shared, counters.clone());
    let mut run_stats = RunStats::of(counters, &network.gvt_stats, &sampler, shared.limits.window, &busy);
    run_stats.start_stop_s = began.elapsed().saturating_sub(acted).as_secs_f64();
    Ok((tally(shared, &report.stats, ticks), report.stats, run_stats))
}
