//! The island solver itself: one tick of all active bodies.

use std::sync::Arc;

use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::physics::World;
use crate::physics::contact::{Impulses, SolverMass, Velocity};
use crate::physics::island_solver::contacts::{Contacts, IslandContactRule, Side};
use crate::physics::island_solver::detect::{Bounds, Detector, IslandContact, find_contact};
use crate::physics::island_solver::filter::CollisionFilter;
use crate::physics::island_solver::integrate::integrated;
use crate::physics::island_solver::joints::Joints;
use crate::physics::island_solver::residual::Residual;

/// One sweep over positions for this many sweeps over velocities, but at least [`POSITION_SWEEPS_MIN`]. Not tuned.
const VELOCITY_PER_POSITION_SWEEPS: u32 = 4;
const POSITION_SWEEPS_MIN: u32 = 4;
/// Overlaps below this share of a body's size are not removed, so that a resting contact does not lose its points to
/// every small motion. Not tuned.
const SLOP_SHARE: f64 = 1e-3;

/// A point that moves less than this share of its body's size in a tick is the same point. Not tuned.
const NEAR_SHARE: f64 = 0.1;

/// What a tick of the island solver consisted of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepCounts {
    /// Number of active bodies.
    pub bodies: u32,
    /// Number of pairs in contact, static geometry included.
    pub pairs: u32,
    /// Number of contact points.
    pub points: u32,
    /// Number of joints.
    pub joints: u32,
    /// Number of pairs that were not in contact at the tick before.
    pub begun: u32,
    /// The deepest overlap, metres.
    pub deepest: f64,
    /// What remains unsolved, if measuring was asked for.
    pub residual: Option<Residual>,
}

/// Lists of contacts; their concatenation is in ascending order.
pub type ManifoldLists = Arc<Vec<Arc<Vec<IslandContact>>>>;

/// Warm-start impulses from the previous worker of some bodies.
#[derive(Clone)]
pub struct WarmStart {
    /// Indices of the bodies, ascending.
    pub places: Vec<u32>,
    /// The impulses of that worker, which may concern other bodies too.
    pub impulses: Arc<Impulses>,
}

/// Advances the active bodies of a world tick by tick, solved together. It ignores all other bodies.
pub struct IslandSolver {
    pub(super) world: Arc<World>,
    filter: Arc<CollisionFilter>,
    /// State, activity and slot of every body of the world.
    pub(super) states: Vec<BodyState>,
    is_active: Vec<bool>,
    slot_of: Vec<u32>,
    /// Indices of the active bodies and of the joints among them, ascending; out of date if `changed`.
    pub(super) active: Vec<u32>,
    joint_list: Vec<u32>,
    changed: bool,
    /// By slot, which is an index into `active`; the last slot is static geometry.
    pub(super) masses: Vec<SolverMass>,
    pub(super) motions: Vec<Velocity>,
    shifts: Vec<Velocity>,
    pub(super) contacts: Contacts,
    joints: Joints,
    pub(super) impulses: Arc<Impulses>,
    /// Those of the tick before, to reuse their memory.
    before: Arc<Impulses>,
    /// Contacts of the last tick.
    pub(super) found: Vec<IslandContact>,
    detector: Detector,
    bounds: Bounds,
    /// Contacts of the next tick, if they are detected elsewhere.
    detected: Option<ManifoldLists>,
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
            masses: Vec::new(),
            motions: Vec::new(),
            shifts: Vec::new(),
            contacts: Contacts::default(),
            joints: Joints::default(),
            impulses: Arc::default(),
            before: Arc::default(),
            found: Vec::new(),
            detector: Detector::default(),
            bounds: Bounds::default(),
            detected: None,
            measures: false,
            world,
            filter,
        }
    }

    /// A solver in which every body is active.
    pub fn of_all(world: Arc<World>) -> Self {
        let filter = Arc::new(CollisionFilter::new(&world));
        let mut solver = IslandSolver::new(world, filter);
        solver.is_active.fill(true);
        solver
    }

    /// Measures the residual at every tick, if `measures`; that costs about one sweep.
    pub fn measuring(mut self, measures: bool) -> Self {
        self.measures = measures;
        self
    }

    /// Makes a body active, in a state.
    pub fn activate(&mut self, body: u32, state: &BodyState) {
        self.changed |= !self.is_active[body as usize];
        self.is_active[body as usize] = true;
        self.states[body as usize] = *state;
    }

    /// Makes a body inactive.
    pub fn deactivate(&mut self, body: u32) {
        self.changed |= self.is_active[body as usize];
        self.is_active[body as usize] = false;
    }

    /// Puts an active body into a state.
    pub fn set_state(&mut self, body: u32, state: &BodyState) {
        self.states[body as usize] = *state;
    }

    /// The state of a body.
    pub fn state(&self, body: u32) -> &BodyState {
        &self.states[body as usize]
    }

    /// The states of all bodies of the world; only those of active bodies are up to date.
    pub fn states(&self) -> &[BodyState] {
        &self.states
    }

    /// Indices of the active bodies, ascending.
    pub fn active(&mut self) -> &[u32] {
        self.refresh();
        &self.active
    }

    /// The impulses that the last tick ended with.
    pub fn impulses(&self) -> &Arc<Impulses> {
        &self.impulses
    }

    /// Starts the next tick from these impulses instead of those that the last tick ended with.
    pub fn restore_warm_start(&mut self, impulses: &Arc<Impulses>) {
        self.impulses = impulses.clone();
    }

    /// Imports warm-start impulses of bodies that have just been activated. Returns the numbers of points and joints.
    pub fn import_warm_start(&mut self, shares: &WarmStart) -> (usize, usize) {
        let world = &self.world;
        let ends = |joint: u32| {
            let def = &world.joints[joint as usize];
            [def.a.body, def.b.body]
        };
        Arc::make_mut(&mut self.impulses).import_warm_start(&shares.impulses, &shares.places, ends)
    }

    /// Sets the contacts of the next tick, detected elsewhere among all bodies of the world, active or not.
    pub fn tell(&mut self, detected: ManifoldLists) {
        self.detected = Some(detected);
    }

    /// The contacts of the last tick.
    pub fn contacts(&self) -> &[IslandContact] {
        &self.found
    }

    /// Advances all active bodies by one tick.
    pub fn step(&mut self) -> StepCounts {
        self.refresh();
        self.prepare_bodies();
        self.find_contacts();
        self.prepare_contacts();
        self.prepare_joints();
        debug_assert_eq!(self.validate(), Ok(()), "before a solve");
        let residual = self.solve();
        self.advance();
        self.store_impulses();
        debug_assert_eq!(self.validate(), Ok(()), "after a solve");
        StepCounts {
            bodies: self.active.len() as u32,
            pairs: self.contacts.pairs() as u32,
            points: self.contacts.points() as u32,
            joints: self.joints.len() as u32,
            begun: self.contacts.begun(),
            deepest: self.found.iter().fold(0.0, |deepest, contact| deepest.max(-contact.manifold.gap())),
            residual,
        }
    }

    /// Brings the list of active bodies and joints up to date.
    fn refresh(&mut self) {
        if !self.changed {
            return;
        }
        self.changed = false;
        self.active.clear();
        self.slot_of.fill(u32::MAX);
        for body in 0..self.is_active.len() {
            if self.is_active[body] {
                self.slot_of[body] = self.active.len() as u32;
                self.active.push(body as u32);
            }
        }
        let is_active = |body: Option<u32>| body.is_none_or(|body| self.is_active[body as usize]);
        let joints = self.world.joints.iter().enumerate();
        let joints = joints.filter(|(_, joint)| is_active(joint.a.body) && is_active(joint.b.body));
        self.joint_list = joints.map(|(at, _)| at as u32).collect();
    }

    fn prepare_bodies(&mut self) {
        let gain: Vec3 = self.world.gravity * self.world.time.tick_s;
        self.masses.clear();
        self.motions.clear();
        for body in self.active.iter().map(|body| *body as usize) {
            let state = &self.states[body];
            self.masses.push(SolverMass::of(&self.world.bodies[body], state));
            self.motions.push(Velocity { v: state.v + gain, w: state.w });
        }
        self.masses.push(SolverMass::fixed(Vec3::zeros()));
        self.motions.push(Velocity::ZERO);
    }

    fn find_contacts(&mut self) {
        let found = &mut self.found;
        found.clear();
        let (world, filter, states) = (&self.world, &self.filter, &self.states);
        if let Some(detected) = self.detected.take() {
            let is_here = |body: u32| self.slot_of[body as usize] != u32::MAX;
            let all = detected.iter().flat_map(|list| list.iter());
            found.extend(all.filter(|contact| is_here(contact.a) && is_here(contact.b)).cloned());
        } else {
            self.bounds.update(world, &self.active, states);
            let pairs = self.detector.candidates(world, &self.active, states).iter();
            found.extend(pairs.filter_map(|pair| find_contact(world, filter, states, &self.bounds, *pair)));
        }
        self.detector.statics(&self.world, &self.active, &self.states, |contact| found.push(contact));
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
        let mut cursor = 0;
        for contact in &self.found {
            let a = self.side(contact.a);
            let surface_a = &world.bodies[contact.a as usize].surface;
            let (b, surface) = match contact.bodies() {
                Some((_, b)) => (self.side(b), surface_a.combined(&world.bodies[b as usize].surface)),
                None => {
                    let object = &world.statics[(contact.b & !IslandContact::STATIC) as usize];
                    let side = Side { slot: fixed as u32, state: &unmoved, mass: &self.masses[fixed] };
                    (side, surface_a.combined(&object.surface))
                }
            };
            let cached = match world.group.warm_start {
                true => self.impulses.of_pair((contact.a, contact.b), &mut cursor),
                false => &[],
            };
            let size = world.bodies[contact.a as usize].radius;
            let size = contact.bodies().map_or(size, |(_, b)| size.min(world.bodies[b as usize].radius));
            let how = IslandContactRule { slop: SLOP_SHARE * size, near: NEAR_SHARE * size, ..how };
            contacts.add(contact, surface, (a, b), cached, &how);
        }
        self.contacts = contacts;
    }

    fn side(&self, body: u32) -> Side<'_> {
        let slot = self.slot_of[body as usize];
        assert_ne!(slot, u32::MAX, "constraints join active bodies");
        Side { slot, state: &self.states[body as usize], mass: &self.masses[slot as usize] }
    }

    fn prepare_joints(&mut self) {
        let rate_hz = self.world.group.closing / self.world.time.tick_s;
        let fixed = self.active.len();
        let mut joints = std::mem::take(&mut self.joints);
        joints.clear();
        for &joint in &self.joint_list {
            let def = &self.world.joints[joint as usize];
            let side = |body: Option<u32>, fixed_state| match body {
                Some(body) => self.side(body),
                None => Side { slot: fixed as u32, state: fixed_state, mass: &self.masses[fixed] },
            };
            let sides = (side(def.a.body, &def.a.fixed), side(def.b.body, &def.b.fixed));
            let cached = match self.world.group.warm_start {
                true => self.impulses.of_joint(joint),
                false => None,
            };
            joints.add((joint, def), sides, cached, rate_hz);
        }
        self.joints = joints;
    }

    fn solve(&mut self) -> Option<Residual> {
        let iterations = self.world.group.iterations;
        self.joints.warm_start(&mut self.motions);
        self.contacts.warm_start(&mut self.motions);
        for sweep in 0..iterations {
            // Joints are swept in alternating directions: a change at one end of a chain reaches the other end in two
            // sweeps. Contacts are not: stacks come to rest more readily if every sweep is the same.
            self.joints.sweep(&mut self.motions, sweep % 2 == 1);
            self.contacts.sweep(&mut self.motions);
        }
        self.shifts.clear();
        self.shifts.resize(self.motions.len(), Velocity::ZERO);
        if self.contacts.overlap() || self.joints.len() > 0 {
            self.contacts.warm_start_positions(&mut self.shifts);
            for sweep in 0..(iterations / VELOCITY_PER_POSITION_SWEEPS).max(POSITION_SWEEPS_MIN) {
                self.joints.solve_positions(&mut self.shifts, sweep % 2 == 1);
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

    fn store_impulses(&mut self) {
        if Arc::get_mut(&mut self.impulses).is_none() {
            // Another owner still reads these impulses. Those of the tick before are free, as a rule.
            std::mem::swap(&mut self.impulses, &mut self.before);
        }
        if Arc::get_mut(&mut self.impulses).is_none() {
            self.impulses = Arc::default();
        }
        if let Some(impulses) = Arc::get_mut(&mut self.impulses) {
            self.contacts.store(impulses);
            self.joints.store(impulses);
        }
    }

    fn advance(&mut self) {
        let h = self.world.time.tick_s;
        for (slot, body) in self.active.iter().map(|body| *body as usize).enumerate() {
            let (motion, shift) = (&self.motions[slot], &self.shifts[slot]);
            self.states[body] = integrated(&self.world.bodies[body], &self.states[body], motion, shift, h);
        }
    }
}
