//! `kubectl broker`: what a person types, and what it says of an object that is served, waits, or moves.

use std::{fs, path::PathBuf};

use broker_api::keys;
use e2e::{DEADLINE, Place, World, kind::MIGRATION};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    ARIADNE, THESEUS,
    trip::{Trip, at_home, on_its_way, stage},
};

/// What a command said.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

/// A person's kubeconfigs, by flag.
fn kubeconfigs(world: &World) -> Vec<String> {
    let folder = world.lab.directory().join("person");
    let write = |place: &Place| -> PathBuf {
        let file = folder.join(format!("{}.kubeconfig", place.name()));
        fs::create_dir_all(&folder).unwrap();
        // Several tests may write it at once: none reads half of it.
        if !file.exists() {
            let new = file.with_extension(format!("{:?}", std::thread::current().id()));
            place.cluster.write_kubeconfig(e2e::place::PERSON, &new).unwrap();
            fs::rename(new, &file).unwrap();
        }
        file
    };
    let flags = [("--kubeconfig", &world.hub), ("--consumer-kubeconfig", world.consumer(crate::HOMER))].into_iter();
    let flags = flags.chain(world.providers().iter().map(|provider| ("--provider-kubeconfig", provider)));
    flags.flat_map(|(flag, place)| [flag.to_owned(), write(place).display().to_string()]).collect()
}

/// Runs `kubectl broker` with these arguments.
async fn broker(world: &World, args: &[&str]) -> Said {
    let program = harness::binary("kubectl-broker").unwrap_or_else(|error| panic!("{error:#}"));
    let output = Command::new(program).args(args).args(kubeconfigs(world)).env("NO_COLOR", "1").output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// What it says about a trip's object.
async fn of(trip: &Trip<'_>, command: &str, more: &[&str]) -> Said {
    let object = format!("{}/item", trip.kind.kind.to_lowercase());
    let args = [&[command, &object, "--namespace", trip.scene.ns()], more].concat();
    broker(trip.scene.world, &args).await
}

/// Without what is another in each run: ages, scores, the kind, names that are made up, texts of a length.
fn alike(trip: &Trip<'_>, text: &str) -> String {
    let text = text.replace(trip.kind.kind, "Store").replace(trip.kind.plural, "stores").replace(trip.scene.ns(), "NS");
    let mut out = String::new();
    let mut elsewhere = false;
    for line in text.lines() {
        // AcceptAPIs of tests that had this kind before, and what they say.
        elsewhere = line.starts_with("  -  ") && !line.contains("/NS-") || elsewhere && line.starts_with("       ");
        if elsewhere {
            continue;
        }
        let indented = line.len() - line.trim_start().len();
        out.push_str(&line[..indented]);
        // Columns are as wide as what is in them.
        let columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
        let alike = columns.map(|column| column.split(' ').map(word_alike).collect::<Vec<_>>().join(" "));
        out.push_str(&alike.collect::<Vec<_>>().join("  "));
        out.push('\n');
    }
    out
}

fn word_alike(word: &str) -> String {
    let bare = word.trim_end_matches([')', ',']);
    let end = &word[bare.len()..];
    let is_age = bare.len() > 1
        && bare.ends_with(['s', 'm', 'h', 'd'])
        && bare[..bare.len() - 1].bytes().all(|byte| byte.is_ascii_digit());
    if is_age {
        return format!("AGE{end}");
    }
    if bare.parse::<f64>().is_ok() && bare.contains('.') && !bare.ends_with('.') {
        return format!("N{end}");
    }
    word.to_owned()
}

/// Compares with what is kept in `said/`. `UPDATE_SAID=1` keeps what is said now.
fn is_said(trip: &Trip<'_>, name: &str, said: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/migrations/said").join(name);
    let now = alike(trip, said);
    if std::env::var_os("UPDATE_SAID").is_some() {
        fs::write(&file, &now).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(now, kept, "{}: UPDATE_SAID=1 keeps what is said now", file.display());
}

#[test]
fn an_object_that_is_served_is_explained_traced_and_listed() {
    at_home("cli-served", Value::Null, async |trip| {
        let other = json!([{"key": "size", "boundary": {"min": "5"}}]);
        let filters: Vec<Value> = other.as_array().unwrap().clone();
        trip.scene.accept_kind(&trip.kind, trip.theseus, &filters, Value::Null).await;
        let refused = |said: &Said| said.out.contains("theseus") && said.out.contains("refuses");
        let said = until(trip, &["--broker-namespace", "default"], refused).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(trip, "served-why.txt", &said.out);
        let said = of(trip, "trace", &[]).await;
        assert_eq!((said.code, &*said.err), (Some(0), ""), "{said:?}");
        is_said(trip, "served-trace.txt", &said.out);
        let said = of(trip, "trace", &["-o", "json"]).await;
        let tree: Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(tree["children"][0]["cluster"], "provider#ariadne", "{tree:#}");
        let said = of(trip, "diff", &[]).await;
        assert_eq!(said.code, Some(0), "{said:?}");

        let world = trip.scene.world;
        let said =
            broker(world, &["objects", trip.kind.plural, "--where", &format!("namespace={}", trip.scene.ns())]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(trip, "served-objects.txt", &said.out);
        let said = broker(world, &["clusters", "-o", "json"]).await;
        let clusters: Value = serde_json::from_str(&said.out).unwrap();
        let reachable = clusters["items"].as_array().unwrap().iter().filter(|one| one["reachable"] == true);
        assert_eq!((reachable.count(), said.code), (4, Some(0)), "{clusters:#}");
        let said = broker(world, &["acceptapis", "--where", &format!("name={}", trip.scene.ns())]).await;
        assert_eq!((said.code, said.out.lines().count()), (Some(0), 3), "{said:?}");
    });
}

/// Asks why until it says what is wanted: the broker in the command sees what is there when it looks.
async fn until(trip: &Trip<'_>, more: &[&str], wanted: impl Fn(&Said) -> bool) -> Said {
    let said = harness::wait_for(DEADLINE, "another answer", async || {
        let said = of(trip, "why", more).await;
        if wanted(&said) { Ok(said) } else { Err(format!("{}{}", said.out, said.err)) }
    });
    said.await.unwrap()
}

#[test]
fn a_provider_is_cordoned_and_drained_and_the_object_says_why_it_waits() {
    at_home("cli-drain", Value::Null, async |trip| {
        let world = trip.scene.world;
        let only = format!("default/{}", trip.accept);
        let said = broker(world, &["cordon", ARIADNE, "--acceptapi", &only]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        trip.scene.barrier(trip.homer, trip.ariadne).await;
        trip.homer
            .create(&trip.kind, trip.scene.ns(), "late", json!({"spec": {"fqdn": trip.scene.fqdn("late")}}))
            .await;
        let object = format!("{}/late", trip.kind.kind);
        let why =
            async || broker(world, &["why", &object, "-n", trip.scene.ns(), "--broker-namespace", "default"]).await;
        let waits = |object: &e2e::Object| object.has("Brokered", "False", "NoProvider");
        trip.homer.until(&trip.kind, trip.scene.ns(), "late", "to wait", waits).await;
        is_said(trip, "waiting-why.txt", &why().await.out);

        trip.scene.accept_kind(&trip.kind, trip.theseus, &[trip.scene.domain_filter()], Value::Null).await;
        let said = broker(world, &["drain", ARIADNE, "--acceptapi", &only, "--timeout", "60"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.out.contains("holds no object any more"), "{said:?}");
        trip.item.until_served_by(trip.theseus).await;
        let said = broker(world, &["uncordon", ARIADNE, "--acceptapi", &only]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        let open = trip.ariadne.get(&e2e::kind::ACCEPT_API, "default", &trip.accept).await;
        assert_eq!((open.at("/spec/cordoned"), open.annotation(keys::DRAIN)), (&json!(false), None));
    });
}

#[test]
fn a_move_is_begun_traced_paused_and_resumed() {
    let stages = json!([stage("copy", json!({"progress": true}))]);
    at_home("cli-move", stages, async |trip| {
        let world = trip.scene.world;
        trip.scene.accept_kind(&trip.kind, trip.theseus, &[trip.scene.domain_filter()], Value::Null).await;
        trip.hub.make_namespace(trip.scene.ns()).await;
        let said = of(trip, "migrate", &["--to", THESEUS, "--migration-namespace", trip.scene.ns(), "--no-wait"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        let migration = trip.migration("InitialInProgress").await;
        trip.object(&migration, &e2e::kind::CONFIG_MAP, "copy").await;
        let said = of(trip, "trace", &[]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        let told = said.out.replace(migration.name(), "MIGRATION").replace(migration.text("/status/id"), "ID");
        is_said(trip, "moving-trace.txt", &told);

        for (command, paused) in [("pause", true), ("resume", false)] {
            let said = broker(world, &[command, migration.name(), "--namespace", trip.scene.ns()]).await;
            assert_eq!(said.code, Some(0), "{said:?}");
            let now = trip.hub.get(&MIGRATION, trip.scene.ns(), migration.name()).await;
            assert_eq!(now.at("/spec/paused"), &json!(paused));
        }
        trip.say(&migration, "copy", "done").await;
        trip.item.until_served_by(trip.theseus).await;
        let said = broker(world, &["migrations", "--where", &format!("namespace={}", trip.scene.ns())]).await;
        assert_eq!((said.code, said.out.lines().count()), (Some(0), 2), "{said:?}");
    });
}

#[test]
fn a_move_is_aborted_and_its_failed_stage_is_tried_again() {
    let stages = json!([stage("copy", json!({"progress": true, "onFailure": "Hold"}))]);
    on_its_way("cli-abort", stages, async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let world = trip.scene.world;
        for (command, field, wanted) in [("retry", "/spec/retry", json!(1)), ("abort", "/spec/abort", json!(true))] {
            let said = broker(world, &[command, migration.name()]).await;
            assert_eq!(said.code, Some(0), "{said:?}");
            let now = trip.hub.get(&MIGRATION, trip.scene.ns(), migration.name()).await;
            assert_eq!(now.at(field), &wanted);
        }
        // What nobody accepts is told of by each process that starts: another test counts that.
        trip.item.delete().await;
        trip.item.until_gone().await;
    });
}

#[test]
fn an_object_is_tried_before_it_is_there_and_goes_where_was_said() {
    at_home("cli-try", Value::Null, async |trip| {
        let world = trip.scene.world;
        trip.scene.accept_kind(&trip.kind, trip.theseus, &[trip.scene.domain_filter()], Value::Null).await;
        trip.scene.barrier(trip.homer, trip.theseus).await;
        let file = world.lab.directory().join("try.json");
        let body = json!({"spec": {"fqdn": trip.scene.fqdn("new")}});
        fs::write(&file, trip.kind.object(trip.scene.ns(), "new", &body).to_string()).unwrap();
        let args = ["simulate", "-f", file.to_str().unwrap(), "--in", "homer", "--broker-namespace", "default"];
        let said = broker(world, &args).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(trip, "tried.txt", &said.out);
        assert!(trip.homer.find(&trip.kind, trip.scene.ns(), "new").await.is_none(), "nothing is written");
        trip.homer.create(&trip.kind, trip.scene.ns(), "new", body).await;
        trip.ariadne.until_there(&trip.kind, trip.scene.ns(), &trip.homer.copy_name("new")).await;

        let rgd = world.lab.directory().join("misspelt.yaml");
        fs::write(&rgd, MISSPELT).unwrap();
        let said = broker(world, &["simulate", "--rgd", rgd.to_str().unwrap()]).await;
        assert!(said.code == Some(1) && said.out.contains("misspelt.yaml:16:"), "{said:?}");
    });
}

/// In its 16th line it names a field that its schema does not have.
const MISSPELT: &str = "apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: misspelt
spec:
  schema:
    apiVersion: v1alpha1
    kind: Greeting
    spec:
      greeting: string
  resources:
    - id: settings
      template:
        apiVersion: v1
        kind: ConfigMap
        data: {greeting: '${schema.spec.greting}'}
        metadata: {name: '${schema.metadata.name}'}
";

#[test]
fn what_is_not_there_is_told_with_what_to_do() {
    at_home("cli-none", Value::Null, async |trip| {
        let world = trip.scene.world;
        let cases: [(&[&str], &str); 5] = [
            (&["trace", "nonsense/a"], "no cluster serves a kind nonsense"),
            (&["trace", "certificate/none"], "is in none of the clusters that could be asked"),
            (&["trace", "certificate"], "write it as KIND/NAME"),
            (&["cordon", "nobody"], "there are: ariadne, theseus"),
            (&["abort", "none"], "`kubectl broker migrations` lists them"),
        ];
        for (args, told) in cases {
            let said = broker(world, args).await;
            assert!(said.err.contains(told) && said.code == Some(2), "{args:?}: {said:?}");
        }
    });
}
