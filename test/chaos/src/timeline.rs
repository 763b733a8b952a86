//! `Timeline`: what happened when, for people; and how often.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::Write as _,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// What happened. Faults of single connections and edits of people are too many to be read: they are counted, and edits are in
/// a file.
pub(crate) struct Timeline {
    began: Instant,
    faults: Mutex<BTreeMap<&'static str, u64>>,
    edits: Mutex<BTreeMap<&'static str, u64>>,
    journal: Mutex<Option<File>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked while it held this has left a number as it was or one more.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Timeline {
    /// Begins now.
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), faults: Mutex::default(), edits: Mutex::default(), journal: Mutex::default() }
    }

    /// Edits are written to this file from now on.
    pub(crate) fn write_edits(&self, file: &Path) -> anyhow::Result<()> {
        *lock(&self.journal) = Some(File::create(file)?);
        Ok(())
    }

    /// Since its beginning.
    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Something that is no fault.
    pub(crate) fn tell(&self, text: &str) {
        println!("{:>8.1} s  {text}", self.now());
    }

    /// A fault.
    pub(crate) fn fault(&self, kind: &'static str, text: &str) {
        self.count(kind);
        println!("{:>8.1} s    {kind}: {text}", self.now());
    }

    /// A fault that is counted only.
    pub(crate) fn count(&self, kind: &'static str) {
        *lock(&self.faults).entry(kind).or_default() += 1;
    }

    /// An edit, and what came of it; `kind` is counted.
    pub(crate) fn edit(&self, kind: &'static str, text: &str) {
        *lock(&self.edits).entry(kind).or_default() += 1;
        if let Some(journal) = lock(&self.journal).as_mut() {
            // A full disk stops more than this.
            let _ = writeln!(journal, "{:>8.1} s {kind} {text}", self.began.elapsed().as_secs_f64());
        }
    }

    /// How many edits were acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        let edits = lock(&self.edits);
        edits.iter().filter(|(kind, _)| kind.ends_with("acknowledged")).map(|(_, count)| count).sum()
    }

    /// How many faults there were.
    pub(crate) fn faults(&self) -> u64 {
        lock(&self.faults).values().sum()
    }

    /// All counts, one line for each kind.
    pub(crate) fn summary(&self) -> String {
        let mut text = String::new();
        for (title, counts) in [("Faults", &self.faults), ("Edits", &self.edits)] {
            let _ = writeln!(text, "{title}:");
            for (kind, count) in lock(counts).iter() {
                let _ = writeln!(text, "{count:>8}  {kind}");
            }
        }
        text
    }
}
