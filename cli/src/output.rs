//! How things are printed.

use clap::{Args, ValueEnum};

/// How something is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    #[default]
    Text,
    /// The same with more columns
    Wide,
    /// For programs
    Json,
    /// The same as YAML
    Yaml,
}

/// How a table is printed.
#[derive(Debug, Clone, Args)]
pub(crate) struct Printing {
    /// How it is printed
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) output: Output,
    /// Column that rows are ordered by
    #[arg(long, value_name = "COLUMN")]
    pub(crate) sort_by: Option<String>,
    /// Only rows with this in a column: COLUMN=TEXT; repeatable
    #[arg(long = "where", value_name = "COLUMN=TEXT")]
    pub(crate) filters: Vec<String>,
}
