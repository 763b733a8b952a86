//! Objects of consumers: which of them no provider serves, and for how long; which of them people have set aside.

use broker_api::{ClusterName, Role, condition, keys};
use k8s_openapi::jiff::Timestamp;
use runtime_effect::kind::Kind;
use serde_json::Value;

use super::{
    facts::{Facts, Within},
    finding::{Finding, More, Severity},
};
use crate::{age, object::annotation};

const WAITING: &str = "not-brokered";
const ASIDE: &str = "set-aside";

/// What is told of many objects that wait.
pub(crate) const MORE_WAIT: More = More {
    check: WAITING,
    what: "objects are not served",
    remedy: "`kubectl broker objects KIND --where status=Brokered=` lists them, -o json tells of each",
};

/// What is told of many that were set aside.
pub(crate) const MORE_ASIDE: More = More {
    check: ASIDE,
    what: "objects are paused or ignored",
    remedy: "`kubectl get KIND -A -l broker.platform-mesh.io/ignore` lists those that are ignored, -o json tells of each",
};

/// Seconds that an object may wait before it is told of.
const PATIENCE: i64 = 300;

/// Reasons that are for the owner of the object to mend: the platform is well.
const OWNERS: [&str; 7] = [
    condition::NO_PROVIDER,
    condition::NOT_ACCEPTED,
    condition::QUOTA_EXCEEDED,
    condition::INVALID,
    condition::TOO_LARGE,
    condition::TOO_COMPLEX,
    condition::UNREADABLE,
];

/// An object of a consumer, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// Its uid.
    pub(crate) uid: String,
    /// What a person has asked for: `paused`, `ignored`.
    aside: Option<&'static str>,
    /// Whether it bears the marks of a copy. Anybody may write those.
    marked: bool,
    /// Why no provider serves it, or why it is not gone.
    waits: Option<Waits>,
}

/// An object that no provider serves, or that somebody has deleted and the broker keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Waits {
    leaves: bool,
    since: Option<Timestamp>,
    reason: String,
    message: String,
}

impl Origin {
    /// Of an object.
    pub(crate) fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let paused = annotation(object, keys::PAUSED) == Some(keys::TRUE);
        let ignored = metadata["labels"].get(keys::IGNORE).and_then(Value::as_str) == Some(keys::TRUE);
        let aside = if ignored { Some("ignored") } else { paused.then_some("paused") };
        let leaves = !metadata["deletionTimestamp"].is_null();
        Self {
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            aside,
            marked: metadata["labels"].get(keys::CONSUMER).is_some() && annotation(object, keys::ORIGIN).is_some(),
            waits: match (aside, leaves) {
                (Some(_), _) => None,
                (None, true) => is_kept(object),
                (None, false) => waits(object),
            },
        }
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// What the broker says of an object.
fn brokered(object: &Value) -> Option<&Value> {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|one| one["type"] == condition::BROKERED)
}

/// One that is being deleted, and that the broker has not let go.
fn is_kept(object: &Value) -> Option<Waits> {
    let mut finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    finalizers.any(|one| one == keys::FINALIZER).then(|| {
        let brokered = brokered(object);
        let text = |name: &str| brokered.and_then(|one| one[name].as_str()).unwrap_or_default().to_owned();
        let since = time(&object["metadata"]["deletionTimestamp"]);
        Waits { leaves: true, since, reason: text("reason"), message: text("message") }
    })
}

fn waits(object: &Value) -> Option<Waits> {
    let made = time(&object["metadata"]["creationTimestamp"]);
    let Some(brokered) = brokered(object) else {
        // Where the kind's status has no conditions the annotation is all that there is.
        return annotation(object, keys::PROVIDER_CLUSTER).is_none().then(|| Waits {
            leaves: false,
            since: made,
            reason: String::new(),
            message: "the broker has said nothing of it".to_owned(),
        });
    };
    let text = |name: &str| brokered[name].as_str().unwrap_or_default().to_owned();
    (brokered["status"] != "True").then(|| Waits {
        leaves: false,
        since: time(&brokered["lastTransitionTime"]).or(made),
        reason: text("reason"),
        message: text("message"),
    })
}

/// Whether the API server of a consumer is that of a provider, too, and so may hold copies.
fn holds_copies(facts: &Facts, consumer: &Within) -> bool {
    let own = uid(consumer);
    own.is_some() && facts.answering(Role::Provider).any(|(_, provider)| uid(provider) == own)
}

fn uid(within: &Within) -> Option<&str> {
    within.uid.as_ref().ok()?.as_deref()
}

/// Objects that wait, the longest first; then those that people have set aside.
pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut waiting: Vec<(i64, String, &Waits)> = Vec::new();
    let mut aside = Vec::new();
    for (consumer, within) in facts.answering(Role::Consumer) {
        let holds_copies = holds_copies(facts, within);
        for (kind, read) in &within.origins {
            let origins = match read {
                Ok(origins) => origins,
                Err(why) => {
                    let needs = format!("list of {} of {}", kind.kind, kind.api_version());
                    findings.push(Finding::unchecked(WAITING, consumer, why, &needs));
                    continue;
                }
            };
            for origin in origins {
                let place = || format!("{consumer} {} {}/{}", kind.kind, origin.namespace, origin.name);
                if let Some(word) = origin.aside {
                    aside.push(set_aside(&place(), word));
                }
                // A copy is nobody's origin.
                let Some(waits) = origin.waits.as_ref().filter(|_| !(holds_copies && origin.marked)) else { continue };
                let seconds = waits.since.map_or(0, |since| facts.now.as_second() - since.as_second());
                if seconds > PATIENCE {
                    waiting.push((seconds, place(), waits));
                }
            }
        }
    }
    waiting.sort_by(|left, right| right.0.cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    findings.extend(waiting.into_iter().map(|(seconds, place, waits)| told(seconds, &place, waits)));
    findings.extend(aside);
    findings
}

fn told(seconds: i64, place: &str, waits: &Waits) -> Finding {
    let Waits { leaves, reason, message, .. } = waits;
    let since = age::told(seconds);
    if *leaves {
        let last = if message.is_empty() { String::new() } else { format!("; the broker said last: {message}") };
        return Finding {
            severity: Severity::Error,
            check: WAITING,
            place: place.to_owned(),
            what: format!("it was deleted {since} ago, and the broker keeps it until its copies are gone{last}"),
            remedy: format!(
                "`kubectl broker why` tells which copy it waits for; the annotation {} lets it go with copies left behind",
                keys::FORCE_DELETE
            ),
        };
    }
    let silent = reason.is_empty();
    let what = if silent {
        format!("no provider serves it, for {since}: {message}")
    } else {
        format!("no provider serves it, for {since}: {message} ({reason})")
    };
    let severity = if OWNERS.contains(&reason.as_str()) { Severity::Warning } else { Severity::Error };
    let remedy = if silent {
        "see whether a broker leads, and is told to broker the kind (--watch-kind)".to_owned()
    } else {
        format!("`kubectl broker why` tells what each AcceptAPI says; docs/troubleshooting.md has {reason}")
    };
    Finding { severity, check: WAITING, place: place.to_owned(), what, remedy }
}

fn set_aside(place: &str, word: &str) -> Finding {
    let (what, remedy) = if word == "paused" {
        ("a person has paused it: nothing is written for it", format!("remove its annotation {}", keys::PAUSED))
    } else {
        ("a person has told the broker to ignore it", format!("remove its label {}", keys::IGNORE))
    };
    Finding::info(ASIDE, place, what, format!("{remedy} when that is over"))
}

/// All objects of a consumer by kind; `None`: not all are known.
pub(crate) fn all_of<'a>(facts: &'a Facts, consumer: &ClusterName) -> Option<Vec<(&'a Kind, &'a Origin)>> {
    let (_, within) = facts.answering(Role::Consumer).find(|(name, _)| *name == consumer)?;
    // Whoever does not say what it serves was asked for no kind.
    within.resources.as_ref().ok()?;
    let mut all = Vec::new();
    for (kind, read) in &within.origins {
        all.extend(read.as_ref().ok()?.iter().map(|origin| (kind, origin)));
    }
    Some(all)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        cluster::Trouble,
        doctor::facts::{
            Member,
            tests::{facts, inside, member},
        },
    };

    fn object(name: &str, since: &str, reason: &str) -> Value {
        let condition = json!({ "type": "Brokered", "status": if reason == "Placed" { "True" } else { "False" },
            "reason": reason, "message": "because", "lastTransitionTime": since });
        json!({ "metadata": { "name": name, "namespace": "team", "uid": name, "creationTimestamp": since },
            "status": { "conditions": [condition] } })
    }

    fn homer(objects: &[Value]) -> Member {
        let mut homer = member(ClusterName::consumer("homer"));
        let kind = Kind { group: "x.io".into(), version: "v1".into(), kind: "A".into() };
        homer.within.as_mut().unwrap().origins = vec![(kind, Ok(objects.iter().map(Origin::of).collect()))];
        homer
    }

    fn found(objects: &[Value]) -> Vec<Finding> {
        check(&facts(inside(), vec![homer(objects)]))
    }

    #[test]
    fn who_waits_longest_is_told_first_and_whose_turn_it_is() {
        let found = found(&[
            object("new", "2026-01-01T11:56:00Z", "NoProvider"),
            object("placed", "2026-01-01T01:00:00Z", "Placed"),
            object("a", "2026-01-01T11:54:00Z", "NoProvider"),
            object("b", "2026-01-01T10:00:00Z", "Forbidden"),
        ]);
        let told: Vec<(Severity, &str)> = found.iter().map(|one| (one.severity, &*one.place)).collect();
        let (a, b) = ("consumer#homer A team/a", "consumer#homer A team/b");
        assert_eq!(told, [(Severity::Error, b), (Severity::Warning, a)]);
        assert_eq!(found[0].what, "no provider serves it, for 2h: because (Forbidden)");
    }

    #[test]
    fn an_object_that_nobody_has_looked_at_waits_too() {
        let silent = |annotations: Value| {
            let made = "2026-01-01T11:00:00Z";
            found(&[
                json!({ "metadata": { "name": "a", "namespace": "team", "creationTimestamp": made, "annotations": annotations } }),
            ])
        };
        assert!(silent(json!({}))[0].what.contains("has said nothing"));
        assert!(silent(json!({ keys::PROVIDER_CLUSTER: "theseus" })).is_empty());
    }

    #[test]
    fn copies_in_a_consumer_that_is_a_provider_as_well_wait_for_nobody() {
        let mut copy = object("a", "2026-01-01T01:00:00Z", "NoProvider");
        copy["metadata"]["labels"] = json!({ keys::MANAGED_BY: keys::MANAGER, keys::CONSUMER: "d5a89ade76e9" });
        copy["metadata"]["annotations"] = json!({ keys::ORIGIN: "signed" });
        let beside = |copy: &Value, server: &str| {
            let mut theseus = member(ClusterName::provider("theseus"));
            theseus.within.as_mut().unwrap().uid = Ok(Some(server.into()));
            check(&facts(inside(), vec![homer(std::slice::from_ref(copy)), theseus])).len()
        };
        assert_eq!(beside(&copy, "homer"), 0);
        assert_eq!((beside(&copy, "theseus"), found(std::slice::from_ref(&copy)).len()), (1, 1), "no copies are there");
        copy["metadata"]["annotations"] = json!({});
        assert_eq!(beside(&copy, "homer"), 1, "anybody can write a label");
    }

    #[test]
    fn what_people_set_aside_is_not_wrong() {
        let mut paused = object("a", "2026-01-01T01:00:00Z", "NoProvider");
        paused["metadata"]["annotations"] = json!({ keys::PAUSED: "true" });
        let mut ignored = object("b", "2026-01-01T01:00:00Z", "NoProvider");
        ignored["metadata"]["labels"] = json!({ keys::IGNORE: "true" });
        // Others hold it, or nobody.
        let mut leaving = object("c", "2026-01-01T01:00:00Z", "NoProvider");
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T01:00:00Z");
        let found = found(&[paused, ignored, leaving]);
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Severity::Info, Severity::Info]);
    }

    #[test]
    fn what_is_deleted_and_does_not_go_is_found() {
        let leaving = |since: &str| {
            let mut object = object("a", "2026-01-01T01:00:00Z", "Placed");
            object["metadata"]["deletionTimestamp"] = json!(since);
            object["metadata"]["finalizers"] = json!([keys::FINALIZER]);
            found(&[object])
        };
        let found = leaving("2026-01-01T10:00:00Z");
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Severity::Error]);
        assert!(
            found[0].what.starts_with("it was deleted 2h ago, ") && found[0].what.ends_with(": because"),
            "{found:?}"
        );
        assert_eq!(leaving("2026-01-01T11:59:00Z"), [], "that takes a while");
    }

    #[test]
    fn all_are_found_however_many_and_how_to_list_them_is_told() {
        let objects: Vec<Value> =
            (0..13).map(|at| object(&at.to_string(), "2026-01-01T01:00:00Z", "NoProvider")).collect();
        assert_eq!(found(&objects).len(), 13);
        assert!(MORE_ASIDE.remedy.contains(keys::IGNORE));
    }

    #[test]
    fn a_consumer_that_does_not_tell_is_not_known() {
        let homer = ClusterName::consumer("homer");
        let mut denied = member(homer.clone());
        let kind = Kind { group: "x.io".into(), version: "v1".into(), kind: "A".into() };
        denied.within.as_mut().unwrap().origins = vec![(kind, Err(Trouble::Forbidden("no".into())))];
        let facts = facts(inside(), vec![denied]);
        assert!(check(&facts)[0].remedy.contains("list of A of x.io/v1"));
        assert_eq!(all_of(&facts, &homer), None);
        assert_eq!(all_of(&facts, &ClusterName::consumer("marge")), None);
        let mut silent = member(homer.clone());
        silent.within.as_mut().unwrap().resources = Err(Trouble::Other("late".into()));
        assert_eq!(all_of(&super::super::facts::tests::facts(inside(), vec![silent]), &homer), None);
    }
}
