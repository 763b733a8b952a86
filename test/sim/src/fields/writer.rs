//! `Writer`: in whose name a write changes an object, and what it comes to hold by that.

use serde_json::Value;

use super::{
    compare::Comparison,
    field_set::FieldSet,
    managed::{Entry, Managed, Operation, strip, strip_in_place},
    merge::merge,
    remove::remove,
    typed::{check, field_set},
};
use crate::{builtin::NAMESPACES, failure::Cause, meta::text, resource::Resource, schema::Schema};

/// What nobody holds: it is the API server's.
const STRIPPED: [&[&str]; 12] = [
    &["f:apiVersion"],
    &["f:kind"],
    &["f:metadata"],
    &["f:metadata", "f:name"],
    &["f:metadata", "f:namespace"],
    &["f:metadata", "f:creationTimestamp"],
    &["f:metadata", "f:selfLink"],
    &["f:metadata", "f:uid"],
    &["f:metadata", "f:clusterName"],
    &["f:metadata", "f:generation"],
    &["f:metadata", "f:managedFields"],
    &["f:metadata", "f:resourceVersion"],
];

/// Why a configuration is not applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It does not fit the schema.
    Untyped(String),
    /// Others hold these fields.
    Conflicts(Vec<Cause>),
}

/// Whoever writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) manager: &'a str,
    /// `status`, or empty.
    pub(crate) subresource: &'a str,
    /// Now.
    pub(crate) time: &'a str,
}

impl Writer<'_> {
    fn schema(&self) -> Schema<'_> {
        self.resource.schema()
    }

    /// What a write at this place does not reach, however much it says of it.
    pub(super) fn ignored(&self) -> &'static [&'static str] {
        match (self.resource.status, self.subresource) {
            (false, _) => &[],
            (true, "status") if self.resource.is("", NAMESPACES) => &["f:spec"],
            (true, "status") => &["f:spec", "f:metadata"],
            (true, _) => &["f:status"],
        }
    }

    fn entry(&self, operation: Operation, fields: FieldSet) -> Entry {
        Entry {
            manager: self.manager.to_owned(),
            operation,
            api_version: self.resource.api_version(),
            subresource: self.subresource.to_owned(),
            time: self.time.to_owned(),
            fields,
        }
    }

    /// Gives a new state of an object, by an update or a patch, its `managedFields`.
    pub(crate) fn update(&self, live: &Value, new: &mut Value) {
        if !self.holds_again(live, new) {
            self.update_the_long_way(live, new);
        }
    }

    pub(super) fn update_the_long_way(&self, live: &Value, new: &mut Value) {
        let mut managed = Managed::said(new, live);
        if managed.0.is_empty() && !text(live, "uid").is_empty() {
            // What nobody holds anything of stays so until somebody applies it.
            managed.put(new);
            return;
        }
        strip_in_place(new);
        if self.untyped(&managed, live).or_else(|| self.untyped(&managed, new)).is_some() {
            return Managed::default().put(new);
        }
        // Who holds what is not stripped from what was there, for which that would be copied: to nobody it is a field.
        let compared = Comparison::of(self.schema(), live, new).outside(self.ignored());
        self.take(&mut managed, &compared, None);
        let own = self.entry(Operation::Update, without_system(compared.changed()));
        if !own.fields.is_empty() {
            match managed.0.iter_mut().find(|entry| entry.is_of(&own)) {
                Some(held) => {
                    held.fields = std::mem::take(&mut held.fields).union(own.fields);
                    held.time = own.time;
                }
                None => managed.0.push(own),
            }
        }
        managed.put(new);
    }

    /// Why an object is none in one of the versions in which fields of it are held.
    fn untyped(&self, managed: &Managed, object: &Value) -> Option<String> {
        let own = self.resource.api_version();
        let others = managed.0.iter().filter(|entry| entry.api_version != own);
        others
            .filter_map(|entry| self.resource.schema_in(&entry.api_version))
            .find_map(|schema| check(schema, object).err())
    }

    /// Takes from all others what a write has changed.
    fn take(&self, managed: &mut Managed, compared: &Comparison, except: Option<&Entry>) {
        for entry in &mut managed.0 {
            if except.is_none_or(|own| !entry.is_of(own)) {
                entry.fields.retain(|path| !compared.has(path));
            }
        }
        self.forget(managed);
    }

    /// Nobody holds what nothing is left of, or what was held in a version that there is no more.
    fn forget(&self, managed: &mut Managed) {
        managed.0.retain(|entry| !entry.fields.is_empty() && self.resource.schema_in(&entry.api_version).is_some());
    }

    /// Applies a configuration to an object.
    pub(crate) fn apply(&self, live: &Value, config: &Value, force: bool) -> Result<Value, Refused> {
        let schema = self.schema();
        let config = strip(config);
        check(schema, &config)
            .map_err(|why| Refused::Untyped(format!("failed to create typed patch object: {why}")))?;
        let mut managed = self.managed(live);
        self.forget(&mut managed);
        let live_object = strip(live);
        let merged = merge(schema, &live_object, &config);
        let set = field_set(schema, &config).outside(self.ignored());
        let own = self.entry(Operation::Apply, set);
        let last = managed.0.iter().position(|entry| entry.is_of(&own)).map(|at| managed.0.remove(at));
        managed.0.push(own.clone());
        let applied = match &last {
            // Where all is applied again that was, nothing is taken out: whatever could be is held.
            Some(last) if !last.fields.is_within(&own.fields) => self.prune(&merged, &managed, &last.fields),
            _ => merged,
        };
        if let Some(why) = self.untyped(&managed, &live_object).or_else(|| self.untyped(&managed, &applied)) {
            return Err(Refused::Untyped(why));
        }
        let compared = Comparison::of(schema, &live_object, &applied).outside(self.ignored());
        if !force {
            let conflicts = conflicts(&managed, &own, &compared);
            if !conflicts.is_empty() {
                return Err(Refused::Conflicts(conflicts));
            }
        }
        self.take(&mut managed, &compared, Some(&own));
        let mut held = without_system(own.fields.clone());
        let same = applied == live_object;
        for entry in managed.0.iter_mut().filter(|entry| entry.is_of(&own)) {
            entry.fields = std::mem::take(&mut held);
            if same {
                // Whoever changes nothing is of no moment.
                entry.time = last.as_ref().map(|last| last.time.clone()).unwrap_or_default();
            }
        }
        let mut new = applied;
        managed.put(&mut new);
        Ok(new)
    }

    /// Who holds what of an object. What nobody held before somebody applies it is from then on held by somebody.
    fn managed(&self, live: &Value) -> Managed {
        let held = Managed::of(live);
        if !held.0.is_empty() || text(live, "uid").is_empty() {
            return held;
        }
        let mut first = live.clone();
        Writer { manager: "before-first-apply", subresource: "", ..*self }.update(&self.resource.blank, &mut first);
        Managed::of(&first)
    }

    /// Takes out what was applied before and is not any more, unless somebody else holds it.
    fn prune(&self, merged: &Value, managed: &Managed, last: &FieldSet) -> Value {
        let schema = self.schema();
        let structs = |set: &FieldSet| set.with_structs(schema);
        let last = structs(last);
        let pruned = remove(schema, merged, &last);
        let held = managed.0.iter().fold(FieldSet::default(), |all, entry| all.union(entry.fields.clone()));
        let all = structs(&field_set(schema, merged));
        let left = structs(&field_set(schema, &pruned));
        let pruned = remove(schema, merged, &all.difference(&left.union(structs(&held))));
        let left = structs(&field_set(schema, &pruned));
        remove(schema, merged, &all.difference(&left).intersection(&last))
    }
}

fn conflicts(managed: &Managed, own: &Entry, compared: &Comparison) -> Vec<Cause> {
    let others = managed.0.iter().filter(|entry| !entry.is_of(own));
    let held = others.flat_map(|entry| {
        let taken = entry.fields.those(|path| compared.modified.contains(path) || compared.added.contains(path));
        let fields: Vec<String> = taken.shown().collect();
        fields
            .into_iter()
            .map(|field| Cause::new("FieldManagerConflict", field, format!("conflict with {:?}", entry.manager)))
    });
    held.collect()
}

fn without_system(mut set: FieldSet) -> FieldSet {
    set.retain(|path| {
        !STRIPPED.iter().any(|stripped| path.iter().map(|element| &**element).eq(stripped.iter().copied()))
    });
    set
}
