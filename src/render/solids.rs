//! A set of solids in the world and the bounding-volume hierarchy that finds those along a ray.
//!
//! Two such sets make a picture: the static geometry, built once, and the bodies, built for every frame.

use std::sync::Arc;

use parry3d::bounding_volume::Aabb as ParryAabb;
use parry3d::partitioning::{Bvh, BvhBuildStrategy, BvhNode, TraversalAction};

use crate::base::aabb::Aabb;
use crate::base::math::{Mat3, Quat, Vec3, from_parry, rotation_matrix, to_parry};
use crate::physics::shape::Shape;
use crate::render::solid::{Ray, Solid, Span};

/// Objects with larger coordinates are not drawn: squares of such numbers lose all smaller terms.
const FARTHEST_M: f64 = 1e12;

/// A solid at a pose in the world.
pub(super) struct Placed {
    pub solid: Arc<Solid>,
    pub x: Vec3,
    /// Columns are the solid's axes in the world.
    pub axes: Mat3,
}

impl Placed {
    /// A world point in the solid's coordinates.
    #[inline]
    pub fn local(&self, p: Vec3) -> Vec3 {
        self.axes.tr_mul(&(p - self.x))
    }
}

/// The first hit of a ray on a set of solids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub t: f64,
    /// Unit normal that points out of the solid.
    pub normal: Vec3,
    /// Index of the solid in the set.
    pub index: u32,
}

/// Solids in the world, found fast along rays.
#[derive(Default)]
pub(super) struct Solids {
    pub things: Vec<Placed>,
    bvh: Bvh,
    /// Index of the thing at each leaf of the hierarchy.
    leaves: Vec<u32>,
    /// Half-spaces have no bounds; every ray is tested against them.
    unbounded: Vec<u32>,
}

impl Solids {
    /// Shapes with their poses. Those with a pose that cannot be drawn keep their index but are never hit.
    pub fn new<'a>(things: impl IntoIterator<Item = (&'a Shape, Arc<Solid>, Vec3, Quat)>) -> Self {
        let mut group = Solids::default();
        let mut bounds = Vec::new();
        for (index, (shape, solid, x, q)) in things.into_iter().enumerate() {
            let unit = drawable_pose(x, &q);
            let q = unit.unwrap_or_else(Quat::identity);
            let aabb = shape.aabb(x, &q);
            let drawable = unit.is_some();
            if drawable && matches!(*solid, Solid::HalfSpace { .. }) {
                group.unbounded.push(index as u32);
            } else if drawable && is_sane(&aabb) {
                group.leaves.push(index as u32);
                bounds.push(ParryAabb::new(to_parry(aabb.min), to_parry(aabb.max)));
            }
            group.things.push(Placed { solid, x, axes: rotation_matrix(&q) });
        }
        group.bvh = Bvh::from_leaves(BvhBuildStrategy::Binned, &bounds);
        group
    }

    /// The first of the accepted solids that the ray enters. `front_only` as in [`Solid::enter`].
    #[inline]
    pub fn nearest(
        &self,
        ray: &Ray,
        span: Span,
        front_only: impl Fn(u32) -> bool,
        accept: impl Fn(u32) -> bool,
    ) -> Option<Hit> {
        let enter = |index: u32, to: f64| {
            if !accept(index) {
                return None;
            }
            let thing = &self.things[index as usize];
            thing.solid.enter(&thing.x, &thing.axes, ray, Span { from: span.from, to }, front_only(index))
        };
        let mut best: Option<Hit> = None;
        let mut reach = span.to;
        for &index in &self.unbounded {
            if let Some((t, normal)) = enter(index, reach) {
                best = Some(Hit { t, normal, index });
                reach = t;
            }
        }
        let enter_leaf = |leaf: u32, to: f64| enter(self.leaves[leaf as usize], to);
        let bounded = self.bvh.find_best(reach, |node, reach| node_entry(node, ray, reach), enter_leaf);
        bounded.map(|(leaf, (t, normal))| Hit { t, normal, index: self.leaves[leaf as usize] }).or(best)
    }

    /// Whether the ray enters any of the accepted solids.
    #[inline]
    pub fn blocks(&self, ray: &Ray, span: Span, accept: impl Fn(u32) -> bool) -> bool {
        let enters = |index: u32| {
            let thing = &self.things[index as usize];
            accept(index) && thing.solid.enter(&thing.x, &thing.axes, ray, span, false).is_some()
        };
        if self.unbounded.iter().any(|index| enters(*index)) {
            return true;
        }
        let mut blocked = false;
        self.bvh.traverse(|node| {
            if node_entry(node, ray, span.to) == f64::MAX {
                return TraversalAction::Prune;
            }
            blocked = node.leaf_data().is_some_and(|leaf| enters(self.leaves[leaf as usize]));
            if blocked { TraversalAction::EarlyExit } else { TraversalAction::Continue }
        });
        blocked
    }
}

/// The orientation scaled to unit length, if the pose can be drawn at all.
fn drawable_pose(x: Vec3, q: &Quat) -> Option<Quat> {
    let norm = q.coords.norm();
    let sane = x.iter().all(|c| c.abs() < FARTHEST_M) && norm > 1e-6 && norm < 1e6;
    sane.then(|| Quat::new_unchecked((q.coords / norm).into()))
}

fn is_sane(aabb: &Aabb) -> bool {
    aabb.min.iter().chain(aabb.max.iter()).all(|c| c.abs() < FARTHEST_M)
}

/// Distance at which the ray enters the node's box, zero from inside, `f64::MAX` if it misses.
#[inline(always)]
fn node_entry(node: &BvhNode, ray: &Ray, reach: f64) -> f64 {
    let low = (from_parry(node.mins()) - ray.origin).component_mul(&ray.inverse);
    let high = (from_parry(node.maxs()) - ray.origin).component_mul(&ray.inverse);
    // `min` and `max` pass over the NaN of a ray within a face.
    let enter = low.x.min(high.x).max(low.y.min(high.y)).max(low.z.min(high.z)).max(0.0);
    let leave = low.x.max(high.x).min(low.y.max(high.y)).min(low.z.max(high.z)).min(reach);
    if enter <= leave { enter } else { f64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::math::rotation_exp;
    use crate::physics::shape::Sphere;

    fn spheres(centres: &[Vec3]) -> Solids {
        let shape = Shape::Sphere(Sphere { radius: 0.5 });
        let solid = Arc::new(Solid::new(&shape));
        Solids::new(centres.iter().map(|x| (&shape, solid.clone(), *x, Quat::identity())))
    }

    #[test]
    fn the_nearest_of_many_is_found_as_by_asking_all() {
        let centres: Vec<Vec3> = (0..200)
            .map(|i| {
                let i = f64::from(i);
                Vec3::new((i * 0.618).fract(), (i * 0.755).fract(), (i * 0.57).fract()) * 12.0
            })
            .collect();
        let group = spheres(&centres);
        let mut met = 0;
        for k in 0..300 {
            let turn = rotation_exp(Vec3::new(0.1, 0.37, 0.23) * f64::from(k));
            let ray = Ray::new(Vec3::repeat(6.0) + turn * Vec3::x() * 20.0, turn * -Vec3::x());
            let all = (0..group.things.len()).filter_map(|i| {
                let thing = &group.things[i];
                let (t, _) = thing.solid.enter(&thing.x, &thing.axes, &ray, Span::ALL, false)?;
                Some((t, i as u32))
            });
            let expected = all.min_by(|a, b| a.0.total_cmp(&b.0));
            let found = group.nearest(&ray, Span::ALL, |_| false, |_| true).map(|m| (m.t, m.index));
            assert_eq!(found, expected, "ray {k}");
            assert_eq!(group.blocks(&ray, Span::ALL, |_| true), expected.is_some(), "ray {k}");
            met += usize::from(expected.is_some());
        }
        assert!(met > 100, "most rays meet something, else the test is empty: {met}");
    }

    #[test]
    fn poses_that_cannot_be_drawn_are_passed_over() {
        let wrong = [Vec3::repeat(f64::NAN), Vec3::repeat(f64::INFINITY), Vec3::repeat(1e200)];
        let group = spheres(&[wrong[0], wrong[1], Vec3::zeros(), wrong[2]]);
        let ray = Ray::new(Vec3::z() * 5.0, -Vec3::z());
        let met = group.nearest(&ray, Span::ALL, |_| false, |_| true).unwrap();
        assert_eq!((met.index, met.t), (2, 4.5));
    }
}
