//! The end of an RGD.

use graphs_core::definition::{Elsewhere, Instance, Serve};
use runtime_effect::object_key::ObjectKey;
use serde_json::json;

use crate::definition::world::*;

fn deleting(world: &mut World) {
    world.change_rgd(|rgd| rgd["metadata"]["deletionTimestamp"] = "now".into());
    world.log.clear();
}

fn instance(number: u32) -> Instance {
    Instance {
        key: ObjectKey::new("default", format!("i{number}")),
        uid: format!("i-{number}").into(),
        deleting: false,
    }
}

#[test]
fn its_crd_stays_and_its_revisions_go() {
    let mut world = World::settled(&plain());
    let crd = world.crd.clone();
    world.instances = vec![instance(0)];
    deleting(&mut world);
    world.run();
    assert!(world.rgd.is_none() && world.revisions.is_empty());
    assert_eq!((world.crd, world.served, world.instances.len()), (crd, None, 1));
}

#[test]
fn an_inactive_one_goes_too() {
    let mut world = World::settled(&invalid());
    deleting(&mut world);
    world.run();
    assert!(world.rgd.is_none());
}

#[test]
fn with_the_flag_instances_go_then_the_crd_then_the_rgd() {
    let mut world = World::settled(&plain());
    world.allow_crd_deletion = true;
    world.instances = (0..120).map(instance).collect();
    deleting(&mut world);
    assert!(world.step(usize::MAX).list_instances);
    assert_eq!(world.step(usize::MAX).writes.len(), 50, "not all at once");
    world.run();
    assert!(world.rgd.is_none() && world.crd.is_none() && world.instances.is_empty() && world.revisions.is_empty());
    let kinds: Vec<_> = world.written().into_iter().map(|(kind, _)| kind).collect();
    let at = |kind: &str| kinds.iter().position(|held| *held == kind).unwrap();
    assert_eq!((at("CustomResourceDefinition"), at("ResourceGraphDefinition")), (120, 121));
}

#[test]
fn with_the_flag_nothing_goes_while_instances_or_the_crd_are_not_known() {
    for blind in [Blind { instances: true, ..Blind::default() }, Blind { crd: true, ..Blind::default() }] {
        let mut world = World::settled(&plain());
        world.allow_crd_deletion = true;
        world.blind = blind;
        deleting(&mut world);
        for _ in 0..3 {
            world.step(usize::MAX);
        }
        assert_eq!(world.written(), [], "{blind:?}");
    }
}

/// Its names were taken: nobody can list its instances, and there are none.
#[test]
fn with_the_flag_a_crd_that_was_never_served_goes() {
    let mut world = World::settled(&plain());
    world.allow_crd_deletion = true;
    world.blind = Blind { instances: true, ..Blind::default() };
    world.change_crd(|crd| crd["status"]["conditions"] = json!([{"type": "NamesAccepted", "status": "False"}]));
    deleting(&mut world);
    world.run();
    assert!(world.rgd.is_none() && world.crd.is_none());
}

#[test]
fn an_instance_that_is_being_deleted_is_not_deleted_again() {
    let mut world = World::settled(&plain());
    world.allow_crd_deletion = true;
    world.instances = vec![instance(0), instance(1)];
    deleting(&mut world);
    world.step(usize::MAX);
    world.instances = vec![Instance { deleting: true, ..instance(0) }, instance(1)];
    let writes = world.decide().writes;
    assert_eq!(writes.iter().map(|write| write.name.as_str()).collect::<Vec<_>>(), ["i1"]);
    assert_eq!((writes[0].kind.group.as_str(), writes[0].kind.version.as_str()), ("kro.run", "v1alpha1"));
}

#[test]
fn a_crd_that_is_going_is_waited_for() {
    let mut world = World::settled(&plain());
    world.allow_crd_deletion = true;
    deleting(&mut world);
    world.change_crd(|crd| crd["metadata"]["deletionTimestamp"] = "now".into());
    let decision = world.decide();
    assert_eq!((decision.writes, decision.list_instances), (vec![], false));
}

#[test]
fn with_the_flag_the_crd_of_another_stays() {
    for labels in [
        json!({}),
        json!({"kro.run/owned": "true", "kro.run/resource-graph-definition-name": "shop"}),
        json!({
            "kro.run/owned": "true",
            "kro.run/resource-graph-definition-name": NAME,
            "kro.run/resource-graph-definition-id": "u-0",
        }),
    ] {
        let mut world = World::settled(&plain());
        world.allow_crd_deletion = true;
        world.instances = vec![instance(0)];
        world.change_crd(|crd| crd["metadata"]["labels"] = labels);
        deleting(&mut world);
        world.run();
        assert!(world.rgd.is_none() && world.crd.is_some() && world.instances.len() == 1);
    }
}

#[test]
fn finalizers_of_others_stay_and_nothing_is_restored_meanwhile() {
    let mut world = World::settled(&plain());
    world.change_rgd(|rgd| rgd["metadata"]["finalizers"].as_array_mut().unwrap().push("a/b".into()));
    deleting(&mut world);
    world.run();
    assert_eq!(world.rgd.as_ref().unwrap()["metadata"]["finalizers"], json!(["a/b"]));
    world.crd = None;
    assert_eq!(world.run().serve, Serve::Nothing);
    assert!(world.crd.is_none());
}

#[test]
fn revisions_that_are_left_go_after_a_restart() {
    let mut world = World::settled(&plain());
    world.rgd = None;
    world.restart();
    world.step(usize::MAX);
    world.run();
    assert!(world.revisions.is_empty() && world.crd.is_some());
}

#[test]
fn the_first_few_instances_that_have_to_go_are_named() {
    let mut world = World::settled(&plain());
    world.allow_crd_deletion = true;
    world.instances = (0..6).map(instance).collect();
    world.instances[1].key.namespace = "".into();
    deleting(&mut world);
    world.step(0);
    let named = |world: &World| world.decide().notes[0].message.clone();
    let all = "of kind WebApp have to go before the CRD: default/i0, i1, default/i2, default/i3, default/i4";
    assert_eq!(named(&world), format!("6 instances {all}, …"));
    world.instances.pop();
    assert_eq!(named(&world), format!("5 instances {all}"));
}

#[test]
fn an_instance_that_cannot_be_deleted_waits_by_itself() {
    let mut world = World::settled(&plain());
    world.allow_crd_deletion = true;
    world.instances = (0..3).map(instance).collect();
    deleting(&mut world);
    world.step(0);
    for write in world.decide().writes.drain(..2) {
        world.memory.refused(write.subject, write.intent, "Forbidden", "no right".into(), 100_000, 0);
    }
    let names: Vec<String> = world.decide().writes.into_iter().map(|write| write.name).collect();
    assert_eq!(names, ["i2"]);
}

#[test]
fn it_goes_once_it_has_left_other_clusters() {
    let mut world = World::settled(&plain());
    deleting(&mut world);
    world.elsewhere = Elsewhere::Unknown;
    world.run();
    assert!(world.rgd.is_some() && world.decide().notes.is_empty());
    world.elsewhere = Elsewhere::In("spoke#paris".to_owned());
    world.run();
    assert!(world.rgd.is_some() && world.decide().notes[0].message.contains("from spoke#paris"));
    world.elsewhere = Elsewhere::Nowhere;
    world.run();
    assert!(world.rgd.is_none());
}
