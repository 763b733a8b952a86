//! `leave`: when it does, what stays, and the way back.

use broker_api::keys;
use e2e::{
    Kind, Object,
    kind::{ACCEPT_API, CERTIFICATE, SECRET},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::json;

use crate::{
    alone,
    diagnosis::symptom,
    installation::{ACCEPTS, CLUSTERS, HOMER, SHOP, SYSTEM, THESEUS, WEB},
    rights::{CLUSTER_ROLE, CLUSTER_ROLE_BINDING},
    said::is_said,
};

const SERVICE_ACCOUNT: Kind = Kind::core("ServiceAccount", "serviceaccounts");

const DRAINING: [&str; 5] = ["leave", THESEUS, "--role", "provider", "--drain"];

#[test]
fn a_provider_leaves_once_nothing_is_placed_there_any_more() {
    alone(async |at| {
        at.until_sound("before the provider leaves").await;
        let (hub, homer, theseus) = (&at.hub, &at.homer, &at.theseus);
        let holds = |seen: &Object| seen.at("/status/placed") == &json!(1);
        theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, ACCEPTS, "to hold the object", holds).await;
        let said = at.command(&[&DRAINING[..], &["--timeout", "1"]].concat()).await;
        assert_eq!(said.code, Some(2), "there is nowhere to go for the object: {said:?}");
        is_said(at, "leave-waits.txt", &said.shown());
        assert!(hub.find(&SECRET, CLUSTERS, THESEUS).await.is_some(), "{said:?}");

        // What no AcceptAPI counts is there all the same.
        let accepts = theseus.get(&ACCEPT_API, ACCEPT_NAMESPACE, ACCEPTS).await;
        theseus.delete(&ACCEPT_API, ACCEPT_NAMESPACE, ACCEPTS).await;
        theseus.until_gone(&ACCEPT_API, ACCEPT_NAMESPACE, ACCEPTS).await;
        let said = at.command(&[&DRAINING[..], &["--timeout", "1"]].concat()).await;
        assert!(said.code == Some(2) && said.err.contains("1 of 1 copies are left"), "{said:?}");
        let said = at.command(&[&DRAINING[..], &["--broker-namespace", "nowhere"]].concat()).await;
        assert!(said.code == Some(2) && said.err.contains("name them with --watch-kind"), "{said:?}");
        assert!(hub.find(&SECRET, CLUSTERS, THESEUS).await.is_some(), "{said:?}");
        let again =
            json!({"metadata": {"annotations": accepts.at("/metadata/annotations")}, "spec": accepts.at("/spec")});
        theseus.create(&ACCEPT_API, ACCEPT_NAMESPACE, ACCEPTS, again).await;
        theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, ACCEPTS, "to hold the object", holds).await;

        let empty = async {
            let drains = |seen: &Object| seen.annotation(keys::DRAIN) == Some(keys::TRUE);
            theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, ACCEPTS, "to be drained", drains).await;
            homer.delete(&CERTIFICATE, SHOP, WEB).await;
            homer.until_gone(&CERTIFICATE, SHOP, WEB).await;
        };
        let (said, ()) = tokio::join!(at.command(&DRAINING), empty);
        assert_eq!(said.code, Some(0), "{said:?}");
        // How far it was at each look is another matter.
        is_said(at, "leave-provider.txt", &said.out);
        assert!(hub.find(&SECRET, CLUSTERS, THESEUS).await.is_none(), "{said:?}");

        let said = at.join(THESEUS, "provider", &[]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        let said = at.command(&["uncordon", THESEUS]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(at, "uncordon.txt", &said.shown());
        at.ask().await;
        at.until_sound("the provider is back").await;
    });
}

#[test]
fn a_consumer_leaves_its_copies_and_they_are_told_of_until_it_is_back() {
    alone(async |at| {
        at.until_sound("before the consumer leaves").await;
        let leave = ["leave", HOMER, "--role", "consumer", "--member-context"];
        let said = at.command(&[&leave[..], &[THESEUS]].concat()).await;
        assert!(said.code == Some(2) && said.err.contains("is not consumer#homer: nothing was changed"), "{said:?}");
        assert!(at.hub.find(&SECRET, CLUSTERS, HOMER).await.is_some(), "{said:?}");
        let said = at.command(&[&leave[..], &[HOMER]].concat()).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        for (kind, namespace, name) in [
            (&CLUSTER_ROLE_BINDING, "", "resource-broker-consumer"),
            (&CLUSTER_ROLE, "", "resource-broker-consumer-kinds"),
            (&SERVICE_ACCOUNT, SYSTEM, "resource-broker"),
            (&SECRET, SYSTEM, "resource-broker-token"),
        ] {
            assert!(at.homer.find(kind, namespace, name).await.is_none(), "{name}: {said:?}");
        }
        is_said(at, "leave-consumer.txt", &said.shown());
        assert!(at.hub.find(&SECRET, CLUSTERS, HOMER).await.is_none(), "{said:?}");
        let symptoms = [
            symptom("orphans", "provider#theseus", "1 copies of consumer homer, which is not among the clusters"),
            symptom("acceptapi", "provider#theseus AcceptAPI default/certificates", "nobody can ask for it"),
        ];
        at.until_found("the consumer has left", &symptoms).await;
        let said = at.join(HOMER, "consumer", &[]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        at.until_sound("the consumer is back").await;
    });
}

#[test]
fn who_has_not_joined_cannot_leave() {
    alone(async |at| {
        let cases: [(&[&str], &str); 3] = [
            (&["leave", "nobody", "--role", "provider"], "those that have: consumer#homer, provider#theseus"),
            (&["leave", HOMER, "--role", "provider"], "provider#homer has not joined by a Secret"),
            (&["leave", HOMER, "--role", "consumer", "--drain"], "--drain is for providers"),
        ];
        for (args, told) in cases {
            let said = at.command(args).await;
            assert!(said.code == Some(2) && said.err.contains(told), "{said:?}");
        }
    });
}
