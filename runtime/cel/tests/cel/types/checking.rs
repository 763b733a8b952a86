//! The checker, beyond what is recorded.

use runtime_cel::{
    expression::Limits,
    graph::Evaluator,
    types::{Native, Type, Variables, check},
};
use serde_json::json;

use super::{type_of, with_object};

fn alone(source: &str) -> String {
    type_of(source, &Variables::new()).map_or_else(|error| error, |found| found.to_string())
}

/// What is evaluated is what was checked: nothing is rewritten in between.
#[test]
fn a_compiled_expression_can_be_checked() {
    let evaluator = Evaluator::with_limits(Limits::default());
    let variables = Variables::new().with("o", Type::map(Type::String, Type::list(Type::Int)));
    for (source, expected) in [
        ("o.transformMap(k, v, v.sum()).size() + cel.bind(x, o.a, x[0])", Ok("int")),
        ("o.map(k, o[k].sortBy(e, -e).first().optMap(e, e * 2))", Ok("list(optional_type(int))")),
        (
            "o.?a[?0].orValue('none')",
            Err("found no matching overload for 'orValue' applied to 'optional_type(int).(string)'"),
        ),
    ] {
        let program = evaluator.compile("somebody", source).unwrap();
        let found = check(program.expression(), &variables);
        let shown = found.map(|found| found.to_string()).map_err(|error| error.to_string());
        assert_eq!(shown.as_deref().map_err(String::as_str), expected, "{source}");
    }
}

#[test]
fn what_holds_several_types() {
    for (source, expected) in [
        ("[1, 1u]", "list(dyn)"),
        ("[[], [1]]", "list(list(int))"),
        ("[[1], ['a']]", "list(dyn)"),
        ("[[1], [dyn(1)]]", "list(list(dyn))"),
        ("[{'a': 1}, {}]", "list(map(string, int))"),
        ("[null, optional.of(1)]", "list(optional_type(int))"),
        ("[1, null]", "list(dyn)"),
        ("{1: 'a', 'b': 2}", "map(dyn, dyn)"),
        ("{'a': [], 'b': [1]}", "map(string, list(int))"),
        ("[type(1), type('a')]", "list(type(int))"),
        ("true ? [] : {}", "found no matching overload for '_?_:_' applied to '(bool, list(dyn), map(dyn, dyn))'"),
        ("true ? {} : {'a': 1}", "map(string, int)"),
        // Neither says less than the other in all of its parts.
        ("[{dyn(1): 1}, {1: dyn(1)}]", "list(map(int, dyn))"),
        ("[{1: dyn(1)}, {dyn(1): 1}]", "list(map(dyn, int))"),
        (
            "{'a': 1} == {'a': 'b'}",
            "found no matching overload for '_==_' applied to '(map(string, int), map(string, string))'",
        ),
        ("true ? optional.none() : optional.of('a')", "optional_type(string)"),
    ] {
        assert_eq!(alone(source), expected, "{source}");
    }
}

#[test]
fn optionals_stay_so_to_the_end_of_the_chain() {
    let o = with_object(&json!({"type": "object", "properties": {
        "a": {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}}},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
    }}));
    for (source, expected) in [
        ("o.?a.l[0]", "optional_type(int)"),
        ("o.?a.l[?0]", "optional_type(int)"),
        ("o.?m['x']", "optional_type(string)"),
        ("o.?m[?'x'].orValue('')", "string"),
        ("o.m[?'x'].optMap(x, x.size())", "optional_type(int)"),
        ("o.a.?l.optMap(l, l[0]).orValue(0)", "int"),
        ("o.m[?'x'].optFlatMap(x, x == '' ? optional.none() : optional.of(x))", "optional_type(string)"),
        ("has(o.?a.l)", "bool"),
        ("[?o.?a.l[?0], 1]", "list(int)"),
        (
            "o.?a.l.map(x, x)",
            "expression of type 'optional_type(list(int))' cannot be range of a comprehension (must be list, \
          map, or dynamic)",
        ),
        ("o.?a.nope", "undefined field 'nope'"),
        ("[?1]", "expected type 'optional_type(int)' but found 'int'"),
    ] {
        let found = type_of(source, &o).map_or_else(|error| error, |found| found.to_string());
        assert_eq!(found, expected, "{source}");
    }
}

#[test]
fn inner_names_hide_outer_ones() {
    let x = Variables::new().with("x", Type::String).with("int", Type::Bytes);
    assert_eq!(type_of("[1].map(x, x)", &x), Ok(Type::list(Type::Int)));
    assert_eq!(type_of("[1].map(x, .x)", &x), Ok(Type::list(Type::String)));
    assert_eq!(type_of("[1].map(x, [true].map(x, x))", &x), Ok(Type::list(Type::list(Type::Bool))));
    assert_eq!(type_of("[x].map(y, x).all(y, y == x)", &x), Ok(Type::Bool));
    assert_eq!(type_of("cel.bind(x, 1, x) + x.size()", &x), Ok(Type::Int));
    assert_eq!(type_of("int", &x), Ok(Type::Bytes));
    assert_eq!(alone("[1].map(x, 1) == x"), "undeclared reference to 'x' (in container '')");
    // A variable that is called like a library does not hide its functions.
    let json = Variables::new().with("json", Type::Int).with("ip", Type::Int);
    assert_eq!(type_of("json.marshal(json)", &json), Ok(Type::String));
    assert_eq!(type_of("ip.isCanonical('::1') ? ip : 1", &json), Ok(Type::Int));
    assert_eq!(type_of("[1].map(json, json.marshal(json))", &json), Ok(Type::list(Type::String)));
    assert_eq!(type_of("[cidr('::1/8')].map(ip, ip.ip())", &json), Ok(Type::list(Type::Native(Native::Ip))));
}

#[test]
fn types_have_names() {
    for source in [
        "type(1) == int",
        "type('') == string",
        "type({}) == map && type([]) == list",
        "type(timestamp(0)) == google.protobuf.Timestamp",
        "type(ip('::1')) == net.IP",
        "[int, string].exists(t, t == type(1))",
    ] {
        assert_eq!(alone(source), "bool", "{source}");
    }
    assert_eq!(alone("google.protobuf"), "undeclared reference to 'google' (in container '')");
    assert_eq!(alone("has(google.protobuf.Timestamp)"), "undeclared reference to 'google' (in container '')");
    let google = Variables::new().with("google", Type::Dyn);
    assert_eq!(type_of("google.protobuf.Timestamp", &google), Ok(Type::Dyn));
    assert_eq!(alone("[dyn(1)].map(google, google.protobuf.Timestamp)"), "list(dyn)");
}

#[test]
fn dyn_leaves_open_what_a_call_gives() {
    let x = Variables::new().with("x", Type::Dyn);
    for (source, expected) in [
        ("x.reverse()", "dyn"),
        ("x.sum()", "dyn"),
        ("x.indexOf(x)", "int"),
        ("x.add(1)", "kubernetes.Quantity"),
        ("x - x", "dyn"),
        ("x - 1", "int"),
        ("-x", "dyn"),
        ("x.map(y, y + 1)", "list(int)"),
        ("x.transformMap(k, v, k)", "map(dyn, dyn)"),
        ("x.sortBy(y, y.z)", "dyn"),
        ("string(x) + x", "string"),
        ("x.getHours()", "int"),
        ("x ? 1 : x", "dyn"),
    ] {
        assert_eq!(type_of(source, &x).map(|found| found.to_string()), Ok(expected.to_owned()), "{source}");
    }
}

/// What nothing is known of is dyn as soon as something is asked of it, not what it meets first.
#[test]
fn what_nothing_is_known_of_is_dyn() {
    assert_eq!(alone("[].all(x, x.a && x == 'a' && x == 1)"), "bool");
    assert_eq!(
        alone("[].map(x, x.map(y, y)).all(l, l == 'a' || l == [1])"),
        "found no matching overload for '_==_' applied \
        to '(list(dyn), string)'"
    );
    assert_eq!(alone("[].map(x, x + 1)"), "list(int)");
    assert!(alone("[].all(x, x == 'a' && x == 1)").starts_with("found no matching overload for '_==_'"));
}

#[test]
fn formats_and_patterns_that_are_written_out() {
    for fine in [
        "'%s %d %.2f %e %x %X %o %b %%'.format(['a', 1, 2.0, 3.0, b'x', 4, 5u, true])",
        "'%s'.format([[1, {'a': dyn(optional.none())}]])",
        "dyn('%d').format(['a'])",
        "'%d'.format(dyn(['a']))",
        "'%s'.format([type(1)])",
        "'a'.find('(?i)[a-z]{2,}')",
        "'a'.matches('[')",
    ] {
        assert!(type_of(fine, &Variables::new()).is_ok(), "{fine}: {}", alone(fine));
    }
    for (wrong, expected) in [
        ("'%d'.format([true])", "error during formatting: %d takes ints, uints and doubles, it is given bool"),
        ("'%s'.format([[1, optional.of(1)]])", "it is given optional_type(int)"),
        ("'%s'.format([{'a': url('http://a')}])", "it is given kubernetes.URL"),
        ("'%o'.format([1.5])", "it is given double"),
        ("'%x'.format([1.5])", "it is given double"),
        ("'%b'.format(['a'])", "it is given string"),
        ("'%f'.format(['a'])", "it is given string"),
        ("'%s %s'.format(['a'])", "index 1 out of range"),
        ("'%%'.format(['a'])", "too many arguments: the format uses 0 of the 1 it is given"),
        ("'%.f'.format([1.0])", "could not parse formatting clause"),
        ("'%.2'.format([1.0])", "could not parse formatting clause"),
        ("'%'.format([1])", "unexpected end of string"),
        ("'%z'.format([1])", "%z is none of"),
        ("'a'.findAll('(')", "error parsing regexp: "),
        ("'a'.find('a{100000}')", "error parsing regexp: "),
    ] {
        assert!(alone(wrong).contains(expected), "{wrong}: {}", alone(wrong));
    }
}

#[test]
fn conditions_that_authors_write() {
    let runtime = Variables::new().with("runtime", Type::Native(Native::Runtime)).with("x", Type::Dyn);
    let condition = Type::Native(Native::Condition);
    let written = "runtime.newCondition({type: 'A', status: x.ok ? 'True' : 'False'})";
    assert_eq!(type_of(written, &runtime), Ok(condition.clone()));
    assert_eq!(type_of("runtime.condition(x, 'A')", &runtime), Ok(condition));
    assert_eq!(type_of("runtime.condition(x, 'A').message", &runtime), Ok(Type::String));
    for wrong in [
        "runtime.newCondition({type: 'A'})",
        "runtime.newCondition({type: 1, status: 2})",
        "runtime.newCondition({type: 'A', type: 'B', status: 'True'})",
        "runtime.condition('A')",
        "runtime.condition(x, 'A').observedGeneration",
        "runtime.type",
    ] {
        assert!(type_of(wrong, &runtime).is_err(), "{wrong}");
    }
    assert_eq!(alone("runtime.condition(1, 'A')"), "undeclared reference to 'runtime' (in container '')");
}

#[test]
fn null_goes_where_objects_go() {
    let o = with_object(
        &json!({"type": "object", "properties": {"s": {"type": "string"}, "t": {"type": "string", "format": "date-time"}}}),
    );
    for fine in ["o == null", "null != o", "o.t == null", "optional.of(1) == null", "dyn(1) == null", "null == null"] {
        assert_eq!(type_of(fine, &o), Ok(Type::Bool), "{fine}");
    }
    for wrong in ["o.s == null", "[] == null", "{} == null", "null == 1", "o == {}", "o == 1"] {
        assert!(type_of(wrong, &o).unwrap_err().starts_with("found no matching overload for '_==_'"), "{wrong}");
    }
}
