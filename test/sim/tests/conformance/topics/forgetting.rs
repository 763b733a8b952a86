//! What is said of moments that the store has forgotten.

use serde_json::json;

use crate::sequence::{self, LAST, MAPS, Sequence, WIDGETS, at, map, widget};

pub(crate) fn sequence() -> Sequence {
    let from = |of: usize| format!("&resourceVersion=${{{of}#/metadata/resourceVersion}}");
    let next = |path: &str, of: usize| format!("{path}?limit=1&continue=${{{of}#/metadata/continue}}");
    let watch = |path: &str, of: usize| format!("{path}?watch=1&timeoutSeconds=120{}", from(of));
    let object = |name: &str| map(json!({"name": name}), json!({}));
    sequence::sequence("what is forgotten")
        .post(MAPS, object("a"))
        .post(MAPS, object("b"))
        .post(MAPS, object("c"))
        .post(WIDGETS, widget(json!({"name": "a"}), json!({"size": 1})))
        .post(WIDGETS, widget(json!({"name": "b"}), json!({"size": 1})))
        .get(format!("{MAPS}?limit=1"))
        .get(format!("{WIDGETS}?limit=1"))
        .delete(&at(MAPS, "b"))
        .forget()
        // A page of then is refused, with a way to go on in what is there now.
        .get(next(MAPS, 5))
        .get(next(MAPS, 9))
        .get(next(WIDGETS, 6))
        .get(next(WIDGETS, 11))
        // So is a watch from then, which begins and ends at once.
        .watch("old", watch(MAPS, 0))
        .ended("old")
        .watch("old of another kind", watch(WIDGETS, 3))
        .ended("old of another kind")
        // One from now misses nothing.
        .get(MAPS)
        .watch("new", watch(MAPS, 17))
        .post(MAPS, object("d"))
        .told("new", MAPS, object(LAST))
}
