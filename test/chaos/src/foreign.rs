//! `Foreign`: objects of others beside ours, which nobody may touch.

use e2e::{
    Kind, Object, Place,
    kind::{CONFIG_MAP, SECRET},
};
use serde_json::{Value, json};

use crate::{
    graph,
    stage::{NAMESPACES, Stage, WIDGET},
};

/// Beginning of their names.
const NAME: &str = "theirs";

/// They as they were made.
pub(crate) struct Foreign(Vec<(Place, Kind, Object)>);

/// Whether an object is one of them.
pub(crate) fn is(name: &str) -> bool {
    name.starts_with(NAME)
}

impl Foreign {
    /// Makes them.
    pub(crate) async fn make(stage: &Stage) -> Self {
        let mut all = Vec::new();
        // What programs and people leave alone looks much like what they do not.
        let ignored = json!({"broker.platform-mesh.io/ignore": "true"});
        for place in stage.places() {
            let namespace = if place.name() == stage.hub().name() { graph::NAMESPACE } else { NAMESPACES[0] };
            let mut bodies = vec![
                (SECRET, "theirs-key", json!({"stringData": {"round": "1"}})),
                (CONFIG_MAP, "theirs-one", json!({"data": {"text": "mine"}})),
            ];
            if place.name() != stage.hub().name() {
                bodies.push((
                    WIDGET,
                    NAME,
                    json!({"spec": {"round": 1, "region": "any"}, "metadata": {"labels": Value::Null}}),
                ));
            }
            for (kind, name, mut body) in bodies {
                if kind == WIDGET && stage.consumers().any(|consumer| consumer.name() == place.name()) {
                    body["metadata"]["labels"] = ignored.clone();
                }
                let made = place.create(&kind, namespace, name, body).await;
                all.push((place.clone(), kind, made));
            }
        }
        Self(all)
    }

    /// Those that are not as they were, byte for byte.
    pub(crate) async fn touched(&self) -> anyhow::Result<Vec<String>> {
        let mut touched = Vec::new();
        for (place, kind, made) in &self.0 {
            let found = place.try_get(kind, made.namespace(), made.name()).await?;
            if found.as_ref() != Some(made) {
                let found = found.map_or("is gone".to_owned(), |found| format!("is now {}", found.0));
                touched.push(format!(
                    "{} {} of others in {} was {} and {found}",
                    kind.kind,
                    made.name(),
                    place.name(),
                    made.0
                ));
            }
        }
        Ok(touched)
    }
}
