//! What graphs controllers do, with what the operator grants them and what the cluster's owners add.

use e2e::{
    Kind, Object, Place,
    kind::{CONFIG_MAP, CRD, EVENT},
};
use manifests::usage::Request;
use serde_json::json;

use crate::{
    cast::Cast,
    operator::{DEPLOYMENT, TEAM},
    owner::arguments,
    pair::Pair,
};

/// Name of the ServiceAccount, and of the Deployment.
const NAME: &str = "broker-graphs";

const RGD: Kind =
    Kind { group: "kro.run", version: "v1alpha1", kind: "ResourceGraphDefinition", plural: "resourcegraphdefinitions" };
const REVISION: Kind =
    Kind { group: "internal.kro.run", version: "v1alpha1", kind: "GraphRevision", plural: "graphrevisions" };
const LINKED: Kind = Kind { group: "kro.run", version: "v1alpha1", kind: "Linked", plural: "linkeds" };

/// What the author of the RGD adds, beside the rules for ConfigMaps.
const ROLE: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: linkeds
  labels: {rbac.kro.run/aggregate-to-controller: "true"}
rules:
- {apiGroups: [kro.run], resources: [linkeds], verbs: [get, list, watch, patch, delete]}
- {apiGroups: [kro.run], resources: [linkeds/status], verbs: [patch]}
"#;

/// The RGD, with a text that makes another revision of it.
fn rgd(text: &str) -> String {
    json!({
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": "linked"},
        "spec": {
            "schema": {"apiVersion": "v1alpha1", "kind": "Linked", "spec": {"text": "string"}},
            "resources": [{"id": "config", "template": {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "${schema.metadata.name}"},
                "data": {"text": "${schema.spec.text}", "of": text},
            }}],
        },
    })
    .to_string()
}

async fn is_held(hub: &Place, text: &str) {
    let says = |seen: &Object| seen.text("/data/of") == text;
    hub.until(&CONFIG_MAP, TEAM, "linked", &format!("to say {text}"), says).await;
}

/// What the scenario does not bring about.
pub(crate) fn besides() -> Vec<Request> {
    let asked = |kind: &Kind, resource: &str, verb: &str, name: &str| Request {
        group: kind.group.to_owned(),
        resource: resource.to_owned(),
        verb: verb.to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    };
    vec![
        // A revision blocks the deletion of its owner: some clusters ask who may have it do so.
        asked(&RGD, "resourcegraphdefinitions/finalizers", "update", "linked"),
        // Where memory is short, contents are dropped, and read when they are needed.
        asked(&RGD, RGD.plural, "get", "linked"),
        asked(&CRD, CRD.plural, "get", "linkeds.kro.run"),
    ]
}

/// All of it: an RGD that becomes a kind, an instance, more revisions than are kept, errors, another leader, the end.
pub(crate) async fn scenario(cast: &Cast) {
    let hub = &cast.world.hub;
    let owner = cast.owner(hub);
    owner.apply_text(ROLE);
    let file = owner.account_file(hub, TEAM, NAME);
    let args = arguments(&hub.get(&DEPLOYMENT, TEAM, NAME).await);
    let args = args.chain([format!("--kubeconfig={}", file.display())]).collect();
    let mut both = Pair::start(&cast.world.lab, "resource-graphs", args).await;
    hub.apply(&rgd("first")).await;
    hub.until(&RGD, "", "linked", "to be served", |seen| seen.text("/status/state") == "Active").await;
    hub.create(&LINKED, TEAM, "linked", json!({"spec": {"text": "a"}})).await;
    is_held(hub, "first").await;
    hub.delete(&CONFIG_MAP, TEAM, "linked").await;
    for number in 2..=7 {
        let text = format!("number {number}");
        hub.apply(&rgd(&text)).await;
        is_held(hub, &text).await;
    }
    hub.until_gone(&REVISION, "", "linked-r00001").await;
    hub.apply(&rgd("${none}")).await;
    hub.until(&RGD, "", "linked", "to be refused", |seen| seen.text("/status/state") == "Inactive").await;
    hub.until_event("", "linked", "InvalidResourceGraph", |_| true).await;
    let refused = |event: &Object| {
        event.text("/reason") == "InvalidResourceGraph" && event.text("/involvedObject/name") == "linked"
    };
    for event in hub.list(&EVENT, "").await.iter().filter(|event| refused(event)) {
        hub.delete(&EVENT, event.namespace(), event.name()).await;
    }
    both.hand_over().await;
    // The one that stood by has known that all along, and tells it now.
    hub.until_event("", "linked", "InvalidResourceGraph", |_| true).await;
    // Somebody takes away what was issued last: it is asked for before another one gets its number.
    hub.delete(&REVISION, "", "linked-r00007").await;
    hub.edit(&REVISION, "", "linked-r00007", json!({"metadata": {"finalizers": null}})).await;
    hub.until_gone(&REVISION, "", "linked-r00007").await;
    hub.apply(&rgd("last")).await;
    is_held(hub, "last").await;
    hub.until_there(&REVISION, "", "linked-r00008").await;
    hub.delete(&RGD, "", "linked").await;
    hub.until_gone(&RGD, "", "linked").await;
    hub.until_gone(&CRD, "", "linkeds.kro.run").await;
    hub.until_gone(&CONFIG_MAP, TEAM, "linked").await;
    both.unharmed();
}
