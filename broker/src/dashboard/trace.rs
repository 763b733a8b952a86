//! `Trace`: where one object is, and what became of it: from what the broker holds in memory, without asking anybody.

use std::collections::BTreeSet;

use broker_api::{ClusterName, Role, condition};
use broker_core::{copy, decision::State, movement::Moving, readiness::unready, snapshot::OriginKey};
use runtime_effect::{seen::Seen, serving::Serving, view::View};
use runtime_fleet::{cluster::Cluster, index::Lookup, object::ObjectKey, watch::WatchSpec};
use serde_json::Value;

use super::{health::Health, kind::kind_text, migration::MigrationRow, query::Query};
use crate::{
    broker::Broker,
    origins::{
        key::{copy_key, object_key, origin_key},
        observe::BY_OWNER,
    },
    reach::serving,
};

/// Related objects that are named.
const RELATED: usize = 20;

/// Migrations that are shown: the latest.
const MIGRATIONS: usize = 5;

/// Copies that are shown.
const COPIES: usize = 8;

/// Why nobody can tell whether a copy is ready: what is held of it, and what its provider says of its kind.
const NOT_HELD: &str = "nobody can tell: no more of it is held in memory than that it is there";
const NOT_SERVED: &str = "nobody can tell: its provider does not say that it serves its kind";

/// Conditions that say how it stands, in this order.
const CONDITIONS: [&str; 4] = [condition::READY, condition::BROKERED, condition::ACCEPTED, condition::MOVING];

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trace {
    /// Which object.
    pub(super) key: OriginKey,
    /// What is seen of it in its consumer.
    pub(super) origin: Presence,
    /// How it stood after the last decision; `None`: nothing is remembered of it.
    pub(super) state: Option<State>,
    /// What its conditions say.
    pub(super) conditions: Vec<Said>,
    /// The AcceptAPI that it counts for.
    pub(super) counts_at: Option<String>,
    /// The provider that it is assigned to.
    pub(super) provider: Option<ClusterName>,
    /// The move that is under way.
    pub(super) moving: Option<Moving>,
    /// What is seen under its copy's name, by provider.
    pub(super) copies: Vec<CopyRow>,
    /// At how many more providers anything is.
    pub(super) more_copies: usize,
    /// The name of its copy, wherever that is.
    pub(super) copy: ObjectKey,
    /// What the broker has brought to it: kind and name.
    pub(super) related: Vec<String>,
    /// How many more of these there are.
    pub(super) more_related: usize,
    /// Its Migrations, the latest first.
    pub(super) migrations: Vec<MigrationRow>,
}

/// What is known of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// It is there.
    There,
    /// It is there, and being deleted.
    Deleting,
    /// There is none.
    Absent,
    /// Nobody can tell.
    Unknown,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Said {
    /// Its type.
    pub(super) kind: String,
    /// `True`, `False` or `Unknown`.
    pub(super) status: String,
    /// Its reason.
    pub(super) reason: String,
    /// Its message.
    pub(super) message: String,
}

/// What is under the copy's name at one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CopyRow {
    /// The provider.
    pub(super) provider: ClusterName,
    /// How it stands with the provider; `None`: it is not engaged.
    pub(super) health: Option<Health>,
    /// What it is to the object.
    pub(super) part: Part,
    /// What is seen there.
    pub(super) presence: Presence,
    /// Why it is not ready.
    pub(super) unready: Option<String>,
}

/// What a provider is to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// It serves it.
    Serves,
    /// It serves it until another does.
    Leaves,
    /// It is to serve it.
    TakesOver,
    /// It holds a copy that it does not serve it with, or was named in a Migration.
    Holds,
    /// It has something else under the name of the copy.
    Foreign,
}

/// Which object a query is about. `None`: none that is brokered.
pub(super) fn key_of(broker: &Broker, query: Query<'_>) -> Option<OriginKey> {
    let (kind, name) = (query.value("kind"), query.value("name"));
    let cluster = ClusterName::written(Role::Consumer, &query.value("cluster"));
    let fits = |text: &str| text == kind || text.split('.').next() == Some(kind.as_str());
    let brokered = broker.watches.brokered.iter().find(|brokered| fits(&kind_text(&brokered.kind)))?;
    let place = ObjectKey::new(query.value("namespace"), name);
    let is_named = !cluster.name().is_empty() && !place.name.is_empty();
    is_named.then(|| origin_key(&cluster, &brokered.kind, &place))
}

/// What is held of one object. Where memory is tight that is no more than which it is, and that it is there.
struct Held {
    presence: Presence,
    uid: Option<Box<str>>,
    view: Option<View>,
}

impl Held {
    /// In a cluster; `None`: it is not engaged.
    fn of(broker: &Broker, cluster: Option<&Cluster>, spec: &WatchSpec, key: &ObjectKey) -> Self {
        let lookup = cluster.and_then(|cluster| cluster.index(spec)).map_or(Lookup::Unknown, |index| index.get(key));
        let (presence, uid) = match lookup {
            Lookup::Unknown => (Presence::Unknown, None),
            Lookup::Absent => (Presence::Absent, None),
            Lookup::Found(object) if object.deleting => (Presence::Deleting, Some(object.uid.clone())),
            Lookup::Found(object) => (Presence::There, Some(object.uid.clone())),
        };
        let view = cluster.and_then(|cluster| match broker.engine.look(cluster, spec, key) {
            Seen::Present(view) => Some(view),
            Seen::Unknown | Seen::Absent => None,
        });
        Self { presence, uid, view }
    }
}

fn said(view: &View) -> Vec<Said> {
    let conditions = view.status().and_then(|status| status["conditions"].as_array());
    let read = |entry: &Value| {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        Said { kind: text("type"), status: text("status"), reason: text("reason"), message: text("message") }
    };
    let of = |kind: &&str| conditions.into_iter().flatten().find(|entry| entry["type"] == *kind).map(read);
    CONDITIONS.iter().filter_map(of).collect()
}

/// What was decided last.
#[derive(Debug, Default)]
struct Decided {
    state: Option<State>,
    provider: Option<ClusterName>,
    counts_at: Option<String>,
    moving: Option<Moving>,
}

impl Decided {
    fn of(broker: &Broker, key: &OriginKey) -> Self {
        let read = broker.origins.records.with(key, |record| Self {
            state: Some(record.state()),
            provider: record.provider().cloned(),
            counts_at: record.counts_at().map(ToString::to_string),
            moving: record.moving().cloned(),
        });
        read.unwrap_or_default()
    }

    fn part(&self, provider: &ClusterName) -> Option<Part> {
        let moving = self.moving.as_ref();
        if moving.is_some_and(|moving| moving.to == *provider) {
            return Some(Part::TakesOver);
        }
        if moving.is_some_and(|moving| moving.from == *provider) {
            return Some(Part::Leaves);
        }
        (self.provider.as_ref() == Some(provider)).then_some(Part::Serves)
    }
}

impl Trace {
    /// Of an object, as of now.
    pub(super) fn of(broker: &Broker, key: &OriginKey) -> Option<Self> {
        let spec = broker.watches.spec_of(Role::Consumer, &key.gvk)?;
        let place = object_key(key);
        let consumer = broker.fleet().cluster(&key.cluster);
        let origin = Held::of(broker, consumer.as_deref(), spec, &place);
        let uid = origin.uid.as_deref();
        let decided = Decided::of(broker, key);
        let migrations = uid.map(|uid| broker.migrations_of(key, uid)).unwrap_or_default();
        let copy = copy_key(key);
        let mut providers: BTreeSet<ClusterName> = broker.copy_holders(&key.gvk, &copy).into_iter().collect();
        providers.extend(decided.provider.clone());
        providers.extend(decided.moving.iter().flat_map(|moving| [moving.from.clone(), moving.to.clone()]));
        // Those that matter first, and no more are looked at than are shown: each is an object to be read.
        let mut providers: Vec<ClusterName> = providers.into_iter().collect();
        providers.sort_by_key(|provider| decided.part(provider).unwrap_or(Part::Holds));
        let more_copies = providers.len().saturating_sub(COPIES);
        providers.truncate(COPIES);
        let at = |provider| CopyRow::of(broker, key, uid, spec, &copy, &decided, provider);
        let mut copies: Vec<CopyRow> = providers.into_iter().map(at).collect();
        copies.sort_by(|a, b| (a.part, &a.provider).cmp(&(b.part, &b.provider)));
        let (related, more_related) = uid.map(|uid| related(broker, key, uid)).unwrap_or_default();
        let latest = migrations.iter().rev().take(MIGRATIONS);
        let row = |namespace: &str, name: &str| MigrationRow::of(broker, &ObjectKey::new(namespace, name));
        Some(Self {
            key: key.clone(),
            origin: origin.presence,
            state: decided.state,
            conditions: origin.view.as_ref().map(said).unwrap_or_default(),
            counts_at: decided.counts_at,
            provider: decided.provider,
            moving: decided.moving,
            copies,
            more_copies,
            copy,
            related,
            more_related,
            migrations: latest.filter_map(|migration| row(&migration.namespace, &migration.name)).collect(),
        })
    }

    /// Whether there is such an object, or was one until a moment ago.
    pub(super) fn is_known(&self) -> bool {
        self.state.is_some() || matches!(self.origin, Presence::There | Presence::Deleting)
    }
}

impl CopyRow {
    fn of(
        broker: &Broker,
        key: &OriginKey,
        uid: Option<&str>,
        spec: &WatchSpec,
        copy: &ObjectKey,
        decided: &Decided,
        provider: ClusterName,
    ) -> Self {
        let cluster = broker.fleet().cluster(&provider);
        let held = Held::of(broker, cluster.as_deref(), spec, copy);
        let ring = broker.signing.ring.load_full();
        // Without the object, or without keys, nobody can tell whose copy it is.
        let is_foreign = held
            .view
            .as_ref()
            .zip(uid)
            .zip(ring)
            .is_some_and(|((view, uid), ring)| copy::signed_origin(key, uid, &provider, view, &ring).is_none());
        let unready = match (&held.view, cluster.as_ref()) {
            (Some(view), Some(cluster)) => match serving(&broker.clusters, cluster, &key.gvk) {
                Serving::Served(kind) => unready(view, &kind.schema, kind.has_status),
                Serving::Unknown | Serving::Missing => Some(NOT_SERVED.to_owned()),
            },
            _ => (held.presence == Presence::There).then(|| NOT_HELD.to_owned()),
        };
        let part = if is_foreign { Part::Foreign } else { decided.part(&provider).unwrap_or(Part::Holds) };
        Self { health: cluster.map(|cluster| Health::of(&cluster).0), part, presence: held.presence, unready, provider }
    }
}

/// What the broker has brought to the object with this uid: kinds and names, and how many more there are.
fn related(broker: &Broker, key: &OriginKey, uid: &str) -> (Vec<String>, usize) {
    let Some(consumer) = broker.fleet().cluster(&key.cluster) else { return (Vec::new(), 0) };
    let (mut named, mut more) = (Vec::new(), 0);
    for related in &broker.watches.related {
        let Some(index) = consumer.index(&related.target) else { continue };
        let mut keys = index.sorted(BY_OWNER.name, uid);
        keys.retain(|owned| owned.namespace == key.namespace);
        keys.sort_unstable();
        let room = RELATED - named.len();
        more += keys.len().saturating_sub(room);
        named.extend(keys.iter().take(room).map(|owned| format!("{} {}", related.kind.kind, owned.name)));
    }
    (named, more)
}

#[cfg(test)]
mod tests {
    use runtime_engine::view::view;
    use serde_json::json;

    use super::*;
    use crate::conventions;

    fn key(broker: &Broker, query: &str) -> Option<String> {
        key_of(broker, Query::new(Some(query))).map(|key| key.to_string())
    }

    #[tokio::test]
    async fn a_query_names_an_object_of_a_brokered_kind() {
        let (broker, _channels) = Broker::of_one_kind();
        for query in
            ["cluster=consumer%23homer&kind=K.v1.g&namespace=n&name=cert", "cluster=homer&kind=K&namespace=n&name=cert"]
        {
            assert_eq!(key(&broker, query).as_deref(), Some("consumer#homer K n/cert"), "{query}");
        }
        for query in [
            "",
            "cluster=homer&kind=Other&name=cert",
            "cluster=homer&kind=K",
            "kind=K&name=cert",
            "cluster=homer&name=cert",
        ] {
            assert_eq!(key(&broker, query), None, "{query}");
        }
    }

    #[tokio::test]
    async fn of_what_nobody_knows_nothing_is_told() {
        let (broker, _channels) = Broker::of_one_kind();
        let query = Query::new(Some("cluster=homer&kind=K&namespace=n&name=cert"));
        let key = key_of(&broker, query).unwrap();
        let trace = Trace::of(&broker, &key).unwrap();
        assert_eq!((trace.origin, trace.state, trace.is_known()), (Presence::Unknown, None, false));
        assert!(trace.copies.is_empty() && trace.related.is_empty() && trace.migrations.is_empty());
        assert!(trace.copy.name.ends_with("-cert"));
    }

    #[test]
    fn conditions_are_told_in_their_order() {
        let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "R", "message": "m"});
        let object = json!({
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"},
            "status": {"conditions": [condition("Other"), condition("Brokered"), condition("Ready"), 7]},
        });
        let seen = view(&conventions::object(&object).1).unwrap();
        let told = said(&seen);
        let kinds: Vec<&str> = told.iter().map(|said| said.kind.as_str()).collect();
        assert_eq!(kinds, ["Ready", "Brokered"]);
        assert_eq!((told[0].status.as_str(), told[0].reason.as_str()), ("True", "R"));
    }

    #[test]
    fn a_provider_has_one_part() {
        let [one, two, three] = ["one", "two", "three"].map(ClusterName::provider);
        let still = Decided { provider: Some(one.clone()), ..Decided::default() };
        assert_eq!((still.part(&one), still.part(&two)), (Some(Part::Serves), None));
        let phase = broker_core::movement::Phase::Copying;
        let moving =
            Moving { from: one.clone(), to: two.clone(), epoch: 1, migration: None, phase, waits_for: String::new() };
        let moving = Decided { provider: Some(one.clone()), moving: Some(moving), ..Decided::default() };
        let parts = [&one, &two, &three].map(|provider| moving.part(provider));
        assert_eq!(parts, [Some(Part::Leaves), Some(Part::TakesOver), None]);
    }
}
