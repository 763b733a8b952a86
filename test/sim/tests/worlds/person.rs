//! What people and other programs ask of an API server: nothing goes wrong on their way.

use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;
use sim::ApiServer;
use tower::ServiceExt as _;

/// Somebody with access to an API server.
pub(crate) struct Person<'a> {
    pub(crate) name: &'static str,
    pub(crate) server: &'a ApiServer,
}

impl Person<'_> {
    pub(crate) async fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
        let request = request.header("user-agent", self.name).body(Body::from(body.to_string().into_bytes())).unwrap();
        let answer = self.server.sends().oneshot(request).await.unwrap();
        let code = answer.status().as_u16();
        let content = answer.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&content).unwrap_or_default())
    }

    pub(crate) async fn create(&self, collection: &str, object: &Value) {
        let (code, answer) = self.ask("POST", collection, object).await;
        assert_eq!(code, 201, "{collection}: {answer}");
    }
}
