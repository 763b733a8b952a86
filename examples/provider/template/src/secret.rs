//! The Secret by which a Bucket's user comes to it: beside the Bucket, named after it, and owned by it.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{ObjectMeta, Patch, PatchParams},
};

use crate::{
    bucket::Bucket,
    status::{MANAGER, Outcome},
    store,
};

/// Label of the Secrets that are made here: only these are watched.
pub const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", MANAGER);

/// The longest name that an object can have.
const LONGEST: usize = 253;

/// What the broker brings has to begin with the object's name.
pub fn name(bucket: &Bucket) -> String {
    format!("{}-credentials", bucket.name_any())
}

/// Sees that it is there, with what belongs into it.
pub async fn keep(client: &Client, bucket: &Bucket) -> Result<Outcome, kube::Error> {
    let name = name(bucket);
    if name.len() > LONGEST {
        return Ok(Outcome::Refused("NameTooLong", format!("no Secret can be called {name}: choose a shorter name")));
    }
    let secrets = Api::<Secret>::namespaced(client.clone(), &bucket.namespace().unwrap_or_default());
    let held = secrets.get_opt(&name).await?;
    if held.as_ref().is_some_and(|held| !is_ours(held, bucket)) {
        return Ok(Outcome::Refused("SecretTaken", format!("Secret {name} is somebody else's: delete or rename it")));
    }
    let wanted = build(bucket, held.as_ref());
    if !held.as_ref().is_some_and(|held| holds(held, &wanted)) {
        // Only what is known to be ours is written over.
        let params = PatchParams::apply(MANAGER);
        let params = if held.is_some() { params.force() } else { params };
        secrets.patch(&name, &params, &Patch::Apply(&wanted)).await?;
    }
    Ok(Outcome::Made)
}

/// As it should be. Keys that were handed out stay.
fn build(bucket: &Bucket, held: Option<&Secret>) -> Secret {
    let bytes = |text: String| ByteString(text.into_bytes());
    let address = store::address(bucket).map(|(key, text)| (key.to_owned(), bytes(text)));
    let keys = store::keys().map(|(key, new)| {
        let old = held.and_then(|held| held.data.as_ref()?.get(key)).cloned();
        (key.to_owned(), old.unwrap_or_else(|| bytes(new)))
    });
    Secret {
        metadata: ObjectMeta {
            name: Some(name(bucket)),
            labels: Some(BTreeMap::from([(LABEL.0.to_owned(), LABEL.1.to_owned())])),
            // Kubernetes deletes it when its Bucket is gone.
            owner_references: Some(bucket.controller_owner_ref(&()).into_iter().collect()),
            ..ObjectMeta::default()
        },
        data: Some(address.into_iter().chain(keys).collect()),
        ..Secret::default()
    }
}

fn is_ours(held: &Secret, bucket: &Bucket) -> bool {
    held.owner_references().iter().any(|owner| Some(&owner.uid) == bucket.metadata.uid.as_ref())
}

/// Whether all that is wanted is there. What others add is theirs.
fn holds(held: &Secret, wanted: &Secret) -> bool {
    let data = |secret: &Secret| secret.data.clone().unwrap_or_default();
    let (has, labels) = (data(held), held.labels());
    data(wanted).iter().all(|(key, value)| has.get(key) == Some(value))
        && wanted.labels().iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::BucketSpec;

    fn bucket(uid: &str) -> Bucket {
        let mut bucket = Bucket::new("photos", BucketSpec { region: "eu".into(), size: 5 });
        bucket.metadata.uid = Some(uid.to_owned());
        bucket
    }

    #[test]
    fn keys_stay_and_what_is_missing_is_put_back() {
        let first = build(&bucket("u1"), None);
        assert!(is_ours(&first, &bucket("u1")));
        assert!(first == build(&bucket("u1"), Some(&first)), "keys that were handed out have changed");
        let mut spoiled = first.clone();
        spoiled.data.get_or_insert_default().remove("endpoint");
        assert!(!holds(&spoiled, &build(&bucket("u1"), Some(&spoiled))));
        assert!(build(&bucket("u1"), Some(&spoiled)) == first);
    }

    #[test]
    fn what_others_add_stays_and_what_is_anothers_is_not_ours() {
        let wanted = build(&bucket("u1"), None);
        let mut held = wanted.clone();
        held.metadata.annotations = Some(BTreeMap::from([("note".to_owned(), "mine".to_owned())]));
        assert!(holds(&held, &wanted));
        assert!(!is_ours(&held, &bucket("u2")));
    }
}
