//! Objects that are changed in part: merge patches (RFC 7396) and server-side apply.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Call;
use crate::{
    answer::Answer,
    failure::{Cause, Failure},
    fields::Refused,
    meta::text,
    read,
};

impl Call<'_> {
    pub(super) fn patch(&mut self) -> Result<Answer, Failure> {
        match &*self.request.content_type {
            "application/merge-patch+json" => self.merge(),
            "application/apply-patch+yaml" => self.apply(),
            _ => Err(Failure::unsupported_media_type()),
        }
    }

    fn merge(&mut self) -> Result<Answer, Failure> {
        if self.request.query.is("force") {
            let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
            return Err(Failure::invalid_options("PatchOptions", cause));
        }
        let patch: Value =
            serde_json::from_slice(&self.request.body).map_err(|error| Failure::bad_request(error.to_string()))?;
        if !patch.is_object() {
            return Err(Failure::bad_request("the patch is no object"));
        }
        let stored = self.stored().ok_or_else(|| self.missing())?;
        let old = self.resource.told(&stored);
        let mut new = Value::clone(&old);
        merge(&mut new, &patch);
        read::check_kind(&self.resource, &new)?;
        let mut new = read::received(&self.resource, new).map_err(Failure::invalid_patch)?;
        read::check_name(self.target, &new)?;
        read::place(&self.resource, self.target, &mut new)?;
        self.writer().update(&old, &mut new);
        let patched = self.commit_change(&stored, &old, new)?;
        Ok(self.shown(200, &patched))
    }

    fn apply(&mut self) -> Result<Answer, Failure> {
        if self.request.query.get("fieldManager").is_empty() {
            return Err(Failure::invalid_options("PatchOptions", Cause::required("fieldManager")));
        }
        let config = read::object(&self.resource, &self.request.body)?;
        read::check_kind(&self.resource, &config).map_err(|_| Failure::bad_request("the kind is another"))?;
        if config["metadata"]["managedFields"].as_array().is_some_and(|entries| !entries.is_empty()) {
            return Err(Failure::bad_request("metadata.managedFields must be nil"));
        }
        let stored = self.stored();
        let old = match &stored {
            Some(stored) => self.resource.told(stored),
            None if !self.target.subresource.is_empty() => return Err(self.missing()),
            None => {
                let mut blank = self.resource.blank.clone();
                blank["apiVersion"] = config["apiVersion"].clone();
                blank["kind"] = config["kind"].clone();
                Arc::new(blank)
            }
        };
        let applied = self.writer().apply(&old, &config, self.request.query.is("force"));
        let applied = applied.map_err(|refused| match refused {
            Refused::Untyped(why) => Failure::internal(why),
            Refused::Conflicts(causes) => Failure::apply_conflict(causes),
        })?;
        let mut new = read::applied(&self.resource, applied).map_err(Failure::bad_request)?;
        if stored.is_none() && !text(&new, "uid").is_empty() {
            return Err(Failure::conflict(&self.resource, &self.target.name, "there is no object of this uid"));
        }
        read::check_name(self.target, &new)?;
        read::place(&self.resource, self.target, &mut new)?;
        let Some(stored) = stored else {
            self.admit_new(&new)?;
            let created = self.commit_new(new, false)?;
            return Ok(self.shown(201, &created));
        };
        let applied = self.commit_change(&stored, &old, new)?;
        Ok(self.shown(200, &applied))
    }
}

fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Some(fields) = value.as_object_mut() else { return };
    for (name, change) in patch {
        if change.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_patch_is_that_of_the_standard() {
        let merged = |mut value: Value, patch: Value| {
            merge(&mut value, &patch);
            value
        };
        assert_eq!(
            merged(json!({"a": "b", "c": {"d": 1, "e": 2}}), json!({"a": null, "c": {"d": null}})),
            json!({"c": {"e": 2}})
        );
        assert_eq!(merged(json!({"a": [1]}), json!({"a": {"b": {"c": null, "d": 1}}})), json!({"a": {"b": {"d": 1}}}));
        assert_eq!(merged(json!({}), json!({"a": [null]})), json!({"a": [null]}));
    }
}
