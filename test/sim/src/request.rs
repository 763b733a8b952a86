//! `Request`: what is asked of an API server.

use http::{HeaderMap, Method, Uri, header};

use crate::{media::Media, query::Query};

/// A request, read whole.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) media: Media,
    pub(crate) content_type: String,
    user_agent: String,
    pub(crate) body: Vec<u8>,
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Empty: the core group.
    pub group: String,
    /// Version of the group.
    pub version: String,
    /// Empty: in none, or in all.
    pub namespace: String,
    /// Plural name of the kind.
    pub plural: String,
    /// Empty: all of them.
    pub name: String,
    /// Mostly empty.
    pub subresource: String,
}

impl Target {
    /// `None`: it leads to no objects.
    pub fn of(path: &str) -> Option<Self> {
        let mut steps = path.trim_end_matches('/').split('/').skip(1);
        let (group, version) = match steps.next()? {
            "api" => ("", steps.next()?),
            "apis" => (steps.next()?, steps.next()?),
            _ => return None,
        };
        let steps: Vec<&str> = steps.collect();
        let (namespace, rest) = match steps.as_slice() {
            ["namespaces", _, "status" | "finalize"] if group.is_empty() => ("", steps.as_slice()),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            all => ("", all),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, "", ""),
            [plural, name] => (*plural, *name, ""),
            [plural, name, subresource] => (*plural, *name, *subresource),
            _ => return None,
        };
        Some(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.to_owned(),
            plural: plural.to_owned(),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
        })
    }
}

impl Request {
    pub(crate) fn new(method: Method, uri: &Uri, headers: &HeaderMap, body: Vec<u8>) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let content_type = text(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim().to_owned();
        Self {
            method,
            path: uri.path().trim_end_matches('/').to_owned(),
            query: Query::parse(uri.query().unwrap_or_default()),
            media: Media::accepted(&text(header::ACCEPT)),
            content_type,
            user_agent: text(header::USER_AGENT),
            body,
        }
    }

    /// In whose name it writes.
    pub(crate) fn manager(&self) -> &str {
        match self.query.get("fieldManager") {
            "" => match self.user_agent.split('/').next().unwrap_or_default() {
                "" => "unknown",
                program => program,
            },
            manager => manager,
        }
    }

    /// `None`: it leads to no objects.
    pub(crate) fn target(&self) -> Option<Target> {
        Target::of(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_objects() {
        let target = |path: &str| {
            let Target { group, version, namespace, plural, name, subresource } = Target::of(path)?;
            Some([group, version, namespace, plural, name, subresource].join("|"))
        };
        let said = |path: &str| target(path).unwrap_or_default();
        assert_eq!(said("/api/v1/namespaces/a"), "|v1||namespaces|a|");
        assert_eq!(said("/api/v1/namespaces/a/status"), "|v1||namespaces|a|status");
        assert_eq!(said("/api/v1/namespaces/a/secrets"), "|v1|a|secrets||");
        assert_eq!(said("/apis/g.io/v1/namespaces/a/things/b/status"), "g.io|v1|a|things|b|status");
        assert_eq!(said("/apis/g.io/v1/things"), "g.io|v1||things||");
        assert_eq!(said("/apis/g.io/v1"), "");
    }
}
