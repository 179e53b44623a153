//! Small scenes and measurements shared by the physics tests.
#![allow(dead_code)]

use std::ops::ControlFlow;

use anachron::frame::Frame;
use anachron::scene::{Body, Material, Scene, Shape, StaticObject};
use anachron::{Report, Simulation};

/// A scene whose default material has this friction and restitution.
pub fn scene(friction: f64, restitution: f64) -> Scene {
    let mut scene = Scene::default();
    let material = Material { friction, restitution, ..Material::default() };
    scene.materials.insert("default".into(), material);
    scene
}

/// The same without gravity.
pub fn weightless(friction: f64, restitution: f64) -> Scene {
    Scene { gravity: [0.0; 3], ..scene(friction, restitution) }
}

pub fn ball(radius: f64, position: [f64; 3]) -> Body {
    Body::new(Shape::Sphere { radius }, position)
}

pub fn cube(half: f64, position: [f64; 3]) -> Body {
    Body::new(Shape::Box { half_extents: [half; 3] }, position)
}

pub fn floor() -> StaticObject {
    StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3])
}

/// Runs a scene and returns the report and the last frame.
pub fn run(scene: &Scene) -> (Report, Frame) {
    let mut last = None;
    let report = run_with(scene, |frame| last = Some(frame.clone()));
    (report, last.expect("a run has at least one frame"))
}

/// Runs a scene and shows every frame.
pub fn run_with(scene: &Scene, mut see: impl FnMut(&Frame)) -> Report {
    let simulation = Simulation::new(scene).expect("the scene is valid");
    let report = simulation.run(|frame| {
        see(frame);
        ControlFlow::Continue(())
    });
    report.expect("the run finishes")
}
