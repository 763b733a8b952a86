//! Which of several kubeconfigs that give one cluster name is the cluster.

use std::{collections::BTreeMap, sync::Arc};

use broker_api::ClusterName;

use super::{Beside, Provenance, SourceEvent};
use crate::{hashed::HashMap, kubeconfig::Kubeconfig};

/// Stands between the sources and whoever connects: every event of every source goes through [`Claims::apply`], and at
/// most one kubeconfig per cluster name comes out. The lowest [`Provenance`] wins, whatever came first, so a restart
/// ends the same way; when it goes, the next takes over. A kubeconfig that was never usable claims nothing.
#[derive(Debug)]
pub struct Claims {
    names: HashMap<ClusterName, BTreeMap<Provenance, Claim>>,
    unsynced: usize,
}

#[derive(Debug, Clone)]
struct Claim {
    kubeconfig: Arc<Kubeconfig>,
    beside: Arc<Beside>,
}

impl Claim {
    fn upsert(self, name: ClusterName, from: Provenance) -> SourceEvent {
        let Self { kubeconfig, beside } = self;
        SourceEvent::Upsert { name, kubeconfig, from, beside }
    }
}

impl Claims {
    /// Claims of this many sources: the last one's [`SourceEvent::Synced`] passes, the others' do not.
    pub fn new(sources: usize) -> Self {
        Self { names: HashMap::default(), unsynced: sources }
    }

    /// What follows from an event of a source.
    pub fn apply(&mut self, event: SourceEvent) -> Vec<SourceEvent> {
        match event {
            SourceEvent::Upsert { name, kubeconfig, from, beside } => {
                self.upsert(name, Claim { kubeconfig, beside }, from)
            }
            SourceEvent::Removed { name, from } => self.remove(name, from),
            told @ (SourceEvent::Rejected { .. } | SourceEvent::Refused { .. }) => vec![told],
            SourceEvent::Synced => {
                let last = self.unsynced == 1;
                self.unsynced = self.unsynced.saturating_sub(1);
                if last { vec![SourceEvent::Synced] } else { Vec::new() }
            }
        }
    }

    fn upsert(&mut self, name: ClusterName, claim: Claim, from: Provenance) -> Vec<SourceEvent> {
        let claims = self.names.entry(name.clone()).or_default();
        let before = claims.keys().next().cloned();
        claims.insert(from.clone(), claim.clone());
        match before {
            Some(winner) if winner < from => vec![taken(name, from, &winner)],
            Some(loser) if loser > from => {
                let told = taken(name.clone(), loser, &from);
                vec![claim.upsert(name, from), told]
            }
            _ => vec![claim.upsert(name, from)],
        }
    }

    fn remove(&mut self, name: ClusterName, from: Provenance) -> Vec<SourceEvent> {
        let Some(claims) = self.names.get_mut(&name) else {
            // Never usable, so never claimed; whoever shows rejections may forget this one.
            return vec![SourceEvent::Removed { name, from }];
        };
        let won = claims.keys().next() == Some(&from);
        claims.remove(&from);
        match claims.first_key_value() {
            Some((next, claim)) if won => vec![claim.clone().upsert(name, next.clone())],
            Some(_) => Vec::new(),
            None => {
                self.names.remove(&name);
                vec![SourceEvent::Removed { name, from }]
            }
        }
    }
}

fn taken(name: ClusterName, from: Provenance, winner: &Provenance) -> SourceEvent {
    let reason = format!("{name} is already given by {winner}, which goes before {from}: rename one of the two");
    SourceEvent::Rejected { name, from, reason }
}
