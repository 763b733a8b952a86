//! The CRD of an RGD: how it follows, what it refuses, who restores it.

use e2e::{Kind, Object, kind::CRD};
use serde_json::{Value, json};

use crate::{
    CALM,
    kinds::RGD,
    rgd::{Node, Rgd},
    rights,
    scene::Scene,
};

fn crd_name(kind: &Kind) -> String {
    format!("{}.{}", kind.plural, kind.group)
}

async fn crd(scene: &Scene<'_>, kind: &Kind) -> Object {
    scene.place().get(&CRD, "", &crd_name(kind)).await
}

async fn crd_until(scene: &Scene<'_>, kind: &Kind, what: &str, test: impl Fn(&Object) -> bool) -> Object {
    scene.place().until(&CRD, "", &crd_name(kind), what, test).await
}

/// Waits until `KindReady` is False with a message that holds `words`.
async fn kind_fails(scene: &Scene<'_>, kind: &Kind, words: &str) -> Object {
    let says = |seen: &Object| {
        let told = seen.condition("KindReady");
        told.is_some_and(|told| told.status == "False" && told.reason == "Failed" && told.message.contains(words))
    };
    let seen = scene.rgd_until(kind, &format!("KindReady to fail with {words:?}"), says).await;
    assert_eq!(seen.text("/status/state"), "Inactive", "{seen}");
    seen
}

fn fields(seen: &Object) -> &Value {
    seen.at("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties")
}

#[test]
fn names_columns_and_marks_are_set_changed_and_cleared() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "crd-names").await;
        let plain = Rgd::new("Name").spec(json!({"a": "string"}));
        let column = json!([{"name": "A", "type": "string", "jsonPath": ".spec.a"}]);
        let marks = |team: &str| json!({"labels": {"team": team}, "annotations": {"note": team}});
        let full = |short: &str| {
            let rgd = plain.clone().schema("shortNames", json!([short])).schema("categories", json!(["tests"]));
            rgd.schema("additionalPrinterColumns", column.clone()).schema("metadata", marks(short))
        };
        let kind = scene.define(&full("nm")).await;
        let seen = crd(&scene, &kind).await;
        assert_eq!((seen.at("/spec/names/shortNames"), seen.generation()), (&json!(["nm"]), 1));
        assert_eq!(seen.at("/spec/names/categories"), &json!(["tests"]));
        assert_eq!(seen.at("/spec/versions/0/additionalPrinterColumns"), &column);
        assert_eq!((seen.label("team"), seen.annotation("note")), (Some("nm"), Some("nm")));

        scene.define(&full("nms")).await;
        let seen =
            crd_until(&scene, &kind, "new names", |seen| seen.at("/spec/names/shortNames") == &json!(["nms"])).await;
        assert_eq!((seen.label("team"), seen.annotation("note")), (Some("nms"), Some("nms")));
        scene.define(&plain).await;
        let cleared = |seen: &Object| seen.at("/spec/names/shortNames").is_null();
        let seen = crd_until(&scene, &kind, "no names", cleared).await;
        assert!(seen.at("/spec/names/categories").is_null(), "{seen}");
        assert_eq!(seen.at("/spec/versions/0/additionalPrinterColumns"), &crate::tree::columns());
        assert_eq!((seen.label("team"), seen.annotation("note")), (None, None), "{seen}");
    });
}

#[test]
fn a_breaking_change_is_refused_until_it_is_allowed() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "crd-breaking").await;
        let node = || Node::config("config", "${schema.metadata.name}", json!({"a": "${schema.spec.a}"}));
        let two = Rgd::new("Break").spec(json!({"a": "string", "b": "string"})).node(node());
        let kind = scene.define(&two).await;
        scene.bring_up(&kind, "x", json!({"a": "1", "b": "2"})).await;
        let before = crd(&scene, &kind).await;

        let one = Rgd::new("Break").spec(json!({"a": "string"})).node(node());
        scene.apply(&one).await;
        kind_fails(&scene, &kind, "breaking changes detected: Property b was removed").await;
        assert_eq!(crd(&scene, &kind).await.version(), before.version());
        let marks = json!({"metadata": {"annotations": {"kro.run/allow-breaking-changes": "yes"}}});
        stage.place.edit(&RGD, "", &scene.rgd_name("Break"), marks).await;
        let marks = json!({"metadata": {"annotations": {"kro.run/allow-breaking-changes": "true"}}});
        kind_fails(&scene, &kind, "breaking").await;
        stage.place.edit(&RGD, "", &scene.rgd_name("Break"), marks).await;
        let seen = scene.served(&kind).await;
        assert_eq!(seen.generation(), 2, "an annotation is enough: {seen}");
        assert_eq!(fields(&crd(&scene, &kind).await), &json!({"a": {"type": "string"}}));
    });
}

#[test]
fn what_loosens_a_schema_is_applied() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "crd-loosened").await;
        let strict =
            Rgd::new("Loose").spec(json!({"a": "integer | minimum=1 maximum=5", "e": "string | enum=\"a,b\""}));
        let kind = scene.define(&strict).await;
        let loose = json!({"a": "integer", "e": "string | enum=\"a,b,c\"", "more": "string | default=\"x\""});
        scene.define(&Rgd::new("Loose").spec(loose)).await;
        let seen = crd_until(&scene, &kind, "to be loosened", |seen| seen.generation() == 2).await;
        let wanted = json!({
            "a": {"type": "integer"},
            "e": {"type": "string", "enum": ["a", "b", "c"]},
            "more": {"type": "string", "default": "x"},
        });
        assert_eq!(fields(&seen), &wanted);
        scene.bring_up(&kind, "x", json!({"a": 9, "e": "c"})).await;
        for (field, kind_of, words) in
            [("a", "string", "Type changed from integer to string"), ("a", "integer | minimum=3", "breaking")]
        {
            let mut breaking =
                json!({"a": "integer", "e": "string | enum=\"a,b,c\"", "more": "string | default=\"x\""});
            breaking[field] = json!(kind_of);
            scene.apply(&Rgd::new("Loose").spec(breaking)).await;
            kind_fails(&scene, &kind, words).await;
        }
    });
}

#[test]
fn a_crd_that_is_edited_or_deleted_by_hand_is_restored() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "crd-restored").await;
        let rgd = Rgd::new("Restored").spec(json!({"a": "string"}));
        let kind = scene.define(&rgd).await;
        let before = crd(&scene, &kind).await;
        let labels = json!({"metadata": {"labels": {"kro.run/resource-graph-definition-id": "nobody"}}});
        let columns = json!({"spec": {"names": {"shortNames": ["byhand"]}}});
        for patch in [labels, columns] {
            stage.place.edit(&CRD, "", &crd_name(&kind), patch).await;
            let as_before = |seen: &Object| {
                seen.at("/spec") == before.at("/spec") && seen.at("/metadata/labels") == before.at("/metadata/labels")
            };
            crd_until(&scene, &kind, "to be restored", as_before).await;
        }
        stage.place.delete(&CRD, "", &crd_name(&kind)).await;
        let again = |seen: &Object| seen.uid() != before.uid() && seen.at("/spec") == before.at("/spec");
        crd_until(&scene, &kind, "to be made again", again).await;
        scene.served(&kind).await;
        let made = async || {
            let object = kind.object(scene.ns(), "x", &json!({"spec": {"a": "1"}}));
            stage.place.try_create(&kind, &object).await
        };
        harness::wait_for(e2e::DEADLINE, "the kind to be served again", made).await.unwrap();
        scene.active(&kind, "x").await;
    });
}

#[test]
fn a_second_rgd_of_one_kind_is_refused_and_disturbs_nobody() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "crd-winner").await;
        let rgd =
            Rgd::new("Contested").node(Node::config("config", "${schema.metadata.name}", json!({"of": "winner"})));
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "x", json!({})).await;
        let loser = Scene::new(stage, "crd-loser").await;
        let theirs = rgd.clone().schema("group", json!(kind.group));
        loser.apply(&theirs).await;
        let words = "CRD is owned by another ResourceGraphDefinition crd-winner-contested";
        kind_fails(&loser, &kind, words).await;
        stage.place.delete(&RGD, "", &loser.rgd_name("Contested")).await;
        stage.place.until_gone(&RGD, "", &loser.rgd_name("Contested")).await;
        scene.bring_up(&kind, "y", json!({})).await;
        assert_eq!(scene.config("y").await.text("/data/of"), "winner");
    });
}

#[test]
fn a_crd_of_others_is_never_claimed() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "crd-foreign").await;
        let rgd = Rgd::new("Foreign").spec(json!({"a": "string"}));
        let kind = scene.kind_of(&rgd);
        let theirs = stage.place.apply(&kind.crd().to_string()).await.remove(0);
        scene.apply(&rgd).await;
        kind_fails(&scene, &kind, "is not owned by KRO").await;
        let now = crd(&scene, &kind).await;
        assert_eq!((now.uid(), now.generation()), (theirs.uid(), 1));
        assert_eq!(now.at("/metadata/labels"), theirs.at("/metadata/labels"));
        stage.place.delete(&CRD, "", &crd_name(&kind)).await;
        scene.served(&kind).await;
    });
}

#[test]
fn an_rgd_that_is_made_again_adopts_its_crd() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "crd-adopted").await;
        let rgd = Rgd::new("Again").node(Node::config("config", "${schema.metadata.name}", json!({})));
        let kind = scene.define(&rgd).await;
        let first = scene.bring_up(&kind, "x", json!({})).await;
        stage.place.delete(&RGD, "", &scene.rgd_name("Again")).await;
        stage.place.until_gone(&RGD, "", &scene.rgd_name("Again")).await;
        assert!(stage.place.find(&kind, scene.ns(), "x").await.is_some(), "instances stay");
        scene.define(&rgd).await;
        let seen = scene.served(&kind).await;
        let adopted = |now: &Object| now.label("kro.run/resource-graph-definition-id") == Some(seen.uid());
        crd_until(&scene, &kind, "the new owner", adopted).await;
        let instance = scene.until(&kind, "x", "the new owner", adopted).await;
        assert_eq!(instance.uid(), first.uid());
        scene.bring_up(&kind, "y", json!({})).await;
    });
}

#[test]
fn a_crd_of_ours_keeps_its_plural() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "crd-plural").await;
        let rgd = Rgd::new("Odd").node(Node::config("config", "${schema.metadata.name}", json!({})));
        let kind = scene.define(&rgd).await;
        // What somebody made whose plurals were others.
        let odd = Kind { plural: "oddz", ..kind };
        let made = crd(&scene, &kind).await;
        scene.remove(&kind).await;
        stage.place.until_gone(&CRD, "", &crd_name(&kind)).await;
        let mut spec = made.at("/spec").clone();
        spec["names"]["plural"] = json!(odd.plural);
        let body = json!({"metadata": {"labels": made.at("/metadata/labels")}, "spec": spec});
        rights::grant(&stage.place, "crd-plural-oddz", vec![rights::instances(&odd)]).await;
        stage.place.apply(&CRD.object("", &crd_name(&odd), &body).to_string()).await;
        crd_until(&scene, &odd, "to be established", |seen| seen.has("Established", "True", "InitialNamesAccepted"))
            .await;
        scene.define(&rgd).await;
        let seen = scene.served(&kind).await;
        let adopted = |now: &Object| now.label("kro.run/resource-graph-definition-id") == Some(seen.uid());
        crd_until(&scene, &odd, "the new owner", adopted).await;
        assert!(stage.place.find(&CRD, "", &crd_name(&kind)).await.is_none(), "no other is made beside it");
        scene.bring_up(&odd, "x", json!({})).await;
        scene.delete(&odd, "x").await;
        scene.gone(&odd, "x").await;
        // It goes, and the kind has a CRD again.
        stage.place.delete(&CRD, "", &crd_name(&odd)).await;
        stage.place.until_gone(&CRD, "", &crd_name(&odd)).await;
        crd_until(&scene, &kind, "to be made", |seen| seen.has("Established", "True", "InitialNamesAccepted")).await;
    });
}

#[test]
fn without_the_flag_instances_of_a_dead_rgd_can_still_be_deleted() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "crd-orphans").await;
        let rgd = Rgd::new("Orphan").node(Node::config("config", "${schema.metadata.name}", json!({})));
        let kind = scene.define(&rgd).await;
        for name in ["x", "y"] {
            scene.bring_up(&kind, name, json!({})).await;
        }
        stage.place.delete(&RGD, "", &scene.rgd_name("Orphan")).await;
        stage.place.until_gone(&RGD, "", &scene.rgd_name("Orphan")).await;
        scene.delete(&kind, "x").await;
        scene.gone(&kind, "x").await;
        assert_eq!(scene.configs().await, ["y"]);
    });
}
