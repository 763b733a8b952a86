//! What no list of permissions may hold, whoever edits it; and that the YAML says what the list says.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;

use manifests::{
    permissions::{
        CLUSTERS_NAMESPACE, Grant, Rule, SYSTEM_NAMESPACE,
        broker::{
            COMPUTE, CONSUMER, COORDINATION, DASHBOARD, DASHBOARD_GRAPHS, DASHBOARD_VIEWER, PROVIDER,
            PROVIDER_NAMESPACES,
        },
        graphs::{DISTRIBUTION, GRAPHS, GRAPHS_KINDS, SPOKE},
        operator::OPERATOR,
    },
    rbac, roles,
};
use serde_json::{Value, json};

/// All of the broker's but what the owner of a provider may add.
fn of_the_broker() -> impl Iterator<Item = &'static Grant> {
    [CONSUMER, PROVIDER, COMPUTE, COORDINATION, DASHBOARD].into_iter().flatten()
}

fn rules<'a>(grants: impl IntoIterator<Item = &'a Grant>) -> impl Iterator<Item = (&'static str, &'static Rule)> {
    grants.into_iter().flat_map(|grant| grant.role.rules.iter().map(|rule| (grant.role.name, rule)))
}

#[test]
fn nobody_may_all_of_something() {
    for (role, rule) in rules(of_the_broker().chain(GRAPHS).chain(DISTRIBUTION).chain(SPOKE).chain(OPERATOR)) {
        let words = [rule.groups, rule.resources, rule.verbs].concat();
        assert!(!words.iter().any(|word| word.contains('*')), "{role}: {rule:?}");
        assert!(!rule.verbs.contains(&"deletecollection"), "{role}: {rule:?}");
    }
    for (role, rule) in rules(PROVIDER_NAMESPACES) {
        assert!(!rule.verbs.contains(&"*"), "{role}: {rule:?}");
        let wide = rule.resources.contains(&"*") || rule.groups.contains(&"*");
        assert!(!wide || rule.verbs == ["list"], "{role} may only list everything: {rule:?}");
    }
}

#[test]
fn nobody_may_become_somebody_else() {
    for (role, rule) in rules(of_the_broker().chain(PROVIDER_NAMESPACES).chain(GRAPHS).chain(OPERATOR)) {
        for verb in ["escalate", "impersonate"] {
            assert!(!rule.verbs.contains(&verb), "{role}: {rule:?}");
        }
        assert!(!rule.resources.contains(&"serviceaccounts/token"), "{role}: {rule:?}");
        assert!(!rule.resources.iter().any(|resource| resource.starts_with("pods/")), "{role}: {rule:?}");
    }
    for (role, rule) in rules(of_the_broker().chain(PROVIDER_NAMESPACES).chain(GRAPHS)) {
        assert!(!rule.groups.contains(&"rbac.authorization.k8s.io"), "{role}: {rule:?}");
        assert!(!rule.verbs.contains(&"bind"), "{role}: {rule:?}");
    }
}

#[test]
fn the_operator_binds_the_roles_of_its_programs_by_name() {
    let bound: Vec<(Option<&str>, &Rule)> = OPERATOR
        .iter()
        .flat_map(|grant| grant.role.rules.iter().map(|rule| (grant.within, rule)))
        .filter(|(_, rule)| rule.verbs.contains(&"bind"))
        .collect();
    let names = |within: Option<&str>| -> BTreeSet<&str> {
        bound.iter().filter(|(there, _)| *there == within).flat_map(|(_, rule)| rule.names).copied().collect()
    };
    for (_, rule) in &bound {
        assert_eq!(
            (rule.groups, rule.resources, rule.verbs),
            (&["rbac.authorization.k8s.io"][..], &["clusterroles"][..], &["bind"][..])
        );
        assert!(!rule.names.is_empty(), "{rule:?}");
    }
    // Whoever may write Brokers must not reach Secrets elsewhere by naming their namespace.
    assert_eq!(names(Some(CLUSTERS_NAMESPACE)), [roles::CLUSTER_SECRETS, roles::GRAPHS_SPOKE_SECRETS].into());
    let graphs =
        [roles::GRAPHS, roles::GRAPHS_CRD_DELETION, roles::GRAPHS_KINDS, roles::GRAPHS_LEASE, roles::GRAPHS_ROLLOUTS];
    let broker = [roles::COORDINATION, roles::INSTANCE, roles::COMPUTE, roles::COMPUTE_STAGES];
    let page = [roles::DASHBOARD_GRAPHS, roles::DASHBOARD_REVIEWS];
    assert_eq!(names(None), broker.into_iter().chain(graphs).chain(page).collect());
    let all: BTreeSet<&str> = bound.iter().flat_map(|(_, rule)| rule.names).copied().collect();
    let lists = [COORDINATION, COMPUTE, DASHBOARD, GRAPHS, DISTRIBUTION];
    let roles = lists.into_iter().flatten().map(|grant| grant.role.name);
    let made: BTreeSet<&str> = roles.chain([GRAPHS_KINDS.name]).collect();
    assert_eq!(all, made, "those, and only those, are there to be bound");
}

#[test]
fn secrets_of_the_hub_are_read_in_two_namespaces_only() {
    for grant in COORDINATION.iter().chain(OPERATOR) {
        for rule in grant.role.rules.iter().filter(|rule| rule.resources.contains(&"secrets")) {
            match grant.within {
                // One object; and no `get` of others by guessing names.
                Some(SYSTEM_NAMESPACE) => {
                    let own = ["resource-broker-signing-key", "resource-broker-signing-key-backup"];
                    let named = !rule.names.is_empty() && rule.names.iter().all(|name| own.contains(name));
                    assert!(rule.verbs == ["create"] || named, "{rule:?}");
                }
                Some(CLUSTERS_NAMESPACE) => {
                    assert!(!rule.verbs.iter().any(|verb| ["create", "patch", "update", "delete"].contains(verb)));
                }
                other => panic!("{}: {other:?} {rule:?}", grant.role.name),
            }
        }
    }
}

#[test]
fn a_graphs_controller_reads_no_secret_and_deletes_no_kind_unless_it_is_told_to() {
    for (role, rule) in rules(GRAPHS) {
        assert!(
            !rule.resources.iter().any(|resource| ["secrets", "configmaps"].contains(resource)),
            "{role}: {rule:?}"
        );
        let kinds = rule.resources.contains(&"customresourcedefinitions") && rule.verbs.contains(&"delete");
        assert!(!kinds || role == roles::GRAPHS_CRD_DELETION, "{role}: {rule:?}");
        let writes = rule.verbs.iter().any(|verb| ["get", "update", "patch", "delete"].contains(verb));
        assert!(!rule.resources.contains(&"leases") || !writes || rule.names == ["controller.kro.run"], "{rule:?}");
    }
}

#[test]
fn a_spoke_keeps_its_secrets_and_its_kinds() {
    for (role, rule) in rules(SPOKE) {
        assert!(!rule.resources.contains(&"secrets"), "{role}: {rule:?}");
        assert!(!rule.verbs.contains(&"delete"), "{role}: {rule:?}");
    }
}

#[test]
fn people_add_to_what_a_graphs_controller_may_do() {
    let documents = documents("rbac/graphs-roles.yaml");
    let last = documents.last().unwrap();
    assert_eq!(last["metadata"]["name"], GRAPHS_KINDS.name);
    let labels = json!({"rbac.kro.run/aggregate-to-controller": "true"});
    assert_eq!(last["aggregationRule"], json!({"clusterRoleSelectors": [{"matchLabels": labels}]}));
    assert!(last["rules"].is_null(), "whoever applies it again would take away what people added");
}

#[test]
fn only_who_serves_the_page_asks_who_people_are_and_for_graphs() {
    let page = ["tokenreviews", "subjectaccessreviews", "resourcegraphdefinitions", "resourcegraphrollouts"];
    for (role, rule) in rules([CONSUMER, PROVIDER, COMPUTE, COORDINATION].into_iter().flatten()) {
        assert!(!rule.resources.iter().any(|resource| page.contains(resource)), "{role}: {rule:?}");
    }
    for rule in DASHBOARD_GRAPHS.rules {
        assert_eq!(rule.verbs, ["list", "watch"], "it writes none of them: {rule:?}");
    }
    for path in ["rbac/dashboard.yaml", "rbac/roles.yaml"] {
        let documents = documents(path);
        let viewer = documents.last().unwrap();
        assert_eq!(viewer["metadata"]["name"], DASHBOARD_VIEWER.name, "{path}");
        assert_eq!(viewer["rules"], json!([{"nonResourceURLs": ["/dashboard"], "verbs": ["get"]}]), "{path}");
    }
}

#[test]
fn consumers_and_providers_keep_what_is_theirs() {
    for (role, rule) in rules(CONSUMER).filter(|(_, rule)| rule.groups == ["example.platform-mesh.io"]) {
        assert!(!rule.verbs.contains(&"create") && !rule.verbs.contains(&"delete"), "{role}: {rule:?}");
    }
    for (role, rule) in rules(PROVIDER) {
        let related = rule.resources.contains(&"secrets");
        assert!(!related || rule.verbs.iter().all(|verb| ["get", "list", "watch"].contains(verb)), "{role}: {rule:?}");
        let brokered = rule.groups == ["example.platform-mesh.io"];
        assert!(!brokered || rule.resources == ["certificates"], "the status is the provider's: {role}: {rule:?}");
    }
}

fn documents(path: &str) -> Vec<Value> {
    let files = rbac::files();
    let documents: Vec<Value> = serde_saphyr::from_multiple(&files[path]).unwrap();
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

fn of_kind<'a>(documents: &'a [Value], kinds: &[&str]) -> Vec<&'a Value> {
    documents.iter().filter(|document| kinds.contains(&document["kind"].as_str().unwrap())).collect()
}

/// The rules of a role as an API server takes them.
fn written(grant: &Grant) -> Value {
    let rules = grant.role.rules.iter().map(|rule| {
        let mut written = json!({"apiGroups": rule.groups, "resources": rule.resources, "verbs": rule.verbs});
        if !rule.names.is_empty() {
            written["resourceNames"] = json!(rule.names);
        }
        written
    });
    Value::Array(rules.collect())
}

#[test]
fn the_yaml_says_what_the_list_says() {
    let of_the_operators_brokers = [COORDINATION, DASHBOARD].concat();
    let files: [(&str, &[Grant], Option<&str>); 12] = [
        ("rbac/consumer.yaml", CONSUMER, Some("resource-broker")),
        ("rbac/provider.yaml", PROVIDER, Some("resource-broker")),
        ("rbac/provider-namespaces.yaml", PROVIDER_NAMESPACES, Some("resource-broker")),
        ("rbac/compute.yaml", COMPUTE, Some("resource-broker")),
        ("rbac/compute-roles.yaml", COMPUTE, None),
        ("rbac/coordination.yaml", COORDINATION, Some("resource-broker")),
        ("rbac/dashboard.yaml", DASHBOARD, Some("resource-broker")),
        ("rbac/roles.yaml", of_the_operators_brokers.as_slice(), None),
        ("rbac/graphs-roles.yaml", GRAPHS, None),
        ("rbac/graphs-distribution.yaml", DISTRIBUTION, None),
        ("rbac/spoke.yaml", SPOKE, Some("resource-graphs")),
        ("operator/role.yaml", OPERATOR, Some("resource-broker-operator")),
    ];
    for (path, grants, account) in files {
        let documents = documents(path);
        let mut roles = of_kind(&documents, &["Role", "ClusterRole"]);
        roles.retain(|role| role["aggregationRule"].is_null() && role["metadata"]["name"] != DASHBOARD_VIEWER.name);
        let mut bindings = of_kind(&documents, &["RoleBinding", "ClusterRoleBinding"]);
        bindings.retain(|binding| binding["roleRef"]["name"] != GRAPHS_KINDS.name);
        assert_eq!(roles.len(), grants.len(), "{path}");
        assert_eq!(bindings.len(), if account.is_some() { grants.len() } else { 0 }, "{path}");
        for (grant, role) in grants.iter().zip(roles) {
            assert_eq!(role["metadata"]["name"], grant.role.name, "{path}");
            assert_eq!(role["rules"], written(grant), "{path}: {}", grant.role.name);
            let namespace = if grant.role.namespaced { json!(grant.within.unwrap()) } else { Value::Null };
            assert_eq!(role["metadata"]["namespace"], namespace, "{path}: {}", grant.role.name);
        }
        for (grant, binding) in grants.iter().zip(bindings) {
            assert_eq!(binding["metadata"]["namespace"], json!(grant.within), "{path}: {}", grant.role.name);
            let kind = if grant.role.namespaced { "Role" } else { "ClusterRole" };
            let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": grant.role.name});
            assert_eq!(binding["roleRef"], role, "{path}");
            let subject = json!({"kind": "ServiceAccount", "name": account, "namespace": SYSTEM_NAMESPACE});
            assert_eq!(binding["subjects"], json!([subject]), "{path}");
        }
    }
}

#[test]
fn what_an_owner_edits_is_marked() {
    let files = rbac::files();
    for (path, marks) in [("rbac/consumer.yaml", 2), ("rbac/provider.yaml", 2), ("rbac/compute.yaml", 2)] {
        assert_eq!(files[path].matches("# EDIT: ").count(), marks, "{path}");
    }
    for path in [
        "rbac/coordination.yaml",
        "rbac/dashboard.yaml",
        "rbac/roles.yaml",
        "rbac/graphs-roles.yaml",
        "rbac/graphs-distribution.yaml",
        "operator/role.yaml",
    ] {
        assert!(!files[path].contains("EDIT"), "{path}");
    }
}

#[test]
fn no_line_is_too_long() {
    for (path, text) in rbac::files() {
        for line in text.lines() {
            assert!(line.chars().count() <= 120, "{path}: {line}");
        }
    }
}
