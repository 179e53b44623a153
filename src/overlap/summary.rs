//! What a run by workers has to say for itself.

use serde::Serialize;

use crate::base::state::BodyState;
use crate::overlap::settings::Chosen;
use crate::overlap_bridge::TickReport;
use crate::physics::World;

/// How far joints are from where they should hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Violation {
    /// Sum of all gaps, metres.
    pub sum_m: f64,
    /// The largest gap, metres.
    pub max_m: f64,
}

impl Violation {
    /// Measures all joints of a world; `states` are by place.
    pub fn of(world: &World, states: &[BodyState]) -> Self {
        let mut violation = Violation::default();
        for joint in &world.joints {
            let state =
                |side: &crate::physics::JointSide| side.body.map_or(side.fixed, |at| states[at as usize]);
            let (gap, _) = joint.violation(&state(&joint.a), &state(&joint.b));
            violation.sum_m += gap;
            violation.max_m = violation.max_m.max(gap);
        }
        violation
    }
}

/// What workers did, over a whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OverlapSummary {
    /// How many workers there were.
    pub workers: u32,
    /// How deep they shared bodies.
    pub gamma: u32,
    /// Bodies that lived in more than one worker, on average over ticks.
    pub shared_mean: f64,
    /// Copies of those, on average.
    pub copies_mean: f64,
    /// Bodies that came into a worker or left one.
    pub moved: u64,
    /// How often each of the cases of a contact between workers applied.
    pub cases: [u64; 4],
    /// Constraints that had to be covered after contacts were treated.
    pub opened: u64,
    /// Bytes sent to workers and back.
    pub bytes: u64,
    /// Bodies of each worker, on average.
    pub bodies_mean: Vec<f64>,
    /// Points of contact of each worker, on average.
    pub points_mean: Vec<f64>,
    /// Processor time of each worker, seconds.
    pub worker_cpu_s: Vec<f64>,
    /// The slowest worker's processor time, summed over ticks: what the workers' share of a run would take if each had
    /// a core of its own.
    pub slowest_cpu_s: f64,
    /// Processor time spent on finding contacts, moving bodies, weighing and blending, seconds.
    pub bridge_s: f64,
    /// What solvers left unsolved, m/s, on average over ticks; nothing if that was not measured.
    pub residual_mean: Option<f64>,
    /// How far joints were apart at the end.
    pub violation: Violation,
    ticks: u64,
}

impl OverlapSummary {
    /// Nothing has happened yet.
    pub fn new(chosen: Chosen) -> Self {
        let none = vec![0.0; chosen.workers as usize];
        OverlapSummary {
            workers: chosen.workers,
            gamma: chosen.gamma,
            bodies_mean: none.clone(),
            points_mean: none.clone(),
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
        for (at, counts) in report.workers.iter().enumerate() {
            mean(&mut self.bodies_mean[at], f64::from(counts.bodies));
            mean(&mut self.points_mean[at], f64::from(counts.points));
        }
        for (sum, cpu_s) in self.worker_cpu_s.iter_mut().zip(&report.cpu_s) {
            *sum += cpu_s;
        }
        // All wait for each other twice: when everybody has looked, and at the end of the tick.
        let looks = report.look_s.iter().copied().chain(std::iter::repeat(0.0));
        let steps = report.cpu_s.iter().zip(looks.clone()).map(|(cpu_s, look_s)| cpu_s - look_s);
        self.slowest_cpu_s += steps.fold(0.0, f64::max) + report.look_s.iter().copied().fold(0.0, f64::max);
        self.moved += u64::from(report.moved);
        self.opened += u64::from(report.opened);
        self.bytes += report.bytes;
        for (sum, count) in self.cases.iter_mut().zip(report.cases) {
            *sum += u64::from(count);
        }
        if let Some(residual) = &report.residual {
            mean(self.residual_mean.get_or_insert(0.0), residual.sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Workers wait for each other after looking and after the tick: the slowest of each counts.
    #[test]
    fn the_slowest_of_both_stretches_counts() {
        let mut summary = OverlapSummary::new(Chosen { workers: 2, gamma: 0, beta: 1 });
        let report = TickReport { cpu_s: vec![5.0, 4.0], look_s: vec![1.0, 2.0], ..TickReport::default() };
        summary.add(&report);
        summary.add(&report);
        assert_eq!((summary.slowest_cpu_s, &summary.worker_cpu_s), (2.0 * (4.0 + 2.0), &vec![10.0, 8.0]));
        // One worker alone looks for itself.
        let mut alone = OverlapSummary::new(Chosen { workers: 1, gamma: 0, beta: 1 });
        alone.add(&TickReport { cpu_s: vec![3.0], ..TickReport::default() });
        assert_eq!(alone.slowest_cpu_s, 3.0);
    }
}
