//! One state of regions in a model, and the actions that can come next.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use crate::base::time::Tick;
use crate::executor::adversarial_schedule::Choice;
use crate::executor::regions::SyncRule;
use crate::executor::sync_rule::{are_past, global_virtual_time};
use crate::physics::World;
use crate::protocol::EntityId;
use crate::store::{Counts, Cut, FramePart, Message, Partition, Region, RegionFault};
use crate::verify::model::Model;
use crate::verify::property::{Property, Violation};
use crate::verify::regions::check::Reference;
use crate::verify::regions::words;
use crate::verify::transition::guarded;

/// Regions of a small world.
#[derive(Clone)]
pub struct RegionModel {
    /// What does not change, shared by models that differ in the rest.
    pub(super) setting: Arc<Setting>,
    /// When a region may go on.
    pub(super) rule: SyncRule,
    /// How far a region may run ahead by the optimistic rule, ticks.
    pub(super) window: Tick,
    /// Number of threads: regions of one thread commit together.
    pub(super) threads: usize,
    /// Whether every thread commits as soon as global virtual time rises.
    pub(super) is_prompt: bool,
    /// Whether regions may end at any moment, and one store goes on.
    pub(super) may_halt: bool,
    pub(super) fault: RegionFault,
}

/// A world, and how it is cut into regions.
pub(super) struct Setting {
    pub world: World,
    pub partition: Partition,
    /// For every region, the regions that it exchanges messages with, as bits.
    pub neighbours: Vec<u64>,
    pub reference: Reference,
    pub words: String,
}

/// One step of regions in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegionAction {
    /// A region does its next tick.
    Step(u8),
    /// The oldest message from one region to another is delivered.
    Deliver {
        /// The sender.
        from: u8,
        /// The receiver.
        to: u8,
    },
    /// A thread measures global virtual time, and its regions commit.
    Commit(u8),
    /// All regions end, and one store goes on.
    Halt,
}

/// A message under way: its tick, and its bytes.
pub(super) type Letter = (Tick, Arc<Vec<u8>>);
type Held<'m> = Arc<Region<'m, true>>;

/// One state of regions.
#[derive(Clone)]
pub struct RegionState<'m> {
    pub(super) regions: Vec<Held<'m>>,
    /// Fingerprints of regions that have not changed since they were taken.
    prints: Vec<Option<u128>>,
    pub(super) links: BTreeMap<(u8, u8), VecDeque<Letter>>,
    /// What each thread takes global virtual time to be.
    pub(super) gvts: Vec<Tick>,
    pub(super) is_halted: bool,
    pub(super) violation: Option<Violation>,
}

impl RegionState<'_> {
    /// Global virtual time.
    pub(super) fn gvt(&self, fault: RegionFault) -> Tick {
        let lvts = self.regions.iter().map(|region| region.lvt);
        global_virtual_time(lvts, self.links.values().flatten().map(|(tick, _)| *tick), fault)
    }
}

impl RegionModel {
    pub(super) fn thread_of(&self, region: usize) -> usize {
        region * self.threads / self.setting.partition.regions
    }

    /// The same model with a deliberate fault.
    pub fn with_fault(self, fault: RegionFault) -> Self {
        RegionModel { fault, ..self }
    }

    /// Number of contacts, summed over all ticks, of the reference.
    pub fn contact_ticks(&self) -> u64 {
        self.setting.reference.counts().contact_ticks
    }

    /// Whether a region may do its next tick.
    fn may_step(&self, state: &RegionState, region: &Region<'_, true>) -> bool {
        if region.lvt > self.setting.world.time.last_tick || region.stuck.is_some() || region.is_waiting() {
            return false;
        }
        let near = self.setting.neighbours[region.me as usize];
        let neighbours = (0..state.regions.len()).filter(|other| near >> other & 1 == 1);
        // A region publishes its tick after its messages.
        let published = neighbours.map(|other| {
            let mail = state.links.get(&(other as u8, region.me)).into_iter().flatten();
            mail.map(|(tick, _)| *tick).fold(state.regions[other].lvt, Tick::min)
        });
        let gvt = state.gvts[self.thread_of(region.me as usize)];
        let are_past = || are_past(region.lvt, published, self.fault);
        self.rule.may_go_on(region.lvt, (gvt, self.window), are_past, self.fault)
    }

    fn perform<'m>(&'m self, state: &mut RegionState<'m>, next: RegionAction) {
        let before = state.gvts.clone();
        let done = guarded(|| {
            match next {
                RegionAction::Step(region) => self.step(state, region),
                RegionAction::Deliver { from, to } => self.deliver(state, (from, to)),
                RegionAction::Commit(thread) => self.commit(state, thread as usize)?,
                RegionAction::Halt => state.is_halted = true,
            }
            if self.is_prompt && !state.is_halted {
                (0..self.threads).try_for_each(|thread| self.commit(state, thread))?;
            }
            self.check(state, &before)
        });
        state.violation = done.err();
    }

    fn region<'s, 'm>(&self, state: &'s mut RegionState<'m>, region: u8) -> &'s mut Region<'m, true> {
        state.prints[region as usize] = None;
        Arc::make_mut(&mut state.regions[region as usize])
    }

    fn step(&self, state: &mut RegionState, number: u8) {
        let region = self.region(state, number);
        region.step();
        for message in std::mem::take(&mut region.out) {
            let bytes = postcard::to_stdvec(&message).expect("invariant: writing to memory does not fail");
            let link = state.links.entry((message.from, message.to)).or_default();
            link.push_back((message.tick, Arc::new(bytes)));
        }
    }

    fn deliver(&self, state: &mut RegionState, link: (u8, u8)) {
        let letters = state.links.get_mut(&link).expect("invariant: links are there while they are full");
        let (_, bytes) = letters.pop_front().expect("invariant: links are there while they are full");
        if letters.is_empty() {
            state.links.remove(&link);
        }
        self.region(state, link.1).receive(opened(&bytes));
    }

    /// Commits what a thread may, and checks it.
    fn commit(&self, state: &mut RegionState, thread: usize) -> Result<(), Violation> {
        let gvt = state.gvt(self.fault);
        if gvt <= state.gvts[thread] {
            return Ok(());
        }
        state.gvts[thread] = gvt;
        for number in (0..state.regions.len()).filter(|region| self.thread_of(*region) == thread) {
            let region = self.region(state, number as u8);
            region.commit(gvt);
            let frames: Vec<FramePart> = std::mem::take(&mut region.frames);
            frames.iter().try_for_each(|part| self.setting.compare(number as u8, part))?;
        }
        let floors = || state.regions.iter().map(|region| region.floor());
        match (floors().min(), floors().max()) {
            (Some(first), Some(last)) if first == last && first > 0 => {
                self.setting.reference.compare_counts(first - 1, &self.counts(state))
            }
            _ => Ok(()),
        }
    }

    /// Contacts that are committed.
    pub(super) fn counts(&self, state: &RegionState) -> Counts {
        let mut all = Counts::default();
        state.regions.iter().for_each(|region| all.add(&region.counts));
        all
    }
}

/// A message that has come.
pub(super) fn opened(bytes: &[u8]) -> Message {
    postcard::from_bytes(bytes).expect("invariant: these bytes were written from a message")
}

impl Model for RegionModel {
    type State<'m> = RegionState<'m>;
    type Action = RegionAction;

    fn start(&self) -> RegionState<'_> {
        let Setting { world, partition, .. } = &*self.setting;
        let cut = Cut::start(world);
        let region = |me: usize| {
            let region = Region::new(world, &cut.flights, &cut.caches, partition, me as u8, cut.tick);
            Arc::new(region.with_fault(self.fault))
        };
        RegionState {
            regions: (0..partition.regions).map(region).collect(),
            prints: vec![None; partition.regions],
            links: BTreeMap::new(),
            gvts: vec![0; self.threads],
            is_halted: false,
            violation: None,
        }
    }

    fn actions<'m>(&'m self, state: &RegionState<'m>, actions: &mut Vec<RegionAction>) {
        actions.clear();
        let last = self.setting.world.time.last_tick;
        if state.violation.is_some() || state.is_halted {
            return;
        }
        actions.extend(state.links.keys().map(|&(from, to)| RegionAction::Deliver { from, to }));
        let able = state.regions.iter().filter(|region| self.may_step(state, region));
        actions.extend(able.map(|region| RegionAction::Step(region.me)));
        let gvt = state.gvt(self.fault);
        let late = (0..self.threads).filter(|thread| state.gvts[*thread] < gvt);
        actions.extend(late.map(|thread| RegionAction::Commit(thread as u8)));
        // Nothing that comes can change what a region at global virtual time cannot do.
        let is_stuck = |region: &Held| region.stuck == Some(state.gvts[self.thread_of(region.me as usize)]);
        let is_over = state.gvts.iter().all(|gvt| *gvt > last);
        if !is_over && (self.may_halt || state.regions.iter().any(is_stuck)) {
            actions.push(RegionAction::Halt);
        }
    }

    fn after<'m>(&'m self, state: &RegionState<'m>, next: RegionAction) -> RegionState<'m> {
        let mut after = state.clone();
        self.perform(&mut after, next);
        for (region, print) in after.regions.iter().zip(&mut after.prints) {
            let mut bytes = Vec::new();
            print.get_or_insert_with(|| {
                region.canonical(&mut bytes);
                xxh3_128(&bytes)
            });
        }
        after
    }

    fn apply<'m>(&'m self, state: &mut RegionState<'m>, next: RegionAction) {
        self.perform(state, next);
    }

    fn fingerprint<'m>(&'m self, state: &RegionState<'m>) -> u128 {
        let mut bytes = Vec::new();
        for (region, print) in state.regions.iter().zip(&state.prints) {
            let print = print.unwrap_or_else(|| {
                let mut of_region = Vec::new();
                region.canonical(&mut of_region);
                xxh3_128(&of_region)
            });
            bytes.extend_from_slice(&print.to_le_bytes());
        }
        for ((from, to), letters) in &state.links {
            bytes.extend_from_slice(&[*from, *to, letters.len() as u8]);
            letters.iter().for_each(|(_, letter)| bytes.extend_from_slice(letter));
        }
        state.gvts.iter().for_each(|gvt| bytes.extend_from_slice(&gvt.to_le_bytes()));
        bytes.push(u8::from(state.is_halted) | u8::from(state.violation.is_some()) << 1);
        xxh3_128(&bytes)
    }

    fn violation<'s, 'm: 's>(&'m self, state: &'s RegionState<'m>) -> Option<&'s Violation> {
        state.violation.as_ref()
    }

    fn check_end<'m>(&'m self, state: &RegionState<'m>) -> Result<(), Violation> {
        guarded(|| self.check_terminal(state))
    }

    fn choice(&self, next: &RegionAction) -> Choice {
        match *next {
            RegionAction::Step(region) => Choice::Step(EntityId(region.into())),
            RegionAction::Deliver { from, to } => {
                Choice::Deliver { from: EntityId(from.into()), to: EntityId(to.into()), is_ack: false }
            }
            RegionAction::Commit(thread) => Choice::Step(EntityId(1_000 + u32::from(thread))),
            RegionAction::Halt => Choice::Step(EntityId(2_000)),
        }
    }

    fn is_rare(&self, next: &RegionAction) -> bool {
        matches!(next, RegionAction::Halt)
    }

    fn describe(&self, name: &str) -> String {
        words::describe(self, name)
    }

    fn replay(&self, schedule: &[RegionAction], _: bool) -> (Vec<String>, Option<Violation>) {
        words::replay(self, schedule)
    }
}

/// A violation.
pub(super) fn violated<T>(property: Property, how: String) -> Result<T, Violation> {
    Err(Violation { property, how })
}
