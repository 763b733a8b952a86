//! Who attacks: the owner of a further consumer cluster, and whoever may write at the second provider.
//!
//! Each attack goes on until it is dropped.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Context as _;
use broker_api::keys;
use harness::Cluster;
use http::header::CONTENT_TYPE;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use crate::stage::{PERSON, PROVIDER};
use crate::widget;

/// Conditions of one object: what an API server takes in 1.5 MiB.
const CONDITIONS: usize = 80_000;
/// AcceptAPIs of one provider, and patterns of each.
const ACCEPTANCES: usize = 400;
const PATTERNS: usize = 20;
/// Text of a status that changes all the time, and changes per second.
const CHURN: usize = 57 * 1024;
const CHURN_RATE: u32 = 20;

/// Where attacks come from.
pub(crate) struct Rogue {
    /// A consumer of the broker.
    pub(crate) cluster: Cluster,
    /// Its owner.
    pub(crate) owner: Client,
    /// Whoever may write at the second provider.
    pub(crate) provider: Client,
}

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attack {
    /// Two objects whose conditions are as many as fit, and change.
    Conditions,
    /// Many AcceptAPIs with costly patterns, edited all the time.
    AcceptApis,
    /// A large status that changes all the time.
    Churn,
    /// Objects as fast as the API server takes them.
    Flood,
}

impl Attack {
    pub(crate) const ALL: [Self; 4] = [Self::Conditions, Self::AcceptApis, Self::Churn, Self::Flood];

    /// In a word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Conditions => "80,000 conditions",
            Self::AcceptApis => "400 AcceptAPIs",
            Self::Churn => "status churn",
            Self::Flood => "object flood",
        }
    }

    /// What the names of its objects begin with.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Conditions => "bomb",
            Self::AcceptApis => "none",
            Self::Churn => "churn",
            Self::Flood => "flood",
        }
    }
}

impl Rogue {
    /// Takes over a consumer: the checks of its own CRD are gone.
    pub(crate) async fn begin(cluster: Cluster, provider: &Cluster) -> anyhow::Result<Self> {
        let checked = "conditions:\n                  type: array\n                  x-kubernetes-list-type: map\n                  x-kubernetes-list-map-keys: [type]\n                  items:\n                    type: object\n                    required: [type, status, lastTransitionTime, reason, message]\n                    properties:\n";
        let (head, _) = widget::CRD.split_once(checked).context("the CRD has no conditions any more")?;
        let crd = format!(
            "{head}conditions:\n                  type: array\n                  items: {{type: object, x-kubernetes-preserve-unknown-fields: true}}\n                payload: {{type: string}}\n"
        );
        cluster.apply(PERSON, &crd).await?;
        Ok(Self { owner: cluster.client(PERSON).await?, provider: provider.client(PROVIDER).await?, cluster })
    }

    /// Makes what the attack needs.
    pub(crate) async fn prepare(&self, attack: Attack) -> anyhow::Result<()> {
        match attack {
            Attack::Conditions => {
                for number in 0..2 {
                    widget::create(&self.owner, &format!("bomb-{number}")).await?;
                    self.explode(number, 0).await?;
                }
            }
            Attack::Churn => widget::create(&self.owner, "churn-0").await?,
            Attack::AcceptApis => {
                for number in 0..ACCEPTANCES {
                    self.write_accept_api(number, 0).await?;
                }
            }
            Attack::Flood => {}
        }
        Ok(())
    }

    /// Goes on until it is dropped, or fails.
    pub(crate) async fn attack(&self, attack: Attack) -> anyhow::Result<Infallible> {
        match attack {
            Attack::Conditions => self.bomb().await,
            Attack::AcceptApis => self.edit().await,
            Attack::Churn => self.churn().await,
            Attack::Flood => self.flood().await,
        }
    }

    /// Takes away what would cost the next part something.
    pub(crate) async fn tidy(&self, attack: Attack) -> anyhow::Result<()> {
        if let Attack::AcceptApis = attack {
            let path = "/apis/broker.platform-mesh.io/v1alpha1/namespaces/default/acceptapis?fieldSelector=metadata.name!%3Dwidgets";
            self.provider.request_text(http::Request::delete(path).body(Vec::new())?).await?;
        }
        Ok(())
    }

    async fn bomb(&self) -> anyhow::Result<Infallible> {
        for round in 1.. {
            for number in 0..2 {
                self.explode(number, round).await?;
            }
        }
        unreachable!("there is always another round")
    }

    async fn explode(&self, number: usize, round: usize) -> anyhow::Result<()> {
        let conditions: Vec<Value> = (0..CONDITIONS).map(|at| json!({"type": format!("{}", at + round)})).collect();
        let status = json!({"status": {"conditions": conditions}});
        patch_status(&self.owner, &format!("bomb-{number}"), &status).await
    }

    async fn edit(&self) -> anyhow::Result<Infallible> {
        for round in 1.. {
            for number in 0..ACCEPTANCES {
                self.write_accept_api(number, round).await?;
            }
        }
        unreachable!("there is always another round")
    }

    async fn write_accept_api(&self, number: usize, round: usize) -> anyhow::Result<()> {
        let filters: Vec<Value> = (0..PATTERNS)
            .map(|at| json!({"key": "notes", "pattern": format!("(An|object|of){{1,9}}[a-z ]{{0,30}}.*{at}x{round}$")}))
            .collect();
        let api = json!({
            "apiVersion": "broker.platform-mesh.io/v1alpha1",
            "kind": "AcceptAPI",
            "metadata": {"name": format!("greedy-{number}"), "namespace": "default"},
            "spec": {
                "gvr": {"group": "bench.example.org", "version": "v1", "resource": "widgets"},
                "filters": filters,
                "priority": 1000,
            },
        });
        let path = format!(
            "/apis/{}/v1alpha1/namespaces/default/acceptapis/greedy-{number}?fieldManager=rogue&force=true",
            keys::GROUP
        );
        let request = http::Request::patch(path).header(CONTENT_TYPE, "application/apply-patch+yaml");
        self.provider.request_text(request.body(api.to_string().into_bytes())?).await?;
        Ok(())
    }

    async fn churn(&self) -> anyhow::Result<Infallible> {
        let copy = widget::copy_name(self.cluster.name(), "churn-0");
        let mut ticks = interval(Duration::from_secs(1) / CHURN_RATE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        for round in 1.. {
            ticks.tick().await;
            let letter = if round % 2 == 0 { "a" } else { "b" };
            // What the provider's CRD has a place for.
            let message = letter.repeat(CHURN);
            let status = json!({"status": {"revision": round, "relatedResources": {"text": message}}});
            match patch_status(&self.provider, &copy, &status).await {
                // The copy is on its way.
                Err(error) if round < 100 && error.to_string().contains("not found") => {}
                done => done?,
            }
        }
        unreachable!("there is always another round")
    }

    async fn flood(&self) -> anyhow::Result<Infallible> {
        for number in 0.. {
            let names: Vec<String> = (0..8).map(|at| format!("flood-{}", number * 8 + at)).collect();
            futures::future::try_join_all(names.iter().map(|name| widget::create(&self.owner, name))).await?;
        }
        unreachable!("there is always another one")
    }
}

async fn patch_status(client: &Client, name: &str, status: &Value) -> anyhow::Result<()> {
    let path =
        format!("/apis/bench.example.org/v1/namespaces/{}/widgets/{name}/status?fieldManager=rogue", widget::NAMESPACE);
    let request = http::Request::patch(path).header(CONTENT_TYPE, "application/merge-patch+json");
    client.request_text(request.body(status.to_string().into_bytes())?).await?;
    Ok(())
}
