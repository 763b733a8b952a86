//! Collections: what `forEach` makes, how it grows and shrinks.

use e2e::{Object, kind::CONFIG_MAP};
use serde_json::json;

use crate::{
    CALM,
    rgd::{Node, Rgd},
    scene::Scene,
};

/// One ConfigMap for each of `schema.spec.items`.
pub(crate) fn items(kind: &str) -> Rgd {
    let data = json!({"item": "${el}"});
    let node = Node::config("configs", "${schema.metadata.name}-${el}", data).for_each("el", "${schema.spec.items}");
    Rgd::new(kind).spec(json!({"items": "[]string"})).node(node)
}

fn place_of(seen: &Object) -> (&str, &str) {
    let label = |key: &str| seen.label(key).unwrap_or_default();
    (label("kro.run/collection-index"), label("kro.run/collection-size"))
}

#[test]
fn a_collection_makes_one_object_for_each_element_with_its_place() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "collection-many").await;
        let kind = scene.define(&items("Crowd")).await;
        let names: Vec<String> = (10..30).map(|number| number.to_string()).collect();
        scene.bring_up(&kind, "many", json!({"items": names})).await;
        assert_eq!(scene.configs().await.len(), 20);
        for (index, name) in names.iter().enumerate() {
            let seen = stage.place.get(&CONFIG_MAP, scene.ns(), &format!("many-{name}")).await;
            assert_eq!(place_of(&seen), (index.to_string().as_str(), "20"), "{seen}");
            assert_eq!(seen.label("kro.run/node-id"), Some("configs"));
            assert_eq!(seen.text("/data/item"), name);
        }
    });
}

#[test]
fn dimensions_are_multiplied_the_first_outermost() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "collection-product").await;
        let data = json!({"both": "${a}${b}"});
        let node = Node::config("grid", "${schema.metadata.name}-${a}-${b}", data)
            .for_each("a", "${schema.spec.rows}")
            .for_each("b", "${schema.spec.columns}");
        let all = Node::config("all", "all", json!({"all": "${grid.map(g, g.data.both).join(\" \")}"}));
        let rgd = Rgd::new("Grid").spec(json!({"rows": "[]string", "columns": "[]string"})).node(node).node(all);
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "grid", json!({"rows": ["b", "a"], "columns": ["1", "2", "3"]})).await;
        assert_eq!(
            scene.config("all").await.text("/data/all"),
            "b1 b2 b3 a1 a2 a3",
            "a list in the order of expansion"
        );
        let seen = scene.config("grid-a-1").await;
        assert_eq!(place_of(&seen), ("3", "6"), "{seen}");
    });
}

#[test]
fn what_leaves_the_list_is_pruned_and_the_rest_gets_its_new_place() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "collection-shrinks").await;
        let kind = scene.define(&items("Shrink")).await;
        scene.bring_up(&kind, "x", json!({"items": ["a", "b", "c", "d"]})).await;
        scene.edit(&kind, "x", json!({"items": ["d", "b"]})).await;
        scene.configs_are(&["x-b", "x-d"]).await;
        scene.active(&kind, "x").await;
        for (name, place) in [("x-d", ("0", "2")), ("x-b", ("1", "2"))] {
            assert_eq!(place_of(&scene.config(name).await), place);
        }
        scene.edit(&kind, "x", json!({"items": ["b", "d", "e"]})).await;
        scene.configs_are(&["x-b", "x-d", "x-e"]).await;
        scene.edit(&kind, "x", json!({"items": []})).await;
        scene.configs_are(&[]).await;
        scene.active(&kind, "x").await;
    });
}

#[test]
fn an_empty_list_is_ready_and_its_dependents_see_it() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "collection-empty").await;
        let count = Node::config("count", "count", json!({"count": "${string(size(configs))}"}));
        let rgd = items("Void").node(count).status(json!({"names": "${configs.map(c, c.metadata.name)}"}));
        let kind = scene.define(&rgd).await;
        let seen = scene.bring_up(&kind, "x", json!({"items": []})).await;
        assert_eq!(seen.at("/status/names"), &json!([]), "{seen}");
        assert_eq!(scene.config("count").await.text("/data/count"), "0");
        scene.edit(&kind, "x", json!({"items": ["a", "b"]})).await;
        scene.config_says("count", "count", "2").await;
        scene.edit(&kind, "x", json!({"items": []})).await;
        scene.config_says("count", "count", "0").await;
        scene.configs_are(&["count"]).await;
    });
}

#[test]
fn a_collection_may_be_left_out_and_taken_in_again() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "collection-toggle").await;
        let mut rgd = items("Toggle").spec(json!({"items": "[]string", "on": "boolean | default=false"}));
        rgd.spec["resources"][0]["includeWhen"] = json!(["${schema.spec.on}"]);
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "x", json!({"items": ["a", "b"]})).await;
        assert!(scene.configs().await.is_empty());
        for (on, names) in [(true, &["x-a", "x-b"][..]), (false, &[]), (true, &["x-a", "x-b"])] {
            scene.edit(&kind, "x", json!({"on": on})).await;
            scene.configs_are(names).await;
            scene.active(&kind, "x").await;
        }
    });
}

#[test]
fn a_resource_may_say_what_the_elements_are() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "collection-dynamic").await;
        let list = Node::external("list", "v1", "ConfigMap", json!({"name": "list"}));
        let node = Node::config("configs", "x-${el}", json!({"item": "${el}", "of": "${base.metadata.uid}"}))
            .for_each("el", "${list.data.items.split(\",\")}");
        let base = Node::config("base", "base", json!({}));
        let kind = scene.define(&Rgd::new("Dynamic").node(node).node(list).node(base)).await;
        scene.create(&kind, "dynamic", json!({})).await;
        scene.configs_are(&["base"]).await;
        scene.make_config("list", json!({"items": "a,b"})).await;
        scene.configs_are(&["base", "list", "x-a", "x-b"]).await;
        stage.place.edit(&CONFIG_MAP, scene.ns(), "list", json!({"data": {"items": "b,c,d"}})).await;
        scene.configs_are(&["base", "list", "x-b", "x-c", "x-d"]).await;
        scene.active(&kind, "dynamic").await;
    });
}

#[test]
fn a_chain_of_collections_grows_and_shrinks() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "collection-chain").await;
        let next = |id: &str, of: &str| {
            let name = format!("{id}-${{it.data.item}}");
            Node::config(id, &name, json!({"item": "${it.data.item}", "uid": "${it.metadata.uid}"}))
                .for_each("it", &format!("${{{of}}}"))
        };
        let rgd =
            items("Deep").node(next("second", "configs")).node(next("third", "second")).node(next("fourth", "third"));
        let kind = scene.define(&rgd).await;
        let all = |items: &[&str]| {
            let mut names: Vec<String> = items
                .iter()
                .flat_map(|item| ["fourth", "second", "third", "x"].map(|of| format!("{of}-{item}")))
                .collect();
            names.sort();
            names
        };
        for items in [&["a"][..], &["a", "b", "c"], &["c"], &[], &["b", "c"]] {
            match items {
                ["a"] => scene.create(&kind, "x", json!({"items": items})).await,
                _ => scene.edit(&kind, "x", json!({"items": items})).await,
            };
            let names = all(items);
            scene.configs_are(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
            scene.active(&kind, "x").await;
        }
        scene.delete(&kind, "x").await;
        scene.gone(&kind, "x").await;
        assert!(scene.configs().await.is_empty());
    });
}

#[test]
fn two_items_of_one_name_are_an_error() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "collection-twice").await;
        let kind = scene.define(&items("Twice")).await;
        scene.create(&kind, "x", json!({"items": ["a", "a"]})).await;
        let seen = scene.until(&kind, "x", "to be told", |seen| seen.text("/status/state") == "ERROR").await;
        assert!(seen.condition("Ready").unwrap().status != "True", "{seen}");
        scene.edit(&kind, "x", json!({"items": ["a", "b"]})).await;
        scene.active(&kind, "x").await;
        assert_eq!(scene.configs().await, ["x-a", "x-b"]);
    });
}
