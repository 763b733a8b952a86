//! How a field's name is written in an expression: Kubernetes' escapes. See
//! <https://kubernetes.io/docs/reference/using-api/cel/#escaping>.
//!
//! Names with other characters than these have no way to be written, and no expression sees such a field.

/// Signs that a name in JSON may hold and one in CEL may not, and how they are written.
const SIGNS: &[(&str, &str)] = &[("__underscores__", "__"), ("__dot__", "."), ("__dash__", "-"), ("__slash__", "/")];

/// Words that CEL keeps for itself.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether CEL keeps this word for itself.
pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// Whether an expression can name this field at all.
pub(super) fn is_visible(name: &str) -> bool {
    let signs = |byte: u8| matches!(byte, b'_' | b'.' | b'-' | b'/');
    name.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || signs(first))
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || signs(byte))
}

/// How the field is written in an expression.
pub(super) fn escape(name: &str) -> String {
    if is_reserved(name) {
        return format!("__{name}__");
    }
    let mut written = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let sign = SIGNS.iter().find(|(_, sign)| rest.starts_with(sign));
        let length = sign.map_or(first.len_utf8(), |(_, sign)| sign.len());
        written.push_str(sign.map_or(&rest[..length], |(escape, _)| escape));
        rest = &rest[length..];
    }
    written
}

/// The field that is written so; `None` where no field is.
pub(super) fn unescape(written: &str) -> Option<String> {
    let word = written.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if let Some(word) = word.filter(|word| is_reserved(word)) {
        return Some(word.to_owned());
    }
    let mut name = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(first) = rest.chars().next() {
        let (length, text) = match SIGNS.iter().find(|(escape, _)| rest.starts_with(escape)) {
            Some((escape, sign)) => (escape.len(), *sign),
            None => (first.len_utf8(), &rest[..first.len_utf8()]),
        };
        name.push_str(text);
        rest = &rest[length..];
    }
    // One way to write each: `a__b` and `odd-name` are no names of fields.
    (escape(&name) == written).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn as_kubernetes_has_it() {
        for (name, written) in [
            ("plain", "plain"),
            ("odd-name", "odd__dash__name"),
            ("with.dot", "with__dot__dot"),
            ("a/b", "a__slash__b"),
            ("a__b", "a__underscores__b"),
            ("_u", "_u"),
            ("in", "__in__"),
            ("namespace", "__namespace__"),
            ("string", "string"),
            ("redact__", "redact__underscores__"),
        ] {
            assert_eq!(escape(name), written, "{name}");
            assert_eq!(unescape(written).as_deref(), Some(name), "{written}");
        }
        for written in ["a__b", "odd-name", "with.dot", "in", "namespace", "__string__"] {
            assert_eq!(unescape(written), None, "{written}");
        }
        assert!(is_visible("-odd") && is_visible("a.b/c-d_1"));
        assert!(!is_visible("1a") && !is_visible("é") && !is_visible("a b") && !is_visible(""));
    }

    proptest! {
        #[test]
        fn there_and_back(name in "[a-z_./-]{1,12}|(__|dash|dot|-|_|in){1,6}") {
            prop_assert_eq!(unescape(&escape(&name)), Some(name));
        }
    }
}
