//! What the instruction counts are made with: worlds, flights and buckets, set up outside of what is counted.

use std::sync::Arc;

use anachron::physics::{Flight, World};
use anachron::protocol::{Bucket, Cell, Dynamics, EntityId, Grid, Place, Track};
use anachron::scenarios::{Request, build};
use anachron::{Simulation, Sync};

fn simulation(scenario: &str, bodies: u32, ticks: u32, sync: Sync) -> Simulation {
    let seconds = Some(f64::from(ticks) / 240.0);
    let request = Request { bodies: Some(bodies), seconds, ..Request::default() };
    let scene = build(scenario, &request).expect("the scenario exists");
    Simulation::new(&scene).expect("the scenario is valid").sync(sync)
}

fn world() -> Arc<World> {
    simulation("gas", 64, 1, Sync::Sequential).world().clone()
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

/// A bucket, one of its cells, and a track to be written there.
pub type Filled = (Bucket<World>, Cell, Arc<Track<World>>);

/// A bucket that sixteen tracks pass.
pub fn filled() -> Filled {
    let world = world();
    let radii: Vec<f64> = (0..64).map(|body| world.radius(body)).collect();
    let grid = Grid::new(&radii, 2.0, 1);
    let track = |body: Place| {
        let flight = flight(&world, body as usize);
        Arc::new(Track::new((EntityId(body), 0), (body, 0), (0, 60), flight))
    };
    let mut cells = Vec::new();
    grid.cells(&world.bounds(0, &flight(&world, 0), 0, 60), 0, &mut cells);
    let mut bucket = Bucket::default();
    for body in 0..16 {
        bucket.add(cells[0], track(body));
    }
    (bucket, cells[0], track(16))
}

/// A short run of a thin gas.
pub fn gas(sync: Sync) -> Simulation {
    simulation("gas", 200, 60, sync)
}

/// A short run of a crowded box.
pub fn piled(sync: Sync) -> Simulation {
    simulation("bouncing", 64, 30, sync)
}
