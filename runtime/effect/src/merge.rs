//! JSON merge patches (RFC 7386): the smallest patch that makes one value of another; and digests of values.

use runtime_cel::schema::same_scalar;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The merge patch from `from` to `to`, `None` when they are equal. Nulls inside `to` count as absent: a merge patch cannot write them.
pub fn diff(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return (!same(from, to)).then(|| to.clone());
    };
    let mut patch = Map::new();
    for name in from.keys().filter(|name| to.get(*name).is_none_or(Value::is_null)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, to) in to.iter().filter(|(_, value)| !value.is_null()) {
        match from.get(name) {
            Some(from) => {
                if let Some(inner) = diff(from, to) {
                    patch.insert(name.clone(), inner);
                }
            }
            None => {
                patch.insert(name.clone(), to.clone());
            }
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => same_scalar(left, right),
    }
}

/// A digest that does not depend on the order of fields.
pub fn digest(value: &Value) -> [u8; 8] {
    let mut feed = Feed::default();
    feed.value(value);
    let mut short = [0; 8];
    short.copy_from_slice(&feed.digest()[..8]);
    short
}

/// What is digested. Each value is fed with its type and, where it has a length, that, so that no two values feed the
/// same bytes.
#[derive(Default)]
struct Feed {
    hash: Sha256,
    /// Not hashed yet: most pieces are a few bytes, which cost as much as a block.
    pending: Vec<u8>,
}

/// So much is hashed at once.
const PIECE: usize = 4 << 10;

impl Feed {
    fn bytes(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= PIECE {
            self.hash.update(&self.pending);
            self.pending.clear();
        }
    }

    fn length(&mut self, length: usize) {
        self.bytes(&(length as u64).to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.bytes(text.as_bytes());
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.bytes(b"0"),
            Value::Bool(value) => self.bytes(if *value { b"t" } else { b"f" }),
            Value::Number(number) => {
                self.bytes(b"n");
                self.text(&number.to_string());
            }
            Value::String(value) => {
                self.bytes(b"s");
                self.text(value);
            }
            Value::Array(values) => {
                self.bytes(b"a");
                self.length(values.len());
                for value in values {
                    self.value(value);
                }
            }
            Value::Object(fields) => {
                self.bytes(b"o");
                self.length(fields.len());
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_unstable_by_key(|(name, _)| *name);
                for (name, value) in fields {
                    self.text(name);
                    self.value(value);
                }
            }
        }
    }

    fn digest(mut self) -> [u8; 32] {
        self.hash.update(&self.pending);
        self.hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn apply(target: &mut Value, patch: &Value) {
        let Value::Object(patch) = patch else {
            *target = patch.clone();
            return;
        };
        if !target.is_object() {
            *target = json!({});
        }
        let fields = target.as_object_mut().unwrap();
        for (name, value) in patch {
            if value.is_null() {
                fields.remove(name);
            } else {
                apply(fields.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
    }

    /// API servers write 1.0 as 1.
    #[test]
    fn what_differs_only_in_how_a_number_is_written_is_the_same_however_deep() {
        let (whole, half) = (json!({"a": [[1], {"b": [2]}]}), json!({"a": [[1.0], {"b": [2.0]}]}));
        assert_eq!(diff(&whole, &half), None);
        assert!(diff(&whole, &json!({"a": [[1.0], {"b": [2.0, 3]}]})).is_some());
        assert!(diff(&whole, &json!({"a": [[1.0], {"c": [2.0]}]})).is_some());
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (-3_i64..3).prop_map(Value::from),
            "[ab]{0,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-d]", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    #[test]
    fn a_digest_stays_what_it_was() {
        // Origins' signatures hold it.
        let value = json!({"b": [1, null, true], "a": "x".repeat(5000)});
        assert_eq!(hex::encode(digest(&value)), "6ef7f8402fac6d2d");
    }

    proptest! {
        #[test]
        fn a_patch_leads_from_one_to_the_other(from in value(), to in value()) {
            let mut patched = from.clone();
            if let Some(patch) = diff(&from, &to) {
                apply(&mut patched, &patch);
            }
            prop_assert_eq!(patched, to);
        }

        #[test]
        fn equal_values_need_no_patch_and_digest_the_same(a in value(), b in value()) {
            prop_assert_eq!(diff(&a, &a), None);
            prop_assert_eq!(digest(&a) == digest(&b), a == b);
        }
    }
}
