//! What stands beside kubeconfigs is handed on, and when files are looked at.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
};

use broker_api::Role;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use tokio::{
    sync::{Notify, mpsc},
    time::{Duration, Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    listing::{Found, FoundFile, GRACE, Listing},
    parsed::Parsed,
    poll::{self, Scan},
    *,
};
use crate::{conventions::PLAIN, kubeconfig::Trust};

const BOTH: &[Role] = &[Role::Consumer, Role::Provider];

fn text(server: &str) -> String {
    format!(
        "current-context: m\ncontexts: [{{name: m, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'https://{server}'}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\n"
    )
}

fn policy(content: &str) -> Beside {
    Beside::File { name: "a.policy.yaml".into(), content: Ok(content.into()) }
}

/// What the only event says to stand beside the kubeconfig; `None`: nothing is said.
fn said(events: &[SourceEvent]) -> Option<Beside> {
    match events {
        [] => None,
        [SourceEvent::Upsert { beside, .. }] => Some((**beside).clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_stands_beside_a_file_is_told_when_it_changes_and_may_be_gone_for_a_moment() {
    let mut listing = Listing::new(Role::Provider);
    let now = Instant::now();
    let mut look = |beside, now| {
        let kubeconfig = Kubeconfig::parse(&text("x"), &Trust::Secret).map_err(|error| error.to_string());
        let events = listing.observe(
            Found::from([("/d/a.kubeconfig".into(), FoundFile { kubeconfig: kubeconfig.map(Arc::new), beside })]),
            now,
        );
        (said(&events), listing.due())
    };
    assert_eq!(look(policy("one"), now), (Some(policy("one")), None));
    assert_eq!(look(policy("one"), now), (None, None));
    assert_eq!(look(policy("two"), now), (Some(policy("two")), None));
    // An editor replaces it: a bound is never lifted for a moment.
    assert_eq!(look(Beside::Nothing, now), (None, Some(now + GRACE)));
    assert_eq!(look(policy("two"), now + GRACE / 2), (None, None));
    assert_eq!(look(Beside::Nothing, now + GRACE), (None, Some(now + GRACE * 2)));
    assert_eq!(look(Beside::Nothing, now + GRACE * 2), (Some(Beside::Nothing), None));
    assert_eq!(look(Beside::Nothing, now + GRACE * 3), (None, None));
}

#[test]
fn a_policy_is_named_by_the_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = folder.path().join("homer");
    std::fs::create_dir(&mounted).unwrap();
    for (file, beside) in [("a.kubeconfig", "a.policy.yaml"), ("homer/kubeconfig", "homer/homer.policy.yaml")] {
        let path = folder.path().join(file);
        std::fs::write(&path, text("x")).unwrap();
        assert_eq!(poll::look(&path, false, &Parsed::default()).unwrap().beside, Beside::Nothing);
        std::fs::write(folder.path().join(beside), "maxPriority: 5").unwrap();
        let Beside::File { name, content } = poll::look(&path, false, &Parsed::default()).unwrap().beside else {
            panic!("{beside}")
        };
        assert!(beside.ends_with(&name), "{name}");
        assert_eq!(content.as_deref(), Ok("maxPriority: 5"));
    }
    // One that cannot be read is not one that is not there.
    std::fs::remove_file(folder.path().join("a.policy.yaml")).unwrap();
    std::fs::create_dir(folder.path().join("a.policy.yaml")).unwrap();
    let Beside::File { content, .. } =
        poll::look(&folder.path().join("a.kubeconfig"), false, &Parsed::default()).unwrap().beside
    else {
        panic!("it is there");
    };
    assert!(content.unwrap_err().contains("cannot be read"));
}

#[test]
fn what_a_secret_is_annotated_with_is_told_when_it_changes_but_not_what_others_put_there() {
    let mut source = SecretSource::new(&PLAIN);
    let mut secret = Secret::default();
    secret.metadata.namespace = Some("ns".into());
    secret.metadata.name = Some("theseus".into());
    secret.metadata.labels = Some(BTreeMap::from([(PLAIN.role.to_owned(), "provider".to_owned())]));
    secret.data = Some(BTreeMap::from([("kubeconfig".to_owned(), ByteString(text("x").into()))]));
    let annotate = |secret: &mut Secret, key: &str, value: &str| {
        secret.metadata.annotations.get_or_insert_default().insert(key.into(), value.into());
    };
    annotate(&mut secret, "kubectl.kubernetes.io/last-applied-configuration", "the kubeconfig");
    let Some(Beside::Secret { labels, annotations }) = said(&source.apply(&secret, BOTH)) else { panic!("no Secret") };
    assert_eq!(labels[PLAIN.role], "provider");
    assert_eq!(annotations, BTreeMap::new());
    annotate(&mut secret, "other", "x");
    assert_eq!(said(&source.apply(&secret, BOTH)), None);
    annotate(&mut secret, "example.org/max-priority", "5");
    let Some(Beside::Secret { annotations, .. }) = said(&source.apply(&secret, BOTH)) else { panic!("no Secret") };
    assert_eq!(annotations, BTreeMap::from([("example.org/max-priority".to_owned(), "5".to_owned())]));
    assert_eq!(said(&source.apply(&secret, BOTH)), None);
}

/// Looks at a directory and notes when.
struct Timed(std::path::PathBuf, Arc<Mutex<Vec<Instant>>>, Arc<Notify>);

impl Scan for Timed {
    fn folder(&self) -> &Path {
        &self.0
    }

    fn scan(&self) -> std::io::Result<Found> {
        let outcome = poll::look(&self.0.join("a.kubeconfig"), false, &Parsed::default()).expect("exists");
        self.1.lock().unwrap().push(Instant::now());
        self.2.notify_one();
        Ok(Found::from([(self.0.join("a.kubeconfig"), outcome)]))
    }
}

#[tokio::test]
async fn its_own_reading_is_no_change() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.kubeconfig"), text("x")).unwrap();
    let (times, looked) = (Arc::default(), Arc::new(Notify::new()));
    let scan = Timed(folder.path().to_owned(), Arc::clone(&times), Arc::clone(&looked));
    let (sender, _events) = mpsc::channel(16);
    let cancel = CancellationToken::new();
    let task = tokio::spawn(poll::run(Role::Consumer, Arc::new(scan), sender, cancel.clone()));
    for _ in 0..2 {
        timeout(Duration::from_secs(30), looked.notified()).await.expect("a look");
    }
    cancel.cancel();
    task.await.unwrap();
    let times = times.lock().unwrap();
    // A slow machine makes this longer, never shorter.
    assert!(times[1] - times[0] > Duration::from_secs(1), "it looked again because it had looked");
}
