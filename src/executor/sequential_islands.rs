//! The groups of the plain loop: who is solved together at this tick, and what groups remember.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::executor::Tally;
use crate::islands::{BridgeSummary, Bridging, Decider, GroupMemory, IslandChange, KnownPair, Spaces};
use crate::physics::World;

/// Groups of several bodies.
pub(super) struct Groups<'a> {
    bridging: &'a Bridging,
    decider: Decider,
    /// Who moves when the next epoch begins.
    next: IslandChange,
    /// The group of every body, if it is in one.
    homes: Vec<Option<u32>>,
    /// The bodies of each group, ascending.
    crews: BTreeMap<u32, Vec<u32>>,
    /// What every body remembers of its group.
    memories: Vec<Option<Arc<GroupMemory>>>,
    spaces: Spaces,
}

impl<'a> Groups<'a> {
    /// Nobody is in a group yet.
    pub fn new(world: &World, bridging: &'a Bridging) -> Self {
        Groups {
            bridging,
            decider: Decider::new(world, bridging),
            next: IslandChange::default(),
            homes: vec![None; world.bodies.len()],
            crews: BTreeMap::new(),
            memories: vec![None; world.bodies.len()],
            spaces: Spaces::default(),
        }
    }

    /// A tick begins. If an epoch begins with it, those move who were to, and it is decided who does next.
    pub fn begin(&mut self, world: &World, tick: Tick, states: &[BodyState]) {
        if !tick.is_multiple_of(self.bridging.settings().epoch) {
            return;
        }
        let removal = std::mem::replace(&mut self.next, self.decider.decide(world, tick, states));
        for (place, island) in &removal.moves {
            self.homes[*place as usize] = *island;
        }
        self.crews.extend(removal.crews);
        self.crews.retain(|_, crew| !crew.is_empty());
    }

    /// Whether a body is in a group.
    pub fn has(&self, place: u32) -> bool {
        self.homes[place as usize].is_some()
    }

    /// Whether two bodies are in one group.
    pub fn are_together(&self, a: u32, b: u32) -> bool {
        self.has(a) && self.homes[a as usize] == self.homes[b as usize]
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
        for crew in self.crews.values() {
            let of = |place: u32| self.memories[place as usize].as_ref();
            let memory = GroupMemory::recollect(crew, of, &pairs);
            let states: Vec<BodyState> = crew.iter().map(|place| pushed[*place as usize]).collect();
            let advanced = self.bridging.advance(&mut self.spaces, crew, &states, &memory);
            for (place, state) in crew.iter().zip(&advanced.states) {
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
    pub fn summary(&self) -> BridgeSummary {
        *self.decider.summary()
    }
}
