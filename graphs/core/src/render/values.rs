//! `Values`: what expressions see, and what they gave in this pass.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use runtime_cel::{
    expression::ExpressionError,
    graph::{Evaluator, Program, ValueType, Variable},
};
use serde_json::Value;

use super::{Stopped, text_at};
use crate::graph::{Graph, Resource, SCHEMA};

/// A variable for one object of a collection.
#[derive(Debug, Clone)]
pub(super) struct Local<'a> {
    pub(super) name: &'a str,
    pub(super) value: Arc<Value>,
    pub(super) of: ValueType,
}

/// What expressions see, and what they gave in this pass.
pub(super) struct Values<'a> {
    evaluator: &'a Evaluator,
    /// Whom it is about, for the record of expressions that run out of time.
    party: String,
    instance: Arc<Value>,
    instance_type: &'a ValueType,
    steps: u64,
    seen: BTreeMap<&'a str, (Arc<Value>, ValueType)>,
    /// By their sources.
    given: HashMap<String, Result<Arc<Value>, ExpressionError>>,
    /// What came of those that had no time.
    pub(super) want: Want,
}

/// What a pass lacked, by which it may come to something else in a while although nothing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Want {
    /// Nothing.
    #[default]
    Nothing,
    /// Expressions run out of time again and again, and are not evaluated for a while.
    Rest,
    /// Expressions ran out of time.
    Time,
    /// Expressions were not evaluated, for want of threads: what was found says nothing.
    Threads,
}

impl Want {
    fn of(error: &ExpressionError) -> Self {
        match error {
            error if error.is_unheard() => Self::Threads,
            error if error.is_transient() => Self::Time,
            error if error.is_resting() => Self::Rest,
            _ => Self::Nothing,
        }
    }
}

impl std::fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Values").field("party", &self.party).field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl<'a> Values<'a> {
    pub(super) fn new(graph: &'a Graph, instance: &Value, evaluator: &'a Evaluator) -> Self {
        let party = match text_at(instance, "uid") {
            "" => format!("{}/{}", text_at(instance, "namespace"), text_at(instance, "name")),
            uid => uid.to_owned(),
        };
        // What is written of an instance must not depend on what was written.
        let mut instance = instance.clone();
        if let Some(fields) = instance.as_object_mut() {
            fields.remove("status");
        }
        Self {
            evaluator,
            party,
            instance: Arc::new(instance),
            instance_type: &graph.instance_type,
            steps: graph.bounds.steps,
            seen: BTreeMap::new(),
            given: HashMap::new(),
            want: Want::Nothing,
        }
    }

    /// What expressions see of a resource from now on: nothing where nothing is there.
    pub(super) fn see(&mut self, resource: &'a Resource, value: Option<Arc<Value>>) {
        let Some(value) = value else { return };
        let object = resource.object_type.clone();
        let of = if resource.role.is_list() { ValueType::List(Arc::new(object)) } else { object };
        self.seen.insert(&resource.id, (value, of));
    }

    /// From now on the instance has these conditions in its status: only what authors say of them is evaluated then.
    pub(super) fn see_conditions(&mut self, conditions: &[Value]) {
        if let Some(fields) = Arc::make_mut(&mut self.instance).as_object_mut() {
            fields.insert("status".to_owned(), serde_json::json!({"conditions": conditions}));
        }
    }

    /// The value of an expression; that of each text is found out once.
    pub(super) fn once(&mut self, program: &Program) -> Result<Arc<Value>, ExpressionError> {
        if let Some(given) = self.given.get(program.source()) {
            return given.clone();
        }
        let given = self.evaluated(program, &[], true);
        self.given.insert(program.source().to_owned(), given.clone());
        given
    }

    /// The value of an expression of the status, for which what is not there may always come.
    pub(super) fn softly(&mut self, program: &Program) -> Result<Arc<Value>, ExpressionError> {
        match self.given.get(program.source()) {
            Some(Ok(given)) => Ok(Arc::clone(given)),
            _ => self.evaluated(program, &[], false),
        }
    }

    /// The value of an expression over these variables as well. `whole`: what the instance lacks is an error.
    pub(super) fn evaluated(
        &mut self,
        program: &Program,
        locals: &[Local<'_>],
        whole: bool,
    ) -> Result<Arc<Value>, ExpressionError> {
        let mut variables = Vec::with_capacity(program.variables().len());
        for name in program.variables() {
            let (value, of, whole) = if let Some(local) = locals.iter().find(|local| local.name == name) {
                (&local.value, &local.of, whole)
            } else if name == SCHEMA {
                (&self.instance, self.instance_type, whole)
            } else if let Some((value, of)) = self.seen.get(name.as_str()) {
                (value, of, false)
            } else {
                continue;
            };
            variables.push(Variable { name, value: Arc::clone(value), of: of.clone(), whole });
        }
        self.evaluate(program, &variables).map(Arc::new)
    }

    fn evaluate(&mut self, program: &Program, variables: &[Variable<'_>]) -> Result<Value, ExpressionError> {
        let given = self.evaluator.evaluate_for(&self.party, &mut self.steps, program, variables);
        if let Err(error) = &given {
            self.want = self.want.max(Want::of(error));
        }
        given
    }

    /// The value of an expression over one variable alone, seen as the JSON it is.
    pub(super) fn raw(&mut self, program: &Program, name: &str, value: &Arc<Value>) -> Result<Value, ExpressionError> {
        self.evaluate(program, &[Variable::dynamic(name, Arc::clone(value))])
    }
}

/// Why nothing is rendered where an expression at this place gave this.
pub(super) fn stopped(place: &str, error: &ExpressionError) -> Stopped {
    if error.is_pending() {
        Stopped::Waiting(format!("waiting for unresolved resource: {place}: {error}"))
    } else if error.is_unset() {
        Stopped::Unset(format!("{place}: {error}"))
    } else {
        Stopped::Failed(format!("{place}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lacking_is_told_apart() {
        let expression = String::new();
        let errors = [
            ExpressionError::Unavailable("all threads are taken".to_owned()),
            ExpressionError::TimedOut { milliseconds: 1, expression: expression.clone() },
            ExpressionError::Quarantined { expression: expression.clone() },
            ExpressionError::Pending { what: String::new(), expression },
        ];
        assert_eq!(errors.each_ref().map(Want::of), [Want::Threads, Want::Time, Want::Rest, Want::Nothing]);
    }
}
