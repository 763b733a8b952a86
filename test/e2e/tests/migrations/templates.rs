//! What stages make, and what is in their way.

use e2e::{
    Object,
    kind::{CONFIG_MAP, WIDGET},
};
use serde_json::{Value, json};

use crate::trip::{is_labelled, on_its_way, stage};

fn widget(name: &str, spec: &Value) -> Value {
    let widget = json!({"apiVersion": WIDGET.api_version(), "kind": WIDGET.kind, "spec": spec});
    json!({
        "name": name,
        "templates": {name: widget},
        "successConditions": [format!("has({name}.status) && {name}.status.done")],
    })
}

#[test]
fn expressions_in_templates_keep_their_types() {
    let spec = json!({
        "number": "${to.spec.size}",
        "text": "size ${to.spec.size} of ${from.metadata.name}",
        "literal": "$${to.spec.size}",
        "list": [{"nested": ["${to.spec.size > 2}", "${stage.name}"]}],
        "${'key-' + stage.name}": true,
        "object": "${to.spec}",
        "secret": "${migration.status.id + '-from-' + from.metadata.name + '-key'}",
    });
    on_its_way("mig-typed", json!([widget("work", &spec)]), async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let work = trip.object(&migration, &WIDGET, "work").await;
        let copy = trip.item.copy_name();
        let expected = json!({
            "number": 3,
            "text": format!("size 3 of {copy}"),
            "literal": "${to.spec.size}",
            "list": [{"nested": [true, "work"]}],
            "key-work": true,
            "object": {"fqdn": trip.scene.fqdn("item"), "size": 3},
            "secret": format!("{}-from-{copy}-key", migration.text("/status/id")),
        });
        assert_eq!(work.at("/spec"), &expected);
        trip.hub.set_status(&WIDGET, trip.scene.ns(), work.name(), json!({"done": true})).await;
        trip.until_arrived().await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn a_missing_field_is_told_with_path_and_text() {
    let spec = json!({"list": [{"size": "${to.spec.sise}"}]});
    on_its_way("mig-missing", json!([widget("work", &spec)]), async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let stalled = trip.until_stalled(&migration, "ExpressionError").await;
        let message = stalled.condition("Stalled").unwrap().message;
        assert!(message.contains("templates[work].spec.list[0].size") && message.contains("to.spec.sise"), "{message}");
        // The field comes: it goes on by itself.
        trip.item.edit(json!({"sise": 4})).await;
        let work = trip.object(&migration, &WIDGET, "work").await;
        assert_eq!(work.at("/spec/list/0/size"), &json!(4));
        trip.hub.set_status(&WIDGET, trip.scene.ns(), work.name(), json!({"done": true})).await;
        trip.until_arrived().await;
    });
}

#[test]
fn what_the_api_server_refuses_is_told_and_can_be_aborted() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"size": "${to.spec.size}"}});
    let stages = json!([stage("copy", json!({"templates": {"copy": map}}))]);
    on_its_way("mig-invalid", stages, async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let told = |seen: &Object| {
            seen.has("Stalled", "True", "Invalid")
                && seen.condition("Stalled").unwrap().message.contains(".data.size: expected string")
        };
        trip.until(&migration, "to say what is wrong", told).await;
        trip.edit(&migration, json!({"abort": true})).await;
        let migration = trip.until_ended(&migration, "Failed", "Aborted").await;
        trip.until_back().await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn a_template_that_names_a_namespace_waits_for_it() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "mig-elsewhere"}});
    let stages = json!([stage("copy", json!({"templates": {"copy": map}}))]);
    on_its_way("mig-namespace", stages, async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let stalled = trip.until_stalled(&migration, "NamespaceMissing").await;
        assert!(stalled.condition("Stalled").unwrap().message.contains("mig-elsewhere"), "{stalled}");
        trip.hub.make_namespace("mig-elsewhere").await;
        let name = format!("{}-copy", migration.text("/status/id"));
        let map = trip.hub.until_there(&CONFIG_MAP, "mig-elsewhere", &name).await;
        assert!(is_labelled(&map, &migration, "copy"), "{map}");
        trip.hub.edit(&CONFIG_MAP, "mig-elsewhere", &name, json!({"data": {"done": "true"}})).await;
        trip.until_arrived().await;
        trip.hub.until_gone(&CONFIG_MAP, "mig-elsewhere", &name).await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn a_foreign_object_in_the_way_is_never_overwritten() {
    let stages = json!([stage("first", Value::Null), stage("second", Value::Null)]);
    on_its_way("mig-foreign", stages, async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let name = format!("{}-second", migration.text("/status/id"));
        let theirs = trip.hub.create(&CONFIG_MAP, trip.scene.ns(), &name, json!({"data": {"theirs": "yes"}})).await;
        trip.say(&migration, "first", "done").await;
        let stalled = trip.until_stalled(&migration, "NameConflict").await;
        assert!(stalled.condition("Stalled").unwrap().message.contains(&name), "{stalled}");
        let kept = trip.hub.get(&CONFIG_MAP, trip.scene.ns(), &name).await;
        assert_eq!((kept.uid(), kept.version()), (theirs.uid(), theirs.version()), "{kept}");
        trip.hub.delete(&CONFIG_MAP, trip.scene.ns(), &name).await;
        let ours = |seen: &Object| is_labelled(seen, &migration, "second");
        trip.hub.until(&CONFIG_MAP, trip.scene.ns(), &name, "to be ours", ours).await;
        trip.say(&migration, "second", "done").await;
        trip.until_arrived().await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn a_stage_object_that_somebody_deletes_is_made_again() {
    on_its_way("mig-remade", json!([stage("copy", Value::Null)]), async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let first = trip.object(&migration, &CONFIG_MAP, "copy").await;
        trip.hub.delete(&CONFIG_MAP, trip.scene.ns(), first.name()).await;
        let again = |seen: &Object| seen.uid() != first.uid();
        trip.hub.until(&CONFIG_MAP, trip.scene.ns(), first.name(), "to be made again", again).await;
        trip.say(&migration, "copy", "done").await;
        trip.until_arrived().await;
        trip.until_swept(&migration).await;
    });
}
