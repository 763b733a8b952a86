//! Objects that are deleted.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Call;
use crate::{
    answer::Answer,
    builtin::NAMESPACES,
    crd,
    failure::Failure,
    history::Key,
    meta::{is_deleting, set, text},
};

/// Namespaces that stay.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

impl Call<'_> {
    pub(super) fn delete(&mut self) -> Result<Answer, Failure> {
        let (options, policy) = self.how_to_delete()?;
        let (resource, key) = (Arc::clone(&self.resource), self.key());
        if resource.is("", NAMESPACES) && IMMORTAL.contains(&&*key.name) {
            return Err(Failure::forbidden(&resource, &key.name, "this namespace may not be deleted"));
        }
        let stored = self.stored().ok_or_else(|| self.missing())?;
        for name in ["uid", "resourceVersion"] {
            let wanted = &options["preconditions"][name];
            if !wanted.is_null() && *wanted != stored["metadata"][name] {
                let own = resource.is_crd() || resource.is("", NAMESPACES);
                let by = if own { Failure::conflict } else { Failure::precondition };
                return Err(by(&resource, &key.name, name));
            }
        }
        let Some(left) = self.delete_one(&key, &stored, &policy) else {
            let mut details = json!({"name": key.name, "kind": resource.plural, "uid": text(&stored, "uid")});
            if !resource.group.is_empty() {
                details["group"] = json!(resource.group);
            }
            let status =
                json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
            return Ok(Answer::Json(200, status));
        };
        Ok(self.shown(200, &resource.told(&left)))
    }

    /// All objects of the path that are selected; each of them as it was.
    pub(super) fn delete_all(&mut self) -> Result<Answer, Failure> {
        let (_, policy) = self.how_to_delete()?;
        if self.resource.is("", NAMESPACES) {
            return Err(Failure::method_not_allowed(&self.resource, "DELETE"));
        }
        let page = self.page()?;
        let told = self.told(&page);
        for (key, stored) in page.objects {
            self.delete_one(&key, &stored, &policy);
        }
        Ok(told)
    }

    /// What is said of it, and in which way dependents go.
    fn how_to_delete(&self) -> Result<(Value, String), Failure> {
        let body: &[u8] = if self.request.body.is_empty() { b"{}" } else { &self.request.body };
        let options: Value = serde_json::from_slice(body).map_err(|error| Failure::bad_request(error.to_string()))?;
        let policy = match self.request.query.get("propagationPolicy") {
            "" => options["propagationPolicy"].as_str().unwrap_or_default().to_owned(),
            policy => policy.to_owned(),
        };
        Ok((options, policy))
    }

    /// `Some`: that is still to come, and this is what it looks like now.
    fn delete_one(&mut self, key: &Key, stored: &Arc<Value>, policy: &str) -> Option<Arc<Value>> {
        let storage = self.resource.storage();
        let is_crd = self.resource.is_crd();
        let is_namespace = self.resource.is("", NAMESPACES);
        if !is_crd && !is_namespace || is_crd && is_deleting(stored) {
            return self.state.delete(&storage, key, policy);
        }
        if is_deleting(stored) {
            return Some(Arc::clone(stored));
        }
        let mut object = Value::clone(stored);
        if is_crd {
            crd::terminate(&mut object, &self.now);
        } else {
            set(&mut object, "deletionTimestamp", json!(self.now));
            object["status"]["phase"] = json!("Terminating");
        }
        Some(self.state.put(&storage, object))
    }
}
