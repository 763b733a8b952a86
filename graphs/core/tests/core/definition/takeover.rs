//! Taking over from kro, which wrote revisions and CRDs in its own way.

use serde_json::json;

use crate::definition::world::*;

/// As kro leaves it: no digest, a field that we did not apply, another version, another hash.
fn of_kro() -> World {
    let mut world = World::settled(&plain());
    world.change_crd(|crd| {
        crd["metadata"]["annotations"] = json!({});
        crd["metadata"]["labels"]["kro.run/kro-version"] = "v0.9.3".into();
    });
    world.applied = None;
    let revision = world.revisions.get_mut("web-r00001").unwrap();
    revision["metadata"]["labels"]["kro.run/graph-revision-hash"] = "of-kro".into();
    revision["spec"]["snapshot"]["spec"]["schema"]["group"] = "kro.run".into();
    world.restart();
    world.log.clear();
    world
}

#[test]
fn its_latest_revision_is_used_and_none_is_issued() {
    let mut world = of_kro();
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![1], Some(1)));
    assert_eq!(world.written(), [("CustomResourceDefinition", "apply")]);
    assert_eq!(world.crd.as_ref().unwrap()["metadata"]["generation"], 1);
}

#[test]
fn a_field_that_it_left_in_the_crd_goes() {
    let mut world = of_kro();
    world.change_crd(|crd| crd["spec"]["names"]["shortNames"] = json!(["old"]));
    world.run();
    assert_eq!(world.crd.as_ref().unwrap()["spec"]["names"]["shortNames"], json!(null));
    assert_eq!(world.written()[..2], [("CustomResourceDefinition", "apply"), ("CustomResourceDefinition", "merge")]);
}

#[test]
fn an_rgd_without_revisions_gets_one() {
    let mut world = of_kro();
    world.revisions.clear();
    world.change_rgd(|rgd| drop(rgd["status"].as_object_mut().unwrap().remove("lastIssuedRevision")));
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![1], Some(1)));
}

#[test]
fn a_crd_of_an_rgd_of_the_same_name_is_adopted() {
    let mut world = of_kro();
    let id = "kro.run/resource-graph-definition-id";
    world.change_crd(|crd| crd["metadata"]["labels"][id] = "u-0".into());
    world.run();
    assert_eq!(world.crd.as_ref().unwrap()["metadata"]["labels"][id], "u-1");
    assert_eq!(world.served, Some(1));
}
