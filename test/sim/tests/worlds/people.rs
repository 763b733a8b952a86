//! What people have to do with Migrations: they write one of their own, hold others up, give them up, try them again, end them.

use std::time::Duration;

use broker_api::{ClusterName, keys};
use broker_core::naming::{NameLimit, copy_name};
use serde_json::{Value, json};

use crate::{
    act::{Act, Order, Policy, Thing},
    chance::Chance,
    person::Person,
    stage::{CERTIFICATE, HUB, MIGRATIONS, PROVIDERS, SHOP, Stage},
};

fn path(namespace: &str, name: &str) -> String {
    format!("/apis/broker.platform-mesh.io/v1alpha1/namespaces/{namespace}/migrations{name}")
}

/// All Migrations that there are hear it.
pub(crate) async fn order(stage: &Stage, order: Order) {
    let hub = stage.server(HUB);
    let ann = Person { name: "ann", server: &hub };
    for ((namespace, name), migration) in hub.objects(MIGRATIONS) {
        let retry = migration["spec"]["retry"].as_i64().unwrap_or_default() + 1;
        let spec = match order {
            Order::Pause => json!({"paused": true}),
            Order::Resume => json!({"paused": false}),
            Order::Abort => json!({"abort": true}),
            Order::Retry => json!({ "retry": retry }),
            Order::Delete => Value::Null,
        };
        let method = if order == Order::Delete { "DELETE" } else { "PATCH" };
        ann.ask(method, &path(&namespace, &format!("/{name}")), &json!({ "spec": spec })).await;
    }
}

/// A person has a thing moved from where it is served. Nobody does where it is not served, or there already.
pub(crate) async fn transfer(stage: &Stage, thing: Thing, to: &str) {
    let hub = stage.server(HUB);
    let origin = stage.server(thing.tenant).objects(CERTIFICATE).remove(&(SHOP.to_owned(), thing.name.to_owned()));
    let Some(origin) = origin else { return };
    let Some(from) = origin["metadata"]["annotations"][keys::PROVIDER_CLUSTER].as_str().filter(|from| *from != to)
    else {
        return;
    };
    let gvk = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "kind": "Certificate"});
    let copy = copy_name(&ClusterName::consumer(thing.tenant), thing.name, NameLimit::Subdomain);
    let side = |cluster: &str| json!({"gvk": gvk, "name": copy, "namespace": SHOP, "clusterName": cluster});
    let metadata = json!({"name": format!("by-hand-{}-{to}", thing.name), "namespace": SHOP});
    let migration = json!({"apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "Migration", "metadata": metadata,
        "spec": {"from": side(from), "to": side(to)}});
    Person { name: "ann", server: &hub }.ask("POST", &path(SHOP, ""), &migration).await;
}

/// In some stories people have a say in a move between two of the acts.
pub(crate) fn take_part(acts: &mut Vec<(Act, Duration)>, chance: &mut Chance) {
    if chance.below(3) > 0 {
        return;
    }
    let mut pause = |most: &[u64]| Duration::from_secs(chance.one_of(most));
    let pauses = [pause(&[0, 5, 20]), pause(&[0, 1, 2, 4, 8, 15]), pause(&[0, 1, 4, 20, 70]), pause(&[5, 20])];
    let provider = chance.one_of(&PROVIDERS[..2]);
    let moves = chance.one_of(&[
        Act::Policy(provider, Policy::Drained),
        Act::Policy(provider, Policy::Closed),
        Act::Transfer(Thing::FIRST, provider),
    ]);
    let (first, second) = match chance.below(6) {
        0 => (Order::Pause, Order::Resume),
        1 => (Order::Pause, Order::Abort),
        2 => (Order::Abort, Order::Delete),
        3 => (Order::Abort, Order::Retry),
        4 => (Order::Delete, Order::Retry),
        _ => (Order::Pause, Order::Delete),
    };
    let staged = if chance.below(4) > 0 { Act::Configure } else { Act::Nothing };
    let at = 1 + usize::try_from(chance.below(acts.len() as u64)).unwrap();
    let all = [staged, moves, Act::Order(first), Act::Order(second)].into_iter().zip(pauses);
    acts.splice(at..at, all);
}
