//! Bad input: each is told with the object's name and a remedy, and nothing else suffers.
//!
//! Tests that use the world share one broker, which must not have ended, panicked or become busy at the end of each.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod acceptances;
mod command_line;
mod kinds;
mod kubeconfigs;
mod objects;
mod permissions;

use std::fs;

use e2e::{
    Broker, BrokerSetup, Kind, Object, Place, Shared, World,
    kind::{ACCEPT_API, CERTIFICATE, WIDGET},
};
use futures::FutureExt as _;
use serde_json::json;

/// A consumer.
const HOMER: &str = "homer";
/// A consumer where the broker is the user `limited`.
const BART: &str = "bart";
/// A provider.
const THESEUS: &str = "theseus";
/// A provider where the broker is the user `limited`, and whose AcceptAPIs are not validated.
const MINOS: &str = "minos";

/// A kind that consumers serve without namespaces.
const CLUSTERED: Kind = Kind::test("Clustered", "clustereds");
/// A kind that consumers serve without status.
const STATUSLESS: Kind = Kind::test("Statusless", "statuslesses");
/// A kind of which the provider knows fewer fields.
const NARROW: Kind = Kind::test("Narrow", "narrows");

/// What the broker watches.
const KINDS: [Kind; 5] = [CERTIFICATE, WIDGET, CLUSTERED, STATUSLESS, NARROW];

/// Namespace of cluster Secrets.
const SECRETS: &str = "clusters";

static WORLD: Shared = Shared::new(|| start().boxed_local());

/// What `limited` may do in a provider: all that the broker needs but to make namespaces and to list Secrets.
const LIMITED_PROVIDER: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: limited}
rules:
- {apiGroups: [example.platform-mesh.io, e2e.test], resources: ['*'], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [broker.platform-mesh.io], resources: [acceptapis], verbs: [get, list, watch, patch]}
- {apiGroups: [broker.platform-mesh.io], resources: [acceptapis/status], verbs: [patch]}
- {apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [list, watch]}
- {apiGroups: [''], resources: [namespaces], verbs: [get]}
";

/// What `limited` may do in a consumer: all but to write the status.
const LIMITED_CONSUMER: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: limited}
rules:
- {apiGroups: [example.platform-mesh.io, e2e.test], resources: ['*'], verbs: [get, list, watch]}
- {apiGroups: [example.platform-mesh.io], resources: [certificates], verbs: [patch]}
- {apiGroups: [''], resources: [secrets, configmaps], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [list, watch]}
- {apiGroups: [''], resources: [namespaces], verbs: [get]}
";

const BINDING: &str = "
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: limited}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: limited}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: limited}]
";

async fn start() -> World {
    let world = World::modelled(&[HOMER, BART], &[THESEUS, MINOS], &[CERTIFICATE, WIDGET]).await;
    let [homer, bart, theseus, minos] = cast(&world);
    let any = || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let text = || json!({"type": "string"});
    let mut clustered = CLUSTERED.crd();
    clustered["spec"]["scope"] = json!("Cluster");
    let statusless = STATUSLESS.crd_with(&json!({"spec": any(), "status": any()}), false);
    let narrow = |properties| {
        NARROW.crd_with(&json!({"spec": {"type": "object", "properties": properties}, "status": any()}), true)
    };
    let wide = narrow(json!({"color": text(), "flavour": text()}));
    let narrow = narrow(json!({"color": text()}));
    // Without a schema the API server takes AcceptAPIs that ours refuses.
    let mut unchecked = ACCEPT_API.crd();
    let root = &mut unchecked["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    *root = json!({"spec": any(), "status": any()});
    let homer_crds = [&clustered, &statusless, &wide].map(ToString::to_string).join("\n---\n");
    let theseus_crds = [&CLUSTERED.crd(), &STATUSLESS.crd(), &narrow].map(ToString::to_string).join("\n---\n");
    tokio::join!(
        homer.apply(&homer_crds),
        theseus.apply(&theseus_crds),
        async { bart.apply(&format!("{LIMITED_CONSUMER}{BINDING}")).await },
        async {
            minos.apply(&unchecked.to_string()).await;
            minos.apply(&format!("{LIMITED_PROVIDER}{BINDING}")).await
        },
        world.hub.make_namespace(SECRETS),
    );
    let folder = |name: &str| world.lab.directory().join(name);
    for (role, place, user) in [
        ("consumers", homer, "broker"),
        ("consumers", bart, "limited"),
        ("providers", theseus, "broker"),
        ("providers", minos, "limited"),
    ] {
        fs::create_dir_all(folder(role)).unwrap();
        place.cluster.write_kubeconfig(user, &folder(role).join(format!("{}.kubeconfig", place.name()))).unwrap();
    }
    let args = [
        "--consumer-kubeconfig-dir".to_owned(),
        folder("consumers").display().to_string(),
        "--provider-kubeconfig-dir".to_owned(),
        folder("providers").display().to_string(),
        "--cluster-secrets-namespace".to_owned(),
        SECRETS.to_owned(),
    ];
    let setup = BrokerSetup {
        name: "broker",
        coordination: Some(&world.hub),
        kinds: &KINDS,
        args: args.to_vec(),
        ..BrokerSetup::default()
    };
    let broker = Broker::start(&world.lab, &setup).await;
    *world.broker().await = Some(broker);
    world
}

/// Both consumers, then both providers.
fn cast(world: &World) -> [&Place; 4] {
    [world.consumer(HOMER), world.consumer(BART), world.provider(THESEUS), world.provider(MINOS)]
}

/// Whether the object is placed and said so.
fn placed(seen: &Object) -> bool {
    seen.has("Brokered", "True", "Placed")
}

/// The broker still runs, and nothing in it has panicked.
async fn unharmed(world: &World) {
    let mut guard = world.broker().await;
    let broker = guard.as_mut().unwrap();
    assert!(broker.process().is_running(), "{}", broker.last_lines(40));
    assert!(!broker.log().contains("panicked"), "{}", broker.log());
    let (code, body) = broker.health("/readyz").await.unwrap();
    assert_eq!(code, 200, "{body}");
}
