//! Regions of production in every order of steps and messages, in small worlds of real bodies; at random in larger ones.
//! And whether the checks work: every deliberate fault must be noticed.
//!
//! State counts and faults are printed past the test harness, which captures the output of tests.

use std::io::Write;
use std::ops::Range;

use anachron::internals::protocol::Fault;
use anachron::internals::verify::{Model, REGION_FAMILIES, RegionFault, any_region_model, follow, search};
use anachron::verify::Property;

use crate::patience::patience;

/// Prints a line that the test harness does not capture.
macro_rules! say {
    ($($part:tt)*) => {{
        let line = format!($($part)*);
        let _ = writeln!(std::io::stderr(), "{line}");
    }};
}

/// More states than any of the small models has.
const STATES_MAX: u64 = 400_000;

#[test]
fn every_state_of_small_regions_has_every_property() {
    say!(
        "{:42} {:>6} {:>8} {:>9} {:>9} {:>5} {:>6}",
        "family",
        "models",
        "contacts",
        "states",
        "moves",
        "depth",
        "ends"
    );
    let mut all = [0; 3];
    for family in REGION_FAMILIES {
        let (mut sum, mut depth, mut contacts) = ([0; 3], 0, 0);
        for seed in family.seeds {
            let model = family.model(*seed, RegionFault::None);
            let explored = search(&model, STATES_MAX, &mut |_| true);
            if let Some((violation, schedule)) = &explored.violation {
                let (lines, _) = model.replay(schedule, false);
                panic!("{}: {violation}\n{}", model.describe(family.name), lines.join("\n"));
            }
            assert!(explored.complete, "{}, seed {seed}: more than {STATES_MAX} states", family.name);
            let counts = [explored.states, explored.transitions, explored.ends];
            (0..3).for_each(|at| sum[at] += counts[at]);
            depth = depth.max(explored.depth);
            contacts += model.contact_ticks();
        }
        let [states, moves, ends] = sum;
        say!(
            "{:42} {:>6} {contacts:>8} {states:>9} {moves:>9} {depth:>5} {ends:>6}",
            family.name,
            family.seeds.len()
        );
        assert!(contacts > 0, "{}: nothing touches", family.name);
        (0..3).for_each(|at| all[at] += sum[at]);
    }
    let [states, moves, ends] = all;
    say!("all: {states} states, {moves} moves, {ends} ends");
}

#[test]
fn random_regions_have_every_property() {
    let (seeds, mut moves, mut given_up) = (200 * u64::from(patience()), 0, 0);
    for seed in 0..seeds {
        let model = any_region_model(seed, RegionFault::None);
        let (walked, _) = follow(&model, seed);
        if let Some((violation, schedule)) = &walked.violation {
            let (lines, _) = model.replay(schedule, true);
            panic!("{}: {violation}\n{}", model.describe("random"), lines.join("\n"));
        }
        moves += walked.actions;
        given_up += u64::from(!walked.complete);
    }
    say!("random worlds of regions 0 to {seeds}: {moves} moves, {given_up} given up");
}

/// Faults that no small or random world has shown so far, and why that may be; docs/correctness.md has more.
const NOT_NOTICED: &[&str] = &[
    // A response clears the caches of its tick before it writes them.
    "caches-not-undone",
    // Entries only propose where to look; the exact predicate decides.
    "stale-entry",
    // These need a late message about the tick before the first exchange.
    "parts-not-compared",
    "parts-not-sent-again",
    // These need a contact at the same tick with other numbers after a rollback.
    "caches-not-compared",
    "flight-by-since",
    "always-in-place",
];

/// How a fault shows: the model, the property that is violated, and the number of actions.
fn notice(fault: RegionFault) -> Option<(String, Property, usize)> {
    let at_random = |seeds: Range<u64>| {
        seeds.into_iter().find_map(|seed| {
            let (violation, schedule) = follow(&any_region_model(seed, fault), seed).0.violation?;
            Some((format!("random world {seed}"), violation.property, schedule.len()))
        })
    };
    let in_families = |states: u64| {
        REGION_FAMILIES.iter().find_map(|family| {
            family.seeds.iter().find_map(|seed| {
                let explored = search(&family.model(*seed, fault), states, &mut |_| true);
                let (violation, schedule) = explored.violation?;
                Some((format!("{}, {seed}", family.name), violation.property, schedule.len()))
            })
        })
    };
    let quickly = at_random(0..500).or_else(|| in_families(5_000));
    quickly.or_else(|| at_random(500..3_000)).or_else(|| in_families(STATES_MAX))
}

/// `--fault NAME` means one fault.
#[test]
fn faults_of_entities_and_regions_have_different_names() {
    let of_entities: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
    assert!(RegionFault::ALL.iter().all(|fault| !of_entities.contains(&fault.name())));
}

#[test]
fn every_fault_of_regions_is_noticed() {
    let mut missed = Vec::new();
    say!("{:26} {:42} {:>7}  violated property", "fault", "shows in", "actions");
    let is_looked_for = |fault: &&RegionFault| patience() > 1 || !NOT_NOTICED.contains(&fault.name());
    for fault in RegionFault::ALL.iter().filter(is_looked_for) {
        match notice(*fault) {
            Some((model, property, actions)) => {
                say!("{:26} {model:42} {actions:>7}  {}", fault.name(), property.name());
            }
            None => {
                say!("{:26} nowhere", fault.name());
                if !NOT_NOTICED.contains(&fault.name()) {
                    missed.push(fault.name());
                }
            }
        }
    }
    assert!(missed.is_empty(), "no check notices these faults: {missed:?}");
}
