//! What policies say is done (I7), also before anybody puts anything in order: an object that its provider wants to be rid of goes
//! to another who would have it, and one that nobody has is placed.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use broker_api::keys;
use serde_json::Value;
use sim::{ApiServer, Deed, Outage};

use crate::{
    act::Thing,
    director::{definition, is_going},
    provider::Mood,
    stage::{ACCEPT_APIS, CERTIFICATE, FOREIGN, HUB, MIGRATIONS, PRIVATE, SHOP, Stage},
};

/// What a provider does with objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// It would have any, and serve it.
    Takes,
    /// It wants to be rid of those that it has, or has been away for longer than it may.
    Parts,
    /// It keeps those that it has, or nobody can say.
    Keeps,
}

/// Whether everything is where policies say, in a world in which all that can be done is done.
///
/// # Errors
/// What is not.
pub(crate) fn heeded(stage: &Stage) -> Result<(), String> {
    if stage.world.outage(HUB).is_some() {
        return Ok(());
    }
    for thing in Thing::all(stage.tenants) {
        let told = wanted(stage, thing).map_or(Ok(()), |origin| is_told(stage, &origin));
        told.map_err(|why| format!("{thing:?} {why}"))?;
    }
    let impatient = impatient(stage);
    let stands: BTreeMap<&str, Stand> =
        stage.providers.iter().map(|name| (*name, stand(stage, name, impatient.contains(name)))).collect();
    let Some((taker, _)) = stands.iter().find(|(_, stand)| **stand == Stand::Takes) else { return Ok(()) };
    for thing in Thing::all(stage.tenants) {
        let Some(origin) = wanted(stage, thing) else { continue };
        let provider = origin["metadata"]["annotations"][keys::PROVIDER_CLUSTER].as_str().unwrap_or_default();
        match stands.get(provider) {
            None if may_have_been_placed(stage, &origin) => {}
            None => return Err(format!("{thing:?} is nowhere, and {taker} would have it")),
            Some(Stand::Parts) => {
                return Err(format!(
                    "{thing:?} is still at {provider}, which parts with it, and {taker} would have it"
                ));
            }
            Some(Stand::Takes | Stand::Keeps) => {}
        }
    }
    Ok(())
}

/// Whether the consumer is shown what its copy says, where any other copy is at a provider that fails at all writes.
fn is_told(stage: &Stage, origin: &Value) -> Result<(), String> {
    let copy_at = |name: &&str| {
        let mut copies = stage.server(name).objects(CERTIFICATE).into_values();
        copies.find(|copy| copy["metadata"]["annotations"][keys::CONSUMER_UID] == origin["metadata"]["uid"])
    };
    let is_broken = |name: &&str| stage.world.outage(name) == Some(Outage::Broken);
    let (broken, others): (Vec<&str>, Vec<&str>) = stage.providers.iter().copied().partition(is_broken);
    let copies: Vec<_> = others.iter().filter_map(copy_at).collect();
    let [copy] = &copies[..] else { return Ok(()) };
    let named = |object: &Value| {
        let related = object["status"]["relatedResources"].as_object();
        related.into_iter().flat_map(|related| related.keys().cloned()).collect::<BTreeSet<String>>()
    };
    let (says, shows) = (named(copy), named(origin));
    if broken.is_empty() || says == shows { Ok(()) } else { Err(format!("shows {shows:?}, and its copy has {says:?}")) }
}

/// Whether it says, in words that are not the broker's, that it was placed, and one cannot be asked who may have it.
fn may_have_been_placed(stage: &Stage, origin: &Value) -> bool {
    let steering = [keys::PROVIDER_CLUSTER, keys::NEW_PROVIDER_CLUSTER, keys::ASSIGNMENT];
    let claims = steering.iter().any(|key| origin["metadata"]["annotations"][*key].is_string());
    claims && stage.providers.iter().any(|name| stage.world.outage(name).is_some())
}

fn is_reached(stage: &Stage, name: &str) -> bool {
    let secrets = stage.server(HUB).objects("secrets");
    secrets.contains_key(&("clusters".to_owned(), name.to_owned())) && stage.world.outage(name).is_none()
}

fn serves(server: &ApiServer, kind: &str) -> bool {
    definition(server, kind).is_some_and(|crd| !is_going(&crd))
}

/// It, if somebody wants it, and nobody says that nothing is to be done about it.
fn wanted(stage: &Stage, thing: Thing) -> Option<std::sync::Arc<Value>> {
    let server = stage.server(thing.tenant);
    if !is_reached(stage, thing.tenant) || !serves(&server, CERTIFICATE) {
        return None;
    }
    let origin = server.objects(CERTIFICATE).remove(&(SHOP.to_owned(), thing.name.to_owned()))?;
    let metadata = &origin["metadata"];
    let is_left_alone = metadata["annotations"][keys::PAUSED] == "true" || metadata["deletionTimestamp"].is_string();
    (!is_left_alone && !is_ordered(stage, &metadata["uid"])).then_some(origin)
}

/// Whether a person has a say in its moves: one that is held up, or given up, is not tried again as long as its Migration is
/// there.
fn is_ordered(stage: &Stage, uid: &Value) -> bool {
    stage.server(HUB).objects(MIGRATIONS).into_values().any(|migration| {
        let spec = &migration["spec"];
        let orders = spec["paused"] == true || spec["abort"] == true;
        orders && migration["metadata"]["annotations"][keys::CONSUMER_UID] == *uid
    })
}

fn stand(stage: &Stage, name: &str, is_impatient: bool) -> Stand {
    if !is_reached(stage, name) {
        let is_out = stage.world.outage(name).is_none();
        return if is_impatient || is_out { Stand::Parts } else { Stand::Keeps };
    }
    let server = stage.server(name);
    if !serves(&server, CERTIFICATE) || !serves(&server, ACCEPT_APIS) {
        return Stand::Keeps;
    }
    let accepts = server.objects(ACCEPT_APIS).into_values().next();
    let Some(accepts) = accepts else { return Stand::Parts };
    if accepts["metadata"]["annotations"][keys::DRAIN] == "true"
        || accepts["spec"]["filters"][0]["suffix"] == ".example.com"
    {
        return Stand::Parts;
    }
    let mood = *stage.moods[name].borrow();
    let works = matches!(mood, Mood::Prompt | Mood::Slow | Mood::Tokens | Mood::Foreign);
    let takes = works && accepts["spec"]["cordoned"] != true && !is_taken(&server);
    if takes { Stand::Takes } else { Stand::Keeps }
}

/// Whether somebody else may have the place of a copy there.
fn is_taken(server: &ApiServer) -> bool {
    server.objects(CERTIFICATE).into_iter().any(|((namespace, _), object)| {
        let labels = &object["metadata"]["labels"];
        namespace != PRIVATE && (labels[keys::MANAGED_BY].is_null() || labels[FOREIGN].is_string())
    })
}

/// Providers that cannot be reached for longer than their AcceptAPI says, which was seen before.
fn impatient(stage: &Stage) -> BTreeSet<&'static str> {
    /// Whatever is said is seen within this.
    const SEEN: Duration = Duration::from_secs(30);
    let mut said: BTreeMap<&str, Duration> = BTreeMap::new();
    let mut lost: BTreeMap<&str, (Duration, bool)> = BTreeMap::new();
    for entry in stage.world.journal().entries() {
        let Deed::Told(what) = &entry.deed else { continue };
        if what == "starts" {
            // What begins meanwhile has not seen what it says, and keeps what it has.
            said.retain(|name, _| !lost.contains_key(name));
        }
        for name in stage.providers {
            if what.starts_with(&format!("Policy({name:?}, ")) {
                said.remove(name);
                if what.ends_with(" Impatient)") && !lost.contains_key(name) {
                    said.insert(name, entry.at);
                }
            }
            if entry.server != *name {
                continue;
            }
            if what == "can be reached" {
                lost.remove(name);
            } else if what.starts_with("cannot be reached") {
                let how = [Outage::Refused, Outage::Silent].map(|how| format!("cannot be reached: {how:?}"));
                lost.insert(name, (entry.at, how.contains(what)));
            }
        }
    }
    let is_due = |name: &&&'static str| {
        let (said, lost) = (said.get(**name), lost.get(**name));
        matches!((said, lost), (Some(said), Some((lost, true))) if *said + SEEN < *lost)
    };
    stage.providers.iter().filter(is_due).copied().collect()
}
