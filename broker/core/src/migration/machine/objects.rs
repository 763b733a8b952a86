//! What is made for a Migration in the compute cluster: which objects are its own, how they are made and removed.

use std::collections::BTreeSet;

use broker_api::{MigrationStage, condition, keys, migration::StageState};
use runtime_effect::{kind::Kind, memory::Pace, merge, reach::Reach, view::View, write::Op};
use serde_json::{Value, json};

use super::{Pass, names};
use crate::{decision::Write, memory::Subject, migration::configuration, migration_object};

/// What keeps a stage from being judged.
#[derive(Debug, Default)]
pub(super) struct Obstacles {
    /// Not everything is known.
    pub(super) unknown: bool,
    /// Something is being removed before it can be made.
    pub(super) waiting: bool,
    /// Something cannot be made: CamelCase word, and why.
    pub(super) blocked: Option<(&'static str, String)>,
}

impl Obstacles {
    pub(super) fn block(&mut self, reason: &'static str, why: impl Into<String>) {
        // The first one: it stays the same from pass to pass.
        self.blocked.get_or_insert_with(|| (reason, why.into()));
    }

    pub(super) fn is_clear(&self) -> bool {
        !self.unknown && !self.waiting && self.blocked.is_none()
    }
}

/// An object that is to be in the compute cluster.
pub(super) struct Wanted {
    pub(super) kind: Kind,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Wanted {
    pub(super) fn foreign(&self) -> String {
        let Self { kind, namespace, name } = self;
        format!(
            "{} {namespace}/{name} exists already and was not made for this Migration; it is not overwritten: remove it",
            kind.kind
        )
    }
}

impl Pass<'_> {
    /// Kinds of all that may have been made for the Migration.
    pub(super) fn kinds(&self) -> BTreeSet<Kind> {
        let stages = self.configuration().into_iter().flat_map(|configuration| &configuration.stages);
        let templates = stages.flat_map(|stage| stage.templates.values());
        let mut kinds: BTreeSet<Kind> = templates.filter_map(|template| kind_of(&template.0)).collect();
        if self.configuration().is_some_and(|configuration| !configuration.stages.is_empty()) {
            kinds.extend(self.observed.related_kinds.iter().cloned());
        }
        kinds
    }

    /// The stage that the cursor is on, as recorded.
    pub(super) fn cursor(&self) -> Option<(usize, &MigrationStage)> {
        let name = self.held.stage.as_deref()?;
        self.configuration()?.stages.iter().enumerate().find(|(_, stage)| stage.name == name)
    }

    /// Namespace of the Migration: that of its objects, unless a template says otherwise.
    pub(super) fn own_namespace(&self) -> &str {
        self.observed.object.value["metadata"]["namespace"].as_str().unwrap_or_default()
    }

    /// Why stages may make nothing in a namespace, if that is so. Objects stay where the Migration or its configuration is.
    pub(super) fn keeps_out(&self, namespace: &str) -> Option<String> {
        if configuration::is_system(namespace) {
            return Some(format!("stages make nothing in {namespace}, a namespace of the system"));
        }
        let own = self.own_namespace();
        let of_configuration = self.configuration().map_or(own, |recorded| &recorded.namespace);
        let allowed = namespace == own
            || namespace == of_configuration && self.observed.stage.reaches(namespace)
            || self.observed.stage_namespaces.iter().any(|allowed| allowed == namespace);
        (!allowed).then(|| {
            format!(
                "{namespace} is neither the Migration's namespace ({own}) nor the configuration's ({of_configuration}); \
                 name one of them, or have the broker started with --stage-namespace {namespace}"
            )
        })
    }

    /// Whether an object was made for this Migration.
    pub(super) fn is_ours(&self, view: &View) -> bool {
        let name = view.value["metadata"]["name"].as_str().unwrap_or_default();
        view.label(keys::MIGRATION_ID) == Some(&*self.id) && names::belongs(&self.id, name)
    }

    /// Whether all that was made for the Migration can be known now. Where no stage has begun, there is nothing to know.
    pub(super) fn compute_is_known(&self) -> bool {
        let kinds = self.kinds();
        kinds.is_empty() || self.observed.compute_reach == Reach::Ready && self.observed.stage.all_known(&kinds)
    }

    /// Removes the objects of all stages but the current one: the cursor is stored, they are no longer needed.
    pub(super) fn sweep(&mut self) {
        let current = self.entry().filter(|entry| matches!(entry.state, StageState::Running | StageState::Failed));
        let current = current.map(|entry| entry.name.clone());
        self.remove(|view| {
            let stage = view.label(keys::MIGRATION_STAGE);
            stage.is_some() && stage != current.as_deref()
        });
    }

    /// Removes what was made for the Migration, as far as `goes` says so. Returns whether any of it is left that is known.
    pub(super) fn remove(&mut self, goes: impl Fn(&View) -> bool) -> bool {
        let all = self.observed.stage.all(&self.id);
        let ours: Vec<_> = all.into_iter().filter(|(_, view)| self.is_ours(view) && goes(view)).collect();
        if self.observed.compute_reach == Reach::Ready {
            for (kind, view) in ours.iter().filter(|(_, view)| !view.deleting) {
                self.delete(kind, view);
            }
        }
        !ours.is_empty()
    }

    fn delete(&mut self, kind: &Kind, view: &View) {
        let text = |field: &str| view.value["metadata"][field].as_str().unwrap_or_default().to_owned();
        let wanted = Wanted { kind: kind.clone(), namespace: text("namespace"), name: text("name") };
        let intent = merge::digest(&json!(["delete", &*view.uid]));
        self.write_object(wanted, intent, Op::delete(view.uid.clone()), None);
    }

    /// Makes an object. Beside the Migration it belongs to it for Kubernetes, too, whose garbage collector takes what arrives
    /// when the Migration has gone: nobody else would look for that. In another cluster or namespace it would miss its owner
    /// at once.
    pub(super) fn creation(&self, wanted: &Wanted, mut body: Value) -> Op {
        let observed = self.observed;
        if observed.compute == observed.coordination && wanted.namespace == self.own_namespace() {
            let kind = migration_object::kind();
            body["metadata"]["ownerReferences"] = json!([{
                "apiVersion": kind.api_version(),
                "kind": kind.kind,
                "name": observed.object.value["metadata"]["name"],
                "uid": &*observed.object.uid,
            }]);
        }
        Op::Create(body)
    }

    /// A write to an object of the compute cluster. Says what keeps it from going out, if anything does.
    pub(super) fn write_object(&mut self, wanted: Wanted, intent: [u8; 8], op: Op, obstacles: Option<&mut Obstacles>) {
        let memory = self.observed.memory;
        let Wanted { kind, namespace, name } = wanted;
        if let Pace::Wait(millis) = memory.pace(Subject::Related, intent, self.observed.now.millis) {
            self.again_in(millis);
            let Some(obstacles) = obstacles else { return };
            match memory.trouble_with(Subject::Related, intent) {
                Some(trouble) => obstacles.block(known_reason(trouble.reason), trouble.message.clone()),
                None => obstacles.block(
                    condition::FIGHTING,
                    format!(
                        "something keeps undoing what the broker does to {} {namespace}/{name}; it is repeated ever more slowly",
                        kind.kind
                    ),
                ),
            }
            return;
        }
        self.decided.writes.push(Write {
            cluster: self.observed.compute.clone(),
            kind,
            namespace,
            name,
            op,
            intent,
            subject: Subject::Related,
            notes: Vec::new(),
        });
    }
}

/// Digest of what is wanted of an object, with its name: several objects must not look like repeats of one.
pub(super) fn intent(wanted: &Wanted, body: &Value) -> [u8; 8] {
    let Wanted { kind, namespace, name } = wanted;
    merge::digest(&json!([kind.api_version(), kind.kind, namespace, name, body]))
}

/// A taken name has one word, whoever met it.
fn known_reason(reason: &'static str) -> &'static str {
    if reason == "RelatedConflict" { condition::NAME_CONFLICT } else { reason }
}

/// Kind that a template names.
fn kind_of(template: &serde_json::Map<String, Value>) -> Option<Kind> {
    let (api_version, kind) = (template.get("apiVersion")?.as_str()?, template.get("kind")?.as_str()?);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Some(Kind { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() })
}
