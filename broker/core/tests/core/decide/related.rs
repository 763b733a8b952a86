//! CONTRACT, "Flow of one object", 4; INVARIANTS A6 to A8: related resources, live and safe.

use std::sync::Arc;

use broker_api::{ClusterName, keys};
use broker_core::{
    copy,
    related::{Listing, Terms, listing as listed},
    snapshot::OriginKey,
};
use runtime_effect::kind::Kind;
use serde_json::{Value, json};

use crate::decide::world::{NAMESPACE, World, certificate, config_map, key, secret, web};

fn p1() -> ClusterName {
    ClusterName::provider("p1")
}

fn homer() -> ClusterName {
    ClusterName::consumer("homer")
}

fn reference(name: &str) -> Value {
    json!({"gvk": {"group": "core", "version": "v1", "kind": "Secret"}, "name": name})
}

fn data(text: &str) -> Value {
    json!({"metadata": {}, "type": "Opaque", "data": {"k": text}})
}

/// A served origin whose provider lists these related resources.
fn listing(entries: &Value) -> World {
    let mut world = World::served();
    world.accept("p1", &json!({"relatedNames": ["*"]}));
    world.provider_status("p1", &web(), json!({"phase": "Up", "relatedResources": entries}));
    world
}

fn refusal(world: &mut World) -> String {
    let decision = world.settle(&web());
    let reasons = ["RelatedRefused", "RelatedConflict"];
    let note = decision.notes.iter().find(|note| reasons.contains(&&*note.reason));
    note.unwrap_or_else(|| panic!("nothing is refused: {:?}", decision.notes)).message.clone()
}

#[test]
fn a_secret_arrives_without_prefix_owned_and_is_kept_up_to_date() {
    let name = World::copy_at(&web()).2;
    let mut world = listing(&json!({"tls": reference(&name)}));
    world.settle(&web());
    assert!(world.secret(&homer(), "web").is_none(), "it does not exist yet");
    world.put_secret(&p1(), &name, data("one"));
    let decision = world.settle(&web());
    assert_eq!(decision.interests.len(), 1);
    let secret = world.secret(&homer(), "web").unwrap();
    assert_eq!((&secret["data"], &secret["type"]), (&json!({"k": "one"}), &json!("Opaque")));
    assert_eq!(secret["metadata"]["labels"][keys::MANAGED_BY], keys::MANAGER);
    let owner = &secret["metadata"]["ownerReferences"][0];
    let origin = world.origin(&web()).unwrap();
    assert_eq!(owner["uid"], origin["metadata"]["uid"]);
    assert_eq!((&owner["kind"], &owner["name"]), (&json!("Certificate"), &json!("web")));
    assert_eq!(origin["status"]["relatedResources"]["tls"]["name"], "web");
    world.assert_steady(&web());
    world.log.clear();
    world.put_secret(&p1(), &name, data("two"));
    world.settle(&web());
    assert_eq!(world.writes(), ["patch homer/web"]);
    assert_eq!(world.secret(&homer(), "web").unwrap()["data"], json!({"k": "two"}), "a rotated Secret arrives");
    world.assert_steady(&web());
    world.provider_status("p1", &web(), json!({"phase": "Up"}));
    world.settle(&web());
    assert!(world.secret(&homer(), "web").is_none(), "no longer listed");
}

/// It has not said its last word on what there will be.
#[test]
fn a_provider_that_is_still_at_work_takes_nothing_away() {
    for (word, stays) in [("Unknown", true), ("Provisioning", true), ("Available", false)] {
        let mut world = listing(&json!({"tls": reference("web-tls")}));
        world.put_secret(&p1(), "web-tls", data("one"));
        world.settle(&web());
        world.provider_status("p1", &web(), json!({"status": word}));
        let status = json!({"type": "string"});
        let rule = world.provider("p1").objects.kinds.get_mut(&certificate()).unwrap();
        rule.schema["properties"]["status"]["properties"]["status"] = status;
        world.provider_status("p1", &web(), json!({"status": word}));
        world.settle(&web());
        assert_eq!(world.secret(&homer(), "web-tls").is_some(), stays, "{word}");
    }
}

#[test]
fn a_change_by_somebody_at_the_consumer_is_put_right() {
    let mut world = listing(&json!({"tls": reference("tls")}));
    world.put_secret(&p1(), "tls", data("one"));
    world.settle(&web());
    let at = (secret(), NAMESPACE.to_owned(), "tls".to_owned());
    world.consumer().edit(&at, |secret| secret["data"] = json!({"k": "theirs", "more": "x"}));
    world.consumer().edit(&at, |secret| secret["metadata"]["labels"] = json!({"theirs": "stays"}));
    world.settle(&web());
    let secret = world.secret(&homer(), "tls").unwrap();
    assert_eq!(secret["data"], json!({"k": "one"}));
    assert_eq!(secret["metadata"]["labels"], json!({"theirs": "stays", keys::MANAGED_BY: keys::MANAGER}));
    world.consumer().delete(&at);
    world.settle(&web());
    assert!(world.secret(&homer(), "tls").is_some());
    world.assert_steady(&web());
}

#[test]
fn other_owners_are_left_alone() {
    let mut world = listing(&json!({"tls": reference("tls")}));
    world.put_secret(&p1(), "tls", data("one"));
    world.settle(&web());
    let at = (secret(), NAMESPACE.to_owned(), "tls".to_owned());
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "uid": "u"});
    world.consumer().edit(&at, |secret| secret["metadata"]["ownerReferences"].as_array_mut().unwrap().push(other));
    world.assert_steady(&web());
    world.put_secret(&p1(), "tls", data("two"));
    world.settle(&web());
    let secret = world.secret(&homer(), "tls").unwrap();
    assert_eq!(secret["metadata"]["ownerReferences"].as_array().unwrap().len(), 2);
    assert_eq!(secret["data"]["k"], "two");
}

#[test]
fn a_source_that_goes_leaves_the_copy_while_it_is_listed() {
    let mut world = listing(&json!({"tls": reference("tls")}));
    world.put_secret(&p1(), "tls", data("one"));
    world.settle(&web());
    let at = (secret(), NAMESPACE.to_owned(), "tls".to_owned());
    world.provider("p1").delete(&at);
    world.settle(&web());
    assert!(world.secret(&homer(), "tls").is_some());
}

#[test]
fn a6_another_namespace_is_refused() {
    let mut entry = reference("tls");
    entry["namespace"] = json!("kube-system");
    let mut world = listing(&json!({"tls": entry}));
    world.put_secret(&p1(), "tls", data("one"));
    assert!(refusal(&mut world).contains("another namespace"));
    assert!(world.secret(&homer(), "tls").is_none());
    let mut entry = reference("tls");
    entry["namespace"] = json!(NAMESPACE);
    world.provider_status("p1", &web(), json!({"relatedResources": {"tls": entry}}));
    world.settle(&web());
    assert!(world.secret(&homer(), "tls").is_some(), "its own namespace may be named");
}

#[test]
fn a6_another_tenants_secret_is_refused_by_prefix_and_by_owner() {
    let foreign = World::copy_at(&key("marge", "web")).2;
    let mut world = listing(&json!({"tls": reference(&foreign)}));
    world.put_secret(&p1(), &foreign, data("hers"));
    assert!(refusal(&mut world).contains("prefix of another consumer"));

    let mut world = listing(&json!({"tls": reference("plain")}));
    let mut hers = data("hers");
    hers["metadata"]["ownerReferences"] = json!([{"apiVersion": "example.platform-mesh.io/v1alpha1",
        "kind": "Certificate", "name": foreign, "uid": "hers"}]);
    world.put_secret(&p1(), "plain", hers);
    assert!(refusal(&mut world).contains("belongs to another object"));
    assert!(world.secret(&homer(), "plain").is_none());
}

#[test]
fn a7_token_secrets_are_refused() {
    for kind in ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"] {
        let mut world = listing(&json!({"token": reference("token")}));
        let mut token = data("secret");
        token["type"] = json!(kind);
        world.put_secret(&p1(), "token", token);
        assert!(refusal(&mut world).contains(kind));
        assert!(world.secret(&homer(), "token").is_none());
        // What is no Secret may be of whatever type it likes.
        let at = |name: &str| (config_map(), NAMESPACE.to_owned(), name.to_owned());
        world.provider("p1").put(&at("web-map"), json!({"metadata": {}, "type": kind}));
        let map = json!({"gvk": {"version": "v1", "kind": "ConfigMap"}, "name": "web-map"});
        world.provider_status("p1", &web(), json!({"relatedResources": {"map": map}}));
        world.settle(&web());
        assert!(world.consumer().get(&at("web-map")).is_some());
    }
}

#[test]
fn a7_nothing_that_the_broker_did_not_make_is_overwritten_or_removed() {
    let mut world = listing(&json!({"tls": reference("tls")}));
    world.put_secret(&p1(), "tls", data("one"));
    world.put_secret(&homer(), "tls", data("precious"));
    assert!(refusal(&mut world).contains("not overwritten"));
    assert_eq!(world.secret(&homer(), "tls").unwrap()["data"]["k"], "precious");
    // Neither if it belongs to the origin, but somebody else made it.
    let uid = world.origin(&web()).unwrap()["metadata"]["uid"].clone();
    let mut owned = data("precious");
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "example.platform-mesh.io/v1alpha1", "kind": "Certificate", "name": "web", "uid": uid}]);
    world.put_secret(&homer(), "tls", owned);
    assert!(refusal(&mut world).contains("not overwritten"));
    assert_eq!(world.secret(&homer(), "tls").unwrap()["data"]["k"], "precious");
    world.provider_status("p1", &web(), json!({"phase": "Up"}));
    world.settle(&web());
    assert!(world.secret(&homer(), "tls").is_some(), "not ours to remove");
}

#[test]
fn a7_a_related_copy_of_another_origin_is_not_overwritten() {
    let mut world = listing(&json!({"tls": reference("tls")}));
    world.put_secret(&p1(), "tls", data("one"));
    world.settle(&web());
    let other = key("homer", "other");
    world.create(&other, json!({}));
    world.settle(&other);
    world.provider_status("p1", &other, json!({"relatedResources": {"tls": reference("tls")}}));
    let decision = world.settle(&other);
    assert!(decision.notes.iter().any(|note| note.reason == "RelatedConflict"), "{:?}", decision.notes);
    world.assert_steady(&web());
}

#[test]
fn a8_kinds_that_are_not_allowed_are_refused() {
    for (group, version, kind) in [
        ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
        ("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        ("core", "v1", "Pod"),
        ("", "v1", "ServiceAccount"),
        ("evil.io", "v1", "Secret"),
        ("", "v2", "Secret"),
    ] {
        let entry = json!({"gvk": {"group": group, "version": version, "kind": kind}, "name": "x"});
        assert!(refusal(&mut listing(&json!({"x": entry}))).contains("not among the related kinds"), "{kind}");
    }
}

#[test]
fn an_acceptapi_narrows_the_kinds() {
    let mut world = listing(&json!({"tls": reference("tls")}));
    world.put_secret(&p1(), "tls", data("one"));
    world.accept("p1", &json!({"relatedKinds": ["ConfigMap"], "relatedNames": ["*"]}));
    assert!(refusal(&mut world).contains("relatedKinds do not list Secret"));
    assert!(world.secret(&homer(), "tls").is_none());
    for (entry, names) in [("Secret.example.org", false), ("Secret.core", true), ("Secret", true)] {
        let mut world = listing(&json!({"tls": reference("tls")}));
        world.put_secret(&p1(), "tls", data("one"));
        world.accept("p1", &json!({"relatedKinds": [entry], "relatedNames": ["*"]}));
        world.settle(&web());
        assert_eq!(world.secret(&homer(), "tls").is_some(), names, "{entry}");
    }
}

#[test]
fn malformed_entries_are_refused_one_by_one() {
    let bad = ["../../secrets/x", "UPPER", "", "-a", "a b"];
    for name in bad {
        assert!(refusal(&mut listing(&json!({"x": reference(name)}))).contains("not a valid object name"), "{name:?}");
    }
    let mut world = listing(&json!({"bad": {"name": 7}, "good": reference("tls")}));
    world.put_secret(&p1(), "tls", data("one"));
    assert!(refusal(&mut world).contains("relatedResources[bad]"));
    assert!(world.secret(&homer(), "tls").is_some());
}

#[test]
fn two_entries_of_one_target_name_are_not_mixed_up() {
    let prefixed = format!("{}-tls", World::copy_at(&web()).2.split_once('-').unwrap().0);
    let mut world = listing(&json!({"a": reference("tls"), "b": reference(&prefixed)}));
    world.put_secret(&p1(), "tls", data("one"));
    world.put_secret(&p1(), &prefixed, data("two"));
    assert!(refusal(&mut world).contains("same name in the consumer"));
    assert_eq!(world.secret(&homer(), "tls").unwrap()["data"]["k"], "one");
    world.assert_steady(&web());
}

#[test]
fn a_flood_of_entries_is_cut() {
    let entries = |count: usize| {
        Value::Object((0..count).map(|index| (format!("e{index}"), reference(&format!("s{index}")))).collect())
    };
    let mut world = listing(&entries(200));
    assert!(refusal(&mut world).contains("only the first 64 of 200"));
    assert_eq!(world.look(&web()).interests.len(), 64);
    let refused = |count: usize| named_by(&web(), &json!({"relatedResources": entries(count)})).refused.len();
    assert_eq!((refused(64), refused(65)), (0, 1));
}

/// What a status lists, by the terms of one who announces no names.
fn named_by(key: &OriginKey, status: &Value) -> Listing {
    listed(key, status, NAMESPACE, Terms { kinds: &[secret()], narrowed: &[], names: Some(&[]) })
}

#[test]
fn a_name_is_as_long_as_kubernetes_lets_it_be() {
    let refused = |name: &str| named_by(&web(), &json!({"relatedResources": {"x": reference(name)}})).refused.len();
    assert_eq!((refused(&"a".repeat(253)), refused(&"a".repeat(254))), (0, 1));
}

#[test]
fn what_is_named_after_the_object_or_after_its_copy_is_so_also_where_the_copys_name_is_cut() {
    let service = Arc::new(Kind { group: String::new(), version: "v1".into(), kind: "Service".into() });
    let key = OriginKey { gvk: service, ..key("homer", &"a".repeat(60)) };
    let copy = copy::name(&key);
    assert!(!copy.contains(&*key.name));
    for (name, own) in [(format!("{}-tls", key.name), true), (format!("{copy}-tls"), true), ("tls".into(), false)] {
        let listing = named_by(&key, &json!({"relatedResources": {"tls": reference(&name)}}));
        assert_eq!(listing.allowed[0].misnamed.is_none(), own, "{listing:?}");
    }
}

#[test]
fn an_owner_of_another_kind_makes_it_nobody_elses() {
    let owners = [
        ("cert-manager.io/v1", "Certificate", true),
        ("example.platform-mesh.io/v1", "Issuer", true),
        ("v1", "Certificate", true),
        ("example.platform-mesh.io/v1", "Certificate", false),
    ];
    for (api_version, kind, brought) in owners {
        let mut world = listing(&json!({"tls": reference("web-tls")}));
        let mut owned = data("one");
        owned["metadata"]["ownerReferences"] =
            json!([{"apiVersion": api_version, "kind": kind, "name": "x", "uid": "x"}]);
        world.put_secret(&p1(), "web-tls", owned);
        world.settle(&web());
        assert_eq!(world.secret(&homer(), "web-tls").is_some(), brought, "{api_version} {kind}");
    }
}

/// Lists one Secret of this name, by these `relatedNames`; whether it arrived under its name, and what was refused.
fn named(name: &str, names: &Value) -> (bool, Option<String>) {
    let mut world = listing(&json!({"one": reference(name)}));
    world.accept("p1", &json!({"relatedNames": names}));
    world.put_secret(&p1(), name, data("one"));
    let decision = world.settle(&web());
    let told = decision.notes.iter().find(|note| note.reason == "RelatedRefused").map(|note| note.message.clone());
    world.assert_steady(&web());
    let target = name.strip_prefix(&format!("{}-", World::copy_at(&web()).2.split_once('-').unwrap().0));
    (world.secret(&homer(), target.unwrap_or(name)).is_some(), told)
}

#[test]
fn names_begin_with_the_objects_or_are_announced() {
    let copy = World::copy_at(&web()).2;
    for name in ["web", "web-tls", "web.tls", &copy, &format!("{copy}-key")] {
        assert_eq!(named(name, &json!([])), (true, None), "{name}");
    }
    for name in ["website", "tls", "we", "x-web"] {
        let (arrived, told) = named(name, &json!(["pg-*-app"]));
        assert!(!arrived, "{name}");
        let told = told.unwrap();
        assert!(told.contains(name) && told.contains("relatedNames") && told.contains("<copy>"), "{told}");
    }
    assert_eq!(named("pg-web-app", &json!(["x", "pg-*-app"])), (true, None));
    for name in ["kube-root-ca.crt", "default-token-x"] {
        let (arrived, told) = named(name, &json!(["*"]));
        assert!(!arrived && told.unwrap().contains("Kubernetes' own"), "no pattern opens it");
    }
}

#[test]
fn what_is_there_under_another_name_stays_and_is_kept_up_to_date() {
    let mut world = listing(&json!({"tls": reference("tls")}));
    world.put_secret(&p1(), "tls", data("one"));
    world.settle(&web());
    world.accept("p1", &json!({}));
    world.put_secret(&p1(), "tls", data("two"));
    world.settle(&web());
    assert_eq!(world.secret(&homer(), "tls").unwrap()["data"]["k"], "two");
    world.assert_steady(&web());
}

#[test]
fn a_provider_that_does_not_accept_the_object_brings_by_its_own_terms_and_without_any_only_what_is_there() {
    let mut world = listing(&json!({"tls": reference("tls")}));
    world.put_secret(&p1(), "tls", data("one"));
    world.engage(ClusterName::provider("p0"));
    let nobody = json!([{"key": "fqdn", "valueIn": ["x"]}]);
    world.accept("p0", &json!({"filters": nobody}));
    world.accept("p1", &json!({"filters": nobody, "relatedNames": ["tls"]}));
    world.settle(&web());
    assert_eq!(world.secret(&homer(), "tls").unwrap()["data"]["k"], "one");

    world.accept_no_more("p1");
    world.put_secret(&p1(), "tls", data("two"));
    world.put_secret(&p1(), "web-new", data("new"));
    let both = json!({"tls": reference("tls"), "new": reference("web-new")});
    world.provider_status("p1", &web(), json!({"phase": "Up", "relatedResources": both}));
    world.settle(&web());
    assert_eq!(world.secret(&homer(), "tls").unwrap()["data"]["k"], "two");
    assert!(world.secret(&homer(), "web-new").is_none());
}

#[test]
fn the_namespace_that_a_reference_names_is_the_consumers_own_where_it_names_one() {
    let mut named = reference("web-tls");
    named["namespace"] = json!(NAMESPACE);
    let mut world = listing(&json!({"named": named, "plain": reference("web-key")}));
    world.settle(&web());
    let shown = &world.origin(&web()).unwrap()["status"]["relatedResources"];
    assert_eq!(shown["named"]["namespace"], NAMESPACE);
    assert_eq!(shown["plain"].get("namespace"), None);
}
