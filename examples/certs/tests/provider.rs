//! The provider against a real API server: what it writes, and that it writes nothing more.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use broker_api::{
    brokered_status::{Availability, BrokeredStatus},
    example::Certificate,
};
use certs_example::{
    proof::{Proof, prove},
    secret::{CA_CERTIFICATE, CERTIFICATE, KEY},
};
use example_stage::program;
use harness::{Cluster, Lab, LabOptions, Process, wait_for};
use k8s_openapi::{api::core::v1::Secret, jiff::Timestamp};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_mins(1);
const CONTROLLER: &str = "provider-controller";
const ISSUER: &str = "internal.corp CA";

/// One provider cluster with its controller.
struct World {
    lab: Lab,
    cluster: Cluster,
    controller: Process,
    certificates: Api<Certificate>,
    secrets: Api<Secret>,
}

impl World {
    async fn start(flags: &[&str]) -> Self {
        let lab = Lab::start(LabOptions::default()).await.unwrap();
        let cluster = lab.cluster("internal-corp").await.unwrap();
        let crds = broker_api::crds();
        let crd = crds.iter().find(|crd| crd.name_any() == "certificates.example.platform-mesh.io").unwrap();
        cluster.apply("person", &serde_json::to_string(crd).unwrap()).await.unwrap();
        let controller = controller(&lab, &cluster, ISSUER, flags);
        let client = cluster.client("person").await.unwrap();
        Self {
            lab,
            cluster,
            controller,
            certificates: Api::namespaced(client.clone(), "default"),
            secrets: Api::namespaced(client, "default"),
        }
    }

    async fn create(&self, name: &str, fqdn: &str) {
        let certificate = json!({
            "apiVersion": "example.platform-mesh.io/v1alpha1",
            "kind": "Certificate",
            "metadata": { "name": name },
            "spec": { "fqdn": fqdn },
        });
        self.cluster.apply("person", &certificate.to_string()).await.unwrap();
    }

    async fn edit(&self, name: &str, patch: Value) {
        let params = PatchParams::default();
        self.certificates.patch(name, &params, &Patch::Merge(patch)).await.unwrap();
    }

    /// Waits for a status that speaks of the newest generation and has this word and reason.
    async fn status(&self, name: &str, word: Availability, reason: &str) -> BrokeredStatus {
        let what = format!("status {word:?} ({reason}) of {name}");
        wait_for(DEADLINE, &what, async || {
            let certificate = self.certificates.get(name).await?;
            let status = certificate.status.clone().unwrap_or_default();
            let told = status.conditions.iter().any(|ready| {
                ready.type_ == "Ready"
                    && ready.reason == reason
                    && ready.observed_generation == certificate.metadata.generation
            });
            anyhow::ensure!(status.status == Some(word) && told, "{status:?}");
            Ok(status)
        })
        .await
        .unwrap()
    }

    /// Waits until the Secret of `name` holds a good certificate for `fqdn`, another one than `not`.
    async fn proof(&self, name: &str, fqdn: &str, not: Option<&Proof>) -> Proof {
        let what = format!("a certificate for {fqdn} in {name}-tls");
        wait_for(DEADLINE, &what, async || {
            let secret = self.secrets.get(&format!("{name}-tls")).await?;
            let data = secret.data.unwrap_or_default();
            let text = |key| data.get(key).map_or(&[][..], |value| &value.0);
            let (crt, key, ca) = (text(CERTIFICATE), text(KEY), text(CA_CERTIFICATE));
            let proof = prove(crt, key, ca, Timestamp::now())?;
            anyhow::ensure!(proof.names == [fqdn], "{proof:?}");
            anyhow::ensure!(proof.issuer == format!("CN={ISSUER}"), "{proof:?}");
            anyhow::ensure!(not.is_none_or(|not| not.serial != proof.serial), "still {proof:?}");
            Ok(proof)
        })
        .await
        .unwrap()
    }
}

fn controller(lab: &Lab, cluster: &Cluster, issuer: &str, flags: &[&str]) -> Process {
    let kubeconfig = lab.directory().join("provider.kubeconfig");
    cluster.write_kubeconfig(CONTROLLER, &kubeconfig).unwrap();
    let program = program::example("cert-provider", "cert-provider")
        .unwrap()
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--issuer-name", issuer])
        .args(flags.iter().copied());
    lab.start_process(&program).unwrap()
}

#[tokio::test]
async fn it_issues_repairs_and_rests() {
    let mut world = World::start(&[]).await;

    // A new object: certificate, status, related resource.
    world.create("website", "www.internal.corp").await;
    let status = world.status("website", Availability::Available, "Issued").await;
    let related = &status.related_resources["tls"];
    assert_eq!((related.gvk.group.as_str(), related.gvk.kind.as_str()), ("core", "Secret"));
    assert_eq!((related.name.as_str(), related.namespace.as_deref()), ("website-tls", Some("default")));
    let first = world.proof("website", "www.internal.corp", None).await;
    let secret = world.secrets.get("website-tls").await.unwrap();
    assert_eq!(secret.type_.as_deref(), Some("kubernetes.io/tls"));
    let owner = &secret.owner_references()[0];
    let uid = world.certificates.get("website").await.unwrap().uid();
    assert_eq!(
        (owner.kind.as_str(), Some(&owner.uid)),
        ("Certificate", uid.as_ref()),
        "what the garbage collector goes by"
    );

    // Another name: another certificate.
    world.edit("website", json!({ "spec": { "fqdn": "shop.internal.corp" } })).await;
    let second = world.proof("website", "shop.internal.corp", Some(&first)).await;
    world.status("website", Availability::Available, "Issued").await;

    // A name that is none: told, and the good certificate stays.
    world.edit("website", json!({ "spec": { "fqdn": "localhost" } })).await;
    let status = world.status("website", Availability::Failed, "InvalidFqdn").await;
    assert!(status.related_resources.contains_key("tls"));
    assert_eq!(world.proof("website", "shop.internal.corp", None).await, second);
    world.edit("website", json!({ "spec": { "fqdn": "shop.internal.corp" } })).await;
    world.status("website", Availability::Available, "Issued").await;
    assert_eq!(world.proof("website", "shop.internal.corp", None).await, second);

    // A Secret that is deleted comes back; one that is edited is put right, with the same certificate.
    world.secrets.delete("website-tls", &DeleteParams::default()).await.unwrap();
    let third = world.proof("website", "shop.internal.corp", Some(&second)).await;
    let spoiled = json!({ "data": { "ca.crt": "" }, "metadata": { "labels": null } });
    let params = PatchParams::default();
    world.secrets.patch("website-tls", &params, &Patch::Merge(spoiled)).await.unwrap();
    assert_eq!(world.proof("website", "shop.internal.corp", Some(&second)).await, third);

    // A Secret of somebody else is left alone.
    let taken = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"other-tls"},"stringData":{"a":"b"}}"#;
    world.cluster.apply("person", taken).await.unwrap();
    world.create("other", "other.internal.corp").await;
    let status = world.status("other", Availability::Failed, "SecretTaken").await;
    assert!(status.related_resources.is_empty());
    let other = world.secrets.get("other-tls").await.unwrap();
    assert_eq!(other.data.unwrap().keys().collect::<Vec<_>>(), ["a"]);

    // After a restart: the same authority, and no writes. A new object shows that it went over the old ones before:
    // the queue is in order, and the first list holds both.
    world.controller.terminate(DEADLINE).await.unwrap();
    let audit = world.cluster.audit();
    let mark = audit.settle().await.unwrap();
    let mut restarted = controller(&world.lab, &world.cluster, ISSUER, &[]);
    wait_for(DEADLINE, "a look at each Secret after the restart", async || {
        let events = audit.settled_since(mark).await?.of(CONTROLLER).on("secrets");
        let looked = |name| events.iter().any(|event| event.verb == "get" && event.name == name);
        anyhow::ensure!(looked("website-tls") && looked("other-tls"), "{:?}", events.counts());
        anyhow::Ok(())
    })
    .await
    .unwrap();
    // SIGTERM lets the passes that began come to their end, so what is counted is complete.
    restarted.terminate(DEADLINE).await.unwrap();
    let events = audit.settled_since(mark).await.unwrap().of(CONTROLLER);
    assert_eq!(events.writes().counts(), std::collections::BTreeMap::new());
    assert_eq!(world.proof("website", "shop.internal.corp", None).await, third);
}

#[tokio::test]
async fn it_renews_before_the_end() {
    let world = World::start(&["--lifetime-seconds", "6"]).await;
    world.create("website", "www.internal.corp").await;
    let first = world.proof("website", "www.internal.corp", None).await;
    let second = world.proof("website", "www.internal.corp", Some(&first)).await;
    assert!(second.not_after > first.not_after);
}

#[tokio::test]
async fn it_does_not_issue_in_the_name_of_another() {
    let mut world = World::start(&[]).await;
    world.create("website", "www.internal.corp").await;
    world.proof("website", "www.internal.corp", None).await;
    world.controller.terminate(DEADLINE).await.unwrap();
    let mut other = controller(&world.lab, &world.cluster, "corp.com CA", &[]);
    assert!(!other.exited(DEADLINE).await.unwrap().success());
    let log = other.log().unwrap();
    assert!(log.contains("holds CN=internal.corp CA, not CN=corp.com CA"), "{log}");
}
