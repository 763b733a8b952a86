//! Names, files, directories, Secrets and who wins a name.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod secrets;

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use broker_api::{ClusterName, Role};
use tokio::{
    sync::{Notify, mpsc},
    time::{Duration, Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    check::{Given, check_files},
    listing::{Found, FoundFile, GRACE, Listing, cluster_of},
    parsed::Parsed,
    poll::{self, Scan},
    *,
};
use crate::kubeconfig::Trust;

fn text(server: &str) -> String {
    format!(
        "current-context: m\ncontexts: [{{name: m, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'https://{server}'}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\n"
    )
}

/// Writes a whole file at once, so that no look falls between its creation and its content.
fn put(path: &Path, content: &str) {
    let unfinished = path.with_extension("unfinished");
    std::fs::write(&unfinished, content).unwrap();
    std::fs::rename(unfinished, path).unwrap();
}

fn parsed(server: &str) -> Kubeconfig {
    Kubeconfig::parse(&text(server), &Trust::Secret).unwrap()
}

fn bare(kubeconfig: Result<Kubeconfig, String>) -> FoundFile {
    FoundFile { kubeconfig: kubeconfig.map(Arc::new), beside: Beside::Nothing }
}

/// Events in one line each.
fn lines(events: &[SourceEvent]) -> Vec<String> {
    events.iter().map(line).collect()
}

fn line(event: &SourceEvent) -> String {
    let short = |from: &Provenance| match from {
        Provenance::File(path) => path.file_name().unwrap().to_string_lossy().into_owned(),
        secret @ Provenance::Secret { .. } => secret.to_string(),
    };
    match event {
        SourceEvent::Upsert { name, kubeconfig, from, .. } => {
            format!("+{name} {} {}", kubeconfig.server(), short(from))
        }
        SourceEvent::Rejected { name, from, .. } => format!("!{name} {}", short(from)),
        SourceEvent::Removed { name, from } => format!("-{name} {}", short(from)),
        SourceEvent::Refused { from, reason } => {
            format!("{} {}", if reason.is_some() { "?" } else { "." }, short(from))
        }
        SourceEvent::Synced => "synced".to_owned(),
    }
}

fn reason(event: &SourceEvent) -> &str {
    match event {
        SourceEvent::Rejected { reason, .. } | SourceEvent::Refused { reason: Some(reason), .. } => reason,
        other => panic!("not a rejection: {other:?}"),
    }
}

#[test]
fn a_file_is_named_by_its_stem_or_folder() {
    let name = |path: &str| cluster_of(Role::Consumer, Path::new(path)).map(|name| name.to_string());
    for (path, expected) in [
        ("/a/homer.kubeconfig", "consumer#homer"),
        ("/a/homer.kubeconfig.yaml", "consumer#homer"),
        ("/a/homer.kubeconfig.yml", "consumer#homer"),
        ("homer.yaml", "consumer#homer"),
        ("homer.conf", "consumer#homer"),
        ("homer", "consumer#homer"),
        ("/a/homer.eu.kubeconfig", "consumer#homer.eu"),
        ("/a/kubeconfig.yaml", "consumer#kubeconfig"),
        // The key of a mounted Secret.
        ("/kubeconfigs/homer/kubeconfig", "consumer#homer"),
        ("kubeconfig", "consumer#kubeconfig"),
        ("/kubeconfig", "consumer#kubeconfig"),
        ("/.kube/kubeconfig", "consumer#kubeconfig"),
    ] {
        assert_eq!(name(path).as_deref(), Some(expected), "{path}");
    }
    for path in ["/a/.kubeconfig", "/a/.hidden.kubeconfig", "/a/..data", "/", "/a/ho\nmer.kubeconfig"] {
        assert_eq!(name(path), None, "{path}");
    }
}

#[test]
fn a_listing_reports_each_change_once() {
    let mut listing = Listing::new(Role::Consumer);
    let now = Instant::now();
    let one = |kubeconfig| Found::from([("/d/a.kubeconfig".into(), bare(kubeconfig))]);

    assert_eq!(lines(&listing.observe(one(Ok(parsed("x"))), now)), ["+consumer#a https://x a.kubeconfig"]);
    assert!(listing.observe(one(Ok(parsed("x"))), now).is_empty());
    // Half written: told once, and what runs goes on.
    assert_eq!(lines(&listing.observe(one(Err("is empty".into())), now)), ["!consumer#a a.kubeconfig"]);
    assert!(listing.observe(one(Err("is empty".into())), now).is_empty());
    assert_eq!(lines(&listing.observe(one(Err("is odd".into())), now)), ["!consumer#a a.kubeconfig"]);
    // Well again, changed or not.
    assert_eq!(listing.observe(one(Ok(parsed("x"))), now).len(), 1);
    assert_eq!(lines(&listing.observe(one(Ok(parsed("y"))), now)), ["+consumer#a https://y a.kubeconfig"]);
}

#[test]
fn a_file_may_be_missing_for_a_moment() {
    let mut listing = Listing::new(Role::Provider);
    let now = Instant::now();
    let there = || Found::from([("/d/a.kubeconfig".into(), bare(Ok(parsed("x"))))]);
    listing.observe(there(), now);

    assert!(listing.observe(Found::new(), now).is_empty());
    assert_eq!(listing.due(), Some(now + GRACE));
    assert!(listing.observe(there(), now + GRACE / 2).is_empty());
    assert_eq!(listing.due(), None);

    // The time counts anew.
    assert!(listing.observe(Found::new(), now + GRACE).is_empty());
    let gone = listing.observe(Found::new(), now + GRACE * 2);
    assert_eq!(lines(&gone), ["-provider#a a.kubeconfig"]);
    assert!(listing.observe(Found::new(), now + GRACE * 3).is_empty());
    assert_eq!(listing.observe(there(), now + GRACE * 3).len(), 1);
}

fn upsert(file: &str, server: &str) -> SourceEvent {
    let path = Path::new("/d").join(file);
    SourceEvent::Upsert {
        name: cluster_of(Role::Consumer, &path).unwrap(),
        kubeconfig: Arc::new(parsed(server)),
        from: Provenance::File(path),
        beside: Arc::default(),
    }
}

fn removed(file: &str) -> SourceEvent {
    let path = Path::new("/d").join(file);
    SourceEvent::Removed { name: cluster_of(Role::Consumer, &path).unwrap(), from: Provenance::File(path) }
}

#[test]
fn of_two_files_of_one_name_the_first_wins_in_any_order() {
    let (a, b) = ("n.kubeconfig", "n.kubeconfig.yaml");
    let mut claims = Claims::new(1);
    assert_eq!(lines(&claims.apply(upsert(a, "a"))), ["+consumer#n https://a n.kubeconfig"]);
    let second = claims.apply(upsert(b, "b"));
    assert_eq!(lines(&second), ["!consumer#n n.kubeconfig.yaml"]);
    assert!(reason(&second[0]).contains("/d/n.kubeconfig,") && reason(&second[0]).contains("/d/n.kubeconfig.yaml"));

    let mut claims = Claims::new(1);
    claims.apply(upsert(b, "b"));
    let events = claims.apply(upsert(a, "a"));
    assert_eq!(lines(&events), ["+consumer#n https://a n.kubeconfig", "!consumer#n n.kubeconfig.yaml"]);
    // New credentials of the winner concern nobody else.
    assert_eq!(lines(&claims.apply(upsert(a, "c"))), ["+consumer#n https://c n.kubeconfig"]);
}

#[test]
fn when_the_winner_goes_the_next_takes_over() {
    let (a, b) = ("n.kubeconfig", "n.kubeconfig.yaml");
    let mut claims = Claims::new(1);
    claims.apply(upsert(a, "a"));
    claims.apply(upsert(b, "b"));
    assert_eq!(lines(&claims.apply(removed(a))), ["+consumer#n https://b n.kubeconfig.yaml"]);
    assert_eq!(lines(&claims.apply(removed(b))), ["-consumer#n n.kubeconfig.yaml"]);

    claims.apply(upsert(a, "a"));
    claims.apply(upsert(b, "b"));
    assert!(claims.apply(removed(b)).is_empty());
    assert_eq!(lines(&claims.apply(removed(a))), ["-consumer#n n.kubeconfig"]);
}

#[test]
fn a_broken_kubeconfig_claims_nothing_and_a_secret_takes_no_files_name() {
    let mut claims = Claims::new(1);
    let name = ClusterName::consumer("n");
    let broken =
        SourceEvent::Rejected { name: name.clone(), from: Provenance::File("/d/a".into()), reason: "is empty".into() };
    assert_eq!(claims.apply(broken).len(), 1);
    let from = Provenance::Secret { namespace: "ns".into(), name: "n".into() };
    let kubeconfig = Arc::new(parsed("secret"));
    let secret = SourceEvent::Upsert { name, kubeconfig, from, beside: Arc::default() };
    assert_eq!(lines(&claims.apply(secret)), ["+consumer#n https://secret Secret ns/n"]);
    let events = claims.apply(upsert("n.kubeconfig", "file"));
    assert_eq!(lines(&events), ["+consumer#n https://file n.kubeconfig", "!consumer#n Secret ns/n"]);
}

#[test]
fn synced_when_every_source_is() {
    let mut claims = Claims::new(2);
    assert!(claims.apply(SourceEvent::Synced).is_empty());
    assert_eq!(claims.apply(SourceEvent::Synced).len(), 1);
    assert!(claims.apply(SourceEvent::Synced).is_empty());
}

fn given(role: Role, path: &Path, directory: bool) -> Given {
    Given { role, path: path.to_owned(), directory }
}

#[test]
fn start_up_names_what_is_wrong_with_the_paths() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("d")).unwrap();
    std::fs::write(at("homer.kubeconfig"), "").unwrap();
    std::fs::write(at("d/homer.kubeconfig"), "").unwrap();
    let file = |path: &Path| given(Role::Consumer, path, false);

    let errors = check_files(&[file(&at("nowhere"))]).unwrap_err();
    assert!(errors[0].contains("nowhere: No such file"), "{errors:?}");
    let errors = check_files(&[given(Role::Provider, &at("missing"), true)]).unwrap_err();
    assert!(errors[0].contains("missing: No such file"), "{errors:?}");
    let errors = check_files(&[file(&at("d"))]).unwrap_err();
    assert!(errors[0].contains("--consumer-kubeconfig-dir"), "{errors:?}");

    let errors = check_files(&[file(&at("homer.kubeconfig")), given(Role::Consumer, &at("d"), true)]).unwrap_err();
    let both = errors[0].contains(&*at("homer.kubeconfig").to_string_lossy())
        && errors[0].contains(&*at("d/homer.kubeconfig").to_string_lossy());
    assert!(both && errors.len() == 1, "{errors:?}");
    // In another role it is another cluster.
    let warnings = check_files(&[file(&at("homer.kubeconfig")), given(Role::Provider, &at("d"), true)]).unwrap();
    assert!(warnings.is_empty());
}

#[test]
fn an_empty_directory_is_only_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let warnings = check_files(&[given(Role::Consumer, folder.path(), true)]).unwrap();
    assert!(warnings[0].contains("or kubeconfig yet"), "{warnings:?}");
}

/// A running source and what it reports.
struct Running {
    events: mpsc::Receiver<SourceEvent>,
    cancel: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    fn start(path: &Path, directory: bool) -> Self {
        let (sender, events) = mpsc::channel(16);
        let cancel = CancellationToken::new();
        let watch = if directory { directory::watch } else { file::watch };
        let task = watch(Role::Consumer, path.to_owned(), false, sender, cancel.clone());
        Self { events, cancel, task }
    }

    async fn next(&mut self) -> String {
        line(&self.event().await)
    }

    async fn event(&mut self) -> SourceEvent {
        timeout(Duration::from_secs(30), self.events.recv()).await.expect("an event").expect("still running")
    }

    async fn stop(mut self) {
        self.cancel.cancel();
        self.task.await.unwrap();
        assert!(self.events.recv().await.is_none());
    }
}

#[tokio::test]
async fn a_directory_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["b.kubeconfig.yaml", "a.kubeconfig", "kubeconfig.yaml", "notes.txt", "c.yaml", ".d.kubeconfig"] {
        std::fs::write(at(name), text("x")).unwrap();
    }
    std::fs::create_dir(at("e.kubeconfig")).unwrap();
    let mut running = Running::start(folder.path(), true);
    assert_eq!(running.next().await, "+consumer#a https://x a.kubeconfig");
    assert_eq!(running.next().await, "+consumer#b https://x b.kubeconfig.yaml");
    assert_eq!(running.next().await, "!consumer#e e.kubeconfig");
    assert_eq!(running.next().await, "+consumer#kubeconfig https://x kubeconfig.yaml");
    assert_eq!(running.next().await, "synced");

    put(&at("n.kubeconfig"), &text("n"));
    assert_eq!(running.next().await, "+consumer#n https://n n.kubeconfig");
    put(&at("a.kubeconfig"), "current-context: [");
    assert_eq!(running.next().await, "!consumer#a a.kubeconfig");
    put(&at("a.kubeconfig"), &text("y"));
    assert_eq!(running.next().await, "+consumer#a https://y a.kubeconfig");
    std::fs::remove_file(at("n.kubeconfig")).unwrap();
    assert_eq!(running.next().await, "-consumer#n n.kubeconfig");
    running.stop().await;
}

/// Answers as written; then never again.
struct Script(Mutex<std::collections::VecDeque<Option<Found>>>);

impl Scan for Script {
    fn folder(&self) -> &Path {
        Path::new("/nowhere")
    }

    fn scan(&self) -> std::io::Result<Found> {
        let next = self.0.lock().unwrap().pop_front().flatten();
        next.ok_or_else(|| std::io::Error::other("unreadable"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_cannot_be_read_removes_nothing() {
    let a = |server| Some(Found::from([("/d/a.kubeconfig".into(), bare(Ok(parsed(server))))]));
    let script = [None, a("x"), None, None, None, a("y"), Some(Found::new()), Some(Found::new())];
    let (sender, mut events) = mpsc::channel(16);
    let cancel = CancellationToken::new();
    let script = Arc::new(Script(Mutex::new(script.into())));
    let task = tokio::spawn(poll::run(Role::Consumer, script, sender, cancel.clone()));
    for expected in [
        // Nobody waits for a folder that may never be readable.
        "synced",
        "+consumer#a https://x a.kubeconfig",
        "+consumer#a https://y a.kubeconfig",
        "-consumer#a a.kubeconfig",
    ] {
        let event = timeout(Duration::from_mins(10), events.recv()).await.unwrap().unwrap();
        assert_eq!(line(&event), expected);
    }
    cancel.cancel();
    task.await.unwrap();
}

/// As the kubelet updates a Secret volume: files are links through `..data`, which is swapped. The key is `kubeconfig`.
#[cfg(unix)]
#[tokio::test]
async fn a_mounted_secret_is_named_by_its_folder_and_may_rotate() {
    use std::os::unix::fs::symlink;
    let mounts = tempfile::tempdir().unwrap();
    let folder = mounts.path().join("homer");
    let at = |name: &str| folder.join(name);
    for version in ["..2026_1", "..2026_2"] {
        std::fs::create_dir_all(at(version)).unwrap();
        std::fs::write(at(version).join("kubeconfig"), text(version)).unwrap();
    }
    symlink("..2026_1", at("..data")).unwrap();
    symlink("..data/kubeconfig", at("kubeconfig")).unwrap();
    let mut by_directory = Running::start(&folder, true);
    let mut by_file = Running::start(&at("kubeconfig"), false);
    for running in [&mut by_directory, &mut by_file] {
        assert_eq!(running.next().await, "+consumer#homer https://..2026_1 kubeconfig");
        assert_eq!(running.next().await, "synced");
    }
    symlink("..2026_2", at("..data_tmp")).unwrap();
    std::fs::rename(at("..data_tmp"), at("..data")).unwrap();
    std::fs::remove_dir_all(at("..2026_1")).unwrap();
    for running in [&mut by_directory, &mut by_file] {
        assert_eq!(running.next().await, "+consumer#homer https://..2026_2 kubeconfig");
    }
}

#[tokio::test]
async fn a_missing_file_is_waited_for_and_a_bad_one_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("homer.kubeconfig");
    let mut running = Running::start(&path, false);
    assert_eq!(running.next().await, "synced");
    let exec = text("x").replace("token: t", "exec: {command: id}");
    put(&path, &exec);
    let event = running.event().await;
    assert_eq!(line(&event), "!consumer#homer homer.kubeconfig");
    assert!(reason(&event).contains("--allow-local-credentials"), "{}", reason(&event));
    put(&path, &text("x"));
    assert_eq!(running.next().await, "+consumer#homer https://x homer.kubeconfig");
    running.stop().await;
}

#[test]
fn a_rotated_certificate_file_is_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.kubeconfig");
    let pair = "client-certificate: tls.crt, client-key: tls.key";
    std::fs::write(&path, text("x").replace("token: t", pair)).unwrap();
    let parsed = Parsed::default();
    let missing = poll::read(&path, true, &parsed).unwrap().unwrap_err();
    assert!(missing.contains("tls.crt, which cannot be read"), "{missing}");
    std::fs::write(folder.path().join("tls.crt"), "one").unwrap();
    std::fs::write(folder.path().join("tls.key"), "key").unwrap();
    let before = poll::read(&path, true, &parsed).unwrap().unwrap().fingerprint();
    assert_eq!(poll::read(&path, true, &parsed).unwrap().unwrap().fingerprint(), before);
    std::fs::write(folder.path().join("tls.crt"), "two").unwrap();
    assert_ne!(poll::read(&path, true, &parsed).unwrap().unwrap().fingerprint(), before);
}

#[test]
fn a_file_whose_text_is_the_same_is_not_parsed_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.kubeconfig");
    let parsed = Parsed::default();
    let read = || poll::read(&path, true, &parsed).unwrap();
    put(&path, &text("x"));
    let first = read().unwrap();
    put(&path, &text("x"));
    assert!(Arc::ptr_eq(&first, &read().unwrap()));
    put(&path, &text("y"));
    assert_ne!(read().unwrap().fingerprint(), first.fingerprint());
    put(&path, "nonsense");
    assert!(read().is_err());
    put(&path, &text("x"));
    assert_eq!(read().unwrap().fingerprint(), first.fingerprint());
    parsed.retain(|_| true);
    let last = read().unwrap();
    parsed.retain(|there| there != path);
    assert!(!Arc::ptr_eq(&last, &read().unwrap()), "what is gone is forgotten");
}

#[test]
fn huge_and_binary_files_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.kubeconfig");
    std::fs::write(&path, vec![b'#'; 10 << 20]).unwrap();
    assert!(poll::read(&path, false, &Parsed::default()).unwrap().unwrap_err().contains("bytes, more than"));
    std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    assert!(poll::read(&path, false, &Parsed::default()).unwrap().unwrap_err().contains("UTF-8"));
    std::fs::write(&path, " \n").unwrap();
    assert!(poll::read(&path, false, &Parsed::default()).unwrap().unwrap_err().contains("is empty"));
    assert!(poll::read(&folder.path().join("none"), false, &Parsed::default()).is_none());
}

#[tokio::test]
async fn the_file_system_tells_of_changes() {
    let folder = tempfile::tempdir().unwrap();
    let changed = Arc::new(Notify::new());
    let _watcher = poll::watch(folder.path(), &changed).expect("this system has watches");
    std::fs::write(folder.path().join("a.kubeconfig"), "x").unwrap();
    timeout(Duration::from_secs(30), changed.notified()).await.expect("an event");
}
