//! `why`, of an object in each state that a broker decides on.

use std::{fs, path::Path};

use broker_api::keys;
use e2e::{DEADLINE, Kind, Place, Said};
use harness::wait_for;
use serde_json::{Value, json};

use super::{broker, forget_others, is_said, kubeconfig, kubeconfigs, of};
use crate::{
    ARIADNE,
    trip::{Trip, at_home, on_its_way, stage},
};

/// A kind that the broker of this world is not told of: the one in the command is alone with its objects.
const PARCEL: Kind = Kind::test("Parcel", "parcels");
/// A kind whose objects are in no namespace.
const REGION: Kind = Kind::test("Region", "regions");

/// A user who may do next to nothing.
const LIMITED: &str = "limited";

/// Where the flags of a broker's Deployment would be.
const FLAGS: [&str; 2] = ["--broker-namespace", "default"];

/// Why a trip's object is where it is.
async fn why(trip: &Trip<'_>) -> Said {
    let said = of(trip, "why", &FLAGS).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    said
}

/// Sets something of its metadata.
async fn mark(trip: &Trip<'_>, metadata: Value) {
    trip.homer.edit(&trip.kind, trip.scene.ns(), "item", json!({"metadata": metadata})).await;
}

#[test]
fn an_object_is_paused_and_ignored() {
    at_home("cli-aside", Value::Null, async |trip| {
        forget_others(trip).await;
        mark(trip, json!({"annotations": {keys::PAUSED: "true"}})).await;
        is_said(trip, "why-paused.txt", &why(trip).await.out);
        mark(trip, json!({"annotations": {keys::PAUSED: null}, "labels": {keys::IGNORE: "true"}})).await;
        is_said(trip, "why-ignored.txt", &why(trip).await.out);
        mark(trip, json!({"labels": {keys::IGNORE: null}})).await;
    });
}

#[test]
fn an_object_is_not_accepted_any_more() {
    at_home("cli-refused", Value::Null, async |trip| {
        forget_others(trip).await;
        trip.item.edit(json!({"fqdn": "elsewhere.example.org"})).await;
        trip.item.until("Accepted=False", |seen| seen.has("Accepted", "False", "NotAccepted")).await;
        // More of the status may be on its way.
        let said = wait_for(DEADLINE, "nothing to be left to write", async || {
            let said = why(trip).await.out;
            if said.contains("would write") { Err(said) } else { Ok(said) }
        });
        is_said(trip, "why-not-accepted.txt", &said.await.unwrap_or_else(|error| panic!("{error:#}")));
    });
}

#[test]
fn an_object_moves() {
    let stages = json!([stage("copy", json!({"progress": true}))]);
    on_its_way("cli-moving", stages, async |trip| {
        forget_others(trip).await;
        let migration = trip.migration("InitialInProgress").await;
        trip.object(&migration, &e2e::kind::CONFIG_MAP, "copy").await;
        trip.item.until("to say that it moves", |seen| seen.condition("Moving").is_some()).await;
        is_said(trip, "why-moving.txt", &why(trip).await.out.replace(migration.name(), "MIGRATION"));
        trip.say(&migration, "copy", "done").await;
        trip.item.until_served_by(trip.theseus).await;
    });
}

#[test]
fn an_object_is_deleted_and_its_provider_holds_the_copy() {
    at_home("cli-deleting", Value::Null, async |trip| {
        forget_others(trip).await;
        let hold = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
        let (ns, copy) = (trip.scene.ns(), trip.item.copy_name());
        trip.ariadne.edit(&trip.kind, ns, &copy, hold(json!(["e2e.test/held"]))).await;
        trip.item.delete().await;
        trip.item.until("held", |seen| seen.has("Brokered", "False", "HeldByProvider")).await;
        is_said(trip, "why-deleting.txt", &why(trip).await.out);
        trip.ariadne.edit(&trip.kind, ns, &copy, hold(json!([]))).await;
        trip.item.until_gone().await;
    });
}

/// A cluster may be a provider and a consumer: what the broker has put there is no origin.
#[test]
fn a_copy_is_none_of_the_brokers_business() {
    at_home("cli-copy", Value::Null, async |trip| {
        forget_others(trip).await;
        let object = format!("{}/{}", trip.kind.kind.to_lowercase(), trip.item.copy_name());
        let both = kubeconfig(trip.scene.world, trip.ariadne).display().to_string();
        let args = ["why", &object, "--namespace", trip.scene.ns(), "--in", "consumer#ariadne"];
        let args = [&args[..], &FLAGS, &["--consumer-kubeconfig", &both]].concat();
        let said = broker(trip.scene.world, &args).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(trip, "why-gone.txt", &said.out);
    });
}

#[test]
fn an_object_waits_is_placed_or_cannot_be() {
    at_home("cli-new", Value::Null, async |trip| {
        let world = trip.scene.world;
        let mut region = REGION.crd();
        region["spec"]["scope"] = json!("Cluster");
        for place in [trip.homer, trip.ariadne] {
            place.apply(&format!("{}\n---\n{region}", PARCEL.crd())).await;
        }
        let asks = async |object: &str| {
            let said = broker(world, &[&["why", object, "--namespace", trip.scene.ns()][..], &FLAGS].concat()).await;
            assert_eq!(said.code, Some(0), "{said:?}");
            said.out
        };
        let spec = json!({"spec": {"fqdn": trip.scene.fqdn("new")}});
        trip.homer.create(&PARCEL, trip.scene.ns(), "new", spec).await;
        is_said(trip, "why-nobody.txt", &asks("parcel/new").await);
        trip.scene.accept_kind(&PARCEL, trip.ariadne, &[trip.scene.domain_filter()], Value::Null).await;
        is_said(trip, "why-placing.txt", &asks("parcel/new").await);
        trip.homer.create(&REGION, "", "eu", json!({"spec": {}})).await;
        is_said(trip, "why-blocked.txt", &asks("region/eu").await);
    });
}

/// What a person sees for whom the kubeconfig of a cluster is another.
async fn why_with(trip: &Trip<'_>, place: &Place, file: &Path) -> String {
    let own = kubeconfig(trip.scene.world, place).display().to_string();
    let other = file.display().to_string();
    let flags = kubeconfigs(trip.scene.world).into_iter().map(|flag| if flag == own { other.clone() } else { flag });
    let prepare = |command: &mut tokio::process::Command| {
        command.args(flags);
    };
    let object = format!("{}/item", trip.kind.kind.to_lowercase());
    let args = [&["why", &object, "--namespace", trip.scene.ns()][..], &FLAGS].concat();
    let said = e2e::said::run(&args, prepare).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    said.out.lines().map(|line| without_the_systems_words(line) + "\n").collect()
}

/// How the operating system says that nobody listens there is its own matter.
fn without_the_systems_words(line: &str) -> String {
    let Some((told, why)) = line.split_once(" is unreachable: ") else { return line.to_owned() };
    let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_alphabetic());
    let reasons = why.split(" (").skip(1).filter_map(|part| part.split(')').next());
    let reason = reasons.filter(is_word).last().map(|reason| format!(" ({reason})")).unwrap_or_default();
    format!("{told} is unreachable: WHY{reason}")
}

#[test]
fn a_provider_does_not_answer_or_does_not_show_the_copy() {
    at_home("cli-blind", Value::Null, async |trip| {
        forget_others(trip).await;
        let folder = trip.scene.world.lab.directory().join("others");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{ARIADNE}.kubeconfig"));
        let text = fs::read_to_string(kubeconfig(trip.scene.world, trip.ariadne)).unwrap();
        fs::write(&file, text.replace(&trip.ariadne.cluster.server_url(), "https://127.0.0.1:1")).unwrap();
        is_said(trip, "why-unreachable.txt", &why_with(trip, trip.ariadne, &file).await);

        let rules = json!([
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
            {"apiGroups": ["broker.platform-mesh.io"], "resources": ["acceptapis"], "verbs": ["list", "watch"]},
        ]);
        allow(trip.ariadne, "shows-no-copies", &rules).await;
        trip.ariadne.cluster.write_kubeconfig(LIMITED, &file).unwrap();
        is_said(trip, "why-blind.txt", &why_with(trip, trip.ariadne, &file).await);
    });
}

/// Lets [`LIMITED`] do this in a cluster.
async fn allow(place: &Place, role: &str, rules: &Value) {
    let group = "rbac.authorization.k8s.io";
    let subject = json!({"apiGroup": group, "kind": "User", "name": LIMITED});
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": role},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role}, "subjects": [subject],
    });
    let metadata = json!({"name": role});
    let role =
        json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules});
    place.apply(&format!("{role}\n---\n{binding}")).await;
}

#[test]
fn a_consumer_shows_the_object_and_not_its_kind() {
    at_home("cli-unseen", Value::Null, async |trip| {
        forget_others(trip).await;
        let rules = json!([
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
            {"apiGroups": [trip.kind.group], "resources": [trip.kind.plural], "verbs": ["get"]},
        ]);
        allow(trip.homer, "shows-one-object", &rules).await;
        let folder = trip.scene.world.lab.directory().join("unseen");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{}.kubeconfig", trip.homer.name()));
        trip.homer.cluster.write_kubeconfig(LIMITED, &file).unwrap();
        is_said(trip, "why-unknown.txt", &why_with(trip, trip.homer, &file).await);
    });
}
