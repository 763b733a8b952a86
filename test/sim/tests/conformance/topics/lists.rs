//! Lists, page by page.

use serde_json::{Value, json};

use crate::sequence::{MAPS, PARTIAL_LIST, SECRETS, Sequence, WIDGETS, map, secret, sequence, widget};

fn some(name: &str) -> Sequence {
    let labels =
        |color: &str, even: bool| if even { json!({"color": color, "even": "yes"}) } else { json!({"color": color}) };
    let mut all = sequence(name);
    for (name, color, even) in
        [("a", "red", false), ("b", "blue", true), ("c", "red", true), ("d", "green", false), ("e", "red", true)]
    {
        let metadata = json!({"name": name, "labels": labels(color, even)});
        all = all
            .post(MAPS, map(metadata.clone(), json!({"n": name})))
            .post(WIDGETS, widget(metadata, json!({"name": name})));
    }
    all
}

fn both(mut sequence: Sequence, queries: &[&str]) -> Sequence {
    for query in queries {
        for path in [MAPS, WIDGETS] {
            sequence = sequence.get(format!("{path}?{query}"));
        }
    }
    sequence
}

pub(crate) fn sequences() -> Vec<Sequence> {
    let next = |of: usize| format!("${{{of}#/metadata/continue}}");
    vec![
        both(sequence("a list of nothing"), &["", "limit=2"]).get("/api/v1/namespaces/missing-{ns}/configmaps"),
        both(some("a list of all"), &["", "limit=500", "resourceVersion=0"]),
        some("a list of metadata").get_as(MAPS, PARTIAL_LIST).get_as(format!("{WIDGETS}?limit=2"), PARTIAL_LIST),
        some("page by page")
            .get(format!("{MAPS}?limit=2"))
            .get(format!("{MAPS}?limit=2&continue={}", next(10)))
            .get(format!("{MAPS}?limit=2&continue={}", next(11)))
            .get(format!("{WIDGETS}?limit=4"))
            .get(format!("{WIDGETS}?limit=4&continue={}", next(13))),
        some("pages are of one moment")
            .get(format!("{WIDGETS}?limit=2"))
            .delete(&format!("{WIDGETS}/d"))
            .post(WIDGETS, widget(json!({"name": "f"}), json!({})))
            .merge(&format!("{WIDGETS}/e"), json!({"spec": {"size": 7}}))
            .get(format!("{WIDGETS}?limit=9&continue={}", next(10)))
            .get(WIDGETS),
        both(
            some("by labels"),
            &[
                "labelSelector=color=red",
                "labelSelector=color%20in%20(red,blue),even",
                "labelSelector=!even",
                "labelSelector=color!=red",
                "labelSelector=color%20notin%20(red),even=yes",
                "labelSelector=missing",
            ],
        ),
        both(some("by labels, page by page"), &["labelSelector=color=red&limit=2"])
            .get(format!("{MAPS}?labelSelector=color=red&limit=2&continue={}", next(10))),
        both(
            some("by name"),
            &[
                "fieldSelector=metadata.name=b",
                "fieldSelector=metadata.name=zz",
                "fieldSelector=metadata.name!=b&limit=1",
            ],
        ),
        both(
            sequence("selectors that are none"),
            &["fieldSelector=spec.x=1", "labelSelector=a%20in", "labelSelector==x", "continue=nonsense&limit=1"],
        ),
        sequence("Secrets by type")
            .post(SECRETS, secret(json!({"name": "a"}), json!({"type": "example.org/x"})))
            .post(SECRETS, secret(json!({"name": "b"}), json!({})))
            .get(format!("{SECRETS}?fieldSelector=type=Opaque")),
        sequence("what a method cannot be")
            .put(MAPS, Value::Null)
            .merge(MAPS, json!({}))
            .post(&format!("{MAPS}/a"), map(json!({"name": "a"}), json!({})))
            .post(&format!("{WIDGETS}/a"), widget(json!({"name": "a"}), json!({})))
            .merge(WIDGETS, json!({})),
    ]
}
