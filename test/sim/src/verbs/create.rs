//! Objects that are made.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Call;
use crate::{
    answer::Answer,
    failure::{Cause, Failure},
    history::Key,
    meta::{self, set, text},
    read,
    resource::Storage,
    state::CRDS,
    strategy,
};

impl Call<'_> {
    pub(super) fn create(&mut self) -> Result<Answer, Failure> {
        let object = read::object(&self.resource, &self.request.body)?;
        read::check_kind(&self.resource, &object)?;
        let mut object = read::received(&self.resource, object).map_err(Failure::bad_request)?;
        read::place(&self.resource, self.target, &mut object)?;
        for name in ["deletionTimestamp", "deletionGracePeriodSeconds", "uid"] {
            set(&mut object, name, Value::Null);
        }
        if text(&object, "name").is_empty() && !text(&object, "generateName").is_empty() {
            let name = format!("{}{}", text(&object, "generateName"), self.state.uids.suffix());
            set(&mut object, "name", json!(name));
        }
        let blank = self.resource.blank.clone();
        self.writer().update(&blank, &mut object);
        self.admit_new(&object)?;
        let versioned = !text(&object, "resourceVersion").is_empty();
        let created = self.commit_new(object, versioned)?;
        Ok(self.shown(201, &created))
    }

    /// Whether an object may be created where it says that it is.
    pub(super) fn admit_new(&self, object: &Value) -> Result<(), Failure> {
        let (resource, name) = (&self.resource, text(object, "name"));
        if resource.rules.custom {
            let definition = Key::new("", &resource.qualified());
            let crd = self.state.get(&Storage::new(CRDS[0], CRDS[1]), &definition);
            if crd.is_some_and(meta::is_deleting) {
                let why = "create not allowed while custom resource definition is terminating";
                return Err(Failure::forbidden(resource, name, why));
            }
        }
        self.state.admits(resource, text(object, "namespace"), name)
    }

    /// Keeps a new object. One that says which version it is of is `versioned`.
    pub(super) fn commit_new(&mut self, mut object: Value, versioned: bool) -> Result<Arc<Value>, Failure> {
        let resource = Arc::clone(&self.resource);
        for name in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "generation"] {
            set(&mut object, name, Value::Null);
        }
        let uid = self.state.uids.uid();
        set(&mut object, "uid", json!(uid));
        set(&mut object, "creationTimestamp", json!(self.now));
        strategy::prepare_new(&resource, &mut object);
        let name = text(&object, "name").to_owned();
        let causes: Vec<Cause> = strategy::validate(&resource, &object);
        if !causes.is_empty() {
            return Err(Failure::invalid(&resource, &name, causes));
        }
        if versioned {
            return Err(Failure::internal("resourceVersion should not be set on objects to be created"));
        }
        if self.state.get(&resource.storage(), &Key::of(&object)).is_some() {
            return Err(Failure::already_exists(&resource, &name));
        }
        self.state.has_room(&object)?;
        let kept = self.state.put(&resource.storage(), object);
        Ok(resource.told(&kept))
    }
}
