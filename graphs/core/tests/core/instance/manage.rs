//! Finalizer, labels, inventory; suspension.

use broker_api::graphs::keys;
use graphs_core::{
    applyset::Inventory,
    instance::{State, Subject},
};
use runtime_effect::write::Op;
use serde_json::{Value, json};

use crate::instance::{
    toy::one,
    world::{World, chain},
};

fn annotation<'a>(world: &'a World, name: &str) -> &'a Value {
    &world.instance()["metadata"]["annotations"][name]
}

#[test]
fn finalizer_labels_and_inventory_come_in_one_write() {
    let mut world = World::new(vec![one("a", &[], 1), one("d", &["a"], 2).of("Deployment")]);
    world.spec(json!({"namespaces": {"a": "far"}}));
    let first = world.decide();
    assert_eq!((first.writes.len(), first.writes[0].subject), (1, Subject::Managed));
    assert_eq!(first.writes[0].subject.manager(), "kro.run/labeller");
    world.turn();
    let metadata = &world.instance()["metadata"];
    assert_eq!(metadata["finalizers"], json!([keys::FINALIZER]));
    assert_eq!(
        metadata["labels"],
        json!({"user": "label", "kro.run/owned": "true", "kro.run/kro-version": "v0.9.3",
            "kro.run/resource-graph-definition-id": "rgd-uid", "kro.run/resource-graph-definition-name": "web-graph",
            "applyset.kubernetes.io/id": world.id()})
    );
    let hash = Inventory {
        group_kinds: ["ConfigMap", "Deployment.apps"].map(|kind| kind.parse().unwrap()).into(),
        namespaces: ["far".to_owned()].into(),
    }
    .hash(&world.id());
    assert_eq!(
        metadata["annotations"],
        json!({"user": "note", "applyset.kubernetes.io/tooling": "kro/v0.9.3", "internal.kro.run/applyset-inventory-hash": hash,
            "applyset.kubernetes.io/contains-group-kinds": "ConfigMap,Deployment.apps",
            "applyset.kubernetes.io/additional-namespaces": "far"})
    );
}

#[test]
fn other_finalizers_stay() {
    let mut world = World::new(chain());
    let at = world.at();
    world.server.edit(&at, |object| object["metadata"]["finalizers"] = json!(["their/own"]));
    world.turn();
    assert_eq!(world.instance()["metadata"]["finalizers"], json!(["their/own", keys::FINALIZER]));
}

#[test]
fn an_instance_without_nodes_has_an_empty_inventory() {
    let mut world = World::new(vec![]);
    assert_eq!(world.writes(), ["patch web", "status web"]);
    assert_eq!(*annotation(&world, keys::APPLYSET_NAMESPACES), "");
    assert_eq!(*annotation(&world, keys::APPLYSET_GROUP_KINDS), "");
    assert_eq!(world.state(), "ACTIVE");
}

#[test]
fn the_inventory_grows_before_anything_is_applied_and_shrinks_when_all_is_gone() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    world.graph.push(one("d", &[], 1).of("Deployment"));
    let next = world.decide();
    assert_eq!((next.writes.len(), next.writes[0].subject), (1, Subject::Inventory));
    assert_eq!(next.writes[0].subject.manager(), "kro.run/applyset-parent");
    assert_eq!(world.writes(), ["patch web", "create web-d"]);
    world.spec(json!({"namespaces": {"d": "far"}}));
    assert_eq!(world.writes(), ["patch web", "create web-d", "delete web-d", "status web"]);
    assert_eq!(*annotation(&world, keys::APPLYSET_NAMESPACES), "far");
    world.graph.pop();
    assert_eq!(world.writes(), ["delete web-d", "patch web"]);
    assert_eq!(*annotation(&world, keys::APPLYSET_GROUP_KINDS), "ConfigMap");
    assert_eq!(*annotation(&world, keys::APPLYSET_NAMESPACES), "");
    assert!(world.writes().is_empty());
}

#[test]
fn what_somebody_strips_comes_back_and_versions_alone_do_not() {
    let mut world = World::new(chain());
    world.turn();
    let (at, before) = (world.at(), world.server.timeless());
    for name in [keys::OWNED, keys::RGD_NAME, keys::APPLYSET_ID, keys::VERSION] {
        world.server.edit(&at, |object| drop(object["metadata"]["labels"].as_object_mut().unwrap().remove(name)));
        assert_eq!(world.writes(), ["patch web"], "{name}");
    }
    for name in [keys::APPLYSET_TOOLING, keys::APPLYSET_HASH, keys::APPLYSET_GROUP_KINDS, keys::APPLYSET_NAMESPACES] {
        world.server.edit(&at, |object| drop(object["metadata"]["annotations"].as_object_mut().unwrap().remove(name)));
        assert_eq!(world.writes(), ["patch web"], "{name}");
    }
    world.server.edit(&at, |object| object["metadata"]["finalizers"] = json!([]));
    assert_eq!(world.writes(), ["patch web"]);
    assert_eq!(world.server.timeless(), before);
    world.version = "v2";
    assert!(world.writes().is_empty());
    world.annotate(keys::APPLYSET_TOOLING, "kro/v0.1");
    assert!(world.writes().is_empty());
}

#[test]
fn an_inventory_that_was_changed_is_written_anew_and_loses_nothing() {
    let mut world = World::new(vec![one("d", &[], 1).of("Deployment")]);
    world.turn();
    world.graph = vec![one("a", &[], 1)];
    world.annotate(keys::APPLYSET_GROUP_KINDS, "Deployment.apps,!,Secret");
    world.turn();
    assert_eq!(world.names(), ["web-a"]);
    assert_eq!(*annotation(&world, keys::APPLYSET_GROUP_KINDS), "ConfigMap");
    assert!(world.told.iter().any(|told| told.contains("written anew")));
}

#[test]
fn another_tools_inventory_is_not_touched() {
    let mut world = World::new(chain());
    world.annotate(keys::APPLYSET_TOOLING, "kubectl/1.30");
    assert_eq!(world.writes(), ["status web"]);
    assert_eq!((world.state(), world.condition("InstanceManaged").1), ("ERROR", "ManagementFailed"));
    assert!(world.names().is_empty());
}

#[test]
fn nothing_is_applied_when_the_instance_cannot_be_managed() {
    let mut world = World::new(chain());
    world.server.refuses.insert("web".into(), "read-only".into());
    world.turn();
    assert!(world.names().is_empty());
    assert!(world.memory.trouble(Subject::Managed).is_some());
    let decision = world.decide();
    assert_eq!(decision.state, State::Error);
    assert!(decision.again.is_some());
    world.server.refuses.clear();
    world.settle();
    assert_eq!(world.state(), "ACTIVE");
}

#[test]
fn nobody_serves_it_and_nothing_happens() {
    let mut world = World::new(chain());
    world.unserved = true;
    assert!(world.writes().is_empty());
    assert_eq!(world.turn().state, State::Unserved);
}

#[test]
fn a_suspended_instance_keeps_all_but_its_conditions() {
    let mut world = World::new(chain());
    world.fields = json!({"field": "x"});
    world.turn();
    for word in ["suspended", "Disabled", "SUSPENDED", "disabled"] {
        world.annotate(keys::RECONCILE, word);
        world.fields = json!({"field": "y"});
        world.graph = vec![one("z", &[], 1)];
        let wrote = world.writes();
        assert!(wrote.is_empty() || wrote == ["status web"], "{wrote:?}");
        assert_eq!(world.turn().state, State::Suspended);
        assert_eq!(world.names(), ["web-a", "web-b", "web-c"]);
        assert_eq!((world.state(), &world.status()["field"]), ("ACTIVE", &json!("x")));
        let said = ("False", "ReconciliationSuspended", "reconciliation suspended via kro.run/reconcile annotation");
        assert_eq!((world.condition("ResourcesReady"), world.condition("Ready")), (said, said));
        assert_eq!(world.condition("GraphResolved").0, "True");
    }
    world.annotate(keys::RECONCILE, "enabled");
    world.turn();
    assert_eq!((world.names(), world.state(), &world.status()["field"]), (vec!["web-z"], "ACTIVE", &json!("y")));
}

#[test]
fn a_suspended_instance_is_managed_and_has_no_state_that_it_never_had() {
    let mut world = World::new(chain());
    world.annotate(keys::RECONCILE, "suspended");
    assert_eq!(world.writes(), ["patch web", "status web"]);
    assert!(world.status().get("state").is_none());
    assert_eq!(world.condition("InstanceManaged").0, "True");
}

#[test]
fn without_a_graph_it_says_why() {
    let mut world = World::new(chain());
    world.graph_error = Some("revision 3 does not compile: x");
    assert_eq!(world.writes(), ["patch web", "status web"]);
    assert_eq!(world.state(), "ERROR");
    assert_eq!(world.condition("GraphResolved"), ("False", "ResolutionFailed", "revision 3 does not compile: x"));
    assert_eq!(world.condition("ResourcesReady"), ("Unknown", "AwaitingReconciliation", ""));
    assert_eq!(world.condition("Ready"), ("False", "ResolutionFailed", "revision 3 does not compile: x"));
}

#[test]
fn of_a_changed_inventory_only_what_can_be_a_namespace_is_taken() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    let (longest, longer) = ("x".repeat(63), "x".repeat(64));
    world.annotate(keys::APPLYSET_NAMESPACES, &format!("far,Far,-x,x-,a_b,n-1,,{longer},{longest}"));
    let Op::Merge(patch) = &world.decide().writes[0].op else { panic!("no patch") };
    let taken = &patch["metadata"]["annotations"][keys::APPLYSET_NAMESPACES];
    assert_eq!(*taken, format!("far,n-1,{longest}"));
}

/// Somebody strips something of the instance after each turn, until it is not written again at once.
fn fight(world: &mut World, strip: fn(&mut Value)) {
    let at = world.at();
    for _ in 0..50 {
        world.server.edit(&at, strip);
        if !world.writes().contains(&"patch web".to_owned()) {
            return;
        }
    }
    panic!("it is written for ever");
}

#[test]
fn without_a_label_all_goes_on() {
    let mut world = World::new(chain());
    world.turn();
    fight(&mut world, |object| object["metadata"]["labels"] = json!({}));
    world.spec(json!({"values": {"a": "new"}}));
    world.turn();
    assert_eq!(world.child("web-a")["data"]["value"], "new");
}

#[test]
fn without_finalizer_or_inventory_nothing_is_applied() {
    let strips: [fn(&mut Value); 2] =
        [|object| object["metadata"]["finalizers"] = json!([]), |object| object["metadata"]["annotations"] = json!({})];
    for strip in strips {
        let mut world = World::new(chain());
        world.turn();
        fight(&mut world, strip);
        world.spec(json!({"values": {"a": "new"}}));
        world.turn();
        assert_eq!((&world.child("web-a")["data"]["value"], world.state()), (&json!("v"), "ERROR"));
        assert!(world.condition("InstanceManaged").2.contains("keeps undoing"));
    }
}

#[test]
fn only_the_status_is_the_last_write() {
    let mut world = World::new(vec![]);
    assert!(!world.decide().complete, "finalizer and labels come first");
    world.lives = 1;
    world.turn();
    let last = world.decide();
    assert_eq!((last.writes.len(), last.writes[0].subject, last.complete), (1, Subject::Status, true));
    world.turn();
    assert!(!world.decide().complete, "nothing is written");
}

#[test]
fn kinds_whose_data_is_not_there_yet_are_in_the_first_inventory() {
    let mut world = World::new(vec![one("a", &[], 1), one("d", &["a"], 2).of("Deployment")]);
    assert_eq!(world.writes(), ["patch web", "create web-a", "create web-d", "status web"]);
}

#[test]
fn labels_and_finalizer_are_written_in_one_name_and_the_inventory_in_another() {
    let strips = [
        ("labels", json!({}), Subject::Managed),
        ("finalizers", json!([]), Subject::Managed),
        ("annotations", json!({}), Subject::Inventory),
    ];
    for (what, nothing, subject) in strips {
        let mut world = World::new(chain());
        world.turn();
        let at = world.at();
        world.server.edit(&at, |object| object["metadata"][what] = nothing.clone());
        assert_eq!(world.decide().writes[0].subject, subject);
    }
}

#[test]
fn a_changed_inventory_is_put_right_whatever_it_looks_like() {
    let mut world = World::new(chain());
    world.turn();
    world.annotate(keys::APPLYSET_NAMESPACES, "kro/v0.1");
    assert_eq!(world.writes(), ["patch web"], "it is no version");
    assert_eq!(*annotation(&world, keys::APPLYSET_NAMESPACES), "");
}

#[test]
fn of_a_changed_inventory_no_more_kinds_are_taken_than_can_be_read_again() {
    let mut world = World::new(vec![one("a", &[], 1)]);
    world.turn();
    let kinds: Vec<String> = (0..1000).map(|at| format!("K{at}")).collect();
    world.annotate(keys::APPLYSET_GROUP_KINDS, &kinds.join(","));
    let Op::Merge(patch) = &world.decide().writes[0].op else { panic!("no patch") };
    let taken = patch["metadata"]["annotations"][keys::APPLYSET_GROUP_KINDS].as_str().unwrap();
    assert_eq!(taken.split(',').count(), 512 + 1, "and that of the graph");
}

#[test]
fn one_without_a_graph_is_suspended_all_the_same() {
    let mut world = World::new(chain());
    world.turn();
    world.graph_error = Some("revision 3 does not compile: x");
    world.annotate(keys::RECONCILE, "suspended");
    assert_eq!(world.turn().state, State::Suspended);
    assert_eq!((world.state(), world.condition("Ready").1), ("ACTIVE", "ReconciliationSuspended"));
}
