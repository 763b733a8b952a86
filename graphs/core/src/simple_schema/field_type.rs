//! The type of a field, `map[string][]Port`: what stands around it, and what stands in the middle.

use super::error::shown;

/// Lists and maps around one type.
const MAX_AROUND: usize = 16;

/// A list or a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    List,
    Map,
}

/// What is in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Middle<'a> {
    /// A type of OpenAPI.
    Scalar(&'static str),
    /// An object with any fields.
    Object,
    /// A type of the RGD's own.
    Custom(&'a str),
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldType<'a> {
    /// From the outermost inwards.
    pub around: Vec<Around>,
    pub middle: Middle<'a>,
}

/// The type and the markers of a field's text.
pub(super) fn split(text: &str) -> (&str, &str) {
    text.split_once('|').unwrap_or((text, ""))
}

impl<'a> FieldType<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let whole = text.trim();
        let mut rest = whole;
        let mut around = Vec::new();
        loop {
            if let Some(element) = rest.strip_prefix("[]") {
                around.push(Around::List);
                rest = element.trim_start();
            } else if let Some(map) = rest.strip_prefix("map[") {
                let Some(value) = map.strip_prefix("string]") else {
                    return Err(format!("map key must be string, in {:?}: write map[string]T", shown(whole)));
                };
                around.push(Around::Map);
                rest = value.trim_start();
            } else {
                break;
            }
            if rest.is_empty() {
                return Err(format!("{:?} has no type at its end: write []string or map[string]string", shown(whole)));
            }
            if around.len() > MAX_AROUND {
                return Err(format!("type nesting too deep (max {MAX_AROUND}): {:?}", shown(whole)));
            }
        }
        if rest.is_empty() {
            return Err("the type is missing: write string, integer, …".to_owned());
        }
        let middle = match rest {
            "string" => Middle::Scalar("string"),
            "integer" => Middle::Scalar("integer"),
            "boolean" => Middle::Scalar("boolean"),
            "float" => Middle::Scalar("number"),
            "object" => Middle::Object,
            name => Middle::Custom(name),
        };
        Ok(Self { around, middle })
    }

    /// The type of the RGD's own that it uses.
    pub(super) fn custom(&self) -> Option<&'a str> {
        match self.middle {
            Middle::Custom(name) => Some(name),
            _ => None,
        }
    }
}

/// That there is no such type, and which one was meant.
pub(super) fn unknown(name: &str) -> String {
    let meant = match name.to_ascii_lowercase().as_str() {
        "int" | "int32" | "int64" | "integer" => "integer",
        "bool" | "boolean" => "boolean",
        "number" | "double" | "float" | "float64" => "float",
        "str" | "text" | "string" | "bytes" => "string",
        "any" | "map" | "dict" | "object" => "object",
        _ => "string, integer, boolean, float, object, []T, map[string]T or a name in schema.types",
    };
    format!("unknown type: {} (write {meant})", shown(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_maps_within_each_other() {
        let parsed = FieldType::parse(" []map[string] [] Port ").unwrap();
        assert_eq!(parsed.around, [Around::List, Around::Map, Around::List]);
        assert_eq!(parsed.custom(), Some("Port"));
        assert_eq!(FieldType::parse("float").unwrap().middle, Middle::Scalar("number"));
        assert_eq!(FieldType::parse("[ ]string").unwrap().custom(), Some("[ ]string"));
    }

    #[test]
    fn what_is_no_type() {
        for text in ["", "  ", "[]", "map[string]", "map[]string", "map[int]string", "map[string", "map[ string]string"]
        {
            assert!(FieldType::parse(text).is_err(), "{text:?}");
        }
        for depth in [1, 16, 17, 500_000] {
            let parsed = FieldType::parse(&"[]".repeat(depth))
                .err()
                .or_else(|| FieldType::parse(&format!("{}string", "[]".repeat(depth))).err());
            assert!(parsed.is_some());
            assert_eq!(FieldType::parse(&format!("{}string", "[]".repeat(depth))).is_ok(), depth <= 16, "{depth}");
        }
    }

    #[test]
    fn only_the_first_bar_ends_the_type() {
        assert_eq!(split("string | pattern=a|b"), ("string ", " pattern=a|b"));
        assert_eq!(split("string"), ("string", ""));
    }
}
