//! Tests of [`super`]: requests in, answers out.

use axum::body::{Body, to_bytes};
use futures::StreamExt as _;

use super::*;
use crate::broker::Channels;

const LOOPBACK: &str = "127.0.0.1:8082";

/// Served at an address, with a broker that has no cluster.
fn dashboard(address: &str) -> (Arc<Dashboard>, Channels) {
    let (broker, channels) = Broker::of_one_kind();
    (Dashboard::new(broker, address.parse().unwrap(), CancellationToken::new()), channels)
}

fn request(method: Method, path: &str, headers: &[(&str, &str)]) -> Request {
    let mut request = Request::new(Body::empty());
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().unwrap();
    for (name, value) in headers {
        request.headers_mut().append(header::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    request
}

async fn get(dashboard: &Arc<Dashboard>, path: &str) -> Response {
    answer(State(Arc::clone(dashboard)), request(Method::GET, path, &[("host", "localhost:8082")])).await
}

async fn text(response: Response) -> String {
    String::from_utf8(to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn each_page_is_there_and_nothing_else() {
    let (dashboard, _channels) = dashboard(LOOPBACK);
    let object = "/object?cluster=homer&kind=K&namespace=n&name=cert";
    for (path, status, media_type) in [
        ("/", 200, "text/html; charset=utf-8"),
        ("/search?q=cert", 200, "text/html; charset=utf-8"),
        ("/search", 200, "text/html; charset=utf-8"),
        ("/object", 404, "text/html; charset=utf-8"),
        (object, 404, "text/html; charset=utf-8"),
        ("/graph", 404, "text/html; charset=utf-8"),
        ("/graph?name=web", 200, "text/html; charset=utf-8"),
        ("/style.css", 200, "text/css; charset=utf-8"),
        ("/script.js", 200, "text/javascript; charset=utf-8"),
        ("/icon.svg", 200, "image/svg+xml"),
        ("/events?kind=Other", 404, "text/plain; charset=utf-8"),
        ("/metrics", 404, "text/plain; charset=utf-8"),
        ("/../options.rs", 404, "text/plain; charset=utf-8"),
    ] {
        let response = get(&dashboard, path).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (status, &media_type.parse().unwrap()),
            "{path}"
        );
    }
    let page = text(get(&dashboard, "/").await).await;
    assert!(page.contains("<h1>How it stands</h1>") && page.contains("0 of 0 ready"), "{page}");
}

#[tokio::test]
async fn every_answer_has_the_headers() {
    let (dashboard, _channels) = dashboard(LOOPBACK);
    let host = ("host", "localhost:8082");
    for (method, path, headers, status) in [
        (Method::GET, "/", &[host][..], 200),
        (Method::HEAD, "/style.css", &[host], 200),
        (Method::POST, "/", &[host], 405),
        (Method::DELETE, "/object", &[host], 405),
        (Method::GET, "/nothing", &[host], 404),
        (Method::GET, "/", &[("host", "attacker.example")], 403),
        (Method::GET, "/events", &[host, ("origin", "http://attacker.example")], 403),
    ] {
        let response = answer(State(Arc::clone(&dashboard)), request(method.clone(), path, headers)).await;
        assert_eq!(response.status().as_u16(), status, "{method} {path}");
        let has = |name: &str, part: &str| response.headers()[name].to_str().unwrap().contains(part);
        assert!(has("content-security-policy", "default-src 'none'") && has("cache-control", "no-store"));
        assert!(!has("content-security-policy", "unsafe") && has("content-security-policy", "frame-ancestors 'none'"));
        assert!(has("x-content-type-options", "nosniff") && has("referrer-policy", "no-referrer"));
        assert!(has("cross-origin-opener-policy", "same-origin") && has("cross-origin-resource-policy", "same-origin"));
        assert!(!response.headers().contains_key("access-control-allow-origin"));
    }
}

#[tokio::test]
async fn elsewhere_than_on_loopback_nothing_is_seen_without_a_token() {
    let (dashboard, _channels) = dashboard("0.0.0.0:8082");
    for path in
        ["/", "/search?q=x", "/object", "/graph?name=x", "/events", "/style.css", "/script.js", "/icon.svg", "/nothing"]
    {
        let response = get(&dashboard, path).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{path}");
        assert!(response.headers().contains_key(header::WWW_AUTHENTICATE));
    }
    // Nobody can be asked whose it is.
    let headers = [("host", "localhost:8082"), ("authorization", "Bearer sesame")];
    let response = answer(State(Arc::clone(&dashboard)), request(Method::GET, "/", &headers)).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(!text(response).await.contains("sesame"));
}

#[tokio::test]
async fn a_listener_is_sent_all_at_first_and_ends_with_the_process() {
    let (dashboard, _channels) = dashboard(LOOPBACK);
    let response = get(&dashboard, "/events").await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut events = response.into_body().into_data_stream();
    let first = String::from_utf8(events.next().await.unwrap().unwrap().to_vec()).unwrap();
    let names: Vec<&str> = first.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(names, ["overview", "clusters", "objects", "flow", "migrations", "graphs"]);
    assert!(first.ends_with("\n\n"));
    dashboard.stop.cancel();
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn who_looks_at_a_graph_is_sent_that_one() {
    let (dashboard, _channels) = dashboard(LOOPBACK);
    let response = get(&dashboard, "/events?graph=web").await;
    assert_eq!(response.status(), StatusCode::OK);
    let first = response.into_body().into_data_stream().next().await.unwrap().unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    assert!(first.starts_with("event: graph\n") && first.contains("are not known now"), "{first}");
}

#[tokio::test]
async fn only_so_many_listen_at_once() {
    let (dashboard, _channels) = dashboard(LOOPBACK);
    let mut listeners = Vec::new();
    for _ in 0..SEATS {
        listeners.push(get(&dashboard, "/events").await);
    }
    assert!(listeners.iter().all(|response| response.status() == StatusCode::OK));
    assert_eq!(get(&dashboard, "/events").await.status(), StatusCode::SERVICE_UNAVAILABLE);
    listeners.pop();
    assert_eq!(get(&dashboard, "/events").await.status(), StatusCode::OK);
    assert_eq!(get(&dashboard, "/").await.status(), StatusCode::OK, "the page itself is for all");
}
