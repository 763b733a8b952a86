//! Texts of graphs with `${…}` in them: their parts are the text, and what is made has its fixed parts at their places.

use std::sync::Arc;

use runtime_cel::graph::{Part, TextTemplate, Variable};
use serde_json::{Value, json};

use crate::patience::{self, GRAPHS};

pub(crate) fn run(text: &str) {
    let Ok(template) = TextTemplate::parse(text) else { return };
    let parts = template.parts();
    let written: String = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Expression(expression) => format!("${{{expression}}}"),
        })
        .collect();
    assert_eq!(written, text, "its parts are another text");
    let two_texts = |two: &[Part]| matches!(two, [Part::Text(_), Part::Text(_)]);
    assert!(!parts.windows(2).any(two_texts), "two texts in a row: {parts:?}");
    assert!(!parts.contains(&Part::Text(String::new())), "an empty text: {parts:?}");
    assert_eq!(template.cel().is_some(), parts.iter().any(|part| matches!(part, Part::Expression(_))));
    let program = match GRAPHS.compile_text("owner", &template) {
        Ok(program) => program,
        Err(error) => return patience::check(&error),
    };
    let variables = [
        Variable::dynamic("a", Arc::new(json!("value"))),
        Variable::dynamic("schema", Arc::new(json!({"spec": {"name": "web", "count": 3}}))),
    ];
    let made = GRAPHS.evaluate(&program, &variables);
    match (&made, parts) {
        (Err(error), _) => patience::check(error),
        (Ok(_), [Part::Expression(_)]) => {}
        (Ok(Value::String(made)), parts) => in_order(made, parts),
        // `+` is that of lists, and of numbers, where nothing around is a text.
        (Ok(made), parts) => {
            assert!(!parts.iter().any(|part| matches!(part, Part::Text(_))), "{made} of a text");
        }
    }
}

/// The fixed parts stand in what was made, one behind the other, at its beginning and its end.
fn in_order(made: &str, parts: &[Part]) {
    let mut rest = made;
    for part in parts {
        let Part::Text(text) = part else { continue };
        let Some((_, behind)) = rest.split_once(text.as_str()) else { panic!("{made:?} lacks {text:?}") };
        rest = behind;
    }
    if let Some(Part::Text(first)) = parts.first() {
        assert!(made.starts_with(first.as_str()), "{made:?}");
    }
    if let Some(Part::Text(last)) = parts.last() {
        assert!(made.ends_with(last.as_str()), "{made:?}");
    }
}
