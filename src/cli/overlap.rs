//! Flags that say how workers share a scene, or its islands. All of them change the result.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::count;
use crate::cli::failure::Failure;
use crate::executor::SyncMode;
use crate::islands::IslandSettings;
use crate::overlap::balance::Load;
use crate::overlap::partition::Partition;
use crate::overlap::{EngineKind, OverlapSettings, WeightRule};

const WEIGHTS: &[(&str, WeightRule)] = &[("geodesic", WeightRule::Geodesic), ("equal", WeightRule::Equal)];

/// The value of `--balance`. A name of its own, because clap gives `Option<Option<_>>` another meaning.
type Balance = Option<Load>;

const BALANCE: &[(&str, Balance)] =
    &[("contacts", Some(Load::Contacts)), ("bodies", Some(Load::Bodies)), ("off", None)];

const BRIDGE: &[(&str, bool)] = &[("auto", true), ("off", false)];

/// How workers share a scene
#[derive(Args, Default)]
#[command(next_help_heading = "Workers (`--sync overlap` and `--bridge auto` only; they change the result)")]
pub(super) struct OverlapArguments {
    /// Solve bodies that stay in contact together, as islands, and free them when they part; free bodies keep their own
    /// clocks
    #[arg(long, value_name = "auto|off", value_parser = named(BRIDGE))]
    bridge: Option<bool>,
    /// Number of workers that share the scene; if not given, as many as the scene has parts, or two. With `--bridge auto`,
    /// number of workers that share an island: one if not given
    #[arg(long, value_name = "N", value_parser = count::any::<u32>)]
    workers: Option<u32>,
    /// How many joints or contacts deep workers share bodies beyond those between them
    #[arg(long, value_name = "G", value_parser = count::any::<u32>)]
    gamma: Option<u32>,
    /// How many joints or contacts away a worker's own bodies are searched for weights
    #[arg(long, value_name = "B", value_parser = count::any::<u32>)]
    beta: Option<u32>,
    /// How the copies of a shared body are weighted
    #[arg(long, value_name = "RULE", value_parser = named(WEIGHTS))]
    weights: Option<WeightRule>,
    /// The load that contacts balance between workers
    #[arg(long, value_name = "LOAD", value_parser = named(BALANCE))]
    balance: Option<Balance>,
    /// How bodies are divided at the start
    #[arg(long, value_name = "HOW", value_parser = named(Partition::ALL))]
    partition: Option<Partition>,
    /// The physics engine of every worker
    #[arg(long, value_name = "NAME", value_parser = named(EngineKind::ALL))]
    engine: Option<EngineKind>,
    /// Measure the residual that the solver leaves
    #[arg(long)]
    residual: bool,
}

fn named<T: Copy + Send + std::marker::Sync + 'static>(
    table: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(table.iter().map(|(name, _)| *name));
    names.try_map(move |given| {
        let found = table.iter().find(|(name, _)| *name == given);
        found.map(|(_, value)| *value).ok_or_else(|| format!("`{given}` is not known"))
    })
}

impl OverlapArguments {
    /// The settings; refused where they would have no effect.
    pub(super) fn settings(&self, sync: SyncMode) -> Result<OverlapSettings, Failure> {
        let is_bridged = self.is_bridged();
        if let Some(flag) = self.first_given().filter(|_| sync != SyncMode::Overlap && !is_bridged) {
            return Err(Failure::bad_input(format_args!(
                "{flag}: `--sync {}` has no workers; use `--sync overlap` or `--bridge auto`, or leave {flag} out",
                sync.name()
            )));
        }
        if let Some(flag) = self.first_of_scenes_only().filter(|_| is_bridged) {
            return Err(Failure::bad_input(format_args!(
                "{flag}: says how whole scenes are shared, and `--bridge auto` shares islands as they come and go; \
                 leave {flag} out, or use `--sync overlap` without `--bridge`"
            )));
        }
        let defaults = OverlapSettings::default();
        Ok(OverlapSettings {
            workers: self.workers,
            gamma: self.gamma,
            beta: self.beta,
            weights: self.weights.unwrap_or_default(),
            load: self.balance.unwrap_or(defaults.load),
            partition: self.partition.unwrap_or_default(),
            engine: self.engine.unwrap_or_default(),
            measures: self.residual,
        })
    }

    fn is_bridged(&self) -> bool {
        self.bridge == Some(true)
    }

    /// The settings of islands, if there are any.
    pub(super) fn bridge(&self, sync: SyncMode) -> Result<Option<IslandSettings>, Failure> {
        let overlap = self.settings(sync)?;
        Ok(self.is_bridged().then(|| IslandSettings { overlap, ..IslandSettings::default() }))
    }

    /// The first given flag that only applies to whole scenes.
    fn first_of_scenes_only(&self) -> Option<&'static str> {
        let given = [
            ("--partition", self.partition.is_some()),
            ("--engine", self.engine.is_some()),
            ("--residual", self.residual),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }

    /// The first given flag of all that are about workers.
    fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--workers", self.workers.is_some()),
            ("--gamma", self.gamma.is_some()),
            ("--beta", self.beta.is_some()),
            ("--weights", self.weights.is_some()),
            ("--balance", self.balance.is_some()),
            ("--partition", self.partition.is_some()),
            ("--engine", self.engine.is_some()),
            ("--residual", self.residual),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    #[test]
    fn every_balance_can_be_chosen() {
        for (name, load) in BALANCE {
            let command = OverlapArguments::augment_args(clap::Command::new("test"));
            let matches = command.get_matches_from(["test", "--balance", name]);
            let arguments = OverlapArguments::from_arg_matches(&matches).unwrap();
            assert_eq!(arguments.settings(SyncMode::Overlap).ok().unwrap().load, *load, "{name}");
        }
    }
}
