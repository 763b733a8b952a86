//! Keeping an assigned origin served: marks, copy, related resources, status, in this order.

use std::sync::Arc;

use broker_api::condition;
use runtime_effect::{
    merge,
    note::Note,
    reach::Reach,
    seen::Seen,
    serving::{KindView, Serving},
    view::{Unread, View},
    write::Op,
};
use serde_json::json;

use super::{GOOD_NEWS_MILLIS, LOST_MILLIS, Pass, SILENT_MILLIS, claim::Assigned, place::Marks};
use crate::{
    acceptance::{Acceptance, Verdict},
    copy,
    decision::{State, Write},
    memory::Subject,
    snapshot::Holder,
    status::Own,
};

impl<'a> Pass<'a> {
    pub(super) fn serve(&mut self, origin: &'a View, assigned: &Assigned) {
        let snapshot = self.snapshot;
        if let Some(to) = &assigned.moving_to {
            return self.transfer(origin, assigned, to);
        }
        self.decision.provider = Some(assigned.provider.clone());
        let name = assigned.provider.name();
        let Some(holder) = snapshot.holder(name) else { return self.orphaned(origin, assigned) };
        let accepted = self.accepted_by(origin, holder);
        if let Some(Ok(acceptance)) = &accepted {
            self.decision.counted = Some(acceptance.id.clone());
        }
        if self.departs(origin, assigned, holder, &accepted) {
            return;
        }
        // Without the finalizer a copy would be left behind: it comes first, alone. One that is there already is kept up where the
        // consumer does not let the marks be written.
        let marks = self.mark(origin, assigned, None);
        if marks == Marks::Written || marks == Marks::Waiting && holder.copy.present().is_none() {
            return self.state(State::Placing);
        }
        if let Reach::Lost(_) = &holder.reach {
            self.decision.again_in(LOST_MILLIS);
            return self.state(State::Unknown);
        }
        if let Reach::Unreachable(why) = &holder.reach {
            if self.silent(origin, assigned, holder, &accepted) {
                return;
            }
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
            (Seen::Present(copy), None) if holder.acceptances_known && self.is_ours(origin, holder, copy) => {
                self.unasked(&site, copy);
            }
            (Seen::Unknown, _) | (_, None) => self.untold(origin, holder),
            (Seen::Absent, Some(Ok(_))) => self.create(&site),
            (Seen::Absent, Some(Err(refusals))) => self.refused(&site, None, &refusals),
            (Seen::Present(copy), _) if !self.is_ours(origin, holder, copy) => self.displaced(&site, assigned),
            (Seen::Present(View { unread: Some(unread), .. }), _) => self.unread_copy(&site, *unread),
            (Seen::Present(copy), Some(Err(refusals))) => self.refused(&site, Some(copy), &refusals),
            (Seen::Present(copy), Some(Ok(acceptance))) => self.keep(&site, copy, acceptance),
        }
    }

    /// Whether the provider accepts the origin cannot be said now, for want of time: what it holds stays, a new spec is
    /// held back, and what the copy says goes on to the consumer.
    fn unasked(&mut self, site: &Site<'a>, copy: &'a View) {
        let snapshot = self.snapshot;
        let own = snapshot.acceptances.iter().filter(|acceptance| acceptance.id.provider == site.holder.provider);
        let soon = own.clone().any(|own| matches!(self.verdict(site.origin, own), Verdict::Unknown(_)));
        self.decision.again_in(if soon { LOST_MILLIS } else { SILENT_MILLIS });
        // It keeps the room that it has.
        self.state(State::Unknown);
        let first = own.clone().next().map(|own| &**own);
        self.bring(site, copy, first, first.is_some(), true);
        let in_sync = self.difference(site, &self.desired(site), copy).is_none();
        self.show(site.origin, Some(copy), in_sync, &[Own::placed(site.holder.provider.name())]);
    }

    /// The copy is known by its metadata only: it stays as it is, and so does what it has said before.
    fn unread_copy(&mut self, site: &Site<'a>, unread: Unread) {
        let why = format!("the copy at provider {} cannot be used: {}", site.holder.provider.name(), unread.why());
        self.blocked(site.origin, unread.reason(), why);
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

    pub(super) fn desired(&self, site: &Site<'a>) -> copy::Desired {
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
        let write = |pass: &Self| pass.copy_write(site, Subject::Copy, op, intent, Some(note));
        if self.write(Subject::Copy, intent, &json!(null), write) {
            // The provider's first status comes by itself; if none does, there is still the good news to tell.
            self.decision.complete = true;
            self.decision.when_idle = self.decision.again.is_none();
            return self.decision.again_in(GOOD_NEWS_MILLIS);
        }
        if let Some(trouble) = self.snapshot.memory.writes.trouble(Subject::Copy) {
            self.blocked(site.origin, trouble.reason, trouble.message.clone());
        } else {
            self.fought(site, "the copy is deleted again and again");
        }
    }

    pub(super) fn copy_write(
        &self,
        site: &Site<'_>,
        subject: Subject,
        op: Op,
        intent: [u8; 8],
        note: Option<Note>,
    ) -> Write {
        let key = self.snapshot.key;
        Write {
            cluster: site.holder.provider.clone(),
            kind: (*key.gvk).clone(),
            namespace: key.namespace.to_string(),
            name: copy::name(key),
            op,
            intent,
            subject,
            notes: note.into_iter().collect(),
        }
    }

    pub(super) fn tell_lost(&mut self, desired: &copy::Desired, site: &Site<'_>) {
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
        let mut own = self.served(site);
        let Synced { in_sync, written, difference, trouble } = self.sync(site, copy, Subject::Copy);
        if let Some(path) = difference.filter(|_| !in_sync) {
            if let Some(trouble) = snapshot.memory.writes.trouble(Subject::Copy).filter(|_| trouble.is_some()) {
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
        self.bring(site, copy, Some(acceptance), true, true);
        if in_sync {
            self.drop_superseded(site.origin, &[&site.holder.provider], site.epoch);
        }
        if !written {
            self.decision.complete = true;
            // Else the next pass shows what came of it: not first that the copy is not right, and then that it is.
            self.show(site.origin, Some(copy), in_sync, &[own]);
        }
    }

    /// Puts right what is not as it should be in a copy.
    pub(super) fn sync(&mut self, site: &Site<'a>, copy: &'a View, subject: Subject) -> Synced {
        let memory = self.snapshot.memory;
        if let Some(unread) = copy.unread {
            return Synced { in_sync: false, written: false, difference: None, trouble: Some(unread.why().to_owned()) };
        }
        let desired = self.desired(site);
        let difference = self.difference(site, &desired, copy);
        if difference.is_none() {
            return Synced { in_sync: true, written: false, difference, trouble: None };
        }
        // A map that has just become empty is taken away first. That is another write: the whole one comes after it.
        let first = site.kind.schema.without_emptied(&desired.body, &copy.value);
        let whole = merge::digest(&desired.body);
        let intent = first.as_ref().map_or(whole, merge::digest);
        let observed = copy::observed(&copy.value);
        // What the API server made of this very write before is as good as the copy gets.
        let in_sync = [whole, intent].into_iter().any(|one| memory.writes.is_settled(subject, one, &observed));
        let mut synced = Synced { in_sync, written: false, difference, trouble: None };
        if !in_sync {
            self.tell_lost(&desired, site);
            let op = Op::Apply { body: first.unwrap_or(desired.body), uid: copy.uid.clone() };
            let write = |pass: &Self| pass.copy_write(site, subject, op, intent, None);
            synced.written = self.write(subject, intent, &observed, write);
            if !synced.written {
                let trouble = if subject == Subject::Copy {
                    memory.writes.trouble(subject)
                } else {
                    memory.writes.trouble_with(subject, intent)
                };
                synced.trouble = trouble.map(|trouble| trouble.message.clone());
            }
        }
        synced
    }

    pub(super) fn difference(&self, site: &Site<'a>, desired: &copy::Desired, copy: &View) -> Option<String> {
        let snapshot = self.snapshot;
        let signed = copy::signed_origin(snapshot.key, &site.origin.uid, &site.holder.provider, copy, snapshot.ring);
        copy::difference(desired, site.epoch, signed, copy, &site.kind.schema)
    }

    /// `Brokered=True`: all is well, or the copy is being fought over. The latter holds until the fight has been over for
    /// a while, else the condition would turn with every round.
    fn served(&mut self, site: &Site<'a>) -> Own {
        let provider = site.holder.provider.name();
        let Some(left) = self.snapshot.memory.writes.fought_for(Subject::Copy, self.snapshot.now.millis) else {
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
        let (lead, brief) = if refusals.is_empty() {
            let none = "has no AcceptAPI for this resource (any more)";
            (format!("provider {name} {none}"), format!("its provider {none}"))
        } else {
            let no = "does not accept the object";
            (format!("provider {name} {no}"), format!("its provider {no}"))
        };
        let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        let mut message = self.refusal(&lead, &brief, &reasons);
        if let Some(staying) = self.staying.take_if(|staying| staying.reason == condition::NO_PROVIDER) {
            message.push_str("; ");
            message.push_str(&staying.message);
        }
        let mut own = Vec::new();
        // Where it cannot be told now what the others say of it, what people were told stands.
        if !self.undecided || site.origin.condition(condition::ACCEPTED).is_none() {
            self.decision.notes.push(Note::warning("NotAccepted", message.clone()));
            own.push(Own { kind: condition::ACCEPTED, status: false, reason: condition::NOT_ACCEPTED, message });
        }
        own.push(match copy {
            Some(_) => Own::placed(name),
            None => Own::not_brokered(
                condition::NOT_ACCEPTED,
                format!("the copy at provider {name} is gone, and the provider accepts no new one"),
            ),
        });
        if let Some(copy) = copy {
            let own = snapshot.acceptances.iter().find(|acceptance| acceptance.id.provider == site.holder.provider);
            self.bring(site, copy, own.map(|acceptance| &**acceptance), own.is_some(), true);
            // It serves as long as nobody else does: what a move that was given up has left elsewhere goes.
            self.drop_superseded(site.origin, &[&site.holder.provider], site.epoch);
        }
        // What was held back is no news to the provider; where nothing was, its word on the spec stands.
        let in_sync = copy.is_some_and(|copy| self.difference(site, &self.desired(site), copy).is_none());
        self.show(site.origin, copy, in_sync, &own);
    }

    /// Another object has the copy's name. One that is left of an earlier object of this name goes in a moment; if it does
    /// not, the origin is placed anew: there is no copy of it to move from.
    fn displaced(&mut self, site: &Site<'a>, assigned: &Assigned) {
        if self.is_being_left(site.origin, site.holder) {
            return self.state(State::Placing);
        }
        let name = site.holder.provider.name();
        let Some(why) = self.kept_by(&site.holder.provider).map(|why| format!("provider {name}: {why}")) else {
            return self.conflict(site);
        };
        if let Err(refusals) = self.relocate(site.origin, assigned, &why) {
            let brief = "a copy of an earlier object of this name does not go; no other provider accepts the object";
            let why = self.refusal(&format!("{why}; no other provider accepts the object"), brief, &refusals);
            self.blocked(site.origin, condition::HELD_BY_PROVIDER, why);
        }
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
}

/// Where an origin is served.
pub(super) struct Site<'a> {
    pub(super) origin: &'a View,
    pub(super) holder: &'a Holder,
    pub(super) kind: &'a KindView,
    pub(super) epoch: u64,
}

/// How far a copy is what it should be.
pub(super) struct Synced {
    /// It is, or as much as its API server makes of it.
    pub(super) in_sync: bool,
    /// It is written now.
    pub(super) written: bool,
    /// Where it was not what it should be.
    pub(super) difference: Option<String>,
    /// Why it is not written.
    pub(super) trouble: Option<String>,
}
