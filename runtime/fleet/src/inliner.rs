//! `Inliner`: makes one tree of a schema and all that it refers to, and no larger one than we can hold.

use std::borrow::Cow;

use serde_json::{Value, json, value::RawValue};

use crate::{hashed::HashMap, shape::Shape};

/// Schemas of a document by their names, as they were sent.
pub(crate) type Schemas<'a> = HashMap<Cow<'a, str>, &'a RawValue>;

/// What a kind's schema may take in memory as a tree, with its references resolved, in bytes. The largest of well-known CRDs
/// take a third of it.
const TREE: usize = 24 << 20;

/// How deep schema nodes may lie. Everybody who walks a schema recurses, and an API server must not choose our stack.
pub(crate) const DEPTH: usize = 100;

/// A schema with what it refers to in place, changed by `prepare` before. Half a schema would be taken for a whole one:
/// fields would be lost without a word. One that is too large is an error.
pub(crate) fn inline(schema: &RawValue, all: &Schemas<'_>, prepare: fn(&mut Value)) -> Result<Value, String> {
    let mut inliner = Inliner { all, open: Vec::new(), left: TREE };
    inliner.read(schema, 0, prepare).ok_or_else(|| format!("it takes more than {} MiB", TREE >> 20))
}

/// Puts referenced schemas in place. A schema within itself, and what lies too deep, becomes `{}`: it holds anything.
struct Inliner<'a> {
    all: &'a Schemas<'a>,
    /// References that are being followed.
    open: Vec<String>,
    /// Bytes that the tree may still take; 0: it is too large.
    left: usize,
}

impl Inliner<'_> {
    /// Parses a schema and puts what it refers to in place. `None`: it is too large.
    fn read(&mut self, raw: &RawValue, depth: usize, prepare: fn(&mut Value)) -> Option<Value> {
        let shape = Shape::of(raw.get().as_bytes());
        // What is parsed is charged before it is, and what is made of it once more as it is made.
        self.spend(shape.tree())?;
        // Everybody who walks a schema recurses: one that nests deeper than the parser goes holds anything.
        let Ok(mut parsed) = serde_json::from_str::<Value>(raw.get()) else { return Some(json!({})) };
        prepare(&mut parsed);
        let inlined = self.inline(parsed, depth)?;
        self.left += shape.tree();
        Some(inlined)
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.saturating_sub(bytes);
        (self.left > 0).then_some(())
    }

    fn inline(&mut self, schema: Value, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return Some(json!({}));
        }
        match schema {
            Value::Object(fields) => {
                self.spend(640)?;
                if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
                    let name = target.rsplit('/').next().unwrap_or_default();
                    let Some(found) = self.all.get(name) else { return Some(json!({})) };
                    if self.open.iter().any(|seen| seen == name) {
                        return Some(json!({}));
                    }
                    self.open.push(name.to_owned());
                    let inlined = self.read(found, depth + 1, |_| {});
                    self.open.pop();
                    return inlined;
                }
                let is_text = |name: &str, value: &Value| name == "description" && value.is_string();
                let kept = fields.into_iter().filter(|(name, value)| !is_text(name, value));
                kept.map(|(name, value)| Some((name, self.inline(value, depth + 1)?))).collect()
            }
            Value::Array(items) => {
                self.spend(32 * items.len())?;
                items.into_iter().map(|item| self.inline(item, depth + 1)).collect()
            }
            Value::String(text) => {
                self.spend(text.len())?;
                Some(Value::String(text))
            }
            other => Some(other),
        }
    }
}
