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
    assert_eq!(
        error.to_string(),
        "failed to get schema for resource a: schema not found: Nope of example.com/v1 is not served; \
         failed to get schema for resource c: schema not found: Later of example.com/v1 is not known yet"
    );
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
    assert_eq!([63, 64].map(|length| missing(&"K".repeat(length))), [1, 0]);
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
fn there_are_no_more_resources_than_allowed() {
    let with = |count: usize| {
        let all: Vec<Value> = (0..count).map(|at| config(&format!("r{at}"), "v")).collect();
        let bounds = Bounds { resources: 2, ..Bounds::default() };
        compile("t", &spec(rgd(json!(all))), &Served, &EVALUATOR, bounds).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(with(2), Ok(()));
    assert_eq!(with(3), Err("there are 3 resources; 2 are allowed: split the RGD".to_owned()));
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
fn a_key_that_looks_like_a_path_is_quoted_in_one() {
    for (key, path) in [("plain", "data.plain"), ("a.b", r#"data["a.b"]"#), ("", r#"data[""]"#)] {
        let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {key: 1}});
        let refused = refusal(rgd(json!([{"id": "a", "template": template}])));
        assert_eq!(refused, format!("resource \"a\": expected string type for path {path}, got integer"));
    }
}

#[test]
fn what_an_object_is_known_by_is_never_omitted() {
    let mut resource = config("a", "v");
    resource["template"]["metadata"]["name"] = json!("${schema.spec.name == '' ? omit() : 'x'}");
    assert!(refusal(rgd(json!([resource]))).contains("omit() cannot be used at path \"metadata.name\""));
}

#[test]
fn only_a_template_omits() {
    let with = |field: &str, value: Value| {
        let mut resource = config("a", "v");
        resource["template"]["metadata"]["name"] = json!("${schema.spec.name + string(x)}");
        resource["forEach"] = json!([{"x": "${[1]}"}]);
        resource[field] = value;
        rgd(json!([resource]))
    };
    assert!(graph(with("readyWhen", json!(["${each.data.k == ''}"]))).is_ok());
    let mut status = rgd(json!([]));
    status["schema"]["status"] = json!({"s": "${schema.spec.name == '' ? omit() : 'x'}"});
    for rgd in [
        with("includeWhen", json!(["${size([omit()]) == 1}"])),
        with("readyWhen", json!(["${each.data.k == '' ? omit() : true}"])),
        with("forEach", json!([{"x": "${schema.spec.name == '' ? omit() : [1]}"}])),
        status,
    ] {
        let refused = refusal(rgd);
        assert!(refused.contains("omit() can only be used in resource template expressions"), "{refused}");
    }
}

#[test]
fn whether_the_version_of_an_instance_is_read_is_known_of_the_whole_graph() {
    let reads = |field: &str| graph(rgd(json!([config("a", "v"), config("b", field)]))).unwrap().reads_version;
    assert!(reads("${schema.metadata.resourceVersion}"));
    assert!(!reads("${schema.metadata.name}"));
}

#[test]
fn a_crd_is_not_compared_with_its_schema_and_has_expressions_in_its_metadata_alone() {
    let of = |version: &str, kind: &str, spec: Value| {
        let template =
            json!({"apiVersion": version, "kind": kind, "metadata": {"name": "${schema.spec.name}"}, "spec": spec});
        graph(rgd(json!([{"id": "a", "template": template}]))).map(drop).map_err(|error| error.to_string())
    };
    let (own, other) = ("apiextensions.k8s.io/v1", "example.com/v1");
    let crd = |version: &str, spec: Value| of(version, "CustomResourceDefinition", spec);
    assert_eq!(crd(own, json!({"scope": "Cluster"})), Ok(()));
    assert!(crd(own, json!({"group": "${schema.spec.name}"})).unwrap_err().contains("only supported for metadata"));
    assert!(crd(other, json!({"scope": "Cluster"})).unwrap_err().contains("schema not found for field scope"));
    assert_eq!(crd(other, json!({"group": "${schema.spec.name}"})), Ok(()));
    assert_eq!(of(own, "Free", json!({"group": "${schema.spec.name}"})), Ok(()));
}

#[test]
fn exactly_one_of_template_and_reference() {
    assert!(refusal(rgd(json!([{"id": "a"}]))).contains("exactly one of template or externalRef must be provided"));
    let both = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "selector": {}}});
    let error = refusal(rgd(json!([{"id": "a", "externalRef": both}])));
    assert!(error.contains("exactly one of name or selector must be provided"), "{error}");
    let named = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    assert!(refusal(rgd(json!([{"id": "a", "externalRef": named("")}]))).contains("externalRef: name is empty"));
    let many = json!({"id": "a", "externalRef": named("x"), "forEach": [{"x": "${schema.spec.tags}"}]});
    assert!(refusal(rgd(json!([many]))).contains("cannot use externalRef with forEach"));
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
    for object in ["untyped", "open", "referred", "narrowed"] {
        assert_eq!(taken(object, json!({"k": "v"})), Ok(()), "{object}");
        refused(object, json!("text"));
    }
    for field in ["either", "port", "portal"] {
        assert_eq!((taken(field, json!("text")), taken(field, json!(1))), (Ok(()), Ok(())), "{field}");
        refused(field, json!(true));
    }
    assert_eq!(taken("more", json!({"k": "v", "other": 1})), Ok(()), "whatever else there is");
    assert_eq!(taken("loose", json!([1])), Ok(()), "nothing of it is compared");
    refused("deep", json!(1));
    assert_eq!(taken("deeper", json!(1)), Ok(()), "nobody looks as deep as that");
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

#[test]
fn a_condition_is_a_text_and_what_else_was_written_is_named() {
    let told = |conditions: Value| {
        let mut rgd = rgd(json!([]));
        rgd["schema"]["status"] = json!({ "conditions": conditions });
        refusal(rgd)
    };
    for (value, kind) in [
        (json!(true), "bool"),
        (json!(1.5), "float64"),
        (json!(1), "int64"),
        (json!(null), "null"),
        (json!([]), "list"),
        (json!({}), "map"),
    ] {
        let wanted = format!("status.conditions[0] must be a CEL expression string, got {kind}");
        assert_eq!(told(json!([value])), format!("failed to build instance conditions: {wanted}"));
    }
    assert!(told(json!("text")).ends_with("status.conditions must be a list, got string"));
}

#[test]
fn some_of_many_fields_without_an_expression_are_named() {
    let told = |count: usize| {
        let mut rgd = rgd(json!([]));
        let status: serde_json::Map<String, Value> = (0..count).map(|at| (format!("f{at:02}"), json!("v"))).collect();
        rgd["schema"]["status"] = Value::Object(status);
        refusal(rgd)
    };
    let ten = "not supported: [f00 f01 f02 f03 f04 f05 f06 f07 f08 f09]";
    assert!(told(10).ends_with(ten), "{}", told(10));
    assert!(told(11).ends_with(&format!("{ten} and 1 more")), "{}", told(11));
}

#[test]
fn a_text_with_expressions_in_it_is_a_text_where_nothing_else_is_compared_either() {
    let with = |value: &str| {
        let template =
            json!({"apiVersion": "v1", "kind": "Odd", "metadata": {"name": "x"}, "kept": {"n": value, "m": value}});
        graph(rgd(json!([{"id": "a", "template": template}]))).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(with("${schema.spec.count}"), Ok(()));
    let refused = with("no-${schema.spec.name}").unwrap_err();
    assert!(refused.starts_with("type mismatch in resource \"a\" at path \"kept.n\""), "{refused}");
}
