//! What kro adds to it: <https://kro.run/docs/>.

use super::table::Table;

pub(super) const FUNCTIONS: Table = &[
    ("lists.setAtIndex", &["(list(A), int, A) -> list(A)"]),
    ("lists.insertAtIndex", &["(list(A), int, A) -> list(A)"]),
    ("lists.removeAtIndex", &["(list(A), int) -> list(A)"]),
    ("merge", &["map(K, V).(map(K, V)) -> map(K, V)"]),
    ("deepMerge", &["dyn.(dyn) -> dyn"]),
    ("random.seededString", &["(int, string) -> string"]),
    ("random.seededInt", &["(int, int, string) -> int"]),
    ("json.unmarshal", &["(string) -> dyn"]),
    ("json.marshal", &["(dyn) -> string"]),
    ("hash.fnv64a", &["(string) -> bytes"]),
    ("hash.sha256", &["(string) -> bytes"]),
    ("hash.md5", &["(string) -> bytes"]),
    ("omit", &["() -> dyn"]),
    ("newCondition", &["Runtime.(map(string, string)) -> Condition"]),
    ("condition", &["Runtime.(dyn, string) -> Condition"]),
];
