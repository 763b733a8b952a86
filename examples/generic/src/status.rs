//! The status of an object: the part of a provider that the broker, and through it the consumer, sees. Pure.

use std::collections::BTreeMap;

use broker_api::{
    Availability, BrokeredStatus, Gvk, RelatedResource,
    condition::{self, READY, set_condition},
};
use k8s_openapi::jiff::Timestamp;

use crate::product::{Generic, Refusal, Vessel, product_name};

/// The status of an object that got what its message says, or was refused. `None` when it says so already: then nothing
/// is written.
pub fn build<K: Generic>(object: &K, made: Result<&str, &Refusal>, now: Timestamp) -> Option<BrokeredStatus> {
    let held = object.status().cloned().unwrap_or_default();
    let (availability, reason, message) = match made {
        Ok(message) => (Availability::Available, "Running", message),
        Err(Refusal { reason, message }) => (Availability::Failed, *reason, message.as_str()),
    };
    let mut conditions: Vec<_> = held.conditions.into_iter().filter(|held| held.type_ == READY).collect();
    let generation = object.meta().generation;
    let ready = condition::condition(READY, made.is_ok(), reason, message, generation, now);
    let changed = set_condition(&mut conditions, ready);
    // What was handed out stays when a later wish is refused.
    let related_resources = match made {
        Ok(_) => BTreeMap::from([(K::RELATED.to_owned(), related(object))]),
        Err(_) => held.related_resources.clone(),
    };
    let same = !changed && held.status == Some(availability) && held.related_resources == related_resources;
    (!same).then_some(BrokeredStatus { conditions, related_resources, status: Some(availability) })
}

fn related<K: Generic>(object: &K) -> RelatedResource {
    let kind = match K::VESSEL {
        Vessel::Secret => "Secret",
        Vessel::ConfigMap => "ConfigMap",
    };
    RelatedResource {
        gvk: Gvk { group: "core".to_owned(), version: "v1".to_owned(), kind: kind.to_owned() },
        name: product_name::<K>(object.meta().name.as_deref().unwrap_or_default()),
        namespace: object.meta().namespace.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use broker_api::generic::databases::{Sql, SqlSpec};

    use super::*;

    #[test]
    fn the_status_is_written_once() {
        let now = Timestamp::now();
        let mut sql = Sql::new("orders", SqlSpec { engine: "postgres".into(), version: None });
        sql.metadata.generation = Some(1);
        let first = build(&sql, Ok("here"), now).unwrap();
        assert_eq!(first.related_resources["connection"].name, "orders-connection");
        sql.status = Some(first);
        assert_eq!(build(&sql, Ok("here"), Timestamp::now()), None);
        sql.metadata.generation = Some(2);
        let refusal = Refusal { reason: "EngineUnknown", message: "no".into() };
        let second = build(&sql, Err(&refusal), now).unwrap();
        assert_eq!((second.status, second.conditions[0].observed_generation), (Some(Availability::Failed), Some(2)));
        assert!(second.related_resources.contains_key("connection"), "a failed edit takes nothing away");
    }
}
