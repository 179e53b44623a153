//! Jolt: one collision step per update, ten iterations for velocities and two for positions.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use joltc_sys::*;

use super::Engine;
use crate::physics::State;
use crate::scene::{Scene, Shape};

// Its crate does not link the C++ library.
#[link(name = "stdc++")]
unsafe extern "C" {}

const FIXED: JPC_ObjectLayer = 0;
const MOVING: JPC_ObjectLayer = 1;
/// Its gravity cannot be set, so bodies get a share of its default.
const GRAVITY: f32 = -9.81;

unsafe extern "C" fn layers(_: *const c_void) -> u32 {
    2
}

unsafe extern "C" fn layer_of(_: *const c_void, layer: JPC_ObjectLayer) -> JPC_BroadPhaseLayer {
    layer as JPC_BroadPhaseLayer
}

unsafe extern "C" fn meets_layer(
    _: *const c_void,
    layer: JPC_ObjectLayer,
    broad: JPC_BroadPhaseLayer,
) -> bool {
    layer == MOVING || broad == MOVING as JPC_BroadPhaseLayer
}

unsafe extern "C" fn meets(_: *const c_void, one: JPC_ObjectLayer, other: JPC_ObjectLayer) -> bool {
    one == MOVING || other == MOVING
}

struct Jolt {
    system: *mut JPC_PhysicsSystem,
    bodies: *mut JPC_BodyInterface,
    memory: *mut JPC_TempAllocatorImpl,
    jobs: *mut JPC_JobSystemThreadPool,
    moving: Vec<JPC_BodyID>,
    fixed: usize,
    dt_s: f32,
}

fn vector([x, y, z]: [f32; 3]) -> JPC_Vec3 {
    JPC_Vec3 { x, y, z, _w: z }
}

/// A settings struct with the library's defaults.
fn defaults<T>(fill: unsafe extern "C" fn(*mut T)) -> T {
    let mut settings = MaybeUninit::zeroed();
    // SAFETY: the function sets all fields; the rest, if any, is zero.
    unsafe {
        fill(settings.as_mut_ptr());
        settings.assume_init()
    }
}

/// SAFETY: types must be registered.
unsafe fn shape(shape: Shape, density: f32) -> *mut JPC_Shape {
    let (mut made, mut error) = (null_mut(), null_mut());
    // SAFETY: settings have the library's defaults, and outlive the calls.
    let is_made = unsafe {
        match shape {
            Shape::Sphere { radius_m } => {
                let mut settings = defaults(JPC_SphereShapeSettings_default);
                (settings.Radius, settings.Density) = (radius_m, density);
                JPC_SphereShapeSettings_Create(&settings, &mut made, &mut error)
            }
            Shape::Box { half_m } => {
                let mut settings = defaults(JPC_BoxShapeSettings_default);
                (settings.HalfExtent, settings.Density) = (vector(half_m), density);
                JPC_BoxShapeSettings_Create(&settings, &mut made, &mut error)
            }
            Shape::Cylinder { radius_m, half_height_m } => {
                let mut settings = defaults(JPC_CylinderShapeSettings_default);
                (settings.Radius, settings.HalfHeight, settings.Density) = (radius_m, half_height_m, density);
                JPC_CylinderShapeSettings_Create(&settings, &mut made, &mut error)
            }
        }
    };
    assert!(is_made, "Jolt refuses a shape");
    made
}

// Long: one call after another, as the library wants them.
pub fn make(scene: &Scene, dt_s: f32, threads: usize) -> Box<dyn Engine> {
    // SAFETY: calls come in the order that the library asks for, and what they make is never destroyed.
    unsafe {
        JPC_RegisterDefaultAllocator();
        JPC_FactoryInit();
        JPC_RegisterTypes();
        let count = scene.bodies.len() as u32;
        let memory = JPC_TempAllocatorImpl_new((64 << 20) + count * 8192);
        // The calling thread takes part.
        let helpers = threads as i32 - 1;
        let jobs = JPC_JobSystemThreadPool_new3(
            JPC_MAX_PHYSICS_JOBS as u32,
            JPC_MAX_PHYSICS_BARRIERS as u32,
            helpers,
        );
        let broad = JPC_BroadPhaseLayerInterface_new(
            null(),
            JPC_BroadPhaseLayerInterfaceFns {
                GetNumBroadPhaseLayers: Some(layers),
                GetBroadPhaseLayer: Some(layer_of),
            },
        );
        let against = JPC_ObjectVsBroadPhaseLayerFilter_new(
            null(),
            JPC_ObjectVsBroadPhaseLayerFilterFns { ShouldCollide: Some(meets_layer) },
        );
        let pairs = JPC_ObjectLayerPairFilter_new(
            null(),
            JPC_ObjectLayerPairFilterFns { ShouldCollide: Some(meets) },
        );
        let system = JPC_PhysicsSystem_new();
        let pairs_max = (count * 4).max(4096);
        JPC_PhysicsSystem_Init(system, count + 16, 0, pairs_max, pairs_max, broad, against, pairs);
        let bodies = JPC_PhysicsSystem_GetBodyInterface(system);
        let mut shapes: BTreeMap<String, *mut JPC_Shape> = BTreeMap::new();
        let (mut moving, mut fixed) = (Vec::new(), 0);
        for body in &scene.bodies {
            let make = || shape(body.shape, scene.density);
            let mut settings = defaults(JPC_BodyCreationSettings_default);
            settings.Shape = *shapes.entry(format!("{:?}", body.shape)).or_insert_with(make);
            settings.Position = vector(body.x);
            let [x, y, z, w] = body.q;
            settings.Rotation = JPC_Quat { x, y, z, w };
            settings.LinearVelocity = vector(body.v);
            settings.MotionType = if body.moves { JPC_MOTION_TYPE_DYNAMIC } else { JPC_MOTION_TYPE_STATIC };
            settings.ObjectLayer = if body.moves { MOVING } else { FIXED };
            settings.Friction = scene.friction;
            settings.Restitution = scene.restitution;
            settings.LinearDamping = 0.0;
            settings.AngularDamping = 0.0;
            settings.AllowSleeping = false;
            settings.GravityFactor = scene.gravity / GRAVITY;
            let activation = if body.moves { JPC_ACTIVATION_ACTIVATE } else { JPC_ACTIVATION_DONT_ACTIVATE };
            let id = JPC_BodyInterface_CreateAndAddBody(bodies, &settings, activation);
            if body.moves {
                moving.push(id);
            } else {
                fixed += 1;
            }
        }
        JPC_PhysicsSystem_OptimizeBroadPhase(system);
        Box::new(Jolt { system, bodies, memory, jobs, moving, fixed, dt_s })
    }
}

impl Engine for Jolt {
    fn step(&mut self) {
        // SAFETY: all of these were made together.
        let error = unsafe { JPC_PhysicsSystem_Update(self.system, self.dt_s, 1, self.memory, self.jobs) };
        assert_eq!(error, 0, "Jolt cannot go on");
    }

    fn states(&self) -> Vec<State> {
        // SAFETY: the bodies are those of this interface, and every call sets what it is given.
        let state = |id: &JPC_BodyID| unsafe {
            let (mut x, mut q) = (MaybeUninit::zeroed(), MaybeUninit::zeroed());
            let (mut v, mut w) = (MaybeUninit::zeroed(), MaybeUninit::zeroed());
            JPC_BodyInterface_GetPositionAndRotation(self.bodies, *id, x.as_mut_ptr(), q.as_mut_ptr());
            JPC_BodyInterface_GetLinearAndAngularVelocity(self.bodies, *id, v.as_mut_ptr(), w.as_mut_ptr());
            let (x, q) = (x.assume_init(), q.assume_init());
            let (v, w): (JPC_Vec3, JPC_Vec3) = (v.assume_init(), w.assume_init());
            [x.x, x.y, x.z, q.x, q.y, q.z, q.w, v.x, v.y, v.z, w.x, w.y, w.z]
        };
        self.moving.iter().map(state).collect()
    }

    fn fixed(&self) -> usize {
        self.fixed
    }
}
