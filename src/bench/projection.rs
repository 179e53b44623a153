//! How long a recorded run would take on more cores than there are: list scheduling of its task graph.
//!
//! This is a model, and everything that shows its figures says so. Every entity stays on the core where a real run
//! would put it. A task is ready when the task that sent its message has ended, when its entity has ended the task
//! before, and when global virtual time, worked out anew from the schedule, has reached what it needed; ready
//! tasks of a core run in the order in which they became ready. Rollbacks are those of the recorded run, although
//! more cores may cause other ones; contention for locks and caches is left out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use crate::base::time::Tick;
use crate::executor::arbiters::actors_per_arbiter;
use crate::runtime::task_graph::TaskGraph;

/// Costs of a run besides its tasks, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Time between two tasks of a core: mailbox, queue, envelope. Taken from a measured run.
    pub dispatch: f64,
    /// Latency of a message from another core to a busy core.
    pub across: f64,
    /// Latency of a message to a sleeping core.
    pub wake: f64,
    /// Starting and stopping all actors, once. Taken from a measured run, the same for any number of cores.
    pub start_stop: f64,
}

impl Default for Costs {
    fn default() -> Self {
        // Latencies between two cores as measured for actix: 140 ns if the other is busy, 3 to 5.5 us if it sleeps.
        Costs { dispatch: 150.0, across: 200.0, wake: 5_000.0, start_stop: 0.0 }
    }
}

/// Outcome of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projected {
    /// Number of cores of the schedule.
    pub cores: usize,
    /// Time until the last task has ended, and the frames are done, seconds.
    pub seconds: f64,
    /// Time the cores were busy with tasks, as a share of all their time.
    pub busy_share: f64,
}

/// Schedules a graph on `cores` arbiters of a machine with `hardware` cores. The frames are one more thread.
pub fn project(graph: &TaskGraph, cores: usize, hardware: usize, costs: &Costs) -> Projected {
    let cores = cores.max(1);
    let mut schedule = Schedule::new(graph, cores, costs);
    schedule.run();
    let frames = graph.frames_nanos as f64;
    let capacity = hardware.max(1) as f64;
    // The thread of the frames takes what the arbiters leave, and its own time at least.
    let nanos = costs.start_stop + schedule.end.max(frames).max((schedule.busy + frames) / capacity);
    Projected { cores, seconds: nanos * 1e-9, busy_share: schedule.busy / (nanos * cores as f64).max(1.0) }
}

/// Kind of an instant of the schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Happening {
    /// A task arrives at its core.
    Arrives(u32),
    /// A task ends.
    Ends(u32),
}

/// An instant of the schedule. Ties are broken by the order of insertion.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    at: f64,
    number: u64,
    what: Happening,
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.total_cmp(&other.at).then(self.number.cmp(&other.number))
    }
}

#[derive(Default)]
struct Core {
    ready: VecDeque<u32>,
    is_busy: bool,
}

struct Schedule<'a> {
    graph: &'a TaskGraph,
    costs: &'a Costs,
    actors_per_arbiter: usize,
    cores: Vec<Core>,
    /// The next task of the same entity.
    next: Vec<Option<u32>>,
    /// Tasks caused by each: `caused[first_caused[i]..first_caused[i + 1]]`.
    first_caused: Vec<u32>,
    caused: Vec<u32>,
    /// What each task still waits for: cause and predecessor.
    missing: Vec<u8>,
    happenings: BinaryHeap<Reverse<Entry>>,
    entered: u64,
    /// How many entities have each tick as their LVT.
    lvts: BTreeMap<Tick, u32>,
    gvt: Tick,
    /// Tasks that lack nothing but global virtual time.
    gated: BTreeMap<Tick, Vec<u32>>,
    end: f64,
    busy: f64,
}

impl<'a> Schedule<'a> {
    fn new(graph: &'a TaskGraph, cores: usize, costs: &'a Costs) -> Self {
        let count = graph.tasks.len();
        let (mut next, mut missing) = (vec![None; count], vec![0u8; count]);
        let mut latest: Vec<Option<u32>> = vec![None; graph.entities];
        let mut first_caused = vec![0u32; count + 1];
        for (at, task) in graph.tasks.iter().enumerate() {
            if let Some(before) = latest[task.entity as usize].replace(at as u32) {
                next[before as usize] = Some(at as u32);
                missing[at] += 1;
            }
            if let Some(cause) = task.cause {
                first_caused[cause as usize + 1] += 1;
                missing[at] += 1;
            }
        }
        for at in 0..count {
            first_caused[at + 1] += first_caused[at];
        }
        let mut caused = vec![0u32; first_caused[count] as usize];
        let mut filled = first_caused.clone();
        for (at, task) in graph.tasks.iter().enumerate() {
            if let Some(cause) = task.cause {
                caused[filled[cause as usize] as usize] = at as u32;
                filled[cause as usize] += 1;
            }
        }
        Schedule {
            graph,
            costs,
            actors_per_arbiter: actors_per_arbiter(graph.entities, cores),
            cores: (0..cores).map(|_| Core::default()).collect(),
            next,
            first_caused,
            caused,
            missing,
            happenings: BinaryHeap::new(),
            entered: 0,
            lvts: BTreeMap::from([(0, graph.entities as u32)]),
            gvt: 0,
            gated: BTreeMap::new(),
            end: 0.0,
            busy: 0.0,
        }
    }

    fn run(&mut self) {
        for task in 0..self.graph.tasks.len() as u32 {
            if self.missing[task as usize] == 0 {
                self.release(0.0, task, None);
            }
        }
        while let Some(Entry { at, what, .. }) = self.next_happening() {
            self.end = self.end.max(at);
            match what {
                Happening::Arrives(task) => {
                    let core = self.core_of(task);
                    self.cores[core].ready.push_back(task);
                    if !self.cores[core].is_busy {
                        self.cores[core].is_busy = true;
                        // A single core never sleeps: it waits for no other.
                        let wake = if self.cores.len() > 1 && at > 0.0 { self.costs.wake } else { 0.0 };
                        self.start(at + wake, core);
                    }
                }
                Happening::Ends(task) => {
                    let core = self.core_of(task);
                    // What it caused comes before the core looks for something else to do.
                    self.ended(at, task, core);
                    self.cores[core].is_busy = !self.cores[core].ready.is_empty();
                    if self.cores[core].is_busy {
                        self.start(at, core);
                    }
                }
            }
        }
    }

    /// The next instant; nothing if all tasks have ended.
    fn next_happening(&mut self) -> Option<Entry> {
        // Global virtual time as worked out here may lag behind the recorded one, which had other sources too.
        while self.happenings.is_empty()
            && let Some((gvt, tasks)) = self.gated.pop_first()
        {
            self.gvt = self.gvt.max(gvt);
            for task in tasks {
                self.release(self.end, task, None);
            }
        }
        self.happenings.pop().map(|Reverse(entry)| entry)
    }

    fn core_of(&self, task: u32) -> usize {
        (self.graph.tasks[task as usize].entity as usize / self.actors_per_arbiter).min(self.cores.len() - 1)
    }

    fn enter(&mut self, at: f64, what: Happening) {
        self.entered += 1;
        self.happenings.push(Reverse(Entry { at, number: self.entered, what }));
    }

    /// Runs the next task of a core.
    fn start(&mut self, at: f64, core: usize) {
        let Some(task) = self.cores[core].ready.pop_front() else { return };
        let takes = f64::from(self.graph.tasks[task as usize].nanos) + self.costs.dispatch;
        self.busy += takes;
        self.enter(at + takes, Happening::Ends(task));
    }

    fn ended(&mut self, at: f64, task: u32, core: usize) {
        let (from, to) = (self.graph.tasks[task as usize].from, self.graph.tasks[task as usize].to);
        if let Some(next) = self.next[task as usize] {
            self.lacks_one_less(at, next, core);
        }
        let (first, last) = (self.first_caused[task as usize], self.first_caused[task as usize + 1]);
        for caused in first..last {
            let caused = self.caused[caused as usize];
            self.lacks_one_less(at, caused, core);
        }
        if from != to {
            self.moved(at, from, to, core);
        }
    }

    fn lacks_one_less(&mut self, at: f64, task: u32, core: usize) {
        self.missing[task as usize] -= 1;
        if self.missing[task as usize] == 0 {
            self.release(at, task, Some(core));
        }
    }

    /// A task lacks nothing any more, but perhaps global virtual time.
    fn release(&mut self, at: f64, task: u32, by: Option<usize>) {
        let gvt = self.graph.tasks[task as usize].gvt;
        if gvt > self.gvt {
            self.gated.entry(gvt).or_default().push(task);
            return;
        }
        let core = self.core_of(task);
        if by == Some(core) {
            // Its own core sees it at once, behind what has come before.
            self.cores[core].ready.push_back(task);
        } else {
            let latency = if by.is_some() { self.costs.across } else { 0.0 };
            self.enter(at + latency, Happening::Arrives(task));
        }
    }

    /// An entity has moved in time.
    fn moved(&mut self, at: f64, from: Tick, to: Tick, core: usize) {
        *self.lvts.entry(to).or_default() += 1;
        if let Some(left) = self.lvts.get_mut(&from) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.lvts.remove(&from);
            }
        }
        // GVT never falls, even if the order of this schedule would have raised it later.
        let lowest = self.lvts.first_key_value().map_or(to, |(tick, _)| *tick);
        self.gvt = self.gvt.max(lowest);
        while let Some(entry) = self.gated.first_entry().filter(|entry| *entry.key() <= self.gvt) {
            for task in entry.remove() {
                self.release(at, task, Some(core));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::task_graph::Task;

    const FREE: Costs = Costs { dispatch: 0.0, across: 0.0, wake: 0.0, start_stop: 0.0 };

    fn task(entity: u32, nanos: u32, cause: Option<u32>) -> Task {
        Task { entity, nanos, cause, gvt: 0, from: 0, to: 0 }
    }

    fn graph(entities: usize, tasks: Vec<Task>) -> TaskGraph {
        TaskGraph { tasks, entities, frames_nanos: 0, is_complete: true }
    }

    fn nanos(graph: &TaskGraph, cores: usize, costs: &Costs) -> f64 {
        (project(graph, cores, cores, costs).seconds * 1e9).round()
    }

    #[test]
    fn independent_tasks_run_in_parallel() {
        let graph = graph(4, (0..4).map(|entity| task(entity, 100, None)).collect());
        assert_eq!(nanos(&graph, 1, &FREE), 400.0);
        assert_eq!(nanos(&graph, 2, &FREE), 200.0);
        assert_eq!(nanos(&graph, 4, &FREE), 100.0);
        let costly = Costs { dispatch: 50.0, start_stop: 7.0, ..FREE };
        assert_eq!(nanos(&graph, 2, &costly), 307.0);
    }

    #[test]
    fn a_chain_gains_nothing_and_pays_for_latencies() {
        let chain: Vec<Task> = (0..4).map(|at| task(at % 2, 100, at.checked_sub(1))).collect();
        let graph = graph(2, chain);
        assert_eq!(nanos(&graph, 1, &FREE), 400.0);
        assert_eq!(nanos(&graph, 2, &FREE), 400.0);
        let costs = Costs { across: 10.0, wake: 5.0, ..FREE };
        assert_eq!(nanos(&graph, 2, &costs), 400.0 + 3.0 * 15.0);
    }

    #[test]
    fn gvt_holds_back_an_entity_that_is_ahead() {
        // Entity 0 needs a GVT that entity 1 has not reached yet.
        let mut tasks = vec![task(0, 10, None), task(1, 300, None), task(0, 10, None)];
        (tasks[0].to, tasks[1].to) = (5, 5);
        (tasks[2].gvt, tasks[2].from, tasks[2].to) = (5, 5, 9);
        let graph = graph(2, tasks);
        assert_eq!(nanos(&graph, 2, &FREE), 310.0);
    }

    #[test]
    fn a_gvt_that_is_never_reached_blocks_nothing() {
        let mut tasks = vec![task(0, 10, None), task(0, 10, None)];
        tasks[1].gvt = 99;
        assert_eq!(nanos(&graph(1, tasks), 1, &FREE), 20.0);
    }

    #[test]
    fn frames_take_a_share_of_the_cores() {
        let mut graph = graph(2, vec![task(0, 100, None), task(1, 100, None)]);
        graph.frames_nanos = 60;
        assert_eq!((project(&graph, 1, 1, &FREE).seconds * 1e9).round(), 260.0);
        assert_eq!((project(&graph, 1, 2, &FREE).seconds * 1e9).round(), 200.0);
        assert_eq!((project(&graph, 2, 2, &FREE).seconds * 1e9).round(), 130.0);
    }
}
