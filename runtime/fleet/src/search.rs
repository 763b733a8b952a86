//! `search`: a live read of what carries a label, where a watch may be behind.

use runtime_effect::step::Live;
use serde_json::value::RawValue;

use crate::{
    call::{Caller, LIST_LIMIT, get},
    each::within,
    error::{CallError, cut},
    kind::KindInfo,
    object::Object,
    page::ListMeta,
    query::push_query,
    watch::METADATA_LIST,
};

/// Pages that are read, at most, of so many objects: whoever labels more than these has no answer.
const PAGES: usize = 20;
const PAGE: usize = 500;

/// What is looked for in one namespace.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// Where.
    pub namespace: &'a str,
    /// Key and value of the label.
    pub label: (&'a str, &'a str),
    /// What their names begin with.
    pub prefix: &'a str,
}

/// The first object of a kind that is found; [`Live::Absent`]: there is none. Errors: the API server's, or an answer that is no
/// list, or is not all of it.
pub async fn search(caller: &Caller, kind: &KindInfo, search: Search<'_>) -> Result<Live, CallError> {
    let Search { namespace, label: (key, value), prefix } = search;
    let unreadable = |why: &str| CallError::UnknownOutcome(format!("unreadable list: {}", cut(why)));
    let api_version = kind.api_version();
    let mut next = String::new();
    for _ in 0..PAGES {
        let mut path = format!("{}?limit={PAGE}", kind.collection_path(Some(namespace)));
        push_query(&mut path, "labelSelector", &format!("{key}={value}"));
        push_query(&mut path, "continue", &next);
        let (_, answer) = caller.call(get(&path, METADATA_LIST)?, LIST_LIMIT).await?;
        let (mut found, mut bad) = (None, None);
        let read = within::<_, ListMeta<'_>>(&answer, "items", "metadata", |item: &RawValue| {
            let type_meta = Some((api_version.as_str(), kind.gvk.kind.as_str()));
            match Object::parse(item.get().as_bytes(), type_meta, caller.conventions()) {
                Ok((key, object)) if found.is_none() && key.name.starts_with(prefix) => {
                    found = Some(Live::Present { uid: object.uid, deleting: object.deleting });
                }
                Ok(_) => {}
                Err(error) => bad = Some(error),
            }
        });
        let metadata = read.map_err(|error| unreadable(&error.to_string()))?;
        if let Some(found) = found {
            return Ok(found);
        }
        if let Some(bad) = bad {
            return Err(unreadable(&bad.to_string()));
        }
        next = metadata.ok_or_else(|| unreadable("it has no metadata"))?.next.into_owned();
        if next.is_empty() {
            return Ok(Live::Absent);
        }
    }
    Err(unreadable("it does not end"))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;
    use crate::{GroupVersionKind, conventions::PLAIN, kind::well_known};

    /// What is found where the first page, and any other one, is this.
    async fn found(first: &'static str, other: &'static str) -> Result<Live, CallError> {
        let listing = tower::service_fn(move |request: Request<Body>| {
            let asked = request.uri().to_string();
            let page = match asked.strip_prefix("/api/v1/namespaces/n/configmaps?limit=500&labelSelector=k%3Dv") {
                Some("") => first,
                Some("&continue=c") => other,
                _ => panic!("{asked}"),
            };
            std::future::ready(Ok::<_, Infallible>(Response::new(Body::from(page.as_bytes().to_vec()))))
        });
        let caller = Caller::new(crate::dial::sends(listing), "host", &PLAIN, |_, _, _, _| {});
        let gvk = GroupVersionKind { group: String::new(), version: "v1".to_owned(), kind: "ConfigMap".to_owned() };
        let asked = Search { namespace: "n", label: ("k", "v"), prefix: "id-" };
        search(&caller, &well_known(&gvk).unwrap(), asked).await
    }

    #[tokio::test]
    async fn what_is_labelled_and_named_so_is_found_on_any_page() {
        const NONE: &str = r#"{"metadata":{},"items":[]}"#;
        const MORE: &str = r#"{"metadata":{"continue":"c"},"items":null}"#;
        const ONE: &str = r#"{"metadata":{},"items":[{"metadata":{"namespace":"n","name":"x","uid":"w","resourceVersion":"1"}},
            {"metadata":{"namespace":"n","name":"id-a","uid":"u","resourceVersion":"1"}}]}"#;
        const OTHER: &str =
            r#"{"metadata":{},"items":[{"metadata":{"namespace":"n","name":"ids","uid":"w","resourceVersion":"1"}}]}"#;
        let there = Live::Present { uid: "u".into(), deleting: false };
        assert_eq!(found(NONE, ONE).await.unwrap(), Live::Absent);
        assert_eq!(found(ONE, NONE).await.unwrap(), there);
        assert_eq!(found(OTHER, NONE).await.unwrap(), Live::Absent);
        assert_eq!(found(MORE, ONE).await.unwrap(), there);
        assert_eq!(found(MORE, NONE).await.unwrap(), Live::Absent);
        let bad = r#"{"metadata":{},"items":[{"metadata":{}}]}"#;
        for unknown in [MORE, bad, "{}", r#"{"kind":"Status","status":"Success"}"#, r#"{"items":[]}"#, "[]", ""] {
            assert!(matches!(found(MORE, unknown).await, Err(CallError::UnknownOutcome(_))), "{unknown}");
        }
    }
}
