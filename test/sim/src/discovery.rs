//! Discovery: which groups, versions and kinds are served.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use crate::{answer::Answer, kinds::Kinds, media::Media, resource::Resource};

/// What can be done with objects of a kind.
const CUSTOM: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const BUILT_IN: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// Stable versions go before others, and the higher before the lower.
fn rank(version: &str) -> (Reverse<u8>, Reverse<u64>, Reverse<u64>, String) {
    let parse = || -> Option<(u8, u64, u64)> {
        let rest = version.strip_prefix('v')?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major = rest[..end].parse().ok()?;
        let (stage, minor) = match &rest[end..] {
            "" => (3, ""),
            text => match (text.strip_prefix("beta"), text.strip_prefix("alpha")) {
                (Some(minor), _) => (2, minor),
                (_, Some(minor)) => (1, minor),
                _ => return None,
            },
        };
        Some((stage, major, if minor.is_empty() { 0 } else { minor.parse().ok()? }))
    };
    let (stage, major, minor) = parse().unwrap_or_default();
    (Reverse(stage), Reverse(major), Reverse(minor), version.to_owned())
}

type Versions = Vec<(String, Vec<Arc<Resource>>)>;

fn groups(kinds: &Kinds) -> BTreeMap<String, Versions> {
    let mut groups: BTreeMap<String, BTreeMap<String, Vec<Arc<Resource>>>> = BTreeMap::new();
    for resource in kinds.all() {
        let versions = groups.entry(resource.group.clone()).or_default();
        versions.entry(resource.version.clone()).or_default().push(Arc::clone(resource));
    }
    let sorted = |versions: BTreeMap<String, Vec<Arc<Resource>>>| {
        let mut versions: Versions = versions.into_iter().collect();
        versions.sort_by_key(|(version, _)| rank(version));
        versions
    };
    groups.into_iter().map(|(group, versions)| (group, sorted(versions))).collect()
}

/// What is answered to a path of discovery. `None`: it is none.
pub(crate) fn discover(kinds: &Kinds, path: &str, media: Media) -> Option<Answer> {
    let groups = groups(kinds);
    let steps: Vec<&str> = path.split('/').skip(1).collect();
    let found = match (steps.as_slice(), media) {
        (["api"], Media::Discovery) => Some(aggregated(&groups, str::is_empty)),
        (["apis"], Media::Discovery) => Some(aggregated(&groups, |group| !group.is_empty())),
        (["api"], _) => Some(json!({"kind": "APIVersions", "versions": ["v1"]})),
        (["apis"], _) => {
            let named = groups.iter().filter(|(group, _)| !group.is_empty());
            let all: Vec<Value> = named.map(|(group, versions)| about(group, versions)).collect();
            Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": all}))
        }
        (["apis", group], _) => groups.get(*group).map(|versions| {
            let mut about = about(group, versions);
            about["kind"] = json!("APIGroup");
            about["apiVersion"] = json!("v1");
            about
        }),
        (["api", version], _) => resources(&groups, "", version),
        (["apis", group, version], _) => resources(&groups, group, version),
        _ => return None,
    };
    Some(found.map_or(Answer::NO_PATH, |found| Answer::Json(200, found)))
}

fn about(group: &str, versions: &Versions) -> Value {
    let one = |(version, _): &(String, Vec<Arc<Resource>>)| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let all: Vec<Value> = versions.iter().map(one).collect();
    json!({"name": group, "preferredVersion": all.first(), "versions": all})
}

fn verbs(resource: &Resource) -> [&'static str; 8] {
    if resource.rules.custom { CUSTOM } else { BUILT_IN }
}

fn resources(groups: &BTreeMap<String, Versions>, group: &str, version: &str) -> Option<Value> {
    let (_, held) = groups.get(group)?.iter().find(|(name, _)| name == version)?;
    let mut resources = Vec::new();
    for resource in held {
        let mut entry = json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": verbs(resource), "storageVersionHash": "",
        });
        for (name, values) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
            if !values.is_empty() {
                entry[name] = json!(values);
            }
        }
        resources.push(entry);
        if resource.status {
            resources.push(json!({
                "name": format!("{}/status", resource.plural), "singularName": "", "namespaced": resource.namespaced,
                "kind": resource.kind, "verbs": ["get", "patch", "update"],
            }));
        }
    }
    let group_version = held.first()?.api_version();
    Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}))
}

fn aggregated(groups: &BTreeMap<String, Versions>, wanted: impl Fn(&str) -> bool) -> Value {
    let version = |(version, held): &(String, Vec<Arc<Resource>>)| {
        let resources: Vec<Value> = held.iter().map(|resource| aggregated_resource(resource)).collect();
        json!({"version": version, "freshness": "Current", "resources": resources})
    };
    let items = groups.iter().filter(|(group, _)| wanted(group)).map(|(group, versions)| {
        let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
        json!({"metadata": metadata, "versions": versions.iter().map(version).collect::<Vec<_>>()})
    });
    let items: Vec<Value> = items.collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_resource(resource: &Resource) -> Value {
    let kind = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
    let mut entry = json!({
        "resource": resource.plural, "responseKind": kind, "singularResource": resource.singular,
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" }, "verbs": verbs(resource),
    });
    for (name, values) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !values.is_empty() {
            entry[name] = json!(values);
        }
    }
    if resource.status {
        entry["subresources"] =
            json!([{"subresource": "status", "responseKind": kind, "verbs": ["get", "patch", "update"]}]);
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_kubernetes_order() {
        let mut versions = ["v1alpha1", "v2", "foo1", "v10", "v1beta2", "v1", "v1beta10"];
        versions.sort_by_key(|version| rank(version));
        assert_eq!(versions, ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "foo1"]);
    }
}
