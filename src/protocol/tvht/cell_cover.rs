//! Where in the grid a crew is while it flies: which cells, whose buckets, and who of the crew is where.
//!
//! Who is held hardly moves from one tick to the next, so a layout can leave some room to every body; as long as
//! nobody leaves its room, the next step uses the same layout again.

use smallvec::SmallVec;

use crate::physics::Aabb;
use crate::protocol::dynamics::{Dynamics, Place};
use crate::protocol::portrait::Painter;
use crate::protocol::tvht::cell_grid::{Cell, Grid, Reach, RoughBounds};

/// Room for somebody who stays near, as a share of its radius.
const ROOM: f64 = 0.25;

/// Some of a crew in a cell: who they are, and bounds of all they cover there and elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// Where.
    pub cell: Cell,
    /// Which of the layout's passers.
    pub passers: (u32, u32),
    /// Bounds of their flights.
    pub bounds: RoughBounds,
}

/// A cell that a crew passes, and its bucket.
#[derive(Clone, Copy, Debug)]
pub(in crate::protocol) struct Stop {
    pub bucket: u32,
    pub passage: Passage,
}

/// A bucket, a little of the cell, and who: those in one cell come together.
type Key = (u32, u32, u32);

/// Where in the grid a crew is.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Who, and the room each has.
    rooms: SmallVec<[(Place, Aabb); 1]>,
    /// Where in the grid each of them begins.
    pub(in crate::protocol) reaches: SmallVec<[Reach; 1]>,
    /// Which of them pass the cells: numbers in the crew, cell by cell.
    passers: SmallVec<[u32; 8]>,
    /// In the order of their buckets.
    pub(in crate::protocol) stops: SmallVec<[Stop; 4]>,
}

impl Layout {
    /// The layout of a crew that covers these bounds, with some room if it will most likely stay near.
    pub fn new<D: Dynamics>(
        grid: &Grid,
        dynamics: &D,
        crew: &[(Place, D::Flight)],
        covered: &[Aabb],
        is_near: bool,
    ) -> Self {
        let mut rooms: SmallVec<[(Place, Aabb); 1]> = SmallVec::with_capacity(crew.len());
        let mut reaches = SmallVec::with_capacity(crew.len());
        let mut places: SmallVec<[(Key, Cell); 8]> = SmallVec::new();
        for (at, ((body, _), bounds)) in crew.iter().zip(covered).enumerate() {
            let radius = dynamics.radius(*body);
            let bounds = if is_near { bounds.grown(ROOM * radius) } else { *bounds };
            rooms.push((*body, bounds));
            reaches.push(grid.cells(&bounds, grid.level_of(radius), |cell| {
                let (bucket, within) = grid.bucket_and_rest(&cell);
                places.push(((bucket, within, at as u32), cell));
            }));
        }
        places.sort_unstable_by_key(|(key, _)| *key);
        let mut stops: SmallVec<[Stop; 4]> = SmallVec::new();
        for (at, ((bucket, _, member), cell)) in places.iter().enumerate() {
            let (at, bounds) = (at as u32, RoughBounds::of(&rooms[*member as usize].1));
            match stops.last_mut().map(|stop| &mut stop.passage).filter(|passage| passage.cell == *cell) {
                Some(passage) => {
                    passage.passers.1 = at + 1;
                    passage.bounds.include(&bounds);
                }
                None => {
                    let passage = Passage { cell: *cell, passers: (at, at + 1), bounds };
                    stops.push(Stop { bucket: *bucket, passage });
                }
            }
        }
        let passers = places.iter().map(|((_, _, member), _)| *member).collect();
        Layout { rooms, reaches, passers, stops }
    }

    /// Whether it is also the layout of a crew that covers other bounds: everybody stays in its room.
    pub fn fits<F>(&self, crew: &[(Place, F)], covered: &[Aabb]) -> bool {
        let stays = |((body, _), bounds): (&(Place, F), &Aabb), (who, room): &(Place, Aabb)| {
            body == who && room.contains(bounds)
        };
        let rooms = &self.rooms;
        crew.len() == rooms.len() && crew.iter().zip(covered).zip(rooms).all(|(one, room)| stays(one, room))
    }

    /// Takes down the rooms, which decide everything else.
    pub(in crate::protocol) fn portray<D: Dynamics>(&self, painter: &mut impl Painter<D>) {
        for (_, room) in &self.rooms {
            room.min.iter().chain(room.max.iter()).for_each(|side| painter.number(side.to_bits()));
        }
    }

    /// Pairs of those who share a cell, as numbers in the crew: enough of them to tell who is connected.
    pub(in crate::protocol) fn companions(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.stops
            .iter()
            .flat_map(|stop| self.passing(&stop.passage).windows(2).map(|pair| (pair[0], pair[1])))
    }

    /// Numbers in the crew of those who pass a cell.
    pub fn passing(&self, passage: &Passage) -> &[u32] {
        &self.passers[passage.passers.0 as usize..passage.passers.1 as usize]
    }
}
