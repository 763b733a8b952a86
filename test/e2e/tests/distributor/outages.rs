//! Spokes that nobody can reach, and such that are not what they were.

use e2e::{Object, kind::SECRET};
use serde_json::json;

use super::{
    fleet::{Fleet, PEACE, ROLLOUT, SECRETS, SPOKES, note},
    reasons::in_the_way,
};
use crate::{FLEET, controller::GRAPHS as USER, kinds::kind, rgd::Node, rights};

#[test]
fn a_hub_that_starts_while_nobody_is_reached_takes_no_revision_back() {
    FLEET.run(async |fleet| {
        let _alone = PEACE.write().await;
        fleet.join_all().await;
        // Only spokes have the kind that the second revision is made of.
        let part = kind("parts.unread.test", "Part", "parts");
        for spoke in SPOKES {
            rights::grant(fleet.spoke(spoke), "unread-parts", vec![rights::children(&part)]).await;
            fleet.spoke(spoke).apply(&part.crd().to_string()).await;
        }
        fleet.roll_out("unread", json!({})).await;
        let kind = fleet.define("unread", &note("1 ")).await;
        fleet.all_run(&kind, "1").await;
        let template = json!({
            "apiVersion": part.api_version(), "kind": "Part",
            "metadata": {"name": "${schema.metadata.name}", "namespace": "${schema.metadata.namespace}"},
            "spec": {"fqdn": "a.example.org"},
        });
        fleet.apply("unread", &note("2 ").node(Node::new("part", template))).await;
        fleet.all_run(&kind, "2").await;
        let done = |seen: &Object| seen.at("/status/targetRevision") == 2 && seen.at("/status/clusters/updated") == 3;
        let before = fleet.rollout_until("unread", "to be done", done).await;
        for spoke in SPOKES {
            fleet.spoke(spoke).cluster.stop();
        }
        let mut controller = fleet.controller().await;
        controller.kill();
        controller.start_again(&fleet.lab).await;
        // What comes later is served: the rollout has been looked at.
        let barrier = Fleet::kind("unread-barrier", &note(""));
        rights::grant(&fleet.hub, "unread-barrier", vec![rights::instances(&barrier)]).await;
        fleet.edit("unread-barrier", &note("")).await;
        let seen = fleet.hub.get(&ROLLOUT, "", "unread").await;
        assert_eq!(seen.at("/status/targetRevision"), 2, "{before} {seen}");
        for spoke in SPOKES {
            fleet.spoke(spoke).cluster.start_again().await.unwrap();
        }
        fleet.rollout_until("unread", "to be done again", done).await;
        fleet.all_run(&kind, "2").await;
    });
}

#[test]
fn a_spoke_is_never_another_cluster_and_none_is_engaged_twice() {
    FLEET.run(async |fleet| {
        let _alone = PEACE.write().await;
        fleet.join_all().await;
        fleet.roll_out("identity", json!({})).await;
        let kind = fleet.define("identity", &note("")).await;
        fleet.all_run(&kind, "1").await;

        // Tokyo's kubeconfig under another name.
        let kubeconfig = fleet.spoke("tokyo").cluster.kubeconfig("graphs").unwrap();
        let metadata = json!({"labels": {"kro.run/cluster": "true"}});
        let twin = json!({"metadata": metadata, "stringData": {"kubeconfig": kubeconfig}});
        fleet.hub.create(&SECRET, SECRETS, "twin", twin).await;
        fleet.hub.until_event(SECRETS, "twin", "DuplicateCluster", |told| told.message.contains("spoke#tokyo")).await;
        fleet.distributed("identity", "Partial", "spoke#twin").await;
        in_the_way(fleet, "identity", "spoke#twin", "DuplicateCluster", "spoke#tokyo").await;
        fleet.hub.delete(&SECRET, SECRETS, "twin").await;
        fleet.distributed("identity", "AllClusters", "3/3").await;

        // The Secret of lima leads to another API server than it did.
        let uid = json!({"metadata": {"annotations": {"broker.platform-mesh.io/cluster-uid": "somebody-else"}}});
        fleet.hub.edit(&SECRET, SECRETS, "lima", uid).await;
        fleet.hub.until_event(SECRETS, "lima", "IdentityChanged", |_| true).await;
        fleet.distributed("identity", "Partial", "spoke#lima").await;
        in_the_way(fleet, "identity", "spoke#lima", "IdentityChanged", "somebody-else").await;
        // Nothing is read or written there, but for what tells which API server it is.
        let lima = fleet.spoke("lima").cluster.audit();
        let mark = lima.settle().await.unwrap();
        fleet.edit("identity", &note("2 ")).await;
        for spoke in ["paris", "tokyo"] {
            fleet.runs(spoke, &kind, "2").await;
        }
        let asked = lima.settled_since(mark).await.unwrap().of(USER);
        let asked = asked.only(|event| !event.uri.starts_with("/api/v1/namespaces/kube-system"));
        assert!(asked.is_empty(), "{asked:?}");
        let uid = json!({"metadata": {"annotations": {"broker.platform-mesh.io/cluster-uid": null}}});
        fleet.hub.edit(&SECRET, SECRETS, "lima", uid).await;
        fleet.distributed("identity", "AllClusters", "3/3").await;
    });
}
