//! Names that people give: ids of resources, iterators, the kind. Whoever uses a reserved word or another form is told in
//! kro's words.

use std::collections::BTreeSet;

/// Longest id: it is the value of a label on children.
pub const MAX_ID: usize = 63;

/// Longest kind: its lower-case form is a DNS label.
pub const MAX_KIND: usize = 63;

/// How much of a wrong name is told, in characters.
const SHOWN: usize = 80;

/// Words that are no ids: those of CEL, and those that have a meaning in expressions or are kept for one. Sorted.
pub const RESERVED: [&str; 53] = [
    "apiVersion",
    "as",
    "break",
    "const",
    "context",
    "continue",
    "dependencies",
    "dependency",
    "each",
    "else",
    "externalRef",
    "externalReference",
    "externalReferences",
    "externalRefs",
    "false",
    "for",
    "function",
    "graph",
    "if",
    "import",
    "in",
    "instance",
    "item",
    "items",
    "kind",
    "kro",
    "let",
    "loop",
    "metadata",
    "namespace",
    "null",
    "object",
    "package",
    "resource",
    "resourceGraphDefinition",
    "resourcegraphdefinition",
    "resources",
    "return",
    "root",
    "runtime",
    "schema",
    "self",
    "serviceAccountName",
    "spec",
    "status",
    "this",
    "true",
    "var",
    "variables",
    "vars",
    "version",
    "void",
    "while",
];

/// What is wrong with a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamingError {
    /// An id is a reserved word.
    #[error("naming convention violation: id {0} is a reserved keyword in KRO")]
    ReservedId(String),
    /// An id has another form.
    #[error("naming convention violation: id {0} is not a valid KRO resource id: must be lower camelCase")]
    InvalidId(String),
    /// An id is no label value.
    #[error("naming convention violation: id {0} is longer than {MAX_ID} characters: it becomes the value of a label")]
    LongId(String),
    /// Two resources have one id.
    #[error("naming convention violation: found duplicate resource IDs {0}")]
    DuplicateId(String),
    /// A kind has another form.
    #[error("naming convention violation: kind '{0}' is not a valid KRO kind name: must be UpperCamelCase")]
    InvalidKind(String),
    /// A group is one of Kubernetes' own.
    #[error("group {0:?} is one of Kubernetes' own, and its kinds may be served already: use a group of your own")]
    ReservedGroup(String),
    /// An iterator has another form.
    #[error("forEach iterator name {0:?} is not valid: must be lowerCamelCase")]
    InvalidIterator(String),
    /// An iterator is a reserved word.
    #[error("forEach iterator name {0:?} is a reserved keyword")]
    ReservedIterator(String),
    /// An iterator is the id of a resource.
    #[error("forEach iterator name {0:?} is the id of a resource: give it another name")]
    IteratorIsId(String),
    /// Two dimensions have one iterator.
    #[error("duplicate forEach iterator name {0:?}")]
    DuplicateIterator(String),
}

/// Whether it is a word that no id and no iterator may be.
pub fn is_reserved(word: &str) -> bool {
    RESERVED.binary_search(&word).is_ok()
}

/// Lower camel case: a small letter, then letters and digits.
pub fn is_lower_camel_case(name: &str) -> bool {
    is_camel_case(name, |first| first.is_ascii_lowercase())
}

fn is_camel_case(name: &str, is_first: impl Fn(u8) -> bool) -> bool {
    name.bytes().next().is_some_and(is_first) && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn shown(name: &str) -> String {
    match name.char_indices().nth(SHOWN) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
    }
}

/// Whether it may be the id of a resource.
pub fn check_id(id: &str) -> Result<(), NamingError> {
    if is_reserved(id) {
        return Err(NamingError::ReservedId(shown(id)));
    }
    if !is_lower_camel_case(id) {
        return Err(NamingError::InvalidId(shown(id)));
    }
    if id.len() > MAX_ID {
        return Err(NamingError::LongId(shown(id)));
    }
    Ok(())
}

/// Whether these may be the ids of one graph; the first that may not is told.
pub fn check_ids<'a>(ids: impl IntoIterator<Item = &'a str>) -> Result<(), NamingError> {
    let mut seen = BTreeSet::new();
    for id in ids {
        check_id(id)?;
        if !seen.insert(id) {
            return Err(NamingError::DuplicateId(shown(id)));
        }
    }
    Ok(())
}

/// Whether it may be the kind that is generated: its lower-case form becomes a DNS label.
pub fn check_kind(kind: &str) -> Result<(), NamingError> {
    if is_camel_case(kind, |first| first.is_ascii_uppercase()) && kind.len() <= MAX_KIND {
        Ok(())
    } else {
        Err(NamingError::InvalidKind(shown(kind)))
    }
}

/// Whether kinds may be generated in this group. API servers have CRDs in Kubernetes' own approved by an annotation, which
/// anybody can write; where the kind is served already, all of its objects would be taken for instances.
pub fn check_group(group: &str) -> Result<(), NamingError> {
    let is_reserved = ["k8s.io", "kubernetes.io"]
        .into_iter()
        .any(|own| group.strip_suffix(own).is_some_and(|before| before.is_empty() || before.ends_with('.')));
    if is_reserved { Err(NamingError::ReservedGroup(shown(group))) } else { Ok(()) }
}

/// Whether these may be the iterators of one resource, in a graph with these ids.
pub fn check_iterators<'a>(
    names: impl IntoIterator<Item = &'a str>,
    is_id: impl Fn(&str) -> bool,
) -> Result<(), NamingError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !is_lower_camel_case(name) {
            return Err(NamingError::InvalidIterator(shown(name)));
        }
        if is_reserved(name) {
            return Err(NamingError::ReservedIterator(shown(name)));
        }
        if is_id(name) {
            return Err(NamingError::IteratorIsId(shown(name)));
        }
        if !seen.insert(name) {
            return Err(NamingError::DuplicateIterator(shown(name)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(result: Result<(), NamingError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn the_reserved_words_are_sorted_or_they_would_not_be_found() {
        assert!(RESERVED.is_sorted());
        assert!(RESERVED.iter().all(|word| is_reserved(word)));
        assert!(!is_reserved("deployment") && !is_reserved("Spec") && !is_reserved(""));
    }

    #[test]
    fn ids_are_told_in_the_words_of_kro() {
        for good in ["a", "webApp2", "xY", &"a".repeat(63)] {
            assert_eq!(check_id(good), Ok(()), "{good}");
        }
        for word in ["self", "in", "kro", "serviceAccountName", "while"] {
            assert!(said(check_id(word)).ends_with(&format!("id {word} is a reserved keyword in KRO")));
        }
        for bad in ["", "A", "1a", "a-b", "a_b", "a.b", "é", "aé", " a", "a\n"] {
            let error = said(check_id(bad));
            assert!(
                error.ends_with(&format!("id {bad} is not a valid KRO resource id: must be lower camelCase")),
                "{error}"
            );
        }
        assert!(said(check_id(&"a".repeat(64))).contains("longer than 63"));
        assert!(said(check_id(&"é".repeat(1 << 20))).len() < 400);
    }

    #[test]
    fn ids_are_unique() {
        assert_eq!(check_ids(["a", "b"]), Ok(()));
        assert!(said(check_ids(["a", "b", "a"])).ends_with("found duplicate resource IDs a"));
        assert!(said(check_ids(["a", "spec"])).contains("reserved"));
    }

    #[test]
    fn kinds() {
        for good in ["A", "WebApp", "A1", &format!("A{}", "b".repeat(62))] {
            assert_eq!(check_kind(good), Ok(()), "{good}");
        }
        for bad in ["", "app", "my-app", "1App", "App_x", "App.X", &format!("A{}", "b".repeat(63))] {
            assert!(said(check_kind(bad)).ends_with("is not a valid KRO kind name: must be UpperCamelCase"), "{bad}");
        }
    }

    #[test]
    fn groups() {
        for good in ["kro.run", "example.com", "apps.x-k8s.io", "myk8s.io", "k8s.io.example.com"] {
            assert_eq!(check_group(good), Ok(()), "{good}");
        }
        for bad in ["k8s.io", "coordination.k8s.io", "a.b.k8s.io", "kubernetes.io", "policy.kubernetes.io"] {
            assert!(said(check_group(bad)).contains("one of Kubernetes' own"), "{bad}");
        }
    }

    #[test]
    fn iterators() {
        let check = |names: &[&'static str]| check_iterators(names.iter().copied(), |name| name == "db");
        assert_eq!(check(&["region", "tier"]), Ok(()));
        assert_eq!(said(check(&["X"])), r#"forEach iterator name "X" is not valid: must be lowerCamelCase"#);
        assert_eq!(said(check(&["x_y"])), r#"forEach iterator name "x_y" is not valid: must be lowerCamelCase"#);
        assert_eq!(said(check(&["each"])), r#"forEach iterator name "each" is a reserved keyword"#);
        assert_eq!(said(check(&["x", "x"])), r#"duplicate forEach iterator name "x""#);
        assert!(said(check(&["db"])).contains("is the id of a resource"));
    }
}
