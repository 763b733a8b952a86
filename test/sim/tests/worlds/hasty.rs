//! Somebody who reacts at once to what others write, a few times: where their answers are late, before they have heard them.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sim::ApiServer;

use crate::{
    act::{Haste, Thing},
    customer::{fqdn, hold},
    director::copies_at,
    person::Person,
    stage::{CERTIFICATE, SHOP, Stage, certificates},
};

/// How often, at each server.
const TIMES: usize = 3;

/// Begins to look at a tenant's object, or at its copies, in the background.
pub(crate) fn start(stage: &Stage, thing: Thing, haste: Haste) {
    let servers = if haste == Haste::Holds { vec![thing.tenant] } else { stage.providers.to_vec() };
    for server in servers {
        tokio::spawn(react(stage.server(server), thing, haste));
    }
}

async fn react(server: ApiServer, thing: Thing, haste: Haste) {
    let mut changes = server.changes_of(CERTIFICATE);
    // What is there already is no news.
    let mut known: BTreeSet<String> = watched(&server, thing, haste).iter().map(|one| version(&one.2, haste)).collect();
    let mut left = TIMES;
    while left > 0 && changes.changed().await.is_ok() {
        for (namespace, name, object) in watched(&server, thing, haste) {
            let leaves = object["metadata"]["deletionTimestamp"].is_string();
            if left == 0 || leaves || !known.insert(version(&object, haste)) {
                continue;
            }
            left -= 1;
            let owner = Person { name: "owner", server: &server };
            let path = format!("{}/{name}", certificates(&namespace));
            match haste {
                Haste::Edits => {
                    let fqdn = fqdn(thing, 7 + u8::try_from(left).unwrap());
                    owner.ask("PATCH", &path, &json!({"spec": {"fqdn": fqdn}})).await;
                }
                Haste::Drops => _ = owner.ask("DELETE", &path, &Value::Null).await,
                Haste::Holds => hold(&Person { name: "ann", server: &server }, thing, left.is_multiple_of(2)).await,
            }
            // Nor is what it has done itself.
            known.extend(watched(&server, thing, haste).iter().map(|one| version(&one.2, haste)));
        }
    }
}

/// What it looks at: namespace, name, and all of it.
fn watched(server: &ApiServer, thing: Thing, haste: Haste) -> Vec<(String, String, Value)> {
    if haste != Haste::Holds {
        return copies_at(server, thing);
    }
    let origin = server.objects(CERTIFICATE).remove(&(SHOP.to_owned(), thing.name.to_owned()));
    let origin = origin.map(|origin| (SHOP.to_owned(), thing.name.to_owned(), (*origin).clone()));
    origin.into_iter().collect()
}

/// What tells what it reacts to from what it has seen.
fn version(object: &Value, haste: Haste) -> String {
    let metadata = &object["metadata"];
    match haste {
        Haste::Edits => format!("{} {}", metadata["uid"], metadata["generation"]),
        Haste::Drops => metadata["uid"].to_string(),
        Haste::Holds => metadata["resourceVersion"].to_string(),
    }
}
