//! Every recorded entry: what differs is printed, all of it.

use std::collections::BTreeMap;

use runtime_cel::types::{self, Native, Scope, Type, Variables};
use serde_json::{Map, Value, json};

use super::type_of;

fn read(name: &str) -> Value {
    let path = format!("{}/tests/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn text<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry[key].as_str()
}

/// The sets of schemas, and the variables of each.
struct Sets(Value);

impl Sets {
    fn read() -> Self {
        Self(read("cel-schemas.json"))
    }

    fn variables(&self, set: &str) -> Variables {
        let runtime = Variables::new().with("runtime", Type::Native(Native::Runtime));
        let schemas = self.0[set].as_object().unwrap();
        schemas.iter().fold(runtime, |variables, (name, schema)| {
            let value = if schema["type"] == "array" {
                types::collection(name, &schema["items"])
            } else {
                types::object(name, schema, scope(schema))
            };
            variables.with(name, value)
        })
    }

    fn element(&self, set: &str, collection: &str) -> Type {
        let schema = &self.0[set][collection]["items"];
        types::object("each", schema, scope(schema))
    }
}

fn scope(schema: &Value) -> Scope {
    let cluster = schema["properties"]["metadata"]["x-objectmeta"] == "cluster";
    if cluster { Scope::Cluster } else { Scope::Namespaced }
}

/// The type of an entry of `cel-types.json`, and whether it fits its target.
fn outcome(entry: &Value, sets: &Sets) -> Result<Type, String> {
    let set = text(entry, "env").unwrap();
    let mut variables = sets.variables(set);
    if let Some(collection) = text(entry, "each") {
        variables = variables.with("each", sets.element(set, collection));
    }
    let outside = variables.clone();
    for (name, list) in entry["iterators"].as_object().into_iter().flatten() {
        let element =
            types::elements(&type_of(list.as_str().unwrap(), &outside)?).map_err(|error| error.to_string())?;
        variables = variables.with(name, element);
    }
    let source = text(entry, "expr").unwrap();
    let found = type_of(source, &variables)?;
    if let Some(target) = entry.get("target") {
        types::fits(&found, &types::value("target.f", target)).map_err(|misfit| {
            format!("type mismatch in resource \"target\" at path \"f\": expression {source:?} {misfit}")
        })?;
    }
    Ok(found)
}

/// What is to be instead of what is recorded, where we know better.
enum Instead {
    /// The recorded type, with another schema in a status.
    Status,
    Refused,
    Accepted,
    /// Accepted, and dyn.
    Dyn,
}

fn instead(entry: &Value) -> Option<Instead> {
    // That a field of bytes takes text is our rule for every text, not only for the entries that say so.
    if entry["target"]["format"] == "byte" && entry["type"] == "string" {
        return Some(Instead::Accepted);
    }
    entry["better"].as_bool()?;
    Some(match text(entry, "better_note").unwrap() {
        "names are written unescaped" => Instead::Status,
        note if note.starts_with("an object with preserve-unknown keeps") => Instead::Status,
        note if note.ends_with("refused") => Instead::Refused,
        note if note.starts_with("{} fits any object") || note.contains("a byte field takes") => Instead::Accepted,
        note if note.starts_with("a field without a type") => Instead::Dyn,
        note => panic!("a new kind of better: {note}"),
    })
}

fn differs(entry: &Value, sets: &Sets) -> Option<String> {
    let found = outcome(entry, sets);
    let shown = found.as_ref().map(ToString::to_string);
    match instead(entry) {
        Some(Instead::Refused) => return found.is_ok().then(|| "is accepted".to_owned()),
        Some(Instead::Accepted) => return found.err(),
        Some(Instead::Dyn) => return (found != Ok(Type::Dyn)).then(|| format!("is {shown:?}, not dyn")),
        Some(Instead::Status) | None => {}
    }
    match (found, text(entry, "error")) {
        (Ok(found), None) => {
            if Some(found.to_string().as_str()) != text(entry, "type") {
                return Some(format!("is a {found}"));
            }
            if let Some(target) = entry.get("target") {
                let target = types::value("target.f", target).to_string();
                return (Some(target.as_str()) != text(entry, "target_type")).then(|| format!("goes to a {target}"));
            }
            let status = recorded_names(&types::open_api(&found), entry);
            (status != entry["status_schema"]).then(|| format!("has the schema {status}"))
        }
        (Ok(found), Some(_)) => Some(format!("is accepted as {found}")),
        (Err(error), None) => Some(format!("is refused: {error}")),
        (Err(error), Some(recorded)) => {
            let by_parser = recorded.starts_with("Syntax error") || recorded.starts_with("runtime.newCondition: ");
            let format =
                recorded.starts_with("error during formatting: ") && error.starts_with("error during formatting: ");
            let same = if by_parser {
                error.starts_with("parser: ")
            } else {
                format || recorded.contains(&error) || error.contains(recorded)
            };
            (!same).then(|| format!("is refused: {error}"))
        }
    }
}

/// A schema as kro would have written it, for entries where we know better: names escaped, what has no type left out, and
/// open objects closed.
fn recorded_names(schema: &Value, entry: &Value) -> Value {
    if instead(entry).is_none() {
        return schema.clone();
    }
    let mut written = schema.clone();
    write_as_recorded(&mut written);
    written
}

fn write_as_recorded(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    if fields.get("type") == Some(&json!("object")) {
        fields.remove("x-kubernetes-preserve-unknown-fields");
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        let escapes = BTreeMap::from([
            ("namespace", "__namespace__"),
            ("import", "__import__"),
            ("in", "__in__"),
            ("odd-name", "odd__dash__name"),
            ("with.dot", "with__dot__dot"),
        ]);
        let renamed = std::mem::take(properties).into_iter().filter(|(name, _)| name != "anything");
        *properties = renamed
            .map(|(name, mut inner)| {
                write_as_recorded(&mut inner);
                (escapes.get(name.as_str()).map_or(name.clone(), |escaped| (*escaped).to_owned()), inner)
            })
            .collect::<Map<_, _>>();
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get_mut(inner) {
            write_as_recorded(inner);
        }
    }
}

#[test]
fn types_are_kros() {
    let sets = Sets::read();
    let entries = read("cel-types.json");
    let wrong: Vec<String> = entries
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| differs(entry, &sets).map(|how| format!("{how}\n    {entry}")))
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The type that an entry of `cel-eval.json` has, and the errors before it is evaluated.
fn differs_before(entry: &Value, sets: &Sets) -> Option<String> {
    let mut variables = match text(entry, "env") {
        Some(set) => sets.variables(set),
        None => Variables::new(),
    };
    if entry.get("env").is_none() {
        for name in entry["vars"].as_object().into_iter().flatten().map(|(name, _)| name) {
            variables = variables.with(name, Type::Dyn);
        }
    }
    let found = type_of(text(entry, "expr").unwrap(), &variables);
    let early = matches!(text(&entry["error"], "stage"), Some("parse" | "check"));
    // kro knows type names when it checks, and no longer when it evaluates.
    let named_type = entry["better"] == true && early;
    match (found, text(entry, "type"), early && !named_type) {
        (Ok(found), recorded, false) => (recorded != Some(found.to_string().as_str())).then(|| format!("is a {found}")),
        (Ok(found), _, true) => Some(format!("is accepted as {found}")),
        (Err(error), _, false) => Some(format!("is refused: {error}")),
        (Err(error), recorded_type, true) => {
            let recorded = text(&entry["error"], "text").unwrap();
            // Of formats and patterns only the kind of error is cel-go's.
            let kind_only = recorded_type.is_some() || entry["tag"] == "format" && !error.contains('\'');
            let ours = if kind_only { error.split(':').next().unwrap_or_default() } else { &error };
            let by_parser = text(&entry["error"], "stage") == Some("parse");
            let same = if by_parser { error.starts_with("parser: ") } else { recorded.contains(ours) };
            (!same).then(|| format!("is refused: {error}"))
        }
    }
}

#[test]
fn what_is_evaluated_has_kros_types_first() {
    let sets = Sets::read();
    let entries = read("cel-eval.json");
    let wrong: Vec<String> = entries
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| differs_before(entry, &sets).map(|how| format!("{how}\n    {entry}")))
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
