//! Scenarios with a hub and three spokes.

use broker_api::graphs::keys;
use serde_json::{Value, json};

use super::{
    act::Act,
    alone::{CRD, NOTE, RGDS},
    rgds::{CRDS, DEFINITIONS, NOTES, ROLLOUTS, crd, note, note_rgd, note_rgd_with_widget, rollout, waves},
    scenario::{Scenario, Scene},
    stage::{RIVAL, SPOKES, membership},
};
use crate::stage::FOREIGN;

const MULTI: [&str; 1] = ["--enable-multicluster"];
const SECRETS: &str = "/api/v1/namespaces/clusters/secrets";
const ROLLOUT: &str = "resourcegraphrollouts.broker.platform-mesh.io";
const RUNS: &str = "/metadata/annotations/broker.platform-mesh.io~1graph-revision";
const TEXT: &str = "/data/text";

/// The RGD is defined, and each spoke has an instance.
fn spread(first: Vec<Act>) -> Vec<Scene> {
    let instances = SPOKES.map(|spoke| Act::create(NOTES, note("one", spoke)).at(spoke));
    let made = SPOKES.iter().fold(Scene::new(instances), |scene, spoke| {
        scene.then_at(spoke, "configmaps", "one-config", TEXT, json!(format!("1 {spoke}"))).then_at(
            spoke,
            NOTE,
            "one",
            "/status/state",
            json!("ACTIVE"),
        )
    });
    let define = first.into_iter().chain([Act::create(DEFINITIONS, note_rgd("1 "))]);
    vec![run(Scene::new(define), "1").then(RGDS, "note", "/status/state", json!("Active")), made]
}

/// In the end all spokes run this.
fn run(scene: Scene, revision: &str) -> Scene {
    SPOKES.iter().fold(scene, |scene, spoke| scene.then_at(spoke, CRD, NOTE, RUNS, json!(revision)))
}

/// In the end what is made in all spokes says this.
fn says(scene: Scene, prefix: &str) -> Scene {
    SPOKES.iter().fold(scene, |scene, spoke| {
        scene.then_at(spoke, "configmaps", "one-config", TEXT, json!(format!("{prefix} {spoke}")))
    })
}

fn edited(rgd: &Value) -> Act {
    Act::edit(DEFINITIONS, "note", json!({"spec": {"resources": rgd["spec"]["resources"]}}))
}

fn roll_out(spec: &Value) -> Act {
    Act::create(ROLLOUTS, rollout(spec))
}

fn rolled_out(spec: Value) -> Act {
    Act::edit(ROLLOUTS, "note", json!({ "spec": spec }))
}

fn everywhere() -> Scenario {
    let mut scenes = spread(vec![]);
    scenes.extend([
        says(run(Scene::new([edited(&note_rgd("2 "))]), "2"), "2"),
        Scene::new([
            Act::delete(NOTES, "one").at("paris"),
            Act::delete("/api/v1/namespaces/shop/configmaps", "one-config").at("lima"),
        ])
        .without_at("paris", NOTE, "one")
        .without_at("paris", "configmaps", "one-config")
        .then_at("lima", "configmaps", "one-config", TEXT, json!("2 lima")),
        // Somebody edits, and deletes, a spoke's CRD.
        run(
            Scene::new([
                Act::edit(CRDS, NOTE, json!({"metadata": {"labels": {keys::OWNED: null}}})).at("lima"),
                Act::delete(CRDS, NOTE).at("paris"),
            ]),
            "2",
        ),
        Scene::new([Act::delete(DEFINITIONS, "note")])
            .without(RGDS, "note")
            .then_at("lima", NOTE, "one", "/metadata/name", json!("one"))
            .then_at("lima", CRD, NOTE, RUNS, json!("2")),
    ]);
    Scenario::new("everywhere", &MULTI, scenes)
}

fn in_waves() -> Scenario {
    let mut scenes = spread(vec![roll_out(&waves())]);
    scenes.extend([
        says(run(Scene::new([edited(&note_rgd("2 "))]), "2"), "2").then(
            ROLLOUT,
            "note",
            "/status/completedRevision",
            json!(2),
        ),
        // Back, by naming the revision.
        says(run(Scene::new([rolled_out(json!({"revision": 1}))]), "1"), "1"),
        says(run(Scene::new([rolled_out(json!({"revision": null}))]), "2"), "2"),
    ]);
    Scenario::new("in waves", &MULTI, scenes)
}

fn paused() -> Scenario {
    let mut scenes = spread(vec![roll_out(&waves())]);
    scenes.extend([
        Scene::new([rolled_out(json!({"paused": true}))]),
        says(run(Scene::new([edited(&note_rgd("2 "))]), "1"), "1").then(
            ROLLOUT,
            "note",
            "/status/targetRevision",
            json!(2),
        ),
        says(run(Scene::new([rolled_out(json!({"paused": null}))]), "2"), "2"),
    ]);
    Scenario::new("paused", &MULTI, scenes)
}

/// The first cluster of a rollout lacks a kind: nobody else begins, unless the rollout goes on in spite of that.
fn failing(on_failure: &'static str) -> Scenario {
    let late = || crd("Widget", "parts.sim.io", &json!({"size": {"type": "integer"}, "owner": {"type": "string"}}));
    let mut spec = waves();
    spec["onFailure"] = json!(on_failure);
    let mut scenes = vec![Scene::new([Act::delete(CRDS, "widgets.parts.sim.io").at("paris")])];
    scenes.extend(spread(vec![roll_out(&spec)]));
    let others = if on_failure == "Continue" { "2" } else { "1" };
    scenes.extend([
        Scene::new([edited(&note_rgd_with_widget("2 "))])
            .then_at("paris", CRD, NOTE, RUNS, json!("1"))
            .then_at("lima", CRD, NOTE, RUNS, json!(others))
            .then_at("tokyo", CRD, NOTE, RUNS, json!(others))
            .then(ROLLOUT, "note", "/status/failing/0/reason", json!("KindMissing"))
            .then(ROLLOUT, "note", "/status/failing/0/cluster", json!("spoke#paris")),
        says(run(Scene::new([Act::create(CRDS, late()).at("paris")]), "2"), "2"),
    ]);
    Scenario::new(&format!("failing, {on_failure}"), &MULTI, scenes)
}

/// A revision with which instances fail is taken back.
fn taken_back() -> Scenario {
    let mut spec = waves();
    spec["onFailure"] = json!("Rollback");
    spec["waves"][0]["soakSeconds"] = json!(240);
    let mut scenes = spread(vec![roll_out(&spec)]);
    // No name of a ConfigMap.
    let mut fails = note_rgd("2 ");
    fails["spec"]["resources"][0]["template"]["metadata"]["name"] = json!("${schema.metadata.name}_config");
    scenes.extend([
        says(run(Scene::new([edited(&fails)]), "1"), "1").then(
            ROLLOUT,
            "note",
            "/status/conditions/0/reason",
            json!("RolledBack"),
        ),
        says(run(Scene::new([edited(&note_rgd("3 "))]), "3"), "3"),
    ]);
    Scenario::new("taken back", &MULTI, scenes)
}

/// What is in ERROR before a revision comes is not its fault, whoever has to find out first.
fn broken_before() -> Scenario {
    let mut spec = waves();
    spec["onFailure"] = json!("Rollback");
    spec["waves"][0]["soakSeconds"] = json!(240);
    // No name of a ConfigMap.
    let fails = |prefix| {
        let mut fails = note_rgd(prefix);
        fails["spec"]["resources"][0]["template"]["metadata"]["name"] = json!("${schema.spec.text}_config");
        fails
    };
    let instances = Scene::new(SPOKES.map(|spoke| Act::create(NOTES, note("one", spoke)).at(spoke)));
    let scenes = vec![
        run(Scene::new([roll_out(&spec), Act::create(DEFINITIONS, fails("1 "))]), "1"),
        SPOKES
            .iter()
            .fold(instances, |scene, spoke| scene.then_at(spoke, NOTE, "one", "/status/state", json!("ERROR"))),
        run(Scene::new([edited(&fails("2 "))]), "2").then(ROLLOUT, "note", "/status/completedRevision", json!(2)),
    ];
    Scenario::new("broken before", &MULTI, scenes)
}

/// A spoke is lost while all others get on, and is found again.
fn lost() -> Scenario {
    let mut scenes = spread(vec![]);
    scenes.extend([
        Scene::new([Act::lose("lima")]),
        Scene::new([
            edited(&note_rgd("2 ")),
            Act::delete(NOTES, "one").at("lima"),
            Act::create(NOTES, note("two", "new")).at("lima"),
        ])
        .then_at("lima", CRD, NOTE, RUNS, json!("1"))
        .then_at("lima", "configmaps", "one-config", TEXT, json!("1 lima"))
        .then_at("paris", "configmaps", "one-config", TEXT, json!("2 paris")),
        run(Scene::new([Act::find("lima")]), "2").without_at("lima", "configmaps", "one-config").then_at(
            "lima",
            "configmaps",
            "two-config",
            TEXT,
            json!("2 new"),
        ),
    ]);
    Scenario::new("lost", &MULTI, scenes)
}

/// The same with a rollout that is under way.
fn lost_in_a_wave() -> Scenario {
    let mut scenes = spread(vec![roll_out(&waves())]);
    scenes.extend([
        Scene::new([Act::lose("paris")]),
        // It is waited for, but not for ever.
        Scene::new([edited(&note_rgd("2 "))]).then_at("lima", CRD, NOTE, RUNS, json!("2")).then_at(
            "tokyo",
            CRD,
            NOTE,
            RUNS,
            json!("2"),
        ),
        says(run(Scene::new([Act::find("paris")]), "2"), "2"),
    ]);
    Scenario::new("lost in a wave", &MULTI, scenes)
}

/// A spoke leaves as its rollout says, and comes back.
fn leaving(offboarding: &'static str) -> Scenario {
    let selector =
        |values: Value| json!({"matchExpressions": [{"key": "city", "operator": "NotIn", "values": values}]});
    let spec = json!({"offboarding": offboarding, "clusterSelector": selector(json!(["nowhere"]))});
    let mut scenes = spread(vec![roll_out(&spec)]);
    let left = Scene::new([rolled_out(json!({"clusterSelector": selector(json!(["tokyo"]))}))]);
    let left = match offboarding {
        "Orphan" => left.then_at("tokyo", NOTE, "one", "/metadata/finalizers/0", json!(keys::FINALIZER)),
        "Release" => left.then_at("tokyo", NOTE, "one", "/metadata/finalizers", Value::Null).then_at(
            "tokyo",
            "configmaps",
            "one-config",
            TEXT,
            json!("1 tokyo"),
        ),
        _ => left.without_at("tokyo", CRD, NOTE).without_at("tokyo", "configmaps", "one-config"),
    };
    scenes.extend([
        left.then_at("paris", "configmaps", "one-config", TEXT, json!("1 paris")),
        run(
            Scene::new([
                rolled_out(json!({"clusterSelector": selector(json!(["nowhere"]))})),
                Act::create(NOTES, note("two", "again")).at("tokyo"),
            ]),
            "1",
        )
        .then_at("tokyo", "configmaps", "two-config", TEXT, json!("1 again")),
    ]);
    if offboarding == "Delete" {
        // With an RGD nothing goes unless the controller was told so.
        let end = Scene::new([Act::delete(DEFINITIONS, "note")]).without(RGDS, "note");
        let end = end.then_at("tokyo", NOTE, "two", "/metadata/finalizers/0", json!(keys::FINALIZER));
        scenes.push(run(end, "1"));
    }
    Scenario::new(&format!("leaving, {offboarding}"), &MULTI, scenes)
}

/// The Secret of a spoke goes, and comes again.
fn secrets() -> Scenario {
    let mut scenes = spread(vec![]);
    let offboard = |value: Value| Act::edit(SECRETS, "paris", json!({"metadata": {"labels": {keys::OFFBOARD: value}}}));
    scenes.extend([
        Scene::new([Act::delete(SECRETS, "tokyo"), offboard(json!("true"))]),
        Scene::new([edited(&note_rgd("2 "))])
            .then_at("tokyo", "configmaps", "one-config", TEXT, json!("1 tokyo"))
            .then_at("paris", "configmaps", "one-config", TEXT, json!("1 paris"))
            .then_at("lima", "configmaps", "one-config", TEXT, json!("2 lima")),
        says(run(Scene::new([Act::create(SECRETS, membership("tokyo")), offboard(Value::Null)]), "2"), "2"),
    ]);
    Scenario::new("secrets", &MULTI, scenes)
}

/// Some spokes have a CRD of the kind's name: somebody's, a standalone kro's, another hub's.
fn taken() -> Scenario {
    let theirs = |labels: Value| {
        let mut theirs = crd("Note", "apps.sim.io", &json!({"text": {"type": "string"}}));
        theirs["metadata"]["labels"] = labels;
        theirs
    };
    let owned = json!({keys::OWNED: "true", keys::RGD_NAME: "note", FOREIGN: "true"});
    let mut other = owned.clone();
    other[keys::HUB] = json!("0123456789ab");
    let before = [("lima", json!({FOREIGN: "true"})), ("paris", owned), ("tokyo", other)];
    let before = before.map(|(spoke, labels)| Act::create(CRDS, theirs(labels)).at(spoke));
    let scenes = vec![
        Scene::new(before),
        Scene::new([Act::create(DEFINITIONS, note_rgd("1 "))]).then(RGDS, "note", "/status/state", json!("Active")),
        Scene::new([edited(&note_rgd("2 "))]),
        Scene::new([Act::delete(CRDS, NOTE).at("lima"), Act::delete(CRDS, NOTE).at("tokyo")])
            .then_at("lima", CRD, NOTE, RUNS, json!("2"))
            .then_at("tokyo", CRD, NOTE, RUNS, json!("2"))
            .then_at("paris", CRD, NOTE, RUNS, Value::Null),
    ];
    Scenario::new("taken spokes", &MULTI, scenes)
}

/// With an RGD goes all that it has made, in all clusters.
fn ends() -> Scenario {
    let spec = json!({"offboarding": "Delete"});
    let mut scenes = spread(vec![roll_out(&spec)]);
    let end = Scene::new([Act::delete(DEFINITIONS, "note")]).without(RGDS, "note").without(CRD, NOTE);
    scenes.push(
        SPOKES
            .iter()
            .fold(end, |scene, spoke| scene.without_at(spoke, CRD, NOTE).without_at(spoke, "configmaps", "one-config")),
    );
    Scenario::new("ends everywhere", &["--enable-multicluster", "--allow-crd-deletion"], scenes)
}

/// Two hubs have the same spokes, and an RGD of the same kind.
fn two_hubs() -> Scenario {
    let mut scenes = spread(vec![]);
    scenes.extend([
        says(Scene::new([Act::create(DEFINITIONS, note_rgd("rival ")).at(RIVAL)]), "1").then_at(
            RIVAL,
            RGDS,
            "note",
            "/status/state",
            json!("Active"),
        ),
        says(run(Scene::new([edited(&note_rgd("2 ")), edited(&note_rgd("rival's ")).at(RIVAL)]), "2"), "2"),
        Scene::new([Act::claim(NOTE, RIVAL).at("tokyo")])
            .then_at("tokyo", "configmaps", "one-config", TEXT, json!("rival's tokyo"))
            .then_at("paris", "configmaps", "one-config", TEXT, json!("2 paris")),
    ]);
    Scenario::new("two hubs", &MULTI, scenes).with_rival()
}

/// All of them.
pub(crate) fn all() -> Vec<Scenario> {
    vec![
        everywhere(),
        in_waves(),
        paused(),
        failing("Pause"),
        failing("Continue"),
        taken_back(),
        broken_before(),
        lost(),
        lost_in_a_wave(),
        leaving("Orphan"),
        leaving("Release"),
        leaving("Delete"),
        secrets(),
        taken(),
        ends(),
        two_hubs(),
        in_waves().by_two(),
    ]
}
