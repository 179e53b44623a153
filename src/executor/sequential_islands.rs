//! The islands of the sequential executor: their members at this tick, and their contact caches.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::executor::Tally;
use crate::islands::{
    IslandCache, IslandChange, IslandDetector, IslandModel, IslandSummary, KnownPair, Workspaces,
};
use crate::physics::World;

/// All islands of a run.
pub(super) struct SequentialIslands<'a> {
    islands: &'a IslandModel,
    detector: IslandDetector,
    /// The bodies that move when the next epoch begins.
    next: IslandChange,
    /// The island of every body; `None` for free bodies.
    membership: Vec<Option<u32>>,
    /// The bodies of each island, ascending.
    members: BTreeMap<u32, Vec<u32>>,
    /// The cache of every body's island; `None` for free bodies.
    caches: Vec<Option<Arc<IslandCache>>>,
    workspaces: Workspaces,
}

impl<'a> SequentialIslands<'a> {
    /// No islands yet: all bodies are free.
    pub fn new(world: &World, islands: &'a IslandModel) -> Self {
        SequentialIslands {
            islands,
            detector: IslandDetector::new(world, islands),
            next: IslandChange::default(),
            membership: vec![None; world.bodies.len()],
            members: BTreeMap::new(),
            caches: vec![None; world.bodies.len()],
            workspaces: Workspaces::default(),
        }
    }

    /// Begins a tick. At the beginning of an epoch the last decision takes effect and the next one is made.
    pub fn begin(&mut self, world: &World, tick: Tick, states: &[BodyState]) {
        if !tick.is_multiple_of(self.islands.settings().epoch_ticks) {
            return;
        }
        let change = std::mem::replace(&mut self.next, self.detector.detect(world, tick, states));
        for (body, island) in &change.moves {
            self.membership[*body as usize] = *island;
        }
        self.members.extend(change.members);
        self.members.retain(|_, members| !members.is_empty());
    }

    /// Whether a body is in an island.
    pub fn has(&self, body: u32) -> bool {
        self.membership[body as usize].is_some()
    }

    /// Whether two bodies are in the same island.
    pub fn are_together(&self, a: u32, b: u32) -> bool {
        self.has(a) && self.membership[a as usize] == self.membership[b as usize]
    }

    /// Advances every island by one tick, from states that contain the impulses of bodies outside it. `pairs` are the pairs
    /// that were under the local solver at the tick before. Calls `onward` with every member and its next state.
    pub fn advance<'p>(
        &mut self,
        pushed: &[BodyState],
        pairs: impl Fn() -> Vec<KnownPair<'p>>,
        tally: &mut Tally,
        mut onward: impl FnMut(u32, BodyState),
    ) {
        let mut caches = vec![None; self.caches.len()];
        for members in self.members.values() {
            let of = |body: u32| self.caches[body as usize].as_ref();
            let cache = IslandCache::gather_warm_start(members, of, &pairs);
            let states: Vec<BodyState> = members.iter().map(|body| pushed[*body as usize]).collect();
            let advanced = self.islands.advance(&mut self.workspaces, members, &states, &cache);
            for (body, state) in members.iter().zip(&advanced.states) {
                caches[*body as usize] = Some(advanced.cache.clone());
                onward(*body, *state);
            }
            tally.contacts += u64::from(advanced.begun);
            tally.contact_ticks += u64::from(advanced.pairs);
            tally.max_overlap_m = tally.max_overlap_m.max(advanced.deepest);
        }
        self.caches = caches;
    }

    /// All changes of membership so far, counted.
    pub fn summary(&self) -> IslandSummary {
        *self.detector.summary()
    }
}
