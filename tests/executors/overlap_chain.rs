//! A chain of 60 links: the gaps of its joints by depth of sharing and by rule of weights.
//!
//! It hangs by both ends with some slack; 2 ms ticks, 200 sweeps, 3 s, as in the table of `docs/overlap.md`. Run with
//! `ANACHRON_CASES=2` and `--nocapture` to see the whole table.

use std::sync::Arc;

use anachron::internals::base::state::BodyState;
use anachron::internals::overlap::{JointGaps, OverlapSettings, WeightRule};
use anachron::internals::overlap_bridge::OverlapCoordinator;
use anachron::internals::physics::World;
use anachron::scene::{Body, Joint, Scene, Shape};

use crate::patience::patience;

const LINK_M: f64 = 0.5;
const LINKS: u32 = 60;

/// The chain descends for half of its links and rises again, so that its ends are four fifths of its length apart.
fn chain() -> Arc<World> {
    let mut scene = Scene { ticks_per_second: 500.0, ..Scene::default() };
    scene.group.iterations = 200;
    let (across, down) = (0.8 * LINK_M, 0.6 * LINK_M);
    let mut end = [0.0; 3];
    for k in 0..LINKS {
        let slope = if k < LINKS / 2 { -1.0 } else { 1.0 };
        let next = [end[0] + across, end[1] + slope * down, 0.0];
        let middle = [0.5 * (end[0] + next[0]), 0.5 * (end[1] + next[1]), 0.0];
        let shape = Shape::Box { half_extents: [0.5 * LINK_M, 0.05, 0.05] };
        // A rotation by the angle with the cosine 0.8.
        let orientation = [0.0, 0.0, slope * 0.1f64.sqrt(), 0.9f64.sqrt()];
        scene.bodies.push(Body { orientation, ..Body::new(shape, middle) });
        scene.joints.push(Joint::ball(k, k.checked_sub(1), end));
        end = next;
    }
    scene.joints.push(Joint::ball(LINKS - 1, None, end));
    Arc::new(World::new(&scene).expect("the scene is valid"))
}

struct Outcome {
    /// The largest gap of any joint in the last second, in lengths of a link.
    gap: f64,
    end: Vec<BodyState>,
}

fn hang(workers: u32, gamma: u32, weights: WeightRule) -> Outcome {
    let world = chain();
    let settings =
        OverlapSettings { workers: Some(workers), gamma: Some(gamma), weights, ..OverlapSettings::default() };
    let mut coordinator = OverlapCoordinator::new(world.clone(), settings).expect("the settings are valid");
    let mut pool = coordinator.serial_pool();
    let mut gap: f64 = 0.0;
    for tick in 0..1500 {
        let Ok(_) = coordinator.tick(&mut pool);
        if tick >= 1000 {
            gap = gap.max(JointGaps::of(&world, coordinator.states()).max_m / LINK_M);
        }
    }
    Outcome { gap, end: coordinator.states().to_vec() }
}

/// Root mean square distance of the bodies, metres.
fn distance(a: &[BodyState], b: &[BodyState]) -> f64 {
    let squares: f64 = a.iter().zip(b).map(|(a, b)| (a.x - b.x).norm_squared()).sum();
    (squares / a.len() as f64).sqrt()
}

#[test]
fn gaps_shrink_with_the_depth_of_sharing_and_with_geodesic_weights() {
    let alone = hang(1, 0, WeightRule::Geodesic);
    println!("one worker: gap {:.1e}", alone.gap);
    // The whole table is left to `./test long`.
    let gammas = if patience() > 1 { &[0, 1, 2, 4, 6, 10][..] } else { &[0, 2, 10] };
    let row = |weights: WeightRule| -> Vec<f64> {
        let runs: Vec<Outcome> = gammas.iter().map(|gamma| hang(2, *gamma, weights)).collect();
        for (gamma, run) in gammas.iter().zip(&runs) {
            let distance = distance(&alone.end, &run.end);
            println!("{weights:?} gamma {gamma}: gap {:.1e}, {distance:.2} m from one worker", run.gap);
        }
        runs.iter().map(|run| run.gap).collect()
    };
    let (geodesic, equal) = (row(WeightRule::Geodesic), row(WeightRule::Equal));
    let four = hang(4, 0, WeightRule::Geodesic).gap;
    println!("4 workers, gamma 0: gap {four:.1e}");
    assert!(alone.gap < 1e-3, "one worker: {}", alone.gap);
    for pair in geodesic.windows(2) {
        assert!(pair[1] < pair[0], "deeper sharing must close gaps: {geodesic:?}");
    }
    for (gamma, (geodesic, equal)) in gammas.iter().zip(geodesic.iter().zip(&equal)) {
        assert!(geodesic < equal, "gamma {gamma}: geodesic {geodesic}, equal {equal}");
    }
    // The bounds leave a margin to the figures in `docs/overlap.md`.
    let (shallow, deep) = (geodesic[0], geodesic[gammas.len() - 1]);
    assert!(shallow < 3e-2 && deep < 2e-3 && shallow > 8.0 * deep, "{geodesic:?}");
}
