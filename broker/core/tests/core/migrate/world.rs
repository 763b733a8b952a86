//! What one Migration sees and what becomes of its writes.

mod rules;
mod server;

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
    time::Duration,
};

use broker_api::{ClusterName, MigrationStage, MigrationState, MigrationStatus, Role, keys};
use broker_core::{
    assignment::{Key, KeyRing, Maker},
    decision::Write,
    memory::Memory,
    migration::{
        configuration::Configuration,
        machine::migrate,
        observed::{Applicable, Decided, Observed, StageView},
    },
    migration_object,
    movement::{Movement, Moving, Phase},
    snapshot::OriginKey,
};
use objects::{KindRule, Objects, Stored};
use runtime_cel::{
    expression::{Evaluator, Limits},
    schema::Schema,
};
use runtime_effect::{
    kind::Kind,
    note::Note,
    now::Now,
    reach::Reach,
    seen::Seen,
    serving::{KindView, Serving},
    view::View,
};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) use objects::At;

pub(crate) static EVALUATOR: LazyLock<Evaluator> = LazyLock::new(Evaluator::new);
/// One that has no time for anything.
static BUSY: LazyLock<Evaluator> =
    LazyLock::new(|| Evaluator::with_limits(Limits { evaluate: Duration::ZERO, ..Limits::default() }));
pub(crate) static RING: LazyLock<KeyRing> =
    LazyLock::new(|| KeyRing::new(vec![Key { id: "k1".into(), secret: vec![1; 32] }]).unwrap());

pub(crate) const START: u64 = 1_700_000_000_000;
pub(crate) const TTL: u64 = 24 * 3600 * 1000;
pub(crate) const FROM: &str = "alpha";
pub(crate) const TO: &str = "beta";
pub(crate) const NAMESPACE: &str = "team";
/// Name of the Migration of every world, and its id.
pub(crate) const NAME: &str = "certificate-1";
pub(crate) const ID: &str = "m6dd0ea776254";

pub(crate) fn kind(group: &str, name: &str) -> Kind {
    Kind { group: group.into(), version: "v1".into(), kind: name.into() }
}

pub(crate) fn job() -> Kind {
    kind("batch", "Job")
}

pub(crate) fn secret() -> Kind {
    kind("", "Secret")
}

/// Kinds that the compute cluster serves at first, and whether they are namespaced.
fn kinds() -> BTreeMap<Kind, bool> {
    [(job(), true), (secret(), true), (kind("", "ConfigMap"), true), (kind("", "Node"), false)].into()
}

fn migration_at() -> At {
    (migration_object::kind(), NAMESPACE.to_owned(), NAME.to_owned())
}

pub(crate) fn configuration(stages: Value) -> Configuration {
    let stages: Vec<MigrationStage> = serde_json::from_value(stages).unwrap();
    Configuration::compile("config", "certs", 1, &stages, &EVALUATOR).unwrap()
}

/// The configuration that would apply now.
#[derive(Debug, Clone)]
pub(crate) enum Applied {
    Unknown,
    None,
    Found(Arc<Configuration>),
    Invalid(String),
}

/// When a list comes that was not there at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Never,
    /// When it has just been looked for what is in it.
    Next,
    Here,
}

#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that may be so in it")]
pub(crate) struct World {
    pub(crate) now: u64,
    /// When the process started. Its clock is steady: only another process has another one.
    pub(crate) started: u64,
    /// Where the Migration is.
    hub: Objects,
    /// The compute cluster.
    pub(crate) objects: Objects,
    /// Related objects by provider.
    pub(crate) sources: BTreeMap<(String, At), Value>,
    pub(crate) from: Option<Value>,
    pub(crate) to: Option<Value>,
    pub(crate) sides_known: bool,
    pub(crate) movement: Movement,
    pub(crate) origin: Option<OriginKey>,
    pub(crate) applied: Applied,
    /// Where stages run.
    pub(crate) compute: ClusterName,
    pub(crate) reach: Reach,
    /// Whether the broker has listed what is in the compute cluster.
    pub(crate) listed: bool,
    /// Where that is false: when the list comes all the same.
    pub(crate) list: Cell<List>,
    /// Kinds that the compute cluster serves, and whether they are namespaced.
    pub(crate) kinds: BTreeMap<Kind, bool>,
    /// Further namespaces that templates may name.
    pub(crate) stage_namespaces: Vec<String>,
    pub(crate) memory: Memory,
    pub(crate) notes: Vec<Note>,
    /// Writes that went through.
    pub(crate) written: Vec<Write>,
    /// A person has released the Migration whatever is left.
    pub(crate) forced: bool,
    /// No expression ends in time.
    pub(crate) busy: bool,
}

impl World {
    /// A Migration that the broker has just made, of a move whose new copy is ready.
    pub(crate) fn new(stages: Value) -> Self {
        let found = Applied::Found(Arc::new(configuration(stages)));
        Self::with(found)
    }

    pub(crate) fn with(applied: Applied) -> Self {
        let gvk = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "kind": "Certificate"});
        let side =
            |cluster: &str| json!({"gvk": gvk, "name": "0123-cert", "namespace": NAMESPACE, "clusterName": cluster});
        let copy = |cluster: &str| {
            json!({
                "apiVersion": "example.platform-mesh.io/v1alpha1",
                "kind": "Certificate",
                "metadata": {"name": "0123-cert", "namespace": NAMESPACE, "uid": format!("uid-{cluster}"), "resourceVersion": "1"},
                "spec": {"fqdn": format!("{cluster}.example")},
                "status": {"status": "Available"},
            })
        };
        let gvk_kind =
            Kind { group: "example.platform-mesh.io".into(), version: "v1alpha1".into(), kind: "Certificate".into() };
        let mut hub = Objects::new("hub");
        hub.kinds.insert(migration_at().0, KindRule { has_status: true, ..KindRule::free() });
        hub.put(&migration_at(), json!({"metadata": {}, "spec": {"from": side(FROM), "to": side(TO)}}));
        hub.corrupt(&migration_at(), |migration| migration["metadata"]["uid"] = json!("uid-m"));
        let mut objects = Objects::new("object");
        objects.kinds.extend(kinds().into_keys().map(|kind| (kind, KindRule::free())));
        Self {
            now: START,
            started: START,
            hub,
            objects,
            sources: BTreeMap::new(),
            from: Some(copy(FROM)),
            to: Some(copy(TO)),
            sides_known: true,
            movement: underway(Phase::Ready),
            origin: Some(OriginKey {
                cluster: ClusterName::consumer("homer"),
                gvk: Arc::new(gvk_kind),
                namespace: NAMESPACE.into(),
                name: "cert".into(),
            }),
            applied,
            compute: ClusterName::new(Role::Compute, "work"),
            reach: Reach::Ready,
            listed: true,
            list: Cell::new(List::Never),
            kinds: kinds(),
            stage_namespaces: Vec::new(),
            memory: Memory::default(),
            notes: Vec::new(),
            written: Vec::new(),
            forced: false,
            busy: false,
        }
    }

    pub(crate) fn id(&self) -> String {
        self.status().id.unwrap()
    }

    pub(crate) fn status(&self) -> MigrationStatus {
        let status = self.migration().unwrap().get("status").cloned();
        status.map_or_else(MigrationStatus::default, |status| serde_json::from_value(status).unwrap())
    }

    pub(crate) fn state(&self) -> MigrationState {
        let state = self.migration().unwrap().get("status").and_then(|status| status.get("state"));
        state.map_or(MigrationState::Unknown, |state| MigrationState::deserialize(state).unwrap())
    }

    /// The status and reason of a condition, and its message.
    pub(crate) fn condition(&self, kind: &str) -> Option<(String, String, String)> {
        let conditions = self.status().conditions;
        let found = conditions.into_iter().find(|condition| condition.type_ == kind)?;
        Some((found.status, found.reason, found.message))
    }

    pub(crate) fn reason(&self, kind: &str) -> String {
        self.condition(kind).map(|(_, reason, _)| reason).unwrap_or_default()
    }

    pub(crate) fn message(&self, kind: &str) -> String {
        self.condition(kind).map(|(_, _, message)| message).unwrap_or_default()
    }

    /// The Migration, as its API server has it.
    pub(crate) fn migration(&self) -> Option<&Value> {
        self.hub.get(&migration_at())
    }

    /// Makes something else of it, as nobody's request can.
    pub(crate) fn corrupt(&mut self, change: impl FnOnce(&mut Value)) {
        self.hub.corrupt(&migration_at(), change);
    }

    /// A person edits the Migration's spec.
    pub(crate) fn edit(&mut self, field: &str, value: Value) {
        self.hub.edit(&migration_at(), |migration| migration["spec"][field] = value);
    }

    pub(crate) fn annotate(&mut self, key: &str, value: &str) {
        self.forced |= key == keys::FORCE_DELETE;
        self.hub.edit(&migration_at(), |migration| migration["metadata"]["annotations"][key] = json!(value));
    }

    /// A person deletes the Migration.
    pub(crate) fn delete(&mut self) {
        self.hub.delete(&migration_at());
    }

    /// Somebody else puts an object into the compute cluster.
    pub(crate) fn put(&mut self, at: &At, value: Value) {
        self.objects.put(at, value);
    }

    /// What plays the compute cluster's controllers sets a status.
    pub(crate) fn report(&mut self, at: &At, status: Value) {
        assert!(self.objects.edit(at, |object| object["status"] = status), "no {at:?}");
    }

    pub(crate) fn at(&self, kind: Kind, key: &str) -> At {
        (kind, NAMESPACE.into(), format!("{}-{key}", self.id()))
    }

    /// Objects labelled with the Migration's id.
    pub(crate) fn made(&self) -> BTreeSet<String> {
        let made = |at: &&At| self.objects[*at]["metadata"]["labels"].get(keys::MIGRATION_ID).is_some();
        self.objects.places().filter(made).map(|(_, _, name)| name.clone()).collect()
    }

    /// What was made for the Migration and is still there.
    pub(crate) fn ours(&self) -> impl Iterator<Item = &At> {
        let is_labelled = |at: &At| self.objects[at]["metadata"]["labels"][keys::MIGRATION_ID] == ID;
        self.objects.places().filter(move |at| is_labelled(at) && at.2.starts_with(&format!("{ID}-")))
    }

    /// Names of what was made, without the id.
    pub(crate) fn made_keys(&self) -> Vec<String> {
        self.made().iter().map(|name| name.split_once('-').unwrap().1.to_owned()).collect()
    }

    pub(crate) fn moment(&self) -> Now {
        Now { millis: self.now, started: self.started, text: String::new() }
    }

    pub(crate) fn decide(&self) -> Decided {
        let Some(migration) = self.migration() else { return Decided::default() };
        let object = view(migration);
        let side = |side: &Option<Value>| match side {
            _ if !self.sides_known => Seen::Unknown,
            Some(value) => Seen::Present(view(value)),
            None => Seen::Absent,
        };
        let related_kinds = [secret(), kind("", "ConfigMap")];
        migrate(&Observed {
            now: self.moment(),
            object: &object,
            movement: self.movement.clone(),
            origin: self.origin.as_ref().map(|origin| (origin, "uid-origin")),
            applicable: match &self.applied {
                Applied::Unknown => Applicable::Unknown,
                Applied::None => Applicable::None,
                Applied::Found(configuration) => Applicable::Found(configuration),
                Applied::Invalid(why) => Applicable::Invalid(why),
            },
            from: side(&self.from),
            to: side(&self.to),
            coordination: ClusterName::new(Role::Coordination, "hub"),
            compute: self.compute.clone(),
            compute_reach: self.reach.clone(),
            stage: self,
            related_kinds: &related_kinds,
            stage_namespaces: &self.stage_namespaces,
            maker: Maker::Broker(START),
            ring: &RING,
            evaluator: if self.busy { &BUSY } else { &EVALUATOR },
            memory: &self.memory,
            ttl_millis: TTL,
        })
    }

    /// Decides once and carries out at most so many writes, up to the first that fails.
    pub(crate) fn pass_at_most(&mut self, most: usize) -> Decided {
        let decided = self.decide();
        assert!(!decided.notes.iter().any(|note| note.message.contains("cannot be read")), "{:?}", decided.notes);
        self.notes.extend(decided.notes.iter().cloned());
        for write in decided.writes.iter().take(most) {
            if !self.execute(write) {
                break;
            }
        }
        decided
    }

    pub(crate) fn pass(&mut self) -> Decided {
        self.pass_at_most(usize::MAX)
    }

    /// Decides until nothing more is written.
    pub(crate) fn settle(&mut self) -> Decided {
        for _ in 0..40 {
            let decided = self.pass();
            if decided.writes.is_empty() {
                return decided;
            }
        }
        panic!("it does not come to rest: {:#?}", self.decide().writes);
    }
}

impl StageView for World {
    fn reaches(&self, _: &str) -> bool {
        true
    }

    fn serving(&self, kind: &Kind) -> Serving {
        self.kinds.get(kind).map_or(Serving::Missing, |namespaced| {
            Serving::Served(KindView {
                plural: String::new(),
                namespaced: *namespaced,
                has_status: true,
                schema: Arc::new(Schema::any()),
            })
        })
    }

    fn object(&self, kind: &Kind, namespace: &str, name: &str) -> Seen {
        if !self.listed {
            return Seen::Unknown;
        }
        let found = self.objects.stored(&(kind.clone(), namespace.into(), name.into()));
        // The watch is by label.
        let labelled = found.map(Stored::view).filter(|view| view.label(keys::MIGRATION_ID).is_some());
        labelled.map_or(Seen::Absent, Seen::Present)
    }

    fn all(&self, id: &str) -> Vec<(Kind, View)> {
        if !self.all_known(&BTreeSet::new()) {
            if self.list.get() == List::Next {
                self.list.set(List::Here);
            }
            return Vec::new();
        }
        let all = self.objects.all().map(|((kind, ..), stored)| (kind.clone(), stored.view()));
        all.filter(|(_, view)| view.label(keys::MIGRATION_ID) == Some(id)).collect()
    }

    fn all_known(&self, _: &BTreeSet<Kind>) -> bool {
        self.listed || self.list.get() == List::Here
    }

    fn source(&self, provider: &ClusterName, kind: &Kind, namespace: &str, name: &str) -> Seen {
        if !self.sides_known {
            return Seen::Unknown;
        }
        let at = (provider.name().to_owned(), (kind.clone(), namespace.to_owned(), name.to_owned()));
        self.sources.get(&at).map_or(Seen::Absent, |value| Seen::Present(view(value)))
    }
}

pub(crate) fn underway(phase: Phase) -> Movement {
    Movement::Underway(Moving {
        from: ClusterName::provider(FROM),
        to: ClusterName::provider(TO),
        epoch: START,
        migration: None,
        phase,
        waits_for: "the copy at beta is not ready yet".into(),
    })
}

pub(crate) fn view(value: &Value) -> View {
    let metadata = &value["metadata"];
    View {
        uid: metadata["uid"].as_str().unwrap().into(),
        resource_version: metadata["resourceVersion"].as_str().unwrap().parse().unwrap(),
        deleting: metadata.get("deletionTimestamp").is_some(),
        applied_by_us: false,
        value: Arc::new(value.clone()),
        unread: None,
        conditions_known: true,
    }
}

/// A Job that a stage makes; `key` names the template.
pub(crate) fn job_stage(name: &str, key: &str) -> Value {
    let variable = key.replace('-', "_");
    json!({
        "name": name,
        "templates": {key: {"apiVersion": "batch/v1", "kind": "Job", "spec": {"from": "${from.spec.fqdn}"}}},
        "successConditions": [format!("has({variable}.status) && has({variable}.status.succeeded) && {variable}.status.succeeded == 1")],
        "failureConditions": [format!("has({variable}.status) && has({variable}.status.failed) && {variable}.status.failed > 0")],
    })
}

/// The same stage with other fields.
pub(crate) fn with(mut stage: Value, fields: Value) -> Value {
    objects::merge(&mut stage, &fields);
    stage
}

pub(crate) fn related(provider: &str, name: &str) -> (String, At) {
    (provider.to_owned(), (secret(), NAMESPACE.to_owned(), name.to_owned()))
}

impl World {
    /// The copy in a provider lists a Secret that is there.
    pub(crate) fn relate(&mut self, provider: &str, name: &str, data: &str) {
        let side = if provider == FROM { &mut self.from } else { &mut self.to };
        let copy = side.as_mut().unwrap();
        copy["status"]["relatedResources"][name] =
            json!({"gvk": {"group": "core", "version": "v1", "kind": "Secret"}, "name": name});
        let source = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("s-{name}"), "resourceVersion": "1"},
            "data": {"key": data},
            "type": "Opaque",
        });
        self.sources.insert(related(provider, name), source);
    }
}
