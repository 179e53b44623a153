//! A world that the protocol can run in place of the rigid bodies: points on a line that carry a number.
//!
//! Whatever a body learns at a tick (whom it touches, their numbers after every round, what the pairs remember)
//! is stirred into its number, and its number decides where it goes and whom it touches next. So anything that
//! is lost, doubled, stale or out of order changes everything that follows. It costs next to nothing to run.

use std::sync::Arc;

use crate::base::aabb::Aabb;
use crate::base::math::Vec3;
use crate::base::time::Tick;
use crate::protocol::{
    BodyIndex, CachedContact, Cluster, ContactCounts, Dynamics, Fault, GhostToSend, PartnerKey, Response,
    ResponseInput,
};
use crate::rigid::TrackEnd;

/// The rules of a world.
#[derive(Clone, Debug)]
pub struct ToyModel {
    /// How many bodies there are at the start.
    pub bodies: u32,
    /// Decides where they are, and everything else.
    pub seed: u64,
    /// GvtStats in which neighbours learn each other's numbers.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToyPath {
    /// When it begins.
    pub since: Tick,
    /// Where the body is then.
    pub at: i64,
    /// How far it goes in a tick.
    pub speed: i64,
    /// Everything it has been through.
    pub number: u64,
}

impl ToyPath {
    /// Where the body is at a tick.
    pub fn place_at(&self, tick: Tick) -> i64 {
        self.at + self.speed * (tick - self.since) as i64
    }
}

/// Something done to a body from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToyInput {
    /// To whom.
    pub body: BodyIndex,
    /// What.
    pub deed: ToyInputKind,
}

/// What is done to a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ToyInputKind {
    /// Its number changes.
    Mix(u64),
    /// It comes into being.
    Spawn(ToyPath),
    /// It is no more.
    Despawn,
}

/// The numbers of a body after each round, and among how many it is split.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToyGhost {
    /// Among how many it is split.
    pub touches: u32,
    /// Its numbers.
    pub after: Vec<u64>,
}

/// Stirs numbers into one.
pub fn mix(numbers: &[u64]) -> u64 {
    let mut sum = 0x243f_6a88_85a3_08d3u64;
    for number in numbers {
        sum = (sum ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum ^= sum >> 29;
    }
    sum
}

impl ToyModel {
    /// Where everybody starts.
    pub fn start(&self) -> Vec<(BodyIndex, ToyPath)> {
        let path = |body: BodyIndex| {
            let number = mix(&[self.seed, u64::from(body)]);
            let at = (number >> 8) as i64 % self.room.max(1);
            (body, ToyPath { since: 0, at, speed: speed(number), number })
        };
        (0..self.bodies).map(path).collect()
    }

    /// Radii that differ, so that the table has several levels.
    fn size(&self, body: BodyIndex) -> i64 {
        match mix(&[self.seed, 77, u64::from(body)]) % 8 {
            0 => 9,
            1 | 2 => 3,
            _ => 1,
        }
    }

    fn touch(&self, a: (BodyIndex, &ToyPath), b: (BodyIndex, &ToyPath), tick: Tick) -> bool {
        let near = (a.1.place_at(tick) - b.1.place_at(tick)).abs() <= self.size(a.0) + self.size(b.0);
        let sticky = mix(&[self.seed, u64::from(a.0), u64::from(b.0)]).is_multiple_of(self.sticky);
        near && (sticky || mix(&[a.1.number, b.1.number, tick]).is_multiple_of(self.sparse))
    }

    fn touches_static(&self, path: &ToyPath, tick: Tick) -> bool {
        let at = path.place_at(tick);
        let outside = at.abs() > self.room && at.signum() == path.speed.signum();
        outside || mix(&[path.number, tick]).is_multiple_of(self.bumpy)
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
        PartnerKey::Island => 1 << 41,
    }
}

/// Two slots, or a endpoint and static geometry, and what the pair remembers.
struct Pair {
    a: usize,
    b: Option<usize>,
    memory: Option<u64>,
}

impl Dynamics for ToyModel {
    type Flight = ToyPath;
    type Cache = u64;
    type Ghost = ToyGhost;
    type Input = ToyInput;
    type SharedTick = TrackEnd;

    const FAULTY: bool = true;

    fn fault(&self) -> Fault {
        self.fault
    }

    fn same_ghost(a: &ToyGhost, b: &ToyGhost) -> bool {
        a == b
    }

    fn radius(&self, body: BodyIndex) -> f64 {
        self.size(body) as f64
    }

    fn bounds(&self, body: BodyIndex, flight: &ToyPath, from: Tick, to: Tick) -> Aabb {
        let (a, b) = (flight.place_at(from), flight.place_at(to));
        let size = self.radius(body);
        let low = Vec3::new(a.min(b) as f64 - size, -size, -size);
        let high = Vec3::new(a.max(b) as f64 + size, size, size);
        Aabb { min: low, max: high }
    }

    fn first_own_touch(&self, cluster: &[(BodyIndex, ToyPath)], from: Tick, to: Tick) -> Option<Tick> {
        (from..=to).find(|&tick| {
            cluster.iter().enumerate().any(|(at, (place, path))| {
                self.touches_static(path, tick)
                    || cluster[at + 1..]
                        .iter()
                        .any(|(other, its)| self.touch((*place, path), (*other, its), tick))
            })
        })
    }

    fn first_touch(
        &self,
        a: (BodyIndex, &ToyPath),
        b: (BodyIndex, &ToyPath),
        from: Tick,
        to: Tick,
    ) -> Option<Tick> {
        let (a, b) = if a.0 < b.0 { (a, b) } else { (b, a) };
        (from..=to).find(|&tick| self.touch(a, b, tick))
    }

    fn respond(&self, tick: Tick, input: &ResponseInput<ToyModel>) -> Response<ToyModel> {
        let cluster = input.cluster.len();
        let mut slots: Vec<(BodyIndex, ToyPath)> = input.cluster.to_vec();
        slots.extend(input.remotes.iter().map(|remote| (remote.body, remote.flight)));
        let pairs = self.pairs(tick, input, &slots);
        let after = self.rounds(input, &slots, &pairs);
        let last = |endpoint: usize| after[self.rounds as usize][endpoint];
        let mut caches = Vec::new();
        let mut response = Response {
            flights: Vec::new(),
            caches: Arc::new([]),
            ghosts: Vec::new(),
            has_all_ghosts: true,
            is_resting: tick % 4 != 3,
            counts: ContactCounts::default(),
        };
        for pair in &pairs {
            let with = key(pair.b, &slots);
            let other = pair.b.map_or(7, last);
            let memory = mix(&[pair.memory.unwrap_or(0) + 1, last(pair.a), other]);
            let (own, partner) = if pair.a < cluster {
                (slots[pair.a].0, with)
            } else {
                (slots[pair.b.expect("statics touch the cluster")].0, PartnerKey::Body(slots[pair.a].0))
            };
            caches.push(CachedContact { own, partner, cache: memory });
            if pair.a < cluster {
                response.counts.contacts += 1;
                response.counts.new_contacts += u32::from(pair.memory.is_none());
            }
        }
        response.caches = caches.into();
        for endpoint in 0..cluster {
            let partners: Vec<PartnerKey> = partners(endpoint, &pairs, &slots);
            if partners.is_empty() {
                continue;
            }
            let (place, path) = (slots[endpoint].0, slots[endpoint].1);
            response.flights.push((place, self.onward(tick, &path, last(endpoint))));
            let is_stranger = |key: &PartnerKey| match key {
                PartnerKey::Body(body) => slots[cluster..].iter().any(|(place, _)| place == body),
                PartnerKey::Static(_) | PartnerKey::Island => false,
            };
            if partners.iter().any(is_stranger) {
                let touches = partners.len() as u32;
                let after = (1..=self.rounds as usize).map(|round| after[round][endpoint]).collect();
                let ghost = Arc::new(ToyGhost { touches, after });
                response.ghosts.push(GhostToSend { own: place, partners, ghost });
            }
        }
        response
    }

    fn target(action: &ToyInput) -> BodyIndex {
        action.body
    }

    fn apply_inputs(
        &self,
        tick: Tick,
        cluster: &mut Cluster<ToyModel>,
        actions: &[(u64, ToyInput)],
    ) -> Vec<(BodyIndex, Option<ToyPath>)> {
        let mut news: Vec<(BodyIndex, Option<ToyPath>)> = Vec::new();
        for (_, ToyInput { body, deed }) in actions {
            let path = match (cluster.binary_search_by_key(body, |(place, _)| *place), deed) {
                (Ok(at), ToyInputKind::Despawn) => {
                    cluster.remove(at);
                    None
                }
                (Ok(at), ToyInputKind::Mix(number)) => {
                    let path = &mut cluster[at].1;
                    let since = path.since.max(tick);
                    let number = mix(&[path.number, *number]);
                    *path = ToyPath { since, at: path.place_at(since), speed: speed(number), number };
                    Some(*path)
                }
                (Err(at), ToyInputKind::Spawn(path)) => {
                    cluster.insert(at, (*body, *path));
                    Some(*path)
                }
                _ => continue,
            };
            news.retain(|(place, _)| place != body);
            news.push((*body, path));
        }
        news
    }
}

fn key(endpoint: Option<usize>, slots: &[(BodyIndex, ToyPath)]) -> PartnerKey {
    endpoint.map_or(PartnerKey::Static(0), |endpoint| PartnerKey::Body(slots[endpoint].0))
}

/// Everything a endpoint touches, bodies in ascending order and static geometry last.
fn partners(endpoint: usize, pairs: &[Pair], slots: &[(BodyIndex, ToyPath)]) -> Vec<PartnerKey> {
    let other = |pair: &Pair| {
        if pair.a == endpoint {
            Some(key(pair.b, slots))
        } else {
            (pair.b == Some(endpoint)).then(|| key(Some(pair.a), slots))
        }
    };
    let mut partners: Vec<PartnerKey> = pairs.iter().filter_map(other).collect();
    partners.sort_unstable();
    partners
}

impl ToyModel {
    /// Who touches whom, as the cluster knows it.
    fn pairs(
        &self,
        tick: Tick,
        input: &ResponseInput<ToyModel>,
        slots: &[(BodyIndex, ToyPath)],
    ) -> Vec<Pair> {
        let cluster = input.cluster.len();
        let mut pairs = Vec::new();
        let mut add = |a: usize, b: Option<usize>| {
            let (a, b) = match b {
                Some(b) if slots[b].0 < slots[a].0 => (b, Some(a)),
                _ => (a, b),
            };
            let is_pair = |known: &&CachedContact<ToyModel>| {
                let there = (PartnerKey::Body(known.own), known.partner);
                let (first, second) = (key(Some(a), slots), key(b, slots));
                there == (first, second) || there == (second, first)
            };
            let memory = input.caches.iter().find(is_pair).map(|known| known.cache);
            pairs.push(Pair { a, b, memory });
        };
        for a in 0..cluster {
            for b in a + 1..cluster {
                if self.touch((slots[a].0, &slots[a].1), (slots[b].0, &slots[b].1), tick) {
                    add(a, Some(b));
                }
            }
            if self.touches_static(&slots[a].1, tick) {
                add(a, None);
            }
        }
        for (at, remote) in input.remotes.iter().enumerate() {
            for own in &remote.touches {
                let own = slots[..cluster]
                    .iter()
                    .position(|(place, _)| place == own)
                    .expect("own is of the cluster");
                add(own, Some(cluster + at));
            }
        }
        pairs.sort_by_key(|pair| (slots[pair.a].0, key(pair.b, slots)));
        pairs
    }

    /// The number of every endpoint before the first and after each round.
    fn rounds(
        &self,
        input: &ResponseInput<ToyModel>,
        slots: &[(BodyIndex, ToyPath)],
        pairs: &[Pair],
    ) -> Vec<Vec<u64>> {
        let cluster = input.cluster.len();
        let mut after: Vec<Vec<u64>> = vec![slots.iter().map(|(_, path)| path.number).collect()];
        for round in 0..self.rounds as usize {
            let before = &after[round];
            let number = |endpoint: usize| {
                let told = endpoint.checked_sub(cluster).and_then(|at| input.remotes[at].ghost.as_ref());
                if let Some(told) = told {
                    return told.after[round];
                }
                let mut sum = vec![before[endpoint], partners(endpoint, pairs, slots).len() as u64];
                for pair in pairs.iter().filter(|pair| pair.a == endpoint || pair.b == Some(endpoint)) {
                    let other = if pair.a == endpoint { pair.b } else { Some(pair.a) };
                    // What is split among several weighs on each of them.
                    let told = other.and_then(|other| other.checked_sub(cluster));
                    let told = told.and_then(|at| input.remotes[at].ghost.as_ref());
                    let degree = match (told, other) {
                        (Some(told), _) => u64::from(told.touches),
                        (None, Some(other)) => partners(other, pairs, slots).len() as u64,
                        (None, None) => 0,
                    };
                    let memory = pair.memory.map_or(3, |memory| memory | 1 << 63);
                    let theirs = other.map_or(5, |other| before[other]);
                    sum.extend([key_number(key(other, slots)), theirs, degree, memory]);
                }
                mix(&sum)
            };
            after.push((0..slots.len()).map(number).collect());
        }
        after
    }

    /// The path after a touch: towards the middle if it is outside.
    fn onward(&self, tick: Tick, path: &ToyPath, number: u64) -> ToyPath {
        let at = path.place_at(tick);
        let speed =
            if at.abs() > self.room { -at.signum() * (1 + speed(number).abs()) } else { speed(number) };
        // Some go on from this tick, some are put where they are at the next.
        match number >> 60 & 1 {
            0 => ToyPath { since: tick, at, speed, number },
            _ => ToyPath { since: tick + 1, at: at + speed, speed, number },
        }
    }
}

/// The reference: everybody in one cluster, tick by tick.
pub struct Reference<'a> {
    toy: &'a ToyModel,
    /// The tick it has come to.
    pub tick: Tick,
    /// Everybody.
    pub cluster: Cluster<ToyModel>,
    caches: Arc<[CachedContact<ToyModel>]>,
    /// Touches that were seen before that tick.
    pub touches: u64,
    /// Touches that began before that tick.
    pub new_touches: u64,
}

impl<'a> Reference<'a> {
    /// At tick 0.
    pub fn new(toy: &'a ToyModel) -> Self {
        let cluster = toy.start().into();
        Reference { toy, tick: 0, cluster, caches: Arc::new([]), touches: 0, new_touches: 0 }
    }

    /// Goes on to the next tick, with what is done from outside on the way.
    pub fn advance(&mut self, actions: &[(u64, ToyInput)]) {
        let input =
            ResponseInput { cluster: &self.cluster, caches: &self.caches, remotes: &[], is_island: false };
        let response = self.toy.respond(self.tick, &input);
        self.touches += u64::from(response.counts.contacts);
        self.new_touches += u64::from(response.counts.new_contacts);
        for (place, path) in response.flights {
            let own = self.cluster.iter_mut().find(|(own, _)| *own == place);
            own.expect("responses are of the cluster").1 = path;
        }
        self.caches = response.caches;
        self.toy.apply_inputs(self.tick, &mut self.cluster, actions);
        self.tick += 1;
    }

    /// Where everybody is.
    pub fn places(&self) -> Vec<(BodyIndex, i64, u64)> {
        let place = |(body, path): &(BodyIndex, ToyPath)| (*body, path.place_at(self.tick), path.number);
        self.cluster.iter().map(place).collect()
    }
}
