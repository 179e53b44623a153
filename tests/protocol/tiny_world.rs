//! The protocol with a toy world behind it instead of rigid bodies: everything that is lost, doubled, stale or
//! out of order shows, in very many runs, under an schedule that keeps only the order of messages between each
//! two entities.
//!
//! A failure prints the smallest case it found. `ANACHRON_CASES=100 cargo test --release --test protocol tiny_world`
//! looks a hundred times as long as usual.

use std::panic::{AssertUnwindSafe, catch_unwind};

use anachron::internals::protocol::{Fault, Stats};
use anachron::verify::toy_model::ToyModel;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use crate::carrier::Way;

fn any_world() -> impl Strategy<Value = ToyModel> {
    let chance = |often: &'static [u64]| prop::sample::select(often);
    let density = (chance(&[1, 2, 5, 20]), chance(&[2, 4, 16, 1000]), chance(&[4, 20, 1000]));
    (2..=12u32, any::<u64>().no_shrink(), 1..=4u32, 2..=60i64, density, 1..=40u64).prop_map(
        |(bodies, seed, rounds, room, (sparse, sticky, bumpy), last_tick)| ToyModel {
            bodies,
            seed,
            rounds,
            room,
            sparse,
            sticky,
            bumpy,
            last_tick,
            fault: Fault::None,
        },
    )
}

fn any_way() -> impl Strategy<Value = Way> {
    let window = prop_oneof![1..=3u64, 4..=12u64, 13..=60u64];
    let contact_window = prop_oneof![Just(0u64), 1..=2u64, 3..=30u64];
    let buckets = prop::sample::select(&[1u32, 7, 64][..]);
    let cluster = prop::sample::select(&[1usize, 1, 2, 3, 5][..]);
    let history = prop_oneof![Just(0u64), Just(0u64), 1..=20u64];
    let meddling = prop::sample::select(&[0u64, 0, 7, 40][..]);
    let restless = prop::sample::select(&[0u64, 0, 3, 20][..]);
    let company = (cluster, history, meddling, restless);
    (window, contact_window, 1..=30u64, buckets, 0.5..8.0, company, any::<u64>().no_shrink()).prop_map(
        |(window, contact_window, stride_min, buckets, cell_scale, company, order)| Way {
            window,
            contact_window,
            stride_min,
            buckets,
            cell_scale,
            cluster: company.0,
            history: company.1,
            meddling: company.2,
            restless: company.3,
            order,
        },
    )
}

fn check(toy: &ToyModel, way: &Way) -> Result<Stats, String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| crate::carrier::check(toy, way)));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Err(format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?")))
    })
}

#[test]
fn every_order_commits_the_reference() {
    let patience: u32 = std::env::var("ANACHRON_CASES")
        .map_or(1, |text| text.parse().expect("ANACHRON_CASES is a whole number"));
    let config = Config { cases: 1500 * patience, failure_persistence: None, ..Config::default() };
    let total = std::cell::Cell::new(Stats::default());
    let outcome = TestRunner::new(config).run(&(any_world(), any_way()), |(toy, way)| {
        let mut sum = total.get();
        sum.add(&check(&toy, &way).map_err(TestCaseError::fail)?);
        total.set(sum);
        Ok(())
    });
    if let Err(TestError::Fail(reason, (toy, way))) = &outcome {
        panic!("{reason}\n{toy:?}\n{way:?}");
    }
    outcome.expect("no case is given up");
    let Stats {
        primary_rollbacks,
        secondary_rollbacks,
        antievents,
        ghost_updates,
        contact_ticks,
        inputs,
        migrations,
        ..
    } = total.get();
    println!(
        "{contact_ticks} contact ticks, {antievents} antievents, {ghost_updates} ghost updates, {primary_rollbacks} + {secondary_rollbacks} rollbacks, {inputs} inputs, {migrations} migrations"
    );
    let all = [
        primary_rollbacks,
        secondary_rollbacks,
        antievents,
        ghost_updates,
        contact_ticks,
        inputs,
        migrations,
    ];
    assert!(all.iter().all(|count| *count > 1000), "runs in which nothing goes wrong prove nothing: {all:?}");
}
