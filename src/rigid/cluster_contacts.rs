//! Everybody who takes part in one tick as a crew sees it, and what comes of that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::base::ids::StaticId;
use crate::base::math::Vec3;
use crate::base::parallel;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::islands::{Memory, Spaces};
use crate::physics::collision::kernels::Manifold;
use crate::physics::collision::verlet_list::Neighbours;
use crate::physics::local_solver::{
    Inertial, Meeting, Meetings, PairMemory, Participant, Partner, Responder, Touch,
};
use crate::physics::{Aabb, Flight, Surface, World, touching, touching_static};
use crate::protocol::{Moment, PartnerKey, Place, Remembered, Response, Seen, Told};
use crate::rigid::RigidModel;
use crate::rigid::island_response;

/// Up to so many bodies everybody is compared with everybody; for more a grid is quicker.
pub(super) const SMALL_CREW: usize = 8;

/// What is kept from call to call, for speed alone.
#[derive(Default)]
pub(super) struct Workspace {
    pub neighbours: Neighbours,
    responder: Responder,
    /// Everybody, by number: the crew first, then the strangers.
    states: Vec<BodyState>,
    /// Whether the state of each is known, if not all are.
    is_known: Vec<bool>,
    /// Who may touch whom: pairs of bodies, and bodies and static geometry.
    pairs: Vec<(u32, u32)>,
    static_pairs: Vec<(u32, u32)>,
    /// What touches: pairs of bodies, then static geometry, each in order.
    touching: Vec<Touching>,
    with_statics: Vec<Touching>,
    /// Static geometry near somebody.
    near: Vec<u32>,
    /// Where what each of the crew remembers begins.
    known_from: Vec<u32>,
    /// The participant with each number, if it is one, and the number of each participant.
    seats: Vec<u32>,
    members: Vec<u32>,
    participants: Vec<Participant<'static>>,
    meetings: Meetings,
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
    model: &RigidModel,
    tick: Tick,
    moment: &Moment<RigidModel>,
    space: &mut Workspace,
) -> Response<RigidModel> {
    // What bodies that are solved together do to each other is not settled here.
    let world = &*model.world;
    let bridging = model.islands.as_deref().filter(|_| moment.together);
    // In a large crew most touch nothing, and then it does not matter how they are turned, or where they are.
    let in_full = bridging.is_some() || moment.crew.len() <= SMALL_CREW;
    if in_full {
        space.evaluate_all(world, tick, moment);
        space.find_pairs(world, moment, bridging.is_none());
        space.meet_strangers(moment);
    } else {
        space.find_near(world, tick, moment);
        space.meet_strangers(moment);
        space.evaluate_some(world, tick, moment);
    }
    space.find_touches(world, moment);
    space.find_known(moment);
    space.find_seats();
    let mut participants = recycled(std::mem::take(&mut space.participants));
    parallel::fill(&mut participants, space.members.len(), |seat| {
        let number = space.members[seat];
        let stranger = (number as usize).checked_sub(moment.crew.len()).map(|at| &moment.strangers[at]);
        let standing = stranger.and_then(|stranger| stranger.standing.as_deref());
        let (place, flight) = flier(moment, number);
        let body = &world.bodies[place as usize];
        let state = if in_full { space.states[number as usize] } else { flight.state_at(world, body, tick) };
        Participant { standing, ..Participant::new(body, state) }
    });
    let mut gathering = Gathering {
        world,
        moment,
        participants: &participants,
        members: &space.members,
        known_from: &space.known_from,
        meetings: &mut space.meetings,
    };
    let seen = gathering.meet(&space.touching, &space.seats);
    let mut response = gathering.response(tick, &mut space.responder, seen);
    if let Some(bridging) = bridging {
        let pushed = gathering.pushed(&space.states, &space.responder);
        response =
            island_response::go_on((world, bridging), &mut space.groups, tick, moment, &pushed, response);
    }
    space.participants = recycled(participants);
    response
}

/// The room of a list, for those of another tick.
fn recycled<'b>(mut participants: Vec<Participant<'_>>) -> Vec<Participant<'b>> {
    participants.clear();
    participants.into_iter().map(|_| unreachable!("the list is empty")).collect()
}

impl Workspace {
    /// The states of the crew, then those of the strangers.
    fn evaluate_all(&mut self, world: &World, tick: Tick, moment: &Moment<RigidModel>) {
        parallel::fill(&mut self.states, moment.crew.len() + moment.strangers.len(), |number| {
            let (place, flight) = flier(moment, number as u32);
            flight.state_at(world, &world.bodies[place as usize], tick)
        });
    }

    /// The states of those who may touch something, as far as they say who touches whom. Those of others are left as
    /// they were.
    fn evaluate_some(&mut self, world: &World, tick: Tick, moment: &Moment<RigidModel>) {
        let count = moment.crew.len() + moment.strangers.len();
        self.is_known.clear();
        self.is_known.resize(count, false);
        for (a, b) in &self.pairs {
            self.is_known[*a as usize] = true;
            self.is_known[*b as usize] = true;
        }
        for (a, _) in &self.static_pairs {
            self.is_known[*a as usize] = true;
        }
        let is_known = &self.is_known;
        self.states.resize(count, BodyState::at_rest(Vec3::zeros()));
        parallel::each(&mut self.states, |number, state| {
            if is_known[number] {
                let (place, flight) = flier(moment, number as u32);
                *state = flight.touching_state_at(world, &world.bodies[place as usize], tick);
            }
        });
    }

    /// All pairs of a small crew, and static geometry that is near one of it.
    fn find_pairs(&mut self, world: &World, moment: &Moment<RigidModel>, within_crew: bool) {
        let crew = moment.crew;
        self.pairs.clear();
        self.static_pairs.clear();
        if !within_crew {
            // Only strangers count.
            return;
        }
        for a in 0..crew.len() as u32 {
            self.pairs.extend((a + 1..crew.len() as u32).map(|b| (a, b)));
            let reach = world.bodies[crew[a as usize].0 as usize].radius + world.rule.vicinity;
            let bounds = Aabb::about(self.states[a as usize].x, Vec3::repeat(reach));
            world.static_index.near(&bounds, &mut self.near);
            self.static_pairs.extend(self.near.iter().map(|object| (a, *object)));
        }
    }

    /// Those of a large crew who are near each other or near static geometry.
    fn find_near(&mut self, world: &World, tick: Tick, moment: &Moment<RigidModel>) {
        let neighbourhood = self.neighbours.at(world, tick, moment.crew);
        neighbourhood.find_pairs(&mut self.pairs);
        // The crew is in the order of places.
        self.pairs.sort_unstable();
        self.static_pairs.clear();
        self.static_pairs.extend_from_slice(neighbourhood.with_statics());
    }

    /// Strangers with those they are known to touch; in the order of their places, the smaller first.
    fn meet_strangers(&mut self, moment: &Moment<RigidModel>) {
        let crew = moment.crew;
        for (at, stranger) in moment.strangers.iter().enumerate() {
            let at = (crew.len() + at) as u32;
            for own in &stranger.touches {
                if let Ok(mine) = crew.binary_search_by_key(own, |(place, _)| *place) {
                    let mine = mine as u32;
                    self.pairs.push(if *own < stranger.body { (mine, at) } else { (at, mine) });
                }
            }
        }
        if !moment.strangers.is_empty() {
            self.pairs.sort_unstable_by_key(|(a, b)| (place_of(moment, *a), place_of(moment, *b)));
        }
    }

    /// Which of the candidates touch: pairs in the order of their places, then static geometry by body and place.
    fn find_touches(&mut self, world: &World, moment: &Moment<RigidModel>) {
        let (pairs, static_pairs, states, rule) =
            (&self.pairs, &self.static_pairs, &self.states, &world.rule);
        let body = |number: u32| &world.bodies[place_of(moment, number) as usize];
        parallel::find(&mut self.touching, pairs.len(), |range, found| {
            for &(a, b) in &pairs[range] {
                let (state_a, state_b) = (&states[a as usize], &states[b as usize]);
                if let Some(manifold) = touching(rule, body(a), state_a, body(b), state_b) {
                    found.push(Touching { a, b: Ok(b), manifold });
                }
            }
        });
        parallel::find(&mut self.with_statics, static_pairs.len(), |range, found| {
            for &(a, object) in &static_pairs[range] {
                let (body, state) = (body(a), &states[a as usize]);
                let bounds = body.shape.aabb(state.x, &state.q).grown(rule.vicinity);
                if !world.static_index.is_near(object, &bounds) {
                    continue;
                }
                if let Some(manifold) = touching_static(rule, body, state, &world.statics[object as usize]) {
                    found.push(Touching { a, b: Err(object), manifold });
                }
            }
        });
        self.touching.append(&mut self.with_statics);
    }

    /// Who touches something, in order.
    fn find_seats(&mut self) {
        self.seats.clear();
        self.seats.resize(self.states.len(), 0);
        for Touching { a, b, .. } in &self.touching {
            self.seats[*a as usize] = 1;
            if let Ok(b) = b {
                self.seats[*b as usize] = 1;
            }
        }
        self.members.clear();
        for (number, seat) in self.seats.iter_mut().enumerate().filter(|(_, touches)| **touches == 1) {
            *seat = self.members.len() as u32;
            self.members.push(number as u32);
        }
    }

    /// Where what each of the crew remembers begins.
    fn find_known(&mut self, moment: &Moment<RigidModel>) {
        let (crew, memories) = (moment.crew, moment.memories);
        parallel::find(&mut self.known_from, crew.len(), |range, found| {
            let Some((first, _)) = crew.get(range.start) else { return };
            let mut from = memories.partition_point(|known| known.own < *first);
            for (place, _) in &crew[range] {
                while memories.get(from).is_some_and(|known| known.own < *place) {
                    from += 1;
                }
                found.push(from as u32);
            }
        });
    }
}

/// The body with a number, and how it flies: the crew is numbered first, then the strangers.
fn flier<'a>(moment: &Moment<'a, RigidModel>, number: u32) -> (Place, &'a Flight) {
    let number = number as usize;
    match moment.crew.get(number) {
        Some((place, flight)) => (*place, flight),
        None => {
            let stranger = &moment.strangers[number - moment.crew.len()];
            (stranger.body, &stranger.flight)
        }
    }
}

fn place_of(moment: &Moment<RigidModel>, number: u32) -> Place {
    flier(moment, number).0
}

/// The participants and meetings of one tick, as a crew sees them.
struct Gathering<'a> {
    world: &'a World,
    moment: &'a Moment<'a, RigidModel>,
    participants: &'a [Participant<'a>],
    /// The number of each participant.
    members: &'a [u32],
    known_from: &'a [u32],
    meetings: &'a mut Meetings,
}

impl Gathering<'_> {
    /// Lets those who touch meet, with what they remember of each other.
    fn meet(&mut self, touching: &[Touching], seats: &[u32]) -> Seen {
        let (world, participants) = (self.world, self.participants);
        let seat = |number: u32| seats[number as usize];
        let sides = |at: usize| match touching[at] {
            Touching { a, b: Ok(b), .. } => {
                (seat(a), Some(seat(b)), Partner::Body(participants[seat(b) as usize].body.id))
            }
            Touching { a, b: Err(object), .. } => {
                (seat(a), None, Partner::Static(world.statics[object as usize].id))
            }
        };
        let (nothing, new_touches) = (PairMemory::default(), AtomicU32::new(0));
        let mut meetings = std::mem::take(self.meetings);
        meetings.fill(participants, &world.rule, touching.len(), sides, |at| {
            let Touching { a, b, manifold } = &touching[at];
            let memory = self.recall(*a, *b);
            // A pair with a stranger is seen from both sides; the smaller body counts it.
            if memory.is_none() && self.is_own(*a) {
                new_touches.fetch_add(1, Relaxed);
            }
            let memory = memory.unwrap_or(&nothing);
            let first = &participants[seat(*a) as usize];
            let touch = |surface: &Surface, side: &Inertial| {
                let surface = first.body.surface.combined(surface);
                Touch::new(manifold, surface, &first.inertial, side, memory, &world.rule)
            };
            match b {
                Ok(b) => {
                    let second = &participants[seat(*b) as usize];
                    touch(&second.body.surface, &second.inertial)
                }
                Err(object) => {
                    let object = &world.statics[*object as usize];
                    touch(&object.surface, &Inertial::fixed(object.x))
                }
            }
        });
        *self.meetings = meetings;
        let mut seen = Seen { new_touches: new_touches.into_inner(), ..Seen::default() };
        for (Touching { a, .. }, meeting) in touching.iter().zip(self.meetings.list()) {
            if self.is_own(*a) {
                seen.touches += 1;
                seen.overlap_m = seen.overlap_m.max(-meeting.gap);
            }
        }
        seen
    }

    /// What two remember of each other. A pair inside the crew is remembered from its smaller side, but its bodies may
    /// have come together from different crews, or one of them may have left.
    fn recall(&self, a: u32, b: Result<u32, u32>) -> Option<&PairMemory> {
        let memories = self.moment.memories;
        let find = |own: u32, partner: PartnerKey| {
            let place = self.place(own);
            let from = match self.known_from.get(own as usize) {
                Some(from) => *from as usize,
                None => memories.partition_point(|known| known.own < place),
            };
            let mut known = memories[from..].iter().take_while(|known| known.own == place);
            known.find(|known| known.partner == partner)?.memory.pair()
        };
        match b {
            Ok(b) => {
                let (with_a, with_b) = (PartnerKey::Body(self.place(a)), PartnerKey::Body(self.place(b)));
                find(a, with_b).or_else(|| find(b, with_a))
            }
            Err(object) => find(a, PartnerKey::Static(self.world.statics[object as usize].id.0)),
        }
    }

    fn is_own(&self, number: u32) -> bool {
        (number as usize) < self.moment.crew.len()
    }

    fn place(&self, number: u32) -> Place {
        place_of(self.moment, number)
    }

    fn response(&mut self, tick: Tick, responder: &mut Responder, seen: Seen) -> Response<RigidModel> {
        let tellers = self.tellers();
        let standings = responder.respond_and_tell(self.world, self.participants, self.meetings, &tellers);
        // An iteration rests on the one before of those it touches: only what follows from what they have told
        // for certain is told on. A stranger without a standing touches nobody else, and holds nothing back.
        let iterations = self.world.rule.iterations as usize;
        let heard = self.moment.strangers.iter().filter_map(|stranger| stranger.standing.as_ref());
        let certain = heard.map(|standing| standing.rested.len()).min().unwrap_or(iterations);
        let told = tellers.iter().zip(standings).map(|(teller, mut standing)| {
            standing.rested.truncate(certain + 1);
            let seat = *teller as u32;
            Told { own: self.place_in(seat), partners: self.partners(seat), standing: Arc::new(standing) }
        });
        let told = told.collect();
        let mut flights = Vec::new();
        // The crew is numbered first.
        let own = self.members.partition_point(|number| self.is_own(*number));
        parallel::fill(&mut flights, own, |seat| {
            let flight = responder.onward(self.world, tick, seat, &self.participants[seat], self.meetings);
            (self.place_in(seat as u32), flight)
        });
        let complete = certain >= iterations;
        // Who is held takes a contact step, and flies from the next tick; who bounces flies from this one.
        let lingers = flights.iter().any(|(_, flight)| flight.since > tick);
        Response { flights, memories: self.memories(), told, complete, lingers, seen }
    }

    /// The states of the crew once strangers have pushed it.
    fn pushed(&self, states: &[BodyState], responder: &Responder) -> Vec<BodyState> {
        let mut states = states[..self.moment.crew.len()].to_vec();
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
        for meeting in self.meetings.list() {
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
        self.meetings.list().iter().filter_map(side).collect()
    }

    fn place_in(&self, seat: u32) -> Place {
        self.place(self.members[seat as usize])
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
    fn memories(&self) -> Arc<[Remembered<RigidModel>]> {
        let meetings = self.meetings.list();
        let remembered = |at: u32| {
            let meeting = &meetings[at as usize];
            let memory = Memory::Pair(self.meetings.touch(at as usize).memory());
            let own = self.place_in(meeting.a);
            match meeting.b {
                Some(b) if !self.is_own(self.members[meeting.a as usize]) => {
                    Remembered { own: self.place_in(b), partner: PartnerKey::Body(own), memory }
                }
                _ => Remembered { own, partner: self.partner(meeting), memory },
            }
        };
        // Pairs of bodies come first, then static geometry, each in order: with no strangers this is a merge.
        let mut order: Vec<u32> = Vec::with_capacity(meetings.len());
        let bodies = meetings.partition_point(|meeting| meeting.b.is_some()) as u32;
        let own = |at: u32| self.place_in(meetings[at as usize].a);
        let mut statics = (bodies..meetings.len() as u32).peekable();
        for at in 0..bodies {
            while let Some(earlier) = statics.next_if(|object| own(*object) < own(at)) {
                order.push(earlier);
            }
            order.push(at);
        }
        order.extend(statics);
        let mut memories = Vec::new();
        parallel::fill(&mut memories, order.len(), |at| remembered(order[at]));
        if !self.moment.strangers.is_empty() {
            memories.sort_unstable_by_key(Remembered::key);
        }
        debug_assert!(memories.is_sorted_by_key(Remembered::key), "a merge of two lists in order");
        memories.into()
    }
}
