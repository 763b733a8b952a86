//! One AcceptAPI, compiled: its filters and its expression, ready to judge objects.
//!
//! The caller matches the resource ([`Acceptance::gvr`]), looks at health and counts against the capacity.

use std::{fmt, sync::Arc};

use broker_api::{AcceptApiSpec, ClusterName, Gvr};
use serde_json::Value;

use crate::{
    expression::{Evaluator, Program},
    filter::{FilterSet, Refusal},
};

/// Which AcceptAPI: printed `provider/namespace/name`, the provider without its role.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AcceptId {
    /// Cluster it lives in.
    pub provider: ClusterName,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl fmt::Display for AcceptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.provider.name(), self.namespace, self.name)
    }
}

/// What an AcceptAPI says of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is accepted.
    Accepted,
    /// It is not, and why.
    Refused(Vec<Refusal>),
    /// It cannot be said now, and why.
    Unknown(String),
}

/// An AcceptAPI whose spec is sound.
#[derive(Debug, Clone)]
pub struct Acceptance {
    /// Which AcceptAPI.
    pub id: AcceptId,
    /// The resource that it accepts.
    pub gvr: Gvr,
    /// Higher is preferred.
    pub priority: i64,
    /// Share of objects among AcceptAPIs of equal priority, at least 1.
    pub weight: u32,
    /// How many objects it holds at the most; no limit when `None`.
    pub capacity: Option<u64>,
    /// How many objects of one consumer cluster it holds at the most; no limit when `None`.
    pub capacity_per_consumer: Option<u64>,
    /// Takes no new objects.
    pub cordoned: bool,
    /// A person wants its objects to move away; counts only with `cordoned`.
    drain: bool,
    /// A person wants the objects that would now be placed here to move here.
    pub rebalance: bool,
    /// Seconds without contact to the provider after which its objects are placed anew; never when `None`.
    pub unreachable_after_seconds: Option<u64>,
    /// Narrows the broker-wide list of related kinds; the whole list when empty.
    pub related_kinds: Vec<String>,
    /// Names that related resources may have in the consumer beside those that begin with the object's; globs with `*`.
    pub related_names: Vec<String>,
    filters: FilterSet,
    expression: Option<Program>,
}

impl Acceptance {
    /// Compiles the spec. The errors are all that is wrong with it, each led by its place (`spec.filters[2].pattern: …`).
    pub fn compile(id: AcceptId, spec: &AcceptApiSpec, evaluator: &Evaluator) -> Result<Self, Vec<String>> {
        // Named one by one: a field added to the spec must be thought of here.
        let AcceptApiSpec {
            gvr,
            filters,
            expression,
            priority,
            weight,
            capacity,
            capacity_per_consumer,
            cordoned,
            unreachable_after_seconds,
            related_kinds,
            related_names,
        } = spec;
        let mut errors = Vec::new();
        if gvr.version.is_empty() {
            errors.push("spec.gvr.version: is empty; name the version that is accepted, for example v1alpha1".into());
        }
        if gvr.resource.is_empty() {
            errors.push("spec.gvr.resource: is empty; name the plural resource, for example certificates".into());
        }
        if *weight == 0 {
            errors.push("spec.weight: is 0; use 1 or more, or cordoned: true to take no objects".into());
        }
        let filters = FilterSet::compile(filters).unwrap_or_else(|found| {
            errors.extend(found);
            FilterSet::default()
        });
        let compiled = expression.as_deref().map(|source| evaluator.compile(source)).transpose();
        let expression = compiled.unwrap_or_else(|error| {
            errors.push(format!("spec.expression: {error}"));
            None
        });
        if let Some(program) = &expression
            && let Some(unknown) = program.variables().iter().find(|name| *name != "self")
        {
            let place = program.place_of(unknown);
            errors.push(format!("spec.expression: {place}: unknown name {unknown:?}; the object is called self"));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            id,
            gvr: gvr.clone(),
            priority: *priority,
            weight: *weight,
            capacity: *capacity,
            capacity_per_consumer: *capacity_per_consumer,
            cordoned: *cordoned,
            drain: false,
            rebalance: false,
            unreachable_after_seconds: *unreachable_after_seconds,
            related_kinds: related_kinds.clone(),
            related_names: related_names.clone(),
            filters,
            expression,
        })
    }

    /// With what people say in its annotations: `drain` and `rebalance`.
    #[must_use]
    pub fn annotated(self, drain: bool, rebalance: bool) -> Self {
        Self { drain, rebalance, ..self }
    }

    /// Whether its objects are to move away.
    pub fn is_draining(&self) -> bool {
        self.cordoned && self.drain
    }

    /// Whether judging an object evaluates CEL, which may block for a moment.
    pub fn has_expression(&self) -> bool {
        self.expression.is_some()
    }

    /// What this AcceptAPI says of the object. An expression that could not be evaluated for want of time or threads says
    /// nothing: other tenants' load must not make a provider refuse.
    pub fn judge(&self, object: &Arc<Value>, evaluator: &Evaluator) -> Verdict {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let refusals = self.filters.refusals(&self.id.to_string(), spec);
        if !refusals.is_empty() {
            return Verdict::Refused(refusals);
        }
        let Some(program) = &self.expression else { return Verdict::Accepted };
        let reason = match evaluator.evaluate_bool(program, &[("self", Arc::clone(object))]) {
            Ok(true) => return Verdict::Accepted,
            Ok(false) => "is false".to_owned(),
            Err(error) if error.is_transient() => return Verdict::Unknown(error.to_string()),
            Err(error) => error.to_string(),
        };
        Verdict::Refused(vec![Refusal::of_expression(self.id.to_string(), program.source(), reason)])
    }
}
