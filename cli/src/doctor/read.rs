//! Reads all that is judged: all clusters at once, each within its own time, so that none holds the others up.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    time::Duration,
};

use broker_api::{
    ClusterName, Role,
    keys::{SIGNING_KEY_BACKUP, SIGNING_KEY_SECRET},
};
use futures::future::join_all;
use k8s_openapi::jiff::Timestamp;
use resource_broker::watch_kind::KindFlag;
use runtime_effect::kind::Kind;
use serde_json::Value;
use tokio::time::timeout;

use super::{
    Doctor,
    copy::{Copied, Orphan, suspects},
    facts::{Facts, Hub, Inside, Member, Pair, Programs, Read, Within},
    lease::Election,
    origin::Origin,
    signing::Keys,
};
use crate::{
    access::Access,
    cluster::{Cluster, Place, Trouble, Wanted},
    cluster_secret::{self, ClusterSecret, secrets},
    clusters,
    deployed::{Deployed, Graphs, deployments},
    held, identity,
    join::RELATED,
    permissions::{Kinds, of_broker, of_graphs, rights},
    resource::{Resource, Resources},
    rights::{Right, denied},
};

/// How long all questions to one cluster may take together.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many copies without an origin are looked for once more. Of others nothing is told: they may be on their way.
const LOOKED: usize = 100;

/// The kinds of all brokers' flags.
struct Flags {
    brokered: Vec<KindFlag>,
    related: Vec<KindFlag>,
}

impl Flags {
    fn of(asked: &Doctor, inside: Option<&Inside>) -> Self {
        let (mut brokered, mut related): (Vec<KindFlag>, Vec<KindFlag>) = (asked.watch_kind.clone(), Vec::new());
        for options in inside.into_iter().flat_map(Inside::options) {
            brokered.extend(options.watch_kind.iter().cloned());
            related.extend(options.related_kind.iter().cloned());
        }
        if related.is_empty() {
            related.extend(RELATED.iter().filter_map(|kind| kind.parse().ok()));
        }
        Self { brokered: once_each(brokered), related: once_each(related) }
    }
}

fn once_each(kinds: Vec<KindFlag>) -> Vec<KindFlag> {
    let mut seen: BTreeSet<Kind> = BTreeSet::new();
    kinds.into_iter().filter(|kind| seen.insert(kind.0.clone())).collect()
}

/// All of it, and the copies that have no origin although it was looked twice.
pub(crate) async fn read(access: &Access, asked: &Doctor) -> anyhow::Result<(Facts, Vec<Orphan>)> {
    let hub = clusters::hub(access).await?;
    let given = clusters::given(access).await?;
    let probe = hub.probe().await;
    let inside = match &probe {
        Ok(_) => Some(inside(&hub, access, asked).await),
        Err(_) => None,
    };
    let secrets = inside.iter().flat_map(|inside| inside.secrets.values()).flatten().flatten();
    let found = join_all(secrets.map(ClusterSecret::cluster)).await;
    let (clusters, given) = whose(given, found.into_iter().flatten());
    let flags = Flags::of(asked, inside.as_ref());
    let of_each = clusters.values().map(|cluster| member(cluster, given.contains(&cluster.name), &flags));
    let mut members = join_all(of_each).await;
    // Origins after all copies: a copy that is there was made of an origin that was there before.
    let origins = join_all(members.iter().map(|member| origins(&clusters, member, &flags.brokered))).await;
    for (member, origins) in members.iter_mut().zip(origins) {
        if let Some(within) = &mut member.within {
            within.origins = origins;
        }
    }
    let hub = Hub { name: hub.name.clone(), probe, inside };
    let facts = Facts { now: Timestamp::now(), hub, members, kinds: flags.brokered };
    let orphans = confirmed(&clusters, suspects(&facts)).await;
    Ok((facts, orphans))
}

/// All clusters, and which of them are asked with credentials that were given. What a Secret holds is the broker's, and the
/// broker's credentials are what is judged: a person's say nothing of those.
fn whose(
    given: BTreeMap<ClusterName, Cluster>,
    of_secrets: impl Iterator<Item = Cluster>,
) -> (BTreeMap<ClusterName, Cluster>, BTreeSet<ClusterName>) {
    let mut clusters: BTreeMap<ClusterName, Cluster> = BTreeMap::new();
    for cluster in of_secrets {
        clusters.entry(cluster.name.clone()).or_insert(cluster);
    }
    let mut persons = BTreeSet::new();
    for (name, cluster) in given {
        if let Entry::Vacant(free) = clusters.entry(name.clone()) {
            free.insert(cluster);
            persons.insert(name);
        }
    }
    (clusters, persons)
}

async fn inside(hub: &Cluster, access: &Access, asked: &Doctor) -> Inside {
    let namespace = &asked.broker_namespace;
    let brokers = Resource::named("operator.broker.platform-mesh.io", "v1alpha1", "Broker", "brokers");
    let migrations = Resource::ours("Migration", "migrations");
    let configurations = Resource::ours("MigrationConfiguration", "migrationconfigurations");
    let (resources, brokers, deployments, migrations, configurations) = futures::join!(
        hub.resources(),
        hub.list(&brokers, None, None),
        deployments(hub, namespace),
        hub.list(&migrations, None, None),
        hub.list(&configurations, None, None)
    );
    let deployed: Read<Programs> = deployments.map(|list| Programs::of(&list));
    let nothing = Programs::default();
    let programs = deployed.as_ref().unwrap_or(&nothing);
    let found = &programs.brokers;
    let mut homes: BTreeSet<String> = found.iter().map(|broker| broker.own_namespace().to_owned()).collect();
    if homes.is_empty() {
        homes.insert(namespace.clone());
    }
    let options = || found.iter().filter_map(|broker| broker.options.as_ref().ok());
    let named = options().flat_map(|options| options.cluster_secrets_namespace.iter().map(|one| one.namespace.clone()));
    let places: BTreeSet<String> = access.cluster_secrets_namespace.iter().cloned().chain(named).collect();
    let (leases, keys, secrets, denied) =
        futures::join!(leases(hub, programs), pairs(hub, homes), clusters_of(hub, places), denied_here(hub, programs));
    Inside {
        namespace: namespace.clone(),
        resources: resources.cloned(),
        brokers,
        leases,
        keys,
        secrets,
        denied,
        migrations,
        configurations,
        deployed,
    }
}

/// The Lease of each program that takes part in an election.
async fn leases(hub: &Cluster, programs: &Programs) -> BTreeMap<String, Read<Option<Value>>> {
    let leases = &Resource::named("coordination.k8s.io", "v1", "Lease", "leases");
    let read = Election::all(programs).into_iter();
    let read = read.map(|Election { place, .. }| async move { (place.to_string(), hub.get(leases, place).await) });
    join_all(read).await.into_iter().collect()
}

/// What the ServiceAccount of each program lacks. One that has a kubeconfig for this cluster is somebody else here, and nobody can
/// tell who.
async fn denied_here(hub: &Cluster, programs: &Programs) -> BTreeMap<String, Read<Vec<Right>>> {
    let broker_asks = |broker: &Deployed| {
        let options = broker.options.as_ref().ok()?;
        let rights = options.coordination().is_none().then(|| of_broker(broker.own_namespace(), options));
        Some((broker.name.clone(), broker.account(), rights))
    };
    let graphs_ask = |graphs: &Graphs| {
        let options = graphs.options.as_ref().ok()?;
        let rights = options.kubeconfig.is_none().then(|| of_graphs(graphs.lease_namespace(), options));
        Some((graphs.name.clone(), graphs.account(), rights))
    };
    let brokers = programs.brokers.iter().filter_map(broker_asks);
    let all = brokers.chain(programs.graphs.iter().filter_map(graphs_ask));
    let read = all.map(|(name, account, rights)| async move {
        let Some(rights) = rights else {
            let why = "it comes with a kubeconfig of its own, which is in its Pod".to_owned();
            return (name, Err(Trouble::Other(why)));
        };
        (name, denied(hub, Some(&account), rights).await)
    });
    join_all(read).await.into_iter().collect()
}

/// The signing keys in each namespace.
async fn pairs(hub: &Cluster, namespaces: BTreeSet<String>) -> BTreeMap<String, Pair> {
    let read = namespaces.into_iter().map(|namespace| async move {
        let secrets = secrets();
        let place = |name| Place { namespace: &namespace, name };
        let (first, backup) =
            futures::join!(hub.get(&secrets, place(SIGNING_KEY_SECRET)), hub.get(&secrets, place(SIGNING_KEY_BACKUP)));
        let pair = Pair { first: first.map(Keys::of), backup: backup.map(Keys::of) };
        (namespace, pair)
    });
    join_all(read).await.into_iter().collect()
}

/// The Secrets of clusters in each namespace.
async fn clusters_of(hub: &Cluster, namespaces: BTreeSet<String>) -> BTreeMap<String, Read<Vec<ClusterSecret>>> {
    let read = namespaces.into_iter().map(|namespace| async move {
        let list = cluster_secret::list(hub, &namespace).await;
        (namespace, list)
    });
    join_all(read).await.into_iter().collect()
}

async fn member(cluster: &Cluster, given: bool, flags: &Flags) -> Member {
    let read = async {
        let probe = cluster.probe().await;
        let within = match &probe {
            Ok(_) => Some(within(cluster, flags).await),
            Err(_) => None,
        };
        (probe, within)
    };
    let (probe, within) = timeout(PATIENCE, read).await.unwrap_or_else(|_| (Err(slow(&cluster.name)), None));
    Member { name: cluster.name.clone(), given, probe, within }
}

fn slow(name: &ClusterName) -> Trouble {
    Trouble::Other(format!("{name} answers, but takes more than {} s for what is asked", PATIENCE.as_secs()))
}

async fn within(cluster: &Cluster, flags: &Flags) -> Within {
    let (uid, resources, accept_apis) =
        futures::join!(identity::uid(cluster), cluster.resources(), accept_apis(cluster));
    let resources = resources.cloned();
    let kinds = needed(cluster.name.role(), flags, resources.as_ref().ok(), accept_apis.as_deref().ok());
    let (denied, copies) =
        futures::join!(denied(cluster, None, rights(cluster.name.role(), &kinds)), copies(cluster, &flags.brokered));
    Within { uid, resources, denied, accept_apis, copies, origins: Vec::new() }
}

/// The kinds that the broker's credentials are for; in a provider those that its AcceptAPIs name.
fn needed(role: Role, flags: &Flags, resources: Option<&Resources>, accept_apis: Option<&[Value]>) -> Kinds {
    let Some(resources) = resources else { return Kinds::default() };
    let (mut kinds, _) = Kinds::served(&flags.brokered, &flags.related, resources);
    if let (Role::Provider, Some(list)) = (role, accept_apis) {
        kinds.brokered.retain(|kind| {
            let gvrs = list.iter().map(|one| &one["spec"]["gvr"]);
            let mut named = gvrs.map(|gvr| (gvr["group"].as_str().unwrap_or_default(), gvr["resource"].as_str()));
            named.any(|(group, resource)| group == kind.group && resource == Some(&*kind.plural))
        });
    }
    kinds
}

/// Of a provider; none of others.
async fn accept_apis(cluster: &Cluster) -> Read<Vec<Value>> {
    if cluster.name.role() != Role::Provider {
        return Ok(Vec::new());
    }
    cluster.list(&Resource::ours("AcceptAPI", "acceptapis"), None, None).await
}

/// The kinds that a cluster serves.
async fn served(cluster: &Cluster, kinds: &[KindFlag]) -> Vec<(Kind, Resource)> {
    let Ok(resources) = cluster.resources().await else { return Vec::new() };
    let served = kinds.iter().filter_map(|flag| Some((flag.0.clone(), resources.of_kind(&flag.0)?.clone())));
    served.collect()
}

async fn copies(cluster: &Cluster, kinds: &[KindFlag]) -> Vec<(Kind, Read<Vec<Copied>>)> {
    if cluster.name.role() != Role::Provider {
        return Vec::new();
    }
    let (selector, served) = (&held::selector(), served(cluster, kinds).await);
    let lists = served.into_iter().map(|(kind, resource)| async move {
        let mut copies = Vec::new();
        let wanted = Wanted { selector: Some(selector), metadata_only: true, ..Wanted::default() };
        let read = cluster.each(&resource, wanted, |object| copies.extend(Copied::of(&object))).await;
        (kind, read.map(|()| copies))
    });
    join_all(lists).await
}

/// Of a consumer that answers; none of others.
async fn origins(
    clusters: &BTreeMap<ClusterName, Cluster>,
    member: &Member,
    kinds: &[KindFlag],
) -> Vec<(Kind, Read<Vec<Origin>>)> {
    let cluster = clusters.get(&member.name).filter(|_| member.within.is_some());
    let Some(cluster) = cluster.filter(|cluster| cluster.name.role() == Role::Consumer) else { return Vec::new() };
    let lists = served(cluster, kinds).await.into_iter().map(|(kind, resource)| async move {
        let mut origins = Vec::new();
        let read = cluster.each(&resource, Wanted::default(), |object| origins.push(Origin::of(&object)));
        let read = timeout(PATIENCE, read).await.unwrap_or_else(|_| Err(slow(&cluster.name)));
        (kind, read.map(|()| origins))
    });
    join_all(lists).await
}

/// Those that are still there, and are not on their way out. Where there are very many, of the first of them.
async fn confirmed(clusters: &BTreeMap<ClusterName, Cluster>, mut suspects: Vec<Orphan>) -> Vec<Orphan> {
    suspects.truncate(LOOKED);
    let looks = suspects.into_iter().map(|orphan| async move {
        let cluster = clusters.get(&orphan.provider)?;
        let resource = cluster.resources().await.ok()?.of_kind(&orphan.kind)?;
        let place = Place { namespace: &orphan.copy.namespace, name: &orphan.copy.name };
        let there = cluster.get(resource, place).await.ok()??;
        there["metadata"]["deletionTimestamp"].is_null().then_some(orphan)
    });
    join_all(looks).await.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::permissions::Plural;

    fn flags(brokered: &[&str]) -> Flags {
        let brokered = brokered.iter().filter_map(|kind| kind.parse().ok()).collect();
        Flags { brokered: once_each(brokered), related: Vec::new() }
    }

    #[test]
    fn a_provider_needs_rights_for_what_it_offers() {
        let flags = flags(&["Store.v1.x.io", "Vm.v1.x.io", "Store.v1.x.io"]);
        assert_eq!(flags.brokered.len(), 2);
        let of = |kind: &str, plural: &str| Resource::named("x.io", "v1", kind, plural);
        let resources = Resources::these([of("Store", "stores"), of("Vm", "vms")]);
        let gvr = json!({ "group": "x.io", "version": "v1", "resource": "vms" });
        let list = [json!({ "spec": { "gvr": gvr } })];
        let offered = needed(Role::Provider, &flags, Some(&resources), Some(&list));
        assert_eq!(offered.brokered, [Plural { group: "x.io".into(), plural: "vms".into() }]);
        assert_eq!(needed(Role::Provider, &flags, Some(&resources), None).brokered.len(), 2, "it is not known");
        assert_eq!(needed(Role::Consumer, &flags, Some(&resources), Some(&[])).brokered.len(), 2);
    }

    #[tokio::test]
    async fn the_broker_s_credentials_are_judged_where_there_are_any() {
        let with = |name: &str, whose: &str| Cluster::new(ClusterName::consumer(name), Err(whose.into()));
        let files = ["bart", "homer"].map(|name| (ClusterName::consumer(name), with(name, "a person's")));
        let secrets = ["homer", "marge", "homer"].into_iter().zip(["the broker's", "the broker's", "another"]);
        let (clusters, given) = whose(files.into(), secrets.map(|(name, whose)| with(name, whose)));
        assert_eq!(given, BTreeSet::from([ClusterName::consumer("bart")]));
        let flags = flags(&[]);
        for (name, whose) in [("bart", "a person's"), ("homer", "the broker's"), ("marge", "the broker's")] {
            let name = ClusterName::consumer(name);
            let asked = member(&clusters[&name], given.contains(&name), &flags).await;
            let said = asked.probe.map_err(|why| why.to_string());
            assert_eq!(said, Err(format!("{name} cannot be asked: {whose}")));
            assert_eq!(asked.given, whose == "a person's");
        }
    }
}
