//! Values of labels: what may be one, and what becomes of a text that may not.

use std::borrow::Cow;

use broker_api::graphs::keys;
use sha2::{Digest, Sha256};

/// Longest value of a label.
pub const MAX_VALUE: usize = 63;

/// How much of a long text its label keeps, in bytes.
const KEPT: usize = 50;

/// Hex digits of the hash behind it.
const HASH: usize = 12;

/// Whether a text may be the value of a label.
pub fn is_value(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = [text.bytes().next(), text.bytes().next_back()];
    text.len() <= MAX_VALUE
        && text.bytes().all(is_inner)
        && ends.into_iter().flatten().all(|byte| byte.is_ascii_alphanumeric())
}

/// A text as the value of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelValue<'a> {
    /// The text, or `<first 50>-<12 hex of SHA-256>` of one that is too long.
    pub value: Cow<'a, str>,
    /// The whole text of one that is too long, for an annotation of the same key.
    pub whole: Option<&'a str>,
}

/// A text as the value of a label; one that is too long is cut, and told apart from others by its hash.
pub fn value(text: &str) -> LabelValue<'_> {
    if text.len() <= MAX_VALUE {
        return LabelValue { value: Cow::Borrowed(text), whole: None };
    }
    let mut hash = hex::encode(Sha256::digest(text.as_bytes()));
    hash.truncate(HASH);
    let kept = text.get(..text.floor_char_boundary(KEPT)).unwrap_or_default();
    LabelValue { value: Cow::Owned(format!("{kept}-{hash}")), whole: Some(text) }
}

/// Value of [`keys::VERSION`]: in a version that is no value of a label, `+` becomes `-`.
pub fn version(version: &str) -> Cow<'_, str> {
    if is_value(version) { Cow::Borrowed(version) } else { Cow::Owned(version.replace('+', "-")) }
}

/// Whether a label or annotation of this key is ours: no template may set it.
pub fn is_reserved_key(key: &str) -> bool {
    key.starts_with(keys::PREFIX) || key.starts_with(keys::INTERNAL_PREFIX)
}

/// Whether a label or annotation of this key says of a child whose it is and how it came to be: whatever an expression
/// makes of them, they are what we write, or are not there.
pub fn is_mark(key: &str) -> bool {
    [
        keys::OWNED,
        keys::VERSION,
        keys::INSTANCE_ID,
        keys::INSTANCE_NAME,
        keys::INSTANCE_NAMESPACE,
        keys::INSTANCE_GROUP,
        keys::INSTANCE_VERSION,
        keys::INSTANCE_KIND,
        keys::NODE_ID,
        keys::COLLECTION_INDEX,
        keys::COLLECTION_SIZE,
        keys::APPLYSET_PART_OF,
        keys::APPLY_ORDER,
        keys::ADOPTED,
        keys::APPLIED_DIGEST,
        keys::NESTING,
    ]
    .contains(&key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_may_be_a_value() {
        for good in ["", "a", "A-b_c.d", "v0.9.3", &"a".repeat(63)] {
            assert!(is_value(good), "{good}");
        }
        for bad in ["-a", "a-", ".", "a b", "a+b", "é", "a/b", &"a".repeat(64)] {
            assert!(!is_value(bad), "{bad}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_told_apart() {
        let short = "a".repeat(63);
        assert_eq!(value(&short), LabelValue { value: short.as_str().into(), whole: None });
        let (one, other) = (format!("{short}1"), format!("{short}2"));
        let (first, second) = (value(&one), value(&other));
        assert_eq!(first.whole, Some(one.as_str()));
        assert_eq!((first.value.len(), &first.value[..51]), (63, format!("{}-", &short[..50]).as_str()));
        assert!(is_value(&first.value) && first.value != second.value);
        // printf %s "$one" | sha256sum
        assert_eq!(value(&"x".repeat(64)).value, format!("{}-7ce100971f64", "x".repeat(50)));
    }

    #[test]
    fn a_version_is_changed_only_where_it_must_be() {
        for (given, wanted) in [("v0.9.3", "v0.9.3"), ("v0.9.3+54", "v0.9.3-54"), ("dev+a+b", "dev-a-b"), ("", "")] {
            assert_eq!(version(given), wanted);
        }
    }

    #[test]
    fn keys_of_ours() {
        for key in ["kro.run/owned", "internal.kro.run/apply-order", "kro.run/"] {
            assert!(is_reserved_key(key), "{key}");
        }
        for key in ["kro.run", "rbac.kro.run/aggregate-to-controller", "example.com/kro.run/owned", ""] {
            assert!(!is_reserved_key(key), "{key}");
        }
    }

    proptest! {
        #[test]
        fn a_long_name_becomes_a_value(name in "[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?") {
            prop_assert!(is_value(&value(&name).value));
        }

        #[test]
        fn never_panics(text in "\\PC{0,200}") {
            prop_assert!(value(&text).value.len() <= MAX_VALUE);
        }
    }
}
