//! What the broker asked all stubs for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::Method;

use super::change::Role;
use super::kind::{Kind, Target};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Asked {
    reads: AtomicUsize,
    watches: AtomicUsize,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    /// Writes, by what they were.
    writes: Writes,
    /// What stubs have no answer to: how much, and one of each sort.
    unexpected: usize,
    examples: BTreeSet<String>,
    /// When something was asked for last.
    last: Option<Instant>,
}

/// Writes, by what they were.
pub(super) type Writes = BTreeMap<&'static str, usize>;

/// An Event, which stubs do not keep.
pub(super) const EVENT: &str = "Event";

/// What a write is, in words.
pub(super) fn described(role: Role, method: &Method, target: &Target<'_>) -> &'static str {
    match (role, target.kind, target.status) {
        _ if *method == Method::DELETE => "deletion",
        (Role::Consumer, _, false) => "finalizer and assignment of an object",
        (Role::Consumer, _, true) => "status of an object",
        (Role::Provider, Kind::Widget, _) => "copy",
        (Role::Provider, Kind::AcceptApi, _) => "status of an AcceptAPI",
    }
}

impl Asked {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A read was asked for.
    pub(super) fn read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.log().last = Some(Instant::now());
    }

    /// A watch was asked for.
    pub(super) fn watch(&self) {
        self.watches.fetch_add(1, Ordering::Relaxed);
        self.log().last = Some(Instant::now());
    }

    /// A write was asked for.
    pub(super) fn write(&self, what: &'static str) {
        let mut log = self.log();
        *log.writes.entry(what).or_default() += 1;
        log.last = Some(Instant::now());
    }

    /// Something was asked for to which there is no answer.
    pub(super) fn unexpected(&self, example: String) {
        let mut log = self.log();
        log.unexpected += 1;
        log.examples.insert(example);
        log.last = Some(Instant::now());
    }

    /// Reads and watches so far.
    pub(super) fn reads_and_watches(&self) -> (usize, usize) {
        (self.reads.load(Ordering::Relaxed), self.watches.load(Ordering::Relaxed))
    }

    /// Writes so far.
    pub(super) fn writes(&self) -> Writes {
        self.log().writes.clone()
    }

    /// Writes since then.
    pub(super) fn writes_since(&self, before: &Writes) -> Writes {
        let mut writes = self.writes();
        for (what, count) in &mut writes {
            *count -= before.get(what).copied().unwrap_or_default();
        }
        writes.retain(|_, count| *count > 0);
        writes
    }

    /// What was not expected so far: how much, and one of each sort.
    pub(super) fn strange(&self) -> (usize, Vec<String>) {
        let log = self.log();
        (log.unexpected, log.examples.iter().cloned().collect())
    }

    /// When something was asked for last.
    pub(super) fn last(&self) -> Option<Instant> {
        self.log().last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_counted_by_what_they_are() {
        let asked = Asked::default();
        let copy = Target::object(Kind::Widget, "n", "a");
        asked.write(described(Role::Provider, &Method::PATCH, &copy));
        let before = asked.writes();
        asked.write(described(Role::Provider, &Method::PATCH, &copy));
        asked.write(described(Role::Consumer, &Method::PATCH, &Target { status: true, ..copy }));
        let since: Vec<_> = asked.writes_since(&before).into_iter().collect();
        assert_eq!(since, [("copy", 1), ("status of an object", 1)]);
        assert!(asked.last().is_some());
    }
}
