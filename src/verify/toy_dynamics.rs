//! What the protocol asks of the toy model: bounds, contacts, responses, inputs.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::base::aabb::Aabb;
use crate::base::math::Vec3;
use crate::base::time::Tick;
use crate::protocol::{
    BodyIndex, CachedContact, Cluster, ContactCounts, Dynamics, Fault, GhostToSend, PartnerKey, Response,
    ResponseInput,
};
use crate::rigid::TrackEnd;
use crate::verify::toy_model::{ToyInput, ToyInputKind, ToyModel, ToyPath};

/// The ghost state of a body.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToyGhost {
    /// Number of contacts of the body, with its own entity and with others.
    pub contacts: u32,
    /// The number of the body after each round.
    pub after_rounds: Vec<u64>,
}

/// Mixes numbers into one.
pub fn mix(numbers: &[u64]) -> u64 {
    let mut sum = 0x243f_6a88_85a3_08d3u64;
    for number in numbers {
        sum = (sum ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum ^= sum >> 29;
    }
    sum
}

/// The speed that belongs to a number.
pub(super) fn speed(number: u64) -> i64 {
    [-4, -1, -1, 0, 0, 0, 1, 1, 4][(number >> 40) as usize % 9]
}

impl ToyModel {
    /// The bodies at tick 0.
    pub(crate) fn start(&self) -> Vec<(BodyIndex, ToyPath)> {
        let path = |body: BodyIndex| {
            let number = mix(&[self.seed, u64::from(body)]);
            let position = (number >> 8) as i64 % self.extent.max(1);
            (body, ToyPath { since: 0, position, speed: speed(number), number })
        };
        (0..self.bodies).map(path).collect()
    }

    /// Radii differ, so that the table has several levels.
    fn size(&self, body: BodyIndex) -> i64 {
        match mix(&[self.seed, 77, u64::from(body)]) % 8 {
            0 => 9,
            1 | 2 => 3,
            _ => 1,
        }
    }

    fn touch(&self, a: (BodyIndex, &ToyPath), b: (BodyIndex, &ToyPath), tick: Tick) -> bool {
        let near = (a.1.position_at(tick) - b.1.position_at(tick)).abs() <= self.size(a.0) + self.size(b.0);
        let sticky = mix(&[self.seed, u64::from(a.0), u64::from(b.0)]).is_multiple_of(self.sticky_odds);
        near && (sticky || mix(&[a.1.number, b.1.number, tick]).is_multiple_of(self.contact_odds))
    }

    fn touches_static(&self, path: &ToyPath, tick: Tick) -> bool {
        let position = path.position_at(tick);
        let outside = position.abs() > self.extent && position.signum() == path.speed.signum();
        outside || mix(&[path.number, tick]).is_multiple_of(self.static_odds)
    }
}

/// The bodies of a toy model at tick 0, for tests.
pub fn start(toy: &ToyModel) -> Vec<(BodyIndex, ToyPath)> {
    toy.start()
}

fn key_number(key: PartnerKey) -> u64 {
    match key {
        PartnerKey::Body(body) => u64::from(body),
        PartnerKey::Static(id) => 1 << 40 | u64::from(id),
        PartnerKey::Island => 1 << 41,
    }
}

/// A contact pair: two slots, or a slot and static geometry.
struct Pair {
    a: usize,
    b: Option<usize>,
    /// What the pair keeps from the tick before.
    cache: Option<u64>,
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
        let (a, b) = (flight.position_at(from), flight.position_at(to));
        let size = self.radius(body);
        let low = Vec3::new(a.min(b) as f64 - size, -size, -size);
        let high = Vec3::new(a.max(b) as f64 + size, size, size);
        Aabb { min: low, max: high }
    }

    fn first_own_touch(&self, _: BodyIndex, flight: &ToyPath, from: Tick, to: Tick) -> Option<Tick> {
        (from..=to).find(|&tick| self.touches_static(flight, tick))
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
        let island = || input.cluster.iter().map(|(body, _)| *body).collect();
        let islands: Vec<Vec<BodyIndex>> = input.is_island.then(island).into_iter().collect();
        self.respond_with_islands(tick, input, &islands)
    }

    fn target(input: &ToyInput) -> BodyIndex {
        input.body
    }

    fn apply_inputs(
        &self,
        tick: Tick,
        cluster: &mut Cluster<ToyModel>,
        inputs: &[(u64, ToyInput)],
    ) -> Vec<(BodyIndex, Option<ToyPath>)> {
        let mut changed: Vec<(BodyIndex, Option<ToyPath>)> = Vec::new();
        for (_, ToyInput { body, kind }) in inputs {
            let path = match (cluster.binary_search_by_key(body, |(own, _)| *own), kind) {
                (Ok(index), ToyInputKind::Despawn) => {
                    cluster.remove(index);
                    None
                }
                (Ok(index), ToyInputKind::Mix(number)) => {
                    let path = &mut cluster[index].1;
                    let since = path.since.max(tick);
                    let number = mix(&[path.number, *number]);
                    let position = path.position_at(since);
                    *path = ToyPath { since, position, speed: speed(number), number };
                    Some(*path)
                }
                (Err(index), ToyInputKind::Spawn(path)) => {
                    cluster.insert(index, (*body, *path));
                    Some(*path)
                }
                _ => continue,
            };
            changed.retain(|(known, _)| known != body);
            changed.push((*body, path));
        }
        changed
    }
}

impl ToyModel {
    /// How bodies go on after a tick. All bodies of an island learn the numbers that the others end with, whether they touch
    /// or not: so it shows if an island goes on with other bodies than it should.
    pub(super) fn respond_with_islands(
        &self,
        tick: Tick,
        input: &ResponseInput<ToyModel>,
        islands: &[Vec<BodyIndex>],
    ) -> Response<ToyModel> {
        // Slots: the bodies of the entity, then the remote ones.
        let mut slots: Vec<(BodyIndex, ToyPath)> = input.cluster.to_vec();
        slots.extend(input.remotes.iter().map(|remote| (remote.body, remote.flight)));
        let pairs = self.pairs(tick, input, &slots);
        let after = self.numbers_after_rounds(input, &slots, &pairs);
        let last = &after[self.rounds as usize];
        let (caches, counts) = contact_caches(input.cluster.len(), &slots, &pairs, last);
        let mut response = Response {
            flights: Cluster::<ToyModel>::new(),
            caches: caches.into(),
            ghosts: SmallVec::new(),
            has_all_ghosts: true,
            is_resting: tick % 4 != 3,
            counts,
        };
        let remotes = &slots[input.cluster.len()..];
        for (slot, (body, path)) in slots.iter().enumerate().take(input.cluster.len()) {
            let partners = partners(slot, &pairs, &slots);
            let island = islands.iter().find(|island| island.contains(body));
            if partners.is_empty() && island.is_none() {
                continue;
            }
            let number = island.map_or(last[slot], |island| {
                let of_island = slots.iter().zip(last).filter(|((body, _), _)| island.contains(body));
                mix(&[&[last[slot]][..], &of_island.map(|(_, number)| *number).collect::<Vec<_>>()].concat())
            });
            response.flights.push((*body, self.onward(tick, path, number)));
            let is_remote = |key: &PartnerKey| match key {
                PartnerKey::Body(body) => remotes.iter().any(|(remote, _)| remote == body),
                PartnerKey::Static(_) | PartnerKey::Island => false,
            };
            if partners.iter().any(is_remote) {
                let contacts = partners.len() as u32;
                let after_rounds = (1..=self.rounds as usize).map(|round| after[round][slot]).collect();
                let ghost = Arc::new(ToyGhost { contacts, after_rounds });
                response.ghosts.push(GhostToSend { own: *body, partners, ghost });
            }
        }
        response
    }

    /// Pairs of bodies that touch at a tick, as numbers in the list.
    pub(super) fn touching(&self, tick: Tick, bodies: &[(BodyIndex, ToyPath)]) -> Vec<(u32, u32)> {
        let touch =
            |a: usize, b: usize| self.touch((bodies[a].0, &bodies[a].1), (bodies[b].0, &bodies[b].1), tick);
        let pairs = (0..bodies.len()).flat_map(|a| (a + 1..bodies.len()).map(move |b| (a, b)));
        pairs.filter(|(a, b)| touch(*a, *b)).map(|(a, b)| (a as u32, b as u32)).collect()
    }
}

/// What pairs keep for the next tick, and the number of contacts. `numbers` are those after the last round.
fn contact_caches(
    cluster: usize,
    slots: &[(BodyIndex, ToyPath)],
    pairs: &[Pair],
    numbers: &[u64],
) -> (Vec<CachedContact<ToyModel>>, ContactCounts) {
    let mut caches = Vec::new();
    let mut counts = ContactCounts::default();
    for pair in pairs {
        let other = pair.b.map_or(7, |slot| numbers[slot]);
        let cache = mix(&[pair.cache.unwrap_or(0) + 1, numbers[pair.a], other]);
        let (own, partner) = if pair.a < cluster {
            (slots[pair.a].0, key(pair.b, slots))
        } else {
            let own = pair.b.expect("invariant: a remote body touches a body of the cluster");
            (slots[own].0, PartnerKey::Body(slots[pair.a].0))
        };
        caches.push(CachedContact { own, partner, cache });
        if pair.a < cluster {
            counts.contacts += 1;
            counts.new_contacts += u32::from(pair.cache.is_none());
        }
    }
    caches.sort_by_key(CachedContact::key);
    (caches, counts)
}

fn key(slot: Option<usize>, slots: &[(BodyIndex, ToyPath)]) -> PartnerKey {
    slot.map_or(PartnerKey::Static(0), |slot| PartnerKey::Body(slots[slot].0))
}

/// Everything a slot touches, bodies in ascending order and static geometry last.
fn partners(slot: usize, pairs: &[Pair], slots: &[(BodyIndex, ToyPath)]) -> SmallVec<[PartnerKey; 4]> {
    let other = |pair: &Pair| {
        if pair.a == slot {
            Some(key(pair.b, slots))
        } else {
            (pair.b == Some(slot)).then(|| key(Some(pair.a), slots))
        }
    };
    let mut partners: SmallVec<[PartnerKey; 4]> = pairs.iter().filter_map(other).collect();
    partners.sort_unstable();
    partners
}

impl ToyModel {
    /// The contact pairs that the cluster knows of.
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
                let known = (PartnerKey::Body(known.own), known.partner);
                let (first, second) = (key(Some(a), slots), key(b, slots));
                known == (first, second) || known == (second, first)
            };
            let cache = input.caches.iter().find(is_pair).map(|known| known.cache);
            pairs.push(Pair { a, b, cache });
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
        for (index, remote) in input.remotes.iter().enumerate() {
            for own in &remote.touches {
                let own = slots[..cluster]
                    .iter()
                    .position(|(body, _)| body == own)
                    .expect("invariant: remote bodies touch bodies of the cluster");
                add(own, Some(cluster + index));
            }
        }
        pairs.sort_by_key(|pair| (slots[pair.a].0, key(pair.b, slots)));
        pairs
    }

    /// The number of every slot before the first round and after each round.
    fn numbers_after_rounds(
        &self,
        input: &ResponseInput<ToyModel>,
        slots: &[(BodyIndex, ToyPath)],
        pairs: &[Pair],
    ) -> Vec<Vec<u64>> {
        let cluster = input.cluster.len();
        let ghost = |slot: usize| slot.checked_sub(cluster).and_then(|at| input.remotes[at].ghost.as_ref());
        let mut after: Vec<Vec<u64>> = vec![slots.iter().map(|(_, path)| path.number).collect()];
        for round in 0..self.rounds as usize {
            let before = &after[round];
            let number = |slot: usize| {
                if let Some(ghost) = ghost(slot) {
                    return ghost.after_rounds[round];
                }
                let mut sum = vec![before[slot], partners(slot, pairs, slots).len() as u64];
                for pair in pairs.iter().filter(|pair| pair.a == slot || pair.b == Some(slot)) {
                    let other = if pair.a == slot { pair.b } else { Some(pair.a) };
                    // The number of contacts of the other body counts too, as mass splitting does.
                    let degree = match (other.and_then(ghost), other) {
                        (Some(ghost), _) => u64::from(ghost.contacts),
                        (None, Some(other)) => partners(other, pairs, slots).len() as u64,
                        (None, None) => 0,
                    };
                    let cache = pair.cache.map_or(3, |cache| cache | 1 << 63);
                    let other_number = other.map_or(5, |other| before[other]);
                    sum.extend([key_number(key(other, slots)), other_number, degree, cache]);
                }
                mix(&sum)
            };
            after.push((0..slots.len()).map(number).collect());
        }
        after
    }

    /// The path after a contact: towards the origin if the body is outside.
    fn onward(&self, tick: Tick, path: &ToyPath, number: u64) -> ToyPath {
        let position = path.position_at(tick);
        let speed = if position.abs() > self.extent {
            -position.signum() * (1 + speed(number).abs())
        } else {
            speed(number)
        };
        // Some paths begin at this tick, some at the next, as flights do.
        match number >> 60 & 1 {
            0 => ToyPath { since: tick, position, speed, number },
            _ => ToyPath { since: tick + 1, position: position + speed, speed, number },
        }
    }
}
