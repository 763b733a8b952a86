//! Every shape is taken by an API server with our CRDs that is told to be strict, and nothing of it is dropped.

use e2e::{Kind, Object, Place};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::{NAMESPACE, documents};

/// The files of this test.
const FILES: [&str; 3] =
    [include_str!("accept_apis.yaml"), include_str!("migrations.yaml"), include_str!("brokers.yaml")];

fn kind_of(document: &Value) -> Kind {
    let leak = |text: &Value| -> &'static str { text.as_str().unwrap().to_owned().leak() };
    let (group, version) = leak(&document["apiVersion"]).split_once('/').unwrap();
    let kind = leak(&document["kind"]);
    let plural = format!("{}s", kind.to_lowercase()).leak();
    Kind { group, version, kind, plural }
}

/// What `kubectl apply` does at first: a create that is told to refuse unknown fields.
async fn create(place: &Place, document: &Value) -> Object {
    let metadata = &document["metadata"];
    let (name, namespace) = (metadata["name"].as_str().unwrap(), metadata["namespace"].as_str().unwrap_or(NAMESPACE));
    let api = place.api(&kind_of(document), namespace);
    let object: DynamicObject = serde_json::from_value(document.clone()).unwrap();
    let params = PatchParams { force: true, ..PatchParams::apply("person").validation_strict() };
    // Not stored: that it can be created is the next request's.
    let tried = api.patch(name, &PatchParams { dry_run: true, ..params }, &Patch::Apply(&object)).await;
    tried.unwrap_or_else(|error| panic!("{} {name}: {error}", document["kind"]));
    let created = api.create(&PostParams::default(), &object).await;
    Object::from(created.unwrap_or_else(|error| panic!("{} {name}: {error}", document["kind"])))
}

/// Whether all of `wanted` is in `stored`. What is null or empty says nothing.
fn holds(wanted: &Value, stored: &Value) -> bool {
    match (wanted, stored) {
        (Value::Null, _) => true,
        (Value::Object(wanted), Value::Object(stored)) => {
            wanted.iter().all(|(key, wanted)| holds(wanted, stored.get(key).unwrap_or(&Value::Null)))
        }
        (Value::Object(wanted), Value::Null) => wanted.is_empty(),
        (Value::Array(wanted), Value::Array(stored)) => {
            wanted.len() == stored.len() && wanted.iter().zip(stored).all(|(wanted, stored)| holds(wanted, stored))
        }
        (wanted, stored) => wanted == stored,
    }
}

/// In a cluster where none of them is yet.
pub(crate) async fn are_taken_as_they_are(place: &Place) {
    let crds: Vec<String> = broker_api::crds().iter().map(|crd| json!(crd).to_string()).collect();
    place.apply(&crds.join("\n---\n")).await;
    place.make_namespace("resource-broker-system").await;
    for document in FILES.into_iter().flat_map(documents) {
        let stored = create(place, &document).await;
        let (wanted, stored) = (&document["spec"], stored.at("/spec"));
        assert!(holds(wanted, stored), "{}: of {wanted}\nthis is left: {stored}", document["metadata"]["name"]);
    }
}
