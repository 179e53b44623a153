//! Regions of space as logical processes on threads: each thread drives some regions, and messages travel in mailboxes.
//!
//! Two rules say when a region may go on. Optimistic: it runs ahead of global virtual time by at most a window, and
//! rolls back when it learns of something in its past. Conservative: it begins a tick when its neighbours have finished the
//! one before, and never rolls back. The result is the same, that of the plain loop.
//!
//! Regions end at an epoch: a tick up to which all is committed. Where contacts reach beyond what a region knows, or
//! everything touches, one store goes on from there; where the bodies of one thread have become too many, regions go on
//! with a new partition.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::frame::Frame;
use crate::base::stop::Stop;
use crate::base::sync::{AtomicBool, AtomicU64, lock};
use crate::base::time::Tick;
use crate::executor::epoch::{Ending, RegionsRun, end, whole};
pub use crate::executor::sync_rule::SyncRule;
use crate::executor::sync_rule::{are_past, global_virtual_time};
use crate::executor::{Job, Regions, RunError, Tuning};
use crate::physics::World;
use crate::store::{Cut, DENSE, FramePart, Message, Partition, Region, RegionFault};

/// How far regions run ahead of global virtual time if nothing else is asked for, ticks. Measured on a prototype: 16, 64 and 256 made no difference
/// on a quiet machine, and 16 kept most on a busy one.
const WINDOW_TICKS: Tick = 16;
/// Regions wait while so many states of bodies, in at least and at most so many frames, are under way to where frames are
/// taken: frames take more memory than all else. Not tuned.
const STATES_AHEAD: usize = 1 << 17;
const FRAMES_AHEAD: (u64, u64) = (2, 64);
/// Regions end, and one store goes on, if they compute more than so many times the ticks that they commit. Not tuned.
const WASTE: u64 = 4;
/// Ticks after which a thread looks again whether regions still suit the scene. Not tuned.
const LOOKED_TICKS: Tick = 64;
/// Partitions change if a thread has so many times its share of the bodies, and so many times what it began with. Not
/// tuned.
const UNBALANCED: (f64, f64) = (1.5, 1.25);
/// Turns without work before a thread yields its core. Not tuned.
const SPINS: u32 = 2_000;

/// Messages for the regions of one thread.
struct Mailbox {
    mail: Mutex<Mail>,
    is_full: AtomicBool,
}

struct Mail {
    messages: Vec<Message>,
    /// The lowest tick of a message in it.
    lowest: Tick,
}

/// Parts of frames that are committed, until all regions have given theirs.
#[derive(Default)]
struct Frames {
    parts: BTreeMap<Tick, Vec<FramePart>>,
    /// Threads that have ended.
    ended: usize,
}

pub(super) struct Shared {
    boxes: Vec<Mailbox>,
    /// By thread: the lowest local virtual time of its regions, published after its messages are in their mailboxes.
    pub lowest: Vec<AtomicU64>,
    /// By region: its local virtual time, published likewise.
    pub lvts: Vec<AtomicU64>,
    gvt: AtomicU64,
    /// All threads are to end.
    pub halt: AtomicBool,
    /// Why, as the number of an [`Ending`].
    ending: AtomicU64,
    frames: Mutex<Frames>,
    has_frames: Condvar,
    /// Frames that were taken.
    pub taken: AtomicU64,
}

impl Shared {
    pub fn new(regions: usize, threads: usize, now: Tick, world: &World) -> Self {
        let mailbox = || Mailbox {
            mail: Mutex::new(Mail { messages: Vec::new(), lowest: Tick::MAX }),
            is_full: AtomicBool::new(false),
        };
        let ticks_per_frame = u64::from(world.time.ticks_per_frame);
        Shared {
            boxes: (0..threads).map(|_| mailbox()).collect(),
            lowest: (0..threads).map(|_| AtomicU64::new(now)).collect(),
            lvts: (0..regions).map(|_| AtomicU64::new(now)).collect(),
            gvt: AtomicU64::new(now),
            halt: AtomicBool::new(false),
            ending: AtomicU64::new(0),
            frames: Mutex::default(),
            has_frames: Condvar::new(),
            taken: AtomicU64::new(now.div_ceil(ticks_per_frame)),
        }
    }

    /// Ends all threads.
    fn end(&self, ending: Ending) {
        self.ending.store(ending as u64, SeqCst);
        self.halt.store(true, SeqCst);
    }

    /// Why all threads were ended, if they were.
    pub fn ending(&self) -> Ending {
        Ending::ALL[self.ending.load(SeqCst) as usize]
    }

    /// Puts messages into the mailbox of a thread.
    pub fn put(&self, thread: usize, messages: &mut Vec<Message>) {
        let mailbox = &self.boxes[thread];
        let mut mail = lock(&mailbox.mail);
        let lowest = messages.iter().map(|message| message.tick).min().unwrap_or(Tick::MAX);
        mail.lowest = mail.lowest.min(lowest);
        mail.messages.append(messages);
        mailbox.is_full.store(true, Release);
    }

    /// Takes the messages for a thread out of its mailbox. What it has published stays at or below them.
    pub fn take(&self, thread: usize) -> Vec<Message> {
        let mailbox = &self.boxes[thread];
        let mut mail = lock(&mailbox.mail);
        // Under the lock: from here on the thread stands for the messages.
        self.lowest[thread].fetch_min(mail.lowest, SeqCst);
        mail.lowest = Tick::MAX;
        mailbox.is_full.store(false, Release);
        std::mem::take(&mut mail.messages)
    }

    /// Takes the parts of frames that have been committed.
    pub fn take_parts(&self) -> BTreeMap<Tick, Vec<FramePart>> {
        std::mem::take(&mut lock(&self.frames).parts)
    }

    /// Global virtual time. While all mailboxes are locked no message is put in or taken out, and no thread lowers what
    /// it has published: so the minimum holds for that moment, and from then on.
    fn measure(&self) -> Tick {
        let guards: Vec<_> = self.boxes.iter().map(|mailbox| lock(&mailbox.mail)).collect();
        let in_boxes = guards.iter().map(|mail| mail.lowest);
        let of_threads = self.lowest.iter().map(|lowest| lowest.load(SeqCst));
        let lowest = global_virtual_time(of_threads, in_boxes, RegionFault::None);
        drop(guards);
        self.gvt.fetch_max(lowest, SeqCst).max(lowest)
    }
}

/// Ends all threads if this one ends, for whatever reason.
struct EndsAll<'a>(&'a Shared);

impl Drop for EndsAll<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.halt.store(true, SeqCst);
        }
        lock(&self.0.frames).ended += 1;
        self.0.has_frames.notify_all();
    }
}

/// Runs regions from a cut to the end of the run, or to where they are stuck.
pub(crate) fn run(
    job: Job,
    cut: Cut,
    partition: &Partition,
    rule: SyncRule,
    threads: usize,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<RegionsRun, RunError> {
    let (world, stop) = (&*job.model.world, job.stop);
    let window_ticks = window_ticks(job);
    let count = partition.regions;
    let threads = threads.clamp(1, count);
    let shared = Shared::new(count, threads, cut.tick, world);
    let thread_of = threads_of(count, threads);
    let neighbours = partition.neighbours();
    let mut is_stopped = false;
    // Once all regions are built, nothing holds it.
    let cut = Arc::new(cut);
    let results = std::thread::scope(|scope| {
        let mut handles = Vec::new();
        for me in 0..threads {
            let cut = cut.clone();
            let (shared, thread_of, neighbours) = (&shared, &thread_of, &neighbours);
            let work = move || {
                let _ends_all = EndsAll(shared);
                let own = (0..count).filter(|region| thread_of[*region] == me);
                let make =
                    |region| Region::new(world, &cut.flights, &cut.caches, partition, region as u8, cut.tick);
                let regions = own.map(make).collect();
                drop(cut);
                let built = Instant::now();
                let mut worker =
                    Worker::new(world, me, regions, (rule, window_ticks), shared, thread_of, neighbours);
                worker.are_asked_for = are_asked_for(job.tuning);
                worker.run();
                (worker.regions, built)
            };
            match std::thread::Builder::new().name(format!("regions {me}")).spawn_scoped(scope, work) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    shared.halt.store(true, SeqCst);
                    return Err(RunError::no_thread(error));
                }
            }
        }
        drop(cut);
        is_stopped = take_frames(world, &shared, threads, count, stop, sink);
        let done = Instant::now();
        let (mut results, mut ticks) = (Vec::new(), Duration::MAX);
        for (worker, handle) in handles.into_iter().enumerate() {
            let (regions, built) = handle.join().map_err(|panic| {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
                let tick = shared.gvt.load(SeqCst);
                RunError::Worker { worker: worker as u32, tick, text: text.to_owned() }
            })?;
            results.extend(regions);
            // From the last to be built: until then the others were within a window.
            ticks = ticks.min(done.saturating_duration_since(built));
        }
        Ok((results, ticks))
    });
    let (mut regions, ticks): (Vec<Region>, Duration) = results?;
    let ending = shared.ending();
    let ended = Instant::now();
    let run = finish(world, shared, &mut regions, is_stopped, sink);
    let ticks_s = Some((ticks + ended.elapsed()).as_secs_f64());
    Ok(RegionsRun { is_optimistic: rule == SyncRule::Optimistic, ending, ticks_s, ..run })
}

/// How far regions of a job run ahead of global virtual time.
pub(super) fn window_ticks(job: Job) -> Tick {
    if job.tuning.window_ticks == 0 { WINDOW_TICKS } else { job.tuning.window_ticks }
}

/// Whether a number of regions was asked for: then they go on where one store would be faster.
pub(super) fn are_asked_for(tuning: &Tuning) -> bool {
    matches!(tuning.regions, Regions::Count(_))
}

/// The thread of every region.
pub(super) fn threads_of(regions: usize, threads: usize) -> Vec<usize> {
    (0..regions).map(|region| region * threads / regions).collect()
}

/// Brings all regions to one tick, after their threads have ended.
fn finish(
    world: &World,
    shared: Shared,
    regions: &mut [Region],
    is_stopped: bool,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> RegionsRun {
    let mails = shared.boxes.into_iter().map(|mailbox| mailbox.mail.into_inner());
    let messages = mails.flat_map(|mail| mail.unwrap_or_else(PoisonError::into_inner).messages).collect();
    let frames = shared.frames.into_inner().unwrap_or_else(PoisonError::into_inner);
    end(world, regions, messages, frames.parts, is_stopped, sink)
}

/// Gives frames to `sink` as they are committed, until all threads have ended. Says whether the run was stopped.
fn take_frames(
    world: &World,
    shared: &Shared,
    threads: usize,
    regions: usize,
    stop: &Stop,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> bool {
    let mut is_stopped = false;
    loop {
        let mut frames = lock(&shared.frames);
        let first = frames.parts.first_entry().filter(|first| first.get().len() == regions);
        if let Some((tick, parts)) = first.map(|first| first.remove_entry()) {
            drop(frames);
            if !is_stopped && sink(whole(world, tick, parts)).is_break() {
                is_stopped = true;
                shared.halt.store(true, SeqCst);
            }
            shared.taken.fetch_add(1, SeqCst);
            continue;
        }
        if frames.ended == threads {
            return is_stopped;
        }
        let wait = Duration::from_millis(50);
        let (frames, _) =
            shared.has_frames.wait_timeout(frames, wait).unwrap_or_else(PoisonError::into_inner);
        drop(frames);
        if stop.is_requested() && !is_stopped {
            is_stopped = true;
            shared.halt.store(true, SeqCst);
        }
    }
}

/// What a thread did in one turn of its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It read mail, or a region did a tick.
    Worked,
    /// None of its regions may go on.
    Idle,
    /// Everything is committed.
    Over,
}

/// One thread and its regions.
pub(super) struct Worker<'a, 'w> {
    world: &'w World,
    me: usize,
    pub regions: Vec<Region<'w>>,
    rule: SyncRule,
    window_ticks: Tick,
    shared: &'a Shared,
    thread_of: &'a [usize],
    neighbours: &'a [u64],
    /// The number of the first of its regions.
    first: usize,
    /// Messages to other threads that are not in their mailboxes yet.
    outgoing: Vec<Vec<Message>>,
    /// The tick at which regions began.
    begun: Tick,
    pub gvt: Tick,
    /// Ticks done since GVT was last measured.
    since_measured: usize,
    pub are_asked_for: bool,
    /// When it was last looked whether regions still suit the scene.
    looked: Tick,
    /// Contacts that were committed up to the last look, one for every tick of each.
    contact_ticks: u64,
    /// Bodies at the beginning.
    bodies: usize,
}

impl<'a, 'w> Worker<'a, 'w> {
    pub fn new(
        world: &'w World,
        me: usize,
        regions: Vec<Region<'w>>,
        (rule, window_ticks): (SyncRule, Tick),
        shared: &'a Shared,
        thread_of: &'a [usize],
        neighbours: &'a [u64],
    ) -> Self {
        let first = regions.first().map_or(0, |region| region.me as usize);
        let outgoing = shared.boxes.iter().map(|_| Vec::new()).collect();
        let gvt = shared.gvt.load(SeqCst);
        let bodies = regions.iter().map(|region| region.own().count()).sum();
        Worker {
            world,
            me,
            regions,
            rule,
            window_ticks,
            shared,
            thread_of,
            neighbours,
            first,
            outgoing,
            begun: gvt,
            gvt,
            since_measured: 0,
            are_asked_for: true,
            looked: gvt,
            contact_ticks: 0,
            bodies,
        }
    }

    fn run(&mut self) {
        let mut idle = 0u32;
        while !self.shared.halt.load(Acquire) {
            match self.turn() {
                Turn::Worked => idle = 0,
                Turn::Idle => idle += 1,
                Turn::Over => return,
            }
            if idle > SPINS {
                std::thread::yield_now();
            } else if idle > 0 {
                std::hint::spin_loop();
            }
        }
        self.flush();
    }

    /// Reads mail if there is some, else lets a region do a tick if one may, and commits now and then.
    pub fn turn(&mut self) -> Turn {
        let next = self.next();
        // Mail that came before the answer may change it.
        if self.read_mail() {
            return Turn::Worked;
        }
        if let Some(at) = next {
            self.step(at);
            self.since_measured += 1;
        }
        if next.is_none() || self.since_measured >= 4 * self.regions.len() {
            self.since_measured = 0;
            self.commit();
            if self.gvt > self.world.time.last_tick {
                return Turn::Over;
            }
            // Nothing that comes can change what a region at GVT cannot do.
            let is_stuck = self.regions.iter().any(|region| region.stuck == Some(self.gvt));
            if is_stuck || self.is_wasteful() {
                self.shared.end(Ending::Unsuited);
            } else if self.gvt >= self.looked + LOOKED_TICKS {
                self.look();
            }
        }
        if next.is_some() { Turn::Worked } else { Turn::Idle }
    }

    /// Whether most of what its regions compute is undone.
    fn is_wasteful(&self) -> bool {
        let committed = (self.gvt - self.begun + 4 * self.window_ticks) * self.regions.len() as u64;
        self.regions.iter().map(|region| region.stats.ticks).sum::<u64>() > WASTE * committed
    }

    /// Ends all regions if others, or one store, suit the scene better by now.
    fn look(&mut self) {
        let ticks = self.gvt - self.looked;
        self.looked = self.gvt;
        let share = self.world.bodies.len() * self.regions.len() / self.thread_of.len();
        let contact_ticks: u64 = self.regions.iter().map(|region| region.counts.contact_ticks).sum();
        let touched = contact_ticks - self.contact_ticks;
        self.contact_ticks = contact_ticks;
        if !self.are_asked_for && touched * DENSE > ticks * share as u64 {
            return self.shared.end(Ending::Dense);
        }
        let bodies = self.regions.iter().map(|region| region.own().count()).sum::<usize>() as f64;
        let (of_share, of_begun) = UNBALANCED;
        if bodies > of_share * (share as f64 + 1.0) && bodies > of_begun * (self.bodies as f64 + 1.0) {
            self.shared.end(Ending::Unbalanced);
        }
    }

    /// The region with the lowest local virtual time that may go on.
    fn next(&self) -> Option<usize> {
        let last = self.world.time.last_tick;
        let frames_ahead = (STATES_AHEAD / self.world.bodies.len().max(1)) as u64;
        let frames_ahead = frames_ahead.clamp(FRAMES_AHEAD.0, FRAMES_AHEAD.1);
        let frame_limit = (self.shared.taken.load(Relaxed) + frames_ahead)
            .saturating_mul(u64::from(self.world.time.ticks_per_frame));
        let are_done = |region: &Region| {
            let near = self.neighbours[region.me as usize];
            let lvts = self.shared.lvts.iter().enumerate();
            let of_neighbours = lvts.filter(|(number, _)| near >> number & 1 == 1);
            are_past(region.lvt, of_neighbours.map(|(_, lvt)| lvt.load(Acquire)), RegionFault::None)
        };
        let may_go_on = |region: &Region| {
            let ahead = self.window_ticks.min(region.reach_ticks);
            // What is together goes on together.
            !region.is_waiting()
                && self.rule.may_go_on(region.lvt, (self.gvt, ahead), || are_done(region), RegionFault::None)
                && (!region.was_together() || are_done(region))
        };
        let able = self.regions.iter().enumerate().filter(|(_, region)| {
            region.lvt <= last && region.stuck.is_none() && region.lvt < frame_limit && may_go_on(region)
        });
        able.min_by_key(|(_, region)| region.lvt).map(|(at, _)| at)
    }

    fn step(&mut self, at: usize) {
        self.regions[at].step();
        let mut out = std::mem::take(&mut self.regions[at].out);
        for message in out.drain(..) {
            let thread = self.thread_of[message.to as usize];
            if thread == self.me {
                let to = message.to as usize - self.first;
                self.regions[to].receive(message);
            } else {
                self.outgoing[thread].push(message);
            }
        }
        self.regions[at].out = out;
        self.flush();
    }

    /// Puts messages into the mailboxes of other threads, then publishes local virtual times.
    fn flush(&mut self) {
        for (thread, outgoing) in self.outgoing.iter_mut().enumerate().filter(|(_, out)| !out.is_empty()) {
            self.shared.put(thread, outgoing);
        }
        for region in &self.regions {
            self.shared.lvts[region.me as usize].store(region.lvt, Release);
        }
        let lowest = self.regions.iter().map(|region| region.lvt).min().unwrap_or(Tick::MAX);
        self.shared.lowest[self.me].store(lowest, SeqCst);
    }

    /// Takes in messages of other threads. Says whether there were any.
    fn read_mail(&mut self) -> bool {
        if !self.shared.boxes[self.me].is_full.load(Acquire) {
            return false;
        }
        for message in self.shared.take(self.me) {
            let to = message.to as usize - self.first;
            self.regions[to].receive(message);
        }
        self.flush();
        true
    }

    /// Commits what lies before global virtual time.
    fn commit(&mut self) {
        let gvt = self.shared.measure();
        if gvt <= self.gvt {
            return;
        }
        self.gvt = gvt;
        let mut parts = Vec::new();
        for region in &mut self.regions {
            region.commit(gvt);
            parts.append(&mut region.frames);
        }
        if !parts.is_empty() {
            let mut frames = lock(&self.shared.frames);
            for part in parts {
                frames.parts.entry(part.tick).or_default().push(part);
            }
            drop(frames);
            self.shared.has_frames.notify_all();
        }
    }
}
