//! Namespaces that the broker made at providers go when they are empty: one provider's one after the other, and never
//! one in which a copy is being made.

mod contents;
mod removal;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use broker_api::ClusterName;
use runtime_fleet::{
    hashed::{HashMap, HashSet},
    lock::lock,
};
use tokio::{sync::Notify, time::Instant};

/// How long a namespace stays empty before it goes, by how often it was empty within that time already. A copy that moves, or
/// whose object is replaced, is back by then, on a busy machine too; where objects come and go, more of them will. Until a
/// namespace has gone nothing is served in it, which may take API servers half a minute.
const GRACE: [Duration; 4] =
    [Duration::from_secs(10), Duration::from_secs(20), Duration::from_secs(40), Duration::from_mins(1)];

/// Those whose time comes within so long of each other are looked at together, when the last one's has come: a round costs a
/// provider a list of each kind that it serves, however many namespaces it is for.
const GATHER: Duration = Duration::from_secs(5);

/// When one in which a copy is being made, or of which nobody can tell, is looked at again.
const BUSY: Duration = Duration::from_secs(30);

/// When one that is not empty is looked at again: what belonged to a copy is collected as garbage some time after it, by
/// a controller that takes seconds to minutes. What is there then is other people's.
const FULL: [Duration; 4] =
    [Duration::from_secs(8), Duration::from_secs(30), Duration::from_mins(2), Duration::from_mins(10)];

/// How long nothing is asked of a provider that does not allow it.
const FORBIDDEN: Duration = Duration::from_mins(5);

/// What was sent may be done so long after, as long as networks carry what nobody waits for any more.
const AFTER_ALL: Duration = Duration::from_mins(5);

/// When all are looked at, since this process leads: for what an earlier leader sent before it died.
const SWEEPS: [Duration; 2] = [Duration::ZERO, AFTER_ALL];

/// So many namespaces are looked at at once.
const ROUND: usize = 20;

/// So many wait at one provider at the most; an empty one that was not looked at goes after the next start.
const WAITING: usize = 50_000;

/// Namespaces of all providers that are to be looked at, and those in which copies are being made.
#[derive(Debug, Default)]
pub struct Namespaces {
    visits: Mutex<HashMap<ClusterName, Arc<Visits>>>,
    writes: Mutex<Writes>,
    /// Providers whose namespaces have all been looked at, or are to be, since this process leads.
    swept: Mutex<HashSet<ClusterName>>,
}

/// Namespaces of one provider.
#[derive(Debug, Default)]
struct Visits {
    state: Mutex<Waiting>,
    wake: Notify,
}

/// One that waits.
#[derive(Debug, Clone, Copy)]
struct Due {
    at: Instant,
    /// How often its last copy has gone since it was looked at.
    gone: usize,
    /// How often it was not empty since a copy has gone from it.
    full: usize,
    /// It was sent, and may be made after all where it is not there.
    sent: bool,
}

impl Due {
    fn new(at: Instant, full: usize) -> Self {
        Self { at, gone: 0, full, sent: false }
    }
}

#[derive(Debug, Default)]
struct Waiting {
    due: BTreeMap<Arc<str>, Due>,
    /// Those that may be made after all, and when they are looked at for that, the next first.
    late: VecDeque<(Instant, Arc<str>)>,
    /// Those that are looked at now.
    round: BTreeSet<Arc<str>>,
    /// When all that the broker made are looked at.
    sweeps: Vec<Instant>,
    /// Rounds begin whole `GATHER`s after it.
    since: Option<Instant>,
    /// Until then nothing is asked.
    quiet: Option<Instant>,
}

#[derive(Debug, Default)]
struct Writes {
    /// How many copies are being made in a namespace now.
    creating: HashMap<(ClusterName, Arc<str>), usize>,
    /// The namespace of a provider that is being deleted now.
    removing: HashSet<(ClusterName, Arc<str>)>,
}

impl Waiting {
    /// The latest word counts: one in which copies come and go is not looked at between two of them.
    fn add(&mut self, namespace: &Arc<str>, due: Due) {
        if self.due.len() < WAITING && self.quiet.is_none_or(|until| until <= Instant::now()) {
            let at = self.round_after(due.at);
            let held = self.due.entry(Arc::clone(namespace)).or_insert(Due { at, ..due });
            held.at = held.at.max(at);
            held.full = due.full.min(held.full);
            held.sent |= due.sent;
        }
    }

    /// When the first round begins that is not before a moment.
    fn round_after(&mut self, at: Instant) -> Instant {
        let since = *self.since.get_or_insert_with(Instant::now);
        let rounds = at.saturating_duration_since(since).as_millis().div_ceil(GATHER.as_millis());
        since + GATHER * u32::try_from(rounds).unwrap_or(u32::MAX)
    }

    /// A copy has gone from one. In one that is still `used` nothing is done, but where it waits it does so anew: another
    /// copy may go next.
    fn gone(&mut self, namespace: &Arc<str>, used: bool) {
        if !used || self.due.contains_key(namespace) || self.round.contains(namespace) {
            self.empty(namespace);
        }
    }

    /// One is being made.
    fn made(&mut self, namespace: &Arc<str>) {
        self.add(namespace, Due { sent: true, ..Due::new(Instant::now() + GRACE[0], 0) });
    }

    /// The last copy has gone from one.
    fn empty(&mut self, namespace: &Arc<str>) {
        let gone = self.due.get(namespace).map_or(0, |due| due.gone);
        let grace = GRACE[gone.min(GRACE.len() - 1)];
        self.add(namespace, Due::new(Instant::now() + grace, 0));
        if let Some(due) = self.due.get_mut(namespace) {
            due.gone = gone + 1;
        }
    }

    /// One that an earlier leader made. What belonged to its copies has had some time to go.
    fn swept(&mut self, namespace: &Arc<str>) {
        self.add(namespace, Due::new(Instant::now() + GRACE[0], 1));
    }

    /// Whether one is to be looked at.
    fn waits(&self, namespace: &str) -> bool {
        self.due.contains_key(namespace)
    }

    /// At most a round of those whose time has come.
    fn take(&mut self) -> BTreeMap<Arc<str>, Due> {
        let now = Instant::now();
        while let Some((_, namespace)) = self.late.pop_front_if(|(at, _)| *at <= now) {
            self.due.entry(namespace).or_insert(Due::new(now, 0));
        }
        let due = self.due.iter().filter(|(_, due)| due.at <= now).take(ROUND);
        let due: BTreeMap<_, _> = due.map(|(namespace, due)| (Arc::clone(namespace), *due)).collect();
        for namespace in due.keys() {
            self.due.remove(namespace);
        }
        self.round = due.keys().cloned().collect();
        due
    }

    /// When there is something to do.
    fn next(&self) -> Option<Instant> {
        let late = self.late.front().map(|(at, _)| *at);
        self.due.values().map(|due| due.at).chain(self.sweeps.iter().copied()).chain(late).min()
    }

    /// All are to be looked at.
    fn sweep(&mut self) {
        let now = Instant::now();
        self.sweeps = SWEEPS.map(|after| now + after).into();
    }

    /// Whether all are to be looked at now.
    fn take_sweep(&mut self) -> bool {
        let now = Instant::now();
        self.sweeps.extract_if(.., |at| *at <= now).count() > 0
    }

    /// What was found of those that were looked at.
    fn put_back(&mut self, looked: &BTreeMap<Arc<str>, Due>, found: &Found) {
        self.round.clear();
        let now = Instant::now();
        for (namespace, due) in looked {
            if found.busy.contains(namespace) {
                self.add(namespace, Due { sent: due.sent, ..Due::new(now + BUSY, due.full) });
            } else if found.removed.contains(namespace) || due.sent && found.absent.contains(namespace) {
                self.late.push_back((now + AFTER_ALL, Arc::clone(namespace)));
            } else if let Some(wait) = FULL.get(due.full).filter(|_| found.full.contains(namespace)) {
                self.add(namespace, Due::new(now + *wait, due.full + 1));
            }
        }
    }

    /// Nobody could tell anything.
    fn put_all_back(&mut self, looked: &BTreeMap<Arc<str>, Due>, sweep: bool) {
        self.round.clear();
        let at = Instant::now() + BUSY;
        for (namespace, due) in looked {
            self.add(namespace, Due { sent: due.sent, ..Due::new(at, due.full) });
        }
        if sweep {
            self.sweeps.push(at);
        }
    }

    fn forbid(&mut self) {
        self.due.clear();
        self.late.clear();
        self.round.clear();
        self.quiet = Some(Instant::now() + FORBIDDEN);
    }
}

/// What was found of some namespaces, but for those that have gone or are none of ours.
#[derive(Debug, Default)]
struct Found {
    /// Copies are on their way there, or nobody can tell.
    busy: HashSet<Arc<str>>,
    /// There is something in them that is no copy.
    full: HashSet<Arc<str>>,
    /// There is none of this name.
    absent: HashSet<Arc<str>>,
    /// They were empty, and go.
    removed: HashSet<Arc<str>>,
}

/// A copy is being made. Dropping it ends that.
#[derive(Debug)]
pub struct Creating<'a> {
    namespaces: &'a Namespaces,
    place: (ClusterName, Arc<str>),
}

impl Drop for Creating<'_> {
    fn drop(&mut self) {
        let mut writes = lock(&self.namespaces.writes);
        if let Some(count) = writes.creating.get_mut(&self.place) {
            *count -= 1;
            if *count == 0 {
                writes.creating.remove(&self.place);
            }
        }
    }
}

/// A namespace is being deleted. Dropping it ends that.
#[derive(Debug)]
struct Removing<'a> {
    namespaces: &'a Namespaces,
    place: (ClusterName, Arc<str>),
}

impl Drop for Removing<'_> {
    fn drop(&mut self) {
        lock(&self.namespaces.writes).removing.remove(&self.place);
    }
}

impl Namespaces {
    /// Whoever comes to lead looks at all of them, also one that has led before: those that waited when the lease was lost
    /// wait no more, and of what another leader has left nobody else knows.
    pub(crate) fn sweep_anew(&self) {
        lock(&self.swept).clear();
    }

    /// A provider has left.
    pub(crate) fn forget(&self, provider: &ClusterName) {
        lock(&self.swept).remove(provider);
    }

    /// A copy is about to be made in a namespace of a provider. `None`: that is being deleted; in a moment.
    pub fn create(&self, provider: &ClusterName, namespace: &str) -> Option<Creating<'_>> {
        let place = (provider.clone(), Arc::from(namespace));
        let mut writes = lock(&self.writes);
        if writes.removing.contains(&place) {
            return None;
        }
        *writes.creating.entry(place.clone()).or_default() += 1;
        Some(Creating { namespaces: self, place })
    }

    /// The namespace is about to be deleted. `None`: a copy is being made there.
    fn remove(&self, provider: &ClusterName, namespace: &Arc<str>) -> Option<Removing<'_>> {
        let place = (provider.clone(), Arc::clone(namespace));
        let mut writes = lock(&self.writes);
        if writes.creating.contains_key(&place) || !writes.removing.insert(place.clone()) {
            return None;
        }
        Some(Removing { namespaces: self, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_not_deleted_while_a_copy_is_made_there_nor_the_other_way_round() {
        let namespaces = Namespaces::default();
        let (one, two) = (ClusterName::provider("one"), ClusterName::provider("two"));
        let team: Arc<str> = "team".into();
        let first = namespaces.create(&one, "team").unwrap();
        let second = namespaces.create(&one, "team").unwrap();
        assert!(namespaces.remove(&one, &team).is_none());
        assert!(namespaces.remove(&two, &team).is_some(), "another provider's");
        drop(first);
        assert!(namespaces.remove(&one, &team).is_none());
        drop(second);
        let removing = namespaces.remove(&one, &team).unwrap();
        assert!(namespaces.create(&one, "team").is_none() && namespaces.remove(&one, &team).is_none());
        drop(removing);
        assert!(namespaces.create(&one, "team").is_some());
        assert!(lock(&namespaces.writes).creating.is_empty(), "nothing is left of what has ended");
    }

    #[test]
    fn those_whose_time_has_come_are_taken_in_rounds() {
        let mut waiting = Waiting::default();
        let now = Instant::now();
        for number in 0..ROUND + 5 {
            waiting.add(&Arc::from(format!("n{number}")), Due::new(now, 0));
        }
        // A copy has gone from it again.
        for at in [now, now + BUSY, now] {
            waiting.add(&"later".into(), Due::new(at, 0));
        }
        assert_eq!(waiting.take().len(), ROUND);
        assert_eq!(waiting.take().len(), 5);
        assert_eq!((waiting.take().len(), waiting.due.len()), (0, 1));
        waiting.forbid();
        waiting.add(&"n".into(), Due::new(now, 0));
        assert!(waiting.due.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn one_in_which_copies_come_and_go_stays_longer() {
        let mut waiting = Waiting::default();
        let team: Arc<str> = "team".into();
        // The first time, the second, and so on.
        for stays in [10, 20, 40, 60, 60] {
            waiting.empty(&team);
            assert_eq!(waiting.next(), Some(Instant::now() + Duration::from_secs(stays)));
            tokio::time::advance(GATHER).await;
        }
        waiting.empty(&"other".into());
        assert_eq!(waiting.due["other"].at, Instant::now() + GRACE[0], "each for itself");
        tokio::time::advance(GRACE[3]).await;
        assert_eq!(waiting.take().len(), 2);
        waiting.gone(&team, true);
        assert!(waiting.waits("team"), "a copy came and went while it was looked at");
        assert_eq!(waiting.next(), Some(Instant::now() + GRACE[0]), "it was quiet for so long");
        tokio::time::advance(GATHER).await;
        waiting.gone(&team, true);
        assert_eq!(waiting.next(), Some(Instant::now() + GRACE[1]), "the next copy was there before this one went");
        waiting.gone(&"third".into(), true);
        assert!(!waiting.waits("third"), "there is a copy in it");
        waiting.gone(&"third".into(), false);
        assert!(waiting.waits("third"));

        tokio::time::advance(GRACE[3]).await;
        let looked = waiting.take();
        waiting.put_back(&looked, &Found::default());
        waiting.gone(&team, true);
        assert!(!waiting.waits("team"), "nobody looks at it any more, and there is a copy in it");
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_are_emptied_one_after_the_other_are_looked_at_together_and_none_too_early() {
        let mut waiting = Waiting::default();
        let round = waiting.round_after(Instant::now());
        for number in 0..10 {
            tokio::time::advance(GATHER / 10).await;
            waiting.empty(&Arc::from(format!("n{number}")));
        }
        assert_eq!(round + GATHER, Instant::now());
        waiting.swept(&"swept".into());
        assert_eq!(waiting.next(), Some(Instant::now() + GRACE[0]), "when the last one's time has come");
        let moment = Duration::from_millis(1);
        tokio::time::advance(GRACE[0].checked_sub(moment).unwrap()).await;
        assert!(waiting.take().is_empty());
        tokio::time::advance(moment).await;
        let looked = waiting.take();
        assert_eq!((looked.len(), looked["n9"].full, looked["swept"].full), (11, 0, 1));
    }

    #[test]
    fn one_that_is_not_empty_is_looked_at_some_times_more_and_one_that_nobody_can_tell_of_until_somebody_can() {
        let mut waiting = Waiting::default();
        let namespace: Arc<str> = "team".into();
        let now = Instant::now();
        let full = Found { full: HashSet::from_iter([Arc::clone(&namespace)]), ..Found::default() };
        let busy = Found { busy: HashSet::from_iter([Arc::clone(&namespace)]), ..Found::default() };
        let looked = |full| BTreeMap::from([(Arc::clone(&namespace), Due::new(now, full))]);
        for (times, wait) in FULL.iter().enumerate() {
            waiting.put_back(&looked(times), &full);
            let due = waiting.due.remove(&namespace).unwrap();
            assert!(due.at >= now + *wait && due.full == times + 1);
        }
        waiting.put_back(&looked(FULL.len()), &full);
        waiting.put_back(&looked(0), &Found::default());
        assert!(waiting.due.is_empty(), "what is in it is other people's; or it has gone");
        waiting.put_back(&looked(FULL.len()), &busy);
        assert_eq!(waiting.due.remove(&namespace).unwrap().full, FULL.len());
        // A copy that goes from it begins anew.
        waiting.add(&namespace, Due::new(now + BUSY, 2));
        waiting.add(&namespace, Due::new(now, 0));
        assert!(waiting.due[&namespace].full == 0 && waiting.due[&namespace].at >= now + BUSY);

        waiting.put_all_back(&looked(1), true);
        assert!(!waiting.take_sweep() && waiting.next().is_some(), "later");
        waiting.sweeps = vec![now, now];
        assert!(waiting.take_sweep() && !waiting.take_sweep());
    }

    /// What was sent to make it may be on its way still.
    #[tokio::test(start_paused = true)]
    async fn one_that_may_be_made_after_all_is_looked_at_once_more() {
        let mut waiting = Waiting::default();
        let team: Arc<str> = "team".into();
        let all = HashSet::from_iter([Arc::clone(&team)]);
        let absent = Found { absent: all.clone(), ..Found::default() };
        let busy = Found { busy: all.clone(), ..Found::default() };
        waiting.made(&team);
        for found in [&busy, &absent] {
            tokio::time::advance(BUSY + GATHER).await;
            let looked = waiting.take();
            waiting.put_back(&looked, found);
        }
        assert_eq!(waiting.next(), Some(Instant::now() + AFTER_ALL));
        waiting.empty(&team);
        assert!(
            waiting.due.remove(&team).unwrap().at <= Instant::now() + GRACE[0] + GATHER,
            "it does not wait for that"
        );
        tokio::time::advance(AFTER_ALL).await;
        let looked = waiting.take();
        assert_eq!(looked.len(), 1);
        waiting.put_back(&looked, &absent);
        assert_eq!(waiting.next(), None, "it comes no more");

        waiting.put_back(&looked, &Found { removed: all, ..Found::default() });
        let late = Some(Instant::now() + AFTER_ALL);
        assert_eq!(waiting.next(), late, "of two that were sent one may have come too late");

        waiting.late.clear();
        waiting.made(&team);
        tokio::time::advance(GRACE[0] + GATHER).await;
        let looked = waiting.take();
        waiting.put_all_back(&looked, false);
        assert!(waiting.due["team"].sent, "nobody could tell");
        waiting.due.clear();
        waiting.empty(&team);
        tokio::time::advance(GRACE[0] + GATHER).await;
        let looked = waiting.take();
        waiting.put_back(&looked, &absent);
        assert_eq!(waiting.next(), None, "somebody else has removed it");
    }

    #[tokio::test(start_paused = true)]
    async fn all_are_looked_at_at_once_and_when_nothing_of_a_former_leader_arrives_any_more() {
        let mut waiting = Waiting::default();
        assert!(!waiting.take_sweep(), "nobody leads yet");
        waiting.sweep();
        assert!(waiting.take_sweep() && !waiting.take_sweep());
        tokio::time::advance(SWEEPS[1].checked_sub(Duration::from_secs(1)).unwrap()).await;
        assert!(!waiting.take_sweep());
        assert_eq!(waiting.next(), Some(Instant::now() + Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(waiting.take_sweep() && waiting.next().is_none());
    }
}
