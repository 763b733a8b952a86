//! Bounds of values, such as `minLength`: their names, and what it means when one moves.

/// A bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// `minimum`
    Minimum,
    /// `maximum`
    Maximum,
    /// `minLength`
    MinLength,
    /// `maxLength`
    MaxLength,
    /// `minItems`
    MinItems,
    /// `maxItems`
    MaxItems,
}

/// How a bound moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// There was none.
    Added,
    /// There is none any more.
    Removed,
    /// It is higher.
    Increased,
    /// It is lower.
    Decreased,
}

impl Bound {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Minimum, Self::Maximum, Self::MinLength, Self::MaxLength, Self::MinItems, Self::MaxItems];

    /// As in a schema.
    pub fn key(self) -> &'static str {
        match self {
            Self::Minimum => "minimum",
            Self::Maximum => "maximum",
            Self::MinLength => "minLength",
            Self::MaxLength => "maxLength",
            Self::MinItems => "minItems",
            Self::MaxItems => "maxItems",
        }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Minimum => "Minimum",
            Self::Maximum => "Maximum",
            Self::MinLength => "MinLength",
            Self::MaxLength => "MaxLength",
            Self::MinItems => "MinItems",
            Self::MaxItems => "MaxItems",
        }
    }

    /// For programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Minimum => "MINIMUM",
            Self::Maximum => "MAXIMUM",
            Self::MinLength => "MIN_LENGTH",
            Self::MaxLength => "MAX_LENGTH",
            Self::MinItems => "MIN_ITEMS",
            Self::MaxItems => "MAX_ITEMS",
        }
    }

    fn is_lower(self) -> bool {
        matches!(self, Self::Minimum | Self::MinLength | Self::MinItems)
    }

    /// Whether values that were right may now be wrong.
    pub fn is_breaking(self, step: Step) -> bool {
        match step {
            Step::Added => true,
            Step::Removed => false,
            Step::Increased => self.is_lower(),
            Step::Decreased => !self.is_lower(),
        }
    }
}

impl Step {
    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Increased => "increased",
            Self::Decreased => "decreased",
        }
    }

    /// For programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Removed => "REMOVED",
            Self::Increased => "INCREASED",
            Self::Decreased => "DECREASED",
        }
    }
}
