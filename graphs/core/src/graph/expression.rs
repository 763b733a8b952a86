//! `Compiler`: the expressions of one RGD, each text compiled once.

use std::collections::{BTreeSet, HashMap};

use runtime_cel::{
    expression::ExpressionError,
    graph::{Evaluator, Program, TextTemplate},
    types::{self, Type, Variables},
};

use super::error::GraphError;

/// How much of an expression is told, in characters.
const SHOWN: usize = 200;

pub(super) struct Compiler<'a> {
    evaluator: &'a Evaluator,
    /// Whose expressions they are.
    owner: &'a str,
    programs: HashMap<String, Program>,
    most: usize,
    left: usize,
}

/// What a text is.
pub(super) enum Text {
    /// It has no expression.
    Plain,
    /// It is one expression.
    Standalone(Program),
    /// It has expressions within.
    Mixed(Program),
}

impl<'a> Compiler<'a> {
    pub(super) fn new(owner: &'a str, evaluator: &'a Evaluator, most: usize) -> Self {
        Self { evaluator, owner, programs: HashMap::new(), most, left: most }
    }

    /// The names that all expressions so far use.
    pub(super) fn used(&self) -> BTreeSet<&str> {
        self.programs.values().flat_map(Program::variables).map(String::as_str).collect()
    }

    /// Whether any expression so far reads what each write of an instance changes, its status' too.
    pub(super) fn reads_version(&self) -> bool {
        self.programs.keys().any(|source| reads_version(source))
    }

    /// Compiles an expression that stands at this place.
    pub(super) fn program(&mut self, source: &str, place: impl Fn() -> String) -> Result<Program, GraphError> {
        let (evaluator, owner) = (self.evaluator, self.owner);
        self.compiled(source, place, || evaluator.compile(owner, source))
    }

    /// What a text was compiled to, or is now: each counts, and is compiled once.
    fn compiled(
        &mut self,
        source: &str,
        place: impl Fn() -> String,
        compile: impl FnOnce() -> Result<Program, ExpressionError>,
    ) -> Result<Program, GraphError> {
        let most = self.most;
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            GraphError::invalid(format_args!("{}: an RGD may have {most} expressions at the most; split it", place()))
        })?;
        if let Some(program) = self.programs.get(source) {
            return Ok(program.clone());
        }
        let program = compile().map_err(|error| GraphError::expression(&place(), &error))?;
        self.programs.insert(source.to_owned(), program.clone());
        Ok(program)
    }

    /// Compiles a text that stands at this place.
    pub(super) fn text(&mut self, text: &str, place: impl Fn() -> String) -> Result<Text, GraphError> {
        let template =
            TextTemplate::parse(text).map_err(|error| GraphError::invalid(format_args!("{}: {error}", place())))?;
        match (template.standalone(), template.cel()) {
            (_, None) => Ok(Text::Plain),
            (Some(source), _) => Ok(Text::Standalone(self.program(source, place)?)),
            (None, Some(source)) => {
                let (evaluator, owner) = (self.evaluator, self.owner);
                Ok(Text::Mixed(self.compiled(&source, place, || evaluator.compile_text(owner, &template))?))
            }
        }
    }

    /// Compiles a text that must be one expression.
    pub(super) fn standalone(&mut self, text: &str, place: impl Fn() -> String) -> Result<Program, GraphError> {
        match self.text(text, &place)? {
            Text::Standalone(program) => Ok(program),
            Text::Plain | Text::Mixed(_) => Err(GraphError::invalid(format_args!(
                "{}: only standalone expressions are allowed: write ${{…}} and nothing around it",
                place()
            ))),
        }
    }
}

/// Whether an expression may read the version of an instance: by name, or in all that `schema` or its metadata is.
fn reads_version(source: &str) -> bool {
    // Anything but one of its fields: `schema.metadata.name`, and not `schema.metadata.map(…)`.
    let is_field = |rest: &str| {
        let field =
            rest.strip_prefix('.').map(|rest| rest.trim_start_matches(|end: char| end == '_' || end.is_alphanumeric()));
        field.is_some_and(|rest| !rest.starts_with('('))
    };
    let is_whole = |name: &str| {
        let mut all =
            source.match_indices(name).map(|(at, _)| (source[..at].ends_with('?'), &source[at + name.len()..]));
        all.any(|(optional, rest)| optional || !is_field(rest))
    };
    ["resourceVersion", "managedFields"].iter().any(|name| source.contains(name))
        || is_whole("schema")
        || is_whole("metadata")
}

/// The type of an expression that stands at this place. It is told what follows from the types around it, which may be others
/// where the same text stands.
pub(super) fn type_of(
    program: &mut Program,
    variables: &Variables,
    place: impl Fn() -> String,
) -> Result<Type, GraphError> {
    let checked = types::typed(program, variables).map(|(found, typed)| {
        *program = typed;
        found
    });
    checked.map_err(|error| {
        let source = shown(program.source());
        GraphError::invalid(format_args!("{}: failed to compile expression {source:?}: {error}", place()))
    })
}

/// Refuses names that an expression may not use.
pub(super) fn known(
    program: &Program,
    is_known: impl Fn(&str) -> bool,
    place: impl Fn() -> String,
) -> Result<(), GraphError> {
    let unknown: BTreeSet<String> =
        program.variables().iter().filter(|name| !is_known(name)).map(|name| shown(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let unknown = unknown.into_iter().collect::<Vec<_>>().join(" ");
    Err(GraphError::invalid(format_args!("{}: references unknown identifiers: [{unknown}]", place())))
}

/// Refuses `omit()`.
pub(super) fn never_omits(program: &Program, place: impl Fn() -> String) -> Result<(), GraphError> {
    if program.omits() {
        let place = place();
        return Err(GraphError::invalid(format_args!(
            "{place}: omit() can only be used in resource template expressions"
        )));
    }
    Ok(())
}

/// The beginning of a stranger's text.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_may_read_the_version_of_an_instance_is_known() {
        let reads = [
            "schema.metadata.resourceVersion",
            "string(schema.metadata)",
            "schema.metadata[\"resource\" + \"Version\"]",
            "schema",
            "[schema].map(all, all.metadata.?managedFields)",
            "schema.?metadata.orValue({})",
            "schema.metadata.exists(key, key == \"x\")",
        ];
        for source in reads {
            assert!(reads_version(source), "{source}");
        }
        for source in ["schema.spec.name", "schema.metadata.name + schema.metadata.labels.a", "config.data.x"] {
            assert!(!reads_version(source), "{source}");
        }
    }
}
