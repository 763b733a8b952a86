//! One AcceptAPI, compiled: its filters and its expression, ready to judge objects.
//!
//! The caller matches the resource ([`Acceptance::gvr`]), looks at health and counts against the capacity.

use std::{collections::BTreeMap, fmt, sync::Arc};

use broker_api::{AcceptApiSpec, ClusterName, Gvr};
use runtime_cel::expression::{Evaluator, ExpressionError, Program};
use runtime_effect::kind::Kind;
use serde_json::Value;

use crate::{
    allowance::Allowance,
    filter::{FilterSet, Refusal},
    namespaces::Namespaces,
    policy::Policy,
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

/// An object that asks to be served, and where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Applicant<'a> {
    /// The whole object.
    pub object: &'a Arc<Value>,
    /// Its kind.
    pub kind: &'a Kind,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its consumer cluster.
    pub consumer: &'a ClusterName,
    /// The labels that the platform has given to the consumer; `None` where they cannot be read.
    pub labels: Option<&'a BTreeMap<String, String>>,
}

/// What an AcceptAPI says of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is accepted.
    Accepted,
    /// It is not, and why.
    Refused(Vec<Refusal>),
    /// It cannot be said now, and why; in a moment it may be.
    Unknown(String),
    /// It cannot be said for a while, and why.
    Silent(String),
}

/// An AcceptAPI whose spec is sound.
#[derive(Debug, Clone)]
pub struct Acceptance {
    /// Which AcceptAPI.
    pub id: AcceptId,
    /// The resource that it accepts.
    pub gvr: Gvr,
    /// Higher is preferred. As far as the platform lets it.
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
    /// A person wants the objects that would now be placed here to move here, and the platform lets them.
    pub rebalance: bool,
    /// Seconds without contact to the provider after which its objects are placed anew; never when `None`.
    pub unreachable_after_seconds: Option<u64>,
    /// Narrows the broker-wide list of related kinds; the whole list when empty.
    pub related_kinds: Vec<String>,
    /// Names that related resources may have in the consumer beside those that begin with the object's; globs with `*`.
    pub related_names: Vec<String>,
    asked: Asked,
    policy: Option<Arc<Policy>>,
    namespaces: Namespaces,
    filters: FilterSet,
    expression: Expression,
}

#[derive(Debug, Clone)]
enum Expression {
    None,
    Compiled(Program),
    /// The machine was too busy to compile it: why.
    Pending(String),
}

/// What the provider asks for, before the platform's bounds.
#[derive(Debug, Clone, Copy)]
struct Asked {
    priority: i64,
    rebalance: bool,
}

impl Acceptance {
    /// Compiles the spec. The errors are all that is wrong with it, each led by its place (`spec.filters[2].pattern: …`).
    /// Where the machine is too busy to compile the expression it is compiled [later](Self::is_pending).
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
            namespaces,
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
        let namespaces = Namespaces::compile(namespaces.as_ref()).map_err(|found| errors.extend(found)).ok();
        let owner = id.provider.name();
        let expression = match expression.as_deref().map(|source| evaluator.compile_for(owner, source)) {
            None => Expression::None,
            Some(Ok(program)) => Expression::Compiled(program),
            Some(Err(error @ ExpressionError::Unavailable(_))) => Expression::Pending(error.to_string()),
            Some(Err(error)) => {
                errors.push(format!("spec.expression: {error}"));
                Expression::None
            }
        };
        if let Expression::Compiled(program) = &expression
            && let Some(unknown) = program.variables().iter().find(|name| *name != "self")
        {
            let place = program.place_of(unknown);
            errors.push(format!("spec.expression: {place}: unknown name {unknown:?}; the object is called self"));
        }
        let Some(namespaces) = namespaces.filter(|_| errors.is_empty()) else { return Err(errors) };
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
            asked: Asked { priority: *priority, rebalance: false },
            policy: None,
            namespaces,
            filters,
            expression,
        })
    }

    /// With what people say in its annotations: `drain` and `rebalance`.
    #[must_use]
    pub fn annotated(self, drain: bool, rebalance: bool) -> Self {
        Self { drain, asked: Asked { rebalance, ..self.asked }, ..self }.settled()
    }

    /// Within the platform's bounds; they take the place of those before.
    #[must_use]
    pub fn bounded(self, policy: &Arc<Policy>) -> Self {
        Self { policy: Some(Arc::clone(policy)), ..self }.settled()
    }

    /// What counts of what is asked for.
    fn settled(self) -> Self {
        let Asked { priority, rebalance } = self.asked;
        let Some(policy) = &self.policy else { return Self { rebalance, ..self } };
        Self {
            priority: policy.max_priority.map_or(priority, |most| most.min(priority)),
            rebalance: rebalance && policy.allow_rebalance && policy.errors().is_empty(),
            ..self
        }
    }

    /// What the platform's bounds cut off what is asked for, for people.
    pub fn cuts(&self) -> Vec<String> {
        let Some(policy) = &self.policy else { return Vec::new() };
        let mut cuts = Vec::new();
        if self.priority < self.asked.priority {
            cuts.push(format!("priority {} counts as {}", self.asked.priority, self.priority));
        }
        if self.asked.rebalance && !self.rebalance {
            cuts.push("rebalance has no effect".into());
        }
        if let Some(consumers) = policy.consumers() {
            cuts.push(format!("only objects of consumers with {consumers} are taken"));
        }
        cuts
    }

    /// Whether the platform's bounds cannot be read: nothing new comes while it cannot be told what may, and what is there
    /// stays.
    pub fn is_suspended(&self) -> bool {
        self.policy.as_ref().is_some_and(|policy| !policy.errors().is_empty())
    }

    /// The platform's bounds, if there are any.
    pub fn policy(&self) -> Option<&Policy> {
        self.policy.as_deref()
    }

    /// Whether its objects are to move away.
    pub fn is_draining(&self) -> bool {
        self.cordoned && self.drain
    }

    /// Whether judging an object evaluates CEL, which may block for a moment.
    pub fn has_expression(&self) -> bool {
        matches!(self.expression, Expression::Compiled(_))
    }

    /// Whether its expression is still to be compiled: it says nothing of what its filters do not refuse, and is to be
    /// compiled anew.
    pub fn is_pending(&self) -> bool {
        matches!(self.expression, Expression::Pending(_))
    }

    /// Why its expression says nothing yet, if that is so.
    pub fn silence(&self) -> Option<String> {
        match &self.expression {
            Expression::None | Expression::Compiled(_) => None,
            Expression::Pending(why) => Some(format!("spec.expression: {why}; it is compiled later")),
        }
    }

    /// For objects of how many consumers its expression has run out of time again and again, and rests.
    pub fn slow_for(&self) -> usize {
        match &self.expression {
            Expression::Compiled(program) => program.slow_for(),
            Expression::None | Expression::Pending(_) => 0,
        }
    }

    /// What this AcceptAPI says of the object, as far as its provider's allowance suffices. An expression that had no time
    /// or no thread says nothing: neither a provider's own slowness nor others' load is a refusal.
    pub fn judge(&self, applicant: &Applicant<'_>, evaluator: &Evaluator, allowance: &mut Allowance) -> Verdict {
        if self.policy.as_ref().is_some_and(|policy| policy.consumers().is_some()) && applicant.labels.is_none() {
            return Verdict::Unknown("the labels of the consumer cluster cannot be read".into());
        }
        let refusals = self.refusals(applicant, allowance);
        if !refusals.is_empty() {
            return Verdict::Refused(refusals);
        }
        let program = match &self.expression {
            Expression::None => return Verdict::Accepted,
            Expression::Pending(why) => return Verdict::Silent(why.clone()),
            Expression::Compiled(program) => program,
        };
        let vars = [("self", Arc::clone(applicant.object))];
        let reason = match evaluator.evaluate_bool_for(applicant.consumer.name(), &mut allowance.steps, program, &vars)
        {
            Ok(true) => return Verdict::Accepted,
            Ok(false) => "is false".to_owned(),
            Err(error) if error.is_transient() => return Verdict::Unknown(error.to_string()),
            Err(error) if error.is_resting() => return Verdict::Silent(error.to_string()),
            Err(error) => error.to_string(),
        };
        Verdict::Refused(vec![Refusal::of_expression(self.id.to_string(), program.source(), reason)])
    }

    /// Where the object comes from goes before what it says: whoever may not be served need not know more.
    fn refusals(&self, applicant: &Applicant<'_>, allowance: &mut Allowance) -> Vec<Refusal> {
        let Applicant { object, kind, namespace, consumer, labels } = *applicant;
        let refuse = |key, reason: &str, rule: &str, value: &str| {
            vec![Refusal::of_rule(self.id.to_string(), key, reason, rule, value)]
        };
        if let Some(policy) = &self.policy {
            if !policy.serves(kind) {
                return refuse("kind", "is not one that the platform lets this provider serve", "serves", &kind.kind);
            }
            if let (Some(selector), Some(labels)) = (policy.consumers(), labels)
                && !selector.selects(labels)
            {
                let reason = "is not one whom the platform lets this provider serve";
                return refuse("consumer", reason, "consumers", consumer.name());
            }
        }
        if let Some((reason, rule)) = self.namespaces.refusal(namespace) {
            return refuse("namespace", reason, &rule, namespace);
        }
        self.filters.refusals(&self.id.to_string(), object.get("spec").unwrap_or(&Value::Null), allowance)
    }
}
