//! Who touches whom at one tick.
//!
//! Touches are large, and there may be more of them than a cache holds: whoever looks at one takes down what others
//! will ask.

use crate::base::math::Vec3;
use crate::base::parallel;
use crate::physics::contact::Velocity;
use crate::physics::local_solver::contact::ContactConstraint;
use crate::physics::local_solver::ghost::Partner;
use crate::physics::local_solver::solver::SolverBody;
use crate::physics::world::ContactRule;

/// Two that touch, as places in the list of bodies, and what there is to know of them without looking at their
/// touch.
#[derive(Clone, Debug)]
pub struct ContactPair {
    /// The body with the smaller id, or the body that touches static geometry.
    pub a: u32,
    /// The body with the larger id; `None` for static geometry.
    pub b: Option<u32>,
    /// What the first side touches.
    pub with: Partner,
    /// Smallest gap of its points.
    pub gap: f64,
    /// Whether it is hard at the velocities at the start.
    pub(super) was_impact: bool,
    /// Whether it is still hard after the last round: it acts no more in this tick.
    pub(super) waits: bool,
    /// Whether the two fly apart.
    pub(super) parts: bool,
    /// Whether an impulse holds it.
    pub(super) is_held: bool,
    /// The round in which it last bounced; 0 for none.
    pub(super) bounced_in: u32,
    /// What it does to its first side: impulse, and turning moments about both centres of mass.
    pub(super) impulse: (Vec3, Vec3, Vec3),
    /// How far it moves its two sides; nothing if it waits.
    pub(super) moved: Option<(Velocity, Velocity)>,
}

impl ContactPair {
    fn of((a, b, with): Sides) -> Self {
        ContactPair {
            a,
            b,
            with,
            gap: f64::INFINITY,
            was_impact: false,
            waits: false,
            parts: false,
            is_held: false,
            bounced_in: 0,
            impulse: (Vec3::zeros(), Vec3::zeros(), Vec3::zeros()),
            moved: None,
        }
    }

    /// Takes down what there is to know of its touch at the start.
    fn note(&mut self, bodies: &[SolverBody], rule: &ContactRule, touch: &ContactConstraint) {
        let twist = |place: u32| Velocity::of(&bodies[place as usize].state);
        self.gap = touch.gap();
        self.was_impact = touch.is_impact(&twist(self.a), &self.b.map_or(Velocity::ZERO, twist), rule);
        self.impulse = touch.impulse();
    }

    /// The bodies on its two sides.
    pub fn sides(&self) -> impl Iterator<Item = u32> + use<> {
        [Some(self.a), self.b].into_iter().flatten()
    }
}

/// Two bodies, or one and static geometry, and what the first touches.
pub type Sides = (u32, Option<u32>, Partner);

/// All pairs of one tick, in order: pairs of bodies by ascending ids first, then touches with static geometry by
/// ascending body and static id.
#[derive(Clone, Default)]
pub struct ContactPairs {
    list: Vec<ContactPair>,
    touches: Vec<ContactConstraint>,
}

impl ContactPairs {
    /// Forgets all pairs, but keeps the room they took.
    pub fn clear(&mut self) {
        self.list.clear();
        self.touches.clear();
    }

    /// The next pair.
    pub fn push(
        &mut self,
        bodies: &[SolverBody],
        rule: &ContactRule,
        sides: Sides,
        touch: ContactConstraint,
    ) {
        let mut pair = ContactPair::of(sides);
        pair.note(bodies, rule, &touch);
        self.list.push(pair);
        self.touches.push(touch);
    }

    /// So many pairs, in the place of those there were.
    pub fn fill(
        &mut self,
        bodies: &[SolverBody],
        rule: &ContactRule,
        count: usize,
        sides: impl Fn(usize) -> Sides + Sync + Send,
        make: impl Fn(usize) -> ContactConstraint + Sync + Send,
    ) {
        parallel::par_fill(&mut self.list, count, |at| ContactPair::of(sides(at)));
        parallel::par_zip_fill(&mut self.touches, &mut self.list, |at, pair| {
            let touch = make(at);
            pair.note(bodies, rule, &touch);
            touch
        });
    }

    /// Who meets.
    pub fn list(&self) -> &[ContactPair] {
        &self.list
    }

    /// The touch of one pair.
    pub fn touch(&self, at: usize) -> &ContactConstraint {
        &self.touches[at]
    }

    pub(super) fn get_mut(&mut self, at: usize) -> (&mut ContactPair, &mut ContactConstraint) {
        (&mut self.list[at], &mut self.touches[at])
    }

    pub(super) fn each(&mut self, act: impl Fn(&mut ContactPair, &mut ContactConstraint) + Sync) {
        parallel::par_for_pairs(&mut self.list, &mut self.touches, |_, pair, touch| act(pair, touch));
    }
}
