//! JSON merge patches (RFC 7386): the smallest patch that makes one value of another; and digests of values.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::schema::same_scalar;

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
    let mut bytes = Vec::new();
    feed(&mut bytes, value);
    let mut short = [0; 8];
    short.copy_from_slice(&Sha256::digest(&bytes)[..8]);
    short
}

/// Each value is fed with its type and, where it has a length, that, so that no two values feed the same bytes.
fn feed(bytes: &mut Vec<u8>, value: &Value) {
    fn text(bytes: &mut Vec<u8>, text: &str) {
        bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    match value {
        Value::Null => bytes.push(b'0'),
        Value::Bool(value) => bytes.push(if *value { b't' } else { b'f' }),
        Value::Number(number) => {
            bytes.push(b'n');
            text(bytes, &number.to_string());
        }
        Value::String(value) => {
            bytes.push(b's');
            text(bytes, value);
        }
        Value::Array(values) => {
            bytes.push(b'a');
            bytes.extend_from_slice(&(values.len() as u64).to_be_bytes());
            for value in values {
                feed(bytes, value);
            }
        }
        Value::Object(fields) => {
            bytes.push(b'o');
            bytes.extend_from_slice(&(fields.len() as u64).to_be_bytes());
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in fields {
                text(bytes, name);
                feed(bytes, value);
            }
        }
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
