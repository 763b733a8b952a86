//! `Model`: an API server of the simulator, written to as the engine writes.

use broker_api::Role;
use http::Request;
use http_body_util::BodyExt as _;
use kube::client::Body;
use runtime_effect::write::Op;
use runtime_fleet::{
    GroupVersionKind, call::Caller, conventions::Conventions, kind::KindInfo, object::ObjectKey, write::Writer,
};
use serde_json::{Value, json};
use sim::{ApiServer, Clock};
use tower::ServiceExt as _;

use crate::served::Served;

static CONVENTIONS: Conventions = Conventions {
    program: "the test",
    manager: "broker",
    words: b"",
    prefix: "example.org/",
    role: "example.org/role",
    roles: &[Role::Consumer],
    apart: &[],
    identified: &[],
    reads_core_schemas: false,
};

pub(crate) const NAMESPACE: &str = "default";
pub(crate) const NAME: &str = "it";

/// One object of one kind, in a server of its own.
pub(crate) struct Model {
    server: ApiServer,
    caller: Caller,
    kind: KindInfo,
}

impl Model {
    pub(crate) async fn serving(of: &Served, seed: u64) -> Self {
        let server = ApiServer::new("model", seed, Clock::starting(1_700_000_000));
        let Served { kind, plural, has_status, schema } = of;
        let gvk = GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind);
        let info = KindInfo { gvk, plural: (*plural).to_owned(), namespaced: true, has_status: *has_status };
        let caller = Caller::new(server.sends(), "model", &CONVENTIONS, |_, _, _, _| ());
        let model = Self { server, caller, kind: info };
        if !schema.is_null() {
            let subresources = if *has_status { json!({"status": {}}) } else { json!({}) };
            let version = json!({"name": kind.version, "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": schema}});
            let names = json!({"plural": plural, "kind": kind.kind});
            let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{}", kind.group)},
                "spec": {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]}});
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let (code, answer) = model.ask("POST", path, &crd).await;
            assert_eq!(code, 201, "{answer}");
            model.server.settle();
        }
        model
    }

    fn key() -> ObjectKey {
        ObjectKey::new(NAMESPACE, NAME)
    }

    /// What somebody else asks.
    async fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.header("user-agent", "person/1").body(Body::from(body.to_string().into_bytes()));
        let answer = self.server.sends().oneshot(request.unwrap()).await.unwrap();
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&body).unwrap())
    }

    /// The object, as it is told.
    pub(crate) async fn object(&self) -> Option<Value> {
        let (code, object) = self.ask("GET", &self.kind.object_path(&Self::key()), &Value::Null).await;
        (code == 200).then_some(object)
    }

    /// Whether the runtime takes the object for one that we have applied.
    pub(crate) async fn is_applied(&self) -> bool {
        let found = Writer::new(&self.caller).get(&self.kind, &Self::key()).await.unwrap();
        found.is_some_and(|found| found.applied_by_us)
    }

    /// Somebody else makes it, or writes it as a whole.
    pub(crate) async fn put(&self, object: &Value) {
        let path = self.kind.object_path(&Self::key());
        let (method, at) = match self.object().await {
            Some(_) => ("PUT", path.clone()),
            None => ("POST", self.kind.collection_path(Some(NAMESPACE))),
        };
        let (code, answer) = self.ask(method, &at, object).await;
        assert!(code < 300, "{answer}");
        if self.kind.has_status && object.get("status").is_some() {
            let mut object = object.clone();
            object["metadata"]["resourceVersion"] = answer["metadata"]["resourceVersion"].clone();
            let (code, answer) = self.ask("PUT", &format!("{path}/status"), &object).await;
            assert!(code < 300, "{answer}");
        }
    }

    /// Somebody else deletes it.
    pub(crate) async fn delete(&self) {
        self.ask("DELETE", &self.kind.object_path(&Self::key()), &json!({})).await;
    }

    /// Carries out a write of ours. `Err`: why not.
    pub(crate) async fn execute(&self, op: &Op) -> Result<(), String> {
        let done = Writer::new(&self.caller).execute(&self.kind, &Self::key(), op).await;
        done.map(drop).map_err(|error| error.reason().to_owned())
    }
}
