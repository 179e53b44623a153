//! One tick of workers that share bodies, after Kale and Kry. A whole scene and a single island are advanced by it alike.
//!
//! The workers find contacts; contacts change the assignment of bodies to workers; every worker advances its bodies
//! without the others; the copies of shared bodies are weighed and blended. [`TickWorkers`] decides how workers run and
//! how bodies are numbered.

use crate::base::state::BodyState;
use crate::overlap::balance::{Assignment, Case};
use crate::overlap::blend::blend;
use crate::overlap::cover::uncovered;
use crate::overlap::graph::{ConstraintGraph, Walk};
use crate::overlap::settings::OverlapParameters;
use crate::overlap::weights::weigh;
use crate::overlap::worker_set::WorkerSet;

/// The workers of one tick.
pub trait TickWorkers {
    /// Why finding contacts or advancing may fail.
    type Error;

    /// Appends the pairs of bodies that are in contact when the tick begins. The assignment treats them in this order.
    /// Not called with one worker.
    fn find_contacts(&mut self, contacts: &mut Vec<(u32, u32)>) -> Result<(), Self::Error>;

    /// Lets every worker advance its bodies by one tick; `sets` are the workers of every body.
    fn step(&mut self, sets: &[WorkerSet]) -> Result<(), Self::Error>;

    /// Appends the copies of a body after [`TickWorkers::step`], in ascending order of its workers `set`. Called once for
    /// every body, in ascending order.
    fn copies(&mut self, body: u32, set: WorkerSet, copies: &mut Vec<BodyState>);
}

/// How the contacts of a tick changed the assignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssignmentCounts {
    /// How often each of the paper's cases applied: apart, released, bridge, together.
    pub cases: [u32; 4],
    /// Constraints that no worker covered after the cases were applied. They are covered before the workers step.
    pub uncovered: u32,
}

/// The constraints of a tick, and scratch memory that is kept for speed.
#[derive(Clone, Debug, Default)]
pub struct OverlapTick {
    joints: Vec<(u32, u32)>,
    contacts: Vec<(u32, u32)>,
    graph: ConstraintGraph,
    walk: Walk,
    copies: Vec<BodyState>,
    weights: Vec<f64>,
}

impl OverlapTick {
    /// Ticks of bodies that are held by joints between these pairs.
    pub fn new(joints: Vec<(u32, u32)>) -> Self {
        OverlapTick { joints, ..OverlapTick::default() }
    }

    /// Pairs of bodies in contact when the last tick began; empty with one worker.
    pub fn contacts(&self) -> &[(u32, u32)] {
        &self.contacts
    }

    /// Advances all bodies by one tick. `blended` is replaced by their states, in the order of the assignment's bodies.
    pub fn advance<W: TickWorkers>(
        &mut self,
        parameters: &OverlapParameters,
        assignment: &mut Assignment,
        workers: &mut W,
        blended: &mut Vec<BodyState>,
    ) -> Result<AssignmentCounts, W::Error> {
        let mut counts = AssignmentCounts::default();
        // A single worker has all bodies and finds contacts itself.
        if parameters.workers > 1 {
            self.contacts.clear();
            workers.find_contacts(&mut self.contacts)?;
            let edges = self.joints.iter().chain(&self.contacts).copied();
            self.graph = ConstraintGraph::new(assignment.sets().len(), edges);
            counts = self.assign(parameters, assignment);
        }
        workers.step(assignment.sets())?;
        self.blend(parameters, assignment.sets(), workers, blended);
        Ok(counts)
    }

    /// Lets contacts change the assignment, and makes sure that it covers every body and every constraint.
    fn assign(&mut self, parameters: &OverlapParameters, assignment: &mut Assignment) -> AssignmentCounts {
        let mut counts = AssignmentCounts::default();
        if let Some(load) = parameters.load {
            assignment.update_loads(load, &self.graph);
            for &(a, b) in &self.contacts {
                let case = match assignment.apply_contact(a, b, parameters.gamma, &self.graph, &mut self.walk)
                {
                    Case::Unchanged => continue,
                    Case::Apart => 0,
                    Case::Released => 1,
                    Case::Bridge => 2,
                    Case::Together => 3,
                };
                counts.cases[case] += 1;
            }
            assignment.release_isolated(&self.graph);
        }
        let edges = self.joints.iter().chain(&self.contacts).copied();
        counts.uncovered = assignment.close_cover(edges.clone()) as u32;
        let open = uncovered(assignment.sets(), edges);
        assert_eq!(open, None, "invariant: every body and every constraint lives in a worker");
        counts
    }

    fn blend<W: TickWorkers>(
        &mut self,
        parameters: &OverlapParameters,
        sets: &[WorkerSet],
        workers: &mut W,
        blended: &mut Vec<BodyState>,
    ) {
        let OverlapTick { graph, walk, copies, weights, .. } = self;
        blended.clear();
        blended.reserve(sets.len());
        for (body, set) in (0..).zip(sets) {
            copies.clear();
            workers.copies(body, *set, copies);
            blended.push(match copies.as_slice() {
                [only] => *only,
                several => {
                    weigh(parameters.weights, graph, sets, body, parameters.beta, walk, weights);
                    blend(several, weights)
                }
            });
        }
    }
}
