//! Types as text, in the two ways that cel-go has: as itself (`google.protobuf.Timestamp`, `null_type`), and as in the
//! checker's messages (`timestamp`, `null`).

use std::{cell::Cell, fmt};

use super::cel_type::Type;

/// Parts of a type that are written out, and how deep; the rest is `…`.
const PARTS: u32 = 200;
const DEPTH: u32 = 40;

/// A type as the checker's messages name it.
pub(super) struct InMessage<'a>(pub(super) &'a Type);

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Writer { left: Cell::new(PARTS), in_message: false }.write(f, self, 0)
    }
}

impl fmt::Display for InMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Writer { left: Cell::new(PARTS), in_message: true }.write(f, self.0, 0)
    }
}

struct Writer {
    left: Cell<u32>,
    in_message: bool,
}

impl Writer {
    fn write(&self, f: &mut fmt::Formatter<'_>, shown: &Type, depth: u32) -> fmt::Result {
        let Some(left) = self.left.get().checked_sub(1).filter(|_| depth < DEPTH) else {
            return f.write_str("…");
        };
        self.left.set(left);
        let within = |f: &mut fmt::Formatter<'_>, name: &str, parts: &[&Type]| {
            write!(f, "{name}(")?;
            for (index, part) in parts.iter().enumerate() {
                f.write_str(if index > 0 { ", " } else { "" })?;
                self.write(f, part, depth + 1)?;
            }
            f.write_str(")")
        };
        let name = match shown {
            Type::List(element) => return within(f, "list", &[element]),
            Type::Map(entry) => return within(f, "map", &[&entry.0, &entry.1]),
            Type::Optional(value) => return within(f, "optional_type", &[value]),
            Type::Type(instance) => return within(f, "type", &[instance]),
            Type::Struct(object) => return write!(f, "{}", object.name()),
            Type::Param(number) => return write!(f, "_var{number}"),
            Type::Native(native) => native.name(),
            Type::Null if self.in_message => "null",
            Type::Timestamp if self.in_message => "timestamp",
            Type::Duration if self.in_message => "duration",
            Type::Null => "null_type",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::Duration => "google.protobuf.Duration",
            Type::Dyn => "dyn",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::String => "string",
            Type::Bytes => "bytes",
        };
        f.write_str(name)
    }
}
