//! `FieldSet`: some of the fields of an object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::{self, Element, shown};
use crate::schema::Schema;

/// A way from an object's root to a field.
pub(crate) type Path = Vec<Element>;

/// Paths to fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSet(BTreeSet<Path>);

#[derive(Default)]
struct Node<'a> {
    member: bool,
    children: BTreeMap<&'a str, Node<'a>>,
}

impl Node<'_> {
    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        if self.member && !self.children.is_empty() {
            fields.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for (element, child) in &self.children {
            fields.insert((*element).to_owned(), child.to_json());
        }
        Value::Object(fields)
    }
}

impl FieldSet {
    pub(crate) fn insert(&mut self, path: &[Element]) {
        self.0.insert(path.to_vec());
    }

    pub(crate) fn contains(&self, path: &[Element]) -> bool {
        self.0.contains(path)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is any path through this one.
    pub(crate) fn reaches_below(&self, path: &[Element]) -> bool {
        let from = (std::ops::Bound::Excluded(path), std::ops::Bound::Unbounded);
        self.0.range::<[Element], _>(from).next().is_some_and(|next| next.starts_with(path))
    }

    /// With those of another.
    pub(crate) fn union(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(crate) fn difference(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).cloned().collect())
    }

    /// Whether all of them are among those of another.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Those that are meant.
    pub(crate) fn those(&self, meant: impl Fn(&[Element]) -> bool) -> Self {
        Self(self.0.iter().filter(|path| meant(path)).cloned().collect())
    }

    /// Without those that are not meant.
    pub(crate) fn retain(&mut self, meant: impl Fn(&[Element]) -> bool) {
        self.0.retain(|path| meant(path));
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).cloned().collect())
    }

    /// Without these fields and all that is in them.
    pub(crate) fn outside(mut self, roots: &[&str]) -> Self {
        self.retain(|path| path.first().is_none_or(|first| !roots.contains(&&**first)));
        self
    }

    /// With the structs that the fields are in: these are seldom named.
    pub(crate) fn with_structs(&self, schema: Schema<'_>) -> Self {
        let mut all = self.0.clone();
        for path in &self.0 {
            let mut schema = schema;
            for (at, step) in path.iter().enumerate() {
                let Some(name) = element::field_name(step) else {
                    schema = schema.items();
                    continue;
                };
                if schema.declared(name).is_some() {
                    all.insert(path[..=at].to_vec());
                }
                schema = schema.field(name).unwrap_or(Schema::ANY);
            }
        }
        Self(all)
    }

    /// As errors name them.
    pub(crate) fn shown(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|path| path.iter().map(|element| shown(element)).collect())
    }

    /// As `fieldsV1`.
    pub(crate) fn to_json(&self) -> Value {
        let mut root = Node::default();
        for path in &self.0 {
            let mut node = &mut root;
            for element in path {
                node = node.children.entry(&**element).or_default();
            }
            node.member = true;
        }
        root.to_json()
    }

    pub(crate) fn from_json(fields: &Value) -> Self {
        let mut set = Self::default();
        let mut path = Vec::new();
        for (element, child) in fields.as_object().into_iter().flatten() {
            path.push(element.as_str().into());
            set.read(child, &mut path);
            path.pop();
        }
        set
    }

    fn read(&mut self, fields: &Value, path: &mut Path) {
        let children = fields.as_object().into_iter().flatten();
        let mut leaf = true;
        for (element, child) in children {
            leaf = false;
            if element == "." {
                self.0.insert(path.clone());
                continue;
            }
            path.push(element.as_str().into());
            self.read(child, path);
            path.pop();
        }
        if leaf {
            self.0.insert(path.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let fields = json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {"f:ports": {
            r#"k:{"port":80}"#: {".": {}, "f:port": {}}}, "f:tags": {r#"v:"x""#: {}}}});
        let set = FieldSet::from_json(&fields);
        assert_eq!(set.to_json(), fields);
        let shown: Vec<String> = set.shown().collect();
        assert_eq!(
            shown,
            [
                ".metadata.labels",
                ".metadata.labels.a",
                ".spec.ports[port=80]",
                ".spec.ports[port=80].port",
                ".spec.tags[=\"x\"]"
            ]
        );
        assert!(set.reaches_below(&["f:spec".into()]) && !set.reaches_below(&["f:status".into()]));
        assert!(set.clone().outside(&["f:metadata"]).to_json().get("f:metadata").is_none());
    }
}
