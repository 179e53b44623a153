//! The definition of the result: at every tick evaluate all bodies, find what touches, solve the contacts, go on.
//!
//! A plain loop, never optimised beyond being linear in the number of bodies. Every other executor must commit exactly
//! these frames.
//!
//! With islands some bodies are solved together (`src/executor/sequential_islands.rs`). Contacts inside an island, and
//! those of an island with static geometry, are not found here: other bodies push its bodies through the contact model
//! as usual, then the island is solved as a whole.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::base::frame::Frame;
use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::base::stop::Stop;
use crate::base::time::Tick;
use crate::executor::sequential_islands::SequentialIslands;
use crate::executor::{RunError, Tally};
use crate::islands::{IslandModel, KnownPair, static_partner};
use crate::physics::collision::broad_phase::Grid;
use crate::physics::collision::crowd::Crowd;
use crate::physics::collision::kernels::Manifold;
use crate::physics::contact::{ContactModel, ContactPair, PairInput, Partner, SolverBody};
use crate::physics::{Flight, FlightCursor, InputKind, StaticDef, World, touching, touching_static};
use crate::rigid::{Local, RigidModel};
use crate::runtime::inputs::tick_queue::TickQueue;
use crate::runtime::inputs::{self, Inputs, QueuedInput};

/// What a pair keeps from tick to tick.
type PairCache = <Local as ContactModel>::Cache;

/// A pair in contact: the index of a body in the world's list, and its partner.
type PairKey = (u32, Partner);

/// A pair in contact at this tick, before it is solved.
struct FoundContact<'a> {
    key: PairKey,
    /// Its sides, as indices of solver bodies.
    pair: ContactPair,
    /// The second side, if it is static geometry.
    fixed: Option<&'a StaticDef>,
    manifold: Manifold,
    /// Index of its cache of the tick before.
    cache: Option<usize>,
}

/// Runs the world to its last tick, until `sink` breaks, or until a stop is requested.
pub fn run(
    RigidModel { world, islands, .. }: &RigidModel,
    inputs: Option<&Inputs>,
    stop: &Stop,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<Tally, RunError> {
    let (tick_queue, _opened) = inputs::open(inputs, |known| {
        let tick_queue = Arc::new(TickQueue::new(known));
        (tick_queue.clone(), tick_queue)
    })?;
    let mut run = Run::new(world, islands.as_deref());
    for tick in 0..=world.time.last_tick {
        if stop.is_requested() && tick > 0 {
            break;
        }
        run.evaluate(tick)?;
        if world.time.is_frame(tick) && sink(run.frame(tick)).is_break() {
            break;
        }
        run.begin_groups(tick);
        run.find_contacts(tick)?;
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
    /// The flight of every body; `None` for a body that is not present.
    flights: Vec<Option<FlightCursor>>,
    states: Vec<BodyState>,
    /// Indices of the bodies that are present, ascending, with their positions and radii.
    present: Vec<u32>,
    positions: Vec<Vec3>,
    radii: Vec<f64>,
    grid: Grid,
    /// Bodies in contact at this tick, and the index of every body of the world among them.
    bodies: Vec<SolverBody<'a, <Local as ContactModel>::Ghost>>,
    solver_index: Vec<Option<u32>>,
    /// What touches at this tick: pairs of bodies in order, then contacts with static geometry in order.
    found: Vec<FoundContact<'a>>,
    /// The caches of this tick, and those of the tick before, in the same order.
    caches: Vec<(PairKey, PairCache)>,
    former: Vec<(PairKey, PairCache)>,
    groups: Option<SequentialIslands<'a>>,
    model: Local,
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
            solver_index: vec![None; bodies.len()],
            found: Vec::new(),
            caches: Vec::new(),
            former: Vec::new(),
            groups: islands.map(|islands| SequentialIslands::new(world, islands)),
            model: Local::default(),
            tally: Tally::default(),
        };
        run.list_present();
        run
    }

    /// Lists the bodies that are present.
    fn list_present(&mut self) {
        let present = (0..self.flights.len() as u32).filter(|body| self.flights[*body as usize].is_some());
        self.present = present.collect();
        self.radii = self.present.iter().map(|body| self.world.bodies[*body as usize].radius).collect();
    }

    /// Computes the state of every body at `tick`.
    fn evaluate(&mut self, tick: Tick) -> Result<(), RunError> {
        self.positions.clear();
        for at in self.present.iter().map(|body| *body as usize) {
            let Some(flight) = &mut self.flights[at] else { continue };
            let body = &self.world.bodies[at];
            let state = flight.state_at(self.world, body, tick);
            if !state.is_finite() {
                return Err(RunError::not_finite(body.id, tick));
            }
            self.states[at] = state;
            self.positions.push(state.x);
        }
        Ok(())
    }

    fn frame(&self, tick: Tick) -> Frame {
        let state = |body: &u32| (self.world.bodies[*body as usize].id, self.states[*body as usize]);
        Frame::new(&self.world.time, tick, self.present.iter().map(state).collect())
    }

    fn begin_groups(&mut self, tick: Tick) {
        if let Some(groups) = &mut self.groups {
            groups.begin(self.world, tick, &self.states);
        }
    }

    /// Finds everything that touches at this tick.
    fn find_contacts(&mut self, tick: Tick) -> Result<(), RunError> {
        self.bodies.clear();
        self.solver_index.fill(None);
        self.found.clear();
        std::mem::swap(&mut self.former, &mut self.caches);
        let groups = self.groups.take();
        let mut grid = std::mem::take(&mut self.grid);
        let mut cursor = 0;
        let near = grid.limited_pairs(&self.positions, &self.radii, self.world.rule.broad_margin_m);
        let body = |at: u32| (self.present[at as usize], self.states[self.present[at as usize] as usize]);
        if let Some(crowd) = Crowd::among(self.world, near, self.present.len(), body) {
            return Err(RunError::Crowded { tick, crowd });
        }
        for &(a, b) in near {
            let (a, b) = (self.present[a as usize], self.present[b as usize]);
            if !groups.as_ref().is_some_and(|groups| groups.are_together(a, b)) {
                self.find_between(a, b, &mut cursor);
            }
        }
        self.grid = grid;
        let mut near = Vec::new();
        for at in 0..self.present.len() {
            let body = self.present[at];
            if !groups.as_ref().is_some_and(|groups| groups.has(body)) {
                self.find_with_statics(body, &mut near, &mut cursor);
            }
        }
        self.groups = groups;
        self.tally.contact_ticks += self.found.len() as u64;
        for contact in &self.found {
            self.tally.max_overlap_m = self.tally.max_overlap_m.max(-contact.manifold.gap());
        }
        Ok(())
    }

    /// Finds the contact of two bodies.
    fn find_between(&mut self, a: u32, b: u32, cursor: &mut usize) {
        let world = self.world;
        let (body_a, body_b) = (&world.bodies[a as usize], &world.bodies[b as usize]);
        let (state_a, state_b) = (&self.states[a as usize], &self.states[b as usize]);
        if let Some(manifold) = touching(&world.rule, body_a, state_a, body_b, state_b) {
            let partner = Partner::Body(body_b.id);
            let pair = ContactPair { a: self.solver_body(a), b: Some(self.solver_body(b)), partner };
            self.add_contact((a, partner), pair, None, manifold, cursor);
        }
    }

    /// Finds the contacts of a body with static geometry. `near` is scratch space.
    fn find_with_statics(&mut self, body: u32, near: &mut Vec<u32>, cursor: &mut usize) {
        let world = self.world;
        let (def, state) = (&world.bodies[body as usize], self.states[body as usize]);
        let bounds = def.shape.aabb(state.x, &state.q).grown(world.rule.broad_margin_m);
        world.static_bvh.near(&bounds, near);
        for object in near.iter().map(|at| &world.statics[*at as usize]) {
            if let Some(manifold) = touching_static(&world.rule, def, &state, object) {
                let partner = Partner::Static(object.id);
                let pair = ContactPair { a: self.solver_body(body), b: None, partner };
                self.add_contact((body, partner), pair, Some(object), manifold, cursor);
            }
        }
    }

    /// Adds a contact, and looks up its cache. Contacts come in the order of the caches, so `cursor` only moves on.
    fn add_contact(
        &mut self,
        key: PairKey,
        pair: ContactPair,
        fixed: Option<&'a StaticDef>,
        manifold: Manifold,
        cursor: &mut usize,
    ) {
        while self.former.get(*cursor).is_some_and(|(known, _)| is_before(known, &key)) {
            *cursor += 1;
        }
        let cache = self.former.get(*cursor).is_some_and(|(known, _)| *known == key).then_some(*cursor);
        self.tally.contacts += u64::from(cache.is_none());
        self.found.push(FoundContact { key, pair, fixed, manifold, cache });
    }

    /// The index of a body among the bodies in contact.
    fn solver_body(&mut self, body: u32) -> u32 {
        let at = body as usize;
        *self.solver_index[at].get_or_insert_with(|| {
            self.bodies.push(SolverBody::new(&self.world.bodies[at], self.states[at]));
            self.bodies.len() as u32 - 1
        })
    }

    /// Solves all contacts, and starts new flights.
    fn respond(&mut self, tick: Tick) {
        let (found, former) = (&self.found, &self.former);
        let input = |at: usize| {
            let FoundContact { fixed, manifold, cache, .. } = &found[at];
            PairInput { manifold, fixed: *fixed, cache: cache.map(|at| &former[at].1) }
        };
        self.model.prepare(self.world, &self.bodies, found.len(), |at| found[at].pair, input);
        self.model.solve(self.world, &self.bodies, &[]);
        for (body, index) in self.solver_index.iter().enumerate() {
            if let Some(index) = index.map(|index| index as usize) {
                let flight = self.model.flight(self.world, tick, index, &self.bodies[index]);
                self.flights[body] = Some(FlightCursor::new(flight));
            }
        }
        self.advance_groups(tick);
        self.caches.clear();
        let cache = |(at, contact): (usize, &FoundContact)| (contact.key, self.model.cache(at));
        self.caches.extend(self.found.iter().enumerate().map(cache));
    }

    /// Advances islands from the states into which other bodies have pushed their bodies.
    fn advance_groups(&mut self, tick: Tick) {
        let Some(groups) = &mut self.groups else { return };
        let world = self.world;
        let mut pushed = self.states.clone();
        for (body, index) in self.solver_index.iter().enumerate() {
            if let Some(index) = index.map(|index| index as usize) {
                pushed[body] = self.model.pushed_state(world, index, &self.bodies[index]);
            }
        }
        let partner = |partner: &Partner| match partner {
            Partner::Body(id) => world.bodies.index_of(*id).map(|body| body as u32),
            Partner::Static(id) => static_partner(world, id.0),
        };
        let former = &self.former;
        let pairs = || -> Vec<KnownPair> {
            former.iter().filter_map(|((a, with), cache)| Some(((*a, partner(with)?), cache))).collect()
        };
        let flights = &mut self.flights;
        groups.advance(&pushed, pairs, &mut self.tally, |body, origin| {
            flights[body as usize] = Some(FlightCursor::new(Flight { since: tick + 1, origin }));
        });
    }

    /// Applies the inputs of a tick.
    fn act(&mut self, tick: Tick, entries: &[QueuedInput]) {
        for entry in entries {
            let (body, kind) = (entry.input.body, &entry.input.kind);
            let at = body as usize;
            if self.flights.len() <= at {
                self.flights.resize(at + 1, None);
                self.states.resize(at + 1, BodyState::at_rest(Vec3::zeros()));
                self.solver_index.resize(at + 1, None);
            }
            self.flights[at] = match (&self.flights[at], kind) {
                (Some(onward), kind) => self.world.acted_on(tick, body, onward.flight(), kind),
                (None, InputKind::Spawn(state)) => Some(Flight { since: tick, origin: *state }),
                (None, InputKind::Push { .. } | InputKind::SetVelocity { .. } | InputKind::Despawn) => None,
            }
            .map(FlightCursor::new);
        }
        if entries.iter().any(|entry| matches!(entry.input.kind, InputKind::Spawn(_) | InputKind::Despawn)) {
            self.list_present();
        }
    }
}

/// Whether `a` comes before `b` in the list of caches: pairs of bodies first, then contacts with static geometry.
fn is_before(a: &PairKey, b: &PairKey) -> bool {
    let is_static = |pair: &PairKey| matches!(pair.1, Partner::Static(_));
    (is_static(a), a) < (is_static(b), b)
}
