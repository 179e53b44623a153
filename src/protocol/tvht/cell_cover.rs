//! Where in the grid a cluster is while it flies: which cells, whose buckets, and who of the cluster is where.
//!
//! Who is held hardly moves from one tick to the next, so a cell_cover can leave some room to every body; as long as
//! nobody leaves its room, the next step uses the same cell_cover again.

use serde::{Serialize, Serializer};
use smallvec::SmallVec;

use crate::base::aabb::Aabb;
use crate::protocol::dynamics::{BodyIndex, Dynamics};
use crate::protocol::tvht::cell_grid::{Aabb32, Cell, CellRange, Grid};

/// Room for somebody who stays near, as a share of its radius.
const ROOM: f64 = 0.25;

/// Some of a cluster in a cell: who they are, and bounds of all they cover there and elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct CellSpan {
    /// Where.
    pub cell: Cell,
    /// Which of the cell_cover's members.
    pub members: (u32, u32),
    /// Bounds of their flights.
    pub bounds: Aabb32,
}

/// A cell that a cluster passes, and its bucket.
#[derive(Clone, Copy, Debug)]
pub(in crate::protocol) struct CoveredCell {
    pub bucket: u32,
    pub span: CellSpan,
}

/// A bucket, a little of the cell, and who: those in one cell come is_island.
type Key = (u32, u32, u32);

/// Where in the grid a cluster is.
#[derive(Clone, Debug)]
pub struct CellCover {
    /// Who, and the room each has.
    rooms: SmallVec<[(BodyIndex, Aabb); 1]>,
    /// Where in the grid each of them begins.
    pub(in crate::protocol) ranges: SmallVec<[CellRange; 1]>,
    /// Which of them pass the cells: numbers in the cluster, cell by cell.
    members: SmallVec<[u32; 8]>,
    /// In the order of their buckets.
    pub(in crate::protocol) stops: SmallVec<[CoveredCell; 4]>,
}

impl CellCover {
    /// The cell_cover of a cluster that covers these bounds, with some room if it will most likely stay near.
    pub fn new<D: Dynamics>(
        grid: &Grid,
        dynamics: &D,
        cluster: &[(BodyIndex, D::Flight)],
        covered: &[Aabb],
        is_near: bool,
    ) -> Self {
        let mut rooms: SmallVec<[(BodyIndex, Aabb); 1]> = SmallVec::with_capacity(cluster.len());
        let mut ranges = SmallVec::with_capacity(cluster.len());
        let mut places: SmallVec<[(Key, Cell); 8]> = SmallVec::new();
        for (at, ((body, _), bounds)) in cluster.iter().zip(covered).enumerate() {
            let radius = dynamics.radius(*body);
            let bounds = if is_near { bounds.grown(ROOM * radius) } else { *bounds };
            rooms.push((*body, bounds));
            ranges.push(grid.cells(&bounds, grid.level_of(radius), |cell| {
                let (bucket, within) = grid.bucket_and_rest(&cell);
                places.push(((bucket, within, at as u32), cell));
            }));
        }
        places.sort_unstable_by_key(|(key, _)| *key);
        let mut stops: SmallVec<[CoveredCell; 4]> = SmallVec::new();
        for (at, ((bucket, _, member), cell)) in places.iter().enumerate() {
            let (at, bounds) = (at as u32, Aabb32::of(&rooms[*member as usize].1));
            match stops.last_mut().map(|stop| &mut stop.span).filter(|span| span.cell == *cell) {
                Some(span) => {
                    span.members.1 = at + 1;
                    span.bounds.include(&bounds);
                }
                None => {
                    let span = CellSpan { cell: *cell, members: (at, at + 1), bounds };
                    stops.push(CoveredCell { bucket: *bucket, span });
                }
            }
        }
        let members = places.iter().map(|((_, _, member), _)| *member).collect();
        CellCover { rooms, ranges, members, stops }
    }

    /// Whether it is also the cell_cover of a cluster that covers other bounds: everybody stays in its room.
    pub fn fits<F>(&self, cluster: &[(BodyIndex, F)], covered: &[Aabb]) -> bool {
        let stays = |((body, _), bounds): (&(BodyIndex, F), &Aabb), (who, room): &(BodyIndex, Aabb)| {
            body == who && room.contains(bounds)
        };
        let rooms = &self.rooms;
        cluster.len() == rooms.len()
            && cluster.iter().zip(covered).zip(rooms).all(|(one, room)| stays(one, room))
    }

    /// Pairs of those who share a cell, as numbers in the cluster: enough of them to tell who is connected.
    pub(in crate::protocol) fn companions(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.stops
            .iter()
            .flat_map(|stop| self.members_in(&stop.span).windows(2).map(|pair| (pair[0], pair[1])))
    }

    /// Numbers in the cluster of those who pass a cell.
    pub fn members_in(&self, span: &CellSpan) -> &[u32] {
        &self.members[span.members.0 as usize..span.members.1 as usize]
    }
}

impl Serialize for CellCover {
    /// The bounds of every body, which decide everything else.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let corners = self.rooms.iter().map(|(_, bounds)| (bounds.min, bounds.max));
        serializer.collect_seq(corners.map(|(min, max)| [min.x, min.y, min.z, max.x, max.y, max.z]))
    }
}
