#![allow(clippy::unwrap_used)]

use futures::StreamExt as _;
use tokio::sync::mpsc::unbounded_channel;

use super::*;
use crate::scale::change::Role;
use crate::widget;

fn stub(role: Role) -> Arc<Stub> {
    let (changes, _) = unbounded_channel();
    let (recording, asked) = Default::default();
    Stub::new(role, 3, &recording, &asked, changes)
}

async fn ask(stub: &Arc<Stub>, method: &str, path: &str, content: &str, body: &Value) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, content);
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let answer = answer(State(Arc::clone(stub)), request.body(body).unwrap()).await;
    let code = answer.status().as_u16();
    let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    (code, serde_json::from_slice(&bytes).unwrap())
}

fn path(name: &str) -> String {
    format!("/apis/bench.example.org/v1/namespaces/{}/widgets/{name}", widget::NAMESPACE)
}

fn copy(spec: u64) -> Value {
    json!({"apiVersion": "bench.example.org/v1", "kind": "Widget", "metadata": {"name": "a", "resourceVersion": "1"},
        "spec": {"x": spec}})
}

#[tokio::test]
async fn a_copy_is_applied_read_and_deleted() {
    let stub = stub(Role::Provider);
    let at = format!("{}?fieldManager=broker&force=true", path("a"));
    let (code, made) = ask(&stub, "PATCH", &at, APPLY, &copy(1)).await;
    assert_eq!((code, &made["metadata"]["namespace"]), (201, &json!(widget::NAMESPACE)));
    assert_eq!(ask(&stub, "PATCH", &at, APPLY, &copy(1)).await.0, 409);
    let (_, list) = ask(&stub, "GET", &format!("{}?limit=500", widget::ALL), "", &Value::Null).await;
    assert_eq!((&list["kind"], &list["items"][0]["spec"]), (&json!("WidgetList"), &json!({"x": 1})));
    let options = json!({"preconditions": {"uid": made["metadata"]["uid"]}});
    let (code, gone) = ask(&stub, "DELETE", &path("a"), JSON, &options).await;
    assert_eq!((code, &gone["status"]), (200, &json!("Success")));
    let (code, missing) = ask(&stub, "GET", &path("a"), "", &Value::Null).await;
    assert_eq!((code, &missing["details"]["name"]), (404, &json!("a")));
    let writes: Vec<_> = stub.asked.writes().into_iter().collect();
    assert_eq!(writes, [("copy", 2), ("deletion", 1), ("refused", 1)]);
    assert_eq!(stub.asked.strange().0, 0);
}

#[tokio::test]
async fn events_are_taken_and_what_is_not_known_is_told() {
    let stub = stub(Role::Consumer);
    let event = json!({"metadata": {"name": "e", "namespace": "n"}});
    let (code, told) = ask(&stub, "POST", "/apis/events.k8s.io/v1/namespaces/n/events", JSON, &event).await;
    assert_eq!((code, &told["metadata"]["resourceVersion"]), (201, &json!("1")));
    assert_eq!(ask(&stub, "GET", "/api/v1/nodes", "", &Value::Null).await.0, 404);
    assert_eq!(ask(&stub, "PUT", &path("a"), JSON, &copy(1)).await.0, 404);
    let (count, examples) = stub.asked.strange();
    assert!(count == 2 && examples[0].starts_with("GET /api/v1/nodes"), "{examples:?}");
    let (_, own) = ask(&stub, "GET", KUBE_SYSTEM, "", &Value::Null).await;
    assert_eq!(own["metadata"]["uid"], stub.uid());
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_from_a_version_and_ends_in_time() {
    let stub = stub(Role::Consumer);
    let path = format!("{}?watch=1&resourceVersion=1000&timeoutSeconds=90", widget::ALL);
    let request = Request::get(&path).body(Body::empty()).unwrap();
    let mut body = answer(State(Arc::clone(&stub)), request).await.into_body().into_data_stream();
    let object = serde_json::from_slice(&widget::body("common-00001")).unwrap();
    stub.make(Kind::Widget, object).unwrap();
    let line = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let first = line(&body.next().await.unwrap().unwrap());
    assert_eq!((&first["type"], &first["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("common-00001")));
    let second = line(&body.next().await.unwrap().unwrap());
    assert_eq!(
        (&second["type"], &second["object"]["metadata"]["resourceVersion"]),
        (&json!("BOOKMARK"), &json!("1001"))
    );
    assert!(body.next().await.is_none());

    stub.store().forget();
    let request = Request::get(&path).body(Body::empty()).unwrap();
    let mut body = answer(State(stub), request).await.into_body().into_data_stream();
    let expired = line(&body.next().await.unwrap().unwrap());
    assert_eq!((&expired["type"], &expired["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert!(body.next().await.is_none());
}
