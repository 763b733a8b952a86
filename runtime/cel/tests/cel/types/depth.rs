//! How deep types within types may be, to the level: whatever is deeper is refused, or cut, and never recursed over.

use runtime_cel::types::{Field, Type, Variables, fits, open_api, value};
use serde_json::{Value, json};

use super::type_of;

/// Levels that are compared.
const COMPARED: usize = 200;

/// Levels of a schema that are read.
const READ: usize = 64;

type Wrap = fn(Type) -> Type;

const LIST: Wrap = Type::list;
const OPTIONAL: Wrap = Type::optional;
const TYPE: Wrap = Type::of;
const KEY: Wrap = |key| Type::map(key, Type::Int);
const VALUE: Wrap = |value| Type::map(Type::String, value);

fn nested(levels: usize, wrap: Wrap, innermost: Type) -> Type {
    (0..levels).fold(innermost, |inner, _| wrap(inner))
}

/// So many schemas within each other.
fn nested_schema(levels: usize, wrap: fn(Value) -> Value, innermost: Value) -> Value {
    (0..levels).fold(innermost, |inner, _| wrap(inner))
}

fn objects(levels: usize) -> Type {
    let schema = nested_schema(levels, |a| json!({"properties": {"a": a}}), json!({"type": "string"}));
    value("x", &schema)
}

#[test]
fn a_value_is_compared_with_its_field_to_some_depth() {
    let plain = |wrap: Wrap| nested(20, wrap, Type::String);
    for (name, returned, expected) in [
        ("list and list", plain(LIST), plain(LIST)),
        ("optional", Type::String, plain(OPTIONAL)),
        ("keys", plain(KEY), plain(KEY)),
        ("values", plain(VALUE), plain(VALUE)),
        ("object and map", objects(20), plain(VALUE)),
        ("map and object", plain(VALUE), objects(20)),
        ("object and object", objects(20), objects(20)),
    ] {
        let within =
            |lists: usize| fits(&nested(lists, LIST, returned.clone()), &nested(lists, LIST, expected.clone()));
        assert_eq!(within(COMPARED - 20), Ok(()), "{name}");
        let error = within(COMPARED - 19).unwrap_err().to_string();
        assert!(error.contains("the types are too large to be compared"), "{name}: {error}");
    }
}

#[test]
fn expressions_are_of_types_of_some_depth() {
    let check = |source: &str, x: Type, y: Type| type_of(source, &Variables::new().with("x", x).with("y", y));
    let holds = |source: &str, most: usize, wrap: Wrap, (x, y): (Type, Type)| {
        let deep = |levels: usize| check(source, nested(levels, wrap, x.clone()), nested(levels, wrap, y.clone()));
        assert!(deep(most).is_ok(), "{source}, {}: {:?}", wrap(Type::Int), deep(most));
        let error = deep(most + 1).unwrap_err();
        assert!(error.contains("too large, or too deep"), "{source}, {}: {error}", wrap(Type::Int));
    };
    let ints = || (Type::Int, Type::Int);
    for wrap in [LIST, OPTIONAL, KEY, VALUE] {
        holds("x", COMPARED, wrap, ints());
        // A value is compared with itself,
        holds("cel.bind(b, x, 1)", COMPARED, wrap, ints());
        // a type with what the same parameter stands for already, one level further in,
        holds("x in [x]", COMPARED - 1, wrap, ints());
        // and one that is more general.
        holds("x == y", COMPARED - 1, wrap, (Type::Int, Type::Dyn));
    }
    holds("x in [x]", COMPARED - 1, TYPE, ints());
    // Where one type is as good as another it is not looked into.
    assert_eq!(check("cel.bind(b, x, 1)", nested(COMPARED + 1, TYPE, Type::Int), Type::Int), Ok(Type::Int));
}

#[test]
fn schemas_are_read_to_some_depth() {
    let text = || json!({"type": "string"});
    for wrap in [
        |a| json!({"properties": {"a": a}}),
        |items| json!({"type": "array", "items": items}),
        |values| json!({"type": "object", "additionalProperties": values}),
    ] {
        for (levels, expected) in [(READ, Type::String), (READ + 1, Type::Dyn)] {
            let schema = nested_schema(levels, wrap, text());
            assert_eq!(innermost(&value("x", &schema)), &expected, "{levels}: {:.80}", schema.to_string());
        }
    }
    // The metadata of what is embedded is a level of its own.
    for (levels, expected) in [(READ - 2, Type::String), (READ - 1, Type::Dyn)] {
        let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true});
        let schema = nested_schema(levels, |a| json!({"properties": {"a": a}}), embedded);
        let whole = value("x", &schema);
        let mut at = &whole;
        for name in vec!["a"; levels].into_iter().chain(["metadata", "name"]) {
            at = field(at, name);
        }
        assert_eq!(at, &expected, "{levels}");
    }
}

#[test]
fn a_status_is_written_to_some_depth() {
    let written = |lists: usize| open_api(&nested(lists, LIST, objects(20))).to_string();
    assert!(written(COMPARED - 20).contains("string"));
    assert!(!written(COMPARED - 19).contains("string"));
}

#[test]
fn types_are_shown_to_some_depth() {
    for (wrap, shown) in [(LIST, "list(int)"), (OPTIONAL, "optional_type(int)"), (TYPE, "type(int)")] {
        let whole = nested(39, wrap, Type::Int).to_string();
        assert!(whole.contains(shown) && !whole.contains('…'), "{whole}");
        let cut = nested(40, wrap, Type::Int).to_string();
        assert!(cut.contains(&shown.replace("int", "…")) && !cut.contains("int"), "{cut}");
    }
    // As wide as it likes, to some number of parts.
    let wide = (0..8).fold(Type::Int, |inner, _| Type::map(inner.clone(), inner)).to_string();
    assert!(wide.contains("map(int, int)") && wide.contains('…'), "{wide}");
}

fn field<'a>(of: &'a Type, name: &str) -> &'a Type {
    let Type::Struct(object) = of else { panic!("{of} has no field {name}") };
    let Field { value, .. } = &object.fields()[name];
    value
}

/// What lists, maps and objects with one field hold in the end.
fn innermost(of: &Type) -> &Type {
    match of {
        Type::List(element) => innermost(element),
        Type::Map(entry) => innermost(&entry.1),
        Type::Struct(_) => innermost(field(of, "a")),
        other => other,
    }
}
