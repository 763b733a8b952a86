//! What schemas become, and what may be written where.

use runtime_cel::types::{
    Native, NotAllowed, Scope, Type, Variables, authored_conditions, collection, condition, elements, fits, object,
    open_api, value,
};
use serde_json::{Value, json};

use super::{type_of, with_object};

fn read(schema: &Value) -> String {
    value("x", schema).to_string()
}

#[test]
fn what_api_servers_publish_is_read() {
    for (schema, expected) in [
        (json!({}), "dyn"),
        (json!({"description": "whatever"}), "dyn"),
        (json!({"$ref": "#/components/schemas/io.k8s.JSONSchemaProps"}), "dyn"),
        (json!({"x-kubernetes-preserve-unknown-fields": true}), "dyn"),
        (json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}), "dyn"),
        (json!({"x-kubernetes-int-or-string": true, "type": "string"}), "dyn"),
        (json!({"type": "string", "format": "int-or-string"}), "dyn"),
        (json!({"oneOf": [{"type": "string"}, {"type": "number"}]}), "dyn"),
        (json!({"allOf": [{"type": "integer"}], "default": 1}), "int"),
        (json!({"allOf": [{"allOf": [{"type": "string", "format": "date-time"}]}]}), "google.protobuf.Timestamp"),
        (json!({"allOf": [{"type": "integer"}, {"minimum": 3}]}), "dyn"),
        (json!({"allOf": [{"type": "integer"}], "type": "string"}), "string"),
        (json!({"allOf": [{"type": "integer"}], "properties": {}}), "__type_x"),
        (json!({"type": "integer", "format": "int64"}), "int"),
        (json!({"type": "string", "format": "uuid"}), "string"),
        (json!({"type": "string", "format": "date"}), "google.protobuf.Timestamp"),
        (json!({"type": "string", "format": "duration"}), "google.protobuf.Duration"),
        (json!({"type": "array"}), "list(dyn)"),
        (json!({"type": "array", "items": {}}), "list(dyn)"),
        (json!({"type": "array", "items": {"type": "object"}}), "list(__type_x.@idx)"),
        (json!({"type": "object", "additionalProperties": {}}), "map(string, dyn)"),
        (json!({"type": "object", "additionalProperties": true}), "map(string, dyn)"),
        (json!({"type": "object", "additionalProperties": false}), "__type_x"),
        (json!({"properties": {"a": {"type": "string"}}}), "__type_x"),
        (json!({"type": "nonsense"}), "dyn"),
        (json!(true), "dyn"),
    ] {
        assert_eq!(read(&schema), expected, "{schema}");
    }
}

#[test]
fn metadata_is_whole_whatever_a_crd_says() {
    let schema = json!({"type": "object", "properties": {"metadata": {"type": "object"}, "spec": {"type": "object",
        "properties": {"template": {"type": "object", "x-kubernetes-embedded-resource": true}}}}});
    let o = with_object(&schema);
    assert_eq!(type_of("o.metadata.labels['a']", &o), Ok(Type::String));
    assert_eq!(type_of("o.apiVersion + o.kind + o.metadata.namespace", &o), Ok(Type::String));
    assert_eq!(type_of("o.spec.template.metadata.name", &o), Ok(Type::String));
    let cluster = Variables::new().with("o", object("o", &schema, Scope::Cluster));
    assert_eq!(type_of("o.metadata.namespace", &cluster), Err("undefined field 'namespace'".to_owned()));
    let pods = Variables::new().with("pods", collection("pods", &schema));
    let found = type_of("pods.map(p, p.metadata.ownerReferences)", &pods).unwrap();
    assert_eq!(found.to_string(), "list(list(__type_pods.@idx.metadata.ownerReferences.@idx))");
}

/// However often its schema is read.
#[test]
fn an_object_is_the_same_where_it_stands_in_the_same_place() {
    let schema = json!({"properties": {"a": {"properties": {}}, "b": {"properties": {}}}});
    let inner = |name: &str, field: &str| match value(name, &schema) {
        Type::Struct(object) => object.fields()[field].value.clone(),
        other => panic!("{other}"),
    };
    assert_eq!(inner("x", "a"), inner("x", "a"));
    assert_ne!(inner("x", "a"), inner("x", "b"));
    assert_ne!(inner("x", "a"), inner("y", "a"));
    assert_ne!(inner("x", "a"), value("x", &schema));
    let Type::Struct(object) = inner("x", "a") else { panic!("no object") };
    assert_eq!(format!("{object:?}, {:?}", object.name()), "__type_x.a, __type_x.a");
}

#[test]
fn odd_names_are_written_as_kubernetes_has_them() {
    let text = json!({"type": "string"});
    let names = ["a-b", "a.b", "a/b", "a__b", "for", "1a", "é", "__for__"];
    let properties: serde_json::Map<_, _> = names.iter().map(|name| ((*name).to_owned(), text.clone())).collect();
    let o = with_object(&json!({"type": "object", "properties": properties}));
    for written in ["a__dash__b", "a__dot__b", "a__slash__b", "a__underscores__b", "for", "__for__"] {
        assert_eq!(type_of(&format!("o.{written}"), &o), Ok(Type::String), "{written}");
    }
    assert_eq!(type_of("o.__underscores__for__underscores__", &o), Ok(Type::String));
    for written in ["a__b", "`a-b`", "`1a`", "`a.b`", "a_b"] {
        assert!(type_of(&format!("o.{written}"), &o).unwrap_err().starts_with("undefined field"), "{written}");
    }
    assert_eq!(open_api(&type_of("o", &o).unwrap())["properties"]["a-b"], text);
}

fn wrong(returned: &Type, expected: &Value) -> String {
    fits(returned, &value("x", expected)).unwrap_err().to_string()
}

#[test]
fn what_no_api_server_takes_does_not_fit() {
    let texts = Type::list(Type::String);
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    assert_eq!(
        wrong(&Type::String, &open),
        "returns type \"string\" but expected \"__type_x\": type kind mismatch: got \"string\", expected \"__type_x\""
    );
    let url = Type::Native(Native::Url);
    for returned in [&texts, &Type::Int, &Type::Bytes, &Type::Timestamp, &url, &Type::of(Type::Int)] {
        assert!(wrong(returned, &open).contains("type kind mismatch"), "{returned}");
    }
    let list = json!({"type": "array", "items": {"type": "string"}});
    let map = Type::map(Type::String, Type::String);
    assert!(wrong(&map, &list).ends_with("list parameter count mismatch: got 2, expected 1"));
    assert!(wrong(&Type::of(Type::String), &list).contains("list parameter count mismatch"));
    assert!(wrong(&Type::Null, &list).ends_with("got 0, expected 1"));
    assert!(wrong(&Type::Null, &json!({"type": "string", "format": "date-time"})).contains("type kind mismatch"));
    assert!(wrong(&Type::Uint, &json!({"type": "integer"})).contains("got \"uint\", expected \"int\""));
}

#[test]
fn nothing_is_an_object_unless_something_is_required() {
    let nothing = type_of("{}", &Variables::new()).unwrap();
    let one = json!({"type": "string"});
    let open = json!({"type": "object", "properties": {"a": one}});
    assert_eq!(fits(&nothing, &value("x", &open)), Ok(()));
    let required = json!({"type": "object", "properties": {"a": one}, "required": ["a"]});
    assert!(wrong(&nothing, &required).ends_with("map keys must be strings to assign to struct"));
    let defaulted =
        json!({"type": "object", "properties": {"a": {"type": "string", "default": "b"}}, "required": ["a"]});
    assert_eq!(fits(&nothing, &value("x", &defaulted)), Ok(()));
    assert!(
        wrong(&Type::map(Type::Int, Type::String), &open).ends_with("map keys must be strings to assign to struct")
    );
}

#[test]
fn bytes_are_text_or_bytes_wherever_they_stand() {
    let secret = json!({"type": "object", "additionalProperties": {"type": "string", "format": "byte"}});
    for data in ["{'a': base64.encode(b'x')}", "{'a': b'x'}", "{'a': dyn(1)}", "{}", "{'a': 'x', 'b': b'y'}"] {
        let data = type_of(data, &Variables::new()).unwrap();
        assert_eq!(fits(&data, &value("x", &secret)), Ok(()), "{data}");
    }
    assert!(wrong(&Type::map(Type::String, Type::Int), &secret).contains("got \"int\", expected \"bytes\""));
    // Not the other way.
    assert!(wrong(&Type::Bytes, &json!({"type": "string"})).contains("got \"bytes\", expected \"string\""));
}

#[test]
fn objects_fit_objects_that_hold_as_much() {
    let part = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let whole = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}},
        "x-kubernetes-preserve-unknown-fields": true});
    assert_eq!(fits(&value("p", &part), &value("x", &whole)), Ok(()));
    assert_eq!(fits(&value("w", &whole), &value("x", &open)), Ok(()));
    assert!(wrong(&value("w", &whole), &part).ends_with("field \"b\" exists in output but not in expected type"));
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    assert_eq!(fits(&value("p", &part), &value("x", &texts)), Ok(()));
    assert!(wrong(&value("w", &whole), &texts).contains("struct field \"b\" incompatible with map value type"));
}

#[test]
fn where_there_is_no_field() {
    for fine in [Type::Bool, Type::optional(Type::Bool)] {
        assert_eq!(condition(&fine), Ok(()));
    }
    for wrong in [Type::Dyn, Type::Null, Type::String, Type::optional(Type::Dyn), Type::optional(fine_twice())] {
        let expected = format!("must return bool or optional_type(bool), but returns \"{wrong}\"");
        assert_eq!(condition(&wrong).unwrap_err().to_string(), expected);
    }
    assert_eq!(elements(&Type::list(Type::Dyn)), Ok(Type::Dyn));
    let optional = Type::optional(Type::list(Type::Int));
    assert_eq!(elements(&optional), Err(NotAllowed::Elements(optional.clone())));
    assert_eq!(
        elements(&Type::Dyn).unwrap_err().to_string(),
        "must return a list, got \"dyn\": type \"dyn\" is not a list type"
    );
    let authored = Type::Native(Native::Condition);
    assert_eq!(authored_conditions(&authored), Ok(()));
    assert_eq!(authored_conditions(&Type::list(authored)), Ok(()));
    assert!(authored_conditions(&Type::Dyn).is_err() && authored_conditions(&Type::list(Type::Dyn)).is_err());
}

fn fine_twice() -> Type {
    Type::optional(Type::Bool)
}

#[test]
fn a_status_holds_what_is_inside() {
    let moment =
        json!({"type": "string", "format": "date-time", "description": "Timestamp representing a creation time"});
    assert_eq!(open_api(&Type::list(Type::Timestamp)), json!({"type": "array", "items": moment}));
    assert_eq!(open_api(&Type::Uint), json!({"type": "integer"}));
    let anything = json!({"x-kubernetes-preserve-unknown-fields": true});
    let moments = json!({"type": "object", "properties": {"at": {"type": "array", "items": moment}, "any": {}}});
    let expected =
        json!({"type": "object", "properties": {"at": {"type": "array", "items": anything}, "any": anything}});
    assert_eq!(open_api(&value("x", &moments)), expected);
    let described = json!({"x-kubernetes-preserve-unknown-fields": true, "description": "unknown CEL type: net.IP"});
    assert_eq!(open_api(&Type::Native(Native::Ip)), described);
}
