//! Who asks, and whether they may: by tokens, and by RBAC.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context as _;
use http::{HeaderMap, header};
use serde_json::{Value, json};
use sim::{ApiServer, Target};

/// Whoever is in it may do everything.
const MASTERS: &str = "system:masters";

/// Whoever has shown a token is in it.
const AUTHENTICATED: &str = "system:authenticated";

/// Somebody with a token.
#[derive(Debug)]
pub(crate) struct User {
    /// As the audit log names them.
    pub(crate) name: String,
    groups: Vec<String>,
}

/// Users by their tokens.
#[derive(Debug)]
pub(crate) struct Users(BTreeMap<String, Arc<User>>);

impl Users {
    /// Those of a file of tokens.
    pub(crate) fn read(file: &str) -> anyhow::Result<Self> {
        let user = |line: &str| {
            let mut fields = line.splitn(4, ',');
            let (token, name) = (fields.next()?, fields.next()?);
            let groups = fields.nth(1).unwrap_or_default().trim_matches('"').split(',');
            let groups = groups.filter(|group| !group.is_empty()).chain([AUTHENTICATED]).map(str::to_owned).collect();
            Some((token.to_owned(), Arc::new(User { name: name.to_owned(), groups })))
        };
        let users = file.lines().map(|line| user(line).with_context(|| format!("no user: {line}")));
        users.collect::<anyhow::Result<_>>().map(Self)
    }

    /// Who has sent a request. `None`: nobody who is known.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Option<Arc<User>> {
        let token = headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
        self.0.get(token).cloned()
    }
}

/// What somebody wants to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish<'a> {
    /// `get`, `list`, …
    pub(crate) verb: &'a str,
    /// To what.
    pub(crate) target: &'a Target,
}

impl User {
    /// Whether a role that they have in this API server lets them. What they may themselves everybody may ask.
    pub(crate) fn may(&self, server: &ApiServer, wish: Wish<'_>) -> bool {
        let own_rights = wish.target.plural == "selfsubjectaccessreviews";
        if own_rights || self.groups.iter().any(|group| group == MASTERS) {
            return true;
        }
        let everywhere = self.roles(server, "clusterrolebindings", "");
        let here =
            (!wish.target.namespace.is_empty()).then(|| self.roles(server, "rolebindings", &wish.target.namespace));
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

/// What a review asks, answered. `None`: the path is that of no review.
pub(crate) fn review(server: &ApiServer, user: &Arc<User>, target: &Target, body: &[u8]) -> Option<Value> {
    let own = match (&*target.group, &*target.plural) {
        ("authorization.k8s.io", "selfsubjectaccessreviews") => true,
        ("authorization.k8s.io", "subjectaccessreviews") => false,
        _ => return None,
    };
    let mut review: Value = serde_json::from_slice(body).unwrap_or_default();
    let spec = &review["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let asked = &spec["resourceAttributes"];
    let target = Target {
        group: text(&asked["group"]),
        version: text(&asked["version"]),
        namespace: text(&asked["namespace"]),
        plural: text(&asked["resource"]),
        name: text(&asked["name"]),
        subresource: text(&asked["subresource"]),
    };
    let of = if own {
        Arc::clone(user)
    } else {
        let groups = items(&spec["groups"]).map(text).collect();
        Arc::new(User { name: text(&spec["user"]), groups })
    };
    // Of paths that lead to no objects everybody may ask for all.
    let allowed = asked.is_null() || of.may(server, Wish { verb: &text(&asked["verb"]), target: &target });
    review["status"] = json!({"allowed": allowed});
    Some(review)
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
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
pub(crate) fn refusal(user: &str, Wish { verb, target }: Wish<'_>) -> String {
    let Target { group, namespace, plural, name, subresource, .. } = target;
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
    use http::HeaderValue;

    use super::*;

    #[test]
    fn users_are_known_by_their_tokens() {
        let users = Users::read("t-1,admin,admin,\"devs,system:masters\"\nt-2,limited,limited,\"\"\n").unwrap();
        let of = |token: &'static str| {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(token))]);
            users.of(&headers).map(|user| (user.name.clone(), user.groups.len()))
        };
        assert_eq!(of("Bearer t-1"), Some(("admin".to_owned(), 3)));
        assert_eq!(of("Bearer t-2"), Some(("limited".to_owned(), 1)));
        assert_eq!(of("Bearer t-3"), None);
        assert_eq!(of("t-1"), None);
    }

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
}
