//! A MigrationConfiguration, compiled: its stages, ready to run.

use std::collections::BTreeMap;

use broker_api::{MigrationStage, migration_configuration::OnFailure};

use super::template::Template;
use crate::expression::{Evaluator, Program};

/// A MigrationConfiguration whose stages are sound.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `metadata.generation` that was compiled.
    pub generation: i64,
    /// As it was written: what a Migration records when it begins.
    pub source: Vec<MigrationStage>,
    /// Compiled, in the same order.
    pub stages: Vec<Stage>,
}

/// One stage, compiled.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Objects, by the name that conditions call them by.
    pub templates: BTreeMap<String, Template>,
    /// All true: the stage has succeeded.
    pub success: Vec<Program>,
    /// One true: the stage has failed.
    pub failure: Vec<Program>,
    /// The initial phase ends with it.
    pub progress: bool,
    /// Milliseconds after which it has failed.
    pub timeout_millis: Option<u64>,
    /// What happens when it fails.
    pub on_failure: OnFailure,
}

impl Configuration {
    /// Compiles stages. The errors are all that is wrong, each led by its place (`spec.stages[0].successConditions[1]: …`).
    pub fn compile(
        namespace: &str,
        name: &str,
        generation: i64,
        stages: &[MigrationStage],
        evaluator: &Evaluator,
    ) -> Result<Self, Vec<String>> {
        let _ = evaluator;
        if stages.is_empty() {
            return Ok(Self {
                namespace: namespace.into(),
                name: name.into(),
                generation,
                source: Vec::new(),
                stages: Vec::new(),
            });
        }
        Err(vec!["not written yet".into()])
    }
}

/// The name by which conditions and templates speak of the object with this template key: CEL has no `-` in names.
pub fn variable(key: &str) -> String {
    key.replace('-', "_")
}
