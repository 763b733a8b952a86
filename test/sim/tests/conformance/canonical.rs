//! Answers in a form in which those of two API servers can be the same.

use std::collections::HashMap;

use serde_json::{Value, json};

/// What one API server has said so far that another one calls otherwise.
#[derive(Default)]
pub(crate) struct Canonical {
    uids: HashMap<String, usize>,
    versions: HashMap<String, usize>,
}

const TIMES: [&str; 5] = ["creationTimestamp", "deletionTimestamp", "time", "lastTransitionTime", "lastObservedTime"];

fn is_uid(text: &str) -> bool {
    let hyphens: Vec<usize> = text.match_indices('-').map(|(at, _)| at).collect();
    text.len() == 36 && hyphens == [8, 13, 18, 23] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

fn nth(known: &mut HashMap<String, usize>, text: &str) -> usize {
    let next = known.len();
    *known.entry(text.to_owned()).or_insert(next)
}

impl Canonical {
    /// A uid may be in the name of a field, too: `k:{"uid":"…"}`.
    fn key(&mut self, name: String) -> String {
        let found = name.split('"').find(|part| is_uid(part)).map(str::to_owned);
        match found {
            Some(uid) => name.replace(&uid, &format!("uid {}", nth(&mut self.uids, &uid))),
            None => name,
        }
    }

    pub(crate) fn of(&mut self, value: Value) -> Value {
        match value {
            Value::Object(fields) if fields.get("kind") == Some(&json!("APIGroupDiscoveryList")) => {
                // Other sequences make groups, too, and the model knows few of Kubernetes' own.
                let mut list = Value::Object(fields);
                let ours = |group: &&Value| group["metadata"]["name"] == "sim.example.org";
                let ours: Vec<Value> = list["items"].as_array().into_iter().flatten().filter(ours).cloned().collect();
                list["kind"] = json!("one of many groups");
                list["items"] = json!(ours);
                self.of(list)
            }
            Value::Object(fields) if fields.contains_key("groups") => {
                let groups = fields["groups"].as_array().into_iter().flatten();
                groups.filter(|group| group["name"] == "sim.example.org").cloned().collect()
            }
            Value::Object(fields) => {
                let is_list = fields.contains_key("items") && fields.contains_key("metadata");
                let is_status = fields.get("kind") == Some(&json!("Status"));
                let mut out = serde_json::Map::new();
                for (name, value) in fields {
                    let value = match (&*name, value) {
                        ("message", _) if is_status || out.contains_key("lastTransitionTime") => continue,
                        ("metadata", mut metadata) if is_list => {
                            metadata["resourceVersion"] = json!("*");
                            self.of(metadata)
                        }
                        ("resourceVersion", Value::String(text)) if text != "*" => {
                            json!(format!("version {}", nth(&mut self.versions, &text)))
                        }
                        ("continue", Value::String(text)) if text.is_empty() => continue,
                        ("continue", Value::String(_)) => json!("…"),
                        ("storageVersionHash" | "freshness" | "selfLink", _) => continue,
                        ("name", Value::String(text)) if text.starts_with("generated-") => json!("generated-…"),
                        ("resources", Value::Array(mut resources)) => {
                            resources.sort_by_key(|one| [one["name"].to_string(), one["resource"].to_string()]);
                            self.of(Value::Array(resources))
                        }
                        ("details", mut details) if is_status => {
                            sort_causes(&mut details);
                            self.of(details)
                        }
                        ("managedFields", Value::Array(mut entries)) => {
                            entries.sort_by_key(|entry| {
                                ["operation", "manager", "apiVersion", "subresource"]
                                    .map(|name| entry[name].to_string())
                            });
                            self.of(Value::Array(entries))
                        }
                        (name, Value::String(_)) if TIMES.contains(&name) => json!("time"),
                        (_, value) => self.of(value),
                    };
                    out.insert(self.key(name), value);
                }
                Value::Object(out)
            }
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.of(item)).collect()),
            Value::String(text) if is_uid(&text) => json!(format!("uid {}", nth(&mut self.uids, &text))),
            other => other,
        }
    }
}

fn sort_causes(details: &mut Value) {
    let Some(causes) = details["causes"].as_array_mut() else {
        details.as_object_mut().map(|details| details.remove("causes"));
        return;
    };
    for cause in causes.iter_mut() {
        cause.as_object_mut().map(|cause| cause.remove("message"));
    }
    causes.sort_by_key(|cause| [cause["field"].to_string(), cause["reason"].to_string()]);
}

#[test]
fn what_differs_by_chance_is_the_same() {
    let said = |uid: &str, version: &str, time: &str| {
        json!([{"metadata": {"uid": uid, "resourceVersion": version, "creationTimestamp": time}},
            {"metadata": {"uid": uid, "resourceVersion": version}}])
    };
    let [one, two] = ["11111111-2222-4333-8444-555555555555", "aaaaaaaa-2222-4333-8444-555555555555"];
    let canonical = |value: Value| Canonical::default().of(value);
    assert_eq!(canonical(said(one, "5", "a")), canonical(said(two, "77", "b")));
    let differs = json!([{"metadata": {"uid": one, "resourceVersion": "5", "creationTimestamp": "a"}},
        {"metadata": {"uid": two, "resourceVersion": "5"}}]);
    assert_ne!(canonical(differs), canonical(said(one, "5", "a")));
}
