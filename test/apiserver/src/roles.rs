//! Whether somebody may do something: RBAC. Roles that give rights to all subresources (`*/scale`), aggregation, and what a role
//! may grant are not looked at.

use std::sync::Arc;

use serde_json::Value;
use sim::{ApiServer, Target};

use crate::users::User;

/// Whoever is in it may do everything.
const MASTERS: &str = "system:masters";

/// What somebody wants to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish<'a> {
    /// `get`, `list`, …
    pub(crate) verb: &'a str,
    /// To what.
    pub(crate) target: &'a Target,
}

impl Wish<'_> {
    /// A namespace is in itself.
    fn namespace(&self) -> &str {
        within(self.target)
    }
}

/// The namespace that a request is said to be about: one that leads to a namespace is about that.
pub(crate) fn within(target: &Target) -> &str {
    let is_namespace = target.group.is_empty() && target.plural == "namespaces";
    if is_namespace { &target.name } else { &target.namespace }
}

impl User {
    /// Whether a role that they have in this API server lets them. What they may themselves everybody may ask.
    pub(crate) fn may(&self, server: &ApiServer, wish: Wish<'_>) -> bool {
        let own_rights = wish.target.plural == "selfsubjectaccessreviews";
        if own_rights || self.groups.iter().any(|group| group == MASTERS) {
            return true;
        }
        let everywhere = self.roles(server, "clusterrolebindings", "");
        let namespace = wish.namespace();
        let here = (!namespace.is_empty()).then(|| self.roles(server, "rolebindings", namespace));
        everywhere.into_iter().chain(here.into_iter().flatten()).any(|role| allows(&role, wish))
    }

    /// The roles that bindings of a namespace, or of none, give them.
    fn roles(&self, server: &ApiServer, bindings: &str, namespace: &str) -> Vec<Arc<Value>> {
        let held = |plural: &str| server.objects(&format!("{plural}.rbac.authorization.k8s.io"));
        let (roles, cluster_roles) = (held("roles"), held("clusterroles"));
        let role = |binding: &Value| {
            let name = binding["roleRef"]["name"].as_str().unwrap_or_default().to_owned();
            let cluster_wide = binding["roleRef"]["kind"] == "ClusterRole";
            let found = if cluster_wide {
                cluster_roles.get(&(String::new(), name))
            } else {
                roles.get(&(namespace.to_owned(), name))
            };
            found.cloned()
        };
        let bindings = held(bindings);
        let here = bindings.iter().filter(|((of, _), _)| of == namespace).map(|(_, binding)| binding);
        here.filter(|binding| items(&binding["subjects"]).any(|subject| self.is(subject)))
            .filter_map(|binding| role(binding))
            .collect()
    }

    fn is(&self, subject: &Value) -> bool {
        match subject["kind"].as_str() {
            Some("User") => subject["name"] == self.name,
            Some("Group") => self.groups.iter().any(|group| subject["name"] == **group),
            _ => false,
        }
    }
}

/// The items of a list; none where it is no list.
pub(crate) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn allows(role: &Value, Wish { verb, target }: Wish<'_>) -> bool {
    let resource = match &*target.subresource {
        "" => target.plural.clone(),
        subresource => format!("{}/{subresource}", target.plural),
    };
    let says = |list: &Value, what: &str| items(list).any(|one| one == "*" || one == what);
    items(&role["rules"]).any(|rule| {
        let named = items(&rule["resourceNames"]).next().is_none()
            || items(&rule["resourceNames"]).any(|name| *name == *target.name);
        says(&rule["verbs"], verb)
            && says(&rule["apiGroups"], &target.group)
            && says(&rule["resources"], &resource)
            && named
    })
}

/// What is told to whoever may not.
pub(crate) fn refusal(user: &str, wish: Wish<'_>) -> String {
    let (Wish { verb, target }, namespace) = (wish, wish.namespace());
    let Target { group, plural, name, subresource, .. } = target;
    let qualified = if group.is_empty() { plural.clone() } else { format!("{plural}.{group}") };
    let named = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
    let resource = if subresource.is_empty() { plural.clone() } else { format!("{plural}/{subresource}") };
    let place = if namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{namespace}\"")
    };
    format!(
        "{qualified}{named} is forbidden: User \"{user}\" cannot {verb} resource \"{resource}\" in API group \"{group}\" {place}"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_role_allows_what_one_of_its_rules_says() {
        let role = json!({"rules": [
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["get"]},
            {"apiGroups": ["g.io"], "resources": ["things", "things/status"], "verbs": ["*"]},
        ]});
        let may = |verb: &str, path: &str| {
            let target = Target::of(path).unwrap();
            allows(&role, Wish { verb, target: &target })
        };
        for (verb, path) in [
            ("get", "/api/v1/namespaces/n/secrets/a"),
            ("delete", "/apis/g.io/v1/things"),
            ("patch", "/apis/g.io/v1/namespaces/n/things/b/status"),
        ] {
            assert!(may(verb, path), "{verb} {path}");
        }
        for (verb, path) in [
            ("get", "/api/v1/namespaces/n/secrets/b"),
            ("list", "/api/v1/namespaces/n/secrets"),
            ("delete", "/api/v1/namespaces/n/secrets/a"),
            ("get", "/apis/other.io/v1/things/a"),
            ("patch", "/apis/g.io/v1/namespaces/n/things/b/scale"),
        ] {
            assert!(!may(verb, path), "{verb} {path}");
        }
    }

    #[test]
    fn what_is_refused_is_told_as_kubernetes_does() {
        let told = |verb: &str, path: &str| {
            let target = Target::of(path).unwrap();
            refusal("u", Wish { verb, target: &target })
        };
        let said = told("patch", "/apis/g.io/v1/namespaces/n/things/a/status");
        let expected = r#"things.g.io "a" is forbidden: User "u" cannot patch resource "things/status" in API group "g.io" in the namespace "n""#;
        assert_eq!(said, expected);
        assert!(told("list", "/api/v1/secrets").ends_with("at the cluster scope"));
        assert!(told("get", "/api/v1/namespaces/n").ends_with(r#"in the namespace "n""#));
    }
}
