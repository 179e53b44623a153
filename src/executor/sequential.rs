//! The definition of the result: for each tick evaluate all bodies, find what touches, respond, go on.
//!
//! No cleverness, and never optimised beyond being linear in the number of bodies. Every other executor must
//! commit exactly these frames.

use std::ops::ControlFlow;

use super::{RunError, Tally};
use crate::frame::Frame;
use crate::ids::StaticId;
use crate::math::Vec3;
use crate::physics::broad::Grid;
use crate::physics::response::{Inertial, Meeting, Outcome, PairMemory, Responder, Touch};
use crate::physics::{Flight, FlightCursor, World, touching, touching_static};
use crate::state::BodyState;
use crate::time::Tick;

/// Who touches whom: places of bodies in the world's list; the second may be static geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pair {
    /// Ordered first, so that sums run over bodies before static geometry.
    Bodies(u32, u32),
    WithStatic(u32, StaticId),
}

/// Runs the world to its last tick, or until `sink` breaks.
pub fn run(world: &World, sink: &mut dyn FnMut(Frame) -> ControlFlow<()>) -> Result<Tally, RunError> {
    let mut run = Run::new(world);
    for tick in 0..=world.time.last_tick {
        run.evaluate(tick)?;
        if world.time.is_frame(tick) && sink(run.frame(tick)).is_break() {
            break;
        }
        run.find_touches();
        if tick < world.time.last_tick {
            run.respond(tick);
        }
        run.tally.ticks = tick;
    }
    Ok(run.tally)
}

struct Run<'a> {
    world: &'a World,
    flights: Vec<FlightCursor>,
    states: Vec<BodyState>,
    positions: Vec<Vec3>,
    radii: Vec<f64>,
    grid: Grid,
    /// What touches at this tick, in order, and the same list's pairs.
    meetings: Vec<Meeting>,
    pairs: Vec<Pair>,
    /// What touched pairs remember from the tick before, in order.
    memories: Vec<(Pair, PairMemory)>,
    responder: Responder,
    outcomes: Vec<Outcome>,
    tally: Tally,
}

impl<'a> Run<'a> {
    fn new(world: &'a World) -> Self {
        let start = |state: &BodyState| FlightCursor::new(Flight { since: 0, origin: *state });
        Run {
            world,
            flights: world.bodies.iter().map(|body| start(&body.start)).collect(),
            states: world.bodies.iter().map(|body| body.start).collect(),
            positions: Vec::new(),
            radii: world.bodies.iter().map(|body| body.radius).collect(),
            grid: Grid::default(),
            meetings: Vec::new(),
            pairs: Vec::new(),
            memories: Vec::new(),
            responder: Responder::default(),
            outcomes: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// The state of every body at `tick`.
    fn evaluate(&mut self, tick: Tick) -> Result<(), RunError> {
        for ((state, flight), body) in self.states.iter_mut().zip(&mut self.flights).zip(&self.world.bodies) {
            *state = flight.state_at(self.world, body, tick);
            if !state.is_finite() {
                let hint = "shorten the tick (ticks_per_second) or look for extreme masses and speeds";
                return Err(RunError::NotFinite { body: body.id, tick, hint });
            }
        }
        self.positions.clear();
        self.positions.extend(self.states.iter().map(|state| state.x));
        Ok(())
    }

    fn frame(&self, tick: Tick) -> Frame {
        let ids = self.world.bodies.iter().map(|body| body.id);
        Frame {
            index: tick / u64::from(self.world.time.ticks_per_frame),
            tick,
            time_s: self.world.time.span_s(0, tick),
            bodies: ids.zip(self.states.iter().copied()).collect(),
        }
    }

    /// Everything that touches at this tick, with what it remembers from the tick before.
    fn find_touches(&mut self) {
        self.meetings.clear();
        self.pairs.clear();
        let world = self.world;
        let mut known = Recall { memories: &self.memories, at: 0 };
        for &(a, b) in self.grid.pairs(&self.positions, &self.radii, world.rule.vicinity) {
            let (body_a, state_a) = (&world.bodies[a as usize], &self.states[a as usize]);
            let (body_b, state_b) = (&world.bodies[b as usize], &self.states[b as usize]);
            let Some(manifold) = touching(&world.rule, body_a, state_a, body_b, state_b) else { continue };
            let pair = Pair::Bodies(a, b);
            let memory = known.recall(pair, &mut self.tally);
            let sides = (Inertial::of(body_a, state_a), Inertial::of(body_b, state_b));
            let surface = body_a.surface.combined(&body_b.surface);
            let touch = Touch::new(&manifold, surface, &sides.0, &sides.1, &memory, &world.rule);
            self.meetings.push(Meeting { a, b: Some(b), touch });
            self.pairs.push(pair);
        }
        let mut near = Vec::new();
        for (place, (body, state)) in world.bodies.iter().zip(&self.states).enumerate() {
            let bounds = body.shape.aabb(state.x, &state.q).grown(world.rule.vicinity);
            world.static_index.near(&bounds, &mut near);
            for object in near.iter().map(|at| &world.statics[*at as usize]) {
                let Some(manifold) = touching_static(&world.rule, body, state, object) else { continue };
                let pair = Pair::WithStatic(place as u32, object.id);
                let memory = known.recall(pair, &mut self.tally);
                let sides = (Inertial::of(body, state), Inertial::fixed(object.x));
                let surface = body.surface.combined(&object.surface);
                let touch = Touch::new(&manifold, surface, &sides.0, &sides.1, &memory, &world.rule);
                self.meetings.push(Meeting { a: place as u32, b: None, touch });
                self.pairs.push(pair);
            }
        }
        self.tally.contact_ticks += self.meetings.len() as u64;
        for meeting in &self.meetings {
            self.tally.max_overlap_m = self.tally.max_overlap_m.max(-meeting.touch.gap);
        }
    }

    /// Lets what touches act, and starts new flights.
    fn respond(&mut self, tick: Tick) {
        self.responder.respond(self.world, tick, &self.states, &mut self.meetings, &mut self.outcomes);
        for outcome in &self.outcomes {
            self.flights[outcome.body as usize] = FlightCursor::new(outcome.flight);
        }
        self.memories.clear();
        let memories = self.meetings.iter().map(|meeting| meeting.touch.memory());
        self.memories.extend(self.pairs.iter().copied().zip(memories));
    }
}

/// Looks up memories of ascending pairs in an ascending list.
struct Recall<'a> {
    memories: &'a [(Pair, PairMemory)],
    at: usize,
}

impl Recall<'_> {
    fn recall(&mut self, pair: Pair, tally: &mut Tally) -> PairMemory {
        while self.memories.get(self.at).is_some_and(|(known, _)| *known < pair) {
            self.at += 1;
        }
        match self.memories.get(self.at) {
            Some((known, memory)) if *known == pair => memory.clone(),
            _ => {
                tally.contacts += 1;
                PairMemory::default()
            }
        }
    }
}
