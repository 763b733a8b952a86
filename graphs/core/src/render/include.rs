//! Whether a resource is included.

use serde_json::Value;

use super::{Renderer, Stopped, told, values::stopped};
use crate::graph::{Resource, SCHEMA};

/// Whether a resource is included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Include {
    Yes,
    No,
    /// It cannot be told yet.
    Waiting(String),
    /// Nobody can tell until a field of the instance is set.
    Unset(String),
    /// Nobody can tell.
    Failed(String),
}

impl Renderer<'_> {
    /// Whether a resource is included: all that it uses are, and all of its own conditions are true.
    pub(super) fn include(&mut self, resource: &Resource) -> Include {
        let mut undecided = None;
        for id in &resource.dependencies {
            match self.standings.get(id.as_str()).map(|standing| &standing.include) {
                Some(Include::No) => return Include::No,
                Some(Include::Waiting(why)) if undecided.is_none() => {
                    let why = told(why);
                    undecided = Some(Include::Waiting(format!("{why} (for {id:?}, which it uses)")));
                }
                Some(Include::Unset(why)) if undecided.is_none() => {
                    let why = told(why);
                    undecided = Some(Include::Unset(format!("it uses {id:?}, which may be included or not: {why}")));
                }
                Some(Include::Failed(why)) if undecided.is_none() => {
                    let why = told(why);
                    undecided = Some(Include::Failed(format!("it uses {id:?}, which may be included or not: {why}")));
                }
                _ => {}
            }
        }
        if let Some(undecided) = undecided {
            return undecided;
        }
        for program in &resource.include_when {
            match self.holds(resource, program) {
                Ok(true) => {}
                Ok(false) => return Include::No,
                Err(Stopped::Waiting(why)) => return Include::Waiting(why),
                Err(Stopped::Unset(why)) => return Include::Unset(why),
                Err(Stopped::Failed(why)) => return Include::Failed(why),
            }
        }
        Include::Yes
    }

    fn holds(&mut self, resource: &Resource, program: &runtime_cel::graph::Program) -> Result<bool, Stopped> {
        let used = program.variables().iter().filter(|name| *name != SCHEMA);
        self.await_ready(used.filter(|name| resource.dependencies.contains(name)))?;
        match self.values.once(program).map_err(|error| stopped("includeWhen", &error))?.as_ref() {
            Value::Bool(holds) => Ok(*holds),
            Value::Null => Ok(false),
            _ => Err(Stopped::Failed(format!("includeWhen: {:?} is neither true nor false", told(program.source())))),
        }
    }
}
