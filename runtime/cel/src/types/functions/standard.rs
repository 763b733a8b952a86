//! CEL's own operators and functions, and those of optional values. See
//! <https://github.com/google/cel-spec/blob/master/doc/langdef.md#list-of-standard-definitions>.
//!
//! Numbers of different types are not compared, added or mixed: kro leaves that option of cel-go off.

use super::table::Table;

pub(super) const OPERATORS: Table = &[
    ("_?_:_", &["(bool, A, A) -> A"]),
    ("_&&_", &["(bool, bool) -> bool"]),
    ("_||_", &["(bool, bool) -> bool"]),
    ("!_", &["(bool) -> bool"]),
    ("@not_strictly_false", &["(bool) -> bool"]),
    ("_==_", &["(A, A) -> bool"]),
    ("_!=_", &["(A, A) -> bool"]),
    ("_<_", COMPARED),
    ("_<=_", COMPARED),
    ("_>_", COMPARED),
    ("_>=_", COMPARED),
    (
        "_+_",
        &[
            "(bytes, bytes) -> bytes",
            "(double, double) -> double",
            "(duration, duration) -> duration",
            "(duration, timestamp) -> timestamp",
            "(timestamp, duration) -> timestamp",
            "(int, int) -> int",
            "(list(A), list(A)) -> list(A)",
            "(string, string) -> string",
            "(uint, uint) -> uint",
        ],
    ),
    (
        "_-_",
        &[
            "(double, double) -> double",
            "(duration, duration) -> duration",
            "(int, int) -> int",
            "(timestamp, duration) -> timestamp",
            "(timestamp, timestamp) -> duration",
            "(uint, uint) -> uint",
        ],
    ),
    ("_*_", &["(double, double) -> double", "(int, int) -> int", "(uint, uint) -> uint"]),
    ("_/_", &["(double, double) -> double", "(int, int) -> int", "(uint, uint) -> uint"]),
    ("_%_", &["(int, int) -> int", "(uint, uint) -> uint"]),
    ("-_", &["(double) -> double", "(int) -> int"]),
    ("@in", &["(A, list(A)) -> bool", "(A, map(A, B)) -> bool"]),
    (
        "_[_]",
        &[
            "(list(A), int) -> A",
            "(map(A, B), A) -> B",
            "(optional(list(A)), int) -> optional(A)",
            "(optional(map(A, B)), A) -> optional(B)",
        ],
    ),
    (
        "_[?_]",
        &[
            "(list(A), int) -> optional(A)",
            "(optional(list(A)), int) -> optional(A)",
            "(map(A, B), A) -> optional(B)",
            "(optional(map(A, B)), A) -> optional(B)",
        ],
    ),
];

const COMPARED: &[&str] = &[
    "(bool, bool) -> bool",
    "(int, int) -> bool",
    "(uint, uint) -> bool",
    "(double, double) -> bool",
    "(string, string) -> bool",
    "(bytes, bytes) -> bool",
    "(timestamp, timestamp) -> bool",
    "(duration, duration) -> bool",
];

/// Of a moment: as it is, or in a zone.
const PART_OF_TIME: &[&str] = &["timestamp.() -> int", "timestamp.(string) -> int"];
/// The same, of a length of time too.
const PART_OF_BOTH: &[&str] = &["timestamp.() -> int", "timestamp.(string) -> int", "duration.() -> int"];

pub(super) const FUNCTIONS: Table = &[
    (
        "size",
        &[
            "(bytes) -> int",
            "bytes.() -> int",
            "(list(A)) -> int",
            "list(A).() -> int",
            "(map(A, B)) -> int",
            "map(A, B).() -> int",
            "(string) -> int",
            "string.() -> int",
        ],
    ),
    ("dyn", &["(A) -> dyn"]),
    ("type", &["(A) -> type(A)"]),
    ("bool", &["(bool) -> bool", "(string) -> bool"]),
    ("bytes", &["(bytes) -> bytes", "(string) -> bytes"]),
    ("double", &["(double) -> double", "(int) -> double", "(string) -> double", "(uint) -> double"]),
    ("duration", &["(duration) -> duration", "(string) -> duration"]),
    (
        "int",
        &[
            "(int) -> int",
            "(double) -> int",
            "(duration) -> int",
            "(string) -> int",
            "(timestamp) -> int",
            "(uint) -> int",
        ],
    ),
    (
        "string",
        &[
            "(string) -> string",
            "(bool) -> string",
            "(bytes) -> string",
            "(double) -> string",
            "(duration) -> string",
            "(int) -> string",
            "(timestamp) -> string",
            "(uint) -> string",
        ],
    ),
    ("timestamp", &["(timestamp) -> timestamp", "(int) -> timestamp", "(string) -> timestamp"]),
    ("uint", &["(uint) -> uint", "(double) -> uint", "(int) -> uint", "(string) -> uint"]),
    ("contains", &["string.(string) -> bool"]),
    ("endsWith", &["string.(string) -> bool"]),
    ("startsWith", &["string.(string) -> bool"]),
    ("matches", &["(string, string) -> bool", "string.(string) -> bool"]),
    ("getFullYear", PART_OF_TIME),
    ("getMonth", PART_OF_TIME),
    ("getDayOfYear", PART_OF_TIME),
    ("getDayOfMonth", PART_OF_TIME),
    ("getDate", PART_OF_TIME),
    ("getDayOfWeek", PART_OF_TIME),
    ("getHours", PART_OF_BOTH),
    ("getMinutes", PART_OF_BOTH),
    ("getSeconds", PART_OF_BOTH),
    ("getMilliseconds", PART_OF_BOTH),
    // What the comprehensions with two variables put their entries in with.
    ("cel.@mapInsert", &["(map(K, V), K, V) -> map(K, V)", "(map(K, V), map(K, V)) -> map(K, V)"]),
];

pub(super) const OPTIONALS: Table = &[
    ("optional.of", &["(V) -> optional(V)"]),
    ("optional.ofNonZeroValue", &["(V) -> optional(V)"]),
    ("optional.none", &["() -> optional(V)"]),
    ("optional.unwrap", &["(list(optional(V))) -> list(V)"]),
    ("unwrapOpt", &["list(optional(V)).() -> list(V)"]),
    ("value", &["optional(V).() -> V"]),
    ("hasValue", &["optional(V).() -> bool"]),
    ("or", &["optional(V).(optional(V)) -> optional(V)"]),
    ("orValue", &["optional(V).(V) -> V"]),
    ("first", &["list(V).() -> optional(V)"]),
    ("last", &["list(V).() -> optional(V)"]),
];
