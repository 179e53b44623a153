//! What every core did when: slices of time in bounded memory, and the trace format that Perfetto and Chrome read.
//!
//! Slices of one core follow each other and never overlap. Each core keeps its latest ones; how many older ones
//! were dropped is told in the file.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use crate::base::ids::BodyId;
use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::protocol::{Dynamics, EntityId, Message};
use crate::runtime::task_graph::GraphRecorder;

/// What a core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// An entity plans its next flight: its own first touch, and what is settled is let go.
    Step,
    /// The same, and it has worked out how it goes on from a contact.
    Respond,
    /// A plan is written into the table in shared memory: search for the first touch with others.
    Write,
    /// A request passes a bucket that is an actor.
    Bucket,
    /// An entity hears the table's answer.
    Table,
    /// An entity handles an event.
    Event,
    /// An entity handles an antievent.
    Antievent,
    /// An entity handles a ghost.
    Standing,
    /// Bodies that are handed over are taken in.
    Join,
    /// An entity handles an answer.
    Answer,
    /// LvtHistogram are moved, messages leave.
    Send,
    /// Global virtual time is raised, and those who waited for it are woken.
    Gvt,
    /// Committed frames are evaluated and handed out.
    Frames,
}

impl Phase {
    /// All of them.
    pub const ALL: [Phase; 13] = [
        Phase::Step,
        Phase::Respond,
        Phase::Write,
        Phase::Bucket,
        Phase::Table,
        Phase::Event,
        Phase::Antievent,
        Phase::Standing,
        Phase::Join,
        Phase::Answer,
        Phase::Send,
        Phase::Gvt,
        Phase::Frames,
    ];

    /// Its name in a trace.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Step => "step",
            Phase::Respond => "respond",
            Phase::Write => "write",
            Phase::Bucket => "bucket",
            Phase::Table => "table answer",
            Phase::Event => "handle event",
            Phase::Antievent => "handle antievent",
            Phase::Standing => "handle ghost",
            Phase::Join => "handle join",
            Phase::Answer => "handle answer",
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
            Message::GhostUpdate { .. } => Phase::Standing,
            Message::Migrate { .. } => Phase::Join,
            Message::Ack { .. } => Phase::Answer,
        }
    }
}

/// A input, in nanoseconds since the trace began.
pub(crate) type Nanos = u64;

/// Something a core did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// What.
    pub phase: Phase,
    /// For which entity; none if for nobody in particular.
    pub entity: Option<EntityId>,
    /// The entity's local virtual time, or the global one.
    pub tick: Tick,
    /// Begin, nanoseconds since the trace began.
    pub from: u64,
    /// End.
    pub to: u64,
}

/// The latest slices of one core.
#[derive(Default)]
struct Strip {
    slices: VecDeque<Slice>,
    dropped: u64,
    totals: Totals,
    end: Option<Nanos>,
}

/// The time one core spent on each phase, and between them. Of all slices, kept or dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    nanos: [u64; Phase::ALL.len()],
    /// Short gaps: mailboxes, queues.
    pub between_nanos: u64,
    /// Long gaps.
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

/// One more than the index of the last core: the thread that takes the frames.
type Lane = usize;

/// A gap between two slices that is at least this long is shown as idle; a shorter one is the mailboxes' work.
const IDLE_NANOS: u64 = 5_000;

/// Keeps what every core did last.
pub struct Tracer {
    started: Instant,
    capacity: usize,
    strips: OnceLock<Box<[Mutex<Strip>]>>,
    /// The first body of every entity.
    bodies: OnceLock<Box<[BodyId]>>,
    /// Records the task graph as well.
    graph: Option<GraphRecorder>,
}

impl Tracer {
    /// Room for so many slices, shared equally by the cores of the run.
    pub fn new(slices_max: usize) -> Self {
        Tracer {
            started: Instant::now(),
            capacity: slices_max.max(1),
            strips: OnceLock::new(),
            bodies: OnceLock::new(),
            graph: None,
        }
    }

    /// The same, and the task graph is recorded too. For runs on one core.
    pub fn with_graph(slices_max: usize, graph: GraphRecorder) -> Self {
        Tracer { graph: Some(graph), ..Tracer::new(slices_max) }
    }

    /// The recorder of the task graph, if there is one.
    pub fn graph(&self) -> Option<&GraphRecorder> {
        self.graph.as_ref()
    }

    /// Makes ready for a run. A second run with the same tracer adds to the first if it has no more cores.
    pub(crate) fn begin(&self, cores: usize, bodies: impl Iterator<Item = BodyId>) {
        self.strips.get_or_init(|| (0..=cores).map(|_| Mutex::default()).collect());
        let bodies = self.bodies.get_or_init(|| bodies.collect());
        if let Some(graph) = &self.graph {
            graph.begin(bodies.len());
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.started.elapsed().as_nanos() as Nanos
    }

    /// A slice ends now. Returns now.
    pub(crate) fn end(
        &self,
        lane: Lane,
        phase: Phase,
        entity: Option<EntityId>,
        tick: Tick,
        from: Nanos,
    ) -> Nanos {
        let to = self.now();
        let Some(strip) = self.strips().get(lane) else { return to };
        let room = (self.capacity / self.strips().len()).max(1);
        let mut strip = lock(strip);
        if strip.slices.len() >= room {
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

    /// Where the time of each core went; last the thread that takes the frames.
    pub fn totals(&self) -> Vec<Totals> {
        let of = |strip: &Mutex<Strip>| lock(strip).totals;
        self.strips().iter().map(of).collect()
    }

    /// The lane of the thread that takes the frames.
    pub(crate) fn frames_lane(&self) -> Lane {
        self.strips().len().saturating_sub(1)
    }

    /// What each core did, oldest first; last the thread that takes the frames.
    pub fn slices(&self) -> Vec<Vec<Slice>> {
        let of = |strip: &Mutex<Strip>| lock(strip).slices.iter().copied().collect();
        self.strips().iter().map(of).collect()
    }

    /// Slices that were dropped for want of room.
    pub fn dropped(&self) -> u64 {
        self.strips().iter().map(|strip| lock(strip).dropped).sum()
    }

    fn strips(&self) -> &[Mutex<Strip>] {
        self.strips.get().map_or(&[], |strips| strips)
    }

    /// Writes the trace in the JSON format of Chrome's trace events, which Perfetto reads too.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{{\"displayTimeUnit\":\"ns\",")?;
        let (room, dropped) = (self.capacity, self.dropped());
        let meaning = format!(
            "one row per core and one for the thread that takes the frames; gaps of {} us and more are shown as idle",
            IDLE_NANOS / 1000
        );
        writeln!(
            out,
            "\"otherData\":{{\"program\":\"anachron {}\",\"slices_max\":{room},\"slices_dropped\":{dropped},\"which\":\"the latest of every row\",\"meaning\":\"{meaning}\"}},",
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
