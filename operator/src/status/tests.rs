//! Statuses of Deployments and pods, as a kubelet and the controllers write them, and what is told of them.
#![allow(clippy::unwrap_used)]

use broker_api::broker::BrokerStatus;
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::Pod},
    jiff::Timestamp,
};
use serde_json::{Value, json};

use super::status;
use crate::{apply::Applied, trouble::Trouble, validate::Held};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn deployment(replicas: i32, deployment_status: &Value) -> Deployment {
    let mut object = json!({"metadata": {"name": "b", "generation": 2}, "spec": {"replicas": replicas,
        "selector": {}, "template": {}}, "status": deployment_status});
    if object["status"]["observedGeneration"].is_null() {
        object["status"]["observedGeneration"] = 2.into();
    }
    serde_json::from_value(object).unwrap()
}

fn healthy(replicas: i32) -> Deployment {
    deployment(
        replicas,
        &json!({"replicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas,
            "conditions": [{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]}),
    )
}

fn applied(deployment: Option<Deployment>) -> Applied {
    Applied { deployment, has_graphs: false, graphs: None, held: None, troubles: Vec::new(), refused: 0 }
}

fn with_graphs(broker: Deployment, graphs: Option<Deployment>) -> Applied {
    Applied { has_graphs: true, graphs, ..applied(Some(broker)) }
}

fn pod(name: &str, hash: &str, born: &str, pod_status: &Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"name": name, "creationTimestamp": born,
        "labels": {"pod-template-hash": hash}}, "status": pod_status}))
    .unwrap()
}

fn container(state: &Value) -> Value {
    let mut status = json!({"name": "b", "ready": false, "restartCount": 3, "image": "i", "imageID": ""});
    for (key, value) in state.as_object().unwrap() {
        status[key] = value.clone();
    }
    json!({"containerStatuses": [status]})
}

const BORN: &str = "2026-01-01T00:00:00Z";
const LATER: &str = "2026-01-01T00:01:00Z";

/// `Available/reason Progressing/reason Degraded/reason`, each with + or -.
fn stands(status: &BrokerStatus) -> String {
    let stand = |it: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition| {
        format!("{}{}", if it.status == "True" { "+" } else { "-" }, it.reason)
    };
    status.conditions.iter().map(stand).collect::<Vec<_>>().join(" ")
}

fn told(applied: &Applied, pods: &[Pod]) -> String {
    stands(&status(&BrokerStatus::default(), Some(7), applied, pods, at(1)))
}

fn message(applied: &Applied, pods: &[Pod]) -> String {
    status(&BrokerStatus::default(), Some(7), applied, pods, at(1)).conditions.pop().unwrap().message
}

#[test]
fn each_condition_says_which_generation_it_speaks_of() {
    let status = status(&BrokerStatus::default(), Some(7), &applied(Some(healthy(2))), &[], at(1));
    assert_eq!(stands(&status), "+InstanceReady -Complete -AsExpected");
    let kinds: Vec<_> = status.conditions.iter().map(|it| (it.type_.as_str(), it.observed_generation)).collect();
    assert_eq!(kinds, [("Available", Some(7)), ("Progressing", Some(7)), ("Degraded", Some(7))]);
    assert_eq!(status.observed_generation, Some(7));
}

#[test]
fn nothing_new_is_the_same_status_at_any_time() {
    let first = status(&BrokerStatus::default(), Some(7), &applied(Some(healthy(1))), &[], at(1));
    assert_eq!(status(&first, Some(7), &applied(Some(healthy(1))), &[], at(9)), first);
    let down = status(&first, Some(7), &applied(Some(deployment(1, &json!({})))), &[], at(9));
    assert_eq!(down.conditions[0].last_transition_time.0, at(9));
    assert_eq!(down.conditions[2].last_transition_time.0, at(1), "it did not turn");
}

#[test]
fn conditions_of_others_stay() {
    let mut previous = BrokerStatus::default();
    previous.conditions.push(broker_api::condition("Theirs", true, "X", "", None, at(1)));
    let status = status(&previous, Some(7), &applied(Some(healthy(1))), &[], at(2));
    assert_eq!(status.conditions.len(), 4);
}

#[test]
fn one_instance_that_works_is_enough() {
    let two_of_three = deployment(
        3,
        &json!({"replicas": 3, "updatedReplicas": 3, "availableReplicas": 2,
        "conditions": [{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]}),
    );
    assert_eq!(told(&applied(Some(two_of_three)), &[]), "+InstanceReady -Complete -AsExpected");
    assert_eq!(told(&applied(Some(deployment(0, &json!({})))), &[]), "-Stopped -Complete -AsExpected");
    assert_eq!(told(&applied(None), &[]), "-NoDeployment -NoDeployment -AsExpected");
}

#[test]
fn a_rollout_is_under_way_until_all_are_new_and_ready() {
    for (unfinished, generation) in [
        (json!({"replicas": 2, "updatedReplicas": 1, "availableReplicas": 2}), 2),
        (json!({"replicas": 3, "updatedReplicas": 2, "availableReplicas": 3}), 2),
        (json!({"replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}), 2),
        (json!({"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}), 1),
    ] {
        let mut unfinished = unfinished;
        unfinished["observedGeneration"] = generation.into();
        let told = told(&applied(Some(deployment(2, &unfinished))), &[]);
        assert_eq!(told, "+InstanceReady +RollingOut -AsExpected", "{unfinished}");
    }
}

#[test]
fn a_rollout_that_crashes_while_the_old_instance_serves() {
    let rolling = deployment(
        1,
        &json!({"replicas": 2, "updatedReplicas": 1, "availableReplicas": 1,
        "conditions": [{"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}]}),
    );
    let crash = container(&json!({"state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "line one\nerror: no such file\n"}}}));
    let pods = [
        pod(
            "old",
            "aa",
            BORN,
            &json!({"containerStatuses": [{"name": "b", "ready": true, "restartCount": 0, "image": "i",
            "imageID": "", "state": {"running": {}}}]}),
        ),
        pod("new", "bb", LATER, &crash),
    ];
    assert_eq!(told(&applied(Some(rolling.clone())), &pods), "+InstanceReady +RollingOut +CrashLoopBackOff");
    assert_eq!(
        message(&applied(Some(rolling)), &pods),
        "Pod new: the broker ended with code 1: line one error: no such file"
    );
    let stuck = deployment(
        1,
        &json!({"replicas": 2, "updatedReplicas": 1, "availableReplicas": 1, "conditions": [{"type": "Progressing",
            "status": "False", "reason": "ProgressDeadlineExceeded", "message": "ReplicaSet b-bb has timed out"}]}),
    );
    assert_eq!(
        told(&applied(Some(stuck.clone())), &pods),
        "+InstanceReady -ProgressDeadlineExceeded +CrashLoopBackOff"
    );
    assert!(
        message(&applied(Some(stuck.clone())), &pods)
            .contains("ProgressDeadlineExceeded: ReplicaSet b-bb has timed out")
    );
    assert_eq!(told(&applied(Some(stuck)), &[]), "+InstanceReady -ProgressDeadlineExceeded +ProgressDeadlineExceeded");
}

#[test]
fn a_crash_loop_has_one_reason_in_all_its_phases() {
    let ended = json!({"exitCode": 1, "reason": "Error", "message": "x"});
    let none = deployment(1, &json!({"replicas": 1, "updatedReplicas": 1}));
    let phases = [
        json!({"state": {"terminated": ended}}),
        json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ended}}),
        json!({"state": {"waiting": {"reason": "ContainerCreating"}}, "lastState": {"terminated": ended}}),
        json!({"state": {"running": {}}, "lastState": {"terminated": ended}}),
    ];
    let messages: Vec<String> = phases
        .iter()
        .map(|phase| message(&applied(Some(none.clone())), &[pod("p", "aa", BORN, &container(phase))]))
        .collect();
    assert_eq!(messages, ["Pod p: the broker ended with code 1: x"; 4]);
    let recovered = json!({"ready": true, "state": {"running": {}}, "lastState": {"terminated": ended}});
    assert_eq!(
        told(&applied(Some(healthy(1))), &[pod("p", "aa", BORN, &container(&recovered))]),
        "+InstanceReady -Complete -AsExpected"
    );
}

#[test]
fn why_pods_do_not_run_is_passed_on() {
    let none = || applied(Some(deployment(1, &json!({"replicas": 1, "updatedReplicas": 1}))));
    let waiting = |reason: &str| container(&json!({"state": {"waiting": {"reason": reason, "message": "because"}}}));
    for reason in ["ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError", "InvalidImageName"] {
        let pods = [pod("p", "aa", BORN, &waiting(reason))];
        assert_eq!(told(&none(), &pods), format!("-{reason} +RollingOut +{reason}"));
        assert_eq!(message(&none(), &pods), "Pod p: because");
    }
    let killed = container(&json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}));
    assert!(message(&none(), &[pod("p", "aa", BORN, &killed)]).contains("resources.limits"));
    let unscheduled = json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/3 nodes are available"}]});
    assert_eq!(told(&none(), &[pod("p", "aa", BORN, &unscheduled)]), "-Unschedulable +RollingOut +Unschedulable");
    for usual in ["ContainerCreating", "PodInitializing"] {
        assert_eq!(told(&none(), &[pod("p", "aa", BORN, &waiting(usual))]), "-NoInstanceReady +RollingOut -AsExpected");
    }
}

#[test]
fn the_newest_instances_speak_first() {
    let waiting = |reason: &str| container(&json!({"state": {"waiting": {"reason": reason, "message": "m"}}}));
    // The old version made an instance after the new one did: two of the new version are younger, one is older.
    let pods = [
        pod("old", "aa", "2026-01-01T00:00:30Z", &waiting("ErrImagePull")),
        pod("new-1", "bb", BORN, &waiting("CreateContainerConfigError")),
        pod("new-2", "bb", LATER, &waiting("CreateContainerConfigError")),
    ];
    let status = status(&BrokerStatus::default(), None, &applied(Some(healthy(1))), &pods, at(1));
    let degraded = &status.conditions[2];
    assert_eq!(degraded.reason, "CreateContainerConfigError");
    assert_eq!(degraded.message, "CreateContainerConfigError: Pod new-1: m; ErrImagePull: Pod old: m");
}

#[test]
fn pods_that_cannot_be_made_are_told() {
    let refused = deployment(
        1,
        &json!({"conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
            "message": "exceeded quota"}]}),
    );
    assert_eq!(told(&applied(Some(refused)), &[]), "-FailedCreate +RollingOut +FailedCreate");
}

#[test]
fn what_is_held_says_so_and_what_runs_is_told_truly() {
    let trouble = Trouble::new("InvalidSpec", "no such kind");
    let held = |held: Held, deployment| Applied {
        troubles: match &held {
            Held::Trouble(trouble) => vec![trouble.clone()],
            Held::Paused => Vec::new(),
        },
        held: Some(held),
        ..applied(deployment)
    };
    assert_eq!(
        told(&held(Held::Trouble(trouble.clone()), Some(healthy(1))), &[]),
        "+InstanceReady -InvalidSpec +InvalidSpec"
    );
    assert_eq!(told(&held(Held::Trouble(trouble), None), &[]), "-InvalidSpec -InvalidSpec +InvalidSpec");
    assert_eq!(told(&held(Held::Paused, Some(healthy(1))), &[]), "+InstanceReady -Paused -AsExpected");
}

/// A pod of a graphs controller.
fn graphs_pod(name: &str, pod_status: &Value) -> Pod {
    let mut pod = pod(name, "cc", BORN, pod_status);
    pod.metadata.labels.as_mut().unwrap().insert("app.kubernetes.io/name".into(), "resource-graphs".into());
    pod
}

#[test]
fn a_graphs_controller_has_a_condition_of_its_own() {
    let both = with_graphs(healthy(1), Some(healthy(2)));
    assert_eq!(told(&both, &[]), "+InstanceReady +InstanceReady -Complete -AsExpected");
    let status = status(&BrokerStatus::default(), Some(7), &both, &[], at(1));
    let kinds: Vec<_> = status.conditions.iter().map(|it| it.type_.as_str()).collect();
    assert_eq!(kinds, ["Available", "GraphsAvailable", "Progressing", "Degraded"]);
    assert_eq!(status.conditions[1].message, "2 of 2 instances are ready");
    let without = super::status(&status, Some(8), &applied(Some(healthy(1))), &[], at(2));
    assert_eq!(stands(&without), "+InstanceReady -Complete -AsExpected", "it goes with the controller");
    let stopped = with_graphs(healthy(1), Some(deployment(0, &json!({}))));
    assert_eq!(told(&stopped, &[]), "+InstanceReady -Stopped -Complete -AsExpected");
}

#[test]
fn what_the_one_program_lacks_is_not_said_of_the_other() {
    let waiting = container(&json!({"state": {"waiting": {"reason": "ImagePullBackOff", "message": "m"}}}));
    let none = || deployment(1, &json!({"replicas": 1, "updatedReplicas": 1}));
    let graphs_waits = [graphs_pod("g", &waiting)];
    assert_eq!(
        told(&with_graphs(healthy(1), Some(none())), &graphs_waits),
        "+InstanceReady -ImagePullBackOff +RollingOut +ImagePullBackOff"
    );
    assert_eq!(
        told(&with_graphs(none(), Some(none())), &graphs_waits),
        "-NoInstanceReady -ImagePullBackOff +RollingOut +ImagePullBackOff"
    );
    assert_eq!(
        told(&with_graphs(none(), Some(healthy(1))), &[pod("p", "aa", BORN, &waiting)]),
        "-ImagePullBackOff +InstanceReady +RollingOut +ImagePullBackOff"
    );
    assert_eq!(told(&applied(Some(healthy(1))), &graphs_waits), "+InstanceReady -Complete -AsExpected", "it goes");
    let killed = container(&json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}));
    let applied = with_graphs(healthy(1), Some(none()));
    assert_eq!(
        message(&applied, &[graphs_pod("g", &killed)]),
        "Pod g: the graphs controller took more memory than spec.graphs.resources.limits allows"
    );
    let progressing = &status(&BrokerStatus::default(), None, &applied, &[], at(1)).conditions[2];
    assert_eq!(progressing.message, "the graphs controller: 1 of 1 instances are new, 0 of all 1 are ready");
}
