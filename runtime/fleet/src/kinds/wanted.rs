//! `Wanted`: the kinds that are watched in a cluster, what is known of them, and when the cluster is to be asked again.
//!
//! Asked is for a group and version at a time, which answers for all its kinds. Does no requests and has no clock.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use kube::core::GroupVersionKind;
use tokio::time::Instant;

use crate::{
    definition::name_of,
    hashed::HashMap,
    kind::{KindInfo, KindSchema, KindState, SchemaDigest, SchemaNews},
};

/// A CRD that changed is served and published some time later, so it is asked for several times.
const REFRESH_AFTER: [Duration; 4] =
    [Duration::from_millis(150), Duration::from_millis(600), Duration::from_secs(2), Duration::from_secs(5)];

/// Between two looks at one group and version, however many of its CRDs change.
const GAP: Duration = Duration::from_millis(400);

/// For so long a CRD has to say the same before its API server is taken to go by it: what is written before may be stored
/// as the old schema has it, and nothing would tell. Below the last wait of [`REFRESH_AFTER`], so that the last look counts.
pub(crate) const SETTLED: Duration = Duration::from_secs(4);

/// For so long a schema that the API server contradicts is looked at closely: all looks that follow.
const DOUBT: Duration = Duration::from_secs(6);

/// Group and version: what one discovery document is about.
pub(super) type GroupVersion = (String, String);

fn group_version(gvk: &GroupVersionKind) -> GroupVersion {
    (gvk.group.clone(), gvk.version.clone())
}

/// Where a kind's schema was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ReadFrom {
    /// Nowhere yet.
    #[default]
    Nowhere,
    /// In the OpenAPI document of its group and version.
    Document,
    /// In this edition of its CRD.
    Definition(u64),
}

/// What the watch on CRDs says of the one that may define a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    /// Nobody can tell whether there is one.
    Unknown,
    /// There is none: the kind comes from somewhere else.
    Absent,
    /// It is this edition of it, see [`crate::definition::edition`].
    Version(u64),
}

/// What was read of a kind's schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reading {
    /// Nobody asked for it.
    Unasked,
    /// It need not be read again, or cannot be had: what is known stays.
    Nothing,
    /// It could not be read now, and may be in a moment: what is known stays, and where nothing is nobody can tell.
    Unread,
    /// The OpenAPI document holds this, or nothing (yet): what is published counts already.
    Document(Option<KindSchema>),
    /// This edition of its CRD says so.
    Definition(u64, KindSchema),
}

impl Reading {
    /// The schema, if there is one.
    pub(crate) fn schema(&self) -> Option<&KindSchema> {
        match self {
            Self::Unasked | Self::Nothing | Self::Unread | Self::Document(None) => None,
            Self::Document(Some(schema)) | Self::Definition(_, schema) => Some(schema),
        }
    }

    /// What is told of it, where it is new.
    pub(crate) fn news(&self) -> SchemaNews<'_> {
        match self {
            Self::Unasked => SchemaNews::Unasked,
            Self::Unread => SchemaNews::Unread,
            _ => self.schema().map_or(SchemaNews::Unpublished, SchemaNews::New),
        }
    }
}

/// What is new after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// Whether the kind is served, or how.
    State,
    /// The schema too, or only that.
    Schema,
}

#[derive(Default)]
struct Held {
    /// How many watches are of it.
    watches: usize,
    /// How many of these ask for its schema.
    schemas: usize,
    /// That was looked for.
    sought: bool,
    state: KindState,
    /// Of the schema that was told of last.
    digest: Option<SchemaDigest>,
    source: ReadFrom,
    /// What the CRD says now, and since when: another schema than the one that counts.
    coming: Option<(SchemaDigest, Instant)>,
    /// When the API server contradicted what was known.
    doubted: Option<Instant>,
    /// A CRD that may be its own was there before anybody had said whether it is served.
    announced: bool,
}

impl Held {
    fn is_doubted(&self, now: Instant) -> bool {
        self.doubted.is_some_and(|since| now.saturating_duration_since(since) < DOUBT)
    }

    /// Whether all of it was read in its CRD as that is now: as long as that stays, there is nothing else to be found.
    fn is_known(&self, listed: impl Fn(&KindInfo) -> Listed, now: Instant) -> bool {
        let ReadFrom::Definition(read) = self.source else { return false };
        let is_current = |info: &Arc<KindInfo>| listed(info) == Listed::Version(read);
        self.coming.is_none() && !self.is_doubted(now) && self.state.found().is_some_and(is_current)
    }

    /// Whether somebody asks for the schema of a kind that was found without it.
    fn lacks_schema(&self) -> bool {
        self.schemas > 0 && !self.sought && self.state.found().is_some()
    }

    /// Whether a schema that the CRD has counts already.
    fn counts(&mut self, digest: SchemaDigest, now: Instant) -> bool {
        if self.digest.is_none() || self.digest == Some(digest) || self.is_doubted(now) {
            return true;
        }
        let since = self.coming.filter(|(coming, _)| *coming == digest).map_or(now, |(_, since)| since);
        self.coming = Some((digest, since));
        now.saturating_duration_since(since) >= SETTLED
    }
}

/// A group and version that is looked at again.
#[derive(Debug, Clone, Copy)]
struct Refresh {
    /// When something last changed.
    changed: Instant,
    /// When it was looked at last.
    looked: Option<Instant>,
    next: Instant,
}

impl Refresh {
    fn new(now: Instant) -> Self {
        Self { changed: now, looked: None, next: now + REFRESH_AFTER[0] }
    }

    /// Something changed: all looks follow again. One that is due sooner stays where it is, else a stream of changes would
    /// put it off for ever.
    fn restart(&mut self, now: Instant) {
        let first = now + REFRESH_AFTER[0];
        self.changed = now;
        self.next = self.next.min(self.looked.map_or(first, |looked| first.max(looked + GAP)));
    }

    /// It is looked at now. Whether it will be again.
    fn look(&mut self, now: Instant) -> bool {
        let next = REFRESH_AFTER.iter().map(|after| self.changed + *after).find(|at| *at >= now + GAP);
        self.looked = Some(now);
        self.next = next.unwrap_or(now);
        next.is_some()
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Wanted {
    kinds: HashMap<GroupVersionKind, Held>,
    refresh: HashMap<GroupVersion, Refresh>,
}

impl Wanted {
    /// A watch of a kind begins, which asks for its schema or not.
    pub(crate) fn add(&mut self, gvk: &GroupVersionKind, schema: bool) {
        let held = self.kinds.entry(gvk.clone()).or_default();
        held.watches += 1;
        held.schemas += usize::from(schema);
    }

    /// Such a watch has ended. True: it was the last, and nothing is known of the kind any more.
    pub(crate) fn remove(&mut self, gvk: &GroupVersionKind, schema: bool) -> bool {
        let Some(held) = self.kinds.get_mut(gvk) else { return false };
        held.watches -= 1;
        held.schemas -= usize::from(schema);
        // What changes from now on is not read: who asks next has it looked for again.
        held.sought &= held.schemas > 0;
        if held.watches > 0 {
            return false;
        }
        self.kinds.remove(gvk);
        let ours = group_version(gvk);
        if !self.kinds.keys().any(|gvk| group_version(gvk) == ours) {
            self.refresh.remove(&ours);
        }
        true
    }

    /// What is known of it, if it is watched.
    pub(crate) fn state(&self, gvk: &GroupVersionKind) -> Option<&KindState> {
        self.kinds.get(gvk).map(|held| &held.state)
    }

    /// A CRD came, changed or went. They are named `<plural>.<group>`: it concerns the kind that has this plural, and those
    /// of the group that have not been found. `first`: it was there when the watch on CRDs began; kinds that have been found
    /// were asked for after it had come, and those that are just being asked for are asked for again only if they are not.
    pub(crate) fn definition_changed(&mut self, name: &str, first: bool, now: Instant) {
        let group = name.split_once('.').map_or("", |(_, group)| group);
        let mut concerned = BTreeSet::new();
        for (gvk, held) in self.kinds.iter_mut().filter(|(gvk, _)| gvk.group == group) {
            let changed = match &held.state {
                KindState::Found(info) => !first && name_of(info) == name,
                KindState::Missing => true,
                KindState::Unknown => {
                    held.announced |= first;
                    !first
                }
            };
            if changed {
                held.doubted = None;
                concerned.insert(group_version(gvk));
            }
        }
        for group_version in concerned {
            self.restart(group_version, now);
        }
    }

    /// The API server contradicts what is known of a kind.
    pub(crate) fn doubt(&mut self, gvk: &GroupVersionKind, now: Instant) {
        if let Some(held) = self.kinds.get_mut(gvk) {
            held.doubted = Some(now);
            self.look_again(gvk, now);
        }
    }

    /// The group and version of a kind is asked for again, after moments that grow.
    pub(crate) fn look_again(&mut self, gvk: &GroupVersionKind, now: Instant) {
        self.restart(group_version(gvk), now);
    }

    fn restart(&mut self, group_version: GroupVersion, now: Instant) {
        self.refresh.entry(group_version).or_insert_with(|| Refresh::new(now)).restart(now);
    }

    /// All kinds of groups and versions to ask for now. `polls`: also where nothing says that a kind that is not served has
    /// come. `listed`: what the watch on CRDs says of the one that defines a kind.
    pub(crate) fn due(
        &mut self,
        polls: bool,
        listed: impl Fn(&KindInfo) -> Listed,
        now: Instant,
    ) -> Vec<GroupVersionKind> {
        let is_due = |held: &Held| match held.state {
            KindState::Unknown => true,
            KindState::Missing => polls,
            KindState::Found(_) => held.lacks_schema(),
        };
        let kinds = self.kinds.iter().filter(|(_, held)| is_due(held));
        let mut due: BTreeSet<GroupVersion> = kinds.map(|(gvk, _)| group_version(gvk)).collect();
        let kinds = &self.kinds;
        let is_known = |of: &GroupVersion| {
            let mut kinds = kinds.iter().filter(|(gvk, _)| gvk.group == of.0 && gvk.version == of.1);
            kinds.all(|(_, held)| held.is_known(&listed, now))
        };
        self.refresh.retain(|group_version, refresh| {
            if refresh.next <= now && !due.contains(group_version) && is_known(group_version) {
                return false;
            }
            // One that is asked for anyway need not be asked for once more in a moment.
            let is_due = refresh.next <= now || due.contains(group_version);
            if is_due {
                due.insert(group_version.clone());
            }
            !is_due || refresh.look(now)
        });
        self.of(&due)
    }

    /// When there will be more to ask for, if nothing else happens.
    pub(crate) fn next(&self, now: Instant) -> Option<Duration> {
        self.refresh.values().map(|refresh| refresh.next.saturating_duration_since(now)).min()
    }

    /// Whether one of them is not served.
    pub(crate) fn misses(&self) -> bool {
        self.kinds.values().any(|held| held.state == KindState::Missing)
    }

    /// The kinds of groups and versions, in the order of their names.
    fn of(&self, wanted: &BTreeSet<GroupVersion>) -> Vec<GroupVersionKind> {
        let kinds = self.kinds.keys().map(|gvk| (group_version(gvk), gvk));
        let mut kinds: Vec<_> = kinds.filter(|(group_version, _)| wanted.contains(group_version)).collect();
        kinds.sort_by(|(one, gvk), (other, next)| (one, &gvk.kind).cmp(&(other, &next.kind)));
        kinds.into_iter().map(|(_, gvk)| gvk.clone()).collect()
    }

    /// Whether anybody asks for the schema of a kind.
    pub(crate) fn asks_for_schema(&self, gvk: &GroupVersionKind) -> bool {
        self.kinds.get(gvk).is_some_and(|held| held.schemas > 0)
    }

    /// Whether it has not been found yet, or its schema not been looked for.
    pub(crate) fn is_new(&self, gvk: &GroupVersionKind) -> bool {
        self.kinds.get(gvk).is_some_and(|held| held.state.found().is_none() || !held.sought)
    }

    /// Whether the schema of a kind that is served has to be read (again).
    pub(crate) fn wants_schema(&self, gvk: &GroupVersionKind, listed: Listed, now: Instant) -> bool {
        let Some(held) = self.kinds.get(gvk) else { return false };
        if held.state.found().is_none() || held.is_doubted(now) {
            return true;
        }
        match (held.source, listed) {
            (ReadFrom::Nowhere, _) | (ReadFrom::Document, Listed::Version(_)) => true,
            (ReadFrom::Definition(read), Listed::Version(now)) => read != now,
            (ReadFrom::Document | ReadFrom::Definition(_), _) => false,
        }
    }

    /// Takes in what a look has found. `None`: there is nothing new, or nobody wants the kind any more.
    pub(crate) fn take(
        &mut self,
        gvk: &GroupVersionKind,
        state: &KindState,
        reading: &Reading,
        now: Instant,
    ) -> Option<News> {
        let held = self.kinds.get_mut(gvk)?;
        let changed = held.state != *state;
        let first = changed && held.state.found().is_none();
        let is_coming = std::mem::take(&mut held.announced) && *state == KindState::Missing;
        if first || state.found().is_none() {
            // What was known of the schema before is no matter.
            *held = Held { watches: held.watches, schemas: held.schemas, doubted: held.doubted, ..Held::default() };
        }
        held.state = state.clone();
        // What was found without its schema is told of anew with it, and also that there is none to be had.
        let sought = match reading {
            Reading::Unasked => false,
            // It is looked for once more.
            Reading::Unread => held.sought,
            Reading::Nothing | Reading::Document(_) | Reading::Definition(..) => true,
        };
        let unsought = !std::mem::replace(&mut held.sought, sought);
        let first = first || held.sought && unsought && held.source == ReadFrom::Nowhere;
        let before = held.digest;
        match reading {
            Reading::Unasked | Reading::Nothing | Reading::Unread => {}
            Reading::Document(schema) => {
                held.digest = schema.as_ref().map(|schema| *schema.digest());
                (held.source, held.coming) = (ReadFrom::Document, None);
            }
            Reading::Definition(version, schema) if held.counts(*schema.digest(), now) => {
                held.digest = Some(*schema.digest());
                (held.source, held.coming) = (ReadFrom::Definition(*version), None);
            }
            Reading::Definition(..) => {
                if !self.refresh.contains_key(&group_version(gvk)) {
                    self.look_again(gvk, now);
                }
                return changed.then_some(News::State);
            }
        }
        let served = state.found().is_some();
        let has_news = served && (first || before != held.digest);
        if is_coming {
            self.look_again(gvk, now);
        }
        if has_news { Some(News::Schema) } else { changed.then_some(News::State) }
    }
}

#[cfg(test)]
#[path = "wanted_tests.rs"]
mod tests;
