//! The reference of the toy model: all bodies at one tick after another, without the protocol.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::components::connected_components;
use crate::base::time::Tick;
use crate::protocol::{BodyIndex, CachedContact, Cluster, EntityId, MembershipChange, ResponseInput};
use crate::verify::toy_model::{ToyInput, ToyModel, ToyPath};

/// A run of the reference.
pub struct Reference<'a> {
    toy: &'a ToyModel,
    /// Length of an epoch; `None` if there are no islands.
    epoch_ticks: Option<u64>,
    /// The present tick.
    pub tick: Tick,
    cluster: Cluster<ToyModel>,
    caches: Arc<[CachedContact<ToyModel>]>,
    /// The islands of the present epoch.
    islands: Vec<Vec<BodyIndex>>,
    /// The islands of the next epoch, once they are decided.
    next_islands: Vec<Vec<BodyIndex>>,
    /// What has been decided at each epoch.
    pub decisions: Vec<MembershipChange>,
    /// Contacts before the present tick, summed over the ticks.
    pub contacts: u64,
    /// Contacts that began before the present tick.
    pub new_contacts: u64,
}

impl<'a> Reference<'a> {
    /// The reference at tick 0.
    pub fn new(toy: &'a ToyModel, epoch_ticks: Option<u64>) -> Self {
        Reference {
            toy,
            epoch_ticks,
            tick: 0,
            cluster: toy.start().into(),
            caches: Arc::new([]),
            islands: Vec::new(),
            next_islands: Vec::new(),
            decisions: Vec::new(),
            contacts: 0,
            new_contacts: 0,
        }
    }

    /// Computes the next tick, with the inputs of the present one, each with its number.
    pub fn advance(&mut self, inputs: &[(u64, ToyInput)]) {
        if self.epoch_ticks.is_some_and(|epoch_ticks| self.tick.is_multiple_of(epoch_ticks)) {
            self.begin_epoch();
        }
        let input =
            ResponseInput { cluster: &self.cluster, caches: &self.caches, remotes: &[], is_island: false };
        let response = self.toy.respond_with_islands(self.tick, &input, &self.islands);
        self.contacts += u64::from(response.counts.contacts);
        self.new_contacts += u64::from(response.counts.new_contacts);
        for (body, path) in response.flights {
            let own = self.cluster.iter_mut().find(|(own, _)| *own == body);
            own.expect("invariant: responses are of the bodies there are").1 = path;
        }
        self.caches = response.caches;
        crate::protocol::Dynamics::apply_inputs(self.toy, self.tick, &mut self.cluster, inputs);
        self.tick += 1;
    }

    /// What was decided an epoch ago takes effect; and bodies that touch now will be islands in an epoch's time, unless the
    /// run ends before.
    fn begin_epoch(&mut self) {
        let before = std::mem::take(&mut self.next_islands);
        self.islands = before.clone();
        if self.tick + self.epoch_ticks.unwrap_or(0) < self.toy.last_tick {
            let components =
                connected_components(self.cluster.len(), self.toy.touching(self.tick, &self.cluster));
            let bodies = |part: Vec<u32>| part.iter().map(|at| self.cluster[*at as usize].0).collect();
            let parts = components.into_iter().filter(|part| part.len() > 1);
            self.next_islands = parts.map(bodies).collect();
        } else {
            self.next_islands = before.clone();
        }
        let change = change(self.toy, &before, &self.next_islands);
        self.decisions.push(change);
    }

    /// All bodies at the present tick: index, position, number.
    pub fn positions(&self) -> Vec<(BodyIndex, i64, u64)> {
        let position =
            |(body, path): &(BodyIndex, ToyPath)| (*body, path.position_at(self.tick), path.number);
        self.cluster.iter().map(position).collect()
    }
}

/// What changes from some islands to others, in terms of entities: an island is the entity after those of the bodies that
/// has the number of its first body.
fn change(toy: &ToyModel, before: &[Vec<BodyIndex>], then: &[Vec<BodyIndex>]) -> MembershipChange {
    let entity = |island: &[BodyIndex]| EntityId(toy.bodies + island[0]);
    let entity_of = |islands: &[Vec<BodyIndex>], body: BodyIndex| {
        let own = islands.iter().find(|island| island.contains(&body));
        own.map_or(EntityId(body), |island| entity(island))
    };
    let moves = (0..toy.bodies).filter(|body| entity_of(before, *body) != entity_of(then, *body));
    let moves: BTreeMap<BodyIndex, EntityId> = moves.map(|body| (body, entity_of(then, body))).collect();
    let mut islands: BTreeMap<EntityId, Vec<BodyIndex>> = BTreeMap::new();
    for island in before.iter().filter(|island| !then.contains(island)) {
        islands.insert(entity(island), Vec::new());
    }
    for island in then.iter().filter(|island| !before.contains(island)) {
        islands.insert(entity(island), island.clone());
    }
    MembershipChange { moves, islands }
}
