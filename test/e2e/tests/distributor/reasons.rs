//! Why a revision does not get to a cluster.

use e2e::{Kind, Object, kind::CRD};
use serde_json::{Value, json};

use super::fleet::{Fleet, PEACE, note, text_is};
use crate::{FLEET, kinds::RGD};

/// Policies that API servers judge writes by themselves.
const POLICY: Kind = Kind {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "ValidatingAdmissionPolicy",
    plural: "validatingadmissionpolicies",
};

/// What puts a policy in force.
const BINDING: Kind =
    Kind { kind: "ValidatingAdmissionPolicyBinding", plural: "validatingadmissionpolicybindings", ..POLICY };

/// A rollout to paris alone: where too many fail, others do not begin.
fn in_paris(mut spec: Value) -> Value {
    spec["clusterSelector"] = json!({"matchLabels": {"tier": "canary"}});
    spec
}

/// Waits until a rollout says that this is in the way in a cluster.
pub(super) async fn in_the_way(fleet: &Fleet, name: &str, cluster: &str, reason: &str, words: &str) {
    let says = |seen: &Object| {
        seen.at("/status/failing").as_array().into_iter().flatten().any(|failing| {
            failing["cluster"] == cluster
                && failing["reason"] == reason
                && failing["message"].as_str().is_some_and(|why| why.contains(words))
        })
    };
    fleet.rollout_until(name, &format!("to say {reason} with {words:?}"), says).await;
}

#[test]
fn what_would_break_instances_needs_to_be_allowed() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join("paris").await;
        fleet.roll_out("breaking", in_paris(json!({"revision": 1}))).await;
        let kind = fleet.define("breaking", &note("1 ")).await;
        fleet.runs("paris", &kind, "1").await;
        let more = note("2 ").spec(json!({"text": "string", "more": "string"}));
        fleet.edit("breaking", &more).await;
        fleet.roll_out("breaking", in_paris(json!({"revision": 2}))).await;
        fleet.runs("paris", &kind, "2").await;
        // The way back takes a field away.
        fleet.roll_out("breaking", in_paris(json!({"revision": 1}))).await;
        in_the_way(fleet, "breaking", "spoke#paris", "BreakingChange", "more").await;
        assert_eq!(fleet.revision("paris", &kind).await.as_deref(), Some("2"));
        let allowed = json!({"metadata": {"annotations": {"kro.run/allow-breaking-changes": "true"}}});
        fleet.hub.edit(&RGD, "", "breaking", allowed).await;
        fleet.runs("paris", &kind, "1").await;
    });
}

#[test]
fn without_a_rollout_what_would_break_instances_in_the_hub_gets_nowhere() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join("paris").await;
        let more = note("1 ").spec(json!({"text": "string", "more": "string"}));
        let kind = fleet.define("unbroken", &more).await;
        fleet.runs("paris", &kind, "1").await;
        fleet.apply("unbroken", &note("2 ")).await;
        let refused = |seen: &Object| seen.at("/status/conditions").to_string().contains("breaking");
        fleet.hub.until(&RGD, "", "unbroken", "to say that it would break", refused).await;
        // A cluster that has none of it yet gets what the hub has.
        let paris = fleet.spoke("paris");
        let name = format!("{}.{}", kind.plural, kind.group);
        let before = paris.get(&CRD, "", &name).await;
        paris.delete(&CRD, "", &name).await;
        let anew = |seen: &Object| seen.uid() != before.uid();
        fleet.crd_until("paris", &kind, "to be made anew", anew).await;
        fleet.runs("paris", &kind, "1").await;
        fleet.bring_up("paris", &kind, "unbroken", "one").await;
        text_is(paris, "unbroken", "1 paris").await;
    });
}

#[test]
fn what_an_api_server_refuses_is_told_in_its_words_and_tried_again() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join("paris").await;
        let paris = fleet.spoke("paris");
        let spec = json!({"spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [CRD.group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [CRD.plural],
            }]},
            "matchConditions": [{"name": "group", "expression": "object.spec.group == 'refused.fleet.test'"}],
            "validations": [{"expression": "false", "message": "not in this cluster"}],
        }});
        paris.apply(&POLICY.object("", "refused", &spec).to_string()).await;
        let binding = json!({"spec": {"policyName": "refused", "validationActions": ["Deny"]}});
        paris.apply(&BINDING.object("", "refused", &binding).to_string()).await;
        // API servers learn of it from a watch of their own.
        let probe = Kind { kind: "Probe", plural: "probes", ..Fleet::kind("refused", &note("")) };
        let refused = harness::wait_for(e2e::DEADLINE, "the policy to be in force", async || {
            if paris.try_create(&CRD, &probe.crd()).await.is_err() {
                return Ok(());
            }
            paris.delete(&CRD, "", &format!("probes.{}", probe.group)).await;
            paris.until_gone(&CRD, "", &format!("probes.{}", probe.group)).await;
            anyhow::bail!("it is not")
        });
        refused.await.unwrap_or_else(|error| panic!("{error:#}"));

        fleet.roll_out("refused", in_paris(json!({}))).await;
        let kind = fleet.define("refused", &note("")).await;
        in_the_way(fleet, "refused", "spoke#paris", "ApplyRefused", "not in this cluster").await;
        paris.delete(&BINDING, "", "refused").await;
        fleet.runs("paris", &kind, "1").await;
    });
}

#[test]
fn a_kind_whose_names_are_taken_is_told() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join("paris").await;
        let paris = fleet.spoke("paris");
        // Another CRD of the group has the kind.
        let taken = Kind { plural: "notices", ..Fleet::kind("taken-names", &note("")) };
        paris.apply(&taken.crd().to_string()).await;
        let served = |seen: &Object| seen.has("Established", "True", "InitialNamesAccepted");
        paris.until(&CRD, "", &format!("notices.{}", taken.group), "to be served", served).await;
        fleet.roll_out("taken-names", in_paris(json!({}))).await;
        let kind = fleet.define("taken-names", &note("")).await;
        in_the_way(fleet, "taken-names", "spoke#paris", "NotEstablished", "already in use").await;
        paris.delete(&CRD, "", &format!("notices.{}", taken.group)).await;
        fleet.runs("paris", &kind, "1").await;
        fleet.bring_up("paris", &kind, "taken-names", "one").await;
    });
}
