//! `Budget`: how much memory the indexes of all clusters may take, and what goes where it is not enough.
//!
//! Every object is charged to its cluster: its body as it is held, and a constant for the rest. No cluster gets more than
//! a quarter. Where a cluster has too much, or all together have, bodies of the largest objects of whoever holds most are
//! dropped; what stays is key, uid, version and flags, and whoever decides reads the body when it is needed.

use std::{
    fs,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use broker_api::ClusterName;

use crate::{
    cost::cost,
    hashed::HashMap,
    object::{Object, ObjectKey},
};

/// The budget where the process finds no limit.
const WITHOUT_LIMIT: usize = 1 << 30;

/// Share of the process's limit that indexes may take, in percent.
const PERCENT: usize = 60;

/// Bodies are dropped until a tenth is free: else each further object would cost a search for the next.
fn with_room(limit: usize) -> usize {
    limit / 10 * 9
}

/// What indexes may take, and what they take.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    /// Where nothing more could be dropped: how much may come before it is tried again.
    futile: AtomicUsize,
    /// One search at a time.
    searching: Mutex<()>,
    shares: Mutex<HashMap<ClusterName, Weak<Share>>>,
}

/// Holds bodies of objects, which may be dropped for want of memory.
pub(crate) trait Bodies: Send + Sync {
    /// Whether bodies may be dropped.
    fn may_drop(&self) -> bool;

    /// Tells the size of each body that is held.
    fn each_body(&self, tell: &mut dyn FnMut(&ObjectKey, usize));

    /// Drops one body.
    fn drop_body(&self, key: &ObjectKey);
}

/// One cluster's part of the budget.
pub struct Share {
    budget: Arc<Budget>,
    used: AtomicUsize,
    /// As [`Budget::futile`].
    futile: AtomicUsize,
    /// Bodies that were dropped.
    dropped: AtomicUsize,
    indexes: Mutex<Vec<Weak<dyn Bodies>>>,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicUsize::default(),
            futile: AtomicUsize::default(),
            searching: Mutex::default(),
            shares: Mutex::default(),
        })
    }

    /// 60 % of the limit of this process, or of 1 GiB where it has none.
    pub fn of_process() -> usize {
        cgroup_limit().unwrap_or(WITHOUT_LIMIT) / 100 * PERCENT
    }

    /// Bytes that all clusters may take together.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes that all clusters take.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that one cluster may take.
    pub fn share(&self) -> usize {
        self.limit / 4
    }

    /// A new share, for a cluster that is engaged.
    pub(crate) fn engage(self: &Arc<Self>, name: &ClusterName) -> Arc<Share> {
        let share = Arc::new(Share {
            budget: Arc::clone(self),
            used: AtomicUsize::default(),
            futile: AtomicUsize::default(),
            dropped: AtomicUsize::default(),
            indexes: Mutex::default(),
        });
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|_, share| share.strong_count() > 0);
        shares.insert(name.clone(), Arc::downgrade(&share));
        share
    }

    /// What each cluster takes, and how many bodies it was not given room for.
    pub fn shares(&self) -> Vec<(ClusterName, usize, usize)> {
        let shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let alive = shares.iter().filter_map(|(name, share)| Some((name.clone(), share.upgrade()?)));
        alive.map(|(name, share)| (name, share.used(), share.dropped.load(Ordering::Relaxed))).collect()
    }

    /// The cluster that takes most, of those that have bodies to drop.
    fn largest(&self, but: &[*const Share]) -> Option<Arc<Share>> {
        let shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let alive = shares.values().filter_map(Weak::upgrade).filter(|share| !but.contains(&Arc::as_ptr(share)));
        alive.max_by_key(|share| share.used())
    }
}

impl Share {
    /// Bytes that the cluster takes.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, index: &Arc<impl Bodies + 'static>) {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.retain(|index| index.strong_count() > 0);
        indexes.push(Arc::downgrade(index) as Weak<dyn Bodies>);
    }

    pub(crate) fn charge(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        self.budget.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// How much the cluster takes beyond its share.
    pub(crate) fn over(&self) -> usize {
        self.used().saturating_sub(self.budget.share())
    }

    /// Whether the cluster takes more than its share although there is nothing left to drop.
    pub(crate) fn is_full(&self) -> bool {
        self.over() > 0 && self.futile.load(Ordering::Relaxed) > 0
    }

    /// Whether nothing need be dropped.
    fn is_well(&self) -> bool {
        let (own, all) = (self.futile.load(Ordering::Relaxed), self.budget.futile.load(Ordering::Relaxed));
        self.used() <= self.budget.share().max(own) && self.budget.used() <= self.budget.limit.max(all)
    }

    /// Drops bodies where this cluster takes more than its share, or all together take too much. Quick where they do not.
    pub(crate) fn relieve(&self) {
        if self.is_well() {
            return;
        }
        // Whoever searches now may do it for us, too; if not, we are back with the next object.
        if let Ok(searching) = self.budget.searching.try_lock() {
            self.search(&searching);
        }
    }

    /// The same, however long it takes.
    fn relieve_now(&self) {
        if !self.is_well() {
            self.search(&self.budget.searching.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn search(&self, _one_at_a_time: &MutexGuard<'_, ()>) {
        if self.over() > 0 {
            self.shrink(with_room(self.budget.share()));
            let futile = if self.over() > 0 { self.used() + self.budget.share() / 64 } else { 0 };
            self.futile.store(futile, Ordering::Relaxed);
        }
        let mut tried: Vec<*const Self> = Vec::new();
        while self.budget.used() > self.budget.limit {
            let Some(largest) = self.budget.largest(&tried) else { break };
            tried.push(Arc::as_ptr(&largest));
            let excess = self.budget.used().saturating_sub(with_room(self.budget.limit));
            largest.shrink(largest.used().saturating_sub(excess));
        }
        let (used, limit) = (self.budget.used(), self.budget.limit);
        self.budget.futile.store(if used > limit { used + limit / 64 } else { 0 }, Ordering::Relaxed);
    }

    /// Drops the largest bodies until the cluster takes no more than so many bytes, as far as there are any.
    fn shrink(&self, target: usize) {
        let indexes: Vec<Arc<dyn Bodies>> = {
            let held = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
            held.iter().filter_map(Weak::upgrade).filter(|index| index.may_drop()).collect()
        };
        let mut bodies: Vec<(usize, usize, ObjectKey)> = Vec::new();
        for (at, index) in indexes.iter().enumerate() {
            index.each_body(&mut |key, size| bodies.push((size, at, key.clone())));
        }
        bodies.sort_unstable_by_key(|(size, ..)| std::cmp::Reverse(*size));
        for (_, at, key) in bodies {
            if self.used() <= target {
                return;
            }
            if let Some(index) = indexes.get(at) {
                index.drop_body(&key);
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // Whatever the cluster has still held.
        self.budget.used.fetch_sub(self.used(), Ordering::Relaxed);
    }
}

/// What is being taken in and is in no index yet: charged until it is there.
pub(crate) struct Pending {
    share: Arc<Share>,
    bytes: usize,
}

impl Pending {
    pub(crate) fn new(share: &Arc<Share>) -> Self {
        Self { share: Arc::clone(share), bytes: 0 }
    }

    pub(crate) fn charge(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.share.charge(bytes);
    }

    /// It takes so much from now on.
    fn settle(&mut self, bytes: usize) {
        self.share.charge(bytes.saturating_sub(self.bytes));
        self.share.release(self.bytes.saturating_sub(bytes));
        self.bytes = bytes;
    }

    /// Makes room where there is too little: first what the indexes hold, then, where decisions read again what is not held
    /// (`may_drop`), bodies of the largest of `taken` that nobody else holds go. Returns whether that was enough.
    pub(crate) fn relieve(&mut self, taken: &mut [(ObjectKey, Arc<Object>)], may_drop: bool) -> bool {
        self.share.relieve_now();
        // What an index held and has let go of is held by this alone from then on.
        let own = taken.iter_mut().filter_map(|(key, object)| Some((&*key, Arc::get_mut(object)?)));
        let own: Vec<(&ObjectKey, &mut Object)> = own.collect();
        self.settle(own.iter().map(|(key, object)| cost(key, object)).sum());
        if may_drop && self.share.over() > 0 {
            let mut bodies: Vec<&mut Object> =
                own.into_iter().map(|(_, object)| object).filter(|object| object.has_body()).collect();
            bodies.sort_unstable_by_key(|object| std::cmp::Reverse(object.size()));
            let target = with_room(self.share.budget.share());
            for object in bodies {
                if self.share.used() <= target {
                    break;
                }
                let size = object.size();
                object.forget_body();
                self.settle(self.bytes.saturating_sub(size));
                self.share.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.share.over() == 0
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.share.release(self.bytes);
    }
}

/// The memory limit of the cgroup that this process is in (v2, then v1), in bytes. `None`: there is none.
fn cgroup_limit() -> Option<usize> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let found = files(&own).into_iter().filter_map(|file| parse_limit(&fs::read_to_string(file).ok()?)).min();
    // v1 says "none" with a number near the largest there is.
    found.filter(|limit| *limit < 1 << 50)
}

fn parse_limit(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|limit| *limit > 0)
}

/// Where the limits of a process's cgroup and of those above it are. `own`: `/proc/self/cgroup`. In a container its own
/// cgroup is often mounted as the root.
fn files(own: &str) -> Vec<String> {
    let mut files =
        vec!["/sys/fs/cgroup/memory.max".to_owned(), "/sys/fs/cgroup/memory/memory.limit_in_bytes".to_owned()];
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, name) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let mut path = path.trim_matches('/');
        // The innermost may have no limit of its own, and one above it may.
        while !path.is_empty() {
            files.push(format!("{root}/{path}/{name}"));
            path = path.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use kube::core::GroupVersionKind;

    use super::*;
    use crate::{
        index::{Index, Lookup, Source},
        watch::WatchSpec,
    };

    fn name(name: &str) -> ClusterName {
        ClusterName::consumer(name)
    }

    /// An object whose body does not get shorter than about `bytes`.
    fn object(version: u64, bytes: usize) -> Object {
        let mut state = version | 1;
        let noise: String = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'0' + u8::try_from((state >> 33) % 64).unwrap())
        })
        .filter(|c| *c != '\\')
        .take(bytes)
        .collect();
        let raw = format!(r#"{{"metadata":{{"name":"x","uid":"u","resourceVersion":"{version}"}},"spec":"{noise}"}}"#);
        Object::parse(raw.as_bytes(), None, &crate::conventions::PLAIN).unwrap().1
    }

    fn index(budget: &Arc<Budget>, cluster: &str) -> Arc<Index> {
        let spec = WatchSpec::all(GroupVersionKind::gvk("", "v1", "ConfigMap"));
        let share = budget.engage(&name(cluster));
        let index = Arc::new(Index::new(name(cluster), Arc::new(spec), Arc::clone(&share)));
        index.set_may_drop(true);
        share.add(&index);
        index.replace(vec![], 1);
        index
    }

    fn put(index: &Index, at: u64, bytes: usize) {
        index.upsert(ObjectKey::new("n", format!("o{at}")), object(at + 2, bytes), Source::Watch);
        index.relieve();
    }

    fn held(index: &Index, at: u64) -> bool {
        match index.get(&ObjectKey::new("n", format!("o{at}"))) {
            Lookup::Found(object) => object.has_body(),
            other => panic!("{other:?}: what is dropped is still there"),
        }
    }

    #[test]
    fn a_cluster_gets_a_quarter_and_its_largest_bodies_go_first() {
        let budget = Budget::new(400_000);
        let index = index(&budget, "a");
        for at in 0..20 {
            put(&index, at, if at == 7 { 30_000 } else { 6_000 });
        }
        assert!(!held(&index, 7), "the largest goes first");
        assert!((0..20).filter(|at| held(&index, *at)).count() > 10, "and not everything");
        assert!(budget.used() <= 100_000, "{}", budget.used());
    }

    #[test]
    fn whoever_holds_most_makes_room_for_the_others() {
        let budget = Budget::new(400_000);
        let clusters: Vec<_> = ["a", "b", "c", "d", "e", "f"].map(|name| index(&budget, name)).into();
        for index in &clusters[..5] {
            for at in 0..13 {
                put(index, at, 7_000);
            }
        }
        put(&clusters[5], 0, 5_000);
        assert!(budget.used() <= 400_000, "{}", budget.used());
        assert!(held(&clusters[5], 0), "who holds little loses nothing");
    }

    #[test]
    fn what_goes_is_no_longer_charged() {
        let budget = Budget::new(1 << 20);
        let index = index(&budget, "a");
        put(&index, 0, 1000);
        put(&index, 1, 1000);
        let both = budget.used();
        index.remove(&ObjectKey::new("n", "o0"), 50);
        assert!(budget.used() * 2 <= both + 10, "{} of {both}", budget.used());
        index.replace(vec![], 60);
        assert_eq!(budget.used(), 0);
        put(&index, 70, 1000);
        drop(index);
        assert_eq!(budget.used(), 0, "a cluster that leaves takes nothing");
    }

    /// What is listed and held is in memory once. Where an index lets go of it meanwhile, the list alone holds it.
    #[test]
    fn what_an_index_lets_go_of_while_it_is_listed_is_charged_to_the_list() {
        let budget = Budget::new(400_000);
        let index = index(&budget, "a");
        let key = |at: u64| ObjectKey::new("n", format!("o{at}"));
        (0..12).for_each(|at| put(&index, at, 6_000));
        let held = budget.used();
        let listed = |at: u64| (key(at), index.listed(&key(at), object(at + 2, 6_000)));
        let mut taken: Vec<(ObjectKey, Arc<Object>)> = (0..12).map(listed).collect();
        let mut pending = Pending::new(index.share());
        assert!(pending.relieve(&mut taken, true) && pending.bytes == 0, "nothing is there twice");
        (0..12).for_each(|at| index.drop_body(&key(at)));
        let stubs = budget.used();
        assert!(pending.relieve(&mut taken, true));
        assert_eq!((pending.bytes, budget.used()), (held, stubs + held));
        // Others need more than there is.
        index.share().charge(80_000);
        let bodies = |taken: &[(ObjectKey, Arc<Object>)]| taken.iter().filter(|(_, object)| object.has_body()).count();
        assert!(!pending.relieve(&mut taken, false) && bodies(&taken) == 12, "nobody reads them again");
        assert!(pending.relieve(&mut taken, true));
        assert!(pending.bytes < held && taken.iter().any(|(_, object)| !object.has_body()));
        let bytes: usize = taken.iter().map(|(key, object)| cost(key, object)).sum();
        assert_eq!((pending.bytes, budget.used()), (bytes, stubs + bytes + 80_000));
        index.share().release(80_000);
        drop((pending, index));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn limits_are_looked_for_where_the_process_is() {
        let v2 = files("0::/kubepods/pod1/c1\n");
        assert!(v2.contains(&"/sys/fs/cgroup/kubepods/pod1/c1/memory.max".to_owned()));
        assert!(v2.contains(&"/sys/fs/cgroup/kubepods/memory.max".to_owned()));
        let v1 = files("5:cpu,cpuacct:/x\n4:memory:/docker/c1\n");
        assert!(v1.contains(&"/sys/fs/cgroup/memory/docker/c1/memory.limit_in_bytes".to_owned()));
        assert!(!v1.iter().any(|file| file.contains("/x/")));
        assert_eq!((parse_limit("max\n"), parse_limit("1073741824\n")), (None, Some(1 << 30)));
    }
}
