//! A team in virtual time: one thread does the parts of every loop, and each counts for the core that would have taken it.

use std::rc::Rc;

use super::SharedMachine;
use crate::base::team::{self, Sharing};

struct VirtualTeam(SharedMachine);

impl Sharing for VirtualTeam {
    fn threads(&self) -> usize {
        self.0.borrow().cores
    }

    /// Between two loops helpers spin for longer than most gaps last.
    fn is_awake(&self) -> bool {
        self.threads() > 1
    }

    fn share(&self, parts: usize, act: &(dyn Fn(usize) + Sync)) {
        let (mut free, loops) = {
            let mut machine = self.0.borrow_mut();
            machine.serial();
            let loops = machine.prices.loops;
            let mut free = vec![machine.now + loops; machine.cores];
            free[0] = machine.now;
            (free, loops)
        };
        for part in 0..parts {
            act(part);
            let mut machine = self.0.borrow_mut();
            let nanos = machine.clock.lap();
            machine.busy += nanos;
            // The thread that is free first takes it; the leader, if several are.
            let first = free.iter().enumerate().min_by_key(|(_, free)| **free);
            let first = first.map_or(0, |(thread, _)| thread);
            free[first] += nanos;
            if first > 0 {
                // Until the leader sees that it is done.
                machine.now = machine.now.max(free[first] + loops);
            }
        }
        let mut machine = self.0.borrow_mut();
        machine.now = machine.now.max(free[0]);
    }
}

/// Does some work. Its loops are shared by the cores of the machine, and what lies between them is the leader's.
pub(crate) fn lead<R>(machine: &SharedMachine, work: impl FnOnce() -> R) -> R {
    let done = team::lead(Rc::new(VirtualTeam(machine.clone())), work);
    machine.borrow_mut().serial();
    done
}
