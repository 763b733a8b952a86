//! Templates of Migrations, a JSON object with `${…}`: what is made is of the kind that was known before, and the same
//! again; what has no expression is made as it stands there.

use std::sync::{Arc, LazyLock};

use broker_core::migration::template::{LIMITS, Template};
use serde_json::{Map, Value, json};

use crate::patience::BROKER;

const NAMES: [&str; 4] = ["from", "to", "migration", "stage"];

static SIDE: LazyLock<Arc<Value>> = LazyLock::new(|| {
    Arc::new(json!({
        "metadata": {"name": "db", "namespace": "prod", "labels": {"a": "b"}},
        "spec": {"replicas": 3, "engine": "pg", "names": ["a", "b"], "text": "${x}", "none": null},
        "name": "export",
    }))
});

pub(crate) fn run(data: &[u8]) {
    let Ok(written) = serde_json::from_slice::<Map<String, Value>>(data) else { return };
    let template = match Template::compile(&written, &NAMES, &BROKER) {
        Ok(template) => template,
        Err(flaws) => {
            let flaws = flaws.to_vec();
            assert!(!flaws.is_empty());
            return flaws.iter().for_each(|flaw| assert!(flaw.len() < 8000, "{flaw}"));
        }
    };
    let variables = NAMES.map(|name| (name, Arc::clone(&SIDE)));
    let made = template.render(&variables, &BROKER).map_err(|error| error.to_string());
    let again = template.render(&variables, &BROKER).map_err(|error| error.to_string());
    assert_eq!(made, again, "another object the second time");
    let Ok(made) = made else { return };
    assert!(made.to_string().len() <= LIMITS.bytes);
    let kind = template.kind();
    let version = if kind.group.is_empty() { kind.version.clone() } else { format!("{}/{}", kind.group, kind.version) };
    assert_eq!((&made["apiVersion"], &made["kind"]), (&json!(version), &json!(kind.kind)));
    let written = Value::Object(written);
    if !written.to_string().contains("${") {
        assert_eq!(made, written, "it has no expressions");
    }
}
