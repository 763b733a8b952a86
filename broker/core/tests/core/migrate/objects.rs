//! Stage objects that cannot be made, are taken, or disappear.

use broker_api::{
    ClusterName,
    MigrationState::{Failed, InitialCompleted, InitialInProgress},
    Role, keys,
};
use runtime_effect::{reach::Reach, write::Op};
use serde_json::{Value, json};

use crate::migrate::world::{FROM, NAMESPACE, World, job, job_stage, kind, secret, with};

fn template(fields: Value) -> World {
    World::new(json!([with(job_stage("a", "a"), json!({"templates": {"a": fields}}))]))
}

#[test]
fn what_is_deleted_by_hand_is_made_again_while_its_stage_runs() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.settle();
    let at = world.at(job(), "a");
    let old = world.objects.remove(&at).unwrap();
    world.settle();
    assert_ne!(world.objects[&at]["metadata"]["uid"], old["metadata"]["uid"]);
    // One that is only on its way out counts as gone, and is waited for.
    world.objects.corrupt(&at, |object| object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    world.objects.corrupt(&at, |object| object["status"] = json!({"succeeded": 1}));
    assert!(world.settle().writes.is_empty());
    assert_eq!(world.state(), InitialInProgress);
}

#[test]
fn what_exists_is_never_rewritten() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.settle();
    let at = world.at(job(), "a");
    world.objects.corrupt(&at, |object| object["spec"] = json!({"edited": true}));
    world.from.as_mut().unwrap()["spec"]["fqdn"] = json!("other");
    assert!(world.decide().writes.is_empty());
}

#[test]
fn a_foreign_object_is_never_overwritten() {
    for labels in [json!({}), json!({keys::MIGRATION_ID: "m0"})] {
        let mut world = World::new(json!([job_stage("a", "a")]));
        while world.state() != InitialInProgress {
            world.pass();
        }
        let at = world.at(job(), "a");
        world.put(&at, json!({"metadata": {"labels": labels}, "spec": "foreign"}));
        let foreign = world.objects[&at].clone();
        world.settle();
        world.now += 1;
        world.settle();
        assert_eq!((world.objects[&at].clone(), world.reason("Stalled").as_str()), (foreign, "NameConflict"));
        assert!(world.status().stages[0].message.as_ref().unwrap().contains("exists already"));
        world.objects.remove(&at);
        world.now += 3000;
        world.settle();
        assert_eq!(world.condition("Stalled"), None, "it goes on when the name is free");
        assert_eq!(world.made_keys(), ["a"]);
    }
}

#[test]
fn a_foreign_object_in_the_place_of_a_related_copy_stops_the_stage() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.relate(FROM, "tls", "b2xk");
    while world.state() != InitialInProgress {
        world.pass();
    }
    let at = world.at(secret(), "from-tls");
    world.put(&at, json!({"data": "foreign"}));
    world.settle();
    assert_eq!((world.objects.len(), world.reason("Stalled").as_str()), (1, "NameConflict"));
    world.edit("abort", json!(true));
    world.settle();
    assert_eq!((world.state(), world.objects.len()), (Failed, 1));
}

#[test]
fn while_a_related_copy_goes_or_may_come_nothing_is_made_for_the_stage() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let mut world = World::new(json!([{"name": "a", "templates": {"a": map}, "successConditions": ["false"]}]));
    world.relate(FROM, "tls", "b2xk");
    world.settle();
    let at = world.at(kind("", "ConfigMap"), "a");
    world.objects.remove(&at);
    assert_eq!(world.decide().writes.len(), 1, "it is made again");
    let mut unknown = world.clone();
    unknown.sides_known = false;
    assert!(unknown.decide().writes.is_empty());
    let copy = world.at(secret(), "from-tls");
    world.objects.corrupt(&copy, |secret| secret["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    assert!(world.decide().writes.is_empty());
}

#[test]
fn a_kind_that_is_not_served_is_waited_for() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.kinds.remove(&job());
    world.settle();
    assert_eq!((world.state(), world.reason("Stalled").as_str()), (InitialInProgress, "KindMissing"));
    assert!(world.message("Stalled").contains("does not serve Job batch/v1"));
    world.kinds.insert(job(), true);
    world.settle();
    assert_eq!((world.condition("Stalled"), world.made_keys().len()), (None, 1));
}

#[test]
fn cluster_scoped_kinds_are_not_for_stages() {
    let mut world = World::new(json!([{"name": "a", "templates": {"a": {"apiVersion": "v1", "kind": "Node"}}}]));
    world.settle();
    assert_eq!(world.reason("Stalled"), "Invalid");
    assert!(world.objects.is_empty());
}

#[test]
fn what_the_api_server_refuses_is_told_and_tried_again_ever_more_slowly() {
    let mut world = template(json!({"spec": {"invalid": true}}));
    let decided = world.settle();
    assert_eq!(world.reason("Stalled"), "Invalid");
    assert!(world.status().stages[0].message.as_ref().unwrap().contains("the API server says"));
    assert_eq!(decided.again.unwrap().as_secs(), 2);
    let (before, asked) = (world.written.len(), world.decide().writes.len());
    world.now += 2000;
    world.pass();
    world.pass();
    assert_eq!((asked, world.written.len()), (0, before), "no status write per attempt");
    assert_eq!(world.decide().again.unwrap().as_secs(), 4);
}

#[test]
fn an_expression_in_a_template_that_fails_is_told_with_its_place() {
    let mut world = template(json!({"spec": {"list": [{"x": "${to.spec.nothing}"}]}}));
    world.settle();
    assert_eq!(world.reason("Stalled"), "ExpressionError");
    let message = world.message("Stalled");
    assert!(message.contains("templates[a].spec.list[0].x") && message.contains("to.spec.nothing"), "{message}");
}

#[test]
fn a_namespace_is_the_migrations_or_fixed() {
    let namespace = |namespace: &str| template(json!({"metadata": {"namespace": namespace}}));
    let mut world = namespace("elsewhere");
    world.stage_namespaces = vec!["elsewhere".to_owned()];
    world.settle();
    assert!(world.objects.places().all(|at| at.1 == "elsewhere") && world.objects.len() == 1);
    let mut world = namespace("${migration.metadata.namespace}");
    world.settle();
    assert!(world.objects.places().all(|at| at.1 == NAMESPACE) && world.objects.len() == 1);
    let mut world = namespace("${from.spec.fqdn}");
    world.settle();
    assert_eq!((world.objects.len(), world.reason("Stalled").as_str()), (0, "Invalid"));
    assert!(world.message("Stalled").contains("computed namespace must be the Migration's own (team)"));
}

#[test]
fn a_template_keeps_its_labels_and_annotations_not_its_name() {
    let metadata = json!({
        "name": "mine", "generateName": "x-", "finalizers": ["theirs"], "ownerReferences": [{}],
        "labels": {"app": "x", keys::MIGRATION_ID: "forged"}, "annotations": {"note": "${stage.name}"},
    });
    let mut world = template(json!({"metadata": metadata}));
    world.settle();
    let create = world.written.iter().find_map(|write| match &write.op {
        Op::Create(body) => Some((write.name.clone(), body.clone())),
        _ => None,
    });
    let (name, body) = create.unwrap();
    assert_eq!(name, format!("{}-a", world.id()));
    assert_eq!(body["metadata"]["annotations"], json!({"note": "a"}));
    assert_eq!(
        (&body["metadata"]["labels"]["app"], &body["metadata"]["labels"][keys::MIGRATION_ID]),
        (&json!("x"), &json!(world.id()))
    );
    assert_eq!(body["metadata"].as_object().unwrap().len(), 2);
}

#[test]
fn what_is_made_beside_its_migration_belongs_to_it_and_elsewhere_to_nobody() {
    let (hub, work) = (ClusterName::new(Role::Coordination, "hub"), ClusterName::new(Role::Compute, "work"));
    // Who owns what is made first: for the stage, or as a copy of a related object.
    let owners = |compute: &ClusterName, namespace: &str, related: bool| {
        let mut world = template(json!({"metadata": {"namespace": namespace}}));
        world.stage_namespaces = vec!["elsewhere".to_owned()];
        if related {
            world.relate(FROM, "tls", "b2xk");
        }
        while world.state() != InitialInProgress {
            world.pass();
        }
        world.compute = compute.clone();
        let writes = world.decide().writes;
        assert_eq!((writes.len(), writes[0].namespace == NAMESPACE), (1, related || namespace == NAMESPACE));
        let Op::Create(body) = &writes[0].op else { panic!("{writes:?}") };
        body["metadata"].get("ownerReferences").cloned()
    };
    let owner = json!([{
        "apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "Migration", "name": "certificate-1", "uid": "uid-m",
    }]);
    for related in [false, true] {
        assert_eq!(owners(&hub, NAMESPACE, related), Some(owner.clone()));
        assert_eq!(owners(&work, NAMESPACE, related), None, "it would look for its owner there");
    }
    assert_eq!(owners(&hub, "elsewhere", false), None, "an owner is in the same namespace");
}

#[test]
fn two_stages_with_one_key_wait_for_each_other() {
    let mut world = World::new(json!([job_stage("a", "same"), job_stage("b", "same")]));
    world.settle();
    let at = world.at(job(), "same");
    world.objects.corrupt(&at, |object| object["metadata"]["finalizers"] = json!(["slow"]));
    world.report(&at, json!({"succeeded": 1}));
    world.settle();
    assert_eq!(world.status().stage.as_deref(), Some("b"));
    assert!(world.objects[&at]["metadata"].get("deletionTimestamp").is_some());
    assert_eq!(world.state(), InitialInProgress, "the old object's success is not the new one's");
    world.objects.remove(&at);
    world.settle();
    assert_eq!(world.objects[&at]["metadata"]["labels"][keys::MIGRATION_STAGE], "b");
}

#[test]
fn unknown_is_not_absent() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.listed = false;
    world.settle();
    assert!(world.objects.is_empty());
    world.listed = true;
    world.reach = Reach::Lost("timeout".into());
    let decided = world.settle();
    assert!(world.objects.is_empty() && decided.watches.contains(&job()));
    world.reach = Reach::Unreachable("refused".into());
    world.settle();
    assert_eq!(world.reason("Progressing"), "ComputeUnreachable");
    world.reach = Reach::Ready;
    world.sides_known = false;
    world.settle();
    assert!(world.objects.is_empty());
    world.sides_known = true;
    world.settle();
    assert_eq!((world.made_keys().len(), world.reason("Progressing").as_str()), (1, "StageRunning"));
}

#[test]
fn cleanup_that_meets_nothing_is_done() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.settle();
    let at = world.at(job(), "a");
    world.report(&at, json!({"succeeded": 1}));
    world.pass();
    assert_eq!((world.state(), world.objects.len()), (InitialCompleted, 1));
    let mut deleted = world.clone();
    deleted.objects.remove(&at);
    assert!(deleted.settle().writes.is_empty());
    world.settle();
    assert!(world.objects.is_empty());
}

#[test]
fn an_object_that_wears_the_label_but_not_the_name_is_left_alone() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.settle();
    let labels = json!({keys::MIGRATION_ID: world.id(), keys::MIGRATION_STAGE: "other"});
    world.put(&(kind("", "ConfigMap"), NAMESPACE.into(), "worn".into()), json!({"metadata": {"labels": labels}}));
    world.edit("abort", json!(true));
    world.settle();
    assert_eq!((world.state(), world.objects.len()), (Failed, 1));
}
