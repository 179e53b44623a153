//! Two boxes: the axis along which they overlap least, then one face clipped by the other, or two edges.

use crate::base::math::{Mat3, Vec3, rotation_matrix};
use crate::physics::collision::kernels::reduce::PointList;
use crate::physics::collision::kernels::{ContactPoint, Manifold, Placed};

/// Pairs of edges count only if they separate the boxes better than any face by this share of the smaller
/// half extent. Faces give several points, and keep their feature numbers from tick to tick. Not tuned.
const EDGE_HANDICAP: f64 = 1e-3;

/// A box with its axes in world coordinates.
struct OrientedBox<'a> {
    centre: Vec3,
    /// The columns are unit vectors along the edges.
    axes: Mat3,
    half: &'a Vec3,
}

impl OrientedBox<'_> {
    fn axis(&self, k: usize) -> Vec3 {
        self.axes.column(k).into_owned()
    }
}

/// The axis along which two boxes overlap least.
enum Separation {
    /// A face of the first or the second box.
    Face { of_first: bool, axis: usize },
    /// An edge of each box.
    Edges { first: usize, second: usize, normal: Vec3, gap: f64 },
}

pub(super) fn contact(a: &Placed, half_a: &Vec3, b: &Placed, half_b: &Vec3, reach: f64) -> Manifold {
    let first = OrientedBox { centre: a.x, axes: rotation_matrix(&a.q), half: half_a };
    let second = OrientedBox { centre: b.x, axes: rotation_matrix(&b.q), half: half_b };
    match separation(&first, &second, reach) {
        None => Manifold::empty(),
        Some(Separation::Face { of_first: true, axis }) => {
            clip_faces(&first, &second, axis, reach, 0).flipped()
        }
        Some(Separation::Face { axis, .. }) => clip_faces(&second, &first, axis, reach, 1),
        Some(Separation::Edges { first: i, second: j, normal, gap }) => {
            Manifold::single(edge_point(&first, i, &second, j, normal, gap))
        }
    }
}

/// The best of the fifteen axes that can separate two boxes; `None` if one keeps them `reach` apart.
fn separation(a: &OrientedBox, b: &OrientedBox, reach: f64) -> Option<Separation> {
    let d = b.centre - a.centre;
    let turn = a.axes.transpose() * b.axes;
    let spread = turn.abs();
    let (in_a, in_b) = (a.axes.transpose() * d, b.axes.transpose() * d);
    let gaps_a = in_a.abs() - (a.half + spread * b.half);
    let gaps_b = in_b.abs() - (b.half + spread.transpose() * a.half);
    if gaps_a.max() >= reach || gaps_b.max() >= reach {
        return None;
    }
    let slack = EDGE_HANDICAP * a.half.min().min(b.half.min());
    let (axis_a, axis_b) = (gaps_a.imax(), gaps_b.imax());
    // The face of the larger box is preferred unless the other is clearly better: a broad floor that is tilted by a hair
    // extends far beyond the faces of what stands on it, and the choice must not change from tick to tick.
    let first_is_larger = a.half.norm_squared() >= b.half.norm_squared();
    let (bonus_a, bonus_b) = if first_is_larger { (slack, 0.0) } else { (0.0, slack) };
    let (of_first, axis, face_gap) = if gaps_b[axis_b] + bonus_b > gaps_a[axis_a] + bonus_a {
        (false, axis_b, gaps_b[axis_b])
    } else {
        (true, axis_a, gaps_a[axis_a])
    };
    let mut best = Separation::Face { of_first, axis };
    let mut best_gap = face_gap + slack;
    for i in 0..3 {
        for j in 0..3 {
            let cross = a.axis(i).cross(&b.axis(j));
            let length = cross.norm();
            // Parallel edges separate no better than faces do.
            if length < 1e-4 {
                continue;
            }
            let normal = cross / length;
            let along = normal.dot(&d);
            let support = |b: &OrientedBox| (b.axes.transpose() * normal).abs().dot(b.half);
            let gap = along.abs() - (support(a) + support(b));
            if gap >= reach {
                return None;
            }
            if gap > best_gap {
                best_gap = gap;
                // Into the first box, that is against the way to the second.
                let normal = if along > 0.0 { -normal } else { normal };
                best = Separation::Edges { first: i, second: j, normal, gap };
            }
        }
    }
    Some(best)
}

/// A corner of the incident face while it is clipped: position in the reference face's coordinates
/// (two along it, one above it), and a number for what it came from.
#[derive(Clone, Copy)]
struct Corner {
    at: Vec3,
    feature: u64,
}

/// The face of the incident box that points most against face `axis` of the reference box, clipped to that face.
/// Normals point out of the reference box.
fn clip_faces(
    reference: &OrientedBox,
    incident: &OrientedBox,
    axis: usize,
    reach: f64,
    role: u64,
) -> Manifold {
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let d = reference.axes.transpose() * (incident.centre - reference.centre);
    let side = if d[axis] < 0.0 { -1.0 } else { 1.0 };
    let turn = reference.axes.transpose() * incident.axes;
    let facing = turn.row(axis).transpose();
    let face = facing.abs().imax();
    let face_side = if facing[face] * side > 0.0 { -1.0 } else { 1.0 };
    let (p, r) = ((face + 1) % 3, (face + 2) % 3);
    let corner = |sp: f64, sr: f64, number: u64| {
        let mut local = Vec3::zeros();
        local[face] = face_side * incident.half[face];
        local[p] = sp * incident.half[p];
        local[r] = sr * incident.half[r];
        let at = d + turn * local;
        let above = side * at[axis] - reference.half[axis];
        Corner { at: Vec3::new(at[u], at[v], above), feature: number }
    };
    let mut polygon = Polygon::new();
    for (sp, sr, number) in [(-1.0, -1.0, 1), (1.0, -1.0, 2), (1.0, 1.0, 3), (-1.0, 1.0, 4)] {
        polygon.push(corner(sp, sr, number));
    }
    let cuts = [(0, 1.0, u), (0, -1.0, u), (1, 1.0, v), (1, -1.0, v)];
    for (plane, (along, sign, limit)) in cuts.into_iter().enumerate() {
        polygon = polygon.clipped(along, sign, reference.half[limit], plane as u64);
    }
    let normal = reference.axis(axis) * side;
    let faces = role << 40
        | (axis as u64) << 36
        | u64::from(side > 0.0) << 35
        | (face as u64) << 32
        | u64::from(face_side > 0.0) << 31;
    let mut points = PointList::new();
    for corner in polygon.corners() {
        let gap = corner.at.z;
        if gap < reach {
            let mut local = Vec3::zeros();
            local[u] = corner.at.x;
            local[v] = corner.at.y;
            local[axis] = side * (reference.half[axis] + 0.5 * gap);
            let point = reference.centre + reference.axes * local;
            points.push(ContactPoint { feature: faces | corner.feature, point, normal, gap });
        }
    }
    points.tell_features_apart();
    points.reduce()
}

/// A convex polygon of at most eight corners: four, and one more for each of four cuts.
struct Polygon {
    corners: [Corner; 8],
    len: usize,
}

impl Polygon {
    fn new() -> Self {
        Polygon { corners: [Corner { at: Vec3::new(0.0, 0.0, 0.0), feature: 0 }; 8], len: 0 }
    }

    fn push(&mut self, corner: Corner) {
        // Rounding can make a cut produce one corner more than geometry allows; it would be a duplicate.
        if self.len < self.corners.len() {
            self.corners[self.len] = corner;
            self.len += 1;
        }
    }

    fn corners(&self) -> &[Corner] {
        &self.corners[..self.len]
    }

    /// What remains where `sign * at[along] <= limit`.
    fn clipped(&self, along: usize, sign: f64, limit: f64, plane: u64) -> Polygon {
        let mut out = Polygon::new();
        let outside = |corner: &Corner| sign * corner.at[along] - limit;
        for k in 0..self.len {
            let (from, to) = (self.corners[k], self.corners[(k + 1) % self.len]);
            let (d0, d1) = (outside(&from), outside(&to));
            if d0 <= 0.0 {
                out.push(from);
            }
            if (d0 <= 0.0) != (d1 <= 0.0) {
                let at = from.at + (to.at - from.at) * (d0 / (d0 - d1));
                // Numbered by the cutting plane and the edge it cuts, in either direction.
                let (low, high) = (from.feature.min(to.feature), from.feature.max(to.feature));
                out.push(Corner { at, feature: (8 + plane) << 12 | (low & 63) << 6 | (high & 63) });
            }
        }
        out
    }
}

/// The contact point of two edges that pass each other.
fn edge_point(a: &OrientedBox, i: usize, b: &OrientedBox, j: usize, normal: Vec3, gap: f64) -> ContactPoint {
    // The edge of `a` that reaches farthest against the normal, and that of `b` farthest along it.
    let edge = |of: &OrientedBox, axis: usize, towards: Vec3| {
        let local = of.axes.transpose() * towards;
        let (mut at, mut name) = (of.centre, 0u64);
        for k in (0..3).filter(|k| *k != axis) {
            let sign = if local[k] < 0.0 { -1.0 } else { 1.0 };
            at += of.axis(k) * (sign * of.half[k]);
            name = name << 1 | u64::from(sign > 0.0);
        }
        (at, name)
    };
    let (pa, name_a) = edge(a, i, -normal);
    let (pb, name_b) = edge(b, j, normal);
    let (ua, ub) = (a.axis(i), b.axis(j));
    // Nearest points of the lines pa + s ua and pb + t ub.
    let (w, k) = (pb - pa, ua.dot(&ub));
    let denominator = 1.0 - k * k;
    let s = (ua.dot(&w) - k * ub.dot(&w)) / denominator;
    let on_a = pa + ua * s.clamp(-a.half[i], a.half[i]);
    let feature = 1 << 48 | (i as u64) << 8 | (j as u64) << 6 | name_a << 2 | name_b;
    ContactPoint { feature, point: on_a - normal * (0.5 * gap), normal, gap }
}
