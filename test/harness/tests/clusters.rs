//! The harness against real API servers, and against the model: what every other test of the workspace relies on.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use harness::{Cluster, ClusterOptions, Lab, LabOptions, Servers, wait_for};
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::sync::OnceCell;

const DEADLINE: Duration = Duration::from_mins(1);

const WIDGETS: &str = include_str!("widgets.yaml");

type Shared = (Lab, Vec<Cluster>);

/// One lab of each sort for the tests that do not stop what others use; each test has clusters or namespaces of its own.
static REAL: OnceCell<Shared> = OnceCell::const_new();
static MODEL: OnceCell<Shared> = OnceCell::const_new();

async fn shared(servers: Servers) -> &'static Shared {
    let start = async || {
        let begun = Instant::now();
        let lab = Lab::start(LabOptions { servers, ..LabOptions::default() }).await.unwrap();
        let clusters = lab.clusters(&["homer", "theseus"]).await.unwrap();
        println!("two clusters in {:?}", begun.elapsed());
        (lab, clusters)
    };
    let shared = if servers == Servers::Real { &REAL } else { &MODEL };
    shared.get_or_init(start).await
}

/// A test of each sort of API server.
macro_rules! of_both {
    ($($test:ident),* $(,)?) => {
        mod real {
            $(#[tokio::test] async fn $test() { super::$test(super::Servers::Real).await; })*
        }
        mod model {
            $(#[tokio::test] async fn $test() { super::$test(super::Servers::Model).await; })*
        }
    };
}

of_both![
    clusters_of_one_lab_hold_different_objects,
    a_definition_and_its_object_are_applied_from_one_text,
    requests_are_counted_exactly_by_user,
    a_watch_counts_when_it_begins_and_not_when_it_ends,
    whoever_has_no_rights_or_is_nobody_is_told_so,
    a_role_gives_what_it_says_and_a_review_says_it,
    a_cluster_is_as_its_options_say_and_comes_back_when_it_was_stopped,
];

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"a": "1"}})).unwrap()
}

async fn namespace(cluster: &Cluster, name: &str) {
    let yaml = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}");
    cluster.apply("admin", &yaml).await.unwrap();
}

async fn clusters_of_one_lab_hold_different_objects(servers: Servers) {
    let (_, clusters) = shared(servers).await;
    let [homer, theseus] = &clusters[..] else { panic!("two clusters") };
    namespace(homer, "apart").await;
    let here: Api<Namespace> = Api::all(homer.client("person").await.unwrap());
    let there: Api<Namespace> = Api::all(theseus.client("person").await.unwrap());
    assert!(here.get_opt("apart").await.unwrap().is_some());
    assert!(there.get_opt("apart").await.unwrap().is_none());
    let one = here.get("kube-system").await.unwrap();
    let other = there.get("kube-system").await.unwrap();
    assert_ne!(one.uid(), other.uid());
}

async fn a_definition_and_its_object_are_applied_from_one_text(servers: Servers) {
    let (_, clusters) = shared(servers).await;
    let stored = clusters[0].apply("person", WIDGETS).await.unwrap();
    assert_eq!(stored.len(), 3, "namespace, definition, object");
    let gvk = GroupVersionKind::gvk("harness.example", "v1", "Widget");
    let widgets: Api<DynamicObject> = Api::namespaced_with(
        clusters[0].client("limited").await.unwrap(),
        "widgets",
        &ApiResource::from_gvk_with_plural(&gvk, "widgets"),
    );
    let refused = widgets.get("first").await.unwrap_err();
    assert!(
        matches!(&refused, kube::Error::Api(status) if status.code == 403),
        "RBAC gives `limited` nothing: {refused}"
    );
}

async fn requests_are_counted_exactly_by_user(servers: Servers) {
    let (_, clusters) = shared(servers).await;
    let theseus = &clusters[1];
    namespace(theseus, "counted").await;
    let person = theseus.client("person").await.unwrap();
    let person: Api<ConfigMap> = Api::namespaced(person, "counted");
    let broker = theseus.client("broker").await.unwrap();
    let broker: Api<ConfigMap> = Api::namespaced(broker, "counted");

    let audit = theseus.audit();
    let mark = audit.settle().await.unwrap();
    for index in 0..20 {
        let object = config_map(&format!("map-{index}"));
        person.create(&PostParams::default(), &object).await.unwrap();
    }
    let patch = Patch::Merge(json!({"data": {"a": "2"}}));
    broker.patch("map-0", &PatchParams::default(), &patch).await.unwrap();
    broker.get("map-0").await.unwrap();
    broker.get_opt("absent").await.unwrap();
    broker.list(&ListParams::default()).await.unwrap();
    let requests = audit.settled_since(mark).await.unwrap();

    // Other tests share the cluster, but not the namespace.
    let here = requests.only(|event| event.namespace == "counted");
    let count = |user: &str, verb: &str| here.counts().get(&(user.to_owned(), verb.to_owned())).copied();
    assert_eq!(count("person", "create"), Some(20));
    assert_eq!(count("broker", "patch"), Some(1));
    assert_eq!(count("broker", "get"), Some(2));
    assert_eq!(count("broker", "list"), Some(1));
    assert_eq!(here.len(), 24, "and nothing else: {here:#?}");
    assert_eq!(here.of("broker").writes().len(), 1);
    let absent = here.iter().find(|event| event.name == "absent").expect("failed requests are there too");
    assert_eq!((absent.code, absent.resource.as_str()), (404, "configmaps"));
    let after = audit.settle().await.unwrap();
    assert!(audit.requests_since(after).unwrap().only(|event| event.namespace == "counted").is_empty());
}

async fn a_watch_counts_when_it_begins_and_not_when_it_ends(servers: Servers) {
    use futures::StreamExt as _;
    use kube::api::WatchParams;

    let (_, clusters) = shared(servers).await;
    let theseus = &clusters[1];
    namespace(theseus, "watched").await;
    let client = theseus.client("broker-2").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, "watched");
    let audit = theseus.audit();
    let before = audit.settle().await.unwrap();
    // The server ends it after a second.
    let mut events = maps.watch(&WatchParams::default().timeout(1), "0").await.unwrap().boxed();
    let watches = |mark| {
        let audit = audit.clone();
        async move {
            let requests = audit.settled_since(mark).await.unwrap();
            requests.of("broker-2").only(|event| event.verb == "watch").len()
        }
    };
    assert_eq!(watches(before).await, 1);
    let during = audit.settle().await.unwrap();
    while events.next().await.is_some() {}
    assert_eq!(watches(during).await, 0);
}

/// The code and the words of a refusal.
fn refusal<T: std::fmt::Debug>(answer: kube::Result<T>) -> (u16, String) {
    match answer.unwrap_err() {
        kube::Error::Api(status) => (status.code, status.message),
        other => panic!("{other}"),
    }
}

async fn whoever_has_no_rights_or_is_nobody_is_told_so(servers: Servers) {
    let (_, clusters) = shared(servers).await;
    let homer = &clusters[0];
    let maps: Api<ConfigMap> = Api::default_namespaced(homer.client("limited").await.unwrap());
    let (code, message) = refusal(maps.list(&ListParams::default()).await);
    let words = r#"configmaps is forbidden: User "limited" cannot list resource "configmaps" in API group "" in the namespace "default""#;
    assert_eq!((code, message.as_str()), (403, words));
    // With a token of nobody's, and without one.
    let known = homer.kubeconfig("admin").unwrap();
    let token = format!("token: {}", homer.token("admin").unwrap());
    for (shown, expected) in [("token: nobodys", 401), ("{}", 403)] {
        let kubeconfig = Kubeconfig::from_yaml(&known.replace(&token, shown)).unwrap();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let maps: Api<ConfigMap> = Api::default_namespaced(kube::Client::try_from(config).unwrap());
        assert_eq!(refusal(maps.list(&ListParams::default()).await).0, expected, "{shown}");
    }
}

async fn a_role_gives_what_it_says_and_a_review_says_it(servers: Servers) {
    let (lab, _) = shared(servers).await;
    let options = ClusterOptions { users: vec![("reader".to_owned(), Vec::new())], ..ClusterOptions::default() };
    let paros = lab.cluster_with("paros", &options).await.unwrap();
    let allowed = "{apiGroups: [''], resources: [configmaps], verbs: [get, patch]}";
    let subject = "{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}";
    let role = format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {{name: r, namespace: default}}, rules: [{allowed}]}}"
    );
    let binding = format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {{name: r, namespace: default}},
            roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}}, subjects: [{subject}]}}"
    );
    paros.apply("admin", &format!("{role}\n---\n{binding}")).await.unwrap();
    let own: Api<SelfSubjectAccessReview> = Api::all(paros.client("reader").await.unwrap());
    let may = async |namespace: &str, verb: &str| {
        let asked = json!({"namespace": namespace, "verb": verb, "resource": "configmaps"});
        let review = serde_json::from_value(json!({"spec": {"resourceAttributes": asked}})).unwrap();
        own.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
    };
    wait_for(DEADLINE, "the role to be heard of", async || may("default", "get").await).await.unwrap();
    assert!(!may("default", "list").await && !may("kube-system", "get").await);

    let maps: Api<ConfigMap> = Api::default_namespaced(paros.client("person").await.unwrap());
    maps.create(&PostParams::default(), &config_map("there")).await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(paros.client("reader").await.unwrap());
    maps.get("there").await.unwrap();
    let reader = PatchParams::apply("reader");
    let change = |name: &str| {
        Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"b": "2"}}))
    };
    maps.patch("there", &reader, &change("there")).await.unwrap();
    let (code, message) = refusal(maps.patch("missing", &reader, &change("missing")).await);
    assert!(code == 403 && message.contains("cannot create resource"), "{code} {message}");
    let (code, message) = refusal(maps.delete("there", &DeleteParams::default()).await.map(|_| ()));
    assert!(code == 403 && message.contains("cannot delete resource"), "{code} {message}");
}

#[tokio::test]
async fn a_kubeconfig_alone_is_enough_for_kubectl() {
    let (lab, clusters) = shared(Servers::Real).await;
    let path = lab.directory().join("kubectl.kubeconfig");
    clusters[0].write_kubeconfig("admin", &path).unwrap();
    let output = std::process::Command::new(harness::kubectl_binary().unwrap())
        .arg("--kubeconfig")
        .arg(&path)
        .args(["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "admin", "{output:?}");
}

/// One after the other in one cluster, the last of which stops it.
async fn a_cluster_is_as_its_options_say_and_comes_back_when_it_was_stopped(servers: Servers) {
    let (lab, _) = shared(servers).await;
    let users = vec![("broker".to_owned(), Vec::new()), ("auditor".to_owned(), vec!["system:masters".to_owned()])];
    let options = ClusterOptions { controller_manager: true, users, ..ClusterOptions::default() };
    let crete = lab.cluster_with("crete", &options).await.unwrap();
    users_and_their_groups_can_be_changed(&crete).await;
    a_controller_manager_collects_garbage_and_ends_namespaces(&crete).await;
    a_stopped_server_comes_back_with_its_address_and_data(&crete).await;
}

async fn a_stopped_server_comes_back_with_its_address_and_data(ithaca: &Cluster) {
    let url = ithaca.server_url();
    let maps: Api<ConfigMap> = Api::default_namespaced(ithaca.client("person").await.unwrap());
    let made = maps.create(&PostParams::default(), &config_map("kept")).await.unwrap();

    ithaca.stop();
    maps.get("kept").await.expect_err("it is stopped");
    ithaca.start_again().await.unwrap();
    assert_eq!(ithaca.server_url(), url);
    let kept = maps.get("kept").await.unwrap();
    assert_eq!(kept.uid(), made.uid());

    ithaca.pause().await.unwrap();
    // Nothing else was asked: no answer can be on its way.
    let mut asked = std::pin::pin!(maps.get("kept"));
    tokio::time::timeout(Duration::from_millis(300), &mut asked).await.expect_err("a frozen server does not answer");
    ithaca.resume().unwrap();
    asked.await.expect("the connection stayed open, and whoever waited is answered");
}

async fn a_controller_manager_collects_garbage_and_ends_namespaces(crete: &Cluster) {
    namespace(crete, "doomed").await;
    let client = crete.client("person").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "doomed");
    let owner = maps.create(&PostParams::default(), &config_map("owner")).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "doomed");
    let secret = json!({"metadata": {"name": "owned", "ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid().unwrap(),
    }]}});
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();

    maps.delete("owner", &DeleteParams::default()).await.unwrap();
    wait_for(DEADLINE, "the owned Secret to go", async || secrets.get_opt("owned").await.unwrap().is_none())
        .await
        .unwrap();

    let namespaces: Api<Namespace> = Api::all(client);
    namespaces.delete("doomed", &DeleteParams::default()).await.unwrap();
    wait_for(DEADLINE, "the namespace to go", async || match namespaces.get_opt("doomed").await.unwrap() {
        None => Ok(()),
        Some(namespace) => Err(format!("{:?}", namespace.status)),
    })
    .await
    .unwrap();
}

async fn users_and_their_groups_can_be_changed(delos: &Cluster) {
    let mut allowed = BTreeMap::new();
    for user in ["broker", "auditor"] {
        let namespaces: Api<Namespace> = Api::all(delos.client(user).await.unwrap());
        let answer = namespaces.list(&ListParams::default()).await;
        allowed.insert(user, answer.is_ok());
    }
    assert_eq!(allowed, BTreeMap::from([("broker", false), ("auditor", true)]));
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let (lab, _) = shared(Servers::Real).await;
    let options = ClusterOptions { extra_args: vec!["--no-such-flag".to_owned()], ..ClusterOptions::default() };
    let error = lab.cluster_with("troy", &options).await.expect_err("no such flag");
    assert!(format!("{error:#}").contains("unknown flag: --no-such-flag"), "{error:#}");
}

#[tokio::test]
async fn a_cluster_with_nodes_listens_where_pods_reach_it_and_admits_like_a_real_one() {
    let (lab, clusters) = shared(Servers::Real).await;
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}";
    clusters[0].apply("person", pod).await.unwrap();

    let options = ClusterOptions { address: Some([127, 0, 0, 2].into()), nodes: true, ..ClusterOptions::default() };
    let ogygia = lab.cluster_with("ogygia", &options).await.unwrap();
    assert!(ogygia.server_url().starts_with("https://127.0.0.2:"), "{}", ogygia.server_url());
    let error = ogygia.apply("person", pod).await.expect_err("nobody makes service accounts");
    assert!(format!("{error:#}").contains("serviceaccount"), "{error:#}");
}
