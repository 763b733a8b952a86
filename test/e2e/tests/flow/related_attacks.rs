//! Related resources as a way in: A6, A7 and A8. Each entry is refused with an Event, and its neighbours still arrive.

use e2e::{
    Kind, Object, Place, Scene,
    kind::{CERTIFICATE, CONFIG_MAP, CRD, POD, SECRET},
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, SECOND, THESEUS, WORLD};

/// A served object with a ConfigMap `good` that its provider lists, to which tests add what is refused.
struct Listed<'a> {
    scene: Scene<'a>,
    consumer: &'a Place,
    provider: &'a Place,
    copy: Object,
}

impl<'a> Listed<'a> {
    async fn new(name: &str, consumer: &'a Place, provider: &'a Place, accept: Value, world: &'a e2e::World) -> Self {
        let scene = Scene::new(world, name, &[consumer]).await;
        let mut accept = if accept.is_object() { accept } else { json!({}) };
        accept["relatedNames"] = json!(["*"]);
        scene.accept(provider, accept).await;
        scene.certificate(consumer, "www").await;
        let copy = scene.copy(consumer, "www", provider).await;
        provider.create(&CONFIG_MAP, scene.ns(), "good", json!({"data": {"a": "b"}})).await;
        Self { scene, consumer, provider, copy }
    }

    /// Lists `entries` beside the good one, and waits until the good one has arrived.
    async fn list(&self, entries: Value) {
        let mut related = entries;
        related["good"] = json!({"gvk": CONFIG_MAP.gvk(), "name": "good"});
        let ns = self.scene.ns();
        self.provider.set_status(&CERTIFICATE, ns, self.copy.name(), json!({"relatedResources": related})).await;
        self.consumer.until_there(&CONFIG_MAP, ns, "good").await;
    }

    async fn refused(&self, words: &str) {
        let told = |event: &e2e::Told| event.message.contains(words);
        self.consumer.until_event(self.scene.ns(), "www", "RelatedRefused", told).await;
    }

    /// Asserts that the consumer's namespace has no other object of these kinds than the good one.
    async fn nothing_else(&self, kinds: &[Kind]) {
        self.scene.barrier(self.consumer, self.provider).await;
        for kind in kinds {
            let here = self.consumer.list(kind, self.scene.ns()).await;
            let mut names = here.iter().map(Object::name).filter(|name| !["good", "kube-root-ca.crt"].contains(name));
            assert_eq!(names.next(), None, "{here:?}");
        }
    }
}

#[test]
fn a6_a_reference_into_another_namespace_is_refused() {
    WORLD.run(async |world| {
        let (second, ariadne) = (world.consumer(SECOND), world.provider(ARIADNE));
        let listed = Listed::new("attack-a6-namespace", second, ariadne, Value::Null, world).await;
        ariadne.make_namespace("attack-a6-vault").await;
        ariadne.create(&SECRET, "attack-a6-vault", "root", json!({"stringData": {"a": "b"}})).await;
        listed.list(json!({"bad": {"gvk": SECRET.gvk(), "name": "root", "namespace": "attack-a6-vault"}})).await;
        listed.refused("another namespace").await;
        listed.nothing_else(&[SECRET]).await;
    });
}

#[test]
fn a6_another_tenants_secret_is_refused() {
    WORLD.run(async |world| {
        let (homer, second, ariadne) = (world.consumer(HOMER), world.consumer(SECOND), world.provider(ARIADNE));
        let listed = Listed::new("attack-a6-tenant", second, ariadne, Value::Null, world).await;
        let ns = listed.scene.ns();
        homer.make_namespace(ns).await;
        // The other tenant's object of the same name and namespace, with two Secrets: one is known by its name, the
        // other by the copy that owns it.
        listed.scene.certificate(homer, "www").await;
        let theirs = listed.scene.copy(homer, "www", ariadne).await;
        let by_name = format!("{}-tls", theirs.name());
        ariadne.create(&SECRET, ns, &by_name, json!({"stringData": {"a": "b"}})).await;
        let owner = json!([{
            "apiVersion": CERTIFICATE.api_version(), "kind": "Certificate", "name": theirs.name(), "uid": theirs.uid(),
        }]);
        let body = json!({"metadata": {"ownerReferences": owner}, "stringData": {"a": "b"}});
        ariadne.create(&SECRET, ns, "owned", body).await;
        listed
            .list(json!({
                "name": {"gvk": SECRET.gvk(), "name": by_name},
                "owner": {"gvk": SECRET.gvk(), "name": "owned"},
            }))
            .await;
        listed.refused("prefix of another consumer").await;
        listed.refused("belongs to another object").await;
        listed.nothing_else(&[SECRET]).await;
    });
}

#[test]
fn a7_tokens_are_refused() {
    WORLD.run(async |world| {
        let (second, theseus) = (world.consumer(SECOND), world.provider(THESEUS));
        let listed = Listed::new("attack-a7", second, theseus, Value::Null, world).await;
        let ns = listed.scene.ns();
        // The controller manager makes the ServiceAccount, without which it would remove the token again.
        let account = Kind::core("ServiceAccount", "serviceaccounts");
        theseus.until_there(&account, ns, "default").await;
        let annotations = json!({"kubernetes.io/service-account.name": "default"});
        let token = json!({"metadata": {"annotations": annotations}, "type": "kubernetes.io/service-account-token"});
        theseus.create(&SECRET, ns, "token", token).await;
        let bootstrap = json!({"type": "bootstrap.kubernetes.io/token", "stringData": {"token-id": "abcdef"}});
        theseus.create(&SECRET, ns, "bootstrap", bootstrap).await;
        listed
            .list(json!({
                "token": {"gvk": SECRET.gvk(), "name": "token"},
                "bootstrap": {"gvk": SECRET.gvk(), "name": "bootstrap"},
            }))
            .await;
        listed.refused("kubernetes.io/service-account-token").await;
        listed.refused("bootstrap.kubernetes.io/token").await;
        listed.nothing_else(&[SECRET]).await;
    });
}

#[test]
fn a8_kinds_that_are_not_allowed_are_refused() {
    WORLD.run(async |world| {
        let (second, ariadne) = (world.consumer(SECOND), world.provider(ARIADNE));
        let listed = Listed::new("attack-a8", second, ariadne, Value::Null, world).await;
        let rbac = |kind, plural| Kind { group: "rbac.authorization.k8s.io", version: "v1", kind, plural };
        let (role, cluster_role) = (rbac("Role", "roles"), rbac("ClusterRoleBinding", "clusterrolebindings"));
        let webhook = Kind {
            group: "admissionregistration.k8s.io",
            version: "v1",
            kind: "ValidatingWebhookConfiguration",
            plural: "validatingwebhookconfigurations",
        };
        let rules = json!({"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]});
        ariadne.create(&role, listed.scene.ns(), "evil", rules).await;
        // A group that is not the core group, with a kind of the core group's name.
        let masquerade = Kind { group: "e2e.test", version: "v1", kind: "Secret", plural: "secrets" };
        let name = "evil";
        listed
            .list(json!({
                "role": {"gvk": role.gvk(), "name": name},
                "binding": {"gvk": cluster_role.gvk(), "name": name},
                "webhook": {"gvk": webhook.gvk(), "name": name},
                "crd": {"gvk": CRD.gvk(), "name": name},
                "pod": {"gvk": POD.gvk(), "name": name},
                "secret": {"gvk": masquerade.gvk(), "name": name},
            }))
            .await;
        for kind in [
            "kind Role",
            "kind ClusterRoleBinding",
            "kind ValidatingWebhookConfiguration",
            "kind Custom",
            "kind Pod",
            "kind Secret (e2e.test/v1)",
        ] {
            listed.refused(kind).await;
        }
        listed.nothing_else(&[role, POD, SECRET]).await;
    });
}

#[test]
fn an_accept_api_narrows_the_kinds_and_names_are_names() {
    WORLD.run(async |world| {
        let (second, theseus) = (world.consumer(SECOND), world.provider(THESEUS));
        let narrowed = json!({"relatedKinds": ["ConfigMap"]});
        let listed = Listed::new("attack-narrowed", second, theseus, narrowed, world).await;
        theseus.create(&SECRET, listed.scene.ns(), "tls", json!({"stringData": {"a": "b"}})).await;
        listed
            .list(json!({
                "secret": {"gvk": SECRET.gvk(), "name": "tls"},
                "path": {"gvk": CONFIG_MAP.gvk(), "name": "../../../namespaces/kube-system"},
            }))
            .await;
        listed.refused("relatedKinds").await;
        listed.refused("not a valid object name").await;
        listed.nothing_else(&[SECRET]).await;
    });
}
