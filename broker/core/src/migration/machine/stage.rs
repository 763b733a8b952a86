//! One stage: its objects are made, its conditions judged, and the cursor goes on.

use std::{borrow::Cow, sync::Arc};

use broker_api::{
    MigrationStage, MigrationState, condition, keys,
    migration::{STALLED, StageState, millis_of},
    migration_configuration::OnFailure,
};
use runtime_effect::{note::Note, reach::Reach, seen::Seen, serving::Serving};
use serde_json::{Map, Value, json};

use super::{
    Pass, names,
    objects::{Obstacles, Wanted, intent},
    trial::{Verdict, judge},
};
use crate::migration::{
    configuration::{Configuration, Stage, variable},
    observed::Applicable,
    template::{Namespace, Template},
};

/// Reason: an expression cannot be evaluated.
const EXPRESSION_ERROR: &str = "ExpressionError";
/// Reason: a failure condition holds.
const STAGE_FAILED: &str = "StageFailed";
/// Reason: a stage has taken too long.
const TIMED_OUT: &str = "TimedOut";

/// An object that was only just made has no status yet: what an expression misses may be about to come.
const GRACE_MILLIS: u64 = 2000;

/// When to try again what the machine was too busy for.
const BUSY_MILLIS: u64 = 1000;

/// When to compile again what did not compile.
const RECOMPILE_MILLIS: u64 = 60_000;

impl<'a> Pass<'a> {
    /// Does what the current stage needs next.
    pub(super) fn run_stage(&mut self) {
        let Some((index, recorded)) = self.cursor().map(|(index, stage)| (index, stage.clone())) else {
            return self.stall(
                condition::INVALID,
                "status.stage is not among the stages in status.configuration; abort or delete the Migration",
            );
        };
        match self.entry().map(|entry| entry.state) {
            _ if self.spec.force => self.succeed(index, Some("spec.force is set: its conditions do not count")),
            Some(StageState::Running) => self.try_stage(index),
            Some(StageState::Failed) => self.hold(&recorded),
            Some(StageState::Succeeded) => self.succeed(index, None),
            Some(StageState::Pending) | None => self.begin_stage(&recorded.name),
        }
    }

    fn try_stage(&mut self, index: usize) {
        match &self.observed.compute_reach {
            Reach::Ready => {}
            Reach::Settling | Reach::Lost(_) => return,
            Reach::Unreachable(_) => {
                let message = format!("the compute cluster {} does not answer", self.observed.compute.name());
                return self.advance("ComputeUnreachable", &message);
            }
        }
        if let Some(why) = self.keeps_out(self.own_namespace()) {
            return self.trouble(condition::NAMESPACE_NOT_ALLOWED, &why);
        }
        let stage = match self.compiled(index) {
            Ok(stage) => stage,
            Err(why) => {
                // It compiled once, when it was recorded: perhaps the machine was too busy.
                self.again_in(RECOMPILE_MILLIS);
                return self.trouble(EXPRESSION_ERROR, &why);
            }
        };
        let writes = self.decided.writes.len();
        let mut obstacles = Obstacles::default();
        self.bring_related(&mut obstacles);
        let mut variables = Vec::new();
        if obstacles.is_clear() && self.decided.writes.len() == writes {
            variables = self.apply(&stage, &mut obstacles);
        }
        // What is being made, or is not known, says nothing: not even that it takes too long.
        if self.decided.writes.len() > writes || obstacles.unknown {
            return;
        }
        if let Some((reason, why)) = obstacles.blocked {
            if self.is_in_time(&stage) {
                self.trouble(reason, &why);
            }
            return;
        }
        if obstacles.waiting {
            self.is_in_time(&stage);
            return;
        }
        match judge(&stage, &borrowed(&variables), self.observed.evaluator) {
            Verdict::Failed(why) => self.fail_stage(&stage, STAGE_FAILED, &why),
            Verdict::Succeeded => self.succeed(index, None),
            verdict => {
                if !self.is_in_time(&stage) {
                    return;
                }
                match verdict {
                    Verdict::Busy => self.again_in(BUSY_MILLIS),
                    Verdict::Error(why) => self.trouble_soon(EXPRESSION_ERROR, &why),
                    _ => self.running(),
                }
            }
        }
    }

    /// The stage as it was recorded: the configuration that was compiled already, if it still says the same.
    fn compiled(&self, index: usize) -> Result<Cow<'a, Stage>, String> {
        let recorded = self.configuration().ok_or("status.configuration is missing")?;
        if let Applicable::Found(found) = self.observed.applicable
            && found.source == recorded.stages
            && let Some(stage) = found.stages.get(index)
        {
            return Ok(Cow::Borrowed(stage));
        }
        let stages = recorded.stages.get(index..=index).unwrap_or_default();
        let (namespace, name) = (&recorded.namespace, &recorded.name);
        let compiled = Configuration::compile(namespace, name, recorded.generation, stages, self.observed.evaluator);
        let mut compiled = compiled.map_err(|flaws| flaws.to_string())?;
        compiled.stages.pop().map(Cow::Owned).ok_or_else(|| "the stage is missing".to_owned())
    }

    /// Makes the stage's objects that are missing. Returns what its expressions speak of.
    fn apply(&mut self, stage: &Stage, obstacles: &mut Obstacles) -> Vec<(String, Arc<Value>)> {
        let mut variables = self.surroundings(&stage.name);
        let surroundings = variables.len();
        for (key, template) in &stage.templates {
            let wanted = Wanted {
                kind: template.kind().clone(),
                namespace: match template.namespace() {
                    Namespace::Fixed(namespace) => namespace.clone(),
                    Namespace::Own | Namespace::Computed => self.own_namespace().to_owned(),
                },
                name: names::stage_object(&self.id, key),
            };
            if let Some(why) = self.keeps_out(&wanted.namespace) {
                let why = format!("templates[{key}].metadata.namespace: {why}");
                obstacles.block(condition::NAMESPACE_NOT_ALLOWED, why);
                continue;
            }
            match self.observed.stage.serving(&wanted.kind) {
                Serving::Unknown => {
                    obstacles.unknown = true;
                    continue;
                }
                Serving::Missing => {
                    let why = format!(
                        "templates[{key}]: the compute cluster {} does not serve {} {}",
                        self.observed.compute.name(),
                        wanted.kind.kind,
                        wanted.kind.api_version()
                    );
                    obstacles.block(condition::KIND_MISSING, why);
                    continue;
                }
                Serving::Served(kind) if !kind.namespaced => {
                    let why = format!("templates[{key}]: {} is a cluster-scoped kind", wanted.kind.kind);
                    obstacles.block(condition::INVALID, why);
                    continue;
                }
                Serving::Served(_) => {}
            }
            match self.observed.stage.object(&wanted.kind, &wanted.namespace, &wanted.name) {
                Seen::Unknown => obstacles.unknown = true,
                Seen::Absent => self.make(key, template, wanted, &variables[..surroundings], obstacles),
                Seen::Present(held) if !self.is_ours(&held) => {
                    obstacles.block(condition::NAME_CONFLICT, format!("templates[{key}]: {}", wanted.foreign()));
                }
                // It is made again once it is gone; what an earlier stage had under this name is being removed.
                Seen::Present(held)
                    if held.deleting || held.label(keys::MIGRATION_STAGE) != Some(stage.name.as_str()) =>
                {
                    obstacles.waiting = true;
                }
                Seen::Present(held) => variables.push((variable(key), held.value)),
            }
        }
        variables
    }

    /// What all expressions may speak of.
    fn surroundings(&self, stage: &str) -> Vec<(String, Arc<Value>)> {
        let side = |seen: &Seen| seen.present().map_or_else(|| Arc::new(Value::Null), |view| Arc::clone(&view.value));
        vec![
            ("from".to_owned(), side(&self.observed.from)),
            ("to".to_owned(), side(&self.observed.to)),
            ("migration".to_owned(), Arc::clone(&self.observed.object.value)),
            (
                "stage".to_owned(),
                Arc::new(json!({"name": stage, "retry": self.entry().map_or(0, |entry| entry.retry)})),
            ),
        ]
    }

    fn make(
        &mut self,
        key: &str,
        template: &Template,
        wanted: Wanted,
        variables: &[(String, Arc<Value>)],
        obstacles: &mut Obstacles,
    ) {
        let rendered = match template.render(&borrowed(variables), self.observed.evaluator) {
            Ok(rendered) => rendered,
            Err(error) if error.transient => {
                obstacles.unknown = true;
                return self.again_in(BUSY_MILLIS);
            }
            Err(error) => return obstacles.block(EXPRESSION_ERROR, format!("templates[{key}].{error}")),
        };
        if let Some(namespace) = rendered["metadata"]["namespace"].as_str().filter(|named| *named != wanted.namespace) {
            let why = format!(
                "templates[{key}].metadata.namespace: a computed namespace must be the Migration's own ({}), not {namespace:?}",
                wanted.namespace
            );
            return obstacles.block(condition::INVALID, why);
        }
        let stage = self.held.stage.clone().unwrap_or_default();
        let body = self.stage_object(&stage, rendered);
        // A stage that is run again is no repeat.
        let retry = self.entry().map_or(0, |entry| entry.retry);
        let intent = intent(&wanted, &json!([stage, retry, body]));
        let op = self.creation(&wanted, body);
        self.write_object(wanted, intent, op, Some(obstacles));
    }

    /// What is applied: a template's content, its labels and annotations, and the labels that it is known by.
    fn stage_object(&self, stage: &str, rendered: Value) -> Value {
        let metadata = rendered["metadata"].clone();
        let map = |field: &str| metadata[field].as_object().cloned().unwrap_or_default();
        let (mut labels, annotations) = (map("labels"), map("annotations"));
        let ours = [(keys::MIGRATION_ID, &*self.id), (keys::MIGRATION_STAGE, stage), (keys::MANAGED_BY, keys::MANAGER)];
        labels.extend(ours.map(|(key, value)| (key.to_owned(), json!(value))));
        let mut body: Map<String, Value> = match rendered {
            Value::Object(body) => body,
            _ => Map::new(),
        };
        body.retain(|field, _| !matches!(field.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        let mut metadata = json!({"labels": labels});
        if !annotations.is_empty() {
            metadata["annotations"] = Value::Object(annotations);
        }
        body.insert("metadata".into(), metadata);
        Value::Object(body)
    }

    /// Something is wrong with the stage that may mend.
    fn trouble(&mut self, reason: &'static str, why: &str) {
        let message = format!("stage {}: {why}", self.held.stage.as_deref().unwrap_or_default());
        self.stall(reason, &message);
        if let Some(entry) = self.entry_mut() {
            entry.message = Some(why.to_owned());
        }
    }

    /// The same, but what was told of a stage that has only just begun would be told too soon.
    fn trouble_soon(&mut self, reason: &'static str, why: &str) {
        let started = self.entry().and_then(|entry| entry.started.as_ref()).map_or(0, millis_of);
        let age = self.observed.now.since(started);
        match GRACE_MILLIS.checked_sub(age).filter(|left| *left > 0) {
            Some(left) => self.again_in(left),
            None => self.trouble(reason, why),
        }
    }

    /// How long the current stage has run, as far as this process has seen.
    fn stage_age(&self) -> u64 {
        let started = self.entry().and_then(|entry| entry.started.as_ref()).map(millis_of);
        started.map_or(0, |started| self.observed.now.since(started))
    }

    /// Whether the stage may take more time. It fails if not.
    fn is_in_time(&mut self, stage: &Stage) -> bool {
        let Some(timeout) = stage.timeout_millis else { return true };
        if let Some(left) = timeout.checked_sub(self.stage_age()).filter(|left| *left > 0) {
            self.again_in(left);
            return true;
        }
        let last = self.entry().and_then(|entry| entry.message.clone());
        let last = last.map_or_else(String::new, |last| format!("; {last}"));
        self.fail_stage(stage, TIMED_OUT, &format!("it has not succeeded within {} s{last}", timeout / 1000));
        false
    }

    fn fail_stage(&mut self, stage: &Stage, reason: &'static str, why: &str) {
        let name = &stage.name;
        let what = format!("stage {name} failed: {why}");
        self.end_stage(StageState::Failed, Some(why));
        if self.is_before_switch() && stage.on_failure == OnFailure::Rollback {
            self.tell(Note::warning(STAGE_FAILED, what.clone()));
            return self.fail(reason, &what);
        }
        self.tell(Note::warning(STAGE_FAILED, what));
        let message = self.held_message(name, why);
        self.stall_quietly(reason, &message);
    }

    fn held_message(&self, stage: &str, why: &str) -> String {
        let what_next = if self.is_before_switch() {
            "raise spec.retry to run it again, set spec.abort to undo the move, or spec.force to go on as if it had succeeded"
        } else {
            "the consumer is served by the new copy, so it cannot go back: raise spec.retry to run it again, or set spec.force to go on as if it had succeeded"
        };
        format!("stage {stage} failed: {why}; {what_next}")
    }

    /// The stage has failed, and a person decides what next.
    fn hold(&mut self, recorded: &MigrationStage) {
        let Some(entry) = self.entry().cloned() else { return };
        if self.spec.retry > entry.retry {
            return self.retry(recorded);
        }
        let told = self.held.conditions.iter().find(|held| held.type_ == STALLED);
        let reason = told.map_or(STAGE_FAILED.to_owned(), |told| told.reason.clone());
        let message = self.held_message(&entry.name, &entry.message.unwrap_or_default());
        self.stall_quietly(&reason, &message);
    }

    /// What the stage made goes before it is made again.
    fn retry(&mut self, recorded: &MigrationStage) {
        // Before it is looked: of a list that comes meanwhile nothing is seen.
        let known = self.compute_is_known();
        let left = self.remove(|view| view.label(keys::MIGRATION_STAGE) == Some(recorded.name.as_str()));
        if left || !known {
            return;
        }
        self.begin_stage(&recorded.name);
    }

    fn succeed(&mut self, index: usize, message: Option<&str>) {
        let stages = self.configuration().map_or(&[][..], |configuration| &configuration.stages[..]);
        let initial = stages.iter().position(|stage| stage.progress).unwrap_or(stages.len().saturating_sub(1));
        let (name, next) = (stages[index].name.clone(), stages.get(index + 1).map(|stage| stage.name.clone()));
        self.end_stage(StageState::Succeeded, message);
        self.tell(Note::normal("StageSucceeded", format!("stage {name} has succeeded")));
        let before = self.held.state == MigrationState::InitialInProgress;
        match next {
            next if before && index >= initial => {
                self.complete_initial();
                if next.is_some() {
                    self.next.stage = next;
                }
            }
            Some(next) => self.begin_stage(&next),
            None => self.complete("all stages have succeeded"),
        }
    }
}

fn borrowed(variables: &[(String, Arc<Value>)]) -> Vec<(&str, Arc<Value>)> {
    variables.iter().map(|(name, value)| (name.as_str(), Arc::clone(value))).collect()
}
