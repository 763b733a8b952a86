//! `Draft`: a resource before its expressions are checked: their types depend on all other resources.

use std::{collections::BTreeSet, sync::Arc};

use broker_api::graphs;
use runtime_cel::{
    graph::Program,
    types::{self, Type, Variables},
};

use super::{
    error::GraphError,
    expression::{Compiler, known, shown, type_of},
    kinds::ServedKind,
    resource::Role,
    tree::{Computed, Tree},
};

/// An expression in a template, and what its field takes.
pub(super) struct Draft {
    pub(super) path: String,
    pub(super) program: Program,
    /// The text as it stands there, for people.
    pub(super) told: String,
    pub(super) wanted: Wanted,
    pub(super) nullable: bool,
}

/// What a field takes.
pub(super) enum Wanted {
    /// Values of this type.
    Fitting(Type),
    /// Texts made of parts, which are texts.
    Text,
    /// A label selector; its type cannot be told in one with maps.
    Selector,
}

/// A resource before its expressions are checked.
pub(super) struct Sketch<'a> {
    pub(super) written: &'a graphs::Resource,
    pub(super) kind: Arc<ServedKind>,
    pub(super) role: Role,
    pub(super) template: Tree,
    pub(super) expressions: Vec<Draft>,
    pub(super) include_when: Vec<Program>,
    pub(super) ready_when: Vec<Program>,
    /// Iterators and their lists.
    pub(super) dimensions: Vec<(&'a str, Program)>,
}

impl Sketch<'_> {
    pub(super) fn id(&self) -> &str {
        &self.written.id
    }

    fn is_iterator(&self, name: &str) -> bool {
        self.dimensions.iter().any(|(iterator, _)| *iterator == name)
    }

    /// Checks the names that its expressions use. Returns them: ids of resources, the instance's, iterators.
    pub(super) fn dependencies(&self, is_name: impl Fn(&str) -> bool) -> Result<BTreeSet<String>, GraphError> {
        let mut uses = BTreeSet::new();
        let mut note = |program: &Program| uses.extend(program.variables().iter().cloned());
        for draft in &self.expressions {
            let place = || format!("resource {:?}: {}: {:?}", self.id(), draft.path, draft.told);
            known(&draft.program, |name| is_name(name) || self.is_iterator(name), place)?;
            note(&draft.program);
        }
        for program in &self.include_when {
            let place = || format!("resource {:?}: includeWhen {:?}", self.id(), shown(program.source()));
            known(program, &is_name, place)?;
            note(program);
        }
        for (iterator, program) in &self.dimensions {
            if let Some(other) = program.variables().iter().find(|name| self.is_iterator(name)) {
                return Err(GraphError::invalid(format_args!(
                    "node {:?}: forEach iterator {iterator:?} cannot reference other iterators [{other}] - forEach \
                     iterators are independent (cartesian product)",
                    self.id()
                )));
            }
            let place = || format!("resource {:?}: forEach {:?}", self.id(), shown(program.source()));
            known(program, &is_name, place)?;
            note(program);
        }
        if uses.contains(self.id()) {
            return Err(GraphError::invalid(format_args!(
                "resource {:?}: self references are not allowed: only readyWhen sees the resource itself",
                self.id()
            )));
        }
        Ok(uses)
    }

    /// Each iterator must be seen in the identity of an object.
    pub(super) fn check_identity(&self) -> Result<(), GraphError> {
        let identifying = |draft: &&Draft| {
            draft.path == "metadata.name" || self.kind.namespaced && draft.path == "metadata.namespace"
        };
        let used: BTreeSet<&String> =
            self.expressions.iter().filter(identifying).flat_map(|draft| draft.program.variables()).collect();
        let missing: Vec<&str> = self
            .dimensions
            .iter()
            .filter(|(iterator, _)| !used.iter().any(|name| name == iterator))
            .map(|(name, _)| *name)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(GraphError::invalid(format_args!(
            "node {:?}: all forEach dimensions must be used to produce a unique resource identity, missing: [{}]; use \
             them in metadata.name",
            self.id(),
            missing.join(" ")
        )))
    }
}

impl Draft {
    /// Checks the expression, and that its value may be written where it stands.
    pub(super) fn check(
        self,
        id: &str,
        variables: &Variables,
        iterates: bool,
        compiler: &mut Compiler<'_>,
    ) -> Result<Computed, GraphError> {
        let Self { path, mut program, told, wanted, nullable } = self;
        let place = || format!("resource {id:?} at path {path:?}");
        let returned = type_of(&mut program, variables, place)?;
        let mismatch = |what: &dyn std::fmt::Display| {
            GraphError::invalid(format_args!(
                "type mismatch in resource {id:?} at path {path:?}: expression {told:?} {what}"
            ))
        };
        match &wanted {
            Wanted::Text => types::fits(&returned, &Type::String).map_err(|misfit| mismatch(&misfit))?,
            Wanted::Selector if matches!(returned.held(), Type::Map(_) | Type::Struct(_) | Type::Dyn) => {}
            Wanted::Selector => {
                return Err(mismatch(&format_args!("returns type \"{returned}\" but expected a label selector")));
            }
            Wanted::Fitting(expected) => {
                types::fits(&returned, expected).map_err(|misfit| mismatch(&misfit))?;
                if *expected == Type::Bytes && *returned.held() == Type::Bytes {
                    let source = encoded(program.source(), returned != Type::Bytes);
                    program = compiler.program(&source, place)?;
                    type_of(&mut program, variables, place)?;
                }
            }
        }
        let optional = matches!(returned, Type::Optional(_)) && !nullable;
        Ok(Computed { path, program, iterates, optional })
    }
}

/// Bytes as a field of bytes has them in JSON.
fn encoded(source: &str, optional: bool) -> String {
    // A comment must not take the bracket with it.
    if optional { format!("({source}\n).optMap(b, base64.encode(b))") } else { format!("base64.encode({source}\n)") }
}
