//! Names of what is made for a Migration. Each begins with its id.

use crate::naming::{NameLimit, cut, hex_prefix};

/// `m` and 12 hex digits of the Migration's uid: valid as a name, a label and the beginning of either.
pub(super) fn id(uid: &str) -> String {
    format!("m{}", hex_prefix(uid, 12))
}

/// Name of a stage object, at most 63 bytes: many kinds put their names into labels.
pub(super) fn stage_object(id: &str, key: &str) -> String {
    cut(format!("{id}-{key}"), NameLimit::Label)
}

/// Name of the copy of a related object of one side, at most 253 bytes.
pub(super) fn related(id: &str, side: &str, name: &str) -> String {
    cut(format!("{id}-{side}-{name}"), NameLimit::Subdomain)
}

/// Whether an object of this name can have been made for the Migration with this id.
pub(super) fn belongs(id: &str, name: &str) -> bool {
    name.strip_prefix(id).is_some_and(|rest| rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_the_id_and_fit() {
        let id = id("0b6a3f0e");
        assert_eq!(id.len(), 13);
        assert_eq!(stage_object(&id, "job"), format!("{id}-job"));
        let (long, longer) = ("a".repeat(63), format!("{}b", "a".repeat(62)));
        let (one, other) = (stage_object(&id, &long), stage_object(&id, &longer));
        assert_eq!((one.len(), other.len()), (63, 63));
        assert_ne!(one, other);
        assert!(belongs(&id, &one) && !belongs(&id, &id) && !belongs(&id, &format!("{id}x-job")));
        let related = related(&id, "from", &"x.".repeat(126));
        assert!(related.len() <= 253 && related.starts_with(&format!("{id}-from-x.")));
        assert!(!related.contains(".-"), "a dot before the tail is no DNS name");
    }
}
