//! `Overload`: one way to call a function, read from a line such as `list(A).(int) -> A`.
//!
//! Before the dot is what a method is called on; a function has no dot. Capital letters are whatever the arguments make of
//! them. `T in ordered: list(T).() -> T` is one line for each type that has an order.

use super::cel_type::{Native, Type};

/// Types that have an order, in which the first that fits wins: `[].sort()` is a list of ints.
const ORDERED: &[&str] = &["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];

/// Types that can be added up.
const SUMMABLE: &[&str] = &["int", "uint", "double", "duration"];

/// One way to call a function.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Overload {
    /// Called on the first argument: `x.f()`.
    pub(super) method: bool,
    /// How many parameters stand in its types: `Param(0)` and so on.
    pub(super) parameters: u32,
    pub(super) arguments: Vec<Type>,
    pub(super) result: Type,
}

/// The overloads of one line; `None` where it cannot be read.
pub(super) fn overloads(line: &str) -> Option<Vec<Overload>> {
    let (each, text) = match line.split_once(": ") {
        Some(("T in ordered", text)) => (ORDERED, text),
        Some(("T in summable", text)) => (SUMMABLE, text),
        Some(_) => return None,
        None => return Some(vec![overload(line)?]),
    };
    each.iter().map(|name| overload(&text.replace('T', name))).collect()
}

fn overload(line: &str) -> Option<Overload> {
    let mut reader = Reader { rest: line, letters: Vec::new() };
    let mut arguments = Vec::new();
    let method = !line.starts_with('(');
    if method {
        arguments.push(reader.read_type()?);
        reader.skip(".")?;
    }
    arguments.extend(reader.read_list()?);
    reader.skip(" -> ")?;
    let result = reader.read_type()?;
    let parameters = u32::try_from(reader.letters.len()).ok()?;
    reader.rest.is_empty().then_some(Overload { method, parameters, arguments, result })
}

struct Reader<'a> {
    rest: &'a str,
    /// Parameters seen so far; the place is the number.
    letters: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn skip(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    /// `(int, string)`
    fn read_list(&mut self) -> Option<Vec<Type>> {
        self.skip("(")?;
        let mut types = Vec::new();
        while self.skip(")").is_none() {
            if !types.is_empty() {
                self.skip(", ")?;
            }
            types.push(self.read_type()?);
        }
        Some(types)
    }

    fn read_type(&mut self) -> Option<Type> {
        let end = self.rest.find(|char: char| !char.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let inner = if rest.starts_with('(') && !name.is_empty() { self.read_list()? } else { Vec::new() };
        match (name, <[Type; 2]>::try_from(inner)) {
            ("map", Ok([key, value])) => Some(Type::map(key, value)),
            (name, Err(inner)) => match <[Type; 1]>::try_from(inner) {
                Ok([inner]) => of_one(name, inner),
                Err(inner) => {
                    if inner.is_empty() {
                        self.plain(name)
                    } else {
                        None
                    }
                }
            },
            _ => None,
        }
    }

    fn plain(&mut self, name: &'a str) -> Option<Type> {
        Some(match name {
            "dyn" => Type::Dyn,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "timestamp" => Type::Timestamp,
            "duration" => Type::Duration,
            "Url" => Type::Native(Native::Url),
            "Quantity" => Type::Native(Native::Quantity),
            "Semver" => Type::Native(Native::Semver),
            "Ip" => Type::Native(Native::Ip),
            "Cidr" => Type::Native(Native::Cidr),
            "Runtime" => Type::Native(Native::Runtime),
            "Condition" => Type::Native(Native::Condition),
            letter if letter.len() == 1 && letter.starts_with(|char: char| char.is_ascii_uppercase()) => {
                let known = self.letters.iter().position(|known| *known == letter);
                let number = known.unwrap_or_else(|| {
                    self.letters.push(letter);
                    self.letters.len() - 1
                });
                Type::Param(u32::try_from(number).ok()?)
            }
            _ => return None,
        })
    }
}

fn of_one(name: &str, inner: Type) -> Option<Type> {
    match name {
        "list" => Some(Type::list(inner)),
        "optional" => Some(Type::optional(inner)),
        "type" => Some(Type::of(inner)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn reads_what_it_says() {
        let read = overloads("map(K, list(V)).(optional(K), int) -> V").unwrap();
        let (key, value) = (Type::Param(0), Type::Param(1));
        let receiver = Type::map(key.clone(), Type::list(value.clone()));
        let arguments = vec![receiver, Type::optional(key), Type::Int];
        assert_eq!(read, vec![Overload { method: true, parameters: 2, arguments, result: value }]);
        let read = overloads("() -> type(dyn)").unwrap();
        assert_eq!(
            read,
            vec![Overload { method: false, parameters: 0, arguments: vec![], result: Type::of(Type::Dyn) }]
        );
        let read = overloads("T in ordered: list(T).() -> T").unwrap();
        assert_eq!((read.len(), &read[0].result, &read[6].result), (8, &Type::Int, &Type::String));
    }

    #[test]
    fn refuses_what_it_cannot_read() {
        for line in
            ["", "int", "(int) -> ", "(int) string", "(int int) -> int", "(list) -> int", "(list(int, int)) -> int"]
        {
            assert_eq!(overloads(line), None, "{line}");
        }
        for line in
            ["(map(int)) -> int", "(foo) -> int", "(int) -> int ", "T in all: (T) -> T", "(int -> int", "(AB) -> int"]
        {
            assert_eq!(overloads(line), None, "{line}");
        }
    }
}
