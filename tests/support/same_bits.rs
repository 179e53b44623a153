//! Runs a scene by speculation and compares every frame and the tally with the reference, and checks properties of the
//! protocol after every action.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use anachron::internals::base::frame::Frame;
use anachron::internals::base::state::STATE_FIELDS;
use anachron::internals::base::time::Tick;
use anachron::internals::executor::single_thread::{Order, StepView, run_watched};
use anachron::internals::executor::{Job, Tally, sequential};
use anachron::internals::physics::World;
use anachron::internals::protocol::{Entity, Stats};
use anachron::internals::rigid::RigidModel;
use anachron::internals::runtime::shared::Tuning;
use anachron::scene::Scene;
use anachron::{RunError, Stop};

/// A run of the sequential executor.
pub struct Reference {
    pub model: RigidModel,
    pub frames: Vec<Frame>,
    pub tally: Result<Tally, RunError>,
}

impl Reference {
    #[allow(dead_code)]
    pub fn new(scene: &Scene) -> Self {
        Self::of(RigidModel::new(Arc::new(World::new(scene).expect("the scene is valid"))))
    }

    pub fn of(model: RigidModel) -> Self {
        let mut frames = Vec::new();
        let tally = sequential::run(&model, None, &Stop::default(), &mut |frame| {
            frames.push(frame);
            ControlFlow::Continue(())
        });
        Reference { model, frames, tally }
    }

    /// Runs the same by speculation. The error is the first difference, or the property that was violated.
    pub fn compare(&self, tuning: &Tuning, order: Order) -> Result<Stats, String> {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.compare_unguarded(tuning, order)));
        outcome.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            Err(format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?")))
        })
    }

    fn compare_unguarded(&self, tuning: &Tuning, order: Order) -> Result<Stats, String> {
        let mut guard = Guard::new(&self.model.world, tuning);
        let (mut next, mut wrong) = (0, None);
        let job = Job { model: &self.model, tuning, inputs: None, stop: &Stop::default() };
        let outcome = run_watched(job, order, &mut |view| guard.see(view), &mut |frame| {
            wrong = self
                .frames
                .get(next)
                .map_or(Some("a frame too many".to_owned()), |expected| difference(expected, &frame));
            next += 1;
            if wrong.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        if next != self.frames.len() {
            return Err(format!("{next} frames instead of {}", self.frames.len()));
        }
        match (&self.tally, outcome) {
            (Ok(tally), Ok((speculated, stats))) if *tally == speculated => Ok(stats),
            (Err(error), Err(speculated)) if *error == speculated => Ok(Stats::default()),
            (tally, outcome) => {
                Err(format!("tally {:?} instead of {tally:?}", outcome.map(|(tally, _)| tally)))
            }
        }
    }
}

/// The first number that differs between two frames, bit by bit.
fn difference(expected: &Frame, found: &Frame) -> Option<String> {
    if (expected.index, expected.tick) != (found.index, found.tick) {
        return Some(format!("frame of tick {} instead of {}", found.tick, expected.tick));
    }
    if expected.bodies.len() != found.bodies.len() {
        return Some(format!("tick {}: {} bodies", found.tick, found.bodies.len()));
    }
    for ((id, a), (found_id, b)) in expected.bodies.iter().zip(&found.bodies) {
        if id != found_id {
            return Some(format!("tick {}: {found_id} instead of {id}", found.tick));
        }
        for ((a, b), field) in a.to_array().iter().zip(b.to_array()).zip(STATE_FIELDS) {
            if a.to_bits() != b.to_bits() {
                return Some(format!("tick {}: {id}: {field} is {b:?} instead of {a:?}", found.tick));
            }
        }
    }
    None
}

/// Checks properties of the protocol during a run; a violation panics.
struct Guard {
    gvt: Tick,
    /// No LVT is more ticks above GVT.
    ahead_max: u64,
    /// Most segments of one history.
    segments_max: usize,
    actions: u64,
    actions_max: u64,
}

impl Guard {
    fn new(world: &World, tuning: &Tuning) -> Self {
        // Far more than any run takes; speculation that grows without bound or never ends is a failure too.
        let body_ticks = (world.bodies.len() as u64 + 4) * (world.time.last_tick + 20);
        Guard {
            gvt: 0,
            ahead_max: tuning.window_of_bodies() + tuning.history_ticks,
            segments_max: tuning.window_of_bodies() as usize + 2,
            actions: 0,
            actions_max: 3_000 * body_ticks,
        }
    }

    fn see(&mut self, view: &StepView) {
        let gvt = view.shared.gvt.gvt();
        assert!(gvt >= self.gvt, "GVT fell from {} to {gvt}", self.gvt);
        let acted = view.drivers[view.acted.0 as usize].entity();
        let is_above = acted.is_retired() || acted.lvt() >= gvt;
        assert!(is_above, "{} was rolled back to {}, below GVT {gvt}", acted.id(), acted.lvt());
        let ahead = acted.lvt().saturating_sub(gvt);
        assert!(ahead <= self.ahead_max, "{} is at tick {}, and GVT is {gvt}", acted.id(), acted.lvt());
        if gvt > self.gvt {
            let is_behind = |entity: &&Entity<RigidModel>| !entity.is_retired() && entity.lvt() < gvt;
            let behind = view.entities().find(is_behind);
            assert!(behind.is_none(), "GVT is {gvt}, but {:?} is behind it", behind.map(|e| e.id()));
            self.gvt = gvt;
        }
        assert!(acted.segments() <= self.segments_max, "{} keeps {} segments", acted.id(), acted.segments());
        self.actions += 1;
        assert!(self.actions <= self.actions_max, "no end after {} actions, at GVT {gvt}", self.actions);
    }
}
