//! What the controller's user may do: the roles that kro's own installation gives, and no verb more.
//!
//! The harness runs no controller that aggregates ClusterRoles, so each role is bound by itself: to the API server that is
//! the same.

use crate::{DEADLINE, Kind, Place};
use harness::wait_for;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

use super::controller::GRAPHS;

const ROLE: Kind =
    Kind { group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRole", plural: "clusterroles" };
const BINDING: Kind = Kind { kind: "ClusterRoleBinding", plural: "clusterrolebindings", ..ROLE };

/// All verbs that children need.
pub const CHILD: [&str; 7] = ["create", "get", "list", "watch", "update", "patch", "delete"];
/// What instances need: they are never deleted by us.
const INSTANCE: [&str; 6] = ["create", "get", "list", "watch", "update", "patch"];

/// One rule of a role.
pub fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// All that is needed for instances of a kind.
pub fn instances(kind: &Kind) -> Value {
    rule(kind.group, &[kind.plural, &format!("{}/status", kind.plural)], &INSTANCE)
}

/// All that is needed for children of a kind.
pub fn children(kind: &Kind) -> Value {
    rule(kind.group, &[kind.plural, &format!("{}/status", kind.plural)], &CHILD)
}

/// A role with these rules, bound to the controller's user.
pub async fn grant(place: &Place, name: &str, rules: Vec<Value>) {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": {"rbac.kro.run/aggregate-to-controller": "true"}},
        "rules": rules,
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": GRAPHS}],
    });
    tokio::join!(place.put(&ROLE, &role), place.put(&BINDING, &binding));
    for rule in &rules {
        until_allowed(place, rule).await;
    }
}

/// API servers learn of a role from a watch of their own.
async fn until_allowed(place: &Place, rule: &Value) {
    until(place, rule, true).await;
}

/// The same where it is taken away.
pub async fn until_denied(place: &Place, rule: &Value) {
    until(place, rule, false).await;
}

async fn until(place: &Place, rule: &Value, allowed: bool) {
    let review: SubjectAccessReview = serde_json::from_value(json!({"spec": {
        "user": GRAPHS,
        "groups": ["system:authenticated"],
        "resourceAttributes": {
            "group": rule["apiGroups"][0], "resource": rule["resources"][0], "verb": rule["verbs"][0],
            "name": rule["resourceNames"][0],
        },
    }}))
    .unwrap();
    let reviews: Api<SubjectAccessReview> = Api::all(place.client());
    let what = format!("{rule} to be granted: {allowed}");
    let waited = wait_for(DEADLINE, &what, async || {
        let answer = reviews.create(&PostParams::default(), &review).await?;
        let is = answer.status.is_some_and(|status| status.allowed);
        anyhow::ensure!(is == allowed, "{is}");
        Ok(())
    });
    waited.await.unwrap_or_else(|error| panic!("{error:#}"));
}

/// The static role, and the children that most tests use.
pub async fn install(place: &Place) {
    let own = ["get", "list", "watch", "update", "patch"];
    let fixed = vec![
        rule("apiextensions.k8s.io", &["customresourcedefinitions"], &CHILD),
        rule(
            "kro.run",
            &["resourcegraphdefinitions", "resourcegraphdefinitions/status", "resourcegraphdefinitions/finalizers"],
            &own,
        ),
        rule("internal.kro.run", &["graphrevisions", "graphrevisions/status", "graphrevisions/finalizers"], &CHILD),
        rule("", &["configmaps"], &CHILD),
        rule("coordination.k8s.io", &["leases"], &CHILD),
        rule("", &["events"], &["create", "patch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
    ];
    let common = vec![
        rule("", &["secrets", "services", "serviceaccounts"], &CHILD),
        rule("apps", &["deployments"], &CHILD),
        rule("autoscaling", &["horizontalpodautoscalers"], &CHILD),
    ];
    tokio::join!(grant(place, "graphs-static", fixed), grant(place, "graphs-children", common));
}
