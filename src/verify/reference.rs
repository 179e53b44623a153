//! The reference of the toy model: all bodies in one cluster, one tick after another, without the protocol.

use std::sync::Arc;

use crate::base::time::Tick;
use crate::protocol::{BodyIndex, CachedContact, Cluster, Dynamics, ResponseInput};
use crate::verify::toy_model::{ToyInput, ToyModel, ToyPath};

/// A run of the reference.
pub struct Reference<'a> {
    toy: &'a ToyModel,
    /// The present tick.
    pub tick: Tick,
    cluster: Cluster<ToyModel>,
    caches: Arc<[CachedContact<ToyModel>]>,
    /// Contacts before the present tick, summed over the ticks.
    pub contacts: u64,
    /// Contacts that began before the present tick.
    pub new_contacts: u64,
}

impl<'a> Reference<'a> {
    /// The reference at tick 0.
    pub fn new(toy: &'a ToyModel) -> Self {
        let cluster = toy.start().into();
        Reference { toy, tick: 0, cluster, caches: Arc::new([]), contacts: 0, new_contacts: 0 }
    }

    /// Computes the next tick, with the inputs of the present one, each with its number.
    pub fn advance(&mut self, inputs: &[(u64, ToyInput)]) {
        let input =
            ResponseInput { cluster: &self.cluster, caches: &self.caches, remotes: &[], is_island: false };
        let response = self.toy.respond(self.tick, &input);
        self.contacts += u64::from(response.counts.contacts);
        self.new_contacts += u64::from(response.counts.new_contacts);
        for (body, path) in response.flights {
            let own = self.cluster.iter_mut().find(|(own, _)| *own == body);
            own.expect("invariant: responses are of the cluster").1 = path;
        }
        self.caches = response.caches;
        self.toy.apply_inputs(self.tick, &mut self.cluster, inputs);
        self.tick += 1;
    }

    /// All bodies at the present tick: index, position, number.
    pub fn positions(&self) -> Vec<(BodyIndex, i64, u64)> {
        let position =
            |(body, path): &(BodyIndex, ToyPath)| (*body, path.position_at(self.tick), path.number);
        self.cluster.iter().map(position).collect()
    }
}
