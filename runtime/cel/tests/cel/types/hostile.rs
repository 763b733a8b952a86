//! Types, schemas and expressions from strangers: bounded, whatever they are.

use std::thread;

use cel_interpreter::{
    common::ast::{CallExpr, Expr, ListExpr, SelectExpr},
    parser::Expression,
};
use proptest::prelude::*;
use runtime_cel::types::{Schemas, Scope, Type, Variables, check, collection, fits, object, open_api, value};
use serde_json::{Value, json};

use super::{parsed, type_of, with_object};

/// A thread's default is twice as much.
const STACK: usize = 1024 * 1024;

fn on_a_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .unwrap()
            .join()
            .expect("a thread came to an end")
    })
}

/// The parser, and whoever drops what it makes, recurse.
fn on_a_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(256 * 1024 * 1024);
        builder.spawn_scoped(scope, work).unwrap().join().expect("a thread came to an end")
    })
}

fn node(expr: Expr) -> Expression {
    Expression { id: 1, expr }
}

fn nested(depth: usize, begin: Expression, wrap: impl Fn(Expression) -> Expr) -> Expression {
    (0..depth).fold(begin, |inner, _| node(wrap(inner)))
}

fn name() -> Expression {
    node(Expr::Ident("a".to_owned()))
}

#[test]
fn chains_are_as_long_as_they_like() {
    on_a_large_stack(|| {
        let fields = |inner| Expr::Select(SelectExpr { operand: Box::new(inner), field: "b".to_owned(), test: false });
        let sums =
            |inner| Expr::Call(CallExpr { func_name: "_+_".to_owned(), target: None, args: vec![inner, name()] });
        let calls = |inner| {
            Expr::Call(CallExpr { func_name: "reverse".to_owned(), target: Some(Box::new(inner)), args: vec![] })
        };
        let variables = Variables::new().with("a", Type::Dyn);
        for chain in [nested(10_000, name(), fields), nested(10_000, name(), sums), nested(10_000, name(), calls)] {
            assert_eq!(on_a_small_stack(|| check(&chain, &variables)), Ok(Type::Dyn));
        }
    });
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    on_a_large_stack(|| {
        let lists = |inner| Expr::List(ListExpr::new(vec![inner]));
        let calls =
            |inner| Expr::Call(CallExpr { func_name: "_+_".to_owned(), target: None, args: vec![name(), inner] });
        let variables = Variables::new().with("a", Type::Int);
        for tree in [nested(10_000, name(), lists), nested(10_000, name(), calls)] {
            let error = on_a_small_stack(|| check(&tree, &variables)).unwrap_err();
            assert_eq!(error.to_string(), "the expression is nested too deeply: split it");
        }
        let sum = |brackets: usize| {
            let sum = nested(brackets, name(), calls);
            on_a_small_stack(|| check(&sum, &variables)).map_err(|error| error.to_string())
        };
        assert_eq!(sum(255), Ok(Type::Int));
        assert_eq!(sum(256), Err("the expression is nested too deeply: split it".to_owned()));
        // One after the other they are as many as they like.
        let wide = node(Expr::List(ListExpr::new(vec![name(); 1000])));
        assert_eq!(on_a_small_stack(|| check(&wide, &variables)), Ok(Type::list(Type::Int)));
    });
}

/// What the parser allows at the most: 96 brackets, the innermost within loops.
#[test]
fn whatever_the_parser_takes_needs_a_small_stack_only() {
    on_a_large_stack(|| {
        let loops = (0..12).fold("1".to_owned(), |inner, turn| format!("[1].map(x{turn}, {inner})"));
        let brackets = format!("{}{loops}{}", "(1 + size([".repeat(25), "]))".repeat(25));
        for source in [
            brackets,
            (0..20).fold("true".to_owned(), |inner, turn| format!("[1].exists(x{turn}, {inner})")),
            (0..20).fold("1".to_owned(), |inner, turn| format!("{{1: 1}}.transformMap(k{turn}, v{turn}, {inner})")),
            (0..40).fold("1".to_owned(), |inner, turn| format!("cel.bind(b{turn}, {turn}, {inner} + b{turn})")),
            (0..90).fold("1".to_owned(), |inner, _| format!("true ? 1 : {inner}")),
            (0..45).fold("1".to_owned(), |inner, _| format!("true ? 1 : ({inner})")),
        ] {
            let tree = parsed(&source).unwrap();
            let found = on_a_small_stack(|| check(&tree, &Variables::new()));
            assert!(found.is_ok(), "{source}: {found:?}");
        }
    });
}

/// `{a: a}` is twice as large as `a`, and so on: 2⁴⁰ types in 40 lines.
#[test]
fn types_that_double_come_to_an_end() {
    on_a_large_stack(|| {
        for start in ["{1: 1}", "{}", "{1: []}"] {
            let innermost = "b39 == b39".to_owned();
            let doubled = (1..40)
                .rev()
                .fold(innermost, |inner, turn| format!("cel.bind(b{turn}, {{b{}: b{}}}, {inner})", turn - 1, turn - 1));
            let source = format!("cel.bind(b0, {start}, {doubled})");
            let found = type_of(&source, &Variables::new());
            assert!(found.clone().is_err_and(|error| error.contains("too large")), "{found:?}");
        }
    });
}

#[test]
fn schemas_are_read_to_some_depth() {
    on_a_large_stack(|| {
        for (path, around) in [
            ("/properties/a", json!({"type": "object", "properties": {"a": null}})),
            ("/items", json!({"type": "array", "items": null})),
            ("/additionalProperties", json!({"type": "object", "additionalProperties": null})),
            ("/allOf/0", json!({"allOf": [null]})),
            (
                "/properties/a",
                json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"a": null}}),
            ),
        ] {
            let schema = (0..10_000).fold(json!({"type": "string"}), |inner, _| {
                let mut outer = around.clone();
                *outer.pointer_mut(path).unwrap() = inner;
                outer
            });
            on_a_small_stack(|| {
                let deep = value("deep", &schema);
                assert_eq!(fits(&deep, &deep), Ok(()));
                open_api(&deep);
                drop(deep.to_string());
                object("deep", &schema, Scope::Namespaced);
                collection("deep", &schema);
            });
        }
    });
}

#[test]
fn schemas_are_read_to_some_size() {
    let many: serde_json::Map<String, Value> =
        (0..300_000).map(|number| (format!("f{number}"), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": many});
    let variables = with_object(&schema);
    assert_eq!(type_of("o.f299999", &variables), Ok(Type::Dyn));
    assert_eq!(type_of("o.f0", &variables), Ok(Type::String));
    let whole = value("x", &schema);
    assert_eq!(fits(&whole, &whole), Ok(()));
    // Each of many against each of many would take long: it takes some time, and no more.
    let squared = value("x", &json!({"type": "object", "additionalProperties": schema}));
    let _ = fits(&whole, &squared);
    let _ = fits(&squared, &whole);
}

/// All of it together: an API server takes a CRD of so many bytes and no more.
#[test]
fn a_status_is_written_to_some_size() {
    let many: serde_json::Map<String, Value> =
        (0..20_000).map(|number| (format!("f{number}"), json!({"type": "string"}))).collect();
    let many = value("x", &json!({ "properties": many }));
    let mut schemas = Schemas::default();
    let texts = |of: &Value| of["properties"].as_object().unwrap().values().filter(|of| of["type"] == "string").count();
    // An object is one part, and each of its fields is.
    assert_eq!(
        [&many, &many, &many].map(|of| schemas.of(of)).map(|of| of["properties"].as_object().map(|_| texts(&of))),
        [Some(20_000), Some(11_998), None]
    );
}

#[test]
fn names_are_not_repeated_at_each_level() {
    let long = "n".repeat(10_000);
    let schema = (0..60)
        .fold(json!({"type": "string"}), |inner, _| json!({"type": "object", "properties": {long.clone(): inner}}));
    let deep = value("x", &schema);
    assert!(deep.to_string().len() < 20);
    let error = type_of(&format!("o.{long}.x"), &with_object(&schema)).unwrap_err();
    assert!(error.len() < 3_000, "{}", error.len());
}

#[test]
fn what_is_said_of_a_long_name_is_cut() {
    let said = |length: usize| type_of(&"n".repeat(length), &Variables::new()).unwrap_err();
    let words = said(1).len() - 1;
    assert_eq!(said(2048 - words), format!("undeclared reference to '{}' (in container '')", "n".repeat(2048 - words)));
    let cut = said(2049 - words);
    assert!(cut.ends_with('…') && cut.len() <= 2048 + '…'.len_utf8(), "{cut}");
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "format": "byte"})),
        Just(json!({"type": "string", "format": "date-time"})),
        Just(json!({"type": "integer"})),
        Just(json!({"type": "number"})),
        Just(json!({"type": "boolean"})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({})),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let properties = prop::collection::btree_map("[a-c_.-]{1,3}|in|1x", inner.clone(), 0..5);
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.prop_map(|values| json!({"type": "object", "additionalProperties": values})),
            (properties, any::<bool>()).prop_map(|(properties, open)| {
                let required: Vec<&String> = properties.keys().take(1).collect();
                json!({"type": "object", "properties": properties, "required": required,
                    "x-kubernetes-preserve-unknown-fields": open})
            }),
        ]
    })
}

proptest! {
    /// Whatever a field holds may be written to a field of the same schema.
    #[test]
    fn every_type_fits_itself(schema in any_schema()) {
        let (one, other) = (value("one", &schema), value("other", &schema));
        prop_assert_eq!(fits(&one, &other), Ok(()));
        prop_assert_eq!(fits(&Type::optional(one), &other), Ok(()));
        prop_assert_eq!(fits(&Type::Dyn, &other), Ok(()));
    }

    /// A status holds what its expression gives.
    #[test]
    fn every_type_fits_its_schema(schema in any_schema()) {
        let one = value("one", &schema);
        prop_assert_eq!(fits(&one, &value("status", &open_api(&one))), Ok(()));
    }

    #[test]
    fn nothing_panics(source in "([aox]|[.?\\[\\](){}:,]|[+<&]|1|'s'|map|size|orValue|==| in | ){1,25}") {
        let variables = with_object(&json!({"type": "object"})).with("a", Type::list(Type::Int)).with("x", Type::Dyn);
        let _ = type_of(&source, &variables);
    }
}
