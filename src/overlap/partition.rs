//! The first assignment: every body in one worker, and bodies near cut joints in several.

use crate::base::math::Vec3;
use crate::overlap::graph::{ConstraintGraph, Walk};
use crate::overlap::worker_set::WorkerSet;
use crate::physics::World;

/// How bodies are divided at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partition {
    /// The parts of the scene; without parts, bisection or the list, the one of the two that cuts fewer joints.
    #[default]
    Scene,
    /// The list of bodies, cut into equal pieces.
    List,
    /// Space, cut in two across its longest side again and again, so that each piece has equally many bodies.
    Bisect,
}

impl Partition {
    /// All ways to divide, with their names on the command line.
    pub const ALL: &[(&str, Partition)] =
        &[("scene", Partition::Scene), ("list", Partition::List), ("bisect", Partition::Bisect)];
}

/// The worker of every body.
pub fn divide(world: &World, partition: Partition, workers: u32) -> Vec<u32> {
    let bodies = world.bodies.len();
    match partition {
        _ if workers == 1 => vec![0; bodies],
        Partition::Scene if !world.parts.is_empty() => world.parts.clone(),
        Partition::List => by_list(bodies, workers),
        Partition::Bisect => bisected(world, workers),
        Partition::Scene => {
            let (bisected, listed) = (bisected(world, workers), by_list(bodies, workers));
            if cut_joints(world, &listed) < cut_joints(world, &bisected) { listed } else { bisected }
        }
    }
}

fn bisected(world: &World, workers: u32) -> Vec<u32> {
    let positions: Vec<Vec3> = world.bodies.iter().map(|body| body.start.x).collect();
    by_bisection(&positions, workers, world.gravity)
}

/// Joints between bodies of different workers.
fn cut_joints(world: &World, worker_of: &[u32]) -> usize {
    let pairs = world.joints.iter().filter_map(|joint| joint.pair());
    pairs.filter(|(a, b)| worker_of[*a as usize] != worker_of[*b as usize]).count()
}

/// Divides the list of bodies into equal pieces.
pub fn by_list(bodies: usize, workers: u32) -> Vec<u32> {
    (0..bodies).map(|body| (body * workers as usize / bodies) as u32).collect()
}

/// Divides space into pieces with equally many bodies. Cuts along gravity are preferred to cuts across it: bodies above
/// come to lie on bodies below, and the worker of the lower half would have all contacts first.
pub fn by_bisection(positions: &[Vec3], workers: u32, gravity: Vec3) -> Vec<u32> {
    let mut worker_of = vec![0; positions.len()];
    let mut all: Vec<u32> = (0..positions.len() as u32).collect();
    let mut scale = Vec3::repeat(1.0);
    if gravity != Vec3::zeros() {
        scale[gravity.iamax()] = ACROSS_GRAVITY;
    }
    bisect(positions, &scale, &mut all, 0, workers, &mut worker_of);
    worker_of
}

/// Lengths along gravity count by this factor when the longest side is chosen. Not tuned.
const ACROSS_GRAVITY: f64 = 0.1;

fn bisect(
    positions: &[Vec3],
    scale: &Vec3,
    bodies: &mut [u32],
    first: u32,
    workers: u32,
    worker_of: &mut [u32],
) {
    if workers == 1 || bodies.len() <= 1 {
        for body in bodies {
            worker_of[*body as usize] = first;
        }
        return;
    }
    let at = |body: &u32| positions[*body as usize];
    let low = bodies.iter().map(at).fold(Vec3::repeat(f64::INFINITY), |low, x| low.inf(&x));
    let high = bodies.iter().map(at).fold(Vec3::repeat(f64::NEG_INFINITY), |high, x| high.sup(&x));
    let axis = (high - low).component_mul(scale).imax();
    bodies.sort_unstable_by(|a, b| at(a)[axis].total_cmp(&at(b)[axis]).then(a.cmp(b)));
    let half = workers / 2;
    let cut = bodies.len() * half as usize / workers as usize;
    let (left, right) = bodies.split_at_mut(cut);
    bisect(positions, scale, left, first, half, worker_of);
    bisect(positions, scale, right, first + half, workers - half, worker_of);
}

/// Shares bodies across joints between different workers: every body within `gamma` joints of either end lives in the
/// workers of both ends. `graph` has joints only.
pub fn share_across_joints(
    world: &World,
    worker_of: &[u32],
    graph: &ConstraintGraph,
    gamma: u32,
) -> Vec<WorkerSet> {
    let mut sets: Vec<WorkerSet> = worker_of.iter().map(|worker| WorkerSet::one(*worker)).collect();
    let mut walk = Walk::default();
    for (a, b) in world.joints.iter().filter_map(|joint| joint.pair()) {
        let (of_a, of_b) = (worker_of[a as usize], worker_of[b as usize]);
        if of_a == of_b {
            continue;
        }
        let both = WorkerSet::one(of_a).union(WorkerSet::one(of_b));
        for root in [a, b] {
            for near in walk.ball(graph, root, gamma) {
                sets[near as usize] = sets[near as usize].union(both);
            }
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_the_list_are_equal() {
        assert_eq!(by_list(7, 3), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(by_list(2, 2), [0, 1]);
    }

    #[test]
    fn bisection_cuts_across_the_longest_side() {
        let positions: Vec<Vec3> =
            (0..12).map(|k| Vec3::new(f64::from(k % 6), f64::from(k / 6), 0.0)).collect();
        let workers = by_bisection(&positions, 2, Vec3::zeros());
        for (x, worker) in positions.iter().zip(workers) {
            assert_eq!(worker, u32::from(x.x >= 3.0));
        }
        let counts =
            by_bisection(&positions, 3, Vec3::zeros()).into_iter().fold([0; 3], |mut counts, worker| {
                counts[worker as usize] += 1;
                counts
            });
        assert_eq!(counts, [4, 4, 4]);
    }

    #[test]
    fn towers_are_cut_along_gravity() {
        let positions: Vec<Vec3> =
            (0..40).map(|k| Vec3::new(f64::from(k % 2), f64::from(k / 2) * 0.5, 0.0)).collect();
        let workers = by_bisection(&positions, 2, Vec3::new(0.0, -9.81, 0.0));
        for (x, worker) in positions.iter().zip(workers) {
            assert_eq!(f64::from(worker), x.x);
        }
    }
}
