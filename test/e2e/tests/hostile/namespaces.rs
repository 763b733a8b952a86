//! Namespaces at providers: system namespaces are refused, emptied ones go slowly.

use std::{collections::BTreeSet, ops::Range, time::Duration};

use broker_api::keys;
use e2e::{
    Broker, BrokerSetup, Kind, Object, Request, Scene, Tally,
    kind::{CONFIG_MAP, NAMESPACE},
};
use futures::future::join_all;
use harness::wait_for;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use crate::{ARIADNE, BART, WORLD};

/// A kind of a broker whose requests are counted.
const ROOM: Kind = Kind::test("Room", "rooms");

const ROOMS: usize = 60;

/// All of them, one provider's at most so fast.
const LIMIT: Duration = Duration::from_mins(3);

fn name(number: usize) -> String {
    format!("rooms-{number}")
}

#[test]
fn many_emptied_namespaces_cost_a_bounded_number_of_requests() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let (bart, ariadne) = (world.consumer(BART), world.provider(ARIADNE));
        for place in [bart, ariadne] {
            place.apply(&ROOM.crd().to_string()).await;
        }
        let scene = Scene::new(world, "rooms", &[]).await;
        world.hub.make_namespace("rooms-broker").await;
        let setup = BrokerSetup {
            program: "",
            name: "rooms-broker",
            user: "broker-2",
            coordination: Some(&world.hub),
            consumers: vec![bart],
            providers: vec![ariadne],
            kinds: &[ROOM],
            args: crate::arguments(&["--namespace", "rooms-broker"]),
        };
        let mut broker = Broker::start(&world.lab, &setup).await;
        let any = json!({"key": "scene", "valueIn": [scene.name]});
        scene.accept_kind(&ROOM, ariadne, &[any], serde_json::Value::Null).await;
        for some in (0..ROOMS).collect::<Vec<_>>().chunks(20) {
            join_all(some.iter().map(async |number| {
                bart.make_namespace(&name(*number)).await;
                bart.create(&ROOM, &name(*number), "r", json!({"spec": {"scene": scene.name}})).await;
            }))
            .await;
        }
        for number in 0..ROOMS {
            ariadne.until_there(&ROOM, &name(number), &bart.copy_name("r")).await;
        }
        // Somebody else has found one of them useful.
        ariadne.create(&CONFIG_MAP, &name(7), "theirs", json!({"data": {"a": "b"}})).await;

        let tally = Tally::begin([ariadne]).await;
        let empty = async |rooms: Range<usize>| {
            for some in rooms.collect::<Vec<_>>().chunks(20) {
                join_all(some.iter().map(async |number| {
                    let api = bart.api(&ROOM, &name(*number));
                    api.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
                }))
                .await;
            }
        };
        let made = |seen: &&Object| seen.name().starts_with("rooms-") && seen.label(keys::MANAGED_BY).is_some();
        let until_left = async |most: usize, broker: &Broker| {
            let what = format!("{most} of the emptied namespaces to be left");
            wait_for(LIMIT, &what, async || {
                let all = ariadne.list(&NAMESPACE, "").await;
                let left: Vec<String> = all.iter().filter(made).map(|seen| seen.name().to_owned()).collect();
                if left.len() <= most { Ok(left) } else { Err(format!("{} left", left.len())) }
            })
            .await
            .unwrap_or_else(|error| panic!("{error:#}\n{}", broker.last_lines(40)))
        };
        // Killed in the middle of it, it goes on: some are in use until then, however fast the others go.
        let third = ROOMS / 3;
        for (rooms, most) in [(0..third, ROOMS - third / 2), (third..2 * third, ROOMS / 2)] {
            empty(rooms).await;
            assert!(until_left(most, &broker).await.len() > 1, "it is in the middle");
            broker.kill();
            broker.start_again(&world.lab).await;
        }
        empty(2 * third..ROOMS).await;
        assert_eq!(until_left(1, &broker).await, [name(7)]);
        assert!(!ariadne.get(&NAMESPACE, "", &name(7)).await.is_deleting(), "it is in use");
        let reads = tally.requests().await.of("broker-2").reads();
        println!("{ROOMS} namespaces: {} reads", reads.0.len());
        // Asking for every kind in each would take as many for the first look alone.
        let lists = reads.0.iter().filter(|Request { event, .. }| event.verb == "list");
        let resources = lists.filter_map(|Request { event, .. }| event.uri.split('?').next()?.rsplit('/').next());
        let each = resources.collect::<BTreeSet<_>>().len() * ROOMS;
        assert!(reads.0.len() <= each / 2, "{each} if each were looked at alone: {reads}");

        // And what comes back is served again.
        bart.create(&ROOM, &name(3), "again", json!({"spec": {"scene": scene.name}})).await;
        ariadne.until_there(&ROOM, &name(3), &bart.copy_name("again")).await;
        assert_eq!(broker.terminate().await, Some(0));
    });
}
