//! `Listener`: somebody who looks at a page, and is sent what changes on it.

use std::{convert::Infallible, sync::Arc, time::Duration};

use broker_core::snapshot::OriginKey;
use futures::{Stream, stream};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::fragment::Fragment;

/// How often it is looked whether anything has changed.
const EVERY: Duration = Duration::from_secs(1);

/// After so long without a change something is sent nevertheless: so both sides notice that the other has gone.
const SIGN: Duration = Duration::from_secs(15);

/// How long it goes on where rights can be taken away; then it has to ask again.
const LASTS: Duration = Duration::from_mins(1);

/// What somebody looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown {
    /// The first page.
    All,
    /// One object.
    One(OriginKey),
    /// The graph of this name.
    Graph(String),
}

/// Where it is looked up what somebody sees.
pub(super) trait Shows: Send + Sync + 'static {
    /// What somebody sees now. `None`: it could not be gathered.
    fn fragments(&self, what: &Shown) -> impl Future<Output = Option<Vec<Fragment>>> + Send;
}

/// See the module.
pub(super) struct Listener<S> {
    shows: Arc<S>,
    stop: CancellationToken,
    what: Shown,
    sent: Vec<Fragment>,
    next: Instant,
    spoken: Instant,
    until: Option<Instant>,
    _seat: OwnedSemaphorePermit,
}

impl<S: Shows> Listener<S> {
    /// Who has just come, and has a seat. `may_end`: rights can be taken away. It ends with `stop`.
    pub(super) fn new(
        shows: Arc<S>,
        what: Shown,
        seat: OwnedSemaphorePermit,
        may_end: bool,
        stop: CancellationToken,
    ) -> Self {
        let now = Instant::now();
        let until = may_end.then(|| now + LASTS);
        Self { shows, stop, what, sent: Vec::new(), next: now, spoken: now, until, _seat: seat }
    }

    /// The events that he is sent: first all, then what has changed, until the process ends.
    pub(super) fn events(self) -> impl Stream<Item = Result<String, Infallible>> + Send + 'static {
        stream::unfold(self, Self::wait)
    }

    async fn wait(mut self) -> Option<(Result<String, Infallible>, Self)> {
        let stop = self.stop.clone();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                () = sleep_until(self.next) => {}
            }
            let now = Instant::now();
            if self.until.is_some_and(|until| now >= until) {
                return None;
            }
            self.next = now + EVERY;
            let fragments = self.shows.fragments(&self.what).await?;
            let mut events = String::new();
            for fragment in fragments.iter().filter(|fragment| !self.sent.contains(fragment)) {
                fragment.write_event(&mut events);
            }
            if events.is_empty() && now.duration_since(self.spoken) >= SIGN {
                events.push_str(": still here\n\n");
            }
            if !events.is_empty() {
                (self.sent, self.spoken) = (fragments, now);
                return Some((Ok(events), self));
            }
        }
    }
}
