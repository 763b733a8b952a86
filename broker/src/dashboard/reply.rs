//! `Reply`: what is answered, with the headers that keep a browser from doing anything else with it.

use std::{convert::Infallible, fmt};

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use futures::Stream;

use super::html::Html;

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// Nothing is loaded but from here, nothing runs but the one script, nobody shows it within his own page, and nothing is kept.
const SEALS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    // Proxies that gather what they pass on would hold back what is live.
    ("x-accel-buffering", "no"),
];

/// An answer with the headers that all have.
pub(super) fn sealed(mut reply: Response) -> Response {
    for (name, value) in SEALS {
        reply.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    reply
}

fn of(status: StatusCode, media_type: &'static str, body: Body) -> Response {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    reply
}

/// A page.
pub(super) fn page(status: StatusCode, html: Html) -> Response {
    of(status, HTML, Body::from(html.into_string()))
}

/// One line for people.
pub(super) fn line(status: StatusCode, text: impl fmt::Display) -> Response {
    of(status, TEXT, Body::from(format!("{text}\n")))
}

/// A file that is part of the program.
pub(super) fn file(media_type: &'static str, content: &'static str) -> Response {
    of(StatusCode::OK, media_type, Body::from(content))
}

/// Events as they come.
pub(super) fn events(events: impl Stream<Item = Result<String, Infallible>> + Send + 'static) -> Response {
    of(StatusCode::OK, "text/event-stream", Body::from_stream(events))
}

/// The same with one more header.
pub(super) fn with(mut reply: Response, name: HeaderName, value: &'static str) -> Response {
    reply.headers_mut().insert(name, HeaderValue::from_static(value));
    reply
}
