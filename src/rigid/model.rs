//! The rigid bodies of [`crate::physics`] as the protocol's dynamics.

use std::cell::RefCell;
use std::sync::Arc;

use crate::base::aabb::Aabb;
use crate::base::parallel;
use crate::base::sync::{Mutex, lock};
use crate::base::time::Tick;
use crate::islands::{ContactCache, IslandModel};
use crate::physics::contact::ContactModel;
use crate::physics::{BodyInput, Flight, InputKind, World, first_static_touch, first_touch};
use crate::protocol::{BodyIndex, Cluster, Dynamics, Response, ResponseInput};
use crate::rigid::Local;
use crate::rigid::cluster_contacts::{self, Workspace};

thread_local! {
    /// Work space. What survives a call changes no answer.
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Work space of those whom a pool helps: on whichever of its threads they go on, they find it again.
static HELPED: Mutex<Vec<Workspace>> = Mutex::new(Vec::new());

/// Gives back the work space of those whom a pool has helped: the pool is no more.
pub(crate) fn clear_pool_workspaces() {
    lock(&HELPED).clear();
}

/// Does something that needs work space.
fn with_workspace<R>(work: impl FnOnce(&mut Workspace) -> R) -> R {
    if !parallel::in_pool() {
        return WORKSPACE.with_borrow_mut(work);
    }
    // A thread that waits for others of its pool may take up the work of somebody else.
    let mut space = lock(&HELPED).pop().unwrap_or_default();
    let done = work(&mut space);
    lock(&HELPED).push(space);
    done
}

/// The rigid bodies of a world; with islands, those bodies that stay in contact are solved together.
#[derive(Clone)]
pub struct RigidModel {
    /// The scene made ready to simulate.
    pub world: Arc<World>,
    /// Advances islands, if bodies are grouped into islands.
    pub islands: Option<Arc<IslandModel>>,
}

impl RigidModel {
    /// Bodies that are all treated one by one.
    pub fn new(world: Arc<World>) -> Self {
        RigidModel { world, islands: None }
    }
}

impl Dynamics for RigidModel {
    type Flight = Flight;
    type Cache = ContactCache;
    type Ghost = <Local as ContactModel>::Ghost;
    type Input = BodyInput;

    fn same_ghost(a: &Self::Ghost, b: &Self::Ghost) -> bool {
        Local::same_ghost(a, b)
    }

    fn radius(&self, body: BodyIndex) -> f64 {
        self.world.bodies[body as usize].radius + self.world.rule.broad_margin_m
    }

    fn bounds(&self, body: BodyIndex, flight: &Flight, from: Tick, to: Tick) -> Aabb {
        flight
            .swept_aabb(&self.world, &self.world.bodies[body as usize], from, to)
            .grown(self.world.rule.broad_margin_m)
    }

    fn first_own_touch(&self, cluster: &[(BodyIndex, Flight)], from: Tick, to: Tick) -> Option<Tick> {
        let mut earliest = Earliest { from, to: Some(to), found: None };
        for (place, flight) in cluster {
            let body = &self.world.bodies[*place as usize];
            earliest.look(|last| first_static_touch(&self.world, (body, flight), from, last));
        }
        let of = |at: usize| (&self.world.bodies[cluster[at].0 as usize], &cluster[at].1);
        if cluster.len() <= cluster_contacts::SMALL_CLUSTER {
            for a in 0..cluster.len() {
                for b in a + 1..cluster.len() {
                    earliest.look(|last| first_touch(&self.world, of(a), of(b), from, last));
                }
            }
            return earliest.found;
        }
        let bounds: Vec<Aabb> =
            cluster.iter().map(|(place, flight)| self.bounds(*place, flight, from, to)).collect();
        with_workspace(|space| {
            for &(a, b) in space.neighbours.within(&bounds) {
                earliest.look(|last| first_touch(&self.world, of(a as usize), of(b as usize), from, last));
            }
        });
        earliest.found
    }

    fn first_touch(
        &self,
        a: (BodyIndex, &Flight),
        b: (BodyIndex, &Flight),
        from: Tick,
        to: Tick,
    ) -> Option<Tick> {
        let (a, b) = if a.0 < b.0 { (a, b) } else { (b, a) };
        let of = |(place, flight)| (&self.world.bodies[place as usize], flight);
        first_touch(&self.world, of(a), of(b), from, to)
    }

    fn respond(&self, tick: Tick, input: &ResponseInput<RigidModel>) -> Response<RigidModel> {
        with_workspace(|space| cluster_contacts::respond(self, tick, input, space))
    }

    fn target(action: &BodyInput) -> BodyIndex {
        action.body
    }

    fn apply_inputs(
        &self,
        tick: Tick,
        cluster: &mut Cluster<RigidModel>,
        actions: &[(u64, BodyInput)],
    ) -> Vec<(BodyIndex, Option<Flight>)> {
        let mut news: Vec<(BodyIndex, Option<Flight>)> = Vec::new();
        for (_, BodyInput { body, kind }) in actions {
            let flight = match (cluster.binary_search_by_key(body, |(place, _)| *place), kind) {
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
            news.retain(|(place, _)| place != body);
            news.push((*body, flight));
        }
        news
    }
}

/// The earliest of several ticks, each looked for only below the earliest found so far.
struct Earliest {
    from: Tick,
    /// The last tick that is still of interest.
    to: Option<Tick>,
    found: Option<Tick>,
}

impl Earliest {
    fn look(&mut self, first_until: impl FnOnce(Tick) -> Option<Tick>) {
        let Some(last) = self.to.filter(|last| *last >= self.from) else { return };
        if let Some(tick) = first_until(last) {
            self.found = Some(tick);
            self.to = tick.checked_sub(1);
        }
    }
}
