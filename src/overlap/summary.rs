//! What the workers of a scene did, over a whole run.

use serde::Serialize;

use crate::base::state::BodyState;
use crate::overlap::report::TickReport;
use crate::physics::{JointSide, World};

/// The gaps of joints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct JointGaps {
    /// The sum of all gaps, metres.
    pub sum_m: f64,
    /// The largest gap, metres.
    pub max_m: f64,
}

impl JointGaps {
    /// Measures all joints of a world; `states` are those of all its bodies.
    pub fn of(world: &World, states: &[BodyState]) -> Self {
        let mut violation = JointGaps::default();
        for joint in &world.joints {
            let state = |side: &JointSide| side.body.map_or(side.fixed, |body| states[body as usize]);
            let (gap, _) = joint.violation(&state(&joint.a), &state(&joint.b));
            violation.sum_m += gap;
            violation.max_m = violation.max_m.max(gap);
        }
        violation
    }
}

/// Sums and means over the ticks of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OverlapSummary {
    /// The number of workers.
    pub workers: u32,
    /// How deep workers shared bodies, in constraints.
    pub gamma: u32,
    /// Bodies that lived in more than one worker, mean over ticks.
    pub shared_mean: f64,
    /// Copies of those bodies, mean over ticks.
    pub copies_mean: f64,
    /// How often a body entered or left a worker.
    pub bodies_moved: u64,
    /// How often each of the paper's cases applied to a contact: apart, released, bridge, together.
    pub contact_cases: [u64; 4],
    /// Constraints that no worker covered after the cases were applied, and that had to be covered again.
    pub constraints_opened: u64,
    /// Bytes sent to workers and back.
    pub bytes_sent: u64,
    /// Bodies of each worker, mean over ticks.
    pub bodies_mean: Vec<f64>,
    /// Contact points of each worker, mean over ticks.
    pub contact_points_mean: Vec<f64>,
    /// Processor time of each worker, seconds.
    pub worker_cpu_s: Vec<f64>,
    /// The processor time of the slowest worker of each tick, summed over ticks, seconds: how long the workers would take
    /// if each had its own core.
    pub slowest_worker_cpu_s: f64,
    /// Processor time of the coordinator: building the constraint graph, assigning, weighing and blending, seconds.
    pub coordinator_cpu_s: f64,
    /// What solvers left unsolved, m/s, mean over ticks; `None` if it was not measured.
    pub residual_mean_mps: Option<f64>,
    /// The gaps of joints at the end.
    pub joint_gaps: JointGaps,
    #[serde(skip)]
    ticks: u64,
}

impl OverlapSummary {
    /// The summary of a run before its first tick.
    pub fn new(workers: u32, gamma: u32) -> Self {
        let none = vec![0.0; workers as usize];
        OverlapSummary {
            workers,
            gamma,
            bodies_mean: none.clone(),
            contact_points_mean: none.clone(),
            worker_cpu_s: none,
            ..OverlapSummary::default()
        }
    }

    /// Adds a tick.
    pub fn add(&mut self, report: &TickReport) {
        self.ticks += 1;
        let share = 1.0 / self.ticks as f64;
        let mean = |mean: &mut f64, value: f64| *mean += (value - *mean) * share;
        mean(&mut self.shared_mean, f64::from(report.shared));
        mean(&mut self.copies_mean, f64::from(report.copies));
        for (worker, counts) in report.workers.iter().enumerate() {
            mean(&mut self.bodies_mean[worker], f64::from(counts.bodies));
            mean(&mut self.contact_points_mean[worker], f64::from(counts.points));
        }
        for (sum, cpu_s) in self.worker_cpu_s.iter_mut().zip(&report.cpu_s) {
            *sum += cpu_s;
        }
        // Workers wait for each other twice: after finding contacts, and at the end of the tick.
        let detect = report.detect_cpu_s.iter().copied();
        let detect_or_zero = detect.clone().chain(std::iter::repeat(0.0));
        let steps = report.cpu_s.iter().zip(detect_or_zero).map(|(cpu_s, detect_cpu_s)| cpu_s - detect_cpu_s);
        self.slowest_worker_cpu_s += steps.fold(0.0, f64::max) + detect.fold(0.0, f64::max);
        self.bodies_moved += u64::from(report.moved);
        self.constraints_opened += u64::from(report.assignment.uncovered);
        self.bytes_sent += report.bytes;
        for (sum, count) in self.contact_cases.iter_mut().zip(report.assignment.cases) {
            *sum += u64::from(count);
        }
        if let Some(residual) = &report.residual {
            mean(self.residual_mean_mps.get_or_insert(0.0), residual.sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Workers wait for each other after finding contacts and after the tick: the slowest of each phase counts.
    #[test]
    fn the_slowest_worker_of_each_phase_counts() {
        let mut summary = OverlapSummary::new(2, 0);
        let report =
            TickReport { cpu_s: vec![5.0, 4.0], detect_cpu_s: vec![1.0, 2.0], ..TickReport::default() };
        summary.add(&report);
        summary.add(&report);
        assert_eq!(
            (summary.slowest_worker_cpu_s, &summary.worker_cpu_s),
            (2.0 * (4.0 + 2.0), &vec![10.0, 8.0])
        );
        // A single worker has no separate detection phase.
        let mut alone = OverlapSummary::new(1, 0);
        alone.add(&TickReport { cpu_s: vec![3.0], ..TickReport::default() });
        assert_eq!(alone.slowest_worker_cpu_s, 3.0);
    }
}
