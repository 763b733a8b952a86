//! Related resources of the copy that serves: brought to the consumer, kept up to date, removed when nobody lists them.

use runtime_effect::{interest::Interest, merge, note::Note, seen::Seen, size, view::View, write::Op};
use serde_json::json;

use super::{Pass, serve::Site};
use crate::{
    acceptance::Acceptance,
    decision::Write,
    memory::Subject,
    related::{self, Terms},
};

impl<'a> Pass<'a> {
    /// A related resource that a copy lists and that may be brought, but is not there (yet).
    pub(super) fn missing_related(
        &mut self,
        site: &Site<'a>,
        copy: &'a View,
        acceptance: Option<&Acceptance>,
    ) -> Option<String> {
        let snapshot = self.snapshot;
        let namespace = &snapshot.key.namespace;
        let listing = related::listing(snapshot.key, copy.status()?, namespace, self.terms(acceptance));
        let mut missing = None;
        for entry in listing.allowed.into_iter().filter(|entry| entry.misnamed.is_none()) {
            let source = snapshot.related.source(&site.holder.provider, &entry.kind, &entry.namespace, &entry.name);
            // That of an earlier copy of this name goes, and its successor comes.
            if source.present().is_none_or(|source| source.deleting || related::is_anothers(source, copy)) {
                missing.get_or_insert(format!("its {} {} is not there yet", entry.kind.kind, entry.name));
            }
            self.decision.interests.push(Interest {
                cluster: site.holder.provider.clone(),
                kind: entry.kind,
                namespace: entry.namespace,
                name: entry.name,
            });
        }
        missing
    }

    /// What an AcceptAPI lets its provider bring.
    fn terms<'t>(&self, acceptance: Option<&'t Acceptance>) -> Terms<'t>
    where
        'a: 't,
    {
        Terms {
            kinds: self.snapshot.related_kinds,
            narrowed: acceptance.map(|acceptance| acceptance.related_kinds.as_slice()).unwrap_or_default(),
            names: Some(acceptance.map(|acceptance| acceptance.related_names.as_slice()).unwrap_or_default()),
        }
    }

    /// Brings related resources to the consumer, keeps them up to date, removes those that are no longer listed.
    /// `acceptance`: by whose terms. `new`: what is not there yet is brought. `prune`: what is not listed goes. Returns
    /// whether all that is listed, and may be brought, is in place.
    pub(super) fn bring(
        &mut self,
        site: &Site<'a>,
        copy: &'a View,
        acceptance: Option<&Acceptance>,
        new: bool,
        prune: bool,
    ) -> bool {
        let snapshot = self.snapshot;
        if copy.unread.is_some() {
            return false;
        }
        // Without a status nothing is known of related resources: what is there stays.
        let Some(status) = copy.status() else { return true };
        let listing = related::listing(snapshot.key, status, &snapshot.key.namespace, self.terms(acceptance));
        for why in &listing.refused {
            self.decision.notes.push(Note::warning("RelatedRefused", why.clone()));
        }
        let mut in_place = true;
        let mut room = snapshot.limits.related_total;
        for entry in &listing.allowed {
            self.decision.interests.push(Interest {
                cluster: site.holder.provider.clone(),
                kind: entry.kind.clone(),
                namespace: entry.namespace.clone(),
                name: entry.name.clone(),
            });
            in_place &= self.bring_one(site, copy, entry, new, &mut room);
        }
        // A provider that is still at work has not said its last word on what there will be.
        let unfinished = matches!(status["status"].as_str(), Some("Unknown" | "Provisioning"));
        if !prune || unfinished || !snapshot.related.owned_known() {
            return in_place;
        }
        for (kind, held) in snapshot.related.owned(&site.origin.uid) {
            let name = held.value["metadata"]["name"].as_str();
            let listed = listing.allowed.iter().any(|entry| entry.kind == kind && Some(&*entry.target) == name);
            if !listed && !held.deleting && related::belongs(&site.origin.uid, &held) {
                self.delete_related(&kind, &held);
            }
        }
        in_place
    }

    /// A related resource is not brought, and why.
    fn refuse_related(&mut self, entry: &related::Related, why: &str) {
        let message = format!("{} {} is refused: {why}", entry.kind.kind, entry.name);
        self.decision.notes.push(Note::warning("RelatedRefused", message));
    }

    /// Brings one related resource. `room`: how many bytes may still be brought. Returns whether it is in place, or never
    /// will be.
    fn bring_one(&mut self, site: &Site<'a>, copy: &View, entry: &related::Related, new: bool, room: &mut u64) -> bool {
        let snapshot = self.snapshot;
        let source = snapshot.related.source(&site.holder.provider, &entry.kind, &entry.namespace, &entry.name);
        let Some(source) = source.present().filter(|source| !source.deleting) else { return false };
        let unread = source.unread.map(|unread| unread.why().to_owned());
        if let Some(why) = unread.or_else(|| related::refusal(&entry.kind, source, copy)) {
            self.refuse_related(entry, &why);
            return true;
        }
        let desired = related::desired(snapshot.key, site.origin, source);
        let (bytes, limits) = (size::of(&desired), snapshot.limits);
        let Some(left) = room.checked_sub(bytes).filter(|_| bytes <= limits.related) else {
            let why = if bytes > limits.related {
                format!("it is larger than {} (--max-related-size)", size::text(limits.related))
            } else {
                format!(
                    "with it there would be more than {} of this object's related resources (--max-related-total)",
                    size::text(limits.related_total)
                )
            };
            self.refuse_related(entry, &why);
            return true;
        };
        *room = left;
        // The target's name is part of the intent: several related copies must not look like repeats of one.
        let intent = merge::digest(&json!([entry.kind.kind, entry.target, desired]));
        let (op, observed) = match snapshot.related.target(&entry.kind, &snapshot.key.namespace, &entry.target) {
            Seen::Unknown => return false,
            Seen::Absent if !new => return true,
            Seen::Absent if entry.misnamed.is_some() => {
                self.refuse_related(entry, entry.misnamed.as_deref().unwrap_or_default());
                return true;
            }
            Seen::Absent => (Op::Create(desired), json!(null)),
            Seen::Present(held) if held.deleting => return false,
            Seen::Present(held) if !related::belongs(&site.origin.uid, &held) => {
                let message = format!(
                    "{} {} exists already and is not the broker's; it is not overwritten",
                    entry.kind.kind, entry.target
                );
                self.decision.notes.push(Note::warning("RelatedConflict", message));
                return true;
            }
            Seen::Present(View { unread: Some(unread), .. }) => {
                let message = format!("{} {} is left as it is: {}", entry.kind.kind, entry.target, unread.why());
                self.decision.notes.push(Note::warning(unread.reason(), message));
                return true;
            }
            Seen::Present(held) => match related::patch(&desired, &held) {
                None => return true,
                Some(patch) => (Op::Merge(patch), related::observed(&held.value)),
            },
        };
        let cluster = snapshot.key.cluster.clone();
        let namespace = snapshot.key.namespace.to_string();
        let memory = snapshot.memory;
        // A name that is taken by somebody else's object: it is never overwritten, and nothing waits for it.
        let taken = memory
            .writes
            .trouble_with(Subject::Related, intent)
            .is_some_and(|trouble| trouble.reason == "RelatedConflict");
        let settled = memory.writes.is_settled(Subject::Related, intent, &observed);
        self.write(Subject::Related, intent, &observed, |_| Write {
            cluster,
            kind: entry.kind.clone(),
            namespace,
            name: entry.target.clone(),
            op,
            intent,
            subject: Subject::Related,
            notes: Vec::new(),
        });
        settled || taken
    }
}
