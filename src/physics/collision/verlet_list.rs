//! Verlet lists: which bodies of a cluster may come near each other, with a skin around each body, so that the list
//! holds for several ticks.
//!
//! At every tick only plain positions are looked at, which lie next to each other in memory. The bodies themselves are
//! looked at where they are near enough to touch.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::base::aabb::Aabb;
use crate::base::math::Vec3;
use crate::base::parallel;
use crate::base::time::Tick;
use crate::physics::collision::broad_phase::Grid;
use crate::physics::{Flight, World};

/// Skin on every side of a body, as a share of its radius. It was 0.3 before 6e2209b; no figures were kept.
const SKIN: f64 = 0.25;
/// Bounds reach to where the body will be after as many ticks as it has flown without contact, but at least and at most
/// this many. Before 1ba476a it was always 8; that commit as a whole made the scenario bouncing 1.5 times as fast.
const DRIFT_TICKS: (u64, u64) = (4, 24);
/// If at most this many bodies have left their bounds, only those get new ones; else all do. It was 8 before
/// 1ba476a (see above).
const ESCAPED_MAX: usize = 32;
/// At most this many lists are kept; when there would be more, all are dropped. Not tuned: it only limits memory.
const LISTS_MAX: usize = 256;
/// Factor on the square of the distance at which bodies touch: a margin for rounding.
const TOUCH_SLACK: f64 = 1.0 + 1e-9;
/// Share of its coordinates by which a position may be rounded.
const ROUNDING: f64 = 1e-12;

/// The Verlet lists of some clusters. Only for speed: they never leave out a pair that may touch.
#[derive(Default)]
pub(crate) struct VerletLists {
    grid: Grid,
    /// Lists by the first body of the cluster.
    lists: BTreeMap<u32, VerletList>,
}

/// The bounds of all bodies of a cluster when their neighbours were looked for, and which neighbours were found.
/// Bodies are numbered by their order in the cluster.
#[derive(Default)]
pub(crate) struct VerletList {
    /// The bodies, and the distance from its centre at which each may touch something, metres. Both are compared with
    /// the cluster's, because late bodies of another world may have the same index.
    bodies: Vec<(u32, f64)>,
    /// [`StaticBvh::number`](crate::physics::collision::static_bvh::StaticBvh::number) of the static geometry.
    statics: u64,
    /// What each body may cover while the list holds.
    bounds: Vec<Aabb>,
    /// Where the centre of each body may be while the list holds.
    centre_bounds: Vec<Aabb>,
    /// Where the centre of each body is at the current tick.
    positions: Vec<Vec3>,
    /// Pairs of bodies with overlapping bounds.
    pairs: Vec<Pair>,
    /// Bodies and static geometry with overlapping bounds.
    with_statics: Vec<(u32, u32)>,
    /// Which bodies are getting new bounds; all false between calls.
    has_moved: Vec<bool>,
}

/// Two bodies that may come near each other.
struct Pair {
    a: u32,
    b: u32,
    /// They do not touch if the square of their distance is not below this, square metres.
    touch_below_m2: f64,
}

impl VerletLists {
    /// Pairs of bodies with overlapping `bounds`.
    pub fn within(&mut self, bounds: &[Aabb]) -> &[(u32, u32)] {
        self.grid.overlapping(bounds)
    }

    /// The list of a cluster, brought up to `tick`.
    pub fn at(&mut self, world: &World, tick: Tick, cluster: &[(u32, Flight)]) -> &VerletList {
        let first = cluster.first().map_or(u32::MAX, |(first, _)| *first);
        if self.lists.len() >= LISTS_MAX && !self.lists.contains_key(&first) {
            self.lists.clear();
        }
        let list = self.lists.entry(first).or_default();
        list.update(&mut self.grid, world, tick, cluster);
        list
    }
}

impl VerletList {
    /// Pairs of bodies that are near enough to touch, in no order.
    pub fn find_pairs(&self, pairs: &mut Vec<(u32, u32)>) {
        let at = |number: u32| self.positions[number as usize];
        parallel::par_collect(pairs, self.pairs.len(), |range, found| {
            for &Pair { a, b, touch_below_m2 } in &self.pairs[range] {
                if (at(a) - at(b)).norm_squared() < touch_below_m2 {
                    found.push((a, b));
                }
            }
        });
    }

    /// Bodies and static geometry with bounds that may overlap, in ascending order.
    pub fn with_statics(&self) -> &[(u32, u32)] {
        &self.with_statics
    }

    /// Brings the list up to a tick.
    fn update(&mut self, grid: &mut Grid, world: &World, tick: Tick, cluster: &[(u32, Flight)]) {
        parallel::par_fill(&mut self.positions, cluster.len(), |at| cluster[at].1.position_at(world, tick));
        let is_same = self.statics == world.static_bvh.number()
            && self.bodies.len() == cluster.len()
            && self
                .bodies
                .iter()
                .zip(cluster)
                .all(|(known, (body, _))| *known == (*body, reach(world, *body)));
        if !is_same {
            return self.rebuild(grid, world, tick, cluster);
        }
        let mut escaped: SmallVec<[u32; ESCAPED_MAX]> = SmallVec::new();
        for (number, (x, allowed)) in self.positions.iter().zip(&self.centre_bounds).enumerate() {
            if allowed.holds(*x) {
                continue;
            }
            if escaped.len() == ESCAPED_MAX {
                return self.rebuild(grid, world, tick, cluster);
            }
            escaped.push(number as u32);
        }
        if !escaped.is_empty() {
            self.rebuild_some(world, tick, cluster, &escaped);
        }
    }

    /// Gives the bodies that have left their bounds new ones, and looks for their neighbours.
    fn rebuild_some(&mut self, world: &World, tick: Tick, cluster: &[(u32, Flight)], escaped: &[u32]) {
        for number in escaped.iter().map(|number| *number as usize) {
            self.bounds[number] = bounds_ahead(world, tick, &cluster[number], self.positions[number]);
            self.centre_bounds[number] = shrunk(&self.bounds[number], self.bodies[number].1);
            self.has_moved[number] = true;
        }
        let VerletList { bodies, bounds, pairs, with_statics, has_moved, .. } = self;
        let stays = |number: u32| !has_moved[number as usize];
        pairs.retain(|pair| stays(pair.a) && stays(pair.b));
        with_statics.retain(|(body, _)| stays(*body));
        let mut found = Vec::new();
        for &own in escaped {
            let own_bounds = &bounds[own as usize];
            for (other, other_bounds) in bounds.iter().enumerate() {
                // Of two bodies that have both moved, the smaller number adds the pair.
                let other = other as u32;
                if own_bounds.overlaps(other_bounds) && other != own && (other > own || stays(other)) {
                    pairs.push(Pair::of(world, bodies, own.min(other), own.max(other)));
                }
            }
            world.static_bvh.near(own_bounds, &mut found);
            with_statics.extend(found.iter().map(|object| (own, *object)));
        }
        with_statics.sort_unstable();
        for number in escaped {
            has_moved[*number as usize] = false;
        }
    }

    /// Gives all bodies new bounds, and looks for all neighbours.
    fn rebuild(&mut self, grid: &mut Grid, world: &World, tick: Tick, cluster: &[(u32, Flight)]) {
        self.statics = world.static_bvh.number();
        self.bodies.clear();
        self.bodies.extend(cluster.iter().map(|(body, _)| (*body, reach(world, *body))));
        self.has_moved.clear();
        self.has_moved.resize(cluster.len(), false);
        let VerletList { bodies, bounds, centre_bounds, positions, pairs, with_statics, .. } = self;
        parallel::par_fill(bounds, cluster.len(), |at| {
            bounds_ahead(world, tick, &cluster[at], positions[at])
        });
        parallel::par_fill(centre_bounds, cluster.len(), |at| shrunk(&bounds[at], bodies[at].1));
        pairs.clear();
        pairs.extend(grid.overlapping(bounds).iter().map(|(a, b)| Pair::of(world, bodies, *a, *b)));
        parallel::par_collect(with_statics, bounds.len(), |range, found| {
            let mut near = Vec::new();
            for at in range {
                world.static_bvh.near(&bounds[at], &mut near);
                found.extend(near.iter().map(|object| (at as u32, *object)));
            }
        });
    }
}

impl Pair {
    fn of(world: &World, bodies: &[(u32, f64)], a: u32, b: u32) -> Self {
        let radius = |number: u32| world.bodies[bodies[number as usize].0 as usize].radius;
        let reached = radius(a) + radius(b) + world.rule.margin_m;
        Pair { a, b, touch_below_m2: reached * reached * TOUCH_SLACK }
    }
}

/// The distance from its centre at which a body may touch something, metres.
#[inline]
fn reach(world: &World, body: u32) -> f64 {
    world.bodies[body as usize].radius + world.rule.broad_margin_m
}

/// Where the centre of a body may be if everything within `reach` of it must stay in `bounds`. Far from the origin
/// rounding may exceed the margin, so it is subtracted too.
fn shrunk(bounds: &Aabb, reach: f64) -> Aabb {
    bounds.grown(-reach - ROUNDING * bounds.min.amax().max(bounds.max.amax()))
}

/// Bounds of a body and of where it is about to go, with a skin.
fn bounds_ahead(world: &World, tick: Tick, (body, flight): &(u32, Flight), x: Vec3) -> Aabb {
    let ticks = (tick - flight.since).clamp(DRIFT_TICKS.0, DRIFT_TICKS.1);
    let ahead_s = ticks as f64 * world.time.tick_s;
    let drift = flight.velocity_at(world, tick) * ahead_s + world.gravity * (0.5 * ahead_s * ahead_s);
    let now = Aabb::about(x, Vec3::repeat(reach(world, *body)));
    let then = Aabb { min: now.min + drift, max: now.max + drift };
    let rounded = 2.0 * ROUNDING * (x.amax() + drift.amax());
    now.union(&then).grown(SKIN * world.bodies[*body as usize].radius + rounded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::state::BodyState;
    use crate::physics::{touching, touching_static};
    use crate::scene::{Body, Scene, Shape, StaticObject};

    /// A world with a wall at `x`, and some balls.
    fn walled(x: f64, balls: usize) -> World {
        let wall = StaticObject::new(Shape::Box { half_extents: [0.1, 9.0, 9.0] }, [x, 0.0, 0.0]);
        let ball = |at: usize| Body::new(Shape::Sphere { radius: 0.4 }, [1.0 + at as f64, 0.0, 0.0]);
        let bodies = (0..balls).map(ball).collect();
        let scene = Scene { statics: vec![wall], bodies, ..Scene::default() };
        World::new(&scene).expect("the scene is right")
    }

    fn flying(since: Tick, x: [f64; 3], v: [f64; 3]) -> Flight {
        Flight { since, origin: BodyState { v: v.into(), ..BodyState::at_rest(x.into()) } }
    }

    fn positions() -> impl Strategy<Value = [f64; 3]> {
        prop::array::uniform3(-2.5..2.5f64)
    }

    fn velocities() -> impl Strategy<Value = [f64; 3]> {
        prop::array::uniform3(-9.0..9.0f64)
    }

    proptest! {
        /// However bodies fly, whichever of them change their flights and however far a rollback goes: no contact
        /// with another body or with the wall is missing from the list.
        #[test]
        fn no_contact_is_overlooked(
            start in prop::collection::vec((positions(), velocities()), 9..50),
            changes in prop::collection::vec((1..6u64, 0..50usize, velocities(), prop::option::weighted(0.2, positions())), 0..60),
            back in prop::option::of(1..40u64),
        ) {
            let world = walled(0.7, start.len());
            let mut cluster: Vec<(u32, Flight)> =
                (0..).zip(start.iter().map(|(x, v)| flying(0, *x, *v))).collect();
            let begun = cluster.clone();
            let mut lists = VerletLists::default();
            let mut ticks = Vec::new();
            let mut tick = 0;
            for (pause, body, v, elsewhere) in changes {
                ticks.extend((tick..tick + pause).map(|tick| (tick, cluster.clone())));
                tick += pause;
                let flight = &mut cluster[body % start.len()].1;
                let x = elsewhere.unwrap_or(flight.position_at(&world, tick).into());
                *flight = flying(tick, x, v);
            }
            ticks.extend((tick..tick + 80).map(|tick| (tick, cluster.clone())));
            if let Some(back) = back {
                ticks.extend((tick + 80 - back..tick + 80).map(|tick| (tick, begun.clone())));
            }
            for (tick, cluster) in ticks {
                let list = lists.at(&world, tick, &cluster);
                let mut pairs = Vec::new();
                list.find_pairs(&mut pairs);
                let walls = list.with_statics();
                let of = |number: usize| {
                    let body = &world.bodies[number];
                    (body, cluster[number].1.state_at(&world, body, tick))
                };
                for a in 0..cluster.len() {
                    let (body_a, state_a) = of(a);
                    let touches = touching_static(&world.rule, body_a, &state_a, &world.statics[0]).is_some();
                    prop_assert!(!touches || walls.contains(&(a as u32, 0)), "{a} and the wall at {tick}");
                    for b in a + 1..cluster.len() {
                        let (body_b, state_b) = of(b);
                        let touches = touching(&world.rule, body_a, &state_a, body_b, &state_b).is_some();
                        let found = pairs.iter().filter(|pair| **pair == (a as u32, b as u32)).count();
                        prop_assert!(!touches || found == 1, "{a} and {b} at {tick}: {found} times");
                    }
                }
            }
        }
    }

    /// A list made among other static geometry is not used.
    #[test]
    fn a_list_is_rebuilt_in_another_world() {
        let mut lists = VerletLists::default();
        let cluster = [(0, flying(0, [0.0; 3], [0.0; 3]))];
        let mut near = |x: f64| lists.at(&walled(x, 1), 0, &cluster).with_statics().len();
        assert_eq!((near(0.55), near(3.0), near(0.55)), (1, 0, 1));
    }
}
