//! Writes that change nothing but texts that their manager alone holds already. Whoever leads renews a Lease in this way for
//! ever, and it is a tenth of what a world computes; what comes of it is what the long way leads to.

use serde_json::{Map, Value, json};

use super::writer::Writer;
use crate::meta::set;

/// Whether texts differ, all of which are among the `held` fields. `None`: something else does.
fn texts_differ(live: &Map<String, Value>, new: &Map<String, Value>, held: &Value) -> Option<bool> {
    if live.len() != new.len() {
        return None;
    }
    let mut differ = false;
    for ((name, was), (same, is)) in live.iter().zip(new) {
        if name != same {
            return None;
        }
        if was == is {
            continue;
        }
        let held = &held[format!("f:{name}")];
        differ |= match (was, is) {
            (Value::String(_), Value::String(_)) if held.as_object().is_some_and(Map::is_empty) => true,
            (Value::Object(was), Value::Object(is)) => texts_differ(was, is, held)?,
            _ => return None,
        };
    }
    Some(differ)
}

/// Whether metadata say the same, but for who holds what and which version it is.
fn same_metadata(live: &Value, new: &Value) -> bool {
    fn said(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
        let fields = object["metadata"].as_object().into_iter().flatten();
        fields.filter(|(name, _)| !["managedFields", "resourceVersion"].contains(&&***name))
    }
    said(live).eq(said(new))
}

impl Writer<'_> {
    /// Gives a new state of an object its `managedFields`, if this is such a write. `false`: it is none.
    pub(super) fn holds_again(&self, live: &Value, new: &mut Value) -> bool {
        let Some(whole) = self.differs_in_texts(live, new) else { return false };
        let mut entry = live["metadata"]["managedFields"][0].clone();
        if whole {
            entry["time"] = json!(self.time);
        }
        set(new, "managedFields", json!([entry]));
        true
    }

    fn differs_in_texts(&self, live: &Value, new: &Value) -> Option<bool> {
        let (managed, said) = (&live["metadata"]["managedFields"], &new["metadata"]["managedFields"]);
        let [entry] = managed.as_array()?.as_slice() else { return None };
        let is_own = entry["manager"] == self.manager
            && entry["operation"] == "Update"
            && entry["apiVersion"] == self.resource.api_version()
            && entry["subresource"].as_str().unwrap_or_default() == self.subresource;
        if !is_own || !self.ignored().is_empty() || !said.is_null() && said != managed || !same_metadata(live, new) {
            return None;
        }
        let mut differ = false;
        let (live, new) = (live.as_object()?, new.as_object()?);
        if live.len() != new.len() {
            return None;
        }
        for (name, was) in live.iter().filter(|(name, _)| *name != "metadata") {
            let is = new.get(name)?;
            if was != is {
                differ |= texts_differ(was.as_object()?, is.as_object()?, &entry["fieldsV1"][format!("f:{name}")])?;
            }
        }
        Some(differ)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{builtin, resource::Resource};

    /// Both ways to the same write: what the short one says, if it is one, and whether the long one says that, too.
    fn written(change: &Value) -> (bool, bool) {
        let leases: Resource = builtin::resources().into_iter().find(|kind| kind.plural == "leases").unwrap();
        let writer = |manager, time| Writer { resource: &leases, manager, subresource: "", time };
        let mut live = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "a", "namespace": "n", "uid": "u"},
            "spec": {"holderIdentity": "a", "renewTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 0}});
        writer("m", "2026-01-01T00:00:00Z").update(&leases.blank.clone(), &mut live);
        let mut new = live.clone();
        for (name, value) in change.as_object().unwrap() {
            new[name] = value.clone();
        }
        let again = writer("m", "2026-01-01T00:00:02Z");
        let (mut short, mut long) = (new.clone(), new);
        let is_short = again.holds_again(&live, &mut short);
        again.update_the_long_way(&live, &mut long);
        (is_short, short == long)
    }

    #[test]
    fn the_short_way_leads_where_the_long_one_does() {
        let spec =
            |holder: &str, time: &str| json!({"holderIdentity": holder, "renewTime": time, "leaseTransitions": 0});
        let renewed = json!({"spec": spec("a", "2026-01-01T00:00:02.000000Z")});
        assert_eq!(written(&renewed), (true, true));
        assert_eq!(written(&json!({})), (true, true));
        let more = json!({"spec": {"holderIdentity": "a", "renewTime": "x", "leaseTransitions": 0, "strategy": "s"}});
        let fewer = json!({"spec": {"holderIdentity": "a", "renewTime": "x"}});
        let another = json!({"spec": {"holderIdentity": "a", "renewTime": "x", "leaseTransitions": 1}});
        for (what, change) in [("more", more), ("fewer", fewer), ("another number", another)] {
            assert!(!written(&change).0, "{what}");
        }
    }
}
