//! The properties of regions, and how each is checked.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::executor::epoch::end;
use crate::executor::regions::SyncRule;
use crate::executor::{Simulation, SyncMode};
use crate::physics::World;
use crate::scene::Scene;
use crate::store::{Counts, Cut, FramePart, Region, RegionFault, Setup, Store, StoreError};
use crate::verify::property::{Property, Violation};
use crate::verify::regions::state::{RegionModel, RegionState, Setting, opened, violated};

/// What the plain loop computes.
pub(super) struct Reference {
    /// All bodies at every tick.
    frames: Vec<Vec<(BodyId, BodyState)>>,
    /// Contacts up to a tick: of every tick, or of the last one only.
    counts: BTreeMap<Tick, Counts>,
}

impl Reference {
    /// Runs the plain loop; for contacts of every tick once for each.
    pub fn new(scene: &Scene, of_every_tick: bool) -> Self {
        let mut reference = Reference { frames: Vec::new(), counts: BTreeMap::new() };
        let last = scene.time_base().last_tick;
        for tick in (1..=last).filter(|tick| of_every_tick || *tick == last) {
            let seconds = tick as f64 / scene.ticks_per_second;
            let scene = Scene { seconds, ticks_per_frame: 1, ..scene.clone() };
            let simulation = Simulation::new(&scene).expect("invariant: scenes of models are valid");
            reference.frames.clear();
            let report = simulation.sync(SyncMode::Sequential).run(|frame| {
                reference.frames.push(frame.bodies.clone());
                ControlFlow::Continue(())
            });
            let tally = report.expect("invariant: scenes of models are sound").tally;
            let counts = Counts {
                contacts: tally.contacts,
                contact_ticks: tally.contact_ticks,
                max_overlap_m: tally.max_overlap_m,
            };
            reference.counts.insert(tick, counts);
        }
        reference
    }

    /// All contacts of the run.
    pub fn counts(&self) -> Counts {
        self.counts.last_key_value().map_or(Counts::default(), |(_, counts)| *counts)
    }

    /// Compares contacts that are committed up to and with a tick.
    pub fn compare_counts(&self, tick: Tick, counts: &Counts) -> Result<(), Violation> {
        match self.counts.get(&tick) {
            Some(expected) if expected != counts => violated(
                Property::CommittedIsReference,
                format!("up to tick {tick}, {counts:?} were committed instead of {expected:?}"),
            ),
            _ => Ok(()),
        }
    }

    /// Compares the state of a body at a tick.
    fn compare(&self, tick: Tick, body: usize, state: &BodyState) -> Result<(), Violation> {
        if same_bits(&self.frames[tick as usize][body].1, state) {
            return Ok(());
        }
        let expected = &self.frames[tick as usize][body].1;
        let how = format!(
            "tick {tick} is committed, and body {body} is not where the plain loop has it: {state:?} instead of {expected:?}"
        );
        violated(Property::CommittedIsReference, how)
    }

    fn compare_frame(&self, frame: &Frame) -> Result<(), Violation> {
        let bodies = &self.frames[frame.tick as usize];
        for (id, state) in &frame.bodies {
            let body = bodies.binary_search_by_key(id, |(id, _)| *id);
            self.compare(frame.tick, body.expect("invariant: all bodies are there from the start"), state)?;
        }
        Ok(())
    }
}

fn same_bits(a: &BodyState, b: &BodyState) -> bool {
    let bits = |state: &BodyState| {
        let BodyState { x, q, v, w } = state;
        let q = q.coords;
        let numbers = [x.x, x.y, x.z, v.x, v.y, v.z, w.x, w.y, w.z, q.x, q.y, q.z, q.w];
        numbers.map(f64::to_bits)
    };
    bits(a) == bits(b)
}

impl Setting {
    /// The region that owns a body at a tick.
    fn owner(&self, tick: Tick, body: usize) -> u8 {
        let x = self.reference.frames[tick as usize][body].1.x;
        self.partition.owner[self.partition.scale.lattice.cell(x) as usize]
    }

    /// Compares what a region committed at a tick: its bodies are those that it owns, and are where they should be.
    pub fn compare(&self, region: u8, part: &FramePart) -> Result<(), Violation> {
        let bodies = 0..self.world.bodies.len();
        let owned: Vec<usize> = bodies.filter(|body| self.owner(part.tick, *body) == region).collect();
        let committed: Vec<usize> = part.bodies.iter().map(|body| *body as usize).collect();
        if owned != committed {
            let how = format!(
                "tick {} is committed, region {region} owns bodies {owned:?}, and has {committed:?}",
                part.tick
            );
            return violated(Property::CommittedIsReference, how);
        }
        let mut bodies = part.bodies.iter().zip(&part.states);
        bodies.try_for_each(|(body, (_, state))| self.reference.compare(part.tick, *body as usize, state))
    }
}

impl RegionModel {
    /// Checks everything that must hold after an action; threads took global virtual time to be `before`.
    pub(super) fn check(&self, state: &RegionState, before: &[Tick]) -> Result<(), Violation> {
        for (gvt, before) in state.gvts.iter().zip(before) {
            if gvt < before {
                return violated(Property::GvtIsKept, format!("GVT fell from {before} to {gvt}"));
            }
        }
        let gvt = state.gvts.iter().copied().max().unwrap_or(0);
        for region in &state.regions {
            let Region { me, lvt, .. } = **region;
            if lvt < gvt {
                return violated(
                    Property::GvtIsKept,
                    format!("the LVT of region {me} is {lvt}, and GVT is {gvt}"),
                );
            }
            let own_gvt = state.gvts[self.thread_of(me as usize)];
            if self.rule == SyncRule::Optimistic && lvt > own_gvt + self.window {
                return violated(
                    Property::WindowIsKept,
                    format!("the LVT of region {me} is {lvt}, and GVT is {own_gvt}"),
                );
            }
            if self.rule == SyncRule::Conservative && region.stats.rollbacks > 0 {
                return violated(
                    Property::ConservativeIsKept,
                    format!("region {me}, which is conservative, was rolled back"),
                );
            }
        }
        for ((from, to), letters) in &state.links {
            if let Some((tick, _)) = letters.iter().find(|(tick, _)| *tick < gvt) {
                let how = format!(
                    "a message from region {from} to region {to} is about tick {tick}, and GVT is {gvt}"
                );
                return violated(Property::PastIsSettled, how);
            }
        }
        // A deliberate fault may break this: then the other properties are to show it.
        if self.fault == RegionFault::None { self.check_told(state) } else { Ok(()) }
    }

    /// Where no message is under way, a region believes what it was told last.
    fn check_told(&self, state: &RegionState) -> Result<(), Violation> {
        for from in &state.regions {
            for to in state.regions.iter().filter(|to| to.me != from.me) {
                if state.links.contains_key(&(from.me, to.me)) {
                    continue;
                }
                let first = from.floor().max(to.floor());
                if from.told_to(to.me, first) != to.heard_from(from.me, first) {
                    let how = format!("region {} believes not what region {} told it last", to.me, from.me);
                    return violated(Property::ToldIsBelieved, how);
                }
            }
        }
        Ok(())
    }

    /// Checks a state in which nothing can happen any more.
    pub(super) fn check_terminal(&self, state: &RegionState) -> Result<(), Violation> {
        if state.is_halted {
            return self.check_halted(state);
        }
        let last = self.setting.world.time.last_tick;
        if let Some(gvt) = state.gvts.iter().find(|gvt| **gvt <= last) {
            let lvts: Vec<String> = state.regions.iter().map(|region| region.lvt.to_string()).collect();
            let how = format!("nothing can happen, GVT is {gvt}, and regions are at {}", lvts.join(", "));
            return violated(Property::NoDeadlock, how);
        }
        let mut counts = Counts::default();
        for held in &state.regions {
            let mut region = (**held).clone();
            region.commit_all();
            region.frames.iter().try_for_each(|part| self.setting.compare(region.me, part))?;
            counts.add(&region.counts);
        }
        self.setting.reference.compare_counts(last, &counts)
    }

    /// Ends all regions, and runs one store from there on.
    fn check_halted(&self, state: &RegionState) -> Result<(), Violation> {
        let Setting { world, reference, .. } = &*self.setting;
        let mut regions: Vec<Region<'_, true>> =
            state.regions.iter().map(|region| (**region).clone()).collect();
        let letters = state.links.values().flatten().map(|(_, bytes)| opened(bytes)).collect();
        let mut checked = Ok(());
        let mut sink = |frame: Frame| {
            checked = std::mem::replace(&mut checked, Ok(())).and_then(|()| reference.compare_frame(&frame));
            ControlFlow::Continue(())
        };
        let run = end(world, &mut regions, letters, BTreeMap::new(), false, &mut sink);
        checked?;
        if let Some(gvt) = state.gvts.iter().find(|gvt| **gvt > run.tick) {
            let how = format!("GVT is {gvt}, and regions end at tick {}", run.tick);
            return violated(Property::GvtIsKept, how);
        }
        let mut counts = run.counts;
        if let Some(cut) = run.cut {
            counts.add(&self.go_on(world, cut).map_err(|error| error.unwrap_or_else(not_sound))?);
        }
        reference.compare_counts(world.time.last_tick, &counts)
    }

    /// Runs one store from a cut to the end of the run. The error is nothing if the store cannot go on.
    fn go_on(&self, world: &World, cut: Cut) -> Result<Counts, Option<Violation>> {
        let first = cut.tick;
        let mut store = Store::new(world, cut, Setup::default());
        for tick in first..=world.time.last_tick {
            let unsound = |_: StoreError| None;
            store.begin(tick).map_err(unsound)?;
            let frame = store.frame(tick).map_err(unsound)?;
            self.setting.reference.compare_frame(&frame).map_err(Some)?;
            store.find(tick).map_err(unsound)?;
            if tick < world.time.last_tick {
                store.respond(tick);
                store.advance(tick).map_err(unsound)?;
            }
        }
        Ok(*store.counts())
    }
}

fn not_sound() -> Violation {
    Violation { property: Property::NoPanic, how: "one store cannot go on where regions ended".to_owned() }
}
