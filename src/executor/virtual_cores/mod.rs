//! The executors on a machine that is not there: as many cores as wanted, in virtual time.
//!
//! This is a projection, and everything that shows its figures says so. One thread really runs every handler: a turn of a
//! thread of regions, a part of a loop of a team, a message at an entity. It charges the virtual core with what that cost
//! ([`clock`]), and what a handler sends arrives when the handler has ended, plus a stated price. Whatever comes next on
//! any core is what comes next in virtual time, so that regions and entities roll back as they would on so many cores.
//! What goes through shared memory, such as the table and global virtual time of entities, acts when a handler begins.
//! Left out: waiting for locks, and caches and memory that cores share or do not share.

mod actors;
mod agenda;
mod clock;
mod regions;
mod team;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::rc::Rc;

pub(crate) use self::actors::run as run_actors;
pub(crate) use self::clock::{Clock, Costs};
pub(crate) use self::regions::run as run_regions;
pub(crate) use self::team::lead;
use crate::runtime::trace::Totals;

/// What a virtual machine charges besides handlers, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prices {
    /// From the end of a handler until another core has its message.
    pub message: u64,
    /// For a core that sleeps: entities only, since threads of regions and teams do not sleep while they wait.
    pub wake: u64,
    /// Between two handlers of entities: mailbox, queue, envelope.
    pub dispatch: u64,
    /// Until another thread of a team has seen that a loop begins, and until the leader has seen that it has ended.
    pub loops: u64,
}

impl Default for Prices {
    /// Measured with actix: 140 ns between two busy cores, 3 to 5.5 us if the receiver sleeps. A loop of a team without
    /// work took 61 to 70 ns on a prototype.
    fn default() -> Self {
        Prices { message: 200, wake: 5_000, dispatch: 150, loops: 70 }
    }
}

/// A machine in virtual time.
#[derive(Debug)]
pub(crate) struct Machine {
    pub cores: usize,
    pub prices: Prices,
    pub clock: Clock,
    /// Virtual time, nanoseconds.
    pub now: u64,
    /// Time that cores worked, nanoseconds, summed.
    pub busy: u64,
    /// Time that a thread of its own spent on frames, nanoseconds.
    pub frames: u64,
    /// Virtual time in which nothing moved: actors, regions or a store were made. It is not counted into a run.
    pub started: u64,
    /// Virtual time at which ticks ended; what follows until ticks begin again is start and stop.
    pub ended: u64,
    /// Handlers of entities.
    pub handlers: u64,
    /// What the entities of each core spent their time on.
    pub phases: Vec<Totals>,
}

/// A machine that several parts of an executor charge in turn.
pub(crate) type SharedMachine = Rc<RefCell<Machine>>;

impl Machine {
    pub fn new(cores: usize, prices: Prices, costs: Costs) -> SharedMachine {
        Rc::new(RefCell::new(Machine {
            cores: cores.max(1),
            prices,
            clock: Clock::new(costs),
            now: 0,
            busy: 0,
            frames: 0,
            started: 0,
            ended: 0,
            handlers: 0,
            phases: Vec::new(),
        }))
    }

    /// One core worked since the last lap, and the others waited for it.
    pub fn serial(&mut self) {
        let nanos = self.clock.lap();
        self.now += nanos;
        self.busy += nanos;
    }

    /// Ticks begin at a virtual time: until then all was start and stop.
    pub fn begin_ticks(&mut self, at: u64) {
        self.started += at.saturating_sub(self.ended);
    }

    /// Virtual seconds of the run, without start and stop.
    pub fn seconds(&self) -> f64 {
        (self.now - self.started) as f64 * 1e-9
    }

    /// Time that cores worked, as a share of the time of all cores.
    pub fn busy_share(&self) -> f64 {
        self.busy as f64 / (self.now.max(1) * self.cores as u64) as f64
    }
}
