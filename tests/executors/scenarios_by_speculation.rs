//! Every scenario commits the reference by speculation, whatever the window and the buckets.
//!
//! All combinations would take minutes, so each run takes a sample that contains every value of every setting.
//! Another sample: `ANACHRON_SEED=7`; all combinations: `ANACHRON_CASES=100`; one scenario: `ANACHRON_ONLY=bowl`.

use anachron::internals::executor::single_thread::Order;
use anachron::internals::runtime::shared::Tuning;
use anachron::scenarios::{GOLDEN, Golden, Request, build};
use anachron::scene::Scene;

use crate::patience::patience;
use crate::same_bits::Reference;

const WINDOWS_TICKS: [u64; 4] = [1, 16, 64, 1024];
const BUCKETS: [u32; 4] = [1, 7, 64, 4096];
/// Scenarios with many contacts, in which a lost ghost update changes the result.
const CROWDED: [&str; 5] = ["cylinders", "bouncing", "stack", "bowl", "billiards"];

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

fn wanted(golden: &Golden) -> bool {
    std::env::var("ANACHRON_ONLY").map_or(true, |only| golden.scenario.contains(&only))
}

fn scene(golden: &Golden, share: f64) -> Scene {
    let set = golden.set.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request = Request {
        bodies: Some(golden.bodies),
        seed: None,
        seconds: Some(f64::from(golden.milliseconds) / 1000.0 * share),
        sets: set.into_iter().collect(),
    };
    build(golden.scenario, &request).expect("golden runs are valid")
}

/// Runs a case and prints its duration; a failure prints how to repeat it.
fn check(golden: &Golden, reference: &Reference, tuning: &Tuning, order: Order) {
    let begun = std::time::Instant::now();
    let case = format!("{} {:?} {tuning:?} {order:?}", golden.scenario, golden.set);
    match reference.compare(tuning, order) {
        Ok(_) => println!("{:6.2} s {case}", begun.elapsed().as_secs_f64()),
        Err(wrong) => panic!("{wrong}\n{case}\nANACHRON_SEED={} replays it", number("ANACHRON_SEED", 1)),
    }
}

#[test]
fn every_setting_commits_the_reference() {
    let samples = 4 * patience();
    let mut turn = number("ANACHRON_SEED", 1);
    for golden in GOLDEN.iter().filter(|golden| wanted(golden)) {
        let reference = Reference::new(&scene(golden, 1.0));
        // Sixteen samples have every combination.
        for _ in 0..samples.min(16) {
            turn += 1;
            let turn = turn as usize;
            let tuning = Tuning {
                window_ticks: WINDOWS_TICKS[turn % 4],
                buckets: BUCKETS[(turn + turn / 4) % 4],
                ..Tuning::default()
            };
            check(golden, &reference, &tuning, Order::Sensible);
        }
    }
}

#[test]
fn crowded_scenes_commit_the_reference_in_any_order() {
    let seeds = u64::from(patience());
    let first = number("ANACHRON_SEED", 1);
    for golden in GOLDEN.iter().filter(|golden| CROWDED.contains(&golden.scenario) && wanted(golden)) {
        let reference = Reference::new(&scene(golden, 0.4));
        for seed in first..first + seeds {
            for (window_ticks, contact_ticks) in [(16, 1), (64, 3)] {
                let tuning =
                    Tuning { window_ticks, contact_window_ticks: Some(contact_ticks), ..Tuning::default() };
                check(golden, &reference, &tuning, Order::Adversarial(seed));
            }
        }
    }
}
