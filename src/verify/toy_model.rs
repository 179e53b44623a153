//! A world that the protocol can run in place of the rigid bodies: points on a line that carry a number.
//!
//! Whatever a body learns at a tick (whom it touches, their numbers after every round, what the pairs remember)
//! is stirred into its number, and its number decides where it goes and whom it touches next. So anything that
//! is lost, doubled, stale or out of order changes everything that follows. It costs next to nothing to run.

use std::sync::Arc;

use crate::base::math::Vec3;
use crate::base::time::Tick;
use crate::physics::Aabb;
use crate::protocol::{Crew, Dynamics, Fault, Moment, PartnerKey, Place, Remembered, Response, Seen, Told};

/// The rules of a world.
#[derive(Clone, Debug)]
pub struct Tiny {
    /// How many bodies there are at the start.
    pub bodies: u32,
    /// Decides where they are, and everything else.
    pub seed: u64,
    /// Rounds in which neighbours learn each other's numbers.
    pub rounds: u32,
    /// Bodies turn round beyond this distance from the origin.
    pub room: i64,
    /// Two near bodies touch at one tick of so many.
    pub sparse: u64,
    /// One pair of so many touches whenever it is near.
    pub sticky: u64,
    /// Bodies touch something static at one tick of so many.
    pub bumpy: u64,
    /// Where the run ends.
    pub last_tick: Tick,
    /// A deliberate fault in the protocol that runs it.
    pub fault: Fault,
}

/// Motion at a constant speed with a constant number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// When it begins.
    pub since: Tick,
    /// Where the body is then.
    pub at: i64,
    /// How far it goes in a tick.
    pub speed: i64,
    /// Everything it has been through.
    pub number: u64,
}

impl Course {
    /// Where the body is at a tick.
    pub fn place_at(&self, tick: Tick) -> i64 {
        self.at + self.speed * (tick - self.since) as i64
    }
}

/// Something done to a body from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// To whom.
    pub body: Place,
    /// What.
    pub deed: Deed,
}

/// What is done to a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Its number changes.
    Stir(u64),
    /// It comes into being.
    Appear(Course),
    /// It is no more.
    Vanish,
}

/// The numbers of a body after each round, and among how many it is split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Among how many it is split.
    pub touches: u32,
    /// Its numbers.
    pub after: Vec<u64>,
}

/// Stirs numbers into one.
pub fn stir(numbers: &[u64]) -> u64 {
    let mut sum = 0x243f_6a88_85a3_08d3u64;
    for number in numbers {
        sum = (sum ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum ^= sum >> 29;
    }
    sum
}

impl Tiny {
    /// Where everybody starts.
    pub fn start(&self) -> Vec<(Place, Course)> {
        let course = |body: Place| {
            let number = stir(&[self.seed, u64::from(body)]);
            let at = (number >> 8) as i64 % self.room.max(1);
            (body, Course { since: 0, at, speed: speed(number), number })
        };
        (0..self.bodies).map(course).collect()
    }

    /// Radii that differ, so that the table has several levels.
    fn size(&self, body: Place) -> i64 {
        match stir(&[self.seed, 77, u64::from(body)]) % 8 {
            0 => 9,
            1 | 2 => 3,
            _ => 1,
        }
    }

    fn touch(&self, a: (Place, &Course), b: (Place, &Course), tick: Tick) -> bool {
        let near = (a.1.place_at(tick) - b.1.place_at(tick)).abs() <= self.size(a.0) + self.size(b.0);
        let sticky = stir(&[self.seed, u64::from(a.0), u64::from(b.0)]).is_multiple_of(self.sticky);
        near && (sticky || stir(&[a.1.number, b.1.number, tick]).is_multiple_of(self.sparse))
    }

    fn touches_static(&self, course: &Course, tick: Tick) -> bool {
        let at = course.place_at(tick);
        let outside = at.abs() > self.room && at.signum() == course.speed.signum();
        outside || stir(&[course.number, tick]).is_multiple_of(self.bumpy)
    }
}

/// The speed that goes with a number.
pub fn speed(number: u64) -> i64 {
    [-4, -1, -1, 0, 0, 0, 1, 1, 4][(number >> 40) as usize % 9]
}

fn key_number(key: PartnerKey) -> u64 {
    match key {
        PartnerKey::Body(place) => u64::from(place),
        PartnerKey::Static(id) => 1 << 40 | u64::from(id),
        PartnerKey::Company => 1 << 41,
    }
}

/// Two seats, or a seat and static geometry, and what the pair remembers.
struct Pair {
    a: usize,
    b: Option<usize>,
    memory: Option<u64>,
}

impl Dynamics for Tiny {
    type Flight = Course;
    type Memory = u64;
    type Standing = Numbers;
    type Action = Act;

    const FAULTY: bool = true;

    fn fault(&self) -> Fault {
        self.fault
    }

    fn same_standing(a: &Numbers, b: &Numbers) -> bool {
        a == b
    }

    fn radius(&self, body: Place) -> f64 {
        self.size(body) as f64
    }

    fn bounds(&self, body: Place, flight: &Course, from: Tick, to: Tick) -> Aabb {
        let (a, b) = (flight.place_at(from), flight.place_at(to));
        let size = self.radius(body);
        let low = Vec3::new(a.min(b) as f64 - size, -size, -size);
        let high = Vec3::new(a.max(b) as f64 + size, size, size);
        Aabb { min: low, max: high }
    }

    fn first_own_touch(&self, crew: &[(Place, Course)], from: Tick, to: Tick) -> Option<Tick> {
        (from..=to).find(|&tick| {
            crew.iter().enumerate().any(|(at, (place, course))| {
                self.touches_static(course, tick)
                    || crew[at + 1..]
                        .iter()
                        .any(|(other, its)| self.touch((*place, course), (*other, its), tick))
            })
        })
    }

    fn first_touch(&self, a: (Place, &Course), b: (Place, &Course), from: Tick, to: Tick) -> Option<Tick> {
        let (a, b) = if a.0 < b.0 { (a, b) } else { (b, a) };
        (from..=to).find(|&tick| self.touch(a, b, tick))
    }

    fn respond(&self, tick: Tick, moment: &Moment<Tiny>) -> Response<Tiny> {
        let crew = moment.crew.len();
        let mut seats: Vec<(Place, Course)> = moment.crew.to_vec();
        seats.extend(moment.strangers.iter().map(|stranger| (stranger.body, stranger.flight)));
        let pairs = self.pairs(tick, moment, &seats);
        let after = self.rounds(moment, &seats, &pairs);
        let last = |seat: usize| after[self.rounds as usize][seat];
        let mut memories = Vec::new();
        let mut response = Response {
            flights: Vec::new(),
            memories: Arc::new([]),
            told: Vec::new(),
            complete: true,
            lingers: tick % 4 != 3,
            seen: Seen::default(),
        };
        for pair in &pairs {
            let with = key(pair.b, &seats);
            let other = pair.b.map_or(7, last);
            let memory = stir(&[pair.memory.unwrap_or(0) + 1, last(pair.a), other]);
            let (own, partner) = if pair.a < crew {
                (seats[pair.a].0, with)
            } else {
                (seats[pair.b.expect("statics touch the crew")].0, PartnerKey::Body(seats[pair.a].0))
            };
            memories.push(Remembered { own, partner, memory });
            if pair.a < crew {
                response.seen.touches += 1;
                response.seen.new_touches += u32::from(pair.memory.is_none());
            }
        }
        response.memories = memories.into();
        for seat in 0..crew {
            let partners: Vec<PartnerKey> = partners(seat, &pairs, &seats);
            if partners.is_empty() {
                continue;
            }
            let (place, course) = (seats[seat].0, seats[seat].1);
            response.flights.push((place, self.onward(tick, &course, last(seat))));
            let is_stranger = |key: &PartnerKey| match key {
                PartnerKey::Body(body) => seats[crew..].iter().any(|(place, _)| place == body),
                PartnerKey::Static(_) | PartnerKey::Company => false,
            };
            if partners.iter().any(is_stranger) {
                let touches = partners.len() as u32;
                let after = (1..=self.rounds as usize).map(|round| after[round][seat]).collect();
                let standing = Arc::new(Numbers { touches, after });
                response.told.push(Told { own: place, partners, standing });
            }
        }
        response
    }

    fn subject(action: &Act) -> Place {
        action.body
    }

    fn steer(
        &self,
        tick: Tick,
        crew: &mut Crew<Tiny>,
        actions: &[(u64, Act)],
    ) -> Vec<(Place, Option<Course>)> {
        let mut news: Vec<(Place, Option<Course>)> = Vec::new();
        for (_, Act { body, deed }) in actions {
            let course = match (crew.binary_search_by_key(body, |(place, _)| *place), deed) {
                (Ok(at), Deed::Vanish) => {
                    crew.remove(at);
                    None
                }
                (Ok(at), Deed::Stir(number)) => {
                    let course = &mut crew[at].1;
                    let since = course.since.max(tick);
                    let number = stir(&[course.number, *number]);
                    *course = Course { since, at: course.place_at(since), speed: speed(number), number };
                    Some(*course)
                }
                (Err(at), Deed::Appear(course)) => {
                    crew.insert(at, (*body, *course));
                    Some(*course)
                }
                _ => continue,
            };
            news.retain(|(place, _)| place != body);
            news.push((*body, course));
        }
        news
    }
}

fn key(seat: Option<usize>, seats: &[(Place, Course)]) -> PartnerKey {
    seat.map_or(PartnerKey::Static(0), |seat| PartnerKey::Body(seats[seat].0))
}

/// Everything a seat touches, bodies in ascending order and static geometry last.
fn partners(seat: usize, pairs: &[Pair], seats: &[(Place, Course)]) -> Vec<PartnerKey> {
    let other = |pair: &Pair| {
        if pair.a == seat {
            Some(key(pair.b, seats))
        } else {
            (pair.b == Some(seat)).then(|| key(Some(pair.a), seats))
        }
    };
    let mut partners: Vec<PartnerKey> = pairs.iter().filter_map(other).collect();
    partners.sort_unstable();
    partners
}

impl Tiny {
    /// Who touches whom, as the crew knows it.
    fn pairs(&self, tick: Tick, moment: &Moment<Tiny>, seats: &[(Place, Course)]) -> Vec<Pair> {
        let crew = moment.crew.len();
        let mut pairs = Vec::new();
        let mut add = |a: usize, b: Option<usize>| {
            let (a, b) = match b {
                Some(b) if seats[b].0 < seats[a].0 => (b, Some(a)),
                _ => (a, b),
            };
            let is_pair = |known: &&Remembered<Tiny>| {
                let there = (PartnerKey::Body(known.own), known.partner);
                let (first, second) = (key(Some(a), seats), key(b, seats));
                there == (first, second) || there == (second, first)
            };
            let memory = moment.memories.iter().find(is_pair).map(|known| known.memory);
            pairs.push(Pair { a, b, memory });
        };
        for a in 0..crew {
            for b in a + 1..crew {
                if self.touch((seats[a].0, &seats[a].1), (seats[b].0, &seats[b].1), tick) {
                    add(a, Some(b));
                }
            }
            if self.touches_static(&seats[a].1, tick) {
                add(a, None);
            }
        }
        for (at, stranger) in moment.strangers.iter().enumerate() {
            for own in &stranger.touches {
                let own =
                    seats[..crew].iter().position(|(place, _)| place == own).expect("own is of the crew");
                add(own, Some(crew + at));
            }
        }
        pairs.sort_by_key(|pair| (seats[pair.a].0, key(pair.b, seats)));
        pairs
    }

    /// The number of every seat before the first and after each round.
    fn rounds(&self, moment: &Moment<Tiny>, seats: &[(Place, Course)], pairs: &[Pair]) -> Vec<Vec<u64>> {
        let crew = moment.crew.len();
        let mut after: Vec<Vec<u64>> = vec![seats.iter().map(|(_, course)| course.number).collect()];
        for round in 0..self.rounds as usize {
            let before = &after[round];
            let number = |seat: usize| {
                let told = seat.checked_sub(crew).and_then(|at| moment.strangers[at].standing.as_ref());
                if let Some(told) = told {
                    return told.after[round];
                }
                let mut sum = vec![before[seat], partners(seat, pairs, seats).len() as u64];
                for pair in pairs.iter().filter(|pair| pair.a == seat || pair.b == Some(seat)) {
                    let other = if pair.a == seat { pair.b } else { Some(pair.a) };
                    // What is split among several weighs on each of them.
                    let told = other.and_then(|other| other.checked_sub(crew));
                    let told = told.and_then(|at| moment.strangers[at].standing.as_ref());
                    let degree = match (told, other) {
                        (Some(told), _) => u64::from(told.touches),
                        (None, Some(other)) => partners(other, pairs, seats).len() as u64,
                        (None, None) => 0,
                    };
                    let memory = pair.memory.map_or(3, |memory| memory | 1 << 63);
                    let theirs = other.map_or(5, |other| before[other]);
                    sum.extend([key_number(key(other, seats)), theirs, degree, memory]);
                }
                stir(&sum)
            };
            after.push((0..seats.len()).map(number).collect());
        }
        after
    }

    /// The course after a touch: towards the middle if it is outside.
    fn onward(&self, tick: Tick, course: &Course, number: u64) -> Course {
        let at = course.place_at(tick);
        let speed =
            if at.abs() > self.room { -at.signum() * (1 + speed(number).abs()) } else { speed(number) };
        // Some go on from this tick, some are put where they are at the next.
        match number >> 60 & 1 {
            0 => Course { since: tick, at, speed, number },
            _ => Course { since: tick + 1, at: at + speed, speed, number },
        }
    }
}

/// The reference: everybody in one crew, tick by tick.
pub struct Reference<'a> {
    tiny: &'a Tiny,
    /// The tick it has come to.
    pub tick: Tick,
    /// Everybody.
    pub crew: Crew<Tiny>,
    memories: Arc<[Remembered<Tiny>]>,
    /// Touches that were seen before that tick.
    pub touches: u64,
    /// Touches that began before that tick.
    pub new_touches: u64,
}

impl<'a> Reference<'a> {
    /// At tick 0.
    pub fn new(tiny: &'a Tiny) -> Self {
        let crew = tiny.start().into();
        Reference { tiny, tick: 0, crew, memories: Arc::new([]), touches: 0, new_touches: 0 }
    }

    /// Goes on to the next tick, with what is done from outside on the way.
    pub fn advance(&mut self, actions: &[(u64, Act)]) {
        let moment = Moment { crew: &self.crew, memories: &self.memories, strangers: &[], together: false };
        let response = self.tiny.respond(self.tick, &moment);
        self.touches += u64::from(response.seen.touches);
        self.new_touches += u64::from(response.seen.new_touches);
        for (place, course) in response.flights {
            let own = self.crew.iter_mut().find(|(own, _)| *own == place);
            own.expect("responses are of the crew").1 = course;
        }
        self.memories = response.memories;
        self.tiny.steer(self.tick, &mut self.crew, actions);
        self.tick += 1;
    }

    /// Where everybody is.
    pub fn places(&self) -> Vec<(Place, i64, u64)> {
        let place = |(body, course): &(Place, Course)| (*body, course.place_at(self.tick), course.number);
        self.crew.iter().map(place).collect()
    }
}
