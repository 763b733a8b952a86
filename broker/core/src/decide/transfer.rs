//! A move that is under way: from the mark that began it to the one that ends it.
//!
//! The order keeps the object served whatever fails: the new copy is made and ready, the stages of its Migration have run,
//! the consumer has what belongs to the new copy, and only then the old copy goes.

use broker_api::{ClusterName, MigrationState, condition};
use runtime_effect::{merge, note::Note, reach::Reach, seen::Seen, serving::Serving, view::View, write::Op};
use serde_json::json;

use super::{
    GOOD_NEWS_MILLIS, LOST_MILLIS, Pass, claim::Assigned, depart::Accepted, held::held_by, place::Marks,
    progress::Progress, serve::Site, target::Target,
};
use crate::{
    acceptance::Acceptance,
    copy,
    decision::State,
    memory::Subject,
    migration_object,
    movement::{MigrationView, Moving, Phase, Route},
    readiness::unready,
    snapshot::{Holder, Live},
    status::Own,
};

/// The copy that takes over.
pub(super) struct Successor<'a> {
    copy: Option<&'a View>,
    in_sync: bool,
    /// Why it cannot serve yet.
    pub(super) unready: Option<String>,
}

/// A move as it stands now.
pub(super) struct Transfer<'a, 'b> {
    pub(super) origin: &'a View,
    pub(super) assigned: &'b Assigned,
    pub(super) to: &'b ClusterName,
    /// Who held the object, as far as it is known.
    pub(super) source: Option<&'a Holder>,
    /// Who would have it there still.
    pub(super) accepted: Accepted<'a>,
    pub(super) migration: Option<&'a MigrationView>,
    progress: Progress,
    /// There is nothing (any more) to move from.
    pub(super) gone: bool,
}

impl<'a> Pass<'a> {
    pub(super) fn transfer(&mut self, origin: &'a View, assigned: &Assigned, to: &ClusterName) {
        let snapshot = self.snapshot;
        self.state(State::Moving);
        self.decision.provider = Some(assigned.provider.clone());
        let source = snapshot.holder(assigned.provider.name());
        let accepted: Accepted<'a> = source.and_then(|source| self.accepted_by(origin, source));
        self.report(assigned, to, Phase::Copying, String::new());
        self.decision.route = Some(route(assigned, to, &accepted));
        if !snapshot.moves.migrations_known {
            // Whether the consumer has been switched cannot be told now: what it sees stays as it is.
            return self.decision.again_in(LOST_MILLIS);
        }
        let migration = self.migration_of(origin, assigned, to);
        self.moves_for(migration);
        self.others_wait(migration);
        let gone = self.is_gone(origin, assigned, source);
        let dying = source.is_some_and(|source| self.is_dying(source));
        let progress = Progress::of(migration, dying, &snapshot.moves.configured);
        if source.is_none() {
            self.await_departure(&assigned.provider);
        }
        let transfer = Transfer { origin, assigned, to, source, accepted, migration, progress, gone };
        let may_stay = progress != Progress::Switched && !gone && (!dying || migration.is_some());
        if may_stay && self.take_back(&transfer) {
            return;
        }
        let target = self.target(origin, assigned, to, progress == Progress::Switched, migration);
        if let Target::Unfit { why, gone: lost } = &target
            && (*lost || progress != Progress::Switched)
            && self.redirect(&transfer, why)
        {
            return;
        }
        if self.mark(origin, assigned, None) != Marks::There {
            return;
        }
        self.drop_superseded(origin, &[&assigned.provider, to], assigned.epoch);
        match target {
            Target::Fits(site, acceptance) => self.hand_over(&transfer, &site, acceptance),
            Target::Waits(why) | Target::Unfit { why, .. } => match progress {
                Progress::Switched => self.await_target(origin, assigned, to, &why),
                Progress::Copying if self.times_out(&transfer) => {}
                Progress::Copying | Progress::Staged => self.hold(&transfer, Phase::Copying, why),
            },
        }
    }

    /// The object goes to a provider that can take it.
    fn hand_over(&mut self, transfer: &Transfer<'a, '_>, site: &Site<'a>, acceptance: Option<&'a Acceptance>) {
        let Transfer { assigned, to, migration, progress, gone, .. } = *transfer;
        self.decision.counted = acceptance.map(|acceptance| acceptance.id.clone());
        let successor = self.succeed(site, acceptance);
        let forced = migration.is_some_and(|migration| migration.force);
        let ready = successor.unready.is_none() || forced && successor.copy.is_some();
        let closed = match progress {
            Progress::Switched => None,
            Progress::Copying if !ready && self.times_out(transfer) => return,
            Progress::Copying | Progress::Staged => self.gate(site, assigned, migration, &successor, ready, gone),
        };
        match (closed, successor.copy) {
            // Nobody else serves it.
            (Some((phase, why)), Some(copy)) if gone => {
                self.report(assigned, to, phase, why);
                self.shown(site, copy, successor.in_sync, assigned);
            }
            (Some((phase, why)), _) => {
                // The new copy is ready, and no Migration can be made.
                if migration.is_none() {
                    self.rest_if_late(assigned);
                }
                self.hold(transfer, phase, why);
            }
            (None, Some(copy)) => self.cut_over(transfer, site, copy, &successor),
            // Behind the switch: before it a copy that is not there is not ready either.
            (None, None) => self.await_copy(site, assigned, &successor),
        }
    }

    /// What is told of the move to its Migration.
    fn report(&mut self, assigned: &Assigned, to: &ClusterName, phase: Phase, waits_for: String) {
        let (from, to) = (assigned.provider.clone(), to.clone());
        let migration = self.decision.moving.take().and_then(|told| told.migration);
        self.decision.moving = Some(Moving { from, to, epoch: assigned.epoch, migration, phase, waits_for });
    }

    /// Says which Migration the move is made for: others between the same providers would take it for their own.
    pub(super) fn moves_for(&mut self, migration: Option<&MigrationView>) {
        if let Some(moving) = &mut self.decision.moving {
            moving.migration = migration.filter(|migration| migration.by_person).map(ToString::to_string);
        }
    }

    /// The Migration of this move, if there is one.
    pub(super) fn migration_of(
        &self,
        origin: &View,
        assigned: &Assigned,
        to: &ClusterName,
    ) -> Option<&'a MigrationView> {
        let name = migration_object::name(self.snapshot.key, &origin.uid, assigned.epoch);
        let migrations = &self.snapshot.moves.migrations;
        let by_person = |migration: &&MigrationView| {
            // One that ended before this move began was another's. The end is known to the second.
            let of_now = migration.ended.is_none_or(|ended| ended.saturating_add(1000) > assigned.epoch);
            migration.by_person && of_now && migration.from == assigned.provider && migration.to == *to
        };
        let own = migrations.iter().find(|migration| !migration.by_person && migration.name == name);
        let of_person = || migrations.iter().filter(|_| assigned.pinned).filter(by_person);
        // The one that has begun is that of this move, to its very end: the next waits until the old copy is gone.
        let begun = |migration: &&MigrationView| {
            migration.state > MigrationState::Pending && migration.state != MigrationState::Failed
        };
        // Likewise the one that it was begun for: another that waits does not inherit a move that has failed, and one whose name
        // comes first does not take it over.
        let made_for = self.snapshot.memory.made_for(assigned.epoch);
        let asked = || of_person().find(|migration| made_for.is_some_and(|name| name == migration.to_string()));
        let open = || of_person().find(|migration| !migration.has_ended());
        let next = || of_person().next();
        own.or_else(|| of_person().find(begun)).or_else(asked).or_else(open).or_else(next)
    }

    /// Whether there is nothing (any more) to move from.
    fn is_gone(&self, origin: &View, assigned: &Assigned, source: Option<&Holder>) -> bool {
        let Some(source) = source else { return self.is_given_up(assigned.provider.name()) };
        source.reach == Reach::Ready
            && match &source.copy {
                Seen::Unknown => false,
                Seen::Absent => true,
                Seen::Present(copy) => {
                    !self.is_ours(origin, source, copy) || self.live_copy(source) == Some(&Live::Absent)
                }
            }
    }

    /// Makes the copy that takes over, or keeps it in step.
    fn succeed(&mut self, site: &Site<'a>, acceptance: Option<&'a Acceptance>) -> Successor<'a> {
        let Some(copy) = site.holder.copy.present() else {
            let desired = self.desired(site);
            self.tell_lost(&desired, site);
            let intent = merge::digest(&desired.body);
            let op = Op::Create(desired.body);
            let note = Note::normal("CopyCreated", format!("created at provider {}", site.holder.provider.name()));
            let write = |pass: &Self| pass.copy_write(site, Subject::Successor, op, intent, Some(note));
            let why = if self.write(Subject::Successor, intent, &json!(null), write) {
                self.decision.complete = true;
                None
            } else {
                self.snapshot
                    .memory
                    .writes
                    .trouble_with(Subject::Successor, intent)
                    .map(|trouble| trouble.message.clone())
            };
            let unready = Some(why.unwrap_or_else(|| "it is being made".into()));
            return Successor { copy: None, in_sync: false, unready };
        };
        if copy.deleting {
            return Successor { copy: Some(copy), in_sync: false, unready: Some("it is being deleted".into()) };
        }
        let synced = self.sync(site, copy, Subject::Successor);
        let unready = if synced.in_sync {
            unready(copy, &site.kind.schema, site.kind.has_status)
                .or_else(|| self.missing_related(site, copy, acceptance))
        } else {
            Some(synced.trouble.unwrap_or_else(|| "it does not hold the present spec yet".into()))
        };
        Successor { copy: Some(copy), in_sync: synced.in_sync, unready }
    }

    /// The consumer is served by the new copy; once all of it is there, the old copy goes, and with it the move ends.
    fn cut_over(&mut self, transfer: &Transfer<'a, '_>, site: &Site<'a>, copy: &'a View, successor: &Successor<'_>) {
        let Transfer { assigned, source, migration, .. } = *transfer;
        let to = &site.holder.provider;
        let own = self.snapshot.acceptances.iter().find(|acceptance| acceptance.id.provider == *to);
        // What the old copy listed stays until the move has ended: the consumer is never without.
        let in_place = self.bring(site, copy, own.map(|acceptance| &**acceptance), true, false);
        let phase = if in_place { Phase::Switched } else { Phase::Ready };
        let waits = match migration.filter(|migration| !migration.has_ended()) {
            Some(migration) => format!("Migration {migration}"),
            None if !in_place => "the related resources".into(),
            None => match successor.unready.as_ref().filter(|_| !migration.is_some_and(|migration| migration.force)) {
                Some(why) => format!("the copy at provider {} to be ready again: {why}", to.name()),
                None => match self.dismiss(site.origin, assigned, source) {
                    Dismissed::Gone => return self.arrive(site.origin, assigned, to),
                    Dismissed::Deleted => return self.report(assigned, to, phase, "the old copy to go".into()),
                    Dismissed::Waits(why) => why,
                },
            },
        };
        self.report(assigned, to, phase, waits);
        // A stage takes its own time. Anything else may be refused for ever, by a consumer or by a provider.
        if migration
            .is_none_or(|migration| migration.has_ended() || migration.state == MigrationState::InitialCompleted)
        {
            self.rest_if_late(assigned);
        }
        let brings = self.is_writing(Subject::Related);
        // What is being written is told with what comes of it: one write instead of two.
        if !brings {
            self.shown(site, copy, successor.in_sync, assigned);
        }
        // A Migration hears of a decision before what it writes is through, and nothing that comes behind the switch may begin
        // before the consumer sees it.
        let unseen = brings || self.behind || self.is_writing(Subject::Status);
        let switches = migration.is_some_and(|migration| migration.state == MigrationState::InitialCompleted);
        if switches && unseen && !is_shown(site.origin, to) {
            self.report(assigned, to, Phase::Ready, "the consumer's status to be written".into());
        }
    }

    fn is_writing(&self, subject: Subject) -> bool {
        self.decision.writes().any(|write| write.subject == subject)
    }

    /// The move has ended: the object is assigned to who took over.
    pub(super) fn arrive(&mut self, origin: &'a View, assigned: &Assigned, to: &ClusterName) {
        let served = Assigned { pinned: assigned.pinned, ..Assigned::to(to.clone(), assigned.epoch) };
        let note = format!("moved from provider {} to provider {}", assigned.provider.name(), to.name());
        self.decision.moving = None;
        self.decision.route = None;
        self.mark(origin, &served, Some(Note::normal("Moved", note)));
    }

    /// The consumer is served by the new copy, about which nothing can be said or done now: all stays as it is.
    fn await_target(&mut self, origin: &'a View, assigned: &Assigned, to: &ClusterName, why: &str) {
        // What was told of the move before is still so. It is under way, and waits for nobody's turn.
        self.state(State::Unknown);
        self.decision.moving = None;
        self.decision.route = None;
        self.decision.again_in(LOST_MILLIS);
        let unreachable = self.snapshot.holder(to.name()).is_none_or(|to| matches!(to.reach, Reach::Unreachable(_)));
        if unreachable {
            let own = Own::not_brokered(condition::PROVIDER_UNREACHABLE, format!("waiting for {why}"));
            let moving = self.moving_condition(assigned);
            self.show(origin, None, false, &[own, moving]);
        }
    }

    /// The consumer is served by the new copy, which is gone and is being made again: what the consumer has stays.
    fn await_copy(&mut self, site: &Site<'a>, assigned: &Assigned, successor: &Successor<'_>) {
        let to = &site.holder.provider;
        let why = successor.unready.clone().unwrap_or_default();
        let waits = format!("the copy at provider {} to be made again: {why}", to.name());
        self.report(assigned, to, Phase::Ready, waits.clone());
        if !self.decision.complete {
            let own = Own::not_brokered(condition::NOT_ACCEPTED, format!("waiting for {waits}"));
            let moving = self.moving_condition(assigned);
            self.show(site.origin, None, false, &[own, moving]);
        }
    }

    /// Deletes the old copy.
    fn dismiss(&mut self, origin: &'a View, assigned: &Assigned, source: Option<&'a Holder>) -> Dismissed {
        let name = assigned.provider.name();
        if self.is_gone(origin, assigned, source) {
            return Dismissed::Gone;
        }
        let Some(copy) = source.and_then(Holder::reachable_copy) else {
            self.decision.again_in(LOST_MILLIS);
            return Dismissed::Waits(format!("provider {name} to answer: the old copy is to be deleted there"));
        };
        if source.is_some_and(|source| self.is_dying(source)) {
            let held = held_by(copy).filter(|_| self.outlasts());
            let Some(who) = held else { return Dismissed::Waits(format!("the old copy at provider {name} to go")) };
            let why = format!("the old copy at provider {name} to go, which holds it by {who}");
            self.decision.notes.push(Note::warning(condition::HELD_BY_PROVIDER, format!("the move waits for {why}")));
            return Dismissed::Waits(why);
        }
        if self.delete_copy(&assigned.provider, copy) {
            return Dismissed::Deleted;
        }
        Dismissed::Waits(format!("the old copy at provider {name} to go{}", self.refused_removal(copy)))
    }

    /// The consumer sees the new copy.
    fn shown(&mut self, site: &Site<'a>, copy: &'a View, in_sync: bool, assigned: &Assigned) {
        let own = [Own::placed(site.holder.provider.name()), self.moving_condition(assigned)];
        self.show(site.origin, Some(copy), in_sync, &own);
    }

    /// The consumer goes on seeing the old copy.
    pub(super) fn hold(&mut self, transfer: &Transfer<'a, '_>, phase: Phase, waits_for: String) {
        let Transfer { origin, assigned, source, ref accepted, .. } = *transfer;
        if let Some(to) = &assigned.moving_to {
            self.report(assigned, to, phase, waits_for);
        }
        let moving = self.moving_condition(assigned);
        let name = assigned.provider.name();
        let reachable = source.filter(|source| source.reach == Reach::Ready);
        let is_absent =
            |pass: &Self, holder: &Holder| holder.copy == Seen::Absent || pass.live_copy(holder) == Some(&Live::Absent);
        let served = reachable.filter(|holder| !is_absent(self, holder)).and_then(|holder| match &holder.serving {
            Serving::Served(kind) => Some((holder, kind, holder.copy.present()?)),
            _ => None,
        });
        let Some((holder, kind, copy)) = served.filter(|(holder, _, copy)| self.is_ours(origin, holder, copy)) else {
            let own = Own::not_brokered(
                condition::PROVIDER_UNREACHABLE,
                format!("what provider {name} holds is not known now"),
            );
            return if reachable.is_some_and(|holder| is_absent(self, holder)) {
                let own = Own::not_brokered(condition::NOT_ACCEPTED, format!("the copy at provider {name} is gone"));
                self.show(origin, None, false, &[own, moving]);
            } else if source.is_none_or(|source| matches!(source.reach, Reach::Unreachable(_))) {
                self.show(origin, None, false, &[own, moving]);
            };
        };
        let signed = copy::signed_origin(self.snapshot.key, &origin.uid, &holder.provider, copy, self.snapshot.ring);
        let epoch = signed.map_or(assigned.epoch, |signed| signed.epoch);
        let site = Site { origin, holder, kind, epoch };
        let accepting = match accepted {
            Some(Ok(acceptance)) => Some(&***acceptance),
            _ => None,
        };
        let in_sync = if accepting.is_some() && !copy.deleting {
            self.sync(&site, copy, Subject::Copy).in_sync
        } else {
            // A new spec is held back from a provider that does not accept it.
            self.difference(&site, &self.desired(&site), copy).is_none()
        };
        self.bring(&site, copy, accepting, accepting.is_some(), true);
        let age = self.snapshot.now.millis.checked_sub(assigned.epoch);
        if let Some(left) = age.and_then(|age| GOOD_NEWS_MILLIS.checked_sub(age)).filter(|left| *left > 0) {
            // A move that is over in a moment is told when it is over.
            return self.decision.again_in(left);
        }
        self.show(origin, Some(copy), in_sync, &[Own::placed(name), moving]);
    }

    fn moving_condition(&self, assigned: &Assigned) -> Own {
        let moving = self.decision.moving.as_ref();
        let reason = match moving.map(|moving| moving.phase) {
            None | Some(Phase::Copying) => "Copying",
            Some(Phase::Ready) => "Migrating",
            Some(Phase::Switched) => "CuttingOver",
        };
        let to = assigned.moving_to.as_ref().map_or("", ClusterName::name);
        let mut message = format!("from provider {} to provider {to}", assigned.provider.name());
        if let Some(moving) = moving.filter(|moving| !moving.waits_for.is_empty()) {
            message.push_str("; waiting for ");
            message.push_str(&moving.waits_for);
        }
        Own { kind: condition::MOVING, status: true, reason, message }
    }
}

/// Whether the consumer's status says that this provider serves the object.
fn is_shown(origin: &View, provider: &ClusterName) -> bool {
    let placed = Own::placed(provider.name());
    origin.condition(placed.kind).is_some_and(|shown| shown["status"] == "True" && shown["message"] == placed.message)
}

/// How it stands with the old copy.
enum Dismissed {
    Gone,
    Deleted,
    Waits(String),
}

/// What a move counts for: one that the provider it leaves has no part in is the wish of the one that takes over.
fn route(assigned: &Assigned, to: &ClusterName, accepted: &Accepted<'_>) -> Route {
    let (from, to) = (assigned.provider.clone(), to.clone());
    match accepted {
        Some(Ok(acceptance)) if !acceptance.is_draining() && !assigned.pinned => Route::Rebalance { to },
        _ => Route::Leave { from, to },
    }
}
