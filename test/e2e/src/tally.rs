//! `Tally`: what brokers asked the API servers of several places for, counted from the audit logs.

use std::{fmt, time::Duration};

use futures::future::join_all;
use harness::{AuditEvent, Mark, wait_for};

use crate::Place;

/// Users of brokers, see [`harness::PREDEFINED_USERS`], and of what serves graphs beside them.
const BROKERS: [&str; 4] = ["broker", "broker-2", "limited", "graphs"];

/// How long the brokers may take to have nothing more to do.
const QUIET_DEADLINE: Duration = Duration::from_secs(90);

/// One request and where it was made.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// Name of the place.
    pub place: String,
    /// What was asked.
    pub event: AuditEvent,
}

/// Requests of brokers, place by place, each in the order of its log.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Requests(pub Vec<Request>);

/// A moment in the audit logs of several places, from which requests are counted.
pub struct Tally<'a> {
    marks: Vec<(&'a Place, Mark)>,
}

impl<'a> Tally<'a> {
    /// Counts from now on.
    pub async fn begin(places: impl IntoIterator<Item = &'a Place>) -> Self {
        let marks = places.into_iter().map(async |place| (place, place.cluster.audit().settle().await.unwrap()));
        Self { marks: join_all(marks).await }
    }

    /// What brokers have asked for since, whichever user they are.
    pub async fn requests(&self) -> Requests {
        let found = self.marks.iter().map(async |(place, mark)| {
            let events = place.cluster.audit().settled_since(*mark).await.unwrap();
            let brokers = events.into_iter().filter(|event| BROKERS.contains(&event.user.as_str()));
            brokers.map(|event| Request { place: place.name().to_owned(), event }).collect::<Vec<_>>()
        });
        Requests(join_all(found).await.concat())
    }
}

/// Waits until no broker has asked any of the places for anything for as long as `quiet`.
pub async fn until_quiet(places: &[&Place], quiet: Duration) {
    let what = format!("no request of a broker for {quiet:?}");
    let waited = wait_for(QUIET_DEADLINE, &what, async || {
        let tally = Tally::begin(places.iter().copied()).await;
        // The span of time is what is asked about: nothing else could tell that nothing comes.
        tokio::time::sleep(quiet).await;
        let requests = tally.requests().await;
        if requests.0.is_empty() { Ok(()) } else { Err(requests) }
    });
    waited.await.unwrap_or_else(|error| panic!("{error:#}"));
}

impl Requests {
    /// Those for which `keep` is true.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&Request) -> bool) -> Self {
        Self(self.0.iter().filter(|request| keep(request)).cloned().collect())
    }

    /// Those that change something, without Events.
    #[must_use]
    pub fn writes(&self) -> Self {
        self.only(|request| request.event.is_write() && request.event.resource != "events")
    }

    /// Events that were sent.
    #[must_use]
    pub fn events(&self) -> Self {
        self.only(|request| request.event.is_write() && request.event.resource == "events")
    }

    /// Those that read.
    #[must_use]
    pub fn reads(&self) -> Self {
        self.only(|request| !request.event.is_write())
    }

    /// Those on a resource by its plural name, whatever the subresource.
    #[must_use]
    pub fn on(&self, resource: &str) -> Self {
        self.only(|request| request.event.resource == resource)
    }

    /// Those on a namespace's objects.
    #[must_use]
    pub fn within(&self, namespace: &str) -> Self {
        self.only(|request| request.event.namespace == namespace)
    }

    /// Those of one user.
    #[must_use]
    pub fn of(&self, user: &str) -> Self {
        self.only(|request| request.event.user == user)
    }

    /// Those that the API server carried out.
    #[must_use]
    pub fn carried_out(&self) -> Self {
        self.only(|request| (200..300).contains(&request.event.code))
    }

    /// `place verb resource[/subresource]`, one for each request.
    pub fn words(&self) -> Vec<String> {
        let word = |request: &Request| {
            let AuditEvent { verb, resource, subresource, .. } = &request.event;
            let slash = if subresource.is_empty() { "" } else { "/" };
            format!("{} {verb} {resource}{slash}{subresource}", request.place)
        };
        self.0.iter().map(word).collect()
    }
}

impl fmt::Display for Requests {
    /// The first of them, for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests", self.0.len())?;
        for Request { place, event } in self.0.iter().take(40) {
            write!(f, "\n  {place} {} {} {} → {}", event.user, event.verb, event.uri, event.code)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
