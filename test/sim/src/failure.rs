//! `Failure`: what an API server says when it does not do what was asked for.

use serde_json::{Map, Value, json};

use crate::resource::Resource;

/// One reason why content is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    reason: &'static str,
    field: String,
    message: String,
}

impl Cause {
    pub(crate) fn new(reason: &'static str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, field: field.into(), message: message.into() }
    }

    pub(crate) fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new("FieldValueInvalid", field, message)
    }

    pub(crate) fn required(field: impl Into<String>) -> Self {
        Self::new("FieldValueRequired", field, "Required value")
    }

    pub(crate) fn forbidden(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new("FieldValueForbidden", field, message)
    }
}

/// A meta/v1 `Status` that tells of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: u16,
    reason: &'static str,
    message: String,
    /// What the details name: name, group, and kind or plural.
    about: Option<Box<[String; 3]>>,
    causes: Vec<Cause>,
    /// How a list goes on that cannot go on as it began.
    next: Option<String>,
}

impl Failure {
    fn plain(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), about: None, causes: Vec::new(), next: None }
    }

    fn about(self, resource: &Resource, name: &str) -> Self {
        Self { about: Some(Box::new([name.to_owned(), resource.group.clone(), resource.plural.clone()])), ..self }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::plain(400, "BadRequest", message)
    }

    /// What Go code answers with that did not think of an error of its own.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::plain(500, "", message)
    }

    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        Self::plain(404, "NotFound", format!("{} \"{name}\" not found", resource.qualified())).about(resource, name)
    }

    pub(crate) fn no_namespace(name: &str) -> Self {
        let about = Some(Box::new([name.to_owned(), String::new(), "namespaces".to_owned()]));
        Self { about, ..Self::plain(404, "NotFound", format!("namespaces \"{name}\" not found")) }
    }

    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.qualified());
        Self::plain(409, "AlreadyExists", message).about(resource, name)
    }

    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::plain(409, "Conflict", message).about(resource, name)
    }

    /// What is to be deleted is not what was meant.
    pub(crate) fn precondition(resource: &Resource, name: &str, what: &str) -> Self {
        let by_kind = Resource { plural: resource.kind.clone(), ..resource.clone() };
        Self::conflict(&by_kind, name, &format!("Precondition failed: {what}"))
    }

    /// Other managers hold fields that are to be applied.
    pub(crate) fn apply_conflict(causes: Vec<Cause>) -> Self {
        let message = format!("Apply failed with {} conflicts", causes.len());
        let about = Some(Box::new([String::new(), String::new(), String::new()]));
        Self { about, causes, ..Self::plain(409, "Conflict", message) }
    }

    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", resource.qualified());
        Self::plain(403, "Forbidden", message).about(resource, name)
    }

    pub(crate) fn terminating(resource: &Resource, name: &str, namespace: &str) -> Self {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let cause = Cause::new(
            "NamespaceTerminating",
            "metadata.namespace",
            format!("namespace {namespace} is being terminated"),
        );
        Self { causes: vec![cause], ..Self::forbidden(resource, name, &why) }
    }

    pub(crate) fn invalid(resource: &Resource, name: &str, causes: Vec<Cause>) -> Self {
        Self::invalid_about([name.to_owned(), resource.group.clone(), resource.kind.clone()], causes)
    }

    /// The options of a request are wrong.
    pub(crate) fn invalid_options(kind: &str, cause: Cause) -> Self {
        Self::invalid_about([String::new(), "meta.k8s.io".to_owned(), kind.to_owned()], vec![cause])
    }

    /// What a patch has made cannot be read.
    pub(crate) fn invalid_patch(why: String) -> Self {
        Self::invalid_about([String::new(), String::new(), String::new()], vec![Cause::invalid("patch", why)])
    }

    fn invalid_about(about: [String; 3], causes: Vec<Cause>) -> Self {
        let text: Vec<String> = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let message = format!("it is invalid: {}", text.join(", "));
        Self { about: Some(Box::new(about)), causes, ..Self::plain(422, "Invalid", message) }
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::plain(410, "Expired", message)
    }

    /// A list's next page is of a moment that is forgotten; from `next` it goes on with what is there now.
    pub(crate) fn expired_page(next: String) -> Self {
        Self { next: Some(next), ..Self::expired("The provided continue parameter is too old") }
    }

    /// What the handler of built-in kinds says of paths.
    pub(crate) fn no_path() -> Self {
        let about = Some(Box::new([String::new(), String::new(), String::new()]));
        Self { about, ..Self::plain(404, "NotFound", "the server could not find the requested resource") }
    }

    pub(crate) fn method_not_allowed(resource: &Resource, verb: &str) -> Self {
        if !resource.rules.custom {
            let message = "the server does not allow this method on the requested resource";
            return Self { about: Self::no_path().about, ..Self::plain(405, "MethodNotAllowed", message) };
        }
        let about = Some(Box::new([String::new(), resource.group.clone(), resource.plural.clone()]));
        Self { about, ..Self::plain(405, "MethodNotAllowed", format!("{verb} is not supported on this resource")) }
    }

    pub(crate) fn unsupported_media_type() -> Self {
        Self::plain(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
    }

    /// As it is sent.
    pub(crate) fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if let Some(next) = &self.next {
            status["metadata"]["continue"] = json!(next);
        }
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if self.about.is_some() || !self.causes.is_empty() {
            status["details"] = Value::Object(self.details());
        }
        status
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        let names = self.about.iter().flat_map(|about| about.iter()).zip(["name", "group", "kind"]);
        for (value, name) in names.filter(|(value, _)| !value.is_empty()) {
            details.insert(name.to_owned(), json!(value));
        }
        if !self.causes.is_empty() {
            let cause = |cause: &Cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field});
            details.insert("causes".to_owned(), self.causes.iter().map(cause).collect());
        }
        details
    }
}
