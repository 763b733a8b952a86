//! Much of everything: elements, resources, bytes, types.

use std::time::Duration;

use harness::wait_for;
use serde_json::{Value, json};

use super::bystander::Bystander;
use crate::{
    HOSTILE,
    kinds::{DEPLOYMENT, RGD},
    rgd::{Node, Rgd},
    scene::Scene,
};

/// For so long an API server is asked to take a large object.
const CREATED: Duration = Duration::from_mins(4);

#[test]
fn a_million_elements_of_an_expression() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-range").await;
        let aside = Bystander::beside(&scene).await;
        let one = Rgd::new("Range").spec(json!({"count": "integer"})).node(
            Node::config("config", "${schema.metadata.name}-${string(n)}", json!({}))
                .for_each("n", "${lists.range(schema.spec.count)}"),
        );
        let one = scene.define(&one).await;
        let two = Rgd::new("Product").spec(json!({"count": "integer"})).node(
            Node::config("config", "${schema.metadata.name}-${string(a)}-${string(b)}", json!({}))
                .for_each("a", "${lists.range(schema.spec.count)}")
                .for_each("b", "${lists.range(schema.spec.count)}"),
        );
        let two = scene.define(&two).await;
        scene.create(&one, "million", json!({"count": 1_000_000})).await;
        scene.create(&one, "sixty", json!({"count": 60_000})).await;
        scene.create(&one, "five", json!({"count": 5000})).await;
        scene.create(&two, "square", json!({"count": 1000})).await;
        let seen = scene.waits(&one, "million", "too costly").await;
        assert_eq!(seen.text("/status/state"), "ERROR", "{seen}");
        scene.waits(&one, "sixty", "JSON").await;
        scene.waits(&one, "five", "collection size of 5000 is over the maximum collection size of 1000").await;
        scene.waits(&two, "square", "collection size of 1000000 is over the maximum").await;
        aside.is_served("a million elements").await;
        assert!(scene.configs().await.is_empty());
        scene.edit(&one, "million", json!({"count": 2})).await;
        scene.active(&one, "million").await;
        assert_eq!(scene.configs().await, ["million-0", "million-1"]);
    });
}

#[test]
fn more_elements_than_are_taken_in() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-list").await;
        let aside = Bystander::beside(&scene).await;
        let rgd = Rgd::new("Listed").spec(json!({"list": "[]integer"})).node(
            Node::config("config", "${schema.metadata.name}-${string(n)}", json!({}))
                .for_each("n", "${schema.spec.list}"),
        );
        let kind = scene.define(&rgd).await;
        // More values than are taken in of an object.
        let list: Vec<u8> = vec![1; 250_000];
        // What API servers take minutes for when it is applied; where they have no time they give up even so.
        let object = kind.object(scene.ns(), "a", &json!({"spec": {"list": list}}));
        let made = wait_for(CREATED, "the API server to take it", async || {
            match stage.place.try_create(&kind, &object).await {
                Err(kube::Error::Api(status)) if status.code != 409 => Err(status),
                other => Ok(other.map_err(|error| error.to_string())),
            }
        });
        drop(made.await.unwrap_or_else(|error| panic!("{error:#}")));
        aside.is_served("250,000 elements").await;
        // Its status is not written over: not all of it is known.
        let told = stage.place.until_event(scene.ns(), "a", "ManagementFailed", |_| true).await;
        println!("{told:?}");
        scene.create(&kind, "readable", json!({"list": &list[..10_000]})).await;
        scene.waits(&kind, "readable", "collection size of 10000 is over").await;
        aside.is_served("250,000 elements, told").await;
        scene.edit(&kind, "a", json!({"list": [7]})).await;
        scene.active(&kind, "a").await;
        assert_eq!(scene.configs().await, ["a-7"]);
        scene.delete(&kind, "a").await;
        scene.gone(&kind, "a").await;
    });
}

#[test]
fn templates_of_a_mebibyte() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-bytes").await;
        let aside = Bystander::beside(&scene).await;
        let large = "x".repeat(900 << 10);
        let rgd = Rgd::new("Large").node(Node::config("config", "${schema.metadata.name}", json!({"text": large})));
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "large", json!({})).await;
        assert_eq!(scene.config("large").await.text("/data/text").len(), large.len());
        aside.is_served("a large template").await;

        let larger = "x".repeat((1 << 20) + 1);
        let rgd = Rgd::new("Larger").node(Node::config("config", "${schema.metadata.name}", json!({"text": larger})));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "larger", json!({})).await;
        scene.waits(&kind, "larger", "bytes of JSON").await;

        let text = "${schema.spec.text}";
        let fields = |count: usize| (0..count).map(|n| (format!("f{n}"), json!(text))).collect::<Value>();
        let rgd = Rgd::new("Swelling").spec(json!({"text": "string"})).node(Node::config(
            "config",
            "${schema.metadata.name}",
            fields(400),
        ));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "a", json!({"text": "y".repeat(250 << 10)})).await;
        scene.waits(&kind, "a", "bytes of JSON").await;
        aside.is_served("objects that swell").await;
    });
}

#[test]
fn a_thousand_resources() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-many").await;
        let aside = Bystander::beside(&scene).await;
        let rgd = (0..1000).fold(Rgd::new("Many"), |rgd, n| rgd.node(Node::config(&format!("n{n}"), "x", json!({}))));
        stage.place.try_create(&RGD, &scene.object_of(&rgd)).await.unwrap();
        let kind = scene.kind_of(&rgd);
        let told = |seen: &e2e::Object| {
            let told = seen.condition("GraphAccepted");
            told.is_some_and(|told| told.message.contains("there are 1000 resources; 512 are allowed"))
        };
        scene.rgd_until(&kind, "to be refused", told).await;
        aside.is_served("1,000 resources").await;
        stage.place.delete(&RGD, "", &scene.rgd_name("Many")).await;
        stage.place.until_gone(&RGD, "", &scene.rgd_name("Many")).await;
    });
}

#[test]
fn types_that_double() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-types").await;
        let aside = Bystander::beside(&scene).await;
        let mut types = json!({"T0": {"a": "string"}});
        for n in 1..40 {
            let inner = format!("T{}", n - 1);
            types[format!("T{n}")] = json!({"a": inner, "b": inner});
        }
        let rgd = Rgd::new("Doubling").spec(json!({"x": "T39"})).schema("types", types);
        scene.refused(&rgd, "").await;
        aside.is_served("types that double").await;
        let mut types = json!({"T0": {"a": "string"}});
        for n in 1..1000 {
            types[format!("T{n}")] = json!({"a": format!("T{}", n - 1)});
        }
        let seen = scene.refused(&Rgd::new("Chained").spec(json!({"x": "T999"})).schema("types", types), "").await;
        println!("{:?}", seen.condition("GraphAccepted"));
        aside.is_served("types in a chain").await;
    });
}

#[test]
fn a_status_of_whole_objects() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-status").await;
        let aside = Bystander::beside(&scene).await;
        let pods = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let template = json!({
            "apiVersion": DEPLOYMENT.api_version(), "kind": DEPLOYMENT.kind, "metadata": {"name": "x"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pods},
        });
        // Whether an API server ever comes to an end with a CRD of this size is another question.
        let told = |seen: &e2e::Object| {
            let told = seen.condition("GraphAccepted");
            told.is_some_and(|told| told.status != "Unknown" && told.message.len() < 5000)
        };
        // Each has a type of its own.
        let ids = (0..400).map(|n| format!("d{n}"));
        let rgd = ids.clone().fold(Rgd::new("Fleet"), |rgd, id| rgd.node(Node::new(&id, template.clone())));
        let all = format!("${{[{}].size()}}", ids.collect::<Vec<_>>().join(","));
        let kind = scene.apply(&rgd.status(json!({"all": all}))).await;
        let seen = scene.rgd_until(&kind, "to be judged", told).await;
        println!("{:?}", seen.condition("GraphAccepted"));
        aside.is_served("many large types").await;
        scene.remove(&kind).await;
        let status: Value = (0..400).map(|n| (format!("f{n}"), json!("${web.spec.template}"))).collect();
        let rgd = Rgd::new("Mirror").status(status).node(Node::new("web", template));
        let kind = scene.apply(&rgd).await;
        let seen = scene.rgd_until(&kind, "to be judged", told).await;
        println!("{:?}", seen.condition("GraphAccepted"));
        aside.is_served("a status of whole objects").await;
        scene.remove(&kind).await;
    });
}
