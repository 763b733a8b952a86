//! Where stages may make what, and whose word on that counts.

use broker_api::{
    MigrationState::{Failed, InitialInProgress},
    keys,
};
use serde_json::{Value, json};

use crate::migrate::world::{Applied, FROM, NAMESPACE, World, job, job_stage, with};

/// A stage whose template names a namespace.
fn within(namespace: &str) -> World {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace}});
    World::new(json!([with(job_stage("a", "a"), json!({"templates": {"a": map}, "successConditions": ["false"]}))]))
}

fn made(world: &World) -> Vec<&str> {
    world.ours().map(|at| &*at.1).collect()
}

#[test]
fn stages_stay_in_the_migrations_namespace_and_the_configurations() {
    for allowed in [NAMESPACE, "config"] {
        let mut world = within(allowed);
        world.settle();
        assert_eq!(made(&world), [allowed]);
    }
    let mut world = within("elsewhere");
    world.settle();
    assert!(made(&world).is_empty());
    assert_eq!(world.reason("Stalled"), "NamespaceNotAllowed");
    let told = world.message("Stalled");
    assert!(told.contains("templates[a].metadata.namespace") && told.contains("--stage-namespace elsewhere"), "{told}");
    world.stage_namespaces = vec!["elsewhere".to_owned()];
    world.settle();
    assert_eq!((made(&world), world.condition("Stalled")), (vec!["elsewhere"], None));
}

/// What somebody wrote into the status: another template.
fn forged(world: &mut World, signature: Option<Value>) {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let stages = json!([with(job_stage("a", "a"), json!({"templates": {"planted": map}}))]);
    world.corrupt(|migration| {
        let recorded = &mut migration["status"]["configuration"];
        recorded["stages"] = stages;
        if let Some(signature) = signature {
            recorded["signature"] = signature;
        }
    });
}

fn begun() -> World {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.settle();
    assert_eq!(world.state(), InitialInProgress);
    world
}

#[test]
fn what_somebody_wrote_into_the_status_is_not_carried_out() {
    // The first has that of what was recorded.
    for signature in [None, Some(json!(null)), Some(json!("v1.k1.AAAA"))] {
        let mut world = begun();
        forged(&mut world, signature);
        let decided = world.settle();
        assert!(decided.distrusts, "what is watched stays so");
        assert_eq!((world.made_keys(), world.reason("Stalled")), (vec!["a".to_owned()], "Invalid".to_owned()));
        assert!(world.message("Stalled").contains("status.configuration"), "{}", world.message("Stalled"));
        world.edit("abort", json!(true));
        world.settle();
        assert_eq!((world.state(), world.made_keys()), (Failed, Vec::new()), "and what was made before goes");
    }
}

#[test]
fn what_says_the_same_as_the_configuration_in_force_counts_and_is_signed() {
    let mut world = begun();
    let signature = world.status().configuration.unwrap().signature.unwrap();
    world.corrupt(|migration| migration["status"]["configuration"]["signature"] = json!(null));
    let Applied::Found(found) = std::mem::replace(&mut world.applied, Applied::Unknown) else { panic!() };
    assert!(world.settle().writes.is_empty() && world.condition("Stalled").is_none(), "nobody knows yet");
    world.applied = Applied::Found(found);
    world.settle();
    assert_eq!(world.status().configuration.unwrap().signature, Some(signature));
    assert_eq!(world.made_keys(), ["a"]);
    // With its signature it needs no configuration any more.
    world.applied = Applied::None;
    let at = world.at(job(), "a");
    world.objects.remove(&at);
    world.settle();
    assert_eq!(world.made_keys(), ["a"]);
}

#[test]
fn the_origin_on_a_migration_is_signed_and_put_right() {
    let mut world = begun();
    let signature = world.migration().unwrap()["metadata"]["annotations"][keys::ORIGIN].clone();
    assert!(signature.as_str().unwrap().starts_with("v1.k1."), "{signature}");
    world.annotate(keys::ORIGIN, "forged");
    world.annotate(keys::CONSUMER_NAME, "other");
    world.settle();
    let annotations = world.migration().unwrap()["metadata"]["annotations"].clone();
    assert_eq!((&annotations[keys::ORIGIN], &annotations[keys::CONSUMER_NAME]), (&signature, &json!("cert")));
}

#[test]
fn nothing_runs_in_a_namespace_of_the_system() {
    let mut world =
        World::new(json!([with(job_stage("a", "a"), json!({"templates": {}, "successConditions": ["true"]}))]));
    world.corrupt(|migration| migration["metadata"]["namespace"] = json!("kube-system"));
    world.settle();
    assert_eq!(world.reason("Stalled"), "NamespaceNotAllowed");
}

#[test]
fn nothing_is_brought_into_a_namespace_of_the_system_either() {
    let mut world = World::new(json!([{"name": "a", "successConditions": ["true"]}]));
    world.corrupt(|migration| migration["metadata"]["namespace"] = json!("kube-system"));
    world.relate(FROM, "tls", "b2xk");
    world.settle();
    assert_eq!((world.reason("Stalled").as_str(), world.objects.len()), ("NamespaceNotAllowed", 0));
}
