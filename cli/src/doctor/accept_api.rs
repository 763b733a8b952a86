//! AcceptAPIs: whether providers can have any, and whether those that there are count.

use broker_api::{Role, condition, keys};
use serde_json::Value;

use super::{
    facts::{Facts, Within},
    finding::Finding,
};
use crate::{cluster::Trouble, object::annotation, resource::Resources};

const CHECK: &str = "acceptapi";

/// Judges those of all providers.
pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let consumers = consumers(facts);
    facts
        .answering(Role::Provider)
        .flat_map(|(provider, within)| {
            let provider = provider.to_string();
            match list(&provider, within) {
                Ok(list) => {
                    let own = within.resources.as_ref().ok();
                    list.iter().flat_map(|one| of_one(&provider, one, own, consumers.as_deref())).collect()
                }
                Err(finding) => vec![finding],
            }
        })
        .collect()
}

/// What all consumers serve; `None`: not all of it is known.
fn consumers(facts: &Facts) -> Option<Vec<&Resources>> {
    let consumers = facts.members.iter().filter(|member| member.name.role() == Role::Consumer);
    consumers.map(|member| member.within.as_ref()?.resources.as_ref().ok()).collect()
}

fn list<'a>(provider: &str, within: &'a Within) -> Result<&'a [Value], Finding> {
    const INSTALL: &str = "kubectl apply -f config/crd/broker.platform-mesh.io_acceptapis.yaml there";
    match &within.accept_apis {
        Ok(list) if list.is_empty() => Err(Finding::warning(
            CHECK,
            provider,
            "it has no AcceptAPI, and so gets no objects",
            "its owner makes one for each resource that it serves (docs/writing-a-provider.md)",
        )),
        Ok(list) => Ok(list),
        Err(Trouble::NotServed(_)) => {
            Err(Finding::error(CHECK, provider, "the CRD of AcceptAPI is not installed", INSTALL))
        }
        Err(why) => Err(Finding::unchecked(CHECK, provider, why, "list of acceptapis.broker.platform-mesh.io")),
    }
}

/// `own`: what the provider serves; `consumers`: what all consumers serve.
fn of_one(provider: &str, one: &Value, own: Option<&Resources>, consumers: Option<&[&Resources]>) -> Vec<Finding> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (spec, status) = (&one["spec"], &one["status"]);
    let place =
        format!("{provider} AcceptAPI {}/{}", text(&one["metadata"]["namespace"]), text(&one["metadata"]["name"]));
    let mut findings = Vec::new();
    let said = |name: &str| status["conditions"].as_array()?.iter().find(|one| one["type"] == *name);
    let why = |condition: &Value| format!("{} ({})", text(&condition["message"]), text(&condition["reason"]));
    match said(condition::READY) {
        None => findings.push(Finding::warning(
            CHECK,
            &place,
            "the broker has said nothing of it",
            "see whether a broker leads and reaches the provider",
        )),
        Some(ready) if ready["status"] != "True" => findings.push(Finding::error(
            CHECK,
            &place,
            format!("it does not count: {}", why(ready)),
            "docs/troubleshooting.md has the reason",
        )),
        Some(_) => {}
    }
    if let Some(held) = said(condition::DELETIONS_HELD).filter(|held| held["status"] == "True") {
        findings.push(Finding::error(
            CHECK,
            &place,
            format!("copies that have lost their origins are kept: {}", why(held)),
            format!("see whether the consumer's kubeconfig leads where it should; if the objects are really gone, confirm with annotation {}", keys::CONFIRM_DELETIONS),
        ));
    }
    let placed = status["placed"].as_u64().unwrap_or_default();
    if let Some(capacity) = spec["capacity"].as_u64().filter(|capacity| placed >= *capacity) {
        findings.push(Finding::warning(
            CHECK,
            &place,
            format!("it is full: {placed} of {capacity}"),
            "raise spec.capacity, or add a provider",
        ));
    }
    if spec["cordoned"] == true {
        let drains = annotation(one, keys::DRAIN) == Some(keys::TRUE);
        let what = match (drains, placed) {
            (true, 0) => "it is drained, and takes nothing new".to_owned(),
            (true, left) => format!("it is being drained: {left} objects are left"),
            (false, _) => "it is cordoned, and takes nothing new".to_owned(),
        };
        let name = provider.split_once('#').map_or(provider, |(_, name)| name);
        let remedy = format!("`kubectl broker uncordon {name}` when that is over");
        findings.push(Finding::warning(CHECK, &place, what, remedy));
    }
    let part = |name: &str| text(&spec["gvr"][name]);
    let (group, version, resource) = (part("group"), part("version"), part("resource"));
    // It speaks of the kind that the provider calls so. Consumers may have another plural for it.
    let kind = own.and_then(|own| own.of_plural(&group, &version, &resource)).map(|served| &served.kind);
    let serves = |served: &&Resources| match kind {
        Some(kind) => served.of_kind(kind).is_some(),
        None => served.of_plural(&group, &version, &resource).is_some(),
    };
    if consumers.is_some_and(|consumers| !consumers.iter().any(serves)) {
        let dot = if group.is_empty() { "" } else { "." };
        findings.push(Finding::warning(
            CHECK,
            &place,
            format!("no consumer serves {resource}.{version}{dot}{group}: nobody can ask for it"),
            "apply the CRD in consumers, or correct spec.gvr",
        ));
    }
    findings
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use broker_api::ClusterName;
    use serde_json::json;

    use super::*;
    use crate::{
        doctor::{
            facts::{
                Read,
                tests::{facts, inside, member},
            },
            finding::Severity,
        },
        resource::Resource,
    };

    fn found(accept_apis: Read<Vec<Value>>, consumer_serves: bool) -> Vec<Finding> {
        let mut homer = member(ClusterName::consumer("homer"));
        if consumer_serves {
            let certificates = Resource::named("x.io", "v1", "Certificate", "certificates");
            homer.within.as_mut().unwrap().resources = Ok(Resources::these([certificates]));
        }
        let mut theseus = member(ClusterName::provider("theseus"));
        theseus.within.as_mut().unwrap().accept_apis = accept_apis;
        check(&facts(inside(), vec![homer, theseus]))
    }

    fn one(spec: &Value, status: &str, placed: u64) -> Value {
        let mut one = json!({
            "metadata": { "namespace": "default", "name": "certs" },
            "spec": { "gvr": { "group": "x.io", "version": "v1", "resource": "certificates" } },
            "status": { "placed": placed, "conditions": [{ "type": "Ready", "status": status, "reason": "Invalid", "message": "line 1" }] },
        });
        one["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        one
    }

    #[test]
    fn one_that_counts_and_has_room_is_fine() {
        assert!(found(Ok(vec![one(&json!({ "capacity": 2 }), "True", 1)]), true).is_empty());
    }

    #[test]
    fn what_is_wrong_with_one_is_told() {
        for (one, severity, words) in [
            (one(&json!({}), "False", 0), Severity::Error, "line 1 (Invalid)"),
            (one(&json!({ "capacity": 1 }), "True", 1), Severity::Warning, "full: 1 of 1"),
            (one(&json!({ "cordoned": true }), "True", 1), Severity::Warning, "cordoned"),
        ] {
            let found = found(Ok(vec![one]), true);
            assert!(matches!(&found[..], [it] if it.severity == severity && it.what.contains(words)), "{found:?}");
        }
        let mut silent = one(&json!({}), "True", 0);
        silent["status"] = Value::Null;
        assert!(found(Ok(vec![silent]), true)[0].what.contains("nothing of it"));
    }

    #[test]
    fn a_resource_that_nobody_can_ask_for_is_told_where_all_are_known() {
        let ready = || Ok(vec![one(&json!({}), "True", 0)]);
        assert!(found(ready(), false)[0].what.contains("certificates.v1.x.io"));
        let mut theseus = member(ClusterName::provider("theseus"));
        theseus.within.as_mut().unwrap().accept_apis = ready();
        let mut away = member(ClusterName::consumer("homer"));
        away.within = None;
        assert!(check(&facts(inside(), vec![away, theseus])).is_empty());
    }

    #[test]
    fn a_provider_may_call_the_kind_by_another_plural() {
        let serving = |name: ClusterName, plural: &str| {
            let mut member = member(name);
            let served = Resource::named("x.io", "v1", "Certificate", plural);
            member.within.as_mut().unwrap().resources = Ok(Resources::these([served]));
            member
        };
        let mut theseus = serving(ClusterName::provider("theseus"), "certificates");
        theseus.within.as_mut().unwrap().accept_apis = Ok(vec![one(&json!({}), "True", 0)]);
        let homer = serving(ClusterName::consumer("homer"), "certs");
        assert!(check(&facts(inside(), vec![homer, theseus])).is_empty());
    }

    #[test]
    fn copies_that_are_kept_wait_for_a_person() {
        let mut held = one(&json!({}), "True", 0);
        let condition =
            json!({ "type": "DeletionsHeld", "status": "True", "reason": "OriginsVanished", "message": "homer" });
        held["status"]["conditions"].as_array_mut().unwrap().push(condition);
        let found = found(Ok(vec![held]), true);
        assert!(found[0].severity == Severity::Error && found[0].remedy.contains("confirm-deletions"), "{found:?}");
    }

    #[test]
    fn a_provider_without_the_kind_or_without_a_word_is_told() {
        let missing = found(Err(Trouble::NotServed("404".into())), true);
        assert!(missing[0].severity == Severity::Error && missing[0].remedy.contains("acceptapis.yaml"), "{missing:?}");
        assert!(found(Ok(Vec::new()), true)[0].what.contains("no AcceptAPI"));
        let denied = found(Err(Trouble::Forbidden("no".into())), true);
        assert!(denied[0].remedy.contains("list of acceptapis"), "{denied:?}");
    }
}
