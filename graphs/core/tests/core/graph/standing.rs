//! What becomes of resources that use others.

use std::sync::Arc;

use graphs_core::{
    graph::Graph,
    node::{Ready, Wanted},
    render::{Made, Observed, Pass},
};
use serde_json::{Value, json};

use super::{EVALUATOR, config, graph, instance, rgd, there};

fn short(graph: &Graph, instance: &Value, observed: &Observed) -> Vec<&'static str> {
    let pass = Pass::over(graph, instance, observed, &EVALUATOR);
    let of = |wanted: &Wanted| match wanted {
        Wanted::Skipped => "skipped",
        Wanted::Waiting(_) => "waiting",
        Wanted::Failed(_) => "failed",
        Wanted::Unset(_) => "unset",
        Wanted::Objects(_) => "objects",
    };
    pass.nodes.iter().map(|node| of(&node.wanted)).collect()
}

fn observed(objects: Vec<(&str, Arc<Value>)>) -> Observed {
    objects.into_iter().map(|(id, object)| (id.to_owned(), vec![object])).collect()
}

#[test]
fn an_error_stops_its_node_and_those_that_use_it() {
    let bad = config("a", "${string(1 / schema.spec.count)}");
    let all = json!([bad, config("b", "${a.data.k}"), config("c", "${b.data.k}"), config("d", "v")]);
    let graph = graph(rgd(all)).unwrap();
    let none = Observed::new();
    assert_eq!(short(&graph, &instance(json!({"count": 0})), &none), ["failed", "waiting", "waiting", "objects"]);
    assert_eq!(short(&graph, &instance(json!({"count": 1})), &none), ["objects", "waiting", "waiting", "objects"]);
}

#[test]
fn pending_is_not_false() {
    let mut on = config("b", "v");
    on["includeWhen"] = json!(["${a.data.on == '1'}"]);
    let graph = graph(rgd(json!([config("a", "v"), on, config("c", "${b.data.k}")]))).unwrap();
    let instance = instance(json!({}));
    let when = |data: Value| short(&graph, &instance, &observed(vec![("a", there("a", data))]));
    assert_eq!(when(json!({})), ["objects", "waiting", "waiting"]);
    assert_eq!(when(json!({"on": "0"})), ["objects", "skipped", "skipped"]);
    assert_eq!(when(json!({"on": "1"})), ["objects", "objects", "waiting"]);
}

#[test]
fn an_object_of_another_name_is_not_seen() {
    let graph = graph(rgd(json!([config("a", "v"), config("b", "${a.data.k}")]))).unwrap();
    let named =
        |name: &str| short(&graph, &instance(json!({})), &observed(vec![("a", there(name, json!({"k": "v"})))]));
    assert_eq!(named("a"), ["objects", "objects"]);
    assert_eq!(named("before"), ["objects", "waiting"]);
}

#[test]
fn a_status_keeps_what_is_there_while_its_node_waits() {
    let mut rgd = rgd(json!([config("a", "v"), config("b", "${a.data.k}")]));
    rgd["schema"]["status"] =
        json!({"b": "${b.data.k}", "bad": "${1 / schema.spec.count}", "name": "${schema.spec.name}"});
    let graph = graph(rgd).unwrap();
    let there = observed(vec![("b", there("b", json!({"k": "old"})))]);
    let instance = instance(json!({"count": 0}));
    let pass = Pass::over(&graph, &instance, &there, &EVALUATOR);
    assert_eq!(Value::Object(pass.status.clone()), json!({"b": "old"}));
    assert!(pass.status_errors.len() == 1 && pass.status_errors[0].starts_with("status.bad: "), "{pass:?}");
}

/// A ConfigMap that is at this place in its collection.
fn member(name: &str, place: &str) -> Arc<Value> {
    let mut object = there(name, json!({})).as_ref().clone();
    object["metadata"]["labels"] = json!({"kro.run/collection-index": place});
    Arc::new(object)
}

#[test]
fn a_status_keeps_what_is_there_while_a_collection_waits() {
    let mut a = config("a", "v");
    a["readyWhen"] = json!(["${a.data.k == 'yes'}"]);
    let mut b = config("b", "${a.data.k}");
    b["forEach"] = json!([{"x": "${schema.spec.tags}"}]);
    b["template"]["metadata"]["name"] = json!("${'b-' + x}");
    let mut rgd = rgd(json!([a, b]));
    rgd["schema"]["status"] = json!({"names": "${b.map(x, x.metadata.name)}"});
    let (graph, instance) = (graph(rgd).unwrap(), instance(json!({"tags": ["y", "x"]})));
    let status = |ready: &str, members: Vec<Arc<Value>>| {
        let a = vec![there("a", json!({"k": ready}))];
        let world = Observed::from([("a".to_owned(), a), ("b".to_owned(), members)]);
        let pass = Pass::over(&graph, &instance, &world, &EVALUATOR);
        assert!(pass.status_errors.is_empty(), "{:?}", pass.status_errors);
        Value::Object(pass.status)
    };
    // As the index has them, not as they were made.
    let members = || vec![member("b-x", "1"), member("b-y", "0")];
    let names = json!({"names": ["b-y", "b-x"]});
    assert_eq!(status("yes", members()), names);
    assert_eq!(status("no", members()), names, "its dependency is not ready, and nothing of it has gone");
    let many = (0..12).rev().map(|place| member(&format!("b-{place:02}"), &place.to_string())).collect();
    let sorted: Vec<String> = (0..12).map(|place| format!("b-{place:02}")).collect();
    assert_eq!(status("no", many), json!({"names": sorted}), "by number");
    // One of them is to go, or is none.
    for other in [member("b-z", "0"), member("b-z", "first"), there("b-z", json!({}))] {
        assert_eq!(status("no", [members(), vec![other]].concat()), json!({}));
    }
}

#[test]
fn a_pass_says_the_same_each_time() {
    let mut list = config("l", "${x}");
    list["template"]["metadata"]["name"] = json!("${x}");
    list["forEach"] = json!([{"x": "${schema.spec.tags}"}]);
    let graph = graph(rgd(json!([list, config("a", "${l.map(e, e.metadata.name).join('')}")]))).unwrap();
    let instance = instance(json!({"tags": ["p", "q"]}));
    let with = |order: [&str; 2]| {
        let all = order.map(|name| there(name, json!({"k": name}))).to_vec();
        let there = Observed::from([("l".to_owned(), all)]);
        Pass::over(&graph, &instance, &there, &EVALUATOR).nodes
    };
    assert_eq!(with(["p", "q"]), with(["q", "p"]));
    assert!(matches!(&with(["q", "p"])[1].wanted, Wanted::Objects(all) if all[0]["data"]["k"] == "pq"));
}

#[test]
fn a_missing_reference_is_named() {
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
    let graph = graph(rgd(json!([{"id": "ext", "externalRef": reference}]))).unwrap();
    let none = Observed::new();
    let ready = Pass::over(&graph, &instance(json!({})), &none, &EVALUATOR).nodes[0].ready.clone();
    assert_eq!(ready, Ready::No("waiting for external reference \"ext\": not found".to_owned()));
}

#[test]
fn conditions_see_those_of_this_pass() {
    let mut rgd = rgd(json!([config("a", "v")]));
    rgd["schema"]["status"] = json!({"conditions": [
        "${runtime.newCondition({type: 'Ok', status: runtime.condition(schema, 'Ready').status})}",
        "${runtime.newCondition({type: 'Later', status: a.data.k})}",
        "${runtime.newCondition({type: 'Bad', status: 1 / schema.spec.count == 1 ? 'True' : 'False'})}",
    ]});
    let graph = graph(rgd).unwrap();
    let (none, instance) = (Observed::new(), instance(json!({"count": 0})));
    let mut pass = Pass::over(&graph, &instance, &none, &EVALUATOR);
    let made = pass.conditions(&[json!({"type": "Ready", "status": "False", "reason": "r", "message": "m"})]);
    let wanted = json!({"type": "Ok", "status": "False", "reason": "", "message": ""});
    assert_eq!(made[0].made, Made::Conditions(vec![wanted]));
    assert_eq!(made[1].made, Made::Pending);
    assert!(matches!(made[2].made, Made::Failed(_)) && made[2].types.contains("Bad"));
}

#[test]
fn nobody_can_tell_of_what_uses_what_nobody_can_tell_of() {
    let told = |condition: &str| {
        let mut on = config("a", "v");
        on["includeWhen"] = json!([condition]);
        let graph = graph(rgd(json!([on, config("b", "${a.data.k}"), config("c", "${b.data.k}")]))).unwrap();
        short(&graph, &instance(json!({})), &Observed::new())
    };
    assert_eq!(told("${1 / size(schema.metadata.name) == 1}"), ["skipped", "skipped", "skipped"]);
    assert_eq!(told("${1 / (size(schema.metadata.name) - 3) == 1}"), ["failed", "failed", "failed"]);
    assert_eq!(told("${schema.spec.count == 1}"), ["unset", "unset", "unset"]);
}

#[test]
fn whether_it_is_included_waits_for_what_is_not_ready() {
    let mut a = config("a", "v");
    a["readyWhen"] = json!(["${a.data.ready == 'yes'}"]);
    let mut on = config("b", "v");
    on["includeWhen"] = json!(["${a.data.on == '1'}"]);
    let graph = graph(rgd(json!([a, on]))).unwrap();
    let when = |data: Value| short(&graph, &instance(json!({})), &observed(vec![("a", there("a", data))]));
    assert_eq!(when(json!({"on": "0", "ready": "no"})), ["objects", "waiting"]);
    assert_eq!(when(json!({"on": "1", "ready": "no"})), ["objects", "waiting"]);
    assert_eq!(when(json!({"on": "0", "ready": "yes"})), ["objects", "skipped"]);
    assert_eq!(when(json!({"on": "1", "ready": "yes"})), ["objects", "objects"]);
}

#[test]
fn what_uses_one_that_waits_is_not_left_out_by_its_own_condition_before() {
    let mut on = config("b", "v");
    on["includeWhen"] = json!(["${a.data.on == '1'}"]);
    let mut never = config("c", "${b.data.k}");
    never["includeWhen"] = json!(["${schema.spec.count == 1}"]);
    let graph = graph(rgd(json!([config("a", "v"), on, never]))).unwrap();
    let when = |data: Value| short(&graph, &instance(json!({"count": 0})), &observed(vec![("a", there("a", data))]));
    assert_eq!(when(json!({})), ["objects", "waiting", "waiting"]);
    assert_eq!(when(json!({"on": "1"})), ["objects", "objects", "skipped"]);
}

#[test]
fn of_several_that_nobody_can_tell_of_the_first_counts() {
    let (waiting, failed, unset) =
        ("${z.data.on == '1'}", "${1 / (size(schema.metadata.name) - 3) == 1}", "${schema.spec.count == 1}");
    let told = |first: &str, second: &str| {
        let on = |id: &str, condition: &str| {
            let mut on = config(id, "v");
            on["includeWhen"] = json!([condition]);
            on
        };
        let all = json!([config("z", "v"), on("a", first), on("b", second), config("c", "${a.data.k + b.data.k}")]);
        let there = observed(vec![("z", there("z", json!({})))]);
        short(&graph(rgd(all)).unwrap(), &instance(json!({})), &there)
    };
    assert_eq!(told(failed, waiting), ["objects", "failed", "waiting", "failed"]);
    assert_eq!(told(waiting, unset), ["objects", "waiting", "unset", "waiting"]);
    assert_eq!(told(waiting, failed), ["objects", "waiting", "failed", "waiting"]);
}

#[test]
fn what_is_waited_for_is_told_through_a_chain() {
    let graph = graph(rgd(json!([config("a", "v"), config("b", "${a.data.k}")]))).unwrap();
    let (none, instance) = (Observed::new(), instance(json!({})));
    let nodes = Pass::over(&graph, &instance, &none, &EVALUATOR).nodes;
    let why = "waiting for unresolved resource: \"a\" is not ready: it is not there yet";
    assert_eq!(nodes[1].wanted, Wanted::Waiting(why.to_owned()));
}

#[test]
fn an_empty_optional_is_not_ready_and_of_a_list_a_mistake() {
    let ready = |id: &str, list: bool| {
        let mut a = config("a", "v");
        let name = if list { "each" } else { "a" };
        a["readyWhen"] = json!([format!("${{{name}.data.?on.optMap(v, v == '1')}}")]);
        if list {
            a["template"]["metadata"]["name"] = json!("${x}");
            a["forEach"] = json!([{"x": "${schema.spec.tags}"}]);
        }
        let there = observed(vec![("a", there(id, json!({})))]);
        let (graph, instance) = (graph(rgd(json!([a]))).unwrap(), instance(json!({"tags": [id]})));
        Pass::over(&graph, &instance, &there, &EVALUATOR).nodes[0].ready.clone()
    };
    assert!(matches!(ready("a", false), Ready::No(_)));
    let Ready::Failed(why) = ready("a", true) else { panic!("no mistake") };
    assert!(why.ends_with("is an empty optional; use .orValue(false)"), "{why}");
}

#[test]
fn no_more_than_ten_fields_that_fail_are_told() {
    let mut rgd = rgd(json!([]));
    let fields: serde_json::Map<String, Value> =
        (0..12).map(|at| (format!("f{at}"), json!(format!("${{{at} / schema.spec.count}}")))).collect();
    rgd["schema"]["status"] = Value::Object(fields);
    let (graph, none, instance) = (graph(rgd).unwrap(), Observed::new(), instance(json!({"count": 0})));
    assert_eq!(Pass::over(&graph, &instance, &none, &EVALUATOR).status_errors.len(), 10);
}
