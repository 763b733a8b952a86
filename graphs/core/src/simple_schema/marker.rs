//! Markers, `required=true description="a | b"`: names and values, apart.
//!
//! White space ends a value, except within double quotes and brackets; in a name it does not count. All else is an
//! ordinary character: `=` in a value, single quotes, `|`.

use super::error::shown;

/// What a marker is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Required,
    Default,
    Description,
    Minimum,
    Maximum,
    MinLength,
    MaxLength,
    Pattern,
    Enum,
    Validation,
    Immutable,
    MinItems,
    MaxItems,
    UniqueItems,
    ListType,
    ListMapKey,
}

const NAMES: [(&str, Name); 16] = [
    ("required", Name::Required),
    ("default", Name::Default),
    ("description", Name::Description),
    ("minimum", Name::Minimum),
    ("maximum", Name::Maximum),
    ("minLength", Name::MinLength),
    ("maxLength", Name::MaxLength),
    ("pattern", Name::Pattern),
    ("enum", Name::Enum),
    ("validation", Name::Validation),
    ("immutable", Name::Immutable),
    ("minItems", Name::MinItems),
    ("maxItems", Name::MaxItems),
    ("uniqueItems", Name::UniqueItems),
    ("listType", Name::ListType),
    ("listMapKey", Name::ListMapKey),
];

impl Name {
    pub(super) fn as_str(self) -> &'static str {
        NAMES.iter().find(|(_, name)| *name == self).map_or("", |(text, _)| text)
    }
}

/// One marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    pub name: Name,
    /// Without the quotes around it, escapes resolved.
    pub value: String,
}

/// The markers of a text.
pub(super) fn lex(text: &str) -> Result<Vec<Marker>, String> {
    let mut markers = Vec::new();
    let mut rest = text;
    loop {
        let (name, after) = name(rest, !markers.is_empty());
        let Some(after) = after else {
            return if name.is_empty() { Ok(markers) } else { Err(without_value(&name)) };
        };
        let name = named(&name)?;
        let length = value_length(after)?;
        let (value, after) = after.split_at_checked(length).unwrap_or((after, ""));
        markers.push(Marker { name, value: unquoted(value) });
        rest = after;
    }
}

/// The name at the beginning of a text, and what follows its `=`.
fn name(text: &str, after_marker: bool) -> (String, Option<&str>) {
    let (name, after) = match text.split_once('=') {
        Some((name, after)) => (name, Some(after)),
        None => (text, None),
    };
    let mut words = name.split_whitespace();
    // Documents separate markers by `|`, too. Before the end of the text, or twice, it is a mistake.
    let mut rest = words.clone();
    if after_marker && rest.next() == Some("|") && rest.next().is_some() {
        words.next();
    }
    (words.collect(), after)
}

fn named(text: &str) -> Result<Name, String> {
    if text.is_empty() {
        return Err("empty marker key: a marker is written name=value".to_owned());
    }
    let found = NAMES.iter().find(|(name, _)| *name == text);
    found.map(|(_, name)| *name).ok_or_else(|| {
        let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        format!("unknown marker: {} (there are {}; quote values that hold blanks)", shown(text), known.join(", "))
    })
}

fn without_value(name: &str) -> String {
    format!(
        "marker key '{}' without a value: write name=value, without blanks, and quote values that hold blanks",
        shown(name)
    )
}

/// Bytes up to the end of a value.
fn value_length(text: &str) -> Result<usize, String> {
    let (mut quoted, mut escaped, mut brackets) = (false, false, 0_usize);
    let mut end = text.len();
    for (position, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '[' | '{' => brackets += 1,
            ']' | '}' => {
                brackets = brackets.checked_sub(1).ok_or("unmatched closing bracket/brace: quote the value")?;
            }
            _ if brackets == 0 && char.is_whitespace() => {
                end = position;
                break;
            }
            _ => {}
        }
    }
    if quoted {
        return Err(format!("unclosed quote in {:?}: close it, or write \\\" within quotes", shown(text)));
    }
    if brackets > 0 {
        return Err(format!("unclosed bracket/brace in {:?}: close it, or quote the value", shown(text)));
    }
    Ok(end)
}

/// A value that is quoted as a whole, without its quotes: `\"` is `"`, `\\` is `\`, and any other backslash stays, for it
/// belongs to a pattern.
fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return value.to_owned();
    };
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        match chars.next() {
            Some(escaped @ ('"' | '\\')) => out.push(escaped),
            Some(other) => out.extend(['\\', other]),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(text: &str) -> Vec<(&'static str, String)> {
        let markers = lex(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        markers.into_iter().map(|marker| (marker.name.as_str(), marker.value)).collect()
    }

    fn one(text: &str) -> String {
        match values(text).as_slice() {
            [(_, value)] => value.clone(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn values_end_where_white_space_does() {
        assert_eq!(
            values("required=true\tdefault=x\n minimum=1 "),
            [("required", "true".to_owned()), ("default", "x".to_owned()), ("minimum", "1".to_owned())]
        );
        assert_eq!(values(""), []);
        assert_eq!(values(" \n"), []);
        assert_eq!(one("default =x"), "x", "white space in a name does not count");
        assert_eq!(values(r"default=a\ minimum=1"), [("default", r"a\".to_owned()), ("minimum", "1".to_owned())]);
    }

    #[test]
    fn quotes_and_brackets_hold_white_space() {
        for (text, value) in [
            (r#"default="a b""#, "a b"),
            (r#"default="""#, ""),
            ("default=", ""),
            (r#"pattern="^\d+\.\\$""#, r"^\d+\.\$"),
            (r#"description="say \"hi\"""#, r#"say "hi""#),
            ("default=[a b]", "[a b]"),
            (r#"default={"a": "}"}"#, r#"{"a": "}"}"#),
            (r#"default={"a":"\"}"}"#, r#"{"a":"\"}"}"#),
            ("default='x'", "'x'"),
            ("default=a=b", "a=b"),
            ("pattern=a|b", "a|b"),
            (r#"default=a"b c"d"#, r#"a"b c"d"#),
            (r#"default="a"b"c""#, r#"a"b"c"#),
            ("default={]", "{]"),
        ] {
            assert_eq!(one(text), value, "{text}");
        }
    }

    #[test]
    fn a_lone_bar_stands_between_markers_only() {
        assert_eq!(values("required=true | default=x").len(), 2);
        assert_eq!(values("required=true | default=x |\tminimum=1").len(), 3);
        for text in ["| default=x", "required=true |default=x", "required=true | | default=x", "required=true |"] {
            assert!(lex(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, told) in [
            ("default", "marker key 'default' without a value"),
            ("default = x", "marker key 'x' without a value"),
            ("=x", "empty marker key"),
            ("Required=true", "unknown marker: Required"),
            ("\"default\"=a", "unknown marker"),
            ("default=\"", "unclosed quote"),
            ("default=a\"b", "unclosed quote"),
            ("default=[", "unclosed bracket/brace"),
            ("default=a]", "unmatched closing bracket/brace"),
        ] {
            let error = lex(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
        assert!(lex(&"x".repeat(1 << 20)).unwrap_err().len() < 400);
    }

    proptest! {
        #[test]
        fn never_panics(text in r#"[a-z="\\{}\[\] |é]{0,40}"#) {
            let _ = lex(&text);
        }

        #[test]
        fn what_is_quoted_comes_back(value in "\\PC{0,20}") {
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            prop_assert_eq!(one(&format!("description=\"{quoted}\"")), value);
        }
    }
}
