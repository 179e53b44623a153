//! What the instruction counts are made with: worlds, flights and buckets, set up outside of what is counted.

use std::sync::Arc;

use anachron::internals::base::aabb::Aabb;
use anachron::internals::base::math::Vec3;
use anachron::internals::physics::{Flight, World};
use anachron::internals::protocol::{
    Aabb32, BodyIndex, Bucket, CellCover, CellSpan, Dynamics, EntityId, Entry, Grid, Track, Version,
};
use anachron::internals::rigid::RigidModel;
use anachron::scenarios::{Request, build};
use anachron::{Simulation, SyncMode};

fn simulation(scenario: &str, bodies: u32, ticks: u32, sync: SyncMode) -> Simulation {
    let seconds = Some(f64::from(ticks) / 240.0);
    let request = Request { bodies: Some(bodies), seconds, ..Request::default() };
    let scene = build(scenario, &request).expect("the scenario exists");
    Simulation::new(&scene).expect("the scenario is valid").sync(sync)
}

fn world() -> Arc<World> {
    simulation("gas", 64, 1, SyncMode::Sequential).world().clone()
}

fn flight(world: &World, body: usize) -> Flight {
    Flight { since: 0, origin: world.bodies[body].start }
}

/// A ball of a gas.
pub fn flying() -> (Arc<World>, Flight) {
    let world = world();
    let flight = flight(&world, 0);
    (world, flight)
}

/// Two balls of a gas.
pub fn two_flying() -> (Arc<World>, [Flight; 2]) {
    let world = world();
    let flights = [flight(&world, 0), flight(&world, 1)];
    (world, flights)
}

/// A bucket, a span of one of its cells, and a track to be written there.
pub type Filled = (Bucket<RigidModel>, CellSpan, Arc<Track<RigidModel>>);

/// A bucket that sixteen tracks pass.
pub fn filled() -> Filled {
    filled_with(16)
}

/// A bucket that so many tracks pass, all in one cell, and one more track.
pub fn filled_with(count: BodyIndex) -> Filled {
    let model = RigidModel::new(world());
    let world = &model.world;
    let radii: Vec<f64> = (0..64).map(|body| model.radius(body)).collect();
    let grid = Grid::new(&radii, 2.0, 1);
    let track = |body: BodyIndex| {
        let cluster = [(body, flight(world, body as usize))];
        let bounds = model.bounds(body, &cluster[0].1, 0, 60);
        let cell_cover = CellCover::new(&grid, &model, &cluster, &[bounds], false);
        let flights = cluster.into_iter().collect();
        Arc::new(Track::new(
            Version { entity: EntityId(body), number: 0 },
            (0, 60),
            flights,
            Arc::new(cell_cover),
        ))
    };
    let mut cells = Vec::new();
    grid.cells(&model.bounds(0, &flight(world, 0), 0, 60), 0, |cell| cells.push(cell));
    let everywhere = Aabb { min: Vec3::repeat(-1e3), max: Vec3::repeat(1e3) };
    let span = CellSpan { cell: cells[0], members: (0, 1), bounds: Aabb32::of(&everywhere) };
    let mut bucket = Bucket::default();
    for body in 0..count {
        bucket.add(Entry::new(span, track(body)));
    }
    (bucket, span, track(count))
}

/// A short run of a thin gas.
pub fn gas(sync: SyncMode) -> Simulation {
    simulation("gas", 200, 60, sync)
}

/// A short run of a crowded box.
pub fn piled(sync: SyncMode) -> Simulation {
    simulation("bouncing", 64, 30, sync)
}
