//! `Provenance`: the variable that a value comes from.

/// The variable that a value comes from.
#[derive(Debug, Clone)]
pub(super) struct Provenance {
    pub(super) name: String,
    /// Nothing more will come: what is not there is an error.
    pub(super) whole: bool,
}
