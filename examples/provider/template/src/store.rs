//! EDIT: what is offered, here room for files. A ConfigMap in a namespace of the provider's stands for each bucket, in place of calls
//! to the API of the real thing.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams},
};

use crate::{
    bucket::Bucket,
    status::{MANAGER, Outcome},
};

/// Where the ConfigMaps are.
const NAMESPACE: &str = "bucket-provider";

/// The largest bucket that there is, in GiB.
const LARGEST: u32 = 1000;

/// The real thing.
pub struct Store {
    things: Api<ConfigMap>,
}

impl Store {
    /// With the provider's credentials.
    pub fn new(client: Client) -> Self {
        Self { things: Api::namespaced(client, NAMESPACE) }
    }

    /// Makes what is wanted, or brings it up to date. Called in each pass, also after a crash at any place: where all is as wanted
    /// it only looks.
    pub async fn make(&self, bucket: &Bucket) -> Result<Outcome, kube::Error> {
        let size = bucket.spec.size;
        if size > LARGEST {
            // What was there before goes on working.
            return Ok(Outcome::Refused(
                "TooLarge",
                format!("{size} GiB are wanted, {LARGEST} are the most: ask for less"),
            ));
        }
        let name = name(bucket);
        let wanted =
            BTreeMap::from([("region".to_owned(), bucket.spec.region.clone()), ("size".to_owned(), size.to_string())]);
        let held = self.things.get_opt(&name).await?;
        if held.as_ref().is_some_and(|held| held.data.as_ref() == Some(&wanted)) {
            return Ok(Outcome::Made);
        }
        let thing = ConfigMap {
            metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
            data: Some(wanted),
            ..ConfigMap::default()
        };
        self.things.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&thing)).await?;
        // A real one takes its time.
        Ok(if held.is_some() { Outcome::Made } else { Outcome::Making })
    }

    /// Removes it, with all that is in it. It may be gone already, or never have been there.
    pub async fn remove(&self, bucket: &Bucket) -> Result<(), kube::Error> {
        match self.things.delete(&name(bucket), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            removed => removed.map(drop),
        }
    }
}

/// By its uid: a Bucket that is created again under the same name is another one.
fn name(bucket: &Bucket) -> String {
    format!("bucket-{}", bucket.uid().unwrap_or_default())
}

/// Where its user finds it.
pub fn address(bucket: &Bucket) -> [(&'static str, String); 2] {
    [("endpoint", format!("https://{}.storage.example.org", bucket.spec.region)), ("bucket", name(bucket))]
}

/// New keys. They are made of nothing that others know.
pub fn keys() -> [(&'static str, String); 2] {
    [
        ("accessKey", format!("{:016x}", rand::random::<u64>())),
        ("secretKey", format!("{:032x}", rand::random::<u128>())),
    ]
}
