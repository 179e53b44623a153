//! The cells that a cluster covers while it flies, their buckets, and which body covers which cell.
//!
//! A body that is held hardly moves from one tick to the next, so its bounds can have a margin; as long as every body
//! stays within its bounds, the next step uses the same cover again.

use serde::{Serialize, Serializer};
use smallvec::SmallVec;

use crate::base::aabb::Aabb;
use crate::protocol::dynamics::{BodyIndex, Dynamics};
use crate::protocol::tvht::cell_grid::{Aabb32, Cell, CellRange, Grid};

/// Margin of a body that stays near, as a share of its radius. Not tuned.
const NEAR_MARGIN: f64 = 0.25;

/// The bodies of a cluster that pass a cell, and the bounds of everything they cover.
#[derive(Clone, Copy, Debug)]
pub struct CellSpan {
    /// The cell.
    pub cell: Cell,
    /// A range of the cover's list of members.
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

/// A bucket, a part of the cell, and a body: sorting by this brings the bodies of one cell together.
type Key = (u32, u32, u32);

/// The cells that a cluster covers.
#[derive(Clone, Debug)]
pub struct CellCover {
    /// The bodies, and the bounds of each.
    bounds: SmallVec<[(BodyIndex, Aabb); 1]>,
    /// The lowest cell of each body.
    pub(in crate::protocol) ranges: SmallVec<[CellRange; 1]>,
    /// Numbers of bodies in the cluster, cell by cell.
    members: SmallVec<[u32; 8]>,
    /// Cells, in the order of their buckets.
    pub(in crate::protocol) stops: SmallVec<[CoveredCell; 4]>,
}

impl CellCover {
    /// The cells of a cluster that covers these bounds, with a margin if it will most likely stay near.
    pub fn new<D: Dynamics>(
        grid: &Grid,
        dynamics: &D,
        cluster: &[(BodyIndex, D::Flight)],
        covered: &[Aabb],
        is_near: bool,
    ) -> Self {
        let mut margins: SmallVec<[(BodyIndex, Aabb); 1]> = SmallVec::with_capacity(cluster.len());
        let mut ranges = SmallVec::with_capacity(cluster.len());
        let mut passed: SmallVec<[(Key, Cell); 8]> = SmallVec::new();
        for (at, ((body, _), bounds)) in cluster.iter().zip(covered).enumerate() {
            let radius = dynamics.radius(*body);
            let bounds = if is_near { bounds.grown(NEAR_MARGIN * radius) } else { *bounds };
            margins.push((*body, bounds));
            ranges.push(grid.cells(&bounds, grid.level_of(radius), |cell| {
                let (bucket, within) = grid.bucket_and_rest(&cell);
                passed.push(((bucket, within, at as u32), cell));
            }));
        }
        passed.sort_unstable_by_key(|(key, _)| *key);
        let mut stops: SmallVec<[CoveredCell; 4]> = SmallVec::new();
        for (at, ((bucket, _, member), cell)) in passed.iter().enumerate() {
            let (at, bounds) = (at as u32, Aabb32::of(&margins[*member as usize].1));
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
        let members = passed.iter().map(|((_, _, member), _)| *member).collect();
        CellCover { bounds: margins, ranges, members, stops }
    }

    /// Whether it also covers a cluster with other bounds: every body stays within its own.
    pub fn fits<F>(&self, cluster: &[(BodyIndex, F)], covered: &[Aabb]) -> bool {
        let stays = |((body, _), bounds): (&(BodyIndex, F), &Aabb), (known, margin): &(BodyIndex, Aabb)| {
            body == known && margin.contains(bounds)
        };
        let known = &self.bounds;
        cluster.len() == known.len()
            && cluster.iter().zip(covered).zip(known).all(|(one, margin)| stays(one, margin))
    }

    /// Numbers, in the cluster, of the bodies that pass a cell.
    pub fn members_in(&self, span: &CellSpan) -> &[u32] {
        &self.members[span.members.0 as usize..span.members.1 as usize]
    }
}

impl Serialize for CellCover {
    /// The bounds of every body, which decide everything else.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let corners = self.bounds.iter().map(|(_, bounds)| (bounds.min, bounds.max));
        serializer.collect_seq(corners.map(|(min, max)| [min.x, min.y, min.z, max.x, max.y, max.z]))
    }
}
