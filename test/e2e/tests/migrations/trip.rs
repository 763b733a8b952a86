//! `Trip`: one object that moves from ariadne to theseus, of a kind that no other test uses meanwhile.

use broker_api::keys;
use e2e::{
    Controller, DEADLINE, Kind, Object, Place, Recording, Scene, Traveller, World,
    kind::{ACCEPT_API, CONFIG_MAP, MIGRATION, MIGRATION_CONFIGURATION, SECRET, WIDGET},
    scene::ACCEPT_NAMESPACE,
    traveller::{secret_of, settled_at},
};
use harness::wait_for;
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, RwLock};

use crate::{ARIADNE, HOMER, THESEUS, WORLD, state, until_swept};

/// A MigrationConfiguration is for all objects of a kind: each test has a kind for itself while it runs.
static KINDS: [Mutex<Kind>; 4] = [
    Mutex::const_new(Kind::test("Store", "stores")),
    Mutex::const_new(Kind::test("Vault", "vaults")),
    Mutex::const_new(Kind::test("Crate", "crates")),
    Mutex::const_new(Kind::test("Trunk", "trunks")),
];

/// Whether the broker is there: a test that kills it holds this for writing.
pub(crate) static PEACE: RwLock<()> = RwLock::const_new(());

/// All kinds of trips.
pub(crate) fn kinds() -> Vec<Kind> {
    KINDS.iter().map(|kind| *kind.try_lock().unwrap()).collect()
}

/// Their CRDs: any spec, and the status that our kinds share.
pub(crate) fn crds() -> String {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut status = any.clone();
    status["properties"] =
        json!({"status": {"type": "string"}, "conditions": {"type": "array", "items": any}, "relatedResources": any});
    let crds: Vec<String> =
        kinds().iter().map(|kind| kind.crd_with(&json!({"spec": any, "status": status}), true).to_string()).collect();
    crds.join("\n---\n")
}

async fn free_kind() -> MutexGuard<'static, Kind> {
    let free = wait_for(DEADLINE * 20, "a kind that no other test uses", async || {
        KINDS.iter().find_map(|kind| kind.try_lock().ok())
    });
    free.await.unwrap()
}

/// One object, its providers, and what is recorded of it. Both providers bring copies up.
pub(crate) struct Trip<'a> {
    pub(crate) scene: &'a Scene<'a>,
    pub(crate) kind: Kind,
    pub(crate) homer: &'a Place,
    pub(crate) ariadne: &'a Place,
    pub(crate) theseus: &'a Place,
    pub(crate) hub: &'a Place,
    pub(crate) item: Traveller<'a>,
    /// The AcceptAPI at ariadne.
    pub(crate) accept: String,
    /// The copy at ariadne.
    pub(crate) old: Object,
    /// The Migrations in its namespace.
    pub(crate) migrations: Recording,
    /// The Secrets of the consumer.
    pub(crate) secrets: Recording,
}

/// Runs a test with an object that ariadne serves, and a MigrationConfiguration of these stages for its kind.
pub(crate) fn at_home(name: &str, stages: Value, test: impl AsyncFnOnce(&mut Trip<'_>)) {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        alone(world, name, stages, test).await;
    });
}

/// The same when it has begun to move to theseus.
pub(crate) fn on_its_way(name: &str, stages: Value, test: impl AsyncFnOnce(&mut Trip<'_>)) {
    at_home(name, stages, async |trip| {
        trip.leave().await;
        test(trip).await;
    });
}

/// The same as [`at_home`] for a test that holds [`PEACE`] itself.
pub(crate) async fn alone(world: &World, name: &str, stages: Value, test: impl AsyncFnOnce(&mut Trip<'_>)) {
    let [homer, ariadne, theseus] = [world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS)];
    let hub = &world.hub;
    let kind = free_kind().await;
    // A test that failed has left its own.
    for held in hub.list(&MIGRATION_CONFIGURATION, "default").await {
        if held.text("/spec/from/kind") == kind.kind {
            hub.delete(&MIGRATION_CONFIGURATION, "default", held.name()).await;
        }
    }
    if !stages.is_null() {
        configure(hub, &kind, name, stages).await;
        hub.until(&MIGRATION_CONFIGURATION, "default", name, "to be judged", |seen| seen.condition("Ready").is_some())
            .await;
    }
    let scene = Scene::new(world, name, &[homer]).await;
    let _controllers = [ariadne, theseus].map(|provider| Controller::start(provider, &kind, scene.ns()));
    let accept = scene.accept_kind(&kind, ariadne, &[scene.domain_filter()], json!({"priority": 1})).await;
    let spec = json!({"fqdn": scene.fqdn("item"), "size": 3});
    homer.create(&kind, scene.ns(), "item", json!({"spec": spec})).await;
    let item = Traveller { kind: *kind, consumer: homer, ns: scene.ns(), name: "item" };
    item.until_served_by(ariadne).await;
    let mut trip = Trip {
        kind: *kind,
        old: item.copy(ariadne).await,
        migrations: Recording::begin(hub, &MIGRATION, scene.ns()).await,
        secrets: Recording::begin(homer, &SECRET, scene.ns()).await,
        scene: &scene,
        homer,
        ariadne,
        theseus,
        hub,
        item,
        accept,
    };
    test(&mut trip).await;
    for held in hub.list(&MIGRATION_CONFIGURATION, "default").await {
        if held.text("/spec/from/kind") == kind.kind {
            hub.delete(&MIGRATION_CONFIGURATION, "default", held.name()).await;
            hub.until_gone(&MIGRATION_CONFIGURATION, "default", held.name()).await;
        }
    }
}

/// A MigrationConfiguration for a kind.
pub(crate) async fn configure(hub: &Place, kind: &Kind, name: &str, stages: Value) -> Object {
    let spec = json!({"from": kind.gvk(), "to": kind.gvk(), "stages": stages});
    hub.create(&MIGRATION_CONFIGURATION, "default", name, json!({"spec": spec})).await
}

/// A stage of this name with one ConfigMap of the same name, which succeeds when somebody writes `done` into it, and
/// fails when somebody writes `failed`.
pub(crate) fn stage(name: &str, more: Value) -> Value {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"of": "${migration.metadata.name}"}});
    let mut stage = json!({
        "name": name,
        "templates": {name: map},
        "successConditions": [format!("has({name}.data.done)")],
        "failureConditions": [format!("has({name}.data.failed)")],
    });
    if let Value::Object(more) = more {
        stage.as_object_mut().unwrap().extend(more);
    }
    stage
}

impl Trip<'_> {
    /// Theseus accepts it, and ariadne does not any more.
    pub(crate) async fn leave(&self) {
        self.theseus_accepts().await;
        self.ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &self.accept).await;
    }

    /// An AcceptAPI at theseus.
    pub(crate) async fn theseus_accepts(&self) -> String {
        self.scene.accept_kind(&self.kind, self.theseus, &[self.scene.domain_filter()], Value::Null).await
    }

    /// Its Migration that has not ended, in a state.
    pub(crate) async fn migration(&self, wanted: &str) -> Object {
        let what = format!("a Migration in {} to be {wanted}", self.scene.ns());
        let found = wait_for(DEADLINE, &what, async || {
            let mut all = self.hub.list(&MIGRATION, self.scene.ns()).await;
            all.sort_by(|left, right| left.name().cmp(right.name()));
            let last = all.iter().rfind(|migration| state(wanted)(migration)).cloned();
            last.ok_or_else(|| format!("{all:?}"))
        });
        found.await.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// A stage object of a Migration.
    pub(crate) async fn object(&self, migration: &Object, kind: &Kind, key: &str) -> Object {
        let name = format!("{}-{key}", migration.text("/status/id"));
        self.hub.until_there(kind, self.scene.ns(), &name).await
    }

    /// Writes a word into the ConfigMap of a [`stage`].
    pub(crate) async fn say(&self, migration: &Object, key: &str, word: &str) -> Object {
        let map = self.object(migration, &CONFIG_MAP, key).await;
        self.hub.edit(&CONFIG_MAP, self.scene.ns(), map.name(), json!({"data": {word: "true"}})).await;
        map
    }

    /// A person edits the spec of a Migration.
    pub(crate) async fn edit(&self, migration: &Object, spec: Value) {
        self.hub.edit(&MIGRATION, self.scene.ns(), migration.name(), json!({"spec": spec})).await;
    }

    /// Waits until a Migration is as `test` wants it.
    pub(crate) async fn until(&self, migration: &Object, what: &str, test: impl Fn(&Object) -> bool) -> Object {
        self.hub.until(&MIGRATION, self.scene.ns(), migration.name(), what, test).await
    }

    /// Waits until a Migration is in a state and says this reason.
    pub(crate) async fn until_ended(&self, migration: &Object, wanted: &str, reason: &str) -> Object {
        let ended = |seen: &Object| {
            state(wanted)(seen) && seen.condition("Succeeded").is_some_and(|told| told.reason == reason)
        };
        self.until(migration, &format!("{wanted} because of {reason}"), ended).await
    }

    /// Waits until a Migration says why it goes no further.
    pub(crate) async fn until_stalled(&self, migration: &Object, reason: &str) -> Object {
        let stalled = |seen: &Object| seen.has("Stalled", "True", reason);
        self.until(migration, &format!("to be stalled by {reason}"), stalled).await
    }

    /// Nothing that a Migration made is left, and it is not held.
    pub(crate) async fn until_swept(&self, migration: &Object) {
        // One that was refused at once has none, and nothing was made for it.
        let id = migration.text("/status/id");
        for kind in [CONFIG_MAP, SECRET, WIDGET] {
            until_swept(self.hub, &kind, self.scene.ns(), id).await;
        }
        let what = format!("Migration {} not to be held", migration.name());
        let unheld = wait_for(DEADLINE, &what, async || {
            let held = self.hub.find(&MIGRATION, self.scene.ns(), migration.name()).await;
            let held = held.filter(|held| !held.finalizers().is_empty());
            held.map_or(Ok(()), |held| Err(held.to_string()))
        });
        unheld.await.unwrap_or_else(|error| panic!("{error:#}"));
    }

    /// It has arrived at theseus, and the consumer was never without its Secret.
    pub(crate) async fn until_arrived(&self) {
        self.item.until_served_by(self.theseus).await;
        self.item.until_copy_gone(self.ariadne).await;
        self.never_missing().await;
    }

    /// It is at ariadne, as if nothing had happened.
    pub(crate) async fn until_back(&self) {
        self.item.until_copy_gone(self.theseus).await;
        self.item.until("to be at ariadne", settled_at(self.ariadne)).await;
        let kept = self.item.copy(self.ariadne).await;
        assert_eq!((kept.uid(), kept.generation()), (self.old.uid(), self.old.generation()), "{kept}");
        let secrets = self.secrets.of(&self.item.secret()).await;
        assert!(secrets.iter().all(|change| secret_of(self.ariadne)(&change.object)), "{secrets:?}");
        self.never_missing().await;
    }

    async fn never_missing(&self) {
        let secrets = self.secrets.of(&self.item.secret()).await;
        assert!(secrets.iter().all(|change| !change.deleted), "the Secret was never missing: {secrets:?}");
    }

    /// The states that a Migration went through.
    pub(crate) async fn states(&self, migration: &Object) -> Vec<String> {
        self.migrations.course(migration.name(), |seen| seen.text("/status/state").to_owned()).await
    }

    /// What a person writes to move it from one provider to another.
    pub(crate) fn by_hand(&self, from: &str, to: &str) -> Value {
        let side = |cluster: &str| {
            json!({
                "gvk": self.kind.gvk(), "name": self.item.copy_name(), "namespace": self.scene.ns(), "clusterName": cluster,
            })
        };
        json!({"from": side(from), "to": side(to)})
    }

    /// A person makes a Migration.
    pub(crate) async fn create(&self, name: &str, spec: Value) -> Object {
        self.hub.make_namespace(self.scene.ns()).await;
        self.hub.create(&MIGRATION, self.scene.ns(), name, json!({"spec": spec})).await
    }
}

/// Whether an object carries the labels of a Migration's stage.
pub(crate) fn is_labelled(object: &Object, migration: &Object, stage: &str) -> bool {
    object.label(keys::MIGRATION_ID) == Some(migration.text("/status/id"))
        && object.label(keys::MIGRATION_STAGE) == Some(stage)
}
