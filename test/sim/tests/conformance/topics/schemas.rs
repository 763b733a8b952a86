//! What schemas say of objects.

use serde_json::{Value, json};

use crate::sequence::{GADGETS, Sequence, WIDGETS, at, gadget, sequence, widget};

pub(crate) fn sequences() -> Vec<Sequence> {
    let refused = |name: &str, specs: &[Value]| {
        let all = sequence(name);
        specs.iter().fold(all, |all, spec| all.post(WIDGETS, widget(json!({"name": "a"}), spec.clone())))
    };
    vec![
        refused("numbers are bounded", &[json!({"size": -1}), json!({"size": 101}), json!({"size": 1.5}), json!({"size": "1"}), json!({"size": true})]),
        refused("texts are checked", &[json!({"name": "A"}), json!({"name": "abcdefghijk"}), json!({"name": "ABCDEFGHIJK"}), json!({"name": 1}), json!({"name": {}})]),
        refused("enums are closed", &[json!({"color": "black"}), json!({"color": 1}), json!({"color": ""})]),
        refused("types are checked", &[
            json!({"enabled": "yes"}), json!({"tags": "x"}), json!({"tags": [1]}), json!({"labels": []}), json!({"labels": {"a": 1}}),
            json!({"nested": 1}), json!({"ports": {}}), json!({"target": {}}), json!({"target": 1.5}), json!({"ratio": "1"}),
        ]),
        refused("lists are bounded", &[json!({"items": [{}, {}, {}, {}, {}]}), json!({"items": [{"x": "y"}, {"x": 1}]})]),
        refused("several things at once", &[json!({"size": -1, "name": "A", "color": "x", "things": {"k": {"a": "b"}}, "ports": [{"label": "x"}, {"port": "x"}]})]),
        sequence("defaults are filled in")
            .post(WIDGETS, widget(json!({"name": "a"}), json!({"nested": {"deep": {}}, "ports": [{"port": 1}], "color": null})))
            .post(WIDGETS, widget(json!({"name": "b"}), json!({"nested": {}})))
            .merge(&at(WIDGETS, "a"), json!({"spec": {"color": null}})),
        sequence("nulls")
            .post(WIDGETS, widget(json!({"name": "a"}), json!({"note": null, "size": 1})))
            .post(WIDGETS, widget(json!({"name": "b"}), json!({"size": null})))
            .post(WIDGETS, widget(json!({"name": "c"}), json!({"labels": null, "tags": null})))
            .post(WIDGETS, widget(json!({"name": "d"}), json!({"labels": {"a": null}})))
            .post(WIDGETS, widget(json!({"name": "e"}), json!({"free": null})))
            .post(WIDGETS, widget(json!({"name": "f"}), json!({"any": null})))
            .post(WIDGETS, widget(json!({"name": "g"}), json!({"free": {"a": null}, "any": [null]})))
            .post(WIDGETS, widget(json!({"name": "h"}), json!({"tags": [null]})))
            .post(WIDGETS, widget(json!({"name": "i"}), json!({"target": null}))),
        sequence("what is unknown goes")
            .post(WIDGETS, widget(json!({"name": "a"}), json!({"unknown": 1, "nested": {"x": 1, "deep": {"y": 2, "value": "v"}}, "things": {"t": {"a": 1, "z": 2}},
                "free": {"kept": {"x": 1}}, "any": {"kept": [1]}, "settings": {"other": 1, "mode": "m"}, "items": [{"x": 1, "y": 2}]}))),
        sequence("an object in an object")
            .post(WIDGETS, widget(json!({"name": "a"}), json!({"embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"y": 1}}})))
            .apply(&at(WIDGETS, "b"), "one", widget(json!({"name": "b"}), json!({"embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"y": 1}}})))
            .apply(&at(WIDGETS, "b"), "one", widget(json!({"name": "b"}), json!({"embedded": {"apiVersion": "v1", "kind": "Pod", "spec": {"z": 1}}}))),
        sequence("what is required")
            .post(GADGETS, gadget(json!({"name": "a"}), json!({})))
            .post(GADGETS, gadget(json!({"name": "a"}), json!({"spec": {}})))
            .post(GADGETS, gadget(json!({"name": "a"}), json!({"spec": {"size": null}})))
            .post(GADGETS, gadget(json!({"name": "a"}), json!({"spec": {"size": 1, "inner": {}}}))),
    ]
}
