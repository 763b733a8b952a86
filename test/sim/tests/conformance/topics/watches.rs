//! What watches tell.

use serde_json::{Value, json};

use crate::sequence::{JSON, LAST, MAPS, PARTIAL, Sequence, WIDGETS, at, map, sequence, widget};

fn last(labels: &Value) -> Value {
    map(json!({"name": LAST, "labels": labels}), json!({}))
}

fn changes(sequence: Sequence) -> Sequence {
    sequence
        .post(MAPS, map(json!({"name": "a", "labels": {"l": "1"}}), json!({"k": "1"})))
        .post(MAPS, map(json!({"name": "b"}), json!({"k": "1"})))
        .merge(&at(MAPS, "a"), json!({"data": {"k": "2"}}))
        .merge(&at(MAPS, "a"), json!({"data": {"k": "2"}}))
        .merge(&at(MAPS, "a"), json!({"metadata": {"labels": {"l": "2"}}}))
        .merge(&at(MAPS, "b"), json!({"metadata": {"labels": {"l": "1"}}}))
        .delete(&at(MAPS, "a"))
        .post(MAPS, map(json!({"name": "a", "labels": {"l": "1"}}), json!({"k": "3"})))
}

pub(crate) fn sequences() -> Vec<Sequence> {
    let plain = |query: &str| format!("{MAPS}?watch=1&timeoutSeconds=120{query}");
    let from = |of: usize| format!("&resourceVersion=${{{of}#/metadata/resourceVersion}}");
    let none = json!({});
    let l1 = json!({"l": "1"});
    let end = last;
    let widgets_last = widget(json!({"name": LAST}), json!({}));
    vec![
        changes(sequence("what happens is told").get(MAPS).watch("w", plain(&from(0)))).told("w", MAPS, end(&none)),
        changes(sequence("what has happened is told").get(MAPS)).watch("w", plain(&from(0))).told(
            "w",
            MAPS,
            end(&none),
        ),
        changes(sequence("from any moment").get(MAPS)).watch("w", plain(&from(3))).told("w", MAPS, end(&none)),
        changes(
            sequence("only what has a label").get(MAPS).watch("w", plain(&format!("{}&labelSelector=l=1", from(0)))),
        )
        .told("w", MAPS, end(&l1)),
        changes(sequence("only what has not").get(MAPS).watch("w", plain(&format!("{}&labelSelector=l!=1", from(0)))))
            .told("w", MAPS, end(&none)),
        changes(sequence("only metadata").get(MAPS).watch_as("w", plain(&from(0)), PARTIAL)).told(
            "w",
            MAPS,
            end(&none),
        ),
        changes(
            sequence("only one name")
                .get(MAPS)
                .watch("w", format!("{MAPS}?watch=1&timeoutSeconds=3&fieldSelector=metadata.name=b{}", from(0))),
        )
        .ended("w"),
        // Version 0 may be a state of a moment ago: by the list the API server's cache has come to that of now.
        changes(sequence("what is there comes first")).get(MAPS).watch("w", plain("&resourceVersion=0")).told(
            "w",
            MAPS,
            end(&none),
        ),
        changes(sequence("without a version")).watch("w", plain("")).told("w", MAPS, end(&none)),
        changes(sequence("the beginning, and its end"))
            .watch("w", plain("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"))
            .told("w", MAPS, end(&none)),
        sequence("the beginning needs a version to match").watch("w", plain("&sendInitialEvents=true")),
        sequence("a version that is none").watch("w", plain("&resourceVersion=x")),
        sequence("a watch ends in time").watch("w", format!("{MAPS}?watch=1&timeoutSeconds=1")).ended("w"),
        sequence("selectors that are none").watch("w", plain("&fieldSelector=spec.x=1")),
        sequence("what finalizers hold is told of when it changes, and when it goes")
            .get(WIDGETS)
            .watch("w", format!("{WIDGETS}?watch=1&timeoutSeconds=120{}", from(0)))
            .post(
                WIDGETS,
                widget(json!({"name": "a", "finalizers": ["example.org/f", "example.org/g"]}), json!({"size": 1})),
            )
            .delete(&at(WIDGETS, "a"))
            .delete(&at(WIDGETS, "a"))
            .merge(&format!("{}/status", at(WIDGETS, "a")), json!({"status": {"phase": "x"}}))
            .merge(&at(WIDGETS, "a"), json!({"metadata": {"finalizers": ["example.org/g"]}}))
            .merge(&at(WIDGETS, "a"), json!({"metadata": {"finalizers": null, "labels": {"gone": "yes"}}}))
            .told("w", WIDGETS, widgets_last.clone()),
        sequence("all namespaces are one watch")
            .get_as(WIDGETS, JSON)
            .watch(
                "w",
                format!(
                    "/apis/sim.example.org/v1/widgets?watch=1&timeoutSeconds=120&labelSelector=in={{ns}}{}",
                    from(0)
                ),
            )
            .post(WIDGETS, widget(json!({"name": "a", "labels": {"in": "{ns}"}}), json!({"size": 1})))
            .merge(&at(WIDGETS, "a"), json!({"metadata": {"labels": null}}))
            .told("w", WIDGETS, widget(json!({"name": LAST, "labels": {"in": "{ns}"}}), json!({}))),
    ]
}
