//! The states of bodies at a tick, for frames: orientations four at a time.

use std::ops::Range;

use crate::base::ids::BodyId;
use crate::base::lanes::{LaneChoice, Lanes, Vec3Lanes, Work};
use crate::base::math::{self, Quat, Vec3, quat_raw};
use crate::base::parallel;
use crate::base::rotation;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::{Flight, Inertia, World};

/// Bodies that are turned together. Enough that what is written is in place before it is read. Not tuned.
const TOGETHER: usize = 32;

/// Evaluates `count` flights, each given with the index of its body, on all threads that help this one.
pub(crate) fn all(
    world: &World,
    lanes: LaneChoice,
    tick: Tick,
    count: usize,
    flight: impl Fn(usize) -> (u32, Flight) + Sync,
) -> Vec<(BodyId, BodyState)> {
    let mut states = Vec::new();
    parallel::par_collect(&mut states, count, |range, states| {
        some(world, lanes, tick, range, &flight, states);
    });
    states
}

/// Evaluates a range of flights on this thread.
pub(crate) fn some(
    world: &World,
    lanes: LaneChoice,
    tick: Tick,
    range: Range<usize>,
    flight: impl Fn(usize) -> (u32, Flight),
    states: &mut Vec<(BodyId, BodyState)>,
) {
    states.reserve(range.len());
    let mut turns = Turns::default();
    for at in range {
        let (body, flight) = flight(at);
        let def = &world.bodies[body as usize];
        let Flight { since, origin } = flight;
        if since == tick || matches!(def.inertia, Inertia::Principal { .. }) {
            states.push((def.id, flight.state_at(world, def, tick)));
            continue;
        }
        let (x, v) = (flight.position_at(world, tick), flight.velocity_at(world, tick));
        // Others are turned, if only by nothing: that makes zeros positive.
        if !(origin.w == Vec3::zeros() && has_plain_zeros(&origin.q)) {
            turns.add(states.len(), origin.w * world.time.span_s(since, tick), &origin.q);
        }
        states.push((def.id, BodyState { x, v, ..origin }));
        if turns.count == TOGETHER {
            lanes.run(Turn { turns: &mut turns, states });
        }
    }
    lanes.run(Turn { turns: &mut turns, states });
}

/// Whether no component is minus zero.
fn has_plain_zeros(q: &Quat) -> bool {
    q.coords.iter().all(|c| c.to_bits() != (-0.0f64).to_bits())
}

/// Bodies that have yet to be turned: angle and orientation, component by component.
struct Turns {
    count: usize,
    /// Where the state is in the list.
    at: [usize; TOGETHER],
    angle: [[f64; TOGETHER]; 3],
    q: [[f64; TOGETHER]; 4],
}

impl Default for Turns {
    fn default() -> Self {
        Turns { count: 0, at: [0; TOGETHER], angle: [[0.0; TOGETHER]; 3], q: [[0.0; TOGETHER]; 4] }
    }
}

impl Turns {
    fn add(&mut self, at: usize, angle: Vec3, q: &Quat) {
        let number = self.count;
        self.at[number] = at;
        for axis in 0..3 {
            self.angle[axis][number] = angle[axis];
        }
        for (column, component) in self.q.iter_mut().zip([q.i, q.j, q.k, q.w]) {
            column[number] = component;
        }
        self.count += 1;
    }
}

/// Turns bodies, and forgets them.
struct Turn<'a> {
    turns: &'a mut Turns,
    states: &'a mut [(BodyId, BodyState)],
}

impl Work for Turn<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Turns { count, at, angle: [x, y, z], q } = self.turns;
        for first in (0..*count).step_by(4) {
            let of = |column: &[f64; TOGETHER], lane: usize| column[first + lane];
            let angle = Vec3Lanes(L::front(&x[first..]), L::front(&y[first..]), L::front(&z[first..]));
            let q_lanes = [
                L::front(&q[0][first..]),
                L::front(&q[1][first..]),
                L::front(&q[2][first..]),
                L::front(&q[3][first..]),
            ];
            let turned = rotation::rotation_exp(angle).map(|by| L::transpose(rotation::product(by, q_lanes)));
            for lane in 0..(*count - first).min(4) {
                let state = &mut self.states[at[first + lane]].1;
                state.q = match &turned {
                    Some(rows) => {
                        let [i, j, k, w] = rows[lane].to_array();
                        quat_raw(i, j, k, w)
                    }
                    None => {
                        let angle = Vec3::new(of(x, lane), of(y, lane), of(z, lane));
                        math::rotation_exp(angle) * state.q
                    }
                };
            }
        }
        *count = 0;
    }
}
