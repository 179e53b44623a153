//! A trace of what every core does: slices of time in bounded memory, and the format that Perfetto and Chrome read.
//!
//! Slices of one core follow each other and never overlap. Each core keeps its latest ones; the file says how many older
//! ones were dropped.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use crate::base::ids::BodyId;
use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::protocol::{Dynamics, EntityId, Message};

/// Kinds of work of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// An entity plans its next flight: its time of impact with static geometry, and fossil
    /// collection of its history.
    Step,
    /// The same, and a response to contacts.
    Respond,
    /// A plan is written into the table in shared memory: search for the earliest contact with other entities.
    Write,
    /// A table request passes a bucket that is an actor.
    Bucket,
    /// An entity handles the table's reply.
    TableReply,
    /// An entity handles an event.
    Event,
    /// An entity handles an antievent.
    Antievent,
    /// An entity handles a ghost update.
    GhostUpdate,
    /// An entity handles a migration: it takes in bodies.
    Migration,
    /// An entity handles an acknowledgement.
    Ack,
    /// Effects of a handler are performed: the LVT moves, messages are sent.
    Send,
    /// GVT is raised, and entities that waited for it are woken.
    Gvt,
    /// Committed frames are evaluated and delivered.
    Frames,
}

impl Phase {
    /// All phases.
    pub const ALL: [Phase; 13] = [
        Phase::Step,
        Phase::Respond,
        Phase::Write,
        Phase::Bucket,
        Phase::TableReply,
        Phase::Event,
        Phase::Antievent,
        Phase::GhostUpdate,
        Phase::Migration,
        Phase::Ack,
        Phase::Send,
        Phase::Gvt,
        Phase::Frames,
    ];

    /// The name of the phase in a trace.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Step => "step",
            Phase::Respond => "respond",
            Phase::Write => "write",
            Phase::Bucket => "bucket",
            Phase::TableReply => "table reply",
            Phase::Event => "handle event",
            Phase::Antievent => "handle antievent",
            Phase::GhostUpdate => "handle ghost update",
            Phase::Migration => "handle migration",
            Phase::Ack => "handle ack",
            Phase::Send => "send",
            Phase::Gvt => "GVT round",
            Phase::Frames => "frames",
        }
    }

    /// The phase in which a message is handled.
    pub(crate) fn of<D: Dynamics>(message: &Message<D>) -> Self {
        match message {
            Message::Event { .. } => Phase::Event,
            Message::Antievent { .. } => Phase::Antievent,
            Message::GhostUpdate { .. } => Phase::GhostUpdate,
            Message::Migrate { .. } => Phase::Migration,
            Message::Ack { .. } => Phase::Ack,
        }
    }
}

/// A time, in nanoseconds since the trace began.
pub(crate) type Nanos = u64;

/// A slice of a core's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The kind of work.
    pub phase: Phase,
    /// The entity it was for; `None` if for no single one.
    pub entity: Option<EntityId>,
    /// LVT of the entity, or GVT.
    pub tick: Tick,
    /// Begin of the slice, nanoseconds since the trace began.
    pub from: u64,
    /// End of the slice, nanoseconds since the trace began.
    pub to: u64,
}

/// The latest slices of one core.
#[derive(Default)]
struct Strip {
    slices: VecDeque<Slice>,
    /// Number of older slices that were dropped.
    dropped: u64,
    /// Totals of all slices, kept or dropped.
    totals: Totals,
    /// End of the last slice.
    end: Option<Nanos>,
}

/// The time that one core spent on each phase, and between phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    nanos: [u64; Phase::ALL.len()],
    /// Sum of the short gaps between slices, nanoseconds: mailboxes, queues.
    pub between_nanos: u64,
    /// Sum of the long gaps between slices, nanoseconds.
    pub idle_nanos: u64,
}

impl Totals {
    /// Nanoseconds spent on each phase.
    pub fn phases(&self) -> impl Iterator<Item = (Phase, u64)> {
        Phase::ALL.into_iter().zip(self.nanos)
    }

    fn add(&mut self, slice: &Slice, gap: u64) {
        self.nanos[slice.phase as usize] += slice.to.saturating_sub(slice.from);
        let gaps = if gap >= IDLE_NANOS { &mut self.idle_nanos } else { &mut self.between_nanos };
        *gaps += gap;
    }
}

/// A row of the trace: the index of a core, or one more than the last for the thread of the frames.
type Row = usize;

/// A gap between two slices that is at least this long is shown as idle; a shorter one is the mailboxes' work. Not tuned.
const IDLE_NANOS: u64 = 5_000;

/// Records the latest slices of every core.
pub struct Tracer {
    started: Instant,
    /// Most slices of all rows together.
    slices_max: usize,
    strips: OnceLock<Box<[Mutex<Strip>]>>,
    /// The first body of every entity.
    bodies: OnceLock<Box<[BodyId]>>,
}

impl Tracer {
    /// A tracer that keeps at most `slices_max` slices, shared equally by the rows of the trace.
    pub fn new(slices_max: usize) -> Self {
        Tracer {
            started: Instant::now(),
            slices_max: slices_max.max(1),
            strips: OnceLock::new(),
            bodies: OnceLock::new(),
        }
    }

    /// Prepares for a run. A second run with the same tracer adds to the first, if it has no more cores.
    pub(crate) fn begin(&self, cores: usize, bodies: impl Iterator<Item = BodyId>) {
        self.strips.get_or_init(|| (0..=cores).map(|_| Mutex::default()).collect());
        self.bodies.get_or_init(|| bodies.collect());
    }

    /// The time now.
    pub(crate) fn now(&self) -> Nanos {
        self.started.elapsed().as_nanos() as Nanos
    }

    /// Adds a slice that began at `from` and ends now. Returns the time now.
    pub(crate) fn end(
        &self,
        row: Row,
        phase: Phase,
        entity: Option<EntityId>,
        tick: Tick,
        from: Nanos,
    ) -> Nanos {
        let to = self.now();
        let Some(strip) = self.strips().get(row) else { return to };
        let row_max = (self.slices_max / self.strips().len()).max(1);
        let mut strip = lock(strip);
        if strip.slices.len() >= row_max {
            strip.slices.pop_front();
            strip.dropped += 1;
        }
        let slice = Slice { phase, entity, tick, from, to };
        let gap = strip.end.map_or(0, |end| from.saturating_sub(end));
        strip.totals.add(&slice, gap);
        strip.end = Some(to);
        strip.slices.push_back(slice);
        to
    }

    /// The totals of each core, and last those of the thread of the frames.
    pub fn totals(&self) -> Vec<Totals> {
        let of = |strip: &Mutex<Strip>| lock(strip).totals;
        self.strips().iter().map(of).collect()
    }

    /// The row of the thread of the frames.
    pub(crate) fn frames_row(&self) -> Row {
        self.strips().len().saturating_sub(1)
    }

    /// The slices of each core, oldest first, and last those of the thread of the frames.
    pub fn slices(&self) -> Vec<Vec<Slice>> {
        let of = |strip: &Mutex<Strip>| lock(strip).slices.iter().copied().collect();
        self.strips().iter().map(of).collect()
    }

    /// Number of slices that were dropped because there were too many.
    pub fn dropped(&self) -> u64 {
        self.strips().iter().map(|strip| lock(strip).dropped).sum()
    }

    fn strips(&self) -> &[Mutex<Strip>] {
        self.strips.get().map_or(&[], |strips| strips)
    }

    /// Writes the trace in the JSON format of Chrome's trace events, which Perfetto reads too.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{{\"displayTimeUnit\":\"ns\",")?;
        let (slices_max, dropped) = (self.slices_max, self.dropped());
        let meaning = format!(
            "one row per core and one for the thread of the frames; gaps of {} us and more are shown as idle",
            IDLE_NANOS / 1000
        );
        writeln!(
            out,
            "\"otherData\":{{\"program\":\"anachron {}\",\"slices_max\":{slices_max},\"slices_dropped\":{dropped},\"which\":\"the latest of every row\",\"meaning\":\"{meaning}\"}},",
            env!("CARGO_PKG_VERSION")
        )?;
        write!(out, "\"traceEvents\":[")?;
        let rows = self.slices();
        for (row, slices) in rows.iter().enumerate() {
            let name = if row + 1 == rows.len() { "frames".to_owned() } else { format!("core {row}") };
            let comma = if row == 0 { "" } else { "," };
            write!(
                out,
                "{comma}\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":{row},\"args\":{{\"name\":\"{name}\"}}}}"
            )?;
            self.write_row(out, row, slices)?;
        }
        writeln!(out, "\n]}}")
    }

    fn write_row(&self, out: &mut impl Write, row: usize, slices: &[Slice]) -> io::Result<()> {
        let us = |nanos: u64| format!("{}.{:03}", nanos / 1000, nanos % 1000);
        let mut end: Option<Nanos> = None;
        for slice in slices {
            if let Some(end) = end.filter(|end| slice.from.saturating_sub(*end) >= IDLE_NANOS) {
                let span = (us(end), us(slice.from - end));
                write!(
                    out,
                    ",\n{{\"ph\":\"X\",\"name\":\"idle\",\"pid\":1,\"tid\":{row},\"ts\":{},\"dur\":{}}}",
                    span.0, span.1
                )?;
            }
            end = Some(slice.to);
            let (from, dur) = (us(slice.from), us(slice.to - slice.from));
            write!(
                out,
                ",\n{{\"ph\":\"X\",\"name\":\"{}\",\"pid\":1,\"tid\":{row},\"ts\":{from},\"dur\":{dur},\"args\":{{",
                slice.phase.name()
            )?;
            if let Some(entity) = slice.entity {
                write!(out, "\"entity\":{},", entity.0)?;
                if let Some(body) = self.bodies.get().and_then(|bodies| bodies.get(entity.0 as usize)) {
                    write!(out, "\"body\":{},", body.0)?;
                }
            }
            write!(out, "\"tick\":{}}}}}", slice.tick)?;
        }
        Ok(())
    }
}
