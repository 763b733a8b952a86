use broker_api::ClusterName;
use graphs_core::applyset::GroupKind;
use runtime_fleet::{
    kind::{KindState, SchemaNews},
    object::ObjectKey,
};
use serde_json::json;

use super::*;
use crate::conventions::CONVENTIONS;

const SET: &str = "applyset-x-v1";

fn machine() -> InstanceMachine {
    InstanceMachine { graphs: Graphs::alone() }
}

fn web(cluster: ClusterName) -> InstanceKey {
    let kind = Arc::new(GroupKind { kind: "Web".into(), group: "kro.run".into() });
    InstanceKey { cluster, kind, object: ObjectKey::new("n", "one") }
}

/// A child as it is to be made.
fn wanted() -> Value {
    let labels = json!({keys::APPLYSET_PART_OF: SET, keys::INSTANCE_ID: "our-uid", keys::VERSION: "v"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n", "labels": labels,
        "annotations": {keys::APPLIED_DIGEST: "our-digest"}}})
}

#[tokio::test]
async fn what_is_in_the_way_of_a_child_is_told_by_what_it_bears() {
    let (machine, key) = (machine(), web(ClusterName::spoke("paris")));
    let kind = Kind { group: String::new(), version: "v1".into(), kind: "ConfigMap".into() };
    let write = Write {
        cluster: key.cluster.clone(),
        kind,
        namespace: "n".into(),
        name: "a".into(),
        op: Op::Create(wanted()),
        intent: [0; 8],
        subject: Subject::Child,
        notes: Vec::new(),
    };
    let meets = |labels: Value, annotations: Value| {
        let metadata = json!({"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "labels": labels,
            "annotations": annotations});
        let raw = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}).to_string();
        machine.in_the_way(&key, &write, &Object::parse(raw.as_bytes(), None, &CONVENTIONS).unwrap().1)
    };
    let ours = json!({keys::APPLIED_DIGEST: "our-digest"});
    assert_eq!(meets(json!({keys::APPLYSET_PART_OF: SET}), json!({})), InTheWay::Known);
    assert!(matches!(meets(json!({keys::APPLYSET_PART_OF: "another"}), ours.clone()), InTheWay::Foreign(_)));
    assert_eq!(meets(json!({keys::INSTANCE_ID: "our-uid"}), json!({})), InTheWay::Unlabelled);
    assert_eq!(meets(json!({}), ours), InTheWay::Unlabelled, "all of its labels were taken off");
    for (labels, annotations) in [
        (json!({"theirs": "1"}), json!({})),
        (json!({keys::INSTANCE_ID: "another"}), json!({keys::APPLIED_DIGEST: "another"})),
        (json!({keys::INSTANCE_ID: "our-uid"}), json!({keys::ADOPTED: keys::TRUE})),
    ] {
        let told = format!("{labels} {annotations}");
        let InTheWay::Adopted(body) = meets(labels, annotations) else { panic!("{told}") };
        assert_eq!(body["metadata"]["annotations"][keys::ADOPTED], keys::TRUE);
    }
}

#[tokio::test]
async fn rollouts_hear_that_an_instance_in_error_is_gone() {
    let machine = machine();
    let graphs = &machine.graphs;
    let (own, crd) = (graphs.hub_key(&"web".into()), Arc::from("webs.kro.run"));
    graphs.definitions.name(&own, None, &crd);
    let kind = Kind { group: "kro.run".into(), version: "v1".into(), kind: "Web".into() };
    let hears = |cluster: ClusterName, fails: bool| {
        graphs.instances.generated.set(&cluster, &crd, Some(kind.clone()));
        let key = web(cluster);
        let record = graphs.instances.of(&key);
        machine.says(&key, fails, &mut lock(&record));
        let before = graphs.rollouts.queue().stats();
        machine.forget(&key);
        graphs.rollouts.queue().stats().adds - before.adds
    };
    assert_eq!(hears(ClusterName::spoke("paris"), true), 1);
    assert_eq!(hears(ClusterName::spoke("rome"), false), 0, "no fewer are in ERROR");
    assert_eq!(hears(graphs.hub.clone(), true), 0, "nothing is rolled out to the hub");
}

/// Else nobody would tell that it is back, or the versions of its group would be tried for ever.
#[tokio::test]
async fn what_an_inventory_names_is_told_of_in_all_versions_also_where_it_is_not_served() {
    let machine = machine();
    let (graphs, paris) = (&machine.graphs, ClusterName::spoke("paris"));
    graphs.engage_unreachable(&paris);
    let key = web(paris.clone());
    let named = GroupKind { kind: "Part".into(), group: "parts.io".into() };
    graphs.groups.versions("parts.io", &key);
    graphs.groups.take(&(paris.clone(), "parts.io".into()), vec!["v2".into(), "v1".into()]);
    let kinds = graphs.candidates(&paris, &named);
    assert_eq!(kinds.len(), 2);
    let record = graphs.instances.of(&key);
    let watches = |version: Option<Version>| {
        let all: Vec<_> = version.into_iter().map(|version| (named.clone(), version)).collect();
        machine.watch(&key, &all, None, &mut lock(&record));
        kinds.iter().filter(|kind| graphs.kinds.is_missing(&paris, kind)).count()
    };
    watches(Some(Version::Is(kinds[0].clone())));
    for kind in &kinds {
        graphs.kinds.take(&paris, &kind.to_gvk(), &KindState::Missing, SchemaNews::Same);
    }
    assert_eq!(watches(Some(Version::Is(kinds[1].clone()))), 2);
    assert_eq!(watches(Some(Version::NotServed)), 2);
    graphs.groups.forget(&paris, "parts.io");
    assert_eq!(watches(Some(Version::Unknown)), 2, "its group is being asked for");
    assert_eq!(watches(None), 0, "nothing names it any more");
}
