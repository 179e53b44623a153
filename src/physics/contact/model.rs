//! The contract of a contact model: how bodies in contact go on from one tick to the next, strictly locally.
//!
//! # Strictly local
//!
//! What a model computes for a body may depend on the body, on the bodies it is in contact with, and on what those
//! publish as their ghosts; on nothing farther away. A tick may consist of any number of *exchanges*: steps of which
//! each reads the results of the one before, of the body and of its neighbours. Inside one cluster all exchanges run in
//! one call. Across clusters every exchange is one message, so a ghost holds the results of all exchanges that are
//! final, and clusters repeat a tick until all of them are ([`ContactModel::ghost_certainty`]).
//!
//! # Order of calls
//!
//! For every tick, in this order:
//! 1. [`prepare`](ContactModel::prepare) with all bodies and pairs in contact;
//! 2. [`solve`](ContactModel::solve) with the same bodies; it returns the ghosts of some of them;
//! 3. in any order, and any number of times: [`pair`](ContactModel::pair), [`cache`](ContactModel::cache),
//!    [`flight`](ContactModel::flight), [`pushed_state`](ContactModel::pushed_state), with the same bodies.
//!
//! In place of `solve` a tick may be solved one exchange at a time, where other contacts of some *open* bodies are solved
//! elsewhere: [`begin`](ContactModel::begin), then as often as there are [`exchanges`](ContactModel::exchanges):
//! [`part`](ContactModel::part) of every body that others need, and [`exchange`](ContactModel::exchange) with the parts of
//! the open bodies.
//!
//! Own bodies come first in the list of bodies, then neighbours of other clusters. A neighbour with further contacts
//! comes with its ghost, and then the ghost is believed; a neighbour without a ghost has no other contacts.
//!
//! # Purity
//!
//! The results of a tick are a function of the arguments of that tick: bodies, pairs, caches and ghosts, to the bit.
//! They do not depend on earlier calls, on threads, on the addresses of anything, or on which of the two sides of a
//! pair computes them. What a model keeps in itself is scratch space: a new one must give the same results. Whatever
//! has to survive a tick goes into the [`Cache`](ContactModel::Cache), which is saved, rolled back and migrated with
//! the bodies.
//!
//! # Other models
//!
//! Nothing here knows of rounds, iterations, sub-steps or restitution. A model with half-steps and without flights
//! (fast frictional dynamics) has one exchange, the state after the first half-step; its ghosts hold that state, so
//! they are always final, and `flight` always returns a flight of one tick that begins at the next tick. A model with
//! many short sub-steps has an exchange per sub-step and colour; its ghosts hold the velocities after each, its caches
//! the impulses and the colour of the pair. The motion of bodies without contacts is no business of a contact model.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::base::ids::{BodyId, StaticId};
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::collision::kernels::Manifold;
use crate::physics::contact::velocity::SolverMass;
use crate::physics::flight::Flight;
use crate::physics::world::{BodyDef, StaticDef, World};

/// The other side of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Partner {
    /// A body. Ordered first: sums run over bodies before static geometry.
    Body(BodyId),
    /// Static geometry.
    Static(StaticId),
}

/// A body that is in contact at this tick. `G` is the ghost of the contact model.
#[derive(Clone)]
pub struct SolverBody<'a, G> {
    /// Definition of the body.
    pub body: &'a BodyDef,
    /// Its state at this tick.
    pub state: BodyState,
    /// How it resists impulses at this tick.
    pub mass: SolverMass,
    /// What it has published, if it has contacts that do not take part here.
    pub ghost: Option<&'a G>,
}

impl<'a, G> SolverBody<'a, G> {
    /// A body without a ghost: all its contacts take part.
    pub fn new(body: &'a BodyDef, state: BodyState) -> Self {
        SolverBody { body, state, mass: SolverMass::of(body, &state), ghost: None }
    }
}

/// Two bodies in contact, or a body and static geometry. Bodies are indices into the list given to the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPair {
    /// The body with the smaller id, or the body that touches static geometry.
    pub a: u32,
    /// The body with the larger id; `None` for static geometry.
    pub b: Option<u32>,
    /// What the first side touches.
    pub partner: Partner,
}

impl ContactPair {
    /// The bodies on its two sides.
    #[inline]
    pub fn sides(&self) -> impl Iterator<Item = u32> + use<> {
        [Some(self.a), self.b].into_iter().flatten()
    }
}

/// What a pair brings to a tick.
pub struct PairInput<'a, C> {
    /// The contact points, with normals from the second side to the first.
    pub manifold: &'a Manifold,
    /// The second side, if it is static geometry.
    pub fixed: Option<&'a StaticDef>,
    /// The cache of the tick before; nothing if the contact is new.
    pub cache: Option<&'a C>,
}

/// How many exchanges of a tick are final in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certainty {
    /// Number of exchanges with final results for every neighbour that was heard. Read by the model alone.
    pub exchanges: usize,
    /// Whether all exchanges of the tick are final, so that the results may be kept.
    pub is_complete: bool,
}

/// How bodies in contact go on. See the module for the order of calls and for what must be pure.
pub trait ContactModel: Default {
    /// What a pair keeps from tick to tick. Equal inputs give equal caches; the default is that of a new contact.
    type Cache: Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync;

    /// What a neighbour needs of a body at this tick that it cannot compute, because it does not know all contacts of
    /// the body.
    type Ghost: Clone + Debug + Serialize + DeserializeOwned + Send + Sync;

    /// What a body publishes in one exchange: a part of its ghost.
    type Part: Clone + Debug + Serialize + DeserializeOwned + Send + Sync;

    /// Takes the `count` pairs of a tick, and drops those of the tick before. Pairs of bodies come first, in
    /// ascending ids of both; then contacts with static geometry, in ascending ids of body and object. `pair` and
    /// `input` are pure but for counters, and are called exactly once for every index, on any thread.
    fn prepare<'c>(
        &mut self,
        world: &World,
        bodies: &[SolverBody<Self::Ghost>],
        count: usize,
        pair: impl Fn(usize) -> ContactPair + Sync + Send,
        input: impl Fn(usize) -> PairInput<'c, Self::Cache> + Sync + Send,
    ) where
        Self::Cache: 'c;

    /// Solves the prepared contacts. Returns the ghosts of the bodies `ghost_owners` (indices, ascending), in order.
    fn solve(
        &mut self,
        world: &World,
        bodies: &[SolverBody<Self::Ghost>],
        ghost_owners: &[usize],
    ) -> Vec<Self::Ghost>;

    /// Number of exchanges in a tick.
    fn exchanges(world: &World) -> u32;

    /// Solves the prepared contacts up to the first exchange. Of `open` bodies (indices, ascending) not all contacts take
    /// part.
    fn begin(&mut self, world: &World, bodies: &[SolverBody<Self::Ghost>], open: &[usize]);

    /// What a body publishes in the next exchange.
    fn part(&self, world: &World, index: usize, bodies: &[SolverBody<Self::Ghost>]) -> Self::Part;

    /// Believes what each of the open bodies has published, and solves up to the next exchange, or to the end.
    fn exchange(&mut self, world: &World, bodies: &[SolverBody<Self::Ghost>], heard: &[(usize, Self::Part)]);

    /// Number of prepared pairs.
    fn pair_count(&self) -> usize;

    /// A prepared pair.
    fn pair(&self, at: usize) -> &ContactPair;

    /// All prepared pairs in order.
    fn pairs(&self) -> impl Iterator<Item = &ContactPair> {
        (0..self.pair_count()).map(|at| self.pair(at))
    }

    /// What a pair keeps for the next tick.
    fn cache(&self, at: usize) -> Self::Cache;

    /// The flight that a body is in after this tick. It begins at `tick` if contacts changed nothing but velocities,
    /// and at `tick + 1` if they held the body on the way there.
    fn flight(&self, world: &World, tick: Tick, index: usize, body: &SolverBody<Self::Ghost>) -> Flight;

    /// The state of a body at this tick once its contacts have pushed it and moved it apart, and before gravity has.
    /// For bodies with further contacts, which the island solver solves next.
    fn pushed_state(&self, world: &World, index: usize, body: &SolverBody<Self::Ghost>) -> BodyState;

    /// What is final in a cluster that has heard these ghosts of neighbours. Neighbours without a ghost have no other
    /// contacts, so everything about them is final.
    fn ghost_certainty<'g>(world: &World, heard: impl Iterator<Item = &'g Self::Ghost>) -> Certainty
    where
        Self::Ghost: 'g;

    /// Leaves out of an own ghost what is not final yet: only the rest may be published.
    fn keep_certain(ghost: &mut Self::Ghost, certainty: Certainty);

    /// Whether two ghosts are equal to the bit, so that the second need not be sent. Numbers that merely compare equal,
    /// such as zero and minus zero, are not.
    fn same_ghost(a: &Self::Ghost, b: &Self::Ghost) -> bool;
}
