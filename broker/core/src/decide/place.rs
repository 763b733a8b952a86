//! Choosing a provider for an origin that has none.

use std::sync::Arc;

use broker_api::{ClusterName, condition, keys};
use runtime_effect::{note::Note, reach::Reach, seen::Seen, serving::Serving, view::View};
use serde_json::json;

use super::{LOST_MILLIS, Pass, SILENT_MILLIS, SOON_MILLIS, claim::Assigned};
use crate::{
    acceptance::{Acceptance, Verdict},
    allowance::Allowance,
    assignment::Assignment,
    decision::State,
    filter::Refusal,
    placement,
    snapshot::Holder,
    status::Own,
};

/// How many refusals a condition spells out.
const SHOWN: usize = 8;

/// Longest message of a condition; Kubernetes takes 32768 bytes.
const MESSAGE: usize = 4096;

impl<'a> Pass<'a> {
    pub(super) fn place(&mut self, origin: &'a View) {
        let quota = &self.snapshot.quota;
        if let Some(most) = quota.most {
            if !self.snapshot.synced {
                // How many there are is only known once all that is there has been looked at.
                self.state(State::Unknown);
                return self.decision.again_in(SOON_MILLIS);
            }
            if !(quota.has_room)() {
                return self.over_quota(origin, most);
            }
        }
        let best = match self.choose(origin, &[]) {
            Choice::Later(wait) => {
                // It may be back in a moment: nothing to tell yet.
                self.state(State::Unknown);
                return self.decision.again_in(wait);
            }
            Choice::None { refusals, unreachable } => return self.waiting(origin, &refusals, unreachable),
            Choice::Best(best) => best,
        };
        // Wall-clock time makes epochs grow even where nothing tells of earlier ones.
        let assigned = Assigned::to(best.id.provider.clone(), self.snapshot.now.millis);
        let note = Note::normal(
            "Placed",
            format!("assigned to provider {} by AcceptAPI {}", assigned.provider.name(), best.id),
        );
        self.assign(origin, best, &assigned, note);
    }

    /// Assigns the origin to the provider of this AcceptAPI and no other.
    pub(super) fn assign(&mut self, origin: &View, best: &Acceptance, assigned: &Assigned, note: Note) {
        self.state(State::Placing);
        self.decision.provider = Some(best.id.provider.clone());
        self.decision.counted = Some(best.id.clone());
        self.decision.begins = true;
        self.mark(origin, assigned, Some(note));
    }

    /// Who would get the origin now, but for these providers.
    pub(super) fn choose(&mut self, origin: &View, but: &[&ClusterName]) -> Choice<'a> {
        let snapshot = self.snapshot;
        if snapshot.holders.iter().any(settling) {
            // A better provider may be known in a moment; the shell bounds how long that lasts.
            return Choice::Later(200);
        }
        let mut refused: Vec<Vec<Refusal>> = Vec::new();
        let mut refusals: Vec<String> = Vec::new();
        let mut candidates: Vec<&'a Acceptance> = Vec::new();
        let mut unreachable = false;
        let mut later = false;
        let mut silent = false;
        for acceptance in snapshot.acceptances.iter().filter(|acceptance| !but.contains(&&acceptance.id.provider)) {
            match self.ask(origin, acceptance, !but.is_empty()) {
                Judged::Candidate => candidates.push(acceptance),
                Judged::Refused(why) => refused.push(why),
                Judged::Unfit(why) => refusals.push(format!("{}: {why}", acceptance.id)),
                Judged::Unreachable(why) => {
                    unreachable = true;
                    refusals.push(format!("{}: {why}", acceptance.id));
                }
                Judged::Later => later = true,
                Judged::Silent(why) => {
                    silent = true;
                    refusals.push(format!("{}: cannot say: {why}", acceptance.id));
                }
            }
        }
        let Some(best) = self.ranked(origin, &candidates).into_iter().next() else {
            if later {
                return Choice::Later(LOST_MILLIS);
            }
            if silent {
                self.decision.again_in(SILENT_MILLIS);
            }
            // One that does not serve the kind has no AcceptAPI that could speak of it.
            let unheard = |holder: &&Holder| !holder.acceptances_known && !matches!(holder.serving, Serving::Missing);
            for holder in snapshot.holders.iter().filter(unheard) {
                let why = if let Reach::Unreachable(why) = &holder.reach {
                    unreachable = true;
                    format!("it is unreachable ({why})")
                } else {
                    "its AcceptAPIs are not known yet; is their CRD installed there?".to_owned()
                };
                refusals.push(format!("provider {}: {why}", holder.provider.name()));
            }
            // Nearest misses first: only so many are spelled out.
            refused.sort_by_key(Vec::len);
            refusals.extend(refused.iter().flatten().map(ToString::to_string));
            return Choice::None { refusals, unreachable };
        };
        Choice::Best(best)
    }

    /// Those that may get an origin, one of each provider, best first.
    pub(super) fn ranked<'c>(&self, origin: &View, candidates: &[&'c Acceptance]) -> Vec<&'c Acceptance> {
        let mut ranked = placement::rank(&origin.uid, candidates);
        // Whoever did not get ready when its turn was is last in line, the latest last of all.
        ranked.sort_by_key(|acceptance| {
            let given_up = self.snapshot.memory.given_up(&acceptance.id.provider);
            given_up.map_or(0, |position| usize::MAX - position)
        });
        ranked
    }

    /// Whether an AcceptAPI may get an origin now; one that `moves` goes nowhere where its copy's name is taken.
    pub(super) fn ask(&mut self, origin: &View, acceptance: &'a Arc<Acceptance>, moves: bool) -> Judged {
        let provider = &acceptance.id.provider;
        if let Some(why) = self.rests(provider) {
            return Judged::Unfit(why);
        }
        if let Some(why) = self.kept_by(provider) {
            return Judged::Unfit(why.to_owned());
        }
        if moves && self.is_taken(origin, provider) {
            return Judged::Unfit("somebody else's object has the copy's name there".into());
        }
        self.judge(origin, acceptance)
    }

    /// Whether somebody else's object has the copy's name at a provider.
    pub(super) fn is_taken(&self, origin: &View, provider: &ClusterName) -> bool {
        let Some(holder) = self.snapshot.holder(provider.name()) else { return false };
        holder.copy.present().is_some_and(|copy| !self.is_ours(origin, holder, copy))
    }

    /// Puts finalizer and signed assignment on the origin, where they are not already.
    pub(super) fn mark(&mut self, origin: &View, assigned: &Assigned, note: Option<Note>) -> Marks {
        let finalizer = origin.has_finalizer(keys::FINALIZER);
        if assigned.written && finalizer {
            return Marks::There;
        }
        let assignment = Assignment {
            provider: assigned.provider.name().to_owned(),
            new_provider: assigned.moving_to.as_ref().map(|to| to.name().to_owned()),
            epoch: assigned.epoch,
            pinned: assigned.pinned,
            pinned_before: assigned.pinned_before,
        };
        let signature = self.snapshot.ring.sign_assignment(&self.snapshot.key.subject(&origin.uid), &assignment);
        let mut metadata = json!({});
        if !assigned.written {
            metadata["annotations"] = json!({
                keys::PROVIDER_CLUSTER: assignment.provider,
                keys::ASSIGNMENT: signature,
            });
            if assignment.new_provider.is_some() || origin.annotation(keys::NEW_PROVIDER_CLUSTER).is_some() {
                metadata["annotations"][keys::NEW_PROVIDER_CLUSTER] = json!(assignment.new_provider);
            }
        }
        if !finalizer {
            let finalizers: Vec<&str> = origin.finalizers().chain([keys::FINALIZER]).collect();
            metadata["finalizers"] = json!(finalizers);
        }
        if self.patch_origin(origin, json!({"metadata": metadata}), note) { Marks::Written } else { Marks::Waiting }
    }

    /// The consumer has as many objects as it may have: this one waits until another goes.
    fn over_quota(&mut self, origin: &'a View, most: u64) {
        self.state(State::Waiting);
        let message = format!(
            "as many objects of this cluster are placed as may be ({most}, --max-objects-per-consumer); delete some of them, or ask the platform for more"
        );
        self.decision.notes.push(Note::warning(condition::QUOTA_EXCEEDED, message.clone()));
        self.show(origin, None, false, &[Own::not_brokered(condition::QUOTA_EXCEEDED, message)]);
    }

    fn waiting(&mut self, origin: &'a View, refusals: &[String], unreachable: bool) {
        self.state(State::Waiting);
        let (reason, lead) = if !self.held.is_empty() {
            (condition::HELD_BY_PROVIDER, "no provider can take the object now")
        } else if unreachable {
            (condition::PROVIDER_UNREACHABLE, "a provider that may accept the object cannot be reached")
        } else if refusals.is_empty() {
            (condition::NO_PROVIDER, "no provider has an AcceptAPI for this resource")
        } else {
            (condition::NO_PROVIDER, "no provider accepts the object")
        };
        let message = self.refusal(lead, lead, refusals);
        self.decision.notes.push(Note::warning("Refused", message.clone()));
        self.show(origin, None, false, &[Own::not_brokered(reason, message)]);
    }

    /// What an AcceptAPI says of the origin. It is asked once, with all others of its provider: they share an allowance.
    pub(super) fn verdict(&self, origin: &View, acceptance: &'a Acceptance) -> Verdict {
        let provider = &acceptance.id.provider;
        let mut asked = self.verdicts.borrow_mut();
        let verdicts = asked.entry(provider).or_insert_with(|| {
            let mut allowance = Allowance::default();
            let own = self.snapshot.acceptances.iter().filter(|acceptance| acceptance.id.provider == *provider);
            let applicant = self.snapshot.applicant(origin);
            let mut judge = |own: &'a Arc<Acceptance>| own.judge(&applicant, self.snapshot.evaluator, &mut allowance);
            own.map(|own| (&own.id, judge(own))).collect()
        });
        verdicts.get(&acceptance.id).cloned().unwrap_or_else(|| Verdict::Unknown("it was not asked".into()))
    }

    /// What people in the consumer are told of refusals. Where the platform keeps providers and their rules to itself, it is
    /// `brief` and how many there are; the rest is for the log.
    pub(super) fn refusal(&mut self, lead: &str, brief: &str, refusals: &[String]) -> String {
        let full = sentence(lead, refusals);
        if !self.snapshot.brief {
            return full;
        }
        self.decision.unabridged.push(full);
        match refusals.len() {
            0 => brief.to_owned(),
            1 => format!("{brief} (1 reason)"),
            count => format!("{brief} ({count} reasons)"),
        }
    }

    /// Whether an AcceptAPI may get an object that is not there yet.
    pub(super) fn judge(&self, origin: &View, acceptance: &'a Arc<Acceptance>) -> Judged {
        let snapshot = self.snapshot;
        let Some(holder) = snapshot.holders.iter().find(|holder| holder.provider == acceptance.id.provider) else {
            return Judged::Unfit("its provider is not engaged".into());
        };
        match self.verdict(origin, acceptance) {
            Verdict::Accepted => {}
            Verdict::Refused(refusals) => return Judged::Refused(refusals),
            Verdict::Unknown(_) => return Judged::Later,
            Verdict::Silent(why) => return Judged::Silent(why),
        }
        if acceptance.cordoned {
            return Judged::Unfit("is cordoned".into());
        }
        if acceptance.is_suspended() {
            return Judged::Unfit("takes nothing new: the platform's policy for its provider cannot be read".into());
        }
        if !holder.acceptances_served {
            let why = "takes nothing new: its AcceptAPIs cannot be read; see that their CRD is there";
            return Judged::Unreachable(why.into());
        }
        match (&holder.reach, &holder.serving) {
            (Reach::Lost(_), _) => return Judged::Later,
            (Reach::Unreachable(why), _) => {
                return Judged::Unreachable(format!("the provider is unreachable ({why})"));
            }
            (Reach::Settling, _) | (_, Serving::Unknown) => {
                return Judged::Unreachable("the provider is not known yet".into());
            }
            (_, Serving::Missing) => {
                return Judged::Unfit(format!(
                    "the provider does not serve {}; install its CRD there",
                    snapshot.key.gvk.kind
                ));
            }
            (_, Serving::Served(kind)) if !kind.namespaced => {
                return Judged::Unfit("the kind is cluster-scoped at the provider".into());
            }
            (Reach::Ready, Serving::Served(_)) if holder.copy == Seen::Unknown => {
                return Judged::Unreachable(format!(
                    "the provider's {} objects cannot be listed",
                    snapshot.key.gvk.kind
                ));
            }
            (Reach::Ready, Serving::Served(_)) => {}
        }
        match (snapshot.has_room)(acceptance) {
            None => return Judged::Later,
            Some(false) => {
                return Judged::Unfit(format!("is full (capacity {})", acceptance.capacity.unwrap_or_default()));
            }
            Some(true) => {}
        }
        let Some(share) = acceptance.capacity_per_consumer else { return Judged::Candidate };
        if !snapshot.synced {
            return Judged::Later;
        }
        if !(snapshot.quota.has_room_at)(acceptance) {
            return Judged::Unfit(format!(
                "holds as many objects of this cluster as it takes (capacityPerConsumer {share})"
            ));
        }
        Judged::Candidate
    }

    /// The AcceptAPI of a provider that accepts the origin, best first; or why none does. `None`: not known.
    pub(super) fn accepted_by(
        &self,
        origin: &View,
        holder: &Holder,
    ) -> Option<Result<&'a Arc<Acceptance>, Vec<Refusal>>> {
        if !holder.acceptances_known {
            return None;
        }
        let mut refusals = Vec::new();
        let mut accepting: Vec<&'a Acceptance> = Vec::new();
        let mut unknown = false;
        let own = self.snapshot.acceptances.iter().filter(|acceptance| acceptance.id.provider == holder.provider);
        for acceptance in own.clone() {
            match self.verdict(origin, acceptance) {
                Verdict::Accepted => accepting.push(acceptance),
                Verdict::Refused(refused) => refusals.extend(refused),
                Verdict::Unknown(_) | Verdict::Silent(_) => unknown = true,
            }
        }
        if accepting.is_empty() && unknown {
            return None;
        }
        // One that is not being drained, if there is one.
        if accepting.iter().any(|acceptance| !acceptance.is_draining()) {
            accepting.retain(|acceptance| !acceptance.is_draining());
        }
        match placement::rank(&origin.uid, &accepting).first() {
            Some(best) => own.clone().find(|acceptance| acceptance.id == best.id).map(Ok),
            None => Some(Err(refusals)),
        }
    }
}

/// Who would get an origin.
pub(super) enum Choice<'a> {
    /// It cannot be said for so many milliseconds.
    Later(u64),
    /// Nobody, and why.
    None { refusals: Vec<String>, unreachable: bool },
    /// The provider of this AcceptAPI.
    Best(&'a Acceptance),
}

/// Whether an AcceptAPI may get an origin.
pub(super) enum Judged {
    Candidate,
    Refused(Vec<Refusal>),
    Unfit(String),
    Unreachable(String),
    /// It is not known now, and may be in a moment.
    Later,
    /// It will not be known for a while, and why.
    Silent(String),
}

/// A lead and the refusals behind it, bounded in length.
fn sentence(lead: &str, refusals: &[String]) -> String {
    let mut message = lead.to_owned();
    for (index, refusal) in refusals.iter().take(SHOWN).enumerate() {
        message.push_str(if index == 0 { ": " } else { "; " });
        message.push_str(refusal);
    }
    if refusals.len() > SHOWN {
        message.push_str("; and ");
        message.push_str(&(refusals.len() - SHOWN).to_string());
        message.push_str(" more");
    }
    if message.len() > MESSAGE {
        let end = (0..=MESSAGE).rev().find(|at| message.is_char_boundary(*at)).unwrap_or_default();
        message.truncate(end);
        message.push('…');
    }
    message
}

fn settling(holder: &Holder) -> bool {
    holder.reach == Reach::Settling
}

/// How it stands with the marks of an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// They are there.
    There,
    /// They are written now.
    Written,
    /// They were refused, or are taken off again and again: the write waits.
    Waiting,
}
