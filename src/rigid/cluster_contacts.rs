//! Everybody who takes part in one tick as a cluster sees it, and what comes of that.

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
use crate::physics::local_solver::{
    ContactConstraint, ContactPair, ContactPairs, LocalSolver, PairCache, Partner, SolverBody, SolverMass,
};
use crate::physics::{Flight, Surface, World, touching, touching_static};
use crate::protocol::{
    BodyIndex, CachedContact, ContactCounts, GhostToSend, PartnerKey, Response, ResponseInput,
};
use crate::rigid::RigidModel;
use crate::rigid::island_response;

/// Up to so many bodies everybody is compared with everybody; for more a grid is quicker.
pub(super) const SMALL_CLUSTER: usize = 8;

/// What is kept from call to call, for speed alone.
#[derive(Default)]
pub(super) struct Workspace {
    pub neighbours: VerletLists,
    solver: LocalSolver,
    /// Everybody, by number: the cluster first, then the remotes.
    states: Vec<BodyState>,
    /// Whether the state of each is known, if not all are.
    is_known: Vec<bool>,
    /// Who may touch whom: pairs of bodies, and bodies and static geometry.
    candidates: Vec<(u32, u32)>,
    static_candidates: Vec<(u32, u32)>,
    /// What touches: pairs of bodies, then static geometry, each in order.
    touching: Vec<Touching>,
    with_statics: Vec<Touching>,
    /// Static geometry near somebody.
    near: Vec<u32>,
    /// Where what each of the cluster remembers begins.
    known_from: Vec<u32>,
    /// The solver_body with each number, if it is one, and the number of each solver_body.
    arbiters_of: Vec<u32>,
    members: Vec<u32>,
    bodies: Vec<SolverBody<'static>>,
    pairs: ContactPairs,
    groups: Workspaces,
}

/// Two that touch: the number of a body, and of another body or of static geometry in the world's list.
struct Touching {
    a: u32,
    b: Result<u32, u32>,
    manifold: Manifold,
}

/// How a cluster goes on after `tick`.
pub(super) fn respond(
    model: &RigidModel,
    tick: Tick,
    input: &ResponseInput<RigidModel>,
    space: &mut Workspace,
) -> Response<RigidModel> {
    // What bodies that are solved is_island do to each other is not settled here.
    let world = &*model.world;
    let islands = model.islands.as_deref().filter(|_| input.is_island);
    // In a large cluster most touch nothing, and then it does not matter how they are turned, or where they are.
    let in_full = islands.is_some() || input.cluster.len() <= SMALL_CLUSTER;
    if in_full {
        space.evaluate_all(world, tick, input);
        space.find_pairs(world, input, islands.is_none());
        space.meet_strangers(input);
    } else {
        space.find_near(world, tick, input);
        space.meet_strangers(input);
        space.evaluate_some(world, tick, input);
    }
    space.find_touches(world, input);
    space.find_known(input);
    space.find_seats();
    let mut bodies = recycled(std::mem::take(&mut space.bodies));
    parallel::par_fill(&mut bodies, space.members.len(), |seat| {
        let number = space.members[seat];
        let remote = (number as usize).checked_sub(input.cluster.len()).map(|at| &input.remotes[at]);
        let ghost = remote.and_then(|remote| remote.ghost.as_deref());
        let (place, flight) = flier(input, number);
        let body = &world.bodies[place as usize];
        let state = if in_full { space.states[number as usize] } else { flight.state_at(world, body, tick) };
        SolverBody { ghost, ..SolverBody::new(body, state) }
    });
    let mut gathering = Gathering {
        world,
        input,
        bodies: &bodies,
        members: &space.members,
        known_from: &space.known_from,
        pairs: &mut space.pairs,
    };
    let seen = gathering.meet(&space.touching, &space.arbiters_of);
    let mut response = gathering.response(tick, &mut space.solver, seen);
    if let Some(islands) = islands {
        let pushed = gathering.pushed(&space.states, &space.solver);
        response =
            island_response::go_on((world, islands), &mut space.groups, tick, input, &pushed, response);
    }
    space.bodies = recycled(bodies);
    response
}

/// The room of a list, for those of another tick.
fn recycled<'b>(mut bodies: Vec<SolverBody<'_>>) -> Vec<SolverBody<'b>> {
    bodies.clear();
    bodies.into_iter().map(|_| unreachable!("the list is empty")).collect()
}

impl Workspace {
    /// The states of the cluster, then those of the remotes.
    fn evaluate_all(&mut self, world: &World, tick: Tick, input: &ResponseInput<RigidModel>) {
        parallel::par_fill(&mut self.states, input.cluster.len() + input.remotes.len(), |number| {
            let (place, flight) = flier(input, number as u32);
            flight.state_at(world, &world.bodies[place as usize], tick)
        });
    }

    /// The states of those who may touch something, as far as they say who touches whom. Those of others are left as
    /// they were.
    fn evaluate_some(&mut self, world: &World, tick: Tick, input: &ResponseInput<RigidModel>) {
        let count = input.cluster.len() + input.remotes.len();
        self.is_known.clear();
        self.is_known.resize(count, false);
        for (a, b) in &self.candidates {
            self.is_known[*a as usize] = true;
            self.is_known[*b as usize] = true;
        }
        for (a, _) in &self.static_candidates {
            self.is_known[*a as usize] = true;
        }
        let is_known = &self.is_known;
        self.states.resize(count, BodyState::at_rest(Vec3::zeros()));
        parallel::par_for(&mut self.states, |number, state| {
            if is_known[number] {
                let (place, flight) = flier(input, number as u32);
                *state = flight.touching_state_at(world, &world.bodies[place as usize], tick);
            }
        });
    }

    /// All pairs of a small cluster, and static geometry that is near one of it.
    fn find_pairs(&mut self, world: &World, input: &ResponseInput<RigidModel>, within_crew: bool) {
        let cluster = input.cluster;
        self.candidates.clear();
        self.static_candidates.clear();
        if !within_crew {
            // Only remotes count.
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

    /// Those of a large cluster who are near each other or near static geometry.
    fn find_near(&mut self, world: &World, tick: Tick, input: &ResponseInput<RigidModel>) {
        let neighbourhood = self.neighbours.at(world, tick, input.cluster);
        neighbourhood.find_pairs(&mut self.candidates);
        // The cluster is in the order of places.
        self.candidates.sort_unstable();
        self.static_candidates.clear();
        self.static_candidates.extend_from_slice(neighbourhood.with_statics());
    }

    /// Strangers with those they are known to touch; in the order of their places, the smaller first.
    fn meet_strangers(&mut self, input: &ResponseInput<RigidModel>) {
        let cluster = input.cluster;
        for (at, remote) in input.remotes.iter().enumerate() {
            let at = (cluster.len() + at) as u32;
            for own in &remote.touches {
                if let Ok(mine) = cluster.binary_search_by_key(own, |(place, _)| *place) {
                    let mine = mine as u32;
                    self.candidates.push(if *own < remote.body { (mine, at) } else { (at, mine) });
                }
            }
        }
        if !input.remotes.is_empty() {
            self.candidates.sort_unstable_by_key(|(a, b)| (place_of(input, *a), place_of(input, *b)));
        }
    }

    /// Which of the candidates touch: pairs in the order of their places, then static geometry by body and place.
    fn find_touches(&mut self, world: &World, input: &ResponseInput<RigidModel>) {
        let (pairs, static_candidates, states, rule) =
            (&self.candidates, &self.static_candidates, &self.states, &world.rule);
        let body = |number: u32| &world.bodies[place_of(input, number) as usize];
        parallel::par_collect(&mut self.touching, pairs.len(), |range, found| {
            for &(a, b) in &pairs[range] {
                let (state_a, state_b) = (&states[a as usize], &states[b as usize]);
                if let Some(manifold) = touching(rule, body(a), state_a, body(b), state_b) {
                    found.push(Touching { a, b: Ok(b), manifold });
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
                    found.push(Touching { a, b: Err(object), manifold });
                }
            }
        });
        self.touching.append(&mut self.with_statics);
    }

    /// Who touches something, in order.
    fn find_seats(&mut self) {
        self.arbiters_of.clear();
        self.arbiters_of.resize(self.states.len(), 0);
        for Touching { a, b, .. } in &self.touching {
            self.arbiters_of[*a as usize] = 1;
            if let Ok(b) = b {
                self.arbiters_of[*b as usize] = 1;
            }
        }
        self.members.clear();
        for (number, seat) in self.arbiters_of.iter_mut().enumerate().filter(|(_, touches)| **touches == 1) {
            *seat = self.members.len() as u32;
            self.members.push(number as u32);
        }
    }

    /// Where what each of the cluster remembers begins.
    fn find_known(&mut self, input: &ResponseInput<RigidModel>) {
        let (cluster, caches) = (input.cluster, input.caches);
        parallel::par_collect(&mut self.known_from, cluster.len(), |range, found| {
            let Some((first, _)) = cluster.get(range.start) else { return };
            let mut from = caches.partition_point(|known| known.own < *first);
            for (place, _) in &cluster[range] {
                while caches.get(from).is_some_and(|known| known.own < *place) {
                    from += 1;
                }
                found.push(from as u32);
            }
        });
    }
}

/// The body with a number, and how it flies: the cluster is numbered first, then the remotes.
fn flier<'a>(input: &ResponseInput<'a, RigidModel>, number: u32) -> (BodyIndex, &'a Flight) {
    let number = number as usize;
    match input.cluster.get(number) {
        Some((place, flight)) => (*place, flight),
        None => {
            let remote = &input.remotes[number - input.cluster.len()];
            (remote.body, &remote.flight)
        }
    }
}

fn place_of(input: &ResponseInput<RigidModel>, number: u32) -> BodyIndex {
    flier(input, number).0
}

/// The bodies and pairs of one tick, as a cluster sees them.
struct Gathering<'a> {
    world: &'a World,
    input: &'a ResponseInput<'a, RigidModel>,
    bodies: &'a [SolverBody<'a>],
    /// The number of each solver_body.
    members: &'a [u32],
    known_from: &'a [u32],
    pairs: &'a mut ContactPairs,
}

impl Gathering<'_> {
    /// Lets those who touch meet, with what they remember of each other.
    fn meet(&mut self, touching: &[Touching], arbiters_of: &[u32]) -> ContactCounts {
        let (world, bodies) = (self.world, self.bodies);
        let seat = |number: u32| arbiters_of[number as usize];
        let sides = |at: usize| match touching[at] {
            Touching { a, b: Ok(b), .. } => {
                (seat(a), Some(seat(b)), Partner::Body(bodies[seat(b) as usize].body.id))
            }
            Touching { a, b: Err(object), .. } => {
                (seat(a), None, Partner::Static(world.statics[object as usize].id))
            }
        };
        let (nothing, new_touches) = (PairCache::default(), AtomicU32::new(0));
        let mut pairs = std::mem::take(self.pairs);
        pairs.fill(bodies, &world.rule, touching.len(), sides, |at| {
            let Touching { a, b, manifold } = &touching[at];
            let memory = self.recall(*a, *b);
            // A pair with a remote is seen from both sides; the smaller body counts it.
            if memory.is_none() && self.is_own(*a) {
                new_touches.fetch_add(1, Relaxed);
            }
            let memory = memory.unwrap_or(&nothing);
            let first = &bodies[seat(*a) as usize];
            let touch = |surface: &Surface, side: &SolverMass| {
                let surface = first.body.surface.combined(surface);
                ContactConstraint::new(manifold, surface, &first.mass, side, memory, &world.rule)
            };
            match b {
                Ok(b) => {
                    let second = &bodies[seat(*b) as usize];
                    touch(&second.body.surface, &second.mass)
                }
                Err(object) => {
                    let object = &world.statics[*object as usize];
                    touch(&object.surface, &SolverMass::fixed(object.x))
                }
            }
        });
        *self.pairs = pairs;
        let mut seen = ContactCounts { new_contacts: new_touches.into_inner(), ..ContactCounts::default() };
        for (Touching { a, .. }, pair) in touching.iter().zip(self.pairs.list()) {
            if self.is_own(*a) {
                seen.contacts += 1;
                seen.overlap_m = seen.overlap_m.max(-pair.gap);
            }
        }
        seen
    }

    /// What two remember of each other. A pair inside the cluster is remembered from its smaller side, but its bodies may
    /// have come is_island from different clusters, or one of them may have left.
    fn recall(&self, a: u32, b: Result<u32, u32>) -> Option<&PairCache> {
        let caches = self.input.caches;
        let find = |own: u32, partner: PartnerKey| {
            let place = self.place(own);
            let from = match self.known_from.get(own as usize) {
                Some(from) => *from as usize,
                None => caches.partition_point(|known| known.own < place),
            };
            let mut known = caches[from..].iter().take_while(|known| known.own == place);
            known.find(|known| known.partner == partner)?.cache.pair()
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
        (number as usize) < self.input.cluster.len()
    }

    fn place(&self, number: u32) -> BodyIndex {
        place_of(self.input, number)
    }

    fn response(
        &mut self,
        tick: Tick,
        solver: &mut LocalSolver,
        seen: ContactCounts,
    ) -> Response<RigidModel> {
        let ghost_owners = self.ghost_owners();
        let ghosts = solver.solve_with_ghosts(self.world, self.bodies, self.pairs, &ghost_owners);
        // An iteration rests on the one before of those it touches: only what follows from what they have told
        // for certain is told on. A remote without a ghost touches nobody else, and holds nothing back.
        let iterations = self.world.rule.iterations as usize;
        let heard = self.input.remotes.iter().filter_map(|remote| remote.ghost.as_ref());
        let certain = heard.map(|ghost| ghost.rested.len()).min().unwrap_or(iterations);
        let told = ghost_owners.iter().zip(ghosts).map(|(ghost_owner, mut ghost)| {
            ghost.rested.truncate(certain + 1);
            let seat = *ghost_owner as u32;
            GhostToSend { own: self.place_in(seat), partners: self.partners(seat), ghost: Arc::new(ghost) }
        });
        let told = told.collect();
        let mut flights = Vec::new();
        // The cluster is numbered first.
        let own = self.members.partition_point(|number| self.is_own(*number));
        parallel::par_fill(&mut flights, own, |seat| {
            let flight = solver.onward(self.world, tick, seat, &self.bodies[seat], self.pairs);
            (self.place_in(seat as u32), flight)
        });
        let complete = certain >= iterations;
        // Who is held takes a contact step, and flies from the next tick; who bounces flies from this one.
        let is_resting = flights.iter().any(|(_, flight)| flight.since > tick);
        Response {
            flights,
            caches: self.caches(),
            ghosts: told,
            has_all_ghosts: complete,
            is_resting,
            counts: seen,
        }
    }

    /// The states of the cluster once remotes have pushed it.
    fn pushed(&self, states: &[BodyState], solver: &LocalSolver) -> Vec<BodyState> {
        let mut states = states[..self.input.cluster.len()].to_vec();
        for (seat, number) in self.members.iter().enumerate().filter(|(_, number)| self.is_own(**number)) {
            states[*number as usize] = solver.pushed(self.world, seat, &self.bodies[seat]);
        }
        states
    }

    /// Seats of the bodies of the cluster that touch a remote.
    fn ghost_owners(&self) -> Vec<usize> {
        let mut ghost_owners = Vec::new();
        if self.input.remotes.is_empty() {
            return ghost_owners;
        }
        for pair in self.pairs.list() {
            let Some(b) = pair.b else { continue };
            let is_own = |seat: u32| self.is_own(self.members[seat as usize]);
            match (is_own(pair.a), is_own(b)) {
                (true, false) => ghost_owners.push(pair.a as usize),
                (false, true) => ghost_owners.push(b as usize),
                _ => {}
            }
        }
        ghost_owners.sort_unstable();
        ghost_owners.dedup();
        ghost_owners
    }

    /// Everything that the body in a seat touches.
    fn partners(&self, seat: u32) -> Vec<PartnerKey> {
        let side = |pair: &ContactPair| match pair {
            ContactPair { a, .. } if *a == seat => Some(self.partner(pair)),
            ContactPair { a, b: Some(b), .. } if *b == seat => Some(PartnerKey::Body(self.place_in(*a))),
            _ => None,
        };
        self.pairs.list().iter().filter_map(side).collect()
    }

    fn place_in(&self, seat: u32) -> BodyIndex {
        self.place(self.members[seat as usize])
    }

    /// What the first side of a pair touches.
    fn partner(&self, pair: &ContactPair) -> PartnerKey {
        match (pair.b, pair.with) {
            (Some(b), _) => PartnerKey::Body(self.place_in(b)),
            (None, Partner::Static(StaticId(id))) => PartnerKey::Static(id),
            (None, Partner::Body(_)) => unreachable!("only static geometry takes no part"),
        }
    }

    /// What every pair of the cluster remembers: pairs inside the cluster once, seen from the smaller body.
    fn caches(&self) -> Arc<[CachedContact<RigidModel>]> {
        let pairs = self.pairs.list();
        let remembered = |at: u32| {
            let pair = &pairs[at as usize];
            let memory = ContactCache::Pair(self.pairs.touch(at as usize).memory());
            let own = self.place_in(pair.a);
            match pair.b {
                Some(b) if !self.is_own(self.members[pair.a as usize]) => {
                    CachedContact { own: self.place_in(b), partner: PartnerKey::Body(own), cache: memory }
                }
                _ => CachedContact { own, partner: self.partner(pair), cache: memory },
            }
        };
        // Pairs of bodies come first, then static geometry, each in order: with no remotes this is a merge.
        let mut order: Vec<u32> = Vec::with_capacity(pairs.len());
        let bodies = pairs.partition_point(|pair| pair.b.is_some()) as u32;
        let own = |at: u32| self.place_in(pairs[at as usize].a);
        let mut statics = (bodies..pairs.len() as u32).peekable();
        for at in 0..bodies {
            while let Some(earlier) = statics.next_if(|object| own(*object) < own(at)) {
                order.push(earlier);
            }
            order.push(at);
        }
        order.extend(statics);
        let mut caches = Vec::new();
        parallel::par_fill(&mut caches, order.len(), |at| remembered(order[at]));
        if !self.input.remotes.is_empty() {
            caches.sort_unstable_by_key(CachedContact::key);
        }
        debug_assert!(caches.is_sorted_by_key(CachedContact::key), "a merge of two lists in order");
        caches.into()
    }
}
