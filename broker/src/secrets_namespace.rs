//! `SecretsNamespace`: where cluster Secrets are, and which roles they may give.

use std::{collections::BTreeMap, str::FromStr};

use broker_api::Role;
use broker_core::naming::is_namespace;

use crate::conventions::CONVENTIONS;

/// One value of `--cluster-secrets-namespace`: `NAMESPACE`, `consumer=NAMESPACE` or `provider=NAMESPACE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretsNamespace {
    /// The one role that its Secrets may give; `None`: their label says which.
    pub role: Option<Role>,
    /// Its name.
    pub namespace: String,
}

impl FromStr for SecretsNamespace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (role, namespace) = match text.split_once('=') {
            None => (None, text),
            Some(("consumer", namespace)) => (Some(Role::Consumer), namespace),
            Some(("provider", namespace)) => (Some(Role::Provider), namespace),
            Some((role, _)) => {
                return Err(format!("{role:?} is no role: write consumer=NAMESPACE or provider=NAMESPACE"));
            }
        };
        is_namespace(namespace)?;
        Ok(Self { role, namespace: namespace.to_owned() })
    }
}

/// The namespaces, and what their Secrets may be. Of those without a role the last one counts, as of a flag that is given
/// twice; one that is named with a role is for that role only.
pub fn namespaces(given: &[SecretsNamespace]) -> BTreeMap<String, Vec<Role>> {
    let mut namespaces: BTreeMap<String, Vec<Role>> = BTreeMap::new();
    for one in given {
        let Some(role) = one.role else { continue };
        let roles = namespaces.entry(one.namespace.clone()).or_default();
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    if let Some(one) = given.iter().rfind(|one| one.role.is_none()) {
        namespaces.entry(one.namespace.clone()).or_insert_with(|| CONVENTIONS.roles.to_vec());
    }
    namespaces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(texts: &[&str]) -> Vec<(String, bool, bool)> {
        let given: Vec<SecretsNamespace> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let each = namespaces(&given).into_iter();
        each.map(|(name, roles)| (name, roles.contains(&Role::Consumer), roles.contains(&Role::Provider))).collect()
    }

    #[test]
    fn a_namespace_is_for_both_roles_or_for_those_it_is_named_with() {
        assert_eq!(all(&["a"]), [("a".into(), true, true)]);
        assert_eq!(all(&["consumer=a", "provider=b"]), [("a".into(), true, false), ("b".into(), false, true)]);
        assert_eq!(all(&["consumer=a", "provider=a"]), [("a".into(), true, true)]);
        assert_eq!(all(&["a", "consumer=a"]), [("a".into(), true, false)], "the narrower word counts");
        assert_eq!(all(&["a", "b"]), [("b".into(), true, true)], "the last word counts");
    }

    #[test]
    fn what_is_no_namespace_is_told() {
        for text in ["spoke=a", "consumer=", "", "A", "-a", "consumer=a=b"] {
            assert!(text.parse::<SecretsNamespace>().is_err(), "{text}");
        }
    }
}
