//! `Stage`: the API servers, the ways to them, and our programs behind these ways.

use std::{fs, sync::Arc, time::Duration};

use anyhow::Context as _;
use e2e::{
    Kind, Place,
    kind::{ACCEPT_API, MIGRATION, MIGRATION_CONFIGURATION, NAMESPACE, SECRET},
};
use futures::{StreamExt as _, TryStreamExt as _, future::try_join_all, stream};
use harness::{ClusterOptions, Dice, Lab, LabOptions, Program, free_address, wait_for};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{
    credential::Credential,
    faults::start,
    graph,
    proxy::{Proxy, Way},
    runner::Runner,
    timeline::Timeline,
};

/// The brokered kind: it takes any spec and any status.
pub(crate) const WIDGET: Kind = e2e::kind::WIDGET;
/// Namespaces of each consumer.
pub(crate) const NAMESPACES: [&str; 2] = ["shop", "yard"];
/// Where the hub has the Secrets of clusters.
const CLUSTERS: &str = "clusters";
/// User of `resource-graphs`.
const GRAPHS: &str = "graphs";
const HUB: &str = "hub";
const CONSUMERS: [&str; 2] = ["homer", "bart"];
/// Providers, and the region that each has for itself.
const PROVIDERS: [(&str, &str); 2] = [("ariadne", "east"), ("theseus", "west")];
/// The region that all providers have.
const ANYWHERE: &str = "any";
/// How long a sound API server takes at most to say which OpenAPI documents it has.
const DOCUMENTS: Duration = Duration::from_secs(30);
/// How long a request of a person may be repeated until an API server that was killed takes it.
const PATIENCE: Duration = Duration::from_mins(3);

/// An API server, and what happens on the way to it.
pub(crate) struct Site {
    /// What people see of it.
    pub(crate) place: Place,
    /// By which way our programs come to it.
    pub(crate) proxy: Proxy,
    /// As whom they come.
    pub(crate) credential: Credential,
    /// Held by whoever kills or freezes it.
    pub(crate) peace: Mutex<()>,
    role: &'static str,
}

impl Site {
    /// Starts an API server again that says it is ready and does not answer for all that: a kube-apiserver that had stood still
    /// was once asked for its OpenAPI documents, and answered 504 to that for ever after. A person would see to it.
    async fn mend(&self, timeline: &Timeline) -> anyhow::Result<()> {
        let request = http::Request::get("/openapi/v3").body(Vec::new())?;
        let asked = tokio::time::timeout(DOCUMENTS, self.place.client().request_text(request)).await;
        if matches!(asked, Ok(Ok(_))) {
            return Ok(());
        }
        timeline
            .tell(&format!("{} does not answer for its OpenAPI documents, and is started again", self.place.name()));
        let _alone = self.peace.lock().await;
        self.place.cluster.stop();
        start(self, timeline).await
    }
}

/// Everything.
pub(crate) struct Stage {
    pub(crate) lab: Lab,
    /// The hub first, then consumers, then providers.
    pub(crate) sites: Vec<Site>,
    /// A way to the hub of its own.
    graphs_way: Proxy,
    pub(crate) brokers: [Runner; 2],
    pub(crate) graphs: Runner,
}

impl Stage {
    /// Starts all, and returns when our programs are ready.
    pub(crate) async fn build(dice: &mut Dice, timeline: &Arc<Timeline>) -> anyhow::Result<Self> {
        let lab = Lab::start(LabOptions::default()).await?;
        timeline.tell(&format!("the lab is {}", lab.directory().display()));
        let roles = [("coordination", HUB)].into_iter().chain(CONSUMERS.map(|name| ("consumer", name)));
        let roles: Vec<_> = roles.chain(PROVIDERS.map(|(name, _)| ("provider", name))).collect();
        let sites = roles.into_iter().map(|(role, name)| {
            let dice = dice.fork();
            site(&lab, role, name, dice, timeline)
        });
        // On two cores all at once would only wait for each other.
        let sites: Vec<Site> = stream::iter(sites.collect::<Vec<_>>()).buffered(2).try_collect().await?;
        let hub = &sites[0].place;
        let graphs_way = Proxy::open("hub (graphs)", port(hub)?, dice.fork(), timeline).await?;
        let brokers = [broker(&lab, "broker-1", &sites[0])?, broker(&lab, "broker-2", &sites[0])?];
        let graphs = graphs(&lab, hub, &graphs_way)?;
        let stage = Self { lab, sites, graphs_way, brokers, graphs };
        for site in &stage.sites {
            stage.tell_credential(site).await?;
        }
        for runner in stage.programs() {
            runner.start(&stage.lab).await?;
        }
        stage.until_ready().await?;
        graph::define(stage.hub()).await;
        timeline.tell("all programs are ready");
        Ok(stage)
    }

    /// The hub.
    pub(crate) fn hub(&self) -> &Place {
        &self.sites[0].place
    }

    /// Both consumers.
    pub(crate) fn consumers(&self) -> impl Iterator<Item = &Place> {
        self.sites.iter().filter(|site| site.role == "consumer").map(|site| &site.place)
    }

    /// Both providers.
    pub(crate) fn providers(&self) -> impl Iterator<Item = &Place> {
        self.sites.iter().filter(|site| site.role == "provider").map(|site| &site.place)
    }

    /// All API servers.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Place> {
        self.sites.iter().map(|site| &site.place)
    }

    /// All ways.
    pub(crate) fn proxies(&self) -> Vec<&Proxy> {
        self.sites.iter().map(|site| &site.proxy).chain([&self.graphs_way]).collect()
    }

    /// All of our programs.
    pub(crate) fn programs(&self) -> [&Runner; 3] {
        let [one, two] = &self.brokers;
        [one, two, &self.graphs]
    }

    /// Nothing fails any more. Connections stay as they are: what has come to harm, our programs have to find out. Returns when
    /// they are ready.
    pub(crate) async fn calm(&self, timeline: &Timeline) -> anyhow::Result<()> {
        for proxy in self.proxies() {
            proxy.set_flaws(0);
            proxy.set_way(Way::Open);
        }
        for site in &self.sites {
            site.mend(timeline).await?;
        }
        self.until_ready().await
    }

    async fn until_ready(&self) -> anyhow::Result<()> {
        try_join_all(self.programs().map(Runner::until_ready)).await.map(drop)
    }

    /// Gives the credentials of a site to those who come there. A hub that was killed is waited for.
    pub(crate) async fn tell_credential(&self, site: &Site) -> anyhow::Result<()> {
        let kubeconfig = site.credential.kubeconfig(&site.place, &site.proxy.url())?;
        if site.role == "coordination" {
            return write(&hub_kubeconfig(&self.lab), &kubeconfig);
        }
        let labels = json!({"broker.platform-mesh.io/role": site.role});
        let body = json!({"metadata": {"labels": labels}, "stringData": {"kubeconfig": kubeconfig}});
        let secret = SECRET.object(CLUSTERS, site.place.name(), &body);
        let api = self.hub().api(&SECRET, CLUSTERS);
        let params = PatchParams::apply(harness::FIELD_MANAGER).force();
        let what = format!("the hub to take the Secret of {}", site.place.name());
        wait_for(PATIENCE, &what, async || {
            api.patch(site.place.name(), &params, &Patch::Apply(&secret)).await.map(drop)
        })
        .await
    }
}

/// What a person in a consumer writes next. Who wants another region moves.
pub(crate) fn widget(dice: &mut Dice, round: u64, before: Option<&Value>) -> Value {
    let regions = [ANYWHERE, PROVIDERS[0].1, PROVIDERS[1].1];
    let region = match before.and_then(|before| before["region"].as_str()) {
        Some(region) if !dice.one_in(5) => region,
        _ => dice.pick(&regions),
    };
    let mut spec = json!({"round": round, "region": region, "deep": {"of": {"round": round}}});
    // Fields that come and go.
    for field in ["note", "list"] {
        if dice.one_in(2) {
            spec[field] = if field == "note" { json!(format!("n{round}")) } else { json!([round, "x"]) };
        }
    }
    spec
}

/// Whether a provider takes objects of a region.
pub(crate) fn takes(provider: &str, region: &str) -> bool {
    region == ANYWHERE || PROVIDERS.contains(&(provider, region))
}

fn port(place: &Place) -> anyhow::Result<u16> {
    let url = place.cluster.server_url();
    url.rsplit(':').next().and_then(|port| port.parse().ok()).with_context(|| format!("no port in {url}"))
}

async fn site(lab: &Lab, role: &'static str, name: &str, dice: Dice, timeline: &Arc<Timeline>) -> anyhow::Result<Site> {
    let authority = Credential::authority_file(lab.directory(), name);
    let certificate = Credential::certificate(authority.clone())?;
    let masters = vec!["system:masters".to_owned()];
    let options = ClusterOptions {
        // Whatever belongs to a copy goes with it, and namespaces end, as in real clusters.
        controller_manager: role != "coordination",
        users: vec![(GRAPHS.to_owned(), masters)],
        extra_args: vec![format!("--client-ca-file={}", authority.display())],
        ..ClusterOptions::default()
    };
    let place = Place::new(name, lab.cluster_with(name, &options).await?).await;
    // Certificates for some, tokens for the others.
    let credential = if role == "consumer" { Credential::token(lab.directory(), name) } else { certificate };
    furnish(&place, role).await;
    let proxy = Proxy::open(name, port(&place)?, dice, timeline).await?;
    Ok(Site { place, proxy, credential, peace: Mutex::new(()), role })
}

/// Kinds, namespaces and AcceptAPIs.
async fn furnish(place: &Place, role: &str) {
    let mut yaml: Vec<String> = Vec::new();
    let kinds: &[Kind] = match role {
        "coordination" => &[MIGRATION, MIGRATION_CONFIGURATION],
        "provider" => &[WIDGET, ACCEPT_API],
        _ => &[WIDGET],
    };
    yaml.extend(kinds.iter().map(|kind| kind.crd().to_string()));
    let namespaces: &[&str] = match role {
        "coordination" => {
            yaml.extend(graph::CRDS.map(str::to_owned));
            &["default", CLUSTERS, graph::NAMESPACE]
        }
        // The broker makes the one that is missing.
        "provider" => &["default", NAMESPACES[0]],
        _ => &NAMESPACES,
    };
    yaml.extend(namespaces.iter().map(|name| NAMESPACE.object("", name, &json!({})).to_string()));
    if let Some((_, own)) = PROVIDERS.iter().find(|(name, _)| *name == place.name()) {
        let filter = json!({"key": "region", "valueIn": [own, ANYWHERE]});
        let spec = json!({"gvr": WIDGET.gvr(), "filters": [filter]});
        yaml.push(ACCEPT_API.object("default", "widgets", &json!({"spec": spec})).to_string());
    }
    place.apply(&yaml.join("\n---\n")).await;
}

fn hub_kubeconfig(lab: &Lab) -> std::path::PathBuf {
    lab.directory().join("hub.kubeconfig")
}

/// Whole or not at all: it is watched.
fn write(file: &std::path::Path, text: &str) -> anyhow::Result<()> {
    let partial = file.with_extension("partial");
    fs::write(&partial, text).and_then(|()| fs::rename(&partial, file))?;
    Ok(())
}

fn program(name: &str, binary: &str) -> anyhow::Result<(Program, String)> {
    let (health, metrics) = (free_address()?, free_address()?);
    let program = Program::new(name, harness::binary(binary)?)
        .env("NO_COLOR", "1")
        .args(["--health-probe-bind-address", &health])
        .args(["--metrics-bind-address", &metrics]);
    Ok((program, health))
}

fn broker(lab: &Lab, name: &str, hub: &Site) -> anyhow::Result<Runner> {
    let file = hub_kubeconfig(lab);
    write(&file, &hub.credential.kubeconfig(&hub.place, &hub.proxy.url())?)?;
    let (program, health) = program(name, "resource-broker")?;
    let program = program
        .args(["--coordination-kubeconfig", &file.display().to_string()])
        .args(["--cluster-secrets-namespace", CLUSTERS])
        .args(["--watch-kind", &WIDGET.flag()])
        .arg("--leader-elect");
    Ok(Runner::new(program, health))
}

fn graphs(lab: &Lab, hub: &Place, way: &Proxy) -> anyhow::Result<Runner> {
    let file = lab.directory().join("graphs.kubeconfig");
    write(&file, &hub.cluster.kubeconfig(GRAPHS)?.replace(&hub.cluster.server_url(), &way.url()))?;
    let (program, health) = program("graphs", "resource-graphs")?;
    Ok(Runner::new(program.args(["--kubeconfig", &file.display().to_string()]), health))
}
