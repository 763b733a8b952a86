//! Who serves the origin, as far as signatures prove it; and which copies prove something else.
//!
//! Nobody but the broker may steer: an annotation counts with its signature, and the copies that providers hold count
//! more, because a consumer cannot put an older epoch there.

use broker_api::{ClusterName, keys};
use runtime_effect::{note::Note, reach::Reach, seen::Seen, serving::Serving, view::View};

use super::{BRAKE_MILLIS, LOST_MILLIS, Pass};
use crate::{
    assignment::Proven,
    copy::signed_origin,
    decision::State,
    migration_object,
    readiness::unready,
    snapshot::{Brake, Holder, Live},
};

/// What signatures say of an origin.
pub(super) enum Claim {
    /// Not enough is known to say.
    Unknown,
    /// It is assigned to nobody.
    None,
    /// It is assigned.
    At(Assigned),
}

/// A proven assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assigned {
    pub(super) provider: ClusterName,
    /// The provider it moves to.
    pub(super) moving_to: Option<ClusterName>,
    pub(super) epoch: u64,
    /// Whether a person chose the provider (during a move: the one that takes over).
    pub(super) pinned: bool,
    /// Whether a person chose the provider that is left, during a move: so it is again if the move is undone.
    pub(super) pinned_before: bool,
    /// Whether the origin's annotations say so, with a valid signature.
    pub(super) written: bool,
}

impl Assigned {
    /// One that is still to be written: to this provider and no other.
    pub(super) fn to(provider: ClusterName, epoch: u64) -> Self {
        Self { provider, moving_to: None, epoch, pinned: false, pinned_before: false, written: false }
    }
}

/// A copy of the origin.
struct Held<'a> {
    holder: &'a Holder,
    copy: &'a View,
    /// Epoch of the assignment it was made under; `None`: its signature was stripped.
    epoch: Option<u64>,
}

impl<'a> Pass<'a> {
    /// Copies of the origin, with the epochs that they are signed with.
    fn held(&self, origin: &View) -> Vec<Held<'a>> {
        let snapshot = self.snapshot;
        let copies = snapshot.holders.iter().filter_map(|holder| Some((holder, holder.copy.present()?)));
        let ours = copies.filter(|(holder, copy)| self.is_ours(origin, holder, copy));
        let held = ours.map(|(holder, copy)| {
            let signed = signed_origin(snapshot.key, &origin.uid, &holder.provider, copy, snapshot.ring);
            Held { holder, copy, epoch: signed.map(|origin| origin.epoch) }
        });
        held.collect()
    }

    /// The annotation's assignment, if its signature is right.
    pub(super) fn annotated(&self, origin: &View) -> Option<Assigned> {
        let provider = origin.annotation(keys::PROVIDER_CLUSTER)?;
        let subject = self.snapshot.key.subject(&origin.uid);
        let next = origin.annotation(keys::NEW_PROVIDER_CLUSTER);
        let text = origin.annotation(keys::ASSIGNMENT)?;
        let Proven { epoch, pinned, pinned_before } =
            self.snapshot.ring.verify_assignment(&subject, provider, next, text)?;
        Some(Assigned {
            provider: ClusterName::provider(provider),
            moving_to: next.map(ClusterName::provider),
            epoch,
            pinned,
            pinned_before,
            // One that an older key has signed is signed anew, so that this key can be taken out.
            written: self.snapshot.ring.is_current(text),
        })
    }

    pub(super) fn claim(&mut self, origin: &'a View) -> Claim {
        let annotated = self.annotated(origin);
        let held = self.held(origin);
        // A copy that is being deleted proves its epoch as well as any. One that is not signed proves something only to
        // whoever has just written it: else a provider could attract objects.
        let written = |held: &&Held<'_>| self.snapshot.memory.copy_uid.as_ref() == Some(&held.copy.uid);
        let best = held.iter().filter(|held| held.epoch.is_some() || written(held)).max_by_key(|held| held.epoch);
        let steering = [keys::PROVIDER_CLUSTER, keys::NEW_PROVIDER_CLUSTER, keys::ASSIGNMENT];
        let forged = annotated.is_none() && steering.iter().any(|key| origin.annotation(key).is_some());
        let assigned = match (annotated, best) {
            (Some(annotated), Some(best @ Held { holder, epoch: Some(newer), .. })) if *newer > annotated.epoch => {
                self.decision.notes.push(Note::warning(
                    "AssignmentIgnored",
                    format!("an older assignment (to provider {}) was put back and is ignored; provider {} serves the object", annotated.provider.name(), holder.provider.name()),
                ));
                self.proven_by_copies(origin, &held, best, *newer)
            }
            (Some(annotated), _) => annotated,
            (None, Some(best @ Held { epoch, .. })) => {
                if forged {
                    self.ignored_annotation();
                }
                self.proven_by_copies(origin, &held, best, epoch.unwrap_or(self.snapshot.now.millis))
            }
            (None, None) => {
                if forged {
                    self.ignored_annotation();
                }
                // The finalizer goes before the copy: without it there cannot be one, with it there may.
                let touched = origin.has_finalizer(keys::FINALIZER) || forged;
                let settling = self.snapshot.holders.iter().any(unknown_copy);
                return if touched && settling { Claim::Unknown } else { Claim::None };
            }
        };
        Claim::At(assigned)
    }

    /// What the copies say where the annotations do not: the newest one serves. Where it is not ready yet, or its Migration
    /// has not ended, it is on its way to: nobody gets past a move by taking the annotations away.
    fn proven_by_copies(&self, origin: &View, held: &[Held<'_>], newest: &Held<'_>, epoch: u64) -> Assigned {
        let to = newest.holder.provider.clone();
        let older = held.iter().filter(|held| held.epoch.is_some_and(|older| older < epoch) && !held.copy.deleting);
        let source = older.min_by_key(|held| held.epoch).map(|held| held.holder.provider.clone());
        let Some(source) = source else { return Assigned::to(to, epoch) };
        let moves = &self.snapshot.moves;
        let own = migration_object::name(self.snapshot.key, &origin.uid, epoch);
        let underway = moves.migrations.iter().find(|migration| {
            let its = migration.name == own || migration.by_person && migration.from == source && migration.to == to;
            its && !migration.has_ended()
        });
        if is_ready(newest.holder, newest.copy) && underway.is_none() && moves.migrations_known {
            return Assigned::to(to, epoch);
        }
        let pinned = underway.is_some_and(|migration| migration.by_person);
        Assigned { moving_to: Some(to), pinned, ..Assigned::to(source, epoch) }
    }

    fn ignored_annotation(&mut self) {
        self.decision.notes.push(Note::warning(
            "AssignmentIgnored",
            "the provider annotations do not carry the broker's signature and are ignored; only the broker assigns providers",
        ));
    }

    /// Copies of this very object at other providers than these, of which the first serves it, made under this or an older
    /// assignment: nothing refers to them. They go once the assigned provider holds its copy, never before; one that is
    /// ready, and was made before the one that serves, only for one that is, and can be seen: else it may have gone. What is
    /// not signed goes only if we have just written it.
    pub(super) fn drop_superseded(&mut self, origin: &View, keep: &[&ClusterName], epoch: u64) {
        let all = self.held(origin);
        let seen = |held: &&Held<'_>| held.holder.reachable_copy().is_some_and(|copy| !copy.deleting);
        let mut kept = all.iter().filter(seen).filter(|held| keep.contains(&&held.holder.provider));
        let ready = kept.clone().any(|held| is_ready(held.holder, held.copy));
        let serving = kept.find(|held| keep.first() == Some(&&held.holder.provider)).and_then(|held| held.epoch);
        for held in &all {
            let proven =
                held.epoch.is_none_or(|older| older <= epoch) && self.is_proven(origin, held.holder, held.copy);
            let elsewhere = !keep.contains(&&held.holder.provider);
            let older = serving.is_none_or(|serving| held.epoch.is_none_or(|epoch| epoch < serving));
            let missed = !ready && older && is_ready(held.holder, held.copy);
            if elsewhere && proven && !missed && !held.copy.deleting && held.holder.reachable_copy().is_some() {
                self.delete_copy(&held.holder.provider, held.copy);
            }
        }
    }

    /// There is no such object: copies of it are orphans, once a live read agrees.
    pub(super) fn absent(&mut self) {
        self.state(State::Gone);
        let snapshot = self.snapshot;
        for holder in &snapshot.holders {
            let Some(copy) = holder.copy.present().filter(|copy| !copy.deleting) else { continue };
            let uid = self.signed_uid(holder, copy);
            // Without its marks a copy is still known to whoever has just written it, or wanted to delete it.
            let known = [&snapshot.memory.copy_uid, &snapshot.memory.removed_uid];
            if uid.is_none() && !known.contains(&&Some(copy.uid.clone())) {
                continue;
            }
            if holder.reach != Reach::Ready {
                // Remembered until the provider answers: nobody else would come back to an object that is not there.
                self.state(State::Deleting);
                self.decision.provider = Some(holder.provider.clone());
                if !matches!(holder.reach, Reach::Unreachable(_)) {
                    self.decision.again_in(LOST_MILLIS);
                }
                continue;
            }
            match (snapshot.brake)(&holder.provider) {
                Brake::Free => {}
                brake => {
                    // Remembered, and counted where it was, until it may go or its origin is back.
                    self.state(if brake == Brake::Held { State::Blocked } else { State::Deleting });
                    self.decision.provider = Some(holder.provider.clone());
                    if brake == Brake::Unknown {
                        self.decision.again_in(BRAKE_MILLIS);
                    }
                    continue;
                }
            }
            let goes = match self.confirm(snapshot.key.place()) {
                Some(Live::Absent) => self.delete_copy(&holder.provider, copy),
                Some(live @ Live::Present { .. }) if uid.is_some_and(|uid| !live.is_of(uid)) => {
                    self.delete_copy(&holder.provider, copy)
                }
                Some(Live::Present { .. }) => true,
                Some(Live::Unknown) => false,
                None => return,
            };
            if !goes {
                // Remembered until it is answered, or may be tried again.
                self.state(State::Deleting);
                self.decision.provider = Some(holder.provider.clone());
            }
        }
    }

    /// uid of the object of this key that a copy was made from, if its signature says so.
    pub(super) fn signed_uid<'c>(&self, holder: &Holder, copy: &'c View) -> Option<&'c str> {
        let uid = copy.annotation(keys::CONSUMER_UID)?;
        signed_origin(self.snapshot.key, uid, &holder.provider, copy, self.snapshot.ring).map(|_| uid)
    }

    /// Whether the object under the copy's name is ours beyond doubt: signed, just written, or applied by us and marked
    /// with this origin's uid, which no other broker's objects have.
    pub(super) fn is_proven(&self, origin: &View, holder: &Holder, copy: &View) -> bool {
        let snapshot = self.snapshot;
        let marked = copy.annotation(keys::CONSUMER_UID) == Some(&origin.uid);
        signed_origin(snapshot.key, &origin.uid, &holder.provider, copy, snapshot.ring).is_some()
            // Unless it is one that we made for an earlier object of this name.
            || snapshot.memory.copy_uid.as_ref() == Some(&copy.uid) && self.signed_uid(holder, copy).is_none()
            || marked && copy.applied_by_us
    }

    /// Whether the object under the copy's name is ours, marks or no marks.
    pub(super) fn is_ours(&self, origin: &View, holder: &Holder, copy: &View) -> bool {
        // Stripped while the broker was away: we applied it, and nothing on it says that it is anybody else's.
        let unclaimed = copy.annotation(keys::CONSUMER_UID).is_none() && copy.annotation(keys::ORIGIN).is_none();
        self.is_proven(origin, holder, copy) || copy.applied_by_us && unclaimed
    }
}

/// Whether a copy serves, as far as its provider says.
fn is_ready(holder: &Holder, copy: &View) -> bool {
    let Serving::Served(kind) = &holder.serving else { return false };
    unready(copy, &kind.schema, kind.has_status).is_none()
}

/// Whether a provider may hold a copy that we cannot see.
pub(super) fn unknown_copy(holder: &Holder) -> bool {
    match holder.copy {
        Seen::Unknown => !matches!(holder.serving, Serving::Missing) || holder.reach != Reach::Ready,
        Seen::Absent | Seen::Present(_) => false,
    }
}
