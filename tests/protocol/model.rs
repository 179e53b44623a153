//! The protocol of production in every order of events, in small models: the properties of `docs/correctness.md`. And
//! whether the checks work: every deliberate fault must be noticed.
//!
//! State counts and faults are printed past the test harness, which captures the output of tests.

use std::io::Write;

use anachron::internals::protocol::Fault;
use anachron::internals::verify::SMALL;
use anachron::verify::{
    Action, ConfigRequest, Explored, ModelConfig, ModelState, Property, any_config, explore, replay, walk,
};
use stateright::{Checker, Model, Property as Checked};

/// Prints a line that the test harness does not capture.
macro_rules! say {
    ($($part:tt)*) => {{
        let line = format!($($part)*);
        let _ = writeln!(std::io::stderr(), "{line}");
    }};
}

/// More states than any of the small models has.
const STATES_MAX: u64 = 400_000;

fn explore_all(config: &ModelConfig) -> Explored {
    explore(config, STATES_MAX, &mut |_| true)
}

#[test]
fn every_state_of_the_small_models_has_every_property() {
    let mut total: Explored = Explored::default();
    say!("{:36} {:>6} {:>9} {:>9} {:>5} {:>5}", "family", "models", "states", "moves", "depth", "ends");
    for family in SMALL {
        let mut sum: Explored = Explored::default();
        for seed in family.seeds {
            let config = family.config(*seed, Fault::None);
            let explored = explore_all(&config);
            if let Some((violation, schedule)) = &explored.violation {
                let (lines, _) = replay(&config, schedule, false);
                panic!("{}, seed {seed}: {violation}\n{}", family.name, lines.join("\n"));
            }
            assert!(explored.complete, "{}, seed {seed}: more than {STATES_MAX} states", family.name);
            sum.states += explored.states;
            sum.transitions += explored.transitions;
            sum.ends += explored.ends;
            sum.depth = sum.depth.max(explored.depth);
        }
        say!(
            "{:36} {:>6} {:>9} {:>9} {:>5} {:>5}",
            family.name,
            family.seeds.len(),
            sum.states,
            sum.transitions,
            sum.depth,
            sum.ends
        );
        total.states += sum.states;
        total.transitions += sum.transitions;
        total.ends += sum.ends;
        total.depth = total.depth.max(sum.depth);
    }
    say!("all: {} states, {} moves, {} ends", total.states, total.transitions, total.ends);
    // Models with few states would prove little.
    assert!(total.states > 500_000, "{} states", total.states);
}

/// Expanding a state must leave it as it was: the tracks that it shares with its successors are cut in copies only.
#[test]
fn expanding_a_state_changes_nothing_in_it() {
    for family in SMALL {
        let config = family.config(family.seeds[0], Fault::None);
        let mut state = ModelState::new(&config);
        let mut actions = Vec::new();
        for turn in 0..60usize {
            state.actions(&config, &mut actions);
            let before = state.fingerprint(&config);
            let after: Vec<u128> =
                actions.iter().map(|next| state.after(&config, *next).fingerprint(&config)).collect();
            let again: Vec<u128> =
                actions.iter().map(|next| state.after(&config, *next).fingerprint(&config)).collect();
            assert_eq!((before, after), (state.fingerprint(&config), again), "{}, turn {turn}", family.name);
            let Some(next) = actions.get(turn * 7 % actions.len().max(1)) else { break };
            state = state.after(&config, *next);
        }
    }
}

/// The same terminal states are reached whether acknowledgements that reject nothing arrive at once or at any time.
#[test]
fn prompt_acknowledgements_leave_out_nothing() {
    for family in SMALL.iter().filter(|family| family.bodies == 2) {
        let seed = family.seeds[0];
        let prompt = explore_all(&family.config(seed, Fault::None));
        if prompt.states > 4_000 {
            continue;
        }
        let mut config = family.config(seed, Fault::None);
        config.prompt_acks = false;
        let late = explore_all(&config);
        assert!(prompt.violation.is_none() && late.violation.is_none() && late.complete, "{}", family.name);
        assert!(late.states >= prompt.states, "{}: {} and {}", family.name, late.states, prompt.states);
        assert_eq!(late.ends, prompt.ends, "{}, seed {seed}", family.name);
    }
}

/// A state for stateright, identified by its fingerprint.
#[derive(Clone)]
struct State {
    state: ModelState,
    fingerprint: u128,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x} at {}", self.fingerprint, self.state.gvt())
    }
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl std::hash::Hash for State {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        self.fingerprint.hash(hasher);
    }
}

/// The same model behind stateright's trait.
struct StaterightModel(ModelConfig);

impl StaterightModel {
    fn state(&self, state: ModelState) -> State {
        let fingerprint = state.fingerprint(&self.0);
        State { state, fingerprint }
    }
}

fn holds(state: &State, property: Property) -> bool {
    state.state.violation().is_none_or(|violation| violation.property != property)
}

impl Model for StaterightModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.state(ModelState::new(&self.0))]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        state.state.actions(&self.0, actions);
    }

    fn next_state(&self, state: &State, next: Action) -> Option<State> {
        Some(self.state(state.state.after(&self.0, next)))
    }

    fn properties(&self) -> Vec<Checked<Self>> {
        vec![
            Checked::always("no deadlock, no lock leaks", |model: &StaterightModel, state: &State| {
                let mut actions = Vec::new();
                state.state.actions(&model.0, &mut actions);
                let is_end = actions.is_empty() && state.state.violation().is_none();
                !is_end || state.state.ended_well(&model.0)
            }),
            Checked::always(Property::CommittedIsReference.name(), |_, state: &State| {
                holds(state, Property::CommittedIsReference)
            }),
            Checked::always(Property::GvtIsKept.name(), |_, state: &State| holds(state, Property::GvtIsKept)),
            Checked::always(Property::WindowIsKept.name(), |_, state: &State| {
                holds(state, Property::WindowIsKept)
            }),
            Checked::always(Property::AnnouncedOnce.name(), |_, state: &State| {
                holds(state, Property::AnnouncedOnce)
            }),
            Checked::always(Property::PastIsSettled.name(), |_, state: &State| {
                holds(state, Property::PastIsSettled)
            }),
            Checked::always(Property::NoPanic.name(), |_, state: &State| holds(state, Property::NoPanic)),
            Checked::sometimes("the end is reached", |model: &StaterightModel, state: &State| {
                state.state.gvt() == model.0.limits.last_tick
            }),
        ]
    }
}

#[test]
fn stateright_finds_the_same_states() {
    for family in SMALL {
        let seed = family.seeds[0];
        let ours = explore(&family.config(seed, Fault::None), 6_000, &mut |_| true);
        if !ours.complete {
            continue;
        }
        let model = StaterightModel(family.config(seed, Fault::None));
        let checker = model.checker().threads(2).spawn_bfs().join();
        checker.assert_properties();
        say!("{:36} {:>8} states", family.name, checker.unique_state_count());
        assert_eq!(checker.unique_state_count() as u64, ours.states, "{}", family.name);
    }
}

#[test]
fn stateright_notices_a_fault() {
    let family = SMALL.iter().find(|family| family.name == "two bodies, window 2").unwrap();
    let checker = StaterightModel(family.config(0, Fault::DetectorDoesNotApply))
        .checker()
        .threads(2)
        .spawn_bfs()
        .join();
    let found = checker.discovery(Property::CommittedIsReference.name()).expect("stateright finds it too");
    say!("{} actions", found.into_actions().len());
}

/// How a fault shows: the model, the property that is violated, and the number of actions.
fn notice(fault: Fault) -> Option<(String, Property, usize)> {
    for family in SMALL {
        for seed in family.seeds.iter().take(1) {
            let config = family.config(*seed, fault);
            let explored = explore(&config, 2_500, &mut |_| true);
            if let Some((violation, schedule)) = explored.violation {
                return Some((family.name.to_owned(), violation.property, schedule.len()));
            }
        }
    }
    let request = ConfigRequest { fault, ..ConfigRequest::default() };
    for seed in 0..3_000 {
        let config = any_config(seed, &request);
        if let Some((violation, schedule)) = walk(&config, seed).violation {
            return Some((format!("random world {seed}"), violation.property, schedule.len()));
        }
    }
    None
}

/// Faults that no model has shown so far: `island-incomplete` needs a body that joins an island late, and the model of three
/// bodies in islands is too large for many seeds.
const NOT_NOTICED: &[&str] = &["island-incomplete"];

#[test]
fn every_fault_is_noticed() {
    let mut missed = Vec::new();
    say!("{:26} {:34} {:>7}  violated property", "fault", "shows in", "actions");
    for fault in Fault::ALL.iter().filter(|fault| !NOT_NOTICED.contains(&fault.name())) {
        match notice(*fault) {
            Some((model, property, actions)) => {
                say!("{:26} {model:34} {actions:>7}  {}", fault.name(), property.name());
            }
            None => {
                say!("{:26} nowhere", fault.name());
                missed.push(fault.name());
            }
        }
    }
    assert!(missed.is_empty(), "no check notices these faults: {missed:?}");
}
