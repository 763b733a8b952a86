//! CRDs that come, change and go.

use serde_json::{Value, json};

use super::kinds::{definition, version};
use crate::sequence::{CRDS, Sequence, at, object, sequence};

fn schema(fields: &Value) -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}, "status": {"type": "object", "properties": {"s": {"type": "string"}}}}})
}

/// The path of a CRD `things` in a group of its own.
fn crd(group: &str) -> String {
    at(CRDS, &format!("things.{group}"))
}

fn established(sequence: Sequence, group: &str) -> Sequence {
    sequence.until(&crd(group), "/status/conditions/1/status", json!("True")).until(
        &format!("/apis/{group}/v1/namespaces/{{ns}}/things"),
        "/kind",
        json!("ThingList"),
    )
}

pub(crate) fn sequences() -> Vec<Sequence> {
    let text = json!({"type": "string"});
    let simple = |group: &str| {
        definition(group, "Thing", "Namespaced", &json!([version("v1", true, &schema(&json!({"a": text})))]))
    };
    let things = |group: &str| format!("/apis/{group}/v1/namespaces/{{ns}}/things");
    let thing = |group: &str, metadata: Value, spec: Value| {
        object(&format!("{group}/v1"), "Thing", &metadata, json!({"spec": spec}))
    };
    let six = "six.sim.example.net";
    let (one, two, three, four) =
        ("one.sim.example.net", "two.sim.example.net", "three.sim.example.net", "four.sim.example.net");
    let multiple = |group: &str, storage: &str| {
        let mut versions = json!([
            version("v1", false, &schema(&json!({"a": text}))),
            version("v2", false, &schema(&json!({"a": text, "b": text})))
        ]);
        for version in versions.as_array_mut().unwrap() {
            version["storage"] = json!(version["name"] == storage);
        }
        definition(group, "Thing", "Namespaced", &versions)
    };
    vec![
        established(sequence("a CRD is created, and its kind is served").get(things(one)).post(CRDS, simple(one)), one)
            .get(crd(one))
            .get(format!("/apis/{one}/v1"))
            .get(format!("/apis/{one}"))
            .post(&things(one), thing(one, json!({"name": "x"}), json!({"a": "1", "b": "2"})))
            .merge(
                &crd(one),
                json!({"spec": {"versions": [version("v1", true, &schema(&json!({"a": text, "b": text})))]}}),
            )
            .get(crd(one)),
        established(sequence("a CRD goes with its objects").post(CRDS, simple(two)), two)
            .post(&things(two), thing(two, json!({"name": "x"}), json!({})))
            .post(&things(two), thing(two, json!({"name": "y", "finalizers": ["example.org/f"]}), json!({})))
            .get(things(two))
            .watch(
                "w",
                format!("{}?watch=1&timeoutSeconds=60&resourceVersion=${{5#/metadata/resourceVersion}}", things(two)),
            )
            .delete(&crd(two))
            .until(&at(&things(two), "x"), "", Value::Null)
            .post(&things(two), thing(two, json!({"name": "z"}), json!({})))
            .until(&at(&things(two), "y"), "/metadata/deletionGracePeriodSeconds", json!(0))
            .merge(&at(&things(two), "y"), json!({"metadata": {"finalizers": null}}))
            .until(&crd(two), "", Value::Null)
            .until(&things(two), "", Value::Null)
            .ended("w"),
        established(sequence("a watch ends when the CRD says something else").post(CRDS, simple(six)), six)
            .post(&things(six), thing(six, json!({"name": "x"}), json!({"spec": {"a": "1"}})))
            .get(things(six))
            .watch(
                "w",
                format!("{}?watch=1&timeoutSeconds=60&resourceVersion=${{4#/metadata/resourceVersion}}", things(six)),
            )
            .merge(&crd(six), {
                let filled = json!({"a": text, "b": {"type": "string", "default": "filled"}});
                json!({"spec": {"versions": [version("v1", true, &schema(&filled))]}})
            })
            .until(&at(&things(six), "x"), "/spec/b", json!("filled"))
            .ended("w"),
        sequence("CRDs are checked")
            .post(CRDS, {
                let mut bad = simple(three);
                bad["metadata"]["name"] = json!("other");
                bad
            })
            .post(CRDS, {
                let mut bad = simple(three);
                bad["spec"]["scope"] = json!("Galaxy");
                bad
            })
            .post(CRDS, {
                let mut bad = simple(three);
                bad["spec"]["versions"][0]["storage"] = json!(false);
                bad
            })
            .post(CRDS, {
                let mut bad = simple(three);
                bad["spec"]["versions"][0]["schema"] = json!({});
                bad
            })
            .post(CRDS, {
                let mut bad = simple(three);
                bad["spec"]["names"]["plural"] = json!("");
                bad
            }),
        established(sequence("two versions of a kind").post(CRDS, multiple(four, "v1")), four)
            .get(format!("/apis/{four}"))
            .post(&things(four), thing(four, json!({"name": "x"}), json!({"a": "1", "b": "2"})))
            .get(format!("/apis/{four}/v2/namespaces/{{ns}}/things/x"))
            .apply(
                &format!("/apis/{four}/v2/namespaces/{{ns}}/things/x"),
                "one",
                object(&format!("{four}/v2"), "Thing", &json!({"name": "x"}), json!({"spec": {"b": "3"}})),
            )
            .get(at(&things(four), "x"))
            .merge(&at(&things(four), "x"), json!({"spec": {"a": "4"}}))
            .put(&crd(four), {
                let mut next = multiple(four, "v2");
                next["metadata"]["resourceVersion"] =
                    json!(format!("${{customresourcedefinitions/things.{four}#/metadata/resourceVersion}}"));
                next
            }),
        sequence("a CRD is applied")
            .apply(&crd("five.sim.example.net"), "one", simple("five.sim.example.net"))
            .until(&crd("five.sim.example.net"), "/status/conditions/1/status", json!("True"))
            .apply(&crd("five.sim.example.net"), "one", simple("five.sim.example.net"))
            .apply(&crd("five.sim.example.net"), "two", simple("five.sim.example.net"))
            .merge(&crd("five.sim.example.net"), json!({"metadata": {"labels": {"a": "b"}}}))
            .merge(&crd("five.sim.example.net"), json!({"spec": {"scope": "Cluster"}}))
            .delete(&crd("five.sim.example.net"))
            .until(&crd("five.sim.example.net"), "", Value::Null),
    ]
}
