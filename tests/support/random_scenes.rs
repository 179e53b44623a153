//! Random scenes that are hard on speculation, by kind, seed, and number of bodies and ticks.
//!
//! Every body is drawn from the seed and its own index, so a scene with fewer bodies is the same scene without the last
//! ones. Therefore failures can be shrunk.

use anachron::internals::base::math::{Vec3, rotation_exp};
use anachron::scene::{Body, Material, ResponseSettings, Scene, Shape, StaticObject};

/// A small generator of random numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random =
            Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03));
        random.draw();
        random
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.draw() % count as u64) as usize
    }

    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    pub fn vector(&mut self, size: f64) -> [f64; 3] {
        [self.range(-size, size), self.range(-size, size), self.range(-size, size)]
    }
}

/// Kinds of scenes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bodies that fly in a closed box.
    Gas,
    /// Bodies that lie close together and fall on each other.
    Heap,
    /// Columns of bodies that stand on each other.
    Columns,
    /// A lattice of bodies that touch all their neighbours from the start, struck by one.
    Lattice,
    /// A few large bodies, and many of a fiftieth of their size.
    Giants,
    /// Bodies that cross many cells in a tick, among many slow ones.
    Bullets,
    /// Static geometry of all shapes, and bodies that tumble between it.
    Clutter,
    /// Bodies that overlap at the start.
    Overlap,
}

pub const KINDS: [Kind; 8] = [
    Kind::Gas,
    Kind::Heap,
    Kind::Columns,
    Kind::Lattice,
    Kind::Giants,
    Kind::Bullets,
    Kind::Clutter,
    Kind::Overlap,
];

const MATERIALS: usize = 4;

/// What is common to all bodies of a scene.
struct Style {
    gravity: bool,
    /// Distance between neighbours, in diameters.
    pitch: f64,
    /// Largest component of a velocity, m/s.
    speed: f64,
    /// Largest component of an angular velocity, rad/s.
    spin: f64,
    /// Whether all bodies are balls.
    balls_only: bool,
}

/// A random scene, always the same for the same arguments.
pub fn scene(kind: Kind, seed: u64, bodies: u32, ticks: u32) -> Scene {
    let random = &mut Random::new(seed, u64::MAX);
    let ticks_per_second = random.pick(&[60.0, 120.0, 240.0, 240.0, 1000.0]);
    let style = style(kind, random);
    let gravity = match (style.gravity, random.below(4)) {
        (false, _) => [0.0; 3],
        (true, 0) => random.vector(12.0),
        (true, _) => [0.0, -9.81, 0.0],
    };
    let mut scene = Scene {
        name: format!("{kind:?}"),
        seconds: f64::from(ticks) / ticks_per_second,
        ticks_per_second,
        ticks_per_frame: random.pick(&[1, 1, 1, 3, 7]),
        gravity,
        response: ResponseSettings {
            iterations: 1 + random.below(4) as u32,
            rounds: 1 + random.below(4) as u32,
            warm_start: random.chance(0.7),
            correction: random.pick(&[0.0, 0.5, 0.5, 1.0]),
        },
        ..Scene::default()
    };
    for number in 0..MATERIALS {
        scene.materials.insert(format!("m{number}"), material(random));
    }
    add_statics(&mut scene, kind, random);
    // Ids have gaps, and are not in the order of the list.
    let stride = random.pick(&[None, None, Some(7u32), Some(23)]);
    for index in 0..bodies {
        let mut body = body(kind, &style, index, &mut Random::new(seed, u64::from(index)));
        body.id = stride.map(|stride| (index * stride) % 101 + 101 * (index / 101));
        scene.bodies.push(body);
    }
    scene
}

fn style(kind: Kind, random: &mut Random) -> Style {
    let dense = random.chance(0.6);
    Style {
        gravity: match kind {
            Kind::Heap | Kind::Columns => random.chance(0.9),
            _ => random.chance(0.5),
        },
        pitch: match kind {
            Kind::Lattice => random.pick(&[1.0, 1.0, 1.0 - 1e-9, 1.0 + 1e-9]),
            Kind::Overlap => random.range(0.2, 0.95),
            Kind::Heap | Kind::Columns => random.range(1.0, 1.2),
            _ if dense => random.range(1.0, 1.5),
            _ => random.range(1.5, 5.0),
        },
        speed: match kind {
            Kind::Lattice => 0.0,
            Kind::Heap | Kind::Columns => random.pick(&[0.0, 0.0, 0.5, 3.0]),
            _ => random.pick(&[0.0, 1.0, 5.0, 20.0]),
        },
        spin: random.pick(&[0.0, 0.0, 2.0, 30.0]),
        balls_only: random.chance(0.4),
    }
}

fn material(random: &mut Random) -> Material {
    Material {
        density: 10f64.powi(random.below(4) as i32) * random.pick(&[1.0, 1.0, 2.7]),
        friction: random.pick(&[0.0, 0.2, 0.5, 1.0, 1.0]),
        restitution: random.pick(&[0.0, 0.3, 0.9, 1.0]),
        color: None,
    }
}

/// Position of a body in a lattice of unit cells: four by four, layer upon layer; or three columns.
fn site(kind: Kind, index: u32) -> [f64; 3] {
    let (x, y, z) = match kind {
        Kind::Columns => (index % 3, index / 3, 0),
        _ => (index % 4, index / 16, index / 4 % 4),
    };
    [f64::from(x), f64::from(y), f64::from(z)]
}

fn body(kind: Kind, style: &Style, index: u32, random: &mut Random) -> Body {
    let mut size = random.pick(&[0.5, 0.5, 0.45, 0.3]);
    let mut position = site(kind, index).map(|c| c * style.pitch);
    position[1] += 0.5;
    let mut speed = style.speed;
    match kind {
        Kind::Lattice | Kind::Columns => size = 0.5,
        Kind::Giants if index.is_multiple_of(9) => {
            // Large bodies have a lattice of their own, above the small ones.
            size *= 4.0;
            position = site(kind, index / 9).map(|c| c * 4.2);
            position[1] += 4.0;
        }
        Kind::Giants => {
            size *= 0.08;
            position = site(kind, index).map(|c| c * style.pitch * 0.1);
            position[1] += 0.05;
        }
        Kind::Bullets if index.is_multiple_of(5) => {
            speed = random.pick(&[50.0, 500.0, 5000.0]);
            position[0] -= 4.0;
        }
        _ => {}
    }
    if !matches!(kind, Kind::Lattice | Kind::Columns) {
        let jitter = random.vector(0.02);
        position = std::array::from_fn(|axis| position[axis] + jitter[axis] * size);
    }
    let mut body = Body::new(shape(style.balls_only, kind, size, random), position);
    body.velocity = random.vector(speed);
    if kind == Kind::Lattice && index == 0 {
        body.velocity = [random.range(0.5, 8.0), random.range(0.0, 2.0), random.pick(&[0.0, 3.0])];
    }
    if style.spin > 0.0 && random.chance(0.7) {
        body.angular_velocity = random.vector(style.spin);
    }
    if !matches!(kind, Kind::Lattice | Kind::Columns) && random.chance(0.7) {
        let q = rotation_exp(Vec3::from(random.vector(3.0)));
        body.orientation = [q.i, q.j, q.k, q.w];
    }
    body.material = format!("m{}", random.below(MATERIALS));
    body
}

/// A shape that fits into a ball of about `size`.
fn shape(balls_only: bool, kind: Kind, size: f64, random: &mut Random) -> Shape {
    if balls_only {
        return Shape::Sphere { radius: size };
    }
    let boxy = kind == Kind::Columns && random.chance(0.6);
    match if boxy { 1 } else { random.below(7) } {
        0 | 5 => Shape::Sphere { radius: size },
        1 if matches!(kind, Kind::Columns | Kind::Lattice) => Shape::Box { half_extents: [size; 3] },
        1 => Shape::Box {
            half_extents: [size * random.range(0.2, 0.9), size * 0.6, size * random.range(0.3, 0.7)],
        },
        2 => Shape::Capsule { radius: size * random.range(0.3, 0.6), half_height: size * 0.4 },
        3 => Shape::Cylinder { radius: size * random.range(0.3, 0.8), half_height: size * 0.5 },
        4 => Shape::Ring { radius: size * 0.7, tube: size * random.range(0.1, 0.3) },
        _ => Shape::Hull { points: hull(size, random) },
    }
}

fn hull(size: f64, random: &mut Random) -> Vec<[f64; 3]> {
    let corners = [[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, -1.0]];
    let mut points: Vec<[f64; 3]> = corners.iter().map(|corner| corner.map(|c| c * size * 0.5)).collect();
    for _ in 0..random.below(6) {
        points.push(random.vector(size * 0.6));
    }
    points
}

fn plane(normal: [f64; 3], position: [f64; 3]) -> StaticObject {
    StaticObject::new(Shape::HalfSpace { normal }, position)
}

fn add_statics(scene: &mut Scene, kind: Kind, random: &mut Random) {
    let floor = plane([0.0, 1.0, 0.0], [0.0; 3]);
    match kind {
        Kind::Heap | Kind::Columns => scene.statics.push(floor),
        Kind::Lattice | Kind::Overlap | Kind::Bullets => {
            if random.chance(0.4) {
                scene.statics.push(floor);
            }
        }
        Kind::Gas | Kind::Giants => {
            scene.statics.push(floor);
            let (low, high) = (-2.0, 14.0);
            for axis in 0..3 {
                for (at, sign) in [(low, 1.0), (high, -1.0)] {
                    let (mut normal, mut position) = ([0.0; 3], [0.0; 3]);
                    (normal[axis], position[axis]) = (sign, at);
                    scene.statics.push(plane(normal, position));
                }
            }
        }
        Kind::Clutter => {
            scene.statics.push(plane([0.0, 1.0, 0.0], [0.0, -1.0, 0.0]));
            for _ in 0..1 + random.below(6) {
                scene.statics.push(obstacle(random));
            }
        }
    }
    for object in &mut scene.statics {
        object.material = format!("m{}", random.below(MATERIALS));
    }
}

/// Random static geometry near the bodies.
fn obstacle(random: &mut Random) -> StaticObject {
    let shape = match random.below(8) {
        0 => Shape::Sphere { radius: random.range(0.3, 2.0) },
        1 => Shape::Box {
            half_extents: [random.range(0.2, 2.0), random.range(0.1, 0.5), random.range(0.2, 2.0)],
        },
        2 => Shape::Capsule { radius: 0.4, half_height: random.range(0.2, 2.0) },
        3 => Shape::Cylinder { radius: random.range(0.2, 1.0), half_height: 1.0 },
        4 => Shape::Hull { points: hull(2.0, random) },
        5 => Shape::Ring { radius: random.range(0.5, 1.5), tube: 0.2 },
        6 => Shape::HalfSpace { normal: [0.6, 0.8, 0.0] },
        _ => Shape::Mesh {
            file: None,
            vertices: vec![
                [-3.0, 0.0, -3.0],
                [3.0, 0.2, -3.0],
                [3.0, 0.9, 3.0],
                [-3.0, 0.0, 3.0],
                [0.0, -1.0, 0.0],
            ],
            triangles: vec![[0, 4, 1], [1, 4, 2], [2, 4, 3], [3, 4, 0]],
        },
    };
    let is_plane = matches!(shape, Shape::HalfSpace { .. });
    let mut object =
        StaticObject::new(shape, [random.range(-1.0, 4.0), random.range(-1.0, 1.0), random.range(-1.0, 4.0)]);
    if is_plane {
        object.position = [-2.0, 0.0, 0.0];
    } else {
        let q = rotation_exp(Vec3::from(random.vector(1.0)));
        object.orientation = [q.i, q.j, q.k, q.w];
    }
    object
}
