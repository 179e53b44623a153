//! The end of an epoch: all regions are brought to one tick, and what they have goes on in a new partition or in one store.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::World;
use crate::store::{Counts, Cut, FramePart, Message, Region, RegionStats};

/// Why regions end before the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A region cannot do a tick, or most of what is computed is undone.
    #[default]
    Unsuited,
    /// So much touches that one store is faster.
    Dense,
    /// Some regions have too many of the bodies: a new partition goes on.
    Unbalanced,
}

impl Ending {
    pub(super) const ALL: [Ending; 3] = [Ending::Unsuited, Ending::Dense, Ending::Unbalanced];
}

/// What regions did up to the tick at which they ended.
pub(crate) struct RegionsRun {
    /// All bodies at the end, if that is before the end of the run; the run was not stopped.
    pub cut: Option<Cut>,
    pub counts: Counts,
    pub stats: RegionStats,
    pub is_optimistic: bool,
    pub ending: Ending,
    /// The first tick that is not done.
    pub tick: Tick,
    /// Wall time from when all regions were built, without ending threads and regions, seconds; nothing if that is not
    /// measured.
    pub ticks_s: Option<f64>,
}

/// Brings regions to one tick, with messages that are still on their way, and ends them.
pub(crate) fn end<const FAULTY: bool>(
    world: &World,
    regions: &mut [Region<FAULTY>],
    messages: Vec<Message>,
    mut parts: BTreeMap<Tick, Vec<FramePart>>,
    mut is_stopped: bool,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> RegionsRun {
    for message in messages {
        regions[message.to as usize].receive(message);
    }
    let tick = regions.iter().map(|region| region.lvt).min().unwrap_or(0);
    regions.iter_mut().for_each(|region| region.retreat(tick));
    let is_over = tick > world.time.last_tick;
    let cut = (!is_over && !is_stopped).then(|| Cut::of_regions(world, regions.iter()));
    let (mut counts, mut stats) = (Counts::default(), RegionStats::default());
    for region in regions {
        region.commit_all();
        counts.add(&region.counts);
        stats.add(&region.stats);
        for part in region.frames.drain(..) {
            parts.entry(part.tick).or_default().push(part);
        }
    }
    for (tick, parts) in parts {
        is_stopped = is_stopped || sink(whole(world, tick, parts)).is_break();
    }
    let ending = Ending::default();
    let cut = cut.filter(|_| !is_stopped);
    RegionsRun { cut, counts, stats, is_optimistic: false, ending, tick, ticks_s: None }
}

/// Puts the parts of a frame together.
pub(super) fn whole(world: &World, tick: Tick, parts: Vec<FramePart>) -> Frame {
    let count = parts.iter().map(|part| part.bodies.len()).sum();
    let all = parts.iter().flat_map(|part| part.bodies.iter().zip(&part.states));
    if count != world.bodies.len() {
        // The model checker ends regions of which some have given their parts before.
        let mut bodies: Vec<_> = all.map(|(_, state)| *state).collect();
        bodies.sort_unstable_by_key(|(id, _)| *id);
        return Frame::new(&world.time, tick, bodies);
    }
    // Regions have no bodies that come or go: every body of the world is in one of them, at its index.
    let nowhere = (BodyId(0), BodyState::at_rest(Vec3::zeros()));
    let mut bodies = vec![nowhere; count];
    for (body, state) in all {
        if let Some(place) = bodies.get_mut(*body as usize) {
            *place = *state;
        }
    }
    Frame::new(&world.time, tick, bodies)
}
