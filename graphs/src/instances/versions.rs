//! In which versions kinds are read: instances by their CRDs, what inventories name by asking for its group.

use std::{sync::Arc, time::Duration};

use broker_api::ClusterName;
use graphs_core::applyset::GroupKind;
use runtime_effect::kind::Kind;
use runtime_fleet::{crash::spawn, discover};
use tokio::time::Instant;
use tracing::debug;

use super::{
    InstanceKey,
    groups::{Place, Version, Versions},
};
use crate::{graphs::Graphs, kinds::GONE, watches::Need};

/// After so long an API server that did not answer is asked again.
const AGAIN: Duration = Duration::from_secs(2);

async fn ask(graphs: Arc<Graphs>, place: Place) {
    let (cluster, group) = &place;
    // An API server, or whoever stands before it, may say so for a moment of a group that it serves.
    let mut denied: Option<Instant> = None;
    let waiting = loop {
        // One that has left is not asked for; what is asked for then is asked anew.
        let Some(cluster) = graphs.engaged(cluster) else {
            graphs.groups.drop_question(&place);
            return;
        };
        if let Some(connection) = cluster.connection() {
            let turns = graphs.groups.turns_of(cluster.name());
            let _turn = turns.acquire().await;
            match discover::versions(&connection.caller, group).await {
                Ok(versions) if versions.is_empty() && denied.is_none_or(|since| since.elapsed() < GONE) => {
                    denied.get_or_insert_with(Instant::now);
                }
                Ok(versions) => match graphs.groups.take(&place, versions) {
                    Some(waiting) => break waiting,
                    None => denied = None,
                },
                Err(error) => debug!(group, %error, "cannot ask for the versions of a group"),
            }
        }
        tokio::time::sleep(if denied.is_some() { GONE } else { AGAIN }).await;
    };
    for key in waiting {
        graphs.instances.enqueue(key);
    }
}

fn in_versions(kind: &GroupKind, versions: &[String]) -> impl Iterator<Item = Kind> {
    let GroupKind { group, kind } = kind;
    versions.iter().map(|version| Kind { group: group.clone(), version: version.clone(), kind: kind.clone() })
}

impl Graphs {
    /// The versions of a group; `None`: `waits` is looked at once they are known.
    fn versions_of(&self, group: &str, waits: &InstanceKey) -> Option<Arc<[String]>> {
        match self.groups.versions(group, waits) {
            Versions::Known(versions) => Some(versions),
            Versions::Asked => None,
            Versions::ToAsk(place) => {
                spawn(ask(self.itself(), place));
                None
            }
        }
    }

    /// In which version objects of a kind are read that an instance's inventory names.
    pub(super) fn version_of(&self, key: &InstanceKey, kind: &GroupKind) -> Version {
        let cluster = &key.cluster;
        let known = self.instances.generated.version(cluster, kind).or_else(|| self.kinds.version(cluster, kind));
        if let Some(known) = known {
            return Version::Is(known);
        }
        let Some(versions) = self.versions_of(&kind.group, key) else { return Version::Unknown };
        // One that is not served for a moment is still watched, and its objects are not known.
        let mut candidates = in_versions(kind, &versions).filter(|kind| !self.kinds.is_gone(cluster, kind));
        match candidates.next() {
            Some(kind) => Version::Is(kind),
            None if self.groups.doubt(cluster, &kind.group) => {
                // Asked for at once, and looked at once that is known.
                self.versions_of(&kind.group, key);
                Version::Unknown
            }
            None => Version::NotServed,
        }
    }

    /// A kind in all versions of its group, as far as they were asked for.
    pub(super) fn candidates(&self, cluster: &ClusterName, kind: &GroupKind) -> Vec<Kind> {
        let versions = self.groups.said(cluster, &kind.group);
        versions.iter().flat_map(|versions| in_versions(kind, versions)).collect()
    }

    /// The watch of instances of a kind; `None`: no CRD of ours defines it.
    pub(crate) fn instances_by(&self, key: &InstanceKey) -> Option<(Kind, Need)> {
        let kind = self.instances.generated.version(&key.cluster, &key.kind)?;
        Some((kind.clone(), Need::Instances(kind)))
    }
}

#[cfg(test)]
mod tests {
    use runtime_fleet::{
        kind::{KindState, SchemaNews},
        object::ObjectKey,
    };

    use super::*;

    /// Children would be left behind.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_there_of_a_kind_only_after_it_was_not_served_for_long() {
        let (graphs, paris) = (Graphs::alone(), ClusterName::spoke("paris"));
        let own = Arc::new(GroupKind { kind: "Web".into(), group: "kro.run".into() });
        let key = InstanceKey { cluster: paris.clone(), kind: own, object: ObjectKey::new("n", "one") };
        let kind = Kind { group: "parts.io".into(), version: "v1".into(), kind: "Part".into() };
        let version = || graphs.version_of(&key, &GroupKind { kind: "Part".into(), group: "parts.io".into() });
        let place = (paris.clone(), "parts.io".to_owned());
        assert!(matches!(graphs.groups.versions("parts.io", &key), Versions::ToAsk(_)));
        graphs.groups.take(&place, vec!["v1".into()]);
        assert_eq!(version(), Version::Is(kind.clone()));
        graphs.kinds.take(&paris, &kind.to_gvk(), &KindState::Missing, SchemaNews::Same);
        assert_eq!(version(), Version::Is(kind.clone()), "for a moment, perhaps");
        tokio::time::advance(GONE).await;
        assert_eq!(version(), Version::NotServed);
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(version(), Version::Unknown, "its group may have other versions by now");
        assert!(matches!(graphs.groups.versions("parts.io", &key), Versions::Asked));
        graphs.groups.take(&place, vec!["v1".into(), "v2".into()]);
        assert_eq!(version(), Version::Is(Kind { version: "v2".into(), ..kind }));
    }
}
