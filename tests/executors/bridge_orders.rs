//! With a bridge, too, speculation commits exactly the frames and the tally of the plain loop, whatever the scene, the
//! groups, the tuning and the order in which things happen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anachron::internals::executor::Tuning;
use anachron::internals::islands::{IslandModel, IslandSettings, IslandSummary};
use anachron::internals::overlap::OverlapSettings;
use anachron::internals::physics::World;
use anachron::internals::rigid::RigidModel;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use crate::random_scenes::Kind;
use crate::recipe::Recipe;
use crate::same_bits::Reference;

/// Scenes in which bodies stay in contact.
const CROWDS: [Kind; 5] = [Kind::Heap, Kind::Columns, Kind::Lattice, Kind::Clutter, Kind::Overlap];

/// A random case, and how bodies are brought together in it.
#[derive(Clone, Debug)]
struct Case {
    recipe: Recipe,
    settings: IslandSettings,
}

impl Case {
    /// Runs it both ways. Says what came of the groups.
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

/// Any case: short epochs and small groups, so that much happens.
fn any_case() -> impl Strategy<Value = Case> {
    let epoch = prop_oneof![1..=3u64, 4..=24u64];
    let settings = (epoch, 2..=5u32, prop::sample::select(&[1u32, 1, 2, 3][..]), 0..=1u32);
    (crate::recipe::any_recipe(), settings, 0..=1u32).prop_map(|(recipe, settings, cluster)| {
        let (epoch, smallest, workers, gamma) = settings;
        let workers = OverlapSettings {
            workers: Some(workers.min(recipe.bodies)),
            gamma: Some(gamma),
            ..OverlapSettings::default()
        };
        let kind = if CROWDS.contains(&recipe.kind) { recipe.kind } else { Kind::Heap };
        let (bodies, ticks) = (recipe.bodies.min(24), recipe.ticks.min(80));
        let tuning = Tuning { cluster, ..recipe.tuning };
        let recipe = Recipe { kind, bodies, ticks, tuning, ..recipe };
        Case { recipe, settings: IslandSettings { epoch, smallest, workers } }
    })
}

#[test]
fn random_scenes_with_groups_commit_the_reference() {
    let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
    let (joined, freed, moved) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let outcome = TestRunner::new(config).run(&any_case(), |case| {
        if let Some(summary) = case.check().map_err(TestCaseError::fail)? {
            joined.fetch_add(summary.joined, Relaxed);
            freed.fetch_add(summary.freed, Relaxed);
            moved.fetch_add(summary.moved, Relaxed);
        }
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, case)) => panic!("{reason}\n{} with {:?}", case.recipe, case.settings),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
    // Something has happened at all.
    let happened = [&joined, &freed, &moved].map(|count| count.load(Relaxed));
    println!("joined, freed, moved: {happened:?}");
    assert!(happened[0] > 200 && happened[1] > 50 && happened[2] > 10, "{happened:?}");
}
