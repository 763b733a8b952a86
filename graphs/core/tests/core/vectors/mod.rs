//! Everything that was recorded of kro (see `vectors/README.md`), but for what is done better.

use std::{fs, path::Path};

use serde_json::Value;

mod applyset;
mod crd_compat;
mod graph;
mod plural;
mod render;
mod simple_schema;

/// The entries of a file.
fn read(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(file);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Goes through the entries of a file, and fails with all that a check has something to say about.
fn each(file: &str, check: impl Fn(&Value) -> Result<(), String>) {
    let entries = read(file);
    assert!(!entries.is_empty());
    let wrong: Vec<String> =
        entries.iter().filter_map(|entry| check(entry).err().map(|why| format!("{why}\n    {entry}"))).collect();
    assert!(wrong.is_empty(), "{file}: {} of {} differ:\n{}", wrong.len(), entries.len(), wrong.join("\n"));
}

/// The text of a field, empty where there is none.
fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry[key].as_str().unwrap_or_default()
}

fn is_better(entry: &Value) -> bool {
    entry["better"] == true
}

fn equal<T: PartialEq + std::fmt::Debug + ?Sized>(what: &str, found: &T, wanted: &T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what} is {found:?}, not {wanted:?}")) }
}

/// Whether two values are equal, their numbers by value.
fn numbers_alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| numbers_alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| numbers_alike(one, other)))
        }
        _ => one == other,
    }
}
