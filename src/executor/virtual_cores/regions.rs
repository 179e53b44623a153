//! Regions on virtual cores: every core is a thread of [`regions`](crate::executor::regions) with a view of its own of what
//! threads share, and what another core does comes into that view when its turn has ended and the price of a message has
//! passed.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::SeqCst;

use super::agenda::Agenda;
use super::{Machine, SharedMachine};
use crate::base::frame::Frame;
use crate::base::stop::Stop;
use crate::base::time::Tick;
use crate::executor::Job;
use crate::executor::epoch::{Ending, RegionsRun, end, whole};
use crate::executor::regions::{Shared, SyncRule, Turn, Worker, are_asked_for, threads_of, window_ticks};
use crate::physics::World;
use crate::store::{Cut, FramePart, Message, Partition, Region};

enum Happening {
    /// A core begins a turn.
    Begins(usize),
    /// A core ends one.
    Ends(usize, Done),
    /// What another core did reaches a core: messages, and the local virtual times of its regions.
    Reaches(usize, Vec<Message>, Vec<(usize, Tick)>),
    /// Frames are taken: so many of them by now.
    Taken(u64),
}

/// What came of a turn, until its end nowhere to be seen.
struct Done {
    turn: Turn,
    /// GVT was raised in it.
    has_risen: bool,
    /// Messages to every other core.
    messages: Vec<(usize, Vec<Message>)>,
    lvts: Vec<(usize, Tick)>,
    lowest: Tick,
    parts: BTreeMap<Tick, Vec<FramePart>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// A turn is entered, or runs.
    Busy,
    Idle,
    Over,
}

struct Core {
    state: State,
    /// Something has reached it since its turn began.
    has_news: bool,
    /// The lowest tick that it stands for: while a turn runs, the lower of before and after it.
    lowest: Tick,
    /// Ticks of messages that have reached it, and that the turn that runs reads.
    unread: Vec<Tick>,
    /// The local virtual times of its regions that others were told last.
    told: Vec<(usize, Tick)>,
    reading: Vec<Tick>,
}

struct Run<'a, 'w> {
    world: &'w World,
    machine: &'a mut Machine,
    rule: SyncRule,
    views: &'a [Shared],
    workers: Vec<Worker<'a, 'w>>,
    thread_of: &'a [usize],
    agenda: Agenda<Happening>,
    cores: Vec<Core>,
    /// Messages that were sent and not read, by tick.
    under_way: BTreeMap<Tick, usize>,
    /// The lowest tick of all, and since when; those that every core may know by now are gone but for the last.
    lowest: VecDeque<(u64, Tick)>,
    parts: BTreeMap<Tick, Vec<FramePart>>,
    /// The thread that takes frames is free from here on.
    frames_free: u64,
    taken: u64,
    is_halted: bool,
    ending: Ending,
    is_stopped: bool,
}

/// Runs regions from a cut to the end of the run, or to where they are stuck.
pub(crate) fn run(
    job: Job,
    cut: &Cut,
    partition: &Partition,
    rule: SyncRule,
    machine: &SharedMachine,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> RegionsRun {
    let world = &*job.model.world;
    let machine = &mut *machine.borrow_mut();
    let count = partition.regions;
    let cores = machine.cores.clamp(1, count);
    let (thread_of, neighbours) = (threads_of(count, cores), partition.neighbours());
    let views: Vec<Shared> = (0..cores).map(|_| Shared::new(count, cores, cut.tick, world)).collect();
    machine.serial();
    let mut agenda = Agenda::new();
    let (mut workers, mut built) = (Vec::new(), machine.now);
    for (me, view) in views.iter().enumerate() {
        let own = (0..count).filter(|region| thread_of[*region] == me);
        let make = |region| Region::new(world, &cut.flights, &cut.caches, partition, region as u8, cut.tick);
        let regions = own.map(make).collect();
        let rule = (rule, window_ticks(job));
        let mut worker = Worker::new(world, me, regions, rule, view, &thread_of, &neighbours);
        worker.are_asked_for = are_asked_for(job.tuning);
        workers.push(worker);
        let nanos = machine.clock.lap();
        machine.busy += nanos;
        agenda.enter(machine.now + nanos, Happening::Begins(me));
        built = built.max(machine.now + nanos);
    }
    machine.begin_ticks(built);
    let core = || Core {
        state: State::Busy,
        has_news: false,
        lowest: cut.tick,
        unread: Vec::new(),
        told: Vec::new(),
        reading: Vec::new(),
    };
    // Nothing ends before all are built.
    let (frames_free, taken) = (built, views[0].taken.load(SeqCst));
    let mut run = Run {
        world,
        machine,
        rule,
        views: &views,
        workers,
        thread_of: &thread_of,
        agenda,
        cores: (0..cores).map(|_| core()).collect(),
        under_way: BTreeMap::new(),
        lowest: VecDeque::from([(0, cut.tick)]),
        parts: BTreeMap::new(),
        frames_free,
        taken,
        is_halted: false,
        ending: Ending::default(),
        is_stopped: false,
    };
    run.carry_on(job.stop, sink);
    run.finish(sink)
}

impl Run<'_, '_> {
    fn carry_on(&mut self, stop: &Stop, sink: &mut dyn FnMut(Frame) -> ControlFlow<()>) {
        while !self.is_halted
            && let Some((at, happening)) = self.agenda.next()
        {
            self.machine.now = self.machine.now.max(at);
            match happening {
                Happening::Begins(core) => self.begin(at, core),
                Happening::Ends(core, done) => self.end_turn(at, core, done, sink),
                Happening::Reaches(core, mut messages, lvts) => {
                    self.cores[core].unread.extend(messages.iter().map(|message| message.tick));
                    let view = &self.views[core];
                    if !messages.is_empty() {
                        view.put(core, &mut messages);
                    }
                    lvts.iter().for_each(|(region, lvt)| view.lvts[*region].store(*lvt, SeqCst));
                    self.tell(at, core);
                }
                Happening::Taken(taken) => {
                    self.views.iter().for_each(|view| view.taken.store(taken, SeqCst));
                    (0..self.cores.len()).for_each(|core| self.tell(at, core));
                }
            }
            if stop.is_requested() {
                (self.is_halted, self.is_stopped) = (true, true);
            }
        }
    }

    /// A core has news: it looks again.
    fn tell(&mut self, at: u64, core: usize) {
        self.cores[core].has_news = true;
        if self.cores[core].state == State::Idle {
            self.cores[core].state = State::Busy;
            self.agenda.enter(at, Happening::Begins(core));
        }
    }

    /// Really runs a turn. What came of it is seen when it ends.
    fn begin(&mut self, at: u64, core: usize) {
        let price = self.machine.prices.message;
        while self.lowest.get(1).is_some_and(|(since, _)| since + price <= at) {
            self.lowest.pop_front();
        }
        let known = self.lowest[0].1;
        let (view, worker) = (&self.views[core], &mut self.workers[core]);
        for other in (0..self.cores.len()).filter(|other| *other != core) {
            // Together with its own this makes the minimum over all threads and mailboxes, as it was a message ago.
            view.lowest[other].store(known, SeqCst);
        }
        let gvt = worker.gvt;
        self.machine.clock.restart();
        let turn = worker.turn();
        let nanos = self.machine.clock.lap();
        self.machine.busy += nanos;
        let others = (0..self.cores.len()).filter(|other| *other != core);
        let messages: Vec<_> = others.map(|other| (other, view.take(other))).collect();
        for message in messages.iter().flat_map(|(_, messages)| messages) {
            *self.under_way.entry(message.tick).or_default() += 1;
        }
        let own = worker.regions.iter();
        let done = Done {
            turn,
            has_risen: worker.gvt > gvt,
            messages,
            lvts: own.clone().map(|region| (region.me as usize, region.lvt)).collect(),
            lowest: own.map(|region| region.lvt).min().unwrap_or(Tick::MAX),
            parts: view.take_parts(),
        };
        if view.halt.load(SeqCst) && !self.is_halted {
            (self.is_halted, self.ending) = (true, view.ending());
        }
        let state = &mut self.cores[core];
        state.has_news = false;
        state.lowest = state.lowest.min(done.lowest);
        state.reading.append(&mut state.unread);
        self.agenda.enter(at + nanos, Happening::Ends(core, done));
    }

    fn end_turn(&mut self, at: u64, core: usize, done: Done, sink: &mut dyn FnMut(Frame) -> ControlFlow<()>) {
        let Done { turn, has_risen, messages, lvts, lowest, parts } = done;
        let price = self.machine.prices.message;
        for tick in self.cores[core].reading.drain(..) {
            if let Some(count) = self.under_way.get_mut(&tick) {
                *count -= 1;
                if *count == 0 {
                    self.under_way.remove(&tick);
                }
            }
        }
        self.cores[core].lowest = lowest;
        let has_moved = self.cores[core].told != lvts;
        for (other, messages) in messages {
            if has_moved || !messages.is_empty() {
                self.agenda.enter(at + price, Happening::Reaches(other, messages, lvts.clone()));
            }
        }
        self.cores[core].told = lvts;
        self.raise(at);
        self.take_frames(at, parts, sink);
        let again = match turn {
            Turn::Over => None,
            Turn::Worked => Some(at),
            Turn::Idle => (has_risen || self.cores[core].has_news).then_some(at),
        };
        self.cores[core].state = match (turn, again) {
            (Turn::Over, _) => State::Over,
            (_, None) => State::Idle,
            (_, Some(at)) => {
                self.agenda.enter(at, Happening::Begins(core));
                State::Busy
            }
        };
    }

    /// Works out the lowest tick of all anew. Cores that wait look again when they can know of it.
    fn raise(&mut self, at: u64) {
        let of_cores = self.cores.iter().map(|core| core.lowest);
        let messages = self.under_way.first_key_value().map(|(tick, _)| *tick);
        let lowest = of_cores.chain(messages).min().unwrap_or(Tick::MAX);
        if self.lowest.back().is_some_and(|(_, before)| lowest <= *before) {
            return;
        }
        self.lowest.push_back((at, lowest));
        let seen = at + self.machine.prices.message;
        for core in 0..self.cores.len() {
            self.agenda.enter(seen, Happening::Reaches(core, Vec::new(), Vec::new()));
        }
    }

    /// A thread of its own takes frames, one after the other.
    fn take_frames(
        &mut self,
        at: u64,
        parts: BTreeMap<Tick, Vec<FramePart>>,
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) {
        for (tick, mut parts) in parts {
            self.parts.entry(tick).or_default().append(&mut parts);
        }
        let regions = self.thread_of.len();
        while let Some(first) = self.parts.first_entry().filter(|first| first.get().len() == regions) {
            let (tick, parts) = first.remove_entry();
            self.machine.clock.restart();
            if !self.is_stopped && sink(whole(self.world, tick, parts)).is_break() {
                (self.is_stopped, self.is_halted) = (true, true);
            }
            let nanos = self.machine.clock.lap();
            self.machine.frames += nanos;
            self.frames_free = self.frames_free.max(at) + nanos;
            self.taken += 1;
            self.agenda.enter(self.frames_free, Happening::Taken(self.taken));
        }
    }

    /// Brings all regions to one tick.
    fn finish(self, sink: &mut dyn FnMut(Frame) -> ControlFlow<()>) -> RegionsRun {
        let Run { world, machine, rule, views, workers, agenda, parts, ending, is_stopped, .. } = self;
        let mut messages = Vec::new();
        let mut all_parts = parts;
        // Turns that run come to their end.
        let ends = agenda.last_of(|happening| matches!(happening, Happening::Ends(..)));
        machine.now = machine.now.max(self.frames_free).max(ends);
        for happening in agenda.rest() {
            match happening {
                Happening::Ends(_, done) => {
                    messages.extend(done.messages.into_iter().flat_map(|(_, messages)| messages));
                    for (tick, mut parts) in done.parts {
                        all_parts.entry(tick).or_default().append(&mut parts);
                    }
                }
                Happening::Reaches(_, reaching, _) => messages.extend(reaching),
                Happening::Begins(_) | Happening::Taken(_) => {}
            }
        }
        for (core, view) in views.iter().enumerate() {
            messages.extend(view.take(core));
        }
        let mut regions: Vec<Region> = workers.into_iter().flat_map(|worker| worker.regions).collect();
        machine.clock.restart();
        let run = end(world, &mut regions, messages, all_parts, is_stopped, sink);
        machine.serial();
        machine.ended = machine.now;
        RegionsRun { is_optimistic: rule == SyncRule::Optimistic, ending, ..run }
    }
}
