//! Regions on one thread in an adversarial order, to find faults: any region that may go on does so next, messages stay
//! under way for any time, and partitions are senseless. The seed decides. The rules, the regions and the messages are
//! those of [`regions`](super::regions); every message travels as bytes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use crate::base::frame::Frame;
use crate::base::stop::Stop;
use crate::base::time::Tick;
use crate::executor::adversarial_schedule::stir;
use crate::executor::epoch::{Ending, RegionsRun, end, whole};
use crate::executor::sync_rule::{SyncRule, are_past, global_virtual_time};
use crate::physics::World;
use crate::store::{Cut, FramePart, Message, Partition, Region, RegionFault};

/// Numbers that follow from a seed.
pub(crate) struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Random { seed, drawn: 0 }
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        stir(self.seed, self.drawn)
    }

    /// From 0 to below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        (self.draw() % count as u64) as usize
    }

    /// From 0 to below 1.
    fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// How far regions may run ahead, ticks, at most.
const WINDOW_MAX: usize = 48;
/// Regions end after so many ticks, and so many more per tick and region: in dense scenes an adversarial order undoes
/// almost everything. Not tuned.
const STEPS_MIN: u64 = 500;
const STEPS_PER_TICK: u64 = 6;

/// Partitions change after one in so many commits. Not tuned.
const CHANGES: usize = 16;

/// One in so many parts of ghosts is wrong at first. Not tuned.
const ERRS: usize = 16;

/// A partition that no one would choose, with up to `regions` regions.
pub(crate) fn partition(world: &World, cut: &Cut, regions: usize, random: &mut Random) -> Partition {
    let widths = 1.0 + 2.0 * random.unit();
    let bisected = Partition::bisected(world, &cut.flights, cut.tick, regions, widths);
    let cells = bisected.owner.len() as u32;
    let owner: Vec<u8> = match random.below(4) {
        0 => return bisected,
        // Every cell for itself.
        1 => (0..cells).map(|_| random.below(regions) as u8).collect(),
        // Slabs of any thickness, some regions without a cell.
        2 => {
            let axis = random.below(3);
            let side = bisected.scale.lattice.sides()[axis];
            let slabs: Vec<u8> = (0..side).map(|_| random.below(regions) as u8).collect();
            (0..cells).map(|cell| slabs[bisected.scale.lattice.position(cell)[axis]]).collect()
        }
        // One cell against the rest.
        _ => {
            let busy = cut.flights.present().nth(random.below(cut.flights.len()));
            let x =
                busy.map_or_else(Default::default, |body| cut.flights.hot(body).position_at(world, cut.tick));
            let odd = bisected.scale.lattice.cell(x);
            (0..cells).map(|cell| u8::from(cell == odd) * (regions > 1) as u8).collect()
        }
    };
    Partition::new(world, bisected.scale, owner, regions)
}

/// Runs regions from a cut to the end of the run, or to where they are stuck.
// Long: one loop over actions, each of a few lines.
pub(crate) fn run(
    world: &World,
    cut: &Cut,
    partition: &Partition,
    random: &mut Random,
    stop: &Stop,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> RegionsRun {
    let rule = if random.below(4) == 0 { SyncRule::Conservative } else { SyncRule::Optimistic };
    let window = 1 + random.below(WINDOW_MAX) as Tick;
    let (delivered, near) = (0.05 + 0.9 * random.unit(), partition.neighbours());
    // Regions that are together need not go on together: it only saves work.
    let is_eager = random.below(4) == 0;
    let make = |region| Region::new(world, &cut.flights, &cut.caches, partition, region as u8, cut.tick);
    let mut regions: Vec<Region> = (0..partition.regions).map(make).collect();
    let mut links: BTreeMap<(u8, u8), VecDeque<Vec<u8>>> = BTreeMap::new();
    let mut under_way: BTreeMap<(u8, u8), VecDeque<Tick>> = BTreeMap::new();
    let mut parts: BTreeMap<Tick, Vec<FramePart>> = BTreeMap::new();
    let (mut is_stopped, mut ending) = (false, Ending::default());
    let ticks = world.time.last_tick + 1 - cut.tick;
    let mut left = STEPS_MIN + STEPS_PER_TICK * ticks.saturating_mul(partition.regions as u64);
    while !is_stopped && left > 0 {
        let lvts: Vec<Tick> = regions.iter().map(|region| region.lvt).collect();
        let messages = under_way.values().flatten().copied();
        let gvt = global_virtual_time(lvts.iter().copied(), messages, RegionFault::None);
        if gvt > world.time.last_tick || regions.iter().any(|region| region.stuck == Some(gvt)) {
            break;
        }
        if random.below(8) == 0 {
            is_stopped |= commit(world, &mut regions, gvt, &mut parts, sink);
            is_stopped |= stop.is_requested();
            if gvt > cut.tick && random.below(CHANGES) == 0 {
                ending = Ending::Unbalanced;
                break;
            }
        }
        let are_done = |region: &Region| {
            let neighbours = (0..regions.len()).filter(|other| near[region.me as usize] >> other & 1 == 1);
            let published = neighbours.map(|other| {
                let mail = under_way.get(&(other as u8, region.me)).into_iter().flatten();
                mail.copied().fold(lvts[other], Tick::min)
            });
            are_past(region.lvt, published, RegionFault::None)
        };
        let may_go_on = |region: &&Region| {
            let is_free = !region.is_waiting()
                && rule.may_go_on(region.lvt, (gvt, window), || are_done(region), RegionFault::None)
                && (is_eager || !region.was_together() || are_done(region));
            region.lvt <= world.time.last_tick && region.stuck.is_none() && is_free
        };
        let able: Vec<u8> = regions.iter().filter(may_go_on).map(|region| region.me).collect();
        let full: Vec<(u8, u8)> =
            links.iter().filter(|(_, link)| !link.is_empty()).map(|(key, _)| *key).collect();
        assert!(!able.is_empty() || !full.is_empty(), "regions wait for each other at tick {gvt}");
        let delivers = !full.is_empty() && (able.is_empty() || random.unit() < delivered);
        if delivers {
            let key = full[random.below(full.len())];
            let bytes = links.get_mut(&key).and_then(VecDeque::pop_front);
            under_way.get_mut(&key).and_then(VecDeque::pop_front);
            let message: Option<Message> = bytes.and_then(|bytes| postcard::from_bytes(&bytes).ok());
            if let Some(message) = message {
                regions[message.to as usize].receive(message);
            }
        } else if let Some(next) = able.get(random.below(able.len().max(1))) {
            let region = &mut regions[*next as usize];
            let before = region.stats.ticks;
            region.step();
            left -= region.stats.ticks - before;
            for message in std::mem::take(&mut region.out) {
                // Parts may be wrong at first: regions that run ahead speak from states that may be wrong.
                let errs = rule == SyncRule::Optimistic && random.below(ERRS) == 0;
                if let Some(mistaken) = errs.then(|| message.mistaken()).flatten() {
                    let key = (mistaken.from, mistaken.to);
                    under_way.entry(key).or_default().push_back(mistaken.tick);
                    links
                        .entry(key)
                        .or_default()
                        .push_back(postcard::to_stdvec(&mistaken).unwrap_or_default());
                }
                let key = (message.from, message.to);
                let bytes = postcard::to_stdvec(&message).unwrap_or_default();
                under_way.entry(key).or_default().push_back(message.tick);
                links.entry(key).or_default().push_back(bytes);
            }
        }
    }
    let rest = links.into_values().flatten().filter_map(|bytes| postcard::from_bytes(&bytes).ok()).collect();
    let run = end(world, &mut regions, rest, parts, is_stopped, sink);
    RegionsRun { is_optimistic: rule == SyncRule::Optimistic, ending, ..run }
}

/// Commits what lies before global virtual time, and gives frames that are whole to `sink`. Says whether it breaks.
fn commit(
    world: &World,
    regions: &mut [Region],
    gvt: Tick,
    parts: &mut BTreeMap<Tick, Vec<FramePart>>,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> bool {
    for region in regions.iter_mut() {
        region.commit(gvt);
        for part in region.frames.drain(..) {
            parts.entry(part.tick).or_default().push(part);
        }
    }
    let mut is_stopped = false;
    while let Some(first) = parts.first_entry().filter(|first| first.get().len() == regions.len()) {
        let (tick, parts) = first.remove_entry();
        is_stopped = is_stopped || sink(whole(world, tick, parts)).is_break();
    }
    is_stopped
}
