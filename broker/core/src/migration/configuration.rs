//! A MigrationConfiguration, compiled: its stages, ready to run.

use std::collections::{BTreeMap, BTreeSet};

use broker_api::{MigrationStage, migration_configuration::OnFailure};
use runtime_cel::{
    expression::{Evaluator, ExpressionError, Program},
    flaws::Flaws,
    template::unknown_names,
};

use super::template::{Namespace, Template};
use crate::naming::is_namespace;

/// Names that mean the same in every stage; no template may be called so.
const NAMES: [&str; 4] = ["from", "to", "migration", "stage"];

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
    ) -> Result<Self, Flaws> {
        let mut errors = Flaws::default();
        let mut names = BTreeSet::new();
        let mut compiled = Vec::with_capacity(stages.len());
        for (index, stage) in stages.iter().enumerate() {
            let place = format!("spec.stages[{index}]");
            if !names.insert(&stage.name) {
                errors.push(format!("{place}.name: another stage is called {:?}; names tell stages apart", stage.name));
            }
            compiled.push(Stage::compile(stage, &place, evaluator, &mut errors));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            namespace: namespace.into(),
            name: name.into(),
            generation,
            source: stages.to_vec(),
            stages: compiled,
        })
    }
}

impl Stage {
    /// What could be compiled of it; it counts only when no errors were added.
    fn compile(stage: &MigrationStage, place: &str, evaluator: &Evaluator, errors: &mut Flaws) -> Self {
        // Named one by one: a field added to the stage must be thought of here.
        let MigrationStage {
            name,
            templates,
            success_conditions,
            failure_conditions,
            progress,
            timeout_seconds,
            on_failure,
        } = stage;
        if !is_label_value(name) {
            errors.push(format!(
                "{place}.name: {name:?} is no value of a label: 1 to 63 letters, digits, '-', '_' and '.', a letter or \
                 digit first and last"
            ));
        }
        let mut known: Vec<String> = NAMES.map(str::to_owned).to_vec();
        let mut objects = BTreeMap::new();
        for (key, template) in templates {
            let place = format!("{place}.templates.{key}");
            check_key(key, &place, evaluator, errors);
            known.push(variable(key));
            match Template::compile(&template.0, &NAMES, evaluator) {
                Ok(template) => {
                    if let Namespace::Fixed(name) = template.namespace() {
                        let place = format!("{place}.metadata.namespace");
                        if let Err(why) = is_namespace(name) {
                            errors.push(format!("{place}: {why}"));
                        } else if is_system(name) {
                            errors.push(format!("{place}: stages make nothing in {name}, a namespace of the system"));
                        }
                    }
                    objects.insert(key.clone(), template);
                }
                Err(found) => errors.extend(&place, &found),
            }
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let mut conditions = |field: &str, sources: &[String]| -> Vec<Program> {
            let places = sources.iter().enumerate();
            let compile = |(index, source): (usize, &String)| {
                condition(source, &format!("{place}.{field}[{index}]"), &known, evaluator, errors)
            };
            places.filter_map(compile).collect()
        };
        let success = conditions("successConditions", success_conditions);
        let failure = conditions("failureConditions", failure_conditions);
        let seconds = timeout_seconds.map(|seconds| u64::try_from(seconds).unwrap_or(0));
        if seconds == Some(0) {
            errors.push(format!("{place}.timeoutSeconds: is less than 1; leave it out for a stage without a limit"));
        }
        Self {
            name: name.clone(),
            templates: objects,
            success,
            failure,
            progress: *progress,
            timeout_millis: seconds.map(|seconds| seconds.saturating_mul(1000)),
            on_failure: *on_failure,
        }
    }
}

/// Whether a namespace is the cluster's own: nobody's objects are moved there, and nothing is made there.
pub fn is_system(namespace: &str) -> bool {
    namespace.starts_with("kube-")
}

/// The name by which conditions and templates speak of the object with this template key: CEL has no `-` in names.
pub fn variable(key: &str) -> String {
    key.replace('-', "_")
}

fn condition(source: &str, place: &str, known: &[&str], evaluator: &Evaluator, errors: &mut Flaws) -> Option<Program> {
    let program = evaluator.compile(source).map_err(|error| errors.push_error(place, &error)).ok()?;
    match unknown_names(&program, known) {
        unknown if unknown.is_empty() => Some(program),
        unknown => {
            errors.push(format!("{place}: {}", unknown.join("; ")));
            None
        }
    }
}

/// Whether a template may be called so: its key is part of the name of its object, and a name in conditions. Keys have
/// no `_`, so two keys never are the same name there.
fn check_key(key: &str, place: &str, evaluator: &Evaluator, errors: &mut Flaws) {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let first = key.starts_with(|first: char| first.is_ascii_lowercase());
    if !first || key.len() > 63 || !key.bytes().all(plain) || key.ends_with('-') {
        let what = "the key is not 1 to 63 lower case letters, digits and '-', a letter first, no '-' last";
        return errors.push(format!("{place}: {what}"));
    }
    let name = variable(key);
    if NAMES.contains(&name.as_str()) {
        let what = format!("{name:?} is what conditions call something else by; choose another key");
        return errors.push(format!("{place}: {what}"));
    }
    match evaluator.compile(&name) {
        Ok(program) if program.variables() == [name.as_str()] => {}
        Err(error @ ExpressionError::Unavailable(_)) => errors.push_error(place, &error),
        _ => errors.push(format!("{place}: {name:?} is a word of CEL; choose another key")),
    }
}

fn is_label_value(text: &str) -> bool {
    let end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let within = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    bytes.len() <= 63 && end(bytes.first()) && end(bytes.last()) && bytes.iter().all(within)
}
