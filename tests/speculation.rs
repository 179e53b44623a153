//! Speculation commits exactly the frames and the tally of the sequential reference, whatever the scene, the
//! tuning and the order in which things happen.
//!
//! A failure prints a recipe. `ANACHRON_RECIPE='...' cargo test --release --test speculation replay` runs it again.
//! `ANACHRON_CASES=100 cargo test --release --test speculation random` looks a hundred times as long as usual.

#[path = "support/random_scenes.rs"]
mod random_scenes;
#[path = "support/recipe.rs"]
mod recipe;
#[path = "support/same_bits.rs"]
mod same_bits;

use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use recipe::Recipe;

/// How much longer to look than usual.
fn patience() -> u32 {
    std::env::var("ANACHRON_CASES").map_or(1, |text| text.parse().expect("ANACHRON_CASES is a whole number"))
}

#[test]
fn random_scenes_commit_the_reference() {
    let config = Config { cases: 400 * patience(), failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let outcome =
        runner.run(&recipe::any_recipe(), |recipe| recipe.check().map(|_| ()).map_err(TestCaseError::fail));
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, recipe)) => panic!("{reason}\nANACHRON_RECIPE='{recipe}'"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

#[test]
fn replay() {
    let Ok(text) = std::env::var("ANACHRON_RECIPE") else { return };
    let recipe: Recipe = text.parse().expect("a recipe, as a failure prints it");
    let stats = recipe.check().unwrap_or_else(|wrong| panic!("{wrong}"));
    println!("{stats:#?}");
}
