//! The outcome of a check: one JSON object for programs, a few lines for the terminal.

use serde::Serialize;

use super::limits::{Stop, Stops};
use super::{AnyFault, Checked};
use crate::cli::format::{counted, grouped};
use crate::verify::{Campaign, Counterexample, Property};

/// Everything that is reported about a check. The keys of the JSON object are the names of the fields: fields may be
/// added, and neither renamed nor removed.
#[derive(Serialize)]
pub(super) struct Outcome {
    protocol: &'static str,
    fault: &'static str,
    /// Whether the deliberate fault was noticed; nothing without one.
    fault_noticed: Option<bool>,
    /// Configurations that were to be explored; nothing where they are without end, or none were.
    configurations_announced: Option<u64>,
    /// Configurations of which every state was explored.
    configurations: u64,
    /// Configurations that were begun and not finished.
    configurations_unfinished: u64,
    /// Why not all that was announced was explored.
    states_stopped_by: Option<&'static str>,
    states: u64,
    transitions: u64,
    depth: u64,
    terminal_states: u64,
    /// Random schedules that were to be run; nothing where only time is the limit, or none were.
    schedules_announced: Option<u64>,
    schedules: u64,
    /// Why no more schedules were run.
    schedules_stopped_by: Option<&'static str>,
    schedule_transitions: u64,
    /// Schedules given up because they were too long.
    schedules_given_up: u64,
    seconds: f64,
    violation: Option<ViolationJson>,
    #[serde(skip)]
    stops: Stops,
    #[serde(skip)]
    about_fault: &'static str,
    /// The properties of what is checked.
    #[serde(skip)]
    properties: Vec<Property>,
}

/// A property that does not hold, and how to get there.
#[derive(Serialize)]
struct ViolationJson {
    property: &'static str,
    description: String,
    configuration: String,
    transitions: usize,
    /// Whether no shorter trace of this configuration violates a property.
    shortest: bool,
    trace: Vec<String>,
}

impl Outcome {
    pub(super) fn new(campaign: &Campaign, checked: &Checked, fault: Option<AnyFault>, stops: Stops) -> Self {
        let violation = campaign.violation.as_ref().map(|found| ViolationJson {
            property: found.violation.property.name(),
            description: found.violation.how.clone(),
            configuration: found.config.clone(),
            transitions: found.actions,
            shortest: found.is_shortest,
            trace: found.trace.clone(),
        });
        let is_of = |property: &Property| {
            checked.entities.is_some() && property.is_of_entities()
                || checked.regions.is_some() && property.is_of_regions()
        };
        let properties = Property::ALL.into_iter().filter(is_of);
        Outcome {
            protocol: match (checked.entities, checked.regions) {
                (Some(_), None) => "entities",
                (None, Some(_)) => "regions",
                _ => "anachron",
            },
            fault: fault.map_or("none", AnyFault::name),
            fault_noticed: fault.map(|_| violation.is_some()),
            configurations_announced: Some(campaign.announced).filter(|count| *count > 0),
            configurations: campaign.complete,
            configurations_unfinished: campaign.unfinished,
            states_stopped_by: stops.states.map(Stop::name),
            states: campaign.states,
            transitions: campaign.transitions,
            depth: campaign.depth,
            terminal_states: campaign.ends,
            schedules_announced: campaign.schedules_max,
            schedules: campaign.schedules,
            schedules_stopped_by: stops.schedules.map(Stop::name),
            schedule_transitions: campaign.schedule_actions,
            schedules_given_up: campaign.given_up,
            seconds: stops.seconds,
            violation,
            stops,
            about_fault: fault.map_or("", AnyFault::about),
            properties: properties.collect(),
        }
    }

    pub(super) fn is_interrupted(&self) -> bool {
        [self.stops.states, self.stops.schedules].contains(&Some(Stop::Interrupt))
    }

    /// A few lines for the terminal.
    pub(super) fn text(&self) -> String {
        let mut lines = Vec::new();
        if self.fault_noticed.is_some() {
            lines.push(format!("deliberate fault: {}", self.about_fault));
        }
        if self.configurations + self.configurations_unfinished > 0 {
            lines.push(format!(
                "every order: {} in full, {}, {}, {}, up to {} deep",
                counted(self.configurations, "configuration", "configurations"),
                counted(self.states, "state", "states"),
                counted(self.transitions, "transition", "transitions"),
                counted(self.terminal_states, "terminal state", "terminal states"),
                counted(self.depth, "transition", "transitions"),
            ));
        }
        lines.extend(self.states_left());
        if self.schedules > 0 {
            lines.push(format!(
                "random orders: {}, {}; {} given up as too long",
                counted(self.schedules, "schedule", "schedules"),
                counted(self.schedule_transitions, "transition", "transitions"),
                grouped(self.schedules_given_up),
            ));
        }
        lines.extend(self.schedules_left());
        lines.push(self.verdict());
        lines.join("\n")
    }

    /// What was announced and not explored, and why.
    fn states_left(&self) -> Option<String> {
        let why = self.stops.states?.text();
        match self.configurations_announced {
            Some(announced) => {
                let left = grouped(announced - self.configurations);
                let all = counted(announced, "configuration", "configurations");
                Some(format!("{left} of {all} not finished: {why}"))
            }
            None if self.configurations_unfinished > 0 => {
                let left = counted(self.configurations_unfinished, "configuration", "configurations");
                Some(format!("{left} begun and not finished: {why}"))
            }
            None => None,
        }
    }

    /// What was announced and not run, and why.
    fn schedules_left(&self) -> Option<String> {
        let announced = self.schedules_announced.filter(|announced| *announced > self.schedules)?;
        let why = self.stops.schedules.or(self.stops.states)?.text();
        let all = counted(announced, "schedule", "schedules");
        Some(format!("{} of {all} not run: {why}", grouped(announced - self.schedules)))
    }

    fn verdict(&self) -> String {
        // Whether every schedule ends is known only where all of them are explored.
        let is_checked =
            |property: &&Property| **property != Property::EveryWayEnds || self.configurations > 0;
        let properties: Vec<&str> =
            self.properties.iter().filter(is_checked).map(|property| property.name()).collect();
        let seconds = self.seconds;
        match (&self.violation, self.fault_noticed) {
            (Some(found), Some(_)) => format!("noticed: {}", found.property),
            (Some(found), None) => format!("violated: {}", found.property),
            (None, Some(_)) => format!("the fault was not noticed in {seconds:.0} s"),
            (None, None) => {
                format!("no property was violated in {seconds:.0} s: {}", properties.join("; "))
            }
        }
    }
}

/// The trace that leads to a violation, a line for each transition.
pub(super) fn trace_text(found: &Counterexample) -> String {
    let Counterexample { violation, config, actions, is_shortest, trace } = found;
    let which = if *is_shortest { "the shortest trace" } else { "the trace" };
    format!("\n{config}\n{which} has {actions} transitions:\n{}\n  => {violation}", trace.join("\n"))
}
