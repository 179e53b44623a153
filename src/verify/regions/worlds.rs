//! Small worlds of balls near borders of regions, in families that differ only in their seeds.

use std::sync::Arc;

use crate::base::math::Vec3;
use crate::executor::regions::SyncRule;
use crate::physics::World;
use crate::scene::{Body, Material, ResponseSettings, Scene, Shape, StaticObject};
use crate::store::{Lattice, Partition, RegionFault, Scale};
use crate::verify::regions::check::Reference;
use crate::verify::regions::state::{RegionModel, Setting};
use crate::verify::toy_dynamics::mix;

/// Radius of all balls, width of cells, and that of narrow cells, metres.
const RADIUS_M: f64 = 0.5;
const WIDTH_M: f64 = 3.0;
const NARROW_M: f64 = 1.25;
/// Cells along x; there are four along the other axes. The lattice repeats itself.
const CELLS: usize = 8;
/// Ticks per second of all worlds.
const TICKS_PER_S: f64 = 240.0;

/// How the balls of a world are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// On a line through the border, with any speeds along it.
    Line,
    /// In space around the border, flying towards each other.
    Cloud,
    /// In a plane around an edge at which borders meet.
    Edge,
    /// In a row across the border, almost touching, with a ball that hits it.
    Chain,
    /// Fast balls that enter and leave what neighbours know, and one that turns them back.
    Visit,
    /// On a floor, resting or falling on it, under gravity.
    Floor,
    /// One near the border, and two on their way to it that are turned aside by balls it does not know of: one that was to
    /// hit it then misses, and the other, which was to miss, hits it later.
    Deflect,
    /// Two that overlap deeply where the neighbour knows nothing of them, and one of the neighbour's that is hit as soon as
    /// they have been moved apart. Cells are narrow.
    Deep,
    /// In a row across the border, pressed against each other: they respond together, and no region knows all of them.
    /// Cells are narrow.
    Press,
}

/// Models of regions that differ only in their seeds.
#[derive(Clone, Debug)]
pub struct RegionFamily {
    /// The name of the family in tables.
    pub name: &'static str,
    /// How balls are placed.
    pub layout: Layout,
    /// Number of balls.
    pub bodies: u32,
    /// The last tick.
    pub ticks: u64,
    /// The region of every cell, as digits along x; rows for the cells along y, which repeat.
    pub owners: &'static [&'static str],
    /// Number of threads; each takes global virtual time by itself.
    pub threads: usize,
    /// When a region may go on.
    pub rule: SyncRule,
    /// How far a region may run ahead, ticks.
    pub window_ticks: u64,
    /// Whether threads commit as soon as they may.
    pub is_prompt: bool,
    /// Whether regions may end at any moment.
    pub may_halt: bool,
    /// Seeds of places and speeds.
    pub seeds: &'static [u64],
}

/// Two regions; the other families are variations of it.
const PLAIN: RegionFamily = RegionFamily {
    name: "two balls on a line",
    layout: Layout::Line,
    bodies: 2,
    ticks: 6,
    owners: &["00001111"],
    threads: 1,
    rule: SyncRule::Optimistic,
    window_ticks: 3,
    is_prompt: false,
    may_halt: false,
    seeds: &[0, 1, 2, 3, 4, 5],
};
const WIDE: RegionFamily = RegionFamily { window_ticks: 16, is_prompt: true, ..PLAIN };

/// The families that every test run explores in full.
pub const REGION_FAMILIES: &[RegionFamily] = &[
    PLAIN,
    RegionFamily { name: "two balls, window 1", window_ticks: 1, ..PLAIN },
    RegionFamily { name: "two balls, two threads", threads: 2, ticks: 5, seeds: &[0, 1, 2], ..PLAIN },
    RegionFamily { name: "two balls, ends at any moment", may_halt: true, ticks: 5, ..PLAIN },
    RegionFamily { name: "two balls, conservative", rule: SyncRule::Conservative, ..PLAIN },
    RegionFamily { name: "three balls on a line", bodies: 3, ..WIDE },
    RegionFamily { name: "four balls on a line", bodies: 4, ..WIDE },
    RegionFamily { name: "four balls, window 2", bodies: 4, window_ticks: 2, ..PLAIN },
    RegionFamily {
        name: "four balls, conservative",
        bodies: 4,
        rule: SyncRule::Conservative,
        may_halt: true,
        ..PLAIN
    },
    RegionFamily { name: "three balls in space", layout: Layout::Cloud, bodies: 3, ..WIDE },
    RegionFamily {
        name: "four balls in space",
        layout: Layout::Cloud,
        bodies: 4,
        seeds: &[0, 1, 2, 3, 4, 5, 6, 7],
        ..WIDE
    },
    RegionFamily { name: "four balls in a row", layout: Layout::Chain, bodies: 4, ..WIDE },
    RegionFamily {
        name: "four balls in a row, ends at any moment",
        layout: Layout::Chain,
        bodies: 4,
        may_halt: true,
        ..WIDE
    },
    RegionFamily { name: "three visitors", layout: Layout::Visit, bodies: 3, ticks: 9, ..WIDE },
    RegionFamily {
        name: "visitors, three regions",
        layout: Layout::Visit,
        bodies: 3,
        owners: &["00012222"],
        ticks: 5,
        seeds: &[0, 1, 2],
        ..WIDE
    },
    RegionFamily {
        name: "three balls, three regions",
        bodies: 3,
        owners: &["00012222"],
        ticks: 4,
        seeds: &[0, 1, 2],
        ..WIDE
    },
    RegionFamily {
        name: "four balls around an edge, three regions",
        layout: Layout::Edge,
        bodies: 4,
        owners: &["00001111", "00002222"],
        ticks: 4,
        seeds: &[0, 1, 2],
        ..WIDE
    },
    RegionFamily {
        name: "three balls, three regions, conservative",
        bodies: 3,
        owners: &["00012222"],
        rule: SyncRule::Conservative,
        ..PLAIN
    },
    RegionFamily {
        name: "five balls, two of them deflected",
        layout: Layout::Deflect,
        bodies: 5,
        ticks: 11,
        seeds: &[0, 1, 2],
        ..WIDE
    },
    RegionFamily {
        name: "three balls, two of them in one place",
        layout: Layout::Deep,
        bodies: 3,
        ticks: 4,
        ..WIDE
    },
    RegionFamily {
        name: "five balls pressed together",
        layout: Layout::Press,
        bodies: 5,
        ticks: 3,
        seeds: &[0, 1, 2],
        ..WIDE
    },
    RegionFamily {
        name: "five balls pressed together, conservative",
        layout: Layout::Press,
        bodies: 5,
        ticks: 3,
        rule: SyncRule::Conservative,
        seeds: &[0, 1],
        ..PLAIN
    },
    RegionFamily { name: "two balls on a floor", layout: Layout::Floor, ticks: 4, ..WIDE },
    RegionFamily {
        name: "three balls on a floor",
        layout: Layout::Floor,
        bodies: 3,
        ticks: 3,
        seeds: &[0, 1, 2, 3],
        ..WIDE
    },
];

impl RegionFamily {
    /// The model with one of the seeds.
    pub fn model(&self, seed: u64, fault: RegionFault) -> RegionModel {
        let scene = self.scene(seed);
        let world = World::new(&scene).expect("invariant: scenes of models are valid");
        let partition = self.partition(&world);
        let setting = Setting {
            neighbours: partition.neighbours(),
            partition,
            world,
            reference: Reference::new(&scene, true),
            words: format!("cells {}, seed {seed}", self.owners.join("/")),
        };
        RegionModel {
            setting: Arc::new(setting),
            rule: self.rule,
            window: self.window_ticks,
            threads: self.threads,
            is_prompt: self.is_prompt,
            may_halt: self.may_halt,
            fault,
        }
    }

    fn partition(&self, world: &World) -> Partition {
        let width_m = self.width_m();
        let extent_m = Vec3::new((CELLS as f64 - 1.0) * width_m, 0.0, 0.0);
        let lattice = Lattice::new(width_m, extent_m, 1 << 12);
        let owner = |cell: u32| {
            let [x, y, _] = lattice.position(cell);
            self.owners[y % self.owners.len()].as_bytes()[x % CELLS] - b'0'
        };
        let owner: Vec<u8> = (0..lattice.len() as u32).map(owner).collect();
        let regions = owner.iter().max().map_or(1, |most| usize::from(*most) + 1);
        Partition::new(world, Scale { lattice, ordinary_m: RADIUS_M }, owner, regions)
    }

    fn width_m(&self) -> f64 {
        if matches!(self.layout, Layout::Deep | Layout::Press) { NARROW_M } else { WIDTH_M }
    }

    fn scene(&self, seed: u64) -> Scene {
        let mut random = Draw { seed: mix(&[seed, u64::from(self.bodies), self.layout as u64]), drawn: 0 };
        let is_floor = self.layout == Layout::Floor;
        let mut scene = Scene {
            name: self.name.to_owned(),
            seconds: self.ticks as f64 / TICKS_PER_S,
            ticks_per_second: TICKS_PER_S,
            ticks_per_frame: 1,
            gravity: [0.0, if is_floor { -9.81 } else { 0.0 }, 0.0],
            response: ResponseSettings {
                iterations: 2,
                correction: if self.layout == Layout::Deep { 1.0 } else { 0.5 },
                ..ResponseSettings::default()
            },
            ..Scene::default()
        };
        let restitution = match self.layout {
            Layout::Floor => 0.3,
            Layout::Deep | Layout::Press => 0.0,
            _ => 1.0,
        };
        let material = Material { density: 1000.0, friction: 0.3, restitution, color: None };
        scene.materials.insert("ball".to_owned(), material);
        if is_floor {
            let mut floor = StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3]);
            floor.material = "ball".to_owned();
            scene.statics.push(floor);
        }
        for (x, v) in self.balls(&mut random) {
            let mut body = Body::new(Shape::Sphere { radius: RADIUS_M }, x.into());
            body.velocity = v.into();
            body.material = "ball".to_owned();
            scene.bodies.push(body);
        }
        scene
    }

    /// Places and velocities, in m and m/s. The border is in the middle.
    // Long: one layout after the other.
    fn balls(&self, random: &mut Draw) -> Vec<(Vec3, Vec3)> {
        let count = self.bodies as usize;
        let width_m = self.width_m();
        let middle = Vec3::new(0.5 * CELLS as f64 * width_m, 0.5 * width_m, 0.5 * width_m);
        let along = Vec3::x();
        match self.layout {
            Layout::Line | Layout::Visit => {
                let (gap_m, speed_mps) = match self.layout {
                    Layout::Line => ((0.02, 0.9), (20.0, 85.0)),
                    _ => ((0.2, 3.0), (80.0, 110.0)),
                };
                let mut x = random.range(-1.0, 0.5) - 0.75 * (count - 1) as f64;
                let mut balls = Vec::new();
                for at in 0..count {
                    let sign = if 2 * at + 1 < count { 1.0 } else { -1.0 };
                    let sign = if random.unit() < 0.1 { -sign } else { sign };
                    balls.push((middle + along * x, along * sign * random.range(speed_mps.0, speed_mps.1)));
                    x += 2.0 * RADIUS_M + random.range(gap_m.0, gap_m.1);
                }
                balls
            }
            Layout::Chain => {
                let mut x = random.range(-2.0, 0.0) - 0.5 * count as f64;
                let mut balls = vec![(middle + along * x, along * random.range(30.0, 85.0))];
                x += random.range(0.05, 0.4);
                for _ in 1..count {
                    x += 2.0 * RADIUS_M;
                    let aside = Vec3::new(0.0, random.range(-0.2, 0.2), random.range(-0.2, 0.2));
                    balls.push((middle + along * x + aside, along * random.range(-4.0, 4.0)));
                    x += random.range(0.0, 0.05);
                }
                balls
            }
            Layout::Cloud | Layout::Edge => {
                let is_flat = self.layout == Layout::Edge;
                let middle = if is_flat { Vec3::new(middle.x, WIDTH_M, middle.z) } else { middle };
                let mut balls: Vec<(Vec3, Vec3)> = Vec::new();
                while balls.len() < count {
                    let side =
                        Vec3::new(random.both(), random.both(), if is_flat { 0.0 } else { random.both() });
                    let x = middle + side * 1.7;
                    if balls.iter().any(|(other, _)| (other - x).norm() < 2.0 * RADIUS_M + 0.02) {
                        continue;
                    }
                    let aim =
                        Vec3::new(random.both(), random.both(), if is_flat { 0.0 } else { random.both() });
                    let way = middle + aim * 0.6 - x;
                    balls.push((x, way.normalize() * random.range(30.0, 85.0)));
                }
                balls
            }
            Layout::Deflect => {
                let mps = |per_tick: [f64; 2]| Vec3::new(per_tick[0], per_tick[1], 0.0) * TICKS_PER_S;
                let mut shift_m = || random.range(-0.005, 0.005);
                let mut at = |x: f64, y: f64| middle + Vec3::new(x + shift_m(), y + shift_m(), 0.0);
                vec![
                    (at(-0.2, 0.15), mps([0.0, 0.0])),
                    // To hit the first at tick 8, and what turns it aside at tick 2.
                    (at(2.98, 0.0), mps([-0.31, 0.0])),
                    (at(3.02, 1.45), mps([-0.23, -0.31])),
                    // To miss the first, and what turns it aside at tick 1, so that it hits at tick 9.
                    (at(2.95, 2.6), mps([-0.29, 0.0])),
                    (at(3.1, 3.75), mps([-0.29, -0.21])),
                ]
            }
            Layout::Deep => {
                let right = -width_m - random.range(0.01, 0.1);
                let places = [right, right - random.range(0.05, 0.2), random.range(0.01, 0.05)];
                // Those that press against each other are moved apart.
                let speeds_mps = [0.0, random.range(0.5, 2.0), 0.0];
                places.iter().zip(speeds_mps).map(|(x, v)| (middle + along * *x, along * v)).collect()
            }
            Layout::Press => {
                let mut x = -0.5 * (count - 1) as f64 - random.range(0.0, 0.4);
                let mut balls = Vec::new();
                for at in 0..count {
                    let inwards = if 2 * at < count { 1.0 } else { -1.0 };
                    let aside = Vec3::new(0.0, random.range(-0.1, 0.1), random.range(-0.1, 0.1));
                    balls.push((middle + along * x + aside, along * inwards * random.range(0.5, 4.0)));
                    x += 2.0 * RADIUS_M + random.range(-0.02, 0.01);
                }
                balls
            }
            Layout::Floor => {
                let mut x = random.range(-0.6, 0.2) - 0.6 * (count - 1) as f64;
                let mut balls = Vec::new();
                for _ in 0..count {
                    let height = if random.unit() < 0.5 { 0.0 } else { random.range(0.0, 0.002) };
                    let at = Vec3::new(middle.x + x, RADIUS_M + height, middle.z);
                    balls.push((at, along * random.range(-3.0, 3.0)));
                    x += 2.0 * RADIUS_M + random.range(0.0, 0.01);
                }
                balls
            }
        }
    }
}

/// Numbers that follow from a seed.
pub(super) struct Draw {
    pub seed: u64,
    pub drawn: u64,
}

impl Draw {
    pub fn number(&mut self) -> u64 {
        self.drawn += 1;
        mix(&[self.seed, self.drawn])
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// From -1 to below 1.
    fn both(&mut self) -> f64 {
        self.range(-1.0, 1.0)
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.number() as usize % choices.len()]
    }
}
