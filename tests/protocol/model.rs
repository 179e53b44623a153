//! The protocol that runs in production, in every order of events there is, in small worlds: the promises of
//! `docs/correctness.md`. And whether the checks bite: every deliberate fault must be caught.
//!
//! State counts and faults are printed past the test harness, which would keep them to itself.

use std::io::Write;

use anachron::internals::protocol::Fault;
use anachron::verify::configs::SMALL;
use anachron::verify::random_walk::{ConfigRequest, any_config};
use anachron::verify::{Action, Explored, ModelConfig, ModelState, Property, explore, replay, walk};
use stateright::{Checker, Model, Property as Checked};

/// Prints a line, whatever the test harness holds back.
macro_rules! say {
    ($($part:tt)*) => {{
        let line = format!($($part)*);
        let _ = writeln!(std::io::stderr(), "{line}");
    }};
}

/// More states than any of the small worlds has.
const STATES_MAX: u64 = 400_000;

fn see_all(config: &ModelConfig) -> Explored {
    explore(config, STATES_MAX, &mut |_| true)
}

#[test]
fn every_state_of_the_small_worlds_keeps_every_promise() {
    let mut total = Explored::default();
    say!("{:36} {:>6} {:>9} {:>9} {:>5} {:>5}", "family", "worlds", "states", "moves", "depth", "ends");
    for family in SMALL {
        let mut sum = Explored::default();
        for seed in family.seeds {
            let config = family.config(*seed, Fault::None);
            let explored = see_all(&config);
            if let Some((violation, way)) = &explored.violation {
                let (told, _) = replay(&config, way, false);
                panic!("{}, seed {seed}: {violation}\n{}", family.name, told.join("\n"));
            }
            assert!(explored.complete, "{}, seed {seed}: more than {STATES_MAX} states", family.name);
            sum.states += explored.states;
            sum.moves += explored.moves;
            sum.ends += explored.ends;
            sum.depth = sum.depth.max(explored.depth);
        }
        say!(
            "{:36} {:>6} {:>9} {:>9} {:>5} {:>5}",
            family.name,
            family.seeds.len(),
            sum.states,
            sum.moves,
            sum.depth,
            sum.ends
        );
        total.states += sum.states;
        total.moves += sum.moves;
        total.ends += sum.ends;
        total.depth = total.depth.max(sum.depth);
    }
    say!("all: {} states, {} moves, {} ends", total.states, total.moves, total.ends);
    // A model in which little can happen proves little.
    assert!(total.states > 500_000, "{} states", total.states);
}

/// Copying a state must leave it as it was: the tracks it shares with its followers are cut in copies only.
#[test]
fn looking_ahead_changes_nothing() {
    for family in SMALL {
        let config = family.config(family.seeds[0], Fault::None);
        let mut state = ModelState::new(&config);
        let mut moves = Vec::new();
        for turn in 0..60usize {
            state.moves(&config, &mut moves);
            let before = state.fingerprint(&config);
            let after: Vec<u128> =
                moves.iter().map(|next| state.after(&config, *next).fingerprint(&config)).collect();
            let again: Vec<u128> =
                moves.iter().map(|next| state.after(&config, *next).fingerprint(&config)).collect();
            assert_eq!((before, after), (state.fingerprint(&config), again), "{}, turn {turn}", family.name);
            let Some(next) = moves.get(turn * 7 % moves.len().max(1)) else { break };
            state = state.after(&config, *next);
        }
    }
}

/// Whether answers that change nothing arrive at once or whenever they like, the same ends are reached.
#[test]
fn prompt_answers_leave_out_nothing() {
    for family in SMALL.iter().filter(|family| family.bodies == 2) {
        let seed = family.seeds[0];
        let prompt = see_all(&family.config(seed, Fault::None));
        if prompt.states > 4_000 {
            continue;
        }
        let mut config = family.config(seed, Fault::None);
        config.prompt_answers = false;
        let late = see_all(&config);
        assert!(prompt.violation.is_none() && late.violation.is_none() && late.complete, "{}", family.name);
        assert!(late.states >= prompt.states, "{}: {} and {}", family.name, late.states, prompt.states);
        assert_eq!(late.ends, prompt.ends, "{}, seed {seed}", family.name);
    }
}

/// A state for stateright, told apart by its print.
#[derive(Clone)]
struct State {
    state: ModelState,
    print: u128,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x} at {}", self.print, self.state.gvt())
    }
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.print == other.print
    }
}

impl std::hash::Hash for State {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        self.print.hash(hasher);
    }
}

/// The same model behind stateright's trait.
struct Behind(ModelConfig);

impl Behind {
    fn state(&self, state: ModelState) -> State {
        let print = state.fingerprint(&self.0);
        State { state, print }
    }
}

fn kept(state: &State, property: Property) -> bool {
    state.state.violation().is_none_or(|violation| violation.property != property)
}

impl Model for Behind {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.state(ModelState::new(&self.0))]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        state.state.moves(&self.0, actions);
    }

    fn next_state(&self, state: &State, next: Action) -> Option<State> {
        Some(self.state(state.state.after(&self.0, next)))
    }

    fn properties(&self) -> Vec<Checked<Self>> {
        vec![
            Checked::always("no deadlock, no lock leaks", |model: &Behind, state: &State| {
                let mut moves = Vec::new();
                state.state.moves(&model.0, &mut moves);
                let is_end = moves.is_empty() && state.state.violation().is_none();
                !is_end || state.state.ended_well(&model.0)
            }),
            Checked::always(Property::CommittedIsReference.name(), |_, state: &State| {
                kept(state, Property::CommittedIsReference)
            }),
            Checked::always(Property::GvtIsKept.name(), |_, state: &State| kept(state, Property::GvtIsKept)),
            Checked::always(Property::AnnouncedOnce.name(), |_, state: &State| {
                kept(state, Property::AnnouncedOnce)
            }),
            Checked::always(Property::PastIsSettled.name(), |_, state: &State| {
                kept(state, Property::PastIsSettled)
            }),
            Checked::always(Property::NoPanic.name(), |_, state: &State| kept(state, Property::NoPanic)),
            Checked::sometimes("the end is reached", |model: &Behind, state: &State| {
                state.state.gvt() == model.0.limits.last_tick
            }),
        ]
    }
}

#[test]
fn stateright_sees_the_same_states() {
    for family in SMALL {
        let seed = family.seeds[0];
        let ours = explore(&family.config(seed, Fault::None), 6_000, &mut |_| true);
        if !ours.complete {
            continue;
        }
        let model = Behind(family.config(seed, Fault::None));
        let checker = model.checker().threads(2).spawn_bfs().join();
        checker.assert_properties();
        say!("{:36} {:>8} states", family.name, checker.unique_state_count());
        assert_eq!(checker.unique_state_count() as u64, ours.states, "{}", family.name);
    }
}

#[test]
fn stateright_finds_faults() {
    let family = SMALL.iter().find(|family| family.name == "two bodies, window 2").unwrap();
    let checker =
        Behind(family.config(0, Fault::DetectorDoesNotApply)).checker().threads(2).spawn_bfs().join();
    let found = checker.discovery(Property::CommittedIsReference.name()).expect("stateright finds it too");
    say!("{} moves", found.into_actions().len());
}

/// How a fault shows: where, which property is violation, and in how many moves.
fn catch(fault: Fault) -> Option<(String, Property, usize)> {
    for family in SMALL {
        for seed in family.seeds.iter().take(1) {
            let config = family.config(*seed, fault);
            let explored = explore(&config, 2_500, &mut |_| true);
            if let Some((violation, way)) = explored.violation {
                return Some((family.name.to_owned(), violation.property, way.len()));
            }
        }
    }
    let request = ConfigRequest { fault, ..ConfigRequest::default() };
    for seed in 0..3_000 {
        let config = any_config(seed, &request);
        if let Some((violation, way)) = walk(&config, seed).violation {
            return Some((format!("random world {seed}"), violation.property, way.len()));
        }
    }
    None
}

#[test]
fn every_fault_is_caught() {
    let mut missed = Vec::new();
    say!("{:26} {:34} {:>6}  violation property", "fault", "shows in", "moves");
    for fault in Fault::ALL {
        match catch(*fault) {
            Some((place, property, moves)) => {
                say!("{:26} {place:34} {moves:>6}  {}", fault.name(), property.name());
            }
            None => {
                say!("{:26} nowhere", fault.name());
                missed.push(fault.name());
            }
        }
    }
    assert!(missed.is_empty(), "no check notices these faults: {missed:?}");
}
