//! One tick of an entity in contact: finds what touches what, lets the contact model solve it, and collects the results.
//!
//! Three kinds of indices occur. A [`BodyIndex`] is an index into the world's list. A *participant* is an index into the
//! bodies that take part in this tick: those of the entity first, then its remotes. A *member* is an index into the
//! participants that touch something, which are the bodies given to the contact model.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use smallvec::SmallVec;

use crate::base::ids::StaticId;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::islands::{ContactCache, Workspaces};
use crate::physics::collision::broad_phase::Grid;
use crate::physics::collision::crowd::Crowd;
use crate::physics::collision::kernels::Manifold;
use crate::physics::contact::{ContactModel, ContactPair, PairInput, Partner, SolverBody};
use crate::physics::{Flight, World, touching, touching_static};
use crate::protocol::{
    BodyIndex, CachedContact, Cluster, ContactCounts, GhostToSend, PartnerKey, Response, ResponseInput,
};
use crate::rigid::{Local, RigidModel, island_response};

/// What a pair keeps, and what a neighbour needs, under the contact model.
type PairCache = <Local as ContactModel>::Cache;
type Ghost = <Local as ContactModel>::Ghost;

/// Scratch space that is kept from call to call, for speed alone.
#[derive(Default)]
pub(super) struct Workspace {
    model: Local,
    /// States by participant.
    states: Vec<BodyState>,
    /// What touches: pairs of bodies, then static geometry, each in order.
    touching: Vec<Touching>,
    /// Static geometry near one body.
    near: Vec<u32>,
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

/// How an entity goes on after `tick`.
pub(super) fn respond(
    model: &RigidModel,
    tick: Tick,
    input: &ResponseInput<RigidModel>,
    space: &mut Workspace,
) -> Response<RigidModel> {
    let world = &*model.world;
    if let Some((first, _)) = input.cluster.first() {
        let others = input.remotes.iter().map(|remote| remote.touches.len()).sum();
        model.crowds.note(world, tick, *first, others);
    }
    // Contacts inside an island are not solved here.
    let islands = model.islands.as_deref().filter(|_| input.is_island);
    space.evaluate(world, tick, input);
    space.find_touching(world, input);
    if islands.is_none() {
        space.find_touching_statics(world, input);
    }
    space.find_members();
    let mut bodies = recycled(std::mem::take(&mut space.bodies));
    bodies.extend(space.members.iter().map(|participant| {
        let remote = (*participant as usize).checked_sub(input.cluster.len()).map(|at| &input.remotes[at]);
        let ghost = remote.and_then(|remote| remote.ghost.as_deref());
        let body = &world.bodies[index_of(input, *participant) as usize];
        SolverBody { ghost, ..SolverBody::new(body, space.states[*participant as usize]) }
    }));
    let contacts = EntityContacts { world, input, bodies: &bodies, members: &space.members };
    let counts = contacts.prepare(&mut space.model, &space.touching, &space.member_of);
    let mut response = contacts.response(&mut space.model, tick, counts);
    if let Some(islands) = islands {
        let pushed = contacts.pushed_states(&space.model, &space.states);
        let members: Vec<u32> = input.cluster.iter().map(|(index, _)| *index).collect();
        if let Some(crowd) = Crowd::of_bodies(world, &mut Grid::default(), &members, &pushed) {
            model.crowds.fail(tick, crowd);
            // Goes nowhere: the run is about to end.
            response.has_all_ghosts = false;
        }
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
    fn evaluate(&mut self, world: &World, tick: Tick, input: &ResponseInput<RigidModel>) {
        self.states.clear();
        self.states.extend((0..input.cluster.len() + input.remotes.len()).map(|participant| {
            let (index, flight) = flight_of(input, participant as u32);
            flight.state_at(world, &world.bodies[index as usize], tick)
        }));
    }

    /// Finds the pairs with remotes, in the order of body indices, the smaller body of each pair first.
    fn find_touching(&mut self, world: &World, input: &ResponseInput<RigidModel>) {
        let cluster = input.cluster;
        self.touching.clear();
        for (at, remote) in (cluster.len() as u32..).zip(input.remotes) {
            for own in &remote.touches {
                let Ok(mine) = cluster.binary_search_by_key(own, |(index, _)| *index) else { continue };
                let (a, b) = if *own < remote.body { (mine as u32, at) } else { (at, mine as u32) };
                let of = |participant: u32| &world.bodies[index_of(input, participant) as usize];
                let state = |participant: u32| &self.states[participant as usize];
                if let Some(manifold) = touching(&world.rule, of(a), state(a), of(b), state(b)) {
                    self.touching.push(Touching { a, b: Other::Body(b), manifold });
                }
            }
        }
        let index = |participant: u32| index_of(input, participant);
        self.touching.sort_unstable_by_key(|touching| match touching.b {
            Other::Body(b) => (index(touching.a), index(b)),
            Other::Static(_) => unreachable!("static geometry comes later"),
        });
    }

    /// Finds the static geometry that each body touches, by body and object.
    fn find_touching_statics(&mut self, world: &World, input: &ResponseInput<RigidModel>) {
        for (a, ((index, _), state)) in (0..).zip(input.cluster.iter().zip(&self.states)) {
            let body = &world.bodies[*index as usize];
            let bounds = body.shape.aabb(state.x, &state.q).grown(world.rule.broad_margin_m);
            world.static_bvh.near(&bounds, &mut self.near);
            for &object in &self.near {
                let found = touching_static(&world.rule, body, state, &world.statics[object as usize]);
                let touching = |manifold| Touching { a, b: Other::Static(object), manifold };
                self.touching.extend(found.map(touching));
            }
        }
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
struct EntityContacts<'a> {
    world: &'a World,
    input: &'a ResponseInput<'a, RigidModel>,
    bodies: &'a [SolverBody<'a, Ghost>],
    /// The participant of each member; those of the entity come first.
    members: &'a [u32],
}

impl EntityContacts<'_> {
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
            // Both entities see a pair with a remote; that of the smaller body counts it.
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

    /// The cache of a pair, which is kept with the body of this entity; with either where that has changed.
    fn find_cache(&self, a: u32, b: Other) -> Option<&PairCache> {
        let caches = self.input.caches;
        let find = |own: u32, partner: PartnerKey| {
            let key = (self.index(own), partner);
            let at = caches.binary_search_by_key(&key, CachedContact::key).ok()?;
            caches[at].cache.pair()
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
        let own = self.members.partition_point(|participant| self.is_own(*participant));
        let flight = |member: usize| {
            let flight = model.flight(self.world, tick, member, &self.bodies[member]);
            (self.member_index(member as u32), flight)
        };
        let flights: Cluster<RigidModel> = (0..own).map(flight).collect();
        // A body that is held takes a contact step, and flies from the next tick; one that bounces flies from this tick.
        let is_resting = flights.iter().any(|(_, flight)| flight.since > tick);
        let caches = self.caches(model);
        let has_all_ghosts = certainty.is_complete;
        Response { flights, caches, ghosts, has_all_ghosts, is_resting, counts }
    }

    /// The states of the island's bodies once remotes have pushed them.
    fn pushed_states(&self, model: &Local, states: &[BodyState]) -> Vec<BodyState> {
        let mut states = states[..self.input.cluster.len()].to_vec();
        let own = self.members.iter().enumerate().filter(|(_, participant)| self.is_own(**participant));
        for (member, participant) in own {
            states[*participant as usize] = model.pushed_state(self.world, member, &self.bodies[member]);
        }
        states
    }

    /// Own members that touch a remote.
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
    fn partners(&self, model: &Local, member: u32) -> SmallVec<[PartnerKey; 4]> {
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

    /// The caches of all pairs, each with the body of this entity.
    fn caches(&self, model: &Local) -> Arc<[CachedContact<RigidModel>]> {
        let cached = |at: usize| {
            let pair = model.pair(at);
            let cache = ContactCache::Pair(model.cache(at));
            let own = self.member_index(pair.a);
            match pair.b {
                Some(b) if !self.is_own(self.members[pair.a as usize]) => {
                    CachedContact { own: self.member_index(b), partner: PartnerKey::Body(own), cache }
                }
                Some(_) | None => CachedContact { own, partner: self.partner(pair), cache },
            }
        };
        let mut caches: Arc<[CachedContact<RigidModel>]> = (0..model.pair_count()).map(cached).collect();
        let unsorted = Arc::get_mut(&mut caches).expect("invariant: nothing else holds it yet");
        unsorted.sort_unstable_by_key(CachedContact::key);
        caches
    }
}
