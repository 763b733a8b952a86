//! What is written, by chance.

use harness::Dice;
use serde_json::{Map, Value, json};

const WORDS: [&str; 4] = ["a", "b", "c", "d"];

/// What may be in a label, and in a Secret.
const VALUES: [&str; 3] = ["Zm9v", "YmFy", "YmF6"];

fn word(dice: &mut Dice) -> Value {
    json!(dice.pick(&WORDS))
}

fn some(dice: &mut Dice, make: impl Fn(&mut Dice, &str) -> Value) -> Vec<Value> {
    let chosen = WORDS.iter().filter(|_| dice.one_in(3)).copied().collect::<Vec<_>>();
    chosen.into_iter().map(|word| make(dice, word)).collect()
}

/// Some names with words, such as the data of a ConfigMap.
pub(crate) fn texts(dice: &mut Dice) -> Value {
    let mut texts = Map::new();
    for word in WORDS.iter().filter(|_| dice.one_in(3)).copied().collect::<Vec<_>>() {
        texts.insert(word.to_owned(), json!(dice.pick(&VALUES)));
    }
    Value::Object(texts)
}

/// A spec of a Certificate: fields that one side's CRD has and the other's has not, those that are defaulted, and every sort of
/// list.
pub(crate) fn spec(dice: &mut Dice) -> Value {
    let mut spec = json!({});
    for field in ["fqdn", "size", "note", "tier", "tags", "owners", "ports", "disks", "limits"] {
        if dice.one_in(2) {
            spec[field] = match field {
                "size" => json!(dice.below(3)),
                "tags" => Value::Array(some(dice, |dice, _| word(dice))),
                "owners" => Value::Array(some(dice, |_, word| json!(word))),
                "ports" => Value::Array(some(dice, |dice, name| match dice.below(3) {
                    0 => json!({"name": name}),
                    1 => json!({"name": name, "port": dice.below(3)}),
                    _ => json!({"name": name, "port": dice.below(3), "protocol": word(dice)}),
                })),
                "disks" => Value::Array(some(dice, |dice, _| match dice.below(2) {
                    0 => json!({"gb": dice.below(3)}),
                    _ => json!({"gb": dice.below(3), "class": word(dice)}),
                })),
                "limits" => texts(dice),
                _ => word(dice),
            };
        }
    }
    spec
}

/// A status of a Certificate.
pub(crate) fn status(dice: &mut Dice) -> Value {
    let mut status = json!({});
    for field in ["phase", "internal", "replicas", "conditions", "relatedResources"] {
        if dice.one_in(2) {
            status[field] = match field {
                "replicas" => json!(dice.below(3)),
                "conditions" => Value::Array(some(dice, |dice, kind| {
                    let generation = dice.below(3);
                    json!({"type": kind, "status": "True", "reason": "It", "message": "", "observedGeneration": generation})
                })),
                "relatedResources" => {
                    let mut related = json!({});
                    for word in texts(dice).as_object().into_iter().flatten() {
                        related[word.0] = json!({"object": {"name": word.1}});
                    }
                    related
                }
                _ => word(dice),
            };
        }
    }
    status
}

/// Labels and annotations, where there are any.
pub(crate) fn marks(dice: &mut Dice) -> Value {
    let mut metadata = json!({});
    for field in ["labels", "annotations"] {
        let texts = texts(dice);
        if texts.as_object().is_some_and(|texts| !texts.is_empty()) {
            metadata[field] = texts;
        }
    }
    metadata
}
