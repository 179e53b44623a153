//! External inputs of an entity: kept until their tick is committed, so that a rollback applies them again.

use crate::base::time::Tick;
use crate::protocol::dynamics::Dynamics;
use crate::protocol::effects::Effects;
use crate::protocol::entity::Entity;
use crate::protocol::fault::Fault;

impl<D: Dynamics> Entity<D> {
    /// Takes an input that acts on a body on the way from `tick` to the next tick, in the order of `number`. `tick` must
    /// not lie below GVT.
    pub(in crate::protocol) fn on_input(
        &mut self,
        tick: Tick,
        number: u64,
        input: D::Input,
        out: &mut Effects<D>,
    ) {
        if self.is_retired() {
            // The body has been despawned.
            return;
        }
        let inputs = self.inputs.entry(tick).or_default();
        let at = inputs.partition_point(|(other, _)| *other < number);
        inputs.insert(at, (number, input));
        // A plan on its way to the table was made without this input.
        self.changes += u64::from(!self.has(Fault::InputIgnoresPlan));
        self.stats.inputs += 1;
        self.stats.primary_rollbacks += u64::from(self.lvt() > tick);
        self.rollback_to(tick, out);
    }

    /// Takes an input that is known before the run begins: nothing has been done that could be rolled back.
    pub fn add_known_input(&mut self, tick: Tick, number: u64, input: D::Input) {
        let mut effects = Effects::default();
        self.on_input(tick, number, input, &mut effects);
        assert!(effects.is_empty(), "invariant: the entity has not begun");
    }
}
