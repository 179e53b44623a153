//! Who touches whom at one tick.
//!
//! Touches are large, and there may be more of them than a cache holds: whoever looks at one takes down what others
//! will ask.

use crate::base::math::Vec3;
use crate::base::parallel;
use crate::physics::local_solver::contact::Touch;
use crate::physics::local_solver::ghost::Partner;
use crate::physics::local_solver::row::Twist;
use crate::physics::local_solver::solver::Participant;
use crate::physics::world::Rule;

/// Two that touch, as places in the list of participants, and what there is to know of them without looking at their
/// touch.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// The body with the smaller id, or the body that touches static geometry.
    pub a: u32,
    /// The body with the larger id; `None` for static geometry.
    pub b: Option<u32>,
    /// What the first side touches.
    pub with: Partner,
    /// Smallest gap of its points.
    pub gap: f64,
    /// Whether it is hard at the velocities at the start.
    pub(super) was_hard: bool,
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
    pub(super) moved: Option<(Twist, Twist)>,
}

impl Meeting {
    fn of((a, b, with): Sides) -> Self {
        Meeting {
            a,
            b,
            with,
            gap: f64::INFINITY,
            was_hard: false,
            waits: false,
            parts: false,
            is_held: false,
            bounced_in: 0,
            impulse: (Vec3::zeros(), Vec3::zeros(), Vec3::zeros()),
            moved: None,
        }
    }

    /// Takes down what there is to know of its touch at the start.
    fn note(&mut self, participants: &[Participant], rule: &Rule, touch: &Touch) {
        let twist = |place: u32| Twist::of(&participants[place as usize].state);
        self.gap = touch.gap();
        self.was_hard = touch.is_hard(&twist(self.a), &self.b.map_or(Twist::ZERO, twist), rule);
        self.impulse = touch.impulse();
    }

    /// The participants on its two sides.
    pub fn sides(&self) -> impl Iterator<Item = u32> + use<> {
        [Some(self.a), self.b].into_iter().flatten()
    }
}

/// Two participants, or one and static geometry, and what the first touches.
pub type Sides = (u32, Option<u32>, Partner);

/// All meetings of one tick, in order: pairs of bodies by ascending ids first, then touches with static geometry by
/// ascending body and static id.
#[derive(Clone, Default)]
pub struct Meetings {
    list: Vec<Meeting>,
    touches: Vec<Touch>,
}

impl Meetings {
    /// Forgets all meetings, but keeps the room they took.
    pub fn clear(&mut self) {
        self.list.clear();
        self.touches.clear();
    }

    /// The next meeting.
    pub fn push(&mut self, participants: &[Participant], rule: &Rule, sides: Sides, touch: Touch) {
        let mut meeting = Meeting::of(sides);
        meeting.note(participants, rule, &touch);
        self.list.push(meeting);
        self.touches.push(touch);
    }

    /// So many meetings, in the place of those there were.
    pub fn fill(
        &mut self,
        participants: &[Participant],
        rule: &Rule,
        count: usize,
        sides: impl Fn(usize) -> Sides + Sync + Send,
        make: impl Fn(usize) -> Touch + Sync + Send,
    ) {
        parallel::fill(&mut self.list, count, |at| Meeting::of(sides(at)));
        parallel::fill_along(&mut self.touches, &mut self.list, |at, meeting| {
            let touch = make(at);
            meeting.note(participants, rule, &touch);
            touch
        });
    }

    /// Who meets.
    pub fn list(&self) -> &[Meeting] {
        &self.list
    }

    /// The touch of one meeting.
    pub fn touch(&self, at: usize) -> &Touch {
        &self.touches[at]
    }

    pub(super) fn get_mut(&mut self, at: usize) -> (&mut Meeting, &mut Touch) {
        (&mut self.list[at], &mut self.touches[at])
    }

    pub(super) fn each(&mut self, act: impl Fn(&mut Meeting, &mut Touch) + Sync) {
        parallel::each_pair(&mut self.list, &mut self.touches, |_, meeting, touch| act(meeting, touch));
    }
}
