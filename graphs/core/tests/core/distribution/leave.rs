//! What a hub does about a spoke that an RGD leaves.

use std::{collections::BTreeMap, sync::Arc};

use broker_api::{
    ClusterName,
    graphs::{keys, rollout::Offboarding},
};
use graphs_core::{
    definition::{AT_ONCE, Instance},
    distribution::{Departure, Leaving, Subject, is_held, leave},
};
use runtime_effect::{kind::Kind, object_key::ObjectKey, seen::Seen, view::View, write::Op};
use serde_json::{Value, json};

use super::{HUB, OWNER, Spoke};
use crate::back_and_forth::is_slowed;

const ALL: [Offboarding; 3] = [Offboarding::Orphan, Offboarding::Release, Offboarding::Delete];

fn instance(name: &str, finalizers: &[&str], labels: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "n", "uid": name, "finalizers": finalizers, "labels": labels}})
}

fn kept(name: &str) -> Value {
    instance(name, &["other/one", keys::FINALIZER], &json!({"own": "x", (keys::OWNED): "true", (keys::RGD_ID): "u-1"}))
}

fn seen(instance: &Value) -> (Instance, Seen) {
    let text = |field: &str| instance["metadata"][field].as_str().unwrap().to_owned();
    let deleting = !instance["metadata"]["deletionTimestamp"].is_null();
    let uid: Box<str> = text("uid").into();
    let view = View {
        uid: uid.clone(),
        resource_version: 5,
        deleting,
        applied_by_us: false,
        value: Arc::new(instance.clone()),
        unread: None,
        conditions_known: true,
    };
    let key = ObjectKey::new(text("namespace"), text("name"));
    (Instance { key, uid, deleting }, Seen::Present(view))
}

fn decide(crd: &Seen, offboarding: Offboarding, instances: Option<&[Value]>) -> Departure {
    let cluster = ClusterName::spoke("paris");
    let kind = Kind { group: "kro.run".into(), version: "v1alpha1".into(), kind: "Web".into() };
    let leaving = Leaving { cluster: &cluster, crd, rgd_uid: OWNER.uid, hub: HUB, offboarding, kind: Some(&kind) };
    leave(&leaving, instances.map(|instances| instances.iter().map(seen)))
}

fn going(departure: Departure) -> (Vec<(String, Op, Subject)>, usize) {
    let Departure::Going { writes, instances, unread: false } = departure else { panic!("{departure:?}") };
    (writes.into_iter().map(|write| (write.name, write.op, write.subject)).collect(), instances)
}

#[test]
fn an_orphan_is_left_as_it_is() {
    let crd = Spoke::served(1, &["a"]).seen();
    assert_eq!(decide(&crd, Offboarding::Orphan, None), Departure::Left);
}

#[test]
fn nothing_is_done_to_what_is_not_known_or_not_ours() {
    let (mut foreign, mut recreated) = (Spoke::served(1, &["a"]), Spoke::served(1, &["a"]));
    foreign.label(keys::HUB, &json!("ffffffffffff"));
    recreated.label(keys::RGD_ID, &json!("u-2"));
    for offboarding in ALL {
        assert_eq!(decide(&Seen::Unknown, offboarding, Some(&[kept("a")])), Departure::Unknown);
        assert_eq!(decide(&Seen::Absent, offboarding, None), Departure::Left);
        for crd in [&foreign, &recreated] {
            assert_eq!(decide(&crd.seen(), offboarding, Some(&[kept("a")])), Departure::Left, "{offboarding:?}");
        }
    }
    let crd = Spoke::served(1, &["a"]).seen();
    for offboarding in [Offboarding::Release, Offboarding::Delete] {
        assert_eq!(decide(&crd, offboarding, None), Departure::Unknown, "instances are not listed");
    }
}

#[test]
fn released_instances_keep_what_is_not_ours() {
    let crd = Spoke::served(1, &["a"]).seen();
    let others = instance("others", &["other/one"], &json!({"own": "x"}));
    let (writes, left) = going(decide(&crd, Offboarding::Release, Some(&[kept("a"), others.clone()])));
    let patch = json!({"metadata": {
        "finalizers": ["other/one"],
        "labels": {keys::OWNED: null, keys::RGD_ID: null},
        "resourceVersion": "5",
        "uid": "a",
    }});
    assert_eq!((writes, left), (vec![("a".to_owned(), Op::Merge(patch), Subject::Instance)], 1));
    assert_eq!(decide(&crd, Offboarding::Release, Some(&[others])), Departure::Left);
    // A label alone is taken off, too.
    let labelled = instance("b", &[], &json!({keys::OWNED: "true"}));
    assert_eq!(going(decide(&crd, Offboarding::Release, Some(&[labelled]))).0.len(), 1);
}

#[test]
fn one_that_is_being_deleted_is_waited_for() {
    let crd = Spoke::served(1, &["a"]).seen();
    let mut leaves = kept("a");
    leaves["metadata"]["deletionTimestamp"] = json!("now");
    for offboarding in [Offboarding::Release, Offboarding::Delete] {
        let (writes, left) = going(decide(&crd, offboarding, Some(std::slice::from_ref(&leaves))));
        assert_eq!((writes.len(), left), (0, 1), "{offboarding:?}");
    }
}

#[test]
fn instances_are_deleted_then_the_crd() {
    let mut spoke = Spoke::served(1, &["a"]);
    let many: Vec<Value> = (0..=AT_ONCE).map(|at| instance(&format!("i{at}"), &[], &json!({}))).collect();
    let (writes, _) = going(decide(&spoke.seen(), Offboarding::Delete, Some(&many)));
    assert_eq!(writes.len(), AT_ONCE);
    assert_eq!(writes[0], ("i0".to_owned(), Op::delete("i0"), Subject::Instance));
    let (writes, left) = going(decide(&spoke.seen(), Offboarding::Delete, Some(&[])));
    let op = Op::Delete { uid: "u-crd".into(), version: Some(7) };
    assert_eq!((writes, left), (vec![("webs.kro.run".to_owned(), op, Subject::CustomResource)], 0));
    spoke.crd.as_mut().unwrap()["metadata"]["deletionTimestamp"] = json!("now");
    assert_eq!(going(decide(&spoke.seen(), Offboarding::Delete, Some(&[]))).0, []);
}

#[test]
fn what_could_not_be_read_is_neither_released_nor_forgotten() {
    let crd = Spoke::served(1, &["a"]).seen();
    let cluster = ClusterName::spoke("paris");
    let kind = Kind { group: "kro.run".into(), version: "v1alpha1".into(), kind: "Web".into() };
    let decide = |offboarding, kind| {
        let leaving = Leaving { cluster: &cluster, crd: &crd, rgd_uid: OWNER.uid, hub: HUB, offboarding, kind };
        let unread = (seen(&kept("a")).0, Seen::Unknown);
        leave(&leaving, kind.map(|_| std::iter::once(unread)))
    };
    let unread = Departure::Going { writes: Vec::new(), instances: 1, unread: true };
    assert_eq!(decide(Offboarding::Release, Some(&kind)), unread);
    // To delete one nothing has to be known of it.
    assert_eq!(going(decide(Offboarding::Delete, Some(&kind))).0.len(), 1);
    // A kind that was never served has no instances.
    assert_eq!(decide(Offboarding::Release, None), Departure::Left);
    assert_eq!(going(decide(Offboarding::Delete, None)).0[0].2, Subject::CustomResource);
}

#[test]
fn who_may_have_something_of_ours() {
    let labels = |key: &str| BTreeMap::from([(key.to_owned(), "x".to_owned())]);
    assert!(is_held(true, &BTreeMap::new()) && is_held(false, &labels(keys::APPLYSET_ID)));
    assert!(!is_held(false, &labels("own")));
}

#[test]
fn each_instance_that_is_put_back_waits_by_itself_and_the_crd_may_change_back_and_forth() {
    assert_eq!([Subject::CustomResource, Subject::Instance].map(is_slowed), [false, true]);
}
