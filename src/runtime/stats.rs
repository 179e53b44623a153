//! What a speculative run counts besides what its entities did: messages, global virtual time, the window, the
//! cores, and the memory of histories.
//!
//! Counting must cost next to nothing, because it is never switched off. Every core has a `CoreCounters` that only it
//! writes; what is dear to know is looked up rarely.

use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::base::time::Tick;
use crate::physics::Flight;
use crate::protocol::{Dynamics, Entity, Entry, GvtService, Message};
use crate::rigid::RigidModel;
use crate::runtime::shared::Shared;

/// What was counted in a speculative run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunStats {
    /// Messages that were handled, by kind.
    pub messages: Messages,
    /// Global virtual time.
    pub gvt: GvtUse,
    /// How much of the window was used.
    pub window: WindowUse,
    /// What every core did; empty without actors.
    pub cores: Vec<CoreUse>,
    /// What histories, table and log held at most.
    pub memory: MemoryUse,
    /// Wall time of starting all actors and of sending them home, seconds.
    pub start_stop_s: f64,
}

/// Messages that were handled, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// Entity to entity: a contact (event).
    pub events: u64,
    /// Entity to entity: an event is cancelled (antievent).
    pub antievents: u64,
    /// Entity to entity: a ghost update.
    pub ghost_updates: u64,
    /// Entity to entity: bodies that migrate.
    pub migrations: u64,
    /// Entity to entity: an acknowledgement of one of these.
    pub acks: u64,
    /// An entity to itself: step on when the mailbox is empty.
    pub self_steps: u64,
    /// Wake-ups: entities resumed because global virtual time has reached the tick they waited for.
    pub wake_ups: u64,
    /// Bucket to bucket: a table request on its way through the table. None if the table is in shared memory.
    pub table_requests: u64,
    /// To a bucket: the table request that locked it has gone through.
    pub unlocks: u64,
    /// Bucket to entity: the reply to a table request.
    pub table_replies: u64,
}

impl Messages {
    /// Messages from entity to entity.
    pub fn between_entities(&self) -> u64 {
        self.events + self.antievents + self.ghost_updates + self.migrations + self.acks
    }

    /// Messages to and from buckets.
    pub fn of_table(&self) -> u64 {
        self.table_requests + self.unlocks + self.table_replies
    }
}

/// How global virtual time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GvtUse {
    /// How often it was raised.
    pub rounds: u64,
    /// How far the farthest entity was ahead of it when it was raised, ticks: on average.
    pub lag_mean_ticks: f64,
    /// The same, at most.
    pub lag_max_ticks: u64,
}

/// How much of the window was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WindowUse {
    /// The window.
    pub ticks: u64,
    /// How far ahead of global virtual time steps ended, on average.
    pub ahead_mean_ticks: f64,
    /// The same as a share of the window.
    pub share: f64,
}

/// What one core did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CoreUse {
    /// Messages it handled.
    pub handled: u64,
    /// Processor time of its thread, seconds, start and end of the run left out; nothing where the operating system
    /// does not say.
    pub busy_s: Option<f64>,
    /// The same as a share of wall time.
    pub busy_share: Option<f64>,
}

/// What was held at most. Looked up now and then, so short peaks may be missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MemoryUse {
    /// Segments in the histories of all entities.
    pub segments_peak: u64,
    /// Bytes they took: their number times the average of a sample. Ghost states they share are left out.
    pub history_bytes: u64,
    /// Entries in the table: a track has one for every cell that it passes.
    pub table_entries_peak: u64,
    /// Bytes of these entries; the tracks belong to the histories.
    pub table_bytes: u64,
    /// Flights kept for the frames.
    pub log_entries_peak: u64,
    /// Bytes of these flights.
    pub log_bytes: u64,
}

/// A number that one thread adds to and others may read.
#[derive(Default)]
struct Count(AtomicU64);

impl Count {
    /// Only ever called by the one thread that owns it: no locked instruction is needed.
    #[inline]
    fn add(&self, more: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(more), Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn halve(&self) {
        self.0.store(self.get() / 2, Relaxed);
    }
}

/// A history is weighed at every so manyth step of a core: a power of two.
const WEIGHED_EVERY: u64 = 256;
/// So many segments tell how heavy one is.
const WEIGHED_MAX: u64 = 1 << 12;

/// What one core counts. WriteResult by its own thread only.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct CoreCounters {
    events: Count,
    antievents: Count,
    ghost_updates: Count,
    migrations: Count,
    acks: Count,
    self_steps: Count,
    table_requests: Count,
    unlocks: Count,
    table_replies: Count,
    handled: Count,
    steps: Count,
    ahead: Count,
    /// Segments that its entities keep now.
    segments: Count,
    weighed_segments: Count,
    weighed_bytes: Count,
    /// Entries that its buckets hold now, if they are actors.
    entries: Count,
}

impl CoreCounters {
    pub fn heard<D: Dynamics>(&self, message: &Message<D>) {
        self.handled.add(1);
        match message {
            Message::Event { .. } => self.events.add(1),
            Message::Antievent { .. } => self.antievents.add(1),
            Message::GhostUpdate { .. } => self.ghost_updates.add(1),
            Message::Migrate { .. } => self.migrations.add(1),
            Message::Ack { .. } => self.acks.add(1),
        }
    }

    /// It has been asked to step.
    pub fn asked(&self) {
        self.handled.add(1);
    }

    pub fn self_stepped(&self) {
        self.self_steps.add(1);
    }

    pub fn table_replied(&self) {
        self.handled.add(1);
        self.table_replies.add(1);
    }

    pub fn table_requested(&self) {
        self.handled.add(1);
        self.table_requests.add(1);
    }

    pub fn unlock(&self) {
        self.handled.add(1);
        self.unlocks.add(1);
    }

    /// A bucket that is an actor has changed its size.
    pub fn entries(&self, before: usize, after: usize) {
        self.entries.add((after as u64).wrapping_sub(before as u64));
    }

    /// A step ended `ahead` ticks above global virtual time.
    pub fn stepped<D: Dynamics>(&self, ahead: u64, entity: &Entity<D>) {
        self.steps.add(1);
        self.ahead.add(ahead);
        if self.steps.get() & (WEIGHED_EVERY - 1) == 1 {
            self.weighed_segments.add(entity.segments() as u64);
            self.weighed_bytes.add(entity.history_bytes() as u64);
            // What was weighed long ago counts less and less.
            if self.weighed_segments.get() > WEIGHED_MAX {
                self.weighed_segments.halve();
                self.weighed_bytes.halve();
            }
        }
    }

    /// The number of segments of an entity has changed.
    pub fn kept(&self, before: usize, after: usize) {
        self.segments.add((after as u64).wrapping_sub(before as u64));
    }

    /// Bytes that the histories take now, of all that these core_counters count: what some of them were found to take,
    /// times their number.
    pub fn history_bytes<'a>(core_counters: impl Iterator<Item = &'a CoreCounters>) -> u64 {
        let (mut segments, mut weighed, mut bytes) = (0u64, 0, 0);
        for core_counters in core_counters {
            segments = segments.wrapping_add(core_counters.segments.get());
            weighed += core_counters.weighed_segments.get();
            bytes += core_counters.weighed_bytes.get();
        }
        (segments as f64 * ratio(bytes, weighed)) as u64
    }

    /// A core_counters of histories that take so many bytes.
    #[cfg(test)]
    pub fn weighing(bytes: u64) -> Self {
        let core_counters = CoreCounters::default();
        core_counters.segments.add(1);
        core_counters.weighed_segments.add(1);
        core_counters.weighed_bytes.add(bytes);
        core_counters
    }

    /// Messages handled so far.
    pub fn handled(&self) -> u64 {
        self.handled.get()
    }
}

/// What is seen whenever global virtual time rises, by whoever raises it.
#[derive(Default)]
pub(crate) struct GvtStats {
    rounds: AtomicU64,
    wake_ups: AtomicU64,
    looked: AtomicU64,
    lag_sum: AtomicU64,
    lag_max: AtomicU64,
    segments_peak: AtomicU64,
}

/// A look at all lvt_histogram costs a load per tick of the window; long windows are looked at less often.
const TICKS_PER_LOOK: u64 = 256;

impl GvtStats {
    /// Global virtual time has been raised to `gvt`.
    pub fn note<'a>(
        &self,
        gvt_service: &dyn GvtService,
        window: u64,
        gvt: Tick,
        core_counters: impl Iterator<Item = &'a CoreCounters>,
    ) {
        let round = self.rounds.fetch_add(1, Relaxed);
        if !round.is_multiple_of(window.div_ceil(TICKS_PER_LOOK)) {
            return;
        }
        let lag = gvt_service.farthest(window).saturating_sub(gvt);
        self.looked.fetch_add(1, Relaxed);
        self.lag_sum.fetch_add(lag, Relaxed);
        self.lag_max.fetch_max(lag, Relaxed);
        let segments = core_counters.map(|core_counters| core_counters.segments.get()).sum();
        self.segments_peak.fetch_max(segments, Relaxed);
    }

    pub fn woke(&self, entities: usize) {
        self.wake_ups.fetch_add(entities as u64, Relaxed);
    }
}

/// Looks now and then how much the table and the log hold.
pub(crate) struct MemorySampler {
    next: Instant,
    table: u64,
    log: u64,
}

/// Taking memory_sampler may take this share of the time of the thread that does it.
const STOCKTAKING_SHARE: u32 = 100;
const STOCKTAKING_EVERY: Duration = Duration::from_millis(20);

impl MemorySampler {
    pub fn new() -> Self {
        MemorySampler { next: Instant::now(), table: 0, log: 0 }
    }

    /// Looks, if it is time to.
    pub fn look<'a>(&mut self, shared: &Shared, core_counters: impl Iterator<Item = &'a CoreCounters>) {
        if Instant::now() >= self.next {
            self.look_now(shared, core_counters);
        }
    }

    /// Looks, whatever the time: short runs are over before it is time to.
    pub fn look_now<'a>(&mut self, shared: &Shared, core_counters: impl Iterator<Item = &'a CoreCounters>) {
        let started = Instant::now();
        let in_actors: u64 = core_counters.map(|core_counters| core_counters.entries.get()).sum();
        self.table = self.table.max(shared.table.len() as u64 + in_actors);
        self.log = self.log.max(shared.log.len() as u64);
        self.next = Instant::now() + STOCKTAKING_EVERY.max(started.elapsed() * STOCKTAKING_SHARE);
    }
}

impl RunStats {
    /// Adds up what was counted; `busy` is the time each core was busy, in seconds and as a share.
    pub(crate) fn of<'a>(
        core_counters: impl Iterator<Item = &'a CoreCounters>,
        rounds: &GvtStats,
        memory_sampler: &MemorySampler,
        window: u64,
        busy: &[Option<(f64, f64)>],
    ) -> Self {
        let mut run_stats = RunStats::default();
        let (mut steps, mut ahead, mut segments, mut bytes) = (0, 0, 0, 0);
        for (at, core_counters) in core_counters.enumerate() {
            run_stats.messages.count(core_counters);
            steps += core_counters.steps.get();
            ahead += core_counters.ahead.get();
            segments += core_counters.weighed_segments.get();
            bytes += core_counters.weighed_bytes.get();
            if let Some((busy_s, busy_share)) = busy.get(at).map(|busy| busy.unzip()) {
                run_stats.cores.push(CoreUse { handled: core_counters.handled(), busy_s, busy_share });
            }
        }
        run_stats.messages.wake_ups = rounds.wake_ups.load(Relaxed);
        run_stats.gvt = GvtUse {
            rounds: rounds.rounds.load(Relaxed),
            lag_mean_ticks: ratio(rounds.lag_sum.load(Relaxed), rounds.looked.load(Relaxed)),
            lag_max_ticks: rounds.lag_max.load(Relaxed),
        };
        let ahead_mean_ticks = ratio(ahead, steps);
        run_stats.window =
            WindowUse { ticks: window, ahead_mean_ticks, share: ahead_mean_ticks / window.max(1) as f64 };
        let segments_peak = rounds.segments_peak.load(Relaxed);
        run_stats.memory = MemoryUse {
            segments_peak,
            history_bytes: (segments_peak as f64 * ratio(bytes, segments)) as u64,
            table_entries_peak: memory_sampler.table,
            table_bytes: memory_sampler.table * size_of::<Entry<RigidModel>>() as u64,
            log_entries_peak: memory_sampler.log,
            log_bytes: memory_sampler.log * size_of::<(Tick, Flight)>() as u64,
        };
        run_stats
    }
}

impl Messages {
    fn count(&mut self, core_counters: &CoreCounters) {
        self.events += core_counters.events.get();
        self.antievents += core_counters.antievents.get();
        self.ghost_updates += core_counters.ghost_updates.get();
        self.migrations += core_counters.migrations.get();
        self.acks += core_counters.acks.get();
        self.self_steps += core_counters.self_steps.get();
        self.table_requests += core_counters.table_requests.get();
        self.unlocks += core_counters.unlocks.get();
        self.table_replies += core_counters.table_replies.get();
    }
}

fn ratio(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

/// Processor time of the calling thread so far.
#[cfg(unix)]
pub(crate) fn thread_cpu() -> Option<Duration> {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(Duration::from(time))
}

/// Processor time of the calling thread so far.
#[cfg(not(unix))]
pub(crate) fn thread_cpu() -> Option<Duration> {
    None
}
