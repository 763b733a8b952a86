//! Copies at providers that have lost their consumer, or their origin.

use std::collections::{BTreeMap, BTreeSet};

use broker_api::{ClusterName, Role, keys};
use broker_core::naming::{consumer_hash, leading_hash, may_be_cut};
use runtime_effect::kind::Kind;
use serde_json::Value;

use super::{
    facts::{Facts, Inside},
    finding::{Finding, More},
    origin,
};
use crate::object::annotation;

const CHECK: &str = "orphans";

/// What is told of many copies.
pub(crate) const MORE: More = More {
    check: CHECK,
    what: "findings are of copies that have lost their consumers or origins",
    remedy: "look again when those above are gone, or with -o json",
};

/// A copy, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Copied {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// The hash of its consumer, by its label.
    hash: String,
    /// Its consumer by its annotations, or that hash: for people.
    consumer: String,
    /// What it is of; `None`: it does not say, for want of its annotations.
    of: Option<Of>,
    /// Whether it is being deleted.
    leaves: bool,
}

/// The origin of a copy, by its annotations; where somebody has stripped those, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Of {
    namespace: String,
    name: String,
    /// `None`: whichever is there.
    uid: Option<String>,
}

impl Of {
    fn read(copy: &Value) -> Option<Self> {
        let marked = |key: &str| annotation(copy, key).map(str::to_owned);
        if let Some(name) = marked(keys::CONSUMER_NAME) {
            let namespace = marked(keys::CONSUMER_NAMESPACE).unwrap_or_default();
            return Some(Self { namespace, name, uid: marked(keys::CONSUMER_UID) });
        }
        let own = |field: &str| copy["metadata"][field].as_str();
        let (_, name) = leading_hash(own("name")?).filter(|_| own("name").is_some_and(|name| !may_be_cut(name)))?;
        Some(Self { namespace: own("namespace")?.to_owned(), name: name.to_owned(), uid: None })
    }
}

impl Copied {
    /// Of an object. `None`: it bears no label of a consumer.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let hash = metadata["labels"].get(keys::CONSUMER)?.as_str()?.to_owned();
        Some(Self {
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            consumer: annotation(object, keys::CONSUMER_CLUSTER).unwrap_or(&hash).to_owned(),
            hash,
            of: Of::read(object),
            leaves: !metadata["deletionTimestamp"].is_null(),
        })
    }
}

/// A copy whose origin was not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Orphan {
    /// Its provider.
    pub(crate) provider: ClusterName,
    /// Its kind.
    pub(crate) kind: Kind,
    /// Itself.
    pub(crate) copy: Copied,
}

/// Copies whose origin is not there, of consumers of which all is known. An origin may have gone between two reads, so
/// whoever tells of them looks once more whether they are there.
pub(crate) fn suspects(facts: &Facts) -> Vec<Orphan> {
    // By kind, namespace and name: the uid.
    type Known<'a> = BTreeMap<(&'a Kind, &'a str, &'a str), &'a str>;
    let known: BTreeMap<String, Known<'_>> = consumers(facts)
        .filter_map(|name| {
            let all = origin::all_of(facts, name)?.into_iter();
            let ids = all.map(|(kind, it)| ((kind, it.namespace.as_str(), it.name.as_str()), it.uid.as_str()));
            Some((consumer_hash(name), ids.collect()))
        })
        .collect();
    let mut suspects = Vec::new();
    for (provider, kind, copy) in copies(facts) {
        let (Some(origins), Some(of)) = (known.get(&copy.hash), &copy.of) else { continue };
        let there = origins.get(&(kind, of.namespace.as_str(), of.name.as_str()));
        if there.is_none_or(|uid| of.uid.as_ref().is_some_and(|wanted| wanted != uid)) {
            suspects.push(Orphan { provider: provider.clone(), kind: kind.clone(), copy: copy.clone() });
        }
    }
    suspects
}

fn consumers(facts: &Facts) -> impl Iterator<Item = &ClusterName> {
    facts.members.iter().map(|member| &member.name).filter(|name| name.role() == Role::Consumer)
}

fn copies(facts: &Facts) -> impl Iterator<Item = (&ClusterName, &Kind, &Copied)> {
    facts
        .answering(Role::Provider)
        .flat_map(|(provider, within)| {
            let kinds =
                within.copies.iter().filter_map(move |(kind, read)| Some((provider, kind, read.as_ref().ok()?)));
            kinds.flat_map(|(provider, kind, copies)| copies.iter().map(move |copy| (provider, kind, copy)))
        })
        .filter(|(_, _, copy)| !copy.leaves)
}

/// Copies of consumers that are not there any more, and orphans that are still there.
pub(crate) fn check(facts: &Facts, orphans: &[Orphan]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (provider, within) in facts.answering(Role::Provider) {
        for (kind, read) in &within.copies {
            if let Err(why) = read {
                let needs = format!("list of {} of {}", kind.kind, kind.api_version());
                findings.push(Finding::unchecked(CHECK, provider, why, &needs));
            }
        }
    }
    findings.extend(left_behind(facts));
    let lost = orphans.iter().map(|Orphan { provider, kind, copy }| {
        let place = format!("{provider} {} {}/{}", kind.kind, copy.namespace, copy.name);
        let of = copy.of.as_ref().map(|of| format!("{}/{}", of.namespace, of.name)).unwrap_or_default();
        let what = format!("its origin {of} in consumer {} is not there", copy.consumer);
        Finding::warning(
            CHECK,
            &place,
            what,
            "a broker that leads removes it, unless it is held (condition DeletionsHeld of the AcceptAPI); what it stands for goes with it",
        )
    });
    findings.extend(lost);
    findings
}

/// Of consumers that are not configured, a line for each at each provider.
fn left_behind(facts: &Facts) -> Vec<Finding> {
    if !facts.hub.inside.as_ref().is_some_and(Inside::knows_all_consumers) {
        return Vec::new();
    }
    let known: BTreeSet<String> = consumers(facts).map(consumer_hash).collect();
    let mut left: BTreeMap<(&ClusterName, &str), (usize, &str)> = BTreeMap::new();
    for (provider, _, copy) in copies(facts).filter(|(_, _, copy)| !known.contains(&copy.hash)) {
        left.entry((provider, copy.hash.as_str())).or_insert((0, copy.consumer.as_str())).0 += 1;
    }
    let told = left.into_iter().map(|((provider, hash), (count, consumer))| {
        Finding::warning(
            CHECK,
            provider,
            format!("it holds {count} copies of consumer {consumer}, which is not among the clusters"),
            format!("another broker's are none of yours; if they are, join the consumer again, or delete them and what they stand for: kubectl delete KIND --all-namespaces -l {}={hash} there", keys::CONSUMER),
        )
    });
    told.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        cluster::Trouble,
        deployed::tests::broker,
        doctor::{
            facts::tests::{brokers, facts, inside, member},
            origin::Origin,
        },
    };

    fn kind() -> Kind {
        Kind { group: "x.io".into(), version: "v1".into(), kind: "A".into() }
    }

    fn copy(consumer: &str, name: &str) -> Copied {
        let hash = consumer_hash(&ClusterName::consumer(consumer));
        let annotations = json!({ keys::CONSUMER_CLUSTER: consumer, keys::CONSUMER_NAMESPACE: "team",
            keys::CONSUMER_NAME: name, keys::CONSUMER_UID: format!("uid-{name}") });
        let object = json!({ "metadata": { "name": format!("{hash}-{name}"), "namespace": "team",
            "labels": { keys::CONSUMER: hash }, "annotations": annotations } });
        Copied::of(&object).unwrap()
    }

    /// Consumer homer has an object `a`; provider theseus has these copies.
    fn world(copies: Vec<Copied>, flags: &[&str]) -> Facts {
        let mut homer = member(ClusterName::consumer("homer"));
        let origin = json!({ "metadata": { "name": "a", "namespace": "team", "uid": "uid-a" } });
        homer.within.as_mut().unwrap().origins = vec![(kind(), Ok(vec![Origin::of(&origin)]))];
        let mut theseus = member(ClusterName::provider("theseus"));
        theseus.within.as_mut().unwrap().copies = vec![(kind(), Ok(copies))];
        let mut inside = inside();
        inside.deployed = Ok(brokers(vec![broker(flags, 1, 1)]));
        facts(inside, vec![homer, theseus])
    }

    const FLAGS: &[&str] = &["--watch-kind=A.v1.x.io"];

    #[test]
    fn a_copy_without_its_origin_is_an_orphan() {
        let facts = world(vec![copy("homer", "a"), copy("homer", "gone")], FLAGS);
        let suspects = suspects(&facts);
        let names: Vec<&str> = suspects.iter().map(|one| &*one.copy.of.as_ref().unwrap().name).collect();
        assert_eq!(names, ["gone"]);
        let found = check(&facts, &suspects);
        assert!(matches!(&found[..], [one] if one.what.contains("team/gone in consumer homer")), "{found:?}");
        assert!(check(&facts, &[]).is_empty(), "it was gone when it was looked for again");
    }

    #[test]
    fn a_copy_whose_marks_are_stripped_is_known_by_its_name() {
        let hash = consumer_hash(&ClusterName::consumer("homer"));
        let stripped = |name: &str| {
            let name = format!("{hash}-{name}");
            let metadata = json!({ "name": name, "namespace": "team", "labels": { keys::CONSUMER: hash } });
            Copied::of(&json!({ "metadata": metadata })).unwrap()
        };
        // The last may be the cut name of something else.
        let copies = vec![stripped("a"), stripped("gone"), stripped("x-01234567")];
        let facts = world(copies, FLAGS);
        let found = check(&facts, &suspects(&facts));
        assert!(matches!(&found[..], [one] if one.what.starts_with("its origin team/gone in consumer ")), "{found:?}");
    }

    #[test]
    fn copies_of_consumers_that_are_not_configured_are_told_together() {
        let copies = vec![copy("marge", "a"), copy("marge", "b")];
        let facts = world(copies.clone(), FLAGS);
        assert!(suspects(&facts).is_empty());
        let found = check(&facts, &[]);
        assert!(matches!(&found[..], [one] if one.what.contains("2 copies of consumer marge")), "{found:?}");
        let files = [FLAGS[0], "--consumer-kubeconfig=/marge"];
        assert!(check(&world(copies, &files), &[]).is_empty(), "she may be in a file of the broker's");
    }

    #[test]
    fn of_a_consumer_that_is_not_known_nothing_is_an_orphan() {
        let mut facts = world(vec![copy("homer", "gone")], FLAGS);
        facts.members[0].within.as_mut().unwrap().origins[0].1 = Err(Trouble::Other("late".into()));
        assert!(suspects(&facts).is_empty());
        facts.members[0].within = None;
        assert!(suspects(&facts).is_empty() && check(&facts, &[]).is_empty());
    }

    #[test]
    fn what_is_being_deleted_is_on_its_way() {
        let mut going = copy("homer", "gone");
        going.leaves = true;
        assert!(suspects(&world(vec![going], FLAGS)).is_empty());
    }
}
