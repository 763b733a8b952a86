//! The names that an expression takes from outside, and whether all that it calls exists.

use std::collections::BTreeSet;

use cel_interpreter::{
    common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue},
    parser::Expression,
};

use super::{
    fold::{Shape, shape},
    function::{Style, exists},
    interpret::type_name,
    macros::MAP_INSERT,
    value::TYPES,
};

/// Words that stand for nothing yet, and are no names. Behind a dot they are.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// What is not allowed, and the name that is to blame.
pub(super) struct Flaw {
    pub(super) what: String,
    pub(super) name: Option<String>,
}

impl Flaw {
    fn of(name: &str, what: String) -> Self {
        Self { what, name: Some(name.to_owned()) }
    }

    fn strange() -> Self {
        Self { what: "a construct that is not allowed".to_owned(), name: None }
    }
}

/// What an expression asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// The free names, sorted.
    pub(super) variables: Vec<String>,
    /// Whether `omit()` is called.
    pub(super) omits: bool,
    /// What conditions say that are fixed texts: key and text of `runtime.newCondition({type: "Ok"})`.
    pub(super) written: Vec<(String, String)>,
    /// Types of conditions of the instance that are fixed texts: `runtime.condition(schema, "Ready")`.
    pub(super) read: Vec<String>,
}

/// What it asks for, if all that it calls exists.
pub(super) fn asked(expression: &Expression) -> Result<Asked, Flaw> {
    let mut names = Names { inner: Vec::new(), free: BTreeSet::new(), asked: Asked::default() };
    names.read(expression)?;
    Ok(Asked { variables: names.free.into_iter().collect(), ..names.asked })
}

impl Asked {
    /// Adds what another piece of the same text asks for.
    pub(super) fn add(&mut self, other: Self) {
        self.variables.extend(other.variables);
        self.variables.sort();
        self.variables.dedup();
        self.omits |= other.omits;
        self.written.extend(other.written);
        self.read.extend(other.read);
    }
}

struct Names<'e> {
    /// Variables of loops and of `bind` around, inner ones last.
    inner: Vec<&'e str>,
    free: BTreeSet<String>,
    asked: Asked,
}

impl<'e> Names<'e> {
    fn read(&mut self, expression: &'e Expression) -> Result<(), Flaw> {
        match &expression.expr {
            Expr::Literal(_) => Ok(()),
            // The name of a type, unless something is asked of it.
            Expr::Ident(name) if TYPES.contains(&name.trim_start_matches('.')) => Ok(()),
            Expr::Ident(name) => self.name(name),
            Expr::Select(_) if type_name(expression).is_some() => Ok(()),
            Expr::Select(select) => self.asked(&select.operand),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.all(&list.elements),
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| {
                let EntryExpr::MapEntry(entry) = &entry.expr else { return Err(Flaw::strange()) };
                self.read(&entry.key)?;
                self.read(&entry.value)
            }),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(message) => {
                Err(Flaw::of(&message.type_name, format!("messages ({}{{…}}) are not known here", message.type_name)))
            }
            Expr::Unspecified => Err(Flaw::strange()),
        }
    }

    fn all(&mut self, expressions: &'e [Expression]) -> Result<(), Flaw> {
        expressions.iter().try_for_each(|expression| self.read(expression))
    }

    /// An expression of which a field, an element or a function is asked: no type has any.
    fn asked(&mut self, expression: &'e Expression) -> Result<(), Flaw> {
        match &expression.expr {
            Expr::Ident(name) => self.name(name),
            _ => self.read(expression),
        }
    }

    fn name(&mut self, name: &str) -> Result<(), Flaw> {
        let name = name.trim_start_matches('.');
        if RESERVED.contains(&name) {
            return Err(Flaw::of(name, format!("reserved identifier: {name}")));
        }
        if !self.inner.contains(&name) {
            self.free.insert(name.to_owned());
        }
        Ok(())
    }

    fn call(&mut self, call: &'e CallExpr) -> Result<(), Flaw> {
        let name = call.func_name.trim_start_matches('.');
        let known = match call.target.as_deref() {
            // Operators begin with a sign.
            None => {
                self.asked.omits |= name == "omit";
                let operator = !name.starts_with(|first: char| first.is_ascii_alphabetic()) || name == MAP_INSERT;
                operator || exists(name, Style::Global)
            }
            Some(target) => {
                let space = if let Expr::Ident(space) = &target.expr { Some(space) } else { None };
                if let Some(space) = space.filter(|space| exists(&format!("{space}.{name}"), Style::Global)) {
                    if space == "runtime" {
                        self.free.insert(space.clone());
                        self.condition(name, &call.args);
                    }
                    return self.all(&call.args);
                }
                let known = exists(name, Style::Method);
                if known {
                    self.asked(target)?;
                }
                known
            }
        };
        if !known {
            return Err(Flaw::of(name, format!("there is no function {name:?}")));
        }
        match call.args.split_first() {
            Some((of, rest)) if matches!(name, "_[_]" | "_[?_]" | "_?._") => {
                self.asked(of)?;
                self.all(rest)
            }
            _ => self.all(&call.args),
        }
    }

    /// Notes the fixed texts in a call of `runtime`.
    fn condition(&mut self, name: &str, args: &[Expression]) {
        match (name, args) {
            ("newCondition", [Expression { expr: Expr::Map(map), .. }]) => {
                let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some((literal(&entry.key)?, literal(&entry.value)?)),
                    EntryExpr::StructField(_) => None,
                });
                self.asked.written.extend(entries);
            }
            ("condition", [Expression { expr: Expr::Ident(of), .. }, wanted]) if of == "schema" => {
                self.asked.read.extend(literal(wanted));
            }
            _ => {}
        }
    }

    fn comprehension(&mut self, comprehension: &'e ComprehensionExpr) -> Result<(), Flaw> {
        let ComprehensionExpr { iter_range, iter_var, iter_var2, accu_var, accu_init, result, .. } = comprehension;
        let shape = shape(comprehension).ok_or_else(Flaw::strange)?;
        let outer = self.inner.len();
        let inner: Vec<&'e Expression> = match shape {
            Shape::Bound => {
                self.read(accu_init)?;
                self.inner.push(accu_var);
                vec![result]
            }
            shape => {
                self.read(iter_range)?;
                self.inner.extend([Some(iter_var), iter_var2.as_ref()].into_iter().flatten().map(String::as_str));
                match shape {
                    Shape::Bound => Vec::new(),
                    Shape::Quantified { test, .. } | Shape::One { test } => vec![test],
                    Shape::Append { guard, element } => guard.into_iter().chain([element]).collect(),
                    Shape::Insert { guard, args } => guard.into_iter().chain(args).collect(),
                }
            }
        };
        let read = inner.into_iter().try_for_each(|expression| self.read(expression));
        self.inner.truncate(outer);
        read
    }
}

/// A text that is written out.
fn literal(expression: &Expression) -> Option<String> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
        _ => None,
    }
}
