//! Workers that share a scene: the same bits on any number of cores, balanced loads, and plausible physics.

use std::ops::ControlFlow;
use std::sync::Arc;

use anachron::internals::base::state::BodyState;
use anachron::internals::overlap::detect::DetectTask;
use anachron::internals::overlap::partition::Partition;
use anachron::internals::overlap::step::{StepResult, StepTask};
use anachron::internals::overlap::{JointGaps, Load, OverlapSettings, OverlapSummary, WorkerSet};
use anachron::internals::overlap_bridge::{Detected, OverlapCoordinator, SerialPool, WorkerPool};
use anachron::internals::physics::World;
use anachron::internals::physics::energy::Totals;
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
fn one_worker_has_the_result_of_the_island_solver_alone() {
    for scene in [scene("bowl", 150, 1.5), scene("bridge", 60, 0.5), scene("building", 130, 0.5)] {
        let world = Arc::new(World::new(&scene).unwrap());
        let mut plain = IslandSolver::of_all(world.clone());
        let mut coordinator = OverlapCoordinator::new(world.clone(), workers(1)).unwrap();
        let mut pool = coordinator.serial_pool();
        for tick in 0..world.time.last_tick {
            plain.step();
            let Ok(_) = coordinator.tick(&mut pool);
            for (a, b) in plain.states().iter().zip(coordinator.states()) {
                let bits = |state: &BodyState| state.to_array().map(f64::to_bits);
                assert_eq!(bits(a), bits(b), "{} at tick {tick}", scene.name);
            }
        }
    }
}

#[test]
fn the_digest_depends_on_workers_and_never_on_cores() {
    let mut shallow = scene("bridge", 97, 0.4);
    // With the scene's own depth of sharing every worker would have the whole of such a short bridge.
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
        assert_eq!(digests.len(), 3, "the number of workers changes the result");
    }
}

#[test]
fn workers_on_one_thread_have_the_result_of_actors() {
    let scene = scene("bowl", 300, 1.2);
    let report = run(&scene, workers(3), 2);
    let world = Arc::new(World::new(&scene).unwrap());
    let mut coordinator = OverlapCoordinator::new(world.clone(), workers(3)).unwrap();
    let mut pool = coordinator.serial_pool();
    let mut moved = 0;
    for _ in 0..world.time.last_tick {
        let Ok(tick) = coordinator.tick(&mut pool);
        moved += u64::from(tick.moved);
    }
    let end = Totals::of(&world, world.bodies.iter().zip(coordinator.states()));
    assert_eq!(end, report.end);
    assert!(moved > 0 && report.overlap.unwrap().bodies_moved == moved);
}

/// Contact points and bodies of each worker, means over the last second.
fn loads(scene: &Scene, settings: OverlapSettings) -> (Vec<f64>, Vec<f64>) {
    let world = Arc::new(World::new(scene).expect("the scene is valid"));
    let mut coordinator = OverlapCoordinator::new(world.clone(), settings).expect("the settings are valid");
    let mut pool = coordinator.serial_pool();
    let last_second = world.time.last_tick - (1.0 / world.time.tick_s) as u64;
    let mut late = OverlapSummary::new(coordinator.parameters().workers, 0);
    for tick in 0..world.time.last_tick {
        let Ok(report) = coordinator.tick(&mut pool);
        if tick >= last_second {
            late.add(&report);
        }
    }
    (late.contact_points_mean, late.bodies_mean)
}

fn ratio(values: &[f64]) -> f64 {
    let (least, most) =
        values.iter().fold((f64::INFINITY, 0.0), |(least, most), value| (value.min(least), value.max(most)));
    most / least
}

#[test]
fn a_settled_bowl_is_balanced_by_contacts() {
    for count in [2, 4] {
        // Divided by layers, which have very different numbers of contacts once they have settled.
        let settings = OverlapSettings { partition: Partition::List, ..workers(count) };
        let (points, _) = loads(&scene("bowl", 600, 4.0), settings);
        assert!(ratio(&points) < 1.5, "contact points per worker: {points:?}");
    }
}

#[test]
fn a_falling_building_is_balanced_by_bodies() {
    let load = Some(Load::Bodies);
    let settings = OverlapSettings { load, partition: Partition::List, ..workers(3) };
    let (_, bodies) = loads(&scene("building", 300, 2.0), settings);
    assert!(ratio(&bodies) < 1.5, "bodies per worker: {bodies:?}");
}

#[test]
fn the_joints_of_bridges_hold_with_any_number_of_workers() {
    for (name, bodies, count, gap) in [
        ("bridge", 232, 1, 0.005),
        ("bridge", 232, 2, 0.05),
        ("bridge", 232, 4, 0.1),
        ("four-way-bridge", 143, 4, 0.2),
    ] {
        let scene = scene(name, bodies, 1.0);
        let world = Arc::new(World::new(&scene).unwrap());
        let mut coordinator = OverlapCoordinator::new(world.clone(), workers(count)).unwrap();
        let mut pool = coordinator.serial_pool();
        let mut worst: f64 = 0.0;
        for _ in 0..world.time.last_tick {
            let Ok(_) = coordinator.tick(&mut pool);
            worst = worst.max(JointGaps::of(&world, coordinator.states()).max_m);
        }
        assert!(worst < gap, "{name} with {count} workers: a gap of {worst} m");
    }
}

#[test]
fn a_pile_has_the_same_height_with_one_worker_and_with_three() {
    let scene = scene("bowl", 400, 4.0);
    let height = |count| run(&scene, workers(count), 2).end.potential;
    let (one, three) = (height(1), height(3));
    assert!((one - three).abs() < 0.05 * one, "height of the pile: {one} J and {three} J");
}

#[test]
fn executors_without_joints_refuse_them() {
    let scene = scene("bridge", 25, 0.1);
    for (name, sync) in SyncMode::same_result() {
        let result = Simulation::new(&scene).unwrap().sync(sync).run(|_| ControlFlow::Continue(()));
        let Err(RunError::Scene(error)) = result else { panic!("{name} ran joints") };
        assert!(error.to_string().contains("use `--sync overlap`"), "{error}");
    }
}

#[test]
fn settings_that_do_not_fit_the_scene_are_refused() {
    let scene = scene("bowl", 20, 0.1);
    let error = |settings: OverlapSettings| {
        let simulation = Simulation::new(&scene).unwrap().sync(SyncMode::Overlap).overlap(settings);
        simulation.check().unwrap_err().to_string()
    };
    assert_eq!(error(workers(0)), "workers: 0 workers for 20 bodies; use 1 to 20");
    assert_eq!(error(workers(21)), "workers: 21 workers for 20 bodies; use 1 to 20");
    let deep = error(OverlapSettings { gamma: Some(20), ..workers(2) });
    assert!(
        deep.starts_with("gamma: is 20, but no two of 20 bodies are more than 19 constraints apart"),
        "{deep}"
    );
    assert!(error(OverlapSettings { beta: Some(0), ..workers(2) }).starts_with("beta: is 0"));
}

#[test]
fn the_parts_of_a_scene_decide_the_first_assignment() {
    use anachron::scene::{BodyRef, Part};
    let mut scene = scene("bowl", 20, 0.1);
    let part = |ids: std::ops::Range<u32>| Part { bodies: ids.map(BodyRef::Id).collect() };
    scene.parts = vec![part(0..5), part(5..20)];
    let world = Arc::new(World::new(&scene).unwrap());
    let coordinator = OverlapCoordinator::new(world, OverlapSettings::default()).unwrap();
    let own = |worker: u32| coordinator.sets().iter().filter(|set| set.contains(worker)).count();
    assert_eq!((own(0), own(1)), (5, 15));
    let simulation = Simulation::new(&scene).unwrap().sync(SyncMode::Overlap).overlap(workers(3));
    let error = simulation.check().unwrap_err().to_string();
    assert!(error.contains("the scene has 2 parts, and 3 workers"), "{error}");
}

/// Checks the tasks of its workers before they step.
struct CheckedPool {
    pool: SerialPool,
    /// Bodies that were shared at the last tick, with their workers and their blended states.
    shared: Vec<(u32, WorkerSet, BodyState)>,
    resets: usize,
}

impl WorkerPool for CheckedPool {
    type Error = std::convert::Infallible;

    fn detect(&mut self, tasks: Vec<DetectTask>) -> Result<Vec<Detected>, Self::Error> {
        self.pool.detect(tasks)
    }

    fn step(&mut self, tasks: Vec<StepTask>) -> Result<Vec<StepResult>, Self::Error> {
        for (body, set, state) in &self.shared {
            for task in set.iter().map(|worker| &tasks[worker as usize]) {
                let left = task.deactivate.contains(body);
                assert!(left || task.reset.contains(&(*body, *state)), "body {body} is not reset");
                self.resets += 1;
            }
        }
        self.pool.step(tasks)
    }
}

/// Workers continue from the blended state of a shared body, never from their own copy.
#[test]
fn shared_bodies_continue_from_their_blended_states() {
    let world = Arc::new(World::new(&scene("bowl", 150, 2.0)).unwrap());
    let mut coordinator = OverlapCoordinator::new(world, workers(3)).unwrap();
    let pool = coordinator.serial_pool();
    let mut checked = CheckedPool { pool, shared: Vec::new(), resets: 0 };
    for _ in 0..400 {
        let Ok(_) = coordinator.tick(&mut checked);
        let sets = coordinator.sets().iter().zip(coordinator.states()).zip(0..);
        let shared = sets.filter(|((set, _), _)| set.len() > 1);
        checked.shared = shared.map(|((set, state), body)| (body, *set, *state)).collect();
    }
    assert!(checked.resets > 100, "{}", checked.resets);
}
