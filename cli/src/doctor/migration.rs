//! Migrations that go no further or have failed, and configurations that are not used.

use broker_api::{condition::READY, migration::STALLED};
use serde_json::Value;

use super::{
    facts::{Facts, Inside},
    finding::{Finding, More},
};
use crate::cluster::Trouble;

const CHECK: &str = "migration";
const CONFIGURATION: &str = "migrationconfiguration";

/// What is told of many Migrations.
pub(crate) const MORE: More = More {
    check: CHECK,
    what: "Migrations have failed, or go no further",
    remedy: "`kubectl broker migrations` lists all of them",
};

/// Judges all of them.
pub(crate) fn check(facts: &Facts, inside: &Inside) -> Vec<Finding> {
    let hub = facts.hub.name.to_string();
    let mut findings = Vec::new();
    match &inside.migrations {
        Ok(list) => findings.extend(list.iter().filter_map(|one| of_migration(&hub, one))),
        // That their CRD is missing is told already.
        Err(Trouble::NotServed(_)) => {}
        Err(why) => {
            findings.push(Finding::unchecked(CHECK, &hub, why, "list of migrations.broker.platform-mesh.io"));
        }
    }
    match &inside.configurations {
        Ok(list) => findings.extend(list.iter().filter_map(|one| of_configuration(&hub, one))),
        Err(Trouble::NotServed(_)) => {}
        Err(why) => {
            let needs = "list of migrationconfigurations.broker.platform-mesh.io";
            findings.push(Finding::unchecked(CONFIGURATION, &hub, why, needs));
        }
    }
    findings
}

fn place(hub: &str, kind: &str, one: &Value) -> String {
    let part = |name: &str| one["metadata"][name].as_str().unwrap_or_default();
    format!("{hub} {kind} {}/{}", part("namespace"), part("name"))
}

fn condition<'a>(one: &'a Value, name: &str) -> Option<&'a Value> {
    one["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == *name)
}

fn why(condition: &Value) -> String {
    let text = |name: &str| condition[name].as_str().unwrap_or_default();
    format!("{} ({})", text("message"), text("reason"))
}

fn of_migration(hub: &str, one: &Value) -> Option<Finding> {
    let place = place(hub, "Migration", one);
    let name = one["metadata"]["name"].as_str().unwrap_or_default();
    if one["status"]["state"] == "Failed" {
        let why = condition(one, "Succeeded").map(|said| format!(": {}", why(said))).unwrap_or_default();
        let remedy = "its object stays where it is; mend what the message says, and make another, or let the broker";
        return Some(Finding::warning(CHECK, &place, format!("it has failed{why}"), remedy));
    }
    if let Some(stalled) = condition(one, STALLED).filter(|stalled| stalled["status"] == "True") {
        let remedy = format!("`kubectl broker retry {name}` once that is mended, or `kubectl broker abort {name}`");
        return Some(Finding::error(CHECK, &place, format!("it goes no further: {}", why(stalled)), remedy));
    }
    (one["spec"]["paused"] == true && one["status"]["state"] != "CutoverCompleted").then(|| {
        let remedy = format!("`kubectl broker resume {name}` when that is over");
        Finding::warning(CHECK, &place, "a person has paused it: it goes no further", remedy)
    })
}

fn of_configuration(hub: &str, one: &Value) -> Option<Finding> {
    let place = place(hub, "MigrationConfiguration", one);
    match condition(one, READY) {
        None => Some(Finding::warning(
            CONFIGURATION,
            &place,
            "the broker has said nothing of it",
            "see whether a broker leads",
        )),
        Some(ready) if ready["status"] != "True" => Some(Finding::error(
            CONFIGURATION,
            &place,
            format!("it is not used: {}", why(ready)),
            "docs/troubleshooting.md has the reason",
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::{
        facts::tests::{facts, inside},
        finding::Severity,
    };

    fn found(migrations: Vec<Value>, configurations: Vec<Value>) -> Vec<Finding> {
        let facts = facts(inside(), Vec::new());
        let mut inside = inside();
        (inside.migrations, inside.configurations) = (Ok(migrations), Ok(configurations));
        check(&facts, &inside)
    }

    fn said(kind: &str, status: &str) -> Value {
        json!([{ "type": kind, "status": status, "reason": "Because", "message": "m" }])
    }

    fn migration(state: &str, paused: bool, conditions: &Value) -> Value {
        json!({ "metadata": { "namespace": "team", "name": "a" }, "spec": { "paused": paused },
            "status": { "state": state, "conditions": conditions } })
    }

    #[test]
    fn a_migration_that_goes_on_or_has_ended_is_fine() {
        let going = migration("InitialInProgress", false, &said("Progressing", "True"));
        let ended = migration("CutoverCompleted", true, &said("Succeeded", "True"));
        assert!(found(vec![going, ended], Vec::new()).is_empty());
    }

    #[test]
    fn one_that_does_not_is_told() {
        for (one, severity, words) in [
            (migration("Failed", false, &said("Succeeded", "False")), Severity::Warning, "failed: m (Because)"),
            (
                migration("InitialInProgress", false, &said("Stalled", "True")),
                Severity::Error,
                "no further: m (Because)",
            ),
            (migration("Pending", true, &json!([])), Severity::Warning, "paused"),
        ] {
            let found = found(vec![one], Vec::new());
            assert!(matches!(&found[..], [it] if it.severity == severity && it.what.contains(words)), "{found:?}");
            assert_eq!(found[0].place, "coordination#coordination Migration team/a");
        }
    }

    #[test]
    fn a_configuration_is_used() {
        let of = |status: &str| {
            let one = json!({ "metadata": { "namespace": "system", "name": "c" }, "status": { "conditions": said("Ready", status) } });
            found(Vec::new(), vec![one])
        };
        assert!(of("True").is_empty());
        assert!(of("False")[0].what.contains("not used: m (Because)"));
        assert!(found(Vec::new(), vec![json!({ "metadata": {} })])[0].what.contains("nothing of it"));
    }

    #[test]
    fn what_may_not_be_read_is_told() {
        let facts = facts(inside(), Vec::new());
        let mut inside = inside();
        inside.migrations = Err(Trouble::Forbidden("no".into()));
        let found = check(&facts, &inside);
        assert!(matches!(&found[..], [it] if it.remedy.contains("list of migrations")), "{found:?}");
    }
}
