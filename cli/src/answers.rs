//! What AcceptAPIs say of an object: for programs, and for people.

use broker_core::decide::{Answer, Asked};
use serde_json::{Value, json};

use crate::paint::harmless;

/// An AcceptAPI's answer, as JSON.
pub(crate) fn value(Asked { id, priority, weight: _, score: _, answer }: &Asked) -> Value {
    let (word, reasons) = match answer {
        Answer::Accepts => ("Accepts", Vec::new()),
        Answer::Refuses(reasons) => {
            // Where they are in a list of all, each names its AcceptAPI.
            let own = format!("{id}: ");
            ("Refuses", reasons.iter().map(|why| why.strip_prefix(&own).unwrap_or(why).to_owned()).collect())
        }
        Answer::CannotTake(why) => ("CannotTake", vec![why.clone()]),
        Answer::Unknown(why) => ("Unknown", vec![why.clone()]),
    };
    json!({ "acceptAPI": id.to_string(), "provider": id.provider.name(), "answer": word, "reasons": reasons, "priority": priority })
}

/// A line for an answer as JSON, and one for each of its reasons. `place`: where it stands among those that accept, in so many
/// letters; `weighed`: by what.
pub(crate) fn draw(answer: &Value, place: &str, width: usize, weighed: &str) -> String {
    let field = |name: &str| harmless(answer[name].as_str().unwrap_or_default());
    let (place, word) = match &*field("answer") {
        "Accepts" => (place, "accepts"),
        "Refuses" => ("-", "refuses"),
        "CannotTake" => ("-", "cannot take it"),
        _ => ("?", "unknown"),
    };
    let mut out = format!("  {place:<width$}{}  {word}  ({weighed})\n", field("acceptAPI"));
    for reason in answer["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        out.push_str(&format!("  {:width$}  {}\n", "", harmless(reason)));
    }
    out
}
