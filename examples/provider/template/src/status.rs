//! What is said of a Bucket: all that the broker, and through it the Bucket's user, sees of a provider.

use std::collections::BTreeMap;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::{
    bucket::{Bucket, BucketStatus, Gvk, RelatedResource},
    secret,
};

/// Field manager of all that is written here. EDIT: your provider's name.
pub const MANAGER: &str = "bucket-provider";

/// What came of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is being made.
    Making,
    /// It can be used.
    Made,
    /// It cannot be had: why, in one CamelCase word; and for people, with what they can do.
    Refused(&'static str, String),
}

/// Says it, if it is not what is said already: a status that is written in each pass leads to the next one, for ever.
pub async fn report(client: &Client, bucket: &Bucket, outcome: &Outcome) -> Result<(), kube::Error> {
    let Some(status) = build(bucket, outcome, Timestamp::now()) else { return Ok(()) };
    let buckets = Api::<Bucket>::namespaced(client.clone(), &bucket.namespace().unwrap_or_default());
    let patch = json!({
        "apiVersion": Bucket::api_version(&()),
        "kind": Bucket::kind(&()),
        // With the uid, one that was created again under the same name is not told of its predecessor.
        "metadata": { "name": bucket.name_any(), "uid": bucket.uid() },
        "status": status,
    });
    let params = PatchParams::apply(MANAGER).force();
    match buckets.patch_status(&bucket.name_any(), &params, &Patch::Apply(patch)).await {
        // Deleted meanwhile: there is nobody to tell.
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        written => written.map(drop),
    }
}

fn build(bucket: &Bucket, outcome: &Outcome, now: Timestamp) -> Option<BucketStatus> {
    let held = bucket.status.clone().unwrap_or_default();
    // `Available` is what a move to this provider waits for: not before it can be used.
    let (word, ready, reason, message) = match outcome {
        Outcome::Making => ("Provisioning", "False", "Making", "it is being made".to_owned()),
        Outcome::Made => {
            ("Available", "True", "Made", format!("{} GiB in region {}", bucket.spec.size, bucket.spec.region))
        }
        Outcome::Refused(reason, why) => ("Failed", "False", *reason, why.clone()),
    };
    let before = held.conditions.iter().find(|held| held.type_ == "Ready" && held.status == ready);
    let condition = Condition {
        type_: "Ready".to_owned(),
        status: ready.to_owned(),
        reason: reason.to_owned(),
        message,
        // Without it nobody can tell an old answer from a new one.
        observed_generation: bucket.metadata.generation,
        // When it became so, not when it was said last.
        last_transition_time: before.map_or(Time(now), |before| before.last_transition_time.clone()),
    };
    let related_resources = match outcome {
        Outcome::Made => BTreeMap::from([("credentials".to_owned(), related(bucket))]),
        // An edit that cannot be served takes nothing away.
        Outcome::Making | Outcome::Refused(..) => held.related_resources.clone(),
    };
    let status = BucketStatus { status: Some(word.to_owned()), conditions: vec![condition], related_resources };
    (status != held).then_some(status)
}

fn related(bucket: &Bucket) -> RelatedResource {
    let gvk = Gvk { group: "core".to_owned(), version: "v1".to_owned(), kind: "Secret".to_owned() };
    RelatedResource { gvk, name: secret::name(bucket) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::bucket::BucketSpec;

    const THEN: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn bucket(generation: i64, status: Option<BucketStatus>) -> Bucket {
        let mut bucket = Bucket::new("photos", BucketSpec { region: "eu".into(), size: 5 });
        bucket.metadata.generation = Some(generation);
        bucket.status = status;
        bucket
    }

    #[test]
    fn what_is_said_already_is_not_said_again() {
        let first = build(&bucket(1, None), &Outcome::Made, THEN).unwrap();
        assert_eq!(first.related_resources["credentials"].name, "photos-credentials");
        assert_eq!(build(&bucket(1, Some(first.clone())), &Outcome::Made, Timestamp::now()), None);
        let second = build(&bucket(2, Some(first)), &Outcome::Made, Timestamp::now()).unwrap();
        assert_eq!(second.conditions[0].observed_generation, Some(2));
        assert_eq!(second.conditions[0].last_transition_time.0, THEN, "it was ready all the time");
    }

    #[test]
    fn an_edit_that_is_refused_takes_nothing_away() {
        let first = build(&bucket(1, None), &Outcome::Made, THEN).unwrap();
        let refused = Outcome::Refused("TooLarge", "ask for less".to_owned());
        let second = build(&bucket(2, Some(first.clone())), &refused, Timestamp::now()).unwrap();
        assert_eq!((second.status.as_deref(), second.conditions[0].status.as_str()), (Some("Failed"), "False"));
        assert_eq!(second.related_resources, first.related_resources);
    }

    #[test]
    fn what_is_being_made_has_nothing_yet() {
        let status = build(&bucket(1, None), &Outcome::Making, THEN).unwrap();
        assert_eq!(status.status.as_deref(), Some("Provisioning"));
        assert!(status.related_resources.is_empty());
    }
}
