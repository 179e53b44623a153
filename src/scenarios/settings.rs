//! Settings of a scenario: numbers, seeds and parameters, read and checked.

use std::ops::RangeInclusive;

use super::Scenario;
use crate::base::number::whole;
use crate::scene::SceneError;
use crate::scene::suggest::{excerpt, listed};

const SEED_DEFAULT: u64 = 42;

/// The input of a scenario's builder.
pub(super) struct Settings<'a> {
    pub bodies: u32,
    pub seed: u64,
    scenario: &'static Scenario,
    given: Vec<(&'static str, &'a str)>,
}

impl<'a> Settings<'a> {
    pub(super) fn defaults(scenario: &'static Scenario) -> Self {
        Settings { bodies: scenario.bodies, seed: SEED_DEFAULT, scenario, given: Vec::new() }
    }

    pub(super) fn give(&mut self, parameter: &'static str, value: &'a str) {
        self.given.push((parameter, value.trim()));
    }

    /// Whether the parameter was set.
    pub(super) fn is_given(&self, parameter: &str) -> bool {
        self.given.iter().any(|(name, _)| *name == parameter)
    }

    /// A parameter that is a number within a range.
    pub(super) fn number(&self, parameter: &str, range: RangeInclusive<f64>) -> Result<f64, SceneError> {
        let text = self.text(parameter);
        text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
            let fix = format!("use a number from {:?} to {:?}", range.start(), range.end());
            SceneError::new(parameter, format!("is `{}`", excerpt(text)), fix)
        })
    }

    /// A parameter that is a whole number within a range.
    pub(super) fn whole(&self, parameter: &str, range: RangeInclusive<u32>) -> Result<u32, SceneError> {
        let text = self.text(parameter);
        let number = whole(text).and_then(|number| u32::try_from(number).ok());
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let fix = format!("use a whole number from {} to {}", range.start(), range.end());
            SceneError::new(parameter, format!("is `{}`", excerpt(text)), fix)
        })
    }

    /// A parameter that is one of a few words; the value that belongs to the word.
    pub(super) fn choice<T: Copy>(&self, parameter: &str, words: &[(&str, T)]) -> Result<T, SceneError> {
        let text = self.text(parameter).trim_matches('"');
        words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
            let fix = format!("use one of {}", listed(words.iter().map(|(word, _)| *word)));
            SceneError::new(parameter, format!("is `{}`", excerpt(text)), fix)
        })
    }

    /// The value that was set last, or the default.
    fn text(&self, parameter: &str) -> &str {
        let given = self.given.iter().rev().find(|(name, _)| *name == parameter).map(|(_, text)| *text);
        let default = || self.scenario.parameters.iter().find(|p| p.name == parameter).map(|p| p.default);
        given.or_else(default).expect("invariant: builders ask for parameters of their own scenario")
    }
}

/// A whole number that is set by name.
pub(super) fn whole_number<T: TryFrom<u64>>(name: &str, value: &str) -> Result<T, SceneError> {
    whole(value).and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
        SceneError::new(
            name,
            format!("is `{}`", excerpt(value)),
            "use a whole number that is not negative or too big",
        )
    })
}
