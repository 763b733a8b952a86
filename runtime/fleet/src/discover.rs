//! Discovery: which kinds of a group and version an API server serves, and how.

use std::borrow::Cow;

use kube::core::GroupVersionKind;
use serde::{Deserialize, de::IgnoredAny};

use crate::{
    call::{Caller, JSON, get},
    each::within,
    error::CallError,
    hashed::HashMap,
    kind::{KindInfo, group_version_path},
};

/// Longest discovery document of one group and version.
const DISCOVERY_LIMIT: usize = 2 << 20;

/// What we read of meta/v1 `APIResource`.
#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    namespaced: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group<'a> {
    #[serde(borrow, default)]
    versions: Vec<GroupVersion<'a>>,
    #[serde(borrow)]
    preferred_version: Option<GroupVersion<'a>>,
}

#[derive(Deserialize)]
struct GroupVersion<'a> {
    #[serde(borrow, default)]
    version: Cow<'a, str>,
}

/// The versions in which a group is served, the preferred one first; none where it is not served.
pub async fn versions(caller: &Caller, group: &str) -> Result<Vec<String>, CallError> {
    if group.is_empty() {
        return Ok(vec!["v1".to_owned()]);
    }
    let path = format!("/apis/{group}");
    let answer = match caller.call(get(&path, JSON)?, DISCOVERY_LIMIT).await {
        Ok((_, answer)) => answer,
        Err(CallError::KindMissing(_) | CallError::NotFound(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let unreadable = |error| CallError::UnknownOutcome(format!("unreadable discovery at {path}: {error}"));
    let Group { versions, preferred_version } = serde_json::from_slice(&answer).map_err(unreadable)?;
    let mut all: Vec<String> = Vec::with_capacity(versions.len());
    for GroupVersion { version } in preferred_version.into_iter().chain(versions) {
        if !version.is_empty() && all.iter().all(|held| *held != *version) {
            all.push(version.into_owned());
        }
    }
    Ok(all)
}

/// Asks once for any number of kinds of one group and version. What is not among the answers is not served.
pub(crate) async fn kinds(
    caller: &Caller,
    wanted: &[GroupVersionKind],
) -> Result<HashMap<GroupVersionKind, KindInfo>, CallError> {
    let Some(first) = wanted.first() else { return Ok(HashMap::default()) };
    let path = group_version_path(&first.group, &first.version);
    let answer = match caller.call(get(&path, JSON)?, DISCOVERY_LIMIT).await {
        Ok((_, answer)) => answer,
        Err(CallError::KindMissing(_) | CallError::NotFound(_)) => return Ok(HashMap::default()),
        Err(error) => return Err(error),
    };
    let unreadable = |error| CallError::UnknownOutcome(format!("unreadable discovery at {path}: {error}"));
    find(&answer, wanted).map_err(unreadable)
}

fn find(
    document: &[u8],
    wanted: &[GroupVersionKind],
) -> Result<HashMap<GroupVersionKind, KindInfo>, serde_json::Error> {
    let wanted: HashMap<&str, &GroupVersionKind> = wanted.iter().map(|gvk| (gvk.kind.as_str(), gvk)).collect();
    let mut found: HashMap<GroupVersionKind, KindInfo> = HashMap::default();
    each_resource(document, |resource| {
        if let Some(gvk) = wanted.get(&*resource.kind)
            && !resource.name.contains('/')
            && !found.contains_key(*gvk)
        {
            let (plural, namespaced) = (resource.name.into_owned(), resource.namespaced);
            found.insert((*gvk).clone(), KindInfo { gvk: (*gvk).clone(), plural, namespaced, has_status: false });
        }
    })?;
    // `<plural>/status` may come before or after its resource: it is looked for once all resources are known.
    let mut by_plural: HashMap<String, Vec<&mut KindInfo>> = HashMap::default();
    for info in found.values_mut() {
        by_plural.entry(info.plural.clone()).or_default().push(info);
    }
    each_resource(document, |resource| {
        if let Some(plural) = resource.name.strip_suffix("/status")
            && let Some(infos) = by_plural.get_mut(plural)
        {
            for info in infos {
                info.has_status = true;
            }
        }
    })?;
    Ok(found)
}

fn each_resource<'a>(document: &'a [u8], take: impl FnMut(Resource<'a>)) -> Result<(), serde_json::Error> {
    within::<_, IgnoredAny>(document, "resources", "groupVersion", take).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gvk(kind: &str) -> GroupVersionKind {
        GroupVersionKind::gvk("g.io", "v1", kind)
    }

    #[test]
    fn resources_are_found_among_others() {
        let list = br#"{"groupVersion":"g.io/v1","resources":[{"name":"things/status","kind":"Thing"},
            {"name":"others","kind":"Other"},{"name":"things","kind":"Thing","namespaced":true,"verbs":["get"]},
            {"name":"wholes","kind":"Whole"},{"name":"wholes/scale","kind":"Scale"},{"name":"late","kind":"Thing"}]}"#;
        let found = find(list, &[gvk("Thing"), gvk("Whole"), gvk("Absent"), gvk("Scale")]).unwrap();
        let said = |kind: &str| found.get(&gvk(kind)).map(|it| (it.plural.as_str(), it.namespaced, it.has_status));
        assert_eq!(said("Thing"), Some(("things", true, true)));
        assert_eq!(said("Whole"), Some(("wholes", false, false)));
        assert_eq!(found.len(), 2, "neither what is not wanted, nor what is not served, nor a subresource");
        assert!(find(br#"{"resources":null}"#, &[gvk("Thing")]).unwrap().is_empty());
        assert!(find(b"[]", &[gvk("Thing")]).is_err());
    }
}
