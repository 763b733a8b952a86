//! Filters and expressions: which objects an AcceptAPI accepts.

use e2e::{
    Scene,
    kind::{CERTIFICATE, IDENTITY_CERTIFICATE, VM, WIDGET},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, SECOND, THESEUS, WORLD};

/// Filters (or other fields of the AcceptAPI's spec), an object's spec, and whether it is accepted.
type Case = (&'static str, Value, Value, bool);

/// One AcceptAPI and one Widget per case, each for itself by its field `case`; all at once.
fn cases(scene_name: &'static str, cases: &[Case]) {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, scene_name, &[homer]).await;
        for (case, accept, spec, _) in cases {
            let own = json!({"key": "case", "valueIn": [format!("{scene_name}-{case}")]});
            let more = if accept.is_array() { json!({"filters": accept}) } else { accept.clone() };
            scene.accept_kind(&WIDGET, ariadne, &[own], more).await;
            let mut spec = spec.clone();
            spec["case"] = json!(format!("{scene_name}-{case}"));
            homer.create(&WIDGET, scene.ns(), case, json!({"spec": spec})).await;
        }
        for (case, _, _, accepted) in cases {
            if *accepted {
                ariadne.until_there(&WIDGET, scene.ns(), &homer.copy_name(case)).await;
            } else {
                let refused = |seen: &e2e::Object| seen.has("Brokered", "False", "NoProvider");
                homer.until(&WIDGET, scene.ns(), case, "to be refused", refused).await;
            }
        }
        // Refused for good: once every AcceptAPI is known, none of them has a copy.
        scene.barrier(homer, ariadne).await;
        for (case, _, _, accepted) in cases {
            let copy = ariadne.find(&WIDGET, scene.ns(), &homer.copy_name(case)).await;
            assert_eq!(copy.is_some(), *accepted, "{case}");
            let origin = homer.get(&WIDGET, scene.ns(), case).await;
            assert_eq!(origin.finalizers().is_empty(), !*accepted, "{case}: {origin}");
        }
    });
}

#[test]
fn values_are_compared_by_value() {
    let is_1 = json!([{"key": "v", "valueIn": ["0", "1"]}]);
    let is_true = json!([{"key": "v", "valueIn": ["true"]}]);
    cases(
        "filters-value",
        &[
            ("number", is_1.clone(), json!({"v": 1}), true),
            ("string", is_1.clone(), json!({"v": "1"}), true),
            ("other-number", is_1.clone(), json!({"v": 2}), false),
            ("longer", is_1.clone(), json!({"v": "11"}), false),
            ("object", is_1, json!({"v": {"1": 1}}), false),
            ("bool", is_true.clone(), json!({"v": true}), true),
            ("bool-text", is_true, json!({"v": "true"}), true),
        ],
    );
}

#[test]
fn boundaries_take_numbers_and_quantities() {
    let small = json!([{"key": "v", "boundary": {"min": 2, "max": 4}}]);
    let decimal = json!([{"key": "v", "boundary": {"min": "0.5", "max": "1.5"}}]);
    let memory = json!([{"key": "v", "boundary": {"min": "512Mi", "max": "8Gi"}}]);
    let negative = json!([{"key": "v", "boundary": {"min": -5, "max": -1}}]);
    cases(
        "filters-boundary",
        &[
            ("lower-end", small.clone(), json!({"v": 2}), true),
            ("upper-end", small.clone(), json!({"v": "4"}), true),
            ("below", small.clone(), json!({"v": 1}), false),
            ("above", small.clone(), json!({"v": 5}), false),
            ("no-number", small, json!({"v": "many"}), false),
            ("decimal", decimal.clone(), json!({"v": 1.25}), true),
            ("decimal-above", decimal, json!({"v": "1.51"}), false),
            ("quantity", memory.clone(), json!({"v": "8192Mi"}), true),
            ("quantity-plain", memory.clone(), json!({"v": 1_073_741_824_i64}), true),
            ("quantity-above", memory.clone(), json!({"v": "8.1Gi"}), false),
            ("quantity-decimal", memory, json!({"v": "1G"}), true),
            ("negative", negative.clone(), json!({"v": -3}), true),
            ("negative-below", negative.clone(), json!({"v": -6}), false),
            ("negative-above", negative, json!({"v": 0}), false),
        ],
    );
}

#[test]
fn suffix_prefix_and_pattern_are_about_text() {
    let suffix = json!([{"key": "v", "suffix": ".corp"}]);
    let prefix = json!([{"key": "v", "prefix": "eu-"}]);
    let pattern = json!([{"key": "v", "pattern": "^[a-c]{2,3}$"}]);
    let both = json!([{"key": "v", "prefix": "a", "suffix": "z"}]);
    cases(
        "filters-text",
        &[
            ("suffix", suffix.clone(), json!({"v": "www.corp"}), true),
            ("suffix-inside", suffix, json!({"v": "www.corp.com"}), false),
            ("prefix", prefix.clone(), json!({"v": "eu-west"}), true),
            ("prefix-inside", prefix, json!({"v": "us-eu-"}), false),
            ("pattern", pattern.clone(), json!({"v": "abc"}), true),
            ("pattern-long", pattern, json!({"v": "abca"}), false),
            ("both", both.clone(), json!({"v": "a-z"}), true),
            ("one-of-both", both, json!({"v": "a-y"}), false),
            ("digits", json!([{"key": "v", "prefix": "12"}]), json!({"v": 1234}), true),
        ],
    );
}

#[test]
fn keys_are_paths_all_filters_count_and_a_missing_field_does_not_match() {
    let deep = json!([{"key": "a.b", "valueIn": ["x"]}]);
    let index = json!([{"key": "list.1.name", "valueIn": ["x"]}]);
    let dotted = json!([{"key": r"marks.example\.com/tier", "valueIn": ["x"]}]);
    let missing = json!([{"key": "v", "valueIn": ["x"], "missing": "Accept"}]);
    let two = json!([{"key": "v", "valueIn": ["x"]}, {"key": "w", "boundary": {"max": 3}}]);
    cases(
        "filters-paths",
        &[
            ("deep", deep.clone(), json!({"a": {"b": "x"}}), true),
            ("deep-as-key", deep.clone(), json!({"a.b": "x"}), false),
            ("deep-missing", deep, json!({"a": {}}), false),
            ("index", index.clone(), json!({"list": [{"name": "y"}, {"name": "x"}]}), true),
            ("index-outside", index, json!({"list": [{"name": "x"}]}), false),
            ("dotted", dotted, json!({"marks": {"example.com/tier": "x"}}), true),
            ("missing-accept", missing.clone(), json!({}), true),
            ("present-checked", missing, json!({"v": "y"}), false),
            ("two", two.clone(), json!({"v": "x", "w": 3}), true),
            ("two-first", two.clone(), json!({"v": "x", "w": 4}), false),
            ("two-second", two, json!({"v": "y", "w": 3}), false),
        ],
    );
}

/// A10 is in the last three: what cannot be said to be true is refused.
#[test]
fn expressions_see_the_whole_object_and_fail_closed() {
    let expression = |text: &str| json!({"expression": text});
    cases(
        "filters-cel",
        &[
            ("spec", expression("self.spec.n + 1 > 3"), json!({"n": 3}), true),
            ("spec-false", expression("self.spec.n + 1 > 3"), json!({"n": 2}), false),
            ("metadata", expression("self.metadata.name.startsWith('meta')"), json!({}), true),
            ("has", expression("!has(self.spec.n) || self.spec.n < 5"), json!({}), true),
            ("error", expression("self.spec.nowhere > 3"), json!({"n": 3}), false),
            ("no-bool", expression("self.spec.n"), json!({"n": 3}), false),
            ("text-true", expression("'true'"), json!({}), false),
        ],
    );
}

#[test]
fn the_resource_is_exact() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "filters-gvr", &[homer]).await;
        // The same kind and plural name in another group, and another version of the right group.
        let domain = scene.domain_filter();
        scene.accept_kind(&IDENTITY_CERTIFICATE, ariadne, std::slice::from_ref(&domain), Value::Null).await;
        let other_version = e2e::Kind { version: "v1", ..CERTIFICATE };
        scene.accept_kind(&other_version, ariadne, &[domain], Value::Null).await;
        scene.certificate(homer, "www").await;
        homer.create(&IDENTITY_CERTIFICATE, scene.ns(), "www", json!({"spec": {"fqdn": scene.fqdn("www")}})).await;
        ariadne.until_there(&IDENTITY_CERTIFICATE, scene.ns(), &homer.copy_name("www")).await;
        scene.until(homer, "www", "to be refused", |seen| seen.has("Brokered", "False", "NoProvider")).await;
        scene.barrier(homer, ariadne).await;
        assert!(scene.find_copy(homer, "www", ariadne).await.is_none());
    });
}

#[test]
fn refusals_say_which_accept_api_refused_which_value_by_which_rule() {
    WORLD.run(async |world| {
        let (second, ariadne, theseus) = (world.consumer(SECOND), world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "filters-refusals", &[second]).await;
        // By memory these VMs concern no other test.
        let memory = json!({"key": "memory", "boundary": {"min": 700_000, "max": 700_100}});
        let arm = json!({"key": "arch", "valueIn": ["arm64"]});
        let small = scene.accept_kind(&VM, ariadne, &[memory.clone(), arm], Value::Null).await;
        let expression = json!({"expression": "self.spec.memory == 700001"});
        let exact = scene.accept_kind(&VM, theseus, &[memory], expression).await;
        second.create(&VM, scene.ns(), "vm", json!({"spec": {"memory": 700_050}})).await;
        let refused = |seen: &e2e::Object| {
            let told = seen.condition("Brokered").map(|told| told.message).unwrap_or_default();
            seen.has("Brokered", "False", "NoProvider") && told.contains(&small) && told.contains(&exact)
        };
        let origin = second.until(&VM, scene.ns(), "vm", "both refusals", refused).await;
        let told = origin.condition("Brokered").unwrap().message;
        assert!(
            told.contains(&format!("{ARIADNE}/{ACCEPT_NAMESPACE}/{small}: arch is not set (valueIn: arm64)")),
            "{told}"
        );
        assert!(told.contains(&format!("{THESEUS}/{ACCEPT_NAMESPACE}/{exact}: expression")), "{told}");
        second.until_event(scene.ns(), "vm", "Refused", |event| event.message.contains("valueIn: arm64")).await;

        // The refusal follows the object.
        second.edit(&VM, scene.ns(), "vm", json!({"spec": {"memory": 700_200, "arch": "x86_64"}})).await;
        let value = |seen: &e2e::Object| {
            let told = seen.condition("Brokered").map(|told| told.message).unwrap_or_default();
            told.contains(r#"arch "x86_64" is none of the accepted values (valueIn: arm64)"#)
                && told.contains(r#"memory "700200" is above the largest accepted value (boundary.max: 700100)"#)
        };
        second.until(&VM, scene.ns(), "vm", "the new refusals", value).await;
        second.edit(&VM, scene.ns(), "vm", json!({"spec": {"memory": 700_050, "arch": "arm64"}})).await;
        ariadne.until_there(&VM, scene.ns(), &second.copy_name("vm")).await;
        second.until(&VM, scene.ns(), "vm", "Brokered", |seen| seen.has("Brokered", "True", "Placed")).await;
    });
}
