//! External inputs of an entity: kept until their tick is committed, so that a rollback applies them again.

use crate::base::time::Tick;
use crate::protocol::dynamics::BodyIndex;
use crate::protocol::dynamics::Dynamics;
use crate::protocol::effects::Effects;
use crate::protocol::entity::Entity;
use crate::protocol::fault::Fault;
use crate::protocol::message::EntityId;

impl<D: Dynamics> Entity<D> {
    /// Takes an input that acts on a body on the way from `tick` to the next tick, in the order of `number`. `tick` must
    /// not lie below GVT. If the body has migrated, returns the entity that has it now, and the input.
    pub(in crate::protocol) fn on_input(
        &mut self,
        tick: Tick,
        number: u64,
        input: D::Input,
        out: &mut Effects<D>,
    ) -> Option<(EntityId, D::Input)> {
        let target = D::target(&input);
        if self.members.binary_search(&target).is_err() {
            let to = self.given.get(&target).filter(|_| !self.has(Fault::InputNotForwarded));
            return to.map(|to| (*to, input));
        }
        self.add_input(tick, number, input);
        // A plan on its way to the table was made without this input.
        self.changes += u64::from(!self.has(Fault::InputIgnoresPlan));
        self.stats.inputs += 1;
        self.stats.primary_rollbacks += u64::from(self.lvt() > tick);
        self.rollback_to(tick, out);
        None
    }

    /// Takes an input that is known before the run begins: nothing has been done that could be rolled back.
    pub fn add_known_input(&mut self, tick: Tick, number: u64, input: D::Input) {
        let mut effects = Effects::default();
        let forwarded = self.on_input(tick, number, input, &mut effects);
        assert!(
            effects.is_empty() && forwarded.is_none(),
            "invariant: the entity has not begun, and has the body"
        );
    }

    pub(super) fn add_input(&mut self, tick: Tick, number: u64, input: D::Input) {
        let inputs = self.inputs.entry(tick).or_default();
        let at = inputs.partition_point(|(other, _)| *other < number);
        inputs.insert(at, (number, input));
    }

    pub(super) fn take_inputs_of(
        &mut self,
        leaves: &dyn Fn(&BodyIndex) -> bool,
    ) -> Vec<(Tick, u64, D::Input)> {
        let mut taken = Vec::new();
        for (tick, inputs) in &mut self.inputs {
            inputs.retain(|(number, input)| {
                let stays = !leaves(&D::target(input));
                if !stays {
                    taken.push((*tick, *number, input.clone()));
                }
                stays
            });
        }
        self.inputs.retain(|_, inputs| !inputs.is_empty());
        taken
    }
}
