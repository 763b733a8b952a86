use broker_api::Gvk;
use graphs_core::graph::{Bounds, GraphError, MissingKind, compile};
use serde_json::{Value, json};

use super::{EVALUATOR, Served, config, graph, refusal, rgd, spec};

fn of_kind(id: &str, kind: &str) -> Value {
    json!({"id": id, "template": {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "x"}}})
}

#[test]
fn the_kinds_that_are_missing_are_told() {
    let error =
        graph(rgd(json!([of_kind("a", "Nope"), config("b", "v"), of_kind("c", "Later")]))).map(drop).unwrap_err();
    let kind = |kind: &str| Gvk { group: "example.com".to_owned(), version: "v1".to_owned(), kind: kind.to_owned() };
    assert_eq!(
        error.missing_kinds(),
        [
            MissingKind { resource: "a".to_owned(), kind: kind("Nope"), unknown: false },
            MissingKind { resource: "c".to_owned(), kind: kind("Later"), unknown: true },
        ]
    );
    assert!(error.to_string().contains("failed to get schema for resource a: schema not found"), "{error}");
    // Something else is wrong that no kind will mend.
    let error = graph(rgd(json!([of_kind("a", "Nope"), config("b", "${1 +}")]))).map(drop).unwrap_err();
    assert!(matches!(error, GraphError::Invalid(_)), "{error}");
}

#[test]
fn a_kind_has_letters_digits_and_hyphens() {
    let missing = |kind: &str| graph(rgd(json!([of_kind("a", kind)]))).map(drop).unwrap_err().missing_kinds().len();
    assert_eq!(
        ["Pool4", "P4-b", "p", "4Pool", "-pool", "Pool-", "Po_ol", "Pö", ""].map(missing),
        [1, 1, 1, 0, 0, 0, 0, 0, 0]
    );
}

#[test]
fn a_circle_is_told() {
    let circle = json!([config("a", "${c.data.k}"), config("b", "${a.data.k}"), config("c", "${b.data.k}")]);
    assert_eq!(refusal(rgd(circle)), "graph contains a cycle: a -> c -> b -> a");
}

#[test]
fn there_are_no_more_expressions_than_allowed() {
    let many = |count: usize| {
        let data: serde_json::Map<String, Value> =
            (0..count).map(|at| (format!("k{at}"), json!("${schema.spec.name}"))).collect();
        let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
        rgd(json!([{"id": "a", "template": template}]))
    };
    assert!(graph(many(512)).is_ok());
    assert!(refusal(many(513)).contains("512 expressions"));
}

#[test]
fn there_are_no_more_dimensions_than_allowed() {
    let mut resource = config("a", "v");
    let names: String = (0..3).map(|at| format!("${{i{at}}}")).collect();
    resource["template"]["metadata"]["name"] = json!(names);
    resource["forEach"] = (0..3).map(|at| json!({format!("i{at}"): "${schema.spec.tags}"})).collect();
    let spec = spec(rgd(json!([resource])));
    let with = |dimensions| compile("t", &spec, &Served, &EVALUATOR, Bounds { dimensions, ..Bounds::default() });
    assert!(with(3).is_ok());
    assert!(with(2).map(drop).unwrap_err().to_string().contains("forEach has 3 dimensions"));
}

#[test]
fn a_deep_template_is_refused_without_recursion() {
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!([deep]);
    }
    let template = json!({"apiVersion": "v1", "kind": "Free", "metadata": {"name": "a"}, "x": deep});
    assert!(refusal(rgd(json!([{"id": "a", "template": template}]))).contains("deep"));
}

#[test]
fn paths_and_errors_stay_short_whatever_the_keys() {
    let long = "k".repeat(1 << 20);
    let template =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {long.clone(): 1}});
    assert!(refusal(rgd(json!([{"id": "a", "template": template}]))).len() < 500);
    let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, long: 1});
    assert!(refusal(rgd(json!([{"id": "a", "template": template}]))).len() < 500);
}

#[test]
fn what_an_object_is_known_by_is_never_omitted() {
    let mut resource = config("a", "v");
    resource["template"]["metadata"]["name"] = json!("${schema.spec.name == '' ? omit() : 'x'}");
    assert!(refusal(rgd(json!([resource]))).contains("omit() cannot be used at path \"metadata.name\""));
}

#[test]
fn exactly_one_of_template_and_reference() {
    assert!(refusal(rgd(json!([{"id": "a"}]))).contains("exactly one of template or externalRef must be provided"));
    let both = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "selector": {}}});
    let error = refusal(rgd(json!([{"id": "a", "externalRef": both}])));
    assert!(error.contains("exactly one of name or selector must be provided"), "{error}");
}

#[test]
fn what_an_instance_of_no_namespace_refers_to_by_name_states_its_own() {
    let with = |metadata: Value| {
        let resource =
            json!({"id": "a", "externalRef": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}});
        let mut rgd = rgd(json!([resource]));
        rgd["schema"]["scope"] = json!("Cluster");
        graph(rgd).map(drop)
    };
    let refused = with(json!({"name": "x"})).unwrap_err().to_string();
    assert!(refused.contains("must set metadata.namespace"), "{refused}");
    assert!(with(json!({"name": "x", "namespace": "y"})).is_ok());
    assert!(with(json!({"selector": {"matchLabels": {"a": "b"}}})).is_ok(), "of all namespaces");
}

#[test]
fn what_a_field_takes_may_be_said_in_several_ways() {
    let taken = |field: &str, value: Value| {
        let template = json!({"apiVersion": "v1", "kind": "Odd", "metadata": {"name": "x"}, field: value});
        graph(rgd(json!([{"id": "a", "template": template}]))).map(drop).map_err(|error| error.to_string())
    };
    let refused = |field: &str, value: Value| {
        let refused = taken(field, value).unwrap_err();
        assert!(refused.contains(&format!("path {field}, got")), "{refused}");
    };
    for object in ["untyped", "open", "referred"] {
        assert_eq!(taken(object, json!({"k": "v"})), Ok(()), "{object}");
        refused(object, json!("text"));
    }
    assert_eq!((taken("either", json!("text")), taken("either", json!(1))), (Ok(()), Ok(())));
    refused("either", json!(true));
    assert_eq!((taken("ratio", json!(1)), taken("ratio", json!(1.5))), (Ok(()), Ok(())));
    refused("ratio", json!("1"));
    refused("whole", json!(1.5));
}

#[test]
fn a_selector_may_be_one_expression() {
    let with = |selector: &str| {
        let metadata = json!({"selector": selector});
        rgd(json!([{"id": "a", "externalRef": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}}]))
    };
    assert!(graph(with("${{'matchLabels': {'a': schema.spec.name}}}")).is_ok());
    assert!(refusal(with("${schema.spec.name}")).contains("expected a label selector"));
    assert!(refusal(with("plain")).contains("expected object type"));
}

#[test]
fn conditions_are_checked_where_they_are_written_out() {
    let with = |condition: &str| {
        let mut rgd = rgd(json!([]));
        rgd["schema"]["status"] = json!({"conditions": [condition]});
        rgd
    };
    assert!(graph(with("${runtime.newCondition({type: 'Ok', status: 'True'})}")).is_ok());
    assert!(refusal(with("${runtime.newCondition({type: 'Ok', status: 'Yes'})}")).contains("True, False, Unknown"));
    assert!(graph(with("${runtime.condition(schema, 'Ready')}")).is_ok());
    assert!(refusal(with("${runtime.condition(schema, 'Nope')}")).contains("unknown condition type"));
}
