//! Scenarios in one cluster.

use broker_api::graphs::keys;
use serde_json::{Value, json};

use super::{
    act::Act,
    rgds::{
        CONFIGS, CRDS, DEFINITIONS, NOTES, SITES, WIDGETS, config, crd, note, note_rgd, rgd, site, site_fields,
        site_parts, site_rgd, site_status, widget_crd,
    },
    scenario::{Scenario, Scene},
};
use crate::stage::FOREIGN;

/// As the journal has them.
pub(crate) const RGDS: &str = "resourcegraphdefinitions.kro.run";
pub(crate) const REVISIONS: &str = "graphrevisions.internal.kro.run";
pub(crate) const SITE: &str = "sites.apps.sim.io";
pub(crate) const NOTE: &str = "notes.apps.sim.io";
pub(crate) const CRD: &str = "customresourcedefinitions.apiextensions.k8s.io";

fn spec(fields: Value) -> Value {
    json!({ "spec": fields })
}

/// An RGD is defined, and an instance of it made.
pub(crate) fn begun() -> Vec<Scene> {
    vec![
        Scene::new([Act::create(DEFINITIONS, site_rgd())]).then(RGDS, "site", "/status/state", json!("Active")).then(
            REVISIONS,
            "site-r00001",
            "/status/conditions/0/status",
            json!("True"),
        ),
        Scene::new([Act::create(SITES, site("one", &json!({"text": "first", "items": ["a", "b", "c"]})))])
            .then(SITE, "one", "/status/state", json!("ACTIVE"))
            .then(SITE, "one", "/status/address", json!("10.0.0.3"))
            .then("configmaps", "one-item-c", "/data/item", json!("c"))
            .then("configmaps", "one-extra", "/data/of", json!("one-config"))
            .then("configmaps", "one-report", "/data/address", json!("10.0.0.3")),
    ]
}

/// What of it is there at the end: nothing.
fn gone(scene: Scene) -> Scene {
    ["one-config", "one-report", "one-extra", "one-item-a"]
        .into_iter()
        .fold(scene.without(SITE, "one").without("secrets", "one-secret"), |scene, name| {
            scene.without("configmaps", name)
        })
}

fn life() -> Scenario {
    let mut scenes = begun();
    scenes.extend([
        Scene::new([Act::edit(SITES, "one", spec(json!({"text": "second", "items": ["c", "d"]})))])
            .then("configmaps", "one-config", "/data/text", json!("second"))
            .then("secrets", "one-secret", "/data/text", json!("c2Vjb25k"))
            .then(SITE, "one", "/status/items", json!(2))
            .without("configmaps", "one-item-a"),
        Scene::new([Act::edit(SITES, "one", spec(json!({"wanted": false, "items": []})))])
            .without("configmaps", "one-extra")
            .without("configmaps", "one-item-d"),
        Scene::new([Act::edit(SITES, "one", spec(json!({"wanted": true})))]).then(
            "configmaps",
            "one-extra",
            "/data/of",
            json!("one-config"),
        ),
        gone(Scene::new([Act::delete(SITES, "one")])),
        Scene::new([Act::delete(DEFINITIONS, "site")]).without(RGDS, "site").without(REVISIONS, "site-r00001").then(
            CRD,
            SITE,
            "/spec/names/kind",
            json!("Site"),
        ),
    ]);
    Scenario::new("life", &[], scenes)
}

/// An instance is made anew under the name of one that goes.
fn anew() -> Scenario {
    let mut scenes = begun();
    let other = site("one", &json!({"text": "other", "items": ["z"]}));
    scenes.extend([
        Scene::new([Act::delete(SITES, "one"), Act::create(SITES, other)])
            .then("configmaps", "one-config", "/data/text", json!("other"))
            .without("configmaps", "one-item-a"),
        gone(Scene::new([Act::delete(SITES, "one")])),
    ]);
    Scenario::new("anew", &[], scenes)
}

/// Somebody edits and deletes what is made for an instance.
fn drift() -> Scenario {
    let mut scenes = begun();
    let label = |key: &str, value: Value| json!({"metadata": {"labels": {key: value}}});
    let widgets = "/apis/parts.sim.io/v1/namespaces/shop/widgets";
    scenes.extend([
        Scene::new([Act::edit(CONFIGS, "one-config", json!({"data": {"text": "mine", "more": "mine"}}))])
            .then("configmaps", "one-config", "/data/text", json!("first"))
            .then("configmaps", "one-config", "/data/more", json!("mine")),
        Scene::new([Act::delete(CONFIGS, "one-item-b"), Act::delete(CONFIGS, "one-config")])
            .then("configmaps", "one-item-b", "/data/item", json!("b"))
            .then("configmaps", "one-config", "/data/more", Value::Null),
        Scene::new([Act::edit(CONFIGS, "one-extra", label(keys::APPLYSET_PART_OF, Value::Null))]).then(
            "configmaps",
            "one-extra",
            "/metadata/labels/kro.run~1owned",
            json!("true"),
        ),
        Scene::new([Act::edit(CONFIGS, "one-report", label(keys::INSTANCE_ID, json!("nobody")))]),
        Scene::new([Act::edit(CONFIGS, "one-config", json!({"metadata": {"labels": null}}))]).then(
            "configmaps",
            "one-config",
            "/metadata/labels/kro.run~1owned",
            json!("true"),
        ),
        Scene::new([Act::delete(widgets, "one")]).then(SITE, "one", "/status/state", json!("ACTIVE")),
        Scene::new([Act::edit(SITES, "one", json!({"metadata": {"labels": null, "annotations": null}}))]).then(
            SITE,
            "one",
            "/metadata/labels/kro.run~1owned",
            json!("true"),
        ),
        gone(Scene::new([Act::delete(SITES, "one")])),
    ]);
    Scenario::new("drift", &[], scenes)
}

/// An RGD with one more field and one more part.
pub(crate) fn grown() -> Value {
    let (mut fields, mut parts) = (site_fields(), site_parts());
    fields["more"] = json!("string | default=\"more\"");
    parts.push(config("more", "${schema.metadata.name}-more", &json!({"more": "${schema.spec.more}"})));
    rgd("site", "Site", &fields, &site_status(), &parts)
}

/// The RGD is to be like this; fields that it has besides stay.
pub(crate) fn redefine(rgd: &Value) -> Act {
    let schema = json!({"spec": rgd["spec"]["schema"]["spec"]});
    Act::edit(DEFINITIONS, "site", json!({"spec": {"schema": schema, "resources": rgd["spec"]["resources"]}}))
}

/// An RGD is edited.
fn edits() -> Scenario {
    let mut scenes = begun();
    let mut broken = grown();
    broken["spec"]["resources"][0]["template"]["data"]["text"] = json!("${schema.spec.nothing}");
    // A field goes: that breaks instances.
    let breaking = json!({"spec": {"schema": {"spec": {"more": null}}, "resources": site_parts()}});
    let allow = json!({"metadata": {"annotations": {keys::ALLOW_BREAKING_CHANGES: "true"}}});
    scenes.extend([
        Scene::new([redefine(&grown())]).then("configmaps", "one-more", "/data/more", json!("more")).then(
            RGDS,
            "site",
            "/status/lastIssuedRevision",
            json!(2),
        ),
        Scene::new([redefine(&broken)]).then(RGDS, "site", "/status/state", json!("Inactive")).then(
            "configmaps",
            "one-more",
            "/data/more",
            json!("more"),
        ),
        Scene::new([redefine(&grown())]).then(RGDS, "site", "/status/state", json!("Active")),
        Scene::new([Act::edit(DEFINITIONS, "site", breaking)])
            .then(RGDS, "site", "/status/state", json!("Inactive"))
            .then("configmaps", "one-more", "/data/more", json!("more")),
        Scene::new([Act::edit(DEFINITIONS, "site", allow)])
            .then(RGDS, "site", "/status/state", json!("Active"))
            .without("configmaps", "one-more"),
        // Nobody serves it any more; what is being deleted is finished even so.
        Scene::new([Act::delete(DEFINITIONS, "site")]).then(SITE, "one", "/metadata/name", json!("one")),
        gone(Scene::new([Act::delete(SITES, "one")])),
    ]);
    Scenario::new("edits", &[], scenes)
}

/// An RGD with one more field of a part.
fn with_note() -> Value {
    let mut rgd = site_rgd();
    rgd["spec"]["resources"][0]["template"]["data"]["note"] = json!("of ${schema.metadata.name}");
    rgd
}

/// A field of a part comes, and goes again.
fn shrinks() -> Scenario {
    let mut scenes = begun();
    scenes.extend([
        Scene::new([redefine(&with_note())]).then("configmaps", "one-config", "/data/note", json!("of one")),
        Scene::new([redefine(&site_rgd())]).then("configmaps", "one-config", "/data/note", Value::Null).then(
            "configmaps",
            "one-config",
            "/data/text",
            json!("first"),
        ),
        gone(Scene::new([Act::delete(SITES, "one")])),
    ]);
    Scenario::new("shrinks", &[], scenes)
}

/// Somebody deletes a revision: its number is not used again.
fn forgotten() -> Scenario {
    let mut scenes = begun();
    let revisions = "/apis/internal.kro.run/v1alpha1/graphrevisions";
    scenes.extend([
        Scene::new([redefine(&grown())]).then("configmaps", "one-more", "/data/more", json!("more")),
        Scene::new([Act::delete(revisions, "site-r00002")]),
        Scene::new([redefine(&with_note())]).then("configmaps", "one-config", "/data/note", json!("of one")),
        gone(Scene::new([Act::delete(SITES, "one")])),
    ]);
    Scenario::new("forgotten", &[], scenes).renumbering()
}

/// With an RGD goes all that it has made.
fn ends() -> Scenario {
    let mut scenes = begun();
    scenes.extend([
        Scene::new([Act::create(SITES, site("two", &json!({"items": ["x"]})))]),
        gone(Scene::new([Act::delete(DEFINITIONS, "site")])).without(CRD, SITE).without("configmaps", "two-item-x"),
        Scene::new([Act::create(DEFINITIONS, site_rgd())]).then(RGDS, "site", "/status/state", json!("Active")),
    ]);
    Scenario::new("ends", &["--allow-crd-deletion"], scenes)
}

/// An RGD is made anew while its instances live.
fn redefined() -> Scenario {
    let mut scenes = begun();
    scenes.extend([
        Scene::new([Act::delete(DEFINITIONS, "site"), Act::create(DEFINITIONS, grown())])
            .then(RGDS, "site", "/status/state", json!("Active"))
            .then("configmaps", "one-more", "/data/more", json!("more")),
        gone(Scene::new([Act::delete(SITES, "one")])).without("configmaps", "one-more"),
    ]);
    Scenario::new("redefined", &[], scenes).renumbering()
}

/// What an instance is to have is another's, or nobody's.
fn others() -> Scenario {
    let theirs = |name: &str, labels: &Value| {
        let metadata = json!({"name": name, "labels": labels});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": "theirs"}})
    };
    let owned = theirs("one-config", &json!({keys::APPLYSET_PART_OF: "applyset-of-somebody-v1", FOREIGN: "true"}));
    let free = theirs("two-config", &json!({}));
    let scenes = vec![
        Scene::new([Act::create(DEFINITIONS, site_rgd()), Act::create(CONFIGS, owned), Act::create(CONFIGS, free)]),
        Scene::new([Act::create(SITES, site("one", &json!({}))), Act::create(SITES, site("two", &json!({})))])
            .then("configmaps", "one-config", "/data/text", json!("theirs"))
            .then(SITE, "one", "/status/state", json!("ERROR"))
            .then("configmaps", "two-config", "/data/text", json!("hello"))
            .then(SITE, "two", "/status/state", json!("ACTIVE")),
        Scene::new([Act::delete(CONFIGS, "one-config")])
            .then("configmaps", "one-config", "/data/text", json!("hello"))
            .then(SITE, "one", "/status/state", json!("ACTIVE")),
        gone(Scene::new([Act::delete(SITES, "one"), Act::delete(SITES, "two")])).without("configmaps", "two-config"),
    ];
    Scenario::new("others", &[], scenes)
}

/// A CRD of somebody else has the name of the one that an RGD generates.
fn taken() -> Scenario {
    let mut theirs = crd("Note", "apps.sim.io", &json!({"a": {"type": "string"}}));
    // It was once named as ours are.
    theirs["metadata"]["labels"] = json!({FOREIGN: "true", keys::RGD_NAME: "note"});
    let scenes = vec![
        Scene::new([Act::create(CRDS, theirs)]),
        Scene::new([Act::create(DEFINITIONS, note_rgd(""))]).then(RGDS, "note", "/status/state", json!("Inactive")),
        Scene::new([Act::delete(CRDS, NOTE)]).then(RGDS, "note", "/status/state", json!("Active")),
        Scene::new([Act::create(NOTES, note("one", "text"))]).then(
            "configmaps",
            "one-config",
            "/data/text",
            json!("text"),
        ),
        // Ours that somebody deletes takes its instances with it, and is made again.
        Scene::new([Act::delete(CRDS, NOTE)])
            .then(RGDS, "note", "/status/state", json!("Active"))
            .without(NOTE, "one")
            .without("configmaps", "one-config"),
    ];
    Scenario::new("taken", &[], scenes)
}

/// A kind that an RGD takes comes later, goes, and comes again.
fn kinds() -> Scenario {
    let late = || crd("Gadget", "late.sim.io", &json!({"size": {"type": "integer"}}));
    let part = json!({"id": "gadget", "template": {"apiVersion": "late.sim.io/v1", "kind": "Gadget",
        "metadata": {"name": "${schema.metadata.name}"}, "spec": {"size": 1}}});
    let text = config("config", "${schema.metadata.name}-config", &json!({"text": "${schema.spec.text}"}));
    let definition = rgd("note", "Note", &json!({"text": "string"}), &json!({}), &[part, text]);
    let scenes = vec![
        Scene::new([Act::create(DEFINITIONS, definition)]).then(RGDS, "note", "/status/state", json!("Inactive")),
        Scene::new([Act::create(CRDS, late())]).then(RGDS, "note", "/status/state", json!("Active")),
        Scene::new([Act::create(NOTES, note("one", "text"))]).then(NOTE, "one", "/status/state", json!("ACTIVE")),
        Scene::new([Act::delete(CRDS, "gadgets.late.sim.io")]).without("gadgets.late.sim.io", "one").then(
            "configmaps",
            "one-config",
            "/data/text",
            json!("text"),
        ),
        Scene::new([Act::create(CRDS, late())]).then("gadgets.late.sim.io", "one", "/spec/size", json!(1)).then(
            NOTE,
            "one",
            "/status/state",
            json!("ACTIVE"),
        ),
        Scene::new([Act::delete(CRDS, "gadgets.late.sim.io"), Act::delete(NOTES, "one")])
            .without(NOTE, "one")
            .without("configmaps", "one-config"),
    ];
    Scenario::new("kinds", &[], scenes)
}

/// A kind that only an inventory names, for the RGD is gone, is not served for a while: its objects are still there.
fn hidden() -> Scenario {
    let mut scenes = begun();
    let serves = |served: bool| {
        let mut versions = widget_crd()["spec"]["versions"].clone();
        versions[0]["served"] = json!(served);
        Act::edit(CRDS, WIDGETS, spec(json!({ "versions": versions })))
    };
    scenes.extend([
        Scene::new([Act::delete(DEFINITIONS, "site")]).without(RGDS, "site"),
        Scene::new([serves(false)]),
        Scene::new([Act::edit(SITES, "one", spec(json!({"text": "second"})))]),
        Scene::new([serves(true)]).then(WIDGETS, "one", "/spec/size", json!(3)),
        gone(Scene::new([Act::delete(SITES, "one")])).without(WIDGETS, "one"),
    ]);
    Scenario::new("hidden", &[], scenes)
}

/// Instances read what is not theirs.
fn references() -> Scenario {
    let metadata = json!({"name": "settings", "namespace": "annex"});
    let settings =
        json!({"id": "settings", "externalRef": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}});
    let selector = json!({"selector": {"matchLabels": {"used-by": "${schema.metadata.name}"}}, "namespace": "annex"});
    let all = json!({"id": "all", "externalRef": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": selector}});
    let data = json!({"level": "${settings.data.level}", "all": "${string(size(all))}"});
    let part = config("config", "${schema.metadata.name}-config", &data);
    let definition = rgd("note", "Note", &json!({"text": "string"}), &json!({}), &[settings, all, part]);
    let annex = "/api/v1/namespaces/annex/configmaps";
    let map = |name: &str, labels: Value, level: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"level": level}});
    let foreign = || json!({FOREIGN: "true"});
    let scenes = vec![
        Scene::new([Act::create(DEFINITIONS, definition), Act::create(NOTES, note("one", "text"))])
            .then(NOTE, "one", "/status/state", json!("IN_PROGRESS"))
            .without("configmaps", "one-config"),
        Scene::new([Act::create(annex, map("settings", foreign(), "low"))])
            .then("configmaps", "one-config", "/data/level", json!("low"))
            .then("configmaps", "one-config", "/data/all", json!("0")),
        Scene::new([
            Act::edit(annex, "settings", json!({"data": {"level": "high"}})),
            Act::create(annex, map("more", json!({"used-by": "one", FOREIGN: "true"}), "none")),
        ])
        .then("configmaps", "one-config", "/data/level", json!("high"))
        .then("configmaps", "one-config", "/data/all", json!("1")),
        Scene::new([Act::delete(annex, "settings"), Act::delete(annex, "more")])
            .then("configmaps", "one-config", "/data/level", json!("high"))
            .then(NOTE, "one", "/status/state", json!("IN_PROGRESS")),
        Scene::new([Act::delete(NOTES, "one")]).without("configmaps", "one-config"),
    ];
    Scenario::new("references", &[], scenes)
}

/// An instance whose child is an instance.
fn nested() -> Scenario {
    let inner = json!({"id": "inner", "readyWhen": ["${inner.status.state == \"ACTIVE\"}"],
        "template": {"apiVersion": "apps.sim.io/v1", "kind": "Site", "metadata": {"name": "${schema.metadata.name}"},
            "spec": {"text": "${schema.spec.text}", "items": ["a"]}}});
    let part = config("top", "${schema.metadata.name}-top", &json!({"address": "${inner.status.address}"}));
    let outer = rgd("note", "Note", &json!({"text": "string"}), &json!({}), &[inner, part]);
    let scenes = vec![
        Scene::new([Act::create(DEFINITIONS, outer), Act::create(DEFINITIONS, site_rgd())]).then(
            RGDS,
            "note",
            "/status/state",
            json!("Active"),
        ),
        Scene::new([Act::create(NOTES, note("one", "text"))])
            .then(NOTE, "one", "/status/state", json!("ACTIVE"))
            .then("configmaps", "one-top", "/data/address", json!("10.0.0.3"))
            .then("configmaps", "one-item-a", "/data/item", json!("a")),
        Scene::new([Act::edit(NOTES, "one", spec(json!({"text": "other"})))]).then(
            "configmaps",
            "one-config",
            "/data/text",
            json!("other"),
        ),
        gone(Scene::new([Act::delete(NOTES, "one")])).without(NOTE, "one").without("configmaps", "one-top"),
    ];
    Scenario::new("nested", &[], scenes)
}

/// An instance is left alone for a while.
fn suspended() -> Scenario {
    let mut scenes = begun();
    let reconcile =
        |value: Value| Act::edit(SITES, "one", json!({"metadata": {"annotations": {keys::RECONCILE: value}}}));
    scenes.extend([
        Scene::new([reconcile(json!("suspended"))]),
        Scene::new([Act::edit(SITES, "one", spec(json!({"text": "second"}))), Act::delete(CONFIGS, "one-item-a")])
            .then("configmaps", "one-config", "/data/text", json!("first"))
            .without("configmaps", "one-item-a"),
        Scene::new([reconcile(Value::Null)]).then("configmaps", "one-config", "/data/text", json!("second")).then(
            "configmaps",
            "one-item-a",
            "/data/item",
            json!("a"),
        ),
        Scene::new([reconcile(json!("suspended"))]),
        gone(Scene::new([Act::delete(SITES, "one")])),
    ]);
    Scenario::new("suspended", &[], scenes)
}

/// All of them.
pub(crate) fn all() -> Vec<Scenario> {
    vec![
        life(),
        anew(),
        drift(),
        edits(),
        shrinks(),
        forgotten(),
        ends(),
        redefined(),
        others(),
        taken(),
        kinds(),
        hidden(),
        references(),
        nested(),
        suspended(),
        life().by_two(),
    ]
}
