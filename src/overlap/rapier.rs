//! Rapier as the engine of a worker: sharing and blending work with any solver.
//!
//! Every worker has all bodies from the start; bodies of other workers are disabled. Rapier keeps its own contact cache and
//! drops what concerns a body that is disabled. A joint exists only while both of its bodies are enabled: Rapier fails on
//! joints of bodies that never were enabled.

use std::sync::Arc;

use rapier3d::prelude::*;

use crate::base::math::{from_parry, quat_raw, to_parry, to_parry_pose};
use crate::base::state::BodyState;
use crate::overlap::engine::Engine;
use crate::physics::island_solver::StepCounts;
use crate::physics::{JointDef, JointSide, World};
use crate::scene::JointKind;

/// A Rapier world behind the [`Engine`] trait.
pub struct RapierEngine {
    world: PhysicsWorld,
    /// The Rapier handle of every body.
    handles: Vec<RigidBodyHandle>,
    is_active: Vec<bool>,
    /// Indices in `joints` of the joints of every body.
    joints_of: Vec<Vec<usize>>,
    joints: Vec<Link>,
}

/// A joint of the scene, which exists in Rapier while all its bodies are active.
struct Link {
    /// Its bodies; `None` for the static side.
    bodies: [Option<u32>; 2],
    handles: [RigidBodyHandle; 2],
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

    /// An engine in which every body is active, from its start.
    pub fn of_all(world: &Arc<World>) -> Self {
        let mut engine = RapierEngine::new(world);
        for (body, def) in world.bodies.iter().enumerate() {
            engine.activate(body as u32, &def.start);
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
        let handle = |side: &JointSide| side.body.map_or(anchor, |body| self.handles[body as usize]);
        // A static side is attached in world coordinates to a body that never moves.
        let anchor_point = |side: &JointSide| match side.body {
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
                .local_anchor1(to_parry(anchor_point(a)))
                .local_anchor2(to_parry(anchor_point(b)))
                .contacts_enabled(joint.collide)
                .build()
                .into(),
            JointKind::Fixed => FixedJointBuilder::new()
                .local_frame1(to_parry_pose(anchor_point(a), &frame(a)))
                .local_frame2(to_parry_pose(anchor_point(b), &frame(b)))
                .contacts_enabled(joint.collide)
                .build()
                .into(),
            JointKind::Hinge => {
                let mut hinge = RevoluteJointBuilder::new(to_parry(axis(a)))
                    .local_anchor1(to_parry(anchor_point(a)))
                    .local_anchor2(to_parry(anchor_point(b)))
                    .contacts_enabled(joint.collide)
                    .build();
                hinge.data.set_local_axis2(to_parry(axis(b)));
                hinge.into()
            }
        };
        let handles = [handle(a), handle(b)];
        let bodies = [a.body, b.body];
        for body in bodies.iter().flatten() {
            self.joints_of[*body as usize].push(self.joints.len());
        }
        self.joints.push(Link { bodies, handles, data, exists: None });
    }

    /// Inserts those joints of a body that have both ends active, and removes the others.
    fn update_joints(&mut self, body: u32) {
        for &at in &self.joints_of[body as usize] {
            let link = &mut self.joints[at];
            let holds = link.bodies.iter().flatten().all(|body| self.is_active[*body as usize]);
            let joints = &mut self.world.impulse_joints;
            match link.exists {
                None if holds => {
                    link.exists = Some(joints.insert(link.handles[0], link.handles[1], link.data, true));
                }
                Some(handle) if !holds => {
                    joints.remove(handle, true);
                    link.exists = None;
                }
                _ => {}
            }
        }
    }

    fn rigid_body(&mut self, body: u32) -> &mut RigidBody {
        &mut self.world.bodies[self.handles[body as usize]]
    }
}

impl Engine for RapierEngine {
    fn activate(&mut self, body: u32, state: &BodyState) {
        self.rigid_body(body).set_enabled(true);
        self.set_state(body, state);
        self.is_active[body as usize] = true;
        self.update_joints(body);
    }

    fn deactivate(&mut self, body: u32) {
        self.rigid_body(body).set_enabled(false);
        self.is_active[body as usize] = false;
        self.update_joints(body);
    }

    fn set_state(&mut self, body: u32, state: &BodyState) {
        let body = self.rigid_body(body);
        body.set_position(to_parry_pose(state.x, &state.q), true);
        body.set_linvel(to_parry(state.v), true);
        body.set_angvel(to_parry(state.w), true);
    }

    fn state(&self, body: u32) -> BodyState {
        let body = &self.world.bodies[self.handles[body as usize]];
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
