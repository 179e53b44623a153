//! The groups of the plain loop: who is solved together at this tick, and what groups remember.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::executor::Tally;
use crate::islands::{
    IslandCache, IslandChange, IslandDetector, IslandModel, IslandSummary, KnownPair, Workspaces,
};
use crate::physics::World;

/// Groups of several bodies.
pub(super) struct Groups<'a> {
    islands: &'a IslandModel,
    decider: IslandDetector,
    /// Who moves when the next epoch begins.
    next: IslandChange,
    /// The group of every body, if it is in one.
    membership: Vec<Option<u32>>,
    /// The bodies of each group, ascending.
    clusters: BTreeMap<u32, Vec<u32>>,
    /// What every body remembers of its group.
    memories: Vec<Option<Arc<IslandCache>>>,
    spaces: Workspaces,
}

impl<'a> Groups<'a> {
    /// Nobody is in a group yet.
    pub fn new(world: &World, islands: &'a IslandModel) -> Self {
        Groups {
            islands,
            decider: IslandDetector::new(world, islands),
            next: IslandChange::default(),
            membership: vec![None; world.bodies.len()],
            clusters: BTreeMap::new(),
            memories: vec![None; world.bodies.len()],
            spaces: Workspaces::default(),
        }
    }

    /// A tick begins. If an epoch begins with it, those move who were to, and it is decided who does next.
    pub fn begin(&mut self, world: &World, tick: Tick, states: &[BodyState]) {
        if !tick.is_multiple_of(self.islands.settings().epoch) {
            return;
        }
        let change = std::mem::replace(&mut self.next, self.decider.decide(world, tick, states));
        for (place, island) in &change.moves {
            self.membership[*place as usize] = *island;
        }
        self.clusters.extend(change.crews);
        self.clusters.retain(|_, cluster| !cluster.is_empty());
    }

    /// Whether a body is in a group.
    pub fn has(&self, place: u32) -> bool {
        self.membership[place as usize].is_some()
    }

    /// Whether two bodies are in one group.
    pub fn are_together(&self, a: u32, b: u32) -> bool {
        self.has(a) && self.membership[a as usize] == self.membership[b as usize]
    }

    /// Advances every group, from the states its bodies are in once others have pushed them. `pairs` is what pairs
    /// remember that were under the local response at the tick before. Says where everybody is at the next tick.
    pub fn advance<'p>(
        &mut self,
        pushed: &[BodyState],
        pairs: impl Fn() -> Vec<KnownPair<'p>>,
        tally: &mut Tally,
        mut onward: impl FnMut(u32, BodyState),
    ) {
        let mut memories = vec![None; self.memories.len()];
        for cluster in self.clusters.values() {
            let of = |place: u32| self.memories[place as usize].as_ref();
            let memory = IslandCache::gather_warm_start(cluster, of, &pairs);
            let states: Vec<BodyState> = cluster.iter().map(|place| pushed[*place as usize]).collect();
            let advanced = self.islands.advance(&mut self.spaces, cluster, &states, &memory);
            for (place, state) in cluster.iter().zip(&advanced.states) {
                memories[*place as usize] = Some(advanced.memory.clone());
                onward(*place, *state);
            }
            tally.contacts += u64::from(advanced.begun);
            tally.contact_ticks += u64::from(advanced.pairs);
            tally.max_overlap_m = tally.max_overlap_m.max(advanced.deepest);
        }
        self.memories = memories;
    }

    /// What has come of it so far.
    pub fn summary(&self) -> IslandSummary {
        *self.decider.summary()
    }
}
