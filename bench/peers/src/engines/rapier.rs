//! Rapier. With threads or without is decided when it is built.

use rapier3d::glamx::{Pose3, Quat};
use rapier3d::prelude::*;

use super::Engine;
use crate::physics::State;
use crate::scene::{Scene, Shape};

struct Rapier {
    world: PhysicsWorld,
    moving: Vec<RigidBodyHandle>,
    fixed: usize,
}

pub fn make(scene: &Scene, dt_s: f32, threads: usize) -> Box<dyn Engine> {
    let mut world = PhysicsWorld::default();
    world.gravity = Vector::new(0.0, scene.gravity, 0.0);
    world.integration_parameters.dt = dt_s;
    #[cfg(feature = "rapier-threads")]
    world.configure_thread_pool(threads).expect("threads can be started");
    #[cfg(not(feature = "rapier-threads"))]
    assert_eq!(threads, 1, "this build of Rapier has no threads");
    let (mut moving, mut fixed) = (Vec::new(), 0);
    for body in &scene.bodies {
        let [qx, qy, qz, qw] = body.q;
        let pose = Pose3::from_parts(Vector::from(body.x), Quat::from_xyzw(qx, qy, qz, qw));
        let built = if body.moves { RigidBodyBuilder::dynamic() } else { RigidBodyBuilder::fixed() };
        let built = built.pose(pose).linvel(Vector::from(body.v)).can_sleep(false);
        let collider = match body.shape {
            Shape::Sphere { radius_m } => ColliderBuilder::ball(radius_m),
            Shape::Box { half_m: [a, b, c] } => ColliderBuilder::cuboid(a, b, c),
            Shape::Cylinder { radius_m, half_height_m } => ColliderBuilder::cylinder(half_height_m, radius_m),
        };
        let collider =
            collider.density(scene.density).friction(scene.friction).restitution(scene.restitution);
        let (handle, _) = world.insert(built, collider);
        if body.moves {
            moving.push(handle);
        } else {
            fixed += 1;
        }
    }
    Box::new(Rapier { world, moving, fixed })
}

impl Engine for Rapier {
    fn step(&mut self) {
        self.world.step();
    }

    fn states(&self) -> Vec<State> {
        let state = |handle: &RigidBodyHandle| {
            let body = &self.world.bodies[*handle];
            let (x, q, v, w) = (body.translation(), body.rotation(), body.linvel(), body.angvel());
            [x.x, x.y, x.z, q.x, q.y, q.z, q.w, v.x, v.y, v.z, w.x, w.y, w.z]
        };
        self.moving.iter().map(state).collect()
    }

    fn fixed(&self) -> usize {
        self.fixed
    }
}
