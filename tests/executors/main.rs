//! Executors: all exact ones commit the bits of the sequential reference; `overlap` and the bridge have their own results.

#[path = "../support/patience.rs"]
mod patience;
#[path = "../support/random_scenes.rs"]
mod random_scenes;
#[path = "../support/recipe.rs"]
mod recipe;
#[path = "../support/same_bits.rs"]
mod same_bits;
#[path = "../support/scenes.rs"]
mod scenes;

mod bridge;
mod bridge_orders;
mod determinism;
mod example_scenes;
mod golden;
mod hybrid;
mod inputs;
mod lockstep;
mod overlap;
mod overlap_chain;
mod rapier;
mod regions;
mod run_stats;
mod scenarios_by_speculation;
mod speculation;
mod timewarp;
