//! The definition of the result: for each tick evaluate all bodies, find what touches, respond, go on.
//!
//! No cleverness, and never optimised beyond being linear in the number of bodies. Every other executor must
//! commit exactly these frames.
//!
//! With a bridge some bodies are in groups (`src/executor/groups.rs`). What bodies of a group do to each other and to
//! static geometry is not found here: others push them by the response as usual, then the group is solved as a whole.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::base::frame::Frame;
use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::executor::sequential_islands::SequentialIslands;
use crate::executor::{RunError, Tally};
use crate::islands::{IslandModel, KnownPair, static_partner};
use crate::physics::collision::broad_phase::Grid;
use crate::physics::local_solver::{
    ContactConstraint, ContactPairs, LocalSolver, PairCache, Partner, SolverBody, SolverMass,
};
use crate::physics::{Flight, FlightCursor, InputKind, World, touching, touching_static};
use crate::rigid::RigidModel;
use crate::runtime::inputs::tick_queue::TickQueue;
use crate::runtime::inputs::{self, Inputs, QueuedInput};

/// Who touches whom: the place of a body in the world's list, and its partner.
type PairKey = (u32, Partner);

/// Runs the world to its last tick, or until `sink` breaks.
pub fn run(
    RigidModel { world, islands, .. }: &RigidModel,
    inputs: Option<&Inputs>,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<Tally, RunError> {
    let (tick_queue, _opened) = inputs::open(inputs, |known| {
        let tick_queue = Arc::new(TickQueue::new(known));
        (tick_queue.clone(), tick_queue)
    })?;
    let mut run = Run::new(world, islands.as_deref());
    for tick in 0..=world.time.last_tick {
        run.evaluate(tick)?;
        if world.time.is_frame(tick) && sink(run.frame(tick)).is_break() {
            break;
        }
        run.begin_groups(tick);
        run.find_touches();
        if tick < world.time.last_tick {
            run.respond(tick);
            run.act(tick, &tick_queue.pass(tick));
        }
        run.tally.ticks = tick;
    }
    Ok(Tally { bridge: run.groups.map(|groups| groups.summary()), ..run.tally })
}

struct Run<'a> {
    world: &'a World,
    /// How every body flies; nothing for who is not there.
    flights: Vec<Option<FlightCursor>>,
    states: Vec<BodyState>,
    /// Places of the bodies that are there, ascending, with their positions and radii.
    present: Vec<u32>,
    positions: Vec<Vec3>,
    radii: Vec<f64>,
    grid: Grid,
    /// Bodies that touch something at this tick, and the place of every body among them.
    bodies: Vec<SolverBody<'a>>,
    arbiters_of: Vec<Option<u32>>,
    /// What touches at this tick, and who: pairs of bodies in order, then touches with static geometry in order.
    pairs: ContactPairs,
    pair_keys: Vec<PairKey>,
    /// What touched pairs remember from the tick before, in the same order.
    memories: Vec<(PairKey, PairCache)>,
    /// The same of the tick before, once those of this tick are being found.
    former: Vec<(PairKey, PairCache)>,
    groups: Option<SequentialIslands<'a>>,
    solver: LocalSolver,
    tally: Tally,
}

impl<'a> Run<'a> {
    fn new(world: &'a World, islands: Option<&'a IslandModel>) -> Self {
        let start = |state: &BodyState| FlightCursor::new(Flight { since: 0, origin: *state });
        let bodies = world.bodies.at_start();
        let mut run = Run {
            world,
            flights: bodies.iter().map(|body| Some(start(&body.start))).collect(),
            states: bodies.iter().map(|body| body.start).collect(),
            present: Vec::new(),
            positions: Vec::new(),
            radii: Vec::new(),
            grid: Grid::default(),
            bodies: Vec::new(),
            arbiters_of: vec![None; bodies.len()],
            pairs: ContactPairs::default(),
            pair_keys: Vec::new(),
            memories: Vec::new(),
            former: Vec::new(),
            groups: islands.map(|islands| SequentialIslands::new(world, islands)),
            solver: LocalSolver::default(),
            tally: Tally::default(),
        };
        run.take_roll();
        run
    }

    /// Who is there.
    fn take_roll(&mut self) {
        let present = (0..self.flights.len() as u32).filter(|place| self.flights[*place as usize].is_some());
        self.present = present.collect();
        self.radii = self.present.iter().map(|place| self.world.bodies[*place as usize].radius).collect();
    }

    /// The state of every body at `tick`.
    fn evaluate(&mut self, tick: Tick) -> Result<(), RunError> {
        self.positions.clear();
        for place in self.present.iter().map(|place| *place as usize) {
            let Some(flight) = &mut self.flights[place] else { continue };
            let body = &self.world.bodies[place];
            let state = flight.state_at(self.world, body, tick);
            if !state.is_finite() {
                return Err(RunError::not_finite(body.id, tick));
            }
            self.states[place] = state;
            self.positions.push(state.x);
        }
        Ok(())
    }

    fn frame(&self, tick: Tick) -> Frame {
        let state = |place: &u32| (self.world.bodies[*place as usize].id, self.states[*place as usize]);
        Frame {
            index: tick / u64::from(self.world.time.ticks_per_frame),
            tick,
            time_s: self.world.time.span_s(0, tick),
            bodies: self.present.iter().map(state).collect(),
        }
    }

    fn begin_groups(&mut self, tick: Tick) {
        if let Some(groups) = &mut self.groups {
            groups.begin(self.world, tick, &self.states);
        }
    }

    /// Everything that touches at this tick, with what it remembers from the tick before.
    fn find_touches(&mut self) {
        self.bodies.clear();
        self.arbiters_of.fill(None);
        self.pairs.clear();
        self.pair_keys.clear();
        let world = self.world;
        let memories = std::mem::take(&mut self.memories);
        let mut known = Recall { memories: &memories, at: 0 };
        let groups = self.groups.take();
        let mut grid = std::mem::take(&mut self.grid);
        for &(a, b) in grid.pairs(&self.positions, &self.radii, world.rule.broad_margin_m) {
            let (a, b) = (self.present[a as usize], self.present[b as usize]);
            if groups.as_ref().is_some_and(|groups| groups.are_together(a, b)) {
                continue;
            }
            let (body_a, body_b) = (&world.bodies[a as usize], &world.bodies[b as usize]);
            let (state_a, state_b) = (&self.states[a as usize], &self.states[b as usize]);
            if let Some(manifold) = touching(&world.rule, body_a, state_a, body_b, state_b) {
                let pair = (a, Partner::Body(body_b.id));
                let memory = known.recall(pair, &mut self.tally);
                let (a, b) = (self.seat(a), self.seat(b));
                let sides = (&self.bodies[a as usize].mass, &self.bodies[b as usize].mass);
                let surface = body_a.surface.combined(&body_b.surface);
                let touch =
                    ContactConstraint::new(&manifold, surface, sides.0, sides.1, &memory, &world.rule);
                self.pairs.push(&self.bodies, &world.rule, (a, Some(b), pair.1), touch);
                self.pair_keys.push(pair);
            }
        }
        self.grid = grid;
        let mut near = Vec::new();
        for at in 0..self.present.len() {
            let place = self.present[at] as usize;
            if groups.as_ref().is_some_and(|groups| groups.has(place as u32)) {
                continue;
            }
            let (body, state) = (&world.bodies[place], self.states[place]);
            let bounds = body.shape.aabb(state.x, &state.q).grown(world.rule.broad_margin_m);
            world.static_bvh.near(&bounds, &mut near);
            for object in near.iter().map(|at| &world.statics[*at as usize]) {
                if let Some(manifold) = touching_static(&world.rule, body, &state, object) {
                    let pair = (place as u32, Partner::Static(object.id));
                    let memory = known.recall(pair, &mut self.tally);
                    let a = self.seat(place as u32);
                    let (side, fixed) = (&self.bodies[a as usize].mass, SolverMass::fixed(object.x));
                    let surface = body.surface.combined(&object.surface);
                    let touch =
                        ContactConstraint::new(&manifold, surface, side, &fixed, &memory, &world.rule);
                    self.pairs.push(&self.bodies, &world.rule, (a, None, pair.1), touch);
                    self.pair_keys.push(pair);
                }
            }
        }
        (self.groups, self.former) = (groups, memories);
        self.tally.contact_ticks += self.pairs.list().len() as u64;
        for pair in self.pairs.list() {
            self.tally.max_overlap_m = self.tally.max_overlap_m.max(-pair.gap);
        }
    }

    /// The place of a body among those that touch something.
    fn seat(&mut self, body: u32) -> u32 {
        let place = body as usize;
        *self.arbiters_of[place].get_or_insert_with(|| {
            self.bodies.push(SolverBody::new(&self.world.bodies[place], self.states[place]));
            self.bodies.len() as u32 - 1
        })
    }

    /// Lets what touches act, and starts new flights.
    fn respond(&mut self, tick: Tick) {
        self.solver.respond(self.world, &self.bodies, &mut self.pairs);
        for (body, seat) in self.arbiters_of.iter().enumerate() {
            if let Some(seat) = seat.map(|seat| seat as usize) {
                let solver_body = &self.bodies[seat];
                let flight = self.solver.onward(self.world, tick, seat, solver_body, &self.pairs);
                self.flights[body] = Some(FlightCursor::new(flight));
            }
        }
        self.advance_groups(tick);
        self.memories.clear();
        let memory = |(at, pair): (usize, &PairKey)| (*pair, self.pairs.touch(at).memory());
        self.memories.extend(self.pair_keys.iter().enumerate().map(memory));
    }

    /// Lets groups go on from where others have pushed their bodies.
    fn advance_groups(&mut self, tick: Tick) {
        let Some(groups) = &mut self.groups else { return };
        let world = self.world;
        let mut pushed = self.states.clone();
        for (body, seat) in self.arbiters_of.iter().enumerate() {
            if let Some(seat) = seat.map(|seat| seat as usize) {
                pushed[body] = self.solver.pushed(world, seat, &self.bodies[seat]);
            }
        }
        let partner = |partner: &Partner| match partner {
            Partner::Body(id) => world.bodies.index_of(*id).map(|index| index as u32),
            Partner::Static(id) => static_partner(world, id.0),
        };
        let former = &self.former;
        let pairs = || -> Vec<KnownPair> {
            former.iter().filter_map(|((a, with), memory)| Some(((*a, partner(with)?), memory))).collect()
        };
        let flights = &mut self.flights;
        groups.advance(&pushed, pairs, &mut self.tally, |place, origin| {
            flights[place as usize] = Some(FlightCursor::new(Flight { since: tick + 1, origin }));
        });
    }

    /// Lets those outside act.
    fn act(&mut self, tick: Tick, entries: &[QueuedInput]) {
        for entry in entries {
            let (body, kind) = (entry.input.body, &entry.input.kind);
            let place = body as usize;
            if self.flights.len() <= place {
                self.flights.resize(place + 1, None);
                self.states.resize(place + 1, BodyState::at_rest(Vec3::zeros()));
                self.arbiters_of.resize(place + 1, None);
            }
            self.flights[place] = match (&self.flights[place], kind) {
                (Some(onward), kind) => self.world.acted_on(tick, body, onward.flight(), kind),
                (None, InputKind::Spawn(state)) => Some(Flight { since: tick, origin: *state }),
                (None, _) => None,
            }
            .map(FlightCursor::new);
        }
        if entries.iter().any(|entry| matches!(entry.input.kind, InputKind::Spawn(_) | InputKind::Despawn)) {
            self.take_roll();
        }
    }
}

/// Looks up memories of pairs that come in the order of the list.
struct Recall<'a> {
    memories: &'a [(PairKey, PairCache)],
    at: usize,
}

impl Recall<'_> {
    fn recall(&mut self, pair: PairKey, tally: &mut Tally) -> PairCache {
        while self.memories.get(self.at).is_some_and(|(known, _)| in_order(known, &pair)) {
            self.at += 1;
        }
        match self.memories.get(self.at) {
            Some((known, memory)) if *known == pair => memory.clone(),
            _ => {
                tally.contacts += 1;
                PairCache::default()
            }
        }
    }
}

/// Whether `a` stands before `b` in the list: pairs of bodies first, then touches with static geometry.
fn in_order(a: &PairKey, b: &PairKey) -> bool {
    let is_static = |pair: &PairKey| matches!(pair.1, Partner::Static(_));
    (is_static(a), a) < (is_static(b), b)
}
