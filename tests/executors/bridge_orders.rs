//! With islands, too, speculation commits exactly the frames and the tally of the sequential executor, for any scene, any
//! islands, any tuning and any order of events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anachron::internals::islands::{IslandModel, IslandSettings, IslandSummary};
use anachron::internals::overlap::OverlapSettings;
use anachron::internals::physics::World;
use anachron::internals::rigid::RigidModel;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use crate::patience::patience;
use crate::random_scenes::Kind;
use crate::recipe::Recipe;
use crate::same_bits::Reference;

/// Scenes in which bodies stay in contact.
const KINDS: [Kind; 5] = [Kind::Heap, Kind::Columns, Kind::Lattice, Kind::Clutter, Kind::Overlap];

/// A random scene and schedule, with random islands.
#[derive(Clone, Debug)]
struct Case {
    recipe: Recipe,
    settings: IslandSettings,
}

impl Case {
    /// Runs it both ways. Returns the summary of the islands.
    fn check(&self) -> Result<Option<IslandSummary>, String> {
        let Recipe { kind, seed, bodies, ticks, tuning, order } = &self.recipe;
        let scene = crate::random_scenes::scene(*kind, *seed, *bodies, *ticks);
        let world = Arc::new(World::new(&scene).expect("the scene is valid"));
        let islands = IslandModel::new(&world, self.settings).expect("the settings fit");
        let reference = Reference::of(RigidModel::new(world).with_islands(Some(Arc::new(islands))));
        reference.compare(tuning, *order)?;
        Ok(reference.tally.ok().and_then(|tally| tally.bridge))
    }
}

/// Any case. Epochs are short and islands small, so that membership changes often.
fn any_case() -> impl Strategy<Value = Case> {
    let epoch_ticks = prop_oneof![1..=3u64, 4..=24u64];
    let settings = (epoch_ticks, 2..=5u32, prop::sample::select(&[1u32, 1, 2, 3][..]), 0..=1u32);
    (crate::recipe::any_recipe(), settings).prop_map(|(recipe, settings)| {
        let (epoch_ticks, bodies_min, workers, gamma) = settings;
        let overlap = OverlapSettings {
            workers: Some(workers.min(recipe.bodies)),
            gamma: Some(gamma),
            ..OverlapSettings::default()
        };
        let kind = if KINDS.contains(&recipe.kind) { recipe.kind } else { Kind::Heap };
        let (bodies, ticks) = (recipe.bodies.min(24), recipe.ticks.min(80));
        let recipe = Recipe { kind, bodies, ticks, ..recipe };
        Case { recipe, settings: IslandSettings { epoch_ticks, bodies_min, overlap } }
    })
}

#[test]
fn random_scenes_with_islands_commit_the_reference() {
    let config = Config { cases: 150 * patience(), failure_persistence: None, ..Config::default() };
    let (joined, freed, moved) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let outcome = TestRunner::new(config).run(&any_case(), |case| {
        if let Some(summary) = case.check().map_err(TestCaseError::fail)? {
            joined.fetch_add(summary.bodies_joined, Relaxed);
            freed.fetch_add(summary.bodies_freed, Relaxed);
            moved.fetch_add(summary.bodies_moved, Relaxed);
        }
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, case)) => panic!("{reason}\n{} with {:?}", case.recipe, case.settings),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
    // Membership has changed often enough.
    let changes = [&joined, &freed, &moved].map(|count| count.load(Relaxed));
    println!("joined, freed, moved: {changes:?}");
    assert!(changes[0] > 100 && changes[1] > 20 && changes[2] > 0, "{changes:?}");
}
