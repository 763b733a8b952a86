//! `Definition`: one ResourceGraphDefinition as it is shown.

use broker_api::graphs::{
    condition::{ACTIVE, DISTRIBUTED, INACTIVE, READY},
    keys::GROUP,
};
use serde_json::Value;

use super::{
    kept::{Shown, ShownKind},
    told::{conditions, is_deleting, said, text},
    tone::Tone,
    trace::Said,
};

/// The state of one that is being deleted.
const DELETING: &str = "Deleting";

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Definition {
    /// Its name.
    pub(super) name: String,
    /// The kind that it defines, as `Kind.version.group`; empty where that is not known.
    pub(super) kind: String,
    /// `Active` where its instances are served; empty where nothing is told of it.
    pub(super) state: String,
    /// The newest revision.
    pub(super) revision: Option<i64>,
    /// What is not as it should be; empty where nothing is known of that.
    pub(super) why: String,
    /// What its conditions say.
    pub(super) conditions: Vec<Said>,
}

fn kind(schema: &Value) -> String {
    let (kind, version, group) = (text(&schema["kind"]), text(&schema["apiVersion"]), text(&schema["group"]));
    let group = if group.is_empty() { GROUP } else { &group };
    if kind.is_empty() { String::new() } else { format!("{kind}.{version}.{group}") }
}

/// Whether its instances are served comes before whether they are everywhere.
fn why(conditions: &[Said]) -> String {
    let of = [READY, DISTRIBUTED].into_iter().filter_map(|kind| said(conditions, kind));
    let mut wrong = of.filter(|said| said.status != "True" && !said.message.is_empty());
    wrong.next().map(|said| said.message.clone()).unwrap_or_default()
}

impl Shown for Definition {
    const KIND: ShownKind = ShownKind {
        group: GROUP,
        kind: "ResourceGraphDefinition",
        plural: "ResourceGraphDefinitions",
        resource: "resourcegraphdefinitions (kro.run)",
        most: 200,
    };

    fn of(name: &str, object: &Value) -> Self {
        let status = &object["status"];
        let conditions = conditions(status);
        Self {
            name: name.to_owned(),
            kind: kind(&object["spec"]["schema"]),
            state: if is_deleting(object) { DELETING.to_owned() } else { text(&status["state"]) },
            revision: status["lastIssuedRevision"].as_i64(),
            why: why(&conditions),
            conditions,
        }
    }

    fn unread(name: &str, why: String) -> Self {
        Self { name: name.to_owned(), why, ..Self::default() }
    }

    fn brief(self) -> Self {
        Self { conditions: Vec::new(), ..self }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn tone(&self) -> Tone {
        match &*self.state {
            ACTIVE => Tone::Good,
            INACTIVE => Tone::Bad,
            DELETING => Tone::Busy,
            _ => Tone::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn condition(kind: &str, status: &str) -> Value {
        json!({"type": kind, "status": status, "reason": "R", "message": format!("{kind} is {status}")})
    }

    fn of(state: &str, conditions: &[Value]) -> Definition {
        let object = json!({
            "metadata": {"name": "web"},
            "spec": {"schema": {"kind": "WebApp", "apiVersion": "v1alpha1"}},
            "status": {"state": state, "lastIssuedRevision": 7, "conditions": conditions},
        });
        Definition::of("web", &object)
    }

    #[test]
    fn it_is_told_as_the_object_has_it() {
        let shown = of("Active", &[condition(READY, "True")]);
        assert_eq!((&*shown.kind, &*shown.state, shown.revision), ("WebApp.v1alpha1.kro.run", "Active", Some(7)));
        assert_eq!((&*shown.why, shown.tone(), shown.conditions.len()), ("", Tone::Good, 1));
        assert!(shown.brief().conditions.is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_first_and_then_where_it_is_not_yet() {
        let ready = |status| condition(READY, status);
        let distributed = condition(DISTRIBUTED, "False");
        assert_eq!(of("Inactive", &[distributed.clone(), ready("False")]).why, "Ready is False");
        assert_eq!(of("Active", &[ready("True"), distributed]).why, "Distributed is False");
        assert_eq!(of("Inactive", &[]).tone(), Tone::Bad);
    }

    #[test]
    fn of_one_that_says_nothing_nothing_is_told() {
        for object in [Value::Null, json!({"spec": 1, "status": []}), json!({"spec": {"schema": {"kind": 7}}})] {
            let shown = Definition::of("web", &object);
            assert_eq!(shown, Definition { name: "web".into(), ..Definition::default() }, "{object}");
            assert_eq!(shown.tone(), Tone::Plain);
        }
        let leaving = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"state": "Active"}});
        assert_eq!(Definition::of("web", &leaving).tone(), Tone::Busy);
    }
}
