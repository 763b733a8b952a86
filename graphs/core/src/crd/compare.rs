//! Two versions of a schema, compared: what changed, and what of it breaks objects that exist.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    bound::{Bound, Step},
    change::{Change, ChangeKind},
};
use crate::canonical::{MAX_DEPTH, TooDeep, is_within};

/// How many breaking changes are told.
const TOLD: usize = 3;

/// What changed, in the order of their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The changes.
    pub changes: Vec<Change>,
}

impl Report {
    /// Whether there is one that breaks.
    pub fn is_breaking(&self) -> bool {
        self.breaking().next().is_some()
    }

    /// Those that break.
    pub fn breaking(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.breaking)
    }

    /// The first breaking changes, and how many more there are.
    pub fn summary(&self) -> String {
        let count = self.breaking().count();
        if count == 0 {
            return "no breaking changes".to_owned();
        }
        let mut parts: Vec<String> = self.breaking().take(TOLD).map(ToString::to_string).collect();
        if count > TOLD {
            parts.push(format!("and {} more changes", count - TOLD));
        }
        parts.join("; ")
    }
}

/// Why two CRDs cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A generated CRD has one version.
    #[error(
        "expected exactly one version in each CRD, got {old} old and {new} new versions: remove the others from the CRD"
    )]
    Versions {
        /// How many the old one has.
        old: usize,
        /// How many the new one has.
        new: usize,
    },
    /// A version has no schema.
    #[error("{which} version {name} has no schema: restore it, or delete the CRD when it has no objects")]
    NoSchema {
        /// `old` or `new`.
        which: &'static str,
        /// Its name.
        name: String,
    },
    /// A schema that nobody reads.
    #[error("the schema cannot be compared: {0}")]
    TooDeep(#[from] TooDeep),
}

/// Compares two CRDs: their versions.
pub fn compare(old: &Value, new: &Value) -> Result<Report, CompareError> {
    match (versions(old), versions(new)) {
        ([old], [new]) => compare_versions(old, new),
        (old, new) => Err(CompareError::Versions { old: old.len(), new: new.len() }),
    }
}

fn versions(crd: &Value) -> &[Value] {
    crd.get("spec").map(|spec| list(spec, "versions")).unwrap_or_default()
}

fn schema<'a>(which: &'static str, version: &'a Value) -> Result<&'a Value, CompareError> {
    let schema = version.pointer("/schema/openAPIV3Schema").filter(|schema| schema.is_object());
    schema.ok_or_else(|| CompareError::NoSchema { which, name: text(version, "name").to_owned() })
}

/// Compares two entries of a CRD's `spec.versions`.
pub fn compare_versions(old: &Value, new: &Value) -> Result<Report, CompareError> {
    let mut report = Report::default();
    let (old_name, new_name) = (text(old, "name"), text(new, "name"));
    if old_name != new_name {
        // Another version is another kind to everybody who uses it: its fields matter no more.
        report.add(ChangeKind::TypeChanged, true, "version", "version", old_name, new_name);
        return Ok(report);
    }
    let (old_schema, new_schema) = (schema("old", old)?, schema("new", new)?);
    if !is_within(old_schema, MAX_DEPTH) || !is_within(new_schema, MAX_DEPTH) {
        return Err(TooDeep.into());
    }
    report.schemas(old_schema, new_schema);
    if flag(old, "served") && !flag(new, "served") {
        report.add(ChangeKind::TypeChanged, true, "version.served", "served", "true", "false");
    }
    let has_status = |version: &Value| version.pointer("/subresources/status").is_some_and(|status| !status.is_null());
    if has_status(old) && !has_status(new) {
        report.add(ChangeKind::PropertyRemoved, true, "version.subresources.status", "status", "", "");
    }
    report.changes.sort_by(|one, other| (&one.path, &one.old, &one.new).cmp(&(&other.path, &other.old, &other.new)));
    Ok(report)
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn flag(object: &Value, key: &str) -> bool {
    object.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn present<'a>(object: &'a Value, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn fields(object: &Value) -> Option<&Map<String, Value>> {
    object.get("properties").and_then(Value::as_object)
}

fn field<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    fields(schema)?.get(name)
}

/// Two schemas of one place.
struct Pair<'a> {
    path: String,
    name: &'a str,
    old: &'a Value,
    new: &'a Value,
    /// Values of a map, where kro looks at nothing: only what breaks is told.
    in_map: bool,
}

impl Report {
    fn add(&mut self, kind: ChangeKind, breaking: bool, path: &str, name: &str, old: &str, new: &str) {
        let [path, name, old, new] = [path, name, old, new].map(str::to_owned);
        self.changes.push(Change { kind, breaking, path, old, new, name });
    }

    fn schemas(&mut self, old: &Value, new: &Value) {
        let mut left = vec![Pair { path: String::new(), name: "", old, new, in_map: false }];
        while let Some(pair) = left.pop() {
            let before = self.changes.len();
            self.schema(&pair, &mut left);
            if pair.in_map {
                let mut index = 0;
                self.changes.retain(|change| {
                    index += 1;
                    index <= before || change.breaking
                });
            }
        }
    }

    /// What changed in one place; the places within it are added to those that are left.
    fn schema<'a>(&mut self, pair: &Pair<'a>, left: &mut Vec<Pair<'a>>) {
        let Pair { path, name, old, new, in_map } = pair;
        let (old_text, new_text) = (text(old, "description"), text(new, "description"));
        if old_text != new_text {
            let path = format!("{path}.description");
            self.add(ChangeKind::DescriptionChanged, false, &path, name, old_text, new_text);
        }
        let (old_default, new_default) = (present(old, "default"), present(new, "default"));
        if old_default != new_default {
            let json = |value: Option<&Value>| value.map(ToString::to_string).unwrap_or_default();
            let path = format!("{path}.default");
            self.add(ChangeKind::DefaultChanged, false, &path, name, &json(old_default), &json(new_default));
        }
        let (old_type, new_type) = (text(old, "type"), text(new, "type"));
        if old_type != new_type {
            self.add(ChangeKind::TypeChanged, true, &format!("{path}.type"), name, old_type, new_type);
            return;
        }
        self.pattern(pair);
        self.bounds(pair);
        self.properties(pair, left);
        self.required(pair);
        self.enumerated(pair);
        self.validations(pair);
        if old_type == "array" {
            let path = format!("{path}.items");
            match (present(old, "items"), present(new, "items")) {
                (Some(old), Some(new)) => left.push(Pair { path, name: "items", old, new, in_map: *in_map }),
                (Some(_), None) => self.add(ChangeKind::PropertyRemoved, true, &path, "items", "", ""),
                (None, Some(_)) => self.add(ChangeKind::PropertyAdded, false, &path, "items", "", ""),
                (None, None) => {}
            }
        }
        if let (Some(old), Some(new)) = (old.get("additionalProperties"), new.get("additionalProperties"))
            && old.is_object()
            && new.is_object()
        {
            let path = format!("{path}.additionalProperties");
            left.push(Pair { path, name: "additionalProperties", old, new, in_map: true });
        }
    }

    fn pattern(&mut self, Pair { path, name, old, new, .. }: &Pair<'_>) {
        let (old, new) = (text(old, "pattern"), text(new, "pattern"));
        let kind = match (old, new) {
            (old, new) if old == new => return,
            ("", _) => ChangeKind::PatternAdded,
            (_, "") => ChangeKind::PatternRemoved,
            _ => ChangeKind::PatternChanged,
        };
        self.add(kind, kind != ChangeKind::PatternRemoved, &format!("{path}.pattern"), name, old, new);
    }

    fn bounds(&mut self, Pair { path, name, old, new, .. }: &Pair<'_>) {
        for bound in Bound::ALL {
            let (old, new) = (number(old, bound.key()), number(new, bound.key()));
            let step = match (old, new) {
                (None, Some(_)) => Step::Added,
                (Some(_), None) => Step::Removed,
                (Some(old), Some(new)) if old < new => Step::Increased,
                (Some(old), Some(new)) if old > new => Step::Decreased,
                _ => continue,
            };
            let told = |number: Option<f64>| number.map(|number| (number + 0.0).to_string()).unwrap_or_default();
            let path = format!("{path}.{}", bound.key());
            self.add(ChangeKind::Bound(bound, step), bound.is_breaking(step), &path, name, &told(old), &told(new));
        }
    }

    fn properties<'a>(&mut self, pair: &Pair<'a>, left: &mut Vec<Pair<'a>>) {
        let (old_fields, new_fields) = (fields(pair.old), fields(pair.new));
        let path = |name: &str| format!("{}.properties.{name}", pair.path);
        for (name, old) in old_fields.into_iter().flatten() {
            match new_fields.and_then(|fields| fields.get(name)) {
                Some(new) => left.push(Pair { path: path(name), name, old, new, in_map: pair.in_map }),
                None => self.add(ChangeKind::PropertyRemoved, true, &path(name), name, "", ""),
            }
        }
        let required = names(pair.new);
        for (name, new) in new_fields.into_iter().flatten() {
            if old_fields.is_some_and(|fields| fields.contains_key(name)) {
                continue;
            }
            let breaking = required.contains(name.as_str()) && present(new, "default").is_none();
            let [old, new] = if breaking { ["required=false", "required=true"] } else { [""; 2] };
            self.add(ChangeKind::PropertyAdded, breaking, &path(name), name, old, new);
        }
    }

    fn required(&mut self, Pair { path, old, new, .. }: &Pair<'_>) {
        let (old_names, new_names) = (names(old), names(new));
        let path = format!("{path}.required");
        for name in new_names.iter().filter(|name| !old_names.contains(*name)) {
            // A field that is new itself is told as such.
            if field(old, name).is_some() {
                self.add(ChangeKind::RequiredAdded, true, &path, name, "", name);
            }
        }
        for name in &old_names {
            if !new_names.contains(name) {
                self.add(ChangeKind::RequiredRemoved, false, &path, name, name, "");
                continue;
            }
            let has_default = |schema| field(schema, name).is_some_and(|field| present(field, "default").is_some());
            if has_default(old) && !has_default(new) {
                self.add(ChangeKind::RequiredDefaultRemoved, true, &path, name, name, "");
            }
        }
    }

    fn enumerated(&mut self, Pair { path, name, old, new, .. }: &Pair<'_>) {
        let values = |schema: &Value| list(schema, "enum").iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        let (old_values, new_values) = (values(old), values(new));
        let path = format!("{path}.enum");
        if new_values.is_empty() {
            return;
        }
        if old_values.is_empty() {
            let all: Vec<&str> = new_values.iter().map(String::as_str).collect();
            self.add(ChangeKind::EnumAdded, true, &path, name, "", &format!("[{}]", all.join(",")));
            return;
        }
        for value in old_values.difference(&new_values) {
            self.add(ChangeKind::EnumRestricted, true, &path, name, value, "");
        }
        for value in new_values.difference(&old_values) {
            self.add(ChangeKind::EnumExpanded, false, &path, name, "", value);
        }
    }

    fn validations(&mut self, Pair { path, name, old, new, .. }: &Pair<'_>) {
        const KEY: &str = "x-kubernetes-validations";
        let rules = |schema: &'_ Value| -> BTreeSet<String> {
            list(schema, KEY).iter().map(|validation| text(validation, "rule").to_owned()).collect()
        };
        for rule in rules(new).difference(&rules(old)) {
            self.add(ChangeKind::ValidationAdded, true, &format!("{path}.{KEY}"), name, "", rule);
        }
    }
}

fn number(schema: &Value, key: &str) -> Option<f64> {
    schema.get(key).and_then(Value::as_f64)
}

fn names(schema: &Value) -> BTreeSet<&str> {
    list(schema, "required").iter().filter_map(Value::as_str).collect()
}
