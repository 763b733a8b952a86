//! `Editions`: by which edition of its CRD a watch has listed, and when it has to list again.
//!
//! An API server that takes in another schema of a kind lets the streams that are open go on for a second or more, and shows
//! what they tell as the schema of before has it: without the defaults of the new one, although they are stored. A stream
//! that goes on where that one ended never tells of them (apiextensions-apiserver, `crdHandler.tearDown`; seen with 1.36).

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    definition::Edition,
    kind::KindInfo,
    kinds::{sleep, wanted::SETTLED},
    random,
    server::Server,
};

/// Many kinds may be defined anew at once, and not all of their objects are to be listed at the same moment.
const SPREAD: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Editions {
    /// Which counted when the last list began, where that is known.
    listed: Option<u64>,
    /// At which version the last list was.
    version: Option<u64>,
    /// Another edition, and when it counts.
    coming: Option<(u64, Instant)>,
}

impl Editions {
    /// Takes in what is known of the CRD. `Some`: all is to be listed again at that time, for what is held may be shown as
    /// another edition has it.
    pub(super) fn look(&mut self, known: Option<Edition>, now: Instant) -> Option<Instant> {
        if let Some(Edition { edition, resource_version }) = known {
            // Nobody knew of it when all was listed, but it was there.
            let was_there = self.listed.is_none() && self.version.is_none_or(|version| version >= resource_version);
            if self.listed == Some(edition) || was_there && self.coming.is_none() {
                (self.listed, self.coming) = (Some(edition), None);
            } else if self.coming.is_none_or(|(coming, _)| coming != edition) {
                self.coming = Some((edition, now + SETTLED + random::within(Duration::ZERO..SPREAD)));
            }
        }
        self.coming.map(|(_, due)| due)
    }

    /// A list begins. Whether it may show as another edition has it what is at the version that is held.
    pub(super) fn list(&mut self, known: Option<Edition>, now: Instant) -> bool {
        let is_due = self.look(known, now).is_some_and(|due| due <= now);
        if is_due {
            self.listed = self.coming.take().map(|(edition, _)| edition);
        }
        is_due
    }

    /// A list has come to its end.
    pub(super) fn complete(&mut self, version: u64) {
        self.version = Some(version);
    }

    /// Waits until the objects of a kind are to be listed again.
    pub(super) async fn outdated(&mut self, server: &Server, kind: &KindInfo) {
        let mut changes = server.kinds.changes();
        loop {
            let now = Instant::now();
            let due = self.look(server.kinds.edition_of(kind), now);
            tokio::select! {
                () = sleep(due.map(|due| due.saturating_duration_since(now))) => return,
                told = changes.changed() => if told.is_err() {
                    std::future::pending::<()>().await;
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edition(edition: u64) -> Edition {
        Edition { edition, resource_version: 10 * edition }
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_crd_has_changed_all_is_listed_once_more_when_its_server_goes_by_it() {
        let (mut editions, start) = (Editions::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert!(!editions.list(Some(edition(1)), start));
        editions.complete(15);
        assert_eq!(editions.look(Some(edition(1)), start), None);
        let due = editions.look(Some(edition(2)), at(1)).unwrap();
        assert!((at(1) + SETTLED..at(1) + SETTLED + SPREAD).contains(&due));
        assert_eq!(editions.look(Some(edition(2)), at(2)), Some(due), "since it is known");
        // Its stream may have ended meanwhile, at a version that is too old.
        assert!(!editions.list(Some(edition(2)), at(2)), "that counts for nothing yet");
        editions.complete(25);
        assert_eq!(editions.look(Some(edition(2)), at(2)), Some(due));
        assert_eq!(editions.look(None, at(3)), Some(due), "what is not known is no other edition");
        let due = editions.look(Some(edition(3)), at(4)).unwrap();
        assert!(due >= at(4) + SETTLED, "another one");
        assert!(editions.list(Some(edition(3)), due));
        editions.complete(35);
        assert_eq!(editions.look(Some(edition(3)), at(20)), None);
        assert!(!editions.list(Some(edition(3)), at(20)));
        // It is as it was when all was listed.
        assert!(editions.look(Some(edition(4)), at(21)).is_some());
        assert_eq!(editions.look(Some(edition(3)), at(22)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_edition_that_is_known_later_than_the_list_is_another_only_if_it_is_newer() {
        let now = Instant::now();
        for (version, is_newer) in [(9, true), (10, false), (11, false)] {
            let mut editions = Editions::default();
            assert!(!editions.list(None, now));
            editions.complete(version);
            assert_eq!(editions.look(None, now), None);
            assert_eq!(editions.look(Some(edition(1)), now).is_some(), is_newer, "at {version}");
            assert_eq!(editions.look(Some(edition(1)), now + SETTLED).is_some(), is_newer, "at {version}");
            assert!(editions.look(Some(edition(2)), now).is_some());
        }
    }
}
