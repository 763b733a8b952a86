//! Whether a value of one type may be written to a field of another: by their shapes, names don't matter.
//!
//! Looser than CEL's own assignability, as kro has it: dyn goes everywhere, what is optional counts as what it holds, and a
//! map stands for an object if its values fit every field, for its keys are known only later. Stricter than kro where what
//! passes there is refused by every API server: a text or a list is no object, a map is no list. Looser where kro refuses
//! what is right: `{}` is an object, and a field of bytes takes text too, which is base64 already.

use std::fmt;

use super::{
    budget::{Budget, Overrun},
    cel_type::{Struct, Type},
};

/// Why a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    returned: String,
    expected: String,
    /// From the outside to the inside; the last says what is wrong there.
    path: Vec<String>,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { returned, expected, path } = self;
        write!(f, "returns type \"{returned}\" but expected \"{expected}\": {}", path.join(": "))
    }
}

impl std::error::Error for Misfit {}

/// Whether a value of the type `returned` may be written to a field of the type `expected`.
pub fn fits(returned: &Type, expected: &Type) -> Result<(), Misfit> {
    let mut comparison = Comparison { budget: Budget::default() };
    comparison.compare(returned, expected, 0).map_err(|mut path| {
        path.reverse();
        Misfit { returned: returned.to_string(), expected: expected.to_string(), path }
    })
}

/// What is wrong, then what it is in: from the inside to the outside.
type Trace = Vec<String>;

struct Comparison {
    budget: Budget,
}

impl Comparison {
    fn compare(&mut self, returned: &Type, expected: &Type, depth: u32) -> Result<(), Trace> {
        self.budget.look(depth).map_err(|Overrun| vec!["the types are too large to be compared".to_owned()])?;
        let returned = returned.held();
        match (returned, expected) {
            (Type::Dyn, _) | (_, Type::Dyn) | (Type::String, Type::Bytes) | (Type::Null, Type::Struct(_)) => Ok(()),
            (_, Type::Optional(inner)) => self.compare(returned, inner, depth + 1),
            (Type::List(returned), Type::List(expected)) => {
                self.compare(returned, expected, depth + 1).map_err(within("list element type incompatible"))
            }
            (other, Type::List(_)) => Err(vec![wrong_count("list", parts(other), 1)]),
            (Type::Map(returned), Type::Map(expected)) => {
                let key = self.compare(&returned.0, &expected.0, depth + 1);
                key.map_err(within("map key type incompatible"))?;
                let value = self.compare(&returned.1, &expected.1, depth + 1);
                value.map_err(within("map value type incompatible"))
            }
            (Type::Struct(returned), Type::Map(expected)) => self.object_as_map(returned, &expected.1, depth),
            (other, Type::Map(_)) => Err(vec![wrong_count("map", parts(other), 2)]),
            (Type::Map(returned), Type::Struct(expected)) => {
                self.map_as_object((&returned.0, &returned.1), expected, depth)
            }
            (Type::Struct(returned), Type::Struct(expected)) => self.objects(returned, expected, depth),
            (returned, expected) if same_kind(returned, expected) => Ok(()),
            (returned, expected) => {
                Err(vec![format!("type kind mismatch: got \"{returned}\", expected \"{expected}\"")])
            }
        }
    }

    fn object_as_map(&mut self, returned: &Struct, value: &Type, depth: u32) -> Result<(), Trace> {
        for (name, field) in returned.fields() {
            let fit = self.compare(&field.value, value, depth + 1);
            fit.map_err(within(format!("struct field \"{name}\" incompatible with map value type")))?;
        }
        Ok(())
    }

    fn map_as_object(&mut self, (key, value): (&Type, &Type), expected: &Struct, depth: u32) -> Result<(), Trace> {
        let nothing = (key, value) == (&Type::Dyn, &Type::Dyn);
        if nothing && !expected.fields().values().any(|field| field.required) {
            return Ok(());
        }
        if *key != Type::String {
            return Err(vec!["map keys must be strings to assign to struct".to_owned()]);
        }
        for (name, field) in expected.fields() {
            let fit = self.compare(value, &field.value, depth + 1);
            fit.map_err(within(format!("map value incompatible with struct field \"{name}\"")))?;
        }
        Ok(())
    }

    fn objects(&mut self, returned: &Struct, expected: &Struct, depth: u32) -> Result<(), Trace> {
        for (name, field) in returned.fields() {
            match expected.fields().get(name) {
                Some(taken) => {
                    let fit = self.compare(&field.value, &taken.value, depth + 1);
                    fit.map_err(within(format!("field \"{name}\" has incompatible type")))?;
                }
                None if expected.is_open() => {}
                None => return Err(vec![format!("field \"{name}\" exists in output but not in expected type")]),
            }
        }
        Ok(())
    }
}

fn within(what: impl Into<String>) -> impl FnOnce(Trace) -> Trace {
    move |mut trace| {
        trace.push(what.into());
        trace
    }
}

fn wrong_count(what: &str, got: usize, expected: usize) -> String {
    format!("{what} parameter count mismatch: got {got}, expected {expected}")
}

/// How many types a list or map is of.
fn parts(of: &Type) -> usize {
    match of {
        Type::Map(_) => 2,
        Type::List(_) => 1,
        _ => 0,
    }
}

/// For types with nothing inside.
fn same_kind(returned: &Type, expected: &Type) -> bool {
    match (returned, expected) {
        (Type::List(_) | Type::Map(_) | Type::Struct(_), _) => false,
        (Type::Type(_), Type::Type(_)) => true,
        (returned, expected) => returned == expected,
    }
}
