//! The operator with what config/default grants it, and a broker with what the operator grants that.

use std::sync::Mutex;

use e2e::{DEADLINE, Kind, Object, Place, kind::CERTIFICATE};
use harness::wait_for;
use kube::{
    Api,
    api::{DynamicObject, ListParams},
};
use manifests::{
    permissions::{graphs::GRAPHS as GRANTED, operator::OPERATOR},
    usage::Request,
};
use serde_json::{Value, json};

use crate::{
    cast::{Cast, Hub, MIGRATION_TTL},
    graphs, is_excused,
    judge::{Case, Judgement, judge},
    migrations, objects,
    owner::arguments,
    pair::Pair,
};

/// The user that an API server makes of the operator's ServiceAccount.
const OPERATOR_USER: &str = "system:serviceaccount:resource-broker-system:resource-broker-operator";
/// The user that it makes of the ServiceAccount that the operator makes for the Broker.
const BROKER_USER: &str = "system:serviceaccount:team:broker";

/// The user that it makes of the ServiceAccount of its graphs controller.
const GRAPHS_USER: &str = "system:serviceaccount:team:broker-graphs";

/// The Broker's namespace and name.
pub(crate) const TEAM: &str = "team";
const NAME: &str = "broker";

const BROKER: Kind =
    Kind { group: "operator.broker.platform-mesh.io", version: "v1alpha1", kind: "Broker", plural: "brokers" };
const SERVICE_MONITOR: Kind =
    Kind { group: "monitoring.coreos.com", version: "v1", kind: "ServiceMonitor", plural: "servicemonitors" };
const ACCOUNT: Kind = Kind::core("ServiceAccount", "serviceaccounts");
const SERVICE: Kind = Kind::core("Service", "services");
pub(crate) const DEPLOYMENT: Kind = Kind { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" };
const BUDGET: Kind =
    Kind { group: "policy", version: "v1", kind: "PodDisruptionBudget", plural: "poddisruptionbudgets" };
const NETWORK_POLICY: Kind =
    Kind { group: "networking.k8s.io", version: "v1", kind: "NetworkPolicy", plural: "networkpolicies" };
const ROLE_BINDING: Kind =
    Kind { group: "rbac.authorization.k8s.io", version: "v1", kind: "RoleBinding", plural: "rolebindings" };

const CLUSTER_ROLE_BINDING: Kind = Kind {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
};

/// All that a Broker becomes in its namespace.
const MADE: [(Kind, &str); 7] = [
    (ACCOUNT, NAME),
    (ROLE_BINDING, NAME),
    (DEPLOYMENT, NAME),
    (SERVICE, "broker-metrics"),
    (SERVICE_MONITOR, NAME),
    (BUDGET, NAME),
    (NETWORK_POLICY, NAME),
];

/// What it becomes beside that with a graphs controller.
const GRAPHS: [(Kind, &str); 6] = [
    (ACCOUNT, "broker-graphs"),
    (DEPLOYMENT, "broker-graphs"),
    (SERVICE, "broker-graphs-metrics"),
    (SERVICE_MONITOR, "broker-graphs"),
    (BUDGET, "broker-graphs"),
    (NETWORK_POLICY, "broker-graphs"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_may_do_what_it_does_and_its_broker_what_that_does() {
    let cast = Box::pin(Cast::start(Hub::WithOperator)).await;
    let hub = &cast.world.hub;
    let bound = Mutex::new(Vec::new());
    // Which verbs it needs is the other test's question: here some are granted twice.
    let broker = [Case::new(hub, cast.from(hub), &[])];
    let elsewhere = [&cast.homer, &cast.ariadne, &cast.theseus].map(|place| Case::new(place, cast.from(place), &[]));

    binds_the_brokers_roles_only(&cast);
    let scenario = async {
        // Without any cluster a broker is not deployed.
        cast.engage(&cast.homer, "consumer").await;
        let mut operators = start_operators(&cast).await;
        appears(hub).await;
        *bound.lock().unwrap() = binds(hub).await;
        distribution_goes(hub).await;
        its_graphs_controller_may_what_people_add(&cast).await;
        graphs::scenario(&cast).await;
        let mut brokers = start_brokers(&cast).await;
        objects::clusters(&cast).await;
        migrations::scenario(&cast).await;
        brokers.hand_over().await;
        objects::after_hand_over(&cast, TEAM).await;
        brokers.unharmed();
        // The ServiceAccount will be another.
        drop(brokers);
        graphs_go(hub).await;
        changes(hub).await;
        operators.hand_over().await;
        goes(hub).await;
        operators.unharmed();
    };
    let judgement = async {
        let besides = std::mem::take(&mut *bound.lock().unwrap());
        let operator = [Case { besides, ..Case::new(hub, cast.from(hub), OPERATOR) }];
        let controller = [Case { besides: graphs::besides(), ..Case::new(hub, cast.from(hub), GRANTED) }];
        let judgement = judge(OPERATOR_USER, &operator, |_, _| false).await;
        let judgement = judgement.and(judge(GRAPHS_USER, &controller, |_, _| false).await);
        let judgement = judgement.and(judge(BROKER_USER, &broker, is_excused).await);
        judgement.and(judge(crate::BROKER, &elsewhere, is_excused).await)
    };
    Box::pin(Judgement::of(scenario, judgement)).await.nothing_unused();
}

/// With the operator's token nobody becomes more than brokers are.
fn binds_the_brokers_roles_only(cast: &Cast) {
    let owner = cast.owner(&cast.world.hub);
    let bind = |role: &str| {
        let name = format!("of-{role}");
        let (role, subject) = (format!("--clusterrole={role}"), "--serviceaccount=default:default");
        let args = ["create", "clusterrolebinding", &name, &role, subject, "--dry-run=server"];
        owner.kubectl_as(OPERATOR_USER, &args)
    };
    bind("resource-broker-coordination").unwrap();
    bind("resource-broker-graphs-kinds").unwrap();
    for role in ["cluster-admin", "system:kube-scheduler", "system:node"] {
        let told = bind(role).unwrap_err();
        assert!(told.contains("attempting to grant RBAC permissions not currently held"), "{role}: {told}");
    }
    let told = owner.kubectl_as(OPERATOR_USER, &["create", "clusterrole", "all", "--verb=*", "--resource=*"]);
    assert!(told.unwrap_err().contains("cannot create resource \"clusterroles\""));
}

/// A Broker becomes all that it may become; the kind ServiceMonitor is installed only now.
async fn appears(hub: &Place) {
    hub.make_namespace(TEAM).await;
    let spec = json!({
        "replicas": 2,
        "watchKinds": [CERTIFICATE.flag()],
        "clusterSecretsNamespace": "resource-broker-clusters",
        "extraArgs": [format!("--migration-ttl={MIGRATION_TTL}"), "--dashboard-bind-address=:8082"],
        "graphs": {"enabled": true, "replicas": 2, "allowCRDDeletion": true, "distribution": {"enabled": true}},
    });
    hub.create(&BROKER, TEAM, NAME, json!({"spec": spec})).await;
    hub.until_there(&DEPLOYMENT, TEAM, NAME).await;
    hub.apply(&SERVICE_MONITOR.crd().to_string()).await;
    for (kind, name) in MADE.iter().chain(&GRAPHS) {
        hub.until_there(kind, TEAM, name).await;
    }
    let told = |seen: &Object| seen.condition("Available").is_some() && seen.condition("Degraded").is_some();
    hub.until(&BROKER, TEAM, NAME, "its conditions", told).await;
}

/// What an RGD is made of is its author's to say, in a ClusterRole with a label.
async fn its_graphs_controller_may_what_people_add(cast: &Cast) {
    let owner = cast.owner(&cast.world.hub);
    let may = |words: &[&str]| owner.kubectl_as(GRAPHS_USER, &[&["auth", "can-i", "--quiet"], words].concat());
    let lease = ["update", "leases.coordination.k8s.io/controller.kro.run", "--namespace=resource-broker-system"];
    for words in [
        &["patch", "resourcegraphdefinitions.kro.run"][..],
        &["create", "graphrevisions.internal.kro.run"],
        &["create", "customresourcedefinitions.apiextensions.k8s.io"],
        &["delete", "customresourcedefinitions.apiextensions.k8s.io"],
        &lease,
    ] {
        may(words).unwrap_or_else(|told| panic!("{words:?}: {told}"));
    }
    let config_maps = ["patch", "configmaps", "--namespace=default"];
    for words in [
        &config_maps[..],
        &["update", "leases.coordination.k8s.io/resource-broker-operator", "--namespace=resource-broker-system"],
        &["create", "clusterroles.rbac.authorization.k8s.io"],
        &["get", "secrets", "--namespace=resource-broker-system"],
    ] {
        may(words).expect_err(&format!("{words:?}"));
    }
    let role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web-parts, \
        labels: {rbac.kro.run/aggregate-to-controller: \"true\"}}, \
        rules: [{apiGroups: [\"\"], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}]}";
    owner.apply_text(role);
    let added = wait_for(DEADLINE, "the rules to be taken in", async || may(&config_maps));
    added.await.unwrap();
}

/// Whoever writes a binding is asked whether he may `bind` its role, by no request of its own.
async fn binds(hub: &Place) -> Vec<Request> {
    let mut bindings = Vec::new();
    for kind in [ROLE_BINDING, CLUSTER_ROLE_BINDING] {
        let all: Api<DynamicObject> = Api::all_with(hub.client(), &kind.resource());
        bindings.extend(all.list(&ListParams::default()).await.unwrap().items.into_iter().map(Object::from));
    }
    let theirs =
        bindings.iter().filter(|held| held.label("app.kubernetes.io/managed-by") == Some("resource-broker-operator"));
    let bind = theirs.map(|held| Request {
        group: ROLE_BINDING.group.to_owned(),
        resource: "clusterroles".to_owned(),
        verb: "bind".to_owned(),
        namespace: held.namespace().to_owned(),
        name: held.text("/roleRef/name").to_owned(),
    });
    bind.collect()
}

/// Two operators with a token of the ServiceAccount of config/operator.
async fn start_operators(cast: &Cast) -> Pair<'_> {
    let (hub, namespace) = (&cast.world.hub, "resource-broker-system");
    let file = cast.owner(hub).account_file(hub, namespace, "resource-broker-operator");
    let kubeconfig = format!("--kubeconfig={}", file.display());
    let args = vec!["--leader-elect".to_owned(), kubeconfig, format!("--namespace={namespace}")];
    let operators = Pair::start(&cast.world.lab, "resource-broker-operator", args).await;
    operators.leader().await;
    operators
}

/// Two brokers as the Deployment says, with the token of its ServiceAccount.
async fn start_brokers(cast: &Cast) -> Pair<'_> {
    let hub = &cast.world.hub;
    let file = cast.owner(hub).account_file(hub, TEAM, NAME);
    let args = arguments(&hub.get(&DEPLOYMENT, TEAM, NAME).await);
    cast.start_pair(args.chain([format!("--kubeconfig={}", file.display())]).collect()).await
}

/// The graphs controller serves this cluster alone from here on. The bindings stay until the Deployment is rolled out.
async fn distribution_goes(hub: &Place) {
    hub.edit(&BROKER, TEAM, NAME, json!({"spec": {"graphs": {"distribution": {"enabled": false}}}})).await;
    let alone =
        |seen: &Object| !seen.at("/spec/template/spec/containers/0/args").to_string().contains("--enable-multicluster");
    hub.until(&DEPLOYMENT, TEAM, "broker-graphs", "to serve no spokes", alone).await;
}

/// The graphs controller goes, and nothing else does.
async fn graphs_go(hub: &Place) {
    hub.edit(&BROKER, TEAM, NAME, json!({"spec": {"graphs": {"enabled": false}}})).await;
    for (kind, name) in &GRAPHS {
        hub.until_gone(kind, TEAM, name).await;
    }
    hub.until_gone(&ROLE_BINDING, "resource-broker-system", "resource-broker:team:broker:graphs-lease").await;
    for (kind, name) in &MADE {
        hub.until_there(kind, TEAM, name).await;
    }
}

/// Somebody else's hands, an edit, a smaller scale, metrics off, another ServiceAccount.
async fn changes(hub: &Place) {
    let edit = async |patch: Value| hub.edit(&BROKER, TEAM, NAME, json!({"spec": patch})).await;
    hub.edit(&DEPLOYMENT, TEAM, NAME, json!({"spec": {"replicas": 7}})).await;
    let restored = |seen: &Object| seen.at("/spec/replicas") == &json!(2);
    hub.until(&DEPLOYMENT, TEAM, NAME, "to have two replicas again", restored).await;

    edit(json!({"replicas": 1})).await;
    hub.until_gone(&BUDGET, TEAM, NAME).await;
    edit(json!({"metrics": {"enabled": false}})).await;
    hub.until_gone(&SERVICE, TEAM, "broker-metrics").await;
    hub.until_gone(&SERVICE_MONITOR, TEAM, NAME).await;
    hub.create(&ACCOUNT, TEAM, "own", json!({})).await;
    edit(json!({"serviceAccountName": "own"})).await;
    let account = |seen: &Object| seen.text("/spec/template/spec/serviceAccountName") == "own";
    let seen = hub.until(&DEPLOYMENT, TEAM, NAME, "the other account", account).await;
    // As its controller says once the last pod of the old account is gone, which keeps that until then.
    let rolled_out = json!({"observedGeneration": seen.generation(), "replicas": 1, "updatedReplicas": 1});
    hub.set_status(&DEPLOYMENT, TEAM, NAME, rolled_out).await;
    hub.until_gone(&ACCOUNT, TEAM, NAME).await;

    // Another Broker, whose name is taken.
    hub.create(&NETWORK_POLICY, TEAM, "taken", json!({"spec": {"podSelector": {}}})).await;
    let spec = json!({"watchKinds": [CERTIFICATE.flag()], "clusterSecretsNamespace": "resource-broker-clusters"});
    hub.create(&BROKER, TEAM, "taken", json!({"spec": spec})).await;
    let conflict = |seen: &Object| seen.has("Degraded", "True", "NameConflict");
    hub.until(&BROKER, TEAM, "taken", "to say that its name is taken", conflict).await;
    hub.delete(&BROKER, TEAM, "taken").await;
    hub.until_gone(&BROKER, TEAM, "taken").await;
}

/// Nothing of a Broker is left that was not there before.
async fn goes(hub: &Place) {
    hub.delete(&BROKER, TEAM, NAME).await;
    hub.until_gone(&BROKER, TEAM, NAME).await;
    for (kind, name) in &MADE {
        hub.until_gone(kind, TEAM, name).await;
    }
}
