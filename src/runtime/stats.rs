//! What a speculative run counts besides the statistics of its entities: messages, GVT, the window, the cores, and the
//! memory of histories.
//!
//! Counting must cost next to nothing, because it is never switched off. Every core has a `CoreCounters` that only it
//! writes; what is expensive to find out is sampled rarely.

use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
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
    /// How GVT rose.
    pub gvt: GvtUse,
    /// How much of the window was used.
    pub window: WindowUse,
    /// Work of each core; empty without actors.
    pub cores: Vec<CoreUse>,
    /// The most memory that histories, table and log took.
    pub memory: MemoryUse,
    /// Wall time of starting and of stopping all actors, seconds.
    pub start_stop_s: f64,
}

/// Messages that were handled, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// Entity to entity: events.
    pub events: u64,
    /// Entity to entity: antievents.
    pub antievents: u64,
    /// Entity to entity: ghost updates.
    pub ghost_updates: u64,
    /// Entity to entity: migrations.
    pub migrations: u64,
    /// Entity to entity: acknowledgements of these.
    pub acks: u64,
    /// An entity to itself: polls when its mailbox is empty.
    pub self_steps: u64,
    /// Wake-ups: entities resumed because the lowest LVT has reached the tick they waited for.
    pub wake_ups: u64,
    /// To a bucket: table requests. None if the table is in shared memory.
    pub table_requests: u64,
    /// To a bucket: unlocks by the table request that had locked it.
    pub unlocks: u64,
    /// Bucket to entity: replies to table requests.
    pub table_replies: u64,
}

impl Messages {
    /// Number of messages from entity to entity.
    pub fn between_entities(&self) -> u64 {
        self.events + self.antievents + self.ghost_updates + self.migrations + self.acks
    }

    /// Number of messages to and from buckets.
    pub fn of_table(&self) -> u64 {
        self.table_requests + self.unlocks + self.table_replies
    }
}

/// How GVT rose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GvtUse {
    /// Number of times that GVT was raised.
    pub rounds: u64,
    /// Distance from GVT to the highest LVT when GVT was raised, ticks: mean.
    pub lag_mean_ticks: f64,
    /// The same, ticks: maximum.
    pub lag_max_ticks: u64,
}

/// How much of the window was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WindowUse {
    /// Length of the window, ticks.
    pub ticks: u64,
    /// Distance from GVT to the ends of steps, ticks: mean.
    pub ahead_mean_ticks: f64,
    /// The same as a share of the window, from 0 to 1.
    pub share: f64,
}

/// Work of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CoreUse {
    /// Number of messages that it handled.
    pub handled: u64,
    /// Processor time of its thread, seconds, without start and end of the run; `None` where the operating system does
    /// not say.
    pub busy_s: Option<f64>,
    /// The same as a share of wall time, from 0 to 1.
    pub busy_share: Option<f64>,
}

/// The most memory that was taken. It is sampled, so short peaks may be missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MemoryUse {
    /// Number of segments in the histories of all entities.
    pub segments_peak: u64,
    /// Bytes of these segments: their number times the mean of a sample. Ghost states that they share are left out.
    pub history_bytes: u64,
    /// Number of entries in the table: a track has one for every cell that it passes.
    pub table_entries_peak: u64,
    /// Bytes of these entries; the tracks belong to the histories.
    pub table_bytes: u64,
    /// Number of flights in the flight log.
    pub log_entries_peak: u64,
    /// Bytes of these flights.
    pub log_bytes: u64,
}

/// A number that one thread adds to and others may read. A thread that reads it sees everything that its owner did
/// before it added.
#[derive(Default)]
struct Count(AtomicU64);

impl Count {
    /// Only ever called by the one thread that owns it: no locked instruction is needed.
    #[inline]
    fn add(&self, more: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(more), Release);
    }

    fn get(&self) -> u64 {
        self.0.load(Acquire)
    }

    fn halve(&self) {
        self.0.store(self.get() / 2, Relaxed);
    }
}

/// The bytes of a history are counted at one step of a core in this many: a power of two. Not tuned.
const WEIGHED_EVERY: u64 = 256;
/// The bytes of a segment are the mean over about this many of the latest. Not tuned.
const WEIGHED_MAX: u64 = 1 << 12;

/// Counters of one core. Only its own thread writes them.
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
    /// Messages that its thread has sent, counted before they leave.
    sent: Count,
    /// Messages that have been handled, to the return of their handlers.
    handled: Count,
    steps: Count,
    /// Sum over all steps of the ticks from GVT to their end.
    ahead: Count,
    /// Segments in the histories of its entities at present.
    segments: Count,
    weighed_segments: Count,
    weighed_bytes: Count,
    /// Entries in its buckets at present, if they are actors.
    entries: Count,
}

impl CoreCounters {
    /// A message is about to be sent.
    pub fn sends(&self) {
        self.sent.add(1);
    }

    /// The handler of a message has returned, whatever it was.
    pub fn has_handled(&self) {
        self.handled.add(1);
    }

    /// A message of another entity has arrived.
    pub fn message_arrived<D: Dynamics>(&self, message: &Message<D>) {
        match message {
            Message::Event { .. } => self.events.add(1),
            Message::Antievent { .. } => self.antievents.add(1),
            Message::GhostUpdate { .. } => self.ghost_updates.add(1),
            Message::Migrate { .. } => self.migrations.add(1),
            Message::Ack { .. } => self.acks.add(1),
        }
    }

    /// An entity has sent itself a request to poll.
    pub fn self_stepped(&self) {
        self.self_steps.add(1);
    }

    /// A reply of the table has arrived.
    pub fn table_replied(&self) {
        self.table_replies.add(1);
    }

    /// A table request has arrived at a bucket.
    pub fn table_requested(&self) {
        self.table_requests.add(1);
    }

    /// An unlock has arrived at a bucket.
    pub fn unlock(&self) {
        self.unlocks.add(1);
    }

    /// The number of entries of a bucket that is an actor has changed.
    pub fn entries(&self, before: usize, after: usize) {
        self.entries.add((after as u64).wrapping_sub(before as u64));
    }

    /// A step of `entity` ended `ahead` ticks above GVT.
    pub fn stepped<D: Dynamics>(&self, ahead: u64, entity: &Entity<D>) {
        self.steps.add(1);
        self.ahead.add(ahead);
        if self.steps.get() & (WEIGHED_EVERY - 1) == 1 {
            self.weighed_segments.add(entity.segments() as u64);
            self.weighed_bytes.add(entity.history_bytes() as u64);
            // Old samples count less and less.
            if self.weighed_segments.get() > WEIGHED_MAX {
                self.weighed_segments.halve();
                self.weighed_bytes.halve();
            }
        }
    }

    /// The number of segments of an entity has changed.
    pub fn segments_changed(&self, before: usize, after: usize) {
        self.segments.add((after as u64).wrapping_sub(before as u64));
    }

    /// Bytes that the histories of all these cores take at present: the number of segments times the mean bytes of the
    /// sampled ones.
    pub fn history_bytes<'a>(counters: impl Iterator<Item = &'a CoreCounters>) -> u64 {
        let (mut segments, mut weighed, mut bytes) = (0u64, 0, 0);
        for core in counters {
            segments = segments.wrapping_add(core.segments.get());
            weighed += core.weighed_segments.get();
            bytes += core.weighed_bytes.get();
        }
        (segments as f64 * ratio(bytes, weighed)) as u64
    }

    /// Counters of histories that take this many bytes.
    #[cfg(test)]
    pub fn with_history_bytes(bytes: u64) -> Self {
        let counters = CoreCounters::default();
        counters.segments.add(1);
        counters.weighed_segments.add(1);
        counters.weighed_bytes.add(bytes);
        counters
    }

    /// Number of messages that have been handled, to the return of their handlers.
    pub fn handled(&self) -> u64 {
        self.handled.get()
    }

    /// Number of messages sent.
    pub fn sent(&self) -> u64 {
        self.sent.get()
    }
}

/// Counts of rises of GVT, written by the thread that raises it.
#[derive(Default)]
pub(crate) struct GvtStats {
    rounds: AtomicU64,
    wake_ups: AtomicU64,
    /// Number of rises at which the lag was measured.
    lag_samples: AtomicU64,
    lag_sum: AtomicU64,
    lag_max: AtomicU64,
    segments_peak: AtomicU64,
}

/// Measuring the lag costs one load per tick of the window, so it is measured less often for windows above this many
/// ticks. Not tuned.
const TICKS_PER_SAMPLE: u64 = 256;

impl GvtStats {
    /// The lowest LVT has risen to `gvt`.
    pub fn note<'a>(
        &self,
        gvt_service: &dyn GvtService,
        window_ticks: u64,
        gvt: Tick,
        counters: impl Iterator<Item = &'a CoreCounters>,
    ) {
        let round = self.rounds.fetch_add(1, Relaxed);
        if !round.is_multiple_of(window_ticks.div_ceil(TICKS_PER_SAMPLE)) {
            return;
        }
        let lag = gvt_service.farthest(window_ticks).saturating_sub(gvt);
        self.lag_samples.fetch_add(1, Relaxed);
        self.lag_sum.fetch_add(lag, Relaxed);
        self.lag_max.fetch_max(lag, Relaxed);
        let segments = counters.map(|core| core.segments.get()).sum();
        self.segments_peak.fetch_max(segments, Relaxed);
    }

    /// This many entities were woken.
    pub fn woke(&self, entities: usize) {
        self.wake_ups.fetch_add(entities as u64, Relaxed);
    }
}

/// Samples the sizes of the table and of the flight log.
pub(crate) struct MemorySampler {
    /// Time of the next sample.
    next: Instant,
    /// Most entries of the table so far.
    table: u64,
    /// Most flights of the log so far.
    log: u64,
}

/// Pause after a sample, as a multiple of the time it took: sampling takes 1 % of the time of its thread. Not tuned.
const SAMPLING_PAUSE: u32 = 100;
/// The shortest pause between two samples. Not tuned.
const SAMPLING_EVERY: Duration = Duration::from_millis(20);

impl MemorySampler {
    pub fn new() -> Self {
        MemorySampler { next: Instant::now(), table: 0, log: 0 }
    }

    /// Takes a sample, if it is time to.
    pub fn sample<'a>(&mut self, shared: &Shared, counters: impl Iterator<Item = &'a CoreCounters>) {
        if Instant::now() >= self.next {
            self.sample_now(shared, counters);
        }
    }

    /// Takes a sample at any time: short runs are over before it is time to.
    pub fn sample_now<'a>(&mut self, shared: &Shared, counters: impl Iterator<Item = &'a CoreCounters>) {
        let started = Instant::now();
        let in_actors: u64 = counters.map(|core| core.entries.get()).sum();
        self.table = self.table.max(shared.table.len() as u64 + in_actors);
        self.log = self.log.max(shared.log.len() as u64);
        self.next = Instant::now() + SAMPLING_EVERY.max(started.elapsed() * SAMPLING_PAUSE);
    }
}

impl RunStats {
    /// Adds up the counts; `busy` is the time that each core was busy, in seconds and as a share of wall time.
    pub(crate) fn of<'a>(
        counters: impl Iterator<Item = &'a CoreCounters>,
        rounds: &GvtStats,
        sampler: &MemorySampler,
        window_ticks: u64,
        busy: &[Option<(f64, f64)>],
    ) -> Self {
        let mut stats = RunStats::default();
        let (mut steps, mut ahead, mut segments, mut bytes) = (0, 0, 0, 0);
        for (index, core) in counters.enumerate() {
            stats.messages.count(core);
            steps += core.steps.get();
            ahead += core.ahead.get();
            segments += core.weighed_segments.get();
            bytes += core.weighed_bytes.get();
            if let Some((busy_s, busy_share)) = busy.get(index).map(|busy| busy.unzip()) {
                stats.cores.push(CoreUse { handled: core.handled(), busy_s, busy_share });
            }
        }
        stats.messages.wake_ups = rounds.wake_ups.load(Relaxed);
        stats.gvt = GvtUse {
            rounds: rounds.rounds.load(Relaxed),
            lag_mean_ticks: ratio(rounds.lag_sum.load(Relaxed), rounds.lag_samples.load(Relaxed)),
            lag_max_ticks: rounds.lag_max.load(Relaxed),
        };
        let ahead_mean_ticks = ratio(ahead, steps);
        stats.window = WindowUse {
            ticks: window_ticks,
            ahead_mean_ticks,
            share: ahead_mean_ticks / window_ticks.max(1) as f64,
        };
        let segments_peak = rounds.segments_peak.load(Relaxed);
        stats.memory = MemoryUse {
            segments_peak,
            history_bytes: (segments_peak as f64 * ratio(bytes, segments)) as u64,
            table_entries_peak: sampler.table,
            table_bytes: sampler.table * size_of::<Entry<RigidModel>>() as u64,
            log_entries_peak: sampler.log,
            log_bytes: sampler.log * size_of::<(Tick, Flight)>() as u64,
        };
        stats
    }
}

impl Messages {
    fn count(&mut self, counters: &CoreCounters) {
        self.events += counters.events.get();
        self.antievents += counters.antievents.get();
        self.ghost_updates += counters.ghost_updates.get();
        self.migrations += counters.migrations.get();
        self.acks += counters.acks.get();
        self.self_steps += counters.self_steps.get();
        self.table_requests += counters.table_requests.get();
        self.unlocks += counters.unlocks.get();
        self.table_replies += counters.table_replies.get();
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

/// Processor time of the calling thread so far; unknown on this system.
#[cfg(not(unix))]
pub(crate) fn thread_cpu() -> Option<Duration> {
    None
}
