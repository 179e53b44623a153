//! What is modelled: a toy model, its entities, their limits, and the inputs that come from outside.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::protocol::{BodyIndex, Dynamics, Fault, Grid, Limits, MembershipChange};
use crate::tvht::Lane;
use crate::verify::reference::Reference;
use crate::verify::toy_dynamics::{mix, speed};
use crate::verify::toy_model::{ToyInput, ToyInputKind, ToyModel, ToyPath};

/// What is one action, so that nothing else can happen while it is half done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomicity {
    /// A handler together with all its effects: one core, or an executor of one thread.
    #[default]
    Handlers,
    /// A handler, and then each of its effects by itself, seen by all others: many cores.
    Effects,
}

/// An input to a body; rejected if its tick has been committed by the time it comes. The schedule decides when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedInput {
    /// The tick that the input is for.
    pub tick: Tick,
    /// The body, and what is done to it.
    pub input: ToyInput,
}

/// All bodies at one tick: index, position, number.
pub(super) type Positions = Vec<(BodyIndex, i64, u64)>;

/// The reference for a certain set of admitted inputs.
pub(super) struct ReferenceRun {
    /// Positions at every tick, from tick 0 on.
    pub positions: Vec<Positions>,
    /// Contacts summed over all ticks, and contacts that began.
    pub contacts: (u64, u64),
    /// What is decided about islands at each epoch.
    pub decisions: Vec<MembershipChange>,
}

/// What is modelled.
#[derive(Debug)]
pub struct ModelConfig {
    /// The toy model that replaces the physics.
    pub toy: ToyModel,
    /// Bodies that touch at the beginning of an epoch are an island during the next one; epochs are this many ticks
    /// long. `None`: there are no islands. Inputs are for models without islands.
    pub epoch_ticks: Option<u64>,
    /// How far entities may run ahead.
    pub limits: Limits,
    /// Number of buckets of the hash table.
    pub buckets: u32,
    /// Width of a cell, in diameters of the typical body; see [`ModelConfig::with_cells`].
    pub(super) cell_scale: f64,
    /// How far GVT stays behind the lowest LVT, for late inputs, ticks.
    pub history_ticks: u64,
    /// Where the buckets are.
    pub lane: Lane,
    /// What is one action.
    pub atomicity: Atomicity,
    /// Whether acknowledgements that reject nothing arrive at once: they commute with everything but the receiver's
    /// next step, which may come later anyway.
    pub prompt_acks: bool,
    /// The inputs, in the order in which they arrive; at most 64.
    pub script: Vec<ScriptedInput>,
    pub(super) grid: Grid,
    reference_runs: Mutex<BTreeMap<u64, Arc<ReferenceRun>>>,
}

impl std::fmt::Debug for ReferenceRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ticks", self.positions.len())
    }
}

impl Clone for ModelConfig {
    fn clone(&self) -> Self {
        ModelConfig {
            toy: self.toy.clone(),
            grid: self.grid.clone(),
            script: self.script.clone(),
            reference_runs: Mutex::default(),
            ..*self
        }
    }
}

impl ModelConfig {
    /// A plain model: one body per entity, table in shared memory, no inputs. Entities may run `window_ticks` ahead.
    pub fn new(toy: ToyModel, window_ticks: u64, buckets: u32) -> Self {
        let limits = Limits {
            window: window_ticks,
            contact_window: Some(window_ticks),
            stride_min: 1,
            adaptive: false,
            last_tick: toy.last_tick,
        };
        let cell_scale = 2.0;
        ModelConfig {
            grid: grid(&toy, cell_scale, buckets),
            toy,
            epoch_ticks: None,
            limits,
            buckets,
            cell_scale,
            history_ticks: 0,
            lane: Lane::Shared,
            atomicity: Atomicity::Handlers,
            prompt_acks: true,
            script: Vec::new(),
            reference_runs: Mutex::default(),
        }
    }

    /// The same with cells of another width, in diameters of the typical body. The default is 2.
    pub fn with_cells(mut self, cell_scale: f64) -> Self {
        self.cell_scale = cell_scale;
        self.grid = grid(&self.toy, cell_scale, self.buckets);
        self
    }

    /// The same with a deliberate fault; with a window of 0 ticks where that is the fault.
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.toy.fault = fault;
        if fault == Fault::WindowHoldsTheLowest {
            self.limits.window = 0;
        }
        self.reference_runs = Mutex::default();
        self
    }

    /// Number of entities at the start: one per body, and one for every island there may be.
    pub(crate) fn entities(&self) -> u32 {
        self.toy.bodies + self.epoch_ticks.map_or(0, |_| self.toy.bodies - 1)
    }

    /// An input that spawns a body at `tick`; `earlier` is the number of bodies that the script spawns before it.
    pub fn spawn(&self, tick: Tick, earlier: u32) -> ScriptedInput {
        let body = self.toy.bodies + earlier;
        let number = mix(&[self.toy.seed, 5, u64::from(body)]);
        let position = (number >> 8) as i64 % self.toy.extent.max(1);
        let path = ToyPath { since: tick, position, speed: speed(number), number };
        ScriptedInput { tick, input: ToyInput { body, kind: ToyInputKind::Spawn(path) } }
    }

    /// What should come out if these inputs of the script are admitted, one bit each.
    pub(super) fn reference_run(&self, admitted: u64) -> Arc<ReferenceRun> {
        let mut known = lock(&self.reference_runs);
        known.entry(admitted).or_insert_with(|| Arc::new(self.compute_reference(admitted))).clone()
    }

    fn compute_reference(&self, admitted: u64) -> ReferenceRun {
        let mut reference = Reference::new(&self.toy, self.epoch_ticks);
        let mut positions = vec![reference.positions()];
        while reference.tick < self.toy.last_tick {
            let inputs =
                self.script.iter().enumerate().filter(|(number, scripted)| {
                    scripted.tick == reference.tick && admitted >> number & 1 == 1
                });
            let inputs: Vec<(u64, ToyInput)> =
                inputs.map(|(number, scripted)| (number as u64, scripted.input)).collect();
            reference.advance(&inputs);
            positions.push(reference.positions());
        }
        // Contacts at the last tick are counted, although no flight follows them.
        reference.advance(&[]);
        let contacts = (reference.contacts, reference.new_contacts);
        ReferenceRun { positions, contacts, decisions: reference.decisions }
    }
}

fn grid(toy: &ToyModel, cell_scale: f64, buckets: u32) -> Grid {
    let radii: Vec<f64> = (0..toy.bodies).map(|body| toy.radius(body)).collect();
    Grid::new(&radii, cell_scale, buckets)
}
