//! CONTRACT, "Flow of one object": which writes, in which order, and what they hold.

use broker_api::keys;
use broker_core::decision::State;
use runtime_effect::write::Op;
use serde_json::json;

use crate::decide::world::{NAMESPACE, World, consumer_rule, key, secret, verb, web};

#[test]
fn one_patch_puts_finalizer_annotations_and_signature_on_the_origin() {
    let mut world = World::with_origin();
    let decision = world.pass(&web());
    assert_eq!(decision.state, State::Placing);
    assert_eq!(world.writes(), ["patch homer/web"]);
    let origin = world.origin(&web()).unwrap();
    assert_eq!(origin["metadata"]["finalizers"], json!([keys::FINALIZER]));
    let annotations = &origin["metadata"]["annotations"];
    assert_eq!(annotations[keys::PROVIDER_CLUSTER], "p1");
    let uid = origin["metadata"]["uid"].as_str().unwrap();
    let signature = annotations[keys::ASSIGNMENT].as_str().unwrap();
    assert!(world.ring.verify_assignment(&web().subject(uid), "p1", None, signature).is_some());
}

#[test]
fn no_copy_is_written_together_with_the_finalizer_that_guards_it() {
    let mut world = World::served();
    world.provider("p1").delete(&World::copy_at(&web()));
    world.edit(&web(), |origin| origin["metadata"]["finalizers"] = json!([]));
    let decision = world.look(&web());
    assert_eq!(decision.writes().map(|write| verb(&write.op)).collect::<Vec<_>>(), ["patch"]);
}

#[test]
fn finalizers_of_others_stay() {
    let mut world = World::with_origin();
    world.edit(&web(), |origin| origin["metadata"]["finalizers"] = json!(["theirs/one"]));
    world.settle(&web());
    assert_eq!(world.origin(&web()).unwrap()["metadata"]["finalizers"], json!(["theirs/one", keys::FINALIZER]));
}

#[test]
fn the_copy_comes_second_and_is_marked() {
    let mut world = World::with_origin();
    world.pass(&web());
    world.pass(&web());
    let copy_name = World::copy_at(&web()).2;
    assert_eq!(world.writes(), ["patch homer/web".to_owned(), format!("create p1/{copy_name}")]);
    let uid = world.origin(&web()).unwrap()["metadata"]["uid"].clone();
    let copy = world.copy("p1", &web()).unwrap();
    let annotations = &copy["metadata"]["annotations"];
    assert_eq!(annotations[keys::CONSUMER_CLUSTER], "homer");
    assert_eq!(annotations[keys::CONSUMER_NAMESPACE], NAMESPACE);
    assert_eq!(annotations[keys::CONSUMER_NAME], "web");
    assert_eq!(annotations[keys::CONSUMER_UID], uid);
    assert!(world.signed("p1", &web()).is_some());
    assert_eq!(copy["metadata"]["labels"][keys::MANAGED_BY], keys::MANAGER);
    assert!(copy["metadata"]["labels"][keys::CONSUMER].as_str().is_some_and(|hash| copy_name.starts_with(hash)));
    assert_eq!(copy["metadata"]["labels"][keys::SLOT], copy_name[..2], "the first byte of the consumer's hash");
    assert_eq!(copy["spec"], json!({"fqdn": "a.corp", "tier": "standard"}));
    assert_eq!(copy["metadata"].get("finalizers"), None, "never a finalizer on a copy");
}

#[test]
fn peoples_labels_and_annotations_travel_and_no_others() {
    let mut world = World::with_origin();
    world.edit(&web(), |origin| {
        origin["metadata"]["labels"] = json!({"team": "blue", "app.kubernetes.io/name": "web", "x.k8s.io/y": "no"});
        origin["metadata"]["annotations"] = json!({
            "note": "hi", "kubectl.kubernetes.io/last-applied-configuration": "{}", "broker.platform-mesh.io/x": "no",
        });
    });
    world.settle(&web());
    let metadata = &world.copy("p1", &web()).unwrap()["metadata"];
    assert_eq!(metadata["labels"]["team"], "blue");
    assert_eq!(metadata["labels"]["app.kubernetes.io/name"], "web");
    assert_eq!(metadata["labels"].get("x.k8s.io/y"), None);
    assert_eq!(metadata["annotations"]["note"], "hi");
    assert_eq!(metadata["annotations"].get("broker.platform-mesh.io/x"), None);
    assert_eq!(metadata["annotations"].get("kubectl.kubernetes.io/last-applied-configuration"), None);
    world.edit(&web(), |origin| origin["metadata"]["labels"] = json!({}));
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["metadata"]["labels"].get("team"), None, "taken away again");
}

#[test]
fn a_status_comes_back_in_one_write_and_carries_the_good_news() {
    let mut world = World::with_origin();
    world.pass(&web());
    let made = world.pass(&web());
    assert!(made.complete && made.when_idle && made.again.is_some(), "the news can wait for others: {made:?}");
    let waiting = world.pass(&web());
    assert_eq!((waiting.steps.len(), waiting.again.is_some()), (0, true), "Brokered=True waits for the status");
    world.millis += 500;
    world.provider_status("p1", &web(), json!({"phase": "Up", "internal": "x"}));
    world.log.clear();
    world.settle(&web());
    assert_eq!(world.writes(), ["status homer/web"]);
    let status = &world.origin(&web()).unwrap()["status"];
    assert_eq!((&status["phase"], status.get("internal")), (&json!("Up"), None));
    assert_eq!(world.condition(&web(), "Brokered").unwrap(), "True/Placed: served by provider p1");
}

#[test]
fn the_good_news_is_a_write_of_its_own_when_the_provider_says_nothing() {
    let mut world = World::with_origin();
    world.settle(&web());
    assert_eq!(world.writes().len(), 3);
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("True/"));
    world.assert_steady(&web());
}

#[test]
fn a_clock_that_is_set_back_does_not_hold_the_good_news_back() {
    let mut world = World::with_origin();
    world.pass(&web());
    world.pass(&web());
    world.millis -= 3_600_000;
    let decision = world.pass(&web());
    assert_eq!(decision.steps.len(), 1, "{:?}", decision.again);
}

#[test]
fn an_edit_is_one_write_to_the_copy() {
    let mut world = World::served();
    world.edit(&web(), |origin| origin["spec"] = json!({"fqdn": "b.corp", "size": 3}));
    world.settle(&web());
    assert_eq!(world.log.len(), 1);
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"], json!({"fqdn": "b.corp", "size": 3, "tier": "standard"}));
}

#[test]
fn a_field_removed_at_the_origin_is_removed_from_the_copy_others_stay() {
    let mut world = World::served();
    world.edit(&web(), |origin| origin["spec"]["limits"] = json!({"cpu": "1", "mem": "2"}));
    world.settle(&web());
    world.edit_copy("p1", &web(), |copy| copy["spec"]["limits"]["theirs"] = json!("3"));
    world.edit_copy("p1", &web(), |copy| copy["spec"]["tier"] = json!("gold"));
    world.edit(&web(), |origin| origin["spec"]["limits"] = json!({"cpu": "1"}));
    world.settle(&web());
    let spec = &world.copy("p1", &web()).unwrap()["spec"];
    assert_eq!(spec["limits"], json!({"cpu": "1", "theirs": "3"}));
    assert_eq!(spec["tier"], "gold");
    world.assert_steady(&web());
}

#[test]
fn provider_conditions_pass_through_but_not_as_ours() {
    let mut world = World::served();
    let condition =
        |kind: &str| json!({"type": kind, "status": "False", "reason": "X", "message": "m", "lastTransitionTime": "t"});
    world.provider_status(
        "p1",
        &web(),
        json!({"conditions": [condition("Ready"), condition("Brokered"), condition("Moving")]}),
    );
    world.settle(&web());
    assert!(world.condition(&web(), "Ready").unwrap().starts_with("False/X"));
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("True/Placed"));
    assert_eq!(world.condition(&web(), "Moving"), None);
    world.assert_steady(&web());
}

#[test]
fn a_generation_that_is_current_at_the_provider_is_current_at_the_consumer() {
    let mut world = World::served();
    for size in [1, 2, 3] {
        world.edit(&web(), |origin| origin["spec"]["size"] = json!(size));
    }
    let observed = |world: &World| world.origin(&web()).unwrap()["status"]["observedGeneration"].as_i64();
    let generation = world.origin(&web()).unwrap()["metadata"]["generation"].as_i64();
    world.provider_status("p1", &web(), json!({"observedGeneration": 1}));
    world.settle(&web());
    assert!(observed(&world) < generation, "the provider has not seen the new spec");
    let copy_generation = world.copy("p1", &web()).unwrap()["metadata"]["generation"].clone();
    assert_ne!(copy_generation.as_i64(), generation, "else the test shows nothing");
    world.provider_status("p1", &web(), json!({"observedGeneration": copy_generation}));
    world.settle(&web());
    assert_eq!(observed(&world), generation);
    world.assert_steady(&web());
}

#[test]
fn two_consumers_may_use_one_name() {
    let mut world = World::with_origin();
    world.engage(broker_api::ClusterName::consumer("marge"));
    world.create(&key("marge", "web"), json!({"fqdn": "m.corp"}));
    world.settle_all();
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "a.corp");
    assert_eq!(world.copy("p1", &key("marge", "web")).unwrap()["spec"]["fqdn"], "m.corp");
    world.provider_status("p1", &web(), json!({"phase": "Homer"}));
    world.settle_all();
    assert_eq!(world.origin(&key("marge", "web")).unwrap()["status"].get("phase"), None);
}

#[test]
fn a_cluster_scoped_kind_is_refused_with_words() {
    let mut world = World::with_origin();
    world.consumer().objects.kinds.get_mut(&crate::decide::world::certificate()).unwrap().namespaced = false;
    let decision = world.settle(&web());
    assert_eq!(decision.state, State::Blocked);
    assert!(world.condition(&web(), "Brokered").unwrap().contains("cluster-scoped"));
    assert!(world.copy("p1", &web()).is_none());
}

#[test]
fn a_copy_of_ours_is_never_taken_for_an_origin() {
    let mut world = World::with_origin();
    world.taken_for_copy = true;
    assert_eq!(world.assert_holds_still(&web()), State::Gone);
}

#[test]
fn a_paused_origin_is_left_alone_also_when_it_is_deleted() {
    let mut world = World::served();
    world.edit(&web(), |origin| origin["metadata"]["annotations"][keys::PAUSED] = json!("true"));
    world.edit(&web(), |origin| origin["spec"]["size"] = json!(9));
    assert_eq!(world.assert_holds_still(&web()), State::Paused);
    world.delete(&web());
    assert_eq!(world.assert_holds_still(&web()), State::Paused);
    world.edit(&web(), |origin| origin["metadata"]["annotations"][keys::PAUSED] = json!("false"));
    world.settle(&web());
    assert_eq!((world.origin(&web()), world.copy("p1", &web())), (None, None));
}

#[test]
fn an_ignored_origin_is_not_served_but_may_still_be_deleted() {
    let mut world = World::with_origin();
    world.edit(&web(), |origin| origin["metadata"]["labels"][keys::IGNORE] = json!("true"));
    assert_eq!(world.assert_holds_still(&web()), State::Ignored);
    let mut world = World::served();
    world.edit(&web(), |origin| origin["metadata"]["labels"][keys::IGNORE] = json!("true"));
    assert_eq!(world.assert_holds_still(&web()), State::Ignored);
    world.delete(&web());
    world.settle(&web());
    assert_eq!((world.origin(&web()), world.copy("p1", &web())), (None, None));
}

#[test]
fn a_kind_that_the_provider_does_not_serve_is_told() {
    let mut world = World::with_origin();
    let rule = world.provider("p1").objects.kinds.remove(&crate::decide::world::certificate()).unwrap();
    assert_eq!(world.settle(&web()).state, State::Waiting);
    assert!(world.condition(&web(), "Brokered").unwrap().contains("install its CRD"));
    world.provider("p1").objects.kinds.insert(crate::decide::world::certificate(), rule);
    assert_eq!(world.settle(&web()).state, State::Served);
    world.provider("p1").objects.kinds.remove(&crate::decide::world::certificate());
    assert_eq!(world.settle(&web()).state, State::Blocked);
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("False/KindMissing"));
}

#[test]
fn a_kind_without_status_is_served_and_nothing_is_written_back() {
    let mut world = World::with_origin();
    world.consumer().objects.kinds.get_mut(&crate::decide::world::certificate()).unwrap().has_status = false;
    world.settle(&web());
    world.provider_status("p1", &web(), json!({"phase": "Up"}));
    let decision = world.settle(&web());
    assert_eq!(world.writes().len(), 2);
    assert!(decision.notes.iter().any(|note| note.reason == "StatusUnsupported"));
}

#[test]
fn no_conditions_where_the_crd_has_none() {
    let mut world = World::with_origin();
    let mut rule = consumer_rule();
    rule.schema["properties"]["status"]["properties"].as_object_mut().unwrap().remove("conditions");
    world.consumer().objects.kinds.insert(crate::decide::world::certificate(), rule);
    world.settle(&web());
    world.provider_status("p1", &web(), json!({"phase": "Up"}));
    world.settle(&web());
    assert_eq!(world.origin(&web()).unwrap()["status"], json!({"phase": "Up", "replicas": 1}));
    world.assert_steady(&web());
}

#[test]
fn every_write_names_its_precondition_and_its_namespace() {
    let mut world = World::served();
    let reference = json!({"gvk": {"group": "core", "version": "v1", "kind": "Secret"}, "name": "web-tls"});
    world.put_secret(&broker_api::ClusterName::provider("p1"), "web-tls", json!({"metadata": {}, "data": {"a": "1"}}));
    world.provider_status("p1", &web(), json!({"relatedResources": {"tls": reference}}));
    world.edit(&web(), |origin| origin["spec"]["size"] = json!(4));
    world.settle(&web());
    world.delete(&web());
    world.settle(&web());
    assert!(world.log.iter().any(|write| write.kind == secret()));
    for write in &world.log {
        assert_eq!(write.namespace, NAMESPACE);
        match &write.op {
            Op::Apply { uid, .. } => assert!(!uid.is_empty()),
            Op::Delete { uid, version } => assert!(!uid.is_empty() && version.is_some(), "as it was seen: {write:?}"),
            // The world's server insists on uid and resourceVersion of merge patches, and on absence for creates.
            Op::Create(_) | Op::Merge(_) | Op::MergeStatus(_) => {}
        }
    }
}
