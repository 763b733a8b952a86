//! `Tale`: the kind that a ResourceGraphDefinition makes here, and what belongs to one.

use std::collections::BTreeMap;

use e2e::{Kind, Object, Place, kind::CONFIG_MAP};
use harness::Dice;
use serde_json::{Value, json};

/// `ResourceGraphDefinition`.
const RGD: Kind =
    Kind { group: "kro.run", version: "v1alpha1", kind: "ResourceGraphDefinition", plural: "resourcegraphdefinitions" };
/// The kind that it makes.
pub(crate) const TALE: Kind = Kind { group: "chaos.test", version: "v1alpha1", kind: "Tale", plural: "tales" };
/// Where its instances are.
pub(crate) const NAMESPACE: &str = "library";

/// The CRDs of graphs.
pub(crate) const CRDS: [&str; 3] = [
    include_str!("../../../config/crd-graphs/broker.platform-mesh.io_resourcegraphrollouts.yaml"),
    include_str!("../../../config/crd-graphs/internal.kro.run_graphrevisions.yaml"),
    include_str!("../../../config/crd-graphs/kro.run_resourcegraphdefinitions.yaml"),
];

/// Two in a row, and one for each item.
const DEFINITION: &str = r"
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: tales}
spec:
  schema:
    apiVersion: v1alpha1
    group: chaos.test
    kind: Tale
    spec: {round: integer, text: string, items: '[]string'}
    status: {last: '${two.metadata.uid}'}
  resources:
    - id: one
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: '${schema.metadata.name}-one'}
        data: {text: '${schema.spec.text}'}
    - id: two
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: '${schema.metadata.name}-two'}
        data: {uid: '${one.metadata.uid}', text: '${schema.spec.text}'}
    - id: parts
      forEach: [{el: '${schema.spec.items}'}]
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: '${schema.metadata.name}-item-${el}'}
        data: {after: '${two.metadata.uid}', text: '${schema.spec.text}'}
";

/// Makes the kind, and waits until it is served.
pub(crate) async fn define(hub: &Place) {
    hub.apply(DEFINITION).await;
    hub.until(&RGD, "", "tales", "to be Active", |seen| seen.text("/status/state") == "Active").await;
}

/// What an author writes next.
pub(crate) fn spec(dice: &mut Dice, round: u64, _: Option<&Value>) -> Value {
    let items: Vec<String> = (0..dice.below(4)).map(|_| dice.below(5).to_string()).collect();
    let distinct: std::collections::BTreeSet<String> = items.into_iter().collect();
    json!({"round": round, "text": format!("t{round}"), "items": distinct})
}

/// Names and contents of all that belongs to an instance with this spec, but for uids.
fn children(name: &str, spec: &Value) -> BTreeMap<String, &'static str> {
    let items = spec["items"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let items = items.map(|item| (format!("{name}-item-{item}"), "after"));
    let row = [(format!("{name}-one"), ""), (format!("{name}-two"), "uid")];
    row.into_iter().chain(items).collect()
}

/// What of an instance is not as its spec says. What belongs to it is taken out of `configs`.
pub(crate) fn judge(instance: &Object, spec: &Value, configs: &mut BTreeMap<String, Object>) -> Vec<String> {
    let name = instance.name();
    let mut wrong = Vec::new();
    let uid_of =
        |configs: &BTreeMap<String, Object>, name: &str| configs.get(name).map(|config| config.uid().to_owned());
    let one = uid_of(configs, &format!("{name}-one")).unwrap_or_default();
    let two = uid_of(configs, &format!("{name}-two")).unwrap_or_default();
    for (child, refers) in children(name, spec) {
        let Some(config) = configs.remove(&child) else {
            wrong.push(format!("its child {} {child} is missing", CONFIG_MAP.kind));
            continue;
        };
        let expected = if refers == "uid" { &one } else { &two };
        let refers_well = refers.is_empty() || config.text(&format!("/data/{refers}")) == expected;
        if config.at("/data/text") != &spec["text"] || !refers_well || config.is_deleting() {
            wrong.push(format!("its child {child} is not as its spec says: {config}"));
        }
    }
    let ready = instance.condition("Ready").is_some_and(|told| told.status == "True");
    if instance.text("/status/state") != "ACTIVE" || !ready || instance.text("/status/last") != two {
        wrong.push("its status does not say that all is there".to_owned());
    }
    wrong
}
