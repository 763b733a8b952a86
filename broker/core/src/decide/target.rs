//! How it stands with the provider that takes over.

use broker_api::ClusterName;
use runtime_effect::{reach::Reach, seen::Seen, serving::Serving, view::View};

use super::{LOST_MILLIS, Pass, SILENT_MILLIS, claim::Assigned, serve::Site};
use crate::{acceptance::Acceptance, movement::MigrationView};

/// How it stands with the provider that takes over.
pub(super) enum Target<'a> {
    /// It can hold the copy.
    Fits(Site<'a>, Option<&'a Acceptance>),
    /// Nothing can be done there now, and why.
    Waits(String),
    /// It is no place for the object (any more), and why; `gone`: it has left for good.
    Unfit { why: String, gone: bool },
}

impl<'a> Pass<'a> {
    /// Whether the copy can be at the provider that takes over. `switched`: the consumer is served by it already.
    pub(super) fn target(
        &mut self,
        origin: &'a View,
        assigned: &Assigned,
        to: &ClusterName,
        switched: bool,
        migration: Option<&MigrationView>,
    ) -> Target<'a> {
        let snapshot = self.snapshot;
        let name = to.name();
        let Some(holder) = snapshot.holder(name) else {
            let why = format!("provider {name} is not engaged (any more)");
            if self.is_given_up(name) {
                return Target::Unfit { why, gone: true };
            }
            self.await_departure(to);
            return Target::Waits(why);
        };
        match &holder.reach {
            Reach::Ready => {}
            Reach::Lost(_) | Reach::Settling => {
                self.decision.again_in(LOST_MILLIS);
                return Target::Waits(format!("provider {name} to answer"));
            }
            Reach::Unreachable(why) => return Target::Waits(format!("provider {name}, which is unreachable: {why}")),
        }
        let kind = match &holder.serving {
            Serving::Served(kind) => kind,
            Serving::Unknown | Serving::Missing => {
                return Target::Waits(format!("provider {name} to serve {}", snapshot.key.gvk.kind));
            }
        };
        let site = Site { origin, holder, kind, epoch: assigned.epoch };
        match &holder.copy {
            Seen::Unknown => {
                let why = holder.trouble.clone().unwrap_or_else(|| "its objects are not known yet".into());
                return Target::Waits(format!("provider {name}: {why}"));
            }
            Seen::Present(copy) if !self.is_ours(origin, holder, copy) => {
                let why = format!("somebody else's object has the copy's name at provider {name}");
                return Target::Unfit { why, gone: switched };
            }
            Seen::Absent | Seen::Present(_) => {}
        }
        match self.accepted_by(origin, holder) {
            None => {
                if holder.acceptances_known {
                    // An expression cannot say in this moment.
                    self.decision.again_in(SILENT_MILLIS);
                }
                Target::Waits(format!("the AcceptAPIs of provider {name}"))
            }
            Some(Ok(acceptance)) => Target::Fits(site, Some(acceptance)),
            // Behind the switch there is no way back: the move ends, and another begins.
            Some(Err(_)) if switched || migration.is_some_and(|migration| migration.force) => Target::Fits(site, None),
            Some(Err(_)) => Target::Unfit { why: format!("provider {name} does not accept the object"), gone: false },
        }
    }
}
