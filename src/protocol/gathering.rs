//! Everybody who takes part in one tick as a crew sees it, and what comes of that.

use std::sync::Arc;

use super::dynamics::{Moment, PartnerKey, Place, Remembered, Response, Seen, Told};
use super::neighbours::Neighbours;
use super::together;
use crate::bridge::{Memory, Spaces};
use crate::hands;
use crate::ids::StaticId;
use crate::math::Vec3;
use crate::physics::contact::Manifold;
use crate::physics::response::{Inertial, Meeting, PairMemory, Participant, Partner, Responder, Touch};
use crate::physics::{Aabb, Flight, Surface, World, touching, touching_static};
use crate::state::BodyState;
use crate::time::Tick;

/// Up to so many bodies everybody is compared with everybody; for more a grid is quicker.
pub(super) const SMALL_CREW: usize = 8;

/// Who is near whom is looked up for about so many ticks.
const DRIFT_TICKS: f64 = 8.0;

/// What is kept from call to call, for speed alone.
#[derive(Default)]
pub(super) struct Workspace {
    pub neighbours: Neighbours,
    responder: Responder,
    states: Vec<BodyState>,
    pairs: Vec<(u32, u32)>,
    bounds: Vec<(Place, Aabb)>,
    /// What touches: pairs of bodies, then static geometry, each in order.
    touching: Vec<Touching>,
    with_statics: Vec<Touching>,
    participants: Vec<Participant<'static>>,
    meetings: Vec<Meeting>,
    seats: Vec<u32>,
    groups: Spaces,
}

/// Two that touch: the number of a body, and of another body or of static geometry in the world's list.
struct Touching {
    a: u32,
    b: Result<u32, u32>,
    manifold: Manifold,
}

/// How a crew goes on after `tick`.
pub(super) fn respond(
    world: &World,
    tick: Tick,
    moment: &Moment<World>,
    space: &mut Workspace,
) -> Response<World> {
    // What bodies that are solved together do to each other is not settled here.
    let bridging = world.bridging.as_deref().filter(|_| moment.together);
    space.evaluate(world, tick, moment);
    space.find_pairs(world, moment, bridging.is_none());
    space.find_touches(world, moment, bridging.is_none());
    let count = moment.crew.len() + moment.strangers.len();
    space.seats.clear();
    space.seats.resize(count, u32::MAX);
    let mut gathering = Gathering {
        world,
        moment,
        states: &space.states,
        participants: recycled(std::mem::take(&mut space.participants)),
        members: Vec::new(),
        seats: &mut space.seats,
        meetings: std::mem::take(&mut space.meetings),
        seen: Seen::default(),
    };
    gathering.meet(&space.touching);
    let mut response = gathering.response(tick, &mut space.responder);
    if let Some(bridging) = bridging {
        let pushed = gathering.pushed(&space.responder);
        response = together::go_on((world, bridging), &mut space.groups, tick, moment, &pushed, response);
    }
    space.meetings = gathering.meetings;
    space.participants = recycled(gathering.participants);
    response
}

/// The room of a list, for those of another tick.
fn recycled<'b>(mut participants: Vec<Participant<'_>>) -> Vec<Participant<'b>> {
    participants.clear();
    participants.into_iter().map(|_| unreachable!("the list is empty")).collect()
}

impl Workspace {
    /// The states of the crew, then those of the strangers.
    fn evaluate(&mut self, world: &World, tick: Tick, moment: &Moment<World>) {
        let crew = moment.crew.len();
        hands::fill(&mut self.states, crew + moment.strangers.len(), |at| {
            let (place, flight) = match moment.crew.get(at) {
                Some((place, flight)) => (*place, flight),
                None => (moment.strangers[at - crew].body, &moment.strangers[at - crew].flight),
            };
            flight.state_at(world, &world.bodies[place as usize], tick)
        });
    }

    /// Pairs that may touch, in the order of their places, the smaller first: pairs of the crew that are near,
    /// and strangers with those they are known to touch.
    fn find_pairs(&mut self, world: &World, moment: &Moment<World>, within_crew: bool) {
        let crew = moment.crew;
        self.pairs.clear();
        if !within_crew {
            // Only strangers count.
        } else if crew.len() <= SMALL_CREW {
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
            let ahead_s = DRIFT_TICKS * world.time.tick_s;
            let fall = world.gravity * (0.5 * ahead_s * ahead_s);
            let drift = |at: usize| self.states[at].v * ahead_s + fall;
            let near = self.neighbours.pairs(&self.bounds, drift);
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

    /// Which of the pairs touch, and who of the crew touches static geometry.
    fn find_touches(&mut self, world: &World, moment: &Moment<World>, with_statics: bool) {
        let (pairs, states, rule) = (&self.pairs, &self.states, &world.rule);
        let body = |number: u32| &world.bodies[place_of(moment, number) as usize];
        hands::find(&mut self.touching, pairs.len(), |range, found| {
            for &(a, b) in &pairs[range] {
                let (state_a, state_b) = (&states[a as usize], &states[b as usize]);
                if let Some(manifold) = touching(rule, body(a), state_a, body(b), state_b) {
                    found.push(Touching { a, b: Ok(b), manifold });
                }
            }
        });
        let crew = if with_statics { moment.crew.len() } else { 0 };
        hands::find(&mut self.with_statics, crew, |range, found| {
            let mut near = Vec::new();
            for number in range {
                let (body, state) = (body(number as u32), &states[number]);
                let bounds = body.shape.aabb(state.x, &state.q).grown(rule.vicinity);
                world.static_index.near(&bounds, &mut near);
                for at in &near {
                    let object = &world.statics[*at as usize];
                    if let Some(manifold) = touching_static(rule, body, state, object) {
                        found.push(Touching { a: number as u32, b: Err(*at), manifold });
                    }
                }
            }
        });
        self.touching.append(&mut self.with_statics);
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
    seats: &'a mut [u32],
    meetings: Vec<Meeting>,
    seen: Seen,
}

impl Gathering<'_> {
    /// Lets those who touch meet, with what they remember of each other.
    fn meet(&mut self, touching: &[Touching]) {
        let mut known = Known { memories: self.moment.memories, at: 0 };
        let mut seats: Vec<(u32, Option<u32>, Option<&PairMemory>)> = Vec::with_capacity(touching.len());
        let mut was_body = true;
        for Touching { a, b, manifold } in touching {
            let place = place_of(self.moment, *a);
            let (own, partner) = match b {
                Ok(b) if self.is_own(*a) => (place, PartnerKey::Body(place_of(self.moment, *b))),
                Ok(b) => (place_of(self.moment, *b), PartnerKey::Body(place)),
                Err(object) => (place, PartnerKey::Static(self.world.statics[*object as usize].id.0)),
            };
            if std::mem::replace(&mut was_body, b.is_ok()) && b.is_err() {
                // Static geometry begins with the first body again.
                known.at = 0;
            }
            let memory = known.recall(own, partner);
            // A pair with a stranger is seen from both sides; the smaller body counts it.
            if self.is_own(*a) {
                self.seen.touches += 1;
                self.seen.new_touches += u32::from(memory.is_none());
                self.seen.overlap_m = self.seen.overlap_m.max(-manifold.gap());
            }
            let a = self.seat(*a);
            seats.push((a, b.ok().map(|b| self.seat(b)), memory));
        }
        let (world, participants, nothing) = (self.world, &self.participants, PairMemory::default());
        hands::fill(&mut self.meetings, touching.len(), |at| {
            let (a, b, memory) = seats[at];
            let memory = memory.unwrap_or(&nothing);
            let first = &participants[a as usize];
            let touch = |surface: &Surface, side: &Inertial| {
                let surface = first.body.surface.combined(surface);
                Touch::new(&touching[at].manifold, surface, &first.inertial, side, memory, &world.rule)
            };
            match touching[at].b {
                Ok(_) => {
                    let second = &participants[b.expect("invariant: bodies have seats") as usize];
                    let touch = touch(&second.body.surface, &second.inertial);
                    Meeting { a, b, with: Partner::Body(second.body.id), touch }
                }
                Err(object) => {
                    let object = &world.statics[object as usize];
                    let touch = touch(&object.surface, &Inertial::fixed(object.x));
                    Meeting { a, b, with: Partner::Static(object.id), touch }
                }
            }
        });
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
        let own: Vec<usize> =
            (0..self.members.len()).filter(|seat| self.is_own(self.members[*seat])).collect();
        let mut flights = Vec::new();
        hands::fill(&mut flights, own.len(), |at| {
            let seat = own[at];
            let flight = responder.onward(self.world, tick, seat, &self.participants[seat]);
            (place_of(self.moment, self.members[seat]), flight)
        });
        let complete = certain >= iterations;
        // Who is held takes a contact step, and flies from the next tick; who bounces flies from this one.
        let lingers = flights.iter().any(|(_, flight)| flight.since > tick);
        Response { flights, memories: self.memories(), told, complete, lingers, seen: self.seen }
    }

    /// The states of the crew once strangers have pushed it.
    fn pushed(&self, responder: &Responder) -> Vec<BodyState> {
        let mut states = self.states[..self.moment.crew.len()].to_vec();
        for (seat, number) in self.members.iter().enumerate().filter(|(_, number)| self.is_own(**number)) {
            states[*number as usize] = responder.pushed(self.world, seat, &self.participants[seat]);
        }
        states
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
            let memory = Memory::Pair(meeting.touch.memory());
            let own = self.place_in(meeting.a);
            match meeting.b {
                Some(b) if !self.is_own(self.members[meeting.a as usize]) => {
                    Remembered { own: self.place_in(b), partner: PartnerKey::Body(own), memory }
                }
                _ => Remembered { own, partner: self.partner(meeting), memory },
            }
        };
        // Pairs of bodies come first, then static geometry, each in order: with no strangers this is a merge.
        let mut order: Vec<u32> = Vec::with_capacity(self.meetings.len());
        let bodies = self.meetings.partition_point(|meeting| meeting.b.is_some()) as u32;
        let own = |at: u32| self.place_in(self.meetings[at as usize].a);
        let mut statics = (bodies..self.meetings.len() as u32).peekable();
        for at in 0..bodies {
            while let Some(earlier) = statics.next_if(|object| own(*object) < own(at)) {
                order.push(earlier);
            }
            order.push(at);
        }
        order.extend(statics);
        let mut memories = Vec::new();
        hands::fill(&mut memories, order.len(), |at| remembered(&self.meetings[order[at] as usize]));
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
            PartnerKey::Static(_) | PartnerKey::Company => None,
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
        found.memory.pair()
    }

    fn look_up(&self, key: (Place, PartnerKey)) -> Option<&'a PairMemory> {
        let at = self.memories.binary_search_by_key(&key, Remembered::key).ok()?;
        self.memories[at].memory.pair()
    }
}
