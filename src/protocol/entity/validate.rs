//! Invariants of an entity between two handlers, checked in debug builds and by the model.

use crate::protocol::dynamics::Dynamics;
use crate::protocol::entity::Entity;
use crate::protocol::fault::Fault;

impl<D: Dynamics> Entity<D> {
    /// Checks every invariant that holds between two handlers. The error says which one is broken.
    pub fn validate(&self) -> Result<(), String> {
        self.history.validate()?;
        let fail = |what: &str| Err(format!("{} at tick {}: {what}", self.id, self.lvt()));
        if !self.members.is_sorted_by(|a, b| a < b) {
            return fail("members do not ascend");
        }
        let latest = self.history.latest().map(|segment| segment.cluster().as_slice());
        let cluster =
            latest.or(self.origin.as_ref().map(|origin| origin.cluster.as_slice())).unwrap_or_default();
        if !cluster.iter().all(|(body, _)| self.members.binary_search(body).is_ok()) {
            return fail("its cluster has a body that is not a member");
        }
        if self.lvt_known.is_some_and(|known| known != self.lvt()) {
            return fail("its LVT is not the one that is known outside");
        }
        if self.lvt_known.is_none() && !(self.members.is_empty() && self.history.len() == 0) {
            return fail("it is retired and has bodies");
        }
        if self.history.len() == 0 && self.origin.is_none() && self.lvt_known.is_some() {
            return fail("it has neither a history nor an origin");
        }
        if self.pending_acks.last().is_some_and(|(serial, _)| *serial > self.serial) {
            return fail("an acknowledgement is pending for a message that was never sent");
        }
        if self.writing && self.planned.0 > self.version {
            return fail("the plan under way has a version that does not exist");
        }
        if !self.writing && !self.deferred.is_empty() && !self.has(Fault::RollbackLater) {
            return fail("messages are deferred although no plan is under way");
        }
        Ok(())
    }
}
