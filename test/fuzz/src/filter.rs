//! AcceptAPIs, and what they say of an object: `{"spec": …, "object": …}`. What is accepted is what its filters say, told
//! here once more and in the plainest way.

use std::{collections::BTreeMap, sync::Arc};

use broker_api::{AcceptApiSpec, ClusterName, Filter, Missing};
use broker_core::{
    acceptance::{AcceptId, Acceptance, Applicant, Verdict},
    allowance::Allowance,
    path::Path,
};
use runtime_effect::kind::Kind;
use serde::Deserialize;
use serde_json::Value;

use crate::patience::BROKER;

#[derive(Deserialize)]
struct Input {
    spec: AcceptApiSpec,
    object: Value,
}

fn compile(spec: &AcceptApiSpec) -> Result<Acceptance, Vec<String>> {
    let id = AcceptId { provider: ClusterName::provider("p"), namespace: "n".into(), name: "a".into() };
    Acceptance::compile(id, spec, &BROKER)
}

pub(crate) fn run(data: &[u8]) {
    let Ok(Input { spec, object }) = serde_json::from_slice(data) else { return };
    let printed = serde_json::to_value(&spec).unwrap_or_default();
    assert_eq!(serde_json::from_value::<AcceptApiSpec>(printed).ok().as_ref(), Some(&spec), "it is read otherwise");
    let acceptance = match compile(&spec) {
        Ok(acceptance) => acceptance,
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                assert!(error.starts_with("spec.") && error.len() < 3000, "{error}");
            }
            return;
        }
    };
    assert!(!acceptance.is_pending());
    let (object, labels) = (Arc::new(object), BTreeMap::new());
    let kind = Kind { group: "example.org".into(), version: "v1".into(), kind: "Certificate".into() };
    let consumer = ClusterName::consumer("c");
    let applicant =
        Applicant { object: &object, kind: &kind, namespace: "default", consumer: &consumer, labels: Some(&labels) };
    let verdict = acceptance.judge(&applicant, &BROKER, &mut Allowance::default());
    assert_eq!(verdict, acceptance.judge(&applicant, &BROKER, &mut Allowance::default()), "another verdict");
    match verdict {
        Verdict::Accepted => {
            let refusing =
                spec.filters.iter().find(|filter| refuses(filter, object.get("spec").unwrap_or(&Value::Null)));
            assert!(refusing.is_none(), "is accepted, but for {refusing:?}");
        }
        Verdict::Refused(refusals) => {
            assert!(!refusals.is_empty());
            for refusal in refusals {
                let told = refusal.to_string();
                assert!(!refusal.reason.chars().any(char::is_control) && told.len() < 16_000, "{told:?}");
            }
        }
        Verdict::Unknown(why) | Verdict::Silent(why) => panic!("nothing is said: {why}"),
    }
}

/// Whether a filter surely refuses: what it is about is missing, no scalar, or a text that it does not take.
fn refuses(filter: &Filter, spec: &Value) -> bool {
    let Ok(path) = Path::compile(&filter.key) else { return true };
    let set = |text: &Option<String>| text.clone().unwrap_or_default();
    match path.lookup(spec) {
        None | Some(Value::Null) => filter.missing != Some(Missing::Accept),
        Some(Value::Array(_) | Value::Object(_)) => true,
        Some(Value::String(text)) => {
            let is_in = filter.value_in.is_empty() || filter.value_in.contains(text);
            !is_in || !text.starts_with(&set(&filter.prefix)) || !text.ends_with(&set(&filter.suffix))
        }
        Some(_) => false,
    }
}
