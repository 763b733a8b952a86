//! `kubectl broker`: what a person types, and what it says of an object that is served, waits, or moves.

mod names;
mod offline;
mod states;
mod tables;
mod waiting;

use std::{fs, path::PathBuf};

use broker_api::keys;
use e2e::{
    DEADLINE, Place, Said, World,
    kind::{ACCEPT_API, MIGRATION},
    said::{is_kept, json_alike, text_alike},
};
use serde_json::{Value, json};

use crate::{
    ARIADNE, THESEUS,
    trip::{Trip, at_home, on_its_way, stage},
};

/// A person's kubeconfig of a cluster, as a file. Its stem is the cluster's name.
fn kubeconfig(world: &World, place: &Place) -> PathBuf {
    let folder = world.lab.directory().join("person");
    let file = folder.join(format!("{}.kubeconfig", place.name()));
    fs::create_dir_all(&folder).unwrap();
    // Several tests may write it at once: none reads half of it.
    if !file.exists() {
        let new = file.with_extension(format!("{:?}", std::thread::current().id()));
        place.cluster.write_kubeconfig(e2e::place::PERSON, &new).unwrap();
        fs::rename(new, &file).unwrap();
    }
    file
}

/// A person's kubeconfigs, by flag.
fn kubeconfigs(world: &World) -> Vec<String> {
    let flags = [("--kubeconfig", &world.hub), ("--consumer-kubeconfig", world.consumer(crate::HOMER))].into_iter();
    let flags = flags.chain(world.providers().iter().map(|provider| ("--provider-kubeconfig", provider)));
    flags.flat_map(|(flag, place)| [flag.to_owned(), kubeconfig(world, place).display().to_string()]).collect()
}

/// Runs `kubectl broker` with these arguments.
pub(crate) async fn broker(world: &World, args: &[&str]) -> Said {
    let flags = kubeconfigs(world);
    let prepare = |command: &mut tokio::process::Command| {
        command.args(flags);
    };
    e2e::said::run(args, prepare).await
}

/// What it says about a trip's object.
async fn of(trip: &Trip<'_>, command: &str, more: &[&str]) -> Said {
    let object = format!("{}/item", trip.kind.kind.to_lowercase());
    let args = [&[command, &object, "--namespace", trip.scene.ns()], more].concat();
    broker(trip.scene.world, &args).await
}

/// Without the names of a test and its kind.
fn named_alike(trip: &Trip<'_>, text: &str) -> String {
    let (kind, plural) = (trip.kind.kind, trip.kind.plural);
    let text = text.replace(kind, "Store").replace(plural, "stores").replace(&kind.to_lowercase(), "store");
    text.replace(trip.scene.ns(), "NS")
}

/// Without what is another in each run: ages, scores, the kind, names that are made up, texts of a length.
fn alike(trip: &Trip<'_>, text: &str) -> String {
    let text = named_alike(trip, text);
    let mut elsewhere = false;
    let mut ours = String::new();
    for line in text.lines() {
        // AcceptAPIs of tests that had this kind before, and what they say.
        elsewhere = line.starts_with("  -  ") && !line.contains("/NS-") || elsewhere && line.starts_with("       ");
        if !elsewhere {
            ours.push_str(line);
            ours.push('\n');
        }
    }
    text_alike(&ours)
}

/// Compares with what is kept in `said/`.
fn is_said(trip: &Trip<'_>, name: &str, said: &str) {
    is_kept("migrations", name, &alike(trip, said));
}

/// The same of JSON, which is as the command's schema says.
fn is_told(trip: &Trip<'_>, name: &str, said: &Said) {
    let mut told = json_alike(said.json());
    // AcceptAPIs of tests that had this kind before.
    if let Some(asked) = told.get_mut("asked").and_then(Value::as_array_mut) {
        asked.retain(|one| one["acceptAPI"].as_str().is_some_and(|id| id.contains(trip.scene.ns())));
    }
    is_kept("migrations", name, &named_alike(trip, &format!("{told:#}\n")));
}

/// Its AcceptAPIs say that they are used, and how many objects each holds.
async fn until_counted(counts: &[(&Place, &str, u64)]) {
    for (provider, name, count) in counts {
        let counted = |seen: &e2e::Object| {
            seen.condition("Ready").is_some_and(|ready| ready.status == "True")
                && seen.at("/status/placed") == &json!(count)
        };
        provider.until(&ACCEPT_API, "default", name, &format!("to hold {count}"), counted).await;
    }
}

/// AcceptAPIs of tests that had this kind before go, for what decisions say of them is not said here; and first the objects
/// that they served, which would complain of that, and of it again to a broker that starts again.
async fn forget_others(trip: &Trip<'_>) {
    let origins = trip.homer.list(&trip.kind, "").await;
    let others = || origins.iter().filter(|one| one.namespace() != trip.scene.ns());
    for other in others() {
        trip.homer.delete(&trip.kind, other.namespace(), other.name()).await;
    }
    for other in others() {
        trip.homer.until_gone(&trip.kind, other.namespace(), other.name()).await;
    }
    for provider in [trip.ariadne, trip.theseus] {
        let all = provider.list(&ACCEPT_API, "default").await;
        let of_kind = all.iter().filter(|one| one.at("/spec/gvr/resource") == trip.kind.plural);
        for other in of_kind.filter(|one| !one.name().starts_with(trip.scene.ns())) {
            provider.delete(&ACCEPT_API, "default", other.name()).await;
        }
    }
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
        is_told(trip, "served-why.json", &of(trip, "why", &["--broker-namespace", "default", "-o", "json"]).await);
        let said = of(trip, "trace", &[]).await;
        assert_eq!((said.code, &*said.err), (Some(0), ""), "{said:?}");
        is_said(trip, "served-trace.txt", &said.out);
        is_told(trip, "served-trace.json", &of(trip, "trace", &["-o", "json"]).await);

        let said = of(trip, "diff", &[]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(trip, "same-diff.txt", &said.shown());
        // It is the provider's own field, which the broker leaves alone.
        let spec = json!({"spec": {"renewBefore": "720h"}});
        trip.ariadne.edit(&trip.kind, trip.scene.ns(), &trip.item.copy_name(), spec).await;
        let said = of(trip, "diff", &[]).await;
        assert_eq!(said.code, Some(1), "{said:?}");
        is_said(trip, "diff.txt", &said.shown());
        is_told(trip, "diff.json", &of(trip, "diff", &["-o", "json"]).await);

        // What another provider holds under the copy's name is not the copy.
        trip.theseus.make_namespace(trip.scene.ns()).await;
        let name = trip.item.copy_name();
        trip.theseus.create(&trip.kind, trip.scene.ns(), &name, json!({"spec": {}})).await;
        is_said(trip, "stranger-trace.txt", &of(trip, "trace", &[]).await.out);
        trip.theseus.delete(&trip.kind, trip.scene.ns(), &name).await;
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
        forget_others(trip).await;
        let world = trip.scene.world;
        let only = format!("default/{}", trip.accept);
        let mut asked = Vec::new();
        let said = broker(world, &["rebalance", ARIADNE, "--acceptapi", &only, "--no-wait"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        asked.push(said.shown());
        let said = broker(world, &["cordon", ARIADNE, "--acceptapi", &only]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        asked.push(said.shown());
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
        let uncounted = "the broker has not said yet how many objects are left";
        let is_progress =
            |line: &str| line == uncounted || line.starts_with('[') && line.ends_with(" objects are left");
        assert!(said.err.lines().all(is_progress), "how far it is at each look is another matter: {said:?}");
        asked.push(said.out.clone());
        trip.item.until_served_by(trip.theseus).await;
        let said = broker(world, &["drain", ARIADNE, "--acceptapi", &only, "--no-wait"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        asked.push(said.shown());
        let said = broker(world, &["uncordon", ARIADNE, "--acceptapi", &only]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        asked.push(said.shown());
        is_said(trip, "provider.txt", &asked.join("\n"));
        let open = trip.ariadne.get(&ACCEPT_API, "default", &trip.accept).await;
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
        let said = of(trip, "migrate", &["--to", THESEUS, "--no-wait"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        let begun = said.shown();
        let migration = trip.migration("InitialInProgress").await;
        trip.object(&migration, &e2e::kind::CONFIG_MAP, "copy").await;
        trip.item.until("to say that it moves", |seen| seen.condition("Moving").is_some()).await;
        let told = |text: &str| text.replace(migration.name(), "MIGRATION").replace(migration.text("/status/id"), "ID");
        let said = of(trip, "trace", &[]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(trip, "moving-trace.txt", &told(&said.out));
        // It is written at both.
        let spec = json!({"spec": {"renewBefore": "720h"}});
        trip.theseus.edit(&trip.kind, trip.scene.ns(), &trip.item.copy_name(), spec).await;
        let said = of(trip, "diff", &[]).await;
        assert_eq!(said.code, Some(1), "{said:?}");
        is_said(trip, "moving-diff.txt", &said.shown());

        let mut asked = vec![begun];
        let which = [migration.name(), "--namespace", trip.scene.ns()];
        for (command, paused) in [(&["pause"][..], true), (&["resume", "--no-wait"], false), (&["pause"], true)] {
            let said = broker(world, &[command, &which].concat()).await;
            assert_eq!(said.code, Some(0), "{said:?}");
            asked.push(said.shown());
            let now = trip.hub.get(&MIGRATION, trip.scene.ns(), migration.name()).await;
            assert_eq!(now.at("/spec/paused"), &json!(paused));
        }
        // It is followed to its end.
        let resume = [&["resume"][..], &which, &["--timeout", "60"]].concat();
        let (said, _) = tokio::join!(broker(world, &resume), trip.say(&migration, "copy", "done"));
        assert_eq!(said.code, Some(0), "{said:?}");
        asked.push(said.out.clone());
        is_said(trip, "move.txt", &told(&asked.join("\n")));
        trip.item.until_served_by(trip.theseus).await;
        let ended = |seen: &e2e::Object| seen.text("/status/state") == "CutoverCompleted";
        trip.until(&migration, "to complete", ended).await;
        let only = format!("namespace={}", trip.scene.ns());
        for (file, more) in [("migrations.txt", &[][..]), ("migrations-wide.txt", &["-o", "wide"])] {
            let said = broker(world, &[&["migrations", "--where", &only], more].concat()).await;
            assert_eq!(said.code, Some(0), "{said:?}");
            is_said(trip, file, &told(&said.out));
        }
        let mut said = broker(world, &["migrations", "--where", &only, "-o", "json"]).await;
        said.out = told(&said.out);
        is_told(trip, "migrations.json", &said);
    });
}

#[test]
fn a_move_is_waited_for() {
    let stages = json!([stage("copy", json!({"progress": true}))]);
    at_home("cli-wait", stages, async |trip| {
        trip.scene.accept_kind(&trip.kind, trip.theseus, &[trip.scene.domain_filter()], Value::Null).await;
        trip.hub.make_namespace(trip.scene.ns()).await;
        let asked = ["--to", THESEUS, "--timeout", "60"];
        let work = async {
            let migration = trip.migration("InitialInProgress").await;
            trip.say(&migration, "copy", "done").await;
            migration
        };
        let (said, migration) = tokio::join!(of(trip, "migrate", &asked), work);
        assert_eq!(said.code, Some(0), "{said:?}");
        // How far it was at each look is another matter.
        is_said(trip, "migrate.txt", &said.out.replace(migration.name(), "MIGRATION"));
        trip.item.until_served_by(trip.theseus).await;
    });
}

#[test]
fn a_move_is_aborted_and_its_failed_stage_is_tried_again() {
    let stages = json!([stage("copy", json!({"progress": true, "onFailure": "Hold"}))]);
    on_its_way("cli-abort", stages, async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let world = trip.scene.world;
        let mut asked = Vec::new();
        let said = broker(world, &["retry", migration.name(), "--no-wait"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        asked.push(said.shown());
        // It fails again, and nobody waits for what only a person can end.
        let first = trip.say(&migration, "copy", "failed").await;
        trip.until_stalled(&migration, "StageFailed").await;
        let retry = ["retry", migration.name(), "--timeout", "60"];
        let fails_again = async {
            let again = |seen: &e2e::Object| seen.uid() != first.uid();
            let (kind, ns) = (&e2e::kind::CONFIG_MAP, trip.scene.ns());
            trip.hub.until(kind, ns, first.name(), "to be made again", again).await;
            trip.say(&migration, "copy", "failed").await;
        };
        let (said, ()) = tokio::join!(broker(world, &retry), fails_again);
        let held = said.err.lines().last().unwrap_or_default();
        assert!(said.code == Some(2) && held.contains("it is held"), "{said:?}");
        asked.push(format!("{}{held}\n", said.out));
        let said = broker(world, &["abort", migration.name(), "--timeout", "60"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        asked.push(said.out);
        let now = trip.hub.get(&MIGRATION, trip.scene.ns(), migration.name()).await;
        assert_eq!((now.at("/spec/retry"), now.at("/spec/abort")), (&json!(2), &json!(true)));
        assert!(now.has("Succeeded", "False", "Aborted"), "{now}");
        is_said(trip, "given-up.txt", &asked.join("\n").replace(migration.name(), "MIGRATION"));
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
        is_told(trip, "tried.json", &broker(world, &[&args[..], &["-o", "json"]].concat()).await);
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
        let mut all = Vec::new();
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
            all.push(said.shown());
        }
        is_said(trip, "errors.txt", &all.join("\n"));
    });
}
