//! `run --virtual P`: the run in virtual time on P cores, for `anachron bench`.

use clap::Args;
use serde::Serialize;

use crate::bench::breakdown::shares;
use crate::cli::count::count;
use crate::cli::failure::Failure;
use crate::executor::SyncMode;
use crate::executor::virtual_cores::{Costs, Machine, Prices, SharedMachine};

/// A machine that is not there.
#[derive(Args)]
pub(super) struct VirtualArguments {
    /// Project the run to so many cores: every handler runs here, and counts in virtual time
    #[arg(long = "virtual", value_name = "P", hide = true, value_parser = count::<u32>(1..=1024))]
    virtual_cores: Option<u32>,
    /// Price of a message between two virtual cores, microseconds
    #[arg(long, value_name = "US", hide = true, requires = "virtual_cores", value_parser = micros)]
    message_us: Option<f64>,
    /// Price between two handlers of entities, nanoseconds
    #[arg(long, value_name = "NS", hide = true, requires = "virtual_cores")]
    dispatch_ns: Option<u32>,
    /// Every handler costs as many nanoseconds, instead of what is measured
    #[arg(long, value_name = "NS", hide = true, requires = "virtual_cores")]
    fixed_cost_ns: Option<u32>,
}

fn micros(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(price) if (0.0..=1e6).contains(&price) => Ok(price),
        _ => Err(format!("`{text}` is not a number of microseconds from 0 to 1000000")),
    }
}

impl VirtualArguments {
    /// The machine that is asked for, if there is one.
    pub(super) fn machine(&self, sync: SyncMode) -> Result<Option<SharedMachine>, Failure> {
        let Some(cores) = self.virtual_cores else { return Ok(None) };
        if !matches!(sync, SyncMode::Lockstep | SyncMode::Timewarp) {
            return Err(Failure::bad_input(format_args!(
                "--virtual: `--sync {}` has no use for more cores; use `--sync lockstep` or `--sync timewarp`",
                sync.name()
            )));
        }
        let usual = Prices::default();
        let prices = Prices {
            message: self.message_us.map_or(usual.message, |price| (price * 1e3) as u64),
            dispatch: self.dispatch_ns.map_or(usual.dispatch, u64::from),
            ..usual
        };
        let costs = self.fixed_cost_ns.map_or(Costs::Measured, Costs::Fixed);
        Ok(Some(Machine::new(cores as usize, prices, costs)))
    }
}

/// What a run came to in virtual time. A projection, not a measurement.
#[derive(Debug, Serialize)]
pub(super) struct VirtualSummary {
    cores: usize,
    /// Of the run, without starting actors.
    seconds: f64,
    /// Until the actors were started.
    start_s: f64,
    /// Processor time of all cores.
    busy_s: f64,
    busy_share: f64,
    /// Processor time of the thread that takes frames beside the cores.
    frames_s: f64,
    /// Handlers of entities, and what lies between them.
    handlers: u64,
    message_us: f64,
    dispatch_ns: u64,
    wake_ns: u64,
    loops_ns: u64,
    /// With entities: the share of each activity in the time of all cores.
    activities: Option<[f64; 7]>,
}

impl VirtualSummary {
    pub(super) fn of(machine: &SharedMachine) -> Self {
        let machine = machine.borrow();
        let Prices { message, wake, dispatch, loops } = machine.prices;
        let all_nanos = (machine.now - machine.started) as f64 * machine.cores as f64;
        VirtualSummary {
            cores: machine.cores,
            seconds: machine.seconds(),
            start_s: machine.started as f64 * 1e-9,
            busy_s: machine.busy as f64 * 1e-9,
            busy_share: machine.busy_share(),
            frames_s: machine.frames as f64 * 1e-9,
            handlers: machine.handlers,
            message_us: message as f64 * 1e-3,
            dispatch_ns: dispatch,
            wake_ns: wake,
            loops_ns: loops,
            activities: (!machine.phases.is_empty())
                .then(|| shares(&machine.phases, (machine.handlers * dispatch) as f64, all_nanos)),
        }
    }
}
