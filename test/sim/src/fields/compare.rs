//! What differs between two states of an object, field by field.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    element::{self, Element},
    field_set::{FieldSet, Path},
};
use crate::schema::{Atom, Relation, Schema};

/// The fields in which two states differ.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

impl Comparison {
    pub(crate) fn of(schema: Schema<'_>, old: &Value, new: &Value) -> Self {
        let mut comparison = Self::default();
        comparison.compare(schema, Some(old), Some(new), &mut Vec::new());
        comparison
    }

    /// Without these fields and all that is in them.
    pub(crate) fn outside(self, roots: &[&str]) -> Self {
        Self {
            added: self.added.outside(roots),
            modified: self.modified.outside(roots),
            removed: self.removed.outside(roots),
        }
    }

    /// Whether it is one of them.
    pub(crate) fn has(&self, path: &[Element]) -> bool {
        [&self.added, &self.modified, &self.removed].into_iter().any(|set| set.contains(path))
    }

    /// What is there now, and was not so before.
    pub(crate) fn changed(self) -> FieldSet {
        self.modified.union(self.added)
    }

    fn compare(&mut self, schema: Schema<'_>, old: Option<&Value>, new: Option<&Value>, path: &mut Path) {
        let leaf = match (old, new) {
            (None, None) => return,
            // Most of an object is as it was.
            (Some(old), Some(new)) if old == new => return,
            (Some(old), Some(new)) if schema.atom(old) != schema.atom(new) && !old.is_null() && !new.is_null() => {
                self.descend(&schema.atom(old), schema, Some(old), None, path);
                self.descend(&schema.atom(new), schema, None, Some(new), path);
                self.leaf(Some(old), Some(new), path);
                true
            }
            (Some(one), None | Some(Value::Null)) | (_, Some(one)) => {
                self.descend(&schema.atom(one), schema, old, new, path)
            }
        };
        if leaf {
            return;
        }
        if old.is_none() {
            self.added.insert(path);
        } else if new.is_none() {
            self.removed.insert(path);
        }
    }

    /// What is not the same on both sides.
    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>, path: &[Element]) {
        match (old, new) {
            (None, _) => self.added.insert(path),
            (_, None) => self.removed.insert(path),
            (Some(_), Some(_)) => self.modified.insert(path),
        }
    }

    /// Whether what is here is one value.
    fn descend(
        &mut self,
        atom: &Atom<'_>,
        schema: Schema<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        path: &mut Path,
    ) -> bool {
        match atom {
            Atom::Map { atomic: false } => {
                let none = Map::new();
                let [before, after] = [old, new].map(|of| of.and_then(Value::as_object).unwrap_or(&none));
                if before.is_empty() && after.is_empty() {
                    self.leaf(old, new, path);
                    return true;
                }
                let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
                for name in names {
                    path.push(element::field(name));
                    let schema = schema.field(name).unwrap_or(Schema::ANY);
                    self.compare(schema, before.get(name), after.get(name), path);
                    path.pop();
                }
                false
            }
            Atom::List(relation) if *relation != Relation::Atomic => {
                let [before, after] = [old, new].map(|of| of.and_then(Value::as_array).map_or(&[][..], Vec::as_slice));
                if before.is_empty() && after.is_empty() {
                    self.leaf(old, new, path);
                    return true;
                }
                self.compare_items(relation, schema, before, after, path);
                false
            }
            Atom::Scalar | Atom::Map { .. } | Atom::List(_) => {
                self.leaf(old, new, path);
                true
            }
        }
    }

    fn compare_items(
        &mut self,
        relation: &Relation<'_>,
        schema: Schema<'_>,
        old: &[Value],
        new: &[Value],
        path: &mut Path,
    ) {
        let key = |item: &Value| element::of_item(relation, schema.items(), item);
        let keys: BTreeSet<Element> = old.iter().chain(new).filter_map(key).collect();
        for wanted in keys {
            let [before, after] = [old, new].map(|items| items.iter().find(|item| key(item).as_ref() == Some(&wanted)));
            path.push(wanted);
            self.compare(schema.items(), before, after, path);
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_added_changed_and_removed_is_told_apart() {
        let schema = json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}},
            "s": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}, "n": {"type": "integer"}}});
        let compare = |old, new| {
            let Comparison { added, modified, removed } = Comparison::of(Schema::of(&schema), &old, &new);
            [added, modified, removed].map(|set| set.to_json())
        };
        assert_eq!(
            compare(json!({}), json!({"m": {"a": "1"}, "n": 1})),
            [json!({"f:m": {".": {}, "f:a": {}}, "f:n": {}}), json!({}), json!({})]
        );
        assert_eq!(
            compare(json!({"m": {"a": "1", "b": "2"}, "s": ["x"]}), json!({"m": {"a": "2"}, "s": ["y"]})),
            [
                json!({"f:s": {"v:\"y\"": {}}}),
                json!({"f:m": {"f:a": {}}}),
                json!({"f:m": {"f:b": {}}, "f:s": {"v:\"x\"": {}}})
            ]
        );
        assert_eq!(
            compare(json!({"m": {"a": "1"}}), json!({"m": {}})),
            [json!({}), json!({}), json!({"f:m": {"f:a": {}}})]
        );
        assert_eq!(compare(json!({"m": {}}), json!({})), [json!({}), json!({}), json!({"f:m": {}})]);
    }
}
