//! Whose a CRD is that has the name of ours.

use broker_api::graphs::keys;
use serde_json::Value;

use super::Owner;
use crate::labels;

/// Whose a CRD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// This RGD's.
    Ours,
    /// That of an RGD of the same name, made before this one; it becomes this one's.
    Adopted,
    /// Another RGD's, of this name.
    Other(String),
    /// None of ours.
    Foreign,
}

impl Ownership {
    /// Why the CRD of this name must not be touched, if so; in kro's words.
    pub fn refusal(&self, crd: &str) -> Option<String> {
        match self {
            Self::Ours | Self::Adopted => None,
            Self::Other(rgd) => {
                Some(format!("failed to update CRD {crd}: CRD is owned by another ResourceGraphDefinition {rgd}"))
            }
            Self::Foreign => Some(format!("failed to update CRD {crd}: CRD already exists and is not owned by KRO")),
        }
    }
}

/// The text at a JSON pointer, empty where there is none.
pub fn text_at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn marked<'a>(object: &'a Value, part: &str, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get(part)?.get(key)?.as_str()
}

/// Whether a CRD was made by us or by kro; for which RGD is another question. Releases of kro before it had a label of its
/// own marked CRDs by `app.kubernetes.io/managed-by`.
pub fn is_owned(crd: &Value) -> bool {
    match marked(crd, "labels", keys::OWNED) {
        Some(owned) => owned == keys::TRUE,
        None => marked(crd, "labels", keys::MANAGED_BY) == Some(keys::MANAGED_BY_VALUE),
    }
}

/// Whose a CRD is that has the name of this RGD's.
pub fn ownership(crd: &Value, owner: Owner<'_>) -> Ownership {
    if !is_owned(crd) {
        return Ownership::Foreign;
    }
    let name = marked(crd, "labels", keys::RGD_NAME).unwrap_or_default();
    if name.is_empty() {
        // Somebody's, in any case: kro writes the name with every label that says it is its own.
        return Ownership::Other(format!("(its label {} is missing)", keys::RGD_NAME));
    }
    if name != labels::value(owner.name).value {
        let whole = marked(crd, "annotations", keys::RGD_NAME).filter(|whole| labels::value(whole).value == name);
        return Ownership::Other(whole.unwrap_or(name).to_owned());
    }
    if marked(crd, "labels", keys::RGD_ID) == Some(owner.uid) { Ownership::Ours } else { Ownership::Adopted }
}
