//! What must hold after every step, judged from the journal.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use broker_api::graphs::keys;
use serde_json::Value;
use sim::{Change, Deed, Entry, UNGUARDED, UNLED};

use super::{
    ending::UNTOLD,
    rgds::WIDGETS,
    stage::{HUB, PRIVATE, SPOKES},
};
use crate::stage::FOREIGN;

const CRDS: &str = "customresourcedefinitions.apiextensions.k8s.io";
const REVISIONS: &str = "graphrevisions.internal.kro.run";
const ROLLOUTS: &str = "resourcegraphrollouts.broker.platform-mesh.io";

/// What is stored in the hub only.
const HUBS_OWN: [&str; 3] = ["resourcegraphdefinitions.kro.run", REVISIONS, ROLLOUTS];

/// After so long nobody can say that he has not heard that a rollout is paused: faults last no longer.
pub(crate) const HEARD: Duration = Duration::from_mins(3);

/// Server, resource, namespace, name.
pub(crate) type Place = [String; 4];

/// Whether the controller did it.
pub(crate) fn is_ours(entry: &Entry) -> bool {
    entry.by.starts_with("kro.run/") || entry.by == "resource-graphs"
}

fn is_spoke(entry: &Entry) -> bool {
    SPOKES.contains(&&*entry.server)
}

pub(crate) fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["labels"][key].as_str()
}

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

fn is_leaving(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().any(|name| name == keys::FINALIZER)
}

fn wave(child: &Value) -> u64 {
    annotation(child, keys::APPLY_ORDER).and_then(|wave| wave.parse().ok()).unwrap_or_default()
}

/// What there is at a moment.
#[derive(Default)]
struct Moment<'a> {
    there: BTreeMap<Place, &'a Value>,
    /// The highest number of a revision, by the uid of its RGD.
    issued: BTreeMap<&'a str, i64>,
    /// Since when rollouts are paused, by their names.
    paused: BTreeMap<&'a str, Duration>,
    /// The spoke that was the last to begin with another revision of an RGD, by the RGD's name, until something else was written
    /// there: what comes of it for its instances.
    began: BTreeMap<&'a str, &'a str>,
}

/// A step of ours.
struct Step<'a> {
    entry: &'a Entry,
    change: &'a Change,
}

/// What a step must not do: why it did. `None`: it did not.
type Rule = fn(&Moment<'_>, &Step<'_>) -> Option<&'static str>;

const RULES: [Rule; 12] = [
    foreign, stolen, hubs_own, homeless, abandoned, repeated, ascending, early, untimely, unheard_of, unlisted,
    inhabited,
];

impl<'a> Moment<'a> {
    fn take(&mut self, entry: &'a Entry, change: &'a Change) {
        let place = [&entry.server, &change.resource, &change.namespace, &change.name].map(Clone::clone);
        match &change.after {
            Some(after) => self.there.insert(place, after),
            None => self.there.remove(&place),
        };
        if let (REVISIONS, Some(after)) = (&*change.resource, &change.after)
            && let Some(owner) = owner(after)
        {
            let issued = self.issued.entry(owner).or_default();
            *issued = (*issued).max(number(after));
        }
        if let Some((rgd, _)) = begins(entry, change) {
            self.began.insert(rgd, &entry.server);
        } else if is_ours(entry) {
            self.began.retain(|_, begun| *begun != entry.server);
        }
        if change.resource == ROLLOUTS {
            match change.after.as_ref().filter(|after| after["spec"]["paused"] == true) {
                Some(_) => _ = self.paused.entry(&change.name).or_insert(entry.at),
                None => _ = self.paused.remove(&*change.name),
            }
        }
    }

    fn at(&self, server: &str) -> impl Iterator<Item = &'a Value> {
        self.there.iter().filter(move |([of, ..], _)| of == server).map(|(_, object)| *object)
    }

    /// The children of an instance.
    fn children(&self, server: &str, instance: &Value) -> Vec<&'a Value> {
        let (set, uid) = (label(instance, keys::APPLYSET_ID), instance["metadata"]["uid"].as_str());
        let is_its = |object: &&Value| {
            set.is_some() && label(object, keys::APPLYSET_PART_OF) == set && label(object, keys::INSTANCE_ID) == uid
        };
        self.at(server).filter(is_its).collect()
    }

    /// The object of this uid.
    fn of_uid(&self, server: &str, uid: &str) -> Option<&'a Value> {
        self.at(server).find(|object| object["metadata"]["uid"] == uid)
    }
}

/// The RGD, and the revision of it, that a spoke which had another runs from now on.
fn begins<'a>(entry: &Entry, change: &'a Change) -> Option<(&'a str, &'a str)> {
    let (before, after) = (change.before.as_ref()?, change.after.as_ref()?);
    let crd = Some(after).filter(|_| change.resource == CRDS && is_spoke(entry))?;
    let (was, is) = (annotation(before, keys::GRAPH_REVISION)?, annotation(crd, keys::GRAPH_REVISION)?);
    (was != is).then_some((label(crd, keys::RGD_NAME)?, is))
}

fn owner(revision: &Value) -> Option<&str> {
    revision["metadata"]["ownerReferences"][0]["uid"].as_str()
}

fn number(revision: &Value) -> i64 {
    revision["spec"]["revision"].as_i64().unwrap_or_default()
}

impl Step<'_> {
    /// What a child was, if it is being taken away.
    fn removed(&self) -> Option<&Value> {
        let before = self.change.before.as_ref().filter(|before| !is_leaving(before))?;
        self.change.after.as_ref().is_none_or(|after| is_leaving(after)).then_some(before)
    }
}

/// Nobody else's object is touched, a foreign CRD among them (D7).
fn foreign(_: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let is_foreign = step.change.before.as_ref().is_some_and(|before| label(before, FOREIGN).is_some());
    (is_foreign || step.change.namespace == PRIVATE).then_some("this is none of its business")
}

/// D9: what one hub has put into a spoke no other takes, unless the spoke's owner says so.
fn stolen(_: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let (before, after) = (step.change.before.as_ref()?, step.change.after.as_ref()?);
    let hub = label(before, keys::HUB).filter(|hub| label(after, keys::HUB) != Some(hub))?;
    let claimed = annotation(before, keys::CLAIM) == label(after, keys::HUB);
    (!hub.is_empty() && !claimed).then_some("this is another hub's")
}

/// D5: RGDs, revisions and rollouts never get to a spoke.
fn hubs_own(_: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    (is_spoke(step.entry) && HUBS_OWN.contains(&&*step.change.resource)).then_some("this belongs to the hub")
}

/// A child is made and changed only where its instance is (D4), and as long as that is there.
fn homeless(moment: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let child = step.change.after.as_ref().filter(|after| !is_leaving(after))?;
    label(child, keys::APPLYSET_PART_OF)?;
    let instance = moment.of_uid(&step.entry.server, label(child, keys::INSTANCE_ID)?);
    let was_removed = step.change.before.as_ref().is_some_and(|before| is_leaving(before));
    (instance.is_none() && !was_removed).then_some("a child without its instance")
}

/// The finalizer of an instance that is being deleted leaves after its children.
fn abandoned(moment: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let instance = step.change.before.as_ref().filter(|before| is_leaving(before) && is_held(before))?;
    let left = step.change.after.as_ref().is_none_or(|after| !is_held(after));
    (left && !moment.children(&step.entry.server, instance).is_empty()).then_some("its children are still there")
}

/// One revision for each spec.
fn repeated(moment: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let (REVISIONS, None, Some(new)) = (&*step.change.resource, &step.change.before, &step.change.after) else {
        return None;
    };
    let counts =
        |object: &&Value| object["kind"] == "GraphRevision" && owner(object) == owner(new) && !is_leaving(object);
    let known = moment.at(&step.entry.server).filter(counts);
    let newest = known.max_by_key(|revision| number(revision))?;
    (newest["spec"]["snapshot"]["spec"] == new["spec"]["snapshot"]["spec"]).then_some("this spec has its revision")
}

/// Numbers of revisions rise.
fn ascending(moment: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let (REVISIONS, None, Some(new)) = (&*step.change.resource, &step.change.before, &step.change.after) else {
        return None;
    };
    let before = owner(new).and_then(|owner| moment.issued.get(owner).copied()).unwrap_or_default();
    (number(new) <= before).then_some("this number was used before")
}

/// Children go in falling waves, each when those above it are gone.
fn early(moment: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let child = step.removed()?;
    let uid = label(child, keys::INSTANCE_ID)?;
    let instance = moment.of_uid(&step.entry.server, uid).filter(|instance| is_leaving(instance))?;
    let children = moment.children(&step.entry.server, instance);
    children.iter().any(|other| wave(other) > wave(child)).then_some("one of a higher wave is still there")
}

/// What waits for a Widget is made when that is ready.
fn untimely(moment: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let report = step.change.after.as_ref().filter(|after| label(after, keys::NODE_ID) == Some("report"))?;
    if step.change.before.is_some() {
        return None;
    }
    let name = label(report, keys::INSTANCE_NAME)?;
    let place = [&step.entry.server, WIDGETS, &step.change.namespace, name].map(str::to_owned);
    let is_ready = moment.there.get(&place).is_some_and(|widget| widget["status"]["state"] == "Ready");
    (!is_ready).then_some("what it waits for is not ready")
}

/// D8: while its rollout is paused no cluster begins. D6: what a CRD says that it runs has been issued.
fn unheard_of(moment: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let crd = step.change.after.as_ref().filter(|_| step.change.resource == CRDS && is_spoke(step.entry))?;
    let runs = annotation(crd, keys::GRAPH_REVISION)?;
    if step.change.before.as_ref().and_then(|before| annotation(before, keys::GRAPH_REVISION)) == Some(runs) {
        return None;
    }
    let (rgd, uid) = (label(crd, keys::RGD_NAME)?, label(crd, keys::RGD_ID)?);
    let paused = moment.paused.get(rgd).is_some_and(|since| *since + HEARD < step.entry.at);
    let issued = moment.issued.get(uid).copied().unwrap_or_default();
    match runs.parse::<i64>() {
        _ if paused => Some("its rollout is paused"),
        Ok(runs) if runs <= issued => None,
        _ => Some("there is no such revision"),
    }
}

/// What is made for an instance can be found again, whoever crashes: its kind is in the instance's inventory.
fn unlisted(moment: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let (None, Some(child)) = (&step.change.before, &step.change.after) else { return None };
    let instance = moment.of_uid(&step.entry.server, label(child, keys::INSTANCE_ID)?)?;
    let (group, _) = child["apiVersion"].as_str()?.rsplit_once('/').unwrap_or_default();
    let kind = child["kind"].as_str()?;
    let wanted = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let listed = annotation(instance, keys::APPLYSET_GROUP_KINDS).unwrap_or_default();
    (!listed.split(',').any(|one| one == wanted)).then_some("its kind is not in the inventory")
}

/// A CRD goes after its instances.
fn inhabited(moment: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let spec = &step.removed().filter(|_| step.change.resource == CRDS)?["spec"];
    let (group, kind) = (spec["group"].as_str()?, spec["names"]["kind"].as_str()?);
    let is_of_it = |object: &Value| {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        object["kind"] == kind && version.rsplit_once('/').is_some_and(|(of, _)| of == group)
    };
    moment.at(&step.entry.server).any(is_of_it).then_some("it has instances")
}

/// In a rollout's waves clusters are updated one after the other.
fn crowded(moment: &Moment<'_>, step: &Step<'_>) -> Option<&'static str> {
    let (rgd, _) = begins(step.entry, step.change)?;
    let in_waves = moment.at(HUB).any(|object| {
        object["kind"] == "ResourceGraphRollout"
            && object["metadata"]["name"] == rgd
            && object["spec"]["waves"].is_array()
    });
    let begun = moment.began.get(rgd).filter(|begun| in_waves && **begun != step.entry.server)?;
    let has_instances = moment.at(begun).any(|object| object["status"]["state"] == "ACTIVE");
    has_instances.then_some("another cluster has only begun")
}

/// The first step that must not have happened; `is_calm`: nothing goes wrong.
pub(crate) fn judge(entries: &[Entry], is_calm: bool) -> Result<(), String> {
    let mut moment = Moment::default();
    for entry in entries {
        let change = match &entry.deed {
            Deed::Change(change) => change,
            Deed::Told(what) if [UNGUARDED, UNLED].iter().any(|never| what.starts_with(never)) => {
                return Err(entry.to_string());
            }
            Deed::Told(_) => continue,
        };
        if is_ours(entry) {
            let step = Step { entry, change };
            // Of what arrives twice, or after all, the order says nothing.
            let order = is_calm.then_some(crowded as Rule);
            if let Some(why) = RULES.iter().chain(&order).find_map(|rule| rule(&moment, &step)) {
                return Err(format!("{why}: {entry}"));
            }
        }
        moment.take(entry, change);
    }
    Ok(())
}

/// What the controller made, and what it removed.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Deeds {
    pub(crate) made: BTreeSet<Place>,
    pub(crate) removed: BTreeSet<Place>,
}

impl Deeds {
    pub(crate) fn without_revisions(&mut self) {
        for places in [&mut self.made, &mut self.removed] {
            places.retain(|[_, resource, ..]| resource != REVISIONS);
        }
    }

    pub(crate) fn of(entries: &[Entry]) -> Self {
        let mut deeds = Self::default();
        for entry in entries.iter().filter(|entry| is_ours(entry)) {
            let Deed::Change(change) = &entry.deed else { continue };
            if UNTOLD.contains(&&*change.resource) {
                continue;
            }
            let place = [&entry.server, &change.resource, &change.namespace, &change.name].map(Clone::clone);
            if change.before.is_none() {
                deeds.made.insert(place.clone());
            }
            if (Step { entry, change }).removed().is_some() {
                deeds.removed.insert(place);
            }
        }
        deeds
    }
}
