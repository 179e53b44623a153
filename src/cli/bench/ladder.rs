//! One scene by one executor on more and more cores: measured as far as the machine goes, in virtual time beyond.

use super::super::failure::Failure;
use super::runner::{Case, Measured, Runner};
use crate::executor::virtual_cores::Prices;

/// What to climb.
pub(super) struct Steps<'a> {
    /// Numbers of cores to measure, from one on.
    pub cores: &'a [u32],
    /// Numbers of virtual cores.
    pub virtual_cores: &'a [u32],
    /// Prices of a message between virtual cores, microseconds. The first is that of this machine.
    pub messages_us: &'a [f64],
    pub repeat: u32,
}

/// What it came to.
pub(super) struct Ladder {
    /// On one core first.
    pub measured: Vec<(u32, Measured)>,
    /// With the price of a message, microseconds.
    pub projected: Vec<(u32, f64, Measured)>,
    /// Price between two handlers of entities, nanoseconds.
    pub dispatch_ns: u64,
}

impl Ladder {
    /// Measures a scene; `others` are measured with it, and come back in their order.
    pub(super) fn climb(
        runner: &mut Runner,
        what: &str,
        base: &Case,
        others: &[Case],
        steps: &Steps,
    ) -> Result<(Ladder, Vec<Measured>), Failure> {
        let on = |cores: u32| base.clone().with(&["--cores", &cores.to_string()]);
        let dispatch_ns = Self::dispatch_ns(runner, what, &on(1), base, steps)?;
        let price = dispatch_ns.to_string();
        let mut cases: Vec<Case> = others.to_vec();
        cases.extend(steps.cores.iter().map(|cores| on(*cores)));
        let mut virtual_steps = Vec::new();
        for message_us in steps.messages_us {
            for cores in steps.virtual_cores {
                virtual_steps.push((*cores, *message_us));
                let how = [cores.to_string(), message_us.to_string()];
                let how = ["--virtual", &how[0], "--message-us", &how[1], "--dispatch-ns", &price];
                cases.push(base.clone().with(&how));
            }
        }
        let mut measured = runner.measure(what, &cases, steps.repeat)?;
        let projected = measured.split_off(others.len() + steps.cores.len());
        let on_cores = measured.split_off(others.len());
        let projected = virtual_steps.into_iter().zip(projected);
        let ladder = Ladder {
            measured: steps.cores.iter().copied().zip(on_cores).collect(),
            projected: projected.map(|((cores, message_us), run)| (cores, message_us, run)).collect(),
            dispatch_ns,
        };
        Ok((ladder, measured))
    }

    /// What lies between two handlers of entities, so that one virtual core takes as long as a real one.
    fn dispatch_ns(
        runner: &mut Runner,
        what: &str,
        alone: &Case,
        base: &Case,
        steps: &Steps,
    ) -> Result<u64, Failure> {
        let usual = Prices::default().dispatch;
        if steps.virtual_cores.is_empty() {
            return Ok(usual);
        }
        let free = base.clone().with(&["--virtual", "1", "--dispatch-ns", "0"]);
        let what = format!("{what}, prices");
        let [alone, free] = &runner.measure(&what, &[alone.clone(), free], steps.repeat)?[..] else {
            return Ok(usual);
        };
        let nanos = (alone.busy_s.median() - free.busy_s.median()) * 1e9 / free.handlers;
        // Not a number without entities, and where the system has no clock for threads.
        Ok(if nanos.is_finite() { nanos.max(0.0) as u64 } else { usual })
    }

    /// A projection for the price of a message on this machine.
    pub(super) fn projected_on(&self, cores: u32) -> Option<&Measured> {
        self.projected.iter().find(|(on, ..)| *on == cores).map(|(.., run)| run)
    }

    /// Virtual time on so many cores against measured time, as a share of it.
    pub(super) fn error_on(&self, cores: u32) -> Option<f64> {
        let measured = self.measured.iter().find(|(on, _)| *on == cores)?;
        Some(self.projected_on(cores)?.run_s.median() / measured.1.run_s.median() - 1.0)
    }

    /// How many times faster virtual cores are than one of them.
    pub(super) fn speedup(&self, run: &Measured) -> f64 {
        self.projected_on(1).map_or(f64::NAN, |alone| alone.run_s.median() / run.run_s.median())
    }
}
