//! Who of a large crew is near whom, with some room to move, so that the answer is good for several ticks.
//!
//! At every tick all that is looked at is where everybody is: plain numbers that lie next to each other. Only those who
//! are near enough to touch are looked at more closely.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::base::aabb::Aabb;
use crate::base::math::Vec3;
use crate::base::parallel;
use crate::base::time::Tick;
use crate::physics::collision::broad_phase::Grid;
use crate::physics::{Flight, World};
use crate::protocol::BodyIndex;

/// Room to move on every side, as a share of the radius of a body.
const ROOM: f64 = 0.25;
/// Room is made for where everybody will be after as many ticks as it has flown without touching anything, but for no
/// less and no more than so many.
const DRIFT_TICKS: (u64, u64) = (4, 24);
/// If no more than so many have left their rooms, only they get new ones.
const ESCAPED_MAX: usize = 32;
/// So many crews are remembered; then all are forgotten.
const KNOWN_MAX: usize = 256;
/// Bodies that touch are nearer than this many times the distance at which they do, squared: room for rounding.
const NEARER: f64 = 1.0 + 1e-9;

/// Share of its coordinates by which a place may be rounded.
const ROUNDING: f64 = 1e-12;

/// The neighbourhoods of some crews. Only for speed: it never forgets a pair that may touch.
#[derive(Default)]
pub(crate) struct Neighbours {
    grid: Grid,
    /// By the first body of the crew.
    known: BTreeMap<BodyIndex, Neighbourhood>,
}

/// The room everybody had when neighbours were looked for, and who was found.
#[derive(Default)]
pub(crate) struct Neighbourhood {
    /// Who they were, and how far each reached: bodies that come late may be others in another world.
    bodies: Vec<(BodyIndex, f64)>,
    /// The number of the static geometry that they were among.
    statics: u64,
    /// Where each may be, all of it, and where its middle may be.
    rooms: Vec<Aabb>,
    cages: Vec<Aabb>,
    /// Where the middle of each is.
    positions: Vec<Vec3>,
    /// Pairs of bodies whose rooms overlap, as numbers in the list.
    pairs: Vec<Pair>,
    /// Bodies and static geometry near them.
    with_statics: Vec<(u32, u32)>,
    /// Who has got a new room.
    has_moved: Vec<bool>,
}

/// Two bodies that may come near each other.
struct Pair {
    a: u32,
    b: u32,
    /// They do not touch if the square of their distance is not below this.
    near: f64,
}

impl Neighbours {
    /// Who is near whom while everybody covers its `bounds`.
    pub fn within(&mut self, bounds: &[Aabb]) -> &[(u32, u32)] {
        self.grid.overlapping(bounds)
    }

    /// Who may touch whom at `tick`.
    pub fn at(&mut self, world: &World, tick: Tick, crew: &[(BodyIndex, Flight)]) -> &Neighbourhood {
        let first = crew.first().map_or(BodyIndex::MAX, |(first, _)| *first);
        if self.known.len() >= KNOWN_MAX && !self.known.contains_key(&first) {
            self.known.clear();
        }
        let known = self.known.entry(first).or_default();
        known.follow(&mut self.grid, world, tick, crew);
        known
    }
}

impl Neighbourhood {
    /// Pairs of bodies that are near enough to touch, in no order.
    pub fn find_pairs(&self, pairs: &mut Vec<(u32, u32)>) {
        let at = |number: u32| self.positions[number as usize];
        parallel::par_collect(pairs, self.pairs.len(), |range, found| {
            for &Pair { a, b, near } in &self.pairs[range] {
                if (at(a) - at(b)).norm_squared() < near {
                    found.push((a, b));
                }
            }
        });
    }

    /// Bodies and static geometry whose bounds may overlap, in order.
    pub fn with_statics(&self) -> &[(u32, u32)] {
        &self.with_statics
    }

    /// Brings what is known up to a tick.
    fn follow(&mut self, grid: &mut Grid, world: &World, tick: Tick, crew: &[(BodyIndex, Flight)]) {
        parallel::par_fill(&mut self.positions, crew.len(), |at| crew[at].1.position_at(world, tick));
        let is_same = self.statics == world.static_bvh.number()
            && self.bodies.len() == crew.len()
            && self.bodies.iter().zip(crew).all(|(known, (body, _))| *known == (*body, reach(world, *body)));
        if !is_same {
            return self.look(grid, world, tick, crew);
        }
        let mut escaped: SmallVec<[u32; ESCAPED_MAX]> = SmallVec::new();
        for (number, (x, cage)) in self.positions.iter().zip(&self.cages).enumerate() {
            if cage.holds(*x) {
                continue;
            }
            if escaped.len() == ESCAPED_MAX {
                return self.look(grid, world, tick, crew);
            }
            escaped.push(number as u32);
        }
        if !escaped.is_empty() {
            self.move_house(world, tick, crew, &escaped);
        }
    }

    /// Gives some new rooms, and finds out who is near them there.
    fn move_house(&mut self, world: &World, tick: Tick, crew: &[(BodyIndex, Flight)], escaped: &[u32]) {
        for number in escaped.iter().map(|number| *number as usize) {
            self.rooms[number] = room(world, tick, &crew[number], self.positions[number]);
            self.cages[number] = cage(&self.rooms[number], self.bodies[number].1);
            self.has_moved[number] = true;
        }
        let Neighbourhood { bodies, rooms, pairs, with_statics, has_moved, .. } = self;
        let stays = |number: u32| !has_moved[number as usize];
        pairs.retain(|pair| stays(pair.a) && stays(pair.b));
        with_statics.retain(|(body, _)| stays(*body));
        let mut found = Vec::new();
        for &own in escaped {
            let room = &rooms[own as usize];
            for (other, theirs) in rooms.iter().enumerate() {
                // Two that have both moved are a pair once.
                let other = other as u32;
                if room.overlaps(theirs) && other != own && (other > own || stays(other)) {
                    pairs.push(Pair::of(world, bodies, own.min(other), own.max(other)));
                }
            }
            world.static_bvh.near(room, &mut found);
            with_statics.extend(found.iter().map(|object| (own, *object)));
        }
        with_statics.sort_unstable();
        for number in escaped {
            has_moved[*number as usize] = false;
        }
    }

    /// Gives everybody a new room.
    fn look(&mut self, grid: &mut Grid, world: &World, tick: Tick, crew: &[(BodyIndex, Flight)]) {
        self.statics = world.static_bvh.number();
        self.bodies.clear();
        self.bodies.extend(crew.iter().map(|(body, _)| (*body, reach(world, *body))));
        self.has_moved.clear();
        self.has_moved.resize(crew.len(), false);
        let Neighbourhood { bodies, rooms, cages, positions, pairs, with_statics, .. } = self;
        parallel::par_fill(rooms, crew.len(), |at| room(world, tick, &crew[at], positions[at]));
        parallel::par_fill(cages, crew.len(), |at| cage(&rooms[at], bodies[at].1));
        pairs.clear();
        pairs.extend(grid.overlapping(rooms).iter().map(|(a, b)| Pair::of(world, bodies, *a, *b)));
        parallel::par_collect(with_statics, rooms.len(), |range, found| {
            let mut near = Vec::new();
            for at in range {
                world.static_bvh.near(&rooms[at], &mut near);
                found.extend(near.iter().map(|object| (at as u32, *object)));
            }
        });
    }
}

impl Pair {
    fn of(world: &World, bodies: &[(BodyIndex, f64)], a: u32, b: u32) -> Self {
        let radius = |number: u32| world.bodies[bodies[number as usize].0 as usize].radius;
        let reached = radius(a) + radius(b) + world.rule.margin_m;
        Pair { a, b, near: reached * reached * NEARER }
    }
}

/// How far from its middle a body may touch something.
#[inline]
fn reach(world: &World, body: BodyIndex) -> f64 {
    world.bodies[body as usize].radius + world.rule.broad_margin_m
}

/// Where the middle of a body that reaches so far may be in its room. Far from the origin numbers are rounded to more
/// than there is of margin.
fn cage(room: &Aabb, reach: f64) -> Aabb {
    room.grown(-reach - ROUNDING * room.min.amax().max(room.max.amax()))
}

/// Room for where a body is about to go.
fn room(world: &World, tick: Tick, (body, flight): &(BodyIndex, Flight), x: Vec3) -> Aabb {
    let ticks = (tick - flight.since).clamp(DRIFT_TICKS.0, DRIFT_TICKS.1);
    let ahead_s = ticks as f64 * world.time.tick_s;
    let drift = flight.velocity_at(world, tick) * ahead_s + world.gravity * (0.5 * ahead_s * ahead_s);
    let now = Aabb::about(x, Vec3::repeat(reach(world, *body)));
    let then = Aabb { min: now.min + drift, max: now.max + drift };
    let rounded = 2.0 * ROUNDING * (x.amax() + drift.amax());
    now.union(&then).grown(ROOM * world.bodies[*body as usize].radius + rounded)
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

    fn places() -> impl Strategy<Value = [f64; 3]> {
        prop::array::uniform3(-2.5..2.5f64)
    }

    fn velocities() -> impl Strategy<Value = [f64; 3]> {
        prop::array::uniform3(-9.0..9.0f64)
    }

    proptest! {
        /// However bodies fly, whoever changes its flight and however time is taken back: nobody who touches somebody
        /// or the wall is missing.
        #[test]
        fn nobody_who_touches_is_overlooked(
            start in prop::collection::vec((places(), velocities()), 9..50),
            changes in prop::collection::vec((1..6u64, 0..50usize, velocities(), prop::option::weighted(0.2, places())), 0..60),
            back in prop::option::of(1..40u64),
        ) {
            let world = walled(0.7, start.len());
            let mut crew: Vec<(BodyIndex, Flight)> =
                (0..).zip(start.iter().map(|(x, v)| flying(0, *x, *v))).collect();
            let begun = crew.clone();
            let mut neighbours = Neighbours::default();
            let mut ticks = Vec::new();
            let mut tick = 0;
            for (pause, body, v, elsewhere) in changes {
                ticks.extend((tick..tick + pause).map(|tick| (tick, crew.clone())));
                tick += pause;
                let flight = &mut crew[body % start.len()].1;
                let x = elsewhere.unwrap_or(flight.position_at(&world, tick).into());
                *flight = flying(tick, x, v);
            }
            ticks.extend((tick..tick + 80).map(|tick| (tick, crew.clone())));
            if let Some(back) = back {
                ticks.extend((tick + 80 - back..tick + 80).map(|tick| (tick, begun.clone())));
            }
            for (tick, crew) in ticks {
                let near = neighbours.at(&world, tick, &crew);
                let mut pairs = Vec::new();
                near.find_pairs(&mut pairs);
                let walls = near.with_statics();
                let of = |number: usize| {
                    let body = &world.bodies[number];
                    (body, crew[number].1.state_at(&world, body, tick))
                };
                for a in 0..crew.len() {
                    let (body_a, state_a) = of(a);
                    let touches = touching_static(&world.rule, body_a, &state_a, &world.statics[0]).is_some();
                    prop_assert!(!touches || walls.contains(&(a as u32, 0)), "{a} and the wall at {tick}");
                    for b in a + 1..crew.len() {
                        let (body_b, state_b) = of(b);
                        let touches = touching(&world.rule, body_a, &state_a, body_b, &state_b).is_some();
                        let found = pairs.iter().filter(|pair| **pair == (a as u32, b as u32)).count();
                        prop_assert!(!touches || found == 1, "{a} and {b} at {tick}: {found} times");
                    }
                }
            }
        }
    }

    /// What one world has taught is of no use in another.
    #[test]
    fn other_surroundings_are_looked_at_anew() {
        let mut neighbours = Neighbours::default();
        let crew = [(0, flying(0, [0.0; 3], [0.0; 3]))];
        let mut near = |x: f64| neighbours.at(&walled(x, 1), 0, &crew).with_statics().len();
        assert_eq!((near(0.55), near(3.0), near(0.55)), (1, 0, 1));
    }
}
