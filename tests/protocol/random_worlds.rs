//! The protocol in random models under adversarial schedules: everything that is lost, doubled, stale or out of order
//! shows. Messages between each two entities keep their order; nothing else does.
//!
//! `PROPTEST_RNG_SEED` chooses the models; a failure prints the one seed that repeats it.
//! `ANACHRON_CASES=100 cargo test --release --test protocol random_worlds` runs a hundred times as many.

use anachron::Stats;
use anachron::verify::{ConfigRequest, any_config, replay, walk};

use crate::patience::patience;

/// The first of the seeds.
fn first_seed() -> u64 {
    std::env::var("PROPTEST_RNG_SEED")
        .map_or(1, |text| text.parse().expect("PROPTEST_RNG_SEED is a whole number"))
}

#[test]
fn every_random_schedule_commits_the_reference() {
    let first = first_seed();
    let mut total = Stats::default();
    let mut complete = 0;
    let cases = 400 * u64::from(patience());
    for seed in first..first + cases {
        // In small models contacts are frequent; every fourth model may be of any size.
        let entities = (seed % 4 != 0).then_some(2 + (seed % 11) as u32);
        let config = any_config(seed, &ConfigRequest { entities, ..ConfigRequest::default() });
        let walked = walk(&config, seed);
        if let Some((violation, actions)) = &walked.violation {
            let (lines, _) = replay(&config, actions, true);
            let last = &lines[lines.len().saturating_sub(60)..];
            panic!("seed {seed} ({entities:?} entities): {violation}\n{}", last.join("\n"));
        }
        complete += u64::from(walked.complete);
        total.add(&walked.stats);
    }
    let Stats {
        primary_rollbacks,
        secondary_rollbacks,
        antievents,
        ghost_updates,
        contact_ticks,
        inputs,
        migrations,
        ..
    } = total;
    println!(
        "{contact_ticks} contacts, {antievents} antievents, {ghost_updates} ghost updates, {primary_rollbacks} + \
         {secondary_rollbacks} rollbacks, {inputs} inputs, {migrations} migrations; {complete} of {cases} to the end"
    );
    let all = [primary_rollbacks, secondary_rollbacks, antievents, ghost_updates, contact_ticks];
    assert!(all.iter().all(|count| *count > 1000), "runs without rollbacks prove nothing: {all:?}");
    assert!([inputs, migrations].iter().all(|count| *count > 50), "few inputs or migrations");
    assert!(complete * 10 > cases * 9, "{complete} of {cases} schedules reached their end");
}
