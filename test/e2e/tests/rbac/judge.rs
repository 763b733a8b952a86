//! What a ServiceAccount asked for, judged by the list of permissions: what was denied, and what was never used.

use std::panic::{AssertUnwindSafe, resume_unwind};

use e2e::Place;
use futures::FutureExt as _;
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
    /// What an authorizer was asked besides, of which an audit log knows nothing.
    pub(crate) besides: Vec<Request>,
}

impl<'a> Case<'a> {
    /// A cluster where all that is granted must be used.
    pub(crate) fn new(place: &'a Place, from: Mark, granted: &[Grant]) -> Self {
        let roles = granted.iter().map(|grant| grant.role.name).collect();
        Self { place, from, granted: granted.to_vec(), roles, besides: Vec::new() }
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

/// What was asked for, judged.
pub(crate) struct Judgement {
    denied: Vec<String>,
    unused: Vec<String>,
}

/// Judges what `user` asked for. `excused` knows denials that are as they should be.
pub(crate) async fn judge(user: &str, cases: &[Case<'_>], excused: impl Fn(&Place, &AuditEvent) -> bool) -> Judgement {
    let (mut denied, mut unused) = (Vec::new(), Vec::new());
    for case in cases {
        let name = case.place.name();
        let events = case.place.cluster.audit().settled_since(case.from).await.unwrap().of(user);
        let denials = events.iter().filter(|event| is_denied(event) && !excused(case.place, event));
        denied.extend(denials.map(|event| format!("denied in {name}: {}", event.message)));
        let carried_out = events.iter().filter(|event| event.code != 403).flat_map(asked);
        let requests: Vec<Request> = carried_out.chain(case.besides.iter().cloned()).collect();
        let words = usage::unused(&case.granted, &requests);
        let words = words.iter().filter(|word| case.roles.contains(&word.role()));
        unused.extend(words.map(|word| format!("never needed in {name}: {word}")));
    }
    denied.sort();
    denied.dedup();
    Judgement { denied, unused }
}

impl Judgement {
    /// Plays a scenario, then judges: a denied request goes before whatever else went wrong for want of it.
    pub(crate) async fn of(scenario: impl Future<Output = ()>, judge: impl Future<Output = Self>) -> Self {
        let played = AssertUnwindSafe(scenario).catch_unwind().await;
        let judgement = judge.await;
        judgement.nothing_denied();
        if let Err(panic) = played {
            resume_unwind(panic);
        }
        judgement
    }

    /// Both judgements in one.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.denied.extend(other.denied);
        self.unused.extend(other.unused);
        self
    }

    /// Panics with all requests that were denied.
    pub(crate) fn nothing_denied(&self) {
        assert!(self.denied.is_empty(), "\n{}", self.denied.join("\n"));
    }

    /// Panics with each verb that no request needed.
    pub(crate) fn nothing_unused(&self) {
        assert!(self.unused.is_empty(), "\n{}", self.unused.join("\n"));
    }
}
