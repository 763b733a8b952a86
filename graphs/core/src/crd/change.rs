//! `Change`: one thing that a new schema says otherwise, in the words that kro has for it.

use std::{borrow::Cow, fmt};

use super::bound::{Bound, Step};

/// How much of a value is told, in characters.
const SHOWN: usize = 200;

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// A field, or the schema of a list's elements, is gone.
    PropertyRemoved,
    /// A field, or the schema of a list's elements, is new.
    PropertyAdded,
    /// Another type; of the whole version, another name, or no longer served.
    TypeChanged,
    /// Another description.
    DescriptionChanged,
    /// Another default.
    DefaultChanged,
    /// A field that was there must now be given.
    RequiredAdded,
    /// A field need no longer be given.
    RequiredRemoved,
    /// A field that must be given has no default any more.
    RequiredDefaultRemoved,
    /// A pattern where none was.
    PatternAdded,
    /// No pattern any more.
    PatternRemoved,
    /// Another pattern.
    PatternChanged,
    /// An allowed value is gone.
    EnumRestricted,
    /// An allowed value is new.
    EnumExpanded,
    /// Allowed values where any were. Not in kro.
    EnumAdded,
    /// A validation rule is new. Not in kro.
    ValidationAdded,
    /// A bound moved.
    Bound(Bound, Step),
}

impl ChangeKind {
    /// For programs, such as `MIN_LENGTH_ADDED`.
    pub fn code(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::PropertyRemoved => "PROPERTY_REMOVED",
            Self::PropertyAdded => "PROPERTY_ADDED",
            Self::TypeChanged => "TYPE_CHANGED",
            Self::DescriptionChanged => "DESCRIPTION_CHANGED",
            Self::DefaultChanged => "DEFAULT_CHANGED",
            Self::RequiredAdded => "REQUIRED_ADDED",
            Self::RequiredRemoved => "REQUIRED_REMOVED",
            Self::RequiredDefaultRemoved => "REQUIRED_DEFAULT_REMOVED",
            Self::PatternAdded => "PATTERN_ADDED",
            Self::PatternRemoved => "PATTERN_REMOVED",
            Self::PatternChanged => "PATTERN_CHANGED",
            Self::EnumRestricted => "ENUM_RESTRICTED",
            Self::EnumExpanded => "ENUM_EXPANDED",
            Self::EnumAdded => "ENUM_ADDED",
            Self::ValidationAdded => "VALIDATION_ADDED",
            Self::Bound(bound, step) => return Cow::Owned(format!("{}_{}", bound.code(), step.code())),
        })
    }
}

/// One thing that a new schema says otherwise. In text `Type changed from string to integer`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What changed.
    pub kind: ChangeKind,
    /// Whether objects, or what people write, that were right may now be wrong.
    pub breaking: bool,
    /// Where, such as `.properties.spec.properties.port.type`.
    pub path: String,
    /// What was there; empty where nothing was, or where the path says it.
    pub old: String,
    /// What is there now; likewise.
    pub new: String,
    /// Name of the field.
    pub name: String,
}

fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (old, new, name) = (shown(&self.old), shown(&self.new), shown(&self.name));
        match self.kind {
            ChangeKind::PropertyRemoved => write!(f, "Property {name} was removed"),
            // Of one that must be given, too: those are kro's words, and the path and the values tell.
            ChangeKind::PropertyAdded => write!(f, "Optional property {name} was added"),
            ChangeKind::TypeChanged => write!(f, "Type changed from {old} to {new}"),
            ChangeKind::DescriptionChanged => write!(f, "Description field was changed from {old} to {new}"),
            ChangeKind::DefaultChanged => write!(f, "Default value was changed from {old} to {new}"),
            ChangeKind::RequiredAdded => write!(f, "Field {new} is newly required"),
            ChangeKind::RequiredRemoved => write!(f, "Field {old} is no longer required"),
            ChangeKind::RequiredDefaultRemoved => write!(f, "Default value removed from required field {old}"),
            ChangeKind::PatternAdded => write!(f, "Validation pattern {new} was added"),
            ChangeKind::PatternRemoved => write!(f, "Validation pattern {old} was removed"),
            ChangeKind::PatternChanged => write!(f, "Validation pattern changed from {old} to {new}"),
            ChangeKind::EnumRestricted => write!(f, "Enum value {old} was removed"),
            ChangeKind::EnumExpanded => write!(f, "Enum value {new} was added"),
            ChangeKind::EnumAdded => write!(f, "Enum {new} was added to {name}"),
            ChangeKind::ValidationAdded => write!(f, "Validation rule {new} was added to {name}"),
            ChangeKind::Bound(bound, Step::Added) => write!(f, "{} constraint {new} was added", bound.title()),
            ChangeKind::Bound(bound, Step::Removed) => write!(f, "{} constraint {old} was removed", bound.title()),
            ChangeKind::Bound(bound, step) => {
                write!(f, "{} was {} from {old} to {new}", bound.title(), step.title())
            }
        }
    }
}
