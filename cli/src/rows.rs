//! What tables tell of each thing. Columns that people do not need at first are those of `-o wide`.

use broker_api::{ClusterName, Role, keys};
use k8s_openapi::jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    age,
    cluster::{Cluster, Trouble},
    object::annotation,
    standing::Standing,
    table::{AGE, Column, Row, WIDE_AGE, column, wide},
};

/// A text of an object; `None`: it has none there, or something else.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn part(object: &Value, name: &str) -> String {
    text(&object["metadata"][name]).unwrap_or_default()
}

fn age_of(object: &Value) -> Option<i64> {
    age::seconds(object["metadata"]["creationTimestamp"].as_str()?, Timestamp::now())
}

/// A cluster, as `clusters` lists it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ClusterRow {
    /// Its name.
    pub(crate) name: String,
    /// `coordination`, `compute`, `consumer`, `provider` or `spoke`.
    pub(crate) role: &'static str,
    /// Whether it answers, and takes the credentials.
    pub(crate) reachable: bool,
    /// Its version, such as `v1.36.2`.
    pub(crate) version: Option<String>,
    /// Why it is not reachable.
    pub(crate) why: Option<String>,
}

impl Row for ClusterRow {
    const COLUMNS: &'static [Column] =
        &[column("NAME"), column("ROLE"), column("REACHABLE"), column("VERSION"), wide("WHY")];
}

impl ClusterRow {
    /// Of a cluster, by what it says of its version.
    pub(crate) fn of(cluster: &Cluster, version: Result<Value, Trouble>) -> Self {
        let (version, why) = match version {
            Ok(version) => (text(&version["gitVersion"]), None),
            Err(trouble) => (None, Some(trouble.to_string())),
        };
        let (name, role) = (cluster.name.name().to_owned(), cluster.name.role().as_str());
        Self { name, role, reachable: why.is_none(), version, why }
    }
}

/// An AcceptAPI, as `acceptapis` lists it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AcceptApiRow {
    /// Its provider.
    pub(crate) provider: String,
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// The resource that it speaks of: `plural.version.group`.
    pub(crate) resource: String,
    /// Whether the broker uses it; null: the broker has said nothing of it.
    pub(crate) ready: Option<bool>,
    /// How many objects it holds.
    pub(crate) placed: Option<u64>,
    /// How many it holds at the most; null: any number.
    pub(crate) capacity: Option<u64>,
    /// Its priority.
    pub(crate) priority: i64,
    /// Its weight among those of its priority.
    pub(crate) weight: u64,
    /// What people have asked of it: `open`, `cordoned`, `draining`, `rebalancing`; several with commas.
    pub(crate) state: String,
    /// Seconds since it was made.
    pub(crate) age_seconds: Option<i64>,
    /// Why it is not used.
    pub(crate) why: Option<String>,
}

impl Row for AcceptApiRow {
    const COLUMNS: &'static [Column] = &[
        column("PROVIDER"),
        column("NAMESPACE"),
        column("NAME"),
        column("RESOURCE"),
        column("READY"),
        column("PLACED"),
        column("CAPACITY"),
        column("PRIORITY"),
        wide("WEIGHT"),
        column("STATE"),
        WIDE_AGE,
        wide("WHY"),
    ];
}

impl AcceptApiRow {
    /// Of an AcceptAPI of a provider.
    pub(crate) fn of(provider: &Cluster, one: &Value) -> Self {
        let spec = &one["spec"];
        let of_gvr = |name: &str| spec["gvr"][name].as_str().unwrap_or_default();
        let resource = [of_gvr("resource"), of_gvr("version"), of_gvr("group")].join(".");
        let said = Standing::of(one);
        Self {
            provider: provider.name.name().to_owned(),
            namespace: part(one, "namespace"),
            name: part(one, "name"),
            resource: resource.trim_end_matches('.').to_owned(),
            ready: said.good,
            placed: one["status"]["placed"].as_u64(),
            capacity: spec["capacity"].as_u64(),
            priority: spec["priority"].as_i64().unwrap_or_default(),
            weight: spec["weight"].as_u64().unwrap_or(1),
            state: asked_of(one),
            age_seconds: age_of(one),
            why: said.message,
        }
    }
}

/// What people have asked of an AcceptAPI.
fn asked_of(one: &Value) -> String {
    let is_on = |key| annotation(one, key) == Some(keys::TRUE);
    let cordoned = one["spec"]["cordoned"] == true;
    let words = [
        (cordoned && is_on(keys::DRAIN), "draining"),
        (cordoned && !is_on(keys::DRAIN), "cordoned"),
        (is_on(keys::REBALANCE), "rebalancing"),
    ];
    let told: Vec<&str> = words.into_iter().filter_map(|(said, word)| said.then_some(word)).collect();
    if told.is_empty() { "open".to_owned() } else { told.join(",") }
}

/// An object of a consumer, as `objects` lists it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ObjectRow {
    /// Its consumer.
    pub(crate) consumer: String,
    /// Its namespace; empty where it has none.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// The provider that it says it is at.
    pub(crate) provider: Option<String>,
    /// The provider that it says it moves to.
    pub(crate) moving_to: Option<String>,
    /// How it does, in a few words; null: it says nothing of that.
    pub(crate) status: Option<String>,
    /// Seconds since it was made.
    pub(crate) age_seconds: Option<i64>,
    /// What is wrong.
    pub(crate) why: Option<String>,
}

impl Row for ObjectRow {
    const COLUMNS: &'static [Column] = &[
        column("CONSUMER"),
        column("NAMESPACE"),
        column("NAME"),
        column("PROVIDER"),
        wide("MOVING TO"),
        column("STATUS"),
        AGE,
        wide("WHY"),
    ];
}

impl ObjectRow {
    /// Of an object of a consumer.
    pub(crate) fn of(consumer: &Cluster, one: &Value) -> Self {
        let said = Standing::of(one);
        let marked = |key| annotation(one, key).map(str::to_owned);
        Self {
            consumer: consumer.name.name().to_owned(),
            namespace: part(one, "namespace"),
            name: part(one, "name"),
            provider: marked(keys::PROVIDER_CLUSTER),
            moving_to: marked(keys::NEW_PROVIDER_CLUSTER),
            status: Some(said.summary).filter(|summary| !summary.is_empty()),
            age_seconds: age_of(one),
            why: said.message,
        }
    }
}

/// A Migration, as `migrations` lists it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MigrationRow {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// Kind of the object that moves.
    pub(crate) kind: Option<String>,
    /// The provider that it leaves.
    pub(crate) from: String,
    /// The provider that it moves to.
    pub(crate) to: String,
    /// How far it is, in a word; null: nobody has looked at it yet.
    pub(crate) state: Option<String>,
    /// The stage that runs.
    pub(crate) stage: Option<String>,
    /// Seconds since it was made.
    pub(crate) age_seconds: Option<i64>,
    /// Name of the copy.
    pub(crate) copy: Option<String>,
    /// What is wrong.
    pub(crate) why: Option<String>,
}

impl Row for MigrationRow {
    const COLUMNS: &'static [Column] = &[
        column("NAMESPACE"),
        column("NAME"),
        column("KIND"),
        column("FROM"),
        column("TO"),
        column("STATE"),
        column("STAGE"),
        AGE,
        wide("COPY"),
        wide("WHY"),
    ];
}

impl MigrationRow {
    /// Of a Migration.
    pub(crate) fn of(one: &Value) -> Self {
        let side = |side: &str| {
            let written = one["spec"][side]["clusterName"].as_str().unwrap_or_default();
            ClusterName::written(Role::Provider, written).name().to_owned()
        };
        Self {
            namespace: part(one, "namespace"),
            name: part(one, "name"),
            kind: text(&one["spec"]["from"]["gvk"]["kind"]),
            from: side("from"),
            to: side("to"),
            state: text(&one["status"]["state"]),
            stage: text(&one["status"]["stage"]),
            age_seconds: age_of(one),
            copy: text(&one["spec"]["from"]["name"]),
            why: Standing::of(one).message,
        }
    }
}

/// A ResourceGraphDefinition, as `graphs` lists it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GraphRow {
    /// Its cluster, such as `coordination#coordination`.
    pub(crate) cluster: String,
    /// Its name.
    pub(crate) name: String,
    /// The kind that it defines.
    pub(crate) kind: Option<String>,
    /// That kind's group.
    pub(crate) group: String,
    /// `Active`, or what it says instead.
    pub(crate) state: Option<String>,
    /// Its newest revision.
    pub(crate) revision: Option<i64>,
    /// The wave that gets it; null: all clusters have it, or it has no rollout.
    pub(crate) wave: Option<String>,
    /// How many clusters run it, of how many: `3/4`; null: it has no rollout.
    pub(crate) clusters: Option<String>,
    /// Seconds since it was made.
    pub(crate) age_seconds: Option<i64>,
    /// What is wrong.
    pub(crate) why: Option<String>,
}

impl Row for GraphRow {
    const COLUMNS: &'static [Column] = &[
        column("CLUSTER"),
        column("NAME"),
        column("KIND"),
        wide("GROUP"),
        column("STATE"),
        column("REVISION"),
        column("WAVE"),
        column("CLUSTERS"),
        AGE,
        wide("WHY"),
    ];
}

impl GraphRow {
    /// Of a ResourceGraphDefinition, and the rollout of its name.
    pub(crate) fn of(cluster: &Cluster, one: &Value, rollout: Option<&Value>) -> Self {
        let schema = &one["spec"]["schema"];
        let group = schema["group"].as_str().filter(|group| !group.is_empty());
        Self {
            cluster: cluster.name.to_string(),
            name: part(one, "name"),
            kind: text(&schema["kind"]),
            group: group.unwrap_or("kro.run").to_owned(),
            state: text(&one["status"]["state"]),
            revision: one["status"]["lastIssuedRevision"].as_i64(),
            wave: rollout.and_then(|rollout| text(&rollout["status"]["wave"])),
            clusters: rollout.and_then(updated),
            age_seconds: age_of(one),
            why: Standing::of(one).message,
        }
    }
}

/// `3/4`.
fn updated(rollout: &Value) -> Option<String> {
    let count = |name: &str| rollout["status"]["clusters"][name].as_u64();
    Some(format!("{}/{}", count("updated")?, count("total")?))
}

/// A ResourceGraphRollout, as `rollouts` lists it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RolloutRow {
    /// Its name, which is its ResourceGraphDefinition's.
    pub(crate) name: String,
    /// The revision that clusters get.
    pub(crate) target: Option<i64>,
    /// The wave that gets it; null: all clusters have it.
    pub(crate) wave: Option<String>,
    /// How many clusters run it, of how many: `3/4`.
    pub(crate) updated: Option<String>,
    /// How many clusters it has failed in.
    pub(crate) failed: Option<u64>,
    /// How many clusters cannot be reached.
    pub(crate) unreachable: Option<u64>,
    /// In how many clusters somebody else has the kind.
    pub(crate) conflicted: Option<u64>,
    /// Whether a person has paused it.
    pub(crate) paused: bool,
    /// Seconds since it was made.
    pub(crate) age_seconds: Option<i64>,
    /// What is wrong.
    pub(crate) why: Option<String>,
}

impl Row for RolloutRow {
    const COLUMNS: &'static [Column] = &[
        column("NAME"),
        column("TARGET"),
        column("WAVE"),
        column("UPDATED"),
        column("FAILED"),
        wide("UNREACHABLE"),
        wide("CONFLICTED"),
        column("PAUSED"),
        AGE,
        wide("WHY"),
    ];
}

impl RolloutRow {
    /// Of a ResourceGraphRollout.
    pub(crate) fn of(one: &Value) -> Self {
        let count = |name: &str| one["status"]["clusters"][name].as_u64();
        Self {
            name: part(one, "name"),
            target: one["status"]["targetRevision"].as_i64(),
            wave: text(&one["status"]["wave"]),
            updated: updated(one),
            failed: count("failed"),
            unreachable: count("unreachable"),
            conflicted: count("conflicted"),
            paused: one["spec"]["paused"] == true,
            age_seconds: age_of(one),
            why: Standing::of(one).message,
        }
    }
}

/// The columns of the table that a command prints; none where it prints none.
pub(crate) fn columns(command: &str) -> &'static [Column] {
    match command {
        "clusters" => ClusterRow::COLUMNS,
        "acceptapis" => AcceptApiRow::COLUMNS,
        "objects" => ObjectRow::COLUMNS,
        "migrations" => MigrationRow::COLUMNS,
        "graphs" => GraphRow::COLUMNS,
        "rollouts" => RolloutRow::COLUMNS,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_asked_of_a_provider_is_told_in_words() {
        let asked = |cordoned: bool, annotations: &[&str]| {
            let annotations: Value = annotations.iter().map(|key| ((*key).to_owned(), json!("true"))).collect();
            asked_of(&json!({ "metadata": { "annotations": annotations }, "spec": { "cordoned": cordoned } }))
        };
        assert_eq!((&*asked(false, &[]), &*asked(true, &[])), ("open", "cordoned"));
        assert_eq!(asked(true, &[keys::DRAIN]), "draining");
        assert_eq!(asked(false, &[keys::DRAIN, keys::REBALANCE]), "rebalancing");
    }

    #[test]
    fn a_graph_has_what_its_rollout_says() {
        let hub = Cluster::new(ClusterName::new(Role::Coordination, "coordination"), Err("asked nothing".into()));
        let one = json!({ "metadata": { "name": "web" }, "spec": { "schema": { "kind": "Web" } } });
        let rollout = json!({ "status": { "wave": "canary", "clusters": { "updated": 1, "total": 3 } } });
        let alone = GraphRow::of(&hub, &one, None);
        assert_eq!((&*alone.group, alone.clusters, alone.age_seconds), ("kro.run", None, None));
        let rolled = GraphRow::of(&hub, &one, Some(&rollout));
        assert_eq!((rolled.wave.as_deref(), rolled.clusters.as_deref()), (Some("canary"), Some("1/3")));
    }
}
