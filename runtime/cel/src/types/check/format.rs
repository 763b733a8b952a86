//! Literal formats: `"%s has %d".format([name, 3])` is compared with its arguments, as cel-go does, before anything is
//! evaluated.

use std::{iter::Peekable, str::Chars};

use cel_interpreter::{
    common::ast::{EntryExpr, Expr},
    parser::Expression,
};

use super::{Checker, TypeError};
use crate::types::cel_type::Type;

/// One `%…` of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clause {
    Text,
    Decimal,
    Fixed,
    Scientific,
    Binary,
    Hex,
    Octal,
}

impl Clause {
    fn takes(self, given: &Type) -> bool {
        if matches!(given, Type::Dyn | Type::Int | Type::Uint) {
            return true;
        }
        match self {
            Self::Text => !matches!(given, Type::Struct(_) | Type::Native(_) | Type::Optional(_)),
            Self::Decimal | Self::Fixed | Self::Scientific => matches!(given, Type::Double),
            Self::Binary => matches!(given, Type::Bool),
            Self::Hex => matches!(given, Type::String | Type::Bytes),
            Self::Octal => false,
        }
    }

    fn refusal(self, given: &Type) -> TypeError {
        let takes = match self {
            Self::Text => "%s takes all but objects and optionals",
            Self::Decimal => "%d takes ints, uints and doubles",
            Self::Fixed => "%f takes ints, uints and doubles",
            Self::Scientific => "%e takes ints, uints and doubles",
            Self::Binary => "%b takes ints, uints and bools",
            Self::Hex => "%x takes ints, uints, texts and bytes",
            Self::Octal => "%o takes ints and uints",
        };
        TypeError::new(format!("error during formatting: {takes}, it is given {given}"))
    }
}

impl Checker<'_> {
    /// Compares a format with the elements of the list that it is given.
    pub(super) fn check_format(&mut self, format: &str, arguments: &[Expression]) -> Result<(), TypeError> {
        let mut rest = format.chars().peekable();
        let mut used = 0;
        while let Some(clause) = next_clause(&mut rest)? {
            let argument = arguments.get(used);
            let argument = argument.ok_or_else(|| {
                TypeError::new(format!("index {used} out of range: the format needs an argument for each of its %"))
            })?;
            self.check_argument(clause, argument)?;
            used += 1;
        }
        if arguments.len() > used {
            let given = arguments.len();
            return Err(TypeError::new(format!(
                "too many arguments: the format uses {used} of the {given} it is given"
            )));
        }
        Ok(())
    }

    /// A text may be made of whole lists and maps, and nothing else may: those that are written out are looked into.
    fn check_argument(&mut self, clause: Clause, argument: &Expression) -> Result<(), TypeError> {
        let mut open = vec![argument];
        while let Some(part) = open.pop() {
            let found = self.types.get(&part.id).cloned().unwrap_or(Type::Dyn);
            let found = self.unifier.ground(&found)?;
            if !clause.takes(&found) {
                return Err(clause.refusal(&found));
            }
            match &part.expr {
                Expr::List(list) => open.extend(&list.elements),
                Expr::Map(map) => {
                    for entry in &map.entries {
                        if let EntryExpr::MapEntry(entry) = &entry.expr {
                            open.extend([&entry.key, &entry.value]);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The next clause of a format; `None` at its end.
fn next_clause(rest: &mut Peekable<Chars<'_>>) -> Result<Option<Clause>, TypeError> {
    loop {
        if !rest.any(|char| char == '%') {
            return Ok(None);
        }
        // `%%` is a plain sign.
        if rest.next_if_eq(&'%').is_none() {
            return read_clause(rest).map(Some);
        }
    }
}

fn read_clause(rest: &mut Peekable<Chars<'_>>) -> Result<Clause, TypeError> {
    if rest.next_if_eq(&'.').is_some() {
        let mut digits = 0;
        while rest.next_if(char::is_ascii_digit).is_some() {
            digits += 1;
        }
        if digits == 0 || rest.peek().is_none() {
            return Err(flawed("behind %. stand digits and then a letter, as in %.2f"));
        }
    }
    match rest.next() {
        Some('s') => Ok(Clause::Text),
        Some('d') => Ok(Clause::Decimal),
        Some('f') => Ok(Clause::Fixed),
        Some('e') => Ok(Clause::Scientific),
        Some('b') => Ok(Clause::Binary),
        Some('x' | 'X') => Ok(Clause::Hex),
        Some('o') => Ok(Clause::Octal),
        Some(other) => Err(flawed(&format!("%{other} is none of %s %d %f %e %b %x %X %o"))),
        None => Err(TypeError::new("unexpected end of string: a plain % is written %%")),
    }
}

fn flawed(what: &str) -> TypeError {
    TypeError::new(format!("could not parse formatting clause: {what}"))
}
