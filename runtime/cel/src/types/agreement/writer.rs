//! Expressions of a type that was asked for.

use super::super::{Native, Type, Variables, functions, signature::Overload};
use super::choices::Choices;

/// Brackets within brackets.
const DEPTH: u32 = 4;

/// Fields below a variable that are written.
const FIELDS: u32 = 3;

/// Functions that are not written: the macros' own; those of `runtime`; what takes or gives anything.
const UNWRITTEN: [&str; 9] = [
    "format",
    "json.marshal",
    "@not_strictly_false",
    "cel.@mapInsert",
    "@sortByAssociatedKeys",
    "newCondition",
    "condition",
    "omit",
    "optional.none",
];

pub(super) struct Writer<'a> {
    choices: Choices,
    /// Names and types of what is there, fields and all.
    places: Vec<(String, Type)>,
    variables: &'a Variables,
    names: usize,
}

/// What a type is called where it stands for another.
type Bound = Vec<Option<Type>>;

impl<'a> Writer<'a> {
    pub(super) fn new(choices: Choices, variables: &'a Variables) -> Self {
        let mut writer = Self { choices, places: Vec::new(), variables, names: 0 };
        for name in ["o", "all"] {
            let of = writer.variables.get(name).unwrap().clone();
            writer.note(name, &of, FIELDS);
        }
        writer
    }

    /// An expression, and its type: one that JSON can hold.
    pub(super) fn write(&mut self) -> (String, Type) {
        let of = self.any(2);
        let written = self.expression(&of, DEPTH);
        if has_json(&of) { (written, of) } else { (format!("size([{written}])"), Type::Int) }
    }

    /// Notes a variable with all of its fields.
    fn note(&mut self, text: &str, of: &Type, depth: u32) {
        self.places.push((text.to_owned(), of.clone()));
        match of {
            Type::Struct(object) if depth > 0 => {
                for (name, field) in object.fields() {
                    let plain = super::super::escape::escape(name);
                    let is_noise =
                        text.ends_with("metadata") && !["name", "labels", "creationTimestamp"].contains(&&**name);
                    if is_noise {
                        continue;
                    }
                    self.note(&format!("{text}.{plain}"), &field.value, depth - 1);
                    self.places.push((format!("{text}.?{plain}"), Type::optional(field.value.clone())));
                }
            }
            Type::List(element) => {
                self.note(&format!("{text}[0]"), element, depth);
                self.places.push((format!("{text}[?1]"), Type::optional((**element).clone())));
            }
            Type::Map(entry) if entry.0 == Type::String => {
                self.note(&format!("{text}.a"), &entry.1, depth);
                self.places.push((format!("{text}[?'b']"), Type::optional(entry.1.clone())));
            }
            _ => {}
        }
    }

    /// A name that is not taken.
    fn name(&mut self) -> String {
        self.names += 1;
        format!("x{}", self.names)
    }

    /// Any type that can be written.
    fn any(&mut self, depth: u32) -> Type {
        let plain = [
            Type::String,
            Type::Int,
            Type::Bool,
            Type::Double,
            Type::Uint,
            Type::Bytes,
            Type::Timestamp,
            Type::Duration,
            Type::Null,
        ];
        let native = [Native::Quantity, Native::Semver, Native::Url, Native::Ip, Native::Cidr];
        match if depth == 0 { self.choices.below(2) } else { self.choices.below(9) } {
            0 | 1 => self.choices.of(&plain).clone(),
            2 | 3 => Type::list(self.any(depth - 1)),
            4 => Type::map(self.key(), self.any(depth - 1)),
            5 => Type::optional(self.any(depth - 1)),
            6 => Type::Native(*self.choices.of(&native)),
            _ => {
                let at = self.choices.below(self.places.len());
                self.places[at].1.clone()
            }
        }
    }

    fn key(&mut self) -> Type {
        self.choices.of(&[Type::String, Type::String, Type::Int, Type::Bool, Type::Uint]).clone()
    }

    fn expression(&mut self, of: &Type, depth: u32) -> String {
        match if depth == 0 { self.choices.below(2) } else { self.choices.below(7) } {
            0 => self.simple(of),
            1 => self.place(of).unwrap_or_else(|| self.simple(of)),
            2 => self.looped(of, depth - 1).unwrap_or_else(|| self.simple(of)),
            _ => self.called(of, depth - 1).unwrap_or_else(|| self.simple(of)),
        }
    }

    fn place(&mut self, of: &Type) -> Option<String> {
        let fitting: Vec<&String> = self.places.iter().filter(|(_, found)| found == of).map(|(text, _)| text).collect();
        (!fitting.is_empty()).then(|| (*self.choices.of(&fitting)).clone())
    }

    /// A literal or something like it.
    fn simple(&mut self, of: &Type) -> String {
        let among = |choices: &mut Choices, all: &[&str]| (*choices.of(all)).to_owned();
        let choices = &mut self.choices;
        match of {
            Type::Null | Type::Native(Native::Condition | Native::Runtime) => "null".to_owned(),
            Type::Bool => among(choices, &["true", "false"]),
            Type::Int => among(choices, &["1", "0", "-1", "7", "9223372036854775807"]),
            Type::Uint => among(choices, &["1u", "0u", "18446744073709551615u"]),
            Type::Double => among(choices, &["1.5", "0.0", "-2.0", "1e300"]),
            Type::String => among(
                choices,
                &[
                    "'a'",
                    "''",
                    "'1'",
                    "'true'",
                    "'%s %d'",
                    "'2026-01-31T01:02:03Z'",
                    "'1h'",
                    "'10.0.0.1'",
                    "'10.0.0.0/8'",
                    "'1Gi'",
                    "'1.2.3'",
                    "'https://a.b/c?d=e'",
                    "'[1]'",
                    "'YQ=='",
                    "'UTC'",
                ],
            ),
            Type::Bytes => among(choices, &["b'a'", "b''", "b'\\xff'"]),
            Type::Timestamp => among(choices, &["timestamp('2026-01-31T01:02:03Z')", "timestamp(0)"]),
            Type::Duration => among(choices, &["duration('1h')", "duration('0s')"]),
            Type::Native(Native::Quantity) => "quantity('1.5Gi')".to_owned(),
            Type::Native(Native::Semver) => "semver('1.2.3')".to_owned(),
            Type::Native(Native::Url) => "url('https://a.b/c?d=e')".to_owned(),
            Type::Native(Native::Ip) => "ip('10.0.0.1')".to_owned(),
            Type::Native(Native::Cidr) => "cidr('10.0.0.0/8')".to_owned(),
            // None is empty but by what is behind it: of `[]` the checker takes what fits first.
            Type::List(element) => {
                let elements: Vec<String> = (0..=self.choices.below(2)).map(|_| self.simple(element)).collect();
                format!("[{}]", elements.join(", "))
            }
            Type::Map(entry) => format!("{{{}: {}}}", self.simple(&entry.0), self.simple(&entry.1)),
            Type::Optional(held) => {
                let there = self.choices.below(2) == 0;
                let held = self.simple(held);
                if there { format!("optional.of({held})") } else { format!("[{held}][?1]") }
            }
            Type::Type(_) => "int".to_owned(),
            Type::Struct(_) => self.place(of).unwrap_or_else(|| "o".to_owned()),
            Type::Dyn | Type::Param(_) => {
                let of = self.any(1);
                self.simple(&of)
            }
        }
    }

    /// A call of a function that gives this.
    fn called(&mut self, of: &Type, depth: u32) -> Option<String> {
        let fitting: Vec<(&str, &Overload, Bound)> = functions::all()
            .filter(|(name, overload)| {
                !UNWRITTEN.contains(name) && !overload.arguments.contains(&Type::Native(Native::Runtime))
            })
            .filter_map(|(name, overload)| {
                let mut bound = vec![None; overload.parameters as usize];
                let gives = overload.result != Type::Dyn && matches(&overload.result, of, &mut bound);
                gives.then_some((name, overload, bound))
            })
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let (name, overload, mut bound) = fitting[self.choices.below(fitting.len())].clone();
        let mut keys = Vec::new();
        overload.arguments.iter().for_each(|argument| note_keys(argument, &mut keys));
        for (at, bound) in bound.iter_mut().enumerate() {
            if bound.is_none() {
                *bound = Some(if keys.contains(&at) || name == "@in" && at == 0 { self.key() } else { self.any(1) });
            }
        }
        let mut arguments = Vec::with_capacity(overload.arguments.len());
        for argument in &overload.arguments {
            let of = filled(argument, &bound);
            arguments.push(self.expression(&of, depth));
        }
        Some(called(name, overload.method, &arguments))
    }

    /// With a variable of this type, an expression of that.
    fn with(&mut self, variables: &[(&str, &Type)], of: &Type, depth: u32) -> String {
        let before = self.places.len();
        for (name, of) in variables {
            self.note(name, of, 1);
            // So that it is used.
            for _ in 0..10 {
                self.places.push(((*name).to_owned(), (*of).clone()));
            }
        }
        let written = self.expression(of, depth);
        self.places.truncate(before);
        written
    }

    /// A macro that gives this.
    fn looped(&mut self, of: &Type, depth: u32) -> Option<String> {
        let (x, y) = (self.name(), self.name());
        let among = self.choices.below(4);
        if among == 0 {
            let held = self.any(1);
            let value = self.expression(&held, depth);
            return Some(format!("cel.bind({x}, {value}, {})", self.with(&[(&x, &held)], of, depth)));
        }
        Some(match of {
            Type::Bool => {
                let name = *self.choices.of(&["exists", "all", "exists_one"]);
                if among == 1 {
                    let (key, value) = (self.key(), self.any(1));
                    let range = self.expression(&Type::map(key.clone(), value.clone()), depth);
                    let holds = self.with(&[(&x, &key), (&y, &value)], of, depth);
                    return Some(format!("({range}).{name}({x}, {y}, {holds})"));
                }
                let element = self.any(1);
                let range = self.expression(&Type::list(element.clone()), depth);
                format!("({range}).{name}({x}, {})", self.with(&[(&x, &element)], of, depth))
            }
            Type::List(to) if among == 1 => {
                let range = self.expression(of, depth);
                format!("({range}).filter({x}, {})", self.with(&[(&x, to)], &Type::Bool, depth))
            }
            Type::List(to) => {
                let element = self.any(1);
                let range = self.expression(&Type::list(element.clone()), depth);
                let variables = [(x.as_str(), &Type::Int), (y.as_str(), &element)];
                match self.choices.below(3) {
                    0 => format!("({range}).map({y}, {})", self.with(&variables[1..], to, depth)),
                    1 => format!("({range}).transformList({x}, {y}, {})", self.with(&variables, to, depth)),
                    _ => {
                        let range = self.expression(of, depth);
                        let key = self.choices.of(&[Type::String, Type::Int, Type::Timestamp]).clone();
                        format!("({range}).sortBy({y}, {})", self.with(&[(&y, to)], &key, depth))
                    }
                }
            }
            Type::Map(entry) => {
                let value = self.any(1);
                let range = self.expression(&Type::map(entry.0.clone(), value.clone()), depth);
                format!(
                    "({range}).transformMap({x}, {y}, {})",
                    self.with(&[(&x, &entry.0), (&y, &value)], &entry.1, depth)
                )
            }
            Type::Optional(to) => {
                let held = self.any(1);
                let from = self.expression(&Type::optional(held.clone()), depth);
                let (name, made) = if among == 1 { ("optMap", &**to) } else { ("optFlatMap", of) };
                format!("({from}).{name}({x}, {})", self.with(&[(&x, &held)], made, depth))
            }
            _ => return None,
        })
    }
}

fn called(name: &str, method: bool, arguments: &[String]) -> String {
    let sign = name.trim_matches('_');
    match (name, arguments) {
        ("_?_:_", [condition, one, other]) => format!("(({condition}) ? ({one}) : ({other}))"),
        ("@in", [one, of]) => format!("(({one}) in ({of}))"),
        ("_[_]", [of, at]) => format!("({of})[{at}]"),
        ("_[?_]", [of, at]) => format!("({of})[?{at}]"),
        ("!_" | "-_", [of]) => format!("{sign}({of})"),
        (_, [one, other]) if name.starts_with('_') => format!("(({one}) {sign} ({other}))"),
        (_, [target, rest @ ..]) if method => format!("({target}).{name}({})", rest.join(", ")),
        _ => format!("{name}({})", arguments.join(", ")),
    }
}

/// Whether a type of a signature stands for this one.
fn matches(pattern: &Type, of: &Type, bound: &mut Bound) -> bool {
    match (pattern, of) {
        (Type::Param(at), of) => match &mut bound[*at as usize] {
            Some(bound) => bound == of,
            free => {
                *free = Some(of.clone());
                true
            }
        },
        (Type::List(pattern), Type::List(of))
        | (Type::Optional(pattern), Type::Optional(of))
        | (Type::Type(pattern), Type::Type(of)) => matches(pattern, of, bound),
        (Type::Map(pattern), Type::Map(of)) => matches(&pattern.0, &of.0, bound) && matches(&pattern.1, &of.1, bound),
        (pattern, of) => pattern == of,
    }
}

/// Parameters that stand for keys of maps.
fn note_keys(argument: &Type, keys: &mut Vec<usize>) {
    match argument {
        Type::Map(entry) => {
            if let Type::Param(at) = entry.0 {
                keys.push(at as usize);
            }
        }
        Type::List(inner) | Type::Optional(inner) => note_keys(inner, keys),
        _ => {}
    }
}

fn filled(pattern: &Type, bound: &Bound) -> Type {
    match pattern {
        Type::Param(at) => bound[*at as usize].clone().unwrap(),
        Type::List(inner) => Type::list(filled(inner, bound)),
        Type::Optional(inner) => Type::optional(filled(inner, bound)),
        Type::Map(entry) => Type::map(filled(&entry.0, bound), filled(&entry.1, bound)),
        other => other.clone(),
    }
}

fn has_json(of: &Type) -> bool {
    match of {
        Type::Bytes | Type::Native(_) | Type::Type(_) => false,
        Type::List(inner) | Type::Optional(inner) => has_json(inner),
        Type::Map(entry) => entry.0 == Type::String && has_json(&entry.1),
        _ => true,
    }
}
