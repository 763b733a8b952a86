//! The platform's bounds on what a provider accepts, and the namespaces that it takes.

use std::{collections::BTreeMap, sync::Arc};

use broker_api::{AcceptApiSpec, ClusterName};
use broker_core::{
    acceptance::{AcceptId, Acceptance, Applicant, Verdict},
    allowance::Allowance,
    policy::{Policy, PolicyDocument},
};
use runtime_cel::expression::Evaluator;
use runtime_effect::kind::Kind;
use serde_json::{Value, json};

fn acceptance(more: Value) -> Acceptance {
    let mut spec = json!({"gvr": {"group": "example.org", "version": "v1", "resource": "vms"}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let spec: AcceptApiSpec = serde_json::from_value(spec).unwrap();
    let id = AcceptId { provider: ClusterName::provider("theseus"), namespace: "n".into(), name: "a".into() };
    Acceptance::compile(id, &spec, &Evaluator::new()).unwrap()
}

fn policy(document: Value) -> Arc<Policy> {
    let document: PolicyDocument = serde_json::from_value(document).unwrap();
    Arc::new(Policy::written(&document))
}

/// What is said of a VM in the namespace `team`: `None` if it is accepted, else the refusals' keys and values.
fn said(acceptance: &Acceptance, namespace: &str, labels: Option<&[(&str, &str)]>) -> Option<String> {
    let kind = Kind { group: "example.org".into(), version: "v1".into(), kind: "VM".into() };
    let labels = labels.map(|labels| -> BTreeMap<String, String> {
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    });
    let object = Arc::new(json!({"spec": {"memory": 1}}));
    let consumer = ClusterName::consumer("homer");
    let applicant = Applicant { object: &object, kind: &kind, namespace, consumer: &consumer, labels: labels.as_ref() };
    match acceptance.judge(&applicant, &Evaluator::new(), &mut Allowance::default()) {
        Verdict::Accepted => None,
        Verdict::Refused(refusals) => {
            let all: Vec<String> =
                refusals.iter().map(|refusal| format!("{} {}", refusal.key, refusal.value)).collect();
            Some(all.concat())
        }
        Verdict::Unknown(why) | Verdict::Silent(why) => Some(format!("unknown: {why}")),
    }
}

#[test]
fn priority_is_cut_to_the_bound_and_the_bound_may_change() {
    let high = acceptance(json!({"priority": 100}));
    assert_eq!((high.priority, high.cuts().len(), high.policy()), (100, 0, None));
    let bound = policy(json!({"maxPriority": 5}));
    let cut = high.bounded(&bound);
    assert_eq!(cut.policy(), Some(&*bound));
    assert_eq!((cut.priority, cut.cuts()), (5, vec!["priority 100 counts as 5".to_owned()]));
    let narrowed = acceptance(json!({})).bounded(&policy(json!({"consumers": "tier=gold"})));
    assert_eq!(narrowed.cuts(), ["only objects of consumers with tier in (gold) are taken"]);
    let raised = cut.bounded(&policy(json!({"maxPriority": 500})));
    assert_eq!((raised.priority, raised.cuts().len()), (100, 0));
    assert_eq!(raised.bounded(&policy(json!({}))).priority, 100);
}

#[test]
fn objects_are_attracted_only_where_the_platform_says_so() {
    let asks = acceptance(json!({})).annotated(false, true);
    let cut = asks.clone().bounded(&policy(json!({})));
    assert!(!cut.rebalance && cut.cuts() == ["rebalance has no effect"]);
    assert!(cut.clone().bounded(&policy(json!({"allowRebalance": true}))).rebalance);
    // In whatever order annotations and bounds come.
    assert!(!acceptance(json!({})).bounded(&policy(json!({}))).annotated(false, true).rebalance);
    let broken = policy(json!({"allowRebalance": true, "consumers": "("}));
    assert!(!asks.bounded(&broken).rebalance);
}

#[test]
fn a_kind_that_is_not_permitted_is_refused() {
    let bounded = |serves: Value| acceptance(json!({})).bounded(&policy(json!({"serves": serves})));
    assert_eq!(said(&bounded(json!(["VM.example.org"])), "team", Some(&[])), None);
    assert_eq!(said(&bounded(json!(["Disk.example.org"])), "team", Some(&[])).as_deref(), Some("kind VM"));
    assert_eq!(said(&bounded(json!([])), "team", Some(&[])).as_deref(), Some("kind VM"));
}

#[test]
fn a_consumer_that_is_not_selected_is_refused_and_one_whose_labels_are_unknown_is_not_told_no() {
    let bounded = acceptance(json!({})).bounded(&policy(json!({"consumers": "tier=gold"})));
    assert_eq!(said(&bounded, "team", Some(&[("tier", "gold")])), None);
    assert_eq!(said(&bounded, "team", Some(&[("tier", "free")])).as_deref(), Some("consumer homer"));
    assert_eq!(said(&bounded, "team", Some(&[])).as_deref(), Some("consumer homer"));
    assert!(said(&bounded, "team", None).unwrap().starts_with("unknown: "));
    assert_eq!(said(&acceptance(json!({})).bounded(&policy(json!({}))), "team", None), None);
}

#[test]
fn a_system_namespace_is_refused_whatever_the_object_says() {
    let open = acceptance(json!({"namespaces": {"allow": ["*"]}}));
    assert_eq!(said(&open, "team", Some(&[])), None);
    assert_eq!(said(&open, "kube-system", Some(&[])).as_deref(), Some("namespace kube-system"));
    let lifted = acceptance(json!({"namespaces": {"deny": []}}));
    assert_eq!(said(&lifted, "kube-system", Some(&[])), None);
}

#[test]
fn what_cannot_be_read_suspends() {
    let open = acceptance(json!({}));
    assert!(!open.is_suspended() && !open.clone().bounded(&policy(json!({}))).is_suspended());
    assert!(open.bounded(&Arc::new(Policy::unreadable("no YAML"))).is_suspended());
}
