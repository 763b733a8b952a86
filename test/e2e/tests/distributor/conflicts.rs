//! What a spoke has already.

use e2e::{
    Object,
    kind::{CONFIG_MAP, CRD},
};
use serde_json::{Value, json};

use super::{
    fleet::{Fleet, PEACE, SPOKES, note, text_is, widget},
    waves::with_widget,
};
use crate::{
    FLEET,
    kinds::{RGD, is_active},
    rights,
};

fn crd(kind: &e2e::Kind, labels: Value) -> Value {
    let mut crd = kind.crd_with(&json!({"spec": {"type": "object"}}), false);
    crd["metadata"]["labels"] = labels;
    crd
}

#[test]
fn a_crd_of_somebody_else_is_left_alone() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        let kind = Fleet::kind("taken", &note(""));
        let name = format!("{}.{}", kind.plural, kind.group);
        let owned = json!({"kro.run/owned": "true", "kro.run/resource-graph-definition-name": "taken"});
        let mut other = owned.clone();
        other["broker.platform-mesh.io/hub"] = json!("0123456789ab");
        let before = [("lima", json!({})), ("paris", owned), ("tokyo", other)]
            .map(|(spoke, labels)| (spoke, crd(&kind, labels)));
        for (spoke, crd) in &before {
            fleet.spoke(spoke).apply(&crd.to_string()).await;
        }
        fleet.define("taken", &note("")).await;
        fleet.distributed("taken", "Partial", "spoke#lima, spoke#paris, spoke#tokyo").await;
        let rgd = fleet.hub.get(&RGD, "", "taken").await;
        assert!(rgd.has("Ready", "True", "Ready"), "that is no part of Ready: {rgd}");
        for (spoke, _) in &before {
            let seen = fleet.spoke(spoke).get(&CRD, "", &name).await;
            assert_eq!(seen.generation(), 1, "{seen}");
            let managers = seen.at("/metadata/managedFields").as_array().unwrap();
            assert!(managers.iter().all(|entry| entry["manager"] != "kro.run/distributor"), "{seen}");
        }

        // One goes, of the others the owner says that they are to be ours.
        fleet.spoke("lima").delete(&CRD, "", &name).await;
        fleet.runs("lima", &kind, "1").await;
        let others = fleet.define("claimed", &note("")).await;
        let hub = fleet.runs("lima", &others, "1").await;
        let hub = hub.label("broker.platform-mesh.io/hub").unwrap();
        for spoke in ["paris", "tokyo"] {
            let claim = json!({"metadata": {"annotations": {"broker.platform-mesh.io/claim": hub}}});
            fleet.spoke(spoke).edit(&CRD, "", &name, claim).await;
            fleet.runs(spoke, &kind, "1").await;
            fleet.bring_up(spoke, &kind, "taken", "one").await;
        }
        fleet.distributed("taken", "AllClusters", "3/3").await;
    });
}

#[test]
fn what_somebody_does_to_our_crd_is_put_right() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        let kind = fleet.define("edited", &note("")).await;
        fleet.all_run(&kind, "1").await;
        let name = format!("{}.{}", kind.plural, kind.group);
        let place = fleet.spoke("paris");
        let text = |seen: &Object| {
            let versions = seen.at("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/text");
            versions["type"] == "string" && versions["description"].is_null()
        };
        let seen = place.get(&CRD, "", &name).await;
        assert!(text(&seen), "{seen}");
        let mut versions = seen.at("/spec/versions").clone();
        versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["text"]["description"] =
            json!("mine");
        place.edit(&CRD, "", &name, json!({"spec": {"versions": versions}})).await;
        fleet.crd_until("paris", &kind, "to be restored", |seen| text(seen) && seen.generation() == 3).await;
        place.edit(&CRD, "", &name, json!({"metadata": {"labels": {"kro.run/owned": null}}})).await;
        fleet
            .crd_until("paris", &kind, "to have its label again", |seen| seen.label("kro.run/owned") == Some("true"))
            .await;
        place.delete(&CRD, "", &name).await;
        let again = |now: &Object| now.uid() != seen.uid() && now.has("Established", "True", "InitialNamesAccepted");
        fleet.crd_until("paris", &kind, "to be made again", again).await;

        // Another hub takes it: it is theirs, and its instances are served no more.
        fleet.bring_up("paris", &kind, "edited", "one").await;
        let theirs = json!({"metadata": {"labels": {"broker.platform-mesh.io/hub": "0123456789ab"}}});
        place.edit(&CRD, "", &name, theirs).await;
        fleet.distributed("edited", "Partial", "spoke#paris").await;
        let kept = place.get(&CRD, "", &name).await;
        assert_eq!(kept.label("broker.platform-mesh.io/hub"), Some("0123456789ab"), "{kept}");
        place.delete(&CONFIG_MAP, "edited", "one-config").await;
        // What comes after that in the same cluster has been put right, and this has not.
        let other = fleet.define("edited-other", &note("")).await;
        fleet.bring_up("paris", &other, "edited-other", "one").await;
        place.delete(&CONFIG_MAP, "edited-other", "one-config").await;
        text_is(place, "edited-other", "paris").await;
        assert!(place.find(&CONFIG_MAP, "edited", "one-config").await.is_none(), "it is served still");
    });
}

#[test]
fn a_revision_that_is_no_more_is_told_and_the_newest_that_fits_serves() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join("paris").await;
        fleet.roll_out("forged", json!({"paused": false})).await;
        let kind = fleet.define("forged", &note("1 ")).await;
        fleet.runs("paris", &kind, "1").await;
        let more = note("2 ").spec(json!({"text": "string", "more": "string"}));
        fleet.roll_out("forged", json!({"paused": true})).await;
        fleet.edit("forged", &more).await;
        // Somebody there says that another runs. Nothing is written while the rollout is paused.
        let paris = fleet.spoke("paris");
        let forged = json!({"metadata": {"annotations": {"broker.platform-mesh.io/graph-revision": "17"}}});
        paris.edit(&CRD, "", &format!("{}.{}", kind.plural, kind.group), forged).await;
        let told = |told: &e2e::Told| told.message.contains("spoke#paris runs revision 17, which is no more");
        fleet.hub.until_event("default", "forged", "RevisionUnknown", told).await;
        fleet.bring_up("paris", &kind, "forged", "one").await;
        text_is(paris, "forged", "2 paris").await;
        assert_eq!(fleet.revision("paris", &kind).await.as_deref(), Some("17"));
        fleet.roll_out("forged", json!({"paused": false})).await;
        fleet.runs("paris", &kind, "2").await;
    });
}

#[test]
fn an_rgd_that_is_made_anew_takes_up_what_it_had() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join("paris").await;
        let kind = fleet.define("anew", &note("1 ")).await;
        fleet.runs("paris", &kind, "1").await;
        fleet.bring_up("paris", &kind, "anew", "one").await;
        fleet.hub.delete(&RGD, "", "anew").await;
        fleet.hub.until_gone(&RGD, "", "anew").await;
        fleet.edit("anew", &note("2 ")).await;
        let id = fleet.hub.get(&RGD, "", "anew").await.uid().to_owned();
        let adopted = |seen: &Object| seen.label("kro.run/resource-graph-definition-id") == Some(&id);
        fleet.crd_until("paris", &kind, "to be the new one's", adopted).await;
        let says = |seen: &Object| seen.at("/data")["text"] == "2 paris";
        fleet.spoke("paris").until(&CONFIG_MAP, "anew", "one-config", "to be the new one's", says).await;
    });
}

#[test]
fn a_kind_that_goes_is_told_by_instances_and_what_is_installed_stays() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        let widget = widget("vanishes");
        for place in SPOKES.map(|name| fleet.spoke(name)).into_iter().chain([&fleet.hub]) {
            rights::grant(place, "vanishes-widgets", vec![rights::children(&widget)]).await;
            place.apply(&widget.crd().to_string()).await;
        }
        let kind = fleet.define("vanishes", &with_widget(&widget, "")).await;
        fleet.all_run(&kind, "1").await;
        let paris = fleet.spoke("paris");
        fleet.bring_up("paris", &kind, "vanishes", "one").await;
        let crd = format!("{}.{}", widget.plural, widget.group);
        paris.delete(&CRD, "", &crd).await;
        paris.until_gone(&CRD, "", &crd).await;
        paris.create(&kind, "vanishes", "two", json!({"spec": {"text": "paris"}})).await;
        for name in ["one", "two"] {
            let says = |seen: &Object| !is_active(seen) && seen.at("/status").to_string().contains("Widget");
            paris.until(&kind, "vanishes", name, "to say what is missing", says).await;
        }
        fleet.runs("paris", &kind, "1").await;
        fleet.bring_up("lima", &kind, "vanishes", "one").await;
        paris.apply(&widget.crd().to_string()).await;
        for name in ["one", "two"] {
            paris.until(&kind, "vanishes", name, "to be well again", is_active).await;
        }
    });
}
