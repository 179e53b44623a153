//! Rapier as the engine of a worker: shows that sharing and blending do not care who solves, and gives its users a way
//! to spread one scene over workers.
//!
//! All bodies are known from the start; those that live elsewhere are disabled. Rapier keeps its own memory of contacts
//! and forgets it when a body is disabled. A joint exists while both of its bodies are enabled: Rapier does not stand
//! joints between bodies that never were.

use std::sync::Arc;

use rapier3d::prelude::*;

use crate::base::math::{from_parry, quat_raw, to_parry, to_parry_pose};
use crate::base::state::BodyState;
use crate::overlap::engine::Engine;
use crate::physics::island_solver::StepCounts;
use crate::physics::{JointDef, JointSide, World};
use crate::scene::JointKind;

/// Rapier, seen as an engine.
pub struct RapierEngine {
    world: PhysicsWorld,
    /// By place.
    handles: Vec<RigidBodyHandle>,
    is_active: Vec<bool>,
    /// The joints of every body, by place.
    joints_of: Vec<Vec<usize>>,
    joints: Vec<Link>,
}

/// A joint, whether it exists at the moment or not.
struct Link {
    /// Places of its bodies; nothing for what does not move.
    places: [Option<u32>; 2],
    bodies: [RigidBodyHandle; 2],
    data: GenericJoint,
    exists: Option<ImpulseJointHandle>,
}

impl RapierEngine {
    /// All bodies of a world, none of them active.
    pub fn new(world: &Arc<World>) -> Self {
        let mut engine = RapierEngine {
            world: PhysicsWorld::default(),
            handles: Vec::new(),
            is_active: vec![false; world.bodies.len()],
            joints_of: vec![Vec::new(); world.bodies.len()],
            joints: Vec::new(),
        };
        engine.world.gravity = to_parry(world.gravity);
        let parameters = &mut engine.world.integration_parameters;
        parameters.dt = world.time.tick_s;
        parameters.num_solver_iterations = world.group.iterations as usize;
        for object in &world.statics {
            let pose = to_parry_pose(object.x, &object.q);
            let body = RigidBodyBuilder::fixed().pose(pose).build();
            let handle = engine.world.bodies.insert(body);
            engine.collide(handle, &object.shape, object.surface.friction, object.surface.restitution, 0.0);
        }
        for body in world.bodies.iter() {
            let pose = to_parry_pose(body.start.x, &body.start.q);
            let rigid = RigidBodyBuilder::dynamic().pose(pose).can_sleep(false).enabled(false).build();
            let handle = engine.world.bodies.insert(rigid);
            engine.collide(handle, &body.shape, body.surface.friction, body.surface.restitution, body.mass);
            engine.handles.push(handle);
        }
        let anchor = engine.world.bodies.insert(RigidBodyBuilder::fixed().build());
        for joint in &world.joints {
            engine.join(joint, anchor);
        }
        engine
    }

    /// Every body active from its start, to be used alone.
    pub fn of_all(world: &Arc<World>) -> Self {
        let mut engine = RapierEngine::new(world);
        for (place, body) in world.bodies.iter().enumerate() {
            engine.activate(place as u32, &body.start);
        }
        engine
    }

    fn collide(
        &mut self,
        body: RigidBodyHandle,
        shape: &crate::physics::Shape,
        friction: f64,
        bounce: f64,
        mass: f64,
    ) {
        let collider = ColliderBuilder::new(shape.to_parry())
            .friction(friction)
            .friction_combine_rule(CoefficientCombineRule::Average)
            .restitution(bounce)
            .restitution_combine_rule(CoefficientCombineRule::Average);
        let collider = if mass > 0.0 { collider.mass(mass) } else { collider };
        self.world.colliders.insert_with_parent(collider, body, &mut self.world.bodies);
    }

    fn join(&mut self, joint: &JointDef, anchor: RigidBodyHandle) {
        let handle = |side: &JointSide| side.body.map_or(anchor, |place| self.handles[place as usize]);
        // A fixed side is held in world coordinates by a body that never moves.
        let place = |side: &JointSide| match side.body {
            Some(_) => side.anchor,
            None => side.fixed.x + side.fixed.q * side.anchor,
        };
        let frame = |side: &JointSide| match side.body {
            Some(_) => side.frame,
            None => side.fixed.q * side.frame,
        };
        let axis = |side: &JointSide| match side.body {
            Some(_) => side.axis,
            None => side.fixed.q * side.axis,
        };
        let (a, b) = (&joint.a, &joint.b);
        let data: GenericJoint = match joint.kind {
            JointKind::Ball => SphericalJointBuilder::new()
                .local_anchor1(to_parry(place(a)))
                .local_anchor2(to_parry(place(b)))
                .contacts_enabled(joint.collide)
                .build()
                .into(),
            JointKind::Fixed => FixedJointBuilder::new()
                .local_frame1(to_parry_pose(place(a), &frame(a)))
                .local_frame2(to_parry_pose(place(b), &frame(b)))
                .contacts_enabled(joint.collide)
                .build()
                .into(),
            JointKind::Hinge => {
                let mut hinge = RevoluteJointBuilder::new(to_parry(axis(a)))
                    .local_anchor1(to_parry(place(a)))
                    .local_anchor2(to_parry(place(b)))
                    .contacts_enabled(joint.collide)
                    .build();
                hinge.data.set_local_axis2(to_parry(axis(b)));
                hinge.into()
            }
        };
        let places = [a.body, b.body];
        for place in places.iter().flatten() {
            self.joints_of[*place as usize].push(self.joints.len());
        }
        let bodies = [handle(a), handle(b)];
        self.joints.push(Link { places, bodies, data, exists: None });
    }

    /// Lets the joints of a body exist that can, and no others.
    fn rejoin(&mut self, place: u32) {
        for &at in &self.joints_of[place as usize] {
            let link = &mut self.joints[at];
            let holds = link.places.iter().flatten().all(|place| self.is_active[*place as usize]);
            let joints = &mut self.world.impulse_joints;
            match link.exists {
                None if holds => {
                    link.exists = Some(joints.insert(link.bodies[0], link.bodies[1], link.data, true));
                }
                Some(handle) if !holds => {
                    joints.remove(handle, true);
                    link.exists = None;
                }
                _ => {}
            }
        }
    }

    fn body(&mut self, place: u32) -> &mut RigidBody {
        &mut self.world.bodies[self.handles[place as usize]]
    }
}

impl Engine for RapierEngine {
    fn activate(&mut self, place: u32, state: &BodyState) {
        self.body(place).set_enabled(true);
        self.set_state(place, state);
        self.is_active[place as usize] = true;
        self.rejoin(place);
    }

    fn deactivate(&mut self, place: u32) {
        self.body(place).set_enabled(false);
        self.is_active[place as usize] = false;
        self.rejoin(place);
    }

    fn set_state(&mut self, place: u32, state: &BodyState) {
        let body = self.body(place);
        body.set_position(to_parry_pose(state.x, &state.q), true);
        body.set_linvel(to_parry(state.v), true);
        body.set_angvel(to_parry(state.w), true);
    }

    fn state(&self, place: u32) -> BodyState {
        let body = &self.world.bodies[self.handles[place as usize]];
        let (x, q) = (body.position().translation, body.position().rotation);
        BodyState {
            x: from_parry(x),
            q: quat_raw(q.x, q.y, q.z, q.w),
            v: from_parry(body.linvel()),
            w: from_parry(body.angvel()),
        }
    }

    fn step(&mut self) -> StepCounts {
        self.world.step();
        let mut counts = StepCounts {
            bodies: self.handles.iter().filter(|handle| self.world.bodies[**handle].is_enabled()).count()
                as u32,
            ..StepCounts::default()
        };
        for pair in self.world.narrow_phase.contact_pairs() {
            let points: usize = pair.manifolds().iter().map(|manifold| manifold.points.len()).sum();
            counts.pairs += u32::from(points > 0);
            counts.points += points as u32;
        }
        counts
    }
}
