//! Box3D: four substeps, its own scheduler for threads.

use box3d_sys::*;

use super::Engine;
use crate::physics::State;
use crate::scene::{Scene, Shape};

/// Its default.
const SUBSTEPS: i32 = 4;

struct Box3d {
    world: b3WorldId,
    moving: Vec<b3BodyId>,
    fixed: usize,
    dt_s: f32,
}

fn vector([x, y, z]: [f32; 3]) -> b3Vec3 {
    b3Vec3 { x, y, z }
}

pub fn make(scene: &Scene, dt_s: f32, threads: usize) -> Box<dyn Engine> {
    // SAFETY: definitions come from the library's own defaults, and outlive the calls that read them.
    unsafe {
        let mut def = b3DefaultWorldDef();
        def.gravity = vector([0.0, scene.gravity, 0.0]);
        def.enableSleep = false;
        def.workerCount = threads as u32;
        let world = b3CreateWorld(&def);
        let (mut moving, mut fixed) = (Vec::new(), 0);
        for body in &scene.bodies {
            let mut def = b3DefaultBodyDef();
            let kinds = (b3BodyType_b3_dynamicBody, b3BodyType_b3_staticBody);
            def.type_ = if body.moves { kinds.0 } else { kinds.1 };
            def.position = vector(body.x);
            let [qx, qy, qz, qw] = body.q;
            def.rotation.v = vector([qx, qy, qz]);
            def.rotation.s = qw;
            def.linearVelocity = vector(body.v);
            def.enableSleep = false;
            let id = b3CreateBody(world, &def);
            let mut def = b3DefaultShapeDef();
            def.density = scene.density;
            def.baseMaterial.friction = scene.friction;
            def.baseMaterial.restitution = scene.restitution;
            match body.shape {
                Shape::Sphere { radius_m: radius } => {
                    b3CreateSphereShape(id, &def, &b3Sphere { center: vector([0.0; 3]), radius });
                }
                Shape::Box { half_m: [a, b, c] } => {
                    let hull = b3MakeBoxHull(a, b, c);
                    b3CreateHullShape(id, &def, &hull.base);
                }
                // It has no cylinder: a capsule with the same straight part, the ends of which no ball reaches.
                Shape::Cylinder { radius_m: radius, half_height_m } => {
                    let end = |y| vector([0.0, y, 0.0]);
                    let capsule =
                        b3Capsule { center1: end(-half_height_m), center2: end(half_height_m), radius };
                    b3CreateCapsuleShape(id, &def, &capsule);
                }
            }
            if body.moves {
                moving.push(id);
            } else {
                fixed += 1;
            }
        }
        Box::new(Box3d { world, moving, fixed, dt_s })
    }
}

impl Engine for Box3d {
    fn step(&mut self) {
        // SAFETY: the world was made above and is never destroyed.
        unsafe { b3World_Step(self.world, self.dt_s, SUBSTEPS) }
    }

    fn states(&self) -> Vec<State> {
        // SAFETY: so were its bodies.
        let state = |id: &b3BodyId| unsafe {
            let (x, q) = (b3Body_GetPosition(*id), b3Body_GetRotation(*id));
            let (v, w) = (b3Body_GetLinearVelocity(*id), b3Body_GetAngularVelocity(*id));
            [x.x, x.y, x.z, q.v.x, q.v.y, q.v.z, q.s, v.x, v.y, v.z, w.x, w.y, w.z]
        };
        self.moving.iter().map(state).collect()
    }

    fn fixed(&self) -> usize {
        self.fixed
    }
}
