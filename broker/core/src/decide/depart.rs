//! Whether an origin has to leave the provider that serves it, and where to. How it gets there is the business of
//! `transfer`.

use std::sync::Arc;

use broker_api::{ClusterName, MigrationState, condition};
use runtime_effect::{note::Note, reach::Reach, seen::Seen, serving::Serving, view::View};

use super::{
    LOST_MILLIS, Pass, SILENT_MILLIS, SOON_MILLIS,
    claim::Assigned,
    place::{Choice, Judged},
};
use crate::{
    acceptance::Acceptance,
    decision::State,
    filter::Refusal,
    movement::{Configured, MigrationView, Moving, Phase, Request, Route},
    placement,
    snapshot::Holder,
    status::Own,
};

/// First and longest wait before a move that failed is tried again.
const RETRY_MILLIS: (u64, u64) = (60_000, 3_600_000);

/// For so long after a person has made a Migration its provider may still be heard to accept the object.
const HEARD_MILLIS: u64 = 5_000;

/// Why an origin leaves its provider.
#[derive(Clone, Copy)]
pub(super) enum Reason<'a> {
    /// Its provider does not accept it any more.
    NotAccepted,
    /// Its provider is being drained.
    Draining,
    /// A person wants it elsewhere.
    Requested(&'a MigrationView),
    /// This AcceptAPI asks for its share.
    Rebalance(&'a Acceptance),
}

/// What the AcceptAPIs of the provider that serves an origin say of it.
pub(super) type Accepted<'a> = Option<Result<&'a Arc<Acceptance>, Vec<Refusal>>>;

impl<'a> Pass<'a> {
    /// Whether a provider that is not engaged was taken out of the configuration long ago.
    pub(super) fn is_given_up(&self, provider: &str) -> bool {
        let moves = &self.snapshot.moves;
        (moves.absent)(&ClusterName::provider(provider)).is_some_and(|millis| millis >= moves.patience.orphan_grace)
    }

    /// Has the origin looked at again when a provider that is not engaged counts as gone.
    pub(super) fn await_departure(&mut self, provider: &ClusterName) {
        let moves = &self.snapshot.moves;
        let left = (moves.absent)(provider).and_then(|out| moves.patience.orphan_grace.checked_sub(out));
        if let Some(left) = left.filter(|left| *left > 0) {
            self.decision.again_in(left);
        }
    }

    /// The provider is not engaged: after a grace its origins are placed anew. What it still holds goes if it returns.
    pub(super) fn orphaned(&mut self, origin: &'a View, assigned: &Assigned) {
        let moves = &self.snapshot.moves;
        let name = assigned.provider.name();
        let lead = format!("provider {name} is not engaged (any more)");
        let why = match (moves.absent)(&assigned.provider) {
            None if !self.snapshot.synced => {
                // Not all that is configured has been read yet.
                self.state(State::Unknown);
                return self.decision.again_in(SOON_MILLIS);
            }
            None => format!("{lead}; add its kubeconfig again"),
            Some(millis) if millis < moves.patience.orphan_grace => {
                let left = moves.patience.orphan_grace - millis;
                self.decision.again_in(left);
                format!(
                    "{lead}; unless it returns within {} s of leaving, the object is placed anew",
                    moves.patience.orphan_grace / 1000
                )
            }
            Some(_) => match self.relocate(origin, assigned, &lead) {
                Ok(()) => return,
                Err(refusals) => {
                    let none = "and no other accepts the object";
                    let brief = format!("its provider is not engaged (any more), {none}");
                    self.refusal(&format!("{lead}, {none}"), &brief, &refusals)
                }
            },
        };
        self.blocked(origin, condition::PROVIDER_UNREACHABLE, why);
    }

    /// The provider does not answer: its AcceptAPI may say after how long its origins are placed anew. Returns whether that
    /// happens now.
    pub(super) fn silent(
        &mut self,
        origin: &'a View,
        assigned: &Assigned,
        holder: &Holder,
        accepted: &Accepted<'_>,
    ) -> bool {
        let Some(Ok(acceptance)) = accepted else { return false };
        let Some(after) = acceptance.unreachable_after_seconds else { return false };
        if let Some(left) = after.saturating_mul(1000).checked_sub(holder.silent_millis).filter(|left| *left > 0) {
            self.decision.again_in(left);
            return false;
        }
        let lead = format!("provider {} has been unreachable for more than {after} s", assigned.provider.name());
        self.relocate(origin, assigned, &lead).is_ok()
    }

    /// Larger than that of the assignment at hand, whatever the clock says.
    pub(super) fn next_epoch(&self, assigned: &Assigned) -> u64 {
        self.snapshot.now.millis.max(assigned.epoch.saturating_add(1))
    }

    /// Why the origin should leave the provider that serves it. `to`: the provider it is on its way to.
    pub(super) fn reason(
        &mut self,
        origin: &'a View,
        assigned: &Assigned,
        accepted: &Accepted<'a>,
        to: Option<&ClusterName>,
    ) -> Option<Reason<'a>> {
        if let Some(requested) = self.requested(origin, assigned, to) {
            return Some(Reason::Requested(requested));
        }
        match accepted {
            None => None,
            // A person has put it there against the AcceptAPIs' word, and has not taken that back.
            Some(Err(_)) if to.is_none() && assigned.pinned && self.is_forced(assigned) => None,
            Some(Err(_)) => Some(Reason::NotAccepted),
            Some(Ok(acceptance)) if acceptance.is_draining() => Some(Reason::Draining),
            // On its way, the pin is that of whoever takes over: what held it here before counts.
            Some(Ok(_)) if to.map_or(assigned.pinned, |_| assigned.pinned_before) => None,
            Some(Ok(acceptance)) => self.attracted(origin, acceptance, to).map(Reason::Rebalance),
        }
    }

    /// Whether a person's Migration with `spec.force` has brought the origin where it is. It counts while it is there.
    fn is_forced(&self, assigned: &Assigned) -> bool {
        let forced = |migration: &MigrationView| {
            let done = migration.state == MigrationState::CutoverCompleted && !migration.deleting;
            migration.by_person && migration.force && done && migration.to == assigned.provider
        };
        self.snapshot.moves.migrations.iter().any(forced)
    }

    /// The AcceptAPI that asks for its share and would get the origin if it were placed now.
    fn attracted(&mut self, origin: &'a View, own: &'a Acceptance, to: Option<&ClusterName>) -> Option<&'a Acceptance> {
        let all = self.snapshot.acceptances;
        let asks = |acceptance: &&'a Arc<Acceptance>| acceptance.rebalance && acceptance.id.provider != own.id.provider;
        if let Some(to) = to {
            // Under way: it goes on while it is wanted, whatever the order is by now.
            return all
                .iter()
                .filter(asks)
                .find(|acceptance| acceptance.id.provider == *to)
                .map(|acceptance| &**acceptance);
        }
        all.iter().find(asks)?;
        // Whoever asks may come to be able to take it.
        self.decision.restless = true;
        let best = match self.choose(origin, &[&own.id.provider]) {
            Choice::Best(best) => best,
            Choice::Later(_) => {
                // It is well where it is.
                self.decision.again_in(LOST_MILLIS);
                return None;
            }
            Choice::None { .. } => return None,
        };
        let first = placement::rank(&origin.uid, &[best, own]).first().is_some_and(|first| first.id == best.id);
        if !best.rebalance || !(first || own.cordoned) {
            return None;
        }
        // It is well where it is: another try has time.
        let (_, longest) = RETRY_MILLIS;
        let given_up = self.snapshot.memory.given_up_for(&best.id.provider, self.snapshot.now.millis);
        if let Some(left) = given_up.and_then(|passed| longest.checked_sub(passed)).filter(|left| *left > 0) {
            self.decision.again_in(left);
            return None;
        }
        Some(best)
    }

    /// The Migration by which a person wants the origin to leave its provider: that of the move which is under way, else the
    /// oldest. The others wait, and what cannot be is refused.
    fn requested(
        &mut self,
        origin: &'a View,
        assigned: &Assigned,
        to: Option<&ClusterName>,
    ) -> Option<&'a MigrationView> {
        let underway = to.and_then(|to| self.migration_of(origin, assigned, to));
        let mut current: Option<&'a MigrationView> = None;
        let mut others: Vec<&'a MigrationView> = Vec::new();
        for migration in self.open_requests() {
            // Between the same providers whoever waits is before who has asked later: the next move there is its own.
            let before = others.iter().copied().find(|held| (&held.from, &held.to) == (&migration.from, &migration.to));
            let verdict = match current.or(before) {
                // Told by `others_wait`.
                _ if to.is_some() && underway.is_none_or(|underway| !migration.is(underway)) => continue,
                Some(first) => Err(Request::Waits(format!("for Migration {first} to end"))),
                None => self.permitted(origin, assigned, migration, to.is_some()),
            };
            match verdict {
                Ok(()) => current = Some(migration),
                Err(request) => {
                    self.decision.restless |= matches!(request, Request::Waits(_));
                    others.push(migration);
                    self.decision.requests.push((migration.to_string(), request));
                }
            }
        }
        current
    }

    /// People's Migrations that are to be carried out, oldest first.
    fn open_requests(&self) -> impl Iterator<Item = &'a MigrationView> + use<'a> {
        let open = |migration: &&MigrationView| migration.by_person && !migration.has_ended() && !migration.deleting;
        self.snapshot.moves.migrations.iter().filter(open)
    }

    /// Whatever people want beside the move that is under way waits for it to end.
    pub(super) fn others_wait(&mut self, underway: Option<&MigrationView>) {
        for migration in self.open_requests() {
            let why = match underway {
                Some(underway) if migration.is(underway) => continue,
                Some(underway) => format!("for Migration {underway} to end"),
                None => "for the move that is under way".to_owned(),
            };
            let name = migration.to_string();
            self.decision.requests.push((name, Request::Waits(why)));
        }
    }

    /// Whether a person's Migration can be carried out.
    fn permitted(
        &mut self,
        origin: &'a View,
        assigned: &Assigned,
        migration: &MigrationView,
        underway: bool,
    ) -> Result<(), Request> {
        let snapshot = self.snapshot;
        if migration.from != assigned.provider {
            let why = format!(
                "the object is served by provider {}, not by {}",
                assigned.provider.name(),
                migration.from.name()
            );
            return Err(Request::Refused("FromIsNoCopy", why));
        }
        if migration.to == assigned.provider {
            return Err(Request::Refused("SameProvider", "it would move to where it is".into()));
        }
        if migration.aborted {
            return Err(Request::Refused("Aborted", "it was aborted".into()));
        }
        if underway {
            return Ok(());
        }
        let Some(target) = snapshot.holder(migration.to.name()) else {
            let name = migration.to.name();
            return Err(match (snapshot.moves.absent)(&migration.to) {
                None => Request::Waits(format!("for provider {name} to become known")),
                Some(_) => Request::Refused("ProviderUnknown", format!("there is no provider {name}")),
            });
        };
        if self.is_taken(origin, &migration.to) {
            let why = format!("somebody else's object has the copy's name at provider {}", migration.to.name());
            return Err(Request::Refused(condition::NAME_CONFLICT, why));
        }
        if migration.force {
            return Ok(());
        }
        let mut why = Vec::new();
        for acceptance in snapshot.acceptances.iter().filter(|acceptance| acceptance.id.provider == migration.to) {
            match self.judge(origin, acceptance) {
                Judged::Candidate => return Ok(()),
                Judged::Later => {
                    self.decision.again_in(LOST_MILLIS);
                    return Err(Request::Waits(format!("for provider {}", migration.to.name())));
                }
                Judged::Refused(refusals) => why.extend(refusals.iter().map(ToString::to_string)),
                Judged::Silent(text) => {
                    self.decision.again_in(SILENT_MILLIS);
                    return Err(Request::Waits(format!("for {}, which cannot say: {text}", acceptance.id)));
                }
                Judged::Unfit(text) => why.push(format!("{}: {text}", acceptance.id)),
                Judged::Unreachable(text) => return Err(Request::Waits(format!("{}: {text}", acceptance.id))),
            }
        }
        // One that does not serve the kind has no AcceptAPI that could speak of it.
        if !target.acceptances_known && !matches!(target.serving, Serving::Missing) {
            return Err(Request::Waits(format!("for the AcceptAPIs of provider {}", migration.to.name())));
        }
        let lead = format!("provider {} does not accept the object", migration.to.name());
        let why = self.refusal(&lead, &lead, &why);
        // Clusters are heard one by one: the AcceptAPI that was written before the Migration may be heard of after it.
        let left = HEARD_MILLIS.saturating_sub(snapshot.now.since_theirs(migration.created));
        if left > 0 {
            self.decision.again_in(left);
            return Err(Request::Waits(format!("for an AcceptAPI: {why}")));
        }
        Err(Request::Refused(condition::NOT_ACCEPTED, why))
    }

    /// Begins the move of an origin that has to leave its provider, if it can. Returns whether it did; else what people
    /// should know is put into `staying`.
    pub(super) fn departs(
        &mut self,
        origin: &'a View,
        assigned: &Assigned,
        holder: &Holder,
        accepted: &Accepted<'a>,
    ) -> bool {
        let snapshot = self.snapshot;
        if holder.reach != Reach::Ready {
            return false;
        }
        if !snapshot.moves.migrations_known {
            self.decision.restless = true;
            self.undecided = true;
            return false;
        }
        let Some(reason) = self.reason(origin, assigned, accepted, None) else { return false };
        let choice = match reason {
            Reason::NotAccepted | Reason::Draining => self.choose(origin, &[&assigned.provider]),
            Reason::Rebalance(best) => Choice::Best(best),
            Reason::Requested(migration) => return self.depart(origin, assigned, holder, reason, &migration.to, None),
        };
        match choice {
            Choice::Best(best) => self.depart(origin, assigned, holder, reason, &best.id.provider, Some(best)),
            Choice::Later(wait) => {
                self.undecided = true;
                self.decision.again_in(wait);
                false
            }
            Choice::None { refusals, .. } => {
                let drained = "is being drained, and no other accepts the object";
                let none = "no other provider accepts the object";
                let (lead, brief) = match reason {
                    Reason::Draining => {
                        (format!("provider {} {drained}", assigned.provider.name()), format!("its provider {drained}"))
                    }
                    _ => (none.to_owned(), none.to_owned()),
                };
                let why = self.refusal(&lead, &brief, &refusals);
                self.stay(condition::NO_PROVIDER, why);
                false
            }
        }
    }

    fn depart(
        &mut self,
        origin: &'a View,
        assigned: &Assigned,
        holder: &Holder,
        reason: Reason<'a>,
        to: &ClusterName,
        best: Option<&'a Acceptance>,
    ) -> bool {
        let moves = &self.snapshot.moves;
        let ours = match &holder.copy {
            Seen::Unknown => return false,
            Seen::Absent => false,
            Seen::Present(copy) => self.is_ours(origin, holder, copy),
        };
        if let (false, Some(best)) = (ours, best) {
            self.has_left(origin, assigned, holder, best);
            return true;
        }
        if moves.configured == Configured::Unknown || !self.snapshot.synced {
            // How many move already is only known once all that is there has been looked at.
            self.undecided = true;
            self.decision.again_in(SOON_MILLIS);
            return false;
        }
        let route = match reason {
            Reason::Rebalance(_) => Route::Rebalance { to: to.clone() },
            _ => Route::Leave { from: assigned.provider.clone(), to: to.clone() },
        };
        self.decision.route = Some(route.clone());
        if !(moves.may_move)(&route) {
            let why = format!("for its turn to move to provider {}; so many others are on their way", to.name());
            if let Reason::Requested(migration) = reason {
                let name = migration.to_string();
                self.decision.requests.push((name, Request::Waits(why.clone())));
            }
            self.stay("WaitingForTurn", format!("waiting {why}"));
            return false;
        }
        let next = Assigned {
            moving_to: Some(to.clone()),
            pinned: matches!(reason, Reason::Requested(_)),
            pinned_before: assigned.pinned,
            ..Assigned::to(assigned.provider.clone(), self.next_epoch(assigned))
        };
        self.begin(origin, &next, best, departure(reason, &assigned.provider, to));
        if let Reason::Requested(migration) = reason {
            self.moves_for(Some(migration));
        }
        true
    }

    /// Writes that the origin moves.
    pub(super) fn begin(&mut self, origin: &'a View, next: &Assigned, best: Option<&Acceptance>, why: String) {
        self.state(State::Moving);
        self.decision.provider = Some(next.provider.clone());
        self.decision.counted = best.map(|best| best.id.clone());
        self.decision.begins = true;
        self.decision.moving = next.moving_to.as_ref().map(|to| Moving {
            from: next.provider.clone(),
            to: to.clone(),
            epoch: next.epoch,
            migration: None,
            phase: Phase::Copying,
            waits_for: "the new copy".into(),
        });
        self.mark(origin, next, Some(Note::normal("Moving", why)));
    }

    /// It should move and cannot: people are told in the condition `Moving`.
    fn stay(&mut self, reason: &'static str, message: String) {
        self.decision.restless = true;
        self.staying = Some(Own { kind: condition::MOVING, status: false, reason, message });
    }

    /// Why a move to this provider is not tried (again) yet: Migrations to it have failed. What was aborted stays so as
    /// long as its Migration is there.
    pub(super) fn rests(&mut self, provider: &ClusterName) -> Option<String> {
        let moves = &self.snapshot.moves;
        let ours = |migration: &&MigrationView| !migration.by_person && !migration.deleting;
        let failed = moves.migrations.iter().filter(ours);
        let failed = failed.filter(|migration| migration.to == *provider && migration.state == MigrationState::Failed);
        let failed: Vec<&MigrationView> = failed.collect();
        if let Some(aborted) = failed.iter().find(|migration| migration.aborted) {
            return Some(format!(
                "Migration {aborted} to it was aborted; delete that Migration to have the move tried again"
            ));
        }
        let last = failed.iter().max_by_key(|migration| migration.ended)?;
        let (first, longest) = RETRY_MILLIS;
        let wait = first.saturating_mul(1 << (failed.len() - 1).min(10)).min(longest);
        let passed = self.snapshot.now.since(last.ended.unwrap_or_default());
        let left = wait.checked_sub(passed).filter(|left| *left > 0)?;
        self.decision.again_in(left);
        Some(format!(
            "Migration {last} to it failed; it is tried again {} s after that, or when that Migration is deleted",
            wait / 1000
        ))
    }
}

/// Why it moves, for people.
fn departure(reason: Reason<'_>, from: &ClusterName, to: &ClusterName) -> String {
    let why = match reason {
        Reason::NotAccepted => format!("provider {} does not accept it any more", from.name()),
        Reason::Draining => format!("provider {} is being drained", from.name()),
        Reason::Requested(migration) => {
            format!("Migration {migration} asks for it")
        }
        Reason::Rebalance(acceptance) => format!("AcceptAPI {} asks for its share", acceptance.id),
    };
    format!("moves from provider {} to provider {}: {why}", from.name(), to.name())
}
