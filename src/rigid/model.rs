//! The rigid bodies of [`crate::physics`] as the protocol's dynamics.

use std::cell::RefCell;
use std::sync::Arc;

use crate::base::aabb::Aabb;
use crate::base::ids::BodyId;
use crate::base::parallel;
use crate::base::sync::{Mutex, lock};
use crate::base::time::Tick;
use crate::islands::{ContactCache, IslandModel};
use crate::physics::contact::ContactModel;
use crate::physics::{BodyInput, Flight, InputKind, World, first_static_touch, first_touch};
use crate::protocol::{BodyIndex, Cluster, Dynamics, Response, ResponseInput};
use crate::rigid::Local;
use crate::rigid::crowd_log::CrowdLog;
use crate::rigid::entity_contacts::{self, Workspace};
use crate::rigid::track_end::TrackEnd;

thread_local! {
    /// Scratch buffers. What survives a call changes no answer.
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Scratch buffers for calls inside the rayon pool: a thread-local would not be found again after a steal.
static POOL_WORKSPACES: Mutex<Vec<Workspace>> = Mutex::new(Vec::new());

/// Frees the scratch buffers of a pool that does not exist any more.
pub(crate) fn clear_pool_workspaces() {
    lock(&POOL_WORKSPACES).clear();
}

/// Runs something that needs scratch buffers.
fn with_workspace<R>(work: impl FnOnce(&mut Workspace) -> R) -> R {
    if !parallel::in_pool() {
        return WORKSPACE.with_borrow_mut(work);
    }
    // A thread that waits for others of its pool may take up another task, which needs buffers of its own.
    let mut space = lock(&POOL_WORKSPACES).pop().unwrap_or_default();
    let done = work(&mut space);
    lock(&POOL_WORKSPACES).push(space);
    done
}

/// The rigid bodies of a world; with islands, bodies that stay in contact are solved together.
#[derive(Clone)]
pub struct RigidModel {
    /// The scene made ready to simulate.
    pub world: Arc<World>,
    /// Advances islands, if bodies are grouped into islands.
    pub islands: Option<Arc<IslandModel>>,
    /// How many pairs touch at one tick.
    pub(crate) crowds: Arc<CrowdLog>,
}

impl RigidModel {
    /// Bodies that are all treated one by one.
    pub fn new(world: Arc<World>) -> Self {
        let crowds = Arc::new(CrowdLog::new(world.bodies.len()));
        RigidModel { world, islands: None, crowds }
    }

    /// The same, with islands.
    pub fn with_islands(self, islands: Option<Arc<IslandModel>>) -> Self {
        RigidModel { islands, ..self }
    }
}

impl Dynamics for RigidModel {
    type Flight = Flight;
    type Cache = ContactCache;
    type Ghost = <Local as ContactModel>::Ghost;
    type Input = BodyInput;
    type SharedTick = TrackEnd;

    fn same_ghost(a: &Self::Ghost, b: &Self::Ghost) -> bool {
        Local::same_ghost(a, b)
    }

    fn body_id(&self, body: BodyIndex) -> BodyId {
        self.world.bodies[body as usize].id
    }

    fn body_index(&self, id: BodyId) -> Option<BodyIndex> {
        self.world.bodies.index_of(id).map(|index| index as BodyIndex)
    }

    fn rename_in_cache(cache: &mut ContactCache, rename: &mut dyn FnMut(BodyIndex) -> BodyIndex) {
        cache.rename_bodies(rename);
    }

    fn radius(&self, body: BodyIndex) -> f64 {
        self.world.bodies[body as usize].radius + self.world.rule.broad_margin_m
    }

    fn bounds(&self, body: BodyIndex, flight: &Flight, from: Tick, to: Tick) -> Aabb {
        flight
            .swept_aabb(&self.world, &self.world.bodies[body as usize], from, to)
            .grown(self.world.rule.broad_margin_m)
    }

    fn first_own_touch(&self, body: BodyIndex, flight: &Flight, from: Tick, to: Tick) -> Option<Tick> {
        first_static_touch(&self.world, (&self.world.bodies[body as usize], flight), from, to)
    }

    fn first_touch(
        &self,
        a: (BodyIndex, &Flight),
        b: (BodyIndex, &Flight),
        from: Tick,
        to: Tick,
    ) -> Option<Tick> {
        let (a, b) = if a.0 < b.0 { (a, b) } else { (b, a) };
        let of = |(body, flight)| (&self.world.bodies[body as usize], flight);
        first_touch(&self.world, of(a), of(b), from, to)
    }

    fn respond(&self, tick: Tick, input: &ResponseInput<RigidModel>) -> Response<RigidModel> {
        with_workspace(|space| entity_contacts::respond(self, tick, input, space))
    }

    fn target(input: &BodyInput) -> BodyIndex {
        input.body
    }

    fn apply_inputs(
        &self,
        tick: Tick,
        cluster: &mut Cluster<RigidModel>,
        inputs: &[(u64, BodyInput)],
    ) -> Vec<(BodyIndex, Option<Flight>)> {
        let mut changed: Vec<(BodyIndex, Option<Flight>)> = Vec::new();
        for (_, BodyInput { body, kind }) in inputs {
            let flight = match (cluster.binary_search_by_key(body, |(own, _)| *own), kind) {
                (Ok(at), kind) => match self.world.acted_on(tick, *body, &cluster[at].1, kind) {
                    Some(flight) => {
                        cluster[at].1 = flight;
                        Some(flight)
                    }
                    None => {
                        cluster.remove(at);
                        None
                    }
                },
                (Err(at), InputKind::Spawn(state)) => {
                    let flight = Flight { since: tick, origin: *state };
                    cluster.insert(at, (*body, flight));
                    Some(flight)
                }
                (Err(_), _) => continue,
            };
            changed.retain(|(other, _)| other != body);
            changed.push((*body, flight));
        }
        changed
    }
}
