//! Which API server is engaged under which name: none may be in one role twice, and none takes another's place by saying
//! that it is that one.
//!
//! A cluster's owner decides what its API server answers, so the uid that it gives for `kube-system` proves nothing. Of
//! two that give the same one, the one that is earlier in the configuration counts, whichever connected first.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use broker_api::ClusterName;
use tokio::sync::watch;

use crate::{
    cluster::state::Cause, conventions::Conventions, kubeconfig::Endpoint, object::Object, source::Provenance,
};

/// Where a cluster stands in the configuration; lower is earlier.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// 0 for all that was there when the process started, then growing: whoever runs is not displaced by a newcomer.
    pub round: u64,
    /// Position of the flag that names its file; behind all flags for a Secret.
    pub flag: usize,
    /// When its Secret was created (RFC 3339); empty for a file.
    pub created: String,
    /// What it was read from.
    pub from: String,
}

impl Rank {
    /// The rank of what a Secret gives, if it is there: the older goes first.
    pub fn of_secret(round: u64, from: &Provenance, secret: Option<&Object>) -> Self {
        let value = secret.and_then(|secret| secret.value().ok());
        let created = value.as_ref().and_then(|value| value["metadata"]["creationTimestamp"].as_str());
        // One that nobody knows is the last.
        Self { round, flag: usize::MAX, created: created.unwrap_or("~").to_owned(), from: from.to_string() }
    }
}

/// What is known of the API server behind a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Likeness {
    /// uid of `kube-system`; `None` where it may not be read.
    pub(crate) uid: Option<String>,
    /// Server and certificate authority of the kubeconfig.
    pub(crate) endpoint: Endpoint,
}

impl Likeness {
    /// Whether both are one API server, as far as can be told.
    fn is(&self, other: &Self) -> bool {
        match (&self.uid, &other.uid) {
            (Some(one), Some(two)) => one == two,
            _ => self.endpoint == other.endpoint,
        }
    }

    /// By what it is the same as another, for people.
    fn sameness(&self, other: &Self) -> String {
        match &self.uid {
            Some(uid) if other.uid.is_some() && self.endpoint == other.endpoint => {
                format!("same server, certificate authority and kube-system uid {uid}")
            }
            Some(uid) if other.uid.is_some() => {
                let differs = match (
                    self.endpoint.server == other.endpoint.server,
                    self.endpoint.authority == other.endpoint.authority,
                ) {
                    (false, true) => "under another address",
                    (true, _) => "with another certificate authority",
                    (false, false) => {
                        "at another address and with another certificate authority: if these are two API servers, one of them claims a uid that is not its own"
                    }
                };
                format!("same kube-system uid {uid}, {differs}")
            }
            _ => "same server and certificate authority".to_owned(),
        }
    }
}

/// Why a cluster may not be engaged as the API server that its kubeconfig leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) cause: Cause,
    /// For people.
    pub(crate) why: String,
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self { cause: Cause::Lost, why }
    }
}

impl Configured {
    /// Whether it is engaged as whom it must be, if at all.
    fn fits(&self) -> bool {
        let found = self.held.as_ref().and_then(|held| held.uid.as_ref());
        found.is_none_or(|found| self.expected.as_ref().is_none_or(|expected| expected == found))
    }
}

#[derive(Debug, Default)]
struct Configured {
    rank: Rank,
    /// uid that it must have, if it is known already.
    expected: Option<String>,
    /// As whom it is engaged.
    held: Option<Likeness>,
}

/// All clusters that are configured, and as which API server each is engaged.
#[derive(Debug)]
pub(crate) struct Identities {
    conventions: &'static Conventions,
    clusters: Mutex<BTreeMap<ClusterName, Configured>>,
    changes: watch::Sender<u64>,
}

impl Identities {
    /// None yet. `conventions` say what an API server may be at once.
    pub(crate) fn new(conventions: &'static Conventions) -> Self {
        Self { conventions, clusters: Mutex::default(), changes: watch::Sender::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ClusterName, Configured>> {
        self.clusters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A cluster is in the configuration. One that is there already keeps its place.
    pub(crate) fn configure(&self, name: &ClusterName, rank: Rank) {
        self.lock().entry(name.clone()).or_insert_with(|| Configured { rank, ..Configured::default() });
    }

    /// From now on a cluster must be this API server, or whichever it turns out to be. Whether that is news.
    pub(crate) fn expect(&self, name: &ClusterName, uid: Option<String>) -> bool {
        let mut clusters = self.lock();
        let own = clusters.entry(name.clone()).or_default();
        if own.expected == uid {
            return false;
        }
        own.expected = uid;
        let fits = own.fits();
        if !fits {
            own.held = None;
        }
        drop(clusters);
        self.tell();
        true
    }

    /// A connection of `name` leads to this API server. The error says as whom that is engaged already.
    pub(crate) fn claim(&self, name: &ClusterName, likeness: &Likeness) -> Result<(), Refused> {
        let mut clusters = self.lock();
        let own = clusters.entry(name.clone()).or_default();
        if let (Some(expected), Some(found)) = (&own.expected, &likeness.uid)
            && expected != found
        {
            own.held = None;
            let why = format!(
                "{name} is another API server than it was (kube-system uid {found}, was {expected}); nothing is read or written there"
            );
            return Err(Refused { cause: Cause::IdentityChanged, why });
        }
        if likeness.uid.is_none() && self.conventions.needs_uid(name.role()) {
            own.held = None;
            // Also what an API server says that has just started: it does not know yet who may do what.
            let why = format!(
                "{name} does not let the namespace kube-system be read, whose uid tells which API server it is"
            );
            return Err(Refused { cause: Cause::Lost, why });
        }
        let rank = own.rank.clone();
        // Who was engaged as somebody else before, or could not be told from others, has connected anew.
        let anew = own.held.is_some();
        let same = |(other, configured): &(&ClusterName, &mut Configured)| {
            *other != name
                && self.conventions.excludes(other.role(), name.role())
                && configured.held.as_ref().is_some_and(|held| held.is(likeness))
        };
        let mut later: Vec<&mut Configured> = Vec::new();
        for (other, configured) in clusters.iter_mut().filter(same) {
            let earlier = (&configured.rank, other) < (&rank, name);
            if earlier || anew {
                let held = configured.held.as_ref().map(|held| likeness.sameness(held)).unwrap_or_default();
                let why = format!(
                    "the API server of {name} is already engaged as {other} ({held}); {other} {} and stays: remove one of the two",
                    if earlier { "is earlier in the configuration" } else { "was engaged before" }
                );
                return Err(Refused { cause: Cause::Duplicate, why });
            }
            later.push(configured);
        }
        let displaced = !later.is_empty();
        for configured in later {
            configured.held = None;
        }
        if let Some(own) = clusters.get_mut(name) {
            own.held = Some(likeness.clone());
        }
        drop(clusters);
        if displaced {
            self.tell();
        }
        Ok(())
    }

    /// Whether `name` is still engaged as whom it has claimed to be.
    pub(crate) fn holds(&self, name: &ClusterName) -> bool {
        self.lock().get(name).is_some_and(|configured| configured.held.is_some())
    }

    /// A cluster has left the configuration.
    pub(crate) fn release(&self, name: &ClusterName) {
        self.lock().remove(name);
        self.tell();
    }

    /// Tells whenever a claim may end another way than before.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn tell(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

#[cfg(test)]
mod tests {
    use broker_api::Role;

    use super::*;
    use crate::conventions::PLAIN;

    fn name(name: &str) -> ClusterName {
        ClusterName::consumer(name)
    }

    fn rank(flag: usize) -> Rank {
        Rank { flag, ..Rank::default() }
    }

    fn like(uid: Option<&str>, server: &str, authority: u8) -> Likeness {
        let endpoint = Endpoint { server: server.to_owned(), authority: [authority; 32] };
        Likeness { uid: uid.map(str::to_owned), endpoint }
    }

    /// `victim` is configured before `liar`.
    fn both() -> Identities {
        let identities = Identities::new(&PLAIN);
        identities.configure(&name("victim"), rank(0));
        identities.configure(&name("liar"), rank(1));
        identities
    }

    #[test]
    fn the_earlier_configured_one_stays_whoever_connects_first() {
        let (own, forged) = (like(Some("u"), "a:443", 1), like(Some("u"), "b:443", 2));
        let identities = both();
        identities.claim(&name("victim"), &own).unwrap();
        let refused = identities.claim(&name("liar"), &forged).unwrap_err().why;
        assert!(refused.contains("already engaged as consumer#victim") && refused.contains("not its own"), "{refused}");
        assert!(identities.holds(&name("victim")));

        let identities = both();
        let mut changes = identities.changes();
        identities.claim(&name("liar"), &forged).unwrap();
        assert!(!changes.has_changed().unwrap());
        identities.claim(&name("victim"), &own).unwrap();
        assert!(changes.has_changed().unwrap(), "the liar is told");
        changes.mark_unchanged();
        assert!(identities.holds(&name("victim")) && !identities.holds(&name("liar")));
        identities.claim(&name("liar"), &forged).unwrap_err();
        // Only when the earlier one leaves the configuration does the later take over.
        identities.release(&name("victim"));
        assert!(changes.has_changed().unwrap());
        identities.claim(&name("liar"), &forged).unwrap();
    }

    #[test]
    fn a_cluster_is_the_one_that_it_was_or_none() {
        let identities = both();
        identities.expect(&name("victim"), Some("u".to_owned()));
        let refused = identities.claim(&name("victim"), &like(Some("x"), "a:443", 1)).unwrap_err();
        assert_eq!(refused.cause, Cause::IdentityChanged);
        assert!(!identities.holds(&name("victim")) && refused.why.contains("was u"), "{}", refused.why);
        identities.claim(&name("victim"), &like(Some("u"), "a:443", 1)).unwrap();
        let mut changes = identities.changes();
        identities.expect(&name("victim"), Some("u".to_owned()));
        assert!(!changes.has_changed().unwrap() && identities.holds(&name("victim")));
        // Another one is expected from now on: it is let go.
        identities.expect(&name("victim"), Some("x".to_owned()));
        assert!(changes.has_changed().unwrap() && !identities.holds(&name("victim")));
        changes.mark_unchanged();
        identities.expect(&name("victim"), None);
        assert!(changes.has_changed().unwrap(), "it is tried again");
        identities.claim(&name("victim"), &like(Some("y"), "a:443", 1)).unwrap();
        let twin = identities.claim(&name("liar"), &like(Some("y"), "a:443", 1)).unwrap_err();
        assert_eq!(twin.cause, Cause::Duplicate);
    }

    #[test]
    fn a_spoke_that_cannot_be_told_from_others_is_not_engaged() {
        let identities = Identities::new(&PLAIN);
        let spoke = ClusterName::spoke("paris");
        let refused = identities.claim(&spoke, &like(None, "a:443", 1)).unwrap_err();
        assert!(refused.cause == Cause::Lost && refused.why.contains("kube-system"), "{}", refused.why);
        identities.claim(&spoke, &like(Some("u"), "a:443", 1)).unwrap();
        identities.claim(&spoke, &like(None, "a:443", 1)).unwrap_err();
        assert!(!identities.holds(&spoke));
    }

    #[test]
    fn a_hub_is_no_spoke_of_itself() {
        let identities = Identities::new(&PLAIN);
        let (hub, spoke) = (ClusterName::new(Role::Coordination, "hub"), ClusterName::spoke("self"));
        let likeness = like(Some("u"), "a:443", 1);
        identities.configure(&spoke, rank(9));
        identities.claim(&spoke, &likeness).unwrap();
        identities.claim(&hub, &likeness).unwrap();
        assert!(identities.holds(&hub) && !identities.holds(&spoke));
        assert_eq!(identities.claim(&spoke, &likeness).unwrap_err().cause, Cause::Duplicate);
        // A provider may be one.
        identities.claim(&ClusterName::provider("self"), &likeness).unwrap();
    }

    #[test]
    fn a_reconnect_displaces_nobody() {
        let identities = both();
        // The earlier one could not be told from others when it was engaged, and now gives the later one's uid.
        identities.claim(&name("victim"), &like(None, "a:443", 1)).unwrap();
        identities.claim(&name("liar"), &like(Some("u"), "b:443", 2)).unwrap();
        let refused = identities.claim(&name("victim"), &like(Some("u"), "a:443", 1)).unwrap_err().why;
        assert!(refused.contains("consumer#liar was engaged before"), "{refused}");
        assert!(identities.holds(&name("liar")));
        identities.claim(&name("victim"), &like(Some("v"), "a:443", 1)).unwrap();
        identities.claim(&name("victim"), &like(Some("v"), "a:443", 1)).unwrap();
    }

    #[test]
    fn without_a_uid_server_and_authority_tell() {
        let identities = both();
        identities.claim(&name("victim"), &like(Some("u"), "a:443", 1)).unwrap();
        let refused = identities.claim(&name("liar"), &like(None, "a:443", 1)).unwrap_err().why;
        assert!(refused.contains("same server and certificate authority"), "{refused}");
        identities.claim(&name("liar"), &like(None, "a:443", 2)).unwrap();
        identities.claim(&name("liar"), &like(None, "b:443", 1)).unwrap();
        identities.claim(&name("liar"), &like(Some("w"), "a:443", 1)).unwrap();
    }

    #[test]
    fn roles_do_not_disturb_each_other_and_a_newcomer_is_later() {
        let identities = Identities::new(&PLAIN);
        identities.claim(&name("a"), &like(Some("u"), "a:443", 1)).unwrap();
        identities.claim(&ClusterName::provider("a"), &like(Some("u"), "a:443", 1)).unwrap();
        identities.configure(&name("b"), rank(5));
        let newcomer = Rank { round: 1, ..Rank::default() };
        identities.configure(&name("newcomer"), newcomer.clone());
        identities.claim(&name("newcomer"), &like(Some("x"), "n:443", 1)).unwrap();
        identities.claim(&name("b"), &like(Some("x"), "b:443", 1)).unwrap();
        assert!(!identities.holds(&name("newcomer")));
        // Its place stays, whatever is said again.
        identities.configure(&name("b"), Rank { round: 2, ..Rank::default() });
        identities.claim(&name("newcomer"), &like(Some("x"), "n:443", 1)).unwrap_err();
    }

    #[test]
    fn of_two_secrets_the_older_goes_first_and_one_that_is_not_known_last() {
        let from = |name: &str| Provenance::Secret { namespace: "n".into(), name: name.into() };
        let rank = |name: &str, created: &str| {
            let metadata =
                format!(r#""name":"{name}","uid":"u","resourceVersion":"1","creationTimestamp":"{created}""#);
            let secret = format!(r#"{{"metadata":{{{metadata}}}}}"#);
            let secret = Object::parse(secret.as_bytes(), None, &PLAIN).unwrap().1;
            Rank::of_secret(0, &from(name), Some(&secret))
        };
        let (old, young) = (rank("b", "2025-01-01T00:00:00Z"), rank("a", "2026-01-01T00:00:00Z"));
        assert!(old < young && young < Rank::of_secret(0, &from("a"), None));
        assert!(rank("a", "2026-01-01T00:00:00Z") < rank("b", "2026-01-01T00:00:00Z"), "of the same age by name");
        assert!(Rank { flag: 7, ..Rank::default() } < old, "files go before Secrets");
        assert!(young < Rank { round: 1, ..Rank::default() }, "whoever runs goes before a newcomer");
    }
}
