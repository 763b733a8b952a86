//! Graphs and how they get to clusters: tables, and what is asked of a rollout.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use broker_api::graphs::WaveState;
use clap::{Args, Subcommand};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, Place, Trouble},
    clusters::Clusters,
    lists::{Listed, listed},
    object::text,
    output::Printing,
    resource::Resource,
    rows::{GraphRow, RolloutRow},
    wait::{Progress, Wait},
};

/// What is asked of a rollout.
#[derive(Debug, Clone, Args)]
pub(crate) struct Rollout {
    #[command(subcommand)]
    pub(crate) command: RolloutCommand,
}

/// What is asked of a rollout; graphs are named as their ResourceGraphDefinition is.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum RolloutCommand {
    /// How far it is, until it is done
    Status {
        /// The graph
        graph: String,
        #[command(flatten)]
        wait: Wait,
    },
    /// No further cluster begins until it is resumed
    Pause {
        /// The graph
        graph: String,
    },
    /// It goes on, until it is done
    Resume {
        /// The graph
        graph: String,
        #[command(flatten)]
        wait: Wait,
    },
    /// All clusters that are not pinned get an earlier revision, until all have it
    Undo {
        /// The graph
        graph: String,
        /// Which; the one before the target unless it is given
        #[arg(long, value_name = "REVISION")]
        to_revision: Option<i64>,
        #[command(flatten)]
        wait: Wait,
    },
}

fn rollouts() -> Resource {
    Resource::ours("ResourceGraphRollout", "resourcegraphrollouts").cluster_wide()
}

/// All rollouts; none where the kind is not installed.
async fn all(clusters: &Clusters) -> Result<Vec<Value>, Trouble> {
    match clusters.hub.list(&rollouts(), None, None).await {
        Err(Trouble::NotServed(_)) => Ok(Vec::new()),
        read => read,
    }
}

/// `kubectl broker graphs`.
pub(crate) async fn graphs(clusters: &Clusters, printing: &Printing) -> anyhow::Result<Listed> {
    let definitions = Resource::definitions();
    let places: Vec<&Cluster> = std::iter::once(&clusters.hub).chain(clusters.others()).collect();
    let lists = join_all(places.iter().map(|cluster| cluster.list(&definitions, None, None)));
    let (lists, rollouts) = futures::join!(lists, all(clusters));
    let rollouts = rollouts?;
    let (mut rows, mut unknown) = (Vec::new(), clusters.unknown.clone());
    // An API server may be several clusters.
    let mut seen = BTreeSet::new();
    for (cluster, list) in places.into_iter().zip(lists) {
        // Only a hub brings its definitions to others.
        let is_hub = cluster.name == clusters.hub.name;
        let of = |one: &Value| {
            let same = |rollout: &&Value| rollout["metadata"]["name"] == one["metadata"]["name"];
            GraphRow::of(cluster, one, rollouts.iter().filter(|_| is_hub).find(same))
        };
        match list {
            Ok(list) => {
                rows.extend(list.iter().filter(|one| seen.insert(text(one, "/metadata/uid").to_owned())).map(of));
            }
            Err(Trouble::NotServed(_)) => {}
            // What a broker may do in its members has nothing to do with definitions.
            Err(Trouble::Forbidden(_)) if !is_hub => {}
            Err(trouble) => unknown.push(trouble.to_string()),
        }
    }
    listed(rows, printing, unknown)
}

/// `kubectl broker rollouts`.
pub(crate) async fn list(clusters: &Clusters, printing: &Printing) -> anyhow::Result<Listed> {
    listed(all(clusters).await?.iter().map(RolloutRow::of).collect(), printing, Vec::new())
}

async fn get(clusters: &Clusters, graph: &str) -> anyhow::Result<Value> {
    let place = Place { namespace: "", name: graph };
    let found = match clusters.hub.get(&rollouts(), place).await {
        Err(Trouble::NotServed(_)) => bail!("no ResourceGraphRollouts are served here: is the distributor installed?"),
        read => read?,
    };
    found.with_context(|| {
        format!("there is no ResourceGraphRollout {graph}: without one every cluster gets each revision at once")
    })
}

/// Asks it of a rollout.
pub(crate) async fn ask(clusters: &Clusters, Rollout { command }: &Rollout) -> anyhow::Result<()> {
    let (graph, spec, told, wait) = match command {
        RolloutCommand::Status { graph, wait } => {
            get(clusters, graph).await?;
            return follow(clusters, graph, *wait).await;
        }
        RolloutCommand::Pause { graph } => {
            (graph, json!({ "paused": true }), "no further cluster begins".to_owned(), None)
        }
        RolloutCommand::Resume { graph, wait } => (graph, json!({ "paused": false }), "goes on".to_owned(), Some(wait)),
        RolloutCommand::Undo { graph, to_revision, wait } => {
            let to = match to_revision {
                Some(revision) => *revision,
                None => previous(clusters, graph, &get(clusters, graph).await?).await?,
            };
            (graph, json!({ "revision": to }), format!("goes back to revision {to}"), Some(wait))
        }
    };
    let rollout = get(clusters, graph).await?;
    // Nobody else's change in between is undone.
    let patch = json!({ "metadata": { "resourceVersion": rollout["metadata"]["resourceVersion"] }, "spec": spec });
    clusters.hub.patch(&rollouts(), Place { namespace: "", name: graph }, &patch).await?;
    println!("ResourceGraphRollout {graph}: {told}");
    match wait {
        Some(wait) => follow(clusters, graph, *wait).await,
        None => Ok(()),
    }
}

/// Tells how far it is, until it is done.
async fn follow(clusters: &Clusters, graph: &str, wait: Wait) -> anyhow::Result<()> {
    wait.until(async || Ok(progress(&get(clusters, graph).await?))).await
}

/// The newest revision before the target that is still kept.
async fn previous(clusters: &Clusters, graph: &str, rollout: &Value) -> anyhow::Result<i64> {
    let target = rollout["status"]["targetRevision"].as_i64();
    let target = target.with_context(|| format!("ResourceGraphRollout {graph} has no target yet"))?;
    let kept = clusters.hub.list(&Resource::revisions(), None, None).await?;
    before(&kept, graph, target)
        .with_context(|| format!("no revision of {graph} before {target} is kept: `kubectl get graphrevisions`"))
}

fn before(kept: &[Value], graph: &str, target: i64) -> Option<i64> {
    let ours = kept.iter().filter(|one| one["spec"]["snapshot"]["name"] == *graph);
    ours.filter_map(|one| one["spec"]["revision"].as_i64()).filter(|revision| *revision < target).max()
}

/// How far a rollout is.
fn progress(rollout: &Value) -> Progress {
    let status = &rollout["status"];
    let count = |name: &str| status["clusters"][name].as_u64().unwrap_or_default();
    let condition = |name: &str| {
        let all = status["conditions"].as_array().into_iter().flatten();
        all.filter(|one| one["type"] == name).find(|one| one["status"] == "True")
    };
    let message = |one: &Value| one["message"].as_str().unwrap_or_default().to_owned();
    let target = status["targetRevision"].as_i64().unwrap_or_default();
    let current = status["observedGeneration"] == rollout["metadata"]["generation"];
    let line = format!(
        "revision {target}, {}: {} of {} clusters updated, {} failed, {} unreachable",
        waves(rollout),
        count("updated"),
        count("total"),
        count("failed"),
        count("unreachable")
    );
    if !current {
        return Progress::Under("the controller has not seen the last edit yet".into());
    }
    if condition("Available").is_some() {
        return Progress::Done(format!("revision {target} runs in all {} clusters", count("total")));
    }
    match condition("Degraded") {
        Some(degraded) if condition("Progressing").is_none() => {
            Progress::Failed(format!("{line}: {}{}", message(degraded), failing(status)))
        }
        Some(_) | None if rollout["spec"]["paused"] == true => {
            Progress::Failed(format!("{line}; it is paused{}", failing(status)))
        }
        Some(degraded) => Progress::Under(format!("{line}: {}", message(degraded))),
        None => Progress::Under(line),
    }
}

/// How it stands with each wave, in their order; the last is of all clusters that are in none.
fn waves(rollout: &Value) -> String {
    let waves = rollout["spec"]["waves"].as_array().into_iter().flatten();
    let mut names: Vec<String> = waves.filter_map(|wave| wave["name"].as_str().map(str::to_owned)).collect();
    names.push(String::new());
    let (turn, target) = (rollout["status"]["wave"].as_str(), &rollout["status"]["targetRevision"]);
    let stands = WaveState::of_each(&names, turn, !target.is_null());
    let all = names.iter().zip(stands).map(|(name, stands)| {
        let name = match (name.as_str(), names.len()) {
            ("", 1) => "all clusters",
            ("", _) => "the others",
            (name, _) => name,
        };
        format!("{name} {}", stands.word().to_lowercase())
    });
    all.collect::<Vec<_>>().join(", ")
}

/// The clusters that fail, a line each.
fn failing(status: &Value) -> String {
    let all = status["failing"].as_array().into_iter().flatten();
    all.fold(String::new(), |told, one| {
        let part = |name: &str| one[name].as_str().unwrap_or_default();
        told + &format!("\n  {}: {}: {}", part("cluster"), part("reason"), part("message"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_goes_back_to_the_newest_before_its_target() {
        let revision =
            |graph: &str, number: i64| json!({ "spec": { "revision": number, "snapshot": { "name": graph } } });
        let kept = [revision("a", 1), revision("a", 3), revision("a", 5), revision("b", 4)];
        assert_eq!((before(&kept, "a", 5), before(&kept, "a", 1)), (Some(3), None));
    }

    #[test]
    fn it_is_done_once_all_clusters_run_it_and_what_is_said_is_of_the_last_edit() {
        let rollout = |observed: i64, available: &str| {
            json!({ "metadata": { "generation": 2 }, "status": {
                "observedGeneration": observed, "targetRevision": 3, "clusters": { "total": 2, "updated": 2 },
                "conditions": [{ "type": "Available", "status": available }] } })
        };
        assert!(matches!(progress(&rollout(1, "True")), Progress::Under(_)));
        assert!(matches!(progress(&rollout(2, "False")), Progress::Under(_)));
        assert!(matches!(progress(&rollout(2, "True")), Progress::Done(_)));
    }

    #[test]
    fn each_wave_is_told_and_the_clusters_that_fail() {
        let mut rollout = json!({ "metadata": { "generation": 1 },
            "spec": { "waves": [{ "name": "canary" }, { "name": "europe" }] },
            "status": { "observedGeneration": 1, "targetRevision": 3, "wave": "europe",
                "clusters": { "total": 9, "updated": 2, "failed": 1 },
                "failing": [{ "cluster": "spoke#paris", "reason": "Denied", "message": "no right" }],
                "conditions": [{ "type": "Degraded", "status": "True", "message": "too many fail" }] } });
        let Progress::Failed(said) = progress(&rollout) else { panic!("it goes no further") };
        assert_eq!(
            said,
            "revision 3, canary done, europe now, the others to come: 2 of 9 clusters updated, 1 failed, 0 unreachable: \
             too many fail\n  spoke#paris: Denied: no right"
        );
        rollout["status"]["wave"] = json!("");
        assert_eq!(waves(&rollout), "canary done, europe done, the others now");
        rollout["spec"] = json!({});
        assert_eq!(waves(&rollout), "all clusters now");
    }
}
