//! The protocol that runs in production, in every order of events there is, in small worlds: the promises of
//! `docs/correctness.md`. And whether the checks bite: every deliberate fault must be caught.
//!
//! State counts and faults are printed past the test harness, which would keep them to itself.

use std::io::Write;

use anachron::protocol::Fault;
use anachron::verify::walk::{Wish, any_setting};
use anachron::verify::worlds::SMALL;
use anachron::verify::{Explored, Move, Play, Promise, Setting, explore, retell, walk};
use stateright::{Checker, Model, Property};

/// Prints a line, whatever the test harness holds back.
macro_rules! say {
    ($($part:tt)*) => {{
        let line = format!($($part)*);
        let _ = writeln!(std::io::stderr(), "{line}");
    }};
}

/// More states than any of the small worlds has.
const STATES_MAX: u64 = 400_000;

fn see_all(setting: &Setting) -> Explored {
    explore(setting, STATES_MAX, &mut |_| true)
}

#[test]
fn every_state_of_the_small_worlds_keeps_every_promise() {
    let mut total = Explored::default();
    say!("{:36} {:>6} {:>9} {:>9} {:>5} {:>5}", "family", "worlds", "states", "moves", "depth", "ends");
    for family in SMALL {
        let mut sum = Explored::default();
        for seed in family.seeds {
            let setting = family.setting(*seed, Fault::None);
            let explored = see_all(&setting);
            if let Some((broken, way)) = &explored.broken {
                let (told, _) = retell(&setting, way, false);
                panic!("{}, seed {seed}: {broken}\n{}", family.name, told.join("\n"));
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
        let setting = family.setting(family.seeds[0], Fault::None);
        let mut play = Play::new(&setting);
        let mut moves = Vec::new();
        for turn in 0..60usize {
            play.moves(&setting, &mut moves);
            let before = play.print(&setting);
            let after: Vec<u128> =
                moves.iter().map(|next| play.after(&setting, *next).print(&setting)).collect();
            let again: Vec<u128> =
                moves.iter().map(|next| play.after(&setting, *next).print(&setting)).collect();
            assert_eq!((before, after), (play.print(&setting), again), "{}, turn {turn}", family.name);
            let Some(next) = moves.get(turn * 7 % moves.len().max(1)) else { break };
            play = play.after(&setting, *next);
        }
    }
}

/// Whether answers that change nothing arrive at once or whenever they like, the same ends are reached.
#[test]
fn prompt_answers_leave_out_nothing() {
    for family in SMALL.iter().filter(|family| family.bodies == 2) {
        let seed = family.seeds[0];
        let prompt = see_all(&family.setting(seed, Fault::None));
        if prompt.states > 4_000 {
            continue;
        }
        let mut setting = family.setting(seed, Fault::None);
        setting.prompt_answers = false;
        let late = see_all(&setting);
        assert!(prompt.broken.is_none() && late.broken.is_none() && late.complete, "{}", family.name);
        assert!(late.states >= prompt.states, "{}: {} and {}", family.name, late.states, prompt.states);
        assert_eq!(late.ends, prompt.ends, "{}, seed {seed}", family.name);
    }
}

/// A state for stateright, told apart by its print.
#[derive(Clone)]
struct State {
    play: Play,
    print: u128,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x} at {}", self.print, self.play.gvt())
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
struct Behind(Setting);

impl Behind {
    fn state(&self, play: Play) -> State {
        let print = play.print(&self.0);
        State { play, print }
    }
}

fn kept(state: &State, promise: Promise) -> bool {
    state.play.broken().is_none_or(|broken| broken.promise != promise)
}

impl Model for Behind {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        vec![self.state(Play::new(&self.0))]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Move>) {
        state.play.moves(&self.0, actions);
    }

    fn next_state(&self, state: &State, next: Move) -> Option<State> {
        Some(self.state(state.play.after(&self.0, next)))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no deadlock, no lock leaks", |model: &Behind, state: &State| {
                let mut moves = Vec::new();
                state.play.moves(&model.0, &mut moves);
                let is_end = moves.is_empty() && state.play.broken().is_none();
                !is_end || state.play.ended_well(&model.0)
            }),
            Property::always(Promise::CommittedIsReference.name(), |_, state: &State| {
                kept(state, Promise::CommittedIsReference)
            }),
            Property::always(Promise::GvtIsKept.name(), |_, state: &State| kept(state, Promise::GvtIsKept)),
            Property::always(Promise::ToldOnce.name(), |_, state: &State| kept(state, Promise::ToldOnce)),
            Property::always(Promise::PastIsSettled.name(), |_, state: &State| {
                kept(state, Promise::PastIsSettled)
            }),
            Property::always(Promise::NoPanic.name(), |_, state: &State| kept(state, Promise::NoPanic)),
            Property::sometimes("the end is reached", |model: &Behind, state: &State| {
                state.play.gvt() == model.0.limits.last_tick
            }),
        ]
    }
}

#[test]
fn stateright_sees_the_same_states() {
    for family in SMALL {
        let seed = family.seeds[0];
        let ours = explore(&family.setting(seed, Fault::None), 6_000, &mut |_| true);
        if !ours.complete {
            continue;
        }
        let model = Behind(family.setting(seed, Fault::None));
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
        Behind(family.setting(0, Fault::DetectorDoesNotApply)).checker().threads(2).spawn_bfs().join();
    let found = checker.discovery(Promise::CommittedIsReference.name()).expect("stateright finds it too");
    say!("{} moves", found.into_actions().len());
}

/// How a fault shows: where, which promise is broken, and in how many moves.
fn catch(fault: Fault) -> Option<(String, Promise, usize)> {
    for family in SMALL {
        for seed in family.seeds.iter().take(1) {
            let setting = family.setting(*seed, fault);
            let explored = explore(&setting, 2_500, &mut |_| true);
            if let Some((broken, way)) = explored.broken {
                return Some((family.name.to_owned(), broken.promise, way.len()));
            }
        }
    }
    let wish = Wish { fault, ..Wish::default() };
    for seed in 0..3_000 {
        let setting = any_setting(seed, &wish);
        if let Some((broken, way)) = walk(&setting, seed).broken {
            return Some((format!("random world {seed}"), broken.promise, way.len()));
        }
    }
    None
}

#[test]
fn every_fault_is_caught() {
    let mut missed = Vec::new();
    say!("{:26} {:34} {:>6}  broken promise", "fault", "shows in", "moves");
    for fault in Fault::ALL {
        match catch(*fault) {
            Some((place, promise, moves)) => {
                say!("{:26} {place:34} {moves:>6}  {}", fault.name(), promise.name());
            }
            None => {
                say!("{:26} nowhere", fault.name());
                missed.push(fault.name());
            }
        }
    }
    assert!(missed.is_empty(), "no check notices these faults: {missed:?}");
}
