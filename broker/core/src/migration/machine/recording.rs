//! The configuration that a Migration recorded when it began. It is in a status that people of its namespace may be able
//! to write, and says what the broker makes in the compute cluster: it counts with the broker's signature, or while it
//! says the same as the configuration in force.

use broker_api::migration::RecordedConfiguration;
use serde_json::{Value, json};

use super::Pass;
use crate::{
    assignment::KeyRing,
    migration::{
        configuration::Configuration,
        observed::{Applicable, Observed},
    },
};

/// Whether what was recorded counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belief {
    /// It does, or there is nothing.
    Yes,
    /// It does not.
    No,
    /// Not all configurations are known.
    Unknown,
}

/// Told of what does not count.
const NOT_OURS: &str = "status.configuration does not carry the broker's signature: somebody has edited it, or the key is \
                        lost; set spec.abort, or delete the Migration";

/// What is signed. Nulls do not count: API servers leave some of them out.
fn content(recorded: &RecordedConfiguration) -> String {
    let RecordedConfiguration { namespace, name, generation, stages, signature: _ } = recorded;
    let mut stages = serde_json::to_value(stages).unwrap_or_default();
    prune(&mut stages);
    json!([namespace, name, generation, stages]).to_string()
}

fn prune(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(prune);
        }
        Value::Array(elements) => {
            elements.retain(|value| !value.is_null());
            elements.iter_mut().for_each(prune);
        }
        _ => {}
    }
}

fn unsigned(configuration: &Configuration) -> RecordedConfiguration {
    let Configuration { namespace, name, generation, source, stages: _ } = configuration;
    RecordedConfiguration {
        namespace: namespace.clone(),
        name: name.clone(),
        generation: *generation,
        stages: source.clone(),
        signature: None,
    }
}

/// What the Migration of this uid records of a configuration.
pub(super) fn record(configuration: &Configuration, uid: &str, ring: &KeyRing) -> RecordedConfiguration {
    let mut recorded = unsigned(configuration);
    recorded.signature = Some(ring.sign_record(uid, &content(&recorded)));
    recorded
}

/// Whether what a Migration holds counts.
pub(super) fn judge(recorded: Option<&RecordedConfiguration>, observed: &Observed<'_>) -> Belief {
    let Some(recorded) = recorded else { return Belief::Yes };
    let content = content(recorded);
    let signed = |text: &String| observed.ring.verify_record(&observed.object.uid, &content, text);
    if recorded.signature.as_ref().is_some_and(signed) {
        return Belief::Yes;
    }
    match observed.applicable {
        Applicable::Unknown => Belief::Unknown,
        Applicable::Found(found) if self::content(&unsigned(found)) == content => Belief::Yes,
        Applicable::Found(_) | Applicable::None | Applicable::Invalid(_) => Belief::No,
    }
}

impl Pass<'_> {
    /// The configuration that was recorded, if it counts.
    pub(super) fn configuration(&self) -> Option<&RecordedConfiguration> {
        self.held.configuration.as_ref().filter(|_| self.belief == Belief::Yes)
    }

    /// Signs what was recorded with the key that signs now. Returns whether nothing can be done, for it does not count.
    pub(super) fn distrusts(&mut self) -> bool {
        match self.belief {
            Belief::Yes => {
                let Observed { object, ring, .. } = self.observed;
                if let Some(recorded) = &mut self.next.configuration {
                    recorded.signature = Some(ring.sign_record(&object.uid, &content(recorded)));
                }
            }
            Belief::No => self.stall(broker_api::condition::INVALID, NOT_OURS),
            Belief::Unknown => {}
        }
        self.belief != Belief::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_do_not_count() {
        let mut value = json!({"a": null, "b": [null, {"c": null, "d": 1}], "e": {"f": {"g": null}}});
        prune(&mut value);
        assert_eq!(value, json!({"b": [{"d": 1}], "e": {"f": {}}}));
    }
}
