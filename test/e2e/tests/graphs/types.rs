//! What expressions give: bytes, open objects, odd versions, what is left out.

use e2e::kind::{CONFIG_MAP, SECRET};
use serde_json::{Value, json};

use crate::{
    CALM,
    kinds::{DEPLOYMENT, kind},
    rgd::{Node, Rgd},
    rights,
    scene::Scene,
};

#[test]
fn the_bytes_of_a_secret_are_read_and_written() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "types-bytes").await;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "copy"},
            "data": {
                "encoded": "${base64.encode(bytes(schema.spec.text))}",
                "bytes": "${bytes(schema.spec.text)}",
                "same": "${source.data.key}",
            },
            "stringData": {"clear": "${schema.spec.text}"},
        });
        let rgd = Rgd::new("Byter")
            .spec(json!({"text": "string"}))
            .node(Node::external("source", "v1", "Secret", json!({"name": "source"})))
            .node(Node::config("config", "config", json!({"key": "${string(source.data.key)}"})))
            .node(Node::new("copy", secret));
        let kind = scene.define(&rgd).await;
        // With `+` and `/` in base64.
        let text = "\u{3ff}\u{3bf}>>>???ÿ";
        stage.place.create(&SECRET, scene.ns(), "source", json!({"stringData": {"key": text}})).await;
        scene.bring_up(&kind, "x", json!({"text": text})).await;
        assert_eq!(scene.config("config").await.text("/data/key"), text);
        let source = stage.place.get(&SECRET, scene.ns(), "source").await;
        let copy = stage.place.get(&SECRET, scene.ns(), "copy").await;
        for key in ["encoded", "bytes", "same", "clear"] {
            assert_eq!(copy.at("/data")[key], source.at("/data")["key"], "{key}");
        }
        stage.place.edit(&SECRET, scene.ns(), "source", json!({"stringData": {"key": "other"}})).await;
        scene.config_says("config", "key", "other").await;
    });
}

#[test]
fn what_is_omitted_is_not_there() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "types-omit").await;
        let text = "${schema.spec.text == \"\" ? omit() : schema.spec.text}";
        let container = json!({"name": "c", "image": "nginx", "args": ["first", text, "last"]});
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {
                "replicas": "${schema.spec.?replicas}",
                "selector": {"matchLabels": {"app": "d"}},
                "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [container]}},
            },
        });
        let rgd = Rgd::new("Omitting")
            .spec(json!({"text": "string | default=\"\"", "replicas": "integer"}))
            .node(Node::config("config", "config", json!({"kept": "1", "text": text})))
            .node(Node::new("deployment", deployment));
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "x", json!({})).await;
        assert_eq!(scene.config("config").await.at("/data"), &json!({"kept": "1"}));
        let args = |seen: &e2e::Object| seen.at("/spec/template/spec/containers/0/args").clone();
        let seen = stage.place.get(&DEPLOYMENT, scene.ns(), "d").await;
        assert_eq!(args(&seen), json!(["first", "last"]));
        assert_eq!(seen.at("/spec/replicas"), 1, "the API server's default");
        scene.edit(&kind, "x", json!({"text": "middle", "replicas": 2})).await;
        let follows = |seen: &e2e::Object| args(seen) == json!(["first", "middle", "last"]);
        let seen = scene.until(&DEPLOYMENT, "d", "the argument", follows).await;
        assert_eq!(seen.at("/spec/replicas"), 2);
        scene.config_says("config", "text", "middle").await;
    });
}

#[test]
fn macros_and_formats_of_kro_work() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "types-functions").await;
        let data = json!({
            "format": "${\"%s-%d|%x\".format([schema.spec.name, 7, 255])}",
            "transform": "${schema.spec.tags.transformList(k, v, k + \"=\" + v).sort().join(\",\")}",
            "index": "${[\"a\", \"b\"].transformList(i, v, string(i) + v).join(\",\")}",
            "all": "${string(schema.spec.tags.all(k, v, k != v))}",
            "bind": "${cel.bind(n, schema.spec.name, n + n)}",
            "optional": "${schema.spec.?missing.orValue(\"none\")}",
            "first": "${[\"x\", \"y\"].first().orValue(\"none\")}",
            "quantity": "${string(quantity(\"1Gi\").isGreaterThan(quantity(\"1000Mi\")))}",
            "url": "${url(\"https://host:8443/a?b=c\").getPort()}",
            "json": "${json.marshal({\"b\": 1, \"a\": [true]})}",
            "hash": "${\"%x\".format([hash.md5(\"a\")])}",
            "merged": "${json.marshal(schema.spec.tags.merge({\"z\": \"9\"}))}",
        });
        let rgd = Rgd::new("Function")
            .spec(json!({"name": "string", "tags": "map[string]string", "missing": "string"}))
            .node(Node::config("config", "config", data));
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "x", json!({"name": "n", "tags": {"b": "2", "a": "1"}})).await;
        let wanted = json!({
            "format": "n-7|ff", "transform": "a=1,b=2", "index": "0a,1b", "all": "true", "bind": "nn",
            "optional": "none", "first": "x", "quantity": "true", "url": "8443", "json": "{\"a\":[true],\"b\":1}",
            "hash": "0cc175b9c0f1b6a831c399e269772661", "merged": "{\"a\":\"1\",\"b\":\"2\",\"z\":\"9\"}",
        });
        assert_eq!(scene.config("config").await.at("/data"), &wanted);
    });
}

#[test]
fn open_objects_and_odd_versions_are_served() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "types-open").await;
        let mut odd = kind("types-open.test", "Odd", "odds");
        odd.version = "v1api20200601";
        stage.place.apply(&odd.crd().to_string()).await;
        rights::grant(&stage.place, "types-open-odds", vec![rights::children(&odd)]).await;
        let nested = json!({"a": {"b": ["${schema.spec.text}", 2, null]}, "whole": "${schema.spec.any}", "key[0]": "${schema.spec.text}"});
        let template = json!({
            "apiVersion": odd.api_version(), "kind": "Odd", "metadata": {"name": "odd"}, "spec": nested,
        });
        let rgd = Rgd::new("Open")
            .spec(json!({"text": "string", "any": "object"}))
            .node(Node::new("odd", template))
            .node(Node::config("config", "config", json!({"b": "${odd.spec.a.b[0]}", "deep": "${odd.spec.whole.x.y}"})));
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "x", json!({"text": "t", "any": {"x": {"y": "z"}}})).await;
        assert_eq!(scene.config("config").await.at("/data"), &json!({"b": "t", "deep": "z"}));
        let seen = stage.place.get(&odd, scene.ns(), "odd").await;
        assert_eq!(seen.at("/spec/whole"), &json!({"x": {"y": "z"}}));
        assert_eq!(seen.at("/spec")["key[0]"], "t");
    });
}

#[test]
fn wrong_types_and_unknown_fields_are_refused_with_the_rgd() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "types-refused").await;
        let config = |data: Value| Node::config("config", "config", data);
        let rgd = |kind: &str, node: Node| Rgd::new(kind).spec(json!({"n": "integer", "s": "string"})).node(node);
        let mut nameless = config(json!({}));
        nameless.0["template"]["metadata"] = json!({"generateName": "x-"});
        for (name, node, words) in [
            ("Mismatch", config(json!({"a": "${schema.spec.n}"})), "type mismatch in resource \"config\""),
            ("Mixed", config(json!({"a": "x-${schema.spec.n}"})), "config"),
            ("Field", config(json!({"a": "${schema.spec.nothing}"})), "nothing"),
            ("Unknown", config(json!({})).with("spec", json!({"a": 1})), "schema not found for field spec"),
            ("Reserved", Node::config("schema", "a", json!({})), "is a reserved keyword in KRO"),
            ("Upper", Node::config("Config", "a", json!({})), "must be lower camelCase"),
            ("Own", config(json!({})).meta("labels", json!({"kro.run/x": "y"})), "kro.run/"),
            ("Ready", config(json!({})).ready_when("${config.data}"), "must return bool or optional_type(bool)"),
            ("Nameless", nameless, "name"),
            ("Circle", config(json!({"a": "${config.data.b}"})), "self references are not allowed"),
        ] {
            let refused = rgd(name, node);
            scene.refused(&refused, words).await;
        }
        let circle = Rgd::new("Cycle")
            .node(Node::config("a", "a", json!({"x": "${b.metadata.name}"})))
            .node(Node::config("b", "b", json!({"x": "${a.metadata.name}"})));
        scene.refused(&circle, "graph contains a cycle: ").await;
        let twice = Rgd::new("Twice").node(Node::config("a", "a", json!({}))).node(Node::config("a", "b", json!({})));
        scene.refused(&twice, "found duplicate resource IDs a").await;
    });
}

#[test]
fn an_rgd_may_embed_the_kind_of_another() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "types-embedded").await;
        let inner = Rgd::new("Inner")
            .spec(json!({"text": "string", "count": "integer | default=2"}))
            .status(json!({"shown": "${config.data.text}"}))
            .node(Node::config("config", "${schema.metadata.name}-inner", json!({"text": "${schema.spec.text}"})));
        let inner = scene.define(&inner).await;
        rights::grant(&stage.place, "types-embedded-inner", vec![rights::children(&inner)]).await;
        let template = json!({
            "apiVersion": inner.api_version(), "kind": "Inner", "metadata": {"name": "${schema.metadata.name}"},
            "spec": {"text": "${schema.spec.text}"},
        });
        let outer = Rgd::new("Outer")
            .spec(json!({"text": "string"}))
            .status(json!({"shown": "${inner.status.shown}", "count": "${inner.spec.count}"}))
            .node(Node::new("inner", template).ready_when("${inner.status.state == \"ACTIVE\"}"))
            .node(Node::config("after", "after", json!({"shown": "${inner.status.shown}"})));
        let outer = scene.define(&outer).await;
        let seen = scene.bring_up(&outer, "x", json!({"text": "a"})).await;
        assert_eq!((seen.text("/status/shown"), seen.at("/status/count")), ("a", &json!(2)));
        scene.edit(&outer, "x", json!({"text": "b"})).await;
        scene.config_says("after", "shown", "b").await;
        scene.delete(&outer, "x").await;
        scene.gone(&outer, "x").await;
        assert!(stage.place.list(&CONFIG_MAP, scene.ns()).await.iter().all(|one| one.name() == "kube-root-ca.crt"));
    });
}
