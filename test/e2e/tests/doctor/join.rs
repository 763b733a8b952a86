//! `join`: what it says, what it writes, and what it refuses.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use broker_api::keys;
use e2e::{Object, Place, Said, kind::SECRET};

use crate::{
    alone,
    installation::{CLUSTERS, HOMER, Installation, SYSTEM, THESEUS},
    said::is_said,
};

/// A field of a Secret's data.
fn held(secret: &Object, field: &str) -> String {
    let held = secret.0["data"][field].as_str().unwrap_or_else(|| panic!("no {field} in {}", secret.name()));
    String::from_utf8(STANDARD.decode(held).unwrap()).unwrap()
}

/// The token that the broker has in a cluster.
async fn token(place: &Place) -> String {
    held(&place.get(&SECRET, SYSTEM, "resource-broker-token").await, "token")
}

/// Runs a command, and sees that nothing is written.
async fn harmless(at: &Installation, args: &[&str]) -> Said {
    let marks = at.marks().await;
    let said = at.command(args).await;
    let written = at.written_since(&marks).await;
    assert!(written.is_empty(), "{written:?}: {said:?}");
    said
}

#[test]
fn a_cluster_joins_in_one_command_and_its_token_is_in_its_secret_only() {
    alone(async |at| {
        for (place, role, said) in [(&at.homer, "consumer", &at.joined[0]), (&at.theseus, "provider", &at.joined[1])] {
            is_said(at, &format!("join-{role}.txt"), &said.shown());
            let secret = at.hub.get(&SECRET, CLUSTERS, place.name()).await;
            assert_eq!(secret.label(keys::ROLE), Some(role));
            let (kubeconfig, token) = (held(&secret, "kubeconfig"), token(place).await);
            assert!(kubeconfig.contains(&token) && kubeconfig.contains(&place.cluster.server_url()));
            assert!(!said.shown().contains(&token), "the token of {} is told", place.name());
        }
    });
}

#[test]
fn a_cluster_that_has_joined_joins_again() {
    alone(async |at| {
        let before = at.hub.get(&SECRET, CLUSTERS, HOMER).await;
        let said = at.join(HOMER, "consumer", &[]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(at, "join-again.txt", &said.shown());
        let after = at.hub.get(&SECRET, CLUSTERS, HOMER).await;
        assert_eq!((after.uid(), held(&after, "kubeconfig")), (before.uid(), held(&before, "kubeconfig")));
        at.until_sound("it has joined again").await;
    });
}

#[test]
fn a_dry_run_shows_all_but_the_token_and_writes_nothing() {
    alone(async |at| {
        let said =
            harmless(at, &["join", "marge", "--role", "consumer", "--member-context", THESEUS, "--dry-run"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.out.contains("***") && !said.out.contains(&token(&at.theseus).await));
        is_said(at, "join-dry-run.txt", &said.shown());
        let said = harmless(at, &["join", "bart", "--role", "consumer", "--member-context", HOMER, "--dry-run"]).await;
        assert!(said.code == Some(1) && said.err.contains("has joined as consumer#homer already"), "{said:?}");
    });
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    alone(async |at| {
        let cases: [(&str, &str, &str, &[&str], &str); 9] = [
            (HOMER, "consumer", THESEUS, &[], "and is, as far as can be told, another cluster"),
            ("bart", "consumer", HOMER, &[], "has joined as consumer#homer already"),
            ("homer-too", "provider", HOMER, &[], "the provider has no AcceptAPI"),
            ("springfield", "consumer", "hub", &[], "it serves none of the brokered kinds"),
            ("marge", "consumer", "theseus-limited", &[], "you may not do what it takes there"),
            ("marge", "consumer", "nowhere", &[], "does not answer"),
            ("marge", "consumer", "none", &[], "the kubeconfig of the cluster that joins cannot be used"),
            ("marge", "consumer", THESEUS, &["--server", "http://theseus.example.com"], "with --server"),
            ("Marge", "consumer", THESEUS, &[], "is no name of a cluster"),
        ];
        let mut all = Vec::new();
        for (name, role, context, more, told) in cases {
            let args = ["join", name, "--role", role, "--member-context", context];
            let said = harmless(at, &[&args, more].concat()).await;
            assert!(said.code == Some(2) && said.err.contains(told), "{said:?}");
            all.push(said.shown());
        }
        is_said(at, "join-refused.txt", &all.join("\n"));
    });
}

#[test]
fn a_spoke_joins_with_rights_that_are_enough_and_leaves() {
    alone(async |at| {
        let said = at.command(&["join", "paris", "--role", "spoke", "--member-context", THESEUS]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(at, "join-spoke.txt", &said.shown());
        let seen = at.until_sound("with a spoke").await;
        assert_eq!(seen.clusters(), 4);
        let said = at.command(&["leave", "paris", "--role", "spoke"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(at, "leave-spoke.txt", &said.shown());
        let seen = at.until_sound("without the spoke").await;
        assert_eq!(seen.clusters(), 3);
    });
}
