//! What a user gets, and what is left when it is given back.

use std::collections::BTreeMap;

use broker_api::keys;
use example_stage::{DEADLINE, Place, thing::is};
use harness::wait_for;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::ResourceExt as _;
use serde_json::Value;

use crate::scene::Scene;

/// Content of a Secret.
pub(crate) type Data = BTreeMap<String, ByteString>;

/// Name of the Secret of a Bucket.
pub(crate) fn secret_of(bucket: &str) -> String {
    format!("{bucket}-credentials")
}

/// Waits until a Bucket of `homer` is served by that provider as it is now, with a Secret that has these keys.
pub(crate) async fn served(homer: &Place, name: &str, by: &Place, wanted: &[&str]) -> anyhow::Result<(Value, Data)> {
    let ready = |seen: &Value| is(seen, "Ready", "True");
    let seen = Scene::bucket(homer, name).until("Ready=True, as it is now", ready).await?;
    let provider = &seen["metadata"]["annotations"][keys::PROVIDER_CLUSTER];
    anyhow::ensure!(*provider == by.name(), "expected it in {}, it is in {provider}", by.name());
    let related = &seen["status"]["relatedResources"]["credentials"]["name"];
    anyhow::ensure!(*related == secret_of(name), "status.relatedResources.credentials.name is {related}");
    let data = arrived(homer, name, |data| wanted.iter().all(|key| data.contains_key(*key))).await?;
    Ok((seen, data))
}

/// Waits until the Secret of a Bucket is in `homer`, and is as it should be.
pub(crate) async fn arrived(homer: &Place, bucket: &str, fits: impl Fn(&Data) -> bool) -> anyhow::Result<Data> {
    let name = secret_of(bucket);
    wait_for(DEADLINE, &format!("Secret {name} in {}", homer.name()), async || {
        let secret: Secret = homer.api().get(&name).await?;
        let data = secret.data.unwrap_or_default();
        anyhow::ensure!(fits(&data), "it has {:?}", data.keys());
        Ok(data)
    })
    .await
}

/// Waits until no Secret of a Bucket is left, in the provider under the copy's name.
pub(crate) async fn no_secrets(homer: &Place, provider: &Place, bucket: &str) -> anyhow::Result<()> {
    let name = secret_of(bucket);
    homer.gone::<Secret>(&name).await?;
    provider.none::<Secret>("of the Bucket", |secret| secret.name_any().ends_with(&name)).await
}
