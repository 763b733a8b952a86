//! `Customer`: a person who does things with one Certificate, one after the other.

use std::{cell::Cell, time::Duration};

use broker_api::keys;
use serde_json::{Value, json};
use sim::{ApiServer, Deed, World};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::{
    act::{Act, Forgery, Thing},
    person::Person,
    stage::{CERTIFICATE, FOREIGN, SHOP, certificate, certificates},
};

/// So often somebody tries again who has to wait.
const AGAIN: Duration = Duration::from_secs(1);

/// Does what it is told, in that order: who asks for a name anew waits until the last of that name is gone.
pub(crate) struct Customer {
    todo: mpsc::UnboundedSender<Act>,
    /// How much of that it has done.
    done: watch::Receiver<usize>,
    told: Cell<usize>,
    works: JoinHandle<()>,
}

impl Customer {
    pub(crate) fn start(world: &std::sync::Arc<World>, thing: Thing) -> Self {
        let (todo, mut told) = mpsc::unbounded_channel();
        let (does, done) = watch::channel(0);
        let (world, server) = (std::sync::Arc::clone(world), world.server(thing.tenant));
        let works = tokio::spawn(async move {
            while let Some(act) = told.recv().await {
                perform(&world, &server, act).await;
                does.send_modify(|done| *done += 1);
            }
        });
        Self { todo, done, told: Cell::new(0), works }
    }

    pub(crate) fn tell(&self, act: Act) {
        self.told.set(self.told.get() + 1);
        // It lives as long as we do.
        let _ = self.todo.send(act);
    }

    /// Waits until all is done that it was told up to now. `false`: that takes too long.
    pub(crate) async fn has_done_all(&self, patience: Duration) -> bool {
        let (mut done, told) = (self.done.clone(), self.told.get());
        timeout(patience, done.wait_for(|done| *done >= told)).await.is_ok()
    }

    /// Waits until all is done that it was told. `false`: that takes too long.
    pub(crate) async fn finish(self, patience: Duration) -> bool {
        let Self { todo, works, .. } = self;
        drop(todo);
        timeout(patience, works).await.is_ok()
    }
}

/// What a name of a tenant is spelled like in a Certificate's spec.
pub(crate) fn fqdn(thing: Thing, edition: u8) -> String {
    format!("{}{edition}.{}.example.org", thing.name, thing.tenant)
}

async fn perform(world: &World, server: &ApiServer, act: Act) {
    let ann = Person { name: "ann", server };
    let path = |thing: Thing| format!("{}/{}", certificates(SHOP), thing.name);
    match act {
        Act::Ask(thing) => ask(&ann, thing).await,
        Act::Edit(thing, edition) => {
            ann.ask("PATCH", &path(thing), &json!({"spec": {"fqdn": fqdn(thing, edition)}})).await;
        }
        Act::GiveBack(thing) => {
            ann.ask("DELETE", &path(thing), &Value::Null).await;
        }
        Act::Force(thing) => annotate(&ann, thing, &json!({keys::FORCE_DELETE: "true"})).await,
        Act::Pause(thing) => annotate(&ann, thing, &json!({keys::PAUSED: "true"})).await,
        Act::Resume(thing) => annotate(&ann, thing, &json!({keys::PAUSED: null})).await,
        Act::Hold(thing) => hold(&ann, thing, true).await,
        Act::Release(thing) => hold(&ann, thing, false).await,
        Act::Forge(thing, forgery) => forge(world, &ann, thing, forgery).await,
        _ => {}
    }
}

async fn ask(ann: &Person<'_>, thing: Thing) {
    let wanted = certificate(SHOP, thing.name, &fqdn(thing, 0));
    loop {
        let (code, answer) = ann.ask("POST", &certificates(SHOP), &wanted).await;
        match code {
            201 => return,
            // The last of that name is not gone; or the kind is not served.
            409 | 404 => {}
            // Or it will not be soon.
            403 if answer.to_string().contains("definition is terminating") => {}
            _ => panic!("{thing:?}: {code} {answer}"),
        }
        let held = ann.server.objects(CERTIFICATE).remove(&(SHOP.to_owned(), thing.name.to_owned()));
        if held.is_some_and(|held| held["metadata"]["deletionTimestamp"].is_null()) {
            let path = format!("{}/{}", certificates(SHOP), thing.name);
            ann.ask("PATCH", &path, &json!({"spec": wanted["spec"]})).await;
            return;
        }
        sleep(AGAIN).await;
    }
}

pub(crate) async fn annotate(ann: &Person<'_>, thing: Thing, annotations: &Value) {
    let path = format!("{}/{}", certificates(SHOP), thing.name);
    ann.ask("PATCH", &path, &json!({"metadata": {"annotations": annotations}})).await;
}

/// With a finalizer of nobody's business, or without it; the others stay.
pub(crate) async fn hold(ann: &Person<'_>, thing: Thing, holds: bool) {
    let place = (SHOP.to_owned(), thing.name.to_owned());
    let Some(held) = ann.server.objects(CERTIFICATE).remove(&place) else { return };
    let finalizers = held["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    if finalizers.contains(&json!(FOREIGN)) == holds {
        return;
    }
    let others = finalizers.into_iter().filter(|name| *name != FOREIGN);
    let all: Vec<Value> = others.chain(holds.then(|| json!(FOREIGN))).collect();
    let path = format!("{}/{}", certificates(SHOP), thing.name);
    ann.ask("PATCH", &path, &json!({"metadata": {"finalizers": all}})).await;
}

async fn forge(world: &World, ann: &Person<'_>, thing: Thing, forgery: Forgery) {
    let annotations = match forgery {
        Forgery::Elsewhere(provider) => json!({keys::PROVIDER_CLUSTER: provider}),
        Forgery::Moving(provider) => json!({keys::NEW_PROVIDER_CLUSTER: provider}),
        Forgery::Unsigned => json!({keys::ASSIGNMENT: null}),
        Forgery::Replay => match first_assignment(world, thing) {
            Some(annotations) => annotations,
            None => return,
        },
        Forgery::Unheld => {
            let path = format!("{}/{}", certificates(SHOP), thing.name);
            ann.ask("PATCH", &path, &json!({"metadata": {"finalizers": null}})).await;
            return;
        }
    };
    annotate(ann, thing, &annotations).await;
}

/// What the broker first wrote of where it is.
fn first_assignment(world: &World, thing: Thing) -> Option<Value> {
    let ours = [keys::PROVIDER_CLUSTER, keys::NEW_PROVIDER_CLUSTER, keys::ASSIGNMENT];
    world.journal().find(|entry| {
        let Deed::Change(change) = &entry.deed else { return None };
        if entry.server != thing.tenant || change.resource != CERTIFICATE || change.name != thing.name {
            return None;
        }
        let annotations = &change.after.as_ref()?["metadata"]["annotations"];
        annotations[keys::ASSIGNMENT]
            .is_string()
            .then(|| ours.map(|key| (key.to_owned(), annotations[key].clone())).into_iter().collect())
    })
}
