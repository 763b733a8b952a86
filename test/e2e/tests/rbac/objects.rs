//! One Certificate's life, and all that may happen to it; AcceptAPIs; clusters, kinds and namespaces that come and go.

use broker_api::keys;
use e2e::{
    Kind, Object, Place, Scene,
    kind::{ACCEPT_API, CERTIFICATE, CONFIG_MAP, NAMESPACE, SECRET},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::cast::Cast;

/// The namespace of the cluster Secrets.
const CLUSTERS: &str = "resource-broker-clusters";

/// Namespace of names that are taken, and the stem of some.
const TAKEN: &str = "rbac-taken";
const NEXT: &str = "next";

/// Both kinds of related resources, and the field that holds their content.
pub(crate) const RELATED: [(Kind, &str); 2] = [(SECRET, "stringData"), (CONFIG_MAP, "data")];

/// Makes both related resources of a copy, and a status that lists them.
pub(crate) async fn bring_up(provider: &Place, copy: &Object) {
    make_related(provider, copy.namespace(), copy.name()).await;
    list_related(provider, copy, copy.name()).await;
}

/// Makes `<stem>-secrets` and `<stem>-configmaps`.
async fn make_related(provider: &Place, namespace: &str, stem: &str) {
    for (kind, field) in RELATED {
        let content = json!({field: {"provider": provider.name()}});
        provider.create(&kind, namespace, &format!("{stem}-{}", kind.plural), content).await;
    }
}

async fn list_related(provider: &Place, copy: &Object, stem: &str) {
    let mut related = json!({});
    for (kind, _) in RELATED {
        let name = format!("{stem}-{}", kind.plural);
        related[kind.plural] = json!({"gvk": kind.gvk(), "name": name, "namespace": copy.namespace()});
    }
    let status = json!({"status": "Available", "relatedResources": related});
    provider.set_status(&CERTIFICATE, copy.namespace(), copy.name(), status).await;
}

/// Everything but moves.
pub(crate) async fn scenario(cast: &Cast) {
    // Nobody listens to these names, and they are not those of copies: the broker will have to read them.
    cast.ariadne.make_namespace(TAKEN).await;
    make_related(&cast.ariadne, TAKEN, NEXT).await;
    clusters(cast).await;
    a_namespace_that_is_made_and_goes(cast).await;
    accept_apis(cast).await;
    a_certificate(cast).await;
    an_orphan(cast).await;
    names_that_are_taken(cast).await;
}

/// What of it the coordination cluster sees: a cluster that is refused, and one that comes. Theseus gets its CRD.
pub(crate) async fn clusters(cast: &Cast) {
    a_cluster_that_is_refused(cast).await;
    a_kind_that_comes(cast).await;
    cast.engage(&cast.ariadne, "provider").await;
}

async fn a_cluster_that_is_refused(cast: &Cast) {
    let users = "[{name: me, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: id}}}]";
    let kubeconfig = format!(
        "{{apiVersion: v1, kind: Config, current-context: it, contexts: [{{name: it, context: {{cluster: it, user: me}}}}], \
         clusters: [{{name: it, cluster: {{server: https://127.0.0.1:1}}}}], users: {users}}}"
    );
    let labels = json!({"labels": {"broker.platform-mesh.io/role": "provider"}});
    let body = json!({"metadata": labels, "stringData": {"kubeconfig": kubeconfig}});
    let hub = &cast.world.hub;
    hub.create(&SECRET, CLUSTERS, "refused", body).await;
    hub.until_event(CLUSTERS, "refused", "KubeconfigRejected", |told| told.message.contains("exec")).await;
    hub.delete(&SECRET, CLUSTERS, "refused").await;
}

/// Theseus gets its CRD now.
async fn a_kind_that_comes(cast: &Cast) {
    let scene = Scene::new(&cast.world, "rbac-comes", &[&cast.homer]).await;
    let accept = scene.accept(&cast.theseus, Value::Null).await;
    let waits = |seen: &Object| seen.has("Ready", "False", "KindMissing");
    cast.theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, "to miss its kind", waits).await;
    cast.theseus.apply(&CERTIFICATE.crd().to_string()).await;
    let ready = |seen: &Object| seen.has("Ready", "True", "Ready");
    cast.theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, "to be in use", ready).await;
    cast.theseus.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
}

async fn a_namespace_that_is_made_and_goes(cast: &Cast) {
    let scene = Scene::new(&cast.world, "rbac-passing", &[&cast.homer]).await;
    let accept = scene.accept(&cast.theseus, Value::Null).await;
    scene.certificate(&cast.homer, "web").await;
    scene.copy(&cast.homer, "web", &cast.theseus).await;
    cast.homer.delete(&CERTIFICATE, scene.ns(), "web").await;
    cast.homer.until_gone(&CERTIFICATE, scene.ns(), "web").await;
    cast.theseus.until_gone(&NAMESPACE, "", scene.ns()).await;
    cast.theseus.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
}

/// One with the Go broker's finalizer, and one that cannot be used.
async fn accept_apis(cast: &Cast) {
    let scene = Scene::new(&cast.world, "rbac-accept", &[&cast.homer]).await;
    let held = scene.accept(&cast.ariadne, Value::Null).await;
    let finalizers = json!({"metadata": {"finalizers": [keys::ACCEPTAPI_FINALIZER]}});
    cast.ariadne.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &held, finalizers).await;
    cast.ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &held).await;
    cast.ariadne.until_gone(&ACCEPT_API, ACCEPT_NAMESPACE, &held).await;
    let invalid = scene.accept(&cast.ariadne, json!({"expression": "self."})).await;
    let told = |seen: &Object| seen.has("Ready", "False", "Invalid");
    cast.ariadne.until(&ACCEPT_API, ACCEPT_NAMESPACE, &invalid, "to be refused", told).await;
    cast.ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &invalid).await;
}

/// From its creation to its end, with both related resources rotated, spoiled and withdrawn.
async fn a_certificate(cast: &Cast) {
    let (homer, ariadne) = (&cast.homer, &cast.ariadne);
    let scene = Scene::new(&cast.world, "rbac-life", &[homer]).await;
    let accept = scene.accept(ariadne, Value::Null).await;
    scene.certificate(homer, "web").await;
    let copy = scene.copy(homer, "web", ariadne).await;
    bring_up(ariadne, &copy).await;
    scene.until(homer, "web", "its status", |seen| seen.text("/status/status") == "Available").await;
    for (kind, field) in RELATED {
        let (theirs, ours) = (format!("{}-{}", copy.name(), kind.plural), format!("web-{}", kind.plural));
        homer.until_there(&kind, scene.ns(), &ours).await;
        ariadne.edit(&kind, scene.ns(), &theirs, json!({field: {"more": "yes"}})).await;
        homer.until(&kind, scene.ns(), &ours, "to be rotated", |seen| !seen.at("/data/more").is_null()).await;
    }
    let wanted = scene.fqdn("edited");
    homer.edit(&CERTIFICATE, scene.ns(), "web", json!({"spec": {"fqdn": wanted}})).await;
    scene.copy_until(homer, "web", ariadne, "the edit", |seen| seen.text("/spec/fqdn") == wanted).await;
    ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"relatedResources": null})).await;
    for (kind, _) in RELATED {
        homer.until_gone(&kind, scene.ns(), &format!("web-{}", kind.plural)).await;
    }
    homer.delete(&CERTIFICATE, scene.ns(), "web").await;
    homer.until_gone(&CERTIFICATE, scene.ns(), "web").await;
    ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
}

/// Its finalizer was forced off: the broker makes sure that it is gone, and removes the copy.
async fn an_orphan(cast: &Cast) {
    let (homer, ariadne) = (&cast.homer, &cast.ariadne);
    let scene = Scene::new(&cast.world, "rbac-orphan", &[homer]).await;
    let accept = scene.accept(ariadne, Value::Null).await;
    scene.certificate(homer, "web").await;
    let copy = scene.copy(homer, "web", ariadne).await;
    // While it is paused the broker does not put its finalizer back.
    let paused = json!({"metadata": {"annotations": {keys::PAUSED: "true"}}});
    homer.edit(&CERTIFICATE, scene.ns(), "web", paused).await;
    scene.barrier(homer, ariadne).await;
    homer.edit(&CERTIFICATE, scene.ns(), "web", json!({"metadata": {"finalizers": null}})).await;
    homer.delete(&CERTIFICATE, scene.ns(), "web").await;
    homer.until_gone(&CERTIFICATE, scene.ns(), "web").await;
    ariadne.until_gone(&CERTIFICATE, scene.ns(), copy.name()).await;
    ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
}

/// Somebody's objects have the names of a copy, and of what comes back: both are told.
async fn names_that_are_taken(cast: &Cast) {
    let (homer, ariadne) = (&cast.homer, &cast.ariadne);
    let scene = Scene::new(&cast.world, TAKEN, &[homer]).await;
    let accept = scene.accept(ariadne, Value::Null).await;
    let taken = homer.copy_name("web");
    ariadne.create(&CERTIFICATE, scene.ns(), &taken, json!({"spec": {"fqdn": scene.fqdn("own")}})).await;
    scene.certificate(homer, "web").await;
    ariadne.until_event(scene.ns(), &taken, "NameConflict", |_| true).await;
    homer.until_event(scene.ns(), "web", "NameConflict", |_| true).await;

    for (kind, _) in RELATED {
        homer.create(&kind, scene.ns(), &format!("{NEXT}-{}", kind.plural), json!({})).await;
    }
    scene.certificate(homer, NEXT).await;
    let copy = scene.copy(homer, NEXT, ariadne).await;
    list_related(ariadne, &copy, NEXT).await;
    for (kind, _) in RELATED {
        let name = format!("{NEXT}-{}", kind.plural);
        homer.until_event(scene.ns(), NEXT, "RelatedConflict", |told| told.message.contains(&name)).await;
    }
    for name in ["web", NEXT] {
        homer.delete(&CERTIFICATE, scene.ns(), name).await;
        homer.until_gone(&CERTIFICATE, scene.ns(), name).await;
    }
    ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
}

/// The next leader works, too. Its keys are in this namespace.
pub(crate) async fn after_hand_over(cast: &Cast, namespace: &str) {
    let scene = Scene::new(&cast.world, "rbac-next", &[&cast.homer]).await;
    scene.accept(&cast.theseus, Value::Null).await;
    scene.certificate(&cast.homer, "web").await;
    scene.copy(&cast.homer, "web", &cast.theseus).await;
    cast.homer.delete(&CERTIFICATE, scene.ns(), "web").await;
    cast.homer.until_gone(&CERTIFICATE, scene.ns(), "web").await;
    cast.theseus.until_gone(&NAMESPACE, "", scene.ns()).await;
    a_key_is_added(&cast.world.hub, namespace).await;
}

/// A person adds a signing key: the copy of the keys follows.
async fn a_key_is_added(hub: &Place, ns: &str) {
    let first = hub.get(&SECRET, ns, keys::SIGNING_KEY_SECRET).await;
    let signs = first.at("/data").as_object().and_then(|data| data.keys().next().cloned()).unwrap();
    let added = json!({"stringData": {"added": "0123456789".repeat(4), "primary": signs}});
    let wanted = hub.edit(&SECRET, ns, keys::SIGNING_KEY_SECRET, added).await.at("/data").clone();
    hub.until(&SECRET, ns, keys::SIGNING_KEY_BACKUP, "the added key", |seen| seen.at("/data") == &wanted).await;
}
