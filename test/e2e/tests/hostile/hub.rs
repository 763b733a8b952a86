//! A user of one namespace of the hub reaches no other: Migrations and MigrationConfigurations.

use broker_api::keys;
use e2e::{
    Controller, Object, Place, Scene, Traveller,
    kind::{ACCEPT_API, CONFIG_MAP, MIGRATION, MIGRATION_CONFIGURATION, SECRET, WIDGET},
    scene::ACCEPT_NAMESPACE,
    traveller::settled_at,
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, THESEUS, WORLD};

/// The broker's own namespace in the hub.
const OWN: &str = "default";

/// Widgets of one namespace, which ariadne serves and theseus would, each with a Secret.
struct Victim<'a> {
    scene: &'a Scene<'a>,
    homer: &'a Place,
    hub: &'a Place,
    ariadne: &'a Place,
    theseus: &'a Place,
}

/// Runs a test with a tenant whose namespace is `name`, and who has a Widget `item`.
fn with_victim(name: &str, test: impl AsyncFnOnce(&Victim<'_>)) {
    WORLD.run(async |world| {
        let _alone = crate::MIGRATIONS.write().await;
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, name, &[homer]).await;
        let _controllers = [ariadne, theseus].map(|provider| Controller::start(provider, &WIDGET, scene.ns()));
        for (provider, priority) in [(ariadne, 10), (theseus, 1)] {
            let more = json!({"priority": priority});
            let accept = scene.accept_kind(&WIDGET, provider, &[scene.domain_filter()], more).await;
            let in_use = |seen: &Object| seen.has("Ready", "True", "Ready");
            provider.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, "to be in use", in_use).await;
        }
        world.hub.make_namespace(name).await;
        let victim = Victim { scene: &scene, homer, hub: &world.hub, ariadne, theseus };
        victim.make("item").await;
        test(&victim).await;
    });
}

impl Victim<'_> {
    fn item<'a>(&'a self, name: &'a str) -> Traveller<'a> {
        Traveller { kind: WIDGET, consumer: self.homer, ns: self.scene.ns(), name }
    }

    /// A Widget, served by ariadne.
    async fn make(&self, name: &str) {
        let spec = json!({"fqdn": self.scene.fqdn(name)});
        self.homer.create(&WIDGET, self.scene.ns(), name, json!({"spec": spec})).await;
        self.item(name).until_served_by(self.ariadne).await;
    }

    /// `spec` of a Migration of one of its copies from ariadne to theseus; `namespace` is that of the copy.
    fn move_of(&self, name: &str, namespace: &str) -> Value {
        let side = |provider: &Place| {
            let copy = self.homer.copy_name(name);
            json!({"gvk": WIDGET.gvk(), "name": copy, "namespace": namespace, "clusterName": provider.name()})
        };
        json!({"from": side(self.ariadne), "to": side(self.theseus)})
    }

    /// Makes a Migration, and waits until it is refused for this reason, with an Event.
    async fn is_refused(&self, namespace: &str, name: &str, body: Value, reason: &str) {
        self.hub.make_namespace(namespace).await;
        self.hub.create(&MIGRATION, namespace, name, body).await;
        let refused = |seen: &Object| seen.text("/status/state") == "Failed" && seen.has("Succeeded", "False", reason);
        self.hub.until(&MIGRATION, namespace, name, reason, refused).await;
        self.hub.until_event(namespace, name, "Refused", |told| told.message.contains(reason)).await;
    }

    /// No copy of its Secret is in a namespace of the hub, and its Widget is where it was.
    async fn is_unharmed(&self, namespace: &str) {
        self.scene.barrier(self.homer, self.ariadne).await;
        let secrets = self.hub.list(&SECRET, namespace).await;
        assert!(secrets.is_empty(), "{secrets:?}");
        let item = self.item("item").get().await;
        assert!(settled_at(self.ariadne)(&item), "{item}");
    }

    /// A MigrationConfiguration for Widgets.
    async fn configure(&self, namespace: &str, name: &str, stages: Value) {
        self.hub.make_namespace(namespace).await;
        let spec = json!({"from": WIDGET.gvk(), "to": WIDGET.gvk(), "stages": stages});
        self.hub.create(&MIGRATION_CONFIGURATION, namespace, name, json!({"spec": spec})).await;
    }

    /// Waits for what a MigrationConfiguration says of itself; returns the message.
    async fn until_judged(&self, namespace: &str, name: &str, status: &str, reason: &str) -> String {
        let judged = |seen: &Object| seen.has("Ready", status, reason);
        let seen = self.hub.until(&MIGRATION_CONFIGURATION, namespace, name, reason, judged).await;
        seen.condition("Ready").unwrap().message
    }

    async fn unconfigure(&self, namespace: &str, name: &str) {
        self.hub.delete(&MIGRATION_CONFIGURATION, namespace, name).await;
        self.hub.until_gone(&MIGRATION_CONFIGURATION, namespace, name).await;
    }

    /// A person moves the Widget: the Migration `by-hand`, once it is as `test` wants it.
    async fn moved_by_hand(&self, what: &str, test: impl Fn(&Object) -> bool) -> Object {
        let spec = self.move_of("item", self.scene.ns());
        self.hub.create(&MIGRATION, self.scene.ns(), "by-hand", json!({"spec": spec})).await;
        self.hub.until(&MIGRATION, self.scene.ns(), "by-hand", what, test).await
    }

    async fn abort(&self) {
        self.hub.edit(&MIGRATION, self.scene.ns(), "by-hand", json!({"spec": {"abort": true}})).await;
        let failed = |seen: &Object| seen.has("Succeeded", "False", "Aborted");
        self.hub.until(&MIGRATION, self.scene.ns(), "by-hand", "to be aborted", failed).await;
        self.item("item").until("to be where it was", settled_at(self.ariadne)).await;
    }
}

/// A stage that waits for ever.
fn waits(templates: &Value) -> Value {
    json!([{"name": "wait", "progress": true, "templates": templates, "successConditions": ["false"]}])
}

fn map(namespace: Option<&str>) -> Value {
    let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    if let Some(namespace) = namespace {
        map["metadata"] = json!({"namespace": namespace});
    }
    map
}

#[test]
fn a_migration_acts_in_its_objects_namespace_or_the_brokers_own_only() {
    with_victim("hub-victim", async |victim| {
        let thief = "hub-thief";
        let ns = victim.scene.ns();
        victim.configure(OWN, "hub-waits", waits(&json!({}))).await;
        let spec = victim.move_of("item", ns);
        victim.is_refused(thief, "steal", json!({"spec": spec}), "NamespaceNotAllowed").await;
        // Whether there is such a copy is not said, either.
        let spec = victim.move_of("nothing", ns);
        victim.is_refused(thief, "probe", json!({"spec": spec}), "NamespaceNotAllowed").await;
        // Marks as the broker makes them, but for the signature.
        let item = victim.item("item").get().await;
        let body = json!({
            "metadata": {
                "labels": {keys::MANAGED_BY: keys::MANAGER},
                "annotations": {
                    keys::CONSUMER_CLUSTER: HOMER, keys::CONSUMER_NAMESPACE: ns, keys::CONSUMER_NAME: "item",
                    keys::CONSUMER_UID: item.uid(),
                },
            },
            "spec": victim.move_of("item", ns),
        });
        victim.is_refused(thief, "forged", body, "NamespaceNotAllowed").await;
        victim.is_unharmed(thief).await;

        // The platform's own may.
        victim.hub.create(&MIGRATION, OWN, "hub-own", json!({"spec": victim.move_of("item", ns)})).await;
        let begun = |seen: &Object| seen.text("/status/state") == "InitialInProgress";
        let begun = victim.hub.until(&MIGRATION, OWN, "hub-own", "to begin", begun).await;
        let copy = format!("{}-from-{}-key", begun.text("/status/id"), victim.homer.copy_name("item"));
        victim.hub.until_there(&SECRET, OWN, &copy).await;
        victim.hub.edit(&MIGRATION, OWN, "hub-own", json!({"spec": {"abort": true}})).await;
        victim.hub.until_gone(&SECRET, OWN, &copy).await;
        victim.unconfigure(OWN, "hub-waits").await;
    });
}

#[test]
fn marks_on_a_migration_count_only_with_the_brokers_signature() {
    with_victim("hub-marks", async |victim| {
        victim.make("other").await;
        let other = victim.item("other").get().await;
        let ns = victim.scene.ns();
        let body = json!({
            "metadata": {
                "labels": {keys::MANAGED_BY: keys::MANAGER},
                "annotations": {
                    keys::CONSUMER_CLUSTER: HOMER, keys::CONSUMER_NAMESPACE: ns, keys::CONSUMER_NAME: "other",
                    keys::CONSUMER_UID: other.uid(), keys::ORIGIN: "v1.k1.1.AAAA",
                },
            },
            "spec": victim.move_of("item", ns),
        });
        victim.hub.create(&MIGRATION, ns, "forged", body).await;
        // It is a person's: it moves what it names in its spec.
        let done = |seen: &Object| seen.text("/status/state") == "CutoverCompleted";
        let done = victim.hub.until(&MIGRATION, ns, "forged", "to complete", done).await;
        assert_eq!(done.annotation(keys::CONSUMER_NAME), Some("item"), "{done}");
        victim.item("item").until_served_by(victim.theseus).await;
        assert!(settled_at(victim.ariadne)(&victim.item("other").get().await));
    });
}

#[test]
fn a_configuration_of_another_namespace_is_not_in_force() {
    with_victim("hub-config", async |victim| {
        let ns = victim.scene.ns();
        let planted = json!({"planted": map(None)});
        victim.configure(ns, "hub-theirs", waits(&planted)).await;
        let told = victim.until_judged(ns, "hub-theirs", "False", "NamespaceNotAllowed").await;
        assert!(told.contains(OWN) && told.contains("--configuration-namespace"), "{told}");
        // It is the older one, and is in nobody's way.
        victim.configure(OWN, "hub-ours", json!([])).await;
        victim.until_judged(OWN, "hub-ours", "True", "InUse").await;
        let completed = |seen: &Object| seen.text("/status/state") == "CutoverCompleted";
        let done = victim.moved_by_hand("to complete", completed).await;
        assert_eq!(done.text("/status/configuration/name"), "hub-ours", "{done}");
        victim.unconfigure(ns, "hub-theirs").await;
        victim.unconfigure(OWN, "hub-ours").await;
    });
}

#[test]
fn stages_make_nothing_in_other_namespaces() {
    with_victim("hub-stages", async |victim| {
        let there = json!({"there": map(Some("kube-system"))});
        victim.configure(OWN, "hub-system", waits(&there)).await;
        let told = victim.until_judged(OWN, "hub-system", "False", "Invalid").await;
        assert!(told.contains("kube-system") && told.contains("templates.there"), "{told}");
        victim.unconfigure(OWN, "hub-system").await;

        victim.hub.make_namespace("hub-elsewhere").await;
        let elsewhere = json!({"beside": map(Some("hub-elsewhere")), "ours": map(Some(OWN))});
        victim.configure(OWN, "hub-elsewhere", waits(&elsewhere)).await;
        let stalled = |seen: &Object| seen.has("Stalled", "True", "NamespaceNotAllowed");
        let migration = victim.moved_by_hand("to say what is not allowed", stalled).await;
        let told = migration.condition("Stalled").unwrap().message;
        assert!(told.contains("hub-elsewhere") && told.contains("--stage-namespace"), "{told}");
        let id = migration.text("/status/id").to_owned();
        // That of the configuration is.
        victim.hub.until_there(&CONFIG_MAP, OWN, &format!("{id}-ours")).await;
        for namespace in ["kube-system", "hub-elsewhere"] {
            let made = victim.hub.list(&CONFIG_MAP, namespace).await;
            assert!(made.iter().all(|made| made.label(keys::MIGRATION_ID).is_none()), "{made:?}");
        }
        victim.abort().await;
        victim.unconfigure(OWN, "hub-elsewhere").await;
    });
}

#[test]
fn a_recorded_configuration_that_somebody_edits_is_not_believed() {
    with_victim("hub-recorded", async |victim| {
        let ns = victim.scene.ns();
        victim.configure(OWN, "hub-recorded", waits(&json!({"work": map(None)}))).await;
        let begun = |seen: &Object| seen.text("/status/state") == "InitialInProgress";
        let migration = victim.moved_by_hand("to begin", begun).await;
        let id = migration.text("/status/id").to_owned();
        victim.hub.until_there(&CONFIG_MAP, ns, &format!("{id}-work")).await;
        let forged = waits(&json!({"work": map(None), "planted": map(Some(OWN))}));
        victim.hub.set_status(&MIGRATION, ns, "by-hand", json!({"configuration": {"stages": forged}})).await;
        let stalled = |seen: &Object| seen.has("Stalled", "True", "Invalid");
        let seen = victim.hub.until(&MIGRATION, ns, "by-hand", "not to go on", stalled).await;
        assert!(seen.condition("Stalled").unwrap().message.contains("status.configuration"), "{seen}");
        victim.scene.barrier(victim.homer, victim.ariadne).await;
        assert!(victim.hub.find(&CONFIG_MAP, OWN, &format!("{id}-planted")).await.is_none());
        victim.abort().await;
        victim.unconfigure(OWN, "hub-recorded").await;
    });
}
