//! `Journal`: all that has happened in a world, in its order, for those who judge it and for people.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;

/// Something that has happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Since the world began.
    pub at: Duration,
    /// The API server's name.
    pub server: String,
    /// Who did it: a field manager, or a program.
    pub by: String,
    /// What was done.
    pub deed: Deed,
}

impl Entry {
    /// Whether it says that something is still going on. Whoever leads says so again and again.
    fn is_news(&self) -> bool {
        matches!(&self.deed, Deed::Change(change) if change.resource != "leases.coordination.k8s.io")
    }
}

/// What can happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// An object has changed.
    Change(Change),
    /// Something went wrong on the way, or a program came or went: for people.
    Told(String),
}

/// A change of one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Such as `certificates.example.org`, or `secrets`.
    pub resource: String,
    /// Empty: in none.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `None`: there was none.
    pub before: Option<Arc<Value>>,
    /// `None`: it is gone.
    pub after: Option<Arc<Value>>,
}

impl Change {
    /// What differs, by the first two steps of its path.
    fn differences(&self) -> BTreeSet<String> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return BTreeSet::new() };
        let mut found = BTreeSet::new();
        for first in names(before, after) {
            let (before, after) = (&before[&first], &after[&first]);
            if before == after {
                continue;
            }
            let deeper = names(before, after).into_iter().filter(|second| before[second] != after[second]);
            let unsaid = ["resourceVersion", "managedFields", "generation"];
            let deeper: Vec<String> = deeper.filter(|second| !unsaid.contains(&&**second)).collect();
            found.extend(deeper.iter().map(|second| format!("{first}.{second}")));
            if !before.is_object() && !after.is_object() {
                found.insert(first);
            }
        }
        found
    }
}

fn names(before: &Value, after: &Value) -> BTreeSet<String> {
    [before, after].into_iter().filter_map(Value::as_object).flat_map(|fields| fields.keys().cloned()).collect()
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match (&self.before, &self.after) {
            (None, _) => "makes",
            (Some(_), None) => "ends",
            (Some(_), Some(_)) => "changes",
        };
        let between = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{verb} {} {}{between}{}", self.resource, self.namespace, self.name)?;
        let differences: Vec<String> = self.differences().into_iter().collect();
        if differences.is_empty() { Ok(()) } else { write!(f, ": {}", differences.join(", ")) }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, server, by, deed } = self;
        write!(f, "{:>10.3} s  {server:<10} {by:<18} ", at.as_secs_f64())?;
        match deed {
            Deed::Change(change) => change.fmt(f),
            Deed::Told(text) => write!(f, "! {text}"),
        }
    }
}

/// All of it. Cloning it yields the same one.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<Vec<Entry>>>);

impl Journal {
    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, entry: Entry) {
        self.lock().push(entry);
    }

    /// The first of what `test` finds in it.
    pub fn find<T>(&self, test: impl FnMut(&Entry) -> Option<T>) -> Option<T> {
        self.lock().iter().find_map(test)
    }

    /// The last change, but for those of leases.
    pub(crate) fn last_news(&self) -> Option<Entry> {
        self.lock().iter().rev().find(|entry| entry.is_news()).cloned()
    }

    /// How many entries `test` counts.
    pub fn count(&self, test: impl FnMut(&&Entry) -> bool) -> usize {
        self.lock().iter().filter(test).count()
    }

    /// What has happened so far; from now on it is forgotten here.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.lock())
    }

    /// What has happened so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_says_who_did_what() {
        let object =
            |spec, version| Some(Arc::new(json!({"metadata": {"resourceVersion": version}, "spec": {"a": spec}})));
        let change = |before, after| Change {
            resource: "things.g.io".to_owned(),
            namespace: "n".to_owned(),
            name: "a".to_owned(),
            before,
            after,
        };
        let said = |before, after| change(before, after).to_string();
        assert_eq!(said(None, object(1, "1")), "makes things.g.io n/a");
        assert_eq!(said(object(1, "1"), object(2, "2")), "changes things.g.io n/a: spec.a");
        assert_eq!(said(object(1, "1"), None), "ends things.g.io n/a");
        let deed = Deed::Told("it is late".to_owned());
        let entry = Entry { at: Duration::from_millis(1500), server: "s".to_owned(), by: "b".to_owned(), deed };
        assert_eq!(entry.to_string(), "     1.500 s  s          b                  ! it is late");
    }
}
