//! Secrets: what their labels and their namespaces make of them.

use std::collections::BTreeMap;

use broker_api::Role;
use k8s_openapi::{ByteString, api::core::v1::Secret};

use super::{lines, reason, text};
use crate::{
    conventions::PLAIN,
    source::{SecretSource, SourceEvent},
};

const BOTH: &[Role] = &[Role::Consumer, Role::Provider];
const CONSUMERS: &[Role] = &[Role::Consumer];

fn secret(name: &str, role: &str, kubeconfig: Option<&str>) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.namespace = Some("ns".into());
    secret.metadata.name = Some(name.into());
    secret.metadata.labels = Some(BTreeMap::from([(PLAIN.role.to_owned(), role.to_owned())]));
    secret.data = kubeconfig.map(|text| BTreeMap::from([("kubeconfig".to_owned(), ByteString(text.into()))]));
    secret
}

#[test]
fn a_secret_is_a_cluster_of_its_name_and_label() {
    let mut source = SecretSource::new(&PLAIN);
    let homer = secret("homer", "consumer", Some(&text("x")));
    assert_eq!(lines(&source.apply(&homer, BOTH)), ["+consumer#homer https://x Secret ns/homer"]);
    assert!(source.apply(&homer, BOTH).is_empty());
    let rotated = secret("homer", "consumer", Some(&text("y")));
    assert_eq!(lines(&source.apply(&rotated, BOTH)), ["+consumer#homer https://y Secret ns/homer"]);
    assert_eq!(lines(&source.remove("ns", "homer")), ["-consumer#homer Secret ns/homer"]);
    assert!(source.remove("ns", "homer").is_empty());
}

#[test]
fn another_role_label_is_another_cluster() {
    let mut source = SecretSource::new(&PLAIN);
    source.apply(&secret("homer", "consumer", Some(&text("x"))), BOTH);
    let events = source.apply(&secret("homer", "provider", Some(&text("x"))), BOTH);
    assert_eq!(lines(&events), ["-consumer#homer Secret ns/homer", "+provider#homer https://x Secret ns/homer"]);
    for role in ["coordination", "compute", "", "admin"] {
        let mut source = SecretSource::new(&PLAIN);
        assert!(source.apply(&secret("homer", role, Some(&text("x"))), BOTH).is_empty(), "{role}");
        source.apply(&secret("homer", "provider", Some(&text("x"))), BOTH);
        let events = source.apply(&secret("homer", role, Some(&text("x"))), BOTH);
        assert_eq!(lines(&events), ["-provider#homer Secret ns/homer"]);
    }
}

#[test]
fn a_bad_secret_is_rejected_once_and_leaves_its_cluster_alone() {
    let mut source = SecretSource::new(&PLAIN);
    source.apply(&secret("homer", "consumer", Some(&text("x"))), BOTH);
    let exec = text("x").replace("token: t", "exec: {command: id}");
    for (bad, expected) in [(None, "no key \"kubeconfig\""), (Some(exec.as_str()), "users[u].user.exec is refused")] {
        let bad = secret("homer", "consumer", bad);
        let events = source.apply(&bad, BOTH);
        assert_eq!(lines(&events), ["!consumer#homer Secret ns/homer"]);
        assert!(reason(&events[0]).contains(expected), "{}", reason(&events[0]));
        assert!(source.apply(&bad, BOTH).is_empty());
    }
    let events = source.apply(&secret("homer", "consumer", Some(&text("x"))), BOTH);
    assert_eq!(lines(&events), ["+consumer#homer https://x Secret ns/homer"]);
}

#[test]
fn their_watch_selects_those_with_a_role() {
    assert_eq!(PLAIN.secrets(), "example.org/role in (consumer,provider)");
}

#[test]
fn a_label_makes_no_cluster_that_its_namespace_does_not_give() {
    let mut source = SecretSource::new(&PLAIN);
    let provider = secret("homer", "provider", Some(&text("x")));
    let events = source.apply(&provider, CONSUMERS);
    assert_eq!(lines(&events), ["? Secret ns/homer"]);
    assert!(reason(&events[0]).contains("Secrets of namespace ns make none"), "{}", reason(&events[0]));
    assert!(source.apply(&provider, CONSUMERS).is_empty(), "it is told once");
    let events = source.apply(&secret("homer", "consumer", Some(&text("x"))), CONSUMERS);
    assert_eq!(lines(&events), [". Secret ns/homer", "+consumer#homer https://x Secret ns/homer"]);
    // What it was goes, and nothing comes.
    assert_eq!(lines(&source.apply(&provider, CONSUMERS)), ["-consumer#homer Secret ns/homer", "? Secret ns/homer"]);
    assert_eq!(lines(&source.remove("ns", "homer")), [". Secret ns/homer"]);
    assert!(source.remove("ns", "homer").is_empty());
}

#[test]
fn a_label_of_another_name_gives_a_role_and_another_key_holds_the_kubeconfig() {
    let mut source = SecretSource::new(&PLAIN).under("value").also("x/cluster", Role::Consumer);
    let mut held = secret("homer", "none", Some(&text("x")));
    assert!(source.apply(&held, BOTH).is_empty());
    let labels = held.metadata.labels.as_mut().unwrap();
    labels.insert("x/cluster".to_owned(), "false".to_owned());
    assert!(source.apply(&held, BOTH).is_empty());
    held.metadata.labels.as_mut().unwrap().insert("x/cluster".to_owned(), "true".to_owned());
    let events = source.apply(&held, BOTH);
    assert!(
        matches!(&events[..], [SourceEvent::Rejected { reason, .. }] if reason.contains("\"value\"")),
        "{events:?}"
    );
    let data = held.data.as_mut().unwrap();
    let kubeconfig = data.remove("kubeconfig").unwrap();
    data.insert("value".to_owned(), kubeconfig);
    assert_eq!(lines(&source.apply(&held, BOTH)), ["+consumer#homer https://x Secret ns/homer"]);
}
