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
    /// Whose handler.
    pub entity: u32,
    /// How long it ran.
    pub nanos: u32,
    /// The task that sent the message it handled; none if it was woken by global virtual time.
    pub cause: Option<u32>,
    /// It could not have run before global virtual time had reached this tick.
    pub gvt: Tick,
    /// Local virtual time before.
    pub from: Tick,
    /// Local virtual time after.
    pub to: Tick,
}

/// All tasks of a run, in the order in which they ran on one core.
#[derive(Clone, Debug, Default)]
pub struct TaskGraph {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Number of entities.
    pub entities: usize,
    /// Time spent on frames by the thread that takes them.
    pub frames_nanos: u64,
    /// Whether there was room for all tasks; if not, these are the first ones.
    pub is_complete: bool,
}

/// What one handler did, noted by its actor while it runs.
#[derive(Default)]
pub(crate) struct Note {
    /// Whom it has sent messages.
    pub sent: Vec<EntityId>,
    /// Whether it has sent itself a step_later.
    pub self_stepped: bool,
    /// The tick of global virtual time that it must wait for.
    pub waits_for: Option<Tick>,
}

/// How a task came about.
pub(crate) enum Occasion {
    /// It was asked to step.
    Asked,
    /// A message came from another entity.
    Mail(EntityId),
}

/// Records the task graph of a run on one arbiter.
pub struct GraphRecorder {
    room: usize,
    window: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    graph: TaskGraph,
    mail: BTreeMap<(u32, u32), VecDeque<u32>>,
    asked: BTreeMap<u32, VecDeque<Asked>>,
    waits_for: BTreeMap<u32, Tick>,
}

/// Who asked an entity to step.
#[derive(Clone, Copy)]
enum Asked {
    /// A task of its own.
    Itself(u32),
    /// Global virtual time, which had reached this tick.
    Gvt(Tick),
}

impl TaskGraph {
    /// Shortens the longest tasks so that all together take no more than `nanos`, the processor time of the run:
    /// where other programs had the core, it was not the task that took long.
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
    /// Room for so many tasks of a run with this window.
    pub fn new(tasks_max: usize, window: u64) -> Self {
        let mut state = State::default();
        state.graph.is_complete = true;
        GraphRecorder { room: tasks_max.min(u32::MAX as usize), window, state: Mutex::new(state) }
    }

    /// What was recorded.
    pub fn graph(&self) -> TaskGraph {
        self.lock().graph.clone()
    }

    pub(crate) fn begin(&self, entities: usize) {
        self.lock().graph.entities = entities;
    }

    pub(crate) fn woke(&self, entities: &[EntityId], gvt: Tick) {
        let mut state = self.lock();
        for entity in entities {
            state.asked.entry(entity.0).or_default().push_back(Asked::Gvt(gvt));
        }
    }

    pub(crate) fn took_frames(&self, nanos: u64) {
        self.lock().graph.frames_nanos += nanos;
    }

    /// A handler of `entity` has run for `nanos` and moved it in time.
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
        let asked = state.asked.entry(entity.0).or_default();
        let (cause, woken_at) = match occasion {
            // Who has no entry was asked at the start.
            Occasion::Asked => match asked.pop_front() {
                Some(Asked::Itself(task)) => (Some(task), None),
                Some(Asked::Gvt(gvt)) => (None, Some(gvt)),
                None => (None, None),
            },
            Occasion::Mail(sender) => {
                let sent = state.mail.get_mut(&(sender.0, entity.0)).and_then(VecDeque::pop_front);
                (sent, None)
            }
        };
        if state.graph.tasks.len() >= self.room {
            state.graph.is_complete = false;
            note.sent.clear();
            return;
        }
        let own = state.graph.tasks.len() as u32;
        for to in note.sent.drain(..) {
            state.mail.entry((entity.0, to.0)).or_default().push_back(own);
        }
        if note.self_stepped {
            asked.push_back(Asked::Itself(own));
        }
        // It may have been woken for the sake of an earlier, nearer tick.
        let waited = woken_at.map_or(0, |gvt| gvt.min(state.waits_for.remove(&entity.0).unwrap_or(gvt)));
        if let Some(tick) = note.waits_for {
            state.waits_for.insert(entity.0, tick);
        }
        let gvt = waited.max(to.saturating_sub(self.window));
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
    fn interrupted_tasks_are_cut() {
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
        recorder.ran(a, &Occasion::Asked, (0, 30), 5, &mut note);
        recorder.ran(b, &Occasion::Mail(a), (0, 0), 5, &mut Note { waits_for: Some(7), ..Note::default() });
        recorder.woke(&[b], 9);
        recorder.ran(b, &Occasion::Asked, (0, 0), 5, &mut Note::default());
        recorder.ran(a, &Occasion::Asked, (30, 30), 5, &mut Note::default());
        recorder.ran(b, &Occasion::Mail(a), (0, 0), 5, &mut Note::default());
        let graph = recorder.graph();
        let seen: Vec<_> = graph.tasks.iter().map(|task| (task.entity, task.cause, task.gvt)).collect();
        assert_eq!(seen, [(0, None, 20), (1, Some(0), 0), (1, None, 7), (0, Some(0), 20)]);
        assert!(!graph.is_complete, "there was room for four");
    }
}
