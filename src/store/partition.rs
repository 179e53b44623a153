//! Which region owns which cell, and which regions must know what happens there.

use std::sync::Arc;

use crate::base::time::Tick;
use crate::physics::World;
use crate::store::calendar_gear::Scale;
use crate::store::flights::Flights;

/// Most regions of a partition: sets of them are bits of a word.
pub(crate) const REGIONS_MAX: usize = 64;

/// How far a body may move in one tick, as a share of what a cell leaves beside two bodies in contact. Not tuned.
const STEP_SHARE: f64 = 0.25;

/// Cells divided among regions. The owner of a body is that of the cell that holds its centre: a pure function of its
/// flight, so that all regions agree on it without a message.
#[derive(Clone)]
pub(crate) struct Partition {
    pub scale: Scale,
    pub owner: Arc<Vec<u8>>,
    /// By cell: the regions that own it or one of the cells around it, as bits. They know every body in it.
    watchers: Arc<Vec<u64>>,
    pub regions: usize,
    /// Farthest that a body may move in one tick, metres: so a body is known before it can touch.
    pub step_max_m: f64,
    /// Largest distance of the centres of two bodies that touch, metres.
    pub reach_m: f64,
}

impl Partition {
    /// Cuts the cells into blocks with about the same number of bodies each, by recursive bisection. Cells are `widths`
    /// times as wide as suits the scene.
    pub fn bisected(world: &World, flights: &Flights, now: Tick, regions: usize, widths: f64) -> Self {
        let scale = Scale::of(world, flights, now, widths);
        let lattice = scale.lattice;
        let mut bodies = vec![0u32; lattice.len()];
        for body in flights.present() {
            bodies[lattice.cell(flights.hot(body).position_at(world, now)) as usize] += 1;
        }
        let mut owner = vec![0u8; lattice.len()];
        let all: Vec<u32> = (0..lattice.len() as u32).collect();
        bisect(&scale, &bodies, all, 0, regions, &mut owner);
        Self::new(world, scale, owner, regions)
    }

    /// Any division of the cells.
    pub fn new(world: &World, scale: Scale, owner: Vec<u8>, regions: usize) -> Self {
        let lattice = scale.lattice;
        let watch =
            |cell: u32| lattice.around(cell).iter().fold(0, |all, near| all | 1 << owner[*near as usize]);
        let watchers = (0..lattice.len() as u32).map(watch).collect();
        let reach_m = 2.0 * scale.ordinary_m + world.rule.broad_margin_m;
        let step_max_m = STEP_SHARE * (lattice.width_m() - reach_m);
        Partition {
            scale,
            watchers: Arc::new(watchers),
            owner: Arc::new(owner),
            regions,
            step_max_m,
            reach_m,
        }
    }

    /// How many times as wide cells have to be for bodies that move so far in one tick, metres.
    pub fn widths_for(&self, step_m: f64) -> f64 {
        (self.reach_m + step_m / STEP_SHARE) / self.scale.lattice.width_m()
    }

    /// The regions that know what is in a cell, as bits.
    #[inline]
    pub fn watchers(&self, cell: u32) -> u64 {
        self.watchers[cell as usize]
    }

    /// For every region, the regions that it exchanges messages with, as bits.
    pub fn neighbours(&self) -> Vec<u64> {
        let mut near = vec![0; self.regions];
        for (cell, owner) in self.owner.iter().enumerate() {
            // A body that leaves the cell is told to all that watch the next one.
            for next in self.scale.lattice.around(cell as u32) {
                near[*owner as usize] |= self.watchers(next) & !(1 << owner);
            }
        }
        // Messages go both ways.
        for a in 0..self.regions {
            for b in 0..self.regions {
                if near[a] >> b & 1 == 1 {
                    near[b] |= 1 << a;
                }
            }
        }
        near
    }
}

/// Gives `cells` to the regions `first..first + regions`.
fn bisect(
    scale: &Scale,
    bodies: &[u32],
    mut cells: Vec<u32>,
    first: usize,
    regions: usize,
    owner: &mut [u8],
) {
    if regions <= 1 {
        cells.iter().for_each(|cell| owner[*cell as usize] = first as u8);
        return;
    }
    let at = |cell: u32| scale.lattice.position(cell);
    let side = |cells: &[u32], axis: usize| {
        let along = cells.iter().map(|cell| at(*cell)[axis]);
        along.clone().max().unwrap_or(0) - along.min().unwrap_or(0)
    };
    // Where bodies are spread most; the lattice may be as wide where there are none.
    let busy: Vec<u32> = cells.iter().copied().filter(|cell| bodies[*cell as usize] > 0).collect();
    let axis = (0..3).max_by_key(|axis| (side(&busy, *axis), side(&cells, *axis))).unwrap_or(0);
    cells.sort_by_key(|cell| at(*cell)[axis]);
    let weight = |cell: &u32| 16 * u64::from(bodies[*cell as usize]) + 1;
    let total: u64 = cells.iter().map(weight).sum();
    let (left, mut sum, mut cut) = (regions / 2, 0, 0);
    while cut < cells.len() && sum * regions as u64 <= total * left as u64 {
        sum += weight(&cells[cut]);
        cut += 1;
    }
    // Blocks: the cut runs between two layers of cells, where there are several.
    let layer = |at_cell: usize| cells.get(at_cell).map(|cell| at(*cell)[axis]);
    if side(&cells, axis) > 0 {
        while cut > 0 && cut < cells.len() && layer(cut) == layer(cut - 1) {
            cut += 1;
        }
        if cut == cells.len() {
            let last = layer(cells.len() - 1);
            cut = (0..cells.len()).find(|cell| layer(*cell) == last).unwrap_or(0);
        }
    }
    let right = cells.split_off(cut);
    bisect(scale, bodies, cells, first, left, owner);
    bisect(scale, bodies, right, first + left, regions - left, owner);
}
