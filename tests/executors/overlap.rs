//! Workers that share a scene: the same bits whatever the machine, balanced loads, and scenes that stay sane.

use std::ops::ControlFlow;
use std::sync::Arc;

use anachron::internals::base::state::BodyState;
use anachron::internals::overlap::detect::DetectTask;
use anachron::internals::overlap::partition::Partition;
use anachron::internals::overlap::step::{StepResult, StepTask};
use anachron::internals::overlap::{OverlapSettings, OverlapSummary, Violation, WorkerSet};
use anachron::internals::overlap_bridge::{Detected, OverlapCoordinator, SerialPool, WorkerPool};
use anachron::internals::physics::World;
use anachron::internals::physics::island_solver::IslandSolver;
use anachron::scenarios::{Request, build};
use anachron::scene::Scene;
use anachron::{Report, RunError, Simulation, SyncMode};

fn scene(name: &str, bodies: u32, seconds: f64) -> Scene {
    build(name, &Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() })
        .expect("the scenario is valid")
}

fn workers(workers: u32) -> OverlapSettings {
    OverlapSettings { workers: Some(workers), ..OverlapSettings::default() }
}

fn run(scene: &Scene, settings: OverlapSettings, cores: usize) -> Report {
    let simulation = Simulation::new(scene)
        .expect("the scene is valid")
        .sync(SyncMode::Overlap)
        .overlap(settings)
        .cores(cores);
    simulation.run(|_| ControlFlow::Continue(())).expect("the run finishes")
}

#[test]
fn one_worker_is_the_plain_group_solver_to_the_bit() {
    for scene in [scene("bowl", 150, 1.5), scene("bridge", 60, 0.5), scene("building", 130, 0.5)] {
        let world = Arc::new(World::new(&scene).unwrap());
        let mut plain = IslandSolver::of_all(world.clone());
        let mut bridge = OverlapCoordinator::new(world.clone(), workers(1)).unwrap();
        let mut cluster = bridge.serial_pool();
        for tick in 0..world.time.last_tick {
            plain.step();
            let Ok(_) = bridge.tick(&mut cluster);
            for (a, b) in plain.states().iter().zip(bridge.states()) {
                let bits =
                    |state: &anachron::internals::base::state::BodyState| state.to_array().map(f64::to_bits);
                assert_eq!(bits(a), bits(b), "{} at tick {tick}", scene.name);
            }
        }
    }
}

#[test]
fn the_digest_depends_on_workers_and_never_on_cores() {
    let mut shallow = scene("bridge", 97, 0.4);
    // Sharing as deep as the scene wants would leave every worker with the whole of such a short bridge.
    shallow.group.gamma = 1;
    for scene in [scene("bowl", 300, 1.2), shallow] {
        let mut digests = Vec::new();
        for count in [1, 2, 4] {
            let first = run(&scene, workers(count), 1);
            for cores in [1, 2, 4] {
                for _ in 0..2 {
                    assert_eq!(run(&scene, workers(count), cores).digest, first.digest, "{count} on {cores}");
                }
            }
            digests.push(first.digest);
        }
        digests.dedup();
        assert_eq!(digests.len(), 3, "workers make a difference");
    }
}

#[test]
fn workers_without_actors_come_to_the_same() {
    let scene = scene("bowl", 300, 1.2);
    let report = run(&scene, workers(3), 2);
    let world = Arc::new(World::new(&scene).unwrap());
    let mut bridge = OverlapCoordinator::new(world.clone(), workers(3)).unwrap();
    let mut cluster = bridge.serial_pool();
    let mut moved = 0;
    for _ in 0..world.time.last_tick {
        let Ok(tick) = bridge.tick(&mut cluster);
        moved += u64::from(tick.moved);
    }
    let end =
        anachron::internals::physics::energy::Totals::of(&world, world.bodies.iter().zip(bridge.states()));
    assert_eq!(end, report.end);
    assert!(moved > 0 && report.overlap.unwrap().moved == moved);
}

/// Points of contact of each worker over the last second, and bodies.
fn loads(scene: &Scene, settings: OverlapSettings) -> (Vec<f64>, Vec<f64>) {
    let world = Arc::new(World::new(scene).expect("the scene is valid"));
    let mut bridge = OverlapCoordinator::new(world.clone(), settings).expect("the settings are valid");
    let mut cluster = bridge.serial_pool();
    let last_second = world.time.last_tick - (1.0 / world.time.tick_s) as u64;
    let mut late = OverlapSummary::new(bridge.chosen());
    for tick in 0..world.time.last_tick {
        let Ok(report) = bridge.tick(&mut cluster);
        if tick >= last_second {
            late.add(&report);
        }
    }
    (late.points_mean, late.bodies_mean)
}

fn ratio(values: &[f64]) -> f64 {
    let (least, most) =
        values.iter().fold((f64::INFINITY, 0.0), |(least, most), value| (value.min(least), value.max(most)));
    most / least
}

#[test]
fn a_settled_bowl_is_balanced_by_contacts() {
    for count in [2, 4] {
        // Divided by layers, which are far from equal once they have settled.
        let settings = OverlapSettings { partition: Partition::List, ..workers(count) };
        let (points, _) = loads(&scene("bowl", 600, 4.0), settings);
        assert!(ratio(&points) < 1.5, "points of contact per worker: {points:?}");
    }
}

#[test]
fn a_falling_building_is_balanced_by_bodies() {
    let load = Some(anachron::internals::overlap::Load::Bodies);
    let settings = OverlapSettings { load, partition: Partition::List, ..workers(3) };
    let (_, bodies) = loads(&scene("building", 300, 2.0), settings);
    assert!(ratio(&bodies) < 1.5, "bodies per worker: {bodies:?}");
}

#[test]
fn bridges_hold_by_however_many_workers() {
    for (name, bodies, count, gap) in [
        ("bridge", 232, 1, 0.005),
        ("bridge", 232, 2, 0.05),
        ("bridge", 232, 4, 0.1),
        ("four-way-bridge", 143, 4, 0.2),
    ] {
        let scene = scene(name, bodies, 1.0);
        let world = Arc::new(World::new(&scene).unwrap());
        let mut bridge = OverlapCoordinator::new(world.clone(), workers(count)).unwrap();
        let mut cluster = bridge.serial_pool();
        let mut worst: f64 = 0.0;
        for _ in 0..world.time.last_tick {
            let Ok(_) = bridge.tick(&mut cluster);
            worst = worst.max(Violation::of(&world, bridge.states()).max_m);
        }
        assert!(worst < gap, "{name} by {count} workers: a gap of {worst} m");
    }
}

#[test]
fn piles_by_several_workers_end_like_those_by_one() {
    let scene = scene("bowl", 400, 4.0);
    let height = |count| {
        let end = run(&scene, workers(count), 2).end;
        end.potential
    };
    let (one, three) = (height(1), height(3));
    assert!((one - three).abs() < 0.05 * one, "height of the pile: {one} J and {three} J");
}

#[test]
fn joints_are_refused_where_nobody_knows_them() {
    let scene = scene("bridge", 25, 0.1);
    for (name, sync) in SyncMode::same_result() {
        let told = Simulation::new(&scene).unwrap().sync(sync).run(|_| ControlFlow::Continue(()));
        let Err(RunError::Scene(error)) = told else { panic!("{name} ran joints") };
        assert!(error.to_string().contains("use `--sync overlap`"), "{error}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let scene = scene("bowl", 20, 0.1);
    let told = |settings: OverlapSettings| {
        let simulation = Simulation::new(&scene).unwrap().sync(SyncMode::Overlap).overlap(settings);
        simulation.check().unwrap_err().to_string()
    };
    assert_eq!(told(workers(0)), "workers: 0 workers for 20 bodies; use 1 to 20");
    assert_eq!(told(workers(21)), "workers: 21 workers for 20 bodies; use 1 to 20");
    let deep = told(OverlapSettings { gamma: Some(20), ..workers(2) });
    assert!(
        deep.starts_with("gamma: is 20, but no two of 20 bodies are more than 19 constraints apart"),
        "{deep}"
    );
    assert!(told(OverlapSettings { beta: Some(0), ..workers(2) }).starts_with("beta: is 0"));
}

#[test]
fn the_scene_may_say_who_begins_where() {
    use anachron::scene::{BodyRef, Part};
    let mut scene = scene("bowl", 20, 0.1);
    let part = |ids: std::ops::Range<u32>| Part { bodies: ids.map(BodyRef::Id).collect() };
    scene.parts = vec![part(0..5), part(5..20)];
    let bridge =
        OverlapCoordinator::new(Arc::new(World::new(&scene).unwrap()), OverlapSettings::default()).unwrap();
    let own = |worker: u32| bridge.sets().iter().filter(|set| set.contains(worker)).count();
    assert_eq!((own(0), own(1)), (5, 15));
    let simulation = Simulation::new(&scene).unwrap().sync(SyncMode::Overlap).overlap(workers(3));
    let told = simulation.check().unwrap_err().to_string();
    assert!(told.contains("the scene has 2 parts, and 3 workers"), "{told}");
}

/// Looks at the orders before the workers do.
struct Spy {
    cluster: SerialPool,
    /// Bodies that were shared at the last tick: their workers and what came of blending.
    shared: Vec<(u32, WorkerSet, BodyState)>,
    seen: usize,
}

impl WorkerPool for Spy {
    type Error = std::convert::Infallible;

    fn look(&mut self, tasks: Vec<DetectTask>) -> Result<Vec<Detected>, Self::Error> {
        self.cluster.look(tasks)
    }

    fn step(&mut self, orders: Vec<StepTask>) -> Result<Vec<StepResult>, Self::Error> {
        for (place, set, state) in &self.shared {
            for orders in set.iter().map(|worker| &orders[worker as usize]) {
                let left = orders.deactivate.contains(place);
                assert!(left || orders.reset.contains(&(*place, *state)), "body {place} goes its own way");
                self.seen += 1;
            }
        }
        self.cluster.step(orders)
    }
}

/// Workers go on from the blended state of a shared body, never from their own copy.
#[test]
fn shared_bodies_go_on_from_what_was_blended() {
    let mut bridge =
        OverlapCoordinator::new(Arc::new(World::new(&scene("bowl", 150, 2.0)).unwrap()), workers(3)).unwrap();
    let mut spy = Spy { cluster: bridge.serial_pool(), shared: Vec::new(), seen: 0 };
    for _ in 0..400 {
        let Ok(_) = bridge.tick(&mut spy);
        let sets = bridge.sets().iter().zip(bridge.states()).zip(0..);
        let shared = sets.filter(|((set, _), _)| set.len() > 1);
        spy.shared = shared.map(|((set, state), place)| (place, *set, *state)).collect();
    }
    assert!(spy.seen > 100, "{}", spy.seen);
}
