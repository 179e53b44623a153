//! The rigid bodies of [`crate::physics`] as the protocol's dynamics.

use std::cell::RefCell;
use std::sync::Arc;

use super::dynamics::{Dynamics, Moment, PartnerKey, Place, Remembered, Response, Seen, Stranger, Told};
use crate::ids::StaticId;
use crate::physics::contact::Manifold;
use crate::physics::response::{
    Inertial, Meeting, PairMemory, Participant, Partner, Responder, Standing, Touch,
};
use crate::physics::{
    Aabb, Action, Deed, Flight, World, first_static_touch, first_touch, touching, touching_static,
};
use crate::state::BodyState;
use crate::time::Tick;

thread_local! {
    /// Work space. Holds nothing that survives a call.
    static RESPONDER: RefCell<Responder> = RefCell::default();
}

impl Dynamics for World {
    type Flight = Flight;
    type Memory = PairMemory;
    type Standing = Standing;
    type Action = Action;

    fn same_standing(a: &Standing, b: &Standing) -> bool {
        a.same_bits(b)
    }

    fn radius(&self, body: Place) -> f64 {
        self.bodies[body as usize].radius + self.rule.vicinity
    }

    fn bounds(&self, body: Place, flight: &Flight, from: Tick, to: Tick) -> Aabb {
        flight.swept_aabb(self, &self.bodies[body as usize], from, to).grown(self.rule.vicinity)
    }

    fn first_own_touch(&self, crew: &[(Place, Flight)], from: Tick, to: Tick) -> Option<Tick> {
        let mut earliest: Option<Tick> = None;
        let until = |found: &Option<Tick>| found.map_or(Some(to), |tick| tick.checked_sub(1));
        for (at, (place, flight)) in crew.iter().enumerate() {
            let body = &self.bodies[*place as usize];
            let Some(last) = until(&earliest).filter(|last| *last >= from) else { break };
            earliest = first_static_touch(self, (body, flight), from, last).or(earliest);
            for (other, other_flight) in &crew[at + 1..] {
                let Some(last) = until(&earliest).filter(|last| *last >= from) else { break };
                let other = &self.bodies[*other as usize];
                earliest = first_touch(self, (body, flight), (other, other_flight), from, last).or(earliest);
            }
        }
        earliest
    }

    fn first_touch(&self, a: (Place, &Flight), b: (Place, &Flight), from: Tick, to: Tick) -> Option<Tick> {
        let (a, b) = if a.0 < b.0 { (a, b) } else { (b, a) };
        let of = |(place, flight)| (&self.bodies[place as usize], flight);
        first_touch(self, of(a), of(b), from, to)
    }

    fn respond(&self, tick: Tick, moment: &Moment<World>) -> Response<World> {
        let mut scene = Gathering::new(self, tick, moment);
        scene.find_meetings(moment);
        RESPONDER.with_borrow_mut(|responder| scene.response(responder, moment))
    }

    fn subject(action: &Action) -> Place {
        action.body
    }

    fn steer(
        &self,
        tick: Tick,
        crew: &mut Vec<(Place, Flight)>,
        actions: &[(u64, Action)],
    ) -> Vec<(Place, Option<Flight>)> {
        let mut news: Vec<(Place, Option<Flight>)> = Vec::new();
        for (_, Action { body, deed }) in actions {
            let flight = match (crew.binary_search_by_key(body, |(place, _)| *place), deed) {
                (Ok(at), deed) => match self.acted_on(tick, *body, &crew[at].1, deed) {
                    Some(flight) => {
                        crew[at].1 = flight;
                        Some(flight)
                    }
                    None => {
                        crew.remove(at);
                        None
                    }
                },
                (Err(at), Deed::Appear(state)) => {
                    let flight = Flight { since: tick, origin: *state };
                    crew.insert(at, (*body, flight));
                    Some(flight)
                }
                (Err(_), _) => continue,
            };
            news.retain(|(place, _)| place != body);
            news.push((*body, flight));
        }
        news
    }
}

/// The participants and meetings of one tick, as a crew sees them.
struct Gathering<'a> {
    world: &'a World,
    tick: Tick,
    participants: Vec<Participant<'a>>,
    /// Place of each participant in the world's list; the crew first.
    places: Vec<Place>,
    meetings: Vec<Meeting>,
    seen: Seen,
}

impl<'a> Gathering<'a> {
    fn new(world: &'a World, tick: Tick, moment: &'a Moment<World>) -> Self {
        let mut gathering = Gathering {
            world,
            tick,
            participants: Vec::new(),
            places: Vec::new(),
            meetings: Vec::new(),
            seen: Seen::default(),
        };
        for (place, flight) in moment.crew {
            gathering.seat(*place, flight, None);
        }
        for Stranger { body, flight, standing, .. } in moment.strangers {
            gathering.seat(*body, flight, standing.as_deref());
        }
        gathering
    }

    fn seat(&mut self, place: Place, flight: &Flight, standing: Option<&'a Standing>) {
        let body = &self.world.bodies[place as usize];
        let state = flight.state_at(self.world, body, self.tick);
        self.participants.push(Participant { standing, ..Participant::new(body, state) });
        self.places.push(place);
    }

    /// Pairs of bodies in order, then touches with static geometry in order.
    fn find_meetings(&mut self, moment: &Moment<World>) {
        let crew = moment.crew.len();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for a in 0..crew {
            for b in a + 1..crew {
                pairs.push(self.in_order(a, b));
            }
        }
        for (at, stranger) in moment.strangers.iter().enumerate() {
            for own in &stranger.touches {
                if let Some(own) = self.places[..crew].iter().position(|place| place == own) {
                    pairs.push(self.in_order(own, crew + at));
                }
            }
        }
        pairs.sort_by_key(|(a, b)| (self.places[*a], self.places[*b]));
        for (a, b) in pairs {
            let (pa, pb) = (&self.participants[a], &self.participants[b]);
            if let Some(manifold) = touching(&self.world.rule, pa.body, &pa.state, pb.body, &pb.state) {
                self.meet(a, b, &manifold, moment);
            }
        }
        self.find_static_meetings(moment);
    }

    fn in_order(&self, a: usize, b: usize) -> (usize, usize) {
        if self.places[a] < self.places[b] { (a, b) } else { (b, a) }
    }

    fn meet(&mut self, a: usize, b: usize, manifold: &Manifold, moment: &Moment<World>) {
        let (pa, pb) = (&self.participants[a], &self.participants[b]);
        let (own, other) = if a < moment.crew.len() { (a, b) } else { (b, a) };
        let memory = recall(moment, self.places[own], PartnerKey::Body(self.places[other]));
        let surface = pa.body.surface.combined(&pb.body.surface);
        let known = memory.cloned().unwrap_or_default();
        let touch = Touch::new(manifold, surface, &pa.inertial, &pb.inertial, &known, &self.world.rule);
        // A pair with a stranger is seen from both sides; the smaller body counts it.
        if a < moment.crew.len() {
            self.count(&touch, memory.is_none());
        }
        let with = Partner::Body(self.participants[b].body.id);
        self.meetings.push(Meeting { a: a as u32, b: Some(b as u32), with, touch });
    }

    fn find_static_meetings(&mut self, moment: &Moment<World>) {
        let mut order: Vec<usize> = (0..moment.crew.len()).collect();
        order.sort_by_key(|at| self.places[*at]);
        let mut near = Vec::new();
        for a in order {
            let Participant { body, state, .. } = self.participants[a];
            let BodyState { x, q, .. } = state;
            let bounds = body.shape.aabb(x, &q).grown(self.world.rule.vicinity);
            self.world.static_index.near(&bounds, &mut near);
            for object in near.iter().map(|at| &self.world.statics[*at as usize]) {
                let Some(manifold) = touching_static(&self.world.rule, body, &state, object) else {
                    continue;
                };
                let memory = recall(moment, self.places[a], PartnerKey::Static(object.id.0));
                let surface = body.surface.combined(&object.surface);
                let known = memory.cloned().unwrap_or_default();
                let sides = (&self.participants[a].inertial, Inertial::fixed(object.x));
                let touch = Touch::new(&manifold, surface, sides.0, &sides.1, &known, &self.world.rule);
                self.count(&touch, memory.is_none());
                let with = Partner::Static(object.id);
                self.meetings.push(Meeting { a: a as u32, b: None, with, touch });
            }
        }
    }

    fn count(&mut self, touch: &Touch, is_new: bool) {
        self.seen.touches += 1;
        self.seen.new_touches += u32::from(is_new);
        self.seen.overlap_m = self.seen.overlap_m.max(-touch.gap);
    }

    fn response(&mut self, responder: &mut Responder, moment: &Moment<World>) -> Response<World> {
        let crew = moment.crew.len();
        let mut partners: Vec<Vec<PartnerKey>> = vec![Vec::new(); crew];
        for meeting in &self.meetings {
            let (a, b) = (meeting.a as usize, meeting.b.map(|b| b as usize));
            let key = |b: Option<usize>| match (b, meeting.with) {
                (Some(b), _) => PartnerKey::Body(self.places[b]),
                (None, Partner::Static(StaticId(id))) => PartnerKey::Static(id),
                (None, Partner::Body(_)) => unreachable!("only static geometry takes no part"),
            };
            if a < crew {
                partners[a].push(key(b));
            }
            if let Some(b) = b.filter(|b| *b < crew) {
                partners[b].push(key(Some(a)));
            }
        }
        let is_stranger = |key: &PartnerKey| match key {
            PartnerKey::Body(place) => !moment.crew.iter().any(|(own, _)| own == place),
            PartnerKey::Static(_) => false,
        };
        let tellers: Vec<usize> = (0..crew).filter(|at| partners[*at].iter().any(is_stranger)).collect();
        let standings =
            responder.respond_and_tell(self.world, &self.participants, &mut self.meetings, &tellers);
        // An iteration rests on the one before of those it touches: only what follows from what they have told
        // for certain is told on. A stranger without a standing touches nobody else, and holds nothing back.
        let iterations = self.world.rule.iterations as usize;
        let heard = moment.strangers.iter().filter_map(|stranger| stranger.standing.as_ref());
        let certain = heard.map(|standing| standing.rested.len()).min().unwrap_or(iterations);
        let told = tellers.iter().zip(standings).map(|(at, mut standing)| {
            standing.rested.truncate(certain + 1);
            Told { own: self.places[*at], partners: partners[*at].clone(), standing: Arc::new(standing) }
        });
        let told = told.collect();
        let moved = (0..crew).filter(|at| !partners[*at].is_empty());
        let flights = moved.map(|at| {
            let flight = responder.onward(self.world, self.tick, at, &self.participants[at], &self.meetings);
            (self.places[at], flight)
        });
        let flights: Vec<(Place, Flight)> = flights.collect();
        let complete = certain >= iterations;
        // Who is held takes a contact step, and flies from the next tick; who bounces flies from this one.
        let lingers = flights.iter().any(|(_, flight)| flight.since > self.tick);
        Response { flights, memories: self.memories(crew), told, complete, lingers, seen: self.seen }
    }

    /// What every pair of the crew remembers, seen from each of its bodies.
    fn memories(&self, crew: usize) -> Vec<Remembered<World>> {
        let mut memories = Vec::new();
        for meeting in &self.meetings {
            let memory = meeting.touch.memory();
            let a = meeting.a as usize;
            let partner = match (meeting.b, meeting.with) {
                (Some(b), _) => PartnerKey::Body(self.places[b as usize]),
                (None, Partner::Static(StaticId(id))) => PartnerKey::Static(id),
                (None, Partner::Body(_)) => unreachable!("only static geometry takes no part"),
            };
            if a < crew {
                memories.push(Remembered { own: self.places[a], partner, memory });
            } else if let Some(b) = meeting.b {
                let partner = PartnerKey::Body(self.places[a]);
                memories.push(Remembered { own: self.places[b as usize], partner, memory });
            }
        }
        memories
    }
}

fn recall<'a>(moment: &'a Moment<World>, own: Place, partner: PartnerKey) -> Option<&'a PairMemory> {
    let known = moment.memories.iter().find(|known| {
        let straight = known.own == own && known.partner == partner;
        // A pair inside the crew is remembered once, from its first side.
        let mirrored = known.partner == PartnerKey::Body(own) && PartnerKey::Body(known.own) == partner;
        straight || mirrored
    });
    known.map(|known| &known.memory)
}
