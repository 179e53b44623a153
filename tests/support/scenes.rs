//! Small scenes, and functions that run them.

use std::ops::ControlFlow;

use anachron::internals::base::frame::Frame;
use anachron::scene::{Body, Material, Scene, Shape, StaticObject};
use anachron::{Report, Simulation, SyncMode};

/// Standard gravity of the scenes here, m/s².
pub const G: f64 = 9.81;

/// A scene with a default material of this friction and restitution.
pub fn scene(friction: f64, restitution: f64) -> Scene {
    let mut scene = Scene::default();
    let material = Material { friction, restitution, ..Material::default() };
    scene.materials.insert("default".into(), material);
    scene
}

/// A ball; radius and position in metres.
pub fn ball(radius: f64, position: [f64; 3]) -> Body {
    Body::new(Shape::Sphere { radius }, position)
}

/// A half-space below height 0.
pub fn floor() -> StaticObject {
    StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3])
}

/// Six half-spaces that leave a cube of half edge `half` about the origin.
pub fn walls(half: f64) -> Vec<StaticObject> {
    let mut walls = Vec::new();
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let (mut position, mut normal) = ([0.0; 3], [0.0; 3]);
            position[axis] = side * half;
            normal[axis] = -side;
            walls.push(StaticObject::new(Shape::HalfSpace { normal }, position));
        }
    }
    walls
}

/// Runs a scene and returns the report and the last frame.
pub fn run(scene: &Scene) -> (Report, Frame) {
    let mut last = None;
    let report = run_with(scene, |frame| last = Some(frame.clone()));
    (report, last.expect("a run has at least one frame"))
}

/// Runs a scene by the sequential loop, or by `overlap` if it has joints, and calls `on_frame` with every frame.
pub fn run_with(scene: &Scene, mut on_frame: impl FnMut(&Frame)) -> Report {
    let sync = if scene.joints.is_empty() { SyncMode::Sequential } else { SyncMode::Overlap };
    let simulation = Simulation::new(scene).expect("the scene is valid").sync(sync);
    let report = simulation.run(|frame| {
        on_frame(frame);
        ControlFlow::Continue(())
    });
    report.expect("the run finishes")
}
