//! What is deleted.

use serde_json::json;

use crate::sequence::{MAPS, Sequence, WIDGETS, at, map, sequence, widget};

pub(crate) fn sequences() -> Vec<Sequence> {
    let path = at(WIDGETS, "a");
    let held = || {
        sequence("").post(WIDGETS, widget(json!({"name": "a", "finalizers": ["example.org/f"]}), json!({"size": 1})))
    };
    let several = |name: &str| {
        let objects = [("a", "red"), ("b", "blue"), ("c", "red")];
        objects.into_iter().fold(sequence(name), |sequence, (name, color)| {
            let metadata = json!({"name": name, "labels": {"color": color}});
            sequence.post(MAPS, map(metadata.clone(), json!({}))).post(WIDGETS, widget(metadata, json!({})))
        })
    };
    let named = |name: &str| Sequence { name: name.to_owned(), ..held() };
    let background = || json!({"propagationPolicy": "Background"});
    vec![
        sequence("a deleted object is gone")
            .post(MAPS, map(json!({"name": "a"}), json!({})))
            .delete(&at(MAPS, "a"))
            .get(at(MAPS, "a"))
            .delete(&at(MAPS, "a"))
            .post(WIDGETS, widget(json!({"name": "a"}), json!({})))
            .delete_with(&path, background())
            .delete_with(&path, background()),
        named("finalizers hold what is deleted")
            .delete(&path)
            .get(path.clone())
            .delete(&path)
            .merge(&path, json!({"spec": {"size": 2}}))
            .merge(&path, json!({"metadata": {"finalizers": null}}))
            .get(path.clone()),
        named("no finalizer comes to what is being deleted")
            .delete(&path)
            .merge(&path, json!({"metadata": {"finalizers": ["example.org/f", "example.org/g"]}}))
            .merge(&path, json!({"metadata": {"finalizers": ["example.org/g"]}}))
            .merge(&path, json!({"metadata": {"finalizers": []}})),
        named("of several finalizers the last one counts")
            .merge(&path, json!({"metadata": {"finalizers": ["example.org/f", "example.org/g"]}}))
            .delete(&path)
            .merge(&path, json!({"metadata": {"finalizers": ["example.org/g"]}}))
            .apply(&path, "m", widget(json!({"name": "a"}), json!({"size": 1})))
            .put(&path, widget(json!({"name": "a", "resourceVersion": "${4#/metadata/resourceVersion}"}), json!({})))
            .get(path.clone()),
        named("a deletion has preconditions")
            .delete_with(&path, json!({"preconditions": {"uid": "11111111-2222-4333-8444-555555555555"}}))
            .delete_with(&path, json!({"preconditions": {"resourceVersion": "1"}}))
            .delete_with(&path, json!({"preconditions": {"uid": "${0#/metadata/uid}", "resourceVersion": "${0#/metadata/resourceVersion}"}, "propagationPolicy": "Background"}))
            .delete_with(&path, json!({"preconditions": {"uid": "11111111-2222-4333-8444-555555555555"}}))
            .merge(&path, json!({"metadata": {"finalizers": null}})),
        sequence("another object of the same name is another one")
            .post(MAPS, map(json!({"name": "a"}), json!({})))
            .delete(&at(MAPS, "a"))
            .post(MAPS, map(json!({"name": "a"}), json!({})))
            .delete_with(&at(MAPS, "a"), json!({"preconditions": {"uid": "${0#/metadata/uid}"}}))
            .delete_with(&at(MAPS, "a"), json!({"preconditions": {"uid": "${2#/metadata/uid}"}})),
        sequence("in the foreground, and orphaning")
            .post(MAPS, map(json!({"name": "a"}), json!({})))
            .delete_with(&at(MAPS, "a"), json!({"propagationPolicy": "Foreground"}))
            .delete_with(&at(MAPS, "a"), json!({"propagationPolicy": "Orphan"}))
            .delete_with(&at(MAPS, "a"), background())
            .post(WIDGETS, widget(json!({"name": "a"}), json!({})))
            .delete_with(&path, json!({"propagationPolicy": "Orphan"}))
            .delete(&path)
            .merge(&path, json!({"metadata": {"finalizers": null}})),
        named("the generation of what is deleted grows once")
            .delete(&path)
            .delete(&path)
            .merge(&format!("{path}/status"), json!({"status": {"phase": "Going"}}))
            .merge(&path, json!({"metadata": {"labels": {"a": "b"}}}))
            .put(&path, widget(json!({"name": "a", "resourceVersion": "${4#/metadata/resourceVersion}", "finalizers": ["example.org/f"]}), json!({"size": 3}))),
        several("all of a collection are deleted").delete(MAPS).delete(WIDGETS).get(MAPS).get(WIDGETS).delete(MAPS),
        several("some of a collection are deleted")
            .delete(&format!("{MAPS}?labelSelector=color%3Dred"))
            .delete_with(&format!("{WIDGETS}?fieldSelector=metadata.name%3Db"), background())
            .delete(&format!("{MAPS}?labelSelector=color%3Dnone"))
            .get(MAPS)
            .get(WIDGETS),
        several("finalizers hold what is deleted with all others")
            .merge(&at(WIDGETS, "b"), json!({"metadata": {"finalizers": ["example.org/f"]}}))
            .delete(WIDGETS)
            .get(WIDGETS)
            .delete(WIDGETS)
            .merge(&at(WIDGETS, "b"), json!({"metadata": {"finalizers": null}}))
            .get(WIDGETS),
        sequence("namespaces are not deleted all at once").delete("/api/v1/namespaces"),
        named("a status patch does not end it")
            .delete(&path)
            .merge(&format!("{path}/status"), json!({"metadata": {"finalizers": null}, "status": {"phase": "x"}}))
            .get(path.clone()),
    ]
}
