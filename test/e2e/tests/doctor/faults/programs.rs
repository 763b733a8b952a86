//! The programs beside the broker, as the coordination cluster has them: the operator, and the controller of
//! ResourceGraphDefinitions with its kinds, roles and Lease.

use broker_api::graphs::keys;
use e2e::{Kind, kind::CRD};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    diagnosis::symptom,
    installation::{SYSTEM, TAG},
    program::{LEASE, Program},
    rights::CLUSTER_ROLE_BINDING,
    rounds::Rounds,
};

const SERVICE_ACCOUNT: Kind = Kind { group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts" };

const GRAPHS: Program = Program { label: "resource-graphs", name: "graphs", account: "graphs" };
const OPERATOR: Program =
    Program { label: "resource-broker-operator", name: "resource-broker-operator", account: "operator" };

/// What the graphs controller may do.
const ROLES: &str = include_str!("../../../../../config/rbac/graphs-roles.yaml");
/// Its kinds.
const DEFINITIONS: &str = include_str!("../../../../../config/crd-graphs/kro.run_resourcegraphdefinitions.yaml");
const REVISIONS: &str = include_str!("../../../../../config/crd-graphs/internal.kro.run_graphrevisions.yaml");

pub(crate) async fn faults(rounds: &mut Rounds<'_>) {
    graphs(rounds).await;
    operator(rounds).await;
}

fn place(program: Program) -> String {
    format!("coordination#coordination Deployment {SYSTEM}/{}", program.name)
}

/// What lets it take its Lease.
fn lease_binding() -> Value {
    let mut binding = binding();
    binding["kind"] = json!("RoleBinding");
    binding["metadata"]["namespace"] = json!(SYSTEM);
    binding["roleRef"]["name"] = json!("resource-broker-graphs-lease");
    binding
}

fn binding() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": GRAPHS.account},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "resource-broker-graphs"},
        "subjects": [{"kind": "ServiceAccount", "name": GRAPHS.account, "namespace": SYSTEM}],
    })
}

async fn graphs(rounds: &mut Rounds<'_>) {
    let hub = &rounds.at.hub;
    let place = place(GRAPHS);
    for yaml in [DEFINITIONS, REVISIONS, ROLES] {
        hub.apply(yaml).await;
    }
    hub.apply(&SERVICE_ACCOUNT.object(SYSTEM, GRAPHS.account, &json!({})).to_string()).await;
    hub.apply(&binding().to_string()).await;
    hub.apply(&lease_binding().to_string()).await;
    GRAPHS.deploy(hub, TAG, &[]).await;
    GRAPHS.work(hub, 1).await;

    rounds
        .fault(
            "no instance of the graphs controller works",
            &[symptom("deployment", &place, "none of its 1 instances works: no ResourceGraphDefinition is served")],
            async || GRAPHS.work(hub, 0).await,
            async || GRAPHS.work(hub, 1).await,
        )
        .await;
    rounds
        .fault(
            "the graphs controller has lost its role",
            &[symptom("permissions", &place, "patch resourcegraphdefinitions/status.kro.run")],
            async || hub.delete(&CLUSTER_ROLE_BINDING, "", GRAPHS.account).await,
            async || drop(hub.apply(&binding().to_string()).await),
        )
        .await;
    let renewed = format!("{:.6}", Timestamp::now());
    rounds
        .fault(
            "no graphs controller has ever led",
            &[symptom(
                "lease",
                &format!("coordination#coordination Lease {SYSTEM}/{}", keys::LEASE),
                "it is not there: no graphs controller has ever led",
            )],
            async || GRAPHS.deploy(hub, TAG, &["--leader-elect".to_owned()]).await,
            async || {
                let spec = json!({"holderIdentity": "graphs", "leaseDurationSeconds": 3600, "renewTime": renewed});
                hub.create(&LEASE, SYSTEM, keys::LEASE, json!({"spec": spec})).await;
            },
        )
        .await;
    // From here on it takes part in an election.
    let revisions = "graphrevisions.internal.kro.run";
    rounds
        .fault(
            "a CRD of the graphs controller is missing",
            &[symptom("crd", "coordination#coordination", "kind GraphRevision of internal.kro.run is not served")],
            async || {
                hub.delete(&CRD, "", revisions).await;
                hub.until_gone(&CRD, "", revisions).await;
            },
            async || drop(hub.apply(REVISIONS).await),
        )
        .await;
    hub.delete(&LEASE, SYSTEM, keys::LEASE).await;
    GRAPHS.remove(hub).await;
}

async fn operator(rounds: &mut Rounds<'_>) {
    let hub = &rounds.at.hub;
    rounds
        .fault(
            "the operator does not work, and its kind is not there",
            &[
                symptom(
                    "deployment",
                    &place(OPERATOR),
                    "none of its 1 instances works: no Broker is brought up to date",
                ),
                symptom("crd", "coordination#coordination", "kind Broker of operator.broker.platform-mesh.io"),
            ],
            async || OPERATOR.deploy(hub, TAG, &[]).await,
            async || OPERATOR.remove(hub).await,
        )
        .await;
}
