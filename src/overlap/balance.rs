//! The assignment of bodies to workers, and how contacts change it: the five cases of the paper's figure 9.

use crate::overlap::graph::{ConstraintGraph, Walk};
use crate::overlap::worker_set::WorkerSet;

/// What counts as the load of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Every body counts the same.
    Bodies,
    /// A body counts one, and one for each of its contacts and joints.
    #[default]
    Contacts,
}

impl Load {
    /// All kinds of load, with their names on the command line.
    pub const ALL: &[(&str, Load)] = &[("bodies", Load::Bodies), ("contacts", Load::Contacts)];
}

/// Which of the paper's cases applied to a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Both live in a common worker, and no copy can be saved.
    Unchanged,
    /// (i) and (ii): no common worker; one of the two is shared from now on, and so is everything within
    /// `gamma` constraints of it.
    Apart,
    /// (iii): a shared body is no longer shared if all its neighbours live in the other body's worker.
    Released,
    /// (iv): a shared body stays shared because it connects workers; or two shared bodies stay shared because another
    /// worker's own bodies begin within the depth of sharing.
    Bridge,
    /// (v): two bodies shared by the same workers go to the worker with the least load.
    Together,
}

/// The workers of every body.
#[derive(Clone, Debug)]
pub struct Assignment {
    sets: Vec<WorkerSet>,
    /// Workers that a body never leaves. Bodies with joints keep the workers they begin with, or contacts would take
    /// away the depth of sharing.
    kept: Vec<WorkerSet>,
    /// The load of every worker.
    loads: Vec<u64>,
    /// What each body adds to the load of its workers.
    body_loads: Vec<u64>,
}

impl Assignment {
    /// Starts from these workers for every body. Bodies with joints never leave them.
    pub fn new(sets: Vec<WorkerSet>, workers: u32, has_joints: impl Fn(u32) -> bool) -> Self {
        let kept = (0..sets.len() as u32)
            .map(|body| if has_joints(body) { sets[body as usize] } else { WorkerSet::EMPTY })
            .collect();
        let body_loads = vec![1; sets.len()];
        let mut assignment = Assignment { sets, kept, loads: vec![0; workers as usize], body_loads };
        assignment.count();
        assignment
    }

    /// The workers of every body.
    pub fn sets(&self) -> &[WorkerSet] {
        &self.sets
    }

    /// The workers of every body, without the rest.
    pub fn into_sets(self) -> Vec<WorkerSet> {
        self.sets
    }

    /// The load of every worker.
    pub fn loads(&self) -> &[u64] {
        &self.loads
    }

    /// Computes the load of every body and every worker again, from the constraints of this tick.
    pub fn update_loads(&mut self, load: Load, graph: &ConstraintGraph) {
        for (body, body_load) in self.body_loads.iter_mut().enumerate() {
            *body_load = match load {
                Load::Bodies => 1,
                Load::Contacts => 1 + graph.neighbours(body as u32).len() as u64,
            };
        }
        self.count();
    }

    fn count(&mut self) {
        self.loads.fill(0);
        for (set, body_load) in self.sets.iter().zip(&self.body_loads) {
            for worker in set.iter() {
                self.loads[worker as usize] += body_load;
            }
        }
    }

    fn load_of(&self, set: WorkerSet) -> u64 {
        set.iter().map(|worker| self.loads[worker as usize]).sum()
    }

    fn lightest(&self, set: WorkerSet) -> Option<u32> {
        set.iter().min_by_key(|worker| self.loads[*worker as usize])
    }

    fn activate(&mut self, body: u32, workers: WorkerSet) {
        let new = workers.without(self.sets[body as usize]);
        self.sets[body as usize] = self.sets[body as usize].union(new);
        for worker in new.iter() {
            self.loads[worker as usize] += self.body_loads[body as usize];
        }
    }

    fn deactivate(&mut self, body: u32, workers: WorkerSet) {
        let gone = workers.common(self.sets[body as usize]).without(self.kept[body as usize]);
        self.sets[body as usize] = self.sets[body as usize].without(gone);
        for worker in gone.iter() {
            self.loads[worker as usize] -= self.body_loads[body as usize];
        }
    }

    /// Whether the neighbours of a body live in more than one worker.
    fn is_bridge(&self, body: u32, graph: &ConstraintGraph) -> bool {
        let around = graph.neighbours(body).iter();
        let workers = around.fold(WorkerSet::EMPTY, |all, other| all.union(self.sets[*other as usize]));
        workers.len() > 1
    }

    /// Whether a body within `gamma` constraints lives in one of these workers alone. A body that leaves them then takes
    /// away the depth of sharing.
    fn borders(
        &self,
        body: u32,
        workers: WorkerSet,
        gamma: u32,
        graph: &ConstraintGraph,
        walk: &mut Walk,
    ) -> bool {
        let mut found = false;
        walk.from(graph, body, gamma, |other, _| {
            let alone = self.sets[other as usize];
            found = alone.len() == 1 && alone.is_within(workers);
            !found
        });
        found
    }

    /// Lets one contact change the workers of its bodies.
    pub fn apply_contact(
        &mut self,
        a: u32,
        b: u32,
        gamma: u32,
        graph: &ConstraintGraph,
        walk: &mut Walk,
    ) -> Case {
        let (of_a, of_b) = (self.sets[a as usize], self.sets[b as usize]);
        if of_a.common(of_b).is_empty() {
            let root = self.bring_together(a, b);
            if gamma > 0 {
                for near in walk.ball(graph, root, gamma) {
                    self.activate(near, of_a.union(of_b));
                }
            }
            return Case::Apart;
        }
        for (shared, alone) in [(a, b), (b, a)] {
            let (of_shared, of_alone) = (self.sets[shared as usize], self.sets[alone as usize]);
            if of_shared.len() > 1 && of_alone.len() == 1 {
                if self.is_bridge(shared, graph) {
                    return Case::Bridge;
                }
                self.deactivate(shared, of_shared.without(of_alone));
                return Case::Released;
            }
        }
        if of_a == of_b
            && of_a.len() > 1
            && let Some(lightest) = self.lightest(of_a)
        {
            let others = of_a.without(WorkerSet::one(lightest));
            let mut borders = |body| gamma > 0 && self.borders(body, others, gamma, graph, walk);
            if borders(a) || borders(b) {
                return Case::Bridge;
            }
            self.deactivate(a, others);
            self.deactivate(b, others);
            return Case::Together;
        }
        Case::Unchanged
    }

    /// Lets one of two bodies without a common worker live in the other's workers, too, where there is less load. Returns
    /// the body that is shared now.
    fn bring_together(&mut self, a: u32, b: u32) -> u32 {
        let (of_a, of_b) = (self.sets[a as usize], self.sets[b as usize]);
        if self.load_of(of_a) <= self.load_of(of_b) {
            self.activate(b, of_a);
            b
        } else {
            self.activate(a, of_b);
            a
        }
    }

    /// Leaves a shared body without any constraint in the least loaded of its workers.
    pub fn release_isolated(&mut self, graph: &ConstraintGraph) {
        for body in 0..self.sets.len() as u32 {
            let set = self.sets[body as usize];
            if set.len() > 1
                && graph.neighbours(body).is_empty()
                && let Some(lightest) = self.lightest(set)
            {
                self.deactivate(body, set.without(WorkerSet::one(lightest)));
            }
        }
    }

    /// Makes sure that every constraint lives in at least one worker: the cases above may leave one in none. Returns how
    /// many they left in none.
    pub fn close_cover(&mut self, edges: impl Iterator<Item = (u32, u32)>) -> usize {
        let mut uncovered = 0;
        for (a, b) in edges {
            if self.sets[a as usize].common(self.sets[b as usize]).is_empty() {
                self.bring_together(a, b);
                uncovered += 1;
            }
        }
        uncovered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RED: u32 = 0;
    const GREEN: u32 = 1;

    fn set(workers: &[u32]) -> WorkerSet {
        workers.iter().fold(WorkerSet::EMPTY, |set, worker| set.union(WorkerSet::one(*worker)))
    }

    /// Bodies in these workers, connected by these edges, after the contact of the first edge was applied.
    fn after(
        workers: &[&[u32]],
        edges: &[(u32, u32)],
        gamma: u32,
        has_joints: bool,
    ) -> (Case, Vec<WorkerSet>) {
        let sets = workers.iter().map(|workers| set(workers)).collect();
        let mut assignment = Assignment::new(sets, 2, |_| has_joints);
        let graph = ConstraintGraph::new(workers.len(), edges.iter().copied());
        assignment.update_loads(Load::Bodies, &graph);
        let (a, b) = edges[0];
        let case = assignment.apply_contact(a, b, gamma, &graph, &mut Walk::default());
        (case, assignment.sets().to_vec())
    }

    #[test]
    fn case_i_a_contact_between_workers_shares_one_of_the_bodies() {
        // Green has two bodies, red one: the body of green comes to red as well.
        let (case, sets) = after(&[&[RED], &[GREEN], &[GREEN]], &[(0, 1)], 0, false);
        assert_eq!((case, sets), (Case::Apart, vec![set(&[RED]), set(&[RED, GREEN]), set(&[GREEN])]));
        // And the other way round.
        let (_, sets) = after(&[&[RED], &[GREEN], &[RED]], &[(0, 1)], 0, false);
        assert_eq!(sets, [set(&[RED, GREEN]), set(&[GREEN]), set(&[RED])]);
    }

    #[test]
    fn case_ii_neighbours_are_shared_gamma_deep() {
        let workers: &[&[u32]] = &[&[RED], &[GREEN], &[GREEN], &[GREEN]];
        let edges = [(0, 1), (1, 2), (2, 3)];
        let shared = |gamma| {
            let (case, sets) = after(workers, &edges, gamma, false);
            assert_eq!(case, Case::Apart);
            sets.iter().map(|set| set.len() > 1).collect::<Vec<_>>()
        };
        assert_eq!(shared(0), [false, true, false, false]);
        // Sharing spreads from the shared body in both directions.
        assert_eq!(shared(1), [true, true, true, false]);
        assert_eq!(shared(2), [true, true, true, true]);
    }

    #[test]
    fn case_iii_a_shared_body_that_touches_one_worker_only_is_released() {
        let (case, sets) = after(&[&[RED], &[RED, GREEN]], &[(0, 1)], 0, false);
        assert_eq!((case, sets), (Case::Released, vec![set(&[RED]), set(&[RED])]));
    }

    #[test]
    fn case_iv_a_bridge_stays_shared() {
        let workers: &[&[u32]] = &[&[RED], &[RED, GREEN], &[GREEN]];
        let (case, sets) = after(workers, &[(0, 1), (1, 2)], 0, false);
        assert_eq!((case, sets[1]), (Case::Bridge, set(&[RED, GREEN])));
    }

    #[test]
    fn case_v_two_shared_bodies_go_to_the_lighter_worker() {
        let workers: &[&[u32]] = &[&[RED, GREEN], &[RED, GREEN], &[RED], &[RED]];
        let (case, sets) = after(workers, &[(0, 1)], 0, false);
        assert_eq!((case, sets[0], sets[1]), (Case::Together, set(&[GREEN]), set(&[GREEN])));
    }

    #[test]
    fn case_v_keeps_the_depth_of_sharing() {
        let workers: &[&[u32]] = &[&[RED, GREEN], &[RED, GREEN], &[RED, GREEN], &[RED], &[GREEN], &[GREEN]];
        let edges = [(0, 1), (1, 2), (2, 4), (0, 3)];
        // Red has the lower load. Green's own bodies are three constraints from one body and two from the other.
        for (gamma, case) in [(0, Case::Together), (1, Case::Together), (2, Case::Bridge), (3, Case::Bridge)]
        {
            let (found, sets) = after(workers, &edges, gamma, false);
            let expected = if case == Case::Bridge { set(&[RED, GREEN]) } else { set(&[RED]) };
            assert_eq!((found, sets[0], sets[1]), (case, expected, expected), "{gamma}");
        }
    }

    #[test]
    fn joined_bodies_keep_the_workers_they_began_with() {
        let workers: &[&[u32]] = &[&[RED, GREEN], &[RED, GREEN], &[RED], &[RED]];
        let (_, sets) = after(workers, &[(0, 1)], 0, true);
        assert_eq!((sets[0], sets[1]), (set(&[RED, GREEN]), set(&[RED, GREEN])));
    }

    #[test]
    fn isolated_bodies_need_only_one_worker() {
        let mut assignment = Assignment::new(vec![set(&[RED, GREEN]), set(&[RED])], 2, |_| false);
        assignment.release_isolated(&ConstraintGraph::new(2, [].into_iter()));
        assert_eq!(assignment.sets()[0], set(&[GREEN]));
    }

    proptest! {
        /// For any contacts in any order, every body and every constraint has a worker, and loads add up.
        #[test]
        fn everything_stays_covered(
            workers in 1u32..6,
            bodies in 2usize..24,
            gamma in 0u32..4,
            by_contacts: bool,
            ticks in prop::collection::vec(prop::collection::vec((0u32..24, 0u32..24), 0..30), 1..12),
            joints in prop::collection::vec((0u32..24, 0u32..24), 0..8),
        ) {
            let real = |edges: &[(u32, u32)]| -> Vec<(u32, u32)> {
                let within = |(a, b): &(u32, u32)| (a % bodies as u32, b % bodies as u32);
                edges.iter().map(within).filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect()
            };
            let joints = real(&joints);
            let has_joints = |body: u32| joints.iter().any(|(a, b)| *a == body || *b == body);
            let sets = (0..bodies as u32).map(|body| WorkerSet::one(body % workers)).collect();
            let mut assignment = Assignment::new(sets, workers, has_joints);
            let mut walk = Walk::default();
            let load = if by_contacts { Load::Contacts } else { Load::Bodies };
            for contacts in ticks.iter().map(|contacts| real(contacts)) {
                let edges: Vec<(u32, u32)> = joints.iter().chain(&contacts).copied().collect();
                let graph = ConstraintGraph::new(bodies, edges.iter().copied());
                assignment.update_loads(load, &graph);
                for (a, b) in &contacts {
                    assignment.apply_contact(*a, *b, gamma, &graph, &mut walk);
                }
                assignment.release_isolated(&graph);
                assignment.close_cover(edges.iter().copied());
                let open = crate::overlap::cover::uncovered(assignment.sets(), edges.iter().copied());
                prop_assert_eq!(open, None);
                let counted = assignment.loads().to_vec();
                assignment.count();
                prop_assert_eq!(assignment.loads(), counted.as_slice());
            }
        }
    }
}
