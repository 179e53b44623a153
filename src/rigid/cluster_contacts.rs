//! One tick of a cluster in contact: finds what touches what, lets the contact model solve it, and collects the results.
//!
//! Three kinds of indices occur. A [`BodyIndex`] is an index into the world's list. A *participant* is an index into the
//! bodies that take part in this tick: the cluster first, then its remotes. A *member* is an index into the
//! participants that touch something, which are the bodies given to the contact model.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::base::aabb::Aabb;
use crate::base::ids::StaticId;
use crate::base::math::Vec3;
use crate::base::parallel;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::islands::{ContactCache, Workspaces};
use crate::physics::collision::kernels::Manifold;
use crate::physics::collision::verlet_list::VerletLists;
use crate::physics::contact::{ContactModel, ContactPair, PairInput, Partner, SolverBody};
use crate::physics::{Flight, World, touching, touching_static};
use crate::protocol::{
    BodyIndex, CachedContact, ContactCounts, GhostToSend, PartnerKey, Response, ResponseInput,
};
use crate::rigid::{Local, RigidModel, island_response};

/// What a pair keeps, and what a neighbour needs, under the contact model of the cluster.
type PairCache = <Local as ContactModel>::Cache;
type Ghost = <Local as ContactModel>::Ghost;

/// Clusters of at most this many bodies compare every pair; for larger ones a grid is quicker. Not tuned.
pub(super) const SMALL_CLUSTER: usize = 8;

/// Scratch space that is kept from call to call, for speed alone.
#[derive(Default)]
pub(super) struct Workspace {
    pub neighbours: VerletLists,
    model: Local,
    /// States by participant.
    states: Vec<BodyState>,
    /// Whether the state of each participant is computed, if not all are.
    is_evaluated: Vec<bool>,
    /// Participants that may touch each other, and participants with static geometry that they may touch.
    candidates: Vec<(u32, u32)>,
    static_candidates: Vec<(u32, u32)>,
    /// What touches: pairs of bodies, then static geometry, each in order.
    touching: Vec<Touching>,
    with_statics: Vec<Touching>,
    /// Static geometry near one body.
    near: Vec<u32>,
    /// Where the caches of each body of the cluster begin.
    caches_from: Vec<u32>,
    /// The member that each participant is, if it touches something, and the participant of each member.
    member_of: Vec<u32>,
    members: Vec<u32>,
    bodies: Vec<SolverBody<'static, Ghost>>,
    islands: Workspaces,
}

/// The second side of a contact.
#[derive(Clone, Copy)]
enum Other {
    /// A participant.
    Body(u32),
    /// Index into the world's static objects.
    Static(u32),
}

/// A participant that touches something, and where.
struct Touching {
    a: u32,
    b: Other,
    manifold: Manifold,
}

/// How a cluster goes on after `tick`.
pub(super) fn respond(
    model: &RigidModel,
    tick: Tick,
    input: &ResponseInput<RigidModel>,
    space: &mut Workspace,
) -> Response<RigidModel> {
    let world = &*model.world;
    // Contacts inside an island are not solved here.
    let islands = model.islands.as_deref().filter(|_| input.is_island);
    // In a large cluster most bodies touch nothing, and then neither their orientation nor their position is needed.
    let in_full = islands.is_some() || input.cluster.len() <= SMALL_CLUSTER;
    if in_full {
        space.evaluate_all(world, tick, input);
        space.find_pairs(world, input, islands.is_none());
        space.add_remotes(input);
    } else {
        space.find_near(world, tick, input);
        space.add_remotes(input);
        space.evaluate_candidates(world, tick, input);
    }
    space.find_touching(world, input);
    space.find_caches(input);
    space.find_members();
    let mut bodies = recycled(std::mem::take(&mut space.bodies));
    parallel::par_fill(&mut bodies, space.members.len(), |member| {
        let participant = space.members[member];
        let remote = (participant as usize).checked_sub(input.cluster.len()).map(|at| &input.remotes[at]);
        let ghost = remote.and_then(|remote| remote.ghost.as_deref());
        let (index, flight) = flight_of(input, participant);
        let body = &world.bodies[index as usize];
        let state =
            if in_full { space.states[participant as usize] } else { flight.state_at(world, body, tick) };
        SolverBody { ghost, ..SolverBody::new(body, state) }
    });
    let contacts = ClusterContacts {
        world,
        input,
        bodies: &bodies,
        members: &space.members,
        caches_from: &space.caches_from,
    };
    let counts = contacts.prepare(&mut space.model, &space.touching, &space.member_of);
    let mut response = contacts.response(&mut space.model, tick, counts);
    if let Some(islands) = islands {
        let pushed = contacts.pushed_states(&space.model, &space.states);
        response =
            island_response::go_on((world, islands), &mut space.islands, tick, input, &pushed, response);
    }
    space.bodies = recycled(bodies);
    response
}

/// The memory of a list, for bodies of another tick.
fn recycled<'b>(mut bodies: Vec<SolverBody<'_, Ghost>>) -> Vec<SolverBody<'b, Ghost>> {
    bodies.clear();
    bodies.into_iter().map(|_| unreachable!("the list is empty")).collect()
}

impl Workspace {
    /// Computes the states of all participants.
    fn evaluate_all(&mut self, world: &World, tick: Tick, input: &ResponseInput<RigidModel>) {
        parallel::par_fill(&mut self.states, input.cluster.len() + input.remotes.len(), |participant| {
            let (index, flight) = flight_of(input, participant as u32);
            flight.state_at(world, &world.bodies[index as usize], tick)
        });
    }

    /// Computes the states of all candidates, as far as contacts depend on them. The states of others are left as they
    /// were.
    fn evaluate_candidates(&mut self, world: &World, tick: Tick, input: &ResponseInput<RigidModel>) {
        let count = input.cluster.len() + input.remotes.len();
        self.is_evaluated.clear();
        self.is_evaluated.resize(count, false);
        for (a, b) in &self.candidates {
            self.is_evaluated[*a as usize] = true;
            self.is_evaluated[*b as usize] = true;
        }
        for (a, _) in &self.static_candidates {
            self.is_evaluated[*a as usize] = true;
        }
        let is_evaluated = &self.is_evaluated;
        self.states.resize(count, BodyState::at_rest(Vec3::zeros()));
        parallel::par_for(&mut self.states, |participant, state| {
            if is_evaluated[participant] {
                let (index, flight) = flight_of(input, participant as u32);
                *state = flight.touching_state_at(world, &world.bodies[index as usize], tick);
            }
        });
    }

    /// All pairs of a small cluster, and static geometry near its bodies. An island leaves both to its own solver.
    fn find_pairs(&mut self, world: &World, input: &ResponseInput<RigidModel>, within_cluster: bool) {
        let cluster = input.cluster;
        self.candidates.clear();
        self.static_candidates.clear();
        if !within_cluster {
            return;
        }
        for a in 0..cluster.len() as u32 {
            self.candidates.extend((a + 1..cluster.len() as u32).map(|b| (a, b)));
            let reach = world.bodies[cluster[a as usize].0 as usize].radius + world.rule.broad_margin_m;
            let bounds = Aabb::about(self.states[a as usize].x, Vec3::repeat(reach));
            world.static_bvh.near(&bounds, &mut self.near);
            self.static_candidates.extend(self.near.iter().map(|object| (a, *object)));
        }
    }

    /// Bodies of a large cluster that are near each other or near static geometry.
    fn find_near(&mut self, world: &World, tick: Tick, input: &ResponseInput<RigidModel>) {
        let neighbourhood = self.neighbours.at(world, tick, input.cluster);
        neighbourhood.find_pairs(&mut self.candidates);
        // The cluster is in the order of body indices.
        self.candidates.sort_unstable();
        self.static_candidates.clear();
        self.static_candidates.extend_from_slice(neighbourhood.with_statics());
    }

    /// Adds remotes with the bodies that they are known to touch, and sorts all candidates by body index, the smaller
    /// body of each pair first.
    fn add_remotes(&mut self, input: &ResponseInput<RigidModel>) {
        let cluster = input.cluster;
        for (at, remote) in input.remotes.iter().enumerate() {
            let at = (cluster.len() + at) as u32;
            for own in &remote.touches {
                if let Ok(mine) = cluster.binary_search_by_key(own, |(index, _)| *index) {
                    let mine = mine as u32;
                    self.candidates.push(if *own < remote.body { (mine, at) } else { (at, mine) });
                }
            }
        }
        if !input.remotes.is_empty() {
            self.candidates.sort_unstable_by_key(|(a, b)| (index_of(input, *a), index_of(input, *b)));
        }
    }

    /// Finds the candidates that touch: pairs in the order of body indices, then static geometry by body and object.
    fn find_touching(&mut self, world: &World, input: &ResponseInput<RigidModel>) {
        let (pairs, static_candidates, states, rule) =
            (&self.candidates, &self.static_candidates, &self.states, &world.rule);
        let body = |participant: u32| &world.bodies[index_of(input, participant) as usize];
        parallel::par_collect(&mut self.touching, pairs.len(), |range, found| {
            for &(a, b) in &pairs[range] {
                let (state_a, state_b) = (&states[a as usize], &states[b as usize]);
                if let Some(manifold) = touching(rule, body(a), state_a, body(b), state_b) {
                    found.push(Touching { a, b: Other::Body(b), manifold });
                }
            }
        });
        parallel::par_collect(&mut self.with_statics, static_candidates.len(), |range, found| {
            for &(a, object) in &static_candidates[range] {
                let (body, state) = (body(a), &states[a as usize]);
                let bounds = body.shape.aabb(state.x, &state.q).grown(rule.broad_margin_m);
                if !world.static_bvh.is_near(object, &bounds) {
                    continue;
                }
                if let Some(manifold) = touching_static(rule, body, state, &world.statics[object as usize]) {
                    found.push(Touching { a, b: Other::Static(object), manifold });
                }
            }
        });
        self.touching.append(&mut self.with_statics);
    }

    /// Numbers the participants that touch something.
    fn find_members(&mut self) {
        self.member_of.clear();
        self.member_of.resize(self.states.len(), 0);
        for Touching { a, b, .. } in &self.touching {
            self.member_of[*a as usize] = 1;
            if let Other::Body(b) = b {
                self.member_of[*b as usize] = 1;
            }
        }
        self.members.clear();
        let marked = self.member_of.iter_mut().enumerate().filter(|(_, is_member)| **is_member == 1);
        for (participant, member) in marked {
            *member = self.members.len() as u32;
            self.members.push(participant as u32);
        }
    }

    /// Finds where the caches of each body of the cluster begin.
    fn find_caches(&mut self, input: &ResponseInput<RigidModel>) {
        let (cluster, caches) = (input.cluster, input.caches);
        parallel::par_collect(&mut self.caches_from, cluster.len(), |range, found| {
            let Some((first, _)) = cluster.get(range.start) else { return };
            let mut from = caches.partition_point(|known| known.own < *first);
            for (index, _) in &cluster[range] {
                while caches.get(from).is_some_and(|known| known.own < *index) {
                    from += 1;
                }
                found.push(from as u32);
            }
        });
    }
}

/// The body index and the flight of a participant.
fn flight_of<'a>(input: &ResponseInput<'a, RigidModel>, participant: u32) -> (BodyIndex, &'a Flight) {
    let participant = participant as usize;
    match input.cluster.get(participant) {
        Some((index, flight)) => (*index, flight),
        None => {
            let remote = &input.remotes[participant - input.cluster.len()];
            (remote.body, &remote.flight)
        }
    }
}

fn index_of(input: &ResponseInput<RigidModel>, participant: u32) -> BodyIndex {
    flight_of(input, participant).0
}

/// The members of one tick.
struct ClusterContacts<'a> {
    world: &'a World,
    input: &'a ResponseInput<'a, RigidModel>,
    bodies: &'a [SolverBody<'a, Ghost>],
    /// The participant of each member; those of the cluster come first.
    members: &'a [u32],
    caches_from: &'a [u32],
}

impl ClusterContacts<'_> {
    /// Hands all pairs to the contact model, with their caches.
    fn prepare(&self, model: &mut Local, touching: &[Touching], member_of: &[u32]) -> ContactCounts {
        let (world, bodies) = (self.world, self.bodies);
        let member = |participant: u32| member_of[participant as usize];
        let pair = |at: usize| match touching[at] {
            Touching { a, b: Other::Body(b), .. } => {
                let partner = Partner::Body(bodies[member(b) as usize].body.id);
                ContactPair { a: member(a), b: Some(member(b)), partner }
            }
            Touching { a, b: Other::Static(object), .. } => {
                let partner = Partner::Static(world.statics[object as usize].id);
                ContactPair { a: member(a), b: None, partner }
            }
        };
        let new_contacts = AtomicU32::new(0);
        model.prepare(world, bodies, touching.len(), pair, |at| {
            let Touching { a, b, manifold } = &touching[at];
            let cache = self.find_cache(*a, *b);
            // Both clusters see a pair with a remote; that of the smaller body counts it.
            if cache.is_none() && self.is_own(*a) {
                new_contacts.fetch_add(1, Relaxed);
            }
            let fixed = match b {
                Other::Body(_) => None,
                Other::Static(object) => Some(&world.statics[*object as usize]),
            };
            PairInput { manifold, fixed, cache }
        });
        let new_contacts = new_contacts.into_inner();
        let mut counts = ContactCounts { new_contacts, ..ContactCounts::default() };
        for Touching { a, manifold, .. } in touching {
            if self.is_own(*a) {
                counts.contacts += 1;
                counts.overlap_m = counts.overlap_m.max(-manifold.gap());
            }
        }
        counts
    }

    /// The cache of a pair. A pair inside the cluster is cached with its smaller body, but its bodies may have come from
    /// different clusters, or one of them may have left.
    fn find_cache(&self, a: u32, b: Other) -> Option<&PairCache> {
        let caches = self.input.caches;
        let find = |own: u32, partner: PartnerKey| {
            let index = self.index(own);
            let from = match self.caches_from.get(own as usize) {
                Some(from) => *from as usize,
                None => caches.partition_point(|known| known.own < index),
            };
            let mut known = caches[from..].iter().take_while(|known| known.own == index);
            known.find(|known| known.partner == partner)?.cache.pair()
        };
        match b {
            Other::Body(b) => {
                let (with_a, with_b) = (PartnerKey::Body(self.index(a)), PartnerKey::Body(self.index(b)));
                find(a, with_b).or_else(|| find(b, with_a))
            }
            Other::Static(object) => find(a, PartnerKey::Static(self.world.statics[object as usize].id.0)),
        }
    }

    fn is_own(&self, participant: u32) -> bool {
        (participant as usize) < self.input.cluster.len()
    }

    fn index(&self, participant: u32) -> BodyIndex {
        index_of(self.input, participant)
    }

    fn member_index(&self, member: u32) -> BodyIndex {
        self.index(self.members[member as usize])
    }

    /// Solves the contacts and collects flights, caches and ghosts.
    fn response(&self, model: &mut Local, tick: Tick, counts: ContactCounts) -> Response<RigidModel> {
        let ghost_owners = self.ghost_owners(model);
        let ghosts = model.solve(self.world, self.bodies, &ghost_owners);
        // A remote without a ghost touches nothing else, and makes nothing uncertain.
        let heard = self.input.remotes.iter().filter_map(|remote| remote.ghost.as_deref());
        let certainty = Local::ghost_certainty(self.world, heard);
        let model = &*model;
        let ghosts = ghost_owners.iter().zip(ghosts).map(|(owner, mut ghost)| {
            Local::keep_certain(&mut ghost, certainty);
            let member = *owner as u32;
            let (own, partners) = (self.member_index(member), self.partners(model, member));
            GhostToSend { own, partners, ghost: Arc::new(ghost) }
        });
        let ghosts = ghosts.collect();
        let mut flights = Vec::new();
        let own = self.members.partition_point(|participant| self.is_own(*participant));
        parallel::par_fill(&mut flights, own, |member| {
            let flight = model.flight(self.world, tick, member, &self.bodies[member]);
            (self.member_index(member as u32), flight)
        });
        // A body that is held takes a contact step, and flies from the next tick; one that bounces flies from this tick.
        let is_resting = flights.iter().any(|(_, flight)| flight.since > tick);
        let caches = self.caches(model);
        let has_all_ghosts = certainty.is_complete;
        Response { flights, caches, ghosts, has_all_ghosts, is_resting, counts }
    }

    /// The states of the cluster once remotes have pushed it.
    fn pushed_states(&self, model: &Local, states: &[BodyState]) -> Vec<BodyState> {
        let mut states = states[..self.input.cluster.len()].to_vec();
        let own = self.members.iter().enumerate().filter(|(_, participant)| self.is_own(**participant));
        for (member, participant) in own {
            states[*participant as usize] = model.pushed_state(self.world, member, &self.bodies[member]);
        }
        states
    }

    /// Members of the cluster that touch a remote.
    fn ghost_owners(&self, model: &Local) -> Vec<usize> {
        let mut ghost_owners = Vec::new();
        if self.input.remotes.is_empty() {
            return ghost_owners;
        }
        for pair in model.pairs() {
            let Some(b) = pair.b else { continue };
            let is_own = |member: u32| self.is_own(self.members[member as usize]);
            match (is_own(pair.a), is_own(b)) {
                (true, false) => ghost_owners.push(pair.a as usize),
                (false, true) => ghost_owners.push(b as usize),
                (true, true) | (false, false) => {}
            }
        }
        ghost_owners.sort_unstable();
        ghost_owners.dedup();
        ghost_owners
    }

    /// Everything that a member touches.
    fn partners(&self, model: &Local, member: u32) -> Vec<PartnerKey> {
        let partner = |pair: &ContactPair| {
            if pair.a == member {
                Some(self.partner(pair))
            } else if pair.b == Some(member) {
                Some(PartnerKey::Body(self.member_index(pair.a)))
            } else {
                None
            }
        };
        model.pairs().filter_map(partner).collect()
    }

    /// What the first side of a pair touches.
    fn partner(&self, pair: &ContactPair) -> PartnerKey {
        match (pair.b, pair.partner) {
            (Some(b), Partner::Body(_) | Partner::Static(_)) => PartnerKey::Body(self.member_index(b)),
            (None, Partner::Static(StaticId(id))) => PartnerKey::Static(id),
            (None, Partner::Body(_)) => unreachable!("a body on the second side is a member"),
        }
    }

    /// The caches of all pairs of the cluster: pairs inside the cluster once, with the smaller body.
    fn caches(&self, model: &Local) -> Arc<[CachedContact<RigidModel>]> {
        let cached = |at: u32| {
            let pair = model.pair(at as usize);
            let cache = ContactCache::Pair(model.cache(at as usize));
            let own = self.member_index(pair.a);
            match pair.b {
                Some(b) if !self.is_own(self.members[pair.a as usize]) => {
                    CachedContact { own: self.member_index(b), partner: PartnerKey::Body(own), cache }
                }
                Some(_) | None => CachedContact { own, partner: self.partner(pair), cache },
            }
        };
        let order = self.cache_order(model);
        let mut caches = Vec::new();
        parallel::par_fill(&mut caches, order.len(), |at| cached(order[at]));
        if !self.input.remotes.is_empty() {
            caches.sort_unstable_by_key(CachedContact::key);
        }
        debug_assert!(caches.is_sorted_by_key(CachedContact::key), "a merge of two lists in order");
        caches.into()
    }

    /// The pairs in the order of their first bodies. Pairs of bodies come first in the model, then static geometry, each
    /// in order: without remotes this is a merge.
    fn cache_order(&self, model: &Local) -> Vec<u32> {
        let count = model.pair_count();
        let mut order: Vec<u32> = Vec::with_capacity(count);
        let between_bodies = model.pairs().take_while(|pair| pair.b.is_some()).count() as u32;
        let own = |at: u32| self.member_index(model.pair(at as usize).a);
        let mut statics = (between_bodies..count as u32).peekable();
        for at in 0..between_bodies {
            while let Some(earlier) = statics.next_if(|object| own(*object) < own(at)) {
                order.push(earlier);
            }
            order.push(at);
        }
        order.extend(statics);
        order
    }
}
