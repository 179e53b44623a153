//! The group solver itself: one tick of all active bodies.

use std::sync::Arc;

use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::physics::World;
use crate::physics::contact::{Impulses, SolverMass, Velocity};
use crate::physics::island_solver::contacts::{Contacts, IslandContactRule, Side};
use crate::physics::island_solver::detect::{Bounds, Detector, IslandContact, find_contact};
use crate::physics::island_solver::filter::CollisionFilter;
use crate::physics::island_solver::integrate::moved;
use crate::physics::island_solver::joints::Joints;
use crate::physics::island_solver::residual::Residual;

/// Sweeps that move bodies apart, as a share of those for velocities; at least [`APART_MIN`].
const APART_SHARE: u32 = 4;
const APART_MIN: u32 = 4;
/// Overlaps below this share of a body's size are left alone: what rests must not lose its points to every shiver.
const SLOP_SHARE: f64 = 1e-3;

/// A point that moved less than this share of its body's size is still the same point.
const NEAR_SHARE: f64 = 0.1;

/// What a tick consisted of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepCounts {
    /// Active bodies.
    pub bodies: u32,
    /// Pairs in contact, static geometry included.
    pub pairs: u32,
    /// Points of contact.
    pub points: u32,
    /// Joints.
    pub joints: u32,
    /// Pairs that were not in contact at the tick before.
    pub begun: u32,
    /// The deepest overlap, metres.
    pub deepest: f64,
    /// What was left unsolved, if it was asked for.
    pub residual: Option<Residual>,
}

/// Lists of meetings, one after the other in ascending order.
pub type ManifoldLists = Arc<Vec<Arc<Vec<IslandContact>>>>;

/// Impulses to begin with, from one who knew the bodies before.
#[derive(Clone)]
pub struct WarmStart {
    /// Places of the bodies, ascending.
    pub places: Vec<u32>,
    /// What was known about them, and perhaps others.
    pub impulses: Arc<Impulses>,
}

/// Advances the active bodies of a world tick by tick, solved together. The others do not exist for it.
pub struct IslandSolver {
    world: Arc<World>,
    filter: Arc<CollisionFilter>,
    /// By place.
    states: Vec<BodyState>,
    is_active: Vec<bool>,
    slot_of: Vec<u32>,
    /// Places of the active bodies, ascending, and the joints among them; out of date if `changed`.
    active: Vec<u32>,
    joint_list: Vec<u32>,
    changed: bool,
    /// By slot; the last slot is what never moves.
    resistances: Vec<SolverMass>,
    motions: Vec<Velocity>,
    shifts: Vec<Velocity>,
    contacts: Contacts,
    joints: Joints,
    impulses: Arc<Impulses>,
    /// Those of the tick before, for their room.
    before: Arc<Impulses>,
    meetings: Vec<IslandContact>,
    detector: Detector,
    bounds: Bounds,
    /// Who are_near at the next tick, if somebody has looked already.
    told: Option<ManifoldLists>,
    measures: bool,
}

impl IslandSolver {
    /// A solver in which no body is active yet.
    pub fn new(world: Arc<World>, filter: Arc<CollisionFilter>) -> Self {
        let bodies = world.bodies.len();
        IslandSolver {
            states: world.bodies.iter().map(|body| body.start).collect(),
            is_active: vec![false; bodies],
            slot_of: vec![u32::MAX; bodies],
            active: Vec::new(),
            joint_list: Vec::new(),
            changed: true,
            resistances: Vec::new(),
            motions: Vec::new(),
            shifts: Vec::new(),
            contacts: Contacts::default(),
            joints: Joints::default(),
            impulses: Arc::default(),
            before: Arc::default(),
            meetings: Vec::new(),
            detector: Detector::default(),
            bounds: Bounds::default(),
            told: None,
            measures: false,
            world,
            filter,
        }
    }

    /// The same with every body active.
    pub fn of_all(world: Arc<World>) -> Self {
        let filter = Arc::new(CollisionFilter::new(&world));
        let mut solver = IslandSolver::new(world, filter);
        solver.is_active.fill(true);
        solver
    }

    /// Measures what is left unsolved at every tick; that costs about one sweep.
    pub fn measuring(mut self, measures: bool) -> Self {
        self.measures = measures;
        self
    }

    /// Lets a body take part, from a state.
    pub fn activate(&mut self, place: u32, state: &BodyState) {
        self.changed |= !self.is_active[place as usize];
        self.is_active[place as usize] = true;
        self.states[place as usize] = *state;
    }

    /// Lets a body no longer take part.
    pub fn deactivate(&mut self, place: u32) {
        self.changed |= self.is_active[place as usize];
        self.is_active[place as usize] = false;
    }

    /// Puts an active body into a state.
    pub fn set_state(&mut self, place: u32, state: &BodyState) {
        self.states[place as usize] = *state;
    }

    /// The state of a body.
    pub fn state(&self, place: u32) -> &BodyState {
        &self.states[place as usize]
    }

    /// The states of all bodies by place; only those of active ones mean anything.
    pub fn states(&self) -> &[BodyState] {
        &self.states
    }

    /// Places of the active bodies, ascending.
    pub fn active(&mut self) -> &[u32] {
        self.refresh();
        &self.active
    }

    /// The impulses the last tick ended with.
    pub fn impulses(&self) -> &Arc<Impulses> {
        &self.impulses
    }

    /// Begins with these impulses instead of those the last tick ended with.
    pub fn restore_warm_start(&mut self, impulses: &Arc<Impulses>) {
        self.impulses = impulses.clone();
    }

    /// Takes over what others knew of bodies that have just been activated. Returns how many points and joints.
    pub fn import_warm_start(&mut self, shares: &WarmStart) -> (usize, usize) {
        let world = &self.world;
        let ends = |joint: u32| {
            let def = &world.joints[joint as usize];
            [def.a.body, def.b.body]
        };
        Arc::make_mut(&mut self.impulses).import_warm_start(&shares.impulses, &shares.places, ends)
    }

    /// Is told who are_near at the next tick, by somebody who has looked at all bodies, active or not.
    pub fn tell(&mut self, told: ManifoldLists) {
        self.told = Some(told);
    }

    /// The meetings of the last tick.
    pub fn meetings(&self) -> &[IslandContact] {
        &self.meetings
    }

    /// Advances all active bodies by one tick.
    pub fn step(&mut self) -> StepCounts {
        self.refresh();
        self.prepare_bodies();
        self.find_meetings();
        self.prepare_contacts();
        self.prepare_joints();
        let residual = self.solve();
        self.advance();
        self.remember();
        StepCounts {
            bodies: self.active.len() as u32,
            pairs: self.contacts.pairs() as u32,
            points: self.contacts.points() as u32,
            joints: self.joints.len() as u32,
            begun: self.contacts.begun(),
            deepest: self.meetings.iter().fold(0.0, |deepest, m| deepest.max(-m.manifold.gap())),
            residual,
        }
    }

    fn refresh(&mut self) {
        if !self.changed {
            return;
        }
        self.changed = false;
        self.active.clear();
        self.slot_of.fill(u32::MAX);
        for place in 0..self.is_active.len() {
            if self.is_active[place] {
                self.slot_of[place] = self.active.len() as u32;
                self.active.push(place as u32);
            }
        }
        let is_here = |place: Option<u32>| place.is_none_or(|place| self.is_active[place as usize]);
        let here = self.world.joints.iter().enumerate();
        let here = here.filter(|(_, joint)| is_here(joint.a.body) && is_here(joint.b.body));
        self.joint_list = here.map(|(at, _)| at as u32).collect();
    }

    fn prepare_bodies(&mut self) {
        let gain: Vec3 = self.world.gravity * self.world.time.tick_s;
        self.resistances.clear();
        self.motions.clear();
        for place in self.active.iter().map(|place| *place as usize) {
            let state = &self.states[place];
            self.resistances.push(SolverMass::of(&self.world.bodies[place], state));
            self.motions.push(Velocity { v: state.v + gain, w: state.w });
        }
        self.resistances.push(SolverMass::fixed(Vec3::zeros()));
        self.motions.push(Velocity::ZERO);
    }

    fn find_meetings(&mut self) {
        let meetings = &mut self.meetings;
        meetings.clear();
        let (world, filter, states) = (&self.world, &self.filter, &self.states);
        if let Some(told) = self.told.take() {
            let is_here = |place: u32| self.slot_of[place as usize] != u32::MAX;
            let all = told.iter().flat_map(|list| list.iter());
            meetings.extend(all.filter(|meeting| is_here(meeting.a) && is_here(meeting.b)).cloned());
        } else {
            self.bounds.update(world, &self.active, states);
            let pairs = self.detector.candidates(world, &self.active, states).iter();
            meetings
                .extend(pairs.filter_map(|pair| find_contact(world, filter, states, &self.bounds, *pair)));
        }
        self.detector.statics(&self.world, &self.active, &self.states, |meeting| meetings.push(meeting));
    }

    fn prepare_contacts(&mut self) {
        let world = &self.world;
        let tick_s = world.time.tick_s;
        let how = IslandContactRule {
            rule: &world.rule,
            tick_s,
            correction: world.group.correction,
            slop: 0.0,
            near: 0.0,
        };
        let mut contacts = std::mem::take(&mut self.contacts);
        contacts.clear();
        let fixed = self.active.len();
        let unmoved = BodyState::at_rest(Vec3::zeros());
        let mut hint = 0;
        for meeting in &self.meetings {
            let a = self.side(meeting.a);
            let surface_a = &world.bodies[meeting.a as usize].surface;
            let (b, surface) = match meeting.bodies() {
                Some((_, b)) => (self.side(b), surface_a.combined(&world.bodies[b as usize].surface)),
                None => {
                    let object = &world.statics[(meeting.b & !IslandContact::STATIC) as usize];
                    let side =
                        Side { slot: fixed as u32, state: &unmoved, resistance: &self.resistances[fixed] };
                    (side, surface_a.combined(&object.surface))
                }
            };
            let remembered = match world.group.warm_start {
                true => self.impulses.of_pair((meeting.a, meeting.b), &mut hint),
                false => &[],
            };
            let size = world.bodies[meeting.a as usize].radius;
            let size = meeting.bodies().map_or(size, |(_, b)| size.min(world.bodies[b as usize].radius));
            let how = IslandContactRule { slop: SLOP_SHARE * size, near: NEAR_SHARE * size, ..how };
            contacts.add(meeting, surface, (a, b), remembered, &how);
        }
        self.contacts = contacts;
    }

    fn side(&self, place: u32) -> Side<'_> {
        let slot = self.slot_of[place as usize];
        Side { slot, state: &self.states[place as usize], resistance: &self.resistances[slot as usize] }
    }

    fn prepare_joints(&mut self) {
        let rate = self.world.group.closing / self.world.time.tick_s;
        let fixed = self.active.len();
        let mut joints = std::mem::take(&mut self.joints);
        joints.clear();
        for &number in &self.joint_list {
            let def = &self.world.joints[number as usize];
            let side = |body: Option<u32>, fixed_state| match body {
                Some(place) => self.side(place),
                None => Side { slot: fixed as u32, state: fixed_state, resistance: &self.resistances[fixed] },
            };
            let sides = (side(def.a.body, &def.a.fixed), side(def.b.body, &def.b.fixed));
            let remembered = match self.world.group.warm_start {
                true => self.impulses.of_joint(number),
                false => None,
            };
            joints.add((number, def), sides, remembered, rate);
        }
        self.joints = joints;
    }

    fn solve(&mut self) -> Option<Residual> {
        let iterations = self.world.group.iterations;
        self.joints.warm_start(&mut self.motions);
        self.contacts.warm_start(&mut self.motions);
        for sweep in 0..iterations {
            // There and back again: what happens at one end of a chain arrives at the other in two sweeps. Stacks
            // rather come to rest if every sweep is the same.
            self.joints.sweep(&mut self.motions, sweep % 2 == 1);
            self.contacts.sweep(&mut self.motions);
        }
        self.shifts.clear();
        self.shifts.resize(self.motions.len(), Velocity::ZERO);
        if self.contacts.overlap() || self.joints.len() > 0 {
            self.contacts.warm_start_apart(&mut self.shifts);
            for sweep in 0..(iterations / APART_SHARE).max(APART_MIN) {
                self.joints.solve_joint_positions(&mut self.shifts, sweep % 2 == 1);
                self.contacts.solve_positions(&mut self.shifts);
            }
        }
        self.measures.then(|| {
            let mut residual = Residual::default();
            self.joints.measure(&self.motions, &mut residual);
            self.contacts.measure(&self.motions, &mut residual);
            residual
        })
    }

    fn remember(&mut self) {
        if Arc::get_mut(&mut self.impulses).is_none() {
            // Somebody still reads what was remembered. Nobody reads what was remembered before, as a rule.
            std::mem::swap(&mut self.impulses, &mut self.before);
        }
        if Arc::get_mut(&mut self.impulses).is_none() {
            self.impulses = Arc::default();
        }
        if let Some(impulses) = Arc::get_mut(&mut self.impulses) {
            self.contacts.remember(impulses);
            self.joints.remember(impulses);
        }
    }

    fn advance(&mut self) {
        let h = self.world.time.tick_s;
        for (slot, place) in self.active.iter().map(|place| *place as usize).enumerate() {
            let (motion, shift) = (&self.motions[slot], &self.shifts[slot]);
            self.states[place] = moved(&self.world.bodies[place], &self.states[place], motion, shift, h);
        }
    }
}
