//! The task graph of a real run: which handler ran how long, on which entity, and which task caused it.
//!
//! Recorded on one arbiter, where tasks have one order; `src/bench/projection.rs` schedules it on more cores than
//! there are. Messages between two entities keep their order, so causes are matched without marking messages.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::protocol::EntityId;

/// One call of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Number of the entity.
    pub entity: u32,
    /// Duration, nanoseconds.
    pub nanos: u32,
    /// Index of the task that sent the message it handled; `None` if it was woken by a rise of the lowest LVT, or ran at
    /// the start.
    pub cause: Option<u32>,
    /// It could not have run before GVT had reached this tick.
    pub gvt: Tick,
    /// LVT of the entity before it.
    pub from: Tick,
    /// LVT of the entity after it.
    pub to: Tick,
}

/// All tasks of a run, in the order in which they ran on one core.
#[derive(Clone, Debug, Default)]
pub struct TaskGraph {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Number of entities.
    pub entities: usize,
    /// Time that the thread of the frames spent on them, nanoseconds.
    pub frames_nanos: u64,
    /// Whether all tasks are recorded; if not, these are the first ones.
    pub is_complete: bool,
}

/// What a handler does, noted by its actor while it runs.
#[derive(Default)]
pub(crate) struct Note {
    /// Receivers of the messages that it has sent, in their order.
    pub sent: Vec<EntityId>,
    /// Whether it has sent itself a request to poll again.
    pub self_stepped: bool,
    /// The tick that the lowest LVT has to reach before the entity goes on.
    pub waits_for: Option<Tick>,
}

/// What a task handles.
pub(crate) enum Occasion {
    /// A request to poll.
    Poll,
    /// A message of another entity.
    Message(EntityId),
}

/// Records the task graph of a run on one arbiter.
pub struct GraphRecorder {
    tasks_max: usize,
    window_ticks: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    graph: TaskGraph,
    /// Senders of messages that have not been handled yet, by sending and receiving entity.
    messages: BTreeMap<(u32, u32), VecDeque<u32>>,
    /// Causes of polls that have not run yet, by entity.
    polls: BTreeMap<u32, VecDeque<PollCause>>,
    /// The tick that each entity waits for.
    waits_for: BTreeMap<u32, Tick>,
}

/// Why an entity is polled.
#[derive(Clone, Copy)]
enum PollCause {
    /// A task of its own, by its index.
    OwnTask(u32),
    /// The lowest LVT had reached this tick.
    LvtMin(Tick),
}

impl TaskGraph {
    /// Shortens the longest tasks so that all together take at most `nanos`, the processor time of the run: the rest of
    /// their duration is time in which other programs had the core.
    pub fn cap_to(&mut self, nanos: u64) {
        let sum_below =
            |tasks: &[Task], cap: u32| tasks.iter().map(|task| u64::from(task.nanos.min(cap))).sum::<u64>();
        let (mut low, mut high) = (0, u32::MAX);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if sum_below(&self.tasks, middle) <= nanos { low = middle } else { high = middle - 1 }
        }
        for task in &mut self.tasks {
            task.nanos = task.nanos.min(low);
        }
    }
}

impl GraphRecorder {
    /// A recorder of at most `tasks_max` tasks of a run with this window.
    pub fn new(tasks_max: usize, window_ticks: u64) -> Self {
        let mut state = State::default();
        state.graph.is_complete = true;
        GraphRecorder { tasks_max: tasks_max.min(u32::MAX as usize), window_ticks, state: Mutex::new(state) }
    }

    /// A copy of what has been recorded.
    pub fn graph(&self) -> TaskGraph {
        self.lock().graph.clone()
    }

    /// A run of this many entities begins.
    pub(crate) fn begin(&self, entities: usize) {
        self.lock().graph.entities = entities;
    }

    /// Entities were woken because the lowest LVT has reached the tick `gvt`.
    pub(crate) fn woke(&self, entities: &[EntityId], gvt: Tick) {
        let mut state = self.lock();
        for entity in entities {
            state.polls.entry(entity.0).or_default().push_back(PollCause::LvtMin(gvt));
        }
    }

    /// The thread of the frames has spent this long on some of them.
    pub(crate) fn took_frames(&self, nanos: u64) {
        self.lock().graph.frames_nanos += nanos;
    }

    /// A handler of `entity` has run for `nanos`, and its LVT was `from` before and is `to` after it.
    pub(crate) fn ran(
        &self,
        entity: EntityId,
        occasion: &Occasion,
        (from, to): (Tick, Tick),
        nanos: u64,
        note: &mut Note,
    ) {
        let mut state = self.lock();
        let state = &mut *state;
        let polls = state.polls.entry(entity.0).or_default();
        let (cause, woken_at) = match occasion {
            // Entities without an entry are polled because the run starts.
            Occasion::Poll => match polls.pop_front() {
                Some(PollCause::OwnTask(task)) => (Some(task), None),
                Some(PollCause::LvtMin(gvt)) => (None, Some(gvt)),
                None => (None, None),
            },
            Occasion::Message(sender) => {
                let sent = state.messages.get_mut(&(sender.0, entity.0)).and_then(VecDeque::pop_front);
                (sent, None)
            }
        };
        if state.graph.tasks.len() >= self.tasks_max {
            state.graph.is_complete = false;
            note.sent.clear();
            return;
        }
        let own = state.graph.tasks.len() as u32;
        for to in note.sent.drain(..) {
            state.messages.entry((entity.0, to.0)).or_default().push_back(own);
        }
        if note.self_stepped {
            polls.push_back(PollCause::OwnTask(own));
        }
        // The lowest LVT may have risen farther than the entity had to wait for.
        let waited = woken_at.map_or(0, |gvt| gvt.min(state.waits_for.remove(&entity.0).unwrap_or(gvt)));
        if let Some(tick) = note.waits_for {
            state.waits_for.insert(entity.0, tick);
        }
        let gvt = waited.max(to.saturating_sub(self.window_ticks));
        let nanos = nanos.min(u64::from(u32::MAX)) as u32;
        state.graph.tasks.push(Task { entity: entity.0, nanos, cause, gvt, from, to });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_tasks_are_shortened() {
        let task = |nanos| Task { entity: 0, nanos, cause: None, gvt: 0, from: 0, to: 0 };
        let mut graph = TaskGraph { tasks: [10, 20, 5_000_000].map(task).into(), ..TaskGraph::default() };
        graph.cap_to(100);
        assert_eq!(graph.tasks.iter().map(|task| task.nanos).collect::<Vec<_>>(), [10, 20, 70]);
        graph.cap_to(1000);
        assert_eq!(graph.tasks[2].nanos, 70, "nothing is made longer");
    }

    #[test]
    fn causes_are_found_by_order() {
        let recorder = GraphRecorder::new(4, 10);
        recorder.begin(2);
        let (a, b) = (EntityId(0), EntityId(1));
        let mut note = Note { sent: vec![b, b], self_stepped: true, waits_for: None };
        recorder.ran(a, &Occasion::Poll, (0, 30), 5, &mut note);
        recorder.ran(
            b,
            &Occasion::Message(a),
            (0, 0),
            5,
            &mut Note { waits_for: Some(7), ..Note::default() },
        );
        recorder.woke(&[b], 9);
        recorder.ran(b, &Occasion::Poll, (0, 0), 5, &mut Note::default());
        recorder.ran(a, &Occasion::Poll, (30, 30), 5, &mut Note::default());
        recorder.ran(b, &Occasion::Message(a), (0, 0), 5, &mut Note::default());
        let graph = recorder.graph();
        let seen: Vec<_> = graph.tasks.iter().map(|task| (task.entity, task.cause, task.gvt)).collect();
        assert_eq!(seen, [(0, None, 20), (1, Some(0), 0), (1, None, 7), (0, Some(0), 20)]);
        assert!(!graph.is_complete, "only four tasks are recorded");
    }
}
