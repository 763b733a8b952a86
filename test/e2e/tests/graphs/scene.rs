//! `Scene`: what one test has for itself on a stage that it shares with others: a namespace, an API group, RGDs.

use std::sync::atomic::{AtomicU64, Ordering};

use e2e::{
    DEADLINE, Kind, Object, Place,
    kind::{CONFIG_MAP, CRD},
};
use harness::{AuditEvents, Mark, wait_for};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::{
    kinds::{RGD, is_active, is_served, kind},
    rgd::Rgd,
    rights,
    stage::Stage,
};

/// One test's part of a stage. When it is dropped by a panic it prints the controller's log lines about it.
pub(crate) struct Scene<'a> {
    /// The stage.
    pub(crate) stage: &'a Stage,
    name: String,
    next: AtomicU64,
}

impl<'a> Scene<'a> {
    /// A part of `stage` with a namespace `name`.
    pub(crate) async fn new(stage: &'a Stage, name: &str) -> Self {
        stage.namespace(name).await;
        Self { stage, name: name.to_owned(), next: AtomicU64::new(0) }
    }

    /// The cluster.
    pub(crate) fn place(&self) -> &'a Place {
        &self.stage.place
    }

    /// The namespace.
    pub(crate) fn ns(&self) -> &str {
        &self.name
    }

    /// The API group of kinds that name none.
    pub(crate) fn group(&self) -> String {
        format!("{}.kro.test", self.name)
    }

    /// The kind that an RGD generates; its plural ends in a plain `s`.
    pub(crate) fn kind_of(&self, rgd: &Rgd) -> Kind {
        let own = if rgd.groupless { "kro.run".to_owned() } else { self.group() };
        let group = rgd.spec["schema"]["group"].as_str().unwrap_or(&own);
        kind(group, rgd.kind(), &format!("{}s", rgd.kind().to_lowercase()))
    }

    /// Name of the RGD of a kind: the test's, and the kind's in small letters.
    pub(crate) fn rgd_name(&self, kind: &str) -> String {
        format!("{}-{}", self.name, kind.to_lowercase())
    }

    /// The RGD as an object.
    pub(crate) fn object_of(&self, rgd: &Rgd) -> Value {
        let mut spec = rgd.spec.clone();
        if spec["schema"]["group"].is_null() && !rgd.groupless {
            spec["schema"]["group"] = json!(self.group());
        }
        RGD.object("", &self.rgd_name(rgd.kind()), &json!({"metadata": rgd.metadata, "spec": spec}))
    }

    /// Grants what the kind needs, and applies the RGD without waiting for it. Again: an edit.
    pub(crate) async fn apply(&self, rgd: &Rgd) -> Kind {
        let kind = self.kind_of(rgd);
        let role = format!("{}-{}", self.name, kind.plural);
        rights::grant(self.place(), &role, vec![rights::instances(&kind)]).await;
        self.place().put(&RGD, &self.object_of(rgd)).await;
        kind
    }

    /// The same, and waits until it is served.
    pub(crate) async fn define(&self, rgd: &Rgd) -> Kind {
        let kind = self.apply(rgd).await;
        self.served(&kind).await;
        kind
    }

    /// Waits until the RGD of a kind is served as it is now.
    pub(crate) async fn served(&self, kind: &Kind) -> Object {
        self.rgd_until(kind, "to be Active", is_served).await
    }

    /// Waits until `test` holds for the RGD of a kind.
    pub(crate) async fn rgd_until(&self, kind: &Kind, what: &str, test: impl Fn(&Object) -> bool) -> Object {
        self.place().until(&RGD, "", &self.rgd_name(kind.kind), what, test).await
    }

    /// Waits until the RGD of a kind is refused for a reason that holds `words`; returns it.
    pub(crate) async fn refused(&self, rgd: &Rgd, words: &str) -> Object {
        let kind = self.apply(rgd).await;
        let says = |seen: &Object| {
            seen.condition("GraphAccepted").is_some_and(|told| told.status == "False" && told.message.contains(words))
        };
        let seen = self.rgd_until(&kind, &format!("to be refused with {words:?}"), says).await;
        assert!(seen.has("GraphAccepted", "False", "InvalidResourceGraph"), "{seen}");
        assert_eq!(seen.text("/status/state"), "Inactive", "{seen}");
        seen
    }

    /// Deletes an RGD and its CRD: as long as a large one is there, each change of another costs the API server more.
    pub(crate) async fn remove(&self, kind: &Kind) {
        let name = self.rgd_name(kind.kind);
        self.place().delete(&RGD, "", &name).await;
        self.place().until_gone(&RGD, "", &name).await;
        let crd = format!("{}.{}", kind.plural, kind.group);
        if self.place().find(&CRD, "", &crd).await.is_some() {
            self.place().delete(&CRD, "", &crd).await;
        }
    }

    /// Creates an instance, by server-side apply: whoever creates one of a kind that is younger than two seconds waits that
    /// long in the API server.
    pub(crate) async fn create(&self, kind: &Kind, name: &str, spec: Value) -> Object {
        let object = kind.object(self.ns(), name, &json!({"spec": spec}));
        let (api, author) = (self.place().api(kind, self.ns()), PatchParams::apply("author"));
        let created = api.patch(name, &author, &Patch::Apply(&object)).await;
        created.map_or_else(|error| panic!("create {} {name}: {error}", kind.kind), Object::from)
    }

    /// Changes fields of an instance's spec.
    pub(crate) async fn edit(&self, kind: &Kind, name: &str, spec: Value) -> Object {
        self.place().edit(kind, self.ns(), name, json!({"spec": spec})).await
    }

    /// Creates an instance and waits until it is active.
    pub(crate) async fn bring_up(&self, kind: &Kind, name: &str, spec: Value) -> Object {
        self.create(kind, name, spec).await;
        self.active(kind, name).await
    }

    /// Waits until an instance is active as it is now.
    pub(crate) async fn active(&self, kind: &Kind, name: &str) -> Object {
        self.until(kind, name, "to be ACTIVE", is_active).await
    }

    /// Waits until `test` holds for an object in the namespace.
    pub(crate) async fn until(&self, kind: &Kind, name: &str, what: &str, test: impl Fn(&Object) -> bool) -> Object {
        self.place().until(kind, self.ns(), name, what, test).await
    }

    /// Waits until an instance's condition `ResourcesReady` is not True with a message that holds `words`.
    pub(crate) async fn waits(&self, kind: &Kind, name: &str, words: &str) -> Object {
        let says = |seen: &Object| {
            seen.condition("ResourcesReady").is_some_and(|told| told.status != "True" && told.message.contains(words))
        };
        self.until(kind, name, &format!("to say {words:?}"), says).await
    }

    /// Deletes an object in the namespace.
    pub(crate) async fn delete(&self, kind: &Kind, name: &str) {
        self.place().delete(kind, self.ns(), name).await;
    }

    /// Waits until an object in the namespace is gone.
    pub(crate) async fn gone(&self, kind: &Kind, name: &str) {
        self.place().until_gone(kind, self.ns(), name).await;
    }

    /// Waits until a ConfigMap is there.
    pub(crate) async fn config(&self, name: &str) -> Object {
        self.place().until_there(&CONFIG_MAP, self.ns(), name).await
    }

    /// Waits until a field of a ConfigMap's data has this value.
    pub(crate) async fn config_says(&self, name: &str, field: &str, value: &str) -> Object {
        let what = format!("data.{field} to be {value:?}");
        self.until(&CONFIG_MAP, name, &what, |seen| seen.at("/data")[field] == value).await
    }

    /// A ConfigMap of a person's.
    pub(crate) async fn make_config(&self, name: &str, data: Value) -> Object {
        self.place().create(&CONFIG_MAP, self.ns(), name, json!({"data": data})).await
    }

    /// Names of all ConfigMaps in the namespace but those that every namespace has, sorted.
    pub(crate) async fn configs(&self) -> Vec<String> {
        let all = self.place().list(&CONFIG_MAP, self.ns()).await;
        let mut names: Vec<String> = all.iter().map(|object| object.name().to_owned()).collect();
        names.retain(|name| name != "kube-root-ca.crt");
        names.sort();
        names
    }

    /// Waits until these are the ConfigMaps in the namespace.
    pub(crate) async fn configs_are(&self, names: &[&str]) {
        let what = format!("the ConfigMaps of {} to be {names:?}", self.ns());
        let waited = wait_for(DEADLINE, &what, async || {
            let seen = self.configs().await;
            if seen == names { Ok(()) } else { Err(format!("{seen:?}")) }
        });
        waited.await.unwrap_or_else(|error| panic!("{error:#}"));
    }

    /// Waits until the controller has seen all that was done before: a new instance of the same kind is dealt with. This is
    /// how tests tell that something does *not* happen. `spec` makes an instance that disturbs no other.
    pub(crate) async fn barrier(&self, kind: &Kind, spec: Value) {
        let name = format!("barrier-{}", self.next.fetch_add(1, Ordering::Relaxed));
        self.barrier_of(kind, &name, spec, is_active).await;
    }

    /// The same with an instance of this name, which is dealt with when `test` holds for it.
    pub(crate) async fn barrier_of(&self, kind: &Kind, name: &str, spec: Value, test: impl Fn(&Object) -> bool) {
        self.create(kind, name, spec).await;
        self.until(kind, name, "to be dealt with", test).await;
        self.delete(kind, name).await;
        self.gone(kind, name).await;
    }

    /// What the controller has asked for since in the namespace and about kinds of this test.
    pub(crate) async fn requests(&self, since: Mark) -> AuditEvents {
        let group = self.group();
        self.stage.requests(since).await.only(|event| event.namespace == self.name || event.group == group)
    }
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let words = [self.name.as_str(), "panicked", "ERROR"];
            eprintln!("the controller on {}:\n{}", self.name, self.stage.lines(&words));
        }
    }
}
