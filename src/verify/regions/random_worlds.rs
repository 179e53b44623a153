//! Random worlds of regions, which are too large to be explored in full.

use std::sync::Arc;

use crate::executor::region_chaos::{Random, partition};
use crate::executor::regions::SyncRule;
use crate::physics::World;
use crate::scene::{Body, Material, ResponseSettings, Scene, Shape, StaticObject};
use crate::store::{Cut, RegionFault};
use crate::verify::regions::check::Reference;
use crate::verify::regions::state::{RegionModel, Setting};
use crate::verify::regions::worlds::Draw;
use crate::verify::toy_dynamics::mix;

/// A random model, always the same for a seed.
pub fn any_region_model(seed: u64, fault: RegionFault) -> RegionModel {
    let mut random = Draw { seed: mix(&[seed, 1]), drawn: 0 };
    let scene = scene(&mut random);
    let world = World::new(&scene).expect("invariant: scenes of models are valid");
    let wanted = random.pick(&[2, 2, 3, 4, 6, 8]);
    let partition = partition(&world, &Cut::start(&world), wanted, &mut Random::new(random.number()));
    let threads = random.pick(&[1, 2, partition.regions]).min(partition.regions);
    let setting = Setting {
        neighbours: partition.neighbours(),
        partition,
        world,
        reference: Reference::new(&scene, false),
        words: format!("world {seed}"),
    };
    RegionModel {
        setting: Arc::new(setting),
        rule: random.pick(&[SyncRule::Optimistic, SyncRule::Optimistic, SyncRule::Conservative]),
        window: random.pick(&[1, 2, 4, 8, 16, 40]),
        threads,
        is_prompt: random.pick(&[false, true]),
        may_halt: random.pick(&[false, false, false, true]),
        fault,
    }
}

/// Bodies with some room between them, in a box or not, on a floor or in space.
fn scene(random: &mut Draw) -> Scene {
    let (bodies, ticks) = (random.pick(&[3, 4, 6, 9, 16, 27]), random.pick(&[6, 12, 24, 40]));
    let side: u32 = if bodies > 9 { 3 } else { 2 };
    let pitch_m = random.pick(&[1.05, 1.2, 1.6, 2.5]);
    let speed_mps = random.pick(&[5.0, 20.0, 60.0]);
    let gravity = random.pick(&[0.0, 0.0, -9.81]);
    let mut scene = Scene {
        name: "random world of regions".to_owned(),
        seconds: f64::from(ticks) / 240.0,
        ticks_per_second: 240.0,
        ticks_per_frame: random.pick(&[1, 1, 3]),
        gravity: [0.0, gravity, 0.0],
        response: ResponseSettings { iterations: random.pick(&[1, 2]), ..ResponseSettings::default() },
        ..Scene::default()
    };
    let restitution = random.pick(&[1.0, 0.5]);
    let material = Material { density: 1000.0, friction: random.pick(&[0.0, 0.4]), restitution, color: None };
    scene.materials.insert("any".to_owned(), material);
    if random.pick(&[false, true]) {
        let height_m = -0.5 - random.pick(&[0.001, 0.2]);
        let mut floor = StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0, height_m, 0.0]);
        floor.material = "any".to_owned();
        scene.statics.push(floor);
    }
    let are_balls = random.pick(&[true, true, false]);
    for index in 0..bodies {
        let site = [index % side, index / side / side, index / side % side];
        let size_m = random.range(0.35, 0.5);
        let shape = match random.number() % 4 {
            _ if are_balls => Shape::Sphere { radius: size_m },
            0 => Shape::Box { half_extents: [0.5 * size_m, 0.6 * size_m, 0.4 * size_m] },
            1 => Shape::Capsule { radius: 0.4 * size_m, half_height: 0.4 * size_m },
            _ => Shape::Sphere { radius: size_m },
        };
        let mut body = Body::new(shape, site.map(|at| f64::from(at) * pitch_m));
        body.velocity = [0, 1, 2].map(|_| random.range(-speed_mps, speed_mps));
        body.material = "any".to_owned();
        scene.bodies.push(body);
    }
    scene
}
