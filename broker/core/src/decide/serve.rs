//! Keeping an assigned origin served: marks, copy, related resources, status, in this order.

use std::sync::Arc;

use broker_api::condition;
use serde_json::json;

use super::{GOOD_NEWS_MILLIS, LOST_MILLIS, Pass, claim::Assigned, place::sentence};
use crate::{
    acceptance::Acceptance,
    copy,
    decision::{Interest, Note, Op, State, Write},
    memory::Subject,
    merge, related,
    snapshot::{Holder, KindView, Reach, Seen, Serving, View},
    status::Own,
};

impl<'a> Pass<'a> {
    pub(super) fn serve(&mut self, origin: &'a View, assigned: &Assigned) {
        let snapshot = self.snapshot;
        self.decision.provider = Some(assigned.provider.clone());
        let name = assigned.provider.name();
        let Some(holder) = snapshot.holder(name) else {
            let why = format!("provider {name} is not engaged (any more); add its kubeconfig again");
            return self.blocked(origin, condition::PROVIDER_UNREACHABLE, why);
        };
        let accepted = self.accepted_by(origin, holder);
        if let Some(Ok(acceptance)) = &accepted {
            self.decision.counted = Some(acceptance.id.clone());
        }
        // Without the finalizer a copy would be left behind: it comes first, alone.
        if self.mark(origin, assigned, None) {
            return self.state(State::Placing);
        }
        if let Reach::Lost(_) = &holder.reach {
            self.decision.again_in(LOST_MILLIS);
            return self.state(State::Unknown);
        }
        if let Reach::Unreachable(why) = &holder.reach {
            return self.blocked(
                origin,
                condition::PROVIDER_UNREACHABLE,
                format!("provider {name} is unreachable: {why}"),
            );
        }
        let kind = match &holder.serving {
            Serving::Unknown => return self.state(State::Unknown),
            Serving::Missing => {
                let why = format!(
                    "provider {name} does not serve {} (any more); install its CRD there",
                    snapshot.key.gvk.kind
                );
                return self.blocked(origin, condition::KIND_MISSING, why);
            }
            Serving::Served(kind) => kind,
        };
        let site = Site { origin, holder, kind, epoch: assigned.epoch };
        match (&holder.copy, accepted) {
            (Seen::Unknown, _) | (_, None) => self.untold(origin, holder),
            (Seen::Absent, Some(Ok(_))) => self.create(&site),
            (Seen::Absent, Some(Err(refusals))) => self.refused(&site, None, &refusals),
            (Seen::Present(copy), _) if !self.is_ours(origin, holder, copy) => self.conflict(&site),
            (Seen::Present(copy), Some(Err(refusals))) => self.refused(&site, Some(copy), &refusals),
            (Seen::Present(copy), Some(Ok(acceptance))) => self.keep(&site, copy, acceptance),
        }
    }

    /// What there is at the provider cannot be seen. If that will not change by itself, people are told.
    fn untold(&mut self, origin: &'a View, holder: &Holder) {
        let Some(trouble) = &holder.trouble else {
            self.decision.again_in(LOST_MILLIS);
            return self.state(State::Unknown);
        };
        let why = format!("the broker cannot see what is at provider {}: {trouble}", holder.provider.name());
        self.blocked(origin, condition::FORBIDDEN, why);
    }

    fn desired(&self, site: &Site<'a>) -> copy::Desired {
        let snapshot = self.snapshot;
        copy::desired(snapshot.key, site.origin, &site.holder.provider, site.epoch, &site.kind.schema, snapshot.ring)
    }

    fn create(&mut self, site: &Site<'a>) {
        self.state(State::Placing);
        let desired = self.desired(site);
        self.tell_lost(&desired, site);
        let note = Note::normal("CopyCreated", format!("created at provider {}", site.holder.provider.name()));
        let intent = merge::digest(&desired.body);
        let op = Op::Create(desired.body);
        let write = |pass: &Self| pass.copy_write(site, op, intent, Some(note));
        if self.write(Subject::Copy, intent, &json!(null), write) {
            // The provider's first status comes by itself; if none does, there is still the good news to tell.
            self.decision.complete = true;
            return self.decision.again_in(GOOD_NEWS_MILLIS);
        }
        if let Some(trouble) = self.snapshot.memory.trouble(Subject::Copy) {
            self.blocked(site.origin, trouble.reason, trouble.message.clone());
        } else {
            self.fought(site, "the copy is deleted again and again");
        }
    }

    fn copy_write(&self, site: &Site<'_>, op: Op, intent: [u8; 8], note: Option<Note>) -> Write {
        let key = self.snapshot.key;
        Write {
            cluster: site.holder.provider.clone(),
            kind: (*key.gvk).clone(),
            namespace: key.namespace.to_string(),
            name: copy::name(key),
            op,
            intent,
            subject: Subject::Copy,
            note,
        }
    }

    fn tell_lost(&mut self, desired: &copy::Desired, site: &Site<'_>) {
        if !desired.lost.is_empty() {
            let fields = desired.lost.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
            self.decision.notes.push(Note::warning(
                "FieldsDropped",
                format!(
                    "provider {} does not know these fields, they are left out of the copy: {fields}",
                    site.holder.provider.name()
                ),
            ));
        }
    }

    /// A copy that the provider accepts: put right what is not as it should be, bring back what it says.
    fn keep(&mut self, site: &Site<'a>, copy: &'a View, acceptance: &Arc<Acceptance>) {
        let snapshot = self.snapshot;
        self.state(State::Served);
        if copy.deleting {
            // The provider may always delete what it runs. It is made again once it is gone.
            self.state(State::Placing);
            let own = self.served(site);
            return self.show(site.origin, Some(copy), false, &[own]);
        }
        let desired = self.desired(site);
        let intent = merge::digest(&desired.body);
        let observed = copy::observed(&copy.value);
        let difference = self.difference(site, &desired, copy);
        // What the API server made of this very write before is as good as the copy gets.
        let in_sync = difference.is_none() || snapshot.memory.is_settled(Subject::Copy, intent, &observed);
        let mut own = self.served(site);
        let mut written = false;
        if let (Some(path), false) = (difference, in_sync) {
            self.tell_lost(&desired, site);
            let op = Op::Apply { body: desired.body, uid: copy.uid.clone() };
            let write = |pass: &Self| pass.copy_write(site, op, intent, None);
            written = self.write(Subject::Copy, intent, &observed, write);
            if let Some(trouble) = snapshot.memory.trouble(Subject::Copy).filter(|_| !written) {
                self.state(State::Blocked);
                self.decision.notes.push(Note::warning(trouble.reason, trouble.message.clone()));
                own = Own::not_brokered(trouble.reason, trouble.message.clone());
            } else if own.reason == condition::FIGHTING {
                let message = format!(
                    "something at provider {} keeps changing {path} of the copy back; the broker repeats its write ever more slowly",
                    site.holder.provider.name()
                );
                self.decision.notes.push(Note::warning(condition::FIGHTING, message));
            }
        }
        self.bring(site, copy, Some(&acceptance.related_kinds));
        if in_sync {
            self.drop_superseded(site.origin, &site.holder.provider, site.epoch);
        }
        if !written {
            self.decision.complete = true;
            // Else the next pass shows what came of it: not first that the copy is not right, and then that it is.
            self.show(site.origin, Some(copy), in_sync, &[own]);
        }
    }

    fn difference(&self, site: &Site<'a>, desired: &copy::Desired, copy: &View) -> Option<String> {
        let snapshot = self.snapshot;
        let signed = copy::signed_origin(snapshot.key, &site.origin.uid, &site.holder.provider, copy, snapshot.ring);
        copy::difference(desired, site.epoch, signed, copy, &site.kind.schema)
    }

    /// `Brokered=True`: all is well, or the copy is being fought over. The latter holds until the fight has been over for
    /// a while, else the condition would turn with every round.
    fn served(&mut self, site: &Site<'a>) -> Own {
        let provider = site.holder.provider.name();
        let Some(left) = self.snapshot.memory.fought_for(Subject::Copy, self.snapshot.now.millis) else {
            return Own::placed(provider);
        };
        self.decision.again_in(left);
        let message = format!(
            "something at provider {provider} keeps undoing what the broker writes to the copy; the broker repeats it ever more slowly"
        );
        Own { kind: condition::BROKERED, status: true, reason: condition::FIGHTING, message }
    }

    fn fought(&mut self, site: &Site<'a>, what: &str) {
        let message = format!(
            "{what} at provider {}; the broker repeats its write ever more slowly",
            site.holder.provider.name()
        );
        self.blocked(site.origin, condition::FIGHTING, message);
    }

    /// The provider no longer accepts the origin: it stays, its status flows, a new spec is held back.
    fn refused(&mut self, site: &Site<'a>, copy: Option<&'a View>, refusals: &[crate::filter::Refusal]) {
        let snapshot = self.snapshot;
        self.state(State::NotAccepted);
        let name = site.holder.provider.name();
        let lead = if refusals.is_empty() {
            format!("provider {name} has no AcceptAPI for this resource (any more)")
        } else {
            format!("provider {name} does not accept the object")
        };
        let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        let message = sentence(&lead, &reasons);
        self.decision.notes.push(Note::warning("NotAccepted", message.clone()));
        let mut own = vec![Own { kind: condition::ACCEPTED, status: false, reason: condition::NOT_ACCEPTED, message }];
        own.push(match copy {
            Some(_) => Own::placed(name),
            None => Own::not_brokered(
                condition::NOT_ACCEPTED,
                format!("the copy at provider {name} is gone, and the provider accepts no new one"),
            ),
        });
        if let Some(copy) = copy {
            let own = snapshot.acceptances.iter().find(|acceptance| acceptance.id.provider == site.holder.provider);
            self.bring(site, copy, own.map(|acceptance| acceptance.related_kinds.as_slice()));
        }
        // What was held back is no news to the provider; where nothing was, its word on the spec stands.
        let in_sync = copy.is_some_and(|copy| self.difference(site, &self.desired(site), copy).is_none());
        self.show(site.origin, copy, in_sync, &own);
    }

    /// Somebody else's object has the copy's name: it is never touched, and both sides are told.
    fn conflict(&mut self, site: &Site<'a>) {
        let snapshot = self.snapshot;
        let provider = &site.holder.provider;
        let message = format!(
            "{} {}/{} at provider {} exists already and is not the broker's copy of this object; rename one of them",
            snapshot.key.gvk.kind,
            snapshot.key.namespace,
            copy::name(snapshot.key),
            provider.name()
        );
        self.state(State::Blocked);
        self.decision
            .notes
            .push(Note { also: Some(provider.clone()), ..Note::warning(condition::NAME_CONFLICT, message.clone()) });
        self.show(site.origin, None, false, &[Own::not_brokered(condition::NAME_CONFLICT, message)]);
    }

    /// Brings related resources to the consumer, keeps them up to date, removes those that are no longer listed. `narrowed`:
    /// the kinds that the AcceptAPI allows (all that the broker brings, if empty); `None`: there is no AcceptAPI any more,
    /// and nothing new is brought.
    fn bring(&mut self, site: &Site<'a>, copy: &'a View, narrowed: Option<&[String]>) {
        let snapshot = self.snapshot;
        // Without a status nothing is known of related resources: what is there stays.
        let Some(status) = copy.status() else { return };
        let listing = related::listing(
            snapshot.key,
            status,
            &snapshot.key.namespace,
            snapshot.related_kinds,
            narrowed.unwrap_or_default(),
        );
        for why in &listing.refused {
            self.decision.notes.push(Note::warning("RelatedRefused", why.clone()));
        }
        for entry in &listing.allowed {
            self.decision.interests.push(Interest {
                provider: site.holder.provider.clone(),
                kind: entry.kind.clone(),
                namespace: entry.namespace.clone(),
                name: entry.name.clone(),
            });
            self.bring_one(site, copy, entry, narrowed.is_some());
        }
        // A provider that is still at work has not said its last word on what there will be.
        let unfinished = matches!(status["status"].as_str(), Some("Unknown" | "Provisioning"));
        if unfinished || !snapshot.related.owned_known() {
            return;
        }
        for (kind, held) in snapshot.related.owned(&site.origin.uid) {
            let name = held.value["metadata"]["name"].as_str();
            let listed = listing.allowed.iter().any(|entry| entry.kind == kind && Some(&*entry.target) == name);
            if !listed && !held.deleting && related::belongs(&site.origin.uid, &held) {
                self.delete_related(&kind, &held);
            }
        }
    }

    fn bring_one(&mut self, site: &Site<'a>, copy: &View, entry: &related::Related, new: bool) {
        let snapshot = self.snapshot;
        let source = snapshot.related.source(&site.holder.provider, &entry.kind, &entry.namespace, &entry.name);
        let Some(source) = source.present().filter(|source| !source.deleting) else { return };
        if let Some(why) = related::refusal(&entry.kind, source, copy) {
            let message = format!("{} {} is refused: {why}", entry.kind.kind, entry.name);
            return self.decision.notes.push(Note::warning("RelatedRefused", message));
        }
        let desired = related::desired(snapshot.key, site.origin, source);
        // The target's name is part of the intent: several related copies must not look like repeats of one.
        let intent = merge::digest(&json!([entry.kind.kind, entry.target, desired]));
        let (op, observed) = match snapshot.related.target(&entry.kind, &snapshot.key.namespace, &entry.target) {
            Seen::Unknown => return,
            Seen::Absent if !new => return,
            Seen::Absent => (Op::Create(desired), json!(null)),
            Seen::Present(held) if held.deleting => return,
            Seen::Present(held) if !related::belongs(&site.origin.uid, &held) => {
                let message = format!(
                    "{} {} exists already and is not the broker's; it is not overwritten",
                    entry.kind.kind, entry.target
                );
                return self.decision.notes.push(Note::warning("RelatedConflict", message));
            }
            Seen::Present(held) => match related::patch(&desired, &held) {
                None => return,
                Some(patch) => (Op::Merge(patch), related::observed(&held.value)),
            },
        };
        let cluster = snapshot.key.cluster.clone();
        let namespace = snapshot.key.namespace.to_string();
        self.write(Subject::Related, intent, &observed, |_| Write {
            cluster,
            kind: entry.kind.clone(),
            namespace,
            name: entry.target.clone(),
            op,
            intent,
            subject: Subject::Related,
            note: None,
        });
    }
}

/// Where an origin is served.
struct Site<'a> {
    origin: &'a View,
    holder: &'a Holder,
    kind: &'a KindView,
    epoch: u64,
}
