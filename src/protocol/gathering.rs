//! Everybody who takes part in one tick as a crew sees it, and what comes of that.

use std::sync::Arc;

use super::dynamics::{Moment, PartnerKey, Place, Remembered, Response, Seen, Told};
use super::neighbours::Neighbours;
use crate::ids::StaticId;
use crate::math::Vec3;
use crate::physics::contact::Manifold;
use crate::physics::response::{Inertial, Meeting, PairMemory, Participant, Partner, Responder, Touch};
use crate::physics::{Aabb, Flight, World, touching, touching_static};
use crate::state::BodyState;
use crate::time::Tick;

/// Up to so many bodies everybody is compared with everybody; for more a grid is quicker.
pub(super) const SMALL_CREW: usize = 8;

/// What is kept from call to call, for speed alone.
#[derive(Default)]
pub(super) struct Workspace {
    pub neighbours: Neighbours,
    responder: Responder,
    states: Vec<BodyState>,
    pairs: Vec<(u32, u32)>,
    near: Vec<u32>,
    bounds: Vec<(Place, Aabb)>,
    meetings: Vec<Meeting>,
    seats: Vec<u32>,
}

/// How a crew goes on after `tick`.
pub(super) fn respond(
    world: &World,
    tick: Tick,
    moment: &Moment<World>,
    space: &mut Workspace,
) -> Response<World> {
    space.evaluate(world, tick, moment);
    space.find_pairs(world, moment);
    let count = moment.crew.len() + moment.strangers.len();
    let mut gathering = Gathering {
        world,
        moment,
        states: &space.states,
        participants: Vec::new(),
        members: Vec::new(),
        seats: std::mem::take(&mut space.seats),
        meetings: std::mem::take(&mut space.meetings),
        known: Known { memories: moment.memories, at: 0 },
        seen: Seen::default(),
    };
    gathering.seats.clear();
    gathering.seats.resize(count, u32::MAX);
    gathering.meetings.clear();
    gathering.meet_bodies(&space.pairs);
    gathering.meet_statics(&mut space.near);
    let response = gathering.response(tick, &mut space.responder);
    Gathering { seats: space.seats, meetings: space.meetings, .. } = gathering;
    response
}

impl Workspace {
    /// The states of the crew, then those of the strangers.
    fn evaluate(&mut self, world: &World, tick: Tick, moment: &Moment<World>) {
        let crew = moment.crew.iter().map(|(place, flight)| (*place, flight));
        let strangers = moment.strangers.iter().map(|stranger| (stranger.body, &stranger.flight));
        let state =
            |(place, flight): (Place, &Flight)| flight.state_at(world, &world.bodies[place as usize], tick);
        self.states.clear();
        self.states.extend(crew.chain(strangers).map(state));
    }

    /// Pairs that may touch, in the order of their places, the smaller first: pairs of the crew that are near,
    /// and strangers with those they are known to touch.
    fn find_pairs(&mut self, world: &World, moment: &Moment<World>) {
        let crew = moment.crew;
        self.pairs.clear();
        if crew.len() <= SMALL_CREW {
            for a in 0..crew.len() as u32 {
                self.pairs.extend((a + 1..crew.len() as u32).map(|b| (a, b)));
            }
        } else {
            let bounds = |(at, (place, _)): (usize, &(Place, Flight))| {
                let reach = world.bodies[*place as usize].radius + world.rule.vicinity;
                (*place, Aabb::about(self.states[at].x, Vec3::repeat(reach)))
            };
            self.bounds.clear();
            self.bounds.extend(crew.iter().enumerate().map(bounds));
            let near = self.neighbours.pairs(&self.bounds);
            self.pairs.extend_from_slice(near);
        }
        if moment.strangers.is_empty() {
            return;
        }
        for (at, stranger) in moment.strangers.iter().enumerate() {
            let at = (crew.len() + at) as u32;
            for own in &stranger.touches {
                if let Ok(mine) = crew.binary_search_by_key(own, |(place, _)| *place) {
                    let mine = mine as u32;
                    self.pairs.push(if *own < stranger.body { (mine, at) } else { (at, mine) });
                }
            }
        }
        self.pairs.sort_unstable_by_key(|(a, b)| (place_of(moment, *a), place_of(moment, *b)));
    }
}

/// The body with a number: the crew is numbered first, then the strangers.
fn place_of(moment: &Moment<World>, number: u32) -> Place {
    let number = number as usize;
    match moment.crew.get(number) {
        Some((place, _)) => *place,
        None => moment.strangers[number - moment.crew.len()].body,
    }
}

/// The participants and meetings of one tick, as a crew sees them.
struct Gathering<'a> {
    world: &'a World,
    moment: &'a Moment<'a, World>,
    states: &'a [BodyState],
    participants: Vec<Participant<'a>>,
    /// The number of each participant.
    members: Vec<u32>,
    /// The participant with each number, if it is one.
    seats: Vec<u32>,
    meetings: Vec<Meeting>,
    known: Known<'a>,
    seen: Seen,
}

impl Gathering<'_> {
    fn meet_bodies(&mut self, pairs: &[(u32, u32)]) {
        for &(a, b) in pairs {
            let (place_a, place_b) = (place_of(self.moment, a), place_of(self.moment, b));
            let (body_a, body_b) =
                (&self.world.bodies[place_a as usize], &self.world.bodies[place_b as usize]);
            let (state_a, state_b) = (&self.states[a as usize], &self.states[b as usize]);
            if let Some(manifold) = touching(&self.world.rule, body_a, state_a, body_b, state_b) {
                self.meet((a, place_a), (b, place_b), &manifold);
            }
        }
    }

    fn meet(&mut self, (a, place_a): (u32, Place), (b, place_b): (u32, Place), manifold: &Manifold) {
        let (a_is_own, rule) = (self.is_own(a), &self.world.rule);
        let (own, partner) = if a_is_own { (place_a, place_b) } else { (place_b, place_a) };
        let memory = self.known.recall(own, PartnerKey::Body(partner));
        let (a, b) = (self.seat(a), self.seat(b));
        let (pa, pb) = (&self.participants[a as usize], &self.participants[b as usize]);
        let surface = pa.body.surface.combined(&pb.body.surface);
        let known = memory.cloned().unwrap_or_default();
        let touch = Touch::new(manifold, surface, &pa.inertial, &pb.inertial, &known, rule);
        let with = Partner::Body(pb.body.id);
        // A pair with a stranger is seen from both sides; the smaller body counts it.
        if a_is_own {
            self.count(&touch, memory.is_none());
        }
        self.meetings.push(Meeting { a, b: Some(b), with, touch });
    }

    fn meet_statics(&mut self, near: &mut Vec<u32>) {
        self.known.at = 0;
        for (number, (place, _)) in self.moment.crew.iter().enumerate() {
            let (body, state) = (&self.world.bodies[*place as usize], &self.states[number]);
            let bounds = body.shape.aabb(state.x, &state.q).grown(self.world.rule.vicinity);
            self.world.static_index.near(&bounds, near);
            for object in near.iter().map(|at| &self.world.statics[*at as usize]) {
                let Some(manifold) = touching_static(&self.world.rule, body, state, object) else { continue };
                let memory = self.known.recall(*place, PartnerKey::Static(object.id.0));
                let surface = body.surface.combined(&object.surface);
                let known = memory.cloned().unwrap_or_default();
                let a = self.seat(number as u32);
                let sides = (&self.participants[a as usize].inertial, Inertial::fixed(object.x));
                let touch = Touch::new(&manifold, surface, sides.0, &sides.1, &known, &self.world.rule);
                self.count(&touch, memory.is_none());
                self.meetings.push(Meeting { a, b: None, with: Partner::Static(object.id), touch });
            }
        }
    }

    fn is_own(&self, number: u32) -> bool {
        (number as usize) < self.moment.crew.len()
    }

    /// The participant with a number.
    fn seat(&mut self, number: u32) -> u32 {
        let seat = &mut self.seats[number as usize];
        if *seat == u32::MAX {
            *seat = self.participants.len() as u32;
            let at = number as usize;
            let body = &self.world.bodies[place_of(self.moment, number) as usize];
            let stranger = at.checked_sub(self.moment.crew.len()).map(|at| &self.moment.strangers[at]);
            let standing = stranger.and_then(|stranger| stranger.standing.as_deref());
            self.participants.push(Participant { standing, ..Participant::new(body, self.states[at]) });
            self.members.push(number);
        }
        *seat
    }

    fn count(&mut self, touch: &Touch, is_new: bool) {
        self.seen.touches += 1;
        self.seen.new_touches += u32::from(is_new);
        self.seen.overlap_m = self.seen.overlap_m.max(-touch.gap);
    }

    fn response(&mut self, tick: Tick, responder: &mut Responder) -> Response<World> {
        let tellers = self.tellers();
        let standings =
            responder.respond_and_tell(self.world, &self.participants, &mut self.meetings, &tellers);
        // An iteration rests on the one before of those it touches: only what follows from what they have told
        // for certain is told on. A stranger without a standing touches nobody else, and holds nothing back.
        let iterations = self.world.rule.iterations as usize;
        let heard = self.moment.strangers.iter().filter_map(|stranger| stranger.standing.as_ref());
        let certain = heard.map(|standing| standing.rested.len()).min().unwrap_or(iterations);
        let told = tellers.iter().zip(standings).map(|(seat, mut standing)| {
            standing.rested.truncate(certain + 1);
            let own = place_of(self.moment, self.members[*seat]);
            Told { own, partners: self.partners(*seat as u32), standing: Arc::new(standing) }
        });
        let told = told.collect();
        let own = self.members.iter().enumerate().filter(|(_, number)| self.is_own(**number));
        let flights = own.map(|(seat, number)| {
            let flight = responder.onward(self.world, tick, seat, &self.participants[seat], &self.meetings);
            (place_of(self.moment, *number), flight)
        });
        let flights: Vec<_> = flights.collect();
        let complete = certain >= iterations;
        // Who is held takes a contact step, and flies from the next tick; who bounces flies from this one.
        let lingers = flights.iter().any(|(_, flight)| flight.since > tick);
        Response { flights, memories: self.memories(), told, complete, lingers, seen: self.seen }
    }

    /// Seats of the bodies of the crew that touch a stranger.
    fn tellers(&self) -> Vec<usize> {
        let mut tellers = Vec::new();
        if self.moment.strangers.is_empty() {
            return tellers;
        }
        for meeting in &self.meetings {
            let Some(b) = meeting.b else { continue };
            let is_own = |seat: u32| self.is_own(self.members[seat as usize]);
            match (is_own(meeting.a), is_own(b)) {
                (true, false) => tellers.push(meeting.a as usize),
                (false, true) => tellers.push(b as usize),
                _ => {}
            }
        }
        tellers.sort_unstable();
        tellers.dedup();
        tellers
    }

    /// Everything that the body in a seat touches.
    fn partners(&self, seat: u32) -> Vec<PartnerKey> {
        let side = |meeting: &Meeting| match meeting {
            Meeting { a, .. } if *a == seat => Some(self.partner(meeting)),
            Meeting { a, b: Some(b), .. } if *b == seat => Some(PartnerKey::Body(self.place_in(*a))),
            _ => None,
        };
        self.meetings.iter().filter_map(side).collect()
    }

    fn place_in(&self, seat: u32) -> Place {
        place_of(self.moment, self.members[seat as usize])
    }

    /// What the first side of a meeting touches.
    fn partner(&self, meeting: &Meeting) -> PartnerKey {
        match (meeting.b, meeting.with) {
            (Some(b), _) => PartnerKey::Body(self.place_in(b)),
            (None, Partner::Static(StaticId(id))) => PartnerKey::Static(id),
            (None, Partner::Body(_)) => unreachable!("only static geometry takes no part"),
        }
    }

    /// What every pair of the crew remembers: pairs inside the crew once, seen from the smaller body.
    fn memories(&self) -> Arc<[Remembered<World>]> {
        let remembered = |meeting: &Meeting| {
            let memory = meeting.touch.memory();
            let own = self.place_in(meeting.a);
            match meeting.b {
                Some(b) if !self.is_own(self.members[meeting.a as usize]) => {
                    Remembered { own: self.place_in(b), partner: PartnerKey::Body(own), memory }
                }
                _ => Remembered { own, partner: self.partner(meeting), memory },
            }
        };
        // Pairs of bodies come first, then static geometry, each in order: with no strangers this is a merge.
        let mut memories: Vec<Remembered<World>> = Vec::with_capacity(self.meetings.len());
        let (bodies, statics) =
            self.meetings.split_at(self.meetings.partition_point(|meeting| meeting.b.is_some()));
        let mut statics = statics.iter().peekable();
        for meeting in bodies {
            let own = self.place_in(meeting.a);
            while let Some(earlier) = statics.next_if(|meeting| self.place_in(meeting.a) < own) {
                memories.push(remembered(earlier));
            }
            memories.push(remembered(meeting));
        }
        memories.extend(statics.map(remembered));
        if !memories.is_sorted_by_key(Remembered::key) {
            memories.sort_unstable_by_key(Remembered::key);
        }
        memories.into()
    }
}

/// What pairs remember, in the order of their keys. Mostly they are asked for in that order too.
struct Known<'a> {
    memories: &'a [Remembered<World>],
    /// Those before this one have been passed.
    at: usize,
}

impl<'a> Known<'a> {
    /// What a pair remembers. A pair inside the crew is remembered from its smaller side, but its bodies may have
    /// come together from different crews.
    fn recall(&mut self, own: Place, partner: PartnerKey) -> Option<&'a PairMemory> {
        let mirrored = match partner {
            PartnerKey::Body(other) => Some((other, PartnerKey::Body(own))),
            PartnerKey::Static(_) => None,
        };
        self.find((own, partner)).or_else(|| self.look_up(mirrored?))
    }

    fn find(&mut self, key: (Place, PartnerKey)) -> Option<&'a PairMemory> {
        let key_at = |at: usize| self.memories.get(at).map(Remembered::key);
        let has_passed = self.at.checked_sub(1).and_then(key_at).is_some_and(|passed| passed >= key);
        if has_passed {
            return self.look_up(key);
        }
        while key_at(self.at).is_some_and(|known| known < key) {
            self.at += 1;
        }
        let found = self.memories.get(self.at).filter(|known| known.key() == key)?;
        Some(&found.memory)
    }

    fn look_up(&self, key: (Place, PartnerKey)) -> Option<&'a PairMemory> {
        let at = self.memories.binary_search_by_key(&key, Remembered::key).ok()?;
        Some(&self.memories[at].memory)
    }
}
