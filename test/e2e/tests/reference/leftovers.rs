//! What the Go broker leaves behind: nothing of it is signed, so nothing of it counts, and none of it is touched.

use std::collections::BTreeSet;

use broker_api::keys;
use e2e::{
    Object, Place, Tally, World,
    kind::{CERTIFICATE, MIGRATION, SECRET},
};
use serde_json::json;

use crate::{CONSUMER, INTERNAL, NAMESPACE, document, page};

/// The Go broker named clusters by path and context, and copies by the hash of that.
const GO_CONSUMER: &str = "consumer#/kubeconfigs/consumer/kubeconfig+kind-broker-consumer";
const GO_PROVIDER: &str = "provider#/kubeconfigs/internalca/kubeconfig+kind-broker-internalca";
const GO_NEW_PROVIDER: &str = "provider#/kubeconfigs/externalca/kubeconfig+kind-broker-externalca";

/// The object that a person labelled `ignore`.
const KEPT: &str = "kept";

/// The objects with a copy that the Go broker made.
const ALL: [&str; 4] = ["website", "moving", "deleted", KEPT];

fn go_copy(name: &str) -> String {
    format!("{}-{name}", e2e::place::consumer_hash(GO_CONSUMER.trim_start_matches("consumer#")))
}

/// What was there before this broker came.
pub(crate) struct Leftovers<'a> {
    consumer: &'a Place,
    provider: &'a Place,
    hub: &'a Place,
    tally: Tally<'a>,
}

impl<'a> Leftovers<'a> {
    /// Puts there: an object that is served, one in the middle of a move, one that is being deleted; their copies, a
    /// Secret that was brought to the consumer; a Migration under way and one that has ended.
    pub(crate) async fn put(world: &'a World) -> Self {
        let (consumer, provider, hub) = (world.consumer(CONSUMER), world.provider(INTERNAL), &world.hub);
        for (name, new_provider) in
            [("website", None), ("moving", Some(GO_NEW_PROVIDER)), ("deleted", None), (KEPT, None)]
        {
            let spec = json!({"fqdn": format!("{name}.internal.corp")});
            let mut annotations = json!({keys::PROVIDER_CLUSTER: GO_PROVIDER});
            if let Some(new_provider) = new_provider {
                annotations[keys::NEW_PROVIDER_CLUSTER] = json!(new_provider);
            }
            let labels = if name == KEPT { json!({keys::IGNORE: "true"}) } else { json!({}) };
            let metadata = json!({"finalizers": [keys::FINALIZER], "annotations": annotations, "labels": labels});
            consumer.create(&CERTIFICATE, NAMESPACE, name, json!({"metadata": metadata, "spec": spec})).await;
            let annotations = json!({keys::CONSUMER_CLUSTER: GO_CONSUMER, keys::CONSUMER_NAME: name});
            let metadata = json!({"finalizers": [keys::FINALIZER], "annotations": annotations});
            let copy = json!({"metadata": metadata, "spec": spec});
            provider.create(&CERTIFICATE, NAMESPACE, &go_copy(name), copy).await;
        }
        consumer.delete(&CERTIFICATE, NAMESPACE, "deleted").await;
        let website = consumer.get(&CERTIFICATE, NAMESPACE, "website").await;
        let owner = json!([{
            "apiVersion": CERTIFICATE.api_version(), "kind": CERTIFICATE.kind, "name": "website", "uid": website.uid(),
        }]);
        let secret = json!({"metadata": {"ownerReferences": owner}, "stringData": {"provider": "go"}});
        consumer.create(&SECRET, NAMESPACE, "website-key", secret).await;
        let migration = document(include_str!("migrations.yaml"), "Migration", "website");
        for (name, state) in [("website", "InitialInProgress"), ("ended", "CutoverCompleted")] {
            let mut migration = migration.clone();
            migration["metadata"]["name"] = json!(name);
            hub.try_create(&MIGRATION, &migration).await.unwrap();
            let status = json!({"id": "ezb5d3u4xkjv2l7q", "state": state, "stage": "dump"});
            hub.set_status(&MIGRATION, NAMESPACE, name, status).await;
        }
        Self { consumer, provider, hub, tally: Tally::begin([provider]).await }
    }

    /// New copies are made; what the Go broker made stays as it is, and its Secrets until somebody deletes them.
    pub(crate) async fn are_placed_anew(&self) {
        let Self { consumer, provider, hub, .. } = self;
        for name in ["website", "moving"] {
            let anew = |seen: &Object| {
                seen.annotation(keys::PROVIDER_CLUSTER) == Some(INTERNAL)
                    && seen.annotation(keys::NEW_PROVIDER_CLUSTER).is_none()
                    && seen.annotation(keys::ASSIGNMENT).is_some()
                    && seen.text("/status/status") == "Available"
            };
            consumer.until(&CERTIFICATE, NAMESPACE, name, "to be placed anew", anew).await;
            consumer.until_event(NAMESPACE, name, "Placed", |told| told.message.contains(INTERNAL)).await;
            provider.get(&CERTIFICATE, NAMESPACE, &consumer.copy_name(name)).await;
        }
        consumer.until_gone(&CERTIFICATE, NAMESPACE, "deleted").await;
        consumer.until_there(&SECRET, NAMESPACE, "moving-key").await;

        consumer
            .until_event(NAMESPACE, "website", "RelatedConflict", |told| told.message.contains("website-key"))
            .await;
        let of = async |name: &str| consumer.get(&SECRET, NAMESPACE, name).await.at("/data/provider").clone();
        let (go, new) = (of("website-key").await, of("moving-key").await);
        assert_ne!(go, new);
        let before = consumer.get(&SECRET, NAMESPACE, "website-key").await;
        let label = json!({"metadata": {"labels": {keys::MANAGED_BY: keys::MANAGER}}});
        consumer.edit(&SECRET, NAMESPACE, "website-key", label).await;
        let replaced = |seen: &Object| *seen.at("/data/provider") == new;
        let after = consumer.until(&SECRET, NAMESPACE, "website-key", "to be the new provider's", replaced).await;
        assert_eq!(after.uid(), before.uid(), "it was there all the time");

        // Ours stays ours without its label: the field manager says so.
        let unlabelled = json!({"metadata": {"labels": {keys::MANAGED_BY: null}}});
        consumer.edit(&SECRET, NAMESPACE, "moving-key", unlabelled).await;
        let labelled = |seen: &Object| seen.label(keys::MANAGED_BY) == Some(keys::MANAGER);
        consumer.until(&SECRET, NAMESPACE, "moving-key", "to be labelled again", labelled).await;

        let failed = |seen: &Object| seen.text("/status/state") == "Failed";
        let failed = hub.until(&MIGRATION, NAMESPACE, "website", "to be refused", failed).await;
        assert_eq!(failed.condition("Succeeded").unwrap().reason, "ProviderUnknown", "{failed}");
        let ended = hub.get(&MIGRATION, NAMESPACE, "ended").await;
        assert_eq!(ended.text("/status/state"), "CutoverCompleted", "{ended}");
    }

    /// An object goes with its new copy. The old copies were never written to; a person deletes them.
    pub(crate) async fn go(&self, world: &World) {
        let Self { consumer, provider, .. } = self;
        consumer.delete(&CERTIFICATE, NAMESPACE, "website").await;
        consumer.until_gone(&CERTIFICATE, NAMESPACE, "website").await;
        provider.until_gone(&CERTIFICATE, NAMESPACE, &consumer.copy_name("website")).await;
        assert!(provider.find(&CERTIFICATE, NAMESPACE, &consumer.copy_name(KEPT)).await.is_none());
        let kept = consumer.get(&CERTIFICATE, NAMESPACE, KEPT).await;
        assert_eq!(
            (kept.annotation(keys::PROVIDER_CLUSTER), kept.finalizers().len()),
            (Some(GO_PROVIDER), 1),
            "{kept}"
        );
        let requests = self.tally.requests().await.writes();
        for name in ALL {
            let written = requests.only(|request| request.event.name == go_copy(name));
            assert!(written.0.is_empty(), "{written}");
        }
        let ours: BTreeSet<String> = self.ours().await;
        assert!(!ours.is_empty());
        page::run(world, "provider=");
        for name in ALL {
            provider.until_gone(&CERTIFICATE, NAMESPACE, &go_copy(name)).await;
        }
        assert_eq!(self.ours().await, ours, "copies of this broker are not touched");
    }

    async fn ours(&self) -> BTreeSet<String> {
        let all = self.provider.list(&CERTIFICATE, NAMESPACE).await;
        let ours = all.iter().filter(|copy| copy.label(keys::MANAGED_BY) == Some(keys::MANAGER));
        ours.map(|copy| copy.uid().to_owned()).collect()
    }
}
