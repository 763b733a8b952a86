//! Texts with `${…}` in them, and how this dialect differs from that of Migrations.

use std::sync::Arc;

use proptest::prelude::*;
use runtime_cel::{
    expression::{self, ExpressionError},
    graph::{Part, Program, TextError, TextTemplate, Variable},
    template::{Compiler, TemplateLimits},
    types::{Type, Variables, typed},
};
use serde_json::{Value, json};

use super::{patient, value_of};

fn parts(template: &TextTemplate) -> Vec<(&'static str, &str)> {
    let parts = template.parts().iter().map(|part| match part {
        Part::Text(text) => ("text", text.as_str()),
        Part::Expression(expression) => ("expr", expression.as_str()),
    });
    parts.collect()
}

/// What differs from what was recorded, if anything does.
fn difference(entry: &Value) -> Option<String> {
    let text = entry["text"].as_str().unwrap();
    let template = match (TextTemplate::parse(text), entry.get("error")) {
        (Err(TextError::Nested), Some(_)) => return None,
        (Ok(template), None) => template,
        (answer, _) => return Some(format!("{answer:?}")),
    };
    let recorded: Vec<(&str, &str)> = entry["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| match part["text"].as_str() {
            Some(text) => ("text", text),
            None => ("expr", part["expr"].as_str().unwrap()),
        })
        .collect();
    let cel = template.cel().filter(|cel| !cel.is_empty());
    let right = parts(&template) == recorded
        && template.standalone().is_some() == entry["standalone"]
        && cel.as_deref() == entry["cel"].as_str();
    (!right).then(|| format!("{template:?}, {cel:?}"))
}

#[test]
fn reads_as_recorded() {
    let entries: Vec<Value> = serde_json::from_str(include_str!("../../vectors/text-template.json")).unwrap();
    let recorded = entries.iter().filter(|entry| entry["better"] != true);
    let wrong: Vec<String> =
        recorded.filter_map(|entry| difference(entry).map(|what| format!("{entry}\n    here {what}"))).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    // Where we do better, all is one expression with its texts whole.
    for entry in entries.iter().filter(|entry| entry["better"] == true) {
        let text = entry["text"].as_str().unwrap();
        let template = TextTemplate::parse(text).unwrap();
        let expressions = template.parts().iter().filter(|part| matches!(part, Part::Expression(_))).count();
        assert_eq!(expressions, text.matches("${").count(), "{template:?}");
    }
}

#[test]
fn texts_of_all_kinds_hold_braces() {
    for (text, expected) in [
        ("${'}'}", vec![("expr", "'}'")]),
        ("${'a}b' + \"c}d\"}x", vec![("expr", "'a}b' + \"c}d\""), ("text", "x")]),
        ("${'it\"s }'}${b}", vec![("expr", "'it\"s }'"), ("expr", "b")]),
        ("${'a\\'}b'}", vec![("expr", "'a\\'}b'")]),
        ("${r'a\\'}}", vec![("expr", "r'a\\'"), ("text", "}")]),
        ("${bR'}\\'}", vec![("expr", "bR'}\\'")]),
        ("${xr'\\'}'}", vec![("expr", "xr'\\'}'")]),
        ("${'''a'}\"b'''}", vec![("expr", "'''a'}\"b'''")]),
        ("${\"\"\"a\"}b\"\"\"}", vec![("expr", "\"\"\"a\"}b\"\"\"")]),
        ("${'${x}'}", vec![("expr", "'${x}'")]),
        ("${a // it's }b", vec![("expr", "a // it's "), ("text", "b")]),
        ("${a // it's\n + 'b}'}", vec![("expr", "a // it's\n + 'b}'")]),
        ("${'a' // \"}\" }", vec![("expr", "'a' // \"}\" ")]),
        ("${'unclosed} ${b}", vec![("text", "${'unclosed} "), ("expr", "b")]),
        ("${\"a' } ${b + 'c'}", vec![("text", "${\"a' } "), ("expr", "b + 'c'")]),
    ] {
        assert_eq!(TextTemplate::parse(text).map(|template| template.parts().len()), Ok(expected.len()), "{text}");
        assert_eq!(parts(&TextTemplate::parse(text).unwrap()), expected, "{text}");
    }
    for text in ["${a ${b}}", "${{${a}}}", "${a // ${b}\n}"] {
        assert_eq!(TextTemplate::parse(text), Err(TextError::Nested), "{text}");
    }
}

#[test]
fn a_template_becomes_an_expression() {
    let evaluator = patient();
    let variables = json!({"a": "x", "n": 5, "o": {"k": "v"}});
    for (text, expected) in [
        ("${a}-${o.k}\n", Ok(json!("x-v\n"))),
        ("$${a}", Ok(json!("$x"))),
        ("\"\u{0}\u{a0}☃\\${a}", Ok(json!("\"\u{0}\u{a0}☃\\x"))),
        ("${n}", Ok(json!(5))),
        ("${o}", Ok(json!({"k": "v"}))),
        ("${n} ", Err("no such overload")),
        ("${a}${n}", Err("no such overload")),
        ("${}", Err("the expression is empty")),
    ] {
        let cel = TextTemplate::parse(text).unwrap().cel().unwrap();
        match (value_of(&evaluator, &cel, &variables), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value, expected, "{text}"),
            (Err(error), Err(says)) => assert!(error.to_string().contains(says), "{text}: {error}"),
            (answer, _) => panic!("{text}: {answer:?}"),
        }
    }
}

/// What the dialect of Migrations makes of it; `None` when it refuses it.
fn of_migrations(template: &Value, values: &Value) -> Option<Value> {
    let evaluator = expression::Evaluator::new();
    let fields = values.as_object().unwrap();
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let limits = TemplateLimits { expressions: 8, bytes: 1024 };
    let mut templates = Compiler::new(&names, limits, &evaluator);
    let root = templates.node(template, "");
    let compiled = templates.finish(root).ok()?;
    let variables: Vec<(&str, Arc<Value>)> =
        fields.iter().map(|(name, value)| (name.as_str(), Arc::new(value.clone()))).collect();
    compiled.render(&variables, &evaluator).ok()
}

#[test]
fn the_dialects_are_held_apart() {
    let (evaluator, values) = (patient(), json!({"a": "x", "n": 5, "b": "YQ=="}));
    let here = |text: &str| {
        let cel = TextTemplate::parse(text).ok()?.cel()?;
        value_of(&evaluator, &cel, &values).ok()
    };
    for (text, graph, migration) in [
        // Where they are one.
        ("${a}", Some(json!("x")), Some(json!("x"))),
        ("${n}", Some(json!(5)), Some(json!(5))),
        ("${a}-y", Some(json!("x-y")), Some(json!("x-y"))),
        // A second dollar is a dollar here, and keeps the expression from being one there.
        ("$${a}", Some(json!("$x")), Some(json!("${a}"))),
        // Only texts stand within texts here.
        ("${n}-y", None, Some(json!("5-y"))),
        ("${n == 5}-y", None, Some(json!("true-y"))),
        // What is not closed is a text here, and a mistake there.
        ("${a", None, None),
        ("x${a", None, None),
        // Bytes are nothing for an object here.
        ("${bytes('a')}", None, Some(json!("YQ=="))),
        ("${duration('90m')}", Some(json!("1h30m0s")), Some(json!("5400s"))),
        ("${1.5 * 2.0}", Some(json!(3)), Some(json!(3.0))),
    ] {
        assert_eq!(here(text), graph, "graph: {text}");
        assert_eq!(of_migrations(&json!(text), &values), migration, "migration: {text}");
    }
    assert_eq!(TextTemplate::parse("${a").unwrap().parts(), [Part::Text("${a".to_owned())]);
    // Keys have expressions there; here nobody looks into them.
    assert_eq!(of_migrations(&json!({"${a}": 1}), &values), Some(json!({"x": 1})));
}

fn compiled(text: &str) -> Result<Program, ExpressionError> {
    patient().compile_text("", &TextTemplate::parse(text).unwrap())
}

fn made(text: &str) -> Result<Value, ExpressionError> {
    let evaluator = patient();
    let variables = json!({"a": "x", "n": 5});
    let variables: Vec<Variable<'_>> = variables
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| Variable::dynamic(name, Arc::new(value.clone())))
        .collect();
    evaluator.evaluate(&evaluator.compile_text("", &TextTemplate::parse(text).unwrap())?, &variables)
}

#[test]
fn plain_text_is_no_part_of_an_expression() {
    // What a config file has, more than an expression may be long, and with more of everything than it may have.
    let line = "a.map(x, [[[x.y + 1]]]) = ((\"é\\\u{1}')\n";
    let plain = line.repeat(9 * 1024 / line.len() + 1);
    assert!(plain.len() > 9 * 1024);
    assert_eq!(made(&format!("{plain}${{a}}")), Ok(json!(format!("{plain}x"))));
    assert_eq!(made(&format!("{plain}${{a}}{plain}${{a}}")), Ok(json!(format!("{plain}x{plain}x"))));
    // Each has 16 loops, which is as many as one may have.
    let loops = format!("${{[a]{}[0]}}", ".map(x, x)".repeat(16));
    assert_eq!(made(&format!("{loops} {loops}")), Ok(json!("x x")));
    let dots = format!("${{'{}'.size() > 0 ? a : a{}}}", "y", ".z".repeat(398));
    assert_eq!(made(&format!("{dots} {dots}")), Ok(json!("x x")));
    assert_eq!(compiled("${a}-${schema.b}-${a}").unwrap().variables(), ["a", "schema"]);
}

#[test]
fn pieces_are_put_together_in_their_order() {
    for count in 1..40 {
        let text = (0..count).map(|at| format!("{at}${{a}}")).collect::<Vec<_>>().concat();
        assert_eq!(made(&text), Ok(json!(text.replace("${a}", "x"))));
    }
    assert_eq!(made("${a}${a}${a}"), Ok(json!("xxx")));
    assert_eq!(made("${a // a comment}!"), Ok(json!("x!")));
    assert!(made("${a}-${n}").unwrap_err().to_string().contains("no such overload"));
}

#[test]
fn what_pieces_ask_for_the_whole_asks_for() {
    for (text, omits) in
        [("${a}-${a}", false), ("${a}${omit()}", true), ("${omit()}${a}", true), ("${omit()}${omit()}", true)]
    {
        assert_eq!(compiled(text).unwrap().omits(), omits, "{text}");
    }
}

#[test]
fn what_the_checker_says_of_a_piece_is_said_of_no_other() {
    // Both sums stand at the same place of their pieces, and one of nothing is nothing of its kind.
    let variables = Variables::new().with("w", Type::list(Type::Duration)).with("n", Type::list(Type::Int));
    let empty = ["w", "n"].map(|name| Variable::dynamic(name, Arc::new(json!([]))));
    for text in ["${string(w.sum())}-${string(n.sum())}", "${string({'a': w.sum()}.a)}-${string({'a': n.sum()}.a)}"] {
        let (_, program) = typed(&compiled(text).unwrap(), &variables).unwrap();
        assert_eq!(patient().evaluate(&program, &empty), Ok(json!("0s-0")), "{text}");
    }
}

#[test]
fn a_text_is_bounded_all_the_same() {
    let error = |text: &str| compiled(text).unwrap_err().to_string();
    let long = "a".repeat(8193);
    assert_eq!(error(&format!("y${{{long}}}")), "the expression has 8193 bytes; at most 8192 are allowed");
    assert_eq!(error("y${}"), ExpressionError::Empty.to_string());
    assert!(error("y${ [}").starts_with("line 1, column "));
    let plain = "y".repeat(256 * 1024);
    // What is made is counted with its quotes.
    let fits = &plain[3..];
    assert!(made(&format!("{fits}${{a}}")) == Ok(json!(format!("{fits}x"))));
    assert!(compiled(&format!("{plain}${{a}}")).is_ok());
    assert!(error(&format!("y{plain}${{a}}")).contains("262145 bytes beside its expressions; at most 262144"));
    assert_eq!(made(&"${a}".repeat(512)), Ok(json!("x".repeat(512))));
    assert!(error(&"${a}".repeat(513)).contains("513 expressions; at most 512"));
    // No piece says more than it would alone.
    assert!(error("${a) + (a}y").starts_with("line 1, column 2"));
    assert!(error(&format!("y${{{}a}}", "(".repeat(33))).contains("brackets"));
    let costly = format!("${{{}}}", "[a]".to_owned() + &".map(x, x)".repeat(17));
    assert!(error(&format!("y{costly}")).contains("loops"));
}

#[test]
fn hostile_texts_are_read_in_linear_time() {
    let long = 1 << 20;
    for unit in ["${", "${\"", "${'", "$", "{", "}", "${a}", "${\"${", "\"", "${'''", "${{", "${a // '", "${\\\""] {
        let text = unit.repeat(long / unit.len());
        let _ = TextTemplate::parse(&text);
    }
    assert_eq!(TextTemplate::parse(&"${\\\"".repeat(1000)), Err(TextError::Unclosed));
    let template = TextTemplate::parse(&"${a} ".repeat(1000)).unwrap();
    assert_eq!(template.parts().len(), 2000);
}

proptest! {
    #[test]
    fn nothing_is_lost(text in "[$a{}\"'r/\\\\ \n]{0,40}") {
        if let Ok(template) = TextTemplate::parse(&text) {
            let again: String = template.parts().iter().map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Expression(expression) => format!("${{{expression}}}"),
            }).collect();
            prop_assert_eq!(again, text);
        }
    }

    #[test]
    fn plain_text_comes_back(text in "\\PC{0,20}\n?[\u{0}-\u{20}\"\\\\]{0,3}") {
        prop_assume!(!text.contains("${"));
        let template = TextTemplate::parse(&format!("{text}${{a}}")).unwrap();
        let cel = template.cel().unwrap();
        prop_assert_eq!(value_of(&patient(), &cel, &json!({"a": "x"})), Ok(json!(format!("{text}x"))));
    }
}
