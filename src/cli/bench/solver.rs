//! The island solver against Rapier, step by step from the same states; needs the feature `rapier`.

use clap::Args;

use super::super::failure::Failure;
use super::Common;
use super::runner::Runner;
use crate::bench::Section;
use crate::cli::count::count;

#[derive(Args)]
pub(super) struct Arguments {
    /// The scene; a pyramid of 1953 boxes and bowls of 1000 and 5040 balls if not given
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,
    /// Number of bodies
    #[arg(long, value_name = "N", value_parser = count::<u32>(1..=1_000_000))]
    bodies: Option<u32>,
    /// Sweeps of the island solver and iterations of Rapier per tick
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count::<u32>(1..=10_000))]
    iterations: u32,
    /// Ticks that are measured in each run
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = count::<u32>(1..=1_000_000))]
    ticks: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments { scenario: None, bodies: None, iterations: 20, ticks: 60 }
    }
}

/// Whether there is anything to compare with.
pub(super) fn ready() -> Result<(), Failure> {
    if cfg!(feature = "rapier") {
        return Ok(());
    }
    Err(Failure::bad_input(
        "bench solver compares with Rapier, which this program was built without; \
         build it with `cargo build --release --features rapier`",
    ))
}

#[cfg(not(feature = "rapier"))]
pub(super) fn measure(_: &mut Runner, which: &Arguments, _: &Common) -> Result<Vec<Section>, Failure> {
    let Arguments { scenario: _, bodies: _, iterations: _, ticks: _ } = which;
    ready().map(|()| Vec::new())
}

#[cfg(feature = "rapier")]
pub(super) use with_rapier::measure;

#[cfg(feature = "rapier")]
mod with_rapier {
    use std::sync::Arc;
    use std::time::Instant;

    use super::super::super::format::{grouped, short};
    use super::super::super::resources::cpu_s;
    use super::*;
    use crate::base::state::BodyState;
    use crate::bench::{Spread, Table};
    use crate::overlap::Engine;
    use crate::overlap::rapier::RapierEngine;
    use crate::physics::World;
    use crate::physics::island_solver::IslandSolver;
    use crate::scenarios::{self, Request};

    /// Scenario, number of bodies, and seconds of simulated time before measuring.
    const SCENES: [(&str, u32, f64); 3] = [("pyramid", 1953, 0.25), ("bowl", 1000, 2.5), ("bowl", 5040, 2.0)];
    /// Ticks in which both engines find their contacts and fill their caches.
    const WARM_TICKS: u32 = 20;

    /// Time that the steps of one engine took.
    #[derive(Default)]
    struct Steps {
        cpu_ms: Spread,
        wall_ms: Spread,
        points: u32,
    }

    impl Steps {
        fn add(&mut self, engine: &mut dyn Engine, ticks: u32) {
            for _ in 0..WARM_TICKS {
                engine.step();
            }
            let (wall, cpu) = (Instant::now(), cpu_s());
            for _ in 0..ticks {
                self.points = engine.step().points;
            }
            let per_tick = 1e3 / f64::from(ticks);
            let wall_s = wall.elapsed().as_secs_f64();
            self.wall_ms.add(wall_s * per_tick);
            self.cpu_ms.add(cpu_s().zip(cpu).map_or(wall_s, |(now, then)| now - then) * per_tick);
        }
    }

    // Long: the scenes of one table, one after the other.
    pub(in super::super) fn measure(
        _: &mut Runner,
        arguments: &Arguments,
        common: &Common,
    ) -> Result<Vec<Section>, Failure> {
        let mut table = Table::new(&[
            "scene",
            "points: island solver",
            "Rapier",
            "CPU ms per tick: island solver",
            "Rapier",
            "wall ms: island solver",
            "Rapier",
            "island solver over Rapier",
        ]);
        let named = arguments.scenario.as_deref();
        let chosen: Vec<(&str, u32, f64)> = match named {
            None => SCENES
                .iter()
                .map(|(name, bodies, s)| (*name, arguments.bodies.unwrap_or(*bodies), *s))
                .collect(),
            Some(name) => {
                let known = SCENES.iter().find(|scene| scene.0 == name);
                let usual = scenarios::find(name).map_or(1, |scenario| scenario.bodies);
                vec![(name, arguments.bodies.unwrap_or(usual), known.map_or(1.0, |scene| scene.2))]
            }
        };
        for (name, bodies, seconds) in chosen {
            let seconds = common.seconds.unwrap_or(seconds);
            let request = Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() };
            let mut scene = scenarios::build(name, &request).map_err(Failure::bad_input)?;
            scene.group.iterations = arguments.iterations;
            let world = Arc::new(World::new(&scene).map_err(Failure::bad_input)?);
            let from = after(&world);
            let (mut ours, mut theirs) = (Steps::default(), Steps::default());
            for _ in 0..common.repeat {
                let mut solver = IslandSolver::of_all(world.clone());
                let mut rapier = RapierEngine::of_all(&world);
                for (body, state) in from.iter().enumerate() {
                    Engine::set_state(&mut solver, body as u32, state);
                    rapier.set_state(body as u32, state);
                }
                ours.add(&mut solver, arguments.ticks);
                theirs.add(&mut rapier, arguments.ticks);
            }
            table.add(vec![
                format!("{name} {}", grouped(u64::from(bodies))),
                ours.points.to_string(),
                theirs.points.to_string(),
                spread_text(&ours.cpu_ms),
                spread_text(&theirs.cpu_ms),
                spread_text(&ours.wall_ms),
                spread_text(&theirs.wall_ms),
                format!("{:.2}", ours.cpu_ms.median() / theirs.cpu_ms.median()),
            ]);
        }
        let words = format!(
            "Median of {} runs of {} ticks each, one engine after the other on one thread, both from the states after a \
             while of the scene. {} sweeps of the island solver per tick, as many iterations of Rapier, each of which is \
             a substep with its own integration. The ratio is of processor time. Target: at most 2.",
            common.repeat, arguments.ticks, arguments.iterations
        );
        Ok(vec![Section {
            name: "solver".into(),
            title: "The island solver against Rapier".into(),
            words: vec![words],
            table,
            plots: Vec::new(),
            runs: Table::default(),
        }])
    }

    /// The states at the end of the scene, by the island solver.
    fn after(world: &Arc<World>) -> Vec<BodyState> {
        let mut solver = IslandSolver::of_all(world.clone());
        for _ in 0..world.time.last_tick {
            solver.step();
        }
        solver.states().to_vec()
    }

    fn spread_text(spread: &Spread) -> String {
        format!("{} +- {:.0} %", short(spread.median()), spread.half_width() * 100.0)
    }
}
