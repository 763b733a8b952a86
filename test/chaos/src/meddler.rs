//! Who changes what is ours to keep right: marks, specs, statuses and copies at providers, Secrets at consumers, children of
//! instances.

use std::{sync::Arc, time::Duration};

use e2e::{
    Kind, Object, Place,
    kind::{CONFIG_MAP, SECRET},
};
use harness::Dice;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::{sync::watch, time::sleep};

use crate::{
    foreign, graph,
    stage::{NAMESPACES, Stage, WIDGET},
    timeline::Timeline,
};

/// Longest pause between two, in milliseconds.
const PACE: u64 = 3_000;
/// A field of copies that no origin has.
pub(crate) const THEIRS: &str = "theirs";

/// Meddles until `stop` says so.
pub(crate) async fn work(stage: &Stage, mut dice: Dice, timeline: &Arc<Timeline>, stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        sleep(Duration::from_millis(dice.below(PACE))).await;
        // It may be gone, or its API server.
        if let Ok(Some((what, said))) = meddle(stage, &mut dice).await {
            timeline.edit(what, &said);
        }
    }
}

async fn meddle(stage: &Stage, dice: &mut Dice) -> kube::Result<Option<(&'static str, String)>> {
    let providers: Vec<&Place> = stage.providers().collect();
    let consumers: Vec<&Place> = stage.consumers().collect();
    let namespace = *dice.pick(&NAMESPACES);
    let (place, kind, namespace) = match dice.below(8) {
        0..5 => (*dice.pick(&providers), WIDGET, namespace),
        5..6 => (*dice.pick(&consumers), SECRET, namespace),
        _ => (stage.hub(), CONFIG_MAP, graph::NAMESPACE),
    };
    let Some(object) = any(place, &kind, namespace, dice).await? else { return Ok(None) };
    let (what, patch) = match (kind, dice.below(4)) {
        (WIDGET, 0) => ("marks of a copy stripped", Some(stripped())),
        (WIDGET, 1) => ("a copy's spec edited", Some(json!({"spec": {"round": -1, THEIRS: true}}))),
        (WIDGET, 2) => {
            let status = json!({"status": {"status": "Provisioning"}});
            let api = place.api(&WIDGET, namespace);
            api.patch_status(object.name(), &PatchParams::default(), &Patch::Merge(status)).await?;
            return Ok(Some(("a copy's status set back", said(place, &object))));
        }
        (WIDGET, _) => ("a copy deleted", None),
        (SECRET, 0..2) => ("a consumer's Secret edited", Some(json!({"stringData": {"round": "mine"}}))),
        (SECRET, _) => ("a consumer's Secret deleted", None),
        (_, 0..2) => ("a child edited", Some(json!({"data": {"text": "mine"}}))),
        _ => ("a child deleted", None),
    };
    let api = place.api(&kind, namespace);
    match patch {
        Some(patch) => _ = api.patch(object.name(), &PatchParams::default(), &Patch::Merge(patch)).await?,
        None => _ = api.delete(object.name(), &DeleteParams::default()).await?,
    }
    Ok(Some((what, said(place, &object))))
}

fn said(place: &Place, object: &Object) -> String {
    format!("{} {}/{}", place.name(), object.namespace(), object.name())
}

/// One of what is not somebody else's.
async fn any(place: &Place, kind: &Kind, namespace: &str, dice: &mut Dice) -> kube::Result<Option<Object>> {
    let listed = place.api(kind, namespace).list(&ListParams::default()).await?;
    let ours = listed.items.into_iter().map(Object::from).filter(|object| !foreign::is(object.name()));
    let ours: Vec<Object> = ours.collect();
    Ok(if ours.is_empty() { None } else { Some(dice.pick(&ours).clone()) })
}

/// What a copy says of its origin, taken away.
fn stripped() -> Value {
    let marks = ["consumer-cluster", "consumer-name", "consumer-namespace", "consumer-uid", "origin"];
    let marks: Value = marks.iter().map(|mark| (format!("broker.platform-mesh.io/{mark}"), Value::Null)).collect();
    json!({"metadata": {"annotations": marks}})
}
