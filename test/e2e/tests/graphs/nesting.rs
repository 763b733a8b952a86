//! RGDs whose children are RGDs, and CRDs.

use e2e::kind::CRD;
use serde_json::json;

use crate::{
    CALM,
    kinds::{RGD, is_active, is_served, kind},
    rgd::{Node, Rgd},
    rights,
    scene::Scene,
};

#[test]
fn an_rgd_makes_rgds_of_templated_kinds_and_they_go_with_it() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "nesting-rgd").await;
        let made = kind("nesting-rgd-made.kro.test", "Made", "mades");
        let role = vec![rights::children(&RGD), rights::instances(&made)];
        rights::grant(&stage.place, "nesting-rgd-children", role).await;
        let resources = json!([{"id": "config", "template": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "${\"${schema.metadata.name}\"}-made"},
            "data": {"value": "${\"${\" + schema.spec.expression + \"}\"}"},
        }}]);
        let schema = json!({
            "apiVersion": "v1alpha1", "kind": "${schema.spec.kind}", "group": made.group,
            "spec": {"value": "${schema.spec.type}"},
        });
        let template = json!({
            "apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition",
            "metadata": {"name": "${schema.metadata.name}-made"},
            "spec": {"schema": schema, "resources": resources},
        });
        let factory = Rgd::new("Maker")
            .spec(json!({"kind": "string", "type": "string", "expression": "string"}))
            .node(Node::new("rgd", template).ready_when("${rgd.status.state == \"Active\"}"));
        let factory = scene.define(&factory).await;
        let spec = json!({"kind": "Made", "type": "integer | default=5", "expression": "string(schema.spec.value)"});
        scene.bring_up(&factory, "nesting", spec).await;
        stage.place.until(&RGD, "", "nesting-made", "to be Active", is_served).await;
        scene.create(&made, "x", json!({})).await;
        scene.until(&made, "x", "to be ACTIVE", is_active).await;
        assert_eq!(scene.config("x-made").await.text("/data/value"), "5");
        scene.delete(&made, "x").await;
        scene.gone(&made, "x").await;
        scene.delete(&factory, "nesting").await;
        scene.gone(&factory, "nesting").await;
        assert!(stage.place.find(&RGD, "", "nesting-made").await.is_none());
    });
}

#[test]
fn a_crd_may_be_a_child_and_a_later_child_of_that_kind_needs_it_first() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "nesting-crd").await;
        let mut template = kind("nesting-crd.test", "Thing", "things").crd();
        template["metadata"]["labels"] = json!({"of": "${schema.metadata.name}"});
        let ready = "${crd.status.conditions.exists(c, c.type == \"Established\" && c.status == \"True\")}";
        let rgd = Rgd::new("Installer")
            .status(json!({"kind": "${crd.spec.names.kind}"}))
            .node(Node::new("crd", template.clone()).ready_when(ready))
            .node(Node::config("after", "after", json!({"kind": "${crd.spec.names.kind}"})));
        let kind = scene.define(&rgd).await;
        let seen = scene.bring_up(&kind, "x", json!({})).await;
        assert_eq!(seen.text("/status/kind"), "Thing");
        let crd = stage.place.get(&CRD, "", "things.nesting-crd.test").await;
        assert_eq!((crd.label("of"), crd.generation()), (Some("x"), 1), "{crd}");
        scene.config("after").await;
        scene.delete(&kind, "x").await;
        scene.gone(&kind, "x").await;
        assert!(stage.place.find(&CRD, "", "things.nesting-crd.test").await.is_none());
        let mut inside = template;
        inside["spec"]["names"]["singular"] = json!("${schema.metadata.name}");
        scene.refused(&Rgd::new("Inside").node(Node::new("crd", inside)), "crd").await;
    });
}
