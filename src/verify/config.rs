//! What is played: a toy world, who is in it, how far they may run ahead, and what comes from outside.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::protocol::{BodyIndex, Dynamics, EntityId, Fault, Grid, Limits};
use crate::tvht::Lane;
use crate::verify::toy_model::{Reference, ToyInput, ToyInputKind, ToyModel, ToyPath, mix, speed};

/// What happens without anybody else seeing it half done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomicity {
    /// A whole handler with everything it wants done: one core, or an executor of one thread.
    #[default]
    Handlers,
    /// A handler; then everything it wants done, one thing after another, each seen by all others: many cores.
    Effects,
}

/// Something that comes from outside, at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptedInput {
    /// Somebody acts on a body, or lets it come into being; rejected if the tick is settled by then.
    ToyInput {
        /// When it acts.
        tick: Tick,
        /// What.
        act: ToyInput,
    },
    /// Bodies are handed over to another entity, as soon as theirs can.
    Migrate {
        /// Who gives.
        from: EntityId,
        /// Who.
        bodies: Vec<BodyIndex>,
        /// Who takes.
        to: EntityId,
    },
}

/// Where everybody should be at a tick: body, place, number.
pub(super) type Places = Vec<(BodyIndex, i64, u64)>;

/// The reference for a certain choice of inputs: places at every tick, and touches seen in all.
pub(super) struct ReferenceRun {
    pub places: Vec<Places>,
    pub touches: (u64, u64),
}

/// What is played.
#[derive(Debug)]
pub struct ModelConfig {
    /// The world.
    pub toy: ToyModel,
    /// Bodies of each entity.
    pub cluster: usize,
    /// How far they may run ahead.
    pub limits: Limits,
    /// Number of buckets.
    pub buckets: u32,
    /// Width of a cell in diameters.
    pub cell_scale: f64,
    /// Ticks kept unsettled.
    pub history: u64,
    /// Where the buckets are.
    pub lane: Lane,
    /// What happens at once.
    pub atomicity: Atomicity,
    /// Whether answers that change nothing arrive at once: they commute with everything but the receiver's next
    /// step, which may come later anyway.
    pub prompt_answers: bool,
    /// Crews grow up to this many bodies by themselves. Only for ways that are gone one at a time: what entities
    /// know of each other for that is not unshare of a state.
    pub reclusters: Option<u32>,
    /// What comes from outside, in this order.
    pub script: Vec<ScriptedInput>,
    pub(super) grid: Grid,
    truths: Mutex<BTreeMap<u64, Arc<ReferenceRun>>>,
}

impl std::fmt::Debug for ReferenceRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ticks", self.places.len())
    }
}

impl Clone for ModelConfig {
    fn clone(&self) -> Self {
        ModelConfig {
            toy: self.toy.clone(),
            grid: self.grid.clone(),
            script: self.script.clone(),
            truths: Mutex::default(),
            ..*self
        }
    }
}

impl ModelConfig {
    /// A plain config: every body by itself, shared memory, nothing from outside.
    pub fn new(toy: ToyModel, window: u64, buckets: u32) -> Self {
        let limits = Limits {
            window,
            contact_window: Some(window),
            stride_min: 1,
            adaptive: false,
            last_tick: toy.last_tick,
            alone_until: Tick::MAX,
        };
        let radii: Vec<f64> = toy.start().iter().map(|(body, _)| toy.radius(*body)).collect();
        let cell_scale = 2.0;
        ModelConfig {
            grid: Grid::new(&radii, cell_scale, buckets),
            toy,
            cluster: 1,
            limits,
            buckets,
            cell_scale,
            history: 0,
            lane: Lane::Shared,
            atomicity: Atomicity::Handlers,
            prompt_answers: true,
            reclusters: None,
            script: Vec::new(),
            truths: Mutex::default(),
        }
    }

    /// The same with other cells.
    pub fn with_cells(mut self, cell_scale: f64) -> Self {
        let radii: Vec<f64> = self.toy.start().iter().map(|(body, _)| self.toy.radius(*body)).collect();
        self.cell_scale = cell_scale;
        self.grid = Grid::new(&radii, cell_scale, self.buckets);
        self
    }

    /// The same with a deliberate fault, and the smallest window where that is the fault.
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.toy.fault = fault;
        if fault == Fault::WindowHoldsTheLowest {
            self.limits.window = 0;
        }
        self.truths = Mutex::default();
        self
    }

    /// Entities at the start.
    pub fn entities(&self) -> u32 {
        self.toy.bodies.div_ceil(self.cluster as u32)
    }

    /// A body that comes into being at `tick`, after so many others.
    pub fn newcomer(&self, tick: Tick, earlier: u32) -> ScriptedInput {
        let body = self.toy.bodies + earlier;
        let number = mix(&[self.toy.seed, 5, u64::from(body)]);
        let at = (number >> 8) as i64 % self.toy.room.max(1);
        let path = ToyPath { since: tick, at, speed: speed(number), number };
        ScriptedInput::ToyInput { tick, act: ToyInput { body, deed: ToyInputKind::Spawn(path) } }
    }

    /// What should come out if these of the script's inputs are let in, each a bit.
    pub(super) fn truth(&self, let_in: u64) -> Arc<ReferenceRun> {
        let mut truths = lock(&self.truths);
        truths.entry(let_in).or_insert_with(|| Arc::new(self.work_out(let_in))).clone()
    }

    fn work_out(&self, let_in: u64) -> ReferenceRun {
        let mut reference = Reference::new(&self.toy);
        let mut places = vec![reference.places()];
        while reference.tick < self.toy.last_tick {
            let acts = self.script.iter().enumerate().filter_map(|(number, input_next)| match input_next {
                ScriptedInput::ToyInput { tick, act }
                    if *tick == reference.tick && let_in >> number & 1 == 1 =>
                {
                    Some((number as u64, *act))
                }
                _ => None,
            });
            let acts: Vec<(u64, ToyInput)> = acts.collect();
            reference.advance(&acts);
            places.push(reference.places());
        }
        // What touches at the last tick is seen, though it no longer acts.
        reference.advance(&[]);
        ReferenceRun { places, touches: (reference.touches, reference.new_touches) }
    }
}
