//! Writes: server-side apply, merge patch, delete, each with the precondition under which it was decided.
//!
//! How an object is written is the one seam for API servers that differ: kcp's virtual workspaces do not remove omitted fields
//! on apply, and will need a patch computed from the live object and the fields that are ours, in [`Writer::apply`] and
//! nowhere else. It has both: `body` is our field set as it is to be, [`Writer::get`] reads the live object, whose
//! `managedFields` say which fields are ours now (no index holds them: for every object they would cost as much memory as
//! the rest of it). Which way a server needs is its own: its [`Caller`] is where to say so.

use std::fmt::Display;

use http::{Method, StatusCode, header};
use runtime_effect::write::Op;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    call::{Caller, JSON, OBJECT_LIMIT, build, get},
    error::CallError,
    kind::KindInfo,
    object::{Object, ObjectKey},
    query::push_query,
};

/// A list of objects.
#[derive(Deserialize)]
struct List<'a> {
    /// `CertificateList`, for one.
    kind: &'a str,
    /// None comes as `null`.
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

/// Under which circumstances an apply may go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// There must be no object of this name. An apply that names a resource version creates, but conflicts with what exists.
    Absent,
    /// The object of this name must be this one.
    Uid(Box<str>),
}

/// Writes objects of one API server as one field manager.
#[derive(Debug, Clone)]
pub struct Writer<'a> {
    caller: &'a Caller,
    manager: &'static str,
}

/// What a write left behind.
#[derive(Debug)]
pub struct Written {
    /// The object as the API server now holds it.
    pub object: Object,
    /// Whether it was created by this write.
    pub created: bool,
}

impl<'a> Writer<'a> {
    /// A writer that sends its requests through `caller`, as the field manager of its conventions.
    pub fn new(caller: &'a Caller) -> Self {
        Self { caller, manager: caller.conventions().manager }
    }

    /// The same as another field manager.
    #[must_use]
    pub fn named(self, manager: &'static str) -> Self {
        Self { manager, ..self }
    }

    /// Carries out what was decided on. `None`: the object is gone.
    pub async fn execute(&self, kind: &KindInfo, key: &ObjectKey, op: &Op) -> Result<Option<Object>, CallError> {
        let written = match op {
            Op::Create(body) => self.apply(kind, key, body.clone(), &Precondition::Absent).await?,
            Op::Apply { body, uid } => self.apply(kind, key, body.clone(), &Precondition::Uid(uid.clone())).await?,
            Op::Merge(patch) => self.merge(kind, key, patch, false).await?,
            Op::MergeStatus(patch) => self.merge(kind, key, patch, true).await?,
            Op::Delete { uid, version: Some(version) } => return self.delete_version(kind, key, uid, *version).await,
            Op::Delete { uid, version: None } => return self.delete(kind, key, uid).await,
        };
        Ok(Some(written.object))
    }

    /// Server-side apply with force. `body` needs no metadata but what is to be applied; name and precondition are put in here.
    pub async fn apply(
        &self,
        kind: &KindInfo,
        key: &ObjectKey,
        mut body: Value,
        precondition: &Precondition,
    ) -> Result<Written, CallError> {
        body["apiVersion"] = json!(kind.api_version());
        body["kind"] = json!(kind.gvk.kind);
        body["metadata"]["name"] = json!(&*key.name);
        match precondition {
            Precondition::Absent => body["metadata"]["resourceVersion"] = json!("1"),
            Precondition::Uid(uid) => body["metadata"]["uid"] = json!(uid),
        }
        let path = format!("{}?fieldManager={}&force=true", kind.object_path(key), self.manager);
        let headers = [(header::CONTENT_TYPE, "application/apply-patch+yaml"), (header::ACCEPT, JSON)];
        let (code, answer) =
            self.caller.call(build(Method::PATCH, &path, &headers, to_bytes(&body))?, OBJECT_LIMIT).await?;
        self.written(kind, key, &answer, code)
    }

    /// JSON merge patch of an object or of its `status`. The patch carries its own resourceVersion precondition.
    pub async fn merge(
        &self,
        kind: &KindInfo,
        key: &ObjectKey,
        patch: &Value,
        status: bool,
    ) -> Result<Written, CallError> {
        let subresource = if status { "/status" } else { "" };
        let target = format!("{}{subresource}?fieldManager={}", kind.object_path(key), self.manager);
        let headers = [(header::CONTENT_TYPE, "application/merge-patch+json"), (header::ACCEPT, JSON)];
        let (code, answer) =
            self.caller.call(build(Method::PATCH, &target, &headers, to_bytes(patch))?, OBJECT_LIMIT).await?;
        self.written(kind, key, &answer, code)
    }

    /// Creates an object from its full content.
    pub async fn create(&self, kind: &KindInfo, key: &ObjectKey, body: &Value) -> Result<Written, CallError> {
        let namespace = (!key.namespace.is_empty()).then_some(&*key.namespace);
        let path = format!("{}?fieldManager={}", kind.collection_path(namespace), self.manager);
        let headers = [(header::CONTENT_TYPE, JSON), (header::ACCEPT, JSON)];
        let (code, answer) =
            self.caller.call(build(Method::POST, &path, &headers, to_bytes(body))?, OBJECT_LIMIT).await?;
        self.written(kind, key, &answer, code)
    }

    /// Deletes the object with this uid. `None`: it is gone. `Some`: finalizers hold it, and this is what it looks like now.
    pub async fn delete(&self, kind: &KindInfo, key: &ObjectKey, uid: &str) -> Result<Option<Object>, CallError> {
        self.delete_if(kind, key, &json!({"uid": uid})).await
    }

    /// The same, if nobody has changed the object since it had this version.
    pub async fn delete_version(
        &self,
        kind: &KindInfo,
        key: &ObjectKey,
        uid: &str,
        resource_version: u64,
    ) -> Result<Option<Object>, CallError> {
        self.delete_if(kind, key, &json!({"uid": uid, "resourceVersion": resource_version.to_string()})).await
    }

    async fn delete_if(
        &self,
        kind: &KindInfo,
        key: &ObjectKey,
        preconditions: &Value,
    ) -> Result<Option<Object>, CallError> {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions, "propagationPolicy": "Background"});
        let headers = [(header::CONTENT_TYPE, JSON), (header::ACCEPT, JSON)];
        let request = build(Method::DELETE, &kind.object_path(key), &headers, to_bytes(&options))?;
        match self.caller.call(request, OBJECT_LIMIT).await {
            // A Status says "deleted at once"; the object itself may come either way, so look at its finalizers.
            Ok((_, answer)) => Ok(Object::parse(&answer, None, self.caller.conventions())
                .ok()
                .map(|(_, object)| object)
                .filter(|object| object.deleting && object.has_finalizers)),
            Err(CallError::NotFound(_) | CallError::NamespaceMissing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Live read. `None`: the API server says that there is no such object.
    ///
    /// Whoever watches a kind may list it, and need not have the right to `get`, as the documented rights at providers have it not:
    /// where that is refused a list of one name says the same. It comes second because an API server that answers lists from its
    /// cache waits until that is new enough, up to a tenth of a second.
    pub async fn get(&self, kind: &KindInfo, key: &ObjectKey) -> Result<Option<Object>, CallError> {
        match self.caller.call(get(&kind.object_path(key), JSON)?, OBJECT_LIMIT).await {
            Ok((code, answer)) => Ok(Some(self.written(kind, key, &answer, code)?.object)),
            Err(CallError::NotFound(_) | CallError::NamespaceMissing(_)) => Ok(None),
            Err(CallError::Forbidden(_)) => self.find(kind, key).await,
            Err(error) => Err(error),
        }
    }

    /// The object of this name in a list.
    async fn find(&self, kind: &KindInfo, key: &ObjectKey) -> Result<Option<Object>, CallError> {
        let namespace = (!key.namespace.is_empty()).then_some(&*key.namespace);
        let mut path = format!("{}?limit=1", kind.collection_path(namespace));
        push_query(&mut path, "fieldSelector", &format!("metadata.name={}", key.name));
        let (code, answer) = self.caller.call(get(&path, JSON)?, OBJECT_LIMIT).await?;
        let unreadable = |why: &dyn Display| CallError::UnknownOutcome(format!("unreadable answer from {path}: {why}"));
        let List { kind: of, items } = serde_json::from_slice(&answer).map_err(|error| unreadable(&error))?;
        if !of.ends_with("List") {
            return Err(unreadable(&format!("{of} is no list")));
        }
        let found = items.into_iter().flatten().next();
        found.map(|found| Ok(self.written(kind, key, found.get().as_bytes(), code)?.object)).transpose()
    }

    /// An answer that is not the object we asked for leaves open what happened.
    fn written(&self, kind: &KindInfo, key: &ObjectKey, answer: &[u8], code: StatusCode) -> Result<Written, CallError> {
        let api_version = kind.api_version();
        match Object::parse(answer, Some((&api_version, &kind.gvk.kind)), self.caller.conventions()) {
            Ok((found, object)) if found == *key => Ok(Written { object, created: code == StatusCode::CREATED }),
            Ok((found, _)) => Err(CallError::UnknownOutcome(format!("asked for {key}, the answer is about {found}"))),
            Err(error) => Err(CallError::UnknownOutcome(format!("unreadable answer: {error}"))),
        }
    }
}

fn to_bytes(value: &Value) -> Vec<u8> {
    // A tree of JSON values is always written.
    serde_json::to_vec(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;
    use crate::{GroupVersionKind, conventions::PLAIN, kind::well_known};

    /// What is found where nobody may get anything, and lists are answered so.
    async fn found(list: &'static str) -> Result<Option<Box<str>>, CallError> {
        let listing = tower::service_fn(move |request: Request<Body>| {
            let asked = request.uri().to_string();
            let (code, body) = match asked.as_str() {
                "/api/v1/namespaces/n/configmaps?limit=1&fieldSelector=metadata.name%3Dm" => (200, list),
                "/api/v1/namespaces/n/configmaps/m" => (403, r#"{"kind":"Status","reason":"Forbidden","code":403}"#),
                _ => panic!("{asked}"),
            };
            let answer = Response::builder().status(code).body(Body::from(body.as_bytes().to_vec())).unwrap();
            std::future::ready(Ok::<_, Infallible>(answer))
        });
        let caller = Caller::new(crate::dial::sends(listing), "host", &PLAIN, |_, _, _, _| {});
        let gvk = GroupVersionKind { group: String::new(), version: "v1".to_owned(), kind: "ConfigMap".to_owned() };
        let got = Writer::new(&caller).get(&well_known(&gvk).unwrap(), &ObjectKey::new("n", "m")).await;
        got.map(|object| object.map(|object| object.uid))
    }

    #[tokio::test]
    async fn what_may_not_be_got_is_listed_by_its_name() {
        let one = r#"{"kind":"ConfigMapList","items":[{"metadata":{"namespace":"n","name":"m","uid":"u","resourceVersion":"1"}}]}"#;
        assert_eq!(found(one).await.unwrap().as_deref(), Some("u"));
        assert_eq!(found(r#"{"kind":"ConfigMapList","items":[]}"#).await.unwrap(), None);
        assert_eq!(found(r#"{"kind":"ConfigMapList","items":null}"#).await.unwrap(), None);
        let other = r#"{"kind":"ConfigMapList","items":[{"metadata":{"namespace":"n","name":"o","uid":"u","resourceVersion":"1"}}]}"#;
        for unknown in [other, "{}", r#"{"kind":"Status","status":"Success"}"#, "[]", ""] {
            assert!(matches!(found(unknown).await, Err(CallError::UnknownOutcome(_))), "{unknown}");
        }
    }
}
