//! What the broker would decide on an object that is new, in clusters that are as files say: each provider serves the kind,
//! holds nothing and answers.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::Context as _;
use broker_api::ClusterName;
use broker_core::{
    acceptance::Acceptance,
    assignment::{Key, KeyRing},
    decide::{Explanation, explain, proposed},
    memory::OriginMemory,
    movement::{Configured, Route},
    snapshot::{Brake, Holder, Limits, Moves, OriginKey, Patience, Quota, RelatedView, Snapshot},
};
use runtime_cel::{expression::Evaluator, schema::Schema};
use runtime_effect::{
    kind::Kind,
    reach::Reach,
    seen::Seen,
    serving::{KindView, Serving},
    view::View,
};
use runtime_engine::clock::now;
use serde_json::Value;

/// What is not known without clusters.
pub(crate) const NOT_KNOWN: &str = "how full providers are, quotas, the platform's bounds for providers, and the defaults that an API server fills in; with clusters, leave --acceptapi out";

/// No related objects.
struct Unrelated;

impl RelatedView for Unrelated {
    fn source(&self, _: &ClusterName, _: &Kind, _: &str, _: &str) -> Seen {
        Seen::Absent
    }

    fn target(&self, _: &Kind, _: &str, _: &str) -> Seen {
        Seen::Absent
    }

    fn owned(&self, _: &str) -> Vec<(Kind, View)> {
        Vec::new()
    }

    fn owned_known(&self) -> bool {
        true
    }
}

/// Explains the decision, by these AcceptAPIs of its kind and no others.
pub(crate) fn explain_new(
    key: &OriginKey,
    object: Value,
    acceptances: &[Arc<Acceptance>],
    plural: &str,
    evaluator: &Evaluator,
) -> anyhow::Result<Explanation> {
    // Nothing that is signed with it leaves this process.
    let ring = KeyRing::new(vec![Key { id: "simulated".into(), secret: vec![0; 32] }]).context("the signing key")?;
    let kind = KindView { plural: plural.into(), namespaced: true, has_status: true, schema: Arc::new(Schema::any()) };
    let providers: BTreeSet<&ClusterName> = acceptances.iter().map(|acceptance| &acceptance.id.provider).collect();
    let holder = |provider: &ClusterName| Holder {
        provider: provider.clone(),
        reach: Reach::Ready,
        silent_millis: 0,
        serving: Serving::Served(kind.clone()),
        copy: Seen::Absent,
        acceptances_known: true,
        acceptances_served: true,
        trouble: None,
    };
    let origin = proposed(object);
    Ok(explain(&Snapshot {
        key,
        now: now(),
        consumer: Reach::Ready,
        consumer_kind: Serving::Served(kind.clone()),
        consumer_labels: Some(Arc::default()),
        origin: Seen::Present(origin),
        confirmed: None,
        brake: &|_: &ClusterName| Brake::Free,
        is_copy: false,
        holders: providers.into_iter().map(holder).collect(),
        acceptances,
        hidden: &[],
        has_room: &|acceptance: &Acceptance| Some(acceptance.capacity != Some(0)),
        synced: true,
        busy: false,
        quota: Quota {
            most: None,
            has_room: &|| true,
            has_room_at: &|acceptance: &Acceptance| acceptance.capacity_per_consumer != Some(0),
        },
        limits: Limits { status: u64::MAX, related: u64::MAX, related_total: u64::MAX },
        moves: Moves {
            coordination: None,
            migrations: Vec::new(),
            migrations_known: true,
            configured: Configured::No,
            reserved: false,
            absent: &|_: &ClusterName| None,
            may_move: &|_: &Route| true,
            patience: Patience { orphan_grace: u64::MAX, ready_timeout: u64::MAX },
        },
        brief: false,
        ring: &ring,
        evaluator,
        related_kinds: &[],
        related: &Unrelated,
        memory: &OriginMemory::default(),
    }))
}
