use std::{sync::Arc, time::Duration};

use graphs_core::{
    graph::{Bounds, Graph, compile},
    limits::limits,
    node::{Ready, Wanted},
    render::{Observed, Pass, Want},
};
use runtime_cel::{expression::Limits, graph::Evaluator};
use serde_json::{Value, json};

use super::{EVALUATOR, Served, config, graph, instance, rgd, spec, there};

fn objects(wanted: &Wanted) -> &[Value] {
    match wanted {
        Wanted::Objects(objects) => objects,
        other => panic!("{other:?}"),
    }
}

fn failure(wanted: &Wanted) -> &str {
    match wanted {
        Wanted::Failed(why) => why,
        other => panic!("{other:?}"),
    }
}

/// What becomes of the first resource.
fn first(graph: &Graph, instance: &Value) -> Wanted {
    let none = Observed::new();
    Pass::over(graph, instance, &none, &EVALUATOR).nodes[0].wanted.clone()
}

fn with(rgd: Value, bounds: Bounds) -> Arc<Graph> {
    compile("test", &spec(rgd), &Served, &EVALUATOR, bounds).unwrap()
}

fn each(name: &str) -> Value {
    let mut resource = config("a", "v");
    resource["template"]["metadata"]["name"] = json!(name);
    resource["forEach"] = json!([{"x": "${schema.spec.tags}"}]);
    rgd(json!([resource]))
}

#[test]
fn what_the_instance_lacks_is_named() {
    let graph = graph(rgd(json!([config("a", "${schema.spec.name}")]))).unwrap();
    let wanted = first(&graph, &instance(json!({})));
    let Wanted::Unset(why) = &wanted else { panic!("somebody may set it: {wanted:?}") };
    assert!(why.contains("schema.spec.name is not set"), "{why}");
}

#[test]
fn a_long_text_with_one_expression_in_it_is_rendered() {
    let plain = "listen = [\"a.b.c\"]\n".repeat(500);
    assert!(plain.len() > 9 * 1024);
    let graph = graph(rgd(json!([config("a", &format!("{plain}${{schema.spec.name}}\n"))]))).unwrap();
    let rendered = first(&graph, &instance(json!({"name": "shop"})));
    assert_eq!(objects(&rendered)[0]["data"]["k"], json!(format!("{plain}shop\n")));
}

#[test]
fn a_sum_of_nothing_is_of_the_type_of_what_is_added_up() {
    let sum = |expression: &str| {
        let mut resource = config("a", expression);
        resource["readyWhen"] =
            json!(["${['1.5'].filter(x, x == a.metadata.name).map(x, double(x)).sum() + 1.5 == 1.5}"]);
        let mut rgd = rgd(json!([resource]));
        rgd["schema"]["status"] = json!({"sum": "${a.data.map(k, duration(k)).filter(d, false).sum()}"});
        let graph = graph(rgd).unwrap();
        let there = Observed::from([("a".to_owned(), vec![there("a", json!({"1h": ""}))])]);
        let pass = Pass::over(&graph, &instance(json!({"tags": []})), &there, &EVALUATOR);
        assert_eq!((&pass.nodes[0].ready, &pass.status["sum"]), (&Ready::Yes, &json!("0s")));
        objects(&pass.nodes[0].wanted)[0]["data"]["k"].clone()
    };
    assert_eq!(sum("${string(schema.spec.tags.map(x, double(x)).sum() + 1.5)}"), "1.5");
    assert_eq!(sum("${string(schema.spec.tags.map(x, duration(x)).sum())}"), "0s");
    assert_eq!(sum("${string(schema.spec.tags.map(x, uint(x)).sum() + 1u)}"), "1");
    assert_eq!(sum("${string(schema.spec.tags.map(x, int(x)).sum() + 1)}"), "1");
    // In a text each expression has its own.
    let text = "${string(schema.spec.tags.map(x, double(x)).sum() + 1.5)} ${string(schema.spec.tags.map(x, int(x)).sum() + 1)}";
    assert_eq!(sum(text), "1.5 1");
    let secret = json!({"id": "a", "template": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
        "data": {"k": "${bytes(string(schema.spec.tags.map(x, double(x)).sum() + 1.5))}"}}});
    let rendered = first(&graph(rgd(json!([secret]))).unwrap(), &instance(json!({"tags": []})));
    assert_eq!(objects(&rendered)[0]["data"]["k"], "MS41");
}

#[test]
fn bytes_are_written_as_base64() {
    let secret = |data: &str| {
        let template = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"k": data}});
        let graph = graph(rgd(json!([{"id": "a", "template": template}]))).unwrap();
        objects(&first(&graph, &instance(json!({"name": "shop"}))))[0]["data"].clone()
    };
    assert_eq!(secret("${bytes(schema.spec.name)}"), json!({"k": "c2hvcA=="}));
    assert_eq!(secret("${bytes(schema.spec.name) // of it}"), json!({"k": "c2hvcA=="}));
    assert_eq!(secret("${base64.encode(bytes(schema.spec.name))}"), json!({"k": "c2hvcA=="}));
    assert_eq!(secret("${schema.spec.?free.?x.optMap(x, bytes(string(x)))}"), json!({}));
}

#[test]
fn two_resources_that_are_one_object_are_refused() {
    let mut other = config("b", "w");
    other["template"]["metadata"]["name"] = json!("${schema.spec.name}");
    let graph = graph(rgd(json!([config("a", "v"), other]))).unwrap();
    let none = Observed::new();
    let conflict = |name: &str| Pass::over(&graph, &instance(json!({"name": name})), &none, &EVALUATOR).conflict;
    assert!(conflict("a").unwrap().contains("resourceID: a conflicts with resourceID: b"));
    assert_eq!(conflict("other"), None);
}

#[test]
fn of_three_that_are_one_object_the_first_two_are_told() {
    let named = |id: &str| {
        let mut resource = config(id, "v");
        resource["template"]["metadata"]["name"] = json!("same");
        resource
    };
    let graph = graph(rgd(json!([named("a"), named("b"), named("c")]))).unwrap();
    let (none, instance) = (Observed::new(), instance(json!({})));
    let pass = Pass::over(&graph, &instance, &none, &EVALUATOR);
    assert!(pass.conflict.unwrap().contains("resourceID: a conflicts with resourceID: b"));
}

#[test]
fn an_empty_namespace_is_named_where_there_is_no_other() {
    let mut resource = config("a", "v");
    resource["template"]["metadata"]["namespace"] = json!("${schema.spec.name}");
    let mut rgd = rgd(json!([resource]));
    rgd["schema"]["scope"] = json!("Cluster");
    let graph = graph(rgd).unwrap();
    let wanted = first(&graph, &instance(json!({"name": ""})));
    assert!(failure(&wanted).contains("must resolve metadata.namespace"), "{wanted:?}");
}

#[test]
fn who_writes_instances_chooses_no_namespace_where_that_is_restricted() {
    let restricted = Bounds { own_namespace: true, ..Bounds::default() };
    let of = |namespace: Value, bounds, spec: Value| {
        let mut resource = config("a", "v");
        resource["template"]["metadata"]["namespace"] = namespace;
        first(&with(rgd(json!([resource])), bounds), &instance(spec))
    };
    let namespace = |wanted: &Wanted| objects(wanted)[0]["metadata"]["namespace"].as_str().map(str::to_owned);
    let chosen = json!("${schema.spec.name}");
    for (stated, name, free, kept) in [
        (chosen.clone(), "ns", Some("ns"), Some("ns")),
        (chosen.clone(), "other", Some("other"), None),
        (chosen, "", Some("ns"), Some("ns")),
        (json!("other"), "", Some("other"), Some("other")),
        (json!("${schema.metadata.namespace}"), "", Some("ns"), Some("ns")),
        (json!(null), "", Some("ns"), Some("ns")),
    ] {
        let spec = json!({"name": name});
        assert_eq!(namespace(&of(stated.clone(), Bounds::default(), spec.clone())).as_deref(), free, "{stated}");
        let wanted = of(stated.clone(), restricted, spec);
        match kept {
            Some(kept) => assert_eq!(namespace(&wanted).as_deref(), Some(kept), "{stated}"),
            None => assert!(failure(&wanted).contains("--restrict-namespaces"), "{wanted:?}"),
        }
    }
}

#[test]
fn references_stay_in_the_namespace_of_the_instance_where_that_is_restricted() {
    let restricted = Bounds { own_namespace: true, ..Bounds::default() };
    let of = |metadata: Value, bounds| {
        let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        let graph = with(rgd(json!([{"id": "a", "externalRef": reference}])), bounds);
        first(&graph, &instance(json!({"name": "other"})))
    };
    let labels = json!({"matchLabels": {"a": "b"}});
    let namespace = |wanted: &Wanted| objects(wanted)[0]["metadata"].get("namespace").cloned();
    let anywhere = json!({"selector": labels});
    assert_eq!(namespace(&of(anywhere.clone(), Bounds::default())), None);
    assert_eq!(namespace(&of(anywhere, restricted)), Some(json!("ns")));
    let fixed = json!({"selector": labels, "namespace": "fixed"});
    assert_eq!(namespace(&of(fixed.clone(), restricted)), Some(json!("fixed")));
    assert_eq!(namespace(&of(fixed, Bounds::default())), Some(json!("fixed")));
    let empty = json!({"selector": labels, "namespace": ""});
    assert_eq!(namespace(&of(empty, Bounds::default())), None);
    let chosen = json!({"name": "x", "namespace": "${schema.spec.name}"});
    assert_eq!(namespace(&of(chosen.clone(), Bounds::default())), Some(json!("other")));
    assert!(failure(&of(chosen, restricted)).contains("--restrict-namespaces"));
}

#[test]
fn a_collection_is_expanded_with_the_first_dimension_outermost() {
    let mut resource = config("a", "v");
    resource["template"]["metadata"]["name"] = json!("${x}-${y}-${z}");
    resource["forEach"] = json!([{"x": "${schema.spec.tags}"}, {"y": "${['1', '2']}"}, {"z": "${['p']}"}]);
    let graph = graph(rgd(json!([resource]))).unwrap();
    let wanted = first(&graph, &instance(json!({"tags": ["a", "b"]})));
    let names: Vec<&str> = objects(&wanted).iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a-1-p", "a-2-p", "b-1-p", "b-2-p"]);
    assert_eq!(objects(&first(&graph, &instance(json!({"tags": []})))).len(), 0);
}

#[test]
fn the_bounds_hold() {
    let tags: Vec<String> = (0..50).map(|at| format!("t{at}")).collect();
    let instance = instance(json!({"tags": tags}));
    let wanted = |bounds| first(&with(each("${x}"), bounds), &instance);
    assert_eq!(objects(&wanted(Bounds::default())).len(), 50);
    let bounds = Bounds { collection: 49, ..Bounds::default() };
    assert!(failure(&wanted(bounds)).contains("collection size of 50 is over the maximum collection size of 49"));
    assert!(failure(&wanted(Bounds { object: 64, ..Bounds::default() })).contains("bytes of JSON"));
    assert!(failure(&wanted(Bounds { pass: 2048, ..Bounds::default() })).contains("all objects of an instance"));
    assert!(failure(&wanted(Bounds { steps: 60, ..Bounds::default() })).contains("too costly"));
}

#[test]
fn what_is_just_small_enough_is_rendered() {
    let instance = instance(json!({"tags": ["a", "b", "c"]}));
    let wanted = |bounds| first(&with(each("${x}"), bounds), &instance);
    let all = Bounds::default();
    let lengths: Vec<usize> = objects(&wanted(all)).iter().map(|object| object.to_string().len()).collect();
    let (object, pass) = (lengths[0], lengths.iter().sum());
    assert_eq!(objects(&wanted(Bounds { collection: 3, object, pass, ..all })).len(), 3);
    assert!(failure(&wanted(Bounds { object: object - 1, ..all })).contains("bytes of JSON"));
    assert!(failure(&wanted(Bounds { pass: pass - 1, ..all })).contains("all objects of an instance"));
}

#[test]
fn all_of_an_instance_may_be_far_more_than_one_object() {
    let mut rgd = each("${x}");
    rgd["resources"][0]["template"]["data"]["k"] = json!("${schema.spec.name}");
    let tags: Vec<String> = (0..100).map(|at| format!("t{at}")).collect();
    let instance = instance(json!({"name": "x".repeat(20_000), "tags": tags}));
    assert_eq!(objects(&first(&graph(rgd).unwrap(), &instance)).len(), 100, "2 MB");
}

#[test]
fn what_the_status_says_as_well_is_evaluated_once() {
    let instance = instance(json!({"tags": ["a", "b", "c"]}));
    let costly = "${schema.spec.tags.map(x, x + x).join('')}";
    let status = |steps: u64| {
        let mut rgd = rgd(json!([config("a", costly)]));
        rgd["schema"]["status"] = json!({"same": costly});
        let graph = with(rgd, Bounds { steps, ..Bounds::default() });
        let none = Observed::new();
        let pass = Pass::over(&graph, &instance, &none, &EVALUATOR);
        (matches!(pass.nodes[0].wanted, Wanted::Objects(_)), pass.status)
    };
    let (_, status) = (1..1000).map(status).find(|(is_rendered, _)| *is_rendered).unwrap();
    assert_eq!(Value::Object(status), json!({"same": "aabbcc"}));
}

#[test]
fn null_is_written_only_where_it_may_be() {
    let name = "${schema.spec.?name}";
    let template =
        json!({"apiVersion": "v1", "kind": "Odd", "metadata": {"name": "x"}, "nullable": name, "plain": name});
    let graph = graph(rgd(json!([{"id": "a", "template": template}]))).unwrap();
    let rendered = |spec: Value| {
        let object = objects(&first(&graph, &instance(spec)))[0].clone();
        ["nullable", "plain"].map(|field| object.get(field).cloned())
    };
    assert_eq!(rendered(json!({"name": "n"})), [Some(json!("n")), Some(json!("n"))]);
    assert_eq!(rendered(json!({})), [Some(Value::Null), None]);
}

#[test]
fn a_million_elements_are_no_danger() {
    let tags: Vec<u32> = (0..1_000_000).collect();
    let wanted = first(&graph(each("${x}")).unwrap(), &instance(json!({"tags": tags})));
    assert!(!failure(&wanted).is_empty());
}

#[test]
fn a_value_that_stands_at_many_places_is_counted_at_each() {
    let data: serde_json::Map<String, Value> =
        (0..100).map(|at| (format!("k{at}"), json!("${schema.spec.name}"))).collect();
    let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
    let graph = graph(rgd(json!([{"id": "a", "template": template}]))).unwrap();
    let wanted = first(&graph, &instance(json!({"name": "x".repeat(200_000)})));
    assert!(failure(&wanted).contains("at least 1200012 bytes of JSON"), "before all are there: {wanted:?}");
}

#[test]
fn a_selector_that_is_an_expression_is_looked_at_again() {
    let metadata = json!({"selector": "${schema.spec.free}"});
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let graph = graph(rgd(json!([{"id": "a", "externalRef": reference}]))).unwrap();
    let labels = json!({"matchLabels": {"a": "b"}});
    assert_eq!(objects(&first(&graph, &instance(json!({"free": labels}))))[0]["metadata"]["selector"], labels);
    assert!(failure(&first(&graph, &instance(json!({"free": {"a": "b"}})))).contains("matchLabels"));
    let (none, instance) = (Observed::new(), instance(json!({"free": {}})));
    assert!(matches!(Pass::over(&graph, &instance, &none, &EVALUATOR).nodes[0].ready, Ready::No(_)));
}

#[test]
fn what_had_no_time_is_told_apart_from_what_fails() {
    let hurried = Evaluator::with_limits(Limits { evaluate: Duration::ZERO, ..limits() });
    let slow = "${string(schema.spec.tags.map(x, schema.spec.tags.map(y, x + y).size()).size())}";
    let graph = graph(rgd(json!([config("a", slow)]))).unwrap();
    let tags: Vec<String> = (0..300).map(|tag| tag.to_string()).collect();
    let instance = instance(json!({"name": "a", "tags": tags}));
    let none = Observed::new();
    let want = |evaluator| Pass::over(&graph, &instance, &none, evaluator).want();
    assert_eq!(want(&EVALUATOR), Want::Nothing);
    let fails = self::graph(rgd(json!([config("a", "${string(1 / (size(schema.spec.tags) - 300))}")]))).unwrap();
    let pass = Pass::over(&fails, &instance, &none, &EVALUATOR);
    assert!(failure(&pass.nodes[0].wanted).contains("zero") && pass.want() == Want::Nothing, "{pass:?}");
    assert_eq!([(); 4].map(|()| want(&hurried)), [Want::Time, Want::Time, Want::Time, Want::Rest]);
}
