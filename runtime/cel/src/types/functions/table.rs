//! `Table`: functions as they are declared.

/// Functions by name, each with the lines of its overloads. Order counts: the first that fits decides what a parameter
/// stands for. A name may occur in several tables.
pub(super) type Table = &'static [(&'static str, &'static [&'static str])];
