//! A provider that asks for its share of what is placed already, and how much of it has come.
//!
//! How much is still to come only a broker can tell: the production broker decides it in this process, as an onlooker. What the
//! one in the cluster keeps in its memory only is not known here: an object whose move it has given up for an hour is still to
//! come. Unknown is never absent: as long as a cluster does not tell, it is not over.

use std::{cell::Cell, time::Duration};

use anyhow::{Context as _, bail, ensure};
use broker_api::keys;
use broker_core::{acceptance::AcceptId, movement::Route, snapshot::OriginKey};
use clap::Args;
use runtime_effect::kind::Kind;
use serde_json::Value;
use tokio::{task::yield_now, time::Instant};

use crate::{
    access::Access,
    cluster::Cluster,
    clusters::Clusters,
    object::text,
    onlooker::{self, Looking, PATIENCE},
    paint::harmless,
    providers::{Ask, Provider, accept_apis, ask, bar},
    resource::Resources,
    wait::{Progress, Wait, goes_on},
};

/// How long a look waits for what is being decided.
const LOOK: Duration = Duration::from_secs(2);

/// So long nothing must be to come: what has just changed is decided on after two seconds at the most.
const SURE: Duration = Duration::from_secs(3);

/// So many objects are decided on in one go.
const BATCH: usize = 256;

/// Who asks for its share.
#[derive(Debug, Clone, Args)]
pub(crate) struct Rebalance {
    #[command(flatten)]
    provider: Provider,
    /// Namespace of the broker's own objects
    #[arg(long, value_name = "NAMESPACE", default_value = "resource-broker-system")]
    broker_namespace: String,
    #[command(flatten)]
    wait: Wait,
}

/// Asks for what would be placed there now, and waits until nothing more would come.
pub(crate) async fn rebalance(access: &Access, clusters: &Clusters, asked: &Rebalance) -> anyhow::Result<()> {
    let Rebalance { provider, broker_namespace, wait } = asked;
    ask(clusters, provider, Ask::Rebalance).await?;
    if wait.no_wait {
        goes_on();
        return Ok(());
    }
    let share = Share::of(access, clusters, provider, broker_namespace).await;
    let share = share.context("it goes on by itself, and how far it is cannot be told")?;
    wait.until(async || share.look().await).await
}

/// What a provider asks for, as a broker sees it.
struct Share<'a> {
    looking: Looking,
    begun: Instant,
    provider: &'a Cluster,
    asked: Vec<AcceptId>,
    /// How many objects were still to come at the most.
    most: Cell<usize>,
    /// Since when none is.
    none_since: Cell<Option<Instant>>,
}

impl<'a> Share<'a> {
    async fn of(
        access: &Access,
        clusters: &'a Clusters,
        asked: &Provider,
        broker_namespace: &str,
    ) -> anyhow::Result<Self> {
        let provider = clusters.provider(&asked.name)?;
        let accept_apis = accept_apis(provider, asked.acceptapi.as_deref()).await?;
        let kinds = kinds(&accept_apis, provider.resources().await?);
        ensure!(!kinds.is_empty(), "{} serves nothing of what its AcceptAPIs speak of", provider.name);
        let (options, notes) = onlooker::options(&clusters.hub, access, &kinds, broker_namespace).await?;
        let options = options.context("no broker brokers what this provider accepts")?;
        let left_out = |kind: &&Kind| !options.watch_kind.iter().any(|flag| flag.0 == **kind);
        let left_out =
            kinds.iter().filter(left_out).map(|kind| format!("{} is not brokered with the others", kind.kind));
        for note in notes.into_iter().chain(left_out) {
            eprintln!("not known: {}", harmless(&note));
        }
        let id = |one: &Value| AcceptId {
            provider: provider.name.clone(),
            namespace: text(one, "/metadata/namespace").into(),
            name: text(one, "/metadata/name").into(),
        };
        Ok(Self {
            looking: Looking::begin(options, access).await?,
            begun: Instant::now(),
            provider,
            asked: accept_apis.iter().map(id).collect(),
            most: Cell::new(0),
            none_since: Cell::new(None),
        })
    }

    /// How far it is.
    async fn look(&self) -> anyhow::Result<Progress> {
        let is_settled = self.looking.is_in_step(LOOK).await;
        if let Some(blind) = self.looking.blind().filter(|_| self.begun.elapsed() > PATIENCE) {
            bail!("{blind}");
        }
        let unknown = self.unknown();
        if !is_settled {
            let why = unknown.first().map(|why| format!(": {why}")).unwrap_or_default();
            return Ok(Progress::Under(format!("what is to come is not known yet{why}")));
        }
        let left = self.left().await;
        self.most.set(self.most.get().max(left));
        if left > 0 {
            self.none_since.set(None);
            return Ok(Progress::Under(told(self.most.get(), left)));
        }
        if let Some(why) = unknown.first() {
            self.none_since.set(None);
            return Ok(Progress::Under(format!("nothing more is seen to come, and not all is known: {why}")));
        }
        let name = self.provider.name.name();
        let without: Vec<String> = self.without().map(ToString::to_string).collect();
        let since = self.none_since.get().unwrap_or_else(Instant::now);
        self.none_since.set(Some(since));
        let end = |end: fn(String) -> Progress, said: String| {
            if since.elapsed() < SURE {
                Progress::Under("nothing more is to come, it seems".to_owned())
            } else {
                end(said)
            }
        };
        Ok(if without.len() == self.asked.len() {
            end(
                Progress::Failed,
                format!(
                    "provider {name} gets no share: the platform has to allow it (annotation {} on its cluster Secret; allowRebalance in the policy beside its kubeconfig file), and an AcceptAPI has to be Ready",
                    keys::ALLOW_REBALANCE
                ),
            )
        } else if without.is_empty() {
            end(Progress::Done, format!("nothing more is to come to provider {name}"))
        } else {
            let without = without.join(", ");
            end(
                Progress::Done,
                format!(
                    "nothing more is to come to provider {name}; without a share, for they are not Ready: {without}"
                ),
            )
        })
    }

    /// What is not known on which it depends.
    fn unknown(&self) -> Vec<String> {
        let mut unknown = self.looking.unknown();
        let broker = self.looking.broker();
        let mut note = |known: bool, what: &str| {
            if !known {
                unknown.push(format!("{what} cannot be read"));
            }
        };
        note(broker.migrations_known(), "Migrations in the coordination cluster");
        note(broker.configurations_known(), "MigrationConfigurations in the coordination cluster");
        note(broker.accept_apis.load().knows(&self.provider.name), "AcceptAPIs of the provider");
        unknown
    }

    /// How many objects move there, or would. All are decided anew: what an onlooker has decided before it never carries out.
    async fn left(&self) -> usize {
        let broker = self.looking.broker();
        let route = Route::Rebalance { to: self.provider.name.clone() };
        let mut left = 0;
        for keys in broker.origins.records.all().chunks(BATCH) {
            let moves =
                |key: &&OriginKey| broker.explain(key).is_some_and(|told| told.decision.route.as_ref() == Some(&route));
            left += keys.iter().filter(moves).count();
            // Somebody may have pressed Ctrl-C.
            yield_now().await;
        }
        left
    }

    /// The AcceptAPIs that get no share, whatever they ask for.
    fn without(&self) -> impl Iterator<Item = &AcceptId> {
        let registry = self.looking.broker().accept_apis.load();
        self.asked.iter().filter(move |id| !registry.rebalances(id))
    }
}

/// The kinds that AcceptAPIs speak of.
fn kinds(accept_apis: &[Value], served: &Resources) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for accept in accept_apis {
        let gvr = |field: &str| text(accept, &format!("/spec/gvr/{field}"));
        if let Some(resource) = served.of_plural(gvr("group"), gvr("version"), gvr("resource"))
            && !kinds.contains(&resource.kind)
        {
            kinds.push(resource.kind.clone());
        }
    }
    kinds
}

fn told(most: usize, left: usize) -> String {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    format!("{} {left} of {most} objects are still to come", bar(count(most), count(left)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::Resource;

    #[test]
    fn kinds_are_those_that_the_provider_serves_under_their_plural() {
        let served = Resources::these([
            Resource::named("cert.io", "v1", "Certificate", "certificates"),
            Resource::named("x.io", "v1", "VM", "vms"),
        ]);
        let accepts = |group: &str, resource: &str| json!({"spec": {"gvr": {"group": group, "version": "v1", "resource": resource}}});
        let all = [accepts("cert.io", "certificates"), accepts("cert.io", "certificates"), accepts("x.io", "machines")];
        let names: Vec<String> = kinds(&all, &served).into_iter().map(|kind| kind.kind).collect();
        assert_eq!(names, ["Certificate"]);
    }

    #[test]
    fn it_is_told_how_many_are_left_of_the_most_that_were() {
        assert_eq!(told(4, 1), "[###############-----] 1 of 4 objects are still to come");
    }
}
