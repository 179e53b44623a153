//! What a search needs to know of a model: how it begins, what can come next, and what is wrong.

use crate::executor::adversarial_schedule::Choice;
use crate::tvht::Lane;
use crate::verify::config::{Atomicity, ModelConfig};
use crate::verify::property::Violation;
use crate::verify::random_walk::choice;
use crate::verify::state::{Action, ModelState};
use crate::verify::trace::{replay, script_text};

/// A model of a protocol.
pub trait Model: Sync + Sized {
    /// One state.
    type State<'m>: Send + Sync
    where
        Self: 'm;
    /// One step from a state to another.
    type Action: Copy + PartialEq + Send + Sync;

    /// The initial state.
    fn start(&self) -> Self::State<'_>;

    /// Replaces the content of `actions` by everything that can happen next; nothing after a violation.
    fn actions<'m>(&'m self, state: &Self::State<'m>, actions: &mut Vec<Self::Action>);

    /// The state after an action.
    fn after<'m>(&'m self, state: &Self::State<'m>, next: Self::Action) -> Self::State<'m>;

    /// Performs an action in place.
    fn apply<'m>(&'m self, state: &mut Self::State<'m>, next: Self::Action);

    /// A number that is equal for states that have the same future.
    fn fingerprint<'m>(&'m self, state: &Self::State<'m>) -> u128;

    /// The property that the last action violated, if it did.
    fn violation<'s, 'm: 's>(&'m self, state: &'s Self::State<'m>) -> Option<&'s Violation>;

    /// Checks a terminal state.
    fn check_end<'m>(&'m self, state: &Self::State<'m>) -> Result<(), Violation>;

    /// How an adversarial scheduler sees an action.
    fn choice(&self, next: &Self::Action) -> Choice;

    /// Whether an action is to come only now and then in random schedules.
    fn is_rare(&self, next: &Self::Action) -> bool;

    /// The model in words.
    fn describe(&self, name: &str) -> String;

    /// A schedule in words, and the violation at its end. `in_place`: its actions were performed in place.
    fn replay(&self, schedule: &[Self::Action], in_place: bool) -> (Vec<String>, Option<Violation>);
}

impl Model for ModelConfig {
    type State<'m> = ModelState;
    type Action = Action;

    fn start(&self) -> ModelState {
        ModelState::new(self)
    }

    fn actions(&self, state: &ModelState, actions: &mut Vec<Action>) {
        state.actions(self, actions);
    }

    fn after(&self, state: &ModelState, next: Action) -> ModelState {
        state.after(self, next)
    }

    fn apply(&self, state: &mut ModelState, next: Action) {
        state.apply(self, next);
    }

    fn fingerprint(&self, state: &ModelState) -> u128 {
        state.fingerprint(self)
    }

    fn violation<'s, 'm: 's>(&'m self, state: &'s ModelState) -> Option<&'s Violation> {
        state.violation()
    }

    fn check_end(&self, state: &ModelState) -> Result<(), Violation> {
        state.check_end(self)
    }

    fn choice(&self, next: &Action) -> Choice {
        choice(next)
    }

    fn is_rare(&self, next: &Action) -> bool {
        *next == Action::ScriptedInput
    }

    fn describe(&self, name: &str) -> String {
        let lane = match self.lane {
            Lane::Shared => "shared table",
            Lane::Actors => "requests",
        };
        let atomicity = match self.atomicity {
            Atomicity::Handlers => "one core",
            Atomicity::Effects => "many cores",
        };
        let mut text = format!(
            "{name}: {} bodies in {} entities, {} buckets ({lane}), {} ticks, window {}, {atomicity}, seed {}",
            self.toy.bodies,
            self.entities(),
            self.buckets,
            self.toy.last_tick,
            self.limits.window,
            self.toy.seed
        );
        if let Some(epoch_ticks) = self.epoch_ticks {
            text += &format!("; islands, epochs of {epoch_ticks} ticks");
        }
        if !self.script.is_empty() {
            text += &format!("; inputs: {}", script_text(&self.script));
        }
        text
    }

    fn replay(&self, schedule: &[Action], in_place: bool) -> (Vec<String>, Option<Violation>) {
        replay(self, schedule, in_place)
    }
}
