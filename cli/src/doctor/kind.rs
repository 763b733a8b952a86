//! The kinds that are brokered: whether consumers serve them, and whether any provider has an AcceptAPI for them.

use broker_api::Role;
use runtime_effect::kind::Kind;

use super::{facts::Facts, finding::Finding};

const CHECK: &str = "kind";

/// Judges each, everywhere.
pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &facts.members {
        let Some(within) = &member.within else { continue };
        let resources = match &within.resources {
            Ok(resources) => resources,
            Err(why) => {
                findings.push(Finding::unchecked(CHECK, &member.name, why, "get of /api and /apis"));
                continue;
            }
        };
        if member.name.role() != Role::Consumer {
            continue;
        }
        for kind in facts.kinds.iter().map(|flag| &flag.0) {
            if resources.of_kind(kind).is_none() {
                let what = format!("it does not serve {}: nobody there can ask for one", told(kind));
                let others = resources.versions(&kind.group, &kind.kind);
                let remedy = if others.is_empty() {
                    "apply its CRD there, unless it is not for this consumer".to_owned()
                } else {
                    format!("it serves {} only: bring the CRDs, or --watch-kind, to one version", others.join(", "))
                };
                findings.push(Finding::warning(CHECK, &member.name, what, remedy));
            }
        }
    }
    findings.extend(offered(facts));
    findings
}

/// Kinds that nobody offers, where all providers are known.
fn offered(facts: &Facts) -> Vec<Finding> {
    let providers: Vec<_> = facts.members.iter().filter(|member| member.name.role() == Role::Provider).collect();
    let mut offered = Vec::new();
    for provider in &providers {
        let Some(within) = &provider.within else { return Vec::new() };
        let (Ok(resources), Ok(list)) = (&within.resources, &within.accept_apis) else { return Vec::new() };
        for one in list {
            let part = |name: &str| one["spec"]["gvr"][name].as_str().unwrap_or_default();
            offered.extend(facts.kinds.iter().map(|flag| &flag.0).filter(|kind| {
                let named = part("group") == kind.group && part("version") == kind.version;
                named && resources.of_kind(kind).is_some_and(|served| served.plural == part("resource"))
            }));
        }
    }
    let missing = facts.kinds.iter().map(|flag| &flag.0).filter(|kind| !offered.contains(kind));
    let told = missing.map(|kind| {
        Finding::warning(
            CHECK,
            "providers",
            format!("none has an AcceptAPI for {}: objects of that kind wait", told(kind)),
            "its provider makes one (docs/writing-a-provider.md)",
        )
    });
    told.collect()
}

fn told(kind: &Kind) -> String {
    format!("{} of {}", kind.kind, kind.api_version())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use broker_api::ClusterName;
    use serde_json::json;

    use super::*;
    use crate::{
        cluster::Trouble,
        doctor::facts::{
            Member,
            tests::{facts, inside, member},
        },
        resource::{Resource, Resources},
    };

    fn serving(name: ClusterName, version: &str) -> Member {
        let mut member = member(name);
        let stores = Resource::named("x.io", version, "Store", "stores");
        member.within.as_mut().unwrap().resources = Ok(Resources::these([stores]));
        member
    }

    fn offering() -> Member {
        let mut theseus = serving(ClusterName::provider("theseus"), "v1");
        let gvr = json!({ "group": "x.io", "version": "v1", "resource": "stores" });
        theseus.within.as_mut().unwrap().accept_apis = Ok(vec![json!({ "spec": { "gvr": gvr } })]);
        theseus
    }

    fn found(members: Vec<Member>) -> Vec<Finding> {
        let mut facts = facts(inside(), members);
        facts.kinds = vec!["Store.v1.x.io".parse().unwrap()];
        check(&facts)
    }

    #[test]
    fn a_kind_is_served_and_offered() {
        assert!(found(vec![serving(ClusterName::consumer("homer"), "v1"), offering()]).is_empty());
    }

    #[test]
    fn a_consumer_that_does_not_serve_it_is_told() {
        let none = found(vec![member(ClusterName::consumer("homer")), offering()]);
        assert!(matches!(&none[..], [one] if one.remedy.contains("apply its CRD")), "{none:?}");
        let other = found(vec![serving(ClusterName::consumer("homer"), "v2"), offering()]);
        assert!(matches!(&other[..], [one] if one.remedy.contains("it serves v2 only")), "{other:?}");
    }

    #[test]
    fn a_kind_that_nobody_offers_is_told_where_all_are_known() {
        let none = found(vec![serving(ClusterName::provider("theseus"), "v1")]);
        assert!(matches!(&none[..], [one] if one.place == "providers"), "{none:?}");
        let mut away = offering();
        away.within = None;
        assert!(found(vec![away]).is_empty());
    }

    #[test]
    fn discovery_that_fails_is_told() {
        let mut homer = member(ClusterName::consumer("homer"));
        homer.within.as_mut().unwrap().resources = Err(Trouble::Other("late".into()));
        assert!(found(vec![homer, offering()])[0].what.contains("late"));
    }
}
