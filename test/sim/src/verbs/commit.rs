//! Changes that are kept, if they may be.

use std::sync::Arc;

use serde_json::Value;

use super::Call;
use crate::{
    builtin::NAMESPACES,
    failure::{Cause, Failure},
    history::Key,
    likeness::alike_at_any_time,
    meta::{self, finalizers, is_deleting, set, text},
    strategy,
};

impl Call<'_> {
    /// Keeps another state of an object of which `stored` is kept and `old` is told, and returns what is there now. Where the
    /// last finalizer of what is being deleted has gone, that is nothing: then it returns what was asked for.
    pub(super) fn commit_change(
        &mut self,
        stored: &Value,
        old: &Arc<Value>,
        mut new: Value,
    ) -> Result<Arc<Value>, Failure> {
        let resource = Arc::clone(&self.resource);
        self.check_version(old, &mut new)?;
        strategy::prepare_change(&resource, &self.target.subresource, old, &mut new);
        if text(&new, "uid").is_empty() {
            set(&mut new, "uid", old["metadata"]["uid"].clone());
        }
        set(&mut new, "creationTimestamp", old["metadata"]["creationTimestamp"].clone());
        for name in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            if is_deleting(old) {
                set(&mut new, name, old["metadata"][name].clone());
            }
        }
        let mut causes = meta::validate_change(old, &new);
        causes.extend(strategy::validate_change(&resource, old, &new));
        causes.extend(strategy::validate(&resource, &new));
        if !causes.is_empty() {
            return Err(Failure::invalid(&resource, text(&new, "name"), causes));
        }
        if self.ends(old, &new) {
            self.state.remove(&resource.storage(), &Key::of(old));
            return Ok(Arc::new(new));
        }
        if alike_at_any_time(old, &new) {
            set(&mut new, "managedFields", old["metadata"]["managedFields"].clone());
        }
        // What is kept may be less tidy than what is told of it: then even a change of nothing is one.
        if alike_at_any_time(stored, &new) {
            return Ok(Arc::clone(old));
        }
        self.state.has_room(&new)?;
        let kept = self.state.put(&resource.storage(), new);
        Ok(resource.told(&kept))
    }

    /// Whether a change takes away the last thing that held what is being deleted.
    fn ends(&self, old: &Value, new: &Value) -> bool {
        if !finalizers(new).is_empty() {
            return false;
        }
        if self.resource.is("", NAMESPACES) {
            return is_deleting(old) && new["spec"]["finalizers"].as_array().is_none_or(Vec::is_empty);
        }
        is_deleting(old)
    }

    fn check_version(&self, old: &Value, new: &mut Value) -> Result<(), Failure> {
        let (resource, name) = (&self.resource, &self.target.name);
        match text(new, "resourceVersion") {
            "" | "0" if resource.rules.unconditional => {
                set(new, "resourceVersion", old["metadata"]["resourceVersion"].clone());
                Ok(())
            }
            "" | "0" => {
                let cause = Cause::invalid("metadata.resourceVersion", "must be specified for an update");
                let plural = crate::resource::Resource { kind: resource.plural.clone(), ..(**resource).clone() };
                Err(Failure::invalid(&plural, name, vec![cause]))
            }
            said if said != text(old, "resourceVersion") => {
                let why = "the object has been modified; please apply your changes to the latest version and try again";
                Err(Failure::conflict(resource, name, why))
            }
            _ => Ok(()),
        }
    }
}
