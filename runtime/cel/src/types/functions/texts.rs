//! cel-go's extensions for texts, bytes and lists. See <https://pkg.go.dev/github.com/google/cel-go/ext>.

use super::table::Table;

pub(super) const TEXTS: Table = &[
    ("charAt", &["string.(int) -> string"]),
    ("format", &["string.(list(dyn)) -> string"]),
    ("indexOf", &["string.(string) -> int", "string.(string, int) -> int"]),
    ("join", &["list(string).() -> string", "list(string).(string) -> string"]),
    ("lastIndexOf", &["string.(string) -> int", "string.(string, int) -> int"]),
    ("lowerAscii", &["string.() -> string"]),
    ("replace", &["string.(string, string) -> string", "string.(string, string, int) -> string"]),
    ("reverse", &["string.() -> string"]),
    ("split", &["string.(string) -> list(string)", "string.(string, int) -> list(string)"]),
    ("strings.quote", &["(string) -> string"]),
    ("substring", &["string.(int) -> string", "string.(int, int) -> string"]),
    ("trim", &["string.() -> string"]),
    ("upperAscii", &["string.() -> string"]),
    ("base64.decode", &["(string) -> bytes"]),
    ("base64.encode", &["(bytes) -> string"]),
];

pub(super) const LISTS: Table = &[
    ("slice", &["list(A).(int, int) -> list(A)"]),
    // How deep it goes is known only when it is evaluated.
    ("flatten", &["list(list(A)).() -> list(A)", "list(dyn).(int) -> list(dyn)"]),
    ("sort", &["T in ordered: list(T).() -> list(T)"]),
    // What `sortBy` becomes.
    ("@sortByAssociatedKeys", &["T in ordered: list(A).(list(T)) -> list(A)"]),
    ("distinct", &["list(A).() -> list(A)"]),
    ("reverse", &["list(A).() -> list(A)"]),
    ("lists.range", &["(int) -> list(int)"]),
];
