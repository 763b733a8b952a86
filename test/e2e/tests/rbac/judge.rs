//! What a ServiceAccount asked for, judged by the list of permissions: what was denied, and what was never used.

use e2e::Place;
use harness::{AuditEvent, Mark};
use manifests::{
    permissions::Grant,
    usage::{self, Request},
};

/// One cluster, and what is granted there.
pub(crate) struct Case<'a> {
    /// The cluster.
    pub(crate) place: &'a Place,
    /// From where its audit log counts.
    pub(crate) from: Mark,
    /// All that is granted.
    pub(crate) granted: Vec<Grant>,
    /// What of it must be used: the names of the roles.
    pub(crate) roles: Vec<&'static str>,
}

impl<'a> Case<'a> {
    /// A cluster where all that is granted must be used.
    pub(crate) fn new(place: &'a Place, from: Mark, granted: &[Grant]) -> Self {
        Self { place, from, granted: granted.to_vec(), roles: granted.iter().map(|grant| grant.role.name).collect() }
    }
}

/// What an authorizer was asked about a request: server-side apply of what is not there asks for `create` as well.
fn asked(event: &AuditEvent) -> Vec<Request> {
    let slash = if event.subresource.is_empty() { "" } else { "/" };
    let request = Request {
        group: event.group.clone(),
        resource: format!("{}{slash}{}", event.resource, event.subresource),
        verb: event.verb.clone(),
        namespace: event.namespace.clone(),
        name: event.name.clone(),
    };
    let created = event.verb == "patch" && event.code == 201;
    let create = created.then(|| Request { verb: "create".to_owned(), ..request.clone() });
    [request].into_iter().chain(create).collect()
}

/// Whether the answer was no. In a namespace that is being deleted nobody may create anything, whatever is granted.
fn is_denied(event: &AuditEvent) -> bool {
    event.code == 403 && !event.message.contains("because it is being terminated")
}

/// Panics with all that is wrong: each denied request that `excused` does not know, and each verb that no request needed.
pub(crate) async fn judge(user: &str, cases: &[Case<'_>], excused: impl Fn(&Place, &AuditEvent) -> bool) {
    let mut wrong = Vec::new();
    for case in cases {
        let name = case.place.name();
        let events = case.place.cluster.audit().settled_since(case.from).await.unwrap().of(user);
        assert!(!events.is_empty(), "{user} was never in {name}");
        let denied = events.iter().filter(|event| is_denied(event) && !excused(case.place, event));
        let mut told: Vec<String> = denied.map(|event| format!("denied in {name}: {}", event.message)).collect();
        told.sort();
        told.dedup();
        wrong.extend(told);
        let requests: Vec<Request> = events.iter().filter(|event| event.code != 403).flat_map(asked).collect();
        let unused = usage::unused(&case.granted, &requests);
        let unused = unused.iter().filter(|word| case.roles.contains(&word.role()));
        wrong.extend(unused.map(|word| format!("never needed in {name}: {word}")));
    }
    assert!(wrong.is_empty(), "{user}:\n{}", wrong.join("\n"));
}
