//! `Whose`: whether what a provider holds under the name of a copy is that copy, as far as its marks tell. What its signature
//! says only those know who have the key: the page, and `why`.

use broker_api::keys;
use serde_json::Value;

use crate::object::{annotation, text};

/// What an object of a copy's name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The copy.
    Copy,
    /// Made of another object.
    Another,
    /// It does not say.
    Unmarked,
}

impl Whose {
    /// Of what is `held` there; `origin`: the object that it would be the copy of.
    pub(crate) fn of(held: &Value, origin: &Value) -> Self {
        match annotation(held, keys::CONSUMER_UID) {
            Some(uid) if uid == text(origin, "/metadata/uid") => Self::Copy,
            Some(_) => Self::Another,
            None => Self::Unmarked,
        }
    }

    /// What people are told of one that is no copy.
    pub(crate) fn told(self) -> Option<&'static str> {
        match self {
            Self::Copy => None,
            Self::Another => Some("it was made of another object, or of an earlier one of this name"),
            Self::Unmarked => Some("it has no mark of this object: it is somebody else's, or its marks were removed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_copy_names_its_origin() {
        let origin = json!({ "metadata": { "uid": "1" } });
        let held = |uid: &str| json!({ "metadata": { "annotations": { keys::CONSUMER_UID: uid } } });
        assert_eq!(Whose::of(&held("1"), &origin), Whose::Copy);
        assert_eq!(Whose::of(&held("2"), &origin), Whose::Another);
        assert_eq!(Whose::of(&json!({ "metadata": {} }), &origin), Whose::Unmarked);
        assert!(Whose::Copy.told().is_none() && Whose::Another.told().is_some() && Whose::Unmarked.told().is_some());
    }
}
